r"""Patterns over text from outside whose time grows in proportion to the text, by RE2.

`re` tries every way in which a pattern may fit, and holds the interpreter's lock meanwhile: a
question of 20,000 digits held up a server for a quarter of a minute. RE2 reads a text once. It has
no look-around, and where a match is found only by looking far beyond its end, `finditer` reads that
stretch again for each match: a repeat must end where the match does.

`\d`, `\s` and `\w` mean what they mean in `re` (１, U+3000 and 点 are among them), which in RE2 are
ASCII; `\b` has no such meaning there and is refused.
"""

import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import re2

PIECE = 2_000
"""Where `re` is the better tool, it is given no more characters of a text from outside at once."""
_BLANKS = re.compile(r"(\s)\s+")
_CLASSES = {"d": r"\p{Nd}", "s": r"\t-\r\x1c-\x20\x85\p{Z}", "w": r"\p{L}\p{N}_"}
_PART = re.compile(r"\\u[0-9a-fA-F]{4}|\\[pPx]\{\w+\}|\\.|\[\^?\]?|.", re.DOTALL)


def piece(text: str) -> str:
    """Return the beginning of a text for rules that use `re`; of several blanks the first stays.

    A pattern with `\\s*` between optional words tries every way to share blanks among them.
    """
    return _BLANKS.sub(r"\1", text[:PIECE])


def any_word(words: str | Iterable[str], *, ending: str = "") -> "re.Pattern[str]":
    """Return a pattern for any of the words in any case, the longest first.

    Words in Latin letters are found whole, with an `ending` that is a pattern; others anywhere. In
    one text they are parted by bars.

    >>> any_word("near|附近").findall("我附近, Near the linear")
    ['附近', 'Near']
    """
    each = words.split("|") if isinstance(words, str) else words
    ordered = sorted(dict.fromkeys(each), key=lambda word: (word.isascii(), -len(word)))
    whole = rf"(?<![A-Za-z]){{}}{ending}(?![A-Za-z])".format
    parts = [whole(re.escape(word)) if word.isascii() else re.escape(word) for word in ordered]
    return re.compile("|".join(parts), re.IGNORECASE)


class Linear:
    r"""Do what a pattern of `re` does, with its matches; the time of one search is linear.

    Raises ValueError for a pattern that RE2 cannot read, or would read otherwise than `re`. `$` is
    the very end of the text.

    >>> Linear(r"(\d+)\s*公里").search("１２　公里")[1]
    '１２'
    """

    def __init__(self, pattern: str, *, ignore_case: bool = False) -> None:
        options = re2.Options()
        options.case_sensitive = not ignore_case
        options.log_errors = False
        try:
            self._compiled: Any = re2.compile(_for_re2(pattern), options)
        except re2.error as error:
            raise ValueError(f"{pattern}: {error}") from None
        self.pattern, self.ignore_case = pattern, ignore_case

    def search(self, text: str) -> "re.Match[str] | None":
        found: re.Match[str] | None = self._compiled.search(_whole(text))
        return found

    def match(self, text: str) -> "re.Match[str] | None":
        found: re.Match[str] | None = self._compiled.match(_whole(text))
        return found

    def fullmatch(self, text: str) -> "re.Match[str] | None":
        found: re.Match[str] | None = self._compiled.fullmatch(_whole(text))
        return found

    def finditer(self, text: str) -> "Iterator[re.Match[str]]":
        found: Iterator[re.Match[str]] = self._compiled.finditer(_whole(text))
        return found

    def sub(self, new: "str | Callable[[re.Match[str]], str]", text: str) -> str:
        return str(self._compiled.sub(new, _whole(text)))

    def split(self, text: str) -> list[str]:
        pieces: list[str] = self._compiled.split(_whole(text))
        return pieces


def _whole(text: str) -> str:
    """Return the text with a sign for each half of a character, which RE2 cannot be given."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode(errors="replace").decode()
    return text


def _for_re2(pattern: str) -> str:
    """Write out the classes that are ASCII in RE2, and what only `re` has a name for."""
    written, within = [], False
    for part in _PART.findall(pattern):
        name = part[1:]
        if part[0] == "[" and not within:
            within = True
        elif part == "]":
            within = False
        elif part[0] == "\\" and name in _CLASSES:
            part = _CLASSES[name] if within else f"[{_CLASSES[name]}]"
        elif part[0] == "\\" and name.lower() in _CLASSES and not within:
            part = f"[^{_CLASSES[name.lower()]}]"
        elif part[0] == "\\" and name[0] == "u":
            part = rf"\x{{{name[1:]}}}"
        elif part == r"\Z":
            part = r"\z"
        elif part in (r"\b", r"\B", r"\D", r"\S", r"\W"):
            raise ValueError(f"{pattern}: {part} is ASCII in RE2")
        written.append(part)
    return "".join(written)
