"""Fenced code in streamed markdown."""

import re

_HOLD = -1
_MAX_INFO = 200
_FENCE = re.compile(r"([ \t]{0,40})(`{1,200}|~{1,200}|)([ \t]{0,40}\r?)")
_LIST_ITEM = re.compile(r"[ \t]{0,40}(?:(?:[-*+]|\d{1,9}[.)])([ \t])?|\d{0,9})")
_INDENTED_CODE = 4


class CodeFences:
    """Where fenced code begins and ends, line by line.

    A line less indented than its fence may have ended a list and the fence with it, or not:
    from there on fences are not believed any more, so that nothing goes unchecked.
    """

    def __init__(self) -> None:
        self.expects_line = True
        self.inside = False
        self._trusted = True
        self._mark = ""
        self._indent = 0
        self._in_list = False

    def step(self, text: str, at: int, final: bool) -> int:
        """The end of what is code or fence from `at`; `at` itself if nothing is; -1 to wait."""
        if not self.expects_line:
            return self._rest_of_line(text, at)
        found = _FENCE.match(text, at)
        if not found or (found.end() >= len(text) and not final):
            return _HOLD
        if self.inside:
            return self._line_inside(text, at, found)
        item = _LIST_ITEM.match(text, at)
        if item and item.end() >= len(text) and not final:
            return _HOLD
        indent = len(found[1].expandtabs(4))
        if len(found[2]) < 3 or (indent >= _INDENTED_CODE and not self._in_list):
            self.expects_line = False
            blank = text[found.end() : found.end() + 1] in ("", "\n")
            listed = bool(item and item[1])
            self._in_list = listed or (self._in_list and (blank or indent > 0))
            return at
        return self._opening(text, at, final, found)

    def close(self) -> str:
        """What ends a block left open, so that what follows is no code; empty if none is."""
        if not self.inside:
            return ""
        closing = "" if self.expects_line else "\n"
        self.inside = self.expects_line = False
        return f"{closing}{' ' * self._indent}{self._mark}"

    def _opening(self, text: str, at: int, final: bool, found: re.Match[str]) -> int:
        end = text.find("\n", found.end(), found.end() + _MAX_INFO)
        seen = text[found.end() : end if end >= 0 else found.end() + _MAX_INFO]
        if end < 0 and len(seen) < _MAX_INFO and "`" not in seen and not final:
            return _HOLD
        self.expects_line = False
        if "`" in seen or len(seen) >= _MAX_INFO:
            return at
        self.inside = self._trusted
        self._mark, self._indent = found[2], len(found[1].expandtabs(4))
        return found.end()

    def _line_inside(self, text: str, at: int, found: re.Match[str]) -> int:
        self.expects_line = False
        ends_line = text[found.end() : found.end() + 1] in ("", "\n")
        indent = len(found[1].expandtabs(4))
        closes = ends_line and indent < self._indent + _INDENTED_CODE
        if closes and found[2].startswith(self._mark):
            self.inside = False
            return found.end()
        blank = ends_line and not found[2]
        if not blank and indent < self._indent:
            self.inside = self._trusted = False
            return at
        return found.end() if found.end() > at else self._rest_of_line(text, at)

    def _rest_of_line(self, text: str, at: int) -> int:
        newline = text.find("\n", at)
        self.expects_line = newline >= 0
        return newline + 1 if newline >= 0 else len(text)
