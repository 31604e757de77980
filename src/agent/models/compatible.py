"""`ChatOpenAI` for endpoints that are nearly OpenAI's: their replies are put into its shape."""

import json
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Self, cast

import httpx
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI

from agent.models.errors import PROVIDER_OPENAI, refuse_error_object
from agent.models.replies import arguments_of
from agent.models.validation import TOO_LONG, malformed_reply

REASONING = "reasoning_content"
"""Goes back in tool loops: DeepSeek refuses a call's turn without it. Other names do not."""


class Compatible(ChatOpenAI):
    """Extend ChatOpenAI to keep `reasoning_content` and give it back in tool loops."""

    def _get_request_payload(self, input_: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, **kwargs)
        messages: Sequence[BaseMessage] = self._convert_input(input_).to_messages()
        for message, wire_message in zip(messages, payload["messages"], strict=True):
            reasoning = message.additional_kwargs.get(REASONING)
            if reasoning and isinstance(message, AIMessage) and message.tool_calls:
                wire_message[REASONING] = reasoning
        return payload

    def _create_chat_result(self, response: Any, generation_info: Any = None) -> ChatResult:
        body = response if isinstance(response, dict) else _as_dict(response)
        if not isinstance(body, dict) or not isinstance(body.get("choices"), list):
            return super()._create_chat_result(response, generation_info)
        choices = [{**c, "message": in_our_shape(c.get("message"))} for c in body["choices"]]
        result = super()._create_chat_result({**body, "choices": choices}, generation_info)
        for generation, choice in zip(result.generations, choices, strict=True):
            for name in (REASONING, "reasoning", "refusal"):
                if value := choice["message"].get(name):
                    generation.message.additional_kwargs[name] = value
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: Any
    ) -> ChatGenerationChunk | None:
        # Some servers send a last chunk whose choices are null.
        choices = [
            {**c, "delta": in_our_shape(c.get("delta"), partial=True)}
            for c in chunk.get("choices") or []
        ]
        converted = super()._convert_chunk_to_generation_chunk(
            chunk | {"choices": choices}, default_chunk_class, base_generation_info
        )
        if converted and choices and (reasoning := choices[0]["delta"].get(REASONING)):
            converted.message.additional_kwargs[REASONING] = reasoning
        return converted


class PlainChunks:
    """Wrap the library's client so that chunks come as plain objects.

    The library makes them plain itself, and warns of each whose text comes as parts.
    """

    def __init__(self, client: Any) -> None:
        self._client = client

    async def create(self, **payload: Any) -> "_PlainStream":
        return _PlainStream(await self._client.create(**payload))


class _PlainStream:
    """Say once what services say again and again: the tokens so far, the name of a call."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._counts: Any = None
        self._called: dict[Any, tuple[Any, Any]] = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *error: object) -> None:
        await self._stream.close()

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        last: dict[str, Any] = {}
        async for piece in self._stream:
            last = piece.model_dump(warnings=False)
            refuse_error_object(last, PROVIDER_OPENAI)
            choices = [choice for choice in last.get("choices") or () if choice]
            counts = [last.pop("usage", None), *(choice.get("usage") for choice in choices)]
            self._counts = next(filter(None, counts), self._counts)
            for choice in choices:
                self._name_once(choice.get("delta"))
            yield last
        if self._counts:
            yield {**last, "choices": [], "usage": self._counts}

    def _name_once(self, delta: Any) -> None:
        calls = delta.get("tool_calls") if isinstance(delta, Mapping) else None
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, Mapping) else None
            if not isinstance(function, dict) or not function.get("name"):
                continue
            named = (call.get("id"), function["name"])
            if self._called.get(call.get("index")) == named:
                function["name"] = None
            self._called[call.get("index")] = named


def _as_dict(response: Any) -> Any:
    if not hasattr(response, "model_dump"):
        return response
    return response.model_dump(exclude={"choices": {"__all__": {"message": {"parsed"}}}},
                               warnings=False)  # fmt: skip


def in_our_shape(message: Any, *, partial: bool = False) -> dict[str, Any]:
    """Return an assistant's message, or a piece of one, in the shape that the library reads.

    Text may come as parts (a thought among them), arguments as objects, calls in the old field or
    without their index, the role not at all.
    """
    message = message if isinstance(message, Mapping) else {}
    shape = {**message, "role": message.get("role") or "assistant"}
    if isinstance(content := message.get("content"), list):
        shape["content"] = "".join(map(_text_of, content))
    calls = message.get("tool_calls") or []
    if not calls and isinstance(old := message.get("function_call"), Mapping):
        calls = [{"function": old}]
    calls = calls if isinstance(calls, list) else [calls]
    shape["tool_calls"] = [
        _call(c, at, partial=partial) for at, c in enumerate(calls) if isinstance(c, Mapping)
    ]
    shape.pop("function_call", None)
    return shape


def _text_of(part: Any) -> str:
    if isinstance(part, str):
        return part
    is_text = isinstance(part, Mapping) and part.get("type") in ("text", "output_text", None)
    return str(part.get("text") or "") if is_text else ""


def _call(call: Mapping[str, Any], at: int, *, partial: bool) -> dict[str, Any]:
    function = call.get("function")
    function = {**(function if isinstance(function, Mapping) else call)}
    arguments = function.get("arguments")
    if not partial and (read := arguments_of(arguments)) is not None:
        arguments = read
    if arguments is not None and not isinstance(arguments, str):
        arguments = json.dumps(arguments, ensure_ascii=False)
    index = call.get("index")
    return {
        "id": call.get("id") or None,
        "type": "function",
        "index": at if index is None else index,
        "function": {"name": function.get("name"), "arguments": arguments},
    }


_DONE = (b"data: [DONE]", b"data:[DONE]")


@dataclass
class Ending:
    """Hold whether a stream has come to the end that its protocol knows."""

    has_come: bool = False


ENDING: ContextVar[Ending | None] = ContextVar("ending", default=None)
"""Of the stream that is begun next in this context: the library does not tell of its end."""


async def watch_ending(response: httpx.Response) -> None:
    """Note the end of a stream; to be called when its headers have come."""
    if (ending := ENDING.get()) is not None:
        stream = cast(httpx.AsyncByteStream, response.stream)
        tail = b""

        def look(chunk: bytes) -> None:
            nonlocal tail
            tail = tail[-16:] + chunk
            ending.has_come = ending.has_come or any(done in tail for done in _DONE)

        response.stream = _LookedAt(stream, look)


class _LookedAt(httpx.AsyncByteStream):
    """Give a reply's bytes on as they come, each piece once it was looked at."""

    def __init__(self, stream: httpx.AsyncByteStream, look: Callable[[bytes], None]) -> None:
        self._stream, self._look = stream, look

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for chunk in self._stream:
            self._look(chunk)
            yield chunk

    async def aclose(self) -> None:
        await self._stream.aclose()


def bounded(most: int) -> Callable[[httpx.Response], Awaitable[None]]:
    """Return what gives up a reply of more bytes; to be called when its headers have come.

    The library reads a whole reply, and a line of a stream, into memory before anybody can look at
    it. What a stream's lines say is counted as it comes.
    """

    async def bound(response: httpx.Response) -> None:
        in_lines = response.headers.get("content-type", "").startswith("text/event-stream")
        size = 0

        def look(chunk: bytes) -> None:
            nonlocal size
            first, *lines = chunk.split(b"\n") if in_lines else [chunk]
            size += len(first)
            if size > most:
                raise malformed_reply(PROVIDER_OPENAI, "the endpoint", TOO_LONG)
            size = len(lines[-1]) if lines else size

        response.stream = _LookedAt(cast(httpx.AsyncByteStream, response.stream), look)

    return bound
