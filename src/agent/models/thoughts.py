"""Drop a model's thoughts from its text, whole or as it streams.

Servers leave them in the content in many spellings (`<think>`, `[THINK]`, `<|channel|>analysis`),
with the opening tag in the template, or without the closing one where the reply was cut. A tag that
is spoken of, in code or within a sentence, stays.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

from agent.core.processor import breathe
from agent.core.strings import code_fence, split_at

_LONGEST_TAG = 120
_BRACKETS = "<＜◁["
_TAG = re.compile(rf"[<＜◁\[]([^<>＜＞◁▷\[\]\n]{{1,{_LONGEST_TAG}}})[>＞▷\]]")
_SEPARATORS = "_:.-▁"
_PIPES = "|｜"
_CERTAIN = frozenset({
    "think", "thinking", "thought", "thoughts", "reasoning", "cot", "scratchpad", "monologue",
    "思考", "思考过程", "思考過程", "思维链", "推理过程",
})  # fmt: skip
_LIKELY = frozenset({"reason", "rationale", "analysis", "reflection", "deliberation"})
_ENDING = frozenset({"end", "stop", "close"})
_SPOKEN = frozenset({"answer", "response", "solution", "final", "回答", "答案"})
_CONTROL = frozenset({
    "begin", "bos", "end", "endoftext", "eom", "eos", "eot", "id", "im", "of", "return", "sentence",
    "text", "turn",
})  # fmt: skip
"""Words that template tokens such as `<|im_end|>` are made of."""
_SENTENCE_ENDS = ".!?。！？…:：;；)）]】}>"
_MENTION = 20
"""Characters between two tags that a sentence mentions; a thought is longer."""

TokenKind = Literal["open", "close", "header", "message", "control", "spoken"]


@dataclass(frozen=True)
class Mark:
    """Hold what a tag does; `certain` where nobody else would write it."""

    kind: TokenKind
    certain: bool = True
    name: str = ""


def mark_of(tag: str) -> Mark | None:
    """Return what a tag in any brackets does to the text after it; None for any other tag."""
    inner = tag[1:-1].strip()
    if not inner:
        return None
    piped = inner[0] in _PIPES or inner[-1] in _PIPES
    bare = inner.strip(f"{_PIPES} ▁")
    closing, (name, _, attributes) = bare.startswith("/"), bare.lstrip("/ ").partition(" ")
    name = name.rstrip("/").partition("=")[0].lower()
    words = {*split_at(name, _SEPARATORS)} - {""}
    if piped and name in ("channel", "start"):
        return Mark("close" if inner[0] not in _PIPES else "header", name=name)
    if piped and name == "message":
        return Mark("message", name=name)
    if name == "details" and (closing or "reasoning" in attributes.lower()):
        return Mark("close" if closing else "open", not closing, name)
    subjects = words & (_CERTAIN | _LIKELY)
    if subjects and (tag[0] != "[" or len(words) == 1):
        ends = closing or bool(words & _ENDING)
        return Mark("close" if ends else "open", tag[0] != "[" and bool(words & _CERTAIN), name)
    if words & _SPOKEN and (piped or len(words) == 1) and tag[0] != "[":
        return Mark("spoken", piped, name)
    return Mark("control", name=name) if piped and words and words <= _CONTROL else None


class Thoughts:
    """Take a text in pieces and say what of it is none of the model's thoughts.

    `opened` is for a model that is known to begin with a thought whose opening tag its template
    wrote: its text waits for the closing tag.
    """

    def __init__(self, *, opened: bool = False) -> None:
        self.opened = opened
        """Whether the reply began with a thought that it did not open itself."""
        self._rest = ""
        self._said = self._dropped = self._wrapped = False
        self._fence, self._line, self._ticks, self._last = "", "", 0, ""
        self._thought: _Thought | None = _Thought(implicit=True) if opened else None

    def feed(self, text: str) -> tuple[bool, str]:
        """Return whether all that was said before was a thought, and what can be said now."""
        self._rest += text
        return self._join(self._read(final=False))

    def finish(self, *, cut: bool) -> tuple[bool, str]:
        """Return the same of what was held back, at the end of the reply."""
        withdrawn, text = self._join(self._read(final=True))
        thought, self._thought = self._thought, None
        if thought is None:
            return withdrawn, text
        if thought.implicit and not cut:
            self.opened = False
        if thought.is_certain or (cut and thought.hides_if_cut):
            return withdrawn, text
        return withdrawn, text + self._say(thought.raw)

    @staticmethod
    def _join(pieces: "Iterator[str | None]") -> tuple[bool, str]:
        withdrawn, said = False, list[str]()
        for piece in pieces:
            if piece is None:
                withdrawn, said = True, []
            else:
                said.append(piece)
        return withdrawn, "".join(said)

    def _read(self, *, final: bool) -> "Iterator[str | None]":
        """Yield what is said; None where all before it was a thought."""
        text, self._rest, at = self._rest, "", 0
        while at < len(text):
            breathe()
            begins = (text.find(sign, at) for sign in _BRACKETS)
            begin = min((place for place in begins if place >= 0), default=len(text))
            yield self._pass(text[at:begin])
            if begin == len(text):
                return
            tag = _TAG.match(text, begin)
            if not final and _is_open(tag, text, begin):
                self._rest = text[begin:]
                return
            at = tag.end() if tag else begin + 1
            mark = mark_of(tag[0]) if tag else None
            if mark is None or (tag and tag[0][0] == "[" and text[at : at + 1] in ("(", ":")):
                yield self._pass(text[begin:at])
            elif self._thought is not None:
                yield self._inside(self._thought, mark, text[begin:at], text[at : at + 1])
            else:
                yield self._outside(mark, text[begin:at], text[at : at + 1])

    def _pass(self, text: str) -> str:
        if self._thought is None:
            return self._say(text)
        self._thought.take(text)
        return ""

    def _outside(self, mark: Mark, tag: str, following: str) -> str | None:
        """Return what a tag in the text leaves of itself; None where it ends a thought."""
        if self._in_code:
            return self._say(tag)
        match mark.kind:
            case "open" | "header":
                self._thought = _Thought(
                    tag,
                    certain=mark.certain and (mark.kind == "header" or not self._said),
                    fresh_line=not self._line.strip(" \t>*#-"),
                    header=mark.kind == "header",
                    name=mark.name,
                )
                return ""
            case "close" if mark.certain and self._ends_thought(following):
                self._forget()
                self.opened = True
                return None
            case "control" | "message":
                return ""
            case "spoken" if mark.certain or not self._said or (self._wrapped and "/" in tag):
                self._wrapped = True
                return ""
        return self._say(tag)

    def _inside(self, thought: "_Thought", mark: Mark, tag: str, following: str) -> str | None:
        """Return what a tag in a thought lets be said."""
        if thought.header and mark.kind == "message":
            thought.header = False
            return self._end() if thought.is_final else ""
        if mark.kind == "header":
            thought.begin_header(tag)
            return ""
        ends = mark.kind == "close" or (mark.kind == "control" and thought.in_channel)
        if not ends or (mark.name == "details" != thought.name):
            if thought.implicit and mark.kind == "open" and not thought.raw.strip():
                self._thought = _Thought(tag, certain=True, name=mark.name)
            else:
                thought.take(tag)
            return ""
        if thought.implicit and not _ends(thought.raw.rpartition("\n")[2], following):
            thought.take(tag)
            return ""
        if thought.is_mentioned:
            self._thought = None
            return self._say(thought.raw + tag)
        return self._end()

    def _end(self) -> str:
        self._thought, self._dropped = None, True
        return ""

    def _forget(self) -> None:
        self._said, self._dropped = False, True
        self._fence, self._line, self._ticks, self._last = "", "", 0, ""

    def _ends_thought(self, following: str) -> bool:
        return _ends(self._last if self._line.strip() else "", following)

    @property
    def _in_code(self) -> bool:
        return bool(self._fence) or self._ticks % 2 == 1

    def _say(self, text: str) -> str:
        if self._dropped and not self._said:
            text = text.lstrip()
        if not text:
            return ""
        self._said = self._said or bool(text.strip())
        for line in text.splitlines(keepends=True):
            self._line = (self._line + line)[:_LONGEST_TAG]
            self._ticks += line.count("`")
            self._last = (line.strip() or self._last)[-1:]
            if line.endswith("\n"):
                self._end_line()
        return text

    def _end_line(self) -> None:
        if fence := code_fence(self._line.lstrip("> \t")):
            if not self._fence:
                self._fence = fence[0]
            elif fence[0].startswith(self._fence) and not fence[1]:
                self._fence = ""
        self._line, self._ticks, self._last = "", 0, ""


class _Thought:
    """Hold a thought that has begun, as it came as long as it may turn out to be a mention."""

    def __init__(
        self,
        tag: str = "",
        *,
        certain: bool = False,
        fresh_line: bool = False,
        header: bool = False,
        implicit: bool = False,
        name: str = "",
    ) -> None:
        self.is_certain, self.implicit, self.name = certain, implicit, name
        self.header = self.in_channel = header
        self._fresh_line, self._tag = fresh_line, tag
        self._parts = [tag]
        self._channel = name

    @property
    def raw(self) -> str:
        return "".join(self._parts)

    @property
    def hides_if_cut(self) -> bool:
        return self.implicit or self._fresh_line

    @property
    def is_mentioned(self) -> bool:
        """Return True for two tags that a sentence names, with a word or two between them."""
        if self.is_certain or self.implicit or self._fresh_line:
            return False
        inner = self.raw[len(self._tag) :]
        return len(inner.strip()) <= _MENTION and "\n" not in inner

    @property
    def is_final(self) -> bool:
        """Return True where the header of a channel says that what follows is said."""
        return "final" in self._channel or not self._channel.startswith("channel")

    def begin_header(self, tag: str) -> None:
        self.header = self.in_channel = True
        self._channel = "channel" if "channel" in tag.lower() else ""

    def take(self, text: str) -> None:
        if self.header:
            self._channel = (self._channel + text)[:_LONGEST_TAG]
        if not self.is_certain:
            self._parts.append(text)


def _is_open(tag: "re.Match[str] | None", text: str, begin: int) -> bool:
    """Return True where what follows decides whether this is a tag, and which."""
    if tag is not None:
        return tag.end() == len(text)
    rest = text[begin : begin + _LONGEST_TAG + 2]
    return len(text) - begin <= _LONGEST_TAG and "\n" not in rest


def _ends(line: str, following: str) -> bool:
    """Return True where a closing tag ends a thought: on a line of its own or after a sentence."""
    line = line.rstrip()
    return not line or line[-1] in _SENTENCE_ENDS or following in ("\n", "\r")
