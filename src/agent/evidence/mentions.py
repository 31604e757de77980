"""Find the names of known places in a text."""

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import cast

from agent.core.strings import has_han, parted_brackets, without_accents
from agent.evidence.language import fold
from agent.evidence.references import LINK_TARGET, strip_references
from agent.evidence.types import DayEnd, Outing, Place

_ITEM = re.compile(r"(\s{0,12})(?:[-*+•|]\s|(?:\*\*)?(\d{1,3})[.)、])")
_OUTER = 3
"""Blanks before an item that is not in another."""
_MASK = "\x00"
ORIGIN = re.compile(
    r"(?:距离?|离)[^\d，。；,;|]{1,30}?(?=约|\d)|[·|]\s*[^\d·|]{1,30}?\s(?=\d[\d.]*\s?k?m\b)"
    r"|\b(?:from|near)\s+(?:the\s+)?[^\d,.;|]{1,40}"
)
"""What something is said to be far from."""
_SHORT = 2
_SHORTEST_LATIN = 3
_LONGEST_HEADING = 30


def without_origins(text: str) -> str:
    """Return a text with what follows "far from" blanked, of the same length."""
    return ORIGIN.sub(lambda match: " " * len(match[0]), text)


def source_ids(place: Place) -> list[str]:
    """Return the ids of all sources that stand for a place, the one it is cited by first."""
    return list(dict.fromkeys([place["source"], *place.get("sources", [])]))


def without_branch(name: str) -> str:
    """Return a name as far as its first bracket: 全聚德 for 全聚德(王府井店)."""
    for bracket in "(（[【":
        name = name.partition(bracket)[0]
    return name.rstrip()


def mentioned(places: Sequence[Place], text: str) -> dict[str, int]:
    """Return the ids of the places that the text names, with where each is named first.

    A name counts with or without its branch ("(王府井店)") and whatever its brackets, but
    not inside a longer place name or an address, and a name of two characters only if it stands
    alone. A branch left out means every branch known, unless the text names one of them in full.
    What has no name is named only by its kind with where it is: a word of a kind names no place.
    Nor does a word in small letters name one that is called so, in a text that has capitals: the
    story is not the Story. What is printed bold is a whole name: Olivia is no Olivia Central.
    """
    bare = LINK_TARGET.sub("]", strip_references(text))
    rest = _plain(_without_small(places, _without_namesakes(places, bare)))
    full: dict[str, list[str]] = defaultdict(list)
    short: dict[str, list[str]] = defaultdict(list)
    for place in places:
        name = _plain_name(place["name"])
        base, inside = parted_brackets(unicodedata.normalize("NFKC", place["name"]))
        is_made = place.get("nameless")
        wholes = (
            [name] if not is_made else [name, _plain_name(f"{base} {inside}")] if inside else []
        )
        for whole in wholes:
            # A station that is called as its town is not told by every word on the town.
            if whole != _plain_name(place.get("city") or ""):
                full[whole].append(place["id"])
        for other in (place.get("name_en"), *place.get("other_names", [])):
            if other and (own := _plain_name(other)):
                full[own].append(place["id"])
        plain = _plain_name(base)
        if _has_anothers_name(place, inside):
            full[_plain_name(f"{base}{inside}")].append(place["id"])
        elif plain and plain != name and not is_made:
            short[plain].append(place["id"])
    positions: dict[str, int] = {}
    for name in _longest_first({*full, *short}):
        rest, first = _take(rest, name)
        if first is None:
            continue
        branches = set(short.get(name, ()))
        named = {*full.get(name, ()), *(() if positions.keys() & branches else branches)}
        for id in named:
            positions[id] = min(first, positions.get(id, first))
    return positions


def _has_anothers_name(place: Place, inside: str) -> bool:
    """Return whether brackets say a place's own kind: without them 人民公园(地铁站) is the park."""
    return bool(inside) and inside in (place.get("category") or "").split(";")


def _without_namesakes(places: Sequence[Place], text: str) -> str:
    """Return a text in which the bold names of other things are masked.

    "**Fazer Kitchen Bar**" is not the place "Fazer" if its further words, all in capitals, stand
    nowhere in the record of that place.
    """
    pieces = text.split("**")
    for at in range(1, len(pieces) - 1, 2):
        first, *others = pieces[at].rstrip(":. ").split() or [""]
        if others and all(word[0].isupper() for word in others):
            own = [place for place in places if without_branch(place["name"]) == first]
            if own and not any(_has_words(place, others) for place in own):
                pieces[at] = _MASK * len(pieces[at])
    return "**".join(pieces)


def _has_words(place: Place, words: Iterable[str]) -> bool:
    """Return whether a place's record has one of some words, as that of its street or town."""
    told = " ".join(value for value in place.values() if isinstance(value, str))
    own = without_accents(told.casefold())
    return any(without_accents(word.casefold()) in own for word in words)


def _without_small(places: Sequence[Place], text: str) -> str:
    """Return a text with the words masked that are a place's one-word name in small letters."""
    names = [name for place in places
             for name in (without_branch(place["name"]), place.get("name_en"),
                          *place.get("other_names", []))
             if name and name[0].isupper() and name[1:].islower() and " " not in name]  # fmt: skip
    # A question has one capital, if any.
    for name in dict.fromkeys(names) if any(map(str.isupper, text[1:])) else ():
        if (small := name.lower()) in text:
            whole = re.compile(rf"(?<!\w){re.escape(small)}(?!\w)")
            text = whole.sub(_MASK * len(small), text)
    return text


def named_in(names: Mapping[str, Sequence[str]], text: str) -> list[str]:
    """Return the ids whose names a text has, as `mentioned` reads them; of namesakes the first."""
    rows = [(id, name) for id, all_ in names.items() for name in all_ if name]
    found = mentioned([cast(Place, {"id": id, "name": name}) for id, name in rows], text)
    first_of = {
        _plain_name(without_branch(own[0])): id for id, own in reversed([*names.items()]) if own
    }
    firsts = {*first_of.values()}
    return [id for id in names if id in found and id in firsts]


def in_list_order(places: Sequence[Place], text: str) -> list[Place]:
    """Return the places in the order in which a text chooses them: its lists and tables say so.

    What it names before them and not in them is its choice, and leads; a list of what fails
    what is demanded is behind the others. "The second one" is the second of the list, wherever
    its source stands among the sources: what an item is about, with what it names of the same
    search, before the station that it names besides.
    """
    opening, lists = _lists(places, text)
    by_id = {place["id"]: place for place in places}
    about = [(list_, ids) for list_ in lists if list_ for ids in list_]
    heads = [by_id[ids[0]] for _, ids in about]
    ranks = dict[str, tuple[int, bool, int, int]]()
    for at, (list_, ids) in enumerate(about):
        fails = all(fails_a_demand(by_id[each[0]]) for each in list_)
        ranks.setdefault(ids[0], (1, fails, at, 0))
    own = {head["id"] for head in heads}
    for at, (_, (id, *others)) in enumerate(about):
        for beside in (each for each in others if each not in own):
            shares = not set(by_id[beside]["keywords"]).isdisjoint(by_id[id]["keywords"])
            rank = (1, ranks[id][1], at, 1) if shares else (2, False, at, 0)
            ranks[beside] = min(rank, ranks.get(beside, rank))
    origins = {head["distance_from"] for head in heads} - {None}
    searched = {word for head in heads for word in head["keywords"]}
    for id, at in mentioned(places, opening).items() if heads else ():
        place = by_id[id]
        # What a list was searched around is no choice: "car parks by the restaurant". One of the
        # hotels that are listed is, though a car park was searched around it.
        is_origin = not origins.isdisjoint((place["name"], place.get("name_en")))
        if not is_origin or not searched.isdisjoint(place["keywords"]):
            ranks.setdefault(id, (0, False, at, 0))
    return sorted(places, key=lambda place: ranks.get(place["id"], (3, False, 0, 0)))


def _lists(places: Sequence[Place], text: str) -> tuple[str, list[list[list[str]]]]:
    """Return what stands before the first item about a place; then the ids in each list's items.

    A numbered list that is mostly about no place is the steps of a way, and none.
    """
    lists, first, goes_on = list[list[list[str]]](), list[int](), False
    steps, lines = list[list[bool]](), strip_references(text).splitlines()
    for at, line in enumerate(lines):
        if item := _ITEM.match(line):
            if not goes_on:
                lists, steps, first = [*lists, []], [*steps, []], [*first, len(lines)]
            goes_on, ids = True, _in_item(places, line)
            steps[-1] += [not ids] if item[2] else []
            lists[-1] += [ids] if ids else []
            first[-1] = min(first[-1], at) if ids else first[-1]
        elif line.strip() and not line[0].isspace():
            goes_on = False
    kept = [at for at, are_steps in enumerate(steps) if not _mostly(are_steps)]
    opening = lines[: min((first[at] for at in kept), default=len(lines))]
    return "\n".join(opening), [lists[at] for at in kept]


def _mostly(flags: Sequence[bool]) -> bool:
    """Return whether more than half of some items are so."""
    return sum(flags) * 2 > len(flags)


def fails_a_demand(place: Place) -> bool:
    """Return whether a place is known not to meet what was demanded."""
    return any(each["verdict"] == "violated" for each in place.get("verdicts", []))


def _about(places: Sequence[Place], item: str) -> str:
    """Return the id of the place that an item names first; empty where it names none."""
    return next(iter(_in_item(places, item)), "")


def _in_item(places: Sequence[Place], item: str) -> list[str]:
    """Return the ids of the places that an item names, in its order.

    Of places of one name, four branches of a café, it is the one whose link the item has. One that
    names none of them in its bold lead, but in its reader's words, and links to one alone, is its.
    """
    ids, named = list[str](), mentioned(places, item)
    for position in sorted({*named.values()}):
        of_name = [place for place in places if named.get(place["id"]) == position]
        own = (place for place in of_name if f"({place['url']})" in item)
        ids += [place["id"] for place in [*own, *of_name][:1]]
    linked = [] if ids else [p["id"] for p in places if p["url"] and f"({p['url']})" in item]
    return linked if len(linked) == 1 and item.count("**") > 1 else ids


def list_numbers(
    places: Sequence[Place], text: str, *, only_whole: bool = False
) -> dict[str, tuple[int, str]]:
    """Return the written number of the item that is about a place, by its id: it is named first.

    Where a text has several lists, with what stands above its own: "the first one" is told by it.
    One whose items are mostly about no place counts none: it is the steps of a way. By choice only
    one counts whose items are all about places: what to ask and to book is no list of them.
    """
    lists, above, last = list[tuple[str, list[tuple[int, str]]]](), "", 0
    for line in strip_references(text).splitlines():
        item = _ITEM.match(line)
        if item and item[2] and len(item[1]) <= _OUTER:
            if not lists or int(item[2]) <= last:
                lists.append((above, []))
            last = int(item[2])
            lists[-1][1].append((last, _about(places, line)))
        elif line.strip() and not line[0].isspace() and not item:
            above = line.strip("#*:： ")[:_LONGEST_HEADING]
    lists = [(head, items) for head, items in lists if not _mostly([not id for _, id in items])]
    if only_whole:
        lists = [(head, items) for head, items in lists if all(id for _, id in items)]
    found = dict[str, tuple[int, str]]()
    for head, items in lists:
        for number, id in items:
            found.setdefault(id, (number, head if len(lists) > 1 else ""))
    return {id: numbered for id, numbered in found.items() if id}


def listed_first(places: Sequence[Place], text: str) -> list[str]:
    """Return the ids of the places that a text's items and rows are about, in their order."""
    return list(dict.fromkeys(ids[0] for list_ in _lists(places, text)[1] for ids in list_))


def places_of(outing: Outing | None) -> list[str]:
    """Return the ids of the places that a planned day goes to, in its order."""
    return [stop["place"] for stop in outing["stops"] if "place" in stop] if outing else []


def day_ends(outing: Outing | None) -> tuple[DayEnd | None, DayEnd | None]:
    """Return the named places between which a day's ways lead: one comes back where it began."""
    start = outing.get("start") if outing else None
    end = (outing.get("end") or start) if outing and "back" in outing else None
    return start, end


def stop_numbers(stops: Iterable[str]) -> dict[str, tuple[int, str]]:
    """Return the numbers of a planned day's stops: what its text only names is none of them."""
    return {id: (number, "") for number, id in enumerate(stops, 1)}


def _longest_first(names: Iterable[str]) -> list[str]:
    return sorted((name for name in names if name), key=lambda name: (-len(name), name))


def _take(text: str, name: str) -> tuple[str, int | None]:
    """Return the text with the name masked out, as long as before, and where it stood first."""
    if name not in text:
        return text, None
    pattern = re.escape(name)
    if not has_han(name):
        if len(name) < _SHORTEST_LATIN:
            return text, None
        # Between words in other letters no blank is left.
        behind = "(?![a-z0-9])" if name[-1].isascii() else ""
        pattern = rf"(?<![a-z0-9]){pattern}{behind}"
    elif len(name) <= _SHORT:
        pattern = rf"(?<![\w\u3400-\u9fff]){pattern}(?![\w\u3400-\u9fff])"
    whole = re.compile(pattern)
    found = [match.span() for match in whole.finditer(text)]
    chosen = (start for start, end in found if not _is_in_address(text, start, end))
    return whole.sub(_MASK * len(name), text), next(chosen, None)


_NEAR = 12
_NUMBER_BEHIND = re.compile(
    r" \d{1,4}[a-f]?(?![\d:]|[.,]\d| ?(?:[^\W\d_\u3400-\u9fff]|[%°€$£¥★/]))"
    r"|[\u3400-\u9fff]{0,4}\d{1,5}[号號](?![\u3400-\u9fff])"
)
_NUMBER_BEFORE = re.compile(r"(?:^|[ (|])\d{1,4}[a-f]? \Z")


def _is_in_address(text: str, start: int, end: int) -> bool:
    """Return whether a folded name is the street of an address: a house number is beside it.

    A stop that is called after its street is named by no address in it.
    """
    is_spaced = text[end - 1].isascii() or has_han(text[end - 1])
    behind = _NUMBER_BEHIND.match(("" if is_spaced else " ") + text[end : end + _NEAR])
    return bool(behind or _NUMBER_BEFORE.search(text[max(0, start - _NEAR) : start]))


def _plain(text: str) -> str:
    """Fold for comparison: width, case, accents, brackets; spaces stay between Latin words only."""
    folded = fold(text).replace("·", "").translate(_BARE)
    spaced = " ".join(folded.split())
    return re.sub(r"(?<![a-z0-9.,!?]) | (?![a-z0-9])", "", spaced)


_BARE = str.maketrans("【】[]「」《》", "()()()()") | {
    code: base
    for code in range(0xC0, 0x250)
    if (base := unicodedata.normalize("NFD", chr(code))[0]).isascii()
}
_plain_name = lru_cache(4096)(_plain)
