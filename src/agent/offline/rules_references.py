"""What a follow-up refers to: "那附近", "第二个", "there", "the second one"."""

import re
from dataclasses import dataclass

from agent.evidence.intent import map_task_by_rules
from agent.language import detect_language

from .rules_text import Record, words

_HAN_NUMBERS = {"一": 1, "二": 2, "两": 2, "三": 3, "四": 4, "五": 5, "六": 6, "七": 7, "八": 8}
_ENGLISH_NUMBERS = {"first": 1, "second": 2, "third": 3, "fourth": 4, "fifth": 5, "last": -1}
_ORDINAL_ZH = re.compile(
    r"(?:第\s*([一二两三四五六七八]|\d{1,2})|(最后一))\s*(?:个|家|处|所|间|座|项)"
)
_ORDINAL_EN = re.compile(
    r"\b(?:the\s+)?(first|second|third|fourth|fifth|last|\d{1,2}(?:st|nd|rd|th))"
    r"\s+(?:one|place|option|of them)\b",
    re.IGNORECASE,
)
_THERE_ZH = re.compile("那附近|那周边|那一带|那里|那儿|那边|那个地方|这附近|这里|这儿|它们|它")
_AREA_ZH = re.compile("附近|周边|一带")
_BARE_NEARBY_ZH = re.compile("^(?:那么?)?[,，]?(?:附近|周边)")
_MOVE_EN = re.compile(r"\b(get|go|walk|drive|travel|ride)\s+there\b", re.IGNORECASE)
_PREPOSITION_EN = re.compile(r"\b(near|around|from|to|in|at|by)\s+(?:there|it)\b", re.IGNORECASE)
_THERE_EN = re.compile(r"(?<!is )(?<!are )\bthere\b(?!\s+(?:is|are|any|a|an)\b)", re.IGNORECASE)
_NEARBY_EN = re.compile(r"\bnearby\b", re.IGNORECASE)
_ASPECTS = re.compile(
    "^(?:(?:门票|票价|价格|多少钱|贵吗|免费|收费|几点|开门|关门|开放时间|营业时间|开到|停车场?|方便|怎么走"
    "|怎么去|怎么到|地铁|公交|要不要|需要|预约|预订|排队|人多|有|要|吗|呢|吧|么|的|了|那|和)|[\\s,，?？])+$"
)
_ASPECTS_EN = frozenset(
    re.findall(
        r"\w+",
        "opening open close closing hours hour time ticket tickets price prices cost fee free"
        " parking park subway metro bus expensive cheap booking book reservation queue long"
        " much late early happen",
    )
)


@dataclass(frozen=True)
class Resolved:
    """The question as it reads alone; `record` is the previous place it points at."""

    question: str
    place: str | None = None
    record: Record | None = None


def resolve(question: str, said: list[str], places: list[Record]) -> Resolved:
    """The question with its references replaced; unchanged where it has none.

    `said` are the lines of the conversation ("user: …"), `places` the previous places in order.
    """
    if pointed := _ordinal(question, places):
        record, text = pointed
        return Resolved(text, record.name, record)
    if own := _own_place(question):
        return Resolved(question, own)
    place = last_place(said) or (places[0].name if places else None)
    if not place:
        return Resolved(question)
    chinese = detect_language(question) == "zh"
    text = _there_zh(question, place) if chinese else _there_en(question, place)
    return Resolved(text, place) if text != question else Resolved(question)


def last_place(said: list[str]) -> str | None:
    """The place the user last asked about."""
    for line in reversed(said):
        who, _, text = line.partition(":")
        if who.strip() == "user":
            task = map_task_by_rules(text.strip())
            place = task and (task.get("place") or task.get("destination") or task.get("city"))
            if place:
                return place
    return None


def _own_place(question: str) -> str | None:
    """The place a question names itself; a pronoun the rules took for one is none."""
    task = map_task_by_rules(question)
    place = task and (task.get("place") or task.get("destination"))
    pronoun = place and (_THERE_ZH.search(place) or place.startswith("那"))
    return None if not place or pronoun or place.casefold() in {"there", "it"} else place


def _ordinal(question: str, places: list[Record]) -> tuple[Record, str] | None:
    for pattern in (_ORDINAL_ZH, _ORDINAL_EN):
        found = pattern.search(question)
        number = _number(next(filter(None, found.groups()))) if found else 0
        if found and number and -1 <= number <= len(places):
            record = places[number - 1 if number > 0 else -1] if places else None
            if record:
                text = question[: found.start()] + record.name + question[found.end() :]
                return record, text
    return None


def _number(written: str) -> int:
    digits = re.match(r"\d+", written)
    if digits:
        return int(digits[0])
    if written.startswith("最后"):
        return -1
    return _HAN_NUMBERS.get(written) or _ENGLISH_NUMBERS.get(written.casefold(), 0)


def _there_zh(question: str, place: str) -> str:
    if found := _THERE_ZH.search(question):
        area = "附近" if _AREA_ZH.search(found[0]) else ""
        return f"{question[: found.start()]}{place}{area}{question[found.end() :]}"
    if found := _BARE_NEARBY_ZH.match(question):
        return f"{place}附近{question[found.end() :]}"
    return f"{place}{question}" if _ASPECTS.match(question) else question


def _there_en(question: str, place: str) -> str:
    for pattern, new in (
        (_MOVE_EN, r"\1 to {}"),
        (_PREPOSITION_EN, r"\1 {}"),
        (_THERE_EN, "at {}"),
        (_NEARBY_EN, "near {}"),
    ):
        text, count = pattern.subn(new.format(place.replace("\\", "")), question, count=1)
        if count:
            return text
    asked = words(question)
    if asked and all(word in _ASPECTS_EN for word in asked):
        return f"{question.rstrip(' ?')} ({place})?"
    return question
