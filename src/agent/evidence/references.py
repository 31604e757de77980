"""Write the list of sources at the end of an answer."""

import re
from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence
from string import ascii_lowercase
from typing import Any
from urllib.parse import unquote, urlsplit

from agent.core.strings import split_at
from agent.evidence.citations import MARKER, ids_in
from agent.evidence.language import fold, without_marks
from agent.evidence.markdown import link_url, without_urls
from agent.evidence.numbering import source_key
from agent.evidence.queries import clean_text
from agent.evidence.types import Source
from agent.texts import Language, in_every_language, say

_ISO_DAY = re.compile(r"\d{4}(?:-\d\d){0,2}(?!\d)")
_MAX_TITLE = 160
_MAX_PATH = 60
_TOLD_TITLE = 50
"""Enough of a title to tell what a page is, and no more than a prompt should spend on it."""
_MARKDOWN = str.maketrans({sign: f"\\{sign}" for sign in r"\[]`*_<>|~"})
LINK_TARGET = re.compile(r"\]\(([^()\s]+)\)")
_OWN_HEADINGS = (*in_every_language("answer.sources"), "**來源**")
_MOST_LABELS, _LONGEST_LABEL = 9, 63
_AFTER_TITLE = " \n·"
_REDIRECTING = "vertexaisearch.cloud.google.com"


def references(used: Sequence[Source], language: Language, *, unresolved: str = "") -> str:
    """Return the list of sources as markdown, a numbered entry each; empty without sources.

    `unresolved` stands behind redirect links whose target is not known.
    """
    if not used:
        return ""
    names = Counter(_name(source) for source in used)
    lines = [
        _reference(source, number, language, alone=names[_name(source)] == 1)
        + (f" · {unresolved}" if unresolved and source.get("unresolved") else "")
        for number, source in enumerate(used, 1)
    ]
    return "\n".join([say("answer.sources", language), "", *lines])


def labelled(sources: Iterable[Source]) -> list[Source]:
    """Return the sources with their titles as labels, too."""
    return [Source(**{**source, "label": source["title"]}) for source in sources]


def headed_title(source: Source) -> str:
    """Return the title of a source, the day of its publication, and whose page it is."""
    return " ".join(filter(None, [source["title"], day_of(source), _whose(source)]))


def day_of(source: Source) -> str:
    """Return when a source was published, as far as ISO tells it: "2026-03-28", "2026"."""
    day = _ISO_DAY.match(source.get("published") or "")
    return day[0] if day else ""


def _whose(source: Source) -> str:
    """Return the site of a page, unless its title has it."""
    site = source.get("site", "") if source["kind"] == "page" else ""
    return f"({site})" if site and site not in source["title"] else ""


def untitled(source: Source, text: str) -> str:
    """Return a text of a source without its head where that leads it, however often."""
    title = " ".join(source["title"].split())
    return without_heads(text, [title, day_of(source), _whose(source)])


def without_heads(text: str, heads: Iterable[str]) -> str:
    """Return a text without such words where they lead it, as headings too, however often."""
    every, before = [*filter(None, heads)], None
    while text != before:
        before = text
        for head in every:
            bare = text.lstrip("# ")
            if bare.startswith(head) and bare[len(head) :][:1] in _AFTER_TITLE:
                text = bare[len(head) :].lstrip(_AFTER_TITLE)
    return text


def strip_references(answer: str) -> str:
    """Return an answer without the list of sources at its end."""
    at = max(answer.rfind(f"\n\n{heading}\n\n1. ") for heading in _OWN_HEADINGS)
    return answer[:at].rstrip() if at >= 0 else answer


def is_domain(title: str) -> bool:
    """Return True for a title that only names a site, as Google's do."""
    labels = title.split(".")
    if not 1 < len(labels) <= _MOST_LABELS or not all(map(_is_label, labels)):
        return False
    return len(labels[-1]) > 1 and labels[-1].isascii() and labels[-1][0].isalpha()


def _is_label(part: str) -> bool:
    plain = part.replace("-", "").replace("_", "")
    return len(part) <= _LONGEST_LABEL and plain.isalnum()


def site_of(source: Source) -> str:
    """Return the site a page is on; of what is on no site, who provided it."""
    if source["kind"] != "page":
        return source["provider"][:1].upper() + source["provider"][1:]
    site = source.get("site", "").removeprefix("www.")
    return site or _site(source["url"]) or source["title"]


def findings_of(sources: Iterable[Source], texts: Iterable[str], *, cited: bool) -> tuple[str, str]:
    """Return marked texts in which a page has one name, and a line for each: name, site, title.

    However many searches found it, that is its first id; where nobody is to cite it, a number.
    What two searches say of it in the same words stands there once.
    """
    pages = {source["id"]: source for source in sources if source["kind"] == "page"}
    names: dict[str, str] = {}
    lines = list[str]()

    def named(marker: re.Match[str]) -> str:
        if (page := pages.get(marker[1])) is None:
            return marker[0]
        key = source_key(page)
        if key not in names:
            names[key] = page["id"] if cited else str(len(names) + 1)
            told = [site_of(page), _told_title(page), page.get("published")]
            lines.append(f"{names[key]} {' · '.join(filter(None, told))}")
        return f"[^{names[key]}]" if cited else f"[{names[key]}]"

    told, kept = set[str](), list[str]()
    for line in MARKER.sub(named, "\n\n".join(texts)).splitlines():
        if line not in told or "[" not in line:
            kept.append(line)
        told.add(line)
    return "\n".join(kept).strip(), "\n".join(lines)


def _told_title(source: Source) -> str:
    """Return a page's title for a model; empty where it only names the site."""
    title = without_urls(clean_text(source["title"], _TOLD_TITLE)).strip()
    return "" if is_domain(title) or title == site_of(source) else title


def with_targets(answer: str, targets: Mapping[str, str | None]) -> str:
    """Return a finished answer with each redirect link led to its target.

    A target is foreign text: it is written as any source's URL is, in one pass.
    """
    leads = {link_url(url): led for url, target in targets.items() if (led := _target_url(target))}
    return LINK_TARGET.sub(lambda link: f"]({leads.get(link[1], link[1])})", answer)


def resolved(used: Sequence[Source], targets: Mapping[str, str | None]) -> list[Source]:
    """Return the sources with their redirect links led to the targets; without one, so marked."""
    by_url = {link_url(url): _target_url(target) for url, target in targets.items()}
    sources: list[Source] = []
    for source in used:
        target = by_url.get(source["url"])
        if target is None:
            sources.append(source)
        elif target:
            sources.append(_led_to(source, target))
        else:
            sources.append(Source(**{**source, "unresolved": True}))
    return sources


_HEADINGS = (
    "sources", "source", "references", "citations", "来源", "资料来源", "引用来源", "参考资料",
    "参考文献", "数据来源", "信息来源", "参考来源", "来源列表", "sources used", "sources consulted",
    "sources cited", "sources and further reading", "quellen", "quellenangaben", "fuentes",
    "referencias", "références", "fonti", "fontes", "источники", "출처", "참고자료", "참고 자료",
    "出典", "参考", "参照", "情报源", "参考情报", "引用元", "参考サイト", "参考リンク", "参考url",
    "参考链接", "相关链接", "참고", "참고 사이트", "المصادر", "المراجع", "bronnen", "źródła",
    "kaynaklar", "nguồn", "nguồn tham khảo", "sumber", "แหล่งที่มา", "स्रोत", "källor", "kilder",
    "lähteet",
    "zdroje", "források", "джерела", "מקורות", "πηγέσ",
)  # fmt: skip
"""In simplified characters, as `fold` writes them."""
_DECORATION = " \t\r\n#*_>:：-"
_ENTRY_MARK = re.compile(
    r"\[\^?[^\]\n]{1,60}\]|【[^】\n]{1,60}】|https?://\S+|\b[a-z]{1,3}\d+-\d+\b"
)
_ENTRY_NUMBER = re.compile(r"^\s*(?:[-*+•]\s*)?(?:\d{1,3}\s*[.):：、]|\[\d{1,3}\])")
_BETWEEN_NAMES = "、，,；;和及"
_FOOTNOTE, _LONGEST_FOOTNOTE = "[^", 64
_BETWEEN_MARKS = " \t、，,；;。.()（）*_"
_MAPS = (
    "高德地图", "高德", "amap", "google", "维基百科", "wikipedia", "openstreetmap", "open-meteo",
)  # fmt: skip
_BESIDE_SITE, _DASHES = ",，:：|·(（", ("-", "–", "—")
"""What stands between a site and what it calls its page, in either order."""
_MAX_HEADING, _MAX_ENTRY = 300, 90


class SourceListFilter:
    """Drop the list of sources that a model writes at the end of its text; ours follows.

    Text passes as it comes; a line that may be the list's heading waits for what follows it.
    """

    def __init__(self) -> None:
        self._line = ""
        self._blank = ""
        self._list = ""
        self._passing = False

    def feed(self, chunk: str) -> str:
        """Return what is certainly text."""
        output = ""
        for part in chunk.splitlines(keepends=True):
            self._line += part
            if part.endswith("\n"):
                output += self._line if self._passing else self._ended_line()
                self._line, self._passing = "", False
            elif self._passing or not (self._list or _may_be_heading(self._line)):
                output += self._blank + self._line
                self._line, self._blank, self._passing = "", "", True
        return output

    def flush(self) -> str:
        """Return what was held back, less a list of sources and the blank lines before it."""
        output = self._ended_line() if self._line else ""
        output += "" if self._list else self._blank
        self._line, self._blank, self._list, self._passing = "", "", "", False
        return output

    def _ended_line(self) -> str:
        """Return the text that a whole line shows to be text."""
        if self._list and _is_entry(self._line):
            self._list += self._line
            return ""
        if not self._list and (not self._line.strip() or _is_rule(self._line)):
            self._blank += self._line
            return ""
        if not self._list and _is_heading(self._line):
            self._list = self._line
            return ""
        pending, self._blank, self._list = self._blank + self._list, "", ""
        if _is_heading(self._line):
            self._list = self._line
            return pending
        return pending + self._line


def _is_rule(line: str) -> bool:
    """Return whether a line is one that is drawn: three or more of - * _ and nothing else."""
    bare = "".join(line.split())
    return len(bare) > 2 and not bare.strip("-*_")


def without_source_list(text: str) -> str:
    """Return a whole text of a model without the list of sources at its end."""
    own_list = SourceListFilter()
    return (own_list.feed(text) + own_list.flush()).rstrip()


def without_bare_list(text: str, known: Sequence[Source]) -> str:
    """Return an answer without its last lines where they only name known sources, two or more.

    In whatever language the line above tells what they are; the list by code says it again.
    """
    names = _names_of(known)
    lines = text.rstrip().splitlines(keepends=True)
    end, told = len(lines), 0
    while end and (not lines[end - 1].strip() or _names_in(lines[end - 1], names)):
        told += _names_in(lines[end - 1], names)
        end -= 1
    while end and not lines[end - 1].strip():
        end -= 1
    above = lines[end - 2].strip() if end > 1 else ""
    if 0 < end < len(lines) and not above and _is_bare_head(lines[end - 1]):
        end -= 1
    return "".join(lines[:end]).rstrip() or text if told >= _FEWEST_NAMES else text


_FEWEST_NAMES, _LONGEST_HEAD, _LONGEST_LINE, _MOST_DIGITS, _NEAR = 2, 40, 400, 3, 4
_LINK = re.compile(r"\[(?:\d{1,4}|([^\[\]\n]{1,200}))\]\([^()\s]{1,2000}\)")
_APART = "、；;|·"
_LOOSELY, _JOINS = ",，", (*_DASHES, "&", "and", "und", "et", "y", "e", "и")


def _names_of(known: Iterable[Source]) -> frozenset[str]:
    """Return how a list may name these pages; a place's name is no source's."""
    names = {*_MAPS}
    for page in known:
        if page["kind"] == "page":
            names |= {page["title"], page["url"], site_of(page), _site(page["url"])}
    return frozenset(fold(name).strip(_DECORATION).removeprefix("www.") for name in names) - {""}


def _names_in(line: str, names: Container[str]) -> int:
    """Return how many sources a line names where it says nothing else, perhaps behind a colon.

    A name with a citation behind it is an answer.
    """
    if len(line) > _LONGEST_LINE:
        return 0
    if cites := _only_cites(line):
        return cites
    if _ends_citing(line):
        return 0
    titled = _LINK.sub(lambda link: link[1] or "", _without_bullet(line))
    bare = fold(_ENTRY_NUMBER.sub("", titled))
    bare = bare.strip(f"{_DECORATION}().（）。")
    head, colon, rest = bare.partition(":")
    behind = [rest] if colon and len(head) <= _LONGEST_HEAD else []
    return next(filter(None, (_known(words, names) for words in (bare, *behind))), 0)


def _only_cites(line: str) -> int:
    """Return how many citations stand alone behind a head and its colon: what cites them is none.

    A single one, or one of an item, may be an answer.
    """
    head, _, rest = fold(line).partition(":")
    is_head = without_marks(head) and len(head) <= _LONGEST_HEAD and "[" not in head
    is_line = _without_bullet(line) == line and not _ENTRY_NUMBER.match(line)
    is_bare = is_head and is_line and not without_marks(CITATION.sub("", rest))
    found = len(CITATION.findall(rest))
    return found if is_bare and found >= _FEWEST_NAMES else 0


def _ends_citing(line: str) -> bool:
    """Return whether the last that a line says is a citation of what is said before it."""
    last = next(iter([*CITATION.finditer(line)][-1:]), None)
    said = last and line[max(0, last.start() - _NEAR) : last.start()]
    return bool(last and without_marks(said or "") and not without_marks(line[last.end() :]))


def _known(words: str, names: Container[str]) -> int:
    """Return how many names some words are; none where anything else is among them."""
    found = 0
    for part in map(_bare_name, split_at(words, _APART)):
        told = [part] if part in names else [*map(_bare_name, _apart(part, _LOOSELY, _JOINS))]
        if not all(name in names for name in told if name):
            return 0
        found += sum(map(bool, told))
    return found


def _bare_name(part: str) -> str:
    name = part.strip(_DECORATION).removeprefix("www.")
    number = name.strip("[]^.)、:：")
    is_number = number.isdecimal() and len(number) <= _MOST_DIGITS
    return "" if is_number or ids_in(number) == {number} else name


def _is_bare_head(line: str) -> bool:
    bare = line.strip(_DECORATION)
    return len(bare) <= _LONGEST_HEAD and bare[-1:] not in tuple("。！？!?.") and "[" not in bare


def _may_be_heading(begin: str) -> bool:
    word = _without_decoration(begin)
    return len(begin) <= _MAX_HEADING and (
        _may_be_footnote(begin.lstrip())
        or any(heading.startswith(word) for heading in _HEADINGS)
        or _behind_heading(word) is not None
    )


def _is_footnote(line: str) -> bool:
    return line.lstrip().startswith(_FOOTNOTE) and "]:" in line[:_LONGEST_FOOTNOTE]


def _may_be_footnote(begin: str) -> bool:
    """Return whether a line that begins so may be a footnote, as far as it has come."""
    name, closing, behind = begin.removeprefix(_FOOTNOTE).partition("]")
    is_open = _FOOTNOTE.startswith(begin[:2]) and len(name) < _LONGEST_FOOTNOTE
    return is_open and (not closing or ":".startswith(behind[:1]))


def _is_heading(line: str) -> bool:
    """Return True for a heading of sources, alone or with the first behind it; for a footnote."""
    if _is_footnote(line):
        return True
    entry = _behind_heading(_without_decoration(line))
    return entry is not None and (not entry or _is_entry(entry) or _names_only_sites(entry))


def _apart(text: str, signs: str, words: Iterable[str]) -> list[str]:
    """Return the parts of a text between signs, and between words with blanks around them."""
    for word in words:
        text = text.replace(f" {word} ", signs[0])
    return split_at(text, signs)


def _without_bullet(line: str) -> str:
    bare = line.lstrip()
    is_item = bare[:1] in ("-", "*", "+", "•") and bare[1:2].isspace() and bare[1:].strip()
    return bare[1:].lstrip() if is_item else line


def _names_only_sites(entry: str) -> bool:
    """Return True for the names of sites and maps alone, as in `来源：高德地图、example.com`."""
    names = filter(
        None,
        (name.strip(_DECORATION) for name in _apart(fold(entry), _BETWEEN_NAMES, ("and", "&"))),
    )
    return all(name in _MAPS or is_domain(name) for name in names)


def _behind_heading(word: str) -> str | None:
    """Return what follows a heading of sources; None if it is none."""
    for heading in _HEADINGS if word.startswith(_HEADINGS) else ():
        rest = word.removeprefix(heading)
        if word == heading or (rest != word and rest.lstrip("*_ ")[:1] in (":", "：")):
            return rest.strip(_DECORATION)
    return None


def _without_decoration(line: str) -> str:
    return fold(line).strip(_DECORATION)


def _is_entry(line: str) -> bool:
    """Return True for an empty line, or a marker, number or link with at most a title."""
    if not line.strip():
        return True
    told = _without_bullet(line)
    if _is_footnote(line) or _names_only_sites(told) or (told != line and _has_site(told)):
        return True
    title = _ENTRY_MARK.sub("", _ENTRY_NUMBER.sub("", line)).strip()
    is_short = len(title) <= _MAX_ENTRY and title[-1:] not in tuple("。！？!?.")
    only_marks = not title.strip(_BETWEEN_MARKS)
    is_reference = _ENTRY_NUMBER.match(line) and "://" in line.split()[-1]
    return bool(is_short or only_marks or is_reference) and title != line.strip()


def _has_site(told: str) -> bool:
    """Return whether an item is a site and its page's title, whichever comes first."""
    parts = [part.strip(" \n)）") for part in _apart(told, _BESIDE_SITE, _DASHES)]
    is_short = len(told.strip()) <= _MAX_ENTRY and told.rstrip()[-1:] not in tuple("。！？!?.")
    return is_short and any(site and _names_only_sites(site) for site in (parts[0], parts[-1]))


def _target_url(target: str | None) -> str:
    return link_url(target) if target else ""


def _led_to(source: Source, target: str) -> Source:
    """Return the source at its target, by the words of its address where it had no title."""
    site = _site(target) or site_of(source)
    title = source["title"]
    if is_domain(title):
        title = f"{site}{_path(target)}"
    return Source(**{**source, "url": target, "site": site, "title": title})


def _path(url: str) -> str:
    path = clean_text(unquote(urlsplit(url).path), _MAX_TITLE).rstrip("/")
    return path if len(path) <= _MAX_PATH else f"{path[: _MAX_PATH - 1]}…"


def _site(url: str) -> str:
    """Return the host of a page; empty for a redirect of Google's, which is on every site."""
    host = urlsplit(url).hostname or ""
    return "" if host == _REDIRECTING else host.removeprefix("www.")


def _plain(text: str) -> str:
    return without_urls(clean_text(text, _MAX_TITLE)).strip()


def _name(source: Source) -> tuple[str, str]:
    """Return a source's title and the site that stands behind it where the title lacks it."""
    site = _plain(site_of(source))
    title = _plain(source["title"]) or site or "–"
    return title, "" if title.startswith(site) else site


def _reference(source: Source, position: int, language: Language, *, alone: bool) -> str:
    """Return one entry of the list; `alone` says that no other source has the same name.

    Of a calculation the sums that the text uses stand below it, where its citations lead.
    """
    number, url = source.get("number") or position, link_url(source["url"])
    title, site = _name(source)
    if not alone and (where := source.get("where")):
        title = _plain(f"{title}{say('punctuation.brackets', language, text=where)}")
    elif not alone:
        path = _path(source["url"]) if _site(source["url"]) else ""
        site = _plain(f"{site or _site(source['url'])}{path}")
    output, by = (text.translate(_MARKDOWN) for text in (title, site))
    linked = f"[{output}]({url})" if url else output
    line = " · ".join(filter(None, [f"{linked} — {by}" if by else linked, day_of(source)]))
    indent = " " * (len(str(number)) + 2)
    sums = (f"{indent}- {one.translate(_MARKDOWN)}" for one in source.get("sums", ()))
    return "\n".join([f"{number}. {line}", *sums])


def lettered(lines: Sequence[str]) -> list[str]:
    """Return the lines of a calculation each behind the letter by which a text cites it."""
    return [f"{line_letter(at)}. {one}" for at, one in enumerate(lines)]


def line_letter(at: int) -> str:
    """Return by which letter a text cites a line of a calculation: a … z, aa …."""
    before, last = divmod(at, len(ascii_lowercase))
    return (line_letter(before - 1) if before else "") + ascii_lowercase[last]


CITATION = re.compile(r"\[(\d{1,4})(?:[a-c]?[a-z])?\](?:\(([^()\s]{1,2000})\))?")
"""A source's number, perhaps with the letter of a calculation's line, and its address.

Of two letters few, so that "[1st]" and "[5th]" cite nothing.
"""


def source_number(place: str) -> str:
    """Return the number in what a citation shows, without a line's letter; empty if it is none."""
    cited = CITATION.fullmatch(f"[{place}]")
    return cited[1] if cited else ""


def renumbered(text: str, used: Sequence[Source]) -> tuple[str, list[Source]]:
    """Return a text with its links numbered by first use, and the sources it still cites."""
    order: dict[int, int] = {}

    def number(match: re.Match[str]) -> str:
        old = int(match[1])
        if not 0 < old <= len(used) or used[old - 1]["url"] != (match[2] or ""):
            return match[0]
        link = f"({match[2]})" if match[2] else ""
        return f"[{order.setdefault(old, len(order) + 1)}]{link}"

    text = CITATION.sub(number, text)
    return text, [Source(**{**used[old - 1], "number": new}) for old, new in order.items()]


def renumber_for_prompt(
    answer: str, carried: Sequence[Source], cited: Iterable[Mapping[str, Any]] = ()
) -> str:
    """Return a finished answer for the next turn's model: markers for citations, no URLs.

    Links are matched by URL to the carried-over sources; the list of sources is cut off. `cited`
    are the answer's own sources: those without a URL are known by their numbers.
    """
    by_url = {link_url(source["url"]): source["id"] for source in carried if source["url"]}
    own = [source for source in carried if not source["url"]]
    unlinked = {
        str(source.get("number")): _same_id(source, own)
        for source in cited
        if not source.get("url")
    }

    def marker(match: re.Match[str]) -> str:
        name = by_url.get(match[2]) if match[2] else unlinked.get(match[1])
        if name is None and not match[2]:
            return match[0]
        return f"[^{name}]" if name else ""

    return CITATION.sub(marker, strip_references(answer))


def _same_id(cited: Mapping[str, Any], own: Iterable[Source]) -> str:
    """Return the id of the source without an address that has this one's title, and its words."""
    titled = [source for source in own if source["title"] == cited.get("title")]
    quotes = {*cited.get("quotes", ())}
    titled.sort(key=lambda source: not quotes.isdisjoint(source["quotes"]))
    return titled[-1]["id"] if titled else ""


def uncited(cell: str) -> str:
    """Return a cell with blanks for its citations."""
    for pattern in (CITATION, MARKER):
        cell = pattern.sub(lambda match: " " * len(match[0]), cell)
    return cell


def behind_citations(text: str, at: int) -> int:
    """Return where the bracket stands that closes behind the citations from there on; else 0."""
    while match := CITATION.match(text, at) or MARKER.match(text, at):
        at = match.end() + text.startswith(" ", match.end())
    return at if text.startswith("]", at) else 0
