"""Read from a question whether a day is to be planned, when, and what is to change of a plan."""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

from agent.core.patterns import piece
from agent.evidence.constraints import chinese_number
from agent.evidence.outing.plan import BEGINS, Meal, clock_of, minutes_of
from agent.evidence.places import extract_place, mentioned
from agent.evidence.records import days_asked_for
from agent.evidence.types import Outing, OutingWish, Place, Stop

Mode = Literal["auto", "on", "off"]
_WANTS = re.compile(
    r"排成|排(?:一?个|个)?(?:行程|路线)|(?:安排|规划|计划|制定|设计).{0,12}(?:一日游?|一天|行程|半日游|半天)"
    r"|(?:一日游|半日游|一天|半天).{0,8}(?:怎么(?:安排|玩|走|逛)|安排|规划|行程|计划)"
    r"|行程.{0,4}(?:安排|规划)|(?:一日游|半日游)\s*(?:$|[,，])|[玩逛]上?一整?天"
    r"|\b(?:plan|organi[sz]e|arrange|schedule|make)\b.{0,30}\b(?:a|one|my|our|the|this) day\b"
    r"|\b(?:day|one[- ]day) (?:trip|plan|out|itinerary)\b|\bitinerary\b"
    r"|^(?:a|one) (?:whole |full )?day (?:at|in|around|on|along|by)\b(?!.{0,40}\blife\b)",
    re.IGNORECASE,
)
_NOT_ONE = re.compile(
    r"多少钱|费用|报团|跟团|旅行社|骗|[两二三四五六七2-7]\s*[日天]|几天"
    r"|\b(?:two|three|four|\d+)[- ]days?\b|\bhow much\b|\btour operators?\b|\bday by day\b",
    re.IGNORECASE,
)
_THESE = re.compile(
    r"这些|它们|上面|以上|刚才|前面|这几(?:个|处|家)|\b(?:these|those|them|above|it)\b",
    re.IGNORECASE,
)
_MEALS: Mapping[Meal, re.Pattern[str]] = {
    "lunch": re.compile(r"午[餐饭]|中饭|中午.{0,4}吃|\blunch\b", re.IGNORECASE),
    "dinner": re.compile(r"晚[餐饭]|晚上.{0,4}吃|\b(?:dinner|supper)\b", re.IGNORECASE),
}
_ORDINAL = re.compile(
    r"第([一二两三四五六七八九十\d]{1,3})(?:个|站|处|家|项)"
    r"|(最后)(?:一?(?:个|站|处|家))"
    r"|\b(first|second|third|fourth|fifth|sixth|last)\b(?: (?:one|stop|place))?",
    re.IGNORECASE,
)
_ENGLISH_ORDER = ("first", "second", "third", "fourth", "fifth", "sixth")
_LATER = re.compile(r"晚[一点些]|晚到|推迟|往后|以后|之后|\b(?:later|after)\b", re.IGNORECASE)
_EARLIER = re.compile(
    r"早[一点些]|提前|往前|先去|以前|之前|\b(?:earlier|before|sooner)\b", re.IGNORECASE
)
_WITHOUT = re.compile(
    r"不去|去掉|跳过|删|取消|不要|别去|\b(?:skip|drop|without|remove|leave out|cancel)\b",
    re.IGNORECASE,
)
_PART = r"(上午|早上|早晨|中午|下午|傍晚|晚上)?\s*"
_TIME = (
    rf"(?:{_PART}(?!(?<=[晚早快慢近])一点)(\d{{1,2}}|[一二两三四五六七八九十]{{1,3}})\s*(?:点钟?|时|[:：](?=\d))\s*(半|[0-5]\d)?分?"
    r"|(\d{1,2})(?:[:.]([0-5]\d))?\s*([ap])\.?m\.?|(\d{1,2}):([0-5]\d))"
)
_A_TIME = re.compile(_TIME, re.IGNORECASE)
_BEGINS = re.compile(
    rf"{_TIME}\s*(?:才|再|就|左右)?(?:出发|开始|出门)"
    rf"|(?:出发时间|\b(?:start(?:ing)?|begin(?:ning)?|leav(?:e|ing)|set(?:ting)? (?:out|off))"
    rf"(?: at| from)?)\D{{0,6}}{_TIME}",
    re.IGNORECASE,
)
_BACK = re.compile(
    rf"{_TIME}\s*(?:以?前|之前)?(?:要|得|必须|需要)?(?:能)?(?:回|结束|到家|返回|赶)"
    rf"|\b(?:back|home|return(?:ing)?|end(?:ing)?|finish(?:ed)?|done|until|till)\b\D{{0,20}}{_TIME}",
    re.IGNORECASE,
)
_AFTERNOON = ("下午", "傍晚", "晚上")
_LATER_BY, _EARLIER_BY = 60, 30
_LATEST_START = 11
"""The hour after which a day that nobody names is tomorrow."""
_SOON, _LAST_MINUTE = 30, 24 * 60 - 1


def wants_outing(question: str, mode: Mode) -> bool:
    """Return whether a day is to be planned: by `mode`, else by the question's own words."""
    if mode != "auto":
        return mode == "on"
    text = unicodedata.normalize("NFKC", question).strip(" 。.?？!！")
    return bool(_WANTS.search(text)) and not _NOT_ONE.search(text)


def means_earlier_places(question: str, places: Sequence[Place]) -> bool:
    """Return whether the day is to be made of the last answer's places, with no new search."""
    if len(places) < 2:
        return False
    return bool(_THESE.search(question)) or extract_place(question) is None


def read_wish(question: str, now: datetime) -> OutingWish:
    """Return the day, the begin and the end that a question states; `now` is the places' clock.

    A day that is not named is today while the morning lasts, else tomorrow.
    """
    text = piece(unicodedata.normalize("NFKC", question))
    named = days_asked_for(text, now.date().isoformat())
    begins = _time_in(_BEGINS, text)
    wish = OutingWish(day=named[0] if named else _next_day(now, begins))
    if begins:
        wish["begins"] = begins
    if meals := [meal for meal, words in _MEALS.items() if words.search(text)]:
        wish["meals"] = meals
    if back := _back_by(text, begins or BEGINS):
        wish["back_by"] = back
    return still_ahead(wish, now)


def _next_day(now: datetime, begins: str) -> str:
    """Return the day that is meant where none is named, and that may begin at a given hour."""
    late = now.hour >= _LATEST_START or (begins and begins <= f"{now:%H:%M}")
    return (now.date() + timedelta(days=1 if late else 0)).isoformat()


def still_ahead(wish: OutingWish, now: datetime) -> OutingWish:
    """Return the wish without a day or hours that are over at `now`, the places' clock."""
    day, today = wish["day"], now.date().isoformat()
    if day < today:
        day = _next_day(now, wish.get("begins", ""))
    if day != today:
        return OutingWish(**{**wish, "day": day})
    soon = -(-(now.hour * 60 + now.minute + _SOON) // 15) * 15
    begins = max(soon, minutes_of(wish.get("begins", BEGINS)))
    return OutingWish(**{**wish, "day": day, "begins": clock_of(min(begins, _LAST_MINUTE))})


def _back_by(text: str, begins: str) -> str:
    """Return when to be back: "five" after a begin at ten is in the afternoon."""
    back = _time_in(_BACK, text)
    if back and back <= begins and back < "12":
        back = clock_of(minutes_of(back) + 12 * 60)
    return back if back > begins else ""


def changed_wish(question: str, outing: Outing, now: datetime) -> OutingWish | None:
    """Return the wish of a plan with what a follow-up changes of it; None where it changes nothing.

    It may name stops by their number or name, a day, and when to begin and be back.
    """
    text = unicodedata.normalize("NFKC", question)
    wish = OutingWish(**outing["wish"])
    wish["not_before"] = dict(wish.get("not_before", {}))
    wish["not_after"] = dict(wish.get("not_after", {}))
    wish["without"] = list(wish.get("without", []))
    before = _copy(wish)
    of_stops = _BACK.sub(" ", _BEGINS.sub(" ", text))
    for stop in _stops_meant(of_stops, outing):
        _change(wish, stop, of_stops)
    if begins := _time_in(_BEGINS, text):
        wish["begins"] = begins
    if back := _back_by(text, wish.get("begins", BEGINS)):
        wish["back_by"] = back
    days = days_asked_for(text, now.date().isoformat())
    if days and (wish != before or extract_place(text) is None):
        wish["day"] = days[0]
    return still_ahead(wish, now) if wish != before else None


def _copy(wish: OutingWish) -> OutingWish:
    return OutingWish(
        **{**wish, "not_before": dict(wish["not_before"]), "not_after": dict(wish["not_after"]),
           "without": list(wish["without"])}
    )  # fmt: skip


def _stops_meant(text: str, outing: Outing) -> list[Stop]:
    """Return the stops that a text names, or else counts; meals of one's own choice count not."""
    stops = [stop for stop in outing["stops"] if "place" in stop]
    left = [Stop(place=each["place"], name=each["name"], begins="", ends="")
            for each in outing["left_out"]]  # fmt: skip
    named = mentioned([_named(stop) for stop in (*stops, *left)], text)
    if named:
        return [stop for stop in (*stops, *left) if stop["place"] in named]
    match = _ORDINAL.search(text)
    if match is None:
        return []
    if match[2] or (match[3] or "").casefold() == "last":
        return stops[-1:]
    number = (
        1 + _ENGLISH_ORDER.index(match[3].casefold())
        if match[3]
        else int(match[1]) if match[1].isdigit() else chinese_number(match[1])
    )  # fmt: skip
    return stops[number - 1 : number] if number else []


def _named(stop: Stop) -> Place:
    """Return as much of a place as its name is found by."""
    return {"id": stop["place"], "name": stop["name"]}  # type: ignore[typeddict-item]


def _change(wish: OutingWish, stop: Stop, text: str) -> None:
    place = stop["place"]
    if _WITHOUT.search(text):
        wish["without"] = [*wish["without"], place]
        return
    wish["without"] = [each for each in wish["without"] if each != place]
    stated = _time_in(_A_TIME, text)
    if _EARLIER.search(text):
        at = stated or clock_of(max(0, minutes_of(stop["begins"] or BEGINS) - _EARLIER_BY))
        wish["not_before"].pop(place, None)
        wish["not_after"][place] = at
    elif stated or _LATER.search(text):
        at = stated or clock_of(minutes_of(stop["begins"] or BEGINS) + _LATER_BY)
        wish["not_after"].pop(place, None)
        wish["not_before"][place] = at


def _time_in(pattern: re.Pattern[str], text: str) -> str:
    """Return the first time that a pattern finds as `HH:MM`; empty where it finds none."""
    match = pattern.search(text)
    if match is None:
        return ""
    groups = list(match.groups())
    part, hour, minute, en_hour, en_minute, half, plain_hour, plain_minute = next(
        groups[at : at + 8] for at in range(0, len(groups), 8) if any(groups[at : at + 8])
    )
    if en_hour:
        hours, minutes = int(en_hour) % 12 + (12 if half.casefold() == "p" else 0), en_minute or "0"
    elif plain_hour:
        hours, minutes = int(plain_hour), plain_minute
    else:
        hours, minutes = int(hour) if hour.isdigit() else chinese_number(hour), minute or "0"
        if part in _AFTERNOON and hours < 12:
            hours += 12
    if hours > 23:
        return ""
    return f"{hours:02}:{30 if minutes == '半' else int(minutes):02}"
