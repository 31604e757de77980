"""Read places in text: names that are known, names by their shape (…路, … Road), ends of a way."""

import re
from dataclasses import dataclass

from agent.core.patterns import Linear, piece
from agent.core.strings import has_any
from agent.evidence.vocabulary import CITY, city_in, landmark_in, without_activities

_HAN = "\u4e00-\u9fff"

_SUFFIX = (
    "大道|胡同|广场|公园|景区|古镇|古城|大学|学院|中学|医院|机场|[火高]?[车铁]?站|大厦|购物中心|商圈"
    "|博物馆|图书馆|动物园|植物园|步行街|老街|体育馆|度假区|新区|寺|庙|塔|湖|湾|岛|桥|[东西南北中]?路(?!线)"
    "|大?街|区|县|镇"
)
_SHAPE = re.compile(rf"[{_HAN}A-Za-z0-9]{{1,8}}?(?:{_SUFFIX})")
_NOT_IN_NAME = re.compile(
    r"\A.*(?:请问|帮我|推荐|我在|住在|想|附近|周边|适合|什么|有没有|怎么|最|从|的|在|去|到|至|往|找|有"
    r"|和|离|距|我|[哪这那几一每][个家条座]|这|那|是|给|带|看|逛|玩|吃|买|能|里|不|哪)",
    re.DOTALL,
)
_BARE = re.compile(rf"(?:{_SUFFIX}|[大小老新好地市商城街专全夜社郊园景校])*")
_BEFORE_NEAR = Linear(
    rf"([{_HAN}A-Za-z0-9·\s()（）-]{{2,24}}?)\s*(?:的?(?:附近|周边|周围|旁边|边上|一带|门口|楼下)"
    r"|\s*[0-9一二两三五十]+\s*(?:公里|千米|米|km|m)\s*(?:以内|之内|内|范围))"
)
_VAGUE = re.compile(
    r"(?:[这那]里?|[这那]边|[这那]儿|我们?|家|公司|酒店|它|最近?|一下|学校|本地|身边|里|儿"
    r"|there|here|it|me|my \w+|us|this|that)+",
    re.IGNORECASE,
)
_CAPITAL = r"(?:[A-Z][\w'’-]+|\d{3})"
_AFTER_PREPOSITION = re.compile(
    r"\b(?:[Nn]ear|[Aa]round|[Ii]n|[Aa]t|[Bb]y|[Cc]lose to|[Nn]ext to|[Oo]utside|[Oo]f|[Tt]o"
    r"|[Ff]rom)"
    rf"\s+(?:the\s+)?(?!(?:{_CAPITAL}\s)?\d)({_CAPITAL}(?:\s+(?:of\s+)?{_CAPITAL}){{0,4}})"
)
_ENGLISH_SHAPE = re.compile(
    rf"(?<!^)(?<!^[\"“])\b({_CAPITAL}(?:\s+{_CAPITAL}){{0,3}}\s+(?:Road|Rd|Street|Avenue|Park|Square"
    r"|Temple|University|Station|Airport|Lake|Museum|Mall|Tower|Palace))\b"
)


def shaped_place(text: str) -> str | None:
    """Return a word that is built like the name of a place."""
    for match in _SHAPE.finditer(piece(text)):
        name = _NOT_IN_NAME.sub("", match[0])
        if len(name) >= 2 and not _BARE.fullmatch(without_activities(CITY.sub("", name)).strip()):
            return name
    english = _ENGLISH_SHAPE.search(piece(text))
    return english[1] if english else None


def place_before_near(text: str) -> str | None:
    """Return the words before "附近" and its like; None if they mean "here"."""
    match = _BEFORE_NEAR.search(text)
    name = _NOT_IN_NAME.sub("", match[1].strip()).strip(" 的") if match else ""
    return None if len(name) < 2 or _VAGUE.fullmatch(name) else name


def place_after_preposition(text: str) -> str | None:
    """Return a capitalised name after near, in, at and the like."""
    match = _AFTER_PREPOSITION.search(text)
    return match[1] if match else None


def place_and_city(text: str) -> tuple[str, str | None] | None:
    """Return the (place, city) of a question; the place may be the city itself."""
    text = piece(text)
    city, landmark, shaped = city_in(text), landmark_in(text), shaped_place(text)
    if landmark and shaped and landmark in shaped:
        landmark = shaped
    place = landmark or place_before_near(text) or shaped or place_after_preposition(text) or city
    if place and city and place != city:
        rest = place.removeprefix(f"{city}市").removeprefix(city).strip()
        place = (place if _BARE.fullmatch(rest) else rest) or city
    return (place, city) if place else None


_BY = re.compile(
    r"(?:乘坐|搭乘|[坐乘搭骑开叫打])?(?:共享)?(?:地铁|公交车?|高铁|动车|火车|大巴|出租车?|的士|网约车"
    r"|单车|自行车)(?!站)|步行(?!街)|走路|骑[行车]|[驾开打叫]车|自驾|打的|导航(?=[到去至])"
)
_ZH = r"[\w·()（）'’-]{2,16}?"
_AFTER_ZH = (
    r"(?=的|不[要想坐走乘]|怎么|如何|要|有|多|几|远|大概|大约|路线|导航|距离|\s|[?？。，,]|$)"
)
_EN = r"[\w'’ -]{2,40}?"
_THE = r"(?:the\s+)?"
_AFTER_EN = (
    r"(?=\s+(?:by|on|in|via|at|around|before|after|and|with|today|tomorrow|now)\b|[?.,!;]|$)"
)
_NO_NAME = ("怎么", "我", "不")
# Each names `origin` and `destination`; the first that fits counts.
_WAYS = tuple(
    re.compile(pattern, re.IGNORECASE)
    for pattern in (
        rf"(?:去|到)\s*(?P<destination>{_ZH})\s*[，,]?\s*从\s*(?P<origin>{_ZH})\s*{_AFTER_ZH}",
        rf"(?:从|由)?\s*(?P<origin>{_ZH})\s*(?:出发)?\s*[，,]?\s*(?:怎么|如何)?走?\s*(?:到|至|去|往|离)"
        rf"\s*(?P<destination>{_ZH})\s*{_AFTER_ZH}",
        rf"\bfrom\s+{_THE}(?P<origin>{_EN})\s+to\s+{_THE}(?P<destination>{_EN}){_AFTER_EN}",
        rf"\bbetween\s+{_THE}(?P<origin>{_EN})\s+and\s+{_THE}(?P<destination>{_EN}){_AFTER_EN}",
        rf"\bhow far is\s+(?!it\b){_THE}(?P<origin>{_EN})\s+from\s+{_THE}(?P<destination>{_EN})"
        rf"{_AFTER_EN}",
        rf"\bto\s+{_THE}(?P<destination>{_EN})\s+from\s+{_THE}(?P<origin>{_EN}){_AFTER_EN}",
        rf"^{_THE}(?P<origin>(?!how|what|where|best|which){_EN})\s+to\s+{_THE}(?P<destination>{_EN})"
        r"\s+by\s+",
    )
)


@dataclass(frozen=True)
class Ends:
    """Hold the two ends of a route as written, and the rest of the question."""

    origin: str
    destination: str
    rest: str


def route_ends(text: str) -> Ends | None:
    """Return the ends of a route; None where a question does not name both."""
    text = piece(text)
    bare = _BY.sub("", text)
    for pattern in _WAYS:
        if match := pattern.search(bare):
            origin, destination = match["origin"].strip(), match["destination"].strip()
            # Before 从 stand words of politeness; in 从化 it is a part of the name.
            if len(behind := origin.rpartition("从")[2]) > 1:
                origin = behind
            if not has_any(origin, _NO_NAME):
                rest = text.replace(origin, " ").replace(destination, " ")
                return Ends(origin, destination, rest)
    return None
