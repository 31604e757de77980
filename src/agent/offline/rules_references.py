"""What a follow-up refers to: "那附近", "第二个", "there", "the second one"."""

import re
from dataclasses import dataclass

from agent.evidence.intent import extract_place
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
_THERE_ZH = re.compile("那附近|那周边|那一带|那里|那儿|那边|那个地方|这附近|这里|这儿|它")
_AREA_ZH = re.compile("附近|周边|一带")
_BARE_NEARBY_ZH = re.compile("^(?:那么?)?[,，]?(?:附近|周边)")
_MOVE_EN = re.compile(r"\b(get|go|walk|drive|travel|ride)\s+there\b", re.IGNORECASE)
_PREPOSITION_EN = re.compile(r"\b(near|around|from|to|in|at|by)\s+(?:there|it)\b", re.IGNORECASE)
_THERE_EN = re.compile(r"(?<!is )(?<!are )\bthere\b(?!\s+(?:is|are|any|a|an)\b)", re.IGNORECASE)
_SUBJECT_EN = re.compile(r"\b(is|does|was|can|has|will|do)\s+(?:it|they)\b", re.IGNORECASE)
_THESE = re.compile(
    "这几个|那几个|这些地方|那些地方|这些|那些|它们|\\bof (?:them|these|those)\\b", re.IGNORECASE
)
_SWITCH = re.compile(
    r"那么?|呢|也|\b(?:what|how)\s+about\b|\band\b|[\s,，?？.。!！]", re.IGNORECASE
)
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
    """The question as it reads alone; `records` are the previous places it points at."""

    question: str
    place: str | None = None
    records: tuple[Record, ...] = ()


def resolve(question: str, said: list[str], places: list[Record]) -> Resolved:
    """The question with its references replaced; unchanged where it has none.

    `said` are the lines of the conversation ("user: …"), `places` the previous places in order.
    """
    if pointed := _ordinal(question, places):
        record, text = pointed
        return Resolved(text, record.name, (record,))
    if places and _THESE.search(question):
        return _these(question, tuple(places[:3]))
    if own := _own_place(question):
        return Resolved(_switched(question, own, said), own)
    place = last_place(said) or (places[0].name if places else None)
    if not place:
        return Resolved(question)
    chinese = detect_language(question) == "zh"
    text = _there_zh(question, place) if chinese else _there_en(question, place)
    return Resolved(text, place) if text != question else Resolved(question)


def _these(question: str, places: tuple[Record, ...]) -> Resolved:
    names, chinese = [record.name for record in places], detect_language(question) == "zh"
    new = "、".join(names) if chinese else f"of {' or '.join(names)}"
    return Resolved(_THESE.sub(lambda _: new, question, count=1), names[0], places)


def last_place(said: list[str]) -> str | None:
    """The place the user last asked about."""
    return next((place for text in _asked(said) if (place := _own_place(text))), None)


def _asked(said: list[str]) -> list[str]:
    """What the user asked before, the last first."""
    turns = [line.partition(":") for line in reversed(said)]
    return [text.strip() for who, _, text in turns if who.strip() == "user"]


def _own_place(question: str) -> str | None:
    """The place a question names itself; a pronoun the rules took for one is none."""
    place, city = extract_place(question) or (None, None)
    found = place or city
    pronoun = found and (_THERE_ZH.search(found) or found.startswith("那"))
    return None if not found or pronoun or found.casefold() in {"there", "it"} else found


def _switched(question: str, own: str, said: list[str]) -> str:
    """The last question about another place, where that is all that is said ("那三里屯呢")."""
    if _SWITCH.sub("", question.replace(own, "", 1)):
        return question
    for text in _asked(said):
        if before := _own_place(text):
            return text.replace(before, own, 1)
    return question


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
    return f"{place}{question.removeprefix('那')}" if _ASPECTS.match(question) else question


def _there_en(question: str, place: str) -> str:
    for pattern, new in (
        (_MOVE_EN, r"\1 to {}"),
        (_PREPOSITION_EN, r"\1 {}"),
        (_SUBJECT_EN, r"\1 {}"),
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
