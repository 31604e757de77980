"""Fill in the ways of a planned day: a writer puts a sign where one stands, code what was measured.

So each joins the place of the row above with that of its own row, or where a table lies sideways
of the cell before it, and still does when a revision has put another place there.
"""

import math
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, pairwise, takewhile
from operator import itemgetter
from typing import cast

from agent.core.processor import lazy_property
from agent.core.strings import letters_of
from agent.evidence.geo import distance_m
from agent.evidence.kinds import is_lodging
from agent.evidence.language import words
from agent.evidence.markdown import link_url
from agent.evidence.mentions import mentioned
from agent.evidence.outing.text import leg_text
from agent.evidence.references import CITATION
from agent.evidence.tables import CellRow, Change, TableCell, signs_in, tables_in
from agent.evidence.types import Leg, Place, Point, Route, RouteMode
from agent.texts import Language, say

WAY = "[>"
"""Begins the sign of a way: `[>walking]` in its cell."""
_MODES: tuple[RouteMode, ...] = ("walking", "transit", "driving", "bicycling")
_ALIKE = 4
"""Letters by which a mode is known: `[>walk]`."""
_LEAST_WORDS = 2
_SAME_PLACE, _SAME_SPOT = 10, 60
"""Metres between a place and the end of its own way, and of one that is told for want of that."""
_TWO = 2


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


def way_cells(text: str, places: Sequence[Place], ways: Iterable[ToldWay] = ()) -> list[WayCell]:
    """Return the signs of ways in the tables of a text; one elsewhere joins nothing.

    `ways` are those that it tells already: with the signs they show how a table lies.
    """
    found, told = dict[int, WayCell](), _longest_first(ways)
    for joined in _plans(text, told, places) if WAY in text else ():
        for mark, (ends, skips) in joined.items():
            if not mark.told:
                mode, word = _mode(mark.sign)
                found[mark.start] = WayCell(mark.start, mark.end, mode, ends, skips, word)
    for start, end, sign in signs_in(text, WAY):
        mode, word = _mode(sign)
        found.setdefault(start, WayCell(start, end, mode, None, told=word))
    return [found[start] for start in sorted(found)]


def stale_ways(text: str, ways: Iterable[ToldWay], places: Sequence[Place]) -> list[Change]:
    """Return what makes signs again of ways that join others than their rows' places by now."""
    ways = [*ways]
    told, changes = _longest_first(ways), list[Change]()
    for joined in _plans(text, told, places) if told else ():
        for mark, (ends, _) in joined.items():
            own = [way for way in ways if way.told == mark.told]
            ids = (ends[0]["id"], ends[1]["id"]) if ends else None
            if own and ids not in [way.ids for way in own]:
                changes.append((mark.start, _end_of_citations(text, mark.end), own[0].sign))
    return sorted(changes)


def bare_ways(text: str) -> list[Change]:
    """Return what takes all signs of ways out."""
    return [(start, end, "–") for start, end, _ in signs_in(text, WAY)]


def _end_of_citations(text: str, at: int) -> int:
    """Return where the citations end that stand here, perhaps behind a blank: they go, too."""
    while cited := CITATION.match(text, at + text.startswith(" ", at)):
        at = cited.end()
    return at


def way_between(cell: WayCell, routes: Iterable[Route], *, own: bool = False) -> Route | None:
    """Return the way that was measured from the one place to the other: that back is another.

    Of several whose ends are near, the nearest: a café may stand beside the museum. An `own` one
    has its ends at the very places.
    """
    most = _SAME_PLACE if own else _SAME_SPOT
    if cell.ends is None:
        return None
    spots, near = [place["wgs84"] for place in cell.ends], list[tuple[float, int, Route]]()
    for at, route in enumerate(routes):
        ends = [end["wgs84"] for end in route.get("ends", [])]
        if route["mode"] == cell.mode and route["distance_m"] and route["duration_s"]:
            off = [*map(_metres, ends, spots)] if len(ends) > 1 else [math.inf]
            near += [(sum(off), at, route)] if max(off) < most else []
    return min(near, key=itemgetter(0, 1))[-1] if near else None


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
    """Return a ride that was not measured in its writer's word; none of a walk.

    Of its line he may know more than the map, and say it in another cell.
    """
    if cell.mode == "walking":
        return ""
    return cell.told or say(f"records.modes.{cell.mode}", language)


def _mode(told: str) -> tuple[RouteMode, str]:
    """Return how a way goes; another word, tram or metro, is of a ride, and returned with it."""
    alike = (mode for mode in _MODES if told.lower()[:_ALIKE] == mode[:_ALIKE])
    mode = next(alike, None)
    return (mode, "") if mode else ("transit", told)


@dataclass(frozen=True)
class _Mark:
    """A way in a table: by its sign, or in the words in which it was told."""

    start: int
    end: int
    sign: str = ""
    told: str = ""


@dataclass(frozen=True)
class _Cell:
    """A cell of a plan: its words around its ways, and the places that each part names."""

    parts: Sequence[str] = ("",)
    marks: Sequence[_Mark] = ()
    named: Sequence[Sequence[Place]] = ((),)
    cited: Sequence[Place] = ()

    @property
    def text(self) -> str:
        return " ".join(self.parts)

    @property
    def stops(self) -> Sequence[Place]:
        return self.cited or [*chain.from_iterable(self.named)]


_Grid = Sequence[Sequence[_Cell]]
_Ends = tuple[tuple[Place, Place] | None, bool]
_NO_ENDS: _Ends = None, False


def _longest_first(ways: Iterable[ToldWay]) -> list[str]:
    return sorted({way.told for way in ways}, key=len, reverse=True)


def _plans(text: str, told: Iterable[str], places: Sequence[Place]) -> Iterator[dict[_Mark, _Ends]]:
    """Yield what the ways of each table join: a next day's first one begins where one sleeps."""
    home: Place | None = None
    for rows in tables_in(text):
        if joined := _joined(rows, told, places, home):
            yield joined
            stops = [*chain.from_iterable(stops_of_rows(rows, places))]
            home = next(filter(is_lodging, [*stops[-1:], *stops[:1]]), home)


def _joined(
    rows: Sequence[CellRow], told: Iterable[str], places: Sequence[Place], home: Place | None
) -> dict[_Mark, _Ends]:
    """Return what each way of a table joins, whichever way it lies.

    A plan goes on from row to row; but from cell to cell of a row where more of its ways join two
    places so. A single one has to stand where nothing is above it: it begins at `home`.
    """
    marked = [[_marked(cell, told) for cell in row] for row in rows]
    if not any(cell.marks for row in marked for cell in row):
        return {}
    grid = _grid(marked, places)
    sideways = [[*column] for column in zip(*grid[1:], strict=True)]
    down, across = _Plan(grid, home=home).joined(), _Plan(sideways, begin=0).joined()
    found, others = (sum(ends is not None for ends, _ in each.values()) for each in (down, across))
    is_sure = others > 1 or any(cell.marks for row in grid[1:2] for cell in row)
    return across if others > found and is_sure else down


def _marked(cell: TableCell, told: Iterable[str]) -> _Cell:
    text = cell.text
    spans = {begin: (end, sign, "") for begin, end, sign in signs_in(text, WAY)}
    for own in told:
        while (begin := text.find(own)) >= 0:
            spans[begin] = begin + len(own), "", own
            text = text.replace(own, " " * len(own), 1)
    marks = [_Mark(cell.start + begin, cell.start + end, sign, words)
             for begin, (end, sign, words) in sorted(spans.items())]  # fmt: skip
    begins = [0, *(mark.end - cell.start for mark in marks)]
    ends = [*(mark.start - cell.start for mark in marks), len(text)]
    return _Cell([cell.text[b:e] for b, e in zip(begins, ends, strict=True)], marks)


def _grid(rows: Sequence[Sequence[_Cell]], places: Sequence[Place]) -> _Grid:
    width = max(map(len, rows))
    return [[*_with_places(row, places), *[_Cell()] * (width - len(row))] for row in rows]


def _with_places(row: Sequence[_Cell], places: Sequence[Place]) -> list[_Cell]:
    of_row = mentioned(places, " | ".join(cell.text for cell in row))
    return [
        replace(
            cell,
            named=[_named(part, of_row, places) for part in cell.parts],
            cited=_cited(cell.text, places),
        )
        for cell in row
    ]


@dataclass(frozen=True)
class _Plan:
    """A plan whose stops stand below one another, each day's in a column; perhaps below a head."""

    grid: _Grid
    begin: int = 1
    home: Place | None = None
    """Where the first way begins."""

    def joined(self) -> dict[_Mark, _Ends]:
        """Return what each way joins: a stop with the next one, in its cell or below it."""
        return {
            mark: self._joined_by(n, at, column)
            for at, row in enumerate(self.grid[self.begin :], self.begin)
            for column, cell in enumerate(row)
            for n, mark in enumerate(cell.marks, 1)
        }

    def _joined_by(self, n: int, at: int, column: int) -> _Ends:
        """Return what the n-th way of a cell joins."""
        named = self.grid[at][column].named
        before, behind = ([*chain.from_iterable(part)] for part in (named[:n], named[n:]))
        if before and behind:
            return _ends(behind, [before], skips=False)
        return (
            self._in_column(at, column) if self._has_stops(at, column) else self._in_row(at, column)
        )

    def _has_stops(self, at: int, column: int) -> bool:
        """Return whether a way's own column has the stops it joins: in its cell, or around it."""
        cells = [row[column] for row in self.grid[self.begin :]]
        own = any(cell.stops for cell in cells if not cell.marks)
        return own and bool(self.grid[at][column].stops or not self.stops_in(at, but=column))

    def _in_column(self, at: int, column: int) -> _Ends:
        """Return the stops above a way in its column, and in its cell or below it."""
        below = (row[column].stops for row in self.grid[at:])
        above = self.grid[self.begin : at][::-1]
        between = takewhile(lambda row: not row[column].stops, above)
        skips = any(letters_of(row[column].text) for row in between if not row[column].marks)
        return _ends(
            next(filter(None, below), []), [row[column].stops for row in above], skips=skips
        )

    def _in_row(self, at: int, column: int) -> _Ends:
        """Return the last stop of the nearest row above that has one, and the first of this row."""
        lane = self._lanes.get(column, -1)
        here, *above = (
            [*self.grid[row][lane].stops] if lane >= 0 else self.stops_in(row, but=column)
            for row in range(at, self.begin - 1, -1)
        )
        if self.home and not any(above):
            above = [[], [self.home]]
        return _ends(here, above, skips=bool(above) and not above[0])

    def stops_in(self, at: int, *, but: int = -1) -> list[Place]:
        """Return the places of a row's own cell of the place, else those that the row cites.

        What stands in the way's own cell is none of them.
        """
        cells = [cell for column, cell in enumerate(self.grid[at]) if column != but]
        cited = [place for cell in cells for place in cell.cited]
        own = self._place_column
        if own == but:
            return cited or [place for cell in cells for place in cell.stops]
        return [*self.grid[at][own].stops] or cited

    @lazy_property
    def _place_column(self) -> int:
        """Return the column that tells where the rows are: that which most often names a place.

        What one does there may name other places: the view of a church, a fall-back.
        """
        named = Counter(
            column
            for row in self.grid[self.begin :]
            for column, cell in enumerate(row)
            if cell.stops and not cell.marks
        )
        return max(named, key=lambda column: (named[column], -column), default=0)

    @lazy_property
    def _lanes(self) -> Mapping[int, int]:
        """Return the column of the stops by that of their ways, where each day has two such."""
        marked = {n for row in self.grid for n, cell in enumerate(row) if cell.marks}
        stops = {n for row in self.grid[self.begin :] for n, cell in enumerate(row)
                 if cell.stops and not cell.marks}  # fmt: skip
        ways = sorted(marked)
        edges = [-1, *ways, len(self.grid[0])]
        between = [sorted(n for n in stops if low < n < high) for low, high in pairwise(edges)]
        lanes = dict[int, int]()
        if len(ways) >= _TWO and all(between[:-1]):
            lanes = {way: own[-1] for way, own in zip(ways, between, strict=False)}
        elif len(ways) >= _TWO and all(between[1:]):
            lanes = {way: own[0] for way, own in zip(ways, between[1:], strict=True)}
        return lanes


def _ends(here: Sequence[Place], above: Sequence[Sequence[Place]], *, skips: bool) -> _Ends:
    before = next(filter(None, above), [])
    if not (here and before) or here[0]["id"] == before[-1]["id"]:
        return _NO_ENDS
    return (before[-1], here[0]), skips


def stops_in_row(row: CellRow, places: Sequence[Place]) -> list[Place]:
    """Return the places that a row cites in its order, else those that its cells name."""
    text = " | ".join(cell.text for cell in row)
    of_row = mentioned(places, text)
    named = (place for cell in row for place in _named(cell.text, of_row, places))
    return _cited(text, places) or [*named]


def stops_of_rows(rows: Sequence[CellRow], places: Sequence[Place]) -> list[list[Place]]:
    """Return the places of each row of a plan below its head: where its cell of the place says."""
    plan = _Plan(_grid([[_marked(cell, ()) for cell in row] for row in rows], places))
    return [[*plan.stops_in(at)] for at in range(plan.begin, len(rows))]


def _cited(text: str, places: Sequence[Place]) -> list[Place]:
    by_url = {link_url(place["url"]): place for place in reversed(places) if place["url"]}
    return [by_url[url] for _, url in CITATION.findall(text) if url in by_url]


def _named(cell: str, of_row: Collection[str], places: Sequence[Place]) -> list[Place]:
    """Return the places that a cell names in its order; else the one whose name has all its words.

    Beside a name in capitals, in another cell `of_row`, "story room" names no Story.
    """
    by_id, named = {place["id"]: place for place in places}, mentioned(places, cell)
    if named:
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


def _metres(one: Point, other: Point) -> float:
    return distance_m((one["lng"], one["lat"]), (other["lng"], other["lat"]))
