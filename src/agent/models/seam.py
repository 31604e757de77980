"""Join the rest of an answer to what was cut off of it, however a model takes it up."""

_SHOWN = 600
"""Characters of the end that the model is shown, and may say again."""
_LAST = 24
_LEAST = 6
"""Characters said again that are no chance, unless they are a whole line."""
_LEAST_OF_LINE = 2
_LEAST_OF_BEGIN = 16
_WIDE = "\u3000"
"""From here on signs are written without blanks between words."""


def shown_end(text: str) -> str:
    """Return the end of a text that its model is shown, to go on from."""
    return text[-_SHOWN:]


def last_words(text: str) -> str:
    """Return the last words of a text, from the begin of one; the rest is to begin with them."""
    whole = text.rstrip()
    line = whole.rpartition("\n")[2]
    # A lone "1" or "|" is found anywhere.
    end = (line if len(line) >= _LEAST else whole)[-_LAST:]
    if len(end) < _LAST:
        return end
    borders = (at for at in range(1, _LAST // 2) if _begins_word(end[at - 1], end[at]))
    return end[next(borders, 0) :]


def _begins_word(before: str, sign: str) -> bool:
    return not sign.isspace() and (before.isspace() or min(before, sign) >= _WIDE)


class Seam:
    """Let a text's rest through, less what it says again of the text's end.

    It holds back what may still be a repetition. `restarted` where the rest begins the text anew.
    """

    def __init__(self, text: str) -> None:
        self.restarted = False
        self._text = text
        self._end = shown_end(text).rstrip()
        self._gap = text[len(text.rstrip()) :]
        """The blanks that the text ends with; none once the rest has gone on behind them."""
        self._blanks = ""
        self._begin = text.strip().partition("\n")[0][:_SHOWN]
        self._held: str | None = ""
        """What came of the rest; None once it is let through."""

    def take(self, piece: str) -> str:
        """Return what can be said of the rest so far."""
        if self._held is None:
            return self._after_gap(piece)
        self._held += piece
        begun = self._held.lstrip()
        return "" if not begun or self._may_repeat(begun) else self._joined(begun)

    def end(self) -> str:
        """Return what was still held back."""
        return "" if self._held is None else self._joined(self._held.lstrip())

    def _after_gap(self, piece: str) -> str:
        """Return a piece less the blanks that the text ends with, behind what was said again."""
        if not self._gap:
            return piece
        self._blanks += piece
        if not (rest := self._blanks.lstrip()):
            return ""
        blanks, gap = self._blanks[: len(self._blanks) - len(rest)], self._gap
        self._gap = ""
        return blanks.removeprefix(gap) + rest if blanks.startswith(gap) else rest

    def _may_repeat(self, begun: str) -> bool:
        """Return whether more of the rest could show that it repeats the end, or the begin."""
        within = 0 <= self._end.find(begun) < len(self._end) - len(begun)
        return within or (len(begun) < _LEAST_OF_BEGIN and self._begin.startswith(begun))

    def _joined(self, begun: str) -> str:
        held, self._held = self._held or "", None
        if size := self._repeated(begun):
            return self._after_gap(begun[size:])
        self._gap = ""
        if len(begun) >= _LEAST_OF_BEGIN and self._begin.startswith(begun[:_LEAST_OF_BEGIN]):
            self.restarted = True
            return begun
        return " " + held if self._glues(held) else held

    def _repeated(self, begun: str) -> int:
        """Return how much of the rest's begin is the end of the text, the longest such piece."""
        for size in range(min(len(begun), len(self._end)), 0, -1):
            if not self._end.endswith(begun[:size]):
                continue
            is_line = self._end[: len(self._end) - size].rstrip(" ").endswith("\n")
            is_told = is_line and any(map(str.isalnum, begun[:size]))
            is_all = size == len(self._text.strip())
            if is_all or size >= (_LEAST_OF_LINE if is_told else _LEAST):
                return size
        return 0

    def _glues(self, held: str) -> bool:
        """Return whether two words would become one: "free of" and "The answer"."""
        before, last, first = self._text[-2:-1], self._text[-1:], held[:1]
        is_word = last.isascii() and (last.islower() or last.isdigit())
        is_sentence = before.isascii() and before.islower() and last in tuple(".!?")
        return (is_word and first.isupper()) or (is_sentence and first.isalpha())
