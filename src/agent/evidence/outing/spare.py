"""What comes into a day beside its order, where the hours that were named leave room."""

from collections.abc import Sequence
from dataclasses import replace

from agent.evidence.kinds import is_break, is_for_evenings, is_meal
from agent.evidence.outing.aim import Aim, fits_by_record
from agent.evidence.outing.schedule import Day, Step, Visit, best_plan
from agent.evidence.types import Place


def filled(
    day: Day, steps: list[Step], free: Sequence[Visit], places: Sequence[Place], aim: Aim, said: int
) -> list[Step]:
    """Return the steps with what else was chosen, and what fits by its record, if there is time.

    Of that none is of a kind that somebody `said`, the turns of these a bit each: who wants a
    museum wants no second one. `free` are the visits without turns.
    """
    made, spare = {step.visit for step in steps}, dict[tuple[object, ...], int]()
    for at, (place, visit) in enumerate(zip(places, day.visits, strict=True)):
        is_chosen = place["id"] in aim.chosen
        if at in made or is_meal(place) or is_break(place) or is_for_evenings(place):
            continue
        if is_chosen or (fits_by_record(place) and not visit.turns & said):
            # One of a kind.
            spare.setdefault((is_chosen and at, visit.turns, place["category"]), at)
    if not spare:
        return steps
    visits = [
        replace(free[at], is_wanted=False, worth=1) if at in spare.values()
        else visit if at in made else replace(visit, windows=())
        for at, visit in enumerate(day.visits)
    ]  # fmt: skip
    more = best_plan(replace(day, visits=visits))
    return more if made <= {step.visit for step in more} else steps
