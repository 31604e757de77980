"""Ask any OpenAI-compatible endpoint through `ChatOpenAI` (extra `tanlu[openai]`).

Served: DeepSeek, DashScope, Volcano Ark, vLLM, Ollama. They differ in what they refuse, so a tool
is never forced, and what else may be refused is tried once (`habits`). A schema is told in words,
but for servers of one's own, which take it as a grammar.
"""

import asyncio
import json
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast
from urllib.parse import urlsplit

import httpx
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, SystemMessage
from pydantic import BaseModel, SecretStr

from agent.core.concurrency import PerLoop
from agent.core.errors import ConfigurationError, ProviderError
from agent.core.proxies import is_in_own_network, proxy_for
from agent.models.compatible import (
    ENDING,
    REASONING,
    Compatible,
    Ending,
    PlainChunks,
    bounded,
    watch_ending,
)
from agent.models.connections import tls
from agent.models.errors import PROVIDER_OPENAI, refuse_false_success, translate_errors
from agent.models.habits import EXTRA, Attempt, Habits, without_system, without_tools
from agent.models.limits import BYTES_A_CHARACTER, with_ends
from agent.models.types import LISTING, QUIET, ModelRequest, Response, StreamPiece, finish_of
from agent.models.validation import schema_of, with_schema
from agent.settings import Settings

_ASKED_SECONDS = 5
DEFAULT_URL = "https://api.openai.com/v1"
_WINDOWS = ("max_model_len", "loaded_context_length", "context_length", "context_window")
_JSON_OBJECT = {"type": "json_object"}
_LOCAL = ("llamacpp", "llama.cpp", "vllm", "sglang", "library", "ollama", "organization_owner",
          "lmstudio", "lm studio", "mlx", "tabbyapi")  # fmt: skip
"""Owners that servers of one's own name in their list of models; all take a schema as a grammar."""


@dataclass
class HttpPool:
    """Hold the connections of one event loop."""

    asynchronous: httpx.AsyncClient
    synchronous: httpx.Client

    async def aclose(self) -> None:
        self.synchronous.close()
        await self.asynchronous.aclose()

    def drop(self) -> None:
        self.synchronous.close()


class OpenAI:
    """Speak to one OpenAI-compatible endpoint."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        # The whole address of the call, as vendors' pages print it, is meant as well.
        url = (settings.openai_base_url or DEFAULT_URL).strip().rstrip("/")
        self.url = url.removesuffix("/chat/completions")
        self._pools: PerLoop[HttpPool] = PerLoop(self._open, HttpPool.aclose, HttpPool.drop)
        self._habits = Habits()
        self._is_local: bool | None = None
        is_own = is_in_own_network(self.url)
        self._translated = partial(translate_errors, PROVIDER_OPENAI, is_own=is_own)

    async def complete(self, request: ModelRequest) -> Response:
        """Return one reply; what the endpoint refuses is left out, and left out from then on."""
        # Forms come first in every run: what they find out holds for plain texts.
        own = await self._is_own_server() if request.schema else self._is_local
        local = bool(own)
        return await self._habits.adapt(
            request.model, lambda attempt: self._complete(request, attempt, local=local)
        )

    async def _complete(self, request: ModelRequest, attempt: Attempt, *, local: bool) -> Response:
        with self._translated(request.model):
            # In pieces a slow reply is seen to come, and one that runs away is ended.
            in_pieces = local and (not request.tools or attempt.takes("pieces"))
            streaming = in_pieces or not attempt.takes("whole")
            model = await self._model(request.model, attempt, streaming=streaming)
            messages, options = self._ask(request, attempt, local=local and not request.tools)
            if streaming:
                message: Any = await _whole(model.astream(messages, QUIET, **options), request)
            else:
                message = await model.ainvoke(messages, QUIET, **options)
            response = _response(message, request.schema)
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
        ending, finish = Ending(), False
        with self._translated(request.model):
            model = await self._model(request.model, attempt, streaming=True)
            messages, options = self._ask(request, attempt)
            ENDING.set(ending)
            chunks = model.astream(messages, QUIET, **options)
            async with aclosing(cast(Any, chunks)) as stream:
                async for chunk in stream:
                    piece = _piece(chunk)
                    finish = finish or piece.finish not in (None, "none")
                    yield piece
        if ending.has_come and not finish:
            yield StreamPiece(finish="stop", reason="[DONE]")

    async def _is_own_server(self) -> bool:
        """Return whether this is a server of one's own, which streams all it says.

        They all turn any schema into a grammar, too.
        """
        if not self.url.startswith("http://"):
            return False
        if self._is_local is None:
            try:
                async with asyncio.timeout(_ASKED_SECONDS):
                    await self._listed()
            except (ProviderError, TimeoutError):
                self._is_local = False
        return bool(self._is_local)

    async def _listed(self) -> list[Any]:
        """Return the models that the endpoint lists; their owners say what kind of server it is."""
        with self._translated(LISTING):
            model = await self._model(LISTING, Attempt(frozenset()))
            listed = [entry async for entry in model.root_async_client.models.list()]
        owners = {str(getattr(entry, "owned_by", "")).lower() for entry in listed}
        named = any(name in owner for owner in owners for name in _LOCAL)
        self._is_local = named and self.url.startswith("http://")
        return listed

    async def list_models(self) -> list[str]:
        """Return the ids the endpoint lists."""
        return [str(entry.id) for entry in await self._listed()]

    async def window(self, model: str) -> int | None:
        """Return the tokens of the window, where the endpoint tells them with its models."""
        entry = next((entry for entry in await self._listed() if entry.id == model), None)
        return _window_of(entry.model_extra or {}) if entry else None

    async def aclose(self) -> None:
        await self._pools.aclose()

    def _ask(
        self, request: ModelRequest, attempt: Attempt, *, local: bool = False
    ) -> tuple[list[BaseMessage], dict[str, Any]]:
        """Return the messages and what this call adds to its model."""
        messages, schema = list(request.messages), request.schema
        tools: list[Any] = list(request.tools)
        if "tools" in attempt.without:
            messages = without_tools(messages)
        elif tools:
            attempt.takes("tools")
        response_format: dict[str, Any] | None = None
        if schema:
            method = self._settings.structured_method
            if method == "function_calling" and attempt.takes("tools"):
                tools = [*tools, _schema_as_tool(schema)]
            elif (method == "json_schema" or (local and method == "auto")) and attempt.takes(
                "json_schema"
            ):
                response_format = _json_schema(schema)
            else:
                messages = with_schema(messages, schema)
                if not tools and attempt.takes("json_object"):
                    response_format = _JSON_OBJECT
        if any(isinstance(m, SystemMessage) for m in messages) and not attempt.takes("system"):
            messages = without_system(messages)
        if any(REASONING in m.additional_kwargs for m in messages) and not attempt.takes(
            "reasoning_back"
        ):
            messages = [m.model_copy(update={"additional_kwargs": {}}) for m in messages]
        options = self._options(tools, response_format, attempt)
        options["extra_body"] = self._limit(request, attempt) | options["extra_body"]
        return messages, options

    def _limit(self, request: ModelRequest, attempt: Attempt) -> dict[str, Any]:
        """Return how long the reply may be, by the name that the service knows it by."""
        if not request.max_tokens or not attempt.takes("max_tokens"):
            return {}
        own = (urlsplit(self.url).hostname or "").endswith(("openai.com", "azure.com"))
        return {"max_completion_tokens" if own else "max_tokens": request.max_tokens}

    def _options(
        self, tools: list[Any], response_format: dict[str, Any] | None, attempt: Attempt
    ) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if tools and "tools" not in attempt.without:
            bound: Any = Compatible.model_construct().bind_tools(tools)
            options["tools"] = bound.kwargs["tools"]
        options["extra_body"] = self._extra(attempt)
        if response_format:
            # In the body, because as an option it selects the parsing client.
            options["extra_body"]["response_format"] = response_format
        return options

    def _extra(self, attempt: Attempt) -> dict[str, Any]:
        """Return the operator's own fields, without those that the service does not know."""
        extra = self._settings.openai_extra_body or {}
        return {name: value for name, value in extra.items() if attempt.takes(EXTRA + name)}

    async def _model(self, model: str, attempt: Attempt, *, streaming: bool = False) -> Compatible:
        pool, key = await self._pools.get(), self._settings.openai_api_key
        options: dict[str, Any] = {
            "base_url": self.url,
            # Ollama and vLLM want no key, but the client insists on one.
            "api_key": key or SecretStr("none"),
            "max_retries": 0,
            # How long a reply may take is watched by who waits for it.
            "timeout": httpx.Timeout(None, connect=10),
            "http_async_client": pool.asynchronous,
            "http_client": pool.synchronous,
            "openai_proxy": "",
            # Else it warns that proxies are off, which are decided by our own clients.
            "http_socket_options": (),
            "use_responses_api": False,
            "disable_streaming": not streaming,
            "stream_usage": streaming and attempt.takes("stream_options"),
            "stream_chunk_timeout": None,
            "cache": False,
        }
        if streaming:
            # The end of a stream is read from its bytes.
            options["default_headers"] = {"Accept-Encoding": "identity"}
        client = Compatible(model=model, **options)
        if streaming:
            client.async_client = PlainChunks(client.async_client)
        return client

    async def _open(self) -> HttpPool:
        if not self._settings.openai_api_key and not self._settings.openai_base_url:
            raise ConfigurationError("OPENAI_API_KEY", "is not set (nor is OPENAI_BASE_URL)")
        proxy, context = proxy_for(self.url), await asyncio.to_thread(tls)
        shared: dict[str, Any] = {
            "proxy": proxy,
            "verify": context,
            "trust_env": False,
            "timeout": httpx.Timeout(None, connect=10),
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=100),
        }
        most = BYTES_A_CHARACTER * self._settings.model_reply_characters
        hooks = {"response": [bounded(most), refuse_false_success, watch_ending]}
        asynchronous = httpx.AsyncClient(**shared, event_hooks=hooks)
        return HttpPool(asynchronous, httpx.Client(**shared))


async def _whole(chunks: AsyncIterator[Any], request: ModelRequest) -> AIMessage:
    """Return a streamed reply in one piece; who asked hears it come."""
    whole: Any = None
    async with aclosing(cast(Any, chunks)) as stream:
        async for chunk in stream:
            whole = chunk if whole is None else whole + chunk
            if request.watch:
                request.watch(str(chunk.text) + _hidden(chunk))
    return whole or AIMessage("")


def _hidden(chunk: Any) -> str:
    """Return what a piece of a reply has besides its text: a thought, a call's arguments."""
    calls = getattr(chunk, "tool_call_chunks", ())
    arguments = "".join(str(call.get("args") or "") for call in calls)
    return str(chunk.additional_kwargs.get(REASONING) or "") + arguments


def _window_of(fields: Mapping[str, Any]) -> int | None:
    """Return the window by the words of llama.cpp, vLLM, LM Studio, OpenRouter, in this order."""
    meta = fields.get("meta")
    sizes = [
        meta.get("n_ctx") if isinstance(meta, Mapping) else None,
        *(fields.get(name) for name in _WINDOWS),
    ]
    return next((size for size in sizes if isinstance(size, int) and size > 0), None)


def _schema_as_tool(schema: type[BaseModel]) -> dict[str, Any]:
    shape = dict(with_ends(schema_of(schema)))
    description = shape.pop("description", schema.__name__)
    function = {"name": schema.__name__, "description": description, "parameters": shape}
    return {"type": "function", "function": function}


def _json_schema(schema: type[BaseModel]) -> dict[str, Any]:
    """Return a schema as a response format.

    Grammars write required fields first: those that stand before one of them are required, too,
    as instructions count on their order.
    """
    shape = dict(with_ends(schema_of(schema)))
    fields, required = list(shape.get("properties", {})), shape.get("required", [])
    last = max((fields.index(name) for name in required), default=-1)
    shape["required"] = fields[: last + 1]
    return {
        "type": "json_schema",
        "json_schema": {"name": schema.__name__, "schema": shape, "strict": False},
    }


def _response(message: AIMessage, schema: type[BaseModel] | None) -> Response:
    meta, usage, text = message.response_metadata, message.usage_metadata, str(message.text)
    if schema and message.tool_calls:
        # The schema as a tool: its arguments are the answer.
        args = [c["args"] for c in message.tool_calls if c["name"] == schema.__name__]
        text = json.dumps(args[0], ensure_ascii=False) if args else text
    if schema and not text.strip():
        # vLLM puts a thinking model's JSON where its thoughts belong.
        beside = message.additional_kwargs
        text = str(beside.get(REASONING) or beside.get("reasoning") or "")
    reason = str(meta.get("finish_reason") or "")
    finish = finish_of(reason)
    if message.additional_kwargs.get("refusal"):
        finish, reason = "blocked", "refusal"
    return Response(
        message=message,
        text=text,
        parts=(text,) if text else (),
        finish=finish,
        reason=reason,
        input_tokens=usage["input_tokens"] if usage else 0,
        output_tokens=usage["output_tokens"] if usage else 0,
        served_by=str(meta.get("model_name") or ""),
    )


def _piece(chunk: AIMessageChunk | AIMessage) -> StreamPiece:
    meta = chunk.response_metadata
    served_by = str(meta.get("model_name") or "")
    piece = StreamPiece(text=str(chunk.text), hidden=_hidden(chunk), served_by=served_by)
    if reason := meta.get("finish_reason"):
        piece = replace(piece, finish=finish_of(str(reason)), reason=str(reason))
    if chunk.usage_metadata:
        piece.input_tokens = chunk.usage_metadata["input_tokens"]
        piece.output_tokens = chunk.usage_metadata["output_tokens"]
    return piece
