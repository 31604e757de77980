"""One attribute of one subject, and dates, asked for in English."""

import re
from dataclasses import replace

from .rules_team_ask import Ask, Described, Need, Operation
from .rules_team_values import dates, years
from .rules_team_words import category_in, map_attribute

_I = re.IGNORECASE
_OPERATIONS: tuple[tuple[Operation, str], ...] = (
    ("weekday", r"(?:which|what) (?:day of the week|weekday)|day of the week"),
    ("percent", r"what percent(?:age)?(?= of (?!a\b|an\b))|as a percentage"
     r"|percentage of the \w+ of"),
    ("ratio", r"how many times|ratio"),
    ("days", r"how many days"),
    ("years", r"how many years|how old"),
    ("sum", r"\btogether\b|\bin total\b|\btotal\b|\baltogether\b|\bsum\b|\bcombined\b"
     r"|\bboth cost\b|\badd up\b"),
    ("difference", r"\bdifference\b|how much (?:more|less|longer|shorter|taller|higher|lower"
     r"|cheaper|bigger)|by how (?:much|many)"
     r"|how many (?:\w+ )?(?:more|fewer|longer|taller|higher|lower)"
     r"|how many \w+ (?:longer|taller|higher|shorter)"),
)  # fmt: skip
_STOP = re.compile(
    r"\b(?:which|what|who|whom|when|where|how|many|much|is|are|was|were|did|does|do|the|a|an|of|in|on"
    r"|at|to|for|by|from|year|years|it|its|has|have|had|that|there|be|been|can|will|and|with|up|day"
    r"|date|name|number|than|or|more|less|between|old|then|first|total|average|please|tell|me|exact)\b",
    _I,
)
_CAPITALISED = re.compile(
    r"(?:[A-Z%][\w'’.&-]*|\d+(?:st|nd|rd|th)?(?= [A-Z]))"
    r"(?:\s+(?:(?:of|the|and|de|on|&)\s+(?=[A-Z]))?(?:[A-Z][\w'’.&-]*|\d+\b))*(?:\s+\([^)]*\))?"
)
_WH = re.compile(r"^(?:Which|What|Who|When|Where|How|In|On|At|By|Is|Of|From|Between|To|For)\b\s*")
FINAL_UNIT = re.compile(r"\bin (kilomet\w+|met\w+|km|yuan|percent|weeks|years|hours|minutes)\b", _I)
_OPERATORS = re.compile("|".join(words for _, words in _OPERATIONS), _I)


def operation_in(text: str) -> Operation | None:
    return next((name for name, words in _OPERATIONS if re.search(words, text, _I)), None)


def subject_of(text: str) -> str:
    """The names in a text, or what is left of it without articles."""
    if given := (dates(text) or years(text)):
        return given[0].text
    bare = _WH.sub("", text.strip())
    if found := [m[0] for m in _CAPITALISED.finditer(bare)]:
        return max(found, key=len).strip()
    bare = re.sub(r"^(?:the|a|an)\s+|^.*\bof (?:the |an? )?", "", bare, flags=_I)
    return re.sub(
        r"\s+(?:is|was|are|were|opened|built|completed|finished|invented|cost)\b.*$", "", bare
    )


def unit_of(words: str) -> str:
    if found := FINAL_UNIT.search(words):
        return found[1].casefold()
    if re.search(r"how much|\bcost\b|\bprice\b|\bfare\b", words, _I):
        return "yuan"
    found = re.search(r"how many (?:more |fewer )?([A-Za-z-]+)", words, _I)
    if found and found[1].casefold() not in ("more", "times"):
        return found[1].casefold()
    if re.search(r"\b(?:long(?:er)?|length|far)\b", words, _I):
        return "kilometres"
    if re.search(r"\b(?:tall(?:er)?|height|high(?:er)?|deep)\b", words, _I):
        return "metres"
    return "%" if re.search(r"percent", words, _I) else ""


def attribute_in(words: str) -> str:
    bare = FINAL_UNIT.sub(" ", _OPERATORS.sub(" ", words))
    bare = re.sub(r"\b(?:older|newer|earlier|later|passed|before|after|old)\b", " ", bare, flags=_I)
    return " ".join(re.sub(r"[,?.]", " ", _STOP.sub(" ", bare)).split())


def dated(text: str) -> Ask | None:
    """A weekday, or years or days up to a given date."""
    operation = operation_in(text)
    if operation not in ("weekday", "years", "days") or re.search(r"\bclosed?\b", text, _I):
        return None
    given = dates(text) or (years(text) if operation == "years" else [])
    side = "year" if operation == "years" else "date"
    bare = text
    for value in reversed(given):
        bare = bare[: value.start] + bare[value.end :]
    bare = _OPERATORS.sub(" ", bare)
    needs = [Need(v.text, "", "given", side, given=v.text) for v in given[:2]]
    wanted = 1 if operation == "weekday" else 2
    if len(needs) < wanted and (len(given) or operation == "weekday"):
        subject = subject_of(bare)
        needs.append(Need(subject, attribute_in(bare.replace(subject, " ")), type=side))
    if len(needs) < wanted:
        return None
    return Ask("date", "en", tuple(needs[:2] if operation != "weekday" else needs[:1]), operation)


def described_place(text: str) -> Ask | None:
    """An attribute of a place that a description stands for: the bookshop on the 52nd floor …"""
    key, words = map_attribute(text)
    if not key:
        return None
    found = re.search(
        r"\bthe (?P<kind>[a-z]+(?: [a-z]+)?) (?P<words>(?:on|in|that|which|with|where|built"
        r"|finished|completed|known|opened|under|inside|by|at)\b[^,?]+)",
        text.replace(words, " "),
        _I,
    )
    category, _ = category_in(found["kind"]) if found else ("", "")
    if not found or not category:
        return None
    told = re.sub(r"\s+(?:open|close|cost|have|in|is)\s*$", "", found["words"])
    return Ask("hop", "en", (Need("", key, "map"),), described=Described(told, category))


def single_need(text: str) -> Need:
    """One attribute of one subject."""
    key, words = map_attribute(text)
    once = _type(text).type in ("weekday", "date") or re.search(r"\b(?:did|year)\b", text)
    if key and not (once and key in ("opens", "closes", "hours")):
        rest = text.replace(words, " ", 1)
        return Need(subject_of(rest), key, "map")
    wanted = _type(text)
    bare = _WH.sub("", text)
    found = [m[0].strip() for m in _CAPITALISED.finditer(bare)]
    subject = max(found, key=len) if found else ""
    if re.fullmatch("[A-Z]{2,4}", subject) and (more := re.search(rf"{subject} [a-z]+", bare)):
        subject = more[0]
    if not subject:
        of = re.search(r"\bof (?:the |an? )?(?P<s>[a-z][a-z -]+?)(?= (?:in|per)\b|$)", bare)
        of = of or re.search(
            r"\b(?:of|is|are|was|does|do|has|have|for) (?:the |an? )?(?P<s>[a-z][a-z -]+?)"
            r"(?= (?:in|have|has|need|use|cost|long|made|usually|take|per|on|become|contain"
            r"|invented|built|completed|finished|opened|founded|established|designed|born)\b|$)",
            bare,
        )
        subject = _STOP.sub(" ", of["s"]).strip() if of else ""
    attribute = attribute_in(bare.replace(subject, " ", 1) if subject else bare)
    return replace(wanted, subject=" ".join(subject.split()), attribute=attribute)


def _type(text: str) -> Need:
    """What kind of value is wanted."""
    lowered = text.casefold()
    if re.search(
        r"(?:which|what) (?:day of the week|weekday)|(?:which|what) day .*\bclosed?\b", lowered
    ):
        return Need("", "", type="weekday")
    if re.search(r"\b(?:(?:on )?(?:which|what) (?:exact )?(?:date|day)|exact date)\b", lowered):
        return Need("", "", type="date")
    if re.search(r"\b(?:which|what) year\b|^when\b|\bsince when\b", lowered):
        return Need("", "", type="year")
    if re.search(r"\bwho\b|\bwhose\b", lowered):
        return Need("", "", type="person")
    if re.search(
        r"\bhow (?:many|much|long|tall|high|far|deep|wide|large)\b"
        r"|\bpercent|\bfare\b|\b(?:height|length|price|density|distance|depth|capacity|speed"
        r"|temperature|number) of",
        lowered,
    ):
        return Need("", "", type="number", unit=unit_of(text))
    if re.search(r"\b(?:which|what) (?:metro |subway )?lines?\b", lowered):
        return Need("", "", type="line")
    if found := re.search(
        r"\b(?:which|what) (?P<noun>(?!is\b|are\b|was\b|does\b|do\b|did\b)[a-z-]+(?: station)?)",
        lowered,
    ):
        return Need("", "", type="name", noun=found["noun"])
    return Need("", "", type="text")
