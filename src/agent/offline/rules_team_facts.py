"""A fact from what was seen: a sentence that shares the subject and the attribute, or a place."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .corpus_words import key, phrase
from .rules_team_ask import Need
from .rules_team_names import names, persons, phrases
from .rules_team_seen import Card, Seen, Snippet
from .rules_team_values import Value, dates, numbers, weekdays, with_unit, years
from .rules_team_words import IN_METRES, SYNONYMS, meanings, same_unit, wanted_meanings
from .rules_text import features, sentences

_LEAST = 0.6
_NEXT = 4
_TOLD_APART = 2
"""Words of its own that a question without a subject must have."""
_OTHER = 9
_SIGNS = {"rating": "★", "cost": "¥", "district": ""}
"""What the line of a place lacks, as the map's lines write it."""
SAME_SPOT_M = "150"
"""Metres within which a place lies where its name is geocoded to."""
_LITERAL, _TITLED, _LOOSE = 1.0, 0.8, 0.6
_LINE = re.compile(r"\d+号线|\b[Ll]ines? (\d+(?:(?:, | and |, and )\d+)*)")


@dataclass(frozen=True)
class Fact:
    """A value, the source it rests on, and what is said there."""

    value: str
    id: str
    said: str
    score: float = 1.0
    factor: str = ""
    """What turns it into the unit asked for (`* 1000`)."""
    name: str = ""


@dataclass(frozen=True)
class _Line:
    """A sentence of a page, and how well it speaks of the subject."""

    snippet: Snippet
    text: str
    subject: float


def page_facts(need: Need, snippets: Iterable[Snippet]) -> list[Fact]:
    """The values that sentences give for the need, best first, each value once."""
    if not need.subject and len(wanted_meanings(need.attribute)) < _TOLD_APART:
        return []  # Which year? How tall is it?
    found = [fact for line in _lines(need, snippets) for fact in _facts(need, line)]
    found.sort(key=lambda fact: -fact.score)
    best: dict[str, Fact] = {}
    for fact in found:
        best.setdefault(fact.value, fact)
    return list(best.values())


def map_fact(need: Need, card: Card | None, seen: Seen) -> Fact | None:
    """The attribute of a place as the map shows it."""
    if card is None:
        return None
    spans = card.spans
    value = {
        "rating": card.rating,
        "cost": card.cost,
        "opens": spans[0][0] if spans else "",
        "closes": spans[-1][1] if spans else "",
        "hours": ", ".join("-".join(span) for span in spans) or card.hours,
        "address": card.address,
        "district": _district(seen.geocode(card.name) or seen.geocode(need.subject or card.name)),
    }.get(need.attribute, "")
    told = f"{_SIGNS[need.attribute]}{value}" if need.attribute in _SIGNS else ""
    shown = " | ".join(filter(None, (card.name, told, card.hours, card.address)))
    return Fact(value, card.id, shown, name=card.name) if value else None


def place_named(name: str, seen: Seen) -> Card | None:
    """The looked-up place of that name; in English by way of its position on the map."""
    hit = hit_named(name, seen)
    return next((card for card in seen.cards if hit and card.name == hit["name"]), None)


def hit_named(name: str, seen: Seen) -> dict[str, Any] | None:
    """The search hit that bears the name, or was found where the name is."""
    if not name:
        return None
    listed = seen.hits("maps_text_search", as_keywords(name))
    near = seen.hits("maps_around_search", SAME_SPOT_M) if seen.geocode(name) else []
    own = name.rpartition("的")[2]
    ranks = ((_rank(str(hit["name"]), own), at) for at, hit in enumerate([*listed, *near]))
    if ranked := sorted(pair for pair in ranks if pair[0] < _OTHER):
        return [*listed, *near][ranked[0][1]]
    around = seen.hits("maps_around_search", name)
    if around and seen.geocode(name):
        return around[0]
    shorter = seen.hits("maps_text_search", shortened(name)) if name.isascii() else []
    same = listed and shorter and listed[0]["id"] == shorter[0]["id"]
    return listed[0] if same else None


def as_keywords(name: str) -> str:
    """A name as the map's search wants it: 成都的人民公园 is two keywords."""
    return name.replace("的", " ")


def shortened(name: str) -> str:
    """The part of an English name that must lead to the same place as the whole.

    Without the last word of it; of “Museum of Glass” what tells it from other museums.
    """
    head, of, told = name.rpartition(" of ")
    if of and head:
        return re.sub(r"^(?:the|a|an) ", "", told)
    return name.rpartition(" ")[0]


def _rank(listed: str, name: str) -> int:
    """How near a listed name is to the one asked for; 9 where it is another."""
    mine, core, wanted = key(listed), key(re.sub(r"[(（].*$", "", listed)), key(name)
    checks = (
        mine == wanted,
        core == wanted,
        mine.startswith(wanted),
        wanted.endswith(mine) and len(mine) > 2,
        wanted.endswith(core) and len(core) > 2,
        wanted in mine,
    )
    return next((at for at, holds in enumerate(checks) if holds and wanted), _OTHER)


def _district(found: dict[str, Any] | None) -> str:
    return str((found or {}).get("district") or "")


def _lines(need: Need, snippets: Iterable[Snippet]) -> Iterator[_Line]:
    for snippet in snippets:
        text = re.sub(r"\s*(?:…|\.{3})\s*", "\n", snippet.text)
        for sentence in sentences(text):
            share = _speaks(need.subject, sentence.bare, snippet.title)
            if share:
                yield _Line(snippet, sentence.bare, share)


def _speaks(subject: str, sentence: str, title: str) -> float:
    """How surely a sentence is about the subject: it, its page, or all its words say so."""
    name = phrase(re.sub('[《》“”"]', "", subject))
    if not name:
        return _TITLED
    text, head = phrase(re.sub("[《》]", "", sentence)), phrase(title)
    if name in text:
        return _LITERAL
    if name in head:
        return _TITLED
    wanted = features(name)
    fixed = re.findall(r"[a-z0-9.]+", name)
    both = features(text) | features(head)
    share = len(wanted & both) / len(wanted) if wanted else 0
    enough = 1.0 if name.isascii() else 0.75
    return _LOOSE if share >= enough and all(word in f"{text} {head}" for word in fixed) else 0.0


def _facts(need: Need, line: _Line) -> Iterator[Fact]:
    """Each fitting value of a sentence that speaks of the attribute."""
    share = _share(need, line.text)
    for value in _values(need, line.text):
        near = _beside(need, line.text, value)
        if share < _LEAST and not near:
            continue
        far = _distance(need, line.text, value)
        score = line.subject + max(share, _LEAST if near else 0) - min(far, 200) / 400
        yield Fact(value.text, line.snippet.id, line.text, score, _factor(need, value))


def _share(need: Need, sentence: str) -> float:
    wanted = wanted_meanings(need.attribute)
    return len(wanted & meanings(sentence)) / len(wanted) if wanted else 1.0


def _values(need: Need, sentence: str) -> list[Value]:
    asked = f"{need.subject} {need.attribute}"
    match need.type:
        case "year":
            return years(sentence)
        case "date":
            return dates(sentence)
        case "weekday":
            return weekdays(sentence)
        case "number":
            return _numbers(need, sentence)
        case "line":
            return [Value(_line_text(m), m.start(), m.end()) for m in _LINE.finditer(sentence)]
        case "person":
            return persons(sentence, need.attribute, asked)
        case "name":
            return names(sentence, need.noun, asked)
    return phrases(sentence, need.verb, need.attribute)


def _numbers(need: Need, sentence: str) -> list[Value]:
    if need.unit in IN_METRES or any(same_unit(need.unit, unit) for unit in IN_METRES):
        return [
            value
            for unit in ("公里", "米")
            for value in with_unit(sentence, unit)
        ]  # fmt: skip
    found = with_unit(sentence, need.unit)
    if not need.unit:  # 一份, 一种: an article rather than a number
        found = [value for value in found if sentence[value.start : value.end] != "一"]
    if found or not need.unit or need.unit in ("%", "元", "yuan"):
        return found
    # 多少栋建筑: the measure word may be left out where the noun follows.
    noun = need.attribute.replace(need.unit, "").strip()[:2]
    return [v for v in numbers(sentence) if noun and v.unit.startswith(noun)]


def _line_text(found: re.Match[str]) -> str:
    return found[1].replace(" and ", ", ") if found[1] else found[0]


def _factor(need: Need, value: Value) -> str:
    """What a length in another unit is multiplied with, as it stands in a program."""
    own = next((m for unit, m in IN_METRES.items() if value.unit and _is(value.unit, unit)), 0)
    asked = next((m for unit, m in IN_METRES.items() if same_unit(unit, need.unit)), 0)
    if need.type != "number" or not own or not asked or own == asked:
        return ""
    return "* 1000" if own > asked else "/ 1000"


def _is(written: str, unit: str) -> bool:
    return any(same_unit(written[:size], unit) for size in range(1, len(written) + 1)) or same_unit(
        written, unit
    )


def _beside(need: Need, sentence: str, value: Value) -> bool:
    """Whether the value stands right at the subject: `the 632 metre Tower`, `X of 1923`."""
    at = sentence.casefold().find(need.subject.casefold()) if need.subject else -1
    if at < 0 or need.type not in ("year", "number"):
        return False
    end = at + len(need.subject)
    between = sentence[end : value.start] if value.start >= end else sentence[value.end : at]
    bare = re.sub(
        r"metres?|kilomet\w+|km\b|m\b|米|公里|of|in|的|[\s(（,]", "", between, flags=re.IGNORECASE
    )
    return not bare and len(between) < 4 * _NEXT


def _distance(need: Need, sentence: str, value: Value) -> float:
    """Characters to the subject and to the nearest word of the attribute; before counts double."""
    lowered = sentence.casefold()
    far = 0.0
    at = lowered.rfind(need.subject.casefold(), 0, value.start) if need.subject else -1
    if at < 0 and need.subject:
        at = lowered.find(need.subject.casefold())
    if at >= 0:
        far += _gap(at, at + len(need.subject), value)
    places = [
        m.span() for word in _said_as(need.attribute) for m in re.finditer(re.escape(word), lowered)
    ]
    return far + min((_gap(start, end, value) for start, end in places), default=20)


def _gap(start: int, end: int, value: Value) -> float:
    return float(value.start - end) if value.start >= end else 1.5 * max(0, start - value.end)


def _said_as(attribute: str) -> list[str]:
    """The words of an attribute and those that mean the same."""
    said = attribute.casefold().split()
    for group in SYNONYMS:
        if any(word in said or (not word.isascii() and word in attribute) for word in group):
            said += group
    if attribute and not attribute.isascii():
        said.append(attribute.replace(" ", "")[-2:])
    return [word for word in dict.fromkeys(said) if word]
