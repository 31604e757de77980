"""Cut a prompt to the window that a model's server really has, which it tells when asked."""

import json
import logging
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from langchain_core.messages import BaseMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from agent.core.strings import cut_middle, cut_to_shares, estimated_tokens, has_any
from agent.models.catalogue import ModelName
from agent.models.errors import PromptTooLong
from agent.models.types import ModelRequest, Response, Vendor
from agent.models.validation import schema_of

M = TypeVar("M", bound=BaseMessage)
T = TypeVar("T")
log = logging.getLogger(__name__)
_MOST_CUTS = 2
_REPLY_SHARE = 4
"""The part of a window (one in …) that is kept for the reply at most."""
_SPARE = 0.95
_LEAST_TOKENS = 100
"""A prompt cut further says nothing."""
_READ_SHARE = 0.6
_LEAST_READ = 1000
"""Tokens; no server of today cuts a prompt to fewer."""
_COUNT_REPLY = ("max_tokens", "max_new_tokens", "output tokens", "completion")
"""Words of servers that count the tokens which the reply may have as part of the request."""
_UNKNOWN_SHARE = 0.5
"""Of a prompt that was too long for a window that nobody tells."""


@dataclass(frozen=True)
class ModelWindow:
    """Hold the tokens of a model's window, and how many of its tokens one of our estimate is."""

    tokens: int
    rate: float = 1.0


class Windows:
    """Remember the windows of models whose prompts were too long."""

    def __init__(self) -> None:
        self._known: dict[ModelName, ModelWindow] = {}
        self._silent = set[ModelName]()
        """Those whose service was asked, and told none."""

    def is_told(self, name: ModelName) -> bool:
        """Return whether a window is known, or nobody tells it."""
        return name in self._known or name in self._silent

    def tell(self, name: ModelName, tokens: int | None) -> None:
        """Take in what a service says of a window before a prompt was too long for it."""
        if tokens is None:
            self._silent.add(name)
        else:
            self._known.setdefault(name, ModelWindow(tokens))

    def room(self, name: ModelName) -> int | None:
        """Return the tokens that a prompt of a model may have, where its window is known."""
        if (window := self._known.get(name)) is None:
            return None
        return _room(window, window.tokens // _REPLY_SHARE)

    def fit_window(self, name: ModelName, request: ModelRequest) -> ModelRequest:
        """Return the request as it fits the model's window, where that is known."""
        if (window := self._known.get(name)) is None:
            return request
        reply = min(request.max_tokens or window.tokens, window.tokens // _REPLY_SHARE)
        fixed = _fixed_tokens(request)
        messages = fit(request.messages, _room(window, reply) - fixed)
        return replace(request, messages=messages, max_tokens=reply)

    async def ask_within(
        self,
        name: ModelName,
        request: ModelRequest,
        vendor: Vendor,
        ask: Callable[[ModelRequest], Awaitable[T]],
    ) -> T:
        """Return what `ask` returns, for a shorter request where this one was too long."""
        for cuts_left in reversed(range(_MOST_CUTS + 1)):
            shorter = self.fit_window(name, request)
            try:
                return await ask(shorter)
            except PromptTooLong as error:
                if not cuts_left or not await self.learn(name, shorter, error, vendor):
                    raise
        raise AssertionError("unreachable")

    def check(self, request: ModelRequest, response: Response, provider: str) -> None:
        """Raise PromptTooLong where the service read far less than was sent, and did not say so.

        Ollama cuts a prompt at its num_ctx, and the instructions with it. Forms and tools do not
        count: a server that makes a grammar of them reads none of their words.
        """
        count = response.input_tokens
        if _LEAST_READ <= count < _READ_SHARE * _text_tokens(request):
            window = 1 << (count - 1).bit_length()
            message = f"{request.model}: of the prompt {count} tokens were read, without a word"
            raise PromptTooLong(provider, message, window=window, sent=None)

    async def learn(
        self, name: ModelName, request: ModelRequest, error: PromptTooLong, vendor: Vendor
    ) -> bool:
        """Take in what a refusal says of the window; return whether a shorter prompt may fit."""
        estimate = request_tokens(request)
        before = self._known.get(name)
        rate = max(1.0, error.sent / estimate) if error.sent else before.rate if before else 1.0
        size = error.window or (None if before else await vendor.window(name.id))
        tokens = size or int(estimate * rate * _UNKNOWN_SHARE)
        self._known[name] = ModelWindow(tokens, rate)
        log.warning("%s: its window is %d tokens; the prompt is cut to it", name.id, tokens)
        only_reply = before is None and has_any(error.message, _COUNT_REPLY)
        return only_reply or self.fit_window(name, request).messages != request.messages


def _room(window: ModelWindow, reply: int) -> int:
    return int((window.tokens - reply) * _SPARE / window.rate)


def request_tokens(request: ModelRequest) -> int:
    """Return the tokens of a request by estimate: messages, tools, schema."""
    return _text_tokens(request) + _fixed_tokens(request)


def _text_tokens(request: ModelRequest) -> int:
    return sum(estimated_tokens(str(message.text)) for message in request.messages)


def _fixed_tokens(request: ModelRequest) -> int:
    shapes = [convert_to_openai_tool(tool) for tool in request.tools]
    if request.schema:
        shapes.append(schema_of(request.schema))
    return sum(estimated_tokens(json.dumps(shape, ensure_ascii=False)) for shape in shapes)


def fit(messages: Sequence[BaseMessage], tokens: int) -> tuple[BaseMessage, ...]:
    """Return the messages with their longest texts cut in the middle, to so many tokens together.

    Instructions stay whole. Material stands in the middle of a message: before it what it is, after
    it the question.
    """
    whole = [at for at, message in enumerate(messages) if not _is_cut(message)]
    left = tokens - sum(estimated_tokens(str(messages[at].text)) for at in whole)
    texts = [str(message.text) for at, message in enumerate(messages) if at not in whole]
    if left < _LEAST_TOKENS:
        return tuple(messages)
    shorter = iter(cut_to_shares(texts, left, cut_middle))
    return tuple(
        message if at in whole else _with_text(message, next(shorter))
        for at, message in enumerate(messages)
    )


def _is_cut(message: BaseMessage) -> bool:
    return isinstance(message.content, str) and not isinstance(message, SystemMessage)


def _with_text(message: M, text: str) -> M:
    return message if text == message.content else message.model_copy(update={"content": text})
