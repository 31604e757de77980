"""Check the demands of a question on a place against the map's records.

Nothing is guessed: a field that is empty or cannot be read gives `unknown`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from typing import Any, cast, get_args

from agent.core.strings import letters_of, parted_brackets, split_at, without_accents
from agent.evidence.figures import figures
from agent.evidence.geo import decimal_text, distance_text
from agent.evidence.hours import EVERY_DAY
from agent.evidence.kinds import (
    KINDS,
    DemandOutcome,
    has_words,
    is_in_houses,
    is_named,
    is_on_floor,
    kind_outcome,
    kind_searched,
    kinds_searched,
)
from agent.evidence.mentions import without_branch
from agent.evidence.names import origin_text, own_distance
from agent.evidence.nearness import beyond, near_verdict, walk_verdict
from agent.evidence.open_when import BEFORE, open_verdict
from agent.evidence.queries import clean_text
from agent.evidence.records import cost_words, kind_text, kind_word
from agent.evidence.types import (
    Constraints,
    Distance,
    Place,
    PlaceKind,
    PlaceVerdict,
    SortKey,
    Suits,
)
from agent.texts import Language, say

_MAX_COST, _MAX_METRES, _MAX_WALK_MIN = 1e6, 50_000, 600
_MOST_PEOPLE, _BEST_RATING = 500, 5
_HOURS, _MINUTES = 24, 60
_SUITS = get_args(Suits)
_MOST_OTHER, _LONGEST_DEMAND = 4, 60


def valid_constraints(candidate: Mapping[str, Any]) -> Constraints:
    """Return what can be checked of the constraints that a model wrote."""
    valid = Constraints()
    if (cost := _number(candidate.get("max_cost"), _MAX_COST)) is not None:
        valid["max_cost"] = cost
    if least := _number(candidate.get("min_cost"), _MAX_COST):
        valid["min_cost"] = least
    people = _number(candidate.get("people"), _MOST_PEOPLE)
    if (total := _number(candidate.get("total_cost"), _MAX_COST)) is not None:
        valid["total_cost"] = total
        if people:
            valid["people"] = int(people)
    if rating := _number(candidate.get("min_rating"), _BEST_RATING):
        valid["min_rating"] = rating
    if candidate.get("free") is True:
        valid["free"] = True
    if clock := _opening(candidate.get("open_at")):
        valid["open_at"] = clock
    if clock := valid_clock(candidate.get("open_until")):
        valid["open_until"] = clock
    if days := _weekdays(candidate.get("open_on")):
        valid["open_on"] = days
    if days := _weekdays(candidate.get("not_on")):
        valid["not_on"] = days
    if metres := _number(candidate.get("max_distance_m"), _MAX_METRES):
        valid["max_distance_m"] = int(metres)
    if minutes := _number(candidate.get("max_walk_min"), _MAX_WALK_MIN):
        valid["max_walk_min"] = int(minutes)
    elif metres := _number(candidate.get("max_walk_m"), _MAX_METRES):
        valid["max_walk_m"] = int(metres)
    if suits := [each for each in _SUITS if each in as_list(candidate.get("suits"))]:
        valid["suits"] = suits
    if isinstance(kind := candidate.get("kind"), str) and kind in KINDS:
        valid["kind"] = kind
    if names := _texts(candidate.get("without")):
        valid["without"] = names
    if other := _texts(candidate.get("other")):
        valid["other"] = other
    stated = [*valid, *valid.get("suits", [])]
    if wished := [key for key in as_list(candidate.get("wished")) if key in stated]:
        valid["wished"] = wished
    if order := next((k for k in get_args(SortKey) if k == candidate.get("sort_by")), None):
        valid["sort_by"] = order
    return valid


def _texts(value: object) -> list[str]:
    """Return the texts of a list, each once, bounded."""
    texts = [clean_text(each, _LONGEST_DEMAND) for each in as_list(value) if isinstance(each, str)]
    return list(dict.fromkeys(filter(None, texts)))[:_MOST_OTHER]


def _weekdays(value: object) -> list[int]:
    """Return ISO weekdays; none where all seven are named."""
    days = {day for day in as_list(value) if type(day) is int and 1 <= day <= 7}
    return sorted(days) if len(days) < len(EVERY_DAY) else []


def as_list(value: object) -> list[Any]:
    """Return a list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def valid_clock(value: object) -> str:
    """Return a time as `HH:MM`; empty where it is none."""
    parts = split_at(str(value or "").strip(), ":：.")
    # Longer ones are never made numbers.
    if len(parts) != 2 or len(parts[0]) > 2 or len(parts[1]) != 2:
        return ""
    if not all(map(str.isdecimal, parts)):
        return ""
    hour, minute = map(int, parts)
    return f"{hour:02}:{minute:02}" if hour <= _HOURS and minute < _MINUTES else ""


def _opening(value: object) -> str:
    """Return a time, with the sign before it where some time before it will do."""
    told = str(value or "").strip()
    clock = valid_clock(told.removeprefix(BEFORE))
    return f"{BEFORE}{clock}" if clock and told.startswith(BEFORE) else clock


def _number(value: object, high: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= high else None


_NONE = r"(?!)"
_FITS: dict[Suits, tuple[str, str]] = {
    "children": (
        r"亲子|儿童|少年|游乐|动物园|海洋馆|水族|科技馆|自然博物|玩具|乐高|主题公园"
        r"|\bzoo\b|aquarium|\bkids?\b|child|\btoys?\b|playground|theme park",
        r"酒吧|夜店|夜总会|网吧|棋牌|麻将|会所|足疗|\bbars?\b|night ?club|\bpubs?\b",
    ),
    "elderly": (
        r"无障碍|老年",
        r"酒吧|夜店|夜总会|攀岩|蹦极|漂流|密室|蹦床|网吧|night ?club|climbing|bungee",
    ),
    "wheelchair": (r"无障碍|wheelchair|step-free", r"攀岩|蹦极|漂流|登山步道|climbing|bungee"),
    "indoor": (
        r"室内|博物|美术馆|科技馆|展览|图书馆|书店|商场|购物中心|百货|影院|剧院|剧场|水族|海洋馆"
        r"|餐厅|饭店|火锅|咖啡|茶馆|酒吧|KTV|体育馆"
        r"|indoor|museum|gallery|\bmall\b|library|cinema|theat(?:re|er)|aquarium|restaurant|caf[eé]"
        r"|coffee|bookshop",
        r"公园|广场|步行街|湖|露天|动物园|植物园|风景|绿地|登山|停车场"
        r"|\bparks?\b|\bsquare\b|\bzoo\b|garden|\blake\b|pedestrian street",
    ),
    # What a kitchen does not say of itself is not known: none is unfit.
    "vegetarian": (r"素[菜食斋]|斋[菜饭]|纯素|vegetarian|vegan", _NONE),
    "vegan": (r"纯素|全素|vegan", _NONE),
    "halal": (r"清真|halal", _NONE),
    "kosher": (r"犹太洁食|kosher", _NONE),
    "gluten_free": (r"无麸质|gluten[ -]free", _NONE),
}


PEOPLE = frozenset[Suits]({"children", "elderly"})
FOR_ANYBODY: Sequence[PlaceKind] = ("restaurant", "cafe", "pharmacy", "hospital")
"""Kinds of which one asks for whom they are only where they are what is asked for."""
DIETS = frozenset[Suits]({"vegetarian", "vegan", "halal", "kosher", "gluten_free"})
_OF_ALL = frozenset({
    "open_at", "open_until", "open_on", "not_on", "max_distance_m", "max_walk_m", "max_walk_min",
})  # fmt: skip
"""Demands that hold for whatever is shown."""


def with_own(demands: Constraints, own: Constraints | None) -> Constraints:
    """Return the question's demands with those of one search in their place, or beside them.

    What is to be open on another day, or after the question's hour, need not stay open until that.
    """
    own = own or Constraints()
    gone = {"asked_at"} if own else set[str]()
    days, at = (demands.get("open_on"), own.get("open_on")), own.get("open_at", "")
    if at >= demands.get("open_until", "24:00") or (at and all(days) and days[0] != days[1]):
        gone.add("open_until")
    kept = {key: bound for key, bound in demands.items() if key not in gone}
    both = cast(Constraints, {**kept, **own})
    if suits := [*own.get("suits", []), *demands.get("suits", [])]:
        both["suits"] = list(dict.fromkeys(suits))
    return both


def check(place: Place, constraints: Constraints, language: Language) -> list[PlaceVerdict]:
    """Return one verdict for each constraint, each with the field that says so.

    None of a place that was looked up as another kind than is asked for: a café's station has no
    price a head, and a museum of before is no car park. A car park or a station beside what is
    asked for has to be open and near: what lunch may cost, and whom it suits, is no demand on it.
    What is only wished is told where it is met.
    """
    own = place.get("demands", Constraints())
    if _is_for_others(own.get("kind"), constraints.get("kind")):
        constraints = _of_all(constraints)
    constraints = with_own(constraints, own)
    kind = constraints.get("kind")
    names = f"{place['name']}|{place.get('name_en', '')}"
    unwanted = [_verdict("without", "violated", "name", language)]
    unwanted *= is_ruled_out(names, constraints)
    if _is_of_another_search(place, kind):
        return unwanted
    if _is_reached_by(place, kind):
        constraints = _of_all(constraints)
    verdicts = [
        *unwanted,
        *_costs(place, constraints, language),
        _rating(place, constraints.get("min_rating"), language),
        open_verdict(place, constraints, language),
        near_verdict(place, constraints.get("max_distance_m"), language),
        walk_verdict(place, constraints, language),
        *(
            verdict
            for suits in constraints.get("suits", [])
            if (verdict := _suits(place, suits, language))["verdict"] != "unknown"
            or suits in own.get("suits", [])
            or not (suits in PEOPLE and _is_for_anybody(place, kind))
        ),
        _is_of_kind(place, constraints.get("kind"), language),
        *(_other(place, words, language) for words in constraints.get("other", [])),
    ]
    wished = constraints.get("wished", ())
    return [
        verdict
        for verdict in verdicts
        if verdict and (verdict["verdict"] == "satisfied" or verdict["constraint"] not in wished)
    ]


def _is_for_others(searched: PlaceKind | None, asked: PlaceKind | None) -> bool:
    """Return whether a search of its own kind is none of those that the question's demands mean.

    What lunch may cost is none of a car park's, though no kind was said for lunch.
    """
    return searched not in (None, asked) and (asked is not None or searched == "parking")


def _of_all(constraints: Constraints) -> Constraints:
    """Return the demands that hold for whatever is shown."""
    return cast(Constraints, {key: constraints[key] for key in _OF_ALL & constraints.keys()})  # type: ignore[literal-required]


def is_beside(place: Place, constraints: Constraints) -> bool:
    """Return whether a place was looked up beside what is asked for: a car park, a station."""
    kind = constraints.get("kind")
    is_aside = _is_reached_by(place, kind) or _is_of_another_search(place, kind)
    is_for_some = not PEOPLE.isdisjoint(constraints.get("suits", ()))
    return is_aside or (is_for_some and _is_for_anybody(place, kind))


def _is_for_anybody(place: Place, kind: PlaceKind | None) -> bool:
    """Return whether a place is of a kind to which anybody goes, and no kind was asked for.

    Lunch on a day with a child is no place to play.
    """
    return kind is None and any(is_named(each, place["category"]) for each in FOR_ANYBODY)


def _is_reached_by(place: Place, kind: PlaceKind | None) -> bool:
    """Return whether one only comes by a place: a car park or a station that is not asked for."""
    is_station = kind is None and is_named("station", place["category"])
    return is_station or (kind != "parking" and is_named("parking", place["category"]))


def _is_of_another_search(place: Place, kind: PlaceKind | None) -> bool:
    """Return whether nobody searched for the kind that is demanded where a place was found."""
    searched = kinds_searched(place)
    if kind is None or not searched or kind in searched:
        return False
    return kind_outcome(place, kind) != "satisfied"


def name_suits(name: str, constraints: Constraints) -> bool:
    """Return True if a name alone tells that the place suits whom or what was asked for."""
    return any(has_words(_FITS[suits][0], name) for suits in constraints.get("suits", []))


def is_ruled_out(name: str, constraints: Constraints) -> bool:
    """Return whether a name has one in it that the asker rules out: 星巴克(王府井店)."""
    own = without_accents(name)
    return any(_has_whole(without_accents(each), own) for each in constraints.get("without", []))


def _has_whole(words: str, text: str) -> bool:
    """Return whether words stand in a text, in any case; Latin ones not within another word."""
    return has_words(rf"(?<![^\W_\u2e80-\uffff]){re.escape(words)}(?![^\W_\u2e80-\uffff])", text)


_IN_A_ROOM = 2


def _costs(place: Place, constraints: Constraints, language: Language) -> Iterator[PlaceVerdict]:
    """Yield a verdict for each demand on the price a person; without a price it is unknown."""
    cost, people = place["cost"], constraints.get("people", 1)
    total, limit = constraints.get("total_cost"), constraints.get("max_cost")
    is_each, is_room = place.get("per_head", True), place.get("per_night", False)
    paid = (cost or 0) * (people if is_each else 1)
    told = is_room or any(is_named(kind, place["category"]) for kind in ("hotel", "parking"))
    open_demands = set[str]()
    # For how many a sum has to do, nobody said: it only rules out what is dearer for one.
    if "people" not in constraints and not is_room and cost and cost <= (total or 0):
        open_demands |= {"total_cost"}
    # More than sleep in one room need more of them; a room that is dearer than all is too dear.
    is_dear = told and paid > (total or 0)
    if not (is_each or is_dear) and people > (_IN_A_ROOM if is_room else 1):
        open_demands |= {"total_cost"}
    if not (is_each or told):
        # Of a room and of parking the price is asked for; what a shop's ¥300 is for, nobody knows.
        dear = (cost or 0) > (limit or 0)
        open_demands |= {"max_cost"} if dear else set()
    if "currency" in place:
        # What is demanded is in yuan, and what one is worth today is on no record.
        open_demands |= {"max_cost", "min_cost", "total_cost"}
    demands: tuple[tuple[str, float | None, bool], ...] = (
        ("max_cost", limit, (cost or 0) <= (limit or 0)),
        ("min_cost", least := constraints.get("min_cost"), (cost or 0) >= (least or 0)),
        ("total_cost", total, paid <= (total or 0)),
        ("free", 0.0 if constraints.get("free") else None, cost == 0),
    )
    for demand, bound, is_met in demands:
        if bound is None:
            continue
        outcome: DemandOutcome = (
            "unknown"
            if cost is None or demand in open_demands
            else "satisfied"
            if is_met
            else "violated"
        )
        values = {
            "cost": cost_words(place, language),
            "limit": f"{bound:g}",
            "people": str(people),
            "sum": f"{paid:g}",
        }
        values |= beyond(paid if demand == "total_cost" else (cost or 0), bound, language)
        verdict = _verdict(demand, outcome, "cost", language, **values)
        if demand == "total_cost" and outcome != "unknown" and cost and not is_each:
            verdict["text"] = say(f"constraints.max_cost.{outcome}", language, **values)
        yield verdict


def _rating(place: Place, least: float | None, language: Language) -> PlaceVerdict | None:
    if least is None:
        return None
    rating = place["rating"]
    outcome: DemandOutcome = (
        "unknown" if rating is None else "satisfied" if rating >= least else "violated"
    )
    values = {"rating": decimal_text(f"{rating or 0:g}", language),
              "limit": decimal_text(f"{least:g}", language)}  # fmt: skip
    return _verdict("min_rating", outcome, "rating", language, **values)


def _suits(place: Place, suits: Suits, language: Language) -> PlaceVerdict:
    fits, unfit = _FITS[suits]
    if suits == "wheelchair" and (access := place.get("wheelchair")):
        met: DemandOutcome = "violated" if access == "no" else "unknown"
        text = say(f"constraints.wheelchair.{access}", language)
        return PlaceVerdict(constraint=suits, verdict=met, field="wheelchair", text=text)
    if suits in place.get("suits", []) and suits in DIETS.difference(place.get("wholly", [])):
        text = say(f"constraints.{suits}.some", language)
        return PlaceVerdict(
            constraint=suits, verdict="satisfied", field="category", text=text, partly=True
        )
    if suits in place.get("suits", []):
        # A tag of the record says just that.
        verdict = _verdict(suits, "satisfied", "category", language, value=" ")
        return PlaceVerdict(**{**verdict, "text": parted_brackets(verdict["text"])[0]})
    for field, text in (("category", place["category"] or ""), ("name", place["name"])):
        good, bad = has_words(fits, text), has_words(unfit, text)
        # A name rules nothing out: the shop at a square, 乐高(人民广场店), is under a roof.
        if good != bad and (good or field == "category"):
            outcome: DemandOutcome = "satisfied" if good else "violated"
            # The name stands above the verdict, the category is told in the reader's language.
            value = say("constraints.by_name", language)
            if field == "category":
                value = _bearing(text, fits if good else unfit, language)
            return _verdict(suits, outcome, field, language, value=value)
    if suits == "indoor" and is_in_houses(place):
        value = kind_word(without_branch(place["category"] or ""), language)
        return _verdict(suits, "satisfied", "category", language, value=value)
    if suits == "indoor" and is_on_floor(place):
        value = say("constraints.by_address", language)
        return _verdict(suits, "satisfied", "address", language, value=value)
    return _verdict(suits, "unknown", "category", language)


def _bearing(category: str, pattern: str, language: Language) -> str:
    """Return the words of a record's kind that a pattern finds: not its cuisines for its ramp."""
    name, inside = parted_brackets(category)
    parts = [name, *filter(None, split_at(inside, ",，、"))]
    found = [part.strip() for part in parts if has_words(pattern, part)] or [category]
    return say("punctuation.comma", language).join(kind_word(part, language) for part in found)


def _other(place: Place, words: str, language: Language) -> PlaceVerdict:
    """A demand without a field is met where the record's kind has its very words: "italian".

    "Near the metro" is met where a station was found, or searched around, close by; a car park is
    its own only at its very spot, or with its name. Of what lies further off it is told how far.
    A limit in other money is met by what costs nothing.
    """
    kind = kind_searched(words)
    beside = [
        (metres, near)
        for near in (*place.get("further", []), _searched_around(place))
        if kind and near.get("kind") == kind and (metres := near["metres"]) is not None
    ]
    if beside:
        metres, near = min(beside, key=itemgetter(0))
        is_close, key = metres <= _CLOSE_M, "far"
        if kind == "parking" and is_close:
            is_close, key = metres <= _AT_ITS_SPOT_M or _bears_name(near, place), "beside"
        value = f"{origin_text(near, language)} {distance_text(metres, language)}"
        return PlaceVerdict(
            constraint="other",
            verdict="satisfied" if is_close else "unknown",
            field="further",
            text=say(
                f"constraints.other.{'satisfied' if is_close else key}",
                language,
                demand=words,
                value=value,
            ),
        )
    if place["cost"] == 0 and any(figure.is_money for figure in figures(words)):
        free = cost_words(place, language)
        return _verdict("other", "satisfied", "cost", language, demand=words, value=free)
    own = kind_text(place, language)
    if _has_whole(words, f"{place['category'] or ''}|{own}"):
        value = _bearing(own, re.escape(words), language)
        verdict = _verdict("other", "satisfied", "category", language, demand=words, value=value)
        is_said = value.casefold() == words.casefold()
        return PlaceVerdict(**{**verdict, "text": words}) if is_said else verdict
    return _verdict("other", "unknown", "", language, demand=words)


def _bears_name(near: Distance, place: Place) -> bool:
    """Return whether what is near is called by a place: 王府井饭店停车场."""
    own = letters_of(without_branch(place["name"]))
    return bool(own) and own in letters_of(near["origin"])


def _searched_around(place: Place) -> Distance:
    """Return how far a place is from what it was found around, with the kind that this is."""
    around = own_distance(place)
    if kind := kind_searched(around["origin"]):
        around["kind"] = kind
    return around


def _is_of_kind(place: Place, kind: PlaceKind | None, language: Language) -> PlaceVerdict | None:
    if kind is None:
        return None
    outcome = kind_outcome(place, kind)
    by_name = outcome == "unknown" and is_named(kind, place["name"])
    if by_name:
        text = say(f"constraints.kinds.{kind}", language)
        value = say("constraints.by_name", language)
        return _verdict("kind", "satisfied", "name", language, kind=text, value=value)
    asked, listed = say(f"constraints.kinds.{kind}", language), kind_text(place, language) or ""
    if outcome == "violated":
        listed = parted_brackets(listed)[0]
    verdict = _verdict("kind", outcome, "category", language, kind=asked, value=listed)
    # "cafe (vegan options)", not "café (cafe (vegan options))".
    is_said = outcome == "satisfied" and without_accents(listed.casefold()).startswith(
        without_accents(asked.casefold())
    )
    return PlaceVerdict(**{**verdict, "text": listed}) if is_said else verdict


_CLOSE_M, _AT_ITS_SPOT_M = 500, 100
"""As far as one walks to a station; from a place's point on the map to what is in its building."""


def _verdict(
    constraint: str, outcome: DemandOutcome, field: str, language: Language, **values: str
) -> PlaceVerdict:
    if "value" in values:
        # In brackets stand the cuisines of a record's kind, and its access.
        told = filter(None, parted_brackets(values["value"]))
        values["value"] = say("punctuation.comma", language).join(told)
    text = say(f"constraints.{constraint}.{outcome}", language, **values)
    return PlaceVerdict(constraint=constraint, verdict=outcome, field=field, text=text)
