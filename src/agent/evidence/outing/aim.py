"""What a day over places is to be, and what a record says of a visit."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import median
from typing import get_args

from agent.evidence.constraints import PEOPLE
from agent.evidence.geo import distance_text, metres_apart
from agent.evidence.hours import Opening
from agent.evidence.kinds import is_break, is_called, is_meal, kind_searched, meal_named
from agent.evidence.mentions import mentioned
from agent.evidence.names import map_name
from agent.evidence.outing.schedule import MOST_VISITS, Visit
from agent.evidence.types import OutingWish, Place, Point, StopQuestion, Suits
from agent.texts import Language, say

TOO_FAR_M = 30_000
_RATING = 4
"""Of a place that nobody has rated."""
_DAY = 24 * 60


@dataclass(frozen=True)
class Aim:
    """Hold what a day is to be: `wish` needs a date.

    It begins at `near`, if that is given, and ends at `end`, else there, too. No place comes in
    where one of the `wanted` ids could; those of `before` keep their order as far as that can be.
    The `kinds` were searched for: one of each comes before two of a kind, and one of the `asked`,
    which the person named without an order, before all others. Of others the `chosen` come first:
    a model that has read all of them took them. What of the order is `unsaid`, a word for
    "something outdoors", may be another kind of place, if it was chosen.
    """

    wish: OutingWish
    language: Language
    near: Point | None = None
    wanted: Collection[str] = ()
    before: Sequence[str] = ()
    kinds: Collection[str] = ()
    chosen: Collection[str] = ()
    asked: Sequence[str] = ()
    unsaid: Collection[str] = ()
    end: Point | None = None
    spare: Collection[str] = ()
    """What may come into a changed day for hours that it has left, and for nothing else."""


def kinds_of(aim: Aim) -> list[str]:
    """Return the kinds of which a day has one each, the asked ones first: no meals."""
    kinds = dict.fromkeys([*aim.asked, *sorted(aim.kinds)])
    return [word for word in kinds if kind_searched(word) != "restaurant" and not meal_named(word)]


def stars_of(place: Place) -> float:
    """Return the stars of a place; those of most where nobody has rated it."""
    return _RATING if place["rating"] is None else place["rating"]


def fits_by_record(place: Place) -> bool:
    """Return whether a place is known to meet all that is demanded of it, and something is."""
    verdicts = [v for v in place.get("verdicts", ()) if v["constraint"] != "total_cost"]
    return {each["verdict"] for each in verdicts} == {"satisfied"}


def is_as_meant(place: Place, word: str, aim: Aim) -> bool:
    """Return whether a place is what a word of an order means, though its record may not say so.

    A model that has read the question chose it; or it was searched for what the word describes,
    a playground for "outdoors": nothing on a map is called that, and nothing stands in for it.
    """
    is_found = word.casefold() in map(str.casefold, place["keywords"])
    is_described = is_found and kind_searched(word) is None and not word[:1].isupper()
    return place["id"] in aim.chosen or is_described or is_called(place, word)


def price_a_head(place: Place) -> float | None:
    """Return what a visit costs a person, in yuan; None where nobody knows.

    What a restaurant costs is by the head whatever else it is: one in a mall is filed as that.
    """
    is_each = (place.get("per_head", True) or is_meal(place)) and "currency" not in place
    return place["cost"] if is_each else None


def with_turns_of_chosen(
    places: Sequence[Place], masks: Sequence[int], order: Sequence[str], aim: Aim
) -> list[int]:
    """Return the turns, and to the chosen ones those of a word that nobody said.

    Where a chosen place can be what the word says, and fits as well by its record, or one only
    rests or eats there, none is.
    """
    goes = [not (is_meal(place) or is_break(place)) for place in places]
    chosen = [place["id"] in aim.chosen for place in places]
    rows = list(zip(masks, goes, chosen, strict=True))
    turns = {is_fit: sum(
        1 << at
        for at, word in enumerate(order)
        if word in aim.unsaid
        and any(mask >> at & 1 and goes for mask, goes, _ in rows)
        and not any(mask >> at & 1 and chosen and is_fit <= fits_by_record(place)
                    for place, (mask, _, chosen) in zip(places, rows, strict=True))
    ) for is_fit in (False, True)}  # fmt: skip
    return [
        mask or turns[fits_by_record(place)] * (goes and chosen)
        for place, (mask, goes, chosen) in zip(places, rows, strict=True)
    ]


def first_of_turns(
    visits: Sequence[tuple[Place, Visit]], turns: Mapping[str, int], chosen: Collection[str] = ()
) -> set[str]:
    """Return the ids of the best visit for each turn, and of the best of the chosen ones.

    They have room: a dozen cafés would leave none for the one playground of unknown hours.
    """
    held, first = 0, set[str]()
    for place, _ in visits:
        if turns[place["id"]] & ~held:
            held |= turns[place["id"]]
            first.add(place["id"])
    others = [place["id"] for place, _ in visits if place["id"] in {*chosen} - first]
    return first | {*others[: max(0, MOST_VISITS - len(first))]}


def spans_on(hours: Sequence[Opening] | None, weekday: int) -> list[tuple[int, int]]:
    """Return from when to when a place is open on a day; all day where that is not known."""
    if hours is None:
        return [(0, _DAY)]
    return [(each.start, each.end) for each in hours if weekday in each.days]


def without_far(
    places: Sequence[Place], leave_out: Callable[..., None], language: Language
) -> list[Place]:
    """Return the places that lie together; the others are left out with their distance."""
    if len(places) < 3:
        return [*places]
    middle = Point(
        lng=median(place["wgs84"]["lng"] for place in places),
        lat=median(place["wgs84"]["lat"] for place in places),
    )
    close: list[Place] = []
    for place in places:
        far = metres_apart(middle, place["wgs84"])
        if far > TOO_FAR_M:
            leave_out(place, "far", distance=distance_text(round(far), language))
        else:
            close.append(place)
    return close


def in_their_turn(aim: Aim, meals: Sequence[Place], missed: Sequence[Place]) -> Aim:
    """Return the aim with these meals where its order has restaurants that are not in the day."""
    gone = [*zip((place for place in missed if is_meal(place)), meals, strict=False)]
    if "order" not in aim.wish:
        return aim
    order = [
        next((new["name"] for old, new in gone if mentioned([old], word)), word)
        for word in aim.wish["order"]
    ]
    return replace(aim, wish=OutingWish(**{**aim.wish, "order": order}))


def stop_questions(
    stops: Sequence[Place], wish: OutingWish, language: Language
) -> Iterator[StopQuestion]:
    """Yield for whom a stop is wanted and nobody knows whether it is for them.

    The day is for all of its people: of a lunch, whose record is asked that of no list, too.
    """
    wanted = [suits for suits in wish.get("demands", {}).get("suits", ()) if suits in PEOPLE]
    for place in stops:
        name, verdicts = map_name(place, language), place.get("verdicts", [])
        texts = [v["text"] for v in verdicts
                 if v["verdict"] == "unknown" and v["constraint"] in get_args(Suits)]  # fmt: skip
        judged = {verdict["constraint"] for verdict in verdicts}
        texts += [say(f"constraints.{suits}.unknown", language) for suits in wanted
                  if suits not in judged]  # fmt: skip
        for text in texts:
            yield StopQuestion(place=place["id"], name=name, text=text)
