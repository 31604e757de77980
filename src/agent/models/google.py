"""Gemini through one `ChatGoogleGenerativeAI`, over one connection pool per event loop."""

import asyncio
import logging
import os
import ssl
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing
from dataclasses import dataclass
from functools import cache
from typing import Any, Self, cast

import aiohttp
import certifi
import httpx
from google.genai import Client
from google.genai.types import Content, GenerateContentResponse, HttpOptions
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatResult
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_google_genai.chat_models import _response_to_result
from pydantic import SecretStr, model_validator

from agent.errors import ConfigurationError
from agent.models.catalogue import clamp
from agent.models.loops import PerLoop
from agent.models.proxy import is_socks, proxy_for
from agent.models.translate import PROVIDER_GOOGLE, translated
from agent.models.vendor import QUIET, Finish, Piece, Request, Response
from agent.settings import Settings

log = logging.getLogger(__name__)
DEFAULT_URL = "https://generativelanguage.googleapis.com"
_PARTS = "text_parts"
_LINE_BYTES = 4 << 20
_FINISHES: dict[str, Finish] = {
    "STOP": "stop",
    "MAX_TOKENS": "length",
    "MALFORMED_FUNCTION_CALL": "bad_call",
    "UNEXPECTED_TOOL_CALL": "bad_call",
    "TOO_MANY_TOOL_CALLS": "bad_call",
    "MISSING_THOUGHT_SIGNATURE": "bad_call",
    "": "none",
    "OTHER": "none",
    "FINISH_REASON_UNSPECIFIED": "none",
}


class Gemini(ChatGoogleGenerativeAI):
    """ChatGoogleGenerativeAI with a shared client, call ids on the wire, and the parts as sent."""

    @model_validator(mode="after")
    def validate_environment(self) -> Self:
        """Replaces the parent's validator, which builds a client (60 ms of CPU) per model."""
        self.temperature = None
        return self

    @property
    def async_client(self) -> Any:
        return self.client.aio

    async def aclose(self) -> None:
        """Nothing to close: the client belongs to the event loop's pool."""

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
        request = self._prepare_request(messages, stop=stop, **kwargs)
        response = await self.client.aio.models.generate_content(**request)
        result = _response_to_result(response)
        # The parent trims part ends and drops empty parts; grounding offsets count in the originals.
        result.generations[0].message.response_metadata[_PARTS] = text_parts(response)
        return result


def restore_ids(messages: Sequence[BaseMessage], contents: Iterable[Content]) -> None:
    """Put the ids of calls and their results back, which the parent leaves off the wire."""
    answered = {m.tool_call_id for m in messages if isinstance(m, ToolMessage)}
    turns = [m.tool_calls for m in messages if isinstance(m, AIMessage) and m.tool_calls]
    made = iter([call["id"] for calls in turns for call in calls])
    order = [m.tool_call_id for m in messages if isinstance(m, ToolMessage)]
    results = iter(
        [
            wanted
            for calls in turns
            for wanted in sorted(
                {call["id"] for call in calls if call["id"] in answered}, key=order.index
            )
        ]
    )
    for content in contents:
        for part in content.parts or ():
            if part.function_call:
                part.function_call.id = next(made, None)
            if part.function_response:
                part.function_response.id = next(results, None)


def text_parts(response: GenerateContentResponse) -> list[str]:
    """The text of every part of the first candidate; "" for thoughts and what is not text."""
    candidate = response.candidates[0] if response.candidates else None
    content = candidate.content if candidate else None
    parts = content.parts if content else None
    return ["" if part.thought else part.text or "" for part in parts or ()]


@dataclass
class Pool:
    """The client and the connections of one event loop."""

    client: Client
    session: aiohttp.ClientSession | None
    socks: httpx.AsyncClient | None

    async def aclose(self) -> None:
        self.client.close()
        if self.session:
            await self.session.close()
        if self.socks:
            await self.socks.aclose()

    def drop(self) -> None:
        """Without awaiting: for a loop that has ended."""
        self.client.close()
        if self.session:
            if self.session.connector:
                self.session.connector._close_immediately()
            self.session.detach()


class Google:
    """Vendor for the Gemini API (v1beta, where the grounding and thinking fields are served)."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.url = (settings.google_gemini_base_url or DEFAULT_URL).rstrip("/")
        self._pools: PerLoop[Pool] = PerLoop(self._open, Pool.aclose, Pool.drop)

    async def complete(self, request: Request) -> Response:
        with translated(PROVIDER_GOOGLE, request.model):
            model = await self._model(request)
            message = cast(
                AIMessage, await model.ainvoke(list(request.messages), QUIET, **_options(request))
            )
        return _response(message)

    async def stream(self, request: Request) -> AsyncIterator[Piece]:
        with translated(PROVIDER_GOOGLE, request.model):
            model = await self._model(request, streaming=True)
            chunks = model.astream(list(request.messages), QUIET, **_options(request))
            async with aclosing(cast(Any, chunks)) as stream:
                async for chunk in stream:
                    yield _piece(chunk)

    async def list_models(self) -> list[str]:
        """Ids the key may use."""
        with translated(PROVIDER_GOOGLE, "models"):
            pool = await self._pools.get()
            pager = await pool.client.aio.models.list(config={"page_size": 1000})
            return [str(model.name).removeprefix("models/") async for model in pager]

    async def aclose(self) -> None:
        await self._pools.aclose()

    async def _model(self, request: Request, *, streaming: bool = False) -> Gemini:
        pool = await self._pools.get()
        return Gemini(
            model=request.model,
            client=pool.client,
            google_api_key=self._key(),
            vertexai=False,
            base_url=self.url,
            max_retries=1,
            # Only a whole reply is bounded here; a stream's pauses are timed by its reader.
            timeout=None if streaming else self._settings.model_timeout_seconds,
            disable_streaming=not streaming,
            thinking_level=clamp(request.model, request.thinking),
            cache=False,
        )

    def _key(self) -> SecretStr:
        if not (key := self._settings.google_key):
            raise ConfigurationError(
                "GEMINI_API_KEY", "is not set (get one at https://aistudio.google.com/apikey)"
            )
        return key

    async def _open(self) -> Pool:
        key, proxy = self._key(), proxy_for(self.url)
        context = await asyncio.to_thread(tls)
        session = None if is_socks(proxy) else _session(proxy)
        socks = _socks_client(str(proxy), context) if is_socks(proxy) else None
        options = HttpOptions(
            base_url=self.url,
            api_version="v1beta",
            aiohttp_client=session,
            httpx_async_client=socks,
            client_args={"verify": context, "trust_env": False},
            async_client_args={"verify": context, "ssl": context, "trust_env": False},
        )
        try:
            client = await asyncio.to_thread(
                Client, api_key=key.get_secret_value(), vertexai=False, http_options=options
            )
        except BaseException:
            if session:
                await session.close()
            raise
        return Pool(client, session, socks)


@cache
def tls() -> ssl.SSLContext:
    """One TLS context for the process: reading the authorities takes 20 ms of CPU."""
    return ssl.create_default_context(
        cafile=os.environ.get("SSL_CERT_FILE") or certifi.where(),
        capath=os.environ.get("SSL_CERT_DIR"),
    )


def _session(proxy: str | None) -> aiohttp.ClientSession:
    """Unlimited connections (httpx stops at 100); the proxy is decided by us, not by aiohttp."""
    return aiohttp.ClientSession(
        connector=aiohttp.TCPConnector(limit=0, keepalive_timeout=60, ttl_dns_cache=300),
        proxy=proxy,
        trust_env=False,
        cookie_jar=aiohttp.DummyCookieJar(),
        read_bufsize=_LINE_BYTES,
    )


def _socks_client(proxy: str, context: ssl.SSLContext) -> httpx.AsyncClient:
    """aiohttp cannot speak SOCKS."""
    try:
        return httpx.AsyncClient(
            proxy=proxy,
            verify=context,
            trust_env=False,
            timeout=None,
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=100),
        )
    except (ImportError, ValueError) as error:
        raise ConfigurationError("HTTPS_PROXY", "this SOCKS proxy cannot be used") from error


def _options(request: Request) -> dict[str, Any]:
    """What one call adds to its model."""
    options: dict[str, Any] = {}
    if request.schema:
        options["response_mime_type"] = "application/json"
        options["response_json_schema"] = request.schema.model_json_schema()
    if request.search:
        options["tools"] = [{"google_search": {}}]
    elif request.tools:
        options["tools"] = list(request.tools)
    return options


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
        grounding=meta.get("grounding_metadata"),
        input_tokens=usage["input_tokens"] if usage else 0,
        output_tokens=usage["output_tokens"] if usage else 0,
        served_by=str(meta.get("model_name") or ""),
    )


def _piece(chunk: AIMessageChunk | AIMessage) -> Piece:
    meta = chunk.response_metadata
    reason = str(meta.get("finish_reason") or "")
    piece = Piece(text=str(chunk.text), served_by=str(meta.get("model_name") or ""))
    if reason:
        piece.finish, piece.reason = _finish(reason), reason
    if feedback := (meta.get("prompt_feedback") or {}).get("block_reason"):
        piece.finish, piece.reason = "blocked", str(getattr(feedback, "name", feedback))
    if chunk.usage_metadata:
        piece.input_tokens = chunk.usage_metadata["input_tokens"]
        piece.output_tokens = chunk.usage_metadata["output_tokens"]
    return piece


def _finish(reason: str) -> Finish:
    """Whatever Google calls by a name we don't know is a refusal (SAFETY, RECITATION, …)."""
    return _FINISHES.get(reason, "blocked")
