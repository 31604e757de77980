"""Tell of what kind a place is, and for which kind a search was: a table of words, no guess."""

import re
from collections.abc import Collection, Sequence
from itertools import pairwise
from typing import Literal

from agent.core.strings import has_han, letters_of
from agent.evidence.language import fold, words
from agent.evidence.mentions import mentioned, without_branch
from agent.evidence.types import Place, PlaceKind
from agent.texts import Language, in_every_language, in_script, is_chinese, say

DemandOutcome = Literal["satisfied", "unknown", "violated"]
"""In the order in which places are shown: by the worst that a demand comes to."""

KINDS: dict[PlaceKind, str] = {
    "restaurant": (
        r"(?<!野)餐|饭|菜|料理|火锅|烧烤|小吃|食(?!品)|酒楼|老字号|牛扒|风味|面馆|拉面|饺|米粉|粥|烤鸭|海鲜"
        r"|肯德基|麦当劳|必胜客|restaurant|fast food|food court"
    ),
    "cafe": r"咖啡|caf[eé]|coffee",
    "bar": r"酒吧|\bbars?\b|\bpubs?\b",
    "hotel": r"酒店|宾馆|旅馆|招待所|民宿|旅舍|住宿|度假村|hotel|hostel",
    "parking": r"停车|parking|\bcar parks?\b",
    "museum": r"博物|纪念馆|美术馆|展览|museum|\bgaller(?:y|ies)\b",
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
_COFFEE = ("咖啡", "cafe", "café", "coffee")
_FOOD: Sequence[PlaceKind] = ("restaurant", "cafe", "bar")
"""Kinds that may be a restaurant, too."""
OF_NO_KIND = (
    r"游乐|礼品|玩具|影院|剧[院场]|地铁|公交|学校|银行|便利店|超级?市|街|道路|地名|playground"
    r"|住宅|小区|园区|产业园|公司|写字楼|图书馆|服装|鞋|动物医|宠物|市场|批发|[小中大]学|幼儿园"
    r"|洗浴|推拿|美容|糕饼|面包|\bstation\b|\bstop\b|\brental\b"
)
_NO_STOPS: Sequence[PlaceKind] = ("hotel", "parking", "pharmacy", "hospital", "station")
_NO_STOP = (
    r"公交|机场|(?<!艇)码头|[汽电]?车站|轮渡|厕所|诊所|门诊|牙科|眼镜|银行|取款|兑换|邮局|使馆|加油"
    r"|充电|出租|租车|租赁|售票|咨询|游客中心|派出所|警察|公司|住宅|公寓|露营|写字楼|办公|地名|出入口"
    r"|地铁口|学校|幼儿园|寄存|回收|售货|理发|洗衣|长椅|淋浴|饮水"
    r"|\b(?:stop|station|airport|ferry terminal|toilets?|clinic|doctors?|dentist|vet|optician)\b"
    r"|\b(?:bank|atm|exchange|post office|embassy|police|rental|taxi|information|guest house)\b"
    r"|\b(?:luggage|holiday flat|campsite|hairdresser|laundry|coworking|school|kindergarten)\b"
    r"|\b(?:recycling|vending machine|bench|shower|drinking water)\b"
)
"""What nobody goes to see on a day out, beside those kinds."""
_SWEETS = (
    r"茶(?!餐)|甜品|冷饮|冰淇淋|糕|面包|\btea\b|ice cream|\bbakery\b|pastry|confectionery"
    r"|sweet shop"
)
_BREAK = rf"{KINDS['cafe']}|茶[馆室座艺楼]|甜品|冷饮|冰淇淋|ice cream|pastry"
_EVENING = r"酒吧|夜店|夜总会|\bbars?\b|night ?club"
_SIGHT = (
    r"风景|景点|名胜|(?<!食)广场|观景|桥|遗址|纪念碑|雕塑|喷泉|公共艺术"
    r"|\b(?:sights?|attraction|viewpoint|monument|memorial|public art|fountain|square|bridge|ruins"
    r"|archaeological site)\b"
)
_LOOKED_AT = r"观景[台点]|雕塑|纪念碑|喷泉|公共艺术|viewpoint|monument|memorial|public art|fountain"
_SMALL = rf"(?:{_LOOKED_AT}|桥|堤|广场|门|牌坊|牌楼|亭|bridge|causeway|square|gate)$"
"""How names of sights end that are seen within half an hour."""
_WITH_ROOMS = (
    r"(?:[寺庙观塔宫园镇府陵城山馆院监坛窟址岛]|church|cathedral|temple|palace|castle|abbey|hall|house"
    r"|tower|museum|gallery)$"
)
"""How those end that take their time, whatever is beside them."""
USUAL_MINUTES, _SMALL_MINUTES = 60, 30
_SHOP = r"专营|礼品|专卖|便利|超市|糕饼|店(?!\w)|shop\b|supermarket|convenience|bakery|florist"
_IN_HOUSES: Sequence[PlaceKind] = (
    *_FOOD, "hotel", "museum", "bookshop", "mall", "pharmacy", "hospital",
)  # fmt: skip
_FLOORS = "层層楼樓階층"
"""Behind their number."""
_NEVER_CLOSED = ("park", "playground", "square", "公园", "城市广场")
_PLAYED_IN = r"儿童游乐场|(?<!indoor )playground"
_OUT_OF_DOORS = r"街|市场|广场|露天|\bmarket\b|open.air|garden"
_MINUTES = {
    300: r"主题公园|迪士尼|环球影城|theme park|disneyland",
    150: r"动物园|海洋|水族|植物园|\bzoo\b|aquarium|botanic",
    120: (
        rf"{KINDS['museum']}|科技馆|天文馆|故宫|剧[院场]|影|音乐厅|(?<!儿童)游乐"
        r"|theat(?:re|er)|cinema|concert|planetarium"
    ),
    90: (
        r"风景|景点|名胜|寺|庙|观|塔|宫|园林|古镇|遗产|城堡|遗址"
        r"|\b(?:sights?|attraction|castle|palace|temple|ruins|archaeological)\b"
    ),
    45: rf"{_BREAK}|{_SHOP}",
}


def is_stop(place: Place) -> bool:
    """Return whether one goes there for its own sake: not to a car park, a station, a hotel."""
    kind = _kind(place)
    return not (has_words(_NO_STOP, kind) or any(is_named(each, kind) for each in _NO_STOPS))


def is_lodging(place: Place) -> bool:
    """Return whether one sleeps there."""
    return is_named("hotel", _kind(place))


def is_aim(place: Place) -> bool:
    """Return whether one goes or sleeps there: what only serves on the way is none, a tram stop."""
    return is_stop(place) or is_lodging(place)


def is_meal(place: Place) -> bool:
    """Return whether one has lunch or dinner there."""
    kind = _kind(place)
    others = is_named("cafe", kind) or is_named("bar", kind) or has_words(_SWEETS, kind)
    return is_named("restaurant", kind) and not (others or has_words(OF_NO_KIND, kind))


def is_break(place: Place) -> bool:
    """Return whether one rests there, over a coffee or an ice cream."""
    return has_words(_BREAK, _kind(place))


def is_in_houses(place: Place) -> bool:
    """Return whether places of its kind are under a roof: restaurants of any cuisine, shops."""
    kind = _kind(place)
    is_housed = has_words(_SHOP, kind) or any(is_named(each, kind) for each in _IN_HOUSES)
    return is_housed and not has_words(_OUT_OF_DOORS, kind)


def is_on_floor(place: Place) -> bool:
    """Return whether an address has the number of a floor: 百货大楼地下2层, 3楼."""
    return any(
        number.isdigit() and sign in _FLOORS for number, sign in pairwise(place["address"] or "")
    )


def is_for_evenings(place: Place) -> bool:
    """Return whether one goes there in the evening only."""
    return has_words(_EVENING, _kind(place))


def stay(place: Place) -> int:
    """Return for how many minutes one usually stays at such a place: a rough estimate."""
    if is_meal(place):
        return USUAL_MINUTES
    kind, name = _kind(place), without_branch(place["name"])
    if _is_sight(place) and (has_words(_SMALL, name) or has_words(_LOOKED_AT, kind)):
        return _SMALL_MINUTES
    about = f"{kind} {name}"
    return next((m for m, kinds in _MINUTES.items() if has_words(kinds, about)), USUAL_MINUTES)


def is_spot(place: Place) -> bool:
    """Return whether a sight is one to look at, without rooms to go through."""
    return _is_sight(place) and not has_words(_WITH_ROOMS, without_branch(place["name"]))


def is_in_daylight(place: Place) -> bool:
    """Return whether one goes there while it is light: to look at it, to walk or to play."""
    return is_spot(place) or is_never_closed(place) or has_words(_PLAYED_IN, _kind(place))


def is_never_closed(place: Place) -> bool:
    """Return whether nobody asks a place of unknown hours for them: a park, a square."""
    return _kind(place) in _NEVER_CLOSED


def _is_sight(place: Place) -> bool:
    return has_words(_SIGHT, _kind(place))


def _kind(place: Place) -> str:
    """Return what a record says a place is, without its cuisines and access in brackets."""
    return without_branch(place["category"] or "")


def is_named(kind: PlaceKind, text: str | None) -> bool:
    """Return whether a text names a kind of place."""
    return has_words(KINDS[kind], text or "")


def has_words(pattern: str, text: str) -> bool:
    """Return whether a text has one of the words of a pattern, in any case."""
    return re.search(pattern, text, re.IGNORECASE) is not None


def kind_outcome(place: Place, kind: PlaceKind) -> DemandOutcome:
    """Return whether a place is of a kind by its category."""
    category = place["category"] or ""
    fits = {name for name in KINDS if is_named(name, category)}
    # A café may well cook; a restaurant is no bar.
    related = {*_FOOD} if kind == "restaurant" else {kind}
    other = bool(fits - related or (not fits and has_words(OF_NO_KIND, category)))
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


def positions(
    places: Sequence[Place], order: Sequence[str]
) -> tuple[list[int], list[str], list[str]]:
    """Return for each place the turns of an order that may be its own, a bit each.

    Then what each turn is for, and what has none: the order has kinds, names and meals ("a café,
    a museum, lunch, another café"), and what no place can be, or none that has no turn already,
    lets the others move up.
    """
    meant, kept, missing = list[frozenset[str]](), list[str](), list[str]()
    for word in order:
        ids = _meant_in_order(places, word)
        if meant.count(ids) < len(ids):
            meant.append(ids)
            kept.append(word)
        else:
            missing.append(word)
    masks = [sum((place["id"] in ids) << at for at, ids in enumerate(meant)) for place in places]
    return masks, kept, missing


def meal_named(word: str) -> str:
    """Return the meal that a word is, in any language that has texts; else nothing."""
    said = fold(word.strip()).replace("饭", "餐")
    meals = {meal: in_every_language(f"outing.meals.{meal}") for meal in ("lunch", "dinner")}
    return next((meal for meal, own in meals.items() if said in map(fold, own)), "")


def is_any_of_kind(word: str) -> bool:
    """Return whether a word of an order is a meal, or a kind of place and nothing beside it."""
    kind = kind_searched(word)
    names = in_every_language(f"constraints.kinds.{kind}") if kind else []
    is_bare = bool(names) and words(word) <= words(" ".join(names))
    return is_bare or bool(meal_named(word) or word.strip().casefold() in _COFFEE)


def names_kind(text: str, word: str) -> bool:
    """Return whether a text names a kind of place that a search's word is for: by it, or its own.

    >>> names_kind("Un museo y un parque", "museum"), names_kind("去博物馆", "博物馆")
    (True, True)
    """
    kind, said = kind_searched(word), words(text)
    own = in_every_language(f"constraints.kinds.{kind}") if kind else []
    return any(
        fold(each) in fold(text) if has_han(each) else bool(words(each)) and words(each) <= said
        for each in (word, *own)
    )


def is_called(place: Place, word: str) -> bool:
    """Return whether a place is what a word of an order says, by its name or its record's kind.

    A "museum" is any of them, a "city museum" only what has both words.
    """
    kind = kind_searched(word)
    if is_any_of_kind(word):
        return kind is None or is_found_for(place, word)
    own = (place["name"], place.get("name_en") or "", place["category"] or "")
    is_whole = bool(mentioned([place], word)) or words(word) <= words(" ".join(own))
    return is_whole or _is_short_for(word, place["name"])


def _is_short_for(word: str, name: str) -> bool:
    """Return whether a name in Han has what is said in order: 乐高店 is 乐高品牌旗舰店 for people.

    The first two characters are together in it.
    """
    said, own = letters_of(word), letters_of(without_branch(name))
    rest = iter(own[max(0, own.find(said[:2])) :])
    is_begun = has_han(said) and said[:2] in own and said != said[:2]
    return is_begun and all(letter in rest for letter in said)


def is_found_for(place: Place, word: str) -> bool:
    """Return whether a place that a search found can be what its word says: no cake is a lunch."""
    kind = kind_searched(word)
    if kind == "restaurant":
        return is_meal(place)
    return kind is None or kind_outcome(place, kind) != "violated"


def _meant_in_order(places: Sequence[Place], word: str) -> frozenset[str]:
    """Return the ids of the places of a meal or a name, else of a search for it, else of a kind."""
    if meal_named(word):
        return frozenset(place["id"] for place in places if is_meal(place))
    kind, said = kind_searched(word), word.strip().casefold()
    called = [place for place in places if not is_any_of_kind(word) and is_called(place, word)]
    found = [place for place in places if said in map(str.casefold, place["keywords"])]
    found = [place for place in found if is_found_for(place, word)]
    of_kind = [place for place in places if kind and kind_outcome(place, kind) == "satisfied"]
    ids = mentioned(places, word) or {place["id"] for place in called or found or of_kind}
    return frozenset(ids)


def in_words(keyword: str, language: Language) -> str:
    """Return what was searched for in the reader's words, as far as it is a kind of place."""
    if is_chinese(language):
        return in_script(keyword, language)
    kind = kind_searched(keyword)
    return say(f"constraints.kinds.{kind}", language) if kind else keyword


def kind_searched(keyword: str) -> PlaceKind | None:
    """Return the kind of place that a search's word names."""
    return next((kind for kind in KINDS if is_named(kind, keyword)), None)
