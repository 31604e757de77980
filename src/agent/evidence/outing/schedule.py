"""Search the best order of a day's visits exactly: over all their subsets, within their windows.

All times are whole minutes since midnight.
"""

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise
from typing import Literal

from agent.core.processor import breathe
from agent.evidence.outing.legs import STEP

Meal = Literal["lunch", "dinner"]
_DAY = 24 * 60
MEALS: Mapping[Meal, tuple[int, int]] = {
    "lunch": (11 * 60 + 30, 13 * 60 + 30),
    "dinner": (17 * 60 + 30, 19 * 60 + 30),
}
"""The first and the last minute at which each meal usually begins."""
_BETWEEN_MEALS = (MEALS["lunch"][1] + MEALS["dinner"][0]) // 2
MEALS_MAY_BE: Mapping[Meal, tuple[int, int]] = {
    "lunch": (MEALS["lunch"][0] - 60, _BETWEEN_MEALS), "dinner": (_BETWEEN_MEALS, _DAY)
}  # fmt: skip
"""When a meal may begin where somebody said what they want: what is beside its usual time bends."""
MEAL_MINUTES = 60
WITH_LUNCH = 240
"""Minutes from which a visit includes lunch, if it begins in time: as a theme park's does."""
_LONGER, _LONGEST_STAY = 1.5, 120
"""How much longer than usual one stays where hours are left, and up to how many minutes."""
_MEAL_IN_TIME = 30
"""Minutes before the end of its usual time up to which a meal waits for a longer stay."""
MOST_VISITS = 12
"""Subsets double with each visit; a day has room for fewer."""
_MOST_LATE, _MOST_BENT = 3, 8
"""Visits of later turns that one comes behind, where not all find time in their turn; and the most
stops that are wanted for which what is usual is bent."""
_WAITS = (60, 30, 0)
"""Minutes before the usual time at which a visit may begin that comes too early for it."""
_OUT_OF_TURN, _ODD_END, _STRAIN = 10_000, 30, 10_000_000
"""Minutes beside a usual time that weigh as much as a visit out of its turn, and as a break at an
end of the day, half as much as one before lunch; and minutes on the way, more than there are, that
weigh as much as such a one."""


@dataclass(frozen=True)
class Window:
    """Hold the first and the last minute at which a visit may begin, and when it usually does."""

    earliest: int
    latest: int
    meal: Meal | None = None
    usual: tuple[int, int] = (0, _DAY)

    def begins(self, arrives: int) -> Iterator[tuple[int, int]]:
        """Yield when a visit may begin for who arrives at a minute, and how unusual that is."""
        first = max(arrives, self.earliest)
        waits = {max(first, self.usual[0] - wait) for wait in _WAITS} | {first}
        for at in sorted(waits):
            if at <= self.latest:
                yield at, max(self.usual[0] - at, at - self.usual[1], 0)


@dataclass(frozen=True)
class Visit:
    """Hold a place to be visited for some minutes, which begin in one of its windows."""

    minutes: int
    windows: tuple[Window, ...]
    worth: int = 1
    """What the visit adds to a plan, above 0: the plan of the highest sum is the best."""
    counts: bool = True
    """Whether it is one of the most there may be."""
    is_wanted: bool = False
    is_break: bool = False
    """Whether one rests there, between two of the others."""
    cost: float = 0
    """A person, as far as it is known."""
    turns: int = 0
    """The places in the order of the day that may be its own, a bit each; 0 where it has none."""

    def as_usual(self) -> "Visit":
        """Return the visit at its usual hours only."""
        may = [replace(w, earliest=max(w.earliest, w.usual[0]), latest=min(w.latest, w.usual[1]))
               for w in self.windows]  # fmt: skip
        return replace(self, windows=tuple(w for w in may if w.earliest <= w.latest))

    @property
    def is_odd_end(self) -> bool:
        """Return whether a day neither begins nor ends with it, as long as nobody says so."""
        return self.is_break and not self.turns


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
    budget: float = math.inf
    """What all visits may cost a person."""
    spares_ways: bool = False
    """Whether less time on the way is better than an earlier end."""
    late_meals: Mapping[Meal, int] = field(default_factory=dict)
    """Until when one goes on without a meal that may be late."""
    closing: int = 0
    """The turns behind which nothing comes that has none, a bit each."""
    any_order: bool = False
    """Whether turns say only what the day has, whenever."""
    turn_worths: Sequence[int] = ()
    """What each turn that is taken adds, where visits may also come in without: of each kind one
    comes before two of a kind. Empty where a visit with turns needs one of them."""
    rests_late: bool = False
    """Whether one rests after lunch rather than before it."""
    may_end_resting: bool = False
    meals: Collection[Meal] = ()
    """Those for which what is usual bends, too."""
    worth_bending: float = math.inf
    """How much more a visit is worth in its turn than another for which usual hours are left."""

    @cached_property
    def alike(self) -> list[int]:
        """For each turn those that the same visits may take, a bit each."""
        most = max(visit.turns for visit in self.visits).bit_length()
        own = [[visit.turns >> turn & 1 for visit in self.visits] for turn in range(most)]
        return [sum((each == one) << at for at, each in enumerate(own)) for one in own]


@dataclass(frozen=True)
class Step:
    """Hold a visit (its index), or with None a meal wherever one is; ends are minutes."""

    visit: int | None
    begins: int
    ends: int
    meal: Meal | None = None
    turn: int = -1
    """Its place in the order of the day."""


@dataclass(frozen=True)
class _Label:
    """Hold one way to reach a state: when one leaves it, the minutes on the way, the last step.

    What strains a day is counted as minutes on the way, more than there are.
    """

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


_State = tuple[int, int, int, frozenset[Meal]]
"""The visits made and the turns taken (a bit each), the last visit (-1: none), the meals had."""


def best_plan(day: Day) -> list[Step]:
    """Return the steps of the best plan; none where no visit fits.

    Best is the highest sum of worths within the budget, then the fewest visits out of their turn,
    then the least time beside the usual hours and no break at either end of the day, then the
    earliest end, then the least time on the way. Nothing is beside its usual hours, or out of its
    turn, where all turns are taken and all that is wanted is there without; but where a visit that
    is worth far more in its turn comes in so.
    Who is out before a meal's time has that meal before its time is over.
    Raises ValueError for more than MOST_VISITS visits.
    """
    if len(day.visits) > MOST_VISITS:
        raise ValueError(f"at most {MOST_VISITS} visits")
    usual = replace(day, visits=[visit.as_usual() for visit in day.visits])
    wanted = {at for at, visit in enumerate(day.visits) if visit.is_wanted and not visit.turns}
    turns = {turn for visit in day.visits for turn in _bits(visit.turns)}
    turns = set() if day.turn_worths else turns
    # A day of more stops is full without: only fewer are searched further, which takes its time.
    is_short = len(turns) + len(wanted) <= _MOST_BENT
    further = [(day, 0), (day, _MOST_LATE)][: 1 + bool(turns)] if is_short else []
    steps = list[Step]()
    for each, most_late in [(usual, 0), *further]:
        before, steps = steps, _search(each, most_late)
        made, taken = {step.visit for step in steps}, {step.turn for step in steps}
        if before and wanted | turns == set() and not _is_fed(day, steps):
            # What is usual does not bend for a meal that cannot be had all the same.
            return before
        if steps and wanted <= made and turns <= taken and _is_fed(day, steps):
            break
    if steps and each is usual and further and _may_be_better(day, steps):
        bent = _search(day, 0)
        gain = _worth_in_turn(day, bent) - _worth_in_turn(day, steps)
        return bent if gain >= day.worth_bending else steps
    return steps


def _is_fed(day: Day, steps: Sequence[Step]) -> bool:
    """Return whether the meals that are asked for are had."""
    return meals_had(steps).issuperset(day.meals)


def meals_had(steps: Sequence[Step]) -> set[Meal | None]:
    """Return the meals of a plan: a long visit includes lunch."""
    had = {step.meal for step in steps}
    return had | {"lunch" for step in steps if step.ends - step.begins >= WITH_LUNCH}


def _may_be_better(day: Day, steps: Sequence[Step]) -> bool:
    """Return whether a visit that is not made is worth more than one that has its turn."""
    made = {step.visit for step in steps}
    others = [visit for at, visit in enumerate(day.visits) if at not in made]
    taken = [day.visits[step.visit] for step in steps if step.visit is not None and step.turn >= 0]
    return any(
        other.turns & one.turns and other.worth - one.worth >= day.worth_bending
        for one in taken
        for other in others
    )


def _worth_in_turn(day: Day, steps: Sequence[Step]) -> int:
    visits = (step.visit for step in steps if step.turn >= 0)
    return sum(day.visits[at].worth for at in visits if at is not None)


def _search(day: Day, most_late: int) -> list[Step]:
    """Return the best plan in which no visit comes after more than so many of later turns."""
    layer: dict[_State, list[_Label]] = {(0, 0, -1, frozenset()): [_Label(day.begins, 0)]}
    best: tuple[tuple[int, ...], _Label] | None = None
    while layer:
        following: dict[_State, list[_Label]] = {}
        for state, labels in _with_meals(layer):
            breathe()
            for label in labels:
                if state[0] and (best is None or _rank(day, state, label) < best[0]):
                    best = _rank(day, state, label), label
                for reached, next_label in _visits_from(day, state, label, most_late):
                    _add(following.setdefault(reached, []), next_label)
        layer = following
    return _trimmed(best[1].steps()) if best else []


def _rank(day: Day, state: _State, label: _Label) -> tuple[int, ...]:
    visited, taken, last, _ = state
    worth = sum(visit.worth for at, visit in enumerate(day.visits) if visited >> at & 1)
    worth += sum(more for at, more in enumerate(day.turn_worths) if taken >> at & 1)
    strain, travel = divmod(label.travel, _STRAIN)
    strain += _ODD_END * (day.visits[last].is_odd_end and not day.may_end_resting)
    ends, travel = label.leaves + day.back[last], travel + day.back[last]
    return -worth, strain, *((travel, ends) if day.spares_ways else (ends, travel))


def _with_meals(
    layer: Mapping[_State, list[_Label]],
) -> Iterator[tuple[_State, list[_Label]]]:
    """Yield the states of a layer, and those in which a meal was had where one is."""
    states = {state: list(labels) for state, labels in layer.items()}
    for meal, (first, last) in MEALS.items():
        for (visited, turns, at, meals), labels in list(states.items()):
            if meal in meals:
                continue
            for label in labels:
                if (begins := max(label.leaves, first)) <= last:
                    ends = begins + MEAL_MINUTES
                    fed = _Label(ends, label.travel, Step(None, begins, ends, meal), label)
                    _add(states.setdefault((visited, turns, at, meals | {meal}), []), fed)
    yield from states.items()


def _visits_from(
    day: Day, state: _State, label: _Label, most_late: int
) -> Iterator[tuple[_State, _Label]]:
    visited, taken, last, meals = state
    ways = day.out if last < 0 else day.ways[last]
    before = [visit for at, visit in enumerate(day.visits) if visited >> at & 1]
    made, rested = sum(visit.counts for visit in before), any(visit.is_break for visit in before)
    left = day.budget - sum(visit.cost for visit in before)
    for at, visit in enumerate(day.visits):
        # Who has rested needs no second café that nobody named.
        has_turn = visit.turns and not day.turn_worths
        is_more = rested and visit.is_break and not (visit.is_wanted or has_turn)
        is_more |= (visit.counts and made >= day.most) or visit.cost > left
        if visited >> at & 1 or is_more:
            continue
        if taken & day.closing and not visit.turns:
            continue
        for turn in _free_turns(day, visit, taken):
            # Of the visits before, those whose turn comes later.
            late = (taken >> turn + 1).bit_count() if turn >= 0 and not day.any_order else 0
            if late > most_late:
                continue
            strain = _OUT_OF_TURN * late + _ODD_END * (not visited and visit.is_odd_end)
            arrives = label.leaves + ways[at]
            may = [(w, *begun) for w in visit.windows for begun in w.begins(arrives)]
            for window, begins, beside in may:
                ends = begins + visit.minutes
                had = meals | _meals_of(visit, window, begins)
                is_late = ends + day.back[at] > day.ends
                if is_late or window.meal in meals or _goes_hungry(day, ends, had):
                    continue
                early = 2 * _ODD_END * (day.rests_late and window.meal == "lunch" and rested)
                cost = ways[at] + (strain + beside + early) * _STRAIN
                step = Step(at, begins, ends, window.meal, turn)
                reached = (visited | 1 << at, taken | (1 << turn if turn >= 0 else 0), at, had)
                yield reached, _Label(ends, label.travel + cost, step, label)


def _free_turns(day: Day, visit: Visit, taken: int) -> Iterator[int]:
    """Yield which turns a visit may take; -1 where it has none and comes whenever it fits.

    Of turns that the same visits may take, the first one, and the first behind all that are taken.
    """
    if day.turn_worths:
        free = visit.turns & ~taken
        yield (free & -free).bit_length() - 1
        return
    if not visit.turns:
        yield -1
    free, behind = visit.turns & ~taken, -1 << taken.bit_length()
    while free:
        alike = day.alike[(free & -free).bit_length() - 1] & free
        first, next_one = alike & -alike, alike & behind & -(alike & behind)
        yield from {turn.bit_length() - 1 for turn in (first, next_one) if turn}
        free &= ~alike


def _bits(mask: int) -> list[int]:
    return [at for at in range(mask.bit_length()) if mask >> at & 1]


def _meals_of(visit: Visit, window: Window, begins: int) -> frozenset[Meal]:
    """Return the meals that are had with a visit."""
    if window.meal:
        return frozenset({window.meal})
    includes_lunch = visit.minutes >= WITH_LUNCH and begins <= MEALS["lunch"][1]
    return frozenset({"lunch"} if includes_lunch else ())


def _goes_hungry(day: Day, ends: int, meals: frozenset[Meal]) -> bool:
    """Return whether a visit goes on when a meal's time is over, without that meal."""
    return any(
        day.begins <= first and ends > day.late_meals.get(meal, last + MEAL_MINUTES)
        for meal, (first, last) in MEALS.items()
        if meal not in meals
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


def with_longer_stays(day: Day, steps: list[Step]) -> list[Step]:
    """Return the steps with the time that is left before the day's end spent at its stops.

    A meal and a break are as long as ever, and a stop that takes two hours, too: who is tired of a
    museum is glad to be free. Nothing comes later than one usually goes there, or may.
    """
    most = list[float]()
    for step in steps:
        visit = None if step.visit is None or step.meal else day.visits[step.visit]
        is_longer = visit is not None and not visit.is_break
        most.append(min(visit.minutes * _LONGER, _LONGEST_STAY) if visit and is_longer else 0)
    while True:
        before = steps
        for at, limit in enumerate(most):
            longer = replace(steps[at], ends=steps[at].ends + STEP)
            if longer.ends - longer.begins <= limit:
                steps = _retimed(day, [*steps[:at], longer, *steps[at + 1 :]]) or steps
        if steps == before:
            return steps


def with_another_stop(day: Day, steps: list[Step], at: int) -> list[Step]:
    """Return the steps with one more visit where it is least out of the way; else as they are.

    What is planned already keeps its order, and is later only as far as it may be.
    """
    visit, cost = (
        day.visits[at],
        sum(day.visits[s.visit].cost for s in steps if s.visit is not None),
    )
    if visit.cost + cost > day.budget:
        return steps
    options = [
        more
        for place in range(len(steps) + 1)
        for window in visit.windows
        for new in [Step(at, window.earliest, window.earliest + visit.minutes)]
        if (more := _retimed(day, [*steps[:place], new, *steps[place:]]))
    ]
    return min(options, key=lambda more: (_on_the_way(day, more), more[-1].ends), default=steps)


def _on_the_way(day: Day, steps: Sequence[Step]) -> int:
    """Return the minutes on the way of a plan."""
    at = [step.visit for step in steps if step.visit is not None]
    return day.out[at[0]] + sum(day.ways[a][b] for a, b in pairwise(at)) + day.back[at[-1]]


def _retimed(day: Day, steps: Sequence[Step]) -> list[Step]:
    """Return the steps, each at its hour, or later where it has to be.

    None where one of these would be too late for that, or the day be over too late.
    """
    made, last, leaves = list[Step](), -1, day.begins
    for step in steps:
        if step.visit is not None:
            leaves += day.out[step.visit] if last < 0 else day.ways[last][step.visit]
            last = step.visit
        shift = max(0, leaves - step.begins)
        later = replace(step, begins=step.begins + shift, ends=step.ends + shift)
        waits = step.meal is not None and later.begins > MEALS[step.meal][1] - _MEAL_IN_TIME
        if (shift and waits) or not _is_in_time(day, later, shift):
            return []
        made.append(later)
        leaves = later.ends
    had = frozenset(meal for meal in meals_had(made) if meal)
    is_late = leaves + day.back[last] > day.ends or _goes_hungry(day, leaves, had)
    return [] if is_late else made


def _is_in_time(day: Day, step: Step, shift: int) -> bool:
    """Return whether a visit is over while one may be there, and not later than one usually is."""
    if step.visit is None:
        return True
    visit = day.visits[step.visit]
    more = step.ends - step.begins - visit.minutes
    return not (shift or more > 0) or any(
        w.earliest <= step.begins and step.begins + more <= min(w.latest, w.usual[1])
        for w in visit.windows
        if w.meal == step.meal
    )
