"""Scan Markdown for links and code, and for the numbers of lists that lose items."""

import html
import re
import unicodedata
from collections.abc import Container
from functools import lru_cache
from string import digits, whitespace
from urllib.parse import parse_qsl, quote, urlencode, urlsplit

_COLON, _SLASH, _W = ":：﹕︓", "/／", "wWｗＷ"
URL_BEGINS = (
    r"(?<![A-Za-z0-9])(?:(?:https?|ftps?|file)://|www\.|"
    r"(?:javascript|vbscript|mailto|xmpp):|data:[a-z])"
    # The rest may begin one that is spelled with other signs, entities or escapes.
    rf"|[{_COLON}](?=[{_SLASH}&\\])|(?<![A-Za-z0-9:/])[{_SLASH}](?=[{_SLASH}&\\])"
    rf"|(?<![A-Za-z0-9])[{_W}](?=[{_W}.．&\\])|[&\\]"
)

_HOLD = -1
BEGINS_URL = re.compile(URL_BEGINS, re.IGNORECASE | re.ASCII)
_BEGINNINGS = (
    *("http://", "https://", "ftp://", "ftps://", "file://", "www."),
    *("javascript:", "vbscript:", "mailto:", "xmpp:", "data:x"),
)
_PARTIAL = frozenset(word[:end] for word in _BEGINNINGS for end in range(1, len(word)))
_LONGEST_PARTIAL = max(map(len, _PARTIAL))
_MAY_BEGIN = frozenset(_COLON + _SLASH + _W)
_MAX_TARGET = 800
_MAX_URL = 2000
_LONGEST_LINK, _KEPT = 8000, 2048
"""Characters of an address that is a link: servers refuse longer ones."""
_TARGET = re.compile(r"\(((?:[^()\n\\]|\\[^\n]|\((?:[^()\n\\]|\\[^\n])*+\))*+)\)")
_TARGET_INSIDE = re.compile(r"\s*(?:<[^<>]*>|\S*)(?:\s+(?:\"[^\"]*\"|'[^']*'|\([^()]*\)))?\s*")
_LOOKS_LIKE_TARGET = re.compile(r"\(\s*<?(?:[a-z][a-z0-9+.-]*:|/|#|www\.)", re.IGNORECASE)
_URL_CHARS = r"A-Za-z0-9\-._~:/?#@!$&+,;=%０-９Ａ-Ｚａ-ｚ．／"
_URL_HEAD = re.compile(
    r"(?:https?|ftps?|file)://(?:\[[0-9a-f:.]{2,45}\])?|www\."
    r"|(?:javascript|vbscript|mailto|xmpp|data):",
    re.IGNORECASE | re.ASCII,
)
_URL_REST = re.compile(rf"(?:[{_URL_CHARS}]++|\([{_URL_CHARS}]*+\))*+")
_URL_OPEN_IP = re.compile(r"[a-z]{3,5}://\[[0-9a-f:.]{0,45}", re.IGNORECASE | re.ASCII)
_URL_OPEN_PAREN = re.compile(rf"\([{_URL_CHARS}]*+")
_URL_TAIL = ".,;:!?_~"
_SPELLINGS = ("://", "www.", "//")
_SIGN = re.compile(
    r"&(?:#[0-9]{1,20}|#x[0-9a-f]{1,20}|[a-z][a-z0-9]{1,31});?|\\?.",
    re.IGNORECASE | re.ASCII | re.DOTALL,
)
_OPEN_SIGN = re.compile(r"\\?|&#?[0-9a-z]{0,31}", re.IGNORECASE | re.ASCII)
_HOST = re.compile(r"[\w-]{1,63}[.．]\w")
_OPEN_HOST = re.compile(r"[\w-]{0,63}[.．]?")
_SPELLS = re.compile(
    rf"(?:[\\{_SLASH}]\S|[{_COLON}][{_SLASH}&\\]|[{_SLASH}]{{2}}[\w.．-]+\S"
    rf"|(?<![A-Za-z0-9])[{_W}]{{1,3}}[{_W}.．&\\]|(?<![A-Za-z0-9])[{_W}]{{3}}[.．]\S"
    r"|&#?\w{0,31}[\w#;]|&#?\w{1,31};\S)\Z"
)
_STRUCTURE = f"{whitespace}{digits}>*+-.)"
_UNSAFE_IN_URL = frozenset(" ()<>[]\"'`\\|{}^")


TICKS = re.compile(r"`+")
CLOSES = frozenset("\n.,;:!?)。，；：！？、）")
"""Signs before which no blank stands."""


def joined(before: str, after: str) -> str:
    """Return what is left of a text around something that is taken out: a blank or none."""
    closes = not after or after[0] in CLOSES or after[0] == " "
    return (before.rstrip(" ") if closes else before) + after


def fenced(text: str, language: str = "") -> str:
    """Return a text as a block of code that none of its own signs ends."""
    longest = max((len(run) for run in TICKS.findall(text)), default=0)
    fence = "`" * max(3, longest + 1)
    return "\n".join([f"{fence}{language}", text, fence])


def first_heading(text: str) -> str:
    """Return the words of a text's first heading of the upper two levels; empty without one."""
    lines = (line.partition(" ") for line in text.splitlines() if line.startswith("#"))
    return next((words.strip() for mark, _, words in lines if mark in ("#", "##") and words), "")


def link_url(url: str) -> str:
    """Return the URL as it can stand in `[n](…)`; empty where it leads nowhere.

    It is http(s), with a host, and no longer than servers take. Every URL of an answer and of its
    exports goes through here, whoever wrote it.
    """
    written = url.strip()
    return _link(written) if len(written) <= _LONGEST_LINK else ""


@lru_cache(_KEPT)
def _link(written: str) -> str:
    if not (written.isprintable() and _UNSAFE_IN_URL.isdisjoint(written)):
        written = "".join(
            quote(sign, safe="", errors="replace")
            if sign in _UNSAFE_IN_URL or not sign.isprintable()
            else sign
            for sign in written
        )
    try:
        parts = urlsplit(written)
    except ValueError:
        return ""
    return written if parts.scheme in ("http", "https") and parts.hostname else ""


_TRACKING = ("utm_", "fbclid", "gclid", "msclkid", "mc_cid", "mc_eid", "spm")


def canonical(url: str) -> str:
    """Return a URL as it is compared: no scheme, fragment, tracking, `www.` or slash at its end.

    A fragment that is a path (`#/a`, `#!a`) is a page of its own.
    """
    return _canonical(link_url(url)) or url


@lru_cache(_KEPT)
def _canonical(link: str) -> str:
    try:
        parts = urlsplit(link)
        host = (parts.hostname or "").removeprefix("www.")
        port = f":{parts.port}" if parts.port not in (None, 80, 443) else ""
    except ValueError:
        return ""
    values = [
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if not _is_tracking(name.casefold())
    ]
    path = f"#{parts.fragment}" if parts.fragment[:1] in ("/", "!") else ""
    return f"{host}{port}{parts.path.rstrip('/')}?{urlencode(values, errors='replace')}{path}"


def _is_tracking(name: str) -> bool:
    return name in _TRACKING or name.startswith(_TRACKING[0])


def open_url(url: str) -> str:
    """Return the same of a URL to follow; empty if its name never resolves, as the sample's do."""
    written = link_url(url)
    host = urlsplit(written).hostname or ""
    return "" if host.endswith(".invalid") else written


def after_link(text: str, at: int, final: bool) -> int | None:
    """Return the end of a link target `(…)` at `at`; None if none, -1 if undecided."""
    if text[at : at + 1] != "(":
        return _HOLD if at >= len(text) and not final else None
    match = _TARGET.match(text, at, at + _MAX_TARGET)
    if match:
        return match.end() if _TARGET_INSIDE.fullmatch(match[1]) else None
    decided = final or len(text) - at >= _MAX_TARGET or text.find("\n", at, at + _MAX_TARGET) >= 0
    return None if decided else _HOLD


def is_link_target(target: str) -> bool:
    """Return whether `(…)` holds a URL or a path rather than a remark."""
    return bool(_LOOKS_LIKE_TARGET.match(target))


def scan_url(text: str, at: int, final: bool) -> str | None:
    """Return the URL at `at` without trailing punctuation; empty if none, None if undecided.

    Of a host in other letters than ours only what comes before it, without which it is text.
    """
    if not final and _URL_OPEN_IP.fullmatch(text, at):
        return None
    head = _URL_HEAD.match(text, at)
    begin = head.end() if head else _end_of_head(text, at, final)
    if begin <= at:
        return None if begin == _HOLD else ""
    limit = at + _MAX_URL
    rest = _URL_REST.match(text, begin, limit)
    end = rest.end() if rest else begin
    open_paren = _URL_OPEN_PAREN.match(text, end, limit)
    end_seen = open_paren.end() if open_paren else end
    if end_seen >= len(text) and end_seen < limit and not final:
        return None
    end = begin + len(text[begin:end].rstrip(_URL_TAIL))
    scheme, _, kind = text[at:end].partition(":")
    if scheme.lower() == "data" and not ("/" in kind and kind.partition("/")[0].isalpha()):
        return ""
    if end == begin and not _may_be_host(text[begin : begin + 1]):
        return ""
    return text[at:end]


def _end_of_head(text: str, at: int, final: bool) -> int:
    """Return the end of `://`, `www.` or `//` in any spelling; 0 if none, -1 if undecided."""
    before = text[at - 1 : at] if at and text[at] not in "&\\" else ""
    begins_word = not (before.isascii() and before.isalnum())
    for word in _SPELLINGS if begins_word else _SPELLINGS[:1]:
        end = _end_of_word(word, text, at, final)
        if end > 0 and word == "//":
            end = 0 if before in (":", "/") else _before_host(text, end, final)
        if end:
            return end
    return 0


def _end_of_word(word: str, text: str, at: int, final: bool) -> int:
    """Return the end of the word, its signs maybe wide, entities or escaped; or 0, or -1."""
    for letter in word:
        if not final and _OPEN_SIGN.fullmatch(text, at):
            return _HOLD
        sign = _SIGN.match(text, at)
        if not sign:
            return 0
        plain = html.unescape(sign[0]) if sign[0][0] == "&" else sign[0][-1]
        if unicodedata.normalize("NFKC", plain).lower() != letter:
            return 0
        at = sign.end()
    return at


def _before_host(text: str, at: int, final: bool) -> int:
    """Return `at` if a name with a dot begins there, as `//` is common; or 0, or -1."""
    if not final and _OPEN_HOST.fullmatch(text, at):
        return _HOLD
    return at if _HOST.match(text, at) else 0


def _may_be_host(sign: str) -> bool:
    """Return whether a reader might take the sign behind `http://` for a host."""
    return (
        bool(sign)
        and not sign.isspace()
        and (sign == "\\" or not unicodedata.category(sign).startswith("P"))
    )


def would_spell(before: str, first: str) -> bool:
    """Return whether the end of a text and the next character might begin a URL."""
    return bool(_SPELLS.search(before + first))


def without_urls(text: str) -> str:
    """Return a short text without its URLs; what stood apart before may be one now."""
    while (shorter := _without_urls(text)) != text:
        text = shorter
    return text


def _without_urls(text: str) -> str:
    pieces: list[str] = []
    at = 0
    while begins := BEGINS_URL.search(text, at):
        url = scan_url(text, begins.start(), final=True)
        end = begins.start() if url else begins.start() + 1
        pieces.append(text[at:end])
        at = begins.start() + len(url or " ")
    return "".join([*pieces, text[at:]])


def end_of_plain(text: str, at: int, final: bool) -> int:
    """Return the end of plain text that cannot be the start of a URL."""
    if final:
        return len(text)
    for length in range(min(_LONGEST_PARTIAL, len(text) - at), 0, -1):
        start = len(text) - length
        before = text[start - 1 : start]
        if text[start:].lower() in _PARTIAL and not (before.isascii() and before.isalnum()):
            return start
    return len(text) - (text[-1:] in _MAY_BEGIN)


def is_sign(char: str) -> bool:
    """Return whether a character is punctuation, or another sign."""
    return bool(char) and unicodedata.category(char)[0] in "PS"


class LineHead:
    """Track the beginning of the current line of the output, and whether bold text is open."""

    def __init__(self) -> None:
        self._open = True
        self._bracket = self._bold = False

    @property
    def is_open(self) -> bool:
        """Return whether only structure of a line has come so far."""
        return self._open

    @property
    def is_bold(self) -> bool:
        """Return whether bold text is open."""
        return self._bold

    def around_stars(self, before: str, stars: str, after: str) -> tuple[str, str]:
        """Return the blanks before and behind `**` without which it begins or ends no bold text.

        CommonMark wants one where punctuation inside meets a letter outside, as in `**甲：**乙`:
        Han and Hangul have none there. So do bold texts between which something was taken out.
        """
        inside, outside = (before, after) if self._bold else (after, before)
        if stars != "**" or not inside.strip():
            return "", ""
        self._bold = not self._bold
        needs_one = is_sign(inside) and bool(outside.strip()) and not is_sign(outside)
        if not self._bold:
            return "", " " * needs_one
        return " " * (before == "*" or (needs_one and not outside.isascii())), ""

    def advance(self, piece: str) -> None:
        """Take note of text that was put out."""
        _before, newline, line = piece.rpartition("\n")
        if newline:
            self._open, self._bracket, self._bold = True, False, False
        if self._open:
            first = line.lstrip(_STRUCTURE)
            self._open, self._bracket = not first, first.startswith("[")

    def would_join(self, last: str, first: str) -> bool:
        """Return whether the next character would turn the last one into a link or code."""
        if last == "]":
            return first == "(" or (first == ":" and self._bracket)
        return (last == "\\" and first in "[`") or (last == "`" and first == "`")


_MAX_INFO = 200
_FENCE = re.compile(r"([ \t]{0,40})(`{1,200}|~{1,200}|)([ \t]{0,40}\r?)")
_LIST_ITEM = re.compile(r"[ \t]{0,40}(?:(?:[-*+]|\d{1,9}[.)])([ \t])?|\d{0,9})")
_INDENTED_CODE = 4


class CodeFences:
    """Track where fenced code begins and ends, line by line.

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
        """Return the end of code or fence from `at`; `at` itself if none; -1 to wait."""
        if not self.expects_line:
            return self._rest_of_line(text, at)
        match = _FENCE.match(text, at)
        if not match or (match.end() >= len(text) and not final):
            return _HOLD
        if self.inside:
            return self._line_inside(text, at, match)
        item = _LIST_ITEM.match(text, at)
        if item and item.end() >= len(text) and not final:
            return _HOLD
        indent = len(match[1].expandtabs(4))
        if len(match[2]) < 3 or (indent >= _INDENTED_CODE and not self._in_list):
            self.expects_line = False
            blank = text[match.end() : match.end() + 1] in ("", "\n")
            listed = bool(item and item[1])
            self._in_list = listed or (self._in_list and (blank or indent > 0))
            return at
        return self._opening(text, at, final, match)

    def close(self) -> str:
        """Return the fence that ends an open block; empty if none is open."""
        if not self.inside:
            return ""
        closing = "" if self.expects_line else "\n"
        self.inside = self.expects_line = False
        return f"{closing}{' ' * self._indent}{self._mark}"

    def _opening(self, text: str, at: int, final: bool, match: re.Match[str]) -> int:
        end = text.find("\n", match.end(), match.end() + _MAX_INFO)
        end_seen = text[match.end() : end if end >= 0 else match.end() + _MAX_INFO]
        if end < 0 and len(end_seen) < _MAX_INFO and "`" not in end_seen and not final:
            return _HOLD
        self.expects_line = False
        if "`" in end_seen or len(end_seen) >= _MAX_INFO:
            return at
        self.inside = self._trusted
        self._mark, self._indent = match[2], len(match[1].expandtabs(4))
        return match.end()

    def _line_inside(self, text: str, at: int, match: re.Match[str]) -> int:
        self.expects_line = False
        ends_line = text[match.end() : match.end() + 1] in ("", "\n")
        indent = len(match[1].expandtabs(4))
        closes = ends_line and indent < self._indent + _INDENTED_CODE
        if closes and match[2].startswith(self._mark):
            self.inside = False
            return match.end()
        blank = ends_line and not match[2]
        if not blank and indent < self._indent:
            self.inside = self._trusted = False
            return at
        return match.end() if match.end() > at else self._rest_of_line(text, at)

    def _rest_of_line(self, text: str, at: int) -> int:
        newline = text.find("\n", at)
        self.expects_line = newline >= 0
        return newline + 1 if newline >= 0 else len(text)


_ITEM_SIGN = re.compile(r"(\s*)(?:[-*+•]\s+|(\d{1,3})([.)、])\s*)")


def counted_down(text: str, gone: Container[int]) -> list[tuple[int, int, str]]:
    """Return where numbers of lists change when the items that begin at `gone` go, and to what."""
    edits, at = list[tuple[int, int, str]](), 0
    lists: dict[int, tuple[int, int]] = {}
    """The next number of the list of each depth, and how many of its items are gone."""
    for line in text.splitlines(keepends=True):
        sign = _ITEM_SIGN.match(line)
        if sign and sign[2]:
            number, depth = int(sign[2]), len(sign[1])
            following, less = lists.get(depth, (0, 0))
            less = (less if number == following else 0) + (at in gone)
            if less and at not in gone:
                edits.append((at + sign.start(2), at + sign.end(2), str(number - less)))
            lists[depth] = (number + 1, less)
        at += len(line)
    return edits
