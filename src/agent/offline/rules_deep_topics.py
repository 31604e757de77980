"""What a question is researched by: its subject, and the aspects it names or its kind has."""

import re
from dataclasses import dataclass

from agent.evidence.intent import detect_location_query, extract_place, has_location_intent
from agent.evidence.place_names import landmark_in
from agent.language import Language, detect_language

from .rules_plan import cleaned
from .rules_text import covers, features, words

LEAST, MOST = 3, 6
_MAX_ASPECT_ZH, _MAX_ASPECT_EN = 10, 4
_KINDS: dict[str, dict[Language, tuple[str, ...]]] = {
    "place": {
        "zh": ("交通", "门票与开放时间", "餐饮", "避坑"),
        "en": ("Getting there", "Tickets and opening hours", "Food", "Pitfalls"),
    },
    "thing": {
        "zh": ("概况", "优势与应用", "局限与风险"),
        "en": ("Overview", "Benefits and uses", "Limits and risks"),
    },
}
_RELATED: dict[str, str] = {
    "交通": "地铁 公交 停车 步行 怎么去",
    "门票": "免费 收费 预约 票价",
    "开放时间": "营业 闭馆 几点",
    "餐饮": "美食 餐厅 菜 吃",
    "美食": "餐厅 小吃 菜",
    "避坑": "注意事项 排队 不要 避开",
    "路线": "行程 步行 一日游",
    "亲子": "儿童 孩子 带娃",
    "住宿": "酒店 宾馆",
    "停车": "停车场 车位",
    "成本": "费用 价格 便宜",
    "历史": "起源 年代 世纪 古代",
    "原理": "工作 过程 机制",
    "概况": "是 指 定义 简介",
    "优势": "优点 更好 适合 可以 节省",
    "应用": "用于 用途 适用",
    "局限": "不足 缺点 但 不能 难以",
    "风险": "安全 注意 问题 危险",
    "getting": "transport metro subway bus ferry parking car walk",
    "transport": "metro subway bus ferry parking car walk",
    "tickets": "free price fee reservation entry",
    "opening": "hours open close closed daily",
    "food": "restaurant dish eat snack tea noodles",
    "pitfalls": "avoid queue crowded careful weekend tips",
    "kids": "children family",
    "cost": "price cheap cheaper expensive yuan",
    "history": "century dynasty origin began first",
    "efficiency": "efficient energy heat electricity",
    "overview": "is are called means basics",
    "benefits": "advantage better cheaper efficient helps useful",
    "uses": "used suited apply grid home",
    "limits": "but however less lower slower limit cannot",
    "risks": "risk safety danger careful problem damage",
}
_KNOWN_ZH = re.compile(
    "交通|门票|开放时间|餐饮|美食|避坑|路线|住宿|停车|亲子|天气|季节|费用|价格|成本|历史|起源|原理|优点|优势"
    "|缺点|局限|风险|安全|应用|用途|发展|现状|趋势|市场|政策|技术|区别|购物|夜景|注意事项"
)
_KNOWN_EN = re.compile(
    r"\b(?:transport|tickets?|opening hours|food|restaurants|pitfalls|routes?|hotels|parking|kids"
    r"|weather|seasons?|costs?|prices?|history|origins?|efficiency|benefits|advantages|drawbacks"
    r"|disadvantages|limits|limitations|risks?|safety|security|uses|applications|trends|market"
    r"|policy|shopping|nightlife|tips)\b",
    re.IGNORECASE,
)
_CLAUSE = re.compile(r"[，,。.；;：:？?！!\n（）()—]+")
_CLAUSE_EN = re.compile(
    r"[.;:?!\n()—]+|,?\s+and\s+(?=(?:what|how|why|which|when|where|who|is|are|do|does)\b)",
    re.IGNORECASE,
)
_LISTED_ZH = re.compile("、|以及|还有|和|与|及")
_LISTED_EN = re.compile(r"\s*,\s*(?:and\s+|or\s+)?|\s+and\s+")
_BEFORE_ZH = re.compile("^.*(?:的|包括|比如|例如|尤其是|特别是|关于|介绍|分析|说明|从|看|查|含)")
_AFTER_ZH = re.compile(
    "(?:等等?|方面|几方面|分别|都|各|这?几个|要|如何|怎么|怎样|有哪些|有什么|是什么).*$"
)
_AFTER_EN = re.compile(
    r"\s+(?:of|for|in|about|at|when|to|on|from|with|should|is|are|do|does)\s.*$", re.IGNORECASE
)
_OF_EN = re.compile(r"\s(?:of|for|about|in|at)\s+(?:the\s+|an?\s+)?([^,.;:?!]+)$", re.IGNORECASE)


_ASKING = re.compile(
    "works?|explain(?:ed)?|research|report|write|compare|overview|guide|plan|trip"
    "|介绍|说说|分析|研究|报告|调研|更"
)


@dataclass(frozen=True)
class Plan:
    """The subject as a search names it, and its topics, at least three."""

    subject: str
    topics: tuple[str, ...]


def plan(question: str) -> Plan:
    """The topics in the order the question names them, then those of its kind of subject."""
    asked = cleaned(question)
    language = detect_language(asked)
    named = _listed_zh(asked) if language == "zh" else _listed_en(asked)
    known = (_KNOWN_ZH if language == "zh" else _KNOWN_EN).findall(asked)
    topics = _distinct([*named, *known])
    if len(topics) < LEAST:
        visited = _is_visited(asked)
        usual = _KINDS["place" if visited else "thing"][language]
        first = [] if visited else [usual[0]]
        topics = _distinct([*first, *topics, *usual])[: max(LEAST, len(usual))]
    return Plan(_subject(asked, topics, language), tuple(_titled(t) for t in topics[:MOST]))


def related(topic: str) -> str:
    """The topic with words that texts on it use."""
    lowered = topic.casefold()
    return " ".join([topic, *(more for name, more in _RELATED.items() if name in lowered)])


def speaks_of(text: str, topic: str) -> bool:
    """Whether a text has a word of the topic; anything may belong to an overview."""
    general = any(topic == names[0] for names in _KINDS["thing"].values())
    return general or bool(features(related(topic)) & features(text))


def queries(planned: Plan, topic: str) -> list[str]:
    """One or two searches on a topic: by its name, and by what texts on it speak of."""
    first = f"{planned.subject} {topic.lower()}".strip()
    if any(topic in names for names in _KINDS["thing"].values()):
        return [first, planned.subject] if planned.subject else [first]
    more = [word for word in related(topic).split() if word not in topic][:3]
    return [first, f"{planned.subject} {' '.join(more)}".strip()] if more else [first]


def _listed_zh(question: str) -> list[str]:
    """The aspects of an enumeration with 、; what introduces it is cut off."""
    found: list[str] = []
    for clause in _CLAUSE.split(question):
        if "、" not in clause:
            continue
        items = [_AFTER_ZH.sub("", item.strip()) for item in _LISTED_ZH.split(clause)]
        items[0] = _BEFORE_ZH.sub("", items[0])
        for name in filter(None, extract_place(question) or ()):
            items[0] = items[0].rpartition(name)[2]
        found += [item for item in items if 1 < len(item) <= _MAX_ASPECT_ZH]
    return found


def _listed_en(question: str) -> list[str]:
    """The aspects of a list with commas, without what stands before or behind it."""
    found: list[str] = []
    for clause in _CLAUSE_EN.split(question):
        items = [item for item in _LISTED_EN.split(clause.strip()) if item]
        if "," not in clause or len(items) < LEAST:
            continue
        first = items[0].partition(" of ")[0]
        kept = [_AFTER_EN.sub("", item).split() for item in items]
        kept[0] = [word for word in first.split()[-2:] if word.casefold() in words(first)]
        found += [" ".join(item) for item in kept if 0 < len(item) <= _MAX_ASPECT_EN]
    return found


def _subject(question: str, topics: list[str], language: Language) -> str:
    """What it is about, without its aspects: the place, or the words that carry meaning."""
    if place := _place(question):
        return place
    known = frozenset[str]().union(*(features(topic) for topic in topics))
    of = _OF_EN.search(question) if language == "en" else None
    for text in (of[1] if of else "", _CLAUSE.split(question)[0], question):
        spoken = [word for word in words(text) if not _ASKING.fullmatch(word)]
        kept = [word for word in spoken if not covers(known, word)]
        if kept := [word for word in kept if len(word) > 1] or kept:
            return " ".join(kept[:4])
    return question


def _is_visited(question: str) -> bool:
    """Whether the map helps, or a known sight is named: places have aspects of their own."""
    return detect_location_query(question) or landmark_in(question) is not None


def _place(question: str) -> str:
    """The place a question is about, in Chinese with its city in front; empty where none is."""
    found = extract_place(question) if has_location_intent(question) else None
    place, city = found or (None, None)
    if place and city and city not in place and detect_language(question) == "zh":
        return f"{city}{place}"
    return place or city or ""


def _distinct(topics: list[str]) -> list[str]:
    """Topics in order, without those that only repeat (part of) another one."""
    kept: list[str] = []
    for topic in topics:
        mine = features(topic)
        if mine and not any(mine <= features(k) or features(k) <= mine for k in kept):
            kept.append(topic.strip())
    return kept


def _titled(topic: str) -> str:
    return topic[:1].upper() + topic[1:]
