"""Find what else a day has room for: in the hours that were said of it, and that are left."""

from collections.abc import Collection, Sequence
from dataclasses import replace

from agent.evidence.geo import metres_apart
from agent.evidence.kinds import KINDS, is_break, is_for_evenings, is_meal, is_named, is_stop
from agent.evidence.mentions import places_of
from agent.evidence.outing.aim import Aim, fits_by_record
from agent.evidence.outing.schedule import Day, Step, Visit, with_another_stop
from agent.evidence.types import Outing, OutingWish, Place

_NEAR_M, _MOST = 1500, 3
"""How far from a stop a place lies that comes in for hours that are left, and how many do."""
_COFFEE = 14 * 60 + 30


def spare_places(
    wish: OutingWish, outing: Outing | None, known: Sequence[Place], stops: Sequence[Place]
) -> list[Place]:
    """Return what may take the hours of a stop that was taken out of a planned day.

    It was found before, is near the `stops` that are left, and of another kind than these and
    than what is not wanted; of each kind the nearest, what fits by its record first. What nobody
    knows to fit stays out: an hour in a square, in the rain, with a child is no gift.
    """
    without, planned = {*wish.get("without", ())}, {*places_of(outing)}
    if without.isdisjoint(planned) or not {"begins", "back_by"} <= wish.keys():
        return []
    gone = [place for place in known if place["id"] in without | planned]
    taken = {kind for place in [*stops, *gone] for kind in _kinds_of(place)}
    rows = [
        (not fits_by_record(place), min(far), place)
        for place in known
        if place["id"] not in without | planned and _may_come_in(place, taken)
        for far in [[metres_apart(place["wgs84"], stop["wgs84"]) for stop in stops]]
        if far and min(far) <= _NEAR_M
    ]
    spare = list[Place]()
    for *_, place in sorted(rows, key=lambda row: row[:2]):
        if len(spare) < _MOST and _kinds_of(place).isdisjoint(taken):
            taken |= _kinds_of(place)
            spare.append(place)
    return spare


def _may_come_in(place: Place, taken: Collection[str]) -> bool:
    """Return whether a place may fill the hours of a day that has these kinds already."""
    known = {each["verdict"] for each in place.get("verdicts", ())}
    is_aside = is_meal(place) or is_for_evenings(place) or not is_stop(place)
    return known <= {"satisfied"} and not is_aside and _kinds_of(place).isdisjoint(taken)


def _kinds_of(place: Place) -> set[str]:
    """Return the kinds that a record's category names, else the category."""
    kinds = {str(kind) for kind in KINDS if is_named(kind, place["category"])}
    return kinds or {place["category"] or ""}


def with_spare_stops(
    day: Day,
    steps: list[Step],
    own: Sequence[tuple[Place, Visit]],
    *,
    aim: Aim,
    said: int,
) -> list[Step]:
    """Return the steps with what else was chosen, and what fits by its record, if there is time.

    Of that none is of a kind that somebody `said`, the turns of these a bit each: who wants a
    museum wants no second one. A changed day has no others than the `spare` ones of its aim.
    The `own` visits are those of the day without turns.
    """
    made, spare = {step.visit for step in steps}, dict[tuple[object, ...], int]()
    for at, ((place, _), visit) in enumerate(zip(own, day.visits, strict=True)):
        is_chosen = place["id"] in aim.chosen
        if at in made or is_meal(place) or is_for_evenings(place):
            continue
        fits = place["id"] in aim.spare if aim.before else fits_by_record(place)
        # A day has one break, whatever its word is.
        is_new = is_break(place) or not visit.turns & said
        if is_chosen or (fits and is_new):
            # One of a kind.
            spare.setdefault((is_chosen and at, visit.turns, place["category"]), at)
    visits = [_in_time(visit) for _, visit in own]
    for at in spare.values():
        has_break = any(visits[s.visit].is_break for s in steps if s.visit is not None)
        if not (visits[at].is_break and has_break):
            steps = with_another_stop(replace(day, visits=visits), steps, at)
    return steps


def _in_time(visit: Visit) -> Visit:
    """Return a visit as it is; a break in the afternoon: nobody needs one right behind lunch."""
    if not visit.is_break:
        return visit
    windows = (replace(w, earliest=max(w.earliest, _COFFEE)) for w in visit.windows)
    return replace(visit, windows=tuple(w for w in windows if w.earliest <= w.latest))
