"""Fill in what code knows better than a writer, and keep it right: ways, totals, declared sums.

The writer puts signs in their places. What a revision changes around them is measured and added up
anew.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain

from agent.assistants.common.declared import DeclaredSums, bare_sums
from agent.assistants.common.draft import Draft
from agent.assistants.common.look_up import MAP_WAY, LookUp
from agent.core.faults import await_or_else
from agent.core.processor import compute
from agent.evidence.claims.corrected import Part
from agent.evidence.declared_sums import SIGN
from agent.evidence.names import map_name
from agent.evidence.references import CITATION
from agent.evidence.revision import Revised, rewritten
from agent.evidence.tables import Change, changed
from agent.evidence.told_ways import (
    WAY,
    ToldWay,
    WayCell,
    bare_ways,
    ride_words,
    stale_ways,
    way_between,
    way_cells,
    way_words,
)
from agent.evidence.totals import Total, filled, opened
from agent.evidence.types import Leg, Place, Route
from agent.texts import say

Walks = Mapping[tuple[str, str], Leg]
"""The ways on foot that the map measured among all places, by the sources of both ends."""
_MOST_MEASURED = 12
"""Ways that are asked of the map besides those that were measured before the text."""


@dataclass
class FilledIn:
    """Hold the ways, totals and sums that were filled into one text."""

    draft: Draft
    look: LookUp | None
    walks: Walks = field(default_factory=dict)
    _totals: list[Total] = field(default_factory=list)
    _ways: list[ToldWay] = field(default_factory=list)
    _asked: int = 0
    sums: DeclaredSums = field(init=False)

    def __post_init__(self) -> None:
        self.sums = DeclaredSums(self.draft)

    async def filled(self, text: Revised, *, leaves: bool = False) -> Revised:
        """Return a text with its ways and totals, those anew of which it has changed the places.

        A sentence's sign that nothing tells, and a declared sum that does not hold, stay if it
        `leaves` that to a revision.
        """
        written, places = text, self.draft.known_places
        text = await await_or_else(
            "the sums", self.sums.told(text, leaves=leaves), lambda: bare_sums(written)
        )
        stale = await compute(
            lambda: stale_ways(text.text, self._ways, places), otherwise=list[Change]
        )
        text, form = rewritten(text, stale), self.draft.number_form
        ways = await await_or_else(
            "the ways", self._way_changes(text.text), lambda: bare_ways(text.text)
        )
        text = rewritten(text, ways)
        again = await compute(lambda: opened(text.text, self._totals), otherwise=list[Change])
        text = rewritten(text, again)
        told = (way.ids for way in self._ways if way.ids and way.told in text.text)
        self.draft.joined = frozenset(chain.from_iterable(told))
        changes, totals = await compute(
            lambda: filled(text.text, form, self._totals, leaves=leaves),
            otherwise=lambda: (list[Change](), list[Total]()),
        )
        self._totals = [*self._totals, *totals]
        return rewritten(text, changes)

    async def streamed(self, pieces: AsyncIterator[str]) -> AsyncIterator[str]:
        """Yield a text as it is written; from its first sign on, which is filled in, at its end."""
        text, shown = "", 0
        async for piece in pieces:
            text += piece
            if SIGN not in text and WAY not in text:
                # Its last bracket may begin a sign.
                begin, shown = shown, len(text.removesuffix("["))
                yield text[begin:shown]
        # What was withdrawn is found again by its words.
        begin = len(text) - len(text.rpartition(self.draft.withdrawn or "\0")[2])
        own = await self.filled(Revised(text[begin:]))
        yield text[shown:begin] + own.text[max(0, shown - begin) :]

    def added_up(self, parts: list[Part]) -> list[Part]:
        """Return the parts of a text that its check has changed with its totals right."""
        if not self._totals:
            return parts
        opening = _with_changes(parts, opened(_text_of(parts), self._totals))
        changes, _ = filled(_text_of(opening), self.draft.number_form, self._totals)
        return _with_changes(opening, changes)

    def summed(self) -> list[Total]:
        """Return the totals that were added up, as the text tells them by now."""
        last = {total.place: total for total in self._totals}
        return [total for total in last.values() if total.is_summed]

    async def _way_changes(self, text: str) -> list[Change]:
        places = self.draft.known_places
        cells = await compute(lambda: way_cells(text, places, self._ways), otherwise=list[WayCell])
        await self._measure(cells)
        on_foot = [replace(cell, mode="walking") for cell in cells]
        # The map may know no ride.
        pairs = [*zip(cells, on_foot, strict=True)]
        await self._measure(walk for cell, walk in pairs if not self._way(cell))
        changes = list[Change]()
        for cell, walk in pairs:
            way = self._way(cell) or self._way(walk)
            words = self._words(cell, way) if way else ""
            if not self._way(cell):
                words = self._unmeasured(cell, words)
            if way:
                self._ways.append(ToldWay(words, text[cell.start : cell.end], cell.ids))
                words += self._citation(text, cell, way)
            changes.append((cell.start, cell.end, words))
        return changes

    def _unmeasured(self, cell: WayCell, walk: str) -> str:
        """Return a way of which at most the walk was measured: that tells no length of a ride."""
        ride, language = ride_words(cell, self.draft.language), self.draft.language
        if ride and walk:
            return say("records.unmeasured", language, ride=ride, way=walk)
        none = say("records.way_unmeasured", language) if cell.ends else "–"
        return ride or walk or none

    def _way(self, cell: WayCell) -> Route | Leg | None:
        """Return a way as it was measured; a walk back, of which nobody has, as the way there."""
        return self._own_way(cell) or (
            self._own_way(replace(cell, ends=(cell.ends[1], cell.ends[0])))
            if cell.ends and cell.mode == "walking"
            else None
        )

    def _own_way(self, cell: WayCell, *, own: bool = False) -> Route | Leg | None:
        """Return a way as it was measured: by a call of the map, else on foot among all places."""
        if route := way_between(cell, self.draft.state.get("routes", []), own=own):
            return route
        if cell.mode != "walking" or not cell.ends:
            return None
        begin, end = (place["source"] for place in cell.ends)
        return self.walks.get((begin, end)) or self.walks.get((end, begin))

    async def _measure(self, cells: Iterable[WayCell]) -> None:
        """Have the map measure those of these ways that nobody has measured.

        Last those of which one back, or of a place beside, is known.
        """
        if not self.look or MAP_WAY not in self.look.tools:
            return
        every = (cell for cell in cells if cell.ends and not self._own_way(cell, own=True))
        open_ = {(cell.ids, cell.mode): cell for cell in every}
        ordered = sorted(open_.values(), key=lambda cell: bool(self._way(cell)))
        wanted = ordered[: _MOST_MEASURED - self._asked]
        self._asked += len(wanted)
        found = await asyncio.gather(*(
            self.look(MAP_WAY, _argument(cell, *cell.ends), cell.ends)
            for cell in wanted
            if cell.ends
        ))  # fmt: skip
        for cell, looked in zip(wanted, found, strict=True):
            modes = {route["mode"] for route in looked.routes}
            if modes and all(self._own_way(replace(cell, mode=mode)) for mode in modes):
                # A map without public transport has told the way on foot again.
                continue
            self.draft.add_records(looked.places, looked.routes)
            if looked.sources:
                self.draft.add(looked.sources, looked.texts)

    def _words(self, cell: WayCell, way: Route | Leg) -> str:
        """Return a way, with its ends where it does not begin in the row above."""
        words = way_words(way, self.draft.language)
        if cell.skips and cell.ends:
            begin, end = (map_name(place, self.draft.language) for place in cell.ends)
            words = f"{begin} → {end}: {words}"
        return words

    def _citation(self, text: str, cell: WayCell, way: Route | Leg) -> str:
        """Return the citation of a way's record, unless the writer has cited one beside it.

        A walk among all places is told of both in their records.
        """
        if "estimated" in way or CITATION.match(text, cell.end):
            return ""
        return f" {self.draft.citer.citation(self.draft.sources[way['source']])}"


def _argument(cell: WayCell, begin: Place, end: Place) -> str:
    """Return how a way is asked for; namesakes by their addresses, too."""
    names = [begin["name"], end["name"]]
    if names[0] == names[1]:
        names = [f"{p['name']}, {p['address']}" for p in (begin, end)]
    return " | ".join([*names, cell.mode, end["city"] or ""])


def _text_of(parts: Iterable[Part]) -> str:
    return "".join(part.text for part in parts)


def _with_changes(parts: Iterable[Part], changes: Sequence[Change]) -> list[Part]:
    found, at = list[Part](), 0
    for part in parts:
        end = at + len(part.text)
        own = [(s - at, e - at, words) for s, e, words in changes if at <= s and e <= end]
        found.append(replace(part, text=changed(part.text, own)) if own else part)
        at = end
    return found
