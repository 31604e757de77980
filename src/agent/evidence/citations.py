"""Turn markers into numbered links, also while a text streams.

A tokenizer: each step, from one position, consumes some text or asks for more. It decides by text
it has seen the end of, so splitting the stream elsewhere changes nothing.
"""

import re
from collections.abc import Container, Iterable, Mapping

from agent.core.strings import word_set
from agent.evidence.markdown import (
    BEGINS_URL,
    CLOSES,
    TICKS,
    URL_BEGINS,
    CodeFences,
    LineHead,
    after_link,
    end_of_plain,
    is_link_target,
    scan_url,
    without_urls,
    would_spell,
)
from agent.evidence.numbering import Numbering
from agent.evidence.queries import clean_text
from agent.evidence.types import Source

ID = r"[a-z]+\d+-\d+"
NOT_FOUND = "none"
"""`[^none]`, in place of an id, marks a sentence that says what was not found, in any language."""
STRANGER = "?"
"""Stands, among the ids that a text cites, before one that nobody issued: it was taken out."""
MARKER = re.compile(rf"\[\^({ID})\]")

_ID_WITHIN = re.compile(rf"(?<![A-Za-z0-9]){ID}(?![A-Za-z0-9-])", re.IGNORECASE)
_BRACKETED = re.compile(r"[\[【［〔「]([^\[\]【】［］〔〕「」\n]{1,200})[\]】］〕」]")
_USUAL_LETTERS = frozenset({"w", "a", "p"})
_MARKER_TOKEN = re.compile(
    rf"(?P<id>{ID})(?:\.\d{{1,4}})?(?![a-z0-9]|-\d)|(?P<broken>[a-z]\d+[\d-]*)(?![a-z0-9-])"
    r"|(?<![\w-])(?P<note>\d{1,3})(?![\w-])"
    r"|(?:pp?\.|pages?)\s*\d+(?:\s*[-–]\s*\d+)?|第\s*\d+\s*[页段]|†[\w\s.–-]*"
    r"|[\s^,;，；、/|&+–—~:：.\"'“”‘’#@*=_]|-(?=\s|$|[a-z]+\d+-\d)"
    r"|(?:sources?|refs?|references?|see|and|or|to)\b|来源|出处|参考(?:资料)?|资料|参见|见|和|与|及|至"
)
_PARTED = re.compile(r"(?<![a-z0-9])([a-z]\d+)\s?[_./:\u2010-\u2015\u2212-]\s?(\d+)(?!\d|\.\d)")
"""An id as some models part it: `w0_2`, `w0.2`, `w0/2`, `w0 -2`, `w0–2`."""
_BARE_ID = re.compile(rf"(?<![A-Za-z0-9_/.^-]){ID}(?![A-Za-z0-9_]|[-./]\w)")
_MAY_BE_ID = re.compile(r"(?<![A-Za-z0-9_/.^-])([a-z]{1,3})(?:\d{1,4}(?:-\d{0,4}[./-]?)?)?\Z")
_LONGEST_SUPERSCRIPT, _LONGEST_CARET_ID = 40, 16


def id_letters(ids: Iterable[str]) -> frozenset[str]:
    """Return the letters that ids begin with: with these, `[w0-2]` is a marker without caret."""
    return _USUAL_LETTERS | {name.rstrip("0123456789-") for name in ids}


def read_marker(content: str, letters: frozenset[str]) -> list[str] | None:
    """Return the ids between two brackets, in order; None if that is no attempt at a citation.

    With a caret, an id of ours, one spelt wrongly (`w01`) and a bare footnote number count;
    without one, only ids; with an asterisk in its place, one spelt wrongly, too. What models write
    around them (`p. 1`, `†source`, `来源:`, `and`) belongs to the marker, and so does the number of
    a passage (`w482-17.3`).
    """
    text = _PARTED.sub(r"\1-\2", content.lower())
    with_caret = text.lstrip().startswith("^")
    with_star = text.lstrip().startswith("*")
    text = text.replace("*", " ", 1) if with_star else text
    names: list[str] = []
    at = 0
    while at < len(text):
        token = _MARKER_TOKEN.match(text, at)
        if token is None or (token["note"] and not with_caret):
            return None
        if token["broken"] and not (with_caret or with_star):
            return None
        if name := token["id"] or token["note"] or token["broken"]:
            names.append(name)
        at = token.end()
    ours = all(name.rstrip("0123456789-") in letters for name in names)
    return names if names and (with_caret or ours) else None


def _squashed(name: str) -> str:
    """Return an id without what parts it: `w0-1`, `w01` and `*w0.1` are one."""
    return "".join(char for char in name.lower() if char.isascii() and char.isalnum())


def id_meant(text: str, ids: Iterable[str]) -> str:
    """Return the one of these ids that a copy of it means, whatever is around or within it.

    `^o1-0`, `[o1-0]` and `o1_0` are o1-0; empty where none is meant, or more than one may be.
    """
    meant = [name for name in ids if _squashed(name) == _squashed(text)]
    return text if text in meant else meant[0] if len(meant) == 1 else ""


def read_quoted_marker(content: str, ids: Container[str]) -> list[str]:
    """Return the ids of a code span that is nothing but a marker of known ids; else none."""
    bracket = _BRACKETED.fullmatch(content.strip())
    names = read_marker(bracket[1], _USUAL_LETTERS) if bracket else None
    return names if names and all(name in ids for name in names) else []


def ids_in(text: str) -> set[str]:
    """Return all that reads like an id in a text, wherever it stands."""
    return set(_ID_WITHIN.findall(text))


def cited_ids(text: str) -> list[str]:
    """Return the ids a marked text cites, each once, by first use; spelling variants included."""
    names: dict[str, None] = {}
    for bracket in _BRACKETED.finditer(text):
        for name in read_marker(bracket[1], _USUAL_LETTERS) or ():
            if MARKER.fullmatch(f"[^{name}]"):
                names[name] = None
    return list(names)


_HOLD = -1
_MAX_BRACKET, _MAX_CODE, _MAX_ASIDE, _MOST_TICKS = 200, 500, 40, 201
_SPECIAL = re.compile(rf"[\[\]!`<^【［〔「(（{{\n*]|{URL_BEGINS}", re.IGNORECASE | re.ASCII)
_ASIDE_ENDS = {"(": ")）", "（": ")）", "{": "}"}
_WIDE_CLOSES = tuple("。，；：！？、）”")
_BRACKETS, _WIDE_BRACKETS, _NO_ASIDE = "[]\n", "[]【】［］〔〕「」\n", "(){}（）[]<>`\\\n"
"""What ends the inside of a bracket of each kind."""
_AUTOLINK = re.compile(r"<(?=[A-Za-z])([A-Za-z0-9+.-]{2,32}:)?(?:(?![<>])[!-~]){0,1000}")
_HARMLESS = word_set("br b i u s em strong sub sup")
_UNSEEN = re.compile(
    "[\r\x00-\x08\x0e-\x1f\x7f\u00ad\u200b\u2060-\u2064\u202a-\u202e\u2066-\u2069\ufeff]"
)
_TAIL = 40
_PUNCTUATION = frozenset("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~")
_SIMPLE_TEXT = re.compile(r"[^`<\\]*(?:`[^`\\]+`[^`<\\]*)*")


def _inside(text: str, at: int, ends: str, most: int = _MAX_BRACKET) -> tuple[str, int]:
    """Return what stands from here to the next sign that ends it, at most so much, and its end."""
    limit = min(len(text), at + most)
    end = next((place for place in range(at, limit) if text[place] in ends), limit)
    return text[at:end], end


class Citer:
    """Turn `[^w0-2]` into `[n](url)`, numbered by first use; no other link passes.

    Unknown ids, links, images and URLs are removed, HTML tags are escaped, code is
    left alone. Text is held back only while it may be part of one of these. `omitted` stands where
    a URL in running text was.
    """

    def __init__(self, sources: Mapping[str, Source], *, omitted: str = "") -> None:
        self._omitted = omitted
        self.unknown_ids_removed = 0
        self.cites: list[tuple[int, str]] = []
        """The ids that are cited, with the character of the text before which each stands."""
        self.not_found = 0
        """Sentences that were marked as saying what was not found."""
        self.know(sources)
        self._numbering = Numbering()
        self._adjacent: set[int] = set()
        self._buffer = ""
        self._consumed = ""
        self._out: list[str] = []
        self._tail = ""
        self._blank = ""
        self._gap = False
        self._lone_tag = False
        self._line = LineHead()
        self._fences = CodeFences()
        self._written = 0

    def know(self, sources: Mapping[str, Source]) -> None:
        """Take the ids of these sources, and no others, for known in what comes."""
        self.sources = sources
        self._letters = id_letters(sources)
        self._near_misses = {_squashed(name) for name in sources}
        self._known_urls = {source["url"] for source in sources.values()}

    def beside(self) -> "Citer":
        """Return one for words that stand somewhere else in the text: it has the same numbers."""
        citer = Citer(self.sources, omitted=self._omitted)
        citer._numbering = self._numbering
        return citer

    def number(self, source: Source) -> int:
        """Return the number of a source that is cited somewhere else in the text."""
        return self._numbering.number(source)

    def citation(self, source: Source) -> str:
        """Return how the text cites a source."""
        return self._numbering.citation(source)

    @property
    def used(self) -> list[Source]:
        """Return the cited sources by their `number`; two ids of one URL are one source."""
        return self._numbering.used

    def feed(self, chunk: str) -> str:
        """Return the finished text that this piece completes; may be empty."""
        self._buffer += _UNSEEN.sub("", chunk)
        return self._run(final=False)

    def flush(self) -> str:
        """Return the text held back, with the end of open code; call where text ends."""
        return self._run(final=True)

    def _run(self, *, final: bool) -> str:
        text = self._consumed + self._buffer
        at = len(self._consumed)
        while at < len(text):
            after = self._step(text, at, final)
            if after == _HOLD:
                break
            at = after
        self._consumed, self._buffer = text[max(at - 1, 0) : at], text[at:]
        self._emit_raw(self._fences.close() if final else "")
        if final:
            self._out.append("" if self._gap else self._blank)
            self._blank = ""
        finished, self._out = "".join(self._out), []
        return finished

    def _step(self, text: str, at: int, final: bool) -> int:
        if self._fences.expects_line or self._fences.inside:
            after = self._fences.step(text, at, final)
            if after != at:
                self._emit_raw(text[at:after] if after != _HOLD else "")
                return after
            if self._fences.inside:
                return at
        special = _SPECIAL.search(text, at)
        start = special.start() if special else len(text)
        if text[start : start + 1] in ("", ":"):
            start = min(start, end_of_plain(text, at, final))
        if start > at:
            return self._plain(text, at, start, final)
        return self._special(text, at, final) if special and special.start() == at else _HOLD

    def _plain(self, text: str, at: int, end: int, final: bool) -> int:
        """Write a piece out, bare ids of sources as citations; return up to where: `w0-` waits."""
        begun = None if final else _MAY_BE_ID.search(text, max(at, len(text) - _LONGEST_CARET_ID))
        if begun and begun[1] in self._letters and begun.start() < end:
            end = begun.start()
            if end == at:
                return _HOLD
        for name in _BARE_ID.finditer(text, at, end + 2):
            if name[0] in self.sources and name.end() <= end:
                self._emit(text[at : name.start()])
                self._cite([name[0]])
                at = name.end()
        self._emit(text[at:end])
        return end

    def _special(self, text: str, at: int, final: bool) -> int:
        match text[at]:
            case "\n":
                # A tag alone on its line would begin a block of HTML, in which nothing is escaped.
                self._emit_raw("\u200b" if self._lone_tag else "")
                self._emit("\n")
                self._fences.expects_line = True
                return at + 1
            case "[":
                return self._bracket(text, at, final)
            case "]":
                return self._closing(text, at, final)
            case "!":
                return self._image(text, at, final)
            case "`":
                return self._code(text, at, final)
            case "*":
                return self._stars(text, at, final)
            case "<":
                return self._autolink(text, at, final)
            case "^":
                return self._caret(text, at, final)
            case "\\":
                return self._escape(text, at, final)
            case "【" | "［" | "〔" | "「":
                return self._wide_bracket(text, at, final)
            case "(" | "（" | "{":
                return self._aside(text, at, final)
        return self._bare_url(text, at, final)

    def _bracket(self, text: str, at: int, final: bool) -> int:
        twice = text.startswith("[[", at)
        content, end = _inside(text, at + twice + 1, _BRACKETS)
        if end + twice >= len(text) and not final:
            return _HOLD
        if text[end : end + 1 + twice] != "]" * (1 + twice):
            return self._literal(text, at, 1)
        names = self._marker_ids(content)
        if twice:
            if names is None:
                return self._literal(text, at, 1)
            end += 1
        if end + 1 >= len(text) and not final:
            return _HOLD
        after = after_link(text, end + 1, final)
        if names is not None:
            return self._marker(text, names, end + 1, after)
        if after in (None, _HOLD) or content[:1] == "=" or not _SIMPLE_TEXT.fullmatch(content):
            return _HOLD if after == _HOLD else self._literal(text, at, 1)
        self._gap = True
        if not content.strip().isdigit():
            self._emit(without_urls(content))
            self._gap = True
        return after or _HOLD

    def _marker(self, text: str, names: list[str], end: int, after: int | None) -> int:
        """Cite; remove a target that the model wrote behind its marker."""
        if after == _HOLD:
            return _HOLD
        self._cite(names)
        if after is not None and is_link_target(text[end:after]):
            self._gap = True
            return after
        return end

    def _closing(self, text: str, at: int, final: bool) -> int:
        """Handle a `]` whose `[` went out as text: remove a target behind it."""
        if at + 1 >= len(text) and not final:
            return _HOLD
        after = after_link(text, at + 1, final)
        if after == _HOLD:
            return _HOLD
        self._literal(text, at, 1)
        if after is None:
            return at + 1
        self._gap = True
        return after

    def _image(self, text: str, at: int, final: bool) -> int:
        if at + 1 >= len(text) and not final:
            return _HOLD
        if text[at + 1 : at + 2] != "[":
            return self._literal(text, at, 1)
        content, end = _inside(text, at + 2, _BRACKETS)
        if end >= len(text) and not final:
            return _HOLD
        closed = text[end : end + 1] == "]" and read_marker(content, self._letters) is None
        after = after_link(text, end + 1, final) if closed else None
        if after is None:
            return self._literal(text, at, 1)
        if after != _HOLD:
            self._gap = True
        return after

    def _wide_bracket(self, text: str, at: int, final: bool) -> int:
        content, end = _inside(text, at + 1, _WIDE_BRACKETS)
        if end >= len(text) and not final:
            return _HOLD
        names = self._marker_ids(content) if text[end : end + 1] in tuple("】］〕」") else None
        if names is None or end >= len(text):
            return self._literal(text, at, 1)
        return self._marker(text, names, end + 1, after_link(text, end + 1, final))

    def _aside(self, text: str, at: int, final: bool) -> int:
        """Cite the ids of `(w0-0)` where they are ours; words beside them stay in the brackets."""
        content, end = _inside(text, at + 1, _NO_ASIDE, _MAX_ASIDE)
        if end >= len(text) and not final:
            return _HOLD
        closed = text[end : end + 1] and text[end] in _ASIDE_ENDS[text[at]]
        if not closed or not any(i.lower() in self.sources for i in _ID_WITHIN.findall(content)):
            return self._literal(text, at, 1)
        names = read_marker(content, self._letters)
        if names is not None:
            self._cite(names)
            return end + 1
        if BEGINS_URL.search(content):
            return self._literal(text, at, 1)
        self._emit(text[at])
        self._cite_within(content)
        self._emit(text[end])
        return end + 1

    def _cite_within(self, content: str) -> None:
        """Put words out with the ids among them as citations."""
        begin = 0
        for name in _ID_WITHIN.finditer(content):
            self._emit(content[begin : name.start()].rstrip(" ^,;:，；：、"))
            self._cite([name[0].lower()])
            begin = name.end()
        self._emit(content[begin:])

    def _marker_ids(self, content: str) -> list[str] | None:
        """Return the ids of a bracket: those it consists of, else those of ours within it."""
        names = read_marker(content, self._letters)
        if names is not None or len(content) > _MAX_ASIDE or content.startswith("="):
            return names
        if content.strip().lower() == f"^{NOT_FOUND}":
            return [NOT_FOUND]
        if _squashed(content) in self._near_misses:
            return [content]
        ours = [name.lower() for name in _ID_WITHIN.findall(content)]
        return [name for name in ours if name in self.sources] or None

    def _escape(self, text: str, at: int, final: bool) -> int:
        r"""Handle a backslash: `\[^w0-2\]` is a marker, `:\/\/` a URL; other escapes stay."""
        if scan_url(text, at, final) != "":
            return self._bare_url(text, at, final)
        is_bracket = text[at + 1 : at + 2] == "["
        content, end = _inside(text, at + 2, _BRACKETS + "\\") if is_bracket else ("", at + 1)
        end += is_bracket and text[end : end + 1] == "\\"
        if end >= len(text) and not final:
            return _HOLD
        names = read_marker(content, self._letters)
        if names is not None and text[end : end + 1] == "]":
            self._cite(names)
            return end + 1
        return self._literal(text, at, 2 if text[at + 1 : at + 2] in _PUNCTUATION else 1)

    def _code(self, text: str, at: int, final: bool) -> int:
        """Handle backticks: a code span of one line stays; those that open none are escaped."""
        ticks = TICKS.match(text, at, at + _MOST_TICKS)
        end = ticks.end() if ticks else at + 1
        if end >= len(text) and not final:
            return _HOLD
        newline = text.find("\n", end, at + _MAX_CODE)
        limit = newline if newline >= 0 else min(len(text), at + _MAX_CODE)
        open_end = newline < 0 and not (final and limit == len(text))
        for run in TICKS.finditer(text, end, limit):
            if run.end() == limit and open_end:
                break
            if run.end() - run.start() == end - at:
                content = text[end : run.start()]
                if not _is_code_in_cells(content):
                    return self._no_code(end, end - at)
                names = read_quoted_marker(content, self.sources)
                self._cite(names)
                return run.end() if names else self._literal(text, at, run.end() - at)
        if open_end and limit == len(text) and limit < at + _MAX_CODE:
            return _HOLD
        return self._no_code(end, end - at)

    def _no_code(self, end: int, ticks: int) -> int:
        self._emit("\\`" * ticks)
        return end

    def _stars(self, text: str, at: int, final: bool) -> int:
        """Put stars out; bold text that could not be told from its surroundings gets a blank."""
        end = at + next((n for n in (1, 2) if text[at + n : at + n + 1] != "*"), 3)
        if end >= len(text) and not final:
            return _HOLD
        if self._line.is_bold and self._gap:
            self._blank = ""
        last, next_one = (self._tail + self._blank)[-1:], text[end : end + 1]
        before, after = self._line.around_stars(last, text[at:end], next_one)
        self._blank = self._blank or before
        self._emit(text[at:end])
        self._blank = after
        return end

    def _caret(self, text: str, at: int, final: bool) -> int:
        """Cite `^w0-0` without brackets where it is ours; any other caret stays."""
        if len(text) - at < _LONGEST_CARET_ID and not final:
            return _HOLD
        match = _ID_WITHIN.match(text, at + 1)
        if match is None or match[0] not in self.sources:
            return self._literal(text, at, 1)
        self._cite([match[0]])
        return match.end()

    def _autolink(self, text: str, at: int, final: bool) -> int:
        rest = text[at : at + _LONGEST_SUPERSCRIPT].lower()
        if rest.startswith("<sup>"):
            inside, closing, _ = rest.partition("</sup>")
            if not closing and len(rest) < _LONGEST_SUPERSCRIPT and not final:
                return _HOLD
            if closing and (name := inside.removeprefix("<sup>").strip(" ^")) in self.sources:
                self._cite([name])
                return at + len(inside) + len(closing)
        match = _AUTOLINK.match(text, at)
        end = match.end() if match else at + 1
        if end >= len(text) and not final:
            return _HOLD
        inside = text[at + 1 : end]
        if text[end : end + 1] == ">" and inside.lower() in self.sources:
            self._cite([inside.lower()])
            return end + 1
        if text[end : end + 1] != ">" or not (match and match[1]):
            return self._tag(text, at, final)
        if inside in self._known_urls:
            return self._literal(text, at, end + 1 - at)
        self._drop_url()
        return end + 1

    def _tag(self, text: str, at: int, final: bool) -> int:
        """Handle a `<` that is no autolink: only plain tags without attributes stay tags."""
        sign = text[at + 1 : at + 2]
        if not (sign.isascii() and sign.isalpha()) and sign not in ("/", "!", "?"):
            return self._literal(text, at, 1)
        head = text[at : at + len("</strong />")]
        if ">" not in head and len(head) < len("</strong />") and not final:
            return _HOLD
        inside, closing, _ = head[1:].partition(">")
        name = inside.removeprefix("/").removesuffix("/").removesuffix(" ").lower()
        if not closing or name not in _HARMLESS:
            self._emit("\\<")
            return at + 1
        begins_line = self._line.is_open
        self._emit(f"<{inside}>")
        self._lone_tag = begins_line
        return at + len(inside) + 2

    def _bare_url(self, text: str, at: int, final: bool) -> int:
        url = scan_url(text, at, final)
        if url is None:
            return _HOLD
        if not url:
            return self._literal(text, at, 1)
        if url in self._known_urls:
            return self._literal(text, at, len(url))
        self._drop_url()
        return at + len(url)

    def _cite(self, names: list[str]) -> None:
        """Put a numbered link out for each name, once in a row; one nobody issued is counted."""
        for name in names:
            source, is_said = self.sources.get(name), name == NOT_FOUND
            self.cites.append((self._written, name if source or is_said else f"{STRANGER}{name}"))
            if source is None:
                self.not_found += is_said
                self.unknown_ids_removed += not is_said
                self._gap = True
                continue
            number = self._numbering.number(source)
            if number in self._adjacent:
                continue
            if self._tail[-1:] in _WIDE_CLOSES:
                self._blank = ""
            if self._tail[-1:] in ("!", "\\") and not self._blank:
                self._emit_raw(" ")
            self._emit_raw(self.citation(source))
            self._adjacent.add(number)

    def _drop_url(self) -> None:
        """Take out a URL in running text; what a sentence would lack is said in its place."""
        self._gap = True
        if self._omitted and not self._tail.endswith(self._omitted):
            self._blank = self._blank if self._omitted.isascii() else ""
            self._emit(self._omitted)
            self._gap = True

    def _literal(self, text: str, at: int, length: int) -> int:
        self._emit(text[at : at + length])
        return at + length

    def _emit(self, piece: str) -> None:
        """Put text out; a space keeps what a removal brought together from meaning anything.

        Blanks wait for what follows them: beside a removal one remains, before punctuation, or
        behind that of a script without blanks, none.
        """
        body = piece.lstrip(" ")
        blank = self._blank + piece[: len(piece) - len(body)]
        self._blank = blank[:1] if self._gap else blank
        if not body:
            return
        is_behind_wide = self._gap and self._tail[-1:] in _WIDE_CLOSES
        closes = body[0] in CLOSES and (self._gap or (self._adjacent and body[0] != "\n"))
        self._blank = "" if is_behind_wide or closes else self._blank
        visible = body.rstrip(" ")
        text = self._blank + visible
        self._blank = ""
        joins = self._line.would_join(self._tail[-1:], text[0])
        if joins or (self._gap and would_spell(self._tail, text[0])):
            self._emit_raw(" ")
        if not body.isspace():
            self._adjacent.clear()
        self._emit_raw(text)
        self._blank = body[len(visible) :]

    def _emit_raw(self, piece: str) -> None:
        if piece:
            piece, self._blank = self._blank + piece, ""
            self._out.append(piece)
            self._written += len(piece)
            self._tail = (self._tail + piece)[-_TAIL:]
            self._gap = False
            self._lone_tag = self._lone_tag and piece.isspace()
            self._line.advance(piece)


def _is_code_in_cells(content: str) -> bool:
    """Return whether a code span holds nothing live, also where a table's row splits it."""
    if "|" not in content:
        return True
    apart, text = Citer({}), f"x {content}"
    return "`" not in content and apart.feed(text) + apart.flush() == text


_MAX_LINE = 500


def inert(text: str) -> str:
    """Return one line of foreign text without any live link, image or tag."""
    citer = Citer({})
    return (citer.feed(clean_text(text, _MAX_LINE)) + citer.flush()).strip()
