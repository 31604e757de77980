"""Ask a model three small things, to see what it can do: a text, a form, a call of a tool."""

import time
import uuid
from dataclasses import dataclass

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.tools import tool
from pydantic import BaseModel

from agent.core.budget import Meter, unlimited_meter
from agent.core.errors import AgentError, ConfigurationError, MalformedReply, ProviderError
from agent.models.catalogue import parse, retirement
from agent.models.client import ModelClient
from agent.models.types import ModelAnswer
from agent.models.validation import is_unusable

MODEL_UNKNOWN = "model_missing"
_COUNT = "Count from one to thirty in English words. Write nothing else."
_FORM = "What is the capital of France? Fill in the form."
_CALL = "Use the tool to look up the word “tea”."
_COUNT_TOKENS = 200
"""Twice what the numbers take."""
_MOST_NAMES = 8


class Capital(BaseModel):
    city: str


@tool
def look_up(word: str) -> str:
    """Look up a word."""
    return word


@dataclass(frozen=True)
class Probe:
    """Hold what a model was seen to do; where it did not answer at all, the error alone."""

    error: AgentError | None = None
    seconds: float = 0.0
    tokens_a_second: float | None = None
    """None where the service does not count, or answered too shortly."""
    window: int | None = None
    writes: bool = True
    """False where it came, and was none or went round in circles."""
    fills_forms: bool = False
    calls_tools: bool = False
    names: tuple[str, ...] = ()
    """Of models that the service has, where it does not know this one."""


async def probe(models: ModelClient, model: str) -> Probe:
    """Return what a model can do, by asking it; an error is a result, not raised."""
    meter = unlimited_meter(f"probe-{uuid.uuid4().hex}")
    try:
        name = parse(model)
        if name.provider == "google" and (successor := retirement(name.id)):
            raise ConfigurationError("model", f"is retired, {name.id}; use {successor}")
        # Asked first: what kind of server it is stands beside the window.
        window = await _window(models, model)
        began = time.monotonic()
        writes = await _writes(models, model, meter)
        seconds = time.monotonic() - began
        tokens = meter.usage["output_tokens"]
        return Probe(
            seconds=seconds,
            tokens_a_second=tokens / seconds if tokens >= 10 else None,
            window=window,
            writes=writes,
            fills_forms=await _fills_forms(models, model, meter),
            calls_tools=await _calls_tools(models, model, meter),
        )
    except AgentError as error:
        return Probe(error=error, names=await _names(models, model, error))


async def _writes(models: ModelClient, model: str, meter: Meter) -> bool:
    """Return whether the model writes a text; raise ProviderError where none can be asked for."""
    messages: list[BaseMessage] = [HumanMessage(_COUNT)]
    try:
        await models.ask(model, messages, meter=meter, text_tokens=_COUNT_TOKENS)
    except MalformedReply as error:
        if not is_unusable(error):
            raise
        return False
    return True


async def _fills_forms(models: ModelClient, model: str, meter: Meter) -> bool:
    try:
        reply = await models.ask(model, [HumanMessage(_FORM)], meter=meter, schema=Capital)
    except ProviderError:
        return False
    return reply.parsed is not None


async def _calls_tools(models: ModelClient, model: str, meter: Meter) -> bool:
    try:
        reply: ModelAnswer[BaseModel] = await models.ask(
            model, [HumanMessage(_CALL)], meter=meter, tools=[look_up]
        )
    except ProviderError:
        return False
    return bool(reply.message.tool_calls)


async def _window(models: ModelClient, model: str) -> int | None:
    try:
        return await models.window(model)
    except AgentError:
        return None


async def _names(models: ModelClient, model: str, error: AgentError) -> tuple[str, ...]:
    if error.code != MODEL_UNKNOWN:
        return ()
    try:
        return tuple((await models.list_models(parse(model).provider))[:_MOST_NAMES])
    except (AgentError, TimeoutError):
        return ()
