"""Recommend no place that nothing knows: such items of a list leave the answer, and are counted."""

import re
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from agent.evidence.claims.passages import Evidence
from agent.evidence.claims.statements import Notation, Statement, statements
from agent.evidence.figures import figures, same
from agent.evidence.language import fold, words
from agent.evidence.mentions import mentioned, without_origins


@dataclass(frozen=True)
class _Item:
    """Hold an item of a list or a row of a table that begins with a name."""

    name: str
    statements: Sequence[Statement]
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
    places = [record.place for record in evidence.records.values() if record.place]
    items = list(_items(text, notation)) if places else []

    def is_known(piece: str) -> bool:
        return bool(mentioned(places, without_origins(piece)))

    if not any(is_known(item.name) for item in items):
        return text, []
    invented = [
        item
        for item in items
        if not is_known(text[item.start : item.end]) and _is_invented(item, evidence)
    ]
    cuts = [(item.start, item.end, "") for item in invented]
    numbers = [edit for edit in counted_down(text, {start for start, _, _ in cuts})
               if not any(start <= edit[0] < end for start, end, _ in cuts)]  # fmt: skip
    kept, at = "", 0
    for start, end, new in sorted([*cuts, *numbers]):
        kept, at = kept + text[at:start] + new, max(at, end)
    return kept + text[at:], list(dict.fromkeys(item.name for item in invented))


def _items(text: str, notation: Notation) -> Iterator[_Item]:
    for start, group in groupby(statements(text, notation), key=lambda each: each.line):
        line = list(group)
        sign = _SIGN.match(text, start, line[0].start)
        is_row = line[0].kind == "cell"
        if not (is_row or (sign and sign.end() == line[0].start)):
            continue
        if name := line[0].row if is_row else item_name(line[0]):
            indent = len(sign[1]) if sign and not is_row else len(text)
            if len(name) > _LONGEST_NAME:
                continue
            yield _Item(name, line, start, _end_of_item(text, line[0].start, indent))


def item_name(item: Statement) -> str:
    """Return the name that an item begins with."""
    match = _BOLD.match(item.text) or _BEFORE_COLON.match(item.plain)
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
    named = _LATIN_PLACE.search(base) if base.isascii() else _HAN_PLACE.search(fold(base))
    if not (named or _BRANCH_KIND.search(fold(item.name))) or is_known(base, evidence):
        return False
    stated = [figure for statement in item.statements for figure in figures(statement.plain)]
    cited = {name for statement in item.statements for name in statement.cited}
    there = [other for p in evidence.passages if p.source in cited for other in p.figures]
    borne = [figure for figure in stated if any(same(figure, other) for other in there)]
    foreign = base.isascii() and not stated
    return not foreign and not (stated and len(borne) == len(stated))


def is_known(name: str, evidence: Evidence) -> bool:
    """Return whether half of a name's own words stand in some passage or in the question."""
    base = fold(_BRANCH.sub("", name))
    own = words(_KINDS.sub(" ", base)) or words(base)
    return any(2 * len(own & p.words) >= len(own) for p in evidence.passages)


def counted_down(text: str, gone: Container[int]) -> list[tuple[int, int, str]]:
    """Return where numbers of lists change when the items that begin at `gone` go, and to what."""
    edits, at = list[tuple[int, int, str]](), 0
    lists: dict[int, tuple[int, int]] = {}
    """The next number of the list of each depth, and how many of its items are gone."""
    for line in text.splitlines(keepends=True):
        sign = _SIGN.match(line)
        if sign and sign[2]:
            number, depth = int(sign[2]), len(sign[1])
            following, less = lists.get(depth, (0, 0))
            less = (less if number == following else 0) + (at in gone)
            if less and at not in gone:
                edits.append((at + sign.start(2), at + sign.end(2), str(number - less)))
            lists[depth] = (number + 1, less)
        at += len(line)
    return edits
