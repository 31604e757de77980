"""Ask any OpenAI-compatible endpoint through `ChatOpenAI` (extra `tanlu[openai]`).

Served: DeepSeek, DashScope, Volcano Ark, vLLM, Ollama. They differ in what they refuse, so a
schema is told in words by default, a tool is never forced, and JSON mode is tried once.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, cast

import httpx
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage
from langchain_core.outputs import ChatGenerationChunk, ChatResult
from langchain_openai import ChatOpenAI
from pydantic import BaseModel, SecretStr

from agent.core.concurrency import PerLoop
from agent.core.errors import ConfigurationError, ProviderRefused
from agent.core.proxies import proxy_for
from agent.models.connections import tls
from agent.models.errors import PROVIDER_OPENAI, refuse_false_success, translate_errors
from agent.models.types import LISTING, QUIET, Finish, Piece, Request, Response
from agent.models.validation import schema_of, with_schema
from agent.settings import Settings

DEFAULT_URL = "https://api.openai.com/v1"
_REASONING = "reasoning_content"
_FINISHES: dict[str, Finish] = {
    "stop": "stop",
    "tool_calls": "stop",
    "function_call": "stop",
    "length": "length",
    "content_filter": "blocked",
}
_JSON_OBJECT = {"type": "json_object"}


class Compatible(ChatOpenAI):
    """Extend ChatOpenAI to keep `reasoning_content` and give it back in tool loops."""

    def _get_request_payload(self, input_: Any, **kwargs: Any) -> dict[str, Any]:
        payload: dict[str, Any] = super()._get_request_payload(input_, **kwargs)
        messages: Sequence[BaseMessage] = self._convert_input(input_).to_messages()
        for message, wire_message in zip(messages, payload["messages"], strict=True):
            reasoning = message.additional_kwargs.get(_REASONING)
            if reasoning and isinstance(message, AIMessage) and message.tool_calls:
                wire_message[_REASONING] = reasoning
        return payload

    def _create_chat_result(self, response: Any, generation_info: Any = None) -> ChatResult:
        result = super()._create_chat_result(response, generation_info)
        choices = getattr(response, "choices", None) or []
        for generation, choice in zip(result.generations, choices, strict=False):
            if reasoning := (choice.message.model_extra or {}).get(_REASONING):
                generation.message.additional_kwargs[_REASONING] = reasoning
        return result

    def _convert_chunk_to_generation_chunk(
        self, chunk: dict[str, Any], default_chunk_class: type, base_generation_info: Any
    ) -> ChatGenerationChunk | None:
        # Some servers send a last chunk whose choices are null.
        chunk = chunk | {"choices": chunk.get("choices") or []}
        return super()._convert_chunk_to_generation_chunk(
            chunk, default_chunk_class, base_generation_info
        )


@dataclass
class Pool:
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
        self._pools: PerLoop[Pool] = PerLoop(self._open, Pool.aclose, Pool.drop)
        self._no_json_mode = False

    async def complete(self, request: Request) -> Response:
        """Return one reply; JSON mode is left off for good where the endpoint refuses it."""
        method = self._settings.structured_method
        guess = request.schema is not None and method in ("auto", "prompt")
        if not guess or self._no_json_mode:
            return await self._complete(request, json_mode=method == "json_mode")
        try:
            return await self._complete(request, json_mode=True)
        except ProviderRefused as refusal:
            if refusal.code != "model_bad_request":
                raise
            response = await self._complete(request, json_mode=False)
            self._no_json_mode = True
            return response

    async def _complete(self, request: Request, *, json_mode: bool) -> Response:
        with translate_errors(PROVIDER_OPENAI, request.model):
            model = await self._model(request.model)
            messages, options = self._ask(request, json_mode)
            message = await model.ainvoke(messages, QUIET, **options)
            return _response(message, request.schema)

    async def stream(self, request: Request) -> AsyncIterator[Piece]:
        with translate_errors(PROVIDER_OPENAI, request.model):
            model = await self._model(request.model, streaming=True)
            chunks = model.astream(list(request.messages), QUIET)
            async with aclosing(cast(Any, chunks)) as stream:
                async for chunk in stream:
                    yield _piece(chunk)

    async def list_models(self) -> list[str]:
        """Return the ids the endpoint lists."""
        with translate_errors(PROVIDER_OPENAI, LISTING):
            model = await self._model(LISTING)
            return [str(entry.id) async for entry in model.root_async_client.models.list()]

    async def aclose(self) -> None:
        await self._pools.aclose()

    def _ask(self, request: Request, json_mode: bool) -> tuple[list[BaseMessage], dict[str, Any]]:
        """Return the messages and what this call adds to its model."""
        messages, schema = list(request.messages), request.schema
        options: dict[str, Any] = {}
        tools: list[Any] = list(request.tools)
        response_format: dict[str, Any] | None = None
        match self._settings.structured_method if schema else "text":
            case "json_schema":
                response_format = _json_schema(cast(type[BaseModel], schema))
            case "function_calling":
                tools = [*tools, _schema_as_tool(cast(type[BaseModel], schema))]
            case "auto" | "prompt" | "json_mode":
                messages = with_schema(messages, cast(type[BaseModel], schema))
                response_format = _JSON_OBJECT if json_mode and not tools else None
        if tools:
            bound: Any = Compatible.model_construct().bind_tools(tools)
            options["tools"] = bound.kwargs["tools"]
        if response_format:
            # In the body, because as an option it selects the parsing client.
            extra = self._settings.openai_extra_body or {}
            options["extra_body"] = {**extra, "response_format": response_format}
        return messages, options

    async def _model(self, model: str, *, streaming: bool = False) -> Compatible:
        pool, key = await self._pools.get(), self._settings.openai_api_key
        options: dict[str, Any] = {
            "base_url": self.url,
            # Ollama and vLLM want no key, but the client insists on one.
            "api_key": key or SecretStr("none"),
            "max_retries": 0,
            "timeout": httpx.Timeout(None, connect=10) if streaming else self._seconds,
            "http_async_client": pool.asynchronous,
            "http_client": pool.synchronous,
            "openai_proxy": "",
            # Else it warns that proxies are off, which are decided by our own clients.
            "http_socket_options": (),
            "use_responses_api": False,
            "disable_streaming": not streaming,
            "stream_usage": True,
            "stream_chunk_timeout": None,
            "cache": False,
        }
        if self._settings.openai_extra_body:
            options["extra_body"] = self._settings.openai_extra_body
        return Compatible(model=model, **options)

    @property
    def _seconds(self) -> float:
        return self._settings.model_timeout_seconds

    async def _open(self) -> Pool:
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
        hooks = {"response": [refuse_false_success]}
        asynchronous = httpx.AsyncClient(**shared, event_hooks=hooks)
        return Pool(asynchronous, httpx.Client(**shared))


def _schema_as_tool(schema: type[BaseModel]) -> dict[str, Any]:
    shape = dict(schema_of(schema))
    description = shape.pop("description", schema.__name__)
    function = {"name": schema.__name__, "description": description, "parameters": shape}
    return {"type": "function", "function": function}


def _json_schema(schema: type[BaseModel]) -> dict[str, Any]:
    shape = {"name": schema.__name__, "schema": schema_of(schema), "strict": False}
    return {"type": "json_schema", "json_schema": shape}


def _response(message: AIMessage, schema: type[BaseModel] | None) -> Response:
    meta, usage, text = message.response_metadata, message.usage_metadata, str(message.text)
    if schema and message.tool_calls:
        # The schema as a tool: its arguments are the answer.
        args = [c["args"] for c in message.tool_calls if c["name"] == schema.__name__]
        text = json.dumps(args[0], ensure_ascii=False) if args else text
    if schema and not text.strip():
        # vLLM puts a thinking model's JSON where its thoughts belong.
        text = str(message.additional_kwargs.get(_REASONING) or "")
    reason = str(meta.get("finish_reason") or "")
    finish = _FINISHES.get(reason, "none")
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


def _piece(chunk: AIMessageChunk | AIMessage) -> Piece:
    meta = chunk.response_metadata
    piece = Piece(text=str(chunk.text), served_by=str(meta.get("model_name") or ""))
    if reason := meta.get("finish_reason"):
        piece = replace(piece, finish=_FINISHES.get(str(reason), "none"), reason=str(reason))
    if chunk.usage_metadata:
        piece.input_tokens = chunk.usage_metadata["input_tokens"]
        piece.output_tokens = chunk.usage_metadata["output_tokens"]
    return piece
