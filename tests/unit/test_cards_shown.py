"""Which places a message shows, and what their cards say of them."""

from typing import Any

import pytest

from agent.assistants.common.shown_records import (
    cited_ways,
    on_cards,
    readable,
    sources_as_shown,
    ways_of,
    with_nearest,
)
from agent.evidence.constraints import check
from agent.evidence.geo import decimal_text
from agent.evidence.types import Anchor, Distance, Location, Place, PlaceVerdict, Source
from agent.export.place_cards import card_of
from agent.export.said_facts import facts_said
from agent.mcp.new_records import new_route
from agent.texts import Language, prepare_language
from tests.support.rows import by_examples
from tests.unit import export_samples


def entered(name: str, *, mentioned: bool = False, **more: Any) -> Place:
    sample = {**export_samples.place(name=name), "id": name, "mentioned": mentioned}
    return Place(**{**sample, **more})  # type: ignore[typeddict-item]


def verdict(outcome: Any, field: str = "open_time") -> PlaceVerdict:
    return PlaceVerdict(constraint="open_at", verdict=outcome, field=field, text="")


NAMED = [entered("甲", mentioned=True), entered("乙", mentioned=True, address="")]


def names(places: list[Place], **how: Any) -> list[str]:
    return [place["name"] for place in on_cards(places, "zh", **{"is_report": False, **how})]


def test_beside_the_places_that_a_text_names_few_others_are_shown() -> None:
    """Eleven cafés stood below an answer that had chosen three."""
    others = [entered(f"丙{number}") for number in range(11)]
    assert names([*NAMED, *others]) == ["甲", "乙", "丙0", "丙1", "丙2", "丙3"]
    assert names(others) == ["丙0", "丙1", "丙2", "丙3"]
    assert names([*NAMED, *others], is_report=True) == ["甲", "乙"]
    assert names([*NAMED, *others], is_day=True) == ["甲", "乙"], "its stops are the day"
    assert names(others, is_report=True) == ["丙0", "丙1", "丙2", "丙3"]


def test_what_was_looked_for_beside_a_named_place_is_shown_only_where_it_is_named_too() -> None:
    """Four cafés around one bookshop stood among the bookshops, and no sentence told of them."""
    cafés = [entered(f"丙{number}", distance_from="甲") for number in range(3)]
    cafés[0]["mentioned"] = True
    assert names([*NAMED, *cafés]) == ["甲", "乙", "丙0"]


def test_a_report_shows_a_place_once_that_has_a_record_in_each_language() -> None:
    square = entered("Kauppatori", mentioned=True, other_names=["Market Square"])
    again = entered("Market Square", mentioned=True, category="square")
    far = entered("Market Square ", mentioned=True, wgs84={"lng": 25.5, "lat": 60.4})
    assert names([square, again, far], is_report=True) == ["Kauppatori", "Market Square "]
    assert names([square, again]) == ["Kauppatori", "Market Square"]


def test_a_report_shows_the_ways_that_it_cites_as_it_tells_them() -> None:
    urls = {n: f"https://map.example/{n}" for n in (1, 2)}
    used = [export_samples.source(n, url) for n, url in urls.items()]
    ways: Any = [{"id": "1", "source": "a0-1", "url": urls[2]},
                 {"id": "2", "source": "a0-2", "url": ""},
                 {"id": "3", "source": "a0-3", "url": urls[1]}]  # fmt: skip
    assert cited_ways(ways, used) == [ways[2], ways[0]]
    again = {**ways[2], "source": "a0-4", "url": urls[2]}
    assert cited_ways([*ways, again], used) == [ways[2], ways[0]], "each once"


@pytest.mark.parametrize(
    ("quotes", "shown"),
    [
        (["Search summary: Open daily.", "Avoinna päivittäin."], ["Avoinna päivittäin."]),
        (["Search summary: Open daily."], ["Zusammenfassung der Suche: Open daily."]),
        (["Avoinna päivittäin."], ["Avoinna päivittäin."]),
    ],
)
def test_a_search_s_summary_is_no_page_s_words_and_gives_way_to_them(
    quotes: list[str], shown: list[str]
) -> None:
    page = Source(**{**export_samples.source(), "quotes": quotes})  # type: ignore[typeddict-item]
    assert sources_as_shown([page], [], "de")[0]["quotes"] == shown


def test_a_place_besides_tells_where_it_is_and_what_was_asked_of_its_record() -> None:
    places = [
        *NAMED,
        entered("无址", address=None),
        entered("不明", verdicts=[verdict("unknown")]),
        entered("开门", verdicts=[verdict("satisfied"), verdict("unknown", field="")]),
    ]
    assert names(places) == ["甲", "乙", "开门"]


def test_a_card_says_how_far_a_place_is_from_where_it_was_asked_and_not_from_a_neighbour() -> None:
    """A bar was "675 m from Xibei", which only the writer chose dinner by."""
    bar = entered("酒吧", mentioned=True, source="a0-0", keywords=["酒吧"], category="酒吧")
    dinner = entered("西贝", source="a1-0", keywords=["餐厅"], category="餐厅")
    lot = entered("停车场", source="a2-0", keywords=["停车场"], category="停车场")
    [shown, *_] = with_nearest([bar, dinner])
    assert [far["origin"] for far in shown["further"]] == ["西贝"], "for who writes"
    assert "further" not in on_cards([shown], "zh", is_report=False)[0]
    [shown, *_] = with_nearest([bar, lot])
    assert [far["origin"] for far in on_cards([shown], "zh", is_report=False)[0]["further"]] == [
        "停车场"
    ], "a car park is asked for beside something"


def test_what_was_found_around_one_place_is_not_called_the_nearest_to_another() -> None:
    """A bookshop was "186 m from the nearest café" with one 29 m away: nobody had looked there."""
    shop = {"keywords": ["书店"], "category": "书店"}
    here = entered("东方书店", source="a0-0", **shop)
    other = entered("西方书店", source="a0-1", wgs84={"lng": 116.402, "lat": 39.9}, **shop)
    café = entered("咖啡", source="a1-0", keywords=["咖啡馆"], category="咖啡馆",
                   distance_from="东方书店", wgs84={"lng": 116.4005, "lat": 39.9})  # fmt: skip
    here["wgs84"] = {"lng": 116.4, "lat": 39.9}
    _, told, _ = with_nearest([here, other, café])
    assert "further" not in told
    other["wgs84"] = {"lng": 116.4008, "lat": 39.9}
    _, told, _ = with_nearest([here, other, café])
    assert [far["origin"] for far in told["further"]] == ["咖啡"], "next door"


def test_a_card_in_traditional_chinese_has_every_word_in_traditional_characters() -> None:
    further = [Distance(origin="东门车站", metres=90)]
    place = entered("甲", mentioned=True, address="中华路25号", district="黄浦区", category="餐厅",
                    distance_from="东方书店", further=further)  # fmt: skip
    [shown] = on_cards([place], "zh-Hant", is_report=False)
    told = (shown["address"], shown["district"], shown["category"], shown["distance_from"])
    assert told == ("中華路25號", "黃浦區", "餐廳", "東方書店")
    assert shown["further"][0]["origin"] == "東門車站"
    assert place["category"] == "餐厅", "the record stays as code reads it"
    assert on_cards([place], "zh", is_report=False) == [place]


@by_examples
def test_a_tick_names_the_tag_that_bears_the_demand_and_no_other(
    language: Language, demands: Any, place: dict[str, Any], text: str
) -> None:
    """ "✓ accessible (restaurant, vegan options, …)" """
    assert check(entered("甲", **place), demands, language)[0]["text"] == text


async def test_ways_forecasts_and_centres_are_in_traditional_characters_too() -> None:
    await prepare_language("zh-Hant")
    near = Anchor(name="东门车站", wgs84={"lng": 116.4, "lat": 39.9})
    centre = await readable(near, "zh-Hant")
    assert centre is not None
    assert centre["name"] == "東門車站"
    stops = [(name, Location(lng=116.4, lat=39.9, crs="WGS-84")) for name in ("东门", "书店")]
    way = new_route(
        id="amap:way", mode="walking", url="", distance_m=1, duration_s=60, stops=stops,
        steps=[{"instruction": "向东步行1米右转", "distance_m": 1}],
    )  # fmt: skip
    [told] = await ways_of([way], "zh-Hant")
    assert (told["origin"], told["destination"], told["id"]) == ("東門", "書店", "amap:way")
    assert told["steps"][0]["instruction"] == "向東步行1米右轉"
    assert await ways_of([way], "zh") == [way]


@by_examples
def test_a_distance_is_written_as_its_language_writes_it_and_needs_no_article(
    language: Language, told: str
) -> None:
    """ "1.2 km von Hauptbahnhof" """
    place = entered("甲", distance_m=1234, distance_from="Hauptbahnhof", rating=4.5)
    card = card_of(place, language)
    assert card.facts[0] == told
    assert card.facts[1] == f"★ {decimal_text('4.5', language)}"
    words = f"{told}, {decimal_text('4.5', language)}, quiet"
    assert facts_said(words, place, language) == ["distance", "rating"]


@by_examples
def test_what_a_meal_may_cost_is_no_demand_on_what_was_searched_for_beside_it(
    asked: Any, searched: Any, told: list[str]
) -> None:
    """ "✓ within ¥100" stood on the car park of a lunch."""
    categories = {"parking": "停车场", "museum": "博物馆", "cafe": "咖啡馆"}
    keyword = {"parking": "停车场", "museum": "博物馆", "cafe": "咖啡"}[searched]
    found = entered("甲", category=categories[searched], keywords=[keyword], cost=8,
                    demands={"kind": searched})  # fmt: skip
    demands: Any = {"max_cost": 100, "open_at": "12:00", **asked}
    verdicts = [each["constraint"] for each in check(found, demands, "zh")]
    assert [each for each in verdicts if each != "kind"] == told


def test_a_tick_for_a_walk_does_not_say_again_how_long_it_is() -> None:
    """ "4 min" stood in a card's line and once more in its tick."""
    place = entered("甲", walk_m=310, walk_s=240, distance_m=250)
    told = Place(**{**place, "verdicts": check(place, {"max_walk_min": 15}, "en")})
    card = card_of(told, "en")
    line = " · ".join([*card.facts, *card.demands])
    assert line.count("4 min") == 1
    assert "within 15 min on foot" in line
