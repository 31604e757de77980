"""Turn places into the visits of a day, and the best order of them into a plan with reasons."""

import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import date
from itertools import pairwise, product

from agent.evidence.feasts import shared_feast
from agent.evidence.geo import metres_apart
from agent.evidence.hours import clock_of, minutes_of, yearly_hours
from agent.evidence.kinds import (
    USUAL_MINUTES,
    in_words,
    is_any_of_kind,
    is_break,
    is_called,
    is_for_evenings,
    is_in_daylight,
    is_meal,
    is_never_closed,
    is_spot,
    meal_named,
    positions,
    stay,
)
from agent.evidence.mentions import places_of
from agent.evidence.names import map_name
from agent.evidence.outing.aim import (
    Aim,
    first_of_turns,
    fits_by_record,
    is_as_meant,
    kinds_of,
    price_a_head,
    spans_on,
    stars_of,
    stop_questions,
    with_turns_of_chosen,
    without_far,
)
from agent.evidence.outing.legs import (
    HERE,
    STEP,
    THERE,
    Legs,
    idle_minutes,
    is_beyond,
    is_near_wanted,
    leg_between,
    timed,
)  # fmt: skip
from agent.evidence.outing.schedule import (
    MEALS,
    MEALS_MAY_BE,
    MOST_VISITS,
    Day,
    Step,
    Visit,
    Window,
    best_plan,
    meals_had,
    with_longer_stays,
)  # fmt: skip
from agent.evidence.outing.spare import with_spare_stops
from agent.evidence.records import hours_text, kind_text, with_weekday
from agent.evidence.types import (
    LeftOut,
    LeftOutReason,
    Leg,
    Outing,
    Place,
    Stop,
)
from agent.evidence.zones import sunset
from agent.texts import say, table

BEGINS, ENDS = "09:30", "21:00"
_DAY = 24 * 60
_BESIDE_MINUTES, _BESIDE_M = 40, 600
_SHARES = (1, 0.9, 0.75, 0.65, 0.5)
"""Of the usual stay, tried in this order until there is time for all that is wanted.

The last two only for a number of stops: a long list is no wish to hurry.
"""
_LONGEST_WAIT = 30
_WORTH, _WORTH_FIT, _WORTH_ASKED, _WORTH_WANTED, _WORTH_OPEN = 1000, 3500, 40_000, 200_000, 20
_WORTH_CHOSEN, _ENOUGH_CHOSEN = 4000, 3
"""Of a visit: what a model has chosen is worth more than what fits by its record alone; a meal that
was asked for is worth more than all others together, and what is wanted more than both meals and
these; known hours are worth two stars, and a name is."""
_WORTH_OF_KIND = 2000
"""Of the first visit of a kind that was searched for."""
_LIKED = 500
"""More than stars and metres make of a difference between two visits, as a rule."""
_MOST_OF_A_KIND = 4
"""Restaurants, and places to rest, among those of which a day is made; for one turn of an order."""
_EVENING_BEGINS = 18 * 60
_SETTING_OUT = 30
"""Minutes to the first stop for who leaves from nobody knows where."""
_WALK_WEIGHS = 3
"""How much more a way weighs for who wants to walk little."""


def plan_day(places: Sequence[Place], aim: Aim, legs: Legs) -> Outing | None:
    """Return the best day over these places; None where no stop fits.

    One stays shorter than usual where that makes room for all that are wanted, in the order said,
    and longer where hours would be left of those that somebody gave both ends. What is too far to
    walk for who said how far is in it only where something that is wanted is lacking without.
    """
    best, fewest = None, (math.inf, 0, 0, 0)
    shares = _SHARES if {"stops", "order"} & aim.wish.keys() else _SHARES[:3]
    near = (True, False) if is_near_wanted(aim.wish) else (False,)
    # Stops keep the order of the plan before; its meals, rather their hours, if none was said.
    free = (False, True) if aim.before and not {"order", "ordered"} & aim.wish.keys() else (False,)
    for is_near, share, frees_meals in product(near, shares, free):
        planner = _Planner(places, aim, legs, share, is_near=is_near, frees_meals=frees_meals)
        outing = planner.outing()
        odd = planner.odd if planner.is_free or frees_meals < len(free) - 1 else 0
        if not outing:
            continue
        amiss = planner.lacking(outing), planner.misplaced, odd, idle_minutes(outing)
        if amiss < fewest:
            best, fewest = outing, amiss
            if not any(fewest[:-1]):
                break
    return best


def sorted_out(places: Sequence[Place], aim: Aim) -> tuple[list[Place], list[LeftOut]]:
    """Return the places of which a day can be made, the best first, and why the others are not."""
    planner = _Planner(places, aim, {})
    return planner.places, planner.left_out


class _Planner:
    """Plan one day."""

    def __init__(
        self,
        places: Sequence[Place],
        aim: Aim,
        legs: Legs,
        share: float = 1,
        *,
        is_near: bool = False,
        frees_meals: bool = False,
    ) -> None:
        self._aim, self._legs, self._share = aim, legs, share
        self.is_near, self.frees_meals = is_near, frees_meals
        self._wish, self._near, self._language = aim.wish, aim.near, aim.language
        self._date = date.fromisoformat(self._wish["day"])
        self._weekday = self._date.isoweekday()
        self._begins = minutes_of(self._wish.get("begins", BEGINS))
        self._not_before, self._not_after = (
            {id: minutes_of(at) for id, at in moved.items()}
            for moved in (self._wish.get("not_before", {}), self._wish.get("not_after", {}))
        )
        # Who wants dinner at half past eight is out longer than who says nothing.
        longest = min(max(self._not_before.values(), default=0) + 2 * USUAL_MINUTES, _DAY - STEP)
        ends = clock_of(max(minutes_of(ENDS), longest))
        self._ends = minutes_of(self._wish.get("back_by", ends))
        self._budget = self._wish.get("total_cost", math.inf) / self._wish.get("people", 1)
        self._order, self._number = self._wish.get("order", ()), self._wish.get("stops", 0)
        self._is_timed = not self._wish.keys().isdisjoint({"order", "begins", "back_by"})
        self._is_ordered = bool(self._order) and not self._wish.get("any_order", False)
        self._kinds = [] if self._order or aim.before else kinds_of(aim)
        self.is_free = bool(self._kinds or self._order) and not self._is_ordered
        self._sets_out = self._wish.get("sets_out", False) and not self._near
        self._walks_little = self._wish.get("little_walking", False)
        self.left_out: list[LeftOut] = []
        self.misplaced = self.odd = 0
        """Stops before one of an earlier turn; meals at odd hours nobody said, and a late start."""
        self._no_time: list[str] = []
        """What is asked for, was found, and has no time in the planned day."""
        self._all = places
        close = without_far(places, self._leave_out, self._language)
        possible, self._possible, _ = self._turns_of(close)
        turns = {place["id"]: turn for place, turn in zip(close, possible, strict=True)}
        self._changed = {*self._not_before, *self._not_after, *self._wish.get("eats", ())}
        in_turn = [] if self._kinds else [id for id, turn in turns.items() if turn]
        self._said = {*aim.wanted, *self._changed, *in_turn}
        visits = [(place, visit) for place in close if (visit := self._visit(place))]
        visits.sort(key=lambda pair: -pair[1].worth)
        self.places, self._visits = list[Place](), list[Visit]()
        self._give_room(self._of_chosen(visits, turns), turns)
        self._points = {place["id"]: place["wgs84"] for place in self.places}
        outer = ((HERE, self._near), (THERE, aim.end))
        self._points.update((id, point) for id, point in outer if point)
        self._goal = next((id for id in (THERE, HERE) if id in self._points), None)
        self._turns, self._words, self._missing = self._turns_of(self.places)

    def _give_room(self, visits: Sequence[tuple[Place, Visit]], turns: Mapping[str, int]) -> None:
        """Keep as many of the visits as can be searched, some of each kind."""
        first = first_of_turns(visits, turns, self._aim.chosen)
        kinds = Counter[tuple[object, ...]]()
        for place, visit in visits:
            kind = turns[place["id"]], self._is_meal(place), visit.is_break
            kinds[kind] += 1
            is_more = any(kind) and kinds[kind] > max(_MOST_OF_A_KIND, kind[0].bit_count())
            room = MOST_VISITS - len(first - {place["id"]})
            first.discard(place["id"])
            if len(self.places) >= room or (is_more and place["id"] not in self._aim.wanted):
                self._leave_out(place, "time")
            else:
                self.places.append(place)
                self._visits.append(visit)

    def _of_chosen(
        self, visits: list[tuple[Place, Visit]], turns: Mapping[str, int]
    ) -> list[tuple[Place, Visit]]:
        """Return the visits without others than the chosen ones, where these make a day.

        What was said or asked for, and a meal that has to be had, may come in all the same.
        """
        asked = sum((w in self._aim.asked) << at for at, w in enumerate(self._possible))
        chosen, said = self._aim.chosen, {*self._said, *(id for id in turns if turns[id] & asked)}
        picked = sum(p["id"] in chosen and not self._is_meal(p) for p, _ in visits)
        if picked < (self._number or _ENOUGH_CHOSEN):
            return visits
        kept = {*chosen, *said}
        return [pair for pair in visits if pair[0]["id"] in kept or self._is_meal(pair[0])]

    def _turns_of(self, places: Sequence[Place]) -> tuple[list[int], list[str], list[str]]:
        """Return which turns each place may take: of the order, else of the plan before.

        Then what each turn is for, and what of the order no place can be.
        """
        if self._order or self._kinds:
            masks, words, missing = positions(places, self._order or self._kinds)
            return with_turns_of_chosen(places, masks, words, self._aim), words, missing
        moved = self._not_before | self._not_after
        rests = (p["id"] for p in places if self._is_meal(p) or is_break(p))
        moved |= dict.fromkeys(rests if self.frees_meals else (), 0)
        turns = {id: 1 << at for at, id in enumerate(self._aim.before) if id not in moved}
        return [turns.get(place["id"], 0) for place in places], [], []

    def outing(self) -> Outing | None:
        day = self._day()
        steps = best_plan(day)
        if not steps:
            return None
        if {"begins", "back_by"} <= self._wish.keys():
            steps = self._filled(day, steps)
        stops = self._stops(steps)
        turns = [step.turn for step in steps if step.turn >= 0]
        self.odd = sum(
            step.meal is not None and not MEALS[step.meal][0] <= step.begins <= MEALS[step.meal][1]
            for step in steps
            if step.visit is None or self.places[step.visit]["id"] not in self._changed
        )
        if self._aim.before and "begins" in self._wish:
            self.odd += steps[0].begins - self._begins >= _LONGEST_WAIT
        self.misplaced = 0 if self.is_free else sum(one > other for one, other in pairwise(turns))
        for at, place in enumerate(self.places):
            if all(step.visit != at for step in steps):
                self._leave_out_of(steps, at, place)
        first, last = steps[0], [step.visit for step in steps if step.visit is not None][-1]
        back = self._leg(self.places[last]["id"], self._goal) if self._goal is not None else None
        outing = Outing(
            wish=self._wish, day=self._wish["day"],
            begins=clock_of(first.begins - (0 if first.visit is None else day.out[first.visit])),
            ends=clock_of(steps[-1].ends + (timed(back) if back else 0)),
            stops=stops, left_out=self.left_out, url="",
        )  # fmt: skip
        if back:
            outing["back"] = back
        if lacks := self._lacks(steps):
            outing["lacks"] = lacks
        words = () if self.is_free else [*self._words, *filter(self._is_late, self._missing)]
        if asked := self._asked(words):
            outing["asked"] = asked
            outing["had"] = sum(map(self._is_counted, steps))
        told = [*self._not_in_time(steps), *self._not_as_named(steps)]
        if self._share < 1:
            told.append(say("outing.stays_shorter", self._language))
        if self._sets_out:
            told.append(say("outing.setting_out", self._language, time=outing["begins"]))
        if shared_feast(self.places, outing["day"]):
            that_day = with_weekday(outing["day"], self._language)
            told.append(say("outing.feast", self._language, day=that_day))
        if told:
            outing["told"] = told
        made = [self.places[step.visit] for step in steps if step.visit is not None]
        if questions := [*stop_questions(made, self._wish, self._language)]:
            outing["open"] = questions
        return outing

    def _filled(self, day: Day, steps: list[Step]) -> list[Step]:
        """Return the steps with what else fits into the hours that somebody said, and longer."""
        if (self._order or self._aim.spare) and not self._number:
            said = sum(1 << at for at, w in enumerate(self._words) if w not in self._aim.unsaid)
            own = list(zip(self.places, self._visits, strict=True))
            steps = with_spare_stops(day, steps, own, aim=self._aim, said=said)
        day = replace(day, visits=self._visits)
        return with_longer_stays(day, steps) if self._share == 1 else steps

    def _is_counted(self, step: Step) -> bool:
        """Return whether a step is one of the stops that were asked for: named meals are beside."""
        if step.turn >= 0 or step.visit is None or not self._number:
            return step.turn >= 0
        return not (step.meal and "meals" in self._wish)

    def _asked(self, words: Sequence[str]) -> int:
        """Return how many stops are wanted: those of the order, or more where a number says so."""
        meals = sum(bool(meal_named(word)) for word in words)
        return max(len(words), self._number + meals) if self._number else len(words)

    def _lacks(self, steps: Sequence[Step]) -> list[str]:
        """Return what is to be in the day, and no place that was found can be: kinds and meals."""
        had = meals_had(steps)
        meals = [meal for meal in self._wish.get("meals", ()) if meal not in had]
        meals = [] if self._has_eatery() else meals
        if self._kinds:
            missing = [word for word in self._missing if word in self._aim.asked]
            return [*(word for word in missing if not self._is_late(word)), *meals]
        # Why a place of that name is not in the day is told of it.
        names = [word for word in self._missing if not is_any_of_kind(word)]
        known = {word for word in names if any(is_called(place, word) for place in self._all)}
        known |= {*filter(self._is_late, self._missing)}
        missing = [word for word in self._missing if word not in known and not meal_named(word)]
        return [*missing, *meals]

    def _has_eatery(self) -> bool:
        """Return whether one could eat at a place that was found, if there were time."""
        late = ("meals", "time")
        unfit = {left["place"] for left in self.left_out if left["reason"] not in late}
        return any(self._is_meal(p) and p["id"] not in unfit for p in self._all)

    def _is_late(self, word: str) -> bool:
        """Return whether a place that was found can be what a word says, and has no time."""
        late = {left["place"] for left in self.left_out if left["reason"] == "time"}
        masks, _, _ = positions(self._all, [word])
        return any(mask and p["id"] in late for p, mask in zip(self._all, masks, strict=True))

    def _not_in_time(self, steps: Sequence[Step]) -> Iterator[str]:
        """Yield what was found and has no time: meals, and what is in no said order."""
        had = meals_had(steps)
        taken = {step.turn for step in steps}
        words = [word for at, word in enumerate(self._words) if at not in taken]
        words += filter(self._is_late, self._missing)
        words = [word for word in words if self._order or word in self._aim.asked]
        words = words if self.is_free else []
        meals = self._wish.get("meals", ()) if self._has_eatery() else ()
        meals = [meal for meal in meals if meal not in had]
        self._no_time = list(dict.fromkeys([*meals, *(meal_named(word) or word for word in words)]))
        own = table("outing.meals", self._language)
        names = [own.get(word) or in_words(word, self._language) for word in self._no_time]
        joined = say("punctuation.comma", self._language).join(names)
        if names:
            yield say("outing.no_time", self._language, time=clock_of(self._ends), names=joined)

    def _not_as_named(self, steps: Sequence[Step]) -> Iterator[str]:
        """Yield what comes before what the order has before it, and what stands for a word of it.

        With the hour that made it so.
        """
        words = dict(enumerate(self._words if self._order else ()))
        made = [(step.visit, step.turn) for step in steps if step.visit is not None]
        names = {at: map_name(self.places[at], self._language) for at, _ in made}
        for (first, turn), (second, other) in pairwise(one for one in made if one[1] in words):
            if turn > other and self._is_ordered:
                until = max(window.latest for window in self._visits[first].windows)
                since = min(window.earliest for window in self._visits[second].windows)
                key, at = ("since", since) if since > self._begins else ("until", until)
                ends = {"first": names[first], "second": names[second]}
                yield say(f"outing.reordered.{key}", self._language, time=clock_of(at), **ends)
        # What a stop of the plan before stands for was told with that; what a search for a kind
        # found is of it, whatever its name.
        new = ((at, turn) for at, turn in made if self.places[at]["id"] not in self._aim.before)
        for at, turn in new:
            place = self.places[at]
            word = words.get(turn) or self._wish.get("stands_for", {}).get(place["id"], "")
            if not (word.casefold() in self._aim.kinds or is_as_meant(place, word, self._aim)):
                kind = kind_text(place, self._language)
                yield say("outing.instead", self._language, word=word, name=names[at], kind=kind)

    def lacking(self, outing: Outing) -> int:
        """Return how many stops are wanted that found no time; one, where one only eats."""
        if asked := 0 if self.is_free else self._asked(self._possible):
            hungry = sum(word in MEALS for word in (*outing.get("lacks", ()), *self._no_time))
            return asked + hungry - outing["had"]
        lacking = (left for left in outing["left_out"] if left["reason"] in ("time", "hours"))
        eats = {place["id"] for place in self.places if self._is_meal(place)}
        only = bool(eats) and eats.issuperset(places_of(outing)) and len(eats) < len(self.places)
        return (
            only + len(self._no_time) + sum(left["place"] in self._aim.wanted for left in lacking)
        )

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
        share = min(1, self._share) if self._is_meal(place) or is_break(place) else self._share
        minutes = round(usual * share / STEP) * STEP
        hours = yearly_hours(place)
        spans = spans_on(hours, self._weekday)
        windows = [w for span in spans for w in self._windows(place, span, minutes)]
        if not windows:
            at_any_hour = self._windows(place, (0, _DAY), minutes)
            reason: LeftOutReason = "meals" if self._is_meal(place) else "time"
            reason = "closed" if not spans else "hours" if at_any_hour else reason
            day = say(f"records.weekdays.{self._weekday}", self._language)
            known = hours_text(place, self._language) or say("outing.hours_unknown", self._language)
            self._leave_out(place, reason, day=day, hours=known)
            return None
        return Visit(
            minutes, tuple(windows), worth=self._worth(place),
            counts="meals" not in self._wish or not self._is_meal(place), is_break=is_break(place),
            is_wanted=place["id"] in self._said, cost=price_a_head(place) or 0,
        )  # fmt: skip

    def _worth(self, place: Place) -> int:
        """Return what a place adds to a day: a tenth of a star is as much as a hundred metres.

        A price that is not known rules nothing out. Of a budget each meal has a share, and the
        other stops have one together: a meal that is dearer is worth the less.
        """
        far = (place["distance_m"] or 0) * (_WALK_WEIGHS if self._walks_little else 1)
        liked = max(0, round(10 * stars_of(place) - far / 100))
        worth = _WORTH_FIT if fits_by_record(place) else _WORTH
        worth += _WORTH_CHOSEN * (place["id"] in self._aim.chosen)
        worth += _WORTH_WANTED * (place["id"] in self._said)
        worth += _WORTH_OPEN * (yearly_hours(place) is not None)
        worth -= _WORTH_OPEN * place.get("nameless", False)
        if not self._is_meal(place):
            return worth + liked
        meals = [MEALS[meal] for meal in self._wish.get("meals", MEALS)]
        meals = [meal for meal in meals if self._begins <= meal[1] and self._ends > meal[0]]
        price, share = price_a_head(place), self._budget / (1 + len(meals))
        if price is None and share < math.inf:
            liked //= 2
        elif price and price > share:
            worth -= round(_WORTH * (1 - (share / price) ** 2))
        return worth + liked + _WORTH_ASKED * ("meals" in self._wish)

    def _is_meal(self, place: Place) -> bool:
        return is_meal(place) or place["id"] in self._wish.get("eats", ())

    def _is_beside(self, place: Place) -> bool:
        """Return whether this is one of several spots that lie together: three are no whole day."""
        others = [o["wgs84"] for o in self._all if is_spot(o) and o["id"] != place["id"]]
        return is_spot(place) and any(metres_apart(place["wgs84"], o) <= _BESIDE_M for o in others)

    def _windows(self, place: Place, span: tuple[int, int], minutes: int) -> list[Window]:
        """Return when a visit may begin while the place is open, and within what is wished for."""
        since, until = self._not_before.get(place["id"], 0), self._not_after.get(place["id"], _DAY)
        first = max(span[0], self._begins, since)
        last = min(max(span[1] - minutes, span[0]), until, self._ends - minutes)
        windows = [
            Window(max(first, min(usual.earliest, until)), min(last, usual.latest), usual.meal,
                   (since, since) if usual.meal and since else usual.usual)
            for usual in self._usual_hours(place, minutes, first)
        ]  # fmt: skip
        return [window for window in windows if window.earliest <= window.latest]

    def _bends(self, place: Place) -> bool:
        """Return whether one may come beside usual hours: what was said of the day needs it so."""
        is_asked = self._is_meal(place) and "meals" in self._wish and not self._is_ordered
        is_said = place["id"] in self._said or is_asked
        return place["id"] in self._changed or (self._is_timed and is_said)

    def _usual_hours(self, place: Place, minutes: int, first: int) -> list[Window]:
        """Return when one usually goes to such a place; beside that only if somebody said so.

        In a named order no lunch is late before it could be dinner.
        """
        bends, own = self._bends(place), self._wish.get("eats", {}).get(place["id"])
        if self._is_meal(place):
            windows = list[Window]()
            for meal in [own] if own else self._wish.get("meals", MEALS):
                first, last = MEALS[meal]
                limits = (0, _DAY) if own else MEALS_MAY_BE[meal] if bends else (first, last)
                last = MEALS_MAY_BE[meal][1] if self._is_ordered else last
                windows.append(Window(*limits, meal, (first, last)))
            return windows
        if is_for_evenings(place):
            evening = (_EVENING_BEGINS, _DAY)
            return [Window(0 if bends else evening[0], _DAY, usual=evening)]
        light = sunset(place, self._date) - minutes if is_in_daylight(place) else _DAY
        return [Window(0, _DAY, usual=(0, light if light >= first else _DAY))]

    def _frame(self) -> tuple[bool, int]:
        """Return whether an order has only meals and rests; then the bit of its last, if a rest.

        It is the frame of a day: what else was found comes in between. It is none where a place to
        go was said and is lacking: a playground and a café are no wish for any six sights.
        """
        named = [pair for pair in zip(self.places, self._turns, strict=True) if pair[1]]
        is_frame = bool(self._order) and all(map(meal_named, self._missing))
        is_frame &= all(is_break(p) or self._is_meal(p) for p, _ in named)
        last = 1 << len(self._words) >> 1
        is_rest = all(is_break(place) for place, turns in named if turns & last)
        return is_frame, last if is_frame and is_rest and self._is_ordered else 0

    def _day(self) -> Day:
        ids = [place["id"] for place in self.places]
        starts, goal = self._near is not None, self._goal
        is_frame, closing = self._frame()
        is_whole = bool(self._order and any(self._turns)) and not (is_frame or self._number)
        away = _SETTING_OUT if self._sets_out else 0
        late_meals = {
            window.meal: MEALS_MAY_BE[window.meal][1]
            for place, visit in zip(self.places, self._visits, strict=True)
            for window in visit.windows
            if window.meal and self._bends(place)
        }
        return Day(
            visits=[
                # Beside what an order has, only a meal comes in.
                replace(visit, turns=turn, windows=() if waits else visit.windows)
                for place, visit, turn in zip(self.places, self._visits, self._turns, strict=True)
                for no_meal in [visit.counts and not turn]
                for waits in [(is_whole and no_meal) or place["id"] in self._aim.spare]
            ],
            ways=[[0 if a == b else self._minutes(a, b) for b in ids] for a in ids],
            out=[timed(self._leg(HERE, b)) if starts else away for b in ids],
            back=[0 if goal is None else timed(self._leg(a, goal)) for a in ids],
            begins=self._begins,
            ends=self._ends,
            most=self._number or MOST_VISITS,
            budget=self._budget,
            spares_ways=self._walks_little,
            late_meals=late_meals,
            closing=closing,
            any_order=self.is_free,
            turn_worths=[
                _WORTH_WANTED if word in self._aim.asked else _WORTH_OF_KIND
                for word in (self._words if self._kinds else ())
            ],
            rests_late=self.frees_meals or self.is_free or not (self._order or self._aim.before),
            may_end_resting=self.frees_meals,
            meals=self._wish.get("meals", ()) if self._is_timed else (),
            worth_bending=_WORTH_FIT - _WORTH - _LIKED,
        )

    def _leg(self, start: str, end: str) -> Leg:
        ends = self._points[start], self._points[end]
        return leg_between(*ends, self._legs.get((start, end)), self._wish)

    def _minutes(self, start: str, end: str) -> int:
        """Return how long a way from stop to stop takes; longer than a day, if it is too long."""
        leg = self._leg(start, end)
        too_long = leg["mode"] != "walking" or is_beyond(leg, self._wish)
        return _DAY if self.is_near and too_long else timed(leg)

    def _stops(self, steps: Sequence[Step]) -> list[Stop]:
        stops, before = list[Stop](), HERE if self._near else None
        own = say("outing.own_choice", self._language)
        for step in steps:
            clocks = clock_of(step.begins), clock_of(step.ends)
            stop = Stop(name=own, begins=clocks[0], ends=clocks[1])
            if step.visit is not None:
                place = self.places[step.visit]
                stop["place"], stop["name"] = place["id"], map_name(place, self._language)
                stop["source"] = place["source"]
                if before is not None:
                    stop["leg"] = self._leg(before, place["id"])
                if (price := price_a_head(place)) is not None:
                    stop["cost"] = price
                if yearly_hours(place) is None and not is_never_closed(place):
                    stop["hours_unknown"] = True
                before = place["id"]
            if step.meal:
                stop["meal"] = step.meal
            stops.append(stop)
        return stops

    def _leave_out_of(self, steps: Sequence[Step], at: int, place: Place) -> None:
        """Note why a place that is open on this day did not get into the plan."""
        had = {step.meal for step in steps}
        spent = sum(self._visits[step.visit].cost for step in steps if step.visit is not None)
        is_fed = self._is_meal(place) and all(w.meal in had for w in self._visits[at].windows)
        reason: LeftOutReason = "meals" if is_fed else "time"
        reason = "dear" if spent + self._visits[at].cost > self._budget else reason
        self._leave_out(place, reason, total=f"{self._wish.get('total_cost', 0):g}")
