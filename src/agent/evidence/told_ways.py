"""Fill in the ways of a planned day: a writer puts a sign where one stands, code what was measured.

So each joins the place of the row above with that of its own row, and still does when a revision
has put another place there.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import cast

from agent.evidence.geo import distance_m
from agent.evidence.language import words
from agent.evidence.markdown import link_url
from agent.evidence.mentions import mentioned
from agent.evidence.outing.text import leg_text
from agent.evidence.references import CITATION
from agent.evidence.tables import CellRow, Change, signs_in, tables_in
from agent.evidence.types import Leg, Place, Point, Route, RouteMode
from agent.texts import Language, say

WAY = "[>"
"""Begins the sign of a way: `[>walking]` in its cell."""
_MODES: tuple[RouteMode, ...] = ("walking", "transit", "driving", "bicycling")
_ALIKE = 4
"""Letters by which a mode is known: `[>walk]`."""
_LEAST_WORDS = 2
_SAME_SPOT = 60
"""Metres between a place and the end of a way to it."""


@dataclass(frozen=True)
class WayCell:
    """A way that a plan's table needs: where its sign stands, how it goes, and what it joins."""

    start: int
    end: int
    mode: RouteMode
    ends: tuple[Place, Place] | None
    """None where a row names no place of the map."""
    skips: bool = False
    """Whether rows between them name none: it begins where the row above does not say."""
    told: str = ""
    """The writer's own word for how it goes, where that is none of the modes: tram."""

    @property
    def ids(self) -> tuple[str, str] | None:
        return (self.ends[0]["id"], self.ends[1]["id"]) if self.ends else None


@dataclass(frozen=True)
class ToldWay:
    """A way that was filled in: its words, how it goes, and the ids of what it joins."""

    told: str
    sign: str
    ids: tuple[str, str] | None


def way_cells(text: str, places: Sequence[Place]) -> list[WayCell]:
    """Return the signs of ways in the tables of a text; one elsewhere joins nothing."""
    found = dict[int, WayCell]()
    for rows in tables_in(text) if WAY in text else ():
        own = _place_column(rows, places)
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                for begin, end, told in signs_in(cell.text, WAY):
                    start, (ends, skips) = cell.start + begin, _ends(rows, at, column, places, own)
                    mode, word = _mode(told)
                    found[start] = WayCell(start, cell.start + end, mode, ends, skips, word)
    for start, end, told in signs_in(text, WAY):
        mode, word = _mode(told)
        found.setdefault(start, WayCell(start, end, mode, None, told=word))
    return [found[start] for start in sorted(found)]


def stale_ways(text: str, ways: Iterable[ToldWay], places: Sequence[Place]) -> list[Change]:
    """Return what makes signs again of ways that join others than their rows' places by now."""
    told = dict[str, list[ToldWay]]()
    for way in ways:
        told.setdefault(way.told, []).append(way)
    changes = list[Change]()
    for rows in tables_in(text) if told else ():
        place_column = _place_column(rows, places)
        for at, row in enumerate(rows):
            for column, cell in enumerate(row):
                own = next((own for own in told if own in cell.text), "")
                ends = _ends(rows, at, column, places, place_column)[0] if own else None
                ids = (ends[0]["id"], ends[1]["id"]) if ends else None
                if own and ids not in [way.ids for way in told[own]]:
                    start = cell.start + cell.text.index(own)
                    end = _end_of_citations(text, start + len(own))
                    changes.append((start, end, told[own][0].sign))
    return changes


def bare_ways(text: str) -> list[Change]:
    """Return what takes all signs of ways out."""
    return [(start, end, "–") for start, end, _ in signs_in(text, WAY)]


def _end_of_citations(text: str, at: int) -> int:
    """Return where the citations end that stand here, perhaps behind a blank: they go, too."""
    while cited := CITATION.match(text, at + text.startswith(" ", at)):
        at = cited.end()
    return at


def way_between(cell: WayCell, routes: Iterable[Route]) -> Route | None:
    """Return the way that was measured between the two places, in this direction or the other."""
    if cell.ends is None:
        return None
    for route in routes:
        ends = [end["wgs84"] for end in route.get("ends", [])]
        pairs = (ends, ends[::-1]) if cell.mode == "walking" else (ends,)
        if route["mode"] == cell.mode and route["distance_m"] and route["duration_s"]:
            spots = [place["wgs84"] for place in cell.ends]
            if any(len(pair) > 1 and all(map(_is_near, pair, spots)) for pair in pairs):
                return route
    return None


def way_words(way: Route | Leg, language: Language) -> str:
    """Return a way as a cell tells it: how one goes, how far and how long."""
    if "estimated" in way:
        return leg_text(cast(Leg, way), language)
    lines = [step["line"] for step in way["steps"] if "line" in step]
    leg = Leg(
        mode=way["mode"], distance_m=way["distance_m"] or 0,
        duration_s=way["duration_s"] or 0, estimated=False, lines=lines,
    )  # fmt: skip
    return leg_text(leg, language)


def ride_words(cell: WayCell, language: Language) -> str:
    """Return a ride that was not measured in its writer's word; none of a walk."""
    if cell.mode == "walking":
        return ""
    words = cell.told or say(f"records.modes.{cell.mode}", language)
    unknown = say("outing.line_unknown", language) if cell.mode == "transit" else ""
    return words + (say("punctuation.brackets", language, text=unknown) if unknown else "")


def _mode(told: str) -> tuple[RouteMode, str]:
    """Return how a way goes; another word, tram or metro, is of a ride, and returned with it."""
    alike = (mode for mode in _MODES if told.lower()[:_ALIKE] == mode[:_ALIKE])
    mode = next(alike, None)
    return (mode, "") if mode else ("transit", told)


def _place_column(rows: Sequence[CellRow], places: Sequence[Place]) -> int:
    """Return the column of a plan that tells where its rows are: that which most often names one.

    What one does there may name other places: the view of a church.
    """
    named = Counter(
        column
        for row in rows[1:]
        for column, cell in enumerate(row)
        if WAY not in cell.text and _named(cell.text, [cell.text], places)
    )
    return max(named, key=lambda column: (named[column], -column), default=0)


def _ends(
    rows: Sequence[CellRow], at: int, column: int, places: Sequence[Place], own: int
) -> tuple[tuple[Place, Place] | None, bool]:
    """Return the last place of the nearest row above that has one, and the first of this row.

    And whether rows between have none.
    """
    here = stops_in_row(rows[at], places, but=column, own=own)
    above = [stops_in_row(row, places, but=column, own=own) for row in reversed(rows[1:at])]
    before = next(filter(None, above), [])
    if not (here and before) or here[0]["id"] == before[-1]["id"]:
        return None, False
    return (before[-1], here[0]), not above[0]


def stops_in_row(
    row: CellRow, places: Sequence[Place], *, but: int = -1, own: int = -1
) -> list[Place]:
    """Return the places that a row cites in its order, else those that its cells name.

    Not those of one of its columns, such as the way's own cell; where it is known which cell tells
    its place, only those that this one names.
    """
    cells = [cell.text for column, cell in enumerate(row) if column != but]
    by_url = {link_url(place["url"]): place for place in reversed(places) if place["url"]}
    cited = [by_url[url] for _, url in CITATION.findall(" | ".join(cells)) if url in by_url]
    if cited:
        return cited
    of_place = [cell.text for column, cell in enumerate(row) if column == own != but]
    found = [_named(cell, cells, places) for cell in of_place or cells]
    return [place for each in found for place in each]


def _named(cell: str, cells: Sequence[str], places: Sequence[Place]) -> list[Place]:
    """Return the places that a cell names in its order; else the one whose name has all its words.

    Beside a name in capitals, in another of the row's `cells`, "story room" names no Story.
    """
    by_id, named = {place["id"]: place for place in places}, mentioned(places, cell)
    if named:
        of_row = mentioned(places, " | ".join(cells))
        kept = [name for name in named if name in of_row]
        return [by_id[name] for name in sorted(kept, key=lambda name: named[name])]
    place = _with_all_words(cell, places)
    return [place] if place else []


def _with_all_words(cell: str, places: Sequence[Place]) -> Place | None:
    """Return the place whose name has all words of a cell, and the fewest besides.

    Helsinki Central Station is Helsinki Central Railway Station to who asks.
    """
    own, nearest = words(cell), list[tuple[int, int]]()
    for at, place in enumerate(places) if len(own) >= _LEAST_WORDS else ():
        for name in (place["name"], place.get("name_en"), *place.get("other_names", [])):
            if own <= (whole := words(name or "")):
                nearest.append((len(whole), at))
    return places[min(nearest)[1]] if nearest else None


def _is_near(one: Point, other: Point) -> bool:
    return distance_m((one["lng"], one["lat"]), (other["lng"], other["lat"])) < _SAME_SPOT
