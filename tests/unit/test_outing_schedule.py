"""The best order of a day's visits, held against trying every order."""

import math
from dataclasses import replace
from itertools import combinations, pairwise, permutations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.evidence.outing.schedule import (
    MEAL_MINUTES,
    MEALS,
    WITH_LUNCH,
    Day,
    Step,
    Visit,
    Window,
    best_plan,
    with_another_stop,
    with_longer_stays,
)

NINE, FIVE = 9 * 60, 17 * 60


def day(visits, ways=None, *, begins=NINE, ends=21 * 60, out=None, back=None):
    count = len(visits)
    ways = ways or [[10] * count for _ in visits]
    return Day(visits, ways, out or [0] * count, back or [0] * count, begins, ends)


def open_all_day(minutes=60, worth=1):
    return Visit(minutes, (Window(0, 24 * 60),), worth)


def visits_of(steps):
    return [step.visit for step in steps if step.visit is not None]


def test_a_place_that_closes_early_comes_first():
    early = Visit(60, (Window(NINE, 10 * 60),))
    assert visits_of(best_plan(day([open_all_day(), early]))) == [1, 0]


def test_each_visit_stands_where_the_given_order_has_its_kind():
    cafe = Visit(45, (Window(0, 24 * 60),), is_break=True)
    sights, cafes = [open_all_day(worth=9)] * 2, [cafe] * 3
    visits = [*(replace(one, turns=2) for one in sights), *(replace(one, turns=5) for one in cafes)]
    ordered = day(visits)
    first, middle, last = visits_of(best_plan(ordered))
    assert middle in (0, 1)
    assert {first, last} <= {2, 3, 4}


def test_the_shortest_way_decides_between_equal_days():
    ways = [[0, 50, 5], [50, 0, 5], [5, 5, 0]]
    steps = best_plan(day([open_all_day()] * 3, ways, ends=16 * 60))
    assert visits_of(steps) in ([0, 2, 1], [1, 2, 0])


def test_what_has_no_room_is_left_out_and_the_worthier_stays():
    visits = [open_all_day(180, worth=5), open_all_day(180, worth=6)]
    assert visits_of(best_plan(day(visits, ends=NINE + 200))) == [1]


def test_of_a_few_stops_the_worthier_stay_and_a_meal_that_does_not_count_is_beside_them():
    sights = [open_all_day(worth=worth) for worth in (1, 3, 2)]
    lunch = Visit(60, (Window(*MEALS["lunch"], "lunch"),), counts=False)
    few = replace(day([*sights, lunch]), most=2)
    assert {*visits_of(best_plan(few))} == {1, 2, 3}


def test_nothing_fits_where_everything_opens_too_late():
    assert best_plan(day([Visit(60, (Window(22 * 60, 23 * 60),))])) == []


def test_the_way_back_has_to_end_in_time():
    visits = [open_all_day(60), open_all_day(60)]
    steps = best_plan(day(visits, out=[30, 30], back=[30, 30], ends=NINE + 30 + 60 + 30))
    assert len(steps) == 1


def test_a_long_day_has_lunch_somewhere_of_ones_own_choice():
    steps = best_plan(day([open_all_day(120)] * 3))
    lunch = next(step for step in steps if step.visit is None)
    assert lunch.meal == "lunch"
    assert MEALS["lunch"][0] <= lunch.begins <= MEALS["lunch"][1]


def test_a_restaurant_is_the_lunch():
    first, last = MEALS["lunch"]
    restaurant = Visit(60, (Window(first, last, "lunch"),))
    steps = best_plan(day([open_all_day(150), restaurant, open_all_day(120)]))
    assert [step.meal for step in steps if step.meal] == ["lunch"]
    assert all(step.visit is not None for step in steps)


def test_a_day_at_a_theme_park_has_its_lunch_there():
    assert [step.visit for step in best_plan(day([open_all_day(300)]))] == [0]


def test_one_meal_is_had_once():
    first, last = MEALS["lunch"]
    restaurant = Visit(60, (Window(first, last, "lunch"),))
    assert len(best_plan(day([restaurant, restaurant]))) == 1


def test_more_visits_than_can_be_searched_are_refused():
    with pytest.raises(ValueError, match="at most"):
        best_plan(day([open_all_day(10)] * 13))


def turns_of(visits):
    """Yield each way in which visits, one after the other, can take different turns; -1: none."""
    if not visits:
        yield ()
        return
    own = [turn for turn in range(3) if visits[-1].turns >> turn & 1]
    for before in turns_of(visits[:-1]):
        yield from ((*before, turn) for turn in own or [-1] if turn < 0 or turn not in before)


def out_of_turn(turns):
    return sum(later >= 0 and later < earlier for earlier, later in combinations(turns, 2))


def brute_force(plan):
    """Return the ranks that the best plan may have, over every order, turn, window and meal.

    Where all turns are taken and all that is wanted is there at usual hours and in turn, the best
    is one of these; else where it is in turn. None where there is no plan.
    """
    usual, fit = replace(plan, visits=[visit.as_usual() for visit in plan.visits]), set()
    wanted = {at for at, visit in enumerate(plan.visits) if visit.is_wanted and not visit.turns}
    turns = {turn for visit in plan.visits for turn in range(3) if visit.turns >> turn & 1}
    for day, most in ((usual, 0), (plan, 0), (plan, 3)):
        every = [each for each in _ranked(day) if each[0][1] <= most]
        best = min((rank for rank, *_ in every), default=None)
        whole = [wanted <= made and turns <= taken for r, made, taken in every if r == best]
        is_last = most > 0
        if any(whole) or (is_last and best):
            fit.add(best)
        if whole and all(whole):
            break
    return fit


def _ranked(plan):
    """Yield the rank, the visits and the turns of each plan."""
    for size in range(1, len(plan.visits) + 1):
        for order in permutations(range(len(plan.visits)), size):
            if sum(plan.visits[at].cost for at in order) > plan.budget:
                continue
            worth = sum(plan.visits[at].worth for at in order)
            ways = list(turns_of([plan.visits[at] for at in order]))
            for end, travel, beside in _ends(plan, order, 0, (plan.begins, 0, 0), frozenset()):
                for turns in ways:
                    rank = (-worth, out_of_turn(turns), beside, end, travel)
                    yield rank, frozenset(order), frozenset(turns)


def _ends(plan, order, at, state, meals):
    """Yield end, travel and what is beside usual of every way to make these visits in turn."""
    now, travel, beside = state
    for meal, (first, latest) in MEALS.items():
        if meal not in meals and max(now, first) <= latest:
            later = max(now, first) + MEAL_MINUTES
            yield from _ends(plan, order, at, (later, travel, beside), meals | {meal})
    if at == len(order):
        yield now + plan.back[order[-1]], travel + plan.back[order[-1]], beside
        return
    index, visit = order[at], plan.visits[order[at]]
    way = plan.ways[order[at - 1]][index] if at else plan.out[index]
    for window in visit.windows:
        for begins, unusual in window.begins(now + way):
            ends = begins + visit.minutes
            if ends + plan.back[index] > plan.ends or window.meal in meals:
                continue
            had = meals | ({window.meal} if window.meal else set())
            if window.meal is None and visit.minutes >= WITH_LUNCH:
                had |= {"lunch"} if begins <= MEALS["lunch"][1] else set()
            hungry = any(
                plan.begins <= first and ends > latest + MEAL_MINUTES and meal not in had
                for meal, (first, latest) in MEALS.items()
            )
            if not hungry:
                after = ends, travel + way, beside + unusual
                yield from _ends(plan, order, at + 1, after, had)


@st.composite
def days(draw):
    count = draw(st.integers(1, 4))
    minutes = st.integers(0, 60)

    def visit():
        if draw(st.booleans()) and draw(st.booleans()):
            windows = tuple(Window(*span, meal) for meal, span in MEALS.items())
        else:
            first = draw(st.integers(8 * 60, 18 * 60))
            usual = first + draw(st.integers(-60, 120))
            last = first + draw(st.integers(0, 300))
            windows = (Window(first, last, usual=(usual, usual + draw(st.integers(0, 120)))),)
        cost, turns = (
            draw(st.sampled_from([0, 0, 40, 90])),
            draw(st.sampled_from([0, 1, 2, 3, 4, 6])),
        )
        minutes, worth = draw(st.integers(20, 300)), draw(st.integers(1, 5))
        is_wanted = draw(st.booleans())
        return Visit(minutes, windows, worth, cost=cost, turns=turns, is_wanted=is_wanted)

    visits = [visit() for _ in range(count)]
    ways = [[draw(minutes) for _ in visits] for _ in visits]
    out, back = ([draw(minutes) for _ in visits] for _ in range(2))
    begins = draw(st.integers(8 * 60, 13 * 60))
    ends, budget = begins + draw(st.integers(60, 700)), draw(st.sampled_from([math.inf, 120]))
    return Day(visits, ways, out, back, begins, ends, budget=budget)


@settings(max_examples=60, deadline=None)
@given(days())
def test_no_order_is_better_than_the_plan(plan):
    steps = best_plan(plan)
    expected = brute_force(plan)
    if not expected:
        assert steps == []
        return
    assert _rank_of(plan, steps) in expected
    _assert_holds(plan, steps)


def _rank_of(plan, steps):
    made = [step for step in steps if step.visit is not None]
    order = [step.visit for step in made]
    travel = plan.out[order[0]] + plan.back[order[-1]]
    travel += sum(plan.ways[a][b] for a, b in pairwise(order))
    worth = sum(plan.visits[at].worth for at in order)
    misplaced = out_of_turn([step.turn for step in made])
    beside = sum(
        min(unusual for w in plan.visits[step.visit].windows if w.meal == step.meal
            for at, unusual in w.begins(step.begins) if at == step.begins)
        for step in made
    )  # fmt: skip
    return -worth, misplaced, beside, steps[-1].ends + plan.back[order[-1]], travel


def _assert_holds(plan, steps: list[Step]):
    """Hold every step to its window, its way and its length."""
    now, last, meals = plan.begins, None, []
    for step in steps:
        if step.visit is not None:
            visit = plan.visits[step.visit]
            way = plan.out[step.visit] if last is None else plan.ways[last][step.visit]
            assert step.begins >= now + way
            assert any(w.earliest <= step.begins <= w.latest for w in visit.windows)
            assert step.ends == step.begins + visit.minutes
            last = step.visit
        else:
            assert step.begins >= now
        meals += [step.meal] if step.meal else []
        now = step.ends
    assert len(meals) == len(set(meals))
    assert now + plan.back[last] <= plan.ends


LUNCH = Visit(60, (Window(*MEALS["lunch"], "lunch"),))


@pytest.mark.parametrize(
    ("visit", "ends", "minutes"),
    [
        (open_all_day(60), 21 * 60, 90),  # Half as long again.
        (open_all_day(90), 21 * 60, 120),  # Two hours at most,
        (open_all_day(150), 21 * 60, 150),  # and what takes longer as long as ever.
        (open_all_day(60), NINE + 75, 75),  # The day is over.
        (Visit(60, (Window(0, NINE + 10),)), 21 * 60, 70),  # It closes.
        (Visit(60, (Window(0, 24 * 60, usual=(0, NINE + 20)),)), 21 * 60, 80),  # It gets dark.
        (Visit(45, (Window(0, 24 * 60),), is_break=True), 21 * 60, 45),
        (LUNCH, 21 * 60, 60),
    ],
)
def test_one_stays_longer_in_hours_that_are_left_as_far_as_that_is_sensible(visit, ends, minutes):
    only = day([visit], ends=ends)
    [step] = with_longer_stays(only, best_plan(only))
    assert step.ends - step.begins == minutes


def test_a_longer_stay_puts_lunch_off_until_one_and_takes_up_what_was_waited_before():
    both = day([open_all_day(80), LUNCH], begins=10 * 60 + 40)
    first, lunch = with_longer_stays(both, best_plan(both))
    assert (first.ends - first.begins, lunch.begins) == (120, 12 * 60 + 50)
    late = day([open_all_day(80), LUNCH], begins=11 * 60)
    first, lunch = with_longer_stays(late, best_plan(late))
    assert (first.ends - first.begins, lunch.begins) == (110, 13 * 60)


def test_one_more_stop_comes_in_where_it_is_least_out_of_the_way_and_moves_no_other_to_its_place():
    ways = [[0, 40, 5], [40, 0, 40], [5, 40, 0]]
    three = day([open_all_day(60)] * 3, ways, ends=16 * 60)
    steps = [Step(0, NINE, NINE + 60), Step(1, NINE + 100, NINE + 160)]
    assert visits_of(with_another_stop(three, steps, 2)) in ([0, 2, 1], [2, 0, 1])
    assert with_another_stop(replace(three, ends=NINE + 190), steps, 2) == steps
    dear = [*three.visits[:2], replace(three.visits[2], cost=50)]
    assert with_another_stop(replace(three, visits=dear, budget=40), steps, 2) == steps
