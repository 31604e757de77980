"""Turn places into the visits of a day, and the best order of them into a plan with reasons.

The order is searched exactly: over all subsets of the visits, within their windows. All its times
are whole minutes since midnight.
"""

import math
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import pairwise
from statistics import median
from typing import Literal

from agent.core.processor import breathe
from agent.core.strings import has_any
from agent.evidence.geo import distance_text, metres_apart
from agent.evidence.hours import Opening, clock_of, minutes_of, yearly_hours
from agent.evidence.kinds import positions
from agent.evidence.mentions import places_of, without_branch
from agent.evidence.records import hours_text, map_name
from agent.evidence.types import (
    LeftOut,
    LeftOutReason,
    Leg,
    Outing,
    OutingWish,
    Place,
    Point,
    Stop,
)
from agent.evidence.zones import sunset
from agent.texts import Language, say

Meal = Literal["lunch", "dinner"]
MEALS: Mapping[Meal, tuple[int, int]] = {
    "lunch": (11 * 60 + 30, 13 * 60 + 30),
    "dinner": (17 * 60 + 30, 19 * 60 + 30),
}
"""The first and the last minute at which each meal begins."""
MEAL_MINUTES = 60
WITH_LUNCH = 240
"""Minutes from which a visit includes lunch, if it begins in time: as a theme park's does."""
MOST_VISITS = 12
"""Subsets double with each visit; a day has room for fewer."""


@dataclass(frozen=True)
class Window:
    """Hold the first and the last minute at which a visit may begin; some of them are a meal."""

    earliest: int
    latest: int
    meal: Meal | None = None


@dataclass(frozen=True)
class Visit:
    """Hold a place to be visited for some minutes, which begin in one of its windows."""

    minutes: int
    windows: tuple[Window, ...]
    worth: int = 1
    """What the visit adds to a plan, above 0: the plan of the highest sum is the best."""
    counts: bool = True
    """Whether it is one of the most there may be."""
    is_break: bool = False
    """Whether one rests there, between two of the others."""


@dataclass(frozen=True)
class Day:
    """Hold the visits of a day, and the minutes from one to the next.

    `ways[a][b]` leads from visit `a` to `b`; `out[b]` from where the day begins, `back[a]` to
    where it ends, 0 where it begins and ends with a visit.
    """

    visits: Sequence[Visit]
    ways: Sequence[Sequence[int]]
    out: Sequence[int]
    back: Sequence[int]
    begins: int
    ends: int
    """The minute at which everything is over, the way back included."""
    most: int = MOST_VISITS
    """Of the visits that count."""
    positions: Sequence[int] = ()
    """At which positions of the day each visit may be, a bit each; empty where that is open."""


@dataclass(frozen=True)
class Step:
    """Hold a visit (its index), or with None a meal wherever one is; ends are minutes."""

    visit: int | None
    begins: int
    ends: int
    meal: Meal | None = None


@dataclass(frozen=True)
class _Label:
    """Hold one way to reach a state: when one leaves it, the minutes on the way, the last step."""

    leaves: int
    travel: int
    step: Step | None = None
    before: "_Label | None" = None

    def steps(self) -> list[Step]:
        label: _Label | None = self
        steps: list[Step] = []
        while label is not None and label.step is not None:
            steps.append(label.step)
            label = label.before
        return steps[::-1]


_State = tuple[int, int, frozenset[Meal]]
"""The visits made (a bit each, and one above them for a break before anything else), the last of
them (-1: none), the meals had."""


def best_plan(day: Day) -> list[Step]:
    """Return the steps of the best plan; none where no visit fits.

    Best is the highest sum of worths, then no break at either end of the day, then the earliest
    end, then the least time on the way.
    Who is out before a meal's time has that meal before its time is over.
    Raises ValueError for more than MOST_VISITS visits.
    """
    if len(day.visits) > MOST_VISITS:
        raise ValueError(f"at most {MOST_VISITS} visits")
    layer: dict[_State, list[_Label]] = {(0, -1, frozenset()): [_Label(day.begins, 0)]}
    best: tuple[tuple[int, int, int, int], _Label] | None = None
    while layer:
        following: dict[_State, list[_Label]] = {}
        for state, labels in _with_meals(layer):
            breathe()
            for label in labels:
                if state[0] and (best is None or _rank(day, state, label) < best[0]):
                    best = _rank(day, state, label), label
                for reached, next_label in _visits_from(day, state, label):
                    _add(following.setdefault(reached, []), next_label)
        layer = following
    return _trimmed(best[1].steps()) if best else []


def _rank(day: Day, state: _State, label: _Label) -> tuple[int, int, int, int]:
    visited, last, _ = state
    worth = sum(visit.worth for at, visit in enumerate(day.visits) if visited >> at & 1)
    back = day.back[last]
    misplaced = (visited >> len(day.visits)) + day.visits[last].is_break
    return -worth, misplaced * (not day.positions), label.leaves + back, label.travel + back


def _with_meals(
    layer: Mapping[_State, list[_Label]],
) -> Iterator[tuple[_State, list[_Label]]]:
    """Yield the states of a layer, and those in which a meal was had where one is."""
    states = {state: list(labels) for state, labels in layer.items()}
    for meal, (first, last) in MEALS.items():
        for (visited, at, meals), labels in list(states.items()):
            if meal in meals:
                continue
            for label in labels:
                if (begins := max(label.leaves, first)) <= last:
                    ends = begins + MEAL_MINUTES
                    fed = _Label(ends, label.travel, Step(None, begins, ends, meal), label)
                    _add(states.setdefault((visited, at, meals | {meal}), []), fed)
    yield from states.items()


def _visits_from(day: Day, state: _State, label: _Label) -> Iterator[tuple[_State, _Label]]:
    visited, last, meals = state
    ways = day.out if last < 0 else day.ways[last]
    before = [visit for at, visit in enumerate(day.visits) if visited >> at & 1]
    made, rested = sum(visit.counts for visit in before), any(visit.is_break for visit in before)
    for at, visit in enumerate(day.visits):
        # Who has rested needs no second café that nobody named.
        is_more = rested and visit.is_break and visit.worth <= _WORTH_FIT
        if day.positions:
            is_more = visit.counts and not day.positions[at] >> made & 1
        if visited >> at & 1 or is_more or (visit.counts and made >= day.most):
            continue
        arrives = label.leaves + ways[at]
        for window in visit.windows:
            begins = max(arrives, window.earliest)
            ends = begins + visit.minutes
            if begins > window.latest or ends + day.back[at] > day.ends:
                continue
            had = meals | _meals_of(visit, window, begins)
            if window.meal in meals or _goes_hungry(day, ends, had):
                continue
            step = Step(at, begins, ends, window.meal)
            fed = _Label(ends, label.travel + ways[at], step, label)
            begins_with_break = visit.is_break and not visited
            yield (visited | 1 << at | begins_with_break << len(day.visits), at, had), fed


def _meals_of(visit: Visit, window: Window, begins: int) -> frozenset[Meal]:
    """Return the meals that are had with a visit."""
    if window.meal:
        return frozenset({window.meal})
    includes_lunch = visit.minutes >= WITH_LUNCH and begins <= MEALS["lunch"][1]
    return frozenset({"lunch"} if includes_lunch else ())


def _goes_hungry(day: Day, ends: int, meals: frozenset[Meal]) -> bool:
    """Return whether a visit goes on when a meal's time is over, without that meal."""
    return any(
        day.begins <= first and ends > last + MEAL_MINUTES and meal not in meals
        for meal, (first, last) in MEALS.items()
    )


def _add(labels: list[_Label], new: _Label) -> None:
    """Keep the labels that no other beats in both: leaving early, and little time on the way."""
    if any(old.leaves <= new.leaves and old.travel <= new.travel for old in labels):
        return
    labels[:] = [o for o in labels if o.leaves < new.leaves or o.travel < new.travel] + [new]


def _trimmed(steps: list[Step]) -> list[Step]:
    """Return the steps from the first visit on: who has not left yet eats at home."""
    first = next(at for at, step in enumerate(steps) if step.visit is not None)
    return steps[first:]


HERE = ""
"""Stands for where the day begins, among the ids of places."""
Legs = Mapping[tuple[str, str], Leg]
"""Measured ways by the ids of their ends."""
BEGINS, ENDS = "09:30", "21:00"
WALKABLE_S = 25 * 60
_DAY = 24 * 60
_STEP = 5
"""Minutes: a timetable to the minute would promise too much."""
_TOO_FAR_M = 30_000
_WALKING, _RIDING, _WAITING_S = 1.25, 5.0, 600
"""Metres a second on foot and in a bus or train, and seconds to reach and await that."""
_DETOUR = 1.3
_NO_STOP = (
    "停车", "地铁", "轻轨", "公交", "火车站", "高铁", "机场", "码头", "汽车站", "厕所", "酒店",
    "宾馆", "旅馆", "民宿", "医院", "诊所", "药", "银行", "加油", "充电", "出租", "售票", "咨询",
    "派出所", "公司", "住宅", "写字楼", "地名", "出入口",
)  # fmt: skip
_NO_MEAL = (
    "咖啡", "茶", "甜品", "冷饮", "糕饼", "面包", "蛋糕", "酒吧", "酒馆", "小吃街", "步行街",
    "市场",
)  # fmt: skip
_MEAL = (
    "餐", "菜", "火锅", "酒楼", "饭", "食府", "面馆", "烤鸭", "小吃", "料理", "老字号", "牛扒",
    "烧烤", "海鲜",
)  # fmt: skip
_MINUTES = {
    300: ("主题公园", "迪士尼", "环球影城"),
    150: ("动物园", "海洋", "水族", "植物园"),
    120: ("博物", "美术馆", "科技馆", "展览", "纪念馆", "天文馆", "故宫", "剧院", "剧场", "影",
          "音乐厅", "游乐"),
    90: ("风景", "景点", "名胜", "寺", "庙", "观", "塔", "宫", "园林", "古镇", "遗产"),
    45: ("专营", "礼品", "专卖", "旗舰店", "书店", "便利", "超市", "咖啡", "甜品", "糕饼", "冷饮",
         "茶餐厅"),
}  # fmt: skip
_MINUTES_ELSE = 60
_SIGHT = ("风景", "景点", "名胜", "广场", "观景", "桥")
_SMALL = (
    "桥", "堤", "广场", "门", "牌坊", "牌楼", "观景台", "观景点", "亭", "雕塑",
    "bridge", "causeway", "viewpoint", "square", "gate",
)  # fmt: skip
"""How names of sights end that are seen within half an hour."""
_WITH_ROOMS = tuple("寺庙观塔宫园镇府陵城山馆院监坛窟址岛")
"""How those end that take their time, whatever is beside them."""
_SMALL_MINUTES = 30
_BREAK = ("咖啡", "茶馆", "茶室", "茶座", "茶艺", "茶楼", "甜品", "冷饮")
_BESIDE_MINUTES, _BESIDE_M = 40, 600
_SHARES = (1, 0.75, 0.5)
"""Of the usual stay, tried in this order until there is time for all that is wanted.

The last only for a number of stops: a long list is no wish to hurry.
"""
_WORTH, _WORTH_FIT, _WORTH_WANTED = 1000, 3000, 100_000
"""Of a visit: one that is wanted is worth more than all others together."""
_EVENING = ("酒吧", "夜店", "夜总会", "酒馆")
_EVENING_BEGINS = 18 * 60


def is_stop(place: Place) -> bool:
    """Return whether one goes there for its own sake: not to a car park, a station, a hotel."""
    return not has_any(place["category"] or "", _NO_STOP)


def estimated_leg(start: Point, end: Point, longest_walk: float = math.inf) -> Leg:
    """Return the way from the straight line: on foot where that is short, else by bus or train."""
    line = metres_apart(start, end)
    metres = round(line * _DETOUR)
    on_foot = round(metres / _WALKING)
    if on_foot <= WALKABLE_S and metres <= longest_walk:
        return Leg(mode="walking", distance_m=metres, duration_s=on_foot, estimated=True)
    seconds = round(_WAITING_S + metres / _RIDING)
    return Leg(mode="transit", distance_m=metres, duration_s=seconds, estimated=True)


def plan(
    places: Sequence[Place],
    wish: OutingWish,
    legs: Legs,
    *,
    near: Point | None,
    language: Language,
    wanted: Collection[str] = (),
) -> Outing | None:
    """Return the best day over these places, most wanted first; None where no stop fits.

    `wish` needs a day. It begins and ends at `near`, if that is given. No place comes in where
    one of the `wanted` ids could, and one stays shorter than usual where that makes room for all
    that are wanted.
    """
    best, fewest = None, math.inf
    for share in _SHARES if "stops" in wish else _SHARES[:2]:
        planner = _Planner(
            list(places), wish, legs, near=near, language=language, wanted=wanted, share=share
        )
        outing = planner.outing()
        if outing and (lacking := planner.lacking(outing)) < fewest:
            best, fewest = outing, lacking
        if not fewest:
            break
    return best


def impossible(
    places: Sequence[Place], wish: OutingWish, *, near: Point | None, language: Language
) -> list[LeftOut]:
    """Return the places that no order of visits could reach on this day, each with its reason."""
    return _Planner(list(places), wish, {}, near=near, language=language).left_out


class _Planner:
    """Plan one day."""

    def __init__(
        self,
        places: list[Place],
        wish: OutingWish,
        legs: Legs,
        *,
        near: Point | None,
        language: Language,
        wanted: Collection[str] = (),
        share: float = 1,
    ) -> None:
        self._wanted, self._share = wanted, share
        self._wish, self._legs, self._near, self._language = wish, legs, near, language
        self._date = date.fromisoformat(wish["day"])
        self._weekday = self._date.isoweekday()
        self._begins = minutes_of(wish.get("begins", BEGINS))
        self._ends = minutes_of(wish.get("back_by", ENDS))
        self.left_out: list[LeftOut] = []
        self._all = places
        self._places: list[Place] = []
        self._visits: list[Visit] = []
        for place in _without_far(places, self._leave_out):
            if visit := self._visit(place):
                self._places.append(place)
                self._visits.append(visit)
        for place in self._places[MOST_VISITS:]:
            self._leave_out(place, "time")
        del self._places[MOST_VISITS:], self._visits[MOST_VISITS:]

    def outing(self) -> Outing | None:
        steps = best_plan(self._day())
        if not steps:
            return None
        stops = self._stops(steps)
        for at, place in enumerate(self._places):
            if all(step.visit != at for step in steps):
                self._leave_out_of(steps, at, place)
        first, last = stops[0], stops[-1]
        back = self._leg(last["place"], HERE) if self._near else None
        way_out = _minutes(first["leg"]) if "leg" in first else 0
        begins = minutes_of(first["begins"]) - way_out
        ends = steps[-1].ends + (_minutes(back) if back else 0)
        outing = Outing(
            wish=self._wish, day=self._wish["day"], begins=clock_of(begins), ends=clock_of(ends),
            stops=stops, left_out=self.left_out, url="",
        )  # fmt: skip
        if back:
            outing["back"] = back
        return outing

    def lacking(self, outing: Outing) -> int:
        """Return how many stops are wanted that found no time."""
        if most := self._wish.get("stops"):
            return most - sum("place" in stop for stop in outing["stops"])
        lacking = (left for left in outing["left_out"] if left["reason"] in ("time", "hours"))
        return sum(left["place"] in self._wanted for left in lacking)

    def _leave_out(self, place: Place, reason: LeftOutReason, **values: str) -> None:
        text = values.get("text") or say(f"outing.left_out.{reason}", self._language, **values)
        self.left_out.append(LeftOut(
            place=place["id"], name=map_name(place, self._language), source=place["source"],
            reason=reason, text=text,
        ))  # fmt: skip

    def _visit(self, place: Place) -> Visit | None:
        """Return the visit; None, with the reason noted, where there can be none on this day."""
        if place["id"] in self._wish.get("without", ()):
            self._leave_out(place, "unwanted")
            return None
        for verdict in place.get("verdicts", []):
            if verdict["verdict"] == "violated" and not verdict["constraint"].startswith("open"):
                self._leave_out(place, "unfit", text=verdict["text"])
                return None
        usual = min(stay(place), _BESIDE_MINUTES) if self._is_beside(place) else stay(place)
        minutes = round(usual * self._share / _STEP) * _STEP
        hours = yearly_hours(place)
        opened = _opened(hours, self._weekday)
        windows = [w for span in opened for w in self._windows(place, span, minutes)]
        if not windows:
            self._leave_out(place, "hours" if opened else "closed", **self._when(place))
            return None
        fits = {verdict["verdict"] for verdict in place.get("verdicts", [])} == {"satisfied"}
        worth = _WORTH_WANTED if place["id"] in self._wanted else _WORTH_FIT if fits else _WORTH
        worth -= len(self._visits)
        counts = "meals" not in self._wish or not is_meal(place)
        rests = has_any(place["category"] or "", _BREAK)
        return Visit(minutes, tuple(windows), worth=worth, counts=counts, is_break=rests)

    def _is_beside(self, place: Place) -> bool:
        """Return whether this is one of several spots that lie together: three are no whole day."""
        others = [o["wgs84"] for o in self._all if is_spot(o) and o["id"] != place["id"]]
        return is_spot(place) and any(metres_apart(place["wgs84"], o) <= _BESIDE_M for o in others)

    def _when(self, place: Place) -> dict[str, str]:
        day = say(f"records.weekdays.{self._weekday}", self._language)
        hours = hours_text(place, self._language) or say("outing.hours_unknown", self._language)
        return {"day": day, "hours": hours}

    def _windows(self, place: Place, span: tuple[int, int], minutes: int) -> list[Window]:
        """Return when a visit may begin while the place is open, and within what is wished for."""
        id, wish = place["id"], self._wish
        first, last = span[0], max(span[1] - minutes, span[0])
        first = max(first, self._begins, minutes_of(wish.get("not_before", {}).get(id, "00:00")))
        if id in wish.get("not_after", {}):
            last = min(last, minutes_of(wish["not_after"][id]))
        if has_any(place["category"] or "", _EVENING):
            first = max(first, _EVENING_BEGINS)
        last = min(last, self._ends - minutes)
        if is_spot(place) and (light := sunset(place, self._date) - minutes) >= first:
            last = min(last, light)
        if is_meal(place):
            meals = [
                Window(max(first, a), min(last, b), meal)
                for meal, (a, b) in MEALS.items()
                if meal in wish.get("meals", MEALS)
            ]
        else:
            meals = [Window(first, last)]
        return [window for window in meals if window.earliest <= window.latest]

    def _day(self) -> Day:
        ids = [place["id"] for place in self._places]
        ends = self._near is not None
        masks, count = positions(self._places, self._wish.get("order", ()))
        return Day(
            visits=list(map(_in_order, self._visits, masks)) if count else self._visits,
            ways=[[0 if a == b else _minutes(self._leg(a, b)) for b in ids] for a in ids],
            out=[_minutes(self._leg(HERE, b)) if ends else 0 for b in ids],
            back=[_minutes(self._leg(a, HERE)) if ends else 0 for a in ids],
            begins=self._begins,
            ends=self._ends,
            most=count or self._wish.get("stops", MOST_VISITS),
            positions=masks if count else (),
        )

    def _leg(self, start: str, end: str) -> Leg:
        """Return the measured way; one that is too long to walk only where it is not ridden."""
        longest = self._wish.get("max_walk_m", math.inf)
        estimated = estimated_leg(self._point(start), self._point(end), longest)
        measured = self._legs.get((start, end))
        if measured is None:
            return estimated
        if measured["mode"] == "walking" and measured["distance_m"] > longest:
            return estimated_leg(self._point(start), self._point(end), 0)
        too_long = measured["mode"] == "walking" and measured["duration_s"] > WALKABLE_S
        return estimated if too_long and estimated["mode"] == "transit" else measured

    def _point(self, id: str) -> Point:
        if id == HERE and self._near:
            return self._near
        return next(place["wgs84"] for place in self._places if place["id"] == id)

    def _stops(self, steps: Sequence[Step]) -> list[Stop]:
        stops: list[Stop] = []
        before = HERE if self._near else None
        for step in steps:
            stop = Stop(
                name=say("outing.own_choice", self._language),
                begins=clock_of(step.begins),
                ends=clock_of(step.ends),
            )
            if step.visit is not None:
                place = self._places[step.visit]
                stop["place"], stop["name"] = place["id"], map_name(place, self._language)
                stop["source"] = place["source"]
                if before is not None:
                    stop["leg"] = self._leg(before, place["id"])
                if yearly_hours(place) is None:
                    stop["hours_unknown"] = True
                before = place["id"]
            if step.meal:
                stop["meal"] = step.meal
            stops.append(stop)
        return stops

    def _leave_out_of(self, steps: Sequence[Step], at: int, place: Place) -> None:
        """Note why a place that is open on this day did not get into the plan."""
        meals = {step.meal for step in steps}
        windows = self._visits[at].windows
        if all(window.meal in meals for window in windows if window.meal) and is_meal(place):
            self._leave_out(place, "meals")
        else:
            self._leave_out(place, "time")


def _in_order(visit: Visit, mask: int) -> Visit:
    """Return a visit of a day in a given order: what has no place there comes in as a meal only."""
    return replace(
        visit, counts=mask > 0, windows=visit.windows if mask or not visit.counts else ()
    )


def is_meal(place: Place) -> bool:
    """Return whether one has lunch or dinner there."""
    kind = place["category"] or ""
    return has_any(kind, _MEAL) and not has_any(kind, _NO_MEAL)


def stay(place: Place) -> int:
    """Return for how many minutes one usually stays at such a place: a rough estimate."""
    if is_meal(place):
        return _MINUTES_ELSE
    about = f"{place['category'] or ''} {place['name']}"
    if _is_sight(place) and without_branch(place["name"]).casefold().endswith(_SMALL):
        return _SMALL_MINUTES
    return next((m for m, words in _MINUTES.items() if has_any(about, words)), _MINUTES_ELSE)


def _is_sight(place: Place) -> bool:
    return has_any(place["category"] or "", _SIGHT)


def is_spot(place: Place) -> bool:
    """Return whether a sight is one to look at, without rooms to go through."""
    return _is_sight(place) and not without_branch(place["name"]).casefold().endswith(_WITH_ROOMS)


def _opened(hours: Sequence[Opening] | None, weekday: int) -> list[tuple[int, int]]:
    """Return from when to when a place is open on a day; all day where that is not known."""
    if hours is None:
        return [(0, _DAY)]
    return [(each.start, each.end) for each in hours if weekday in each.days]


def _without_far(places: list[Place], leave_out: Callable[..., None]) -> list[Place]:
    """Return the places that lie together; the others are left out with their distance."""
    if len(places) < 3:
        return places
    middle = Point(
        lng=median(place["wgs84"]["lng"] for place in places),
        lat=median(place["wgs84"]["lat"] for place in places),
    )
    close: list[Place] = []
    for place in places:
        far = metres_apart(middle, place["wgs84"])
        if far > _TOO_FAR_M:
            leave_out(place, "far", distance=distance_text(round(far)))
        else:
            close.append(place)
    return close


def _minutes(leg: Leg) -> int:
    """Return the minutes of a way as the timetable counts them, in whole steps."""
    return max(1, math.ceil(leg["duration_s"] / 60 / _STEP)) * _STEP


def used_legs(outing: Outing) -> list[tuple[str, str]]:
    """Return the ids of the ends of each way that the plan goes, in its order."""
    ids = places_of(outing)
    if "back" in outing:
        ids = [HERE, *ids, HERE]
    return list(pairwise(ids))
