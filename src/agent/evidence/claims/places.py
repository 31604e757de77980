"""Check the places of an answer: cite each as itself, recommend no unknown one."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace

from agent.evidence.claims.evidence import Evidence
from agent.evidence.claims.sentences import Citation, Notation, Sentence, sentences
from agent.evidence.figures import figures
from agent.evidence.language import words


def with_right_places(
    sentence: Sentence, evidence: Evidence
) -> tuple[Sentence, tuple[tuple[Citation, str | None], ...]]:
    """Return the sentence with each place's citation that place's, and what was changed."""
    moved: list[tuple[Citation, str | None]] = []
    citations: list[Citation] = []
    at = 0
    for citation in sentence.citations:
        begin = citation.start - sentence.start
        segment, at = sentence.plain[at:begin], citation.end - sentence.start
        right = _right_place(citation, segment.replace("\0", " "), sentence, evidence)
        if right is None:
            citations.append(citation)
            continue
        others = {
            name for other in sentence.citations if other is not citation for name in other.ids
        }
        moved.append((citation, None if right in others else right))
        citations.append(replace(citation, ids=(right,)))
    return replace(sentence, citations=tuple(citations)), tuple(moved)


def _right_place(
    citation: Citation, segment: str, sentence: Sentence, evidence: Evidence
) -> str | None:
    """Return the place that a citation of a place ought to name; None where it is right."""
    ids = [i for i in citation.ids if i in evidence.records]
    if not ids or any(evidence.records[i].place is None for i in ids):
        return None
    whole = sentence.plain.replace("\0", " ")
    named = evidence.places_in(segment) or evidence.places_in(whole)
    if len(named) != 1 or named & set(citation.ids) or evidence.places_in(whole) & set(ids):
        return None
    right = next(iter(named))
    stated = figures(whole)
    cited_has = sum(any(p.has(f) for p in evidence.of(ids)) for f in stated)
    other_has = sum(any(p.has(f) for p in evidence.of([right])) for f in stated)
    return right if other_has > cited_has or not cited_has else None


@dataclass(frozen=True)
class _Item:
    """Hold an item of a list or a row of a table that begins with a name."""

    name: str
    sentence: Sentence
    start: int
    end: int
    """Characters, its line and those indented below it."""


_SIGN = re.compile(r"(\s*)(?:[-*+•]\s+|(\d{1,3})([.)、])\s*)")
_BOLD = re.compile(r"\*\*([^*\n]{2,60}?)[:：]?\*\*")
_LONGEST_NAME = 60
_BEFORE_COLON = re.compile(r"([^，,：:。.；;!?！？|*]{2,40}?)\s*(?:[：:—–]|\s-\s)")
_BRANCH = re.compile(r"[(（【][^()（）【】]*[)）】]")
_HAN_KIND = (
    "旗舰店|专卖店|店|馆|楼|阁|轩|斋|院|园|寺|庙|塔|湖|桥|街|路|巷|胡同|城|中心|广场|乐园|餐厅|咖啡|酒吧|火锅"
    "|面馆|小吃|食堂|客栈|民宿|影城|市场|超市|商场|大厦|码头|基地|农场|世界"
)
_LATIN_KIND = (
    "coffee|café|cafe|bar|restaurant|hotel|museum|park|gallery|bakery|house|bistro|garden|gardens|mall"
    "|books|bookshop|bookstore|roasters|roastery|tea|kitchen|diner|temple|tower|theatre|theater|library"
    "|hostel|inn|market|square|lounge|pub|brewery|club|the|of|and"
)
_BRANCH_KIND = re.compile(rf"(?:{_HAN_KIND})[)）】]$")
_HAN_PLACE = re.compile(rf"[\u3400-\u9fff]{{2,}}(?:{_HAN_KIND})$")
_LATIN_PLACE = re.compile(rf"^[A-Z].*\b(?i:{_LATIN_KIND})\b")
_KINDS = re.compile(rf"(?:{_HAN_KIND})|\b(?:{_LATIN_KIND})\b", re.I)


def without_invented_places(
    text: str, evidence: Evidence, notation: Notation
) -> tuple[str, list[str]]:
    """Return an answer without the items that recommend places no evidence knows, and their names.

    Only lists count in which the evidence knows another place.
    """
    items = list(_items(text, notation)) if evidence.places else []
    if not any(evidence.places_in(item.name) for item in items):
        return text, []
    invented = [
        item
        for item in items
        if not evidence.places_in(text[item.start : item.end]) and _is_invented(item, evidence)
    ]
    for item in reversed(invented):
        text = text[: item.start] + _counted_down(text[item.start : item.end], text[item.end :])
    return text, list(dict.fromkeys(item.name for item in invented))


def _items(text: str, notation: Notation) -> Iterator[_Item]:
    for sentence in sentences(text, notation):
        start = text.rfind("\n", 0, sentence.start) + 1
        sign = _SIGN.fullmatch(text[start : sentence.start])
        if name := _name(sentence) if sign or sentence.row else "":
            indent = len(sign[1]) if sign else len(text)
            yield _Item(name, sentence, start, _end_of_item(text, sentence.start, indent))


def _name(sentence: Sentence) -> str:
    """Return the name that an item begins with; a row's first cell that is no number."""
    plain = sentence.plain.replace("\0", " ")
    if sentence.row:
        cells = (cell.strip(" *") for cell in plain.split("|"))
        name = next((cell for cell in cells if cell and not cell.isdigit()), "")
        return name if len(name) <= _LONGEST_NAME else ""
    match = _BOLD.match(plain) or _BEFORE_COLON.match(plain)
    return match[1].strip() if match else ""


def _end_of_item(text: str, at: int, indent: int) -> int:
    """Return where the lines of an item end: the first, and all that are indented deeper."""
    end = text.find("\n", at) + 1 or len(text)
    while end < len(text):
        line = text[end : text.find("\n", end) + 1 or len(text)]
        if not line.strip() or len(line) - len(line.lstrip()) <= indent:
            break
        end += len(line)
    return end


def _is_invented(item: _Item, evidence: Evidence) -> bool:
    """Return whether an item is a place's and no evidence knows the name, nor what it says."""
    base = _BRANCH.sub("", item.name).strip()
    kind = _LATIN_PLACE if base.isascii() else _HAN_PLACE
    named = kind.search(base) or _BRANCH_KIND.search(item.name)
    if not named or _is_known(base, evidence):
        return False
    stated = figures(item.sentence.plain.replace("\0", " "))
    cited = [p for name in item.sentence.cited for p in evidence.of([name])]
    borne = [figure for figure in stated if any(p.has(figure) for p in cited)]
    foreign = base.isascii() and not stated
    return not foreign and not (stated and len(borne) == len(stated))


def _is_known(base: str, evidence: Evidence) -> bool:
    """Return whether half of a name's own words stand in some passage or in the question."""
    own = words(_KINDS.sub(" ", base)) or words(base)
    return any(2 * len(own & p.words) >= len(own) for p in [*evidence.passages, *evidence.known])


def _counted_down(item: str, rest: str) -> str:
    """Return what follows a removed item, the numbers of its list one less."""
    removed = _SIGN.match(item)
    if not removed or not removed[2]:
        return rest
    lines, number = rest.splitlines(keepends=True), int(removed[2])
    for at, line in enumerate(lines):
        sign = _SIGN.match(line)
        if sign and sign[1] == removed[1] and sign[2] == str(number + 1):
            lines[at] = line[: sign.start(2)] + str(number) + line[sign.end(2) :]
            number += 1
    return "".join(lines)
