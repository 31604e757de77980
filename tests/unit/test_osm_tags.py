"""What OpenStreetMap's tags say of a place is told in its reader's words."""

from datetime import date
from typing import Any, get_args

import pytest

from agent.evidence.constraints import check
from agent.evidence.ordering import grouped_lines, judged
from agent.evidence.records import kind_text, place_facts, place_quote
from agent.evidence.seasons import season_words
from agent.evidence.types import Constraints, Place, Suits
from agent.mcp.osm.records import PRESENTATION, OsmReader
from agent.mcp.records import MapOptions, MapRecords, MapResult
from agent.texts import Language, say
from tests.support.rows import by_examples


def _read(row: dict[str, Any], language: Language) -> Place:
    options = MapOptions(prefix="a0", language=language)
    records = MapRecords(MapResult(), options, presentation=PRESENTATION)
    found = OsmReader(records).add_place(row)
    assert found is not None
    return found


@by_examples
def test_what_a_record_s_tags_say_stands_in_the_reader_s_words_or_not_at_all(
    language: Language, kind: str
) -> None:
    """A Russian read "есть варианты: vegan"."""
    row = {"id": "node/1", "name": "X", "lng": 13.4, "lat": 52.5, "tag": "amenity=restaurant",
           "cuisine": "italian;bistro_food", "diets_yes": "vegan", "wheelchair": "yes",
           "highchair": "2", "kids_area": "no"}  # fmt: skip
    found = _read(row, language)
    assert kind_text(found, language) == kind
    [fits] = check(found, {"suits": ["children"]}, language)
    assert (fits["verdict"], fits["field"]) == ("satisfied", "category")


@pytest.mark.parametrize("language", ["en", "de", "zh"])
def test_what_has_no_name_is_known_to_have_none(language: Language) -> None:
    row = {"id": "way/1", "name": None, "lng": 24.9, "lat": 60.1, "tag": "leisure=playground",
           "beside": "Teemaa"}  # fmt: skip
    assert _read(row, language).get("nameless")
    assert not _read({**row, "name": "Leikkipaikka"}, language).get("nameless")


@pytest.mark.parametrize("language", get_args(Language))
def test_whom_a_place_suits_is_read_from_its_tags_not_from_the_words_they_are_told_in(
    language: Language,
) -> None:
    """A reader of 無障礙 was told of each café that its access is not known."""
    row = {"id": "node/1", "name": "X", "lng": 13.4, "lat": 52.5, "tag": "amenity=cafe",
           "diets_yes": "gluten_free;vegan", "wheelchair": "yes", "kids_area": "yes"}  # fmt: skip
    found = _read(row, language)
    suits: list[Suits] = ["wheelchair", "children", "vegan", "vegetarian", "gluten_free"]
    verdicts = check(found, {"suits": suits}, language)
    assert {verdict["verdict"] for verdict in verdicts} == {"satisfied"}


@pytest.mark.parametrize("language", get_args(Language))
def test_how_a_wheelchair_gets_in_and_into_the_toilets_is_told_as_its_record_says(
    language: Language,
) -> None:
    """One that lets no wheelchair in read like one of which nothing is known."""
    row = {"id": "node/1", "name": "X", "lng": 24.9, "lat": 60.1, "tag": "amenity=cafe"}
    steps = _read({**row, "wheelchair": "limited", "toilets": "no", "access": "3 steps"}, language)
    told = [say("constraints.wheelchair.limited", language), "“3 steps”",
            say("records.toilets.no", language)]  # fmt: skip
    for text in (place_facts(steps, language), place_quote(steps, language)):
        assert all(each in text for each in told)
    steps["verdicts"] = check(steps, {"suits": ["wheelchair"]}, language)
    assert place_facts(steps, language).count(told[0]) == 1
    lift = _read({**row, "wheelchair": "yes", "access": "lift", "toilets": "designated"}, language)
    assert place_facts(lift, language).endswith("“lift”")


@pytest.mark.parametrize("kitchen", [{"cuisine": "vegetarian;regional"}, {"diets_only": "vegan"}])
def test_a_vegetarian_kitchen_is_told_apart_from_vegetarian_dishes_and_leads(
    kitchen: dict[str, str],
) -> None:
    """A burger house with "vegetarian options" was as good a "vegetarisches Restaurant"."""
    row = {"name": "X", "lng": 13.4, "lat": 52.5, "tag": "amenity=restaurant"}
    some = _read({**row, "id": "node/1", "diets_yes": "vegetarian"}, "de")
    whole = _read({**row, "id": "node/2", **kitchen}, "de")
    some["distance_m"], whole["distance_m"] = 10, 400
    found = judged([some, whole], {"suits": ["vegetarian"]}, "de")
    assert [place["id"] for place in found] == ["osm:node/2", "osm:node/1"]
    told = [place["verdicts"][0]["text"] for place in found]
    assert told[0] == "vegetarisch"
    assert told[1] == "vegetarische Gerichte"
    lines = grouped_lines(found, "de")
    assert lines.index("vegetarisch") < lines.index("passt: vegetarische Gerichte")


@by_examples
def test_a_place_is_open_in_its_season_only_which_is_told_with_its_hours(
    tag: str, lat: float, day: str | None, verdict: str
) -> None:
    """City bikes were told as open round the clock on a day in winter."""
    row = {"id": "node/1", "name": "X", "lng": 24.9, "lat": lat, "tag": "amenity=bicycle_rental",
           "hours": "24/7", "seasonal": tag}  # fmt: skip
    found = _read(row, "zh")
    days = [date.fromisoformat(day).isoweekday()] if day else [1]
    demands = Constraints(open_on=days)
    if day:
        demands["day"] = day
    [told] = check(found, demands, "zh")
    assert told["verdict"] == verdict
    seasons = season_words(found["seasons"], "zh") if "seasons" in found else ""
    assert seasons in (found["open_time"] or "")
    # What is met stands in the place's hours.
    assert seasons in told["text"] or verdict == "satisfied"


def test_a_season_alone_says_nothing_of_hours() -> None:
    row = {"id": "node/1", "name": "X", "lng": 24.9, "lat": 60.2, "tag": "amenity=bicycle_rental",
           "seasonal": "summer"}  # fmt: skip
    found = _read(row, "zh")
    [told] = check(found, {"open_on": [1]}, "zh")
    assert (told["verdict"], found["open_time"]) == ("unknown", season_words(["summer"], "zh"))
