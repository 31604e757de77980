"""Tell which facts of a place the words beside its card say: the card leaves these out.

A text says a fact where it has its figures, or its very letters; no word of it is understood.
"""

from collections.abc import Iterable, Iterator

from agent.core.strings import letters_of, split_at
from agent.evidence.figures import Figure, figures
from agent.evidence.geo import distance_text
from agent.evidence.language import fold
from agent.evidence.names import origins_of
from agent.evidence.records import cost_text, dialled, hours_text, telephone
from agent.evidence.types import Place
from agent.export.bullet_names import runs_of
from agent.texts import Language, in_script

FIELDS = ("distance", "rating", "cost", "hours", "address", "phone")
"""Of a card, what it may leave out: never what it finds of the wishes."""
_DAYS = 7
_CLAUSES = ",，、;；·.。()（）،؛"


def facts_said(text: str, place: Place, language: Language) -> list[str]:
    """Return the `FIELDS` that a text says of a place."""
    told = figures(text)
    says = {
        "distance": _says_all(told, _ways(place, language)),
        "rating": _says_rating(told, text, place),
        "cost": _says_price(told, text, place, language),
        "hours": _says_hours(told, text, place, language),
        "address": _says_address(text, place, language),
        "phone": bool(telephone(place)) and dialled(telephone(place)) in dialled(text),
    }
    return [field for field in FIELDS if says[field]]


def is_of_facts(text: str, facts: Iterable[str]) -> bool:
    """Return whether each clause of a text stands in one of a card's facts."""
    known = [f" {' '.join(runs_of(fact))} " for fact in facts]
    return all(any(f" {clause} " in fact for fact in known) for clause in _clauses(text))


def _clauses(text: str) -> list[str]:
    """Return the letters and digits of each clause, where it has any."""
    return [*filter(None, (" ".join(runs_of(clause)) for clause in split_at(text, _CLAUSES)))]


def _ways(place: Place, language: Language) -> Iterator[Figure]:
    """Yield the lengths and minutes of ways that a card tells: no straight line beside the walk."""
    first, *further = [metres for _, metres in origins_of(place, language)] or [None]
    for metres in (place.get("walk_m", first), *further, place.get("detour_m")):
        yield from figures(distance_text(metres, "en"))
    seconds = place.get("walk_s")
    if "walk_m" in place and seconds is not None:
        yield from figures(f"{max(1, round(seconds / 60))} min")


def _says_all(told: Iterable[Figure], facts: Iterable[Figure]) -> bool:
    """Return whether there are facts, and each is among the figures of a text."""
    found = [any(_is_same(each, fact) for each in told) for fact in facts]
    return bool(found) and all(found)


def _is_same(told: Figure, fact: Figure) -> bool:
    if fact.clock is not None:
        return fact.clock in told.clocks
    if told.clock is not None or told.date:
        return False
    # Of some languages the word for minutes is not known: "8 Min."
    is_bare = not told.kind and fact.kind in ("second", None)
    return any(
        (one.kind == fact.kind and one.amount == fact.amount)
        or (is_bare and one.amount == fact.bare)
        for one in told.readings
    )


def _says_rating(told: Iterable[Figure], text: str, place: Place) -> bool:
    """Return whether a text has the rating; a whole number may count something, but for a star."""
    rating = f"{place['rating']:g}" if place["rating"] is not None else ""
    return bool(rating) and any(
        not each.kind and each.clock is None and f"{each.value:g}" == rating
        and ("." in rating or "★" in text[max(each.start - 2, 0) : each.start])
        for each in told
    )  # fmt: skip


def _says_price(told: Iterable[Figure], text: str, place: Place, language: Language) -> bool:
    """Return whether a text has the price; that there is none it says in a clause of its own."""
    price = cost_text(place, language)
    is_free = place["cost"] == 0
    return {*_clauses(price)} <= {*_clauses(text)} if is_free else _says_all(told, figures(price))


def _says_hours(told: Iterable[Figure], text: str, place: Place, language: Language) -> bool:
    """Return whether a text has the hours: with their days, unless all days are alike."""
    hours = hours_text(place, language)
    if not hours or letters_of(fold(hours)) in letters_of(fold(text)):
        return bool(hours)
    opening = place.get("opening", [])
    is_daily = len(opening) == 1 and len(opening[0]["days"]) == _DAYS
    return is_daily and _says_all(told, figures(hours))


def _says_address(text: str, place: Place, language: Language) -> bool:
    """Return whether a text has the address, at least its street and number."""
    street = split_at(in_script(place["address"] or "", language), ",，、")[0]
    return bool(street) and letters_of(fold(street)) in letters_of(fold(text))
