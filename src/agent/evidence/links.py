"""Markdown as far as links go: targets, URLs in running text, beginnings of lines."""

import re
from urllib.parse import quote, urlsplit

URL_BEGINS = (
    r"(?<![A-Za-z0-9])(?:(?:https?|ftps?|file)://|www\.|"
    r"(?:javascript|vbscript|mailto):|data:[a-z])"
)

_HOLD = -1
_BEGINS = re.compile(URL_BEGINS, re.IGNORECASE | re.ASCII)
_BEGINNINGS = (
    *("http://", "https://", "ftp://", "ftps://", "file://", "www."),
    *("javascript:", "vbscript:", "mailto:", "data:x"),
)
_PARTIAL = frozenset(word[:end] for word in _BEGINNINGS for end in range(1, len(word)))
_LONGEST_PARTIAL = max(map(len, _PARTIAL))
_MAX_TARGET = 800
_MAX_URL = 2000
_TARGET = re.compile(r"\(((?:[^()\n\\]|\\[^\n]|\((?:[^()\n\\]|\\[^\n])*+\))*+)\)")
_TARGET_INSIDE = re.compile(r"\s*(?:<[^<>]*>|\S*)(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*")
_LOOKS_LIKE_TARGET = re.compile(r"\(\s*<?(?:[a-z][a-z0-9+.-]*:|/|#|www\.)", re.IGNORECASE)
_URL_CHARS = r"A-Za-z0-9\-._~:/?#@!$&+,;=%"
_URL = re.compile(
    r"(?:(?:https?|ftps?|file)://(?:\[[0-9a-f:.]{2,45}\])?|www\."
    r"|(?:javascript|vbscript|mailto|data):)"
    rf"(?:[{_URL_CHARS}]++|\([{_URL_CHARS}]*+\))*+",
    re.IGNORECASE | re.ASCII,
)
_URL_OPEN_IP = re.compile(r"[a-z]{3,5}://\[[0-9a-f:.]{0,45}", re.IGNORECASE | re.ASCII)
_URL_OPEN_PAREN = re.compile(rf"\([{_URL_CHARS}]*+")
_URL_BODY = re.compile(
    r"(?:(?:https?|ftps?|file)://.|www\.[\w-]+\.\w|(?:javascript|vbscript|mailto):.|data:[a-z]+/)",
    re.IGNORECASE | re.ASCII,
)
_URL_TAIL = ".,;:!?_~"
_STRUCTURE = re.compile(r"[\s>*+\-\d.)]*")
_UNSAFE_IN_URL = frozenset(" ()<>[]\"'`\\|{}^")


def link_url(url: str) -> str:
    """Return the URL as it can stand in `[n](…)`; empty if it is not http(s) with a host.

    Every URL of an answer and of its exports goes through here, whoever wrote it.
    """
    written = "".join(
        quote(sign, safe="", errors="replace")
        if sign in _UNSAFE_IN_URL or not sign.isprintable()
        else sign
        for sign in url.strip()
    )
    try:
        parts = urlsplit(written)
    except ValueError:
        return ""
    return written if parts.scheme in ("http", "https") and parts.hostname else ""


def after_link(text: str, at: int, final: bool) -> int | None:
    """The end of a link target `(…)` that begins at `at`; None if none does, -1 if undecided."""
    if text[at : at + 1] != "(":
        return _HOLD if at >= len(text) and not final else None
    found = _TARGET.match(text, at, at + _MAX_TARGET)
    if found:
        return found.end() if _TARGET_INSIDE.fullmatch(found[1]) else None
    decided = final or len(text) - at >= _MAX_TARGET or text.find("\n", at, at + _MAX_TARGET) >= 0
    return None if decided else _HOLD


def is_link_target(target: str) -> bool:
    """Whether `(…)` holds a URL or a path rather than a remark."""
    return bool(_LOOKS_LIKE_TARGET.match(target))


def scan_url(text: str, at: int, final: bool) -> str | None:
    """The URL at `at`, without the punctuation behind it; empty if none, None if undecided."""
    limit = at + _MAX_URL
    if not final and _URL_OPEN_IP.fullmatch(text, at):
        return None
    found = _URL.match(text, at, limit)
    end = found.end() if found else at
    open_paren = _URL_OPEN_PAREN.match(text, end, limit)
    seen = open_paren.end() if open_paren else end
    if seen >= len(text) and seen < limit and not final:
        return None
    url = text[at:end].rstrip(_URL_TAIL)
    return url if _URL_BODY.match(url) else ""


def without_urls(text: str) -> tuple[str, int]:
    """A short text less the URLs in it, and how many those were."""
    kept: list[str] = []
    at = removed = 0
    while begins := _BEGINS.search(text, at):
        url = scan_url(text, begins.start(), final=True)
        removed += bool(url)
        end = begins.start() if url else begins.start() + 1
        kept.append(text[at:end])
        at = begins.start() + len(url or " ")
    return "".join([*kept, text[at:]]), removed


def end_of_plain(text: str, at: int, final: bool) -> int:
    """How far text without special characters reaches that cannot be the start of a URL."""
    if final:
        return len(text)
    for length in range(min(_LONGEST_PARTIAL, len(text) - at), 0, -1):
        start = len(text) - length
        before = text[start - 1 : start]
        if text[start:].lower() in _PARTIAL and not (before.isascii() and before.isalnum()):
            return start
    return len(text)


class LineHead:
    """What the current line of the output began with."""

    def __init__(self) -> None:
        self._open = True
        self._bracket = False

    def advance(self, piece: str) -> None:
        """Take note of text that was put out."""
        _before, newline, line = piece.rpartition("\n")
        if newline:
            self._open, self._bracket = True, False
        if self._open:
            end = _STRUCTURE.match(line)
            first = line[end.end() :] if end else line
            self._open, self._bracket = not first, first.startswith("[")

    def would_join(self, last: str, first: str) -> bool:
        """Whether the next character would make a link, a definition or code of the last one."""
        if last == "]":
            return first == "(" or (first == ":" and self._bracket)
        return (last == "\\" and first in "[`") or (last == "`" and first == "`")
