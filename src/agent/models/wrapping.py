"""Drop what a model wraps its text in: an outer code fence, an echo of the prompt."""

import re
from bisect import bisect_left
from collections.abc import Iterator, Sequence

from langchain_core.messages import BaseMessage, SystemMessage

from agent.core.processor import breathe
from agent.core.strings import code_fence
from agent.evidence.citations import MARKER
from agent.evidence.language import SENTENCE_END
from agent.prompts import TAGS

_PROSE = frozenset({
    "markdown", "md", "mdx", "gfm", "commonmark", "text", "txt", "plain", "plaintext",
})  # fmt: skip
_LONGEST_LEAD = 300
"""Characters that may stand before the fence, such as `Here is the report:`."""


class _Lines:
    """Cut a stream into lines; `is_undecided` says which beginnings of a line must wait."""

    def __init__(self) -> None:
        self._rest = ""
        self._at_line = True

    def take(self, text: str) -> Iterator[tuple[str, bool]]:
        """Yield pieces, and whether each is a whole line or the beginning of none that matters."""
        text, self._rest, at = self._rest + text, "", 0
        while at < len(text):
            breathe()
            end = text.find("\n", at) + 1
            piece = text[at : end or len(text)]
            if not end and self._at_line and self.is_undecided(piece):
                self._rest = piece
                return
            at += len(piece)
            whole, self._at_line = self._at_line, bool(end)
            yield piece, whole

    def left(self) -> Iterator[tuple[str, bool]]:
        """Yield what still waits, at the end."""
        if self._rest:
            piece, self._rest = self._rest, ""
            yield piece, self._at_line

    def is_undecided(self, line: str) -> bool:
        raise NotImplementedError


class OuterFence(_Lines):
    """Take a text in pieces and drop the code fence around the whole of it.

    A fence counts as wrapping where the text in it cites (`[^w0-0]`: no code does), or where
    nothing but a block of prose was written. Any other block of code is the real content.
    """

    def __init__(self) -> None:
        super().__init__()
        self._step = self._before
        self._lead, self._fence, self._info, self._inner = 0, "", "", ""
        self._held: list[str] = []

    def feed(self, text: str) -> str:
        return "".join(self._step(piece, whole) for piece, whole in self.take(text))

    def finish(self) -> str:
        """Return what was held back, at the end of the text."""
        text = "".join(self._step(piece, whole) for piece, whole in self.left())
        lines, self._held = self._held, []
        if not lines or self._step == self._closing:
            return text + "".join(lines[1:])
        wraps = self._info in _PROSE and not self._lead
        if self._step == self._after and wraps:
            lines = lines[: self._closed_at]
        return text + "".join(lines[1:] if wraps else lines)

    def is_undecided(self, line: str) -> bool:
        return self._step == self._inside or not line.strip() or line.lstrip(" \t")[0] in "`~"

    def _pass(self, piece: str, whole: bool) -> str:
        return piece

    def _before(self, piece: str, whole: bool) -> str:
        fence = code_fence(piece) if whole else None
        if fence:
            self._fence, self._info = fence[0], fence[1].lower()
            self._step, self._held = self._inside, [piece]
            return ""
        self._lead += len(piece.strip())
        if self._lead > _LONGEST_LEAD:
            self._step = self._pass
        return piece

    def _inside(self, piece: str, whole: bool) -> str:
        """Hold the block until it cites or ends."""
        self._held.append(piece)
        if MARKER.search(piece):
            text, self._held, self._step = "".join(self._held[1:]), [], self._open
            return text
        if whole and self._closes(piece):
            self._step, self._closed_at = self._after, len(self._held) - 1
        return ""

    def _after(self, piece: str, whole: bool) -> str:
        """Keep the block where text follows it."""
        self._held.append(piece)
        if not piece.strip():
            return ""
        text, self._held, self._step = "".join(self._held), [], self._pass
        return text

    def _open(self, piece: str, whole: bool) -> str:
        """Say what stands in the wrapping, and wait at what may close it."""
        if whole and self._closes(piece):
            self._held, self._step = [piece], self._closing
            return ""
        return piece

    def _closing(self, piece: str, whole: bool) -> str:
        """Decide whether the wrapping was closed, or a block in it opened without a language."""
        self._held.append(piece)
        fence = code_fence(piece) if whole else None
        if fence is None:
            return ""
        lines, self._held = self._held, []
        if fence[1]:
            self._step = self._pass
            return "".join(lines[1:])
        self._step = self._open
        return "".join(lines)

    def _closes(self, line: str) -> bool:
        """Return True for the fence's own end; blocks within are gone through."""
        if not (fence := code_fence(line)):
            return False
        mark, info = fence
        if self._inner:
            if mark.startswith(self._inner) and not info:
                self._inner = ""
            return False
        if info or not mark.startswith(self._fence):
            self._inner = mark
            return False
        return True


_TAG = re.compile(r"<(/?)(\w+)>")
_LONGEST_TAG = 45
_LIST_MARKS = " \t\n\r\u3000>*#-0123456789.、)"
_LEAST_BYTES = 30
"""Of a line that is known again: shorter ones may be an answer's own."""
_OF_ANSWERS = frozenset({"answer", "report", "output", "result"})


class Echo(_Lines):
    """Take a text in pieces and drop what it repeats of the prompt that was just sent.

    That are the tags of our prompts, with what stands between them in the prompt as well, and lines
    of the instructions. A quotation of the findings is none. `found` counts what was dropped.
    """

    def __init__(self, messages: Sequence[BaseMessage]) -> None:
        super().__init__()
        texts = [str(message.text) for message in messages]
        tags = {tag for text in texts for end, tag in _TAG.findall(text) if not end} & TAGS
        # Weak models write <answers> for <answer>.
        self._tags = tags | {form for tag in tags for form in (f"{tag}s", tag.removesuffix("s"))}
        system = [line for m in messages if isinstance(m, SystemMessage) for line in _lines(m.text)]
        sentences = [part.strip() for line in system for part in SENTENCE_END.split(line)]
        self._own = sorted(
            {text for text in (*system, *sentences) if len(text.encode()) >= _LEAST_BYTES}
        )
        self._sent = {line for text in texts for line in _lines(_TAG.sub("", text))}
        self._within, self._tail = "", ""
        self.found = 0

    def begin_again(self) -> None:
        """Forget the text so far: it was a thought. The prompt was read once."""
        self._rest, self._at_line = "", True
        self._within, self._tail = "", ""
        self.found = 0

    def feed(self, text: str) -> str:
        return self._inline("".join(self._kept(*piece) for piece in self.take(text)))

    def finish(self) -> str:
        """Return what was held back, at the end of the text."""
        text = self._inline("".join(self._kept(*piece) for piece in self.left()))
        tail, self._tail = self._tail, ""
        return text + tail

    def is_undecided(self, line: str) -> bool:
        plain = _plain(line)
        if not plain or self._within or plain[0] in "<\\":
            return len(line) <= 10 * _LONGEST_LEAD
        at = bisect_left(self._own, plain)
        return at < len(self._own) and self._own[at].startswith(plain)

    def _kept(self, piece: str, whole: bool) -> str:
        if not whole:
            return piece
        begun = piece.lstrip(" \t\r\n>*#\\-")
        if (tag := _TAG.match(begun)) and tag[2] in self._tags:
            self._within = "" if tag[1] else tag[2]
            self._count(tag[2])
            rest = begun[tag.end() :]
            closing = f"</{tag[2]}>"
            if closing in rest:
                self._within = ""
                rest = rest.replace(closing, "")
            return "" if _plain(rest) in self._sent or not rest.strip() else rest
        plain = _plain(piece)
        if self._within and f"</{self._within}>" in piece:
            self._within, plain = "", plain.removesuffix(f"</{self._within}>").strip()
            piece = piece.partition("</")[0] if plain not in self._sent else ""
        elif self._within and plain and plain not in self._sent:
            self._within = ""
        elif self._within or self._is_own(plain):
            self._count("")
            return ""
        return piece

    def _is_own(self, plain: str) -> bool:
        at = bisect_left(self._own, plain)
        return at < len(self._own) and self._own[at] == plain

    def _inline(self, text: str) -> str:
        """Return the text without our tags amid a line; an unfinished one waits."""
        text = self._tail + text
        begin = text.rfind("<", max(0, len(text) - _LONGEST_TAG))
        name = text[begin + 1 :].removeprefix("/") if begin >= 0 else " "
        self._tail = text[begin:] if not name or name.replace("_", "a").isalnum() else ""
        text = text[: len(text) - len(self._tail)]

        def without(tag: "re.Match[str]") -> str:
            if "_" not in tag[2] or tag[2] not in self._tags:
                return tag[0]
            self._count(tag[2])
            return ""

        return _TAG.sub(without, text)

    def _count(self, tag: str) -> None:
        self.found += tag.removesuffix("s") not in _OF_ANSWERS


def _lines(text: str) -> list[str]:
    return [plain for line in text.splitlines() if (plain := _plain(line))]


def _plain(line: str) -> str:
    return line.lstrip(_LIST_MARKS).rstrip().strip("*").strip()
