"""Tell of what kind a place is, and for which kind a search was: a table of words, no guess."""

import re
from collections.abc import Collection, Sequence
from typing import Literal

from agent.evidence.mentions import mentioned
from agent.evidence.types import Place, PlaceKind
from agent.texts import Language, in_script, is_chinese, say

DemandOutcome = Literal["satisfied", "unknown", "violated"]
"""In the order in which places are shown: by the worst that a demand comes to."""

KINDS: dict[PlaceKind, str] = {
    "restaurant": (
        r"餐|饭|菜|料理|火锅|烧烤|小吃|食|酒楼|老字号|牛扒|风味|面馆|拉面|饺|米粉|粥|肯德基|麦当劳"
        r"|必胜客|restaurant"
    ),
    "cafe": r"咖啡|caf[eé]|coffee",
    "bar": r"酒吧|\bbars?\b|\bpubs?\b",
    "hotel": r"酒店|宾馆|旅馆|招待所|民宿|旅舍|住宿|度假村|hotel|hostel",
    "parking": r"停车|parking|\bcar parks?\b",
    "museum": r"博物|纪念馆|美术馆|展览|museum",
    "park": r"公园|植物园|动物园|绿地|(?<!car )\bparks?\b",
    "bookshop": r"书店|bookshop",
    "mall": r"商场|购物|百货|\bmall\b",
    "pharmacy": r"药|pharmacy",
    "hospital": r"医院|hospital",
    "station": (
        r"地铁|轻轨|火车站|高铁站|\bmetro\b|subway|underground|\bu-?bahn"
        r"|(?<!gas )(?<!fire )(?<!petrol )(?<!police )(?<!charging )\bstation\b"
    ),
}
"""What a record's category has, by the kind that is asked for."""
_FOOD: Sequence[PlaceKind] = ("restaurant", "cafe", "bar")
"""Kinds that may be a restaurant, too."""
OF_NO_KIND = re.compile(
    r"游乐|礼品|玩具|影院|剧[院场]|地铁|公交|学校|银行|便利店|超级?市|街|道路|地名|playground"
    r"|住宅|小区|园区|产业园|公司|写字楼|图书馆|服装|鞋|动物医|宠物|市场|批发|[小中大]学|幼儿园"
    r"|洗浴|推拿|美容|糕饼|面包|\bstation\b|\bstop\b|\brental\b"
)


def is_named(kind: PlaceKind, text: str | None) -> bool:
    """Return whether a text names a kind of place."""
    return has_words(KINDS[kind], text or "")


def has_words(words: str, text: str) -> bool:
    """Return whether a text has one of the words of a pattern, in any case."""
    return re.search(words, text, re.IGNORECASE) is not None


def kind_outcome(place: Place, kind: PlaceKind) -> DemandOutcome:
    """Return whether a place is of a kind by its category."""
    category = place["category"] or ""
    fits = {name for name in KINDS if is_named(name, category)}
    # A café may well cook; a restaurant is no bar.
    related = {*_FOOD} if kind == "restaurant" else {kind}
    other = bool(fits - related or (not fits and OF_NO_KIND.search(category)))
    return "satisfied" if kind in fits else "violated" if other else "unknown"


def is_of_no_kind_searched(place: Place) -> bool:
    """Return whether a place is of none of the kinds that the searches which found it were for."""
    searched = kinds_searched(place)
    return bool(searched) and is_of_none(place, searched)


def is_of_none(place: Place, kinds: Collection[PlaceKind | None]) -> bool:
    """Return whether a place is of none of these kinds.

    A search for 美食 finds a street, one for sights a car park.
    """
    other = [kind and kind_outcome(place, kind) == "violated" for kind in kinds]
    is_parking = is_named("parking", place["category"])
    return all(other) or (is_parking and "parking" not in kinds)


def kinds_searched(place: Place) -> set[PlaceKind | None]:
    """Return the kinds that the searches which found a place were for; None of any other kind."""
    return {kind_searched(keyword) for keyword in place["keywords"]}


def positions(places: Sequence[Place], order: Sequence[str]) -> tuple[list[int], int]:
    """Return for each place its possible positions in an order, a bit each, and how many there are.

    The order has kinds and names: "a café, a museum, another café".

    What no place can be, or none that has no position already, has none: the others move up.
    """
    meant = list[frozenset[str]]()
    for word in order:
        ids = _meant_in_order(places, word)
        if meant.count(ids) < len(ids):
            meant.append(ids)
    masks = [sum((place["id"] in ids) << at for at, ids in enumerate(meant)) for place in places]
    return masks, len(meant)


def _meant_in_order(places: Sequence[Place], word: str) -> frozenset[str]:
    """Return the ids of the places of a name, else of those of a search for it, else of a kind."""
    said = word.strip().casefold()
    searched = {p["id"] for p in places if said in map(str.casefold, p["keywords"])}
    return frozenset(
        mentioned(places, word)
        or searched
        or {each["id"] for each in places if _is_of_kind_named(each, word)}
    )


def _is_of_kind_named(place: Place, word: str) -> bool:
    kind = kind_searched(word)
    return kind is not None and kind_outcome(place, kind) == "satisfied"


def in_words(keyword: str, language: Language) -> str:
    """Return what was searched for in the reader's words, as far as it is a kind of place."""
    if is_chinese(language):
        return in_script(keyword, language)
    kind = kind_searched(keyword)
    return say(f"constraints.kinds.{kind}", language) if kind else keyword


def kind_searched(keyword: str) -> PlaceKind | None:
    """Return the kind of place that a search's word names."""
    return next((kind for kind in KINDS if is_named(kind, keyword)), None)
