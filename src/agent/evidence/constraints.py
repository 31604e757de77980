"""Read the demands of a question on a place, and check the map's records against them.

Nothing is guessed: a field that is empty or cannot be read gives `unknown`.
"""

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

from agent.core.patterns import Linear, piece
from agent.evidence.places import extract_place
from agent.evidence.queries import clean_text
from agent.evidence.records import cost_words, hours_text, kind_text
from agent.evidence.types import Constraints, Kind, Place, Suits, Verdict
from agent.texts import Language, say

_MAX_COST, _MAX_METRES = 1e6, 50_000
_METRES_PER_MINUTE = 80
_MOST_PEOPLE, _BEST_RATING = 500, 5
_DAY = 24 * 60
_CLOCK = re.compile(r"([01]?\d|2[0-4])[:：]([0-5]\d)")
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
    if people and (total := _number(candidate.get("total_cost"), _MAX_COST)) is not None:
        valid["total_cost"], valid["people"] = total, int(people)
    if rating := _number(candidate.get("min_rating"), _BEST_RATING):
        valid["min_rating"] = rating
    if candidate.get("free") is True:
        valid["free"] = True
    if clock := valid_clock(candidate.get("open_at")):
        valid["open_at"] = clock
    if clock := valid_clock(candidate.get("open_until")):
        valid["open_until"] = clock
    if days := _weekdays(candidate.get("open_on")):
        valid["open_on"] = days
    if days := _weekdays(candidate.get("not_on")):
        valid["not_on"] = days
    if metres := _number(candidate.get("max_distance_m"), _MAX_METRES):
        valid["max_distance_m"] = int(metres)
    if metres := _number(candidate.get("max_walk_m"), _MAX_METRES):
        valid["max_walk_m"] = int(metres)
    if suits := [each for each in _SUITS if each in listed(candidate.get("suits"))]:
        valid["suits"] = suits
    if isinstance(kind := candidate.get("kind"), str) and kind in _KINDS:
        valid["kind"] = kind
    words = [clean_text(each, _LONGEST_DEMAND) for each in listed(candidate.get("other"))
             if isinstance(each, str)]  # fmt: skip
    if other := list(dict.fromkeys(filter(None, words)))[:_MOST_OTHER]:
        valid["other"] = other
    return valid


def _weekdays(value: object) -> list[int]:
    """Return ISO weekdays; none where all seven are named."""
    days = {day for day in listed(value) if type(day) is int and 1 <= day <= 7}
    return sorted(days) if len(days) < len(_EVERY_DAY) else []


def listed(value: object) -> list[Any]:
    """Return a list as it is, anything else as an empty one."""
    return value if isinstance(value, list) else []


def valid_clock(value: object) -> str:
    """Return a time as `HH:MM`; empty where it is none."""
    match = _CLOCK.fullmatch(str(value or "").strip())
    return f"{int(match[1]):02}:{match[2]}" if match else ""


def _number(value: object, high: float) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value <= high else None


_CURRENCY = r"(?:元|块钱?|yuan|rmb|cny|¥|￥)"
_AMOUNT = r"(?:[¥￥]\s*)?(?:\d+\s*[-~～到至]\s*)?(\d{1,6})"
_BUDGETS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:人均|每人|一个人|预算)[^\d，。,.;；]{{0,6}}{_AMOUNT}(?!\s*{_CURRENCY}?\s*以上|\d)",
        rf"(?:不超过|低于|少于|不到)\s*{_AMOUNT}\s*{_CURRENCY}",
        rf"{_AMOUNT}\s*{_CURRENCY}\s*(?:以内|以下|之内)",
        rf"(?:under|below|less than|at most|up to|no more than|within|budget of)\s+"
        rf"(?:(?:rmb|cny|¥|￥)\s*(\d{{1,6}})|(\d{{1,6}})\s*{_CURRENCY})",
    )
)
_DISTANCE = re.compile(
    r"(\d+(?:\.\d+)?)\s*(公里|千米|米|km|m)\s*(?:以内|之内|内|范围)"
    r"|\bwithin (\d+(?:\.\d+)?)\s*(km|kilomet\w+|m|met\w+)\b",
    re.IGNORECASE,
)
_WALK = re.compile(
    r"(?:步行|走路)\s*(\d{1,2})\s*分钟|\b(\d{1,2})[- ]min(?:ute)?s?['’]? walk", re.IGNORECASE
)
_WEEKDAYS = {name: 1 + at % 7 for at, name in enumerate("一二三四五六日")} | {"天": 7}
_ENGLISH_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_OPEN_ON = re.compile(
    r"(?<!每)(?<!至)(?<!到)(?:周|星期|礼拜)([一二三四五六日天])(?![至到、和])(?:[上下]午|晚上|早上)?"
    r"\s*[^，。,.？?]{0,6}?(?:开|营业|去|逛|玩|游|遛|带|陪|参观|看展|吃|喝|约)"
    r"|\bopen (?:on )?(mon|tue|wed|thu|fri|sat|sun)[a-z]*"
    # The day of a visit: "on Saturdays" is a custom, "closed on Monday" no visit.
    r"|(?<!closed )\b(?:on|this|next) (mon|tues|wednes|thurs|fri|satur|sun)day\b",
    re.IGNORECASE,
)
_OPEN_AT = re.compile(
    r"(上午|早上|中午|下午|傍晚|晚上|夜里|凌晨)?\s*(\d{1,2}|[一二两三四五六七八九十]{1,3})\s*"
    r"(?:点|时|[:：])\s*(半|[0-5]\d)?(?:钟|分)?\s*(?:以后|之后|后|还|仍|也|能)?[^，。,.？?]{0,3}?(?:开|营业|去)"
    r"|\b(?:open|go|visit|come)\w*\b.{0,20}?\b(?:at|until|till|after|past) "
    r"(\d{1,2})(?::([0-5]\d))?\s*([ap])\.?m",
    re.IGNORECASE,
)
_LATE = "22:00"
_OPEN_LATE = re.compile(
    r"(?:开|营业)[到至得](?:很|比较|较|挺)?(?:晚|深夜|半夜|凌晨)"
    r"|(?:打烊|关门|闭店|收摊)(?:时间)?[得的]?(?:比较|较|很|挺)?晚|晚[点些]?(?:打烊|关门)"
    r"|(?:深夜|半夜|很晚|夜里|晚上(?=[还仍]))[也还仍都]?(?:能|会|在)?(?:开|营业)"
    r"|\b(?:open(?:s|ing)?|clos(?:es?|ing))(?: (?:until|till|very|quite|really))* late\b"
    r"|\blate[- ](?:opening|night)|\b(?:open|late) at night\b",
    re.IGNORECASE,
)
_CHINESE_DIGITS = {digit: at for at, digit in enumerate("零一二三四五六七八九十")} | {"两": 2}
_AFTERNOON = ("下午", "傍晚", "晚上", "夜里")
_FOR_WHOM: dict[Suits, re.Pattern[str]] = {
    "children": re.compile(
        r"遛娃|带娃|娃|孩子|小孩|小朋友|儿童|亲子|宝宝|\bkids?\b|\bchild(?:ren)?\b|\btoddlers?\b",
        re.I,
    ),
    "elderly": re.compile(r"老人|老年|长辈|爸妈|\belderly\b|\bseniors?\b", re.I),
    "wheelchair": re.compile(r"轮椅|无障碍|\bwheelchairs?\b", re.I),
    "indoor": re.compile(
        r"室内|雨天|下雨天|下雨(?:时|也|去|能)|避雨|\bindoors?\b|\brainy\b|\bwhen it rains\b", re.I
    ),
}
_KINDS: dict[Kind, tuple[str, str, str]] = {
    "restaurant": (
        r"餐厅|饭店|饭馆|餐馆|火锅店?|小吃|美食|好吃的",
        r"restaurants?|eater(?:y|ies)|places? to eat",
        r"餐|饭|菜|料理|火锅|烧烤|小吃|食|酒楼|老字号|牛扒|风味|肯德基|麦当劳|必胜客|restaurant",
    ),
    "cafe": (r"咖啡[馆店厅]?", r"caf[eé]s?|coffee(?: shops?| houses?)?", r"咖啡|caf[eé]|coffee"),
    "bar": (r"酒吧", r"bars?|pubs?", r"酒吧|\bbars?\b|\bpubs?\b"),
    "hotel": (
        r"酒店|宾馆|旅馆|民宿", r"hotels?|hostels?|guest ?houses?",
        r"酒店|宾馆|旅馆|招待所|民宿|旅舍|住宿|度假村|hotel|hostel",
    ),
    "parking": (r"停车[场位库]", r"car parks?|parking(?: lots?)?", r"停车|parking"),
    "museum": (r"博物馆|美术馆", r"museums?|galler(?:y|ies)", r"博物|纪念馆|美术馆|展览|museum"),
    "park": (r"公园", r"parks?", r"公园|植物园|动物园|绿地|\bparks?\b"),
    "bookshop": (r"书店", r"book ?(?:shops?|stores?)", r"书店|bookshop"),
    "mall": (r"商场|购物中心", r"(?:shopping )?malls?", r"商场|购物|百货|\bmall\b"),
    "pharmacy": (r"药店|药房", r"pharmac(?:y|ies)", r"药|pharmacy"),
    "hospital": (r"医院", r"hospitals?", r"医院|hospital"),
}  # fmt: skip
"""Each kind as a question has it, in Chinese and in English, and as a record's category does."""
_FOOD: Sequence[Kind] = ("restaurant", "cafe", "bar")
"""Kinds of which a place may be several."""
_OF_NO_KIND = re.compile(
    r"游乐|礼品|玩具|影院|剧[院场]|地铁|公交|学校|银行|便利店|超级?市|街|道路|地名|playground"
)
_ASKED_ZH = re.compile(
    "(?:" + "|".join(f"(?P<{kind}>{zh})" for kind, (zh, _, _) in _KINDS.items()) + ")"
    r"(?:有吗|吗|呢|有?哪些|有什么|在哪里?|推荐|哪家好?|怎么样|[，,][^，,。？]{0,20})?\s*[？。！?!]*$"
)
_ASKED_EN = re.compile(
    r"(?:^|\b(?:an?|any|some|good|best|nice|cheap|cosy|which|what|find|recommend|suggest|me|the)\s)"
    r"(?:[\w'’-]+\s){0,2}?(?:"
    + "|".join(f"(?P<{kind}>{en})" for kind, (_, en, _) in _KINDS.items())
    + r")\b(?=\s+(?:near|nearby|around|in|at|for|with|that|which|open|within|under|close|by|on"
    r"|where|are|is)\b|\s*[?.!]*$)",
    re.IGNORECASE,
)
_MORE_THAN_A_KIND = re.compile(
    r"玩|逛|游|景点|去处|行程|安排|路线|怎么走|怎么去|多远|顺便|然后|再去|、|和"
    r"|\b(?:and|then|or|route|trip|itinerary|day|things? to do|where to (?:go|take)|how far)\b",
    re.IGNORECASE,
)
_SAME_SUBJECT = re.compile(
    r"^(?:那?有没有|那)?(?:再|更|还有|别的|其他|其它|换)|便宜[一点些]|近[一点些]"
    r"|\b(?:cheaper|closer|nearer|another|others?|else|instead)\b",
    re.IGNORECASE,
)


def constraints_by_rules(question: str) -> Constraints:
    """Return the constraints that a question states in plain words."""
    text = piece(unicodedata.normalize("NFKC", question))
    stated: dict[str, Any] = {
        "max_cost": _budget(text),
        "max_distance_m": _distance(text),
        "open_on": [_weekday(match) for match in _OPEN_ON.finditer(text)],
        "suits": [suits for suits, words in _FOR_WHOM.items() if words.search(text)],
        "kind": _kind(text),
    }
    if match := _OPEN_AT.search(text):
        stated["open_at"] = _clock(match)
    elif _OPEN_LATE.search(text):
        stated["open_until"] = _LATE
    return valid_constraints(stated)


def keeps_subject(question: str) -> bool:
    """Return whether a follow-up, by its own words, asks for more of the same."""
    return bool(_SAME_SUBJECT.search(question.strip())) and extract_place(question) is None


def _kind(text: str) -> str | None:
    """Return the one kind of place that a question asks for; None for several, or for more."""
    kinds = set[str | None]()
    for line in filter(None, map(str.strip, text.splitlines())):
        match = _ASKED_ZH.search(line) or _ASKED_EN.search(line)
        kinds.add(match.lastgroup if match and not _MORE_THAN_A_KIND.search(line) else None)
    return kinds.pop() if len(kinds) == 1 else None


def _budget(text: str) -> float | None:
    for pattern in _BUDGETS:
        if match := pattern.search(text):
            return float(next(amount for amount in match.groups() if amount))
    return None


def _distance(text: str) -> float | None:
    if match := _DISTANCE.search(text):
        number, unit = (match[1], match[2]) if match[1] else (match[3], match[4])
        return float(number) * (1000 if unit.casefold()[0] in "公千k" else 1)
    walk = _WALK.search(text)
    return float(walk[1] or walk[2]) * _METRES_PER_MINUTE if walk else None


def _weekday(match: re.Match[str]) -> int:
    if match[1]:
        return _WEEKDAYS[match[1]]
    return 1 + _ENGLISH_DAYS.index((match[2] or match[3]).casefold()[:3])


def _clock(match: re.Match[str]) -> str:
    part, hour, minute = match[1], match[2], match[3] or "0"
    if match[4]:
        hours = int(match[4]) % 12 + (12 if match[6].casefold() == "p" else 0)
        return f"{hours}:{int(match[5] or 0):02}"
    hours = int(hour) if hour.isascii() else chinese_number(hour)
    if part in _AFTERNOON and hours < 12:
        hours += 12
    return f"{hours}:{30 if minute == '半' else int(minute):02}"


def chinese_number(text: str) -> int:
    """Return a number below 100 in Chinese digits; 0 for what is none."""
    tens, ten, units = text.rpartition("十")
    number = _CHINESE_DIGITS.get(units, 0)
    return number + 10 * _CHINESE_DIGITS.get(tens, 1) if ten else number


@dataclass(frozen=True)
class Opening:
    """Hold hours of some weekdays, in minutes since midnight; `end` may pass 1440."""

    days: frozenset[int]
    start: int
    end: int


_EVERY_DAY = frozenset(range(1, 8))
_DAY_NAME = r"(?:周|星期|礼拜)?([一二三四五六日天])"
_HOURS = re.compile(
    r"(?P<range>(?:周|星期|礼拜)[一二三四五六日天]\s*[至到~-]\s*(?:周|星期|礼拜)?[一二三四五六日天])"
    r"|(?P<english>\b(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*(?:\s*[-–]\s*(?:mon|tue|wed|thu|fri|sat|sun)[a-z]*)?)"
    r"|(?P<every>每天|每日|\bdaily\b)|(?P<work>工作日)|(?P<weekend>周末|双休日)"
    r"|(?P<day>(?:周|星期|礼拜)[一二三四五六日天])"
    r"|(?P<span>\d{1,2}:\d{2}\s*[-~至到]\s*(?:次日|翌日|第二天)?\s*\d{1,2}:\d{2})"
    r"|(?P<always>24小时(?:营业|开放)?|24\s?/\s?7|24 hours|全天(?:营业|开放|候客)?|\ball day\b)"
    r"|(?P<closed>闭馆|休馆|闭园|休息|不开放|不营业|店休|\bclosed\b)",
    re.IGNORECASE,
)
_NOTE = Linear(r"[(【\[][^)】\]]*[)】\]]")
_NO_HOURS = re.compile(r"(?:营业|开放|开馆)时间|营业|开放|[\s,，、;；:。.和及]")


def opening_hours(text: str) -> list[Opening] | None:
    """Return the weekly hours that a record states; None where any of it cannot be read."""
    plain = unicodedata.normalize("NFKC", text).replace("—", "-").replace("–", "-")
    plain = _NOTE.sub("", plain)
    if _NO_HOURS.sub("", _HOURS.sub("", plain)):
        return None
    hours: list[Opening] = []
    days: set[int] = set()
    closed: set[int] = set()
    complete = True
    for match in _HOURS.finditer(plain):
        kind = str(match.lastgroup)
        if kind in ("span", "always", "closed"):
            complete = True
            if kind == "closed":
                closed |= days
            else:
                hours.append(_opening(match[0], kind, days))
        else:
            days = (set() if complete else days) | _days(match[0], kind)
            complete = False
    return [_without(each, closed) for each in hours] or None


def _opening(text: str, kind: str, days: set[int]) -> Opening:
    on = frozenset(days) or _EVERY_DAY
    if kind == "always":
        return Opening(on, 0, _DAY)
    (start, end) = (
        int(hour) * 60 + int(minute) for hour, minute in re.findall(r"(\d+):(\d+)", text)
    )
    return Opening(on, start, end if end > start else end + _DAY)


def _without(opening: Opening, closed: set[int]) -> Opening:
    return Opening(opening.days - closed, opening.start, opening.end)


def _days(text: str, kind: str) -> set[int]:
    if kind == "every":
        return set(_EVERY_DAY)
    if kind in ("work", "weekend"):
        return {1, 2, 3, 4, 5} if kind == "work" else {6, 7}
    if kind == "english":
        names = re.findall("|".join(_ENGLISH_DAYS), text.casefold())
        ends = [1 + _ENGLISH_DAYS.index(name) for name in names]
    else:
        ends = [_WEEKDAYS[name] for name in re.findall("[一二三四五六日天]", text)]
    first, last = ends[0], ends[-1]
    return {1 + (first - 1 + step) % 7 for step in range((last - first) % 7 + 1)}


def _is_open(hours: Sequence[Opening], day: int, minute: int | None) -> bool:
    if minute is None:
        return any(day in each.days for each in hours)
    before = 1 + (day - 2) % 7
    return any(
        (day in each.days and each.start <= minute < each.end)
        or (before in each.days and minute + _DAY < each.end)
        for each in hours
    )


Outcome = Literal["satisfied", "violated", "unknown"]
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
}


def check(place: Place, constraints: Constraints, language: Language) -> list[Verdict]:
    """Return one verdict for each constraint, each with the field that says so."""
    verdicts = [
        *_costs(place, constraints, language),
        _rating(place, constraints.get("min_rating"), language),
        _open(place, constraints, language),
        _near(place, constraints.get("max_distance_m"), language),
        _walk(place, constraints.get("max_walk_m"), language),
        *(_suits(place, suits, language) for suits in constraints.get("suits", [])),
        _is_of_kind(place, constraints.get("kind"), language),
        *(
            _verdict("other", "unknown", "", language, demand=words)
            for words in constraints.get("other", [])
        ),
    ]
    return [verdict for verdict in verdicts if verdict]


def judged(places: Sequence[Place], constraints: Constraints, language: Language) -> list[Place]:
    """Return the places with their verdicts: first what meets all, last what meets one not."""
    if not constraints:
        return list(places)
    checked = [
        Place(**{**place, "verdicts": check(place, constraints, language)}) for place in places
    ]
    return sorted(checked, key=_rank)


def fitting(places: Sequence[Place], constraints: Constraints, language: Language) -> int:
    """Return how many of the places break no constraint; what is unknown breaks none."""
    return sum(_rank(place) < _VIOLATED for place in judged(places, constraints, language))


_VIOLATED = 2


def name_suits(name: str, constraints: Constraints) -> bool:
    """Return True if a name alone tells that the place suits whom or what was asked for."""
    return any(
        re.search(_FITS[suits][0], name, re.IGNORECASE) for suits in constraints.get("suits", [])
    )


def _rank(place: Place) -> int:
    outcomes = {verdict["verdict"] for verdict in place.get("verdicts", [])}
    return _VIOLATED if "violated" in outcomes else 1 if "unknown" in outcomes else 0


def _costs(place: Place, constraints: Constraints, language: Language) -> Iterator[Verdict]:
    """Yield a verdict for each demand on the price a person; without a price it is unknown."""
    cost, people = place["cost"], constraints.get("people", 1)
    total = constraints.get("total_cost")
    demands: tuple[tuple[str, float | None, bool], ...] = (
        ("max_cost", limit := constraints.get("max_cost"), (cost or 0) <= (limit or 0)),
        ("min_cost", least := constraints.get("min_cost"), (cost or 0) >= (least or 0)),
        ("total_cost", total, (cost or 0) * people <= (total or 0)),
        ("free", 0.0 if constraints.get("free") else None, cost == 0),
    )
    for demand, bound, is_met in demands:
        if bound is None:
            continue
        outcome: Outcome = "unknown" if cost is None else "satisfied" if is_met else "violated"
        values = {
            "cost": cost_words(place, language),
            "limit": f"{bound:g}",
            "people": str(people),
            "sum": f"{(cost or 0) * people:g}",
        }
        yield _verdict(demand, outcome, "cost", language, **values)


def _rating(place: Place, least: float | None, language: Language) -> Verdict | None:
    if least is None:
        return None
    rating = place["rating"]
    outcome: Outcome = (
        "unknown" if rating is None else "satisfied" if rating >= least else "violated"
    )
    values = {"rating": f"{rating or 0:g}", "limit": f"{least:g}"}
    return _verdict("min_rating", outcome, "rating", language, **values)


def _walk(place: Place, limit: int | None, language: Language) -> Verdict | None:
    """A way on foot is never shorter than the straight line, and often much longer."""
    if limit is None:
        return None
    metres = place["distance_m"]
    outcome: Outcome = "violated" if metres is not None and metres > limit else "unknown"
    values = {"metres": str(metres or 0), "limit": str(limit)}
    return _verdict("max_walk_m", outcome, "distance_m", language, **values)


def _near(place: Place, limit: int | None, language: Language) -> Verdict | None:
    if limit is None:
        return None
    metres = place["distance_m"]
    outcome: Outcome = (
        "unknown" if metres is None else "satisfied" if metres <= limit else "violated"
    )
    values = {"metres": str(metres or 0), "limit": str(limit)}
    return _verdict("max_distance_m", outcome, "distance_m", language, **values)


def _open(place: Place, constraints: Constraints, language: Language) -> Verdict | None:
    at, days = constraints.get("open_at"), constraints.get("open_on")
    until = constraints.get("open_until") if at is None else None
    ruled_out = [] if days else constraints.get("not_on", [])
    if not (at or days or until or ruled_out):
        return None
    hours = opening_hours(place["open_time"] or "")
    constraint = "open_at" if at else "open_until" if until else "open_on" if days else "not_on"
    names = [say(f"records.weekdays.{day}", language) for day in days or ruled_out]
    if ruled_out:
        days = sorted(_EVERY_DAY.difference(ruled_out))
        names = names if constraint == "not_on" else []
    when = " ".join([*names, *filter(None, [at or until])])
    values = {"when": when, "hours": hours_text(place, language)}
    outcome = openness(hours, at, days, until=until)
    return _verdict(constraint, outcome, "open_time", language, **values)


def openness(
    hours: list[Opening] | None, at: str | None, days: list[int] | None, *, until: str | None = None
) -> Outcome:
    """Return whether hours hold at a time (`HH:MM`), or till one, on one of some ISO weekdays.

    Without a day, the time has to fit every day on which the place opens at all.
    """
    if hours is None:
        return "unknown"
    minute = None
    if clock := until or at:
        hour, _, rest = clock.partition(":")
        # Open till 22:00 is open in the minute before.
        minute = (int(hour) * 60 + int(rest) - bool(until)) % _DAY
    if days:
        return "satisfied" if any(_is_open(hours, day, minute) for day in days) else "violated"
    opens = [
        _is_open(hours, day, minute) for day in sorted(_EVERY_DAY) if _is_open(hours, day, None)
    ]
    if all(opens):
        return "satisfied" if opens else "violated"
    return "unknown" if any(opens) else "violated"


def _suits(place: Place, suits: Suits, language: Language) -> Verdict:
    fits, unfit = (re.compile(words, re.IGNORECASE) for words in _FITS[suits])
    # The name stands above the verdict, the category is told in the reader's language.
    by_name = say("constraints.by_name", language)
    for field, text, value in (
        ("category", place["category"] or "", kind_text(place, language)),
        ("name", place["name"], by_name),
    ):
        good, bad = fits.search(text), unfit.search(text)
        if bool(good) != bool(bad):
            outcome: Outcome = "satisfied" if good else "violated"
            return _verdict(suits, outcome, field, language, value=value)
    return _verdict(suits, "unknown", "category", language)


def _is_of_kind(place: Place, kind: Kind | None, language: Language) -> Verdict | None:
    if kind is None:
        return None
    category = place["category"] or ""
    fits = {name for name, (*_, words) in _KINDS.items() if re.search(words, category, re.I)}
    related = {*_FOOD} if kind in _FOOD else {kind}
    other = bool(fits - related or (not fits and _OF_NO_KIND.search(category)))
    outcome: Outcome = "satisfied" if kind in fits else "violated" if other else "unknown"
    by_name = outcome == "unknown" and bool(re.search(_KINDS[kind][2], place["name"], re.I))
    if by_name:
        text = say(f"constraints.kinds.{kind}", language)
        value = say("constraints.by_name", language)
        return _verdict("kind", "satisfied", "name", language, kind=text, value=value)
    asked, listed = say(f"constraints.kinds.{kind}", language), kind_text(place, language) or ""
    verdict = _verdict("kind", outcome, "category", language, kind=asked, value=listed)
    # "café", not "café (café)".
    return Verdict(**{**verdict, "text": asked}) if asked == listed else verdict


def is_of_no_kind_searched(place: Place) -> bool:
    """Return whether a place is of none of the kinds that the searches which found it were for.

    A search for 美食 finds a street, one for sights a car park.
    """
    searched = [_kind_searched(keyword) for keyword in place["keywords"]]
    if not searched:
        return False
    verdicts = [kind and _is_of_kind(place, kind, "en") for kind in searched]
    other = [verdict and verdict["verdict"] == "violated" for verdict in verdicts]
    is_parking = bool(re.search(_KINDS["parking"][2], place["category"] or ""))
    return all(other) or (is_parking and "parking" not in searched)


def _kind_searched(keyword: str) -> Kind | None:
    return next((kind for kind, row in _KINDS.items() if re.search(row[2], keyword, re.I)), None)


def _verdict(
    constraint: str, outcome: Outcome, field: str, language: Language, **values: str
) -> Verdict:
    text = say(f"constraints.{constraint}.{outcome}", language, **values)
    return Verdict(constraint=constraint, verdict=outcome, field=field, text=text)
