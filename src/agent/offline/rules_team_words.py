"""The words that the shapes of questions are recognised by, and those that mean the same (zh, en).

General words only: attributes, units, kinds of places. No name of the sample stands here.
"""

import re
from functools import lru_cache

from .rules_text import features

MAP_ATTRIBUTES: tuple[tuple[str, str], ...] = (
    ("rating", r"评分|打分|得分|口碑|\bratings?\b|\brated\b|\bscores?\b"),
    (
        "cost",
        r"人均(?:消费|价格|花费)?|\bper[- ](?:person|head)\b|\baverage (?:cost|price|spend)\b",
    ),
    (
        "closes",
        r"(?:几点|何时|什么时候|什么时间)(?:关门|打烊|闭馆|闭园|关闭|停止营业|结束营业)"
        r"|\b(?:until what time|until when|how late)\b"
        r"|(?:关门|打烊|闭馆|闭园)(?:时间)?(?=最|更|是?几点|时间|$)|\bclos(?:es?|ing)\b",
    ),
    (
        "opens",
        r"(?:几点|何时|什么时候|什么时间)(?:开门|开放|开馆|开园|开始营业|营业)"
        r"|(?:开门|开馆|开园)(?:时间)?(?=最|更|是?几点|时间|$)"
        r"|\bopens?\b(?!ing hours)|\bopening time\b",
    ),
    ("hours", r"营业时间|开放时间|\bopening (?:hours|times)\b|\bhours\b(?= of\b)"),
    ("address", r"(?:具体)?地址|门牌号|\baddress\b"),
    (
        "district",
        r"(?:位于|在|属于)?(?:哪个|哪一个|什么|哪一)(?:行政)?区|\b(?:which|what) district\b",
    ),
)
PRICE = re.compile(r"票价|门票|船票|价格|多少钱|\bfare\b|\bticket\b|\bprice\b|\bcosts?\b")
"""May stand on a page or on the map; the page is asked first."""

SYNONYMS: tuple[tuple[str, ...], ...] = (
    ("建成", "落成", "完工", "竣工", "建造", "建于", "修建", "built", "completed", "finished",
     "constructed", "build", "complete", "finish", "construction"),
    ("开通", "通车", "运营", "开业", "开园", "开街", "启用", "上线", "opened", "open",
     "inaugurated", "opening", "launched", "launch", "traffic", "opens"),
    ("设计", "设计师", "设计者", "designed", "designer", "design", "architect"),
    ("成立", "创立", "创办", "founded", "established", "found", "establish", "foundation"),
    ("发明", "invented", "invent", "invention", "inventor", "invents"),
    ("写成", "写", "著", "作者", "撰写", "wrote", "written", "write", "author", "writer"),
    ("长度", "全长", "总长", "总长度", "多长", "长", "距离", "long", "length",
     "lengths", "longer", "kilometres"),
    ("高度", "总高", "多高", "高", "tall", "height", "heights", "high", "taller", "metres"),
    ("票价", "门票", "价格", "多少钱", "费用", "costs", "cost", "price",
     "prices", "fare", "fares", "ticket", "cheap"),
    ("列入", "入选", "世界遗产", "世界文化遗产", "listed", "inscribed", "list", "heritage"),
    ("闭馆", "关闭", "休息", "休馆", "closed", "close", "closes"),
    ("最多", "至多", "max", "maximum", "up", "most"),
    ("俗称", "又称", "称为", "叫做", "叫", "别名", "called", "known", "name", "nicknamed"),
    ("深度", "多深", "deep", "depth"),
    ("重量", "多重", "weigh", "weight"),
    ("面积", "area"),
    ("取消", "免费", "free"),
    ("最大", "largest", "biggest"),
)  # fmt: skip
_SYNONYM_ORDER = sorted(
    ((word, group[0]) for group in SYNONYMS for word in group), key=lambda pair: -len(pair[0])
)
UNITS: tuple[tuple[str, ...], ...] = (
    ("公里", "千米", "km", "kilometre", "kilometres", "kilometer", "kilometers"),
    ("米", "m", "metre", "metres", "meter", "meters"),
    ("元", "块", "块钱", "yuan", "rmb"),
    ("周", "星期", "week", "weeks"),
    ("小时", "hour", "hours"),
    ("分钟", "minute", "minutes"),
    ("天", "日", "day", "days"),
    ("年", "year", "years"),
    ("%", "百分之", "percent", "percentage"),
    ("栋", "幢", "座", "building", "buildings"),
    ("克", "gram", "grams"),
    ("度", "degree", "degrees"),
    ("瓦时", "watt-hours", "watt-hour"),
)
IN_METRES = {"公里": 1000, "千米": 1000, "km": 1000, "米": 1, "m": 1}
CATEGORIES: dict[str, str] = {
    "五星级酒店": "luxury hotel|five-star hotel",
    "酒店": "hotel",
    "宾馆": "guest house",
    "书店": "bookshop|bookstore",
    "博物馆": "museum",
    "美术馆": "art museum|gallery",
    "科技馆": "science museum",
    "水族馆": "aquarium",
    "动物园": "zoo",
    "植物园": "botanical garden",
    "公园": "park",
    "停车场": "car park|parking lot|parking",
    "地铁站": "metro station|subway station|underground station",
    "咖啡馆": "coffee shop|café|cafe",
    "咖啡店": "coffee bar",
    "咖啡厅": "coffee house",
    "茶馆": "teahouse|tea house",
    "火锅": "hotpot|hot pot",
    "购物中心": "shopping centre|shopping mall",
    "商场": "mall|department store",
    "餐厅": "restaurant",
    "酒吧": "bar",
    "剧院": "theatre|theater",
    "寺庙": "temple",
    "医院": "hospital",
    "玩具店": "toy shop|toy store",
    "步行街": "pedestrian street",
    "观景台": "observation deck|viewpoint",
    "景点": "sight|attraction",
    "码头": "pier",
    "体育场": "stadium",
}
"""Kinds of places as the map knows them, and their English words."""
WH_ZH = re.compile(
    "(?:请问|是)?(?:哪一?(?:年|天|日|家|个|座|位|种|条|所|处|款|项|间|本|部|支|国|城市)?|什么(?:时候|时间)?"
    "|多少|几|谁|何时|何年|何地)"
)
FILLER_ZH = re.compile(
    "请问|根据|地图上|高德地图|一下|的是|之间|分别|各自|是多少|是什么|是哪|多少|什么|哪里|哪儿|叫什么|呢|吗|"
    "了|那[家座个所处]|这[家座个所处]|[，,：:]"
)
_KIND_EN = {
    english: chinese for chinese, words in CATEGORIES.items() for english in words.split("|")
}


def category_in(text: str) -> tuple[str, str]:
    """The kind of place a text names last: as the map knows it, and as it stands; or nothing."""
    known = {**{name: name for name in CATEGORIES}, **_KIND_EN}
    found = [
        (match.end(), len(word), known[word], match[0])
        for word in known
        for match in _kind_pattern(word).finditer(text)
    ]
    return max(found)[2:] if found else ("", "")


@lru_cache(maxsize=256)
def _kind_pattern(word: str) -> re.Pattern[str]:
    if not word[0].isascii():
        return re.compile(re.escape(word))
    return re.compile(rf"\b{re.escape(word)}(?:e?s)?\b", re.IGNORECASE)


def map_attribute(text: str) -> tuple[str, str]:
    """The attribute of a place that a text asks for, and the words that say so; or nothing."""
    for name, pattern in MAP_ATTRIBUTES:
        if found := re.search(pattern, text, re.IGNORECASE):
            return name, found[0]
    return "", ""


def same_unit(one: str, other: str) -> bool:
    """Whether two words name the same unit."""
    first, second = one.casefold(), other.casefold()
    return first == second or any(first in group and second in group for group in UNITS)


@lru_cache(maxsize=4096)
def meanings(text: str) -> frozenset[str]:
    """The features of a text, those of words that mean the same as one of its words put as one."""
    lowered = text.casefold()
    found = set(features(text))
    for group in SYNONYMS:
        for word in group:
            if (word in lowered) if not word.isascii() else _has_word(lowered, word):
                found.add(f"={group[0]}")
    return frozenset(found)


@lru_cache(maxsize=4096)
def wanted_meanings(text: str) -> frozenset[str]:
    """The same, but a word that others mean the same as counts once: as their meaning."""
    left, found = text.casefold(), set()
    for word, name in _SYNONYM_ORDER:
        pattern = re.escape(word) if not word.isascii() else rf"\b{re.escape(word)}\b"
        left, count = re.subn(pattern, " ", left)
        if count:
            found.add(f"={name}")
    return frozenset(found | features(left))


def other_word(meaning: str, asked: str) -> str:
    """A word for a meaning in the language of what was asked, in English not the same again."""
    if not asked.isascii():
        return meaning
    group = next(words for words in SYNONYMS if words[0] == meaning)
    begun = {word[:4] for word in asked.casefold().split()}
    return next((w for w in group if w.isascii() and w[:4] not in begun), asked)


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"\b{word}\b", text) is not None


def synonym_words() -> list[str]:
    """All Chinese words of attributes, longest first: a subject ends where one begins."""
    return sorted((w for group in SYNONYMS for w in group if not w.isascii()), key=len)[::-1]
