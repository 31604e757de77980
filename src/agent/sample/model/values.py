"""Take the value a question asks for out of a sentence, and compute its own arithmetic."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from agent.evidence.figures import Figure, figures
from agent.evidence.units import UNITS
from agent.knowledge.terms import terms
from agent.sample.model.text import Record
from agent.sample.subject import Subject, clean_question, subject_of
from agent.texts import Language, detect_language

_WANTED = {
    "rating": r"评分|\brating\b",
    "cost": r"人均|\b(?:average|per[- ]person) (?:cost|price)\b|\bcost per person\b",
    "closes": r"几点(?:关门|闭馆|打烊|停止)|\b(?:what time|when) (?:does|do|is)\b.*\bclose",
    "opens": r"几点(?:开门|开馆|开放|开始)|\b(?:what time|when) (?:does|do|is)\b.*\bopen",
    "address": r"地址|\baddress\b",
    "year": r"哪一?年|何年|\b(?:which|what) year\b",
    "date": r"哪一?天|几月几[日号]|什么日期|\b(?:what|which) date\b|\bon (?:what|which) day\b",
    "number": r"多少|多[高长大远宽深重]|\bhow (?:many|much|long|tall|high|far|deep|wide)\b",
}
ON_MAP = frozenset({"rating", "cost", "closes", "opens", "address"})
_BEYOND = re.compile(
    "最|哪家|哪个|哪座|更|相差|相隔|相比|附近|一共|总共|[^，,]比.*[高低早晚长短多少大小]"
    r"|\b(?:\w+est|older|taller|longer|higher|larger|more|times|total|after|before|than|between)\b",
    re.IGNORECASE,
)
_UNIT = re.compile(r"多少\s*([\u4e00-\u9fff]{1,3}|%)|\bhow many ([a-z]+)|\bin ([a-z]+)\W*$", re.I)
_COMMON = re.compile(
    "the|of|in|is|was|were|are|a|an|it|did|does|do|which|what|when|year|date|how|many|much|long"
    "|tall|high|on|at|to|by|for|from|and|built|whole|是在|的是|一共|总共|大约"
)
_SIGNS = {
    r"\s*(?:乘以|乘|times|multiplied by|×|x(?=\s*\d))\s*": " * ",
    r"\s*(?:除以|divided by|÷)\s*": " / ",
    r"\s*(?:加上|加|plus)\s*": " + ",
    r"\s*(?:减去|减|minus|−)\s*": " - ",
    r"(\d+(?:\.\d+)?)\s*[%％]\s*of\s*(\d+(?:\.\d+)?)": r"\1 / 100 * \2",
    r"(\d+(?:\.\d+)?)\s*的\s*(?:百分之)?(\d+(?:\.\d+)?)\s*[%％]": r"\1 * \2 / 100",
}
_FORMULA = re.compile(r"\(*\s*\d+(?:\.\d+)?(?:[\s()]*[-+*/][\s()]*\d+(?:\.\d+)?)+\s*\)*")
_ASKS_WEEKDAY = re.compile("星期|周几|礼拜|day of the week|which day|what day")
_WEEKDAYS: dict[Language, list[str]] = {
    "zh": [f"星期{day}" for day in "一二三四五六日"],
    "en": ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"],
}


@dataclass(frozen=True)
class Value:
    """Hold an answer, and the sentence or record it was taken out of."""

    text: str
    sentence: str
    id: str


def value_kind(question: str) -> str:
    """Return the kind of value that is asked for; "" where only a language model could tell."""
    plain = clean_question(question)
    if _BEYOND.search(plain) or len(subject_of(plain).names) > 1:
        return ""
    return next((kind for kind, words in _WANTED.items() if re.search(words, plain, re.I)), "")


def of_record(record: Record, kind: str) -> Value | None:
    """Return a fact of a place as the map lists it."""
    times = re.findall(r"\b\d{1,2}:\d{2}\b", " ".join(record.fields[1:]))
    others = [f for f in record.fields[2:] if not re.search(r"^[★¥￥]|\d:\d|全天|24|\d m\b", f)]
    values = {
        "rating": [field[1:] for field in record.fields if field[0] == "★"],
        "cost": [cost[1] for f in record.fields if (cost := re.match(r"[¥￥]([\d.]+)", f))],
        "opens": times[:1],
        "closes": times[-1:],
        "address": others[-1:],
    }[kind]
    return Value(values[0], " · ".join(record.fields), record.id) if values else None


def of_sentence(sentence: str, question: str, subject: Subject, title: str = "") -> str:
    """Return the year, date or number of a sentence on the subject that speaks of what is asked."""
    kind, plain = value_kind(question), clean_question(question)
    if not subject.is_spelt_in(f"{title} {sentence}"):
        return ""
    rest = re.sub("|".join(_WANTED.values()), " ", _UNIT.sub(" ", plain), flags=re.I)
    for name in subject.names:
        rest = rest.replace(name, " ")
    aspects = [word for word in terms(rest) if len(word) > 1 and not _COMMON.fullmatch(word)]
    telling = set(aspects) & set(terms(sentence))
    values = list(_values(sentence, kind, plain))
    if not values or (aspects and not telling):
        return ""
    text = sentence.casefold()
    places = [m.start() for word in telling for m in re.finditer(re.escape(word), text)]
    return min(values, key=lambda v: min((abs(v[1] - at) for at in places), default=0))[0]


def _values(sentence: str, kind: str, question: str) -> Iterator[tuple[str, int]]:
    """Yield every value of a kind with the place where it stands."""
    for figure in figures(sentence):
        is_amount = not figure.date and figure.clock is None
        year = figure.date[0] if figure.date else _year_of(figure)
        if kind == "year" and year:
            yield str(year), figure.start
        elif kind == "date" and figure.date and all(figure.date):
            yield "-".join(f"{part:02d}" for part in figure.date), figure.start
        elif kind == "number" and is_amount and _fits(figure, sentence, question):
            digits = re.search(r"\d[\d,]*(?:\.\d+)?", figure.text)
            yield digits[0].replace(",", "") if digits else figure.text, figure.start


def _fits(figure: Figure, sentence: str, question: str) -> bool:
    """Tell whether a number has the unit that is asked for, and in that size."""
    match = _UNIT.search(question)
    if not match:
        return figure.kind == "metre"
    unit = str(match[match.lastindex or 0])
    for name in (unit, unit[:2], unit[:1]):
        if name in UNITS:
            return (figure.kind, figure.scale) == UNITS[name]
    return sentence[figure.end :].lstrip().casefold().startswith(unit[:4].casefold())


def program(question: str, *, again: bool = False) -> str:
    """Return a program for a question's arithmetic; `again` writes it another way, as a check."""
    plain = clean_question(question)
    days = [figure.date for figure in figures(plain) if figure.date and all(figure.date)]
    if days:
        value = _of_dates([f"date({y}, {m}, {d})" for y, m, d in days], plain, again=again)
        return f"from datetime import date\nprint({value})" if value else ""
    for pattern, sign in _SIGNS.items():
        plain = re.sub(pattern, sign, plain, flags=re.IGNORECASE)
    if not (match := _FORMULA.search(plain)) or match[0].count("(") != match[0].count(")"):
        return ""
    kind = "Decimal" if again else "Fraction"
    exact = re.sub(r"\d+(?:\.\d+)?", lambda n: f'{kind}("{n[0]}")', match[0].strip())
    return f"print(f'{{round(float({exact}), 6):.15g}}')"


def _of_dates(dates: list[str], plain: str, *, again: bool) -> str:
    """Return an expression for the days between two dates, or for the weekday of one."""
    if len(dates) == 2 and re.search("天|days", plain):
        first, second = dates
        if again:
            return f"abs({second}.toordinal() - {first}.toordinal())"
        return f"abs(({second} - {first}).days)"
    if len(dates) == 1 and _ASKS_WEEKDAY.search(plain):
        at = f"({dates[0]}.toordinal() - 1) % 7" if again else f"{dates[0]}.weekday()"
        return f"{_WEEKDAYS[detect_language(plain)]!r}[{at}]"
    return ""


def _year_of(figure: Figure) -> int | None:
    """Return the year that a number without a unit may be."""
    is_year = figure.kind in (None, "") and 1000 <= figure.value <= 2999
    return int(figure.value) if is_year else None
