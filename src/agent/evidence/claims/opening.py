"""Check times and days at which a sentence says that places are open or closed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta

from agent.evidence.claims.claim import Claim
from agent.evidence.claims.facts import Passage, clause_spans
from agent.evidence.constraints import Outcome, opening_hours, openness
from agent.evidence.figures import figures

_OPEN = re.compile(
    r"开放|营业|开门|开着|在开|[能可以]进|\bopen\b|\b(?:get|go|come|let) in\b|\badmitted\b", re.I
)
_CLOSED = re.compile(
    r"不开|未开|没开|不营业|停业|停止|不能进|进不去|[闭休]馆|闭园|关门|关闭|关着|歇业|打烊|休息"
    r"|\b(?:not|never|no longer)\b|n['’]t\b|\bclosed\b",
    re.I,
)
_NEVER_CLOSED = re.compile(
    r"(?:不|从不|没有?|未)(?:[闭休]馆|闭园|关门|关闭|停业|歇业|打烊|休息)"
    r"|(?:\bnever|\bnot|n['’]t) (?:clos|shut)\w*",
    re.I,
)
_UNSURE = re.compile(
    r"是否|如果|假如|若|可能|或许|不确定|确认|部分|除外"
    r"|\b(?:if|whether|unless|may|might|check|part\w*|some|except)\b",
    re.I,
)
_PART_OF_DAY = re.compile(
    r"半天|[上下]午|[晚夜]|凌晨|\b(?:half|morning|afternoon|evening|night)s?\b", re.I
)
_AT = re.compile(r"\b(?:at|past|after|by)\s+(?:about |around )?$", re.I)
_OTHER_AT = re.compile(
    r"\b(?:clos(?:es?|ing)|shuts?|ends?|starts?|begins?|opens|entry|admission|orders?)\s+"
    r"\w+\s+(?:about |around )?$",
    re.I,
)
_HAN_AT = re.compile(
    r"\s*[钟整]?(?:(?:以后|之后|过后|后|的?时候?)|\s*(?:[都也就]?(?:还|仍|依然|照[常样]|能|可以?|已)|只有))"
)
_RANGE_END = re.compile(r"(?:[-–—~～至到]|\bto|\buntil|\btill)\s*$")
_HAN_DAY = r"(?:周|星期|礼拜)([一二三四五六日天])"
_DAYS = re.compile(rf"{_HAN_DAY}|\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*days?\b", re.I)
_DAY_RANGE = re.compile(
    rf"{_HAN_DAY}\s*(?:[-–~至到]|、|和)\s*(?:周|星期)?[一二三四五六日天]|工作日|周末|节假日"
    r"|day\s*(?:[-–]|to|through|and|or)\s*(?:mon|tue|wed|thu|fri|sat|sun)|\bweekdays?\b|\bweekends?\b",
    re.I,
)
_HAN_ORDER, _ORDER = "一二三四五六日", ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TODAY_IS = re.compile(
    rf"\W*(?:[今明]天|后天|today|tomorrow)\s*(?:就?是|为|is)?\s*(?:a\s+)?(?:{_HAN_DAY}|[a-z]+day)\W*",
    re.I,
)
_NEAR = (
    (re.compile(r"今[天日晚]|\b(?:today|tonight)\b", re.I), 0),
    (re.compile(r"明[天日晚]|\btomorrow\b", re.I), 1),
    (re.compile(r"后天", re.I), 2),
)


@dataclass(frozen=True)
class Opening:
    """Hold one clause on whether places are open on a day, at a time, or both."""

    start: int
    end: int
    places: frozenset[str]
    """The ids of their records."""
    day: int | None
    """ISO weekday."""
    time: int | None
    """Minutes after midnight."""
    is_open: bool


def openings(claim: Claim) -> Iterator[Opening]:
    """Yield what a sentence says about when the places that it names are open."""
    records = [claim.evidence.records.get(name) for name in claim.sentence.cited]
    if not claim.evidence.places or any(record and not record.place for record in records):
        return
    places, of_sentence = frozenset[str](), days_of(claim.text, claim.evidence.today)
    for start, clause in clause_spans(claim.text):
        places = frozenset(claim.evidence.places_in(clause)) or places
        about = places or frozenset(record.id for record in records if record)
        told = _NEVER_CLOSED.sub("开门", clause)
        is_closed = _CLOSED.search(told) is not None
        if not about or not (is_closed or _OPEN.search(told)):
            continue
        days = days_of(clause, claim.evidence.today) or of_sentence
        day = next(iter(days)) if len(days) == 1 else None
        time = _time_in(clause)
        if _is_told(clause, day, time):
            yield Opening(start, start + len(clause), about, day, time, not is_closed)


def _is_told(clause: str, day: int | None, time: int | None) -> bool:
    """Return whether a clause is sure of a time, or of a whole day."""
    if _UNSURE.search(clause) or _DAY_RANGE.search(clause):
        return False
    return time is not None or not (day is None or figures(clause) or _PART_OF_DAY.search(clause))


def days_of(text: str, today: str) -> set[int]:
    """Return the ISO weekdays that a text names, also as today and tomorrow."""
    days = {
        1 + (_HAN_ORDER.index(han.replace("天", "日")) if han else _ORDER.index(latin.lower()))
        for han, latin in _DAYS.findall(text)
    }
    try:
        now = date.fromisoformat(today[:10])
    except ValueError:
        return days
    return days | {
        (now + timedelta(days=n)).isoweekday() for words, n in _NEAR if words.search(text)
    }


def _time_in(clause: str) -> int | None:
    """Return the time at which the clause says that something is open or not."""
    for figure in figures(clause):
        before, behind = clause[: figure.start], clause[figure.end :]
        at = _AT.search(before) and not _OTHER_AT.search(before)
        if figure.clock is not None and (at or _HAN_AT.match(behind)):
            return None if _RANGE_END.search(before) or figure.ambiguous else figure.clock
    return None


def against_hours(claim: Claim) -> Passage | None:
    """Return the record of a place whose hours say otherwise than the sentence."""
    for opening in openings(claim):
        for name in sorted(opening.places):
            if _outcome(claim, name, opening) == "violated":
                return _hours_passage(claim, name)
    return None


def borne_spans(claim: Claim) -> list[tuple[int, int]]:
    """Return where a sentence has clauses that the hours of its places bear, or today's date."""
    borne = [
        (opening.start, opening.end)
        for opening in openings(claim)
        if all(_outcome(claim, name, opening) == "satisfied" for name in opening.places)
    ]
    return borne + [
        (start, start + len(clause))
        for start, clause in clause_spans(claim.text)
        if _TODAY_IS.fullmatch(clause) and len(days_of(clause, claim.evidence.today)) == 1
    ]


def without_borne_hours(claim: Claim) -> str:
    """Return the text of a sentence with the clauses blanked that the hours of its places bear."""
    text = claim.text
    for start, end in borne_spans(claim):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _outcome(claim: Claim, name: str, opening: Opening) -> Outcome:
    """Return whether the hours of a place bear a statement about them."""
    place = claim.evidence.records[name].place
    hours = opening_hours((place and place.get("open_time")) or "")
    clock = None if opening.time is None else f"{opening.time // 60}:{opening.time % 60:02}"
    outcome = openness(hours, clock, [opening.day] if opening.day else None)
    if opening.is_open or outcome == "unknown":
        return outcome
    return "violated" if outcome == "satisfied" else "satisfied"


def _hours_passage(claim: Claim, name: str) -> Passage | None:
    """Return the passage of a place's record that gives its hours."""
    passages = claim.evidence.records[name].passages
    timed = [p for p in passages if any(figure.clock is not None for figure in p.figures)]
    return next(iter([*timed, *passages]), None)
