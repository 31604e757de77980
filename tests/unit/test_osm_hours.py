"""Opening hours in OpenStreetMap's syntax: read by a library into the hours that demands use."""

from datetime import date
from typing import Any, cast

import pytest

from agent.evidence.constraints import check
from agent.evidence.hours import EVERY_DAY, Opening, hours_of, osm_hours, partly_read, yearly_hours
from agent.evidence.hours_told import days_in_words, hours_words
from agent.evidence.types import Constraints, Place
from agent.texts import Language
from tests.support.rows import by_examples

DAY = date(2026, 11, 28)
WORKDAYS = frozenset({1, 2, 3, 4, 5})


def place(text: str) -> Place:
    known: dict[str, Any] = {
        "name": "Café", "category": "cafe", "cost": None, "rating": None, "distance_m": None,
        "distance_from": None, "open_time": text, "hours_osm": text,
        "fetched_at": "2026-11-28T10:00:00+00:00", "keywords": [],
    }  # fmt: skip
    return cast(Place, known)


@pytest.mark.parametrize(
    ("text", "hours"),
    [
        ("24/7", [Opening(EVERY_DAY, 0, 1440)]),
        ("Mo-Fr 09:00-17:00; PH off", [Opening(WORKDAYS, 540, 1020)]),
        ("Fr-Sa 22:00-05:00", [Opening(frozenset({5, 6}), 1320, 1740)]),
        ("Mo 00:00-24:00", [Opening(frozenset({1}), 0, 1440)]),
        ("Mo-Su 10:00-20:00; Mo off", [Opening(EVERY_DAY - {1}, 600, 1200)]),
        ("Dec 24-26 off; Mo-Su 10:00-18:00", [Opening(EVERY_DAY, 600, 1080)]),
        ('Mo-Fr 08:00-16:00 || "on appointment"', [Opening(WORKDAYS, 480, 960)]),
        ('Mo-Fr 11:00-15:00 open "Lunch"', [Opening(WORKDAYS, 660, 900)]),
        (
            "Mo-Th11:00-23:00; Fr11:00-24:00",
            [Opening(frozenset({1, 2, 3, 4}), 660, 1380), Opening(frozenset({5}), 660, 1440)],
        ),
        ("Tu, Fr 10:00-18:00", [Opening(frozenset({2, 5}), 600, 1080)]),
        (
            "Mo-We, Fr 10:00-18:00, Sa, Su 11:00-17:00",
            [Opening(WORKDAYS - {4}, 600, 1080), Opening(frozenset({6, 7}), 660, 1020)],
        ),
        (
            "Mo-Fr 11:00-15:00 Sa 12:00-15:00",
            [Opening(WORKDAYS, 660, 900), Opening(frozenset({6}), 720, 900)],
        ),
        ("off", []),
        (
            "Mo-Th,Su 12:00-00:30; Fr-Sa 12:00-01:30",
            [Opening(EVERY_DAY - {5, 6}, 720, 1470), Opening(frozenset({5, 6}), 720, 1530)],
        ),
    ],
)
def test_hours_of_a_whole_year_are_read(text: str, hours: list[Opening]) -> None:
    assert osm_hours(text, DAY) == [hours]
    assert yearly_hours(place(text)) == hours


@pytest.mark.parametrize(
    "text",
    [
        "sunrise-sunset", "Mo-Fr 17:00+", '"by appointment"', 'Mo-Fr 08:00-18:00 "for members"',
        "Mo-Fr 10:00-18:00 unknown", "2017 Jul 1 - 2017 Aug 8 off", "Seasonal", "Mo-Fr 8-02", "",
        ";", "x" * 100_000, "Mo-Fr 10:00-18:00; " * 5000,
    ],
)  # fmt: skip
def test_what_is_not_certain_is_unknown(text: str) -> None:
    assert osm_hours(text, DAY) in ([None], [[Opening(WORKDAYS, 600, 1080)]])
    assert osm_hours(text, DAY) == [None] or text.startswith("Mo-Fr 10:00-18:00; ")


def test_seasons_are_told_apart_and_decide_only_what_all_of_them_say() -> None:
    text = "Apr-Sep: Mo-Su 09:00-20:00; Oct-Mar: Sa-Su 10:00-16:00"
    assert len(hours_of(place(text))) == 2
    assert yearly_hours(place(text)) is None
    [monday] = check(place(text), {"open_on": [1]}, "en")
    [saturday] = check(place(text), {"open_on": [6], "open_at": "12:00"}, "en")
    assert (monday["verdict"], saturday["verdict"]) == ("unknown", "satisfied")


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("Mo-Th 11:00-23:00; Fr 11:00/24:00; Sa 12:00-24:00", {5}),
        ("Mo-Fr 7:00-21; Sa-Su 12:00-18:00", set(WORKDAYS)),
        ("Mo-Fr 10:00-20:00, Sa 10-18, Su 12-18", {6, 7}),
        ("Mo-Fr 10:00-20:00; Sa 10:00-sunset; PH off", {6}),
        ('Mo-Fr 09:00-17:00; Sa "by appointment"', {6}),
        ("Mo-Sa 09:00-17:00; Sa 10-", {6}),
    ],
)
def test_a_rule_that_cannot_be_read_leaves_the_days_of_the_others_known(
    text: str, unread: set[int]
) -> None:
    [hours] = osm_hours(text, DAY)
    assert hours is not None
    assert partly_read([hours])
    assert {day for each in hours if each.written for day in each.days} == unread
    assert not unread & {day for each in hours if not each.written for day in each.days}
    assert yearly_hours(place(text)) is None


@pytest.mark.parametrize(
    "text",
    [
        "Mo-Fr 8-02;Sa 8-02 Su 8", "Su-Th 15-00; Fr-Sa 15-02", "Mo-Fr 10:00-18:00; 10-16",
        "Mo-Fr 09:00-17:00; Jun 06-Aug 13 Mo 9-", "Mo-Fr 16:00-, Sa 14:00-",
    ],
)  # fmt: skip
def test_where_an_unread_rule_does_not_tell_its_days_nothing_is_known(text: str) -> None:
    assert osm_hours(text, DAY) == [None]


def test_a_demand_of_a_day_that_is_not_read_is_open() -> None:
    kept = place("Mo-Th 11:00-23:00; Fr 11:00/24:00; Sa 12:00-24:00")

    def verdict(demands: Constraints) -> str:
        return check(kept, demands, "en")[0]["verdict"]

    asked = [(1, "12:00"), (5, "12:00"), (6, "00:30"), (7, "12:00")]
    verdicts = [verdict({"open_on": [day], "open_at": at}) for day, at in asked]
    assert verdicts == ["satisfied", "unknown", "unknown", "violated"]
    assert verdict({"open_at": "13:00"}) == "unknown"
    assert verdict({"open_at": "05:30"}) == "unknown"


def test_what_is_not_read_is_shown_as_it_is_written() -> None:
    seasons = osm_hours("Mo-Th 11:00-23:00; Fr 11:00/24:00", DAY)
    assert (
        hours_words(seasons, "zh") == "周一至周四 11:00–23:00；周五 11:00/24:00（照录，未能判读）"
    )
    assert hours_words(seasons, "en") == (
        "Mon–Thu 11:00–23:00; Fri 11:00/24:00 (as written, not read)"
    )


def test_a_demand_is_checked_by_them() -> None:
    kept = place("Mo-Fr 07:30-19:00; Sa 08:30-17:00")
    verdicts = [
        check(kept, {"open_on": [day], "open_at": at}, "en")[0]["verdict"]
        for day, at in ((6, "16:00"), (6, "18:00"), (7, "12:00"))
    ]
    assert verdicts == ["satisfied", "violated", "violated"]


@by_examples
def test_they_are_told_in_words(text: str, zh: str, en: str) -> None:
    seasons = osm_hours(text, DAY)
    assert (hours_words(seasons, "zh"), hours_words(seasons, "en")) == (zh, en)


def test_hours_that_nobody_can_read_have_their_weekdays_in_the_reader_s_words() -> None:
    text = "Mo-Fr 09:30 - 15:00. Lunch Mo-Fr 11:00"
    assert osm_hours(text, DAY) == [None]
    assert days_in_words(text, "zh") == "周一-周五 09:30 - 15:00. Lunch 周一-周五 11:00"


@by_examples
def test_hours_that_nobody_reads_have_their_days_and_months_in_one_language(
    language: Language, words: str
) -> None:
    assert days_in_words("Jun-Aug: Su-Sa", language) == words
