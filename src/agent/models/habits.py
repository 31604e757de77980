"""Leave out what a service has refused, for the process, by model.

One table says how a refusal sounds and what it concerns; the request is repeated without that.
"""

import logging
import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import aclosing
from dataclasses import dataclass, field
from typing import TypeVar

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

from agent.core.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.models.types import StreamPiece

T = TypeVar("T")
log = logging.getLogger(__name__)

_LONGEST, _DEEPEST = 2000, 4
_NOT = (
    r"support|enabl|allow|permit|recogni[sz]|requir|unknown|unexpected|extra|unavailable|implement"
    r"|invalid|illegal|not used|no longer|deprecat|不支持|未知|无效|不可用|仅支持|不能"
)


def _near_refusal(name: str) -> str:
    """Return what finds a name near a word of refusal."""
    return rf"(?s:(?:{_NOT}).{{0,80}}?(?:{name})|(?:{name}).{{0,80}}?(?:{_NOT}))"


_WORDS: tuple[tuple[str, str], ...] = (
    ("stream_options", "stream_options|include_usage"),
    ("pieces", r"\btools?\b.{0,60}\bstream|\bstream(?:ing)?\b.{0,60}\btools?\b"),
    ("whole", r"only supports? (?:the )?stream|stream(?:ing)?[ _]mode|non[- _]?stream"
              r"|stream\b.{0,30}must be|must.{0,30}\bstream|仅支持流式|流式(?:调用|输出)"),
    ("system", "roles? must alternate|must start with a user|only user and assistant"),
    ("system", _near_refusal(r"system[ _-]?(?:role|message|prompt|instruction)|role\W{0,6}system"
                        r"|\bsystem\W{0,6}role|developer[ _-]?(?:role|instruction|message)")),
    ("tools", _near_refusal(r"\btools?\b|tool.?(?:choice|calls?|calling|use|call-parser)\b"
                       r"|functions?\b.?call\w*")),
    ("json_schema", _near_refusal(r"json_schema|response_?format|response.?json|json.?mode|schema"
                             r"|structured|grammar|guided")),
    ("json_object", _near_refusal(r"json_object|response_?format|json.?mode|structured")),
    ("max_tokens", "max_tokens|max_completion_tokens|max_new_tokens|max_output"),
    ("reasoning_back", "reasoning_content"),
    ("thinking", _near_refusal(r"thinking|reasoning")),
)  # fmt: skip
_REFUSALS = [(feature, re.compile(words)) for feature, words in _WORDS]
"""What a refusal's words look like, and what they refuse; the first that was sent is left out."""

EXTRA = "extra:"
"""Begins the name of a field that the operator adds to each request."""
_UNSPECIFIC = ("json_schema", "json_object")
_OTHER_CAUSES = frozenset({
    "model_key_invalid", "model_quota", "model_quota_day", "model_region", "model_context",
    "model_blocked", "model_redirect", "model_loading", "proxy", "web_page",
    "unreachable", "model_not_running", "timeout",
})  # fmt: skip


@dataclass
class Attempt:
    """Hold what one request leaves out, and what it was sent with."""

    without: frozenset[str]
    sent: set[str] = field(default_factory=set)

    def takes(self, feature: str) -> bool:
        """Return whether to send a feature; it is noted as sent."""
        if feature in self.without:
            return False
        self.sent.add(feature)
        return True


def refused_feature(error: ProviderError, sent: set[str]) -> str | None:
    """Return what of a request its service refuses; None where the fault is another."""
    if not isinstance(error, ProviderRefused | ProviderUnavailable) or error.code in _OTHER_CAUSES:
        return None
    words = _words(error)
    for feature, pattern in _REFUSALS:
        if feature in sent and pattern.search(words):
            return feature
    for feature in sorted(sent):
        if feature.startswith(EXTRA) and feature.removeprefix(EXTRA).lower() in words:
            return feature
    if error.code == "model_bad_request":
        return next((feature for feature in _UNSPECIFIC if feature in sent), None)
    return None


def _words(error: BaseException) -> str:
    """Return what a refusal says, whichever library said it."""
    parts = list[str]()
    cause: BaseException | None = error
    while cause is not None and len(parts) < _DEEPEST:
        parts.append(str(cause)[:_LONGEST])
        cause = cause.__cause__
    return " ".join(parts).lower()


class Habits:
    """Remember what each model's service refuses."""

    def __init__(self) -> None:
        self._left_out: dict[str, frozenset[str]] = {}

    async def adapt(self, model: str, ask: Callable[[Attempt], Awaitable[T]]) -> T:
        """Return what `ask` returns, repeated without what is refused."""
        without = self._left_out.get(model, frozenset())
        while True:
            attempt = Attempt(without)
            try:
                reply = await ask(attempt)
            except ProviderError as error:
                without = self._less(model, attempt, error)
            else:
                self._keep(model, without)
                return reply

    async def adapt_stream(
        self, model: str, ask: Callable[[Attempt], AsyncGenerator[StreamPiece, None]]
    ) -> AsyncGenerator[StreamPiece, None]:
        """Yield what `ask` yields; it is repeated only where nothing had come."""
        without, begun = self._left_out.get(model, frozenset()), False
        while True:
            attempt = Attempt(without)
            try:
                async with aclosing(ask(attempt)) as pieces:
                    async for piece in pieces:
                        begun = True
                        yield piece
            except ProviderError as error:
                if begun:
                    raise
                without = self._less(model, attempt, error)
            else:
                self._keep(model, without)
                return

    def _less(self, model: str, attempt: Attempt, error: ProviderError) -> frozenset[str]:
        """Return what is left out next; raise the error where it concerns nothing of that kind."""
        if (feature := refused_feature(error, attempt.sent)) is None:
            raise error
        log.info("%s: asked again without %s: %s", model, feature, error)
        return attempt.without | {feature}

    def _keep(self, model: str, without: frozenset[str]) -> None:
        self._left_out[model] = self._left_out.get(model, frozenset()) | without


def without_system(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages with the instructions in the user's first turn."""
    instructions = [str(m.text) for m in messages if isinstance(m, SystemMessage)]
    others = [m for m in messages if not isinstance(m, SystemMessage)]
    return _alternating([HumanMessage("\n\n".join(instructions)), *others])


def without_tools(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages with past calls and their results as plain turns."""
    plain = list[BaseMessage]()
    for message in messages:
        if isinstance(message, ToolMessage):
            plain.append(HumanMessage(str(message.text)))
        elif isinstance(message, AIMessage) and message.tool_calls:
            if text := str(message.text).strip():
                plain.append(AIMessage(text))
        else:
            plain.append(message)
    return _alternating(plain)


def _alternating(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return the messages with one turn for several of the user's in a row."""
    turns = list[BaseMessage]()
    for message in messages:
        if isinstance(message, HumanMessage) and turns and isinstance(turns[-1], HumanMessage):
            turns[-1] = HumanMessage(f"{turns[-1].text}\n\n{message.text}")
        else:
            turns.append(message)
    return turns
