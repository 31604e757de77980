"""Turn what was read of a wish for a day into one that can be planned: a date, times, ids."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal

from agent.evidence.constraints import as_list, valid_clock
from agent.evidence.hours import clock_of, minutes_of
from agent.evidence.kinds import is_called, is_meal, kind_searched, meal_named, positions
from agent.evidence.mentions import mentioned
from agent.evidence.names import name_of_place
from agent.evidence.outing.plan import BEGINS
from agent.evidence.outing.schedule import MEALS, MOST_VISITS, Meal
from agent.evidence.types import Incoming, Outing, OutingWish, Place

_LATER_BY, _EARLIER_BY = 60, 30
"""Minutes, where nobody says how much."""
_LATEST_START = 11
"""The hour after which a day that nobody names is tomorrow."""
_SOON, _LAST_MINUTE = 30, 24 * 60 - 1
_DAYS_AHEAD = 7
_ENDS: tuple[Literal["from_place", "to_place"], ...] = ("from_place", "to_place")
_LITTLE_WALK_M = 800
"""From stop to stop for who wants to walk little and names no limit."""


def valid_wish(
    candidate: Mapping[str, Any], day: str, outing: Outing | None, places: Sequence[Place]
) -> OutingWish:
    """Return what a model read of a wish for a day, as far as it can be planned.

    `outing` is the planned day that it changes, `places` what else was shown: stops are known by
    their names there.
    """
    wish = OutingWish(**outing["wish"]) if outing else OutingWish()
    wish.pop("unknown", None)
    wish.pop("stands_for", None)
    known, changes = list(_stops(outing, places)), as_list(candidate.get("changes"))
    order, stops = _order(candidate, outing, known), candidate.get("stops") or 0
    if changes or order or 0 < stops <= MOST_VISITS:
        # Each says which stops there are: of these the one said last holds.
        if wish.pop("order", None) and not wish.pop("any_order", False):
            wish["ordered"] = True
        wish.pop("stops", None)
    if order:
        wish["order"] = order
        if candidate.get("any_order"):
            wish["any_order"] = True
    if sum(not meal_named(word) for word in order) < stops <= MOST_VISITS:
        # Of an order so many more come in.
        wish["stops"] = stops
    if day:
        wish["day"] = day
    if begins := valid_clock(candidate.get("begins")):
        wish["begins"] = begins
    if candidate.get("sets_out"):
        wish["sets_out"] = True
    if (back_by := valid_clock(candidate.get("back_by"))) > wish.get("begins", BEGINS):
        wish["back_by"] = back_by
    wish |= _of_ways(candidate)
    said = [meal_named(str(word)) for word in (*as_list(candidate.get("meals")), *order)]
    if stated := [meal for meal in MEALS if meal in said]:
        # A meal that comes into a plan takes the place of none.
        both = [*stated, *wish.get("meals", MEALS)] if outing and changes else stated
        wish["meals"] = [meal for meal in MEALS if meal in both]
    for change in changes:
        named = name_of_place(str(change.get("stop", "")))
        named = meal_named(named) or named
        kind, time = str(change.get("change")), valid_clock(change.get("time"))
        meant = _changed_stops(named, kind, known)
        if not named and outing and not begins:
            wish["begins"] = _moved(outing["begins"], kind, time)
        elif named and is_looked_up(named, kind, meant):
            incoming = _incoming(named, time, stated)
            if meant:
                incoming.pop("name", None)
            wish["incoming"], kind = [*wish.get("incoming", []), incoming], "leave_out"
        elif not meant and named not in MEALS:
            wish["unknown"] = [*wish.get("unknown", []), named][:MOST_VISITS]
        for stop in meant:
            wish = _changed(wish, stop, kind, time)
    return wish


def _of_ways(candidate: Mapping[str, Any]) -> OutingWish:
    """Return what is wanted of the ways of a day, and where the first and the last one lead."""
    wish = OutingWish()
    for end in _ENDS:
        if named := name_of_place(candidate.get(end)):
            wish[end] = named
    if candidate.get("on_foot"):
        wish["on_foot"] = True
    if candidate.get("little_walking"):
        wish["little_walking"], wish["max_walk_m"] = True, _LITTLE_WALK_M
    return wish


def _order(
    candidate: Mapping[str, Any], outing: Outing | None, known: Sequence["_KnownStop"]
) -> list[str]:
    """Return what each stop is to be; who names the first stops of a plan drops none of the rest.

    A single one is no order.
    """
    words = [name_of_place(str(each)) for each in as_list(candidate.get("order"))]
    words, planned = [word for word in words if word], [one for one in known if one.is_planned]
    meant = {word: stops[0] for word in words if len(stops := _meant(word, known)) == 1}
    order = [(one.local or one.name) if (one := meant.get(word)) else word for word in words]
    taken = {one.id for one in meant.values()}
    for at, word in enumerate(words):
        # What the plan has of a kind is what is meant by the kind.
        fit = (one for one in _called(word, planned) if word not in meant and one.id not in taken)
        if one := next(fit, None):
            taken.add(one.id)
            order[at] = one.local or one.name
    if order and outing and not candidate.get("stops"):
        others = [one.local or one.name for one in planned if one.id not in taken]
        # What is last and is named last stays so.
        ends = planned and order[-1] == (planned[-1].local or planned[-1].name)
        order = [*order[:-1], *others, order[-1]] if ends else [*order, *others]
    return order[:MOST_VISITS] if len(order) > 1 else []


def is_looked_up(stop: str, change: str, meant: Sequence[object]) -> bool:
    """Return whether a change needs a place that has to be found; `meant` are those it names.

    "lunch" and "dinner" are stops, too: what is added there comes for what the plan has.
    """
    return change == "replace" or (change == "add" and (not meant or stop in MEALS))


def _incoming(stop: str, time: str, meals: Sequence[Meal]) -> Incoming:
    """Return the entry of a stop that a change adds to a day, by its name or as a meal.

    It is a meal if it is called so ("lunch"), or if its time is that of one of the stated `meals`.
    """
    stated: list[Meal] = [
        meal for meal, (first, last) in MEALS.items()
        if stop == meal or (meal in meals and time and first <= minutes_of(time) <= last)
    ]  # fmt: skip
    incoming = Incoming(time=time) if time else Incoming()
    if stated:
        incoming["meal"] = stated[0]
    else:
        incoming["name"] = stop
    return incoming


def with_found_places(wish: OutingWish, found: Sequence[Place]) -> OutingWish:
    """Return the wish with the times and the meals of the places that were found for it."""
    wish, left = OutingWish(**wish), [*found]
    incoming = sorted(wish.pop("incoming", []), key=lambda each: "meal" not in each)
    for each, place in zip(incoming, _seated(incoming, left), strict=False):
        if name := each.get("name"):
            wish["stands_for"] = {**wish.get("stands_for", {}), place["id"]: name}
        if time := each.get("time"):
            wish["not_before"] = {**wish.get("not_before", {}), place["id"]: time}
        if meal := each.get("meal"):
            wish["eats"] = {**wish.get("eats", {}), place["id"]: meal}
            if "meals" in wish:
                wish["meals"] = [one for one in MEALS if one in (meal, *wish["meals"])]
    return wish


def _seated(incoming: Sequence[Incoming], left: list[Place]) -> Iterator[Place]:
    """Yield a place for each while there are any, a restaurant or what is called so first."""
    for each in incoming[: len(left)]:
        name = each.get("name", "")
        fit = (one for one in left if (is_meal(one) if "meal" in each else is_called(one, name)))
        place = next(fit, left[0])
        left.remove(place)
        yield place


def meant_by(
    changes: Sequence[Mapping[str, Any]], outing: Outing | None, places: Sequence[Place]
) -> list[list[str]]:
    """Return the ids of the places that each change means; none of one that nobody knows yet."""
    known = list(_stops(outing, places))
    named = [(str(one.get("stop", "")), str(one.get("change"))) for one in changes]
    return [[one.id for one in _changed_stops(*each, known)] for each in named]


def dated_wish(wish: OutingWish, now: datetime, not_on: Sequence[int] = ()) -> OutingWish:
    """Return the wish with a day, and without a day or hours that are over at `now`.

    `now` is the places' clock. A day that nobody names is today while the morning lasts, else
    tomorrow; weekdays that are ruled out are passed over.
    """
    today = now.date().isoformat()
    if (day := wish.get("day", "")) < today:
        day = _next_day(now, wish.get("begins", ""), not_on)
    if day != today:
        return OutingWish(**{**wish, "day": day})
    soon = -(-(now.hour * 60 + now.minute + _SOON) // 15) * 15
    begins = max(soon, minutes_of(wish.get("begins", BEGINS)))
    return OutingWish(**{**wish, "day": day, "begins": clock_of(min(begins, _LAST_MINUTE))})


def _next_day(now: datetime, begins: str, not_on: Sequence[int]) -> str:
    """Return the day that is meant where none is named, and that may begin at a given hour."""
    late = now.hour >= _LATEST_START or (begins and begins <= f"{now:%H:%M}")
    first = now.date() + timedelta(days=1 if late else 0)
    days = [first + timedelta(days=n) for n in range(_DAYS_AHEAD)]
    return next((d for d in days if d.isoweekday() not in not_on), first).isoformat()


@dataclass(frozen=True)
class _KnownStop:
    """Name a place that a wish may mean, and when it is planned to begin."""

    id: str
    name: str
    begins: str = BEGINS
    local: str = ""
    """Its name on the map, where the plan has it in its reader's letters."""
    meal: str = ""
    place: Place | None = None
    is_planned: bool = False


def _stops(outing: Outing | None, places: Sequence[Place]) -> Iterator[_KnownStop]:
    """Yield the stops of a plan in order, then what it left out, then the other places."""
    seen, shown = set[str](), {place["id"]: place for place in places}
    local = {id: place["name"] for id, place in shown.items()}
    for stop in outing["stops"] if outing else ():
        if "place" in stop:
            seen.add(id := stop["place"])
            yield _KnownStop(
                id, stop["name"], stop["begins"], local.get(id, ""), stop.get("meal", ""),
                shown.get(id), is_planned=True,
            )  # fmt: skip
    others = [(left["place"], left["name"]) for left in outing["left_out"]] if outing else []
    for id, name in [*others, *((place["id"], place["name"]) for place in places)]:
        if id not in seen:
            seen.add(id)
            yield _KnownStop(id, name, local=local.get(id, ""), place=shown.get(id))


def _meant(stop: str, known: Sequence[_KnownStop]) -> list[_KnownStop]:
    """Return the stop of a number from 1, that of a meal, or those of a name."""
    if meal := meal_named(stop):
        return [each for each in known if each.meal == meal]
    if stop.isascii() and stop.isdigit():
        number = int(stop[:4])
        return list(known[number - 1 : number]) if number else []
    named: list[Any] = [
        {"id": each.id, "name": each.name, "name_en": each.local,
         "nameless": each.place is not None and each.place.get("nameless", False)}
        for each in known
    ]  # fmt: skip
    ids = mentioned(named, stop)
    return [each for each in known if each.id in ids]


def _called(word: str, known: Sequence[_KnownStop]) -> list[_KnownStop]:
    """Return those that a word calls so: by a shorter name, what was searched for, or a kind."""
    shown = [(one, one.place) for one in known if one.place]
    masks, _, _ = positions([place for _, place in shown], [word])
    return [one for (one, _), mask in zip(shown, masks, strict=True) if mask]


def _changed_stops(stop: str, change: str, known: Sequence[_KnownStop]) -> list[_KnownStop]:
    """Return the stops that a change means: also the planned one of a kind, as none is added."""
    named = _meant(stop, known)
    called = _called(stop, [one for one in known if one.is_planned]) if stop else []
    return [] if change == "add" and not named else named or called[: len(called) == 1]


def _moved(begins: str, change: str, time: str) -> str:
    """Return when something begins that is to be earlier or later, at a time or by the usual."""
    by = {"later": _LATER_BY, "earlier": -_EARLIER_BY}.get(change, 0)
    return time or clock_of(min(max(0, minutes_of(begins) + by), _LAST_MINUTE))


def _changed(wish: OutingWish, stop: _KnownStop, change: str, time: str) -> OutingWish:
    """Return the wish with one stop earlier, later, left out, or in it again."""
    place, moved = stop.id, _moved(stop.begins, change, time)
    without = [each for each in wish.get("without", []) if each != place]
    after = {id: at for id, at in wish.get("not_before", {}).items() if id != place}
    before = {id: at for id, at in wish.get("not_after", {}).items() if id != place}
    if change == "leave_out":
        without.append(place)
    elif change == "earlier":
        before[place] = moved
    elif change == "later" or time:
        after[place] = moved
    return OutingWish(**{**wish, "not_before": after, "not_after": before, "without": without})


def by_search_of(places: Sequence[Place], order: Sequence[str], word: str) -> list[Place]:
    """Return the places with a word of an order at those that were searched for it.

    They are those of the keywords that no other word of the order is for: "something sweet" of who
    searched for a museum, a restaurant and a café, and wants a museum and lunch, is the café.
    """
    others = [each for each in order if each != word]
    kinds = {*map(kind_searched, others), *("restaurant" for each in others if meal_named(each))}
    own = {each.casefold() for each in others}
    searched = {keyword for place in places for keyword in place["keywords"]}
    rest = {
        key
        for key in searched
        if key.casefold() not in own and kind_searched(key) not in kinds - {None}
    }
    return [
        place if rest.isdisjoint(place["keywords"])
        else Place(**{**place, "keywords": [*place["keywords"], word]})
        for place in places
    ]  # fmt: skip
