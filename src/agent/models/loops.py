"""Know a text that repeats itself without end, as a weak model's does, while it comes."""

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
        """Return whether the text loops by now."""
        self._tail = (self._tail + text)[-_TAIL:]
        self._new += len(text)
        if not self.found and self._new >= _STEP:
            self._new = 0
            self.found = repeats(self._tail)
        return self.found


def repeats(text: str) -> bool:
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
