"""Hold a plan's stops against the hours of their own records on the days that it names."""

from collections.abc import Iterable, Iterator, Sequence
from datetime import date

from agent.evidence.days import days_named
from agent.evidence.figures import figures
from agent.evidence.hours import Opening, clock_of, yearly_hours
from agent.evidence.kinds import is_aim
from agent.evidence.records import with_weekday
from agent.evidence.tables import CellRow, TableCell, tables_in
from agent.evidence.told_ways import stops_in_row, stops_of_rows
from agent.evidence.types import Place

_TIME_CELLS, _RANGE, _SEVERAL, _MORNING = 2, 2, 2, 5 * 60
"""Cells of a row that may tell its time; ends of a range; columns of days or times; before which
minute it is night."""


def hours_faults(text: str, places: Sequence[Place], today: str) -> list[str]:
    """Return a line for each stop that is closed on its day or at its time, or has other hours.

    A stop is a row of a table that tells a time and one place, its day stands in the row, in one
    above or in the heading. Where days or times are columns it is a cell.
    """
    found = list[str]()
    for rows in tables_in(text):
        day = _day_in(_heading_above(text, rows[0][0].start), today)
        for of_day, row, named in _by_day(rows, day, places, today):
            stops = {place["id"]: place for place in named}
            if of_day and len(stops) == 1:
                [place] = stops.values()
                found += [f"{place['name']}, {fault}" for fault in _faults(row, place, of_day)]
    return found


def stops_of_plans(text: str, places: Sequence[Place]) -> set[str]:
    """Return the ids of the stops of a text's plans: of the rows, or columns, that tell a time.

    It stands before the place: behind one it may be when that opens.
    """
    found = list[Place]()
    for rows in tables_in(text):
        head, *below = rows
        if len(_with_times(head[1:])) >= _SEVERAL:
            found += [place for row in below for place in stops_in_row(row[1:], places)]
            continue
        for row, stops in zip(below, stops_of_rows(rows, places), strict=True):
            before = row[: 1 if stops_in_row(row[:1], places) else _TIME_CELLS]
            found += stops if _with_times(before) else []
    return {place["id"] for place in found}


def stops_of_tables(text: str, places: Sequence[Place]) -> set[str]:
    """Return the ids of the places to go to that rows of a text's tables name, cited or not."""
    rows = (stops for table in tables_in(text) for stops in stops_of_rows(table, places))
    return {place["id"] for stops in rows for place in stops if is_aim(place)}


def _with_times(cells: Iterable[TableCell]) -> list[TableCell]:
    return [cell for cell in cells if any(f.clock is not None for f in figures(cell.text))]


def _by_day(
    rows: Sequence[CellRow], day: str, places: Sequence[Place], today: str
) -> Iterator[tuple[str, CellRow, Sequence[Place]]]:
    """Yield a plan's rows, or cells with their times, each with its day and its stops."""
    head, *below = rows
    days = [_day_in(cell.text, today) for cell in head[1:]]
    times = _with_times(head[1:])
    for row, stops in zip(below, stops_of_rows(rows, places), strict=True):
        if sum(map(bool, days)) >= _SEVERAL:
            pairs = ((each, [row[0], cell]) for each, cell in zip(days, row[1:], strict=False))
            yield from ((each, pair, stops_in_row(pair, places)) for each, pair in pairs)
            continue
        day = _day_in(row[0].text, today) or day
        if len(times) >= _SEVERAL:
            cells = ([*pair] for pair in zip(head[1:], row[1:], strict=False))
            yield from ((day, pair, stops_in_row(pair, places)) for pair in cells)
        else:
            yield day, row, stops


def _day_in(text: str, today: str) -> str:
    return next(iter(days_named(text, today)), "")


def _heading_above(text: str, at: int) -> str:
    lines = reversed(text[:at].splitlines())
    return next((line for line in lines if line.startswith(("#", "**"))), "")


def _faults(row: CellRow, place: Place, day: str) -> Iterator[str]:
    every, weekday = yearly_hours(place) or [], date.fromisoformat(day).isoweekday()
    own = [each for each in every if weekday in each.days]
    if not every or any(each.written for each in own):
        return
    told = with_weekday(day, "en")
    if not own:
        yield f"{told}: its record says it is closed that day ({_ranges(every)} on others)"
        return
    clocks = [f.clock for cell in row[:_TIME_CELLS] for f in figures(cell.text) if f.clock]
    if not clocks:
        return
    at = clocks[0]
    if at >= _MORNING and not any(each.start <= at < each.end for each in own):
        yield f"{told}, {clock_of(at)}: its record says {_ranges(own)} that day"
        return
    spans, others = {(o.start, o.end) for o in own}, {(o.start, o.end) for o in every}
    for cell in row[1:]:
        times = [figure.clock for figure in figures(cell.text) if figure.clock is not None]
        if len(times) == _RANGE and tuple(times) in others - spans:
            yield f"{told}: {cell.text} are the hours of another day; that day {_ranges(own)}"


def _ranges(hours: Sequence[Opening]) -> str:
    spans = dict.fromkeys(f"{clock_of(each.start)}–{clock_of(each.end)}" for each in hours)
    return ", ".join(spans)
