"""Say how long a reply may be, by its task; without a limit one that runs away has no end.

A text that repeats itself without end, as a weak model's does, is known while it comes.
"""

import re
import time
from collections.abc import Callable, Mapping
from typing import Any

from agent.core.budget import Meter
from agent.core.calls import Pulse
from agent.core.strings import unrounded_tokens
from agent.models.catalogue import ModelName
from agent.models.types import ModelRequest, Response, StreamPiece, Thinking
from agent.models.validation import LOOP, TOO_LONG, malformed_reply
from agent.models.window import request_tokens

_TAIL = 4000
_STEP = 400
"""Characters between two looks: each looks at the tail once, so the whole is linear."""
_SHORTEST = 600
"""Characters of repetition; a line of dashes or the cells of a wide table are shorter."""
_TIMES = 5
_LINES = 12
"""Of a line of a few words that comes again and again, however short."""
_RULES = frozenset("-=_*#~ \t\n|")
"""What lines, frames and empty cells are drawn with."""
_LONGEST_RULE = 2000
_LEAST_LETTERS = 3
_AGAIN = 32
"""Characters that end a loop and come again in it, a piece earlier: no loop is too short for that.
"""


class Loop:
    """Take a text in as it comes; `found` once its end is one piece again and again.

    The pieces have to be the same to the sign: rows of a table or a list that differ in a name or
    a number are no loop.
    """

    def __init__(self) -> None:
        self.found = False
        self._tail, self._new = "", 0

    def take(self, text: str) -> bool:
        """Add the next piece of the text, and return whether all of it so far ends in a loop."""
        self._tail = (self._tail + text)[-_TAIL:]
        self._new += len(text)
        if not self.found and self._new >= _STEP:
            self._new = 0
            self.found = is_looping(self._tail)
        return self.found


def is_looping(text: str) -> bool:
    """Return whether the end of a text is one piece, many times in a row."""
    return _loop(text) is not None


def without_loop(text: str) -> str:
    """Return a text that loops up to where it begins to, and no line of it twice."""
    if loop := _loop(text):
        size, period = loop
        begin = len(text) - size
        while begin and text[begin - 1] == text[begin - 1 + period]:
            begin -= 1
        text = text[: begin + period]
    seen, kept = set[str](), list[str]()
    for line in text.splitlines(keepends=True):
        plain = line.strip()
        if sum(map(str.isalnum, plain)) < _LEAST_LETTERS or plain not in seen:
            kept.append(line)
        seen.add(plain)
    return "".join(kept)


def _loop(text: str) -> tuple[int, int] | None:
    """Return the characters of the repetition at the end of a text, and those of its piece."""
    ending = text[-_TAIL:][::-1]
    if ending.find(ending[:_AGAIN], 1, _TAIL // _TIMES + _AGAIN) < 0:
        # Of nearly all texts this is all that is looked at, while they stream on the event loop.
        return None
    border = [0] * len(ending)
    for at in range(1, len(ending)):
        length = border[at - 1]
        while length and ending[at] != ending[length]:
            length = border[length - 1]
        border[at] = length + (ending[at] == ending[length])
        size = at + 1
        period = size - border[at]
        if size >= _SHORTEST and size >= _TIMES * period:
            drawn = size < _LONGEST_RULE and _RULES.issuperset(ending[:period])
            if not drawn:
                return size, period
        elif size == _LINES * period:
            piece = ending[:period]
            if "\n" in piece and not _says_little(piece):
                return size, period
    return None


def _says_little(line: str) -> bool:
    """Return whether a line is a rule, a bracket or a number: those stand in texts many times."""
    return sum(map(str.isalpha, line)) < _LEAST_LETTERS


REPLY_TOKENS: Mapping[str, int] = {
    "SearchQueryList": 1500,
    "FirstQueryList": 1500,
    "Reflection": 1500,
    "WebReflection": 1500,
    "ReflectionOnDay": 1500,
    "Analyzed": 1000,
    "Extracted": 600,
    "Settled": 2000,
    "NotesReview": 800,
    "TopicPlan": 1500,
    "TaskQueries": 600,
    "Rewritten": 1500,
    "Plan": 4000,
    "Rulings": 4000,
    "Differences": 2000,
    "Findings": 3000,
    "Review": 2000,
    "Revision": 2000,
    "Capital": 400,
}
"""Tokens of a filled-in form by its name: about twice what a full one needs."""
_FORM = 2000
_CALLS = 3000
"""A turn with tools: a thought, and calls of which one may be a program."""
_TEXT = 4000
"""Notes, a speech in a discussion, findings written up."""
ANSWER_TOKENS = 8000
"""A streamed answer; one that reaches it goes on once."""
THOUGHTS: Mapping[Thinking | None, int] = {
    "minimal": 1000,
    "low": 6000,
    "medium": 12_000,
    "high": 24_000,
    None: 12_000,
}
"""Tokens that a thinking model may think besides: services count them as part of the reply."""
BYTES_A_CHARACTER = 10
"""Of a whole reply as it is sent, at most: escapes, and what stands around the text."""
_THINKS = re.compile(r"(?:^|[-_/.:])(?:r1|o[1-9]|gpt-[5-9]|qwq|qwen3)|reason|think", re.IGNORECASE)


USUAL_SPEED = 60.0
"""Tokens a second."""
_MEASURED_TOKENS = 30
"""Shorter replies say little about a model's speed."""
_TIME_SHARE = 0.5
"""Of the time that a run has left, for one reply: the steps after it need some, too."""
_LEAST_TOKENS = 100


class ReplySizes:
    """Give each call the tokens that its reply may have; learn which models think, and how fast."""

    def __init__(self, *, characters: int) -> None:
        self.characters = characters
        """That one reply may have, its thoughts and calls included."""
        self._thinking: set[ModelName] = set()
        self._speeds: dict[ModelName, float] = {}
        self._reading: dict[ModelName, float] = {}

    def of(
        self,
        name: ModelName,
        request: ModelRequest,
        *,
        left: Callable[[], float] | None = None,
        streamed: bool = False,
    ) -> "ReplySize":
        """Return the size for one call and its retries.

        `left` says how many seconds the run has left, where a reply has to be done within them.
        """
        return ReplySize(self, name, request, left=left, streamed=streamed)

    def speed(self, name: ModelName) -> float | None:
        """Return the tokens a second that a model was seen to write."""
        return self._speeds.get(name)

    def measure(self, name: ModelName, tokens: float, seconds: float) -> None:
        """Take in how long a reply took to write."""
        if tokens >= _MEASURED_TOKENS:
            self._speeds[name] = tokens / seconds

    def thinks(self, name: ModelName) -> bool:
        """Return whether the replies of a model hold thoughts."""
        by_name = name.provider == "google" or bool(_THINKS.search(name.id[:200]))
        return by_name or name in self._thinking

    def learn(self, name: ModelName) -> None:
        """Remember that a model thinks."""
        self._thinking.add(name)

    def measure_reading(self, name: ModelName, tokens: float, seconds: float) -> None:
        """Take in how long a prompt took to read: the longest of all, as some are in a cache."""
        if tokens >= _MEASURED_TOKENS and seconds > 0:
            self._reading[name] = max(self._reading.get(name, 0.0), seconds / tokens)

    def reading(self, name: ModelName, tokens: float) -> float:
        """Return the seconds that a model may take to read a prompt; 0 where nothing is known."""
        return self._reading.get(name, 0.0) * tokens


class ReplySize:
    """Hold the tokens for the reply of one call; more of them after one that was cut."""

    def __init__(
        self,
        sizes: ReplySizes,
        name: ModelName,
        request: ModelRequest,
        *,
        left: Callable[[], float] | None,
        streamed: bool,
    ) -> None:
        self._sizes, self._name, self._request, self._left = sizes, name, request, left
        self._streamed, self._factor = streamed, 1
        self.hurried = 0.0
        """Seconds that the attempt may take, where they are what limits it."""

    @property
    def tokens(self) -> int:
        """Return what the next attempt may have."""
        thinks = self._sizes.thinks(self._name)
        most = self._factor * reply_tokens(self._request, streamed=self._streamed, thinks=thinks)
        most = min(most, self._request.max_tokens or most)
        speed, self.hurried = self._sizes.speed(self._name), 0.0
        if self._left is None or speed is None:
            return most
        seconds = max(0.0, self._left() - self._reading) * _TIME_SHARE
        in_time = max(_LEAST_TOKENS, int(seconds * speed))
        if in_time < most:
            self.hurried = seconds
        return min(most, in_time)

    @property
    def is_late(self) -> bool:
        """Return whether the run would be over before the reply says anything."""
        speed = self._sizes.speed(self._name)
        if self._left is None or speed is None:
            return False
        return self._left() < self._reading + _LEAST_TOKENS / speed

    @property
    def _reading(self) -> float:
        return self._sizes.reading(self._name, request_tokens(self._request))

    def learn(self, response: Response) -> None:
        """Take in how a reply ended: one cut amid its thoughts, or at its limit, gets more room."""
        if response.finish != "length":
            return
        if _has_thoughts(response) and not self._sizes.thinks(self._name):
            self._sizes.learn(self._name)
        else:
            self._factor = 2


def refuse_runaway(response: Response, provider: str, model: str, *, characters: int) -> None:
    """Raise MalformedReply for a whole reply that went round in circles, or past all limits."""
    if response.finish == "length" and is_looping(response.text):
        raise malformed_reply(provider, model, LOOP)
    calls = sum(len(str(call["args"])) for call in response.message.tool_calls)
    if len(response.text) + calls > characters:
        raise malformed_reply(provider, model, TOO_LONG)


def refuse_late(size: ReplySize, meter: Meter) -> None:
    """Raise BudgetExceeded where a reply has no time left: its call would be given up half-way."""
    if size.is_late:
        raise meter.budget.out_of_time()


def _has_thoughts(response: Response) -> bool:
    extra, text = response.message.additional_kwargs, response.text.strip()
    return not text or bool(extra.get("reasoning_content")) or text.lower().startswith("<think")


class Underway:
    """Hear what comes of a reply: signs of life, loops, and what a call had cost when it ended."""

    def __init__(
        self, provider: str, request: ModelRequest, pulse: Pulse, *, characters: int
    ) -> None:
        self._provider, self._request, self._pulse = provider, request, pulse
        self._most = characters
        self._loop, self._tokens, self._characters = Loop(), 0.0, 0
        self._began, self._first = time.monotonic(), 0.0

    @property
    def seconds(self) -> float:
        """Return how long the reply has taken since its first piece; never 0."""
        return max(0.001, time.monotonic() - (self._first or self._began))

    @property
    def waited(self) -> float:
        """Return how long the first piece took to come; 0 while there is none."""
        return self._first - self._began if self._first else 0.0

    @property
    def has_heard(self) -> bool:
        """Return whether anything has come."""
        return self._tokens > 0

    def hear(self, text: str) -> None:
        """Take a piece in; raise MalformedReply where the text loops, or has no end."""
        self._pulse.beat()
        self._first = self._first or time.monotonic()
        self._tokens += unrounded_tokens(text)
        self._characters += len(text)
        if self._loop.take(text):
            raise malformed_reply(self._provider, self._request.model, LOOP)
        if self._characters > self._most:
            raise malformed_reply(self._provider, self._request.model, TOO_LONG)

    def spent(self) -> StreamPiece:
        """Return by estimate what was sent and what had come."""
        size = request_tokens(self._request)
        return StreamPiece(input_tokens=size, output_tokens=round(self._tokens))


_MOST_ITEMS = 20
_MOST_SIGNS = 1000
"""Of lists and texts in a form that say nothing else. llama.cpp refuses grammars of more."""


def reply_tokens(request: ModelRequest, *, streamed: bool = False, thinks: bool = False) -> int:
    """Return the tokens that a reply to the request may have."""
    if request.text_tokens:
        most = request.text_tokens
    elif request.schema:
        most = REPLY_TOKENS.get(request.schema.__name__, _FORM)
    elif streamed:
        most = ANSWER_TOKENS
    else:
        most = _CALLS if request.tools else _TEXT
    return most + THOUGHTS[request.thinking] if thinks else most


def with_ends(shape: Any) -> Any:
    """Return a JSON schema in which every list and text has an end."""
    if isinstance(shape, list):
        return [with_ends(item) for item in shape]
    if not isinstance(shape, dict):
        return shape
    whole = {name: with_ends(value) for name, value in shape.items()}
    if shape.get("type") == "array":
        return {"maxItems": _MOST_ITEMS, **whole}
    if shape.get("type") == "string" and "enum" not in shape:
        return {"maxLength": _MOST_SIGNS, **whole}
    return whole
