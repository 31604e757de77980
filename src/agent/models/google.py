"""Ask Gemini through one `ChatGoogleGenerativeAI`, over one connection pool per event loop."""

from collections.abc import AsyncGenerator, AsyncIterator, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import replace
from functools import partial
from inspect import cleandoc
from typing import Any, Self, cast

from google.genai.types import Content, GenerateContentResponse
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_google_genai.chat_models import _response_to_result
from pydantic import SecretStr, ValidationError, model_validator

from agent.core.concurrency import PerLoop
from agent.core.errors import ConfigurationError
from agent.core.outside import parse_json
from agent.core.processor import read_in_turns
from agent.models.catalogue import clamp
from agent.models.connections import ClientPool, open_pool
from agent.models.errors import PROVIDER_GOOGLE, refuse_error_object, translate_errors
from agent.models.google_wire import Used, chunk_of, sent, streamed
from agent.models.habits import Attempt, Habits, without_system, without_tools
from agent.models.limits import BYTES_A_CHARACTER
from agent.models.types import (
    LISTING,
    QUIET,
    Finish,
    ModelRequest,
    Response,
    StreamPiece,
    finish_of,
)
from agent.models.validation import TOO_LONG, malformed_reply, schema_of, with_schema
from agent.settings import Settings

DEFAULT_URL = "https://generativelanguage.googleapis.com"
_PARTS, _GROUNDING = "text_parts", "groundingMetadata"
_KEPT_MODELS = 64
_FINISHES: dict[str, Finish] = {
    "MALFORMED_FUNCTION_CALL": "bad_call",
    "UNEXPECTED_TOOL_CALL": "bad_call",
    "TOO_MANY_TOOL_CALLS": "bad_call",
    "MISSING_THOUGHT_SIGNATURE": "bad_call",
    "CONTINUATION": "length",
    # It refuses a language, whose name says nothing of it.
    "LANGUAGE": "blocked",
}


class Gemini(ChatGoogleGenerativeAI):
    """Extend ChatGoogleGenerativeAI with a shared client, call ids, and the parts as sent."""

    longest_body: int
    """Characters of a whole reply as it is sent."""

    @model_validator(mode="after")
    def validate_environment(self) -> Self:
        """Replace the parent's validator, which builds a client (60 ms of CPU) per model."""
        self.temperature = None
        return self

    @property
    def async_client(self) -> Any:
        return cast(Any, self.client).aio

    async def aclose(self) -> None:
        """Do nothing: the client belongs to the event loop's pool."""

    def _prepare_request(self, messages: list[BaseMessage], **kwargs: Any) -> dict[str, Any]:
        request: dict[str, Any] = super()._prepare_request(messages, **kwargs)
        restore_ids(messages, request["contents"])
        return request

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> ChatResult:
        # Translated here: the caller's tracing would call `.json()` on the error's response,
        # which is a coroutine nobody awaits.
        with translate_errors(PROVIDER_GOOGLE, self.model):
            request = self._prepare_request(messages, stop=stop, **kwargs)
            body = await sent(self.async_client, request) or "{}"
            if len(body) > self.longest_body:
                raise malformed_reply(PROVIDER_GOOGLE, self.model, TOO_LONG)
            response, grounding = await read_in_turns(partial(read_google_reply, body), len(body))
        result = _response_to_result(response)
        # The parent trims and drops parts; grounding offsets count in the originals.
        result.generations[0].message.response_metadata[_PARTS] = text_parts(response)
        result.generations[0].message.response_metadata[_GROUNDING] = grounding
        return result

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: Any = None,
        **kwargs: Any,
    ) -> AsyncIterator[ChatGenerationChunk]:
        used = Used()
        with translate_errors(PROVIDER_GOOGLE, self.model):
            request = self._prepare_request(messages, stop=stop, **kwargs)
            async with aclosing(streamed(self.async_client, request)) as replies:
                async for reply in replies:
                    refuse_error_object(reply, PROVIDER_GOOGLE)
                    chunk = ChatGenerationChunk(message=chunk_of(reply, used))
                    if run_manager and run_manager.handlers:
                        await run_manager.on_llm_new_token(chunk.text, chunk=chunk)
                    yield chunk


def restore_ids(messages: Sequence[BaseMessage], contents: Iterable[Content]) -> None:
    """Put the ids of calls and their results back, which the parent leaves off the wire."""
    answered_ids = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    turns = [m.tool_calls for m in messages if isinstance(m, AIMessage) and m.tool_calls]
    ids = iter([call["id"] for calls in turns for call in calls])
    order = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    results = iter(
        [
            call_id
            for calls in turns
            for call_id in sorted(
                {call["id"] for call in calls if call["id"] in answered_ids}, key=order.index
            )
        ]
    )
    for content in contents:
        for part in content.parts or ():
            if part.function_call:
                part.function_call.id = next(ids, None)
            if part.function_response:
                part.function_response.id = next(results, None)


def read_google_reply(body: str) -> tuple[GenerateContentResponse, Mapping[str, Any] | None]:
    """Return a whole reply and, apart from it, the grounding of its first candidate as it was sent.

    The library makes models of all of it, goes through each field thrice, and writes it out again
    with everything that is not there; it takes a third of the time of a call.
    """
    reply = parse_json(body)
    refuse_error_object(reply, PROVIDER_GOOGLE)
    grounding = [candidate.pop(_GROUNDING, None) for candidate in reply.get("candidates") or ()]
    try:
        response = GenerateContentResponse.model_validate(reply)
    except ValidationError as error:
        for problem in error.errors():
            if problem["type"] == "extra_forbidden":
                _drop(reply, problem["loc"])
        response = GenerateContentResponse.model_validate(reply)
    return response, grounding[0] if grounding else None


def _drop(reply: Any, path: Sequence[int | str]) -> None:
    """Take a field that the library does not know out of a reply."""
    *outer, field = path
    for step in outer:
        reply = reply[step]
    del reply[field]


def text_parts(response: GenerateContentResponse) -> list[str]:
    """Return the text of every part of the first candidate; "" for thoughts and other kinds."""
    candidate = response.candidates[0] if response.candidates else None
    content = candidate.content if candidate else None
    parts = content.parts if content else None
    return ["" if part.thought else part.text or "" for part in parts or ()]


class Google:
    """Speak the Gemini API (v1beta, where the grounding and thinking fields are served)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.url = (settings.google_gemini_base_url or DEFAULT_URL).rstrip("/")
        self._pools: PerLoop[ClientPool] = PerLoop(self._open, ClientPool.aclose, ClientPool.drop)
        self._habits = Habits()

    async def complete(self, request: ModelRequest) -> Response:
        """Return one reply; what the model refuses is left out, and left out from then on."""
        return await self._habits.adapt(
            request.model, lambda attempt: self._complete(request, attempt)
        )

    async def _complete(self, request: ModelRequest, attempt: Attempt) -> Response:
        with translate_errors(PROVIDER_GOOGLE, request.model):
            model = await self._model(request, attempt)
            message = await model.ainvoke(_messages(request, attempt), QUIET,
                                          **_options(request, attempt))  # fmt: skip
        response = _response(message)
        return replace(response, no_tools="tools" in attempt.without and bool(request.tools))

    async def stream(self, request: ModelRequest) -> AsyncGenerator[StreamPiece, None]:
        pieces = self._habits.adapt_stream(
            request.model, lambda attempt: self._stream(request, attempt)
        )
        async with aclosing(pieces):
            async for piece in pieces:
                yield piece

    async def _stream(
        self, request: ModelRequest, attempt: Attempt
    ) -> AsyncGenerator[StreamPiece, None]:
        with translate_errors(PROVIDER_GOOGLE, request.model):
            model = await self._model(request, attempt, streaming=True)
            messages, options = _messages(request, attempt), _options(request, attempt)
            chunks = model.astream(messages, QUIET, **options)
            async with aclosing(cast(Any, chunks)) as stream:
                async for chunk in stream:
                    yield _piece(chunk)

    async def list_models(self) -> list[str]:
        """Return the ids the key may use."""
        with translate_errors(PROVIDER_GOOGLE, LISTING):
            pool = await self._pools.get()
            pager = await pool.client.aio.models.list(config={"page_size": 1000})
            return [str(model.name).removeprefix("models/") async for model in pager]

    async def window(self, model: str) -> int | None:
        """Return the tokens that a prompt may have."""
        with translate_errors(PROVIDER_GOOGLE, model):
            pool = await self._pools.get()
            return (await pool.client.aio.models.get(model=model)).input_token_limit

    async def aclose(self) -> None:
        await self._pools.aclose()

    async def _model(
        self, request: ModelRequest, attempt: Attempt, *, streaming: bool = False
    ) -> Gemini:
        pool = await self._pools.get()
        level = clamp(request.model, request.thinking)
        if level and not attempt.takes("thinking"):
            level = None
        model: Gemini | None = pool.models.get((request.model, level, streaming))
        if model is None:
            model = self._make(pool, request.model, level, streaming=streaming)
            if len(pool.models) < _KEPT_MODELS:
                pool.models[request.model, level, streaming] = model
        return model

    def _make(self, pool: ClientPool, model: str, level: str | None, *, streaming: bool) -> Gemini:
        options: dict[str, Any] = {
            "client": pool.client,
            "google_api_key": self._key(),
            "base_url": self.url,
            "vertexai": False,
            "max_retries": 1,
            # How long a reply may take is watched by who waits for it.
            "timeout": None,
            "disable_streaming": not streaming,
            "thinking_level": level,
            "cache": False,
            "longest_body": BYTES_A_CHARACTER * self._settings.model_reply_characters,
        }
        return Gemini(model=model, **options)

    def _key(self) -> SecretStr:
        if not (key := self._settings.google_key):
            raise ConfigurationError(
                "GEMINI_API_KEY", "is not set (get one at https://aistudio.google.com/apikey)"
            )
        return key

    async def _open(self) -> ClientPool:
        return await open_pool(self.url, self._key())


def _messages(request: ModelRequest, attempt: Attempt) -> list[BaseMessage]:
    """Return the messages in the turns that the model takes: Gemma has none for instructions."""
    messages = list(request.messages)
    if "tools" in attempt.without:
        messages = without_tools(messages)
    if request.schema and "json_schema" in attempt.without:
        messages = with_schema(messages, request.schema)
    if any(isinstance(m, SystemMessage) for m in messages) and not attempt.takes("system"):
        messages = without_system(messages)
    return messages


def _options(request: ModelRequest, attempt: Attempt) -> dict[str, Any]:
    """Return the options one call adds to its model."""
    options: dict[str, Any] = {}
    if request.max_tokens:
        options["max_output_tokens"] = request.max_tokens
    if request.schema and attempt.takes("json_schema"):
        options["response_mime_type"] = "application/json"
        options["response_json_schema"] = schema_of(request.schema)
    if request.search:
        options["tools"] = [{"google_search": _search_filters(request.search_range)}]
    elif request.tools and attempt.takes("tools"):
        options["tools"] = [_declared(tool) for tool in request.tools]
    return options


def _search_filters(search_range: tuple[str, str] | None) -> dict[str, Any]:
    if search_range is None:
        return {}
    begin, end = search_range
    return {"time_range_filter": {"start_time": begin, "end_time": end}}


def _declared(tool: BaseTool) -> dict[str, Any]:
    """Return a tool's declaration, its description once: the library's own form repeats it."""
    function: dict[str, Any] = convert_to_openai_tool(tool)["function"]
    parameters = function.get("parameters") or {}
    stated = {k: v for k, v in parameters.items() if k not in ("title", "description")}
    description = cleandoc(str(function.get("description") or ""))
    return {**function, "description": description, "parameters": stated}


def _response(message: AIMessage) -> Response:
    meta = message.response_metadata
    reason = str(meta.get("finish_reason") or "")
    finish = _finish(reason)
    if feedback := (meta.get("prompt_feedback") or {}).get("block_reason"):
        finish, reason = "blocked", str(getattr(feedback, "name", feedback))
    usage = message.usage_metadata
    parts = tuple(meta.get(_PARTS) or ())
    return Response(
        message=message,
        text="".join(parts),
        parts=parts,
        finish=finish,
        reason=reason,
        grounding=meta.pop(_GROUNDING, None),
        input_tokens=usage["input_tokens"] if usage else 0,
        output_tokens=usage["output_tokens"] if usage else 0,
        served_by=str(meta.get("model_name") or ""),
    )


def _piece(chunk: AIMessageChunk | AIMessage) -> StreamPiece:
    meta = chunk.response_metadata
    reason = str(meta.get("finish_reason") or "")
    piece = StreamPiece(text=str(chunk.text), served_by=str(meta.get("model_name") or ""))
    if reason:
        piece.finish, piece.reason = _finish(reason), reason
    if feedback := (meta.get("prompt_feedback") or {}).get("block_reason"):
        piece.finish, piece.reason = "blocked", str(getattr(feedback, "name", feedback))
    if chunk.usage_metadata:
        piece.input_tokens = chunk.usage_metadata["input_tokens"]
        piece.output_tokens = chunk.usage_metadata["output_tokens"]
    return piece


def _finish(reason: str) -> Finish:
    """Return our name of a finish reason."""
    return _FINISHES.get(reason) or finish_of(reason)
