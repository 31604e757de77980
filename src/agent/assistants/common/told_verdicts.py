"""Hold what the cards of places say of demands to what the text says, as its judge reads it.

What a text says against a place stands on its card; what only a place's record does not know, and
pages that are cited of it tell, is no open question there.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import get_args

from agent.core.strings import parted_brackets
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import Key, Statement
from agent.evidence.constraints import DIETS
from agent.evidence.figures import figures
from agent.evidence.mentions import fails_a_demand, mentioned
from agent.evidence.names import map_name
from agent.evidence.notation import Notation
from agent.evidence.planned_hours import stops_of_plans
from agent.evidence.types import Place, PlaceVerdict, Suits
from agent.evidence.units import MONEY
from agent.texts import Language, say

SettledWish = tuple[str, str]
"""A place's id, and the verdict on it that stands no more."""
_LONGEST_SAID = 90


def with_ruled_out(
    places: list[Place],
    ruled_out: Mapping[str, str],
    language: Language,
    *,
    but: Collection[str] = (),
) -> list[Place]:
    """Return the places, those that a text says do not fit with its words as a verdict.

    None of those with the ids in `but` is.
    """
    words = {id: said for name, said in ruled_out.items() for id in mentioned(places, name)
             if id not in but}  # fmt: skip

    def told(place: Place) -> Place:
        if place["id"] not in words or fails_a_demand(place):
            return place
        said = words[place["id"]]
        if not 0 < len(said) <= _LONGEST_SAID:
            said = say("constraints.answer.violated", language)
        verdict = PlaceVerdict(constraint=BY_ANSWER, verdict="violated", field="", text=said)
        # What else it would meet is no news, and "open on Sundays" its very opposite.
        return Place(**{**place, "verdicts": [verdict]})

    return [*map(told, places)]


BY_ANSWER = "answer"
"""What says that a place does not fit where no field of its record does."""


def with_settled(
    places: list[Place], told: Sequence[tuple[str, str]], settled: Collection[SettledWish] = ()
) -> list[Place]:
    """Return the places without what only their records do not know: pages say it."""
    texts: dict[str, list[str]] = {}
    for around, said in told:
        named = mentioned(places, said) or mentioned(places, around)
        for id in named if len(named) == 1 else ():
            texts.setdefault(id, []).append(said)

    def known(place: Place) -> Place:
        said = texts.get(place["id"], [])
        kept = [
            v
            for v in place.get("verdicts", [])
            if v["verdict"] != "unknown"
            or not ((place["id"], v["text"]) in settled or any(_speaks(v, t) for t in said))
        ]
        return Place(**{**place, "verdicts": kept}) if "verdicts" in place else place

    return [*map(known, places)]


def _speaks(verdict: PlaceVerdict, text: str) -> bool:
    """Return whether a text has the figures that a demand is about: a time, a price."""
    if verdict["field"] == "open_time":
        return any(figure.clocks for figure in figures(text))
    is_price = verdict["field"] == "cost"
    return is_price and any(f.prefixed or f.kind in MONEY for f in figures(text))


_IN_WORDS = frozenset({"free", "other", *get_args(Suits)})
"""Demands that words of a page may tell to be met: of hours and prices figures do."""
_MOST, _MOST_SOURCES = 12, 4


@dataclass(frozen=True)
class OpenWish:
    """Hold what no record knows of a place, as a statement on the pages that its text cites."""

    settles: SettledWish
    asked: Statement


def open_wishes(
    found: Sequence[Statement],
    evidence: Evidence,
    notation: Notation,
    language: Language,
    *,
    text: str = "",
) -> list[OpenWish]:
    """Return the demands that are open at the places of which the statements cite pages.

    Of a text that has a plan only at its stops.
    """
    places = {r.place["id"]: r.place for r in evidence.records.values() if r.place}
    pages = _pages_of(found, evidence, [*places.values()])
    stops = stops_of_plans(text, [*places.values()]) if pages else set[str]()
    pages = {id: cited for id, cited in pages.items() if not stops or id in stops}
    wishes = [
        (places[id], verdict, cited)
        for id, cited in pages.items()
        for verdict in places[id].get("verdicts", ())
        if _is_open(verdict)
    ]
    return [
        OpenWish((place["id"], verdict["text"]), replace(
            _stated(_wish(place, verdict, language), cited, notation), name=str(at)))
        for at, (place, verdict, cited) in enumerate(wishes[:_MOST], len(found) + 1)
    ]  # fmt: skip


def settled(
    wishes: Sequence[OpenWish], rulings: Mapping[Key, Ruling], evidence: Evidence
) -> frozenset[SettledWish]:
    """Return what a judge has found to stand on a page, by a passage of one."""
    return frozenset(
        wish.settles
        for wish in wishes
        if (ruling := rulings.get(wish.asked.key)) and ruling.v.strip().lower() == "s"
        and any(_is_page(evidence.records[source]) for source in evidence.sources_of(
            evidence.by_name[name] for name in ruling.p if name in evidence.by_name))
    )  # fmt: skip


def _pages_of(
    found: Sequence[Statement], evidence: Evidence, places: Sequence[Place]
) -> dict[str, list[str]]:
    """Return the pages that are cited of each place: by what is told of it and no other."""
    pages = dict[str, list[str]]()
    if not any(map(_is_open, _verdicts(places))):
        return pages
    for one in found:
        cited = [n for n in one.exact or one.cited if n in evidence.records]
        cited = [name for name in cited if _is_page(evidence.records[name])]
        named = mentioned(places, one.said) if cited else {}
        named = named or (mentioned(places, f"{one.row}\n{one.context}") if cited else {})
        if len(named) == 1:
            own = pages.setdefault(next(iter(named)), [])
            own += [name for name in cited if name not in own][: _MOST_SOURCES - len(own)]
    return pages


def _is_page(record: Record) -> bool:
    """Return whether a source is a page or a file: a place's record has told what it knows.

    A calculation tells nothing of whom a place suits.
    """
    return record.place is None and bool(record.page) and not record.is_worked


def _verdicts(places: Sequence[Place]) -> Iterator[PlaceVerdict]:
    for place in places:
        yield from place.get("verdicts", ())


def _is_open(verdict: PlaceVerdict) -> bool:
    """Return whether words may tell what a record does not: how far a station is, they do not."""
    is_unknown = verdict["verdict"] == "unknown" and verdict["field"] != "further"
    return is_unknown and verdict["constraint"] in _IN_WORDS


def _stated(plain: str, cited: Sequence[str], notation: Notation) -> Statement:
    text = " ".join([plain, *map(notation.write, cited)])
    return Statement(0, 0, text, plain, cited=tuple(cited), exact=tuple(cited))


def _wish(place: Place, verdict: PlaceVerdict, language: Language) -> str:
    """Return an open demand as if it were met: "Kiasma: for children"."""
    constraint, name = verdict["constraint"], map_name(place, language)
    if constraint == "other":
        before, _, after = say("constraints.other.unknown", language, demand="\0").partition("\0")
        return f"{name}: {verdict['text'].removeprefix(before).removesuffix(after)}"
    outcome = "some" if constraint in DIETS else "satisfied"
    met = say(f"constraints.{constraint}.{outcome}", language, value=" ")
    return f"{name}: {parted_brackets(met)[0]}"
