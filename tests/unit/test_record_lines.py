"""Records as lines: lengths, times and hours as people read them, in their language."""

import json
from importlib.resources import files
from typing import Any, cast

import pytest

from agent.assistants.common.judge import evidence_of, record_texts
from agent.assistants.common.shown_records import (
    distinct_places,
    from_origins_named,
    places_as_shown,
    readable,
    sources_as_shown,
    ways_of,
    with_nearest,
    with_nearest_found,
    with_pin_numbers,
)
from agent.evidence.days import days_named
from agent.evidence.geo import distance_text, duration_text
from agent.evidence.mentions import mentioned
from agent.evidence.ordering import judged
from agent.evidence.records import (
    cost_text,
    distance_texts,
    hours_text,
    kind_text,
    place_facts,
    place_lines,
    record_sections,
    weather_text,
    weather_texts,
    with_days_asked,
)
from agent.evidence.types import (
    Anchor,
    Constraints,
    Distance,
    Place,
    PlaceVerdict,
    Point,
    Route,
    Source,
    Weather,
    WeatherDay,
)
from agent.evidence.zones import china_time
from agent.export.geojson import feature_collection
from agent.export.markdown import place_table
from agent.export.svg_map import anchor_of
from agent.mcp.osm.kinds import DIETS
from agent.texts import OF_ANSWERS, Language, say
from tests.support.rows import by_examples
from tests.unit import export_samples
from tests.unit.test_map_places import DETAIL, reader


def place(**changes: Any) -> Place:
    entered = reader().add_place({**DETAIL, **changes})
    assert entered is not None
    return entered


def weather(*days: tuple[str, str]) -> Weather:
    forecast = [
        WeatherDay(date=date, day=sky, night=sky, low_c=11, high_c=20, wind="东北风 1-3 级")
        for date, sky in days
    ]
    return Weather(id="w", city="杭州市", days=forecast, source="m1", fetched_at="")


@pytest.mark.parametrize(
    ("kind", "zh", "en"),
    [
        ("餐饮服务;咖啡厅;咖啡厅", "¥40/人", "¥40 a head"),
        ("风景名胜;公园广场;公园", "¥40/人", "¥40 a head"),
        ("交通设施服务;停车场;公共停车场", "¥40（计价单位未知）", "¥40 (per what: not on the map)"),
        (None, "¥40/人", "¥40 a head"),
    ],
)
def test_a_price_is_one_a_head_where_one_eats_or_enters_and_else_for_what_nobody_says(
    kind: str | None, zh: str, en: str
) -> None:
    priced = place(type=kind, cost="40")
    assert zh in place_facts(priced, "zh").split(" | ")
    assert en in place_facts(priced, "en").split(" | ")


def test_nothing_to_pay_is_free_at_a_temple_and_not_known_at_a_restaurant() -> None:
    temple = place(type="风景名胜;寺庙道观;寺庙", cost="0")
    assert [cost_text(temple, language) for language in ("zh", "en")] == ["免费", "free"]
    assert "免费" in place_facts(temple, "zh").split(" | ")
    table = place_table([temple, place(type="餐饮服务;中餐厅;中餐厅", cost="0")], "zh")
    assert [row.split(" | ")[3] for row in table.splitlines()[2:]] == ["免费", "未知"]


def test_a_walk_that_was_measured_is_told_with_its_minutes() -> None:
    walked = Place(**{**place(), "walk_m": 1200, "walk_s": 1000})
    assert "步行 1.2 km (17 分钟)" in place_facts(walked, "zh")
    assert "walk 1.2 km (17 min)" in place_facts(walked, "en")


def test_a_model_is_told_which_city_a_place_is_in() -> None:
    there = place(city="北京市", address="王府井大街 1 号")
    assert place_facts(there, "zh").endswith(" | 北京市 | 王府井大街 1 号")
    assert place_facts(place(city="北京市", address="北京市东城区"), "zh").count("北京") == 1


def test_a_place_that_was_looked_for_at_two_places_says_how_far_it_is_from_each() -> None:
    first, other = place(), place()
    first["distance_m"], first["distance_from"] = 300, "王府井"
    other["distance_m"], other["distance_from"] = 1200, "故宫"
    (joined,) = distinct_places([first, other])
    assert "距王府井 300 m | 距故宫 1.2 km" in place_facts(joined, "zh")
    assert "| 距王府井 300 m · 距故宫 1.2 km |" in place_table([joined], "zh")
    assert "| 距王府井 |" in place_table([first], "zh")
    far = Place(**{**other, "id": "amap:other"})
    assert "| 1.2 km from 故宫 |" in place_table([first, far], "en")


async def test_a_records_quote_names_the_place_and_its_origin_as_the_reader_does() -> None:
    near = place(name="和平菓局")
    near["distance_m"], near["distance_from"], near["name_en"] = 81, "王府井", "Heping Guoju"
    entered = Source(
        **{**export_samples.source(), "id": near["source"], "quotes": ["81 m from 王府井"]}
    )
    page = export_samples.source(2)
    shown = await places_as_shown([near], [entered], "", "en", first=[])
    (told, other) = sources_as_shown([entered, page], shown, "en")
    assert told["quotes"][0].startswith("Heping Guoju · 和平菓局, ")
    assert "81 m from Wangfujing" in told["quotes"][0]
    assert "王府井," not in told["quotes"][0]
    assert other == page
    (chinese, _) = sources_as_shown([entered, page], shown, "zh")
    assert chinese["quotes"][0].startswith("和平菓局，")
    assert "距王府井 81 m" in chinese["quotes"][0]


def test_a_ways_quote_names_its_ends_as_its_asker_does() -> None:
    way: Any = {
        "mode": "walking", "origin": "王府井", "origin_en": "Wangfujing", "destination": "故宫",
        "destination_en": "the Palace Museum", "distance_m": 1700, "duration_s": 1400, "steps": [],
        "source": "a0-0",
    }  # fmt: skip
    source = Source(**{**export_samples.source(), "id": way["source"]})
    told = sources_as_shown([source], [], "en", [way])[0]
    assert "Wangfujing → the Palace Museum" in told["quotes"][0]


def found(id: str, keyword: str, lng: float) -> Place:
    at: Any = {
        "keywords": [keyword],
        "category": keyword,
        "wgs84": {"lng": lng, "lat": 30.24},
        "source": id,
    }
    return Place(**{**place(), "id": f"amap:{id}", "name": id, **at, "distance_from": "西湖"})


async def test_an_origin_is_called_by_its_english_name_where_it_is_a_known_place() -> None:
    """A museum stood 80 m from Wangfujingtingchechang, whose own card was in English."""
    park = Place(**{**place(), "name": "王府井停车场(东门)", "name_en": "Wangfujing Car Park"})
    near = place()
    near["distance_m"], near["distance_from"] = 80, "王府井停车场(东门)"
    near["further"] = [Distance(origin="王府井停车场", metres=90)]
    (told,) = await places_as_shown([near], [], near["name"], "en", first=[], known=[park])
    assert distance_texts(told, "en") == [
        "80 m from Wangfujing Car Park", "90 m from Wangfujing Car Park"
    ]  # fmt: skip
    centre = Anchor(name="王府井停车场(东门)", wgs84={"lng": 116.4, "lat": 39.9})
    named = await readable(centre, "en", [park])
    assert named is not None
    assert named["name_en"] == "Wangfujing Car Park"


async def test_who_reads_no_chinese_is_told_in_latin_letters_from_where_a_place_is_how_far() -> (
    None
):
    near = place()
    near["distance_m"], near["distance_from"] = 81, "王府井"
    near["further"] = [Distance(origin="西安", metres=900)]
    (chinese,) = await places_as_shown([near], [], near["name"], "zh", first=[])
    (english,) = await places_as_shown([near], [], near["name"], "en", first=[])
    assert distance_texts(chinese, "zh") == ["距王府井 81 m", "距西安中心点 900 m"]
    assert distance_texts(english, "en")[1] == "900 m from the middle of Xi'an"
    assert "Wangfujing" in distance_texts(english, "de")[0]
    assert distance_texts(english, "zh") == distance_texts(chinese, "zh")
    centre = Anchor(name="王府井", wgs84={"lng": 116.4, "lat": 39.9}, district="东城区")
    named = await readable(centre, "en")
    assert named is not None
    assert (named["name_en"], named["district_en"]) == ("Wangfujing", "Dongcheng District")
    assert await readable(centre, "zh") == centre
    collection = feature_collection([], anchor=named)
    for language, name in (("en", "Wangfujing"), ("zh", "王府井")):
        pin = anchor_of(export_samples.answer(geojson=collection, language=language))
        assert pin is not None
        assert pin.name == name


def test_of_two_kinds_asked_for_each_place_says_how_far_the_nearest_of_the_other_is() -> None:
    park, car_park = found("a0-0", "公园", 120.15), found("a1-0", "停车场", 120.16)
    far, café = found("a1-1", "停车场", 120.3), found("a2-0", "咖啡馆", 120.151)
    there, *_, elsewhere = with_nearest([park, car_park, far])
    assert there["further"] == [{"origin": "a1-0", "metres": 961, "kind": "parking"}]
    assert "further" not in elsewhere
    car_park["name_en"] = "West Lot"
    assert with_nearest([park, car_park])[0]["further"][0]["origin_en"] == "West Lot"
    assert with_nearest([park, car_park, café])[0]["further"][0]["origin"] == "a2-0"


def test_one_place_of_two_names_is_one_distance() -> None:
    """Each restaurant was 184 m from Design Museum, and 184 m from Designmuseo."""
    café, museum = found("a0-0", "咖啡馆", 120.15), found("a1-0", "博物馆", 120.151)
    museum["name_en"] = café["distance_from"] = "Design Museum"
    assert "further" not in with_nearest([café, museum])[0]


def test_nothing_is_said_to_be_far_from_a_name_that_several_rows_share() -> None:
    """ "594 m from Robert's Coffee", of which there were three."""
    museum = found("a0-0", "博物馆", 120.15)
    near = [found("a1-0", "咖啡馆", 120.151), found("a1-1", "咖啡馆", 120.152)]
    cafés = [Place(**{**each, "name": "Robert's"}) for each in near]
    assert "further" not in with_nearest([museum, *cafés])[0]
    assert with_nearest([museum, *cafés[:1]])[0]["further"][0]["origin"] == "Robert's"


async def test_of_namesakes_the_answer_names_the_one_that_it_cites() -> None:
    """Three branches of a café without a branch in their names were in its list."""
    cafés = [Place(**{**found(f"a0-{n}", "咖啡馆", 120 + n), "name": "Kahvila"}) for n in range(3)]
    source = Source(
        id="a0-1", number=1, kind="place", title="", url="", provider="osm", quotes=[]
    )  # fmt: skip
    places = await places_as_shown(cafés, [source], "Kahvila [1] is near.", "zh", first=())
    assert [(p["source"], p["mentioned"]) for p in places] == [
        ("a0-1", True), ("a0-0", False), ("a0-2", False),
    ]  # fmt: skip
    every = await places_as_shown(cafés, [], "Kahvila is near.", "zh", first=())
    assert all(p["mentioned"] for p in every)


def test_a_station_of_the_same_search_is_what_its_cafés_are_near_to() -> None:
    """One search for both told of no café how far the metro is."""
    café = found("a0-0", "咖啡馆", 120.15)
    station = Place(**{**found("a0-1", "地铁站", 120.151), "category": "地铁站"})
    near, itself = with_nearest([café, station])
    assert near["further"] == [{"origin": "a0-1", "metres": 96, "kind": "station"}]
    assert with_nearest([café, found("a0-2", "书店", 120.151)])[0] == café
    assert itself == station, "told once"


def test_each_place_that_was_shown_before_says_how_far_the_nearest_station_found_now_is() -> None:
    """The fourth café had none: stations were looked for around the others only."""
    cafés = [found(f"p0-{n}", "咖啡馆", 120.15 + n / 1000) for n in range(3)]
    cafés[2]["wgs84"] = Point(lng=121.0, lat=cafés[2]["wgs84"]["lat"])
    station = Place(**{**found("a0-0", "地铁站", 120.151), "category": "地铁站"})
    near, beside, far = with_nearest_found(cafés, [station])
    assert near["further"] == [{"origin": "a0-0", "metres": 96, "kind": "station"}]
    assert beside["further"] == [{"origin": "a0-0", "metres": 0, "kind": "station"}]
    assert "further" not in far
    assert with_nearest_found([near], [station]) == [near], "told once, in whatever turn"
    assert with_nearest_found(cafés, [found("a0-0", "咖啡馆", 120.15)]) == cafés


@pytest.mark.parametrize(
    ("lng", "verdict"), [(120.151, "satisfied"), (120.153, "unknown"), (120.16, "unknown")]
)
def test_a_car_park_found_close_by_is_one_that_was_asked_for(lng: float, verdict: str) -> None:
    park, car_park = found("a0-0", "公园", 120.15), found("a1-0", "停车场", lng)
    shown = with_nearest([park, car_park])
    (judged_park, _) = judged(shown, {"other": ["附近有停车场"]}, "zh")
    (only,) = judged_park["verdicts"]
    assert only["verdict"] == verdict
    near = distance_text(shown[0]["further"][0]["metres"], "zh")
    assert f"a1-0 {near}" in only["text"]


def test_a_judge_reads_of_a_place_what_is_near_to_it_as_its_writer_did() -> None:
    park, car_park = found("a0-0", "公园", 120.15), found("a1-0", "停车场", 120.16)
    turn = {
        "question": "西湖边的公园，附近有停车场",
        "today": "2026-11-29",
        "language": "zh",
        "started_at": 0,
    }
    state: Any = {"turn": turn, "places": [park, car_park]}
    sources = {
        id: Source(id=id, kind="place", title=id, url="", provider="amap", quotes=[])
        for id in ("a0-0", "a1-0")
    }
    shown = with_nearest([park, car_park])
    known = evidence_of(state, sources, {}, [], shown=shown)
    assert "距a1-0 961 m" in known.passages[0].text


@pytest.mark.parametrize(
    ("metres", "language", "tail"),
    [
        (1155, "zh", " | 直线距离 1155 m"),
        (1155, "en", " | Straight line 1155 m"),
        (1300, "zh", None),
        (320, "en", None),
    ],
)
def test_a_judge_reads_an_exact_distance_apart_in_the_reader_s_language_where_it_is_another(
    metres: int, language: Language, tail: str | None
) -> None:
    """It read "over 1200 m 1155 m in a straight line" of a Chinese record."""
    near = Place(**{**place(), "distance_m": metres, "distance_from": "湖"})
    (far,) = judged([near], {"max_walk_m": 1200}, language)
    (text,) = record_texts([far], [], [], language).values()
    assert "\n" not in text
    assert text.endswith(tail or place_lines([far], language))


def test_a_judge_reads_what_code_inferred_from_a_place_s_kind_or_name() -> None:
    """Indoors, for children, was unproved: only its writer had read why the aquarium fits."""
    own = {"name": "上海海洋水族馆", "category": "水族馆", "rating": 4.5}
    demands: Constraints = {"suits": ["children", "indoor", "wheelchair"], "min_rating": 4}
    (found,) = judged([Place(**{**place(), **own})], demands, "zh")  # type: ignore[typeddict-item]
    (text,) = record_texts([found], [], [], "zh").values()
    told = {v["constraint"] for v in found["verdicts"] if v["text"] in text}
    assert told == {"children", "indoor", "wheelchair"}


def test_a_judge_reads_the_total_that_code_worked_out_for_all_who_come() -> None:
    (found,) = judged([place(cost="95")], {"total_cost": 300, "people": 2}, "zh")
    (text,) = record_texts([found], [], [], "zh").values()
    assert "¥190" in text


def test_one_page_that_two_searches_found_has_one_number_before_a_judge() -> None:
    """What the second search told of it stood under a number that no statement cited."""
    turn = {"question": "q", "today": "2026-11-29", "language": "en"}
    state: Any = {"turn": turn}
    sources = {
        id: Source(id=id, kind="page", title="", url=f"https://{url}", provider="x", quotes=[said])
        for id, url, said in (
            ("w0-0", "a.example/", "One."), ("w0-1", "b.example/", "Two."),
            ("w1-0", "a.example", "Three."),
        )
    }  # fmt: skip
    known = evidence_of(state, sources, {}, [])
    told = [(passage.name, passage.source, passage.text) for passage in known.passages]
    assert told == [
        ("1.1", "w0-0", "One."), ("1.2", "w1-0", "Three."), ("2.1", "w0-1", "Two."),
    ]  # fmt: skip
    assert known.by_name["1.2"] is known.passages[1]


def test_a_place_that_no_word_found_is_of_the_kind_that_its_search_was_for() -> None:
    """Only a map's first hits name its words: three searches for restaurants were three kinds."""
    first, second = found("a0-0", "餐厅", 120.15), found("a0-1", "餐厅", 120.151)
    unnamed = Place(**{**found("a1-0", "", 120.152), "keywords": []})
    assert with_nearest([first, second, unnamed]) == [first, second, unnamed]
    park, shown = found("a2-0", "公园", 120.153), Place(**{**second, "keywords": []})
    assert with_nearest([first, shown, park])[1]["further"][0]["origin"] == "a2-0"


def test_nothing_is_told_to_be_near_to_what_fails() -> None:
    over = PlaceVerdict(constraint="max_cost", verdict="violated", field="cost", text="")
    dear = Place(**{**found("a1-0", "餐厅", 120.1505), "verdicts": [over]})
    park, lunch = found("a0-0", "公园", 120.15), found("a1-1", "餐厅", 120.16)
    street = Place(**{**found("a1-2", "餐厅", 120.1501), "category": "步行街"})
    assert with_nearest([park, dear, street, lunch])[0]["further"][0]["origin"] == "a1-1"


def test_places_of_one_kind_or_of_one_search_tell_no_distance_between_them() -> None:
    park, another = found("a0-0", "公园", 120.15), found("a1-0", "植物园", 120.151)
    assert with_nearest([park, another]) == [park, another]
    sight = found("a0-1", "景点", 120.151)
    assert with_nearest([park, sight]) == [park, sight]


def test_a_place_that_the_other_was_sought_at_is_told_once() -> None:
    café = found("a1-0", "咖啡馆", 120.151)
    assert "further" not in with_nearest([café, found("西湖", "公园", 120.15)])[0]


@pytest.mark.parametrize(
    ("metres", "seconds", "said"),
    [(320, 40, "320 m, 1 min"), (2440, 1400, "2.4 km, 23 min"), (None, None, ", ")],
)
def test_a_way_is_told_in_metres_or_kilometres_and_minutes(
    metres: int | None, seconds: int | None, said: str
) -> None:
    assert f"{distance_text(metres, 'en')}, {duration_text(seconds, 'en')}" == said


@pytest.mark.parametrize(
    ("date", "language", "shown"),
    [
        ("2026-11-21", "zh", "杭州 2026-11-21 周六，晴"),
        ("2026-11-22", "en", "杭州 2026-11-22 Sun, clear"),
        ("tomorrow", "en", "杭州 tomorrow, clear"),
    ],
)
def test_a_forecast_names_the_day_of_the_week(date: str, language: Language, shown: str) -> None:
    day = WeatherDay(date=date, day="晴", night="晴", low_c=None, high_c=None, wind=None)
    weather = Weather(id="w", city="杭州", days=[day], source="m1", fetched_at="")
    assert weather_texts(weather, language) == [shown]


def test_weather_is_one_line_about_the_day_that_was_asked_for() -> None:
    forecast = weather(("2026-11-22", "晴"), ("2026-11-23", "小雨"), ("2026-11-24", "多云"))
    days = days_named("明天杭州天气怎么样", "2026-11-22")
    assert weather_text(forecast, "zh", days) == (
        "杭州市：2026-11-23 周一，小雨，11–20 °C，东北风 1-3 级"
    )
    assert weather_text(forecast, "en", days) == (
        "杭州市: 2026-11-23 Mon, light rain, 11–20 °C, wind NE, force 1-3"
    )
    assert weather_text(forecast, "zh").count("°C") == 3
    assert "\n" not in weather_text(forecast, "zh")
    (section,) = record_sections([], [forecast], "zh", days=days)
    assert section.count("\n- ") == 1
    assert "小雨" in section
    marked = with_days_asked(forecast, days)["days"]
    assert [day.get("asked") for day in marked] == [None, True, None]
    beyond = days_named("下周六呢", "2026-11-22")
    assert weather_text(forecast, "zh", beyond) == "杭州市：预报中没有 2026-11-28 周六"
    both = weather_text(forecast, "zh", [*days, *beyond])
    assert (both.count("°C"), "预报中没有 2026-11-28" in both) == (1, True)


@by_examples
def test_the_days_of_a_question_are_read_from_its_words(question: str, days: list[str]) -> None:
    """22 November 2026 is a Sunday."""
    today = "2026-11-22 周日 18:02 (UTC+8)"
    assert days_named(question, today) == [f"2026-11-{day}" for day in days]


@by_examples
def test_english_answers_have_english_hours(listed: str, shown: str) -> None:
    there = place(opentime2=listed)
    assert hours_text(there, "en") == shown
    assert hours_text(there, "zh") == listed


def test_english_answers_have_english_kinds_and_names_with_the_local_one_behind() -> None:
    there = place(name="王府井书店", alias="Wangfujing Bookstore", type="购物服务;专营店;书店")
    assert kind_text(there, "en") == "bookshop"
    assert place_lines([there], "en").startswith(
        "[^a3-0] Wangfujing Bookstore · 王府井书店 | bookshop | ★4.6 | "
        "¥35 (per what: not on the map) | daily 08:00–22:00"
    )
    assert place_lines([there], "zh").startswith("[^a3-0] 王府井书店 | 书店 | ★4.6")
    assert set(mentioned([there], "Try Wangfujing Bookstore.")) == {there["id"]}
    assert "name_en" not in place(alias="新华书店")


@by_examples
def test_kinds_hours_and_weather_are_in_the_reader_s_language(
    language: Language, kind: str, hours: str, sky: str
) -> None:
    cafe = Place(**{**export_samples.place(1), "category": "cafe (wheelchair access, pizza)",
                    "open_time": "周一至周日 09:00-20:00"})  # type: ignore[typeddict-item]  # fmt: skip
    day = WeatherDay(date="", day="雾", night="雾", high_c=None, low_c=None, wind="东北风 4 级")
    weather = Weather(id="w", city="Oslo", days=[day], source="a0-0", fetched_at="")
    assert (kind_text(cafe, language), hours_text(cafe, language)) == (kind, hours)
    assert weather_texts(weather, language)[0].endswith(sky)


def test_every_kind_that_a_map_tells_and_every_sky_has_a_word_in_each_language() -> None:
    """A German read "Café" and "viewpoint" in one list."""
    package = files("agent.evidence")
    words = json.loads(package.joinpath("record_words.json").read_text("utf-8"))
    known = json.loads(package.joinpath("reader_words.json").read_text("utf-8"))
    tags = json.loads(files("agent.mcp.osm").joinpath("kinds.json").read_text("utf-8"))
    told = [*words["kinds"].values(), *words["sky"].values(), *(row["en"][0] for row in tags)]
    told += [say("map.options", "en", what=diet.replace("_", " ")) for diet in sorted(DIETS)]
    assert [word for word in told if not set(OF_ANSWERS) <= known.get(word, {}).keys()] == []


def test_readers_of_traditional_characters_have_records_in_them() -> None:
    place = export_samples.place(
        1, "花港观鱼", category="国家级景点", open_time="周一至周日 全天开放", city="杭州市",
        address="杨公堤与南山路交汇处", distance_from="三潭印月码头",
    )  # fmt: skip
    line = place_lines([place], "zh-Hant")
    assert "花港觀魚" in line
    assert "國家級景點" in line
    assert "全天開放" in line
    assert "楊公堤與南山路交匯處" in line
    assert "三潭印月碼頭" in line
    assert mentioned([place], "先去花港觀魚。") == {place["id"]: 2}
    forecast = weather(("2026-11-24", "多云"))
    assert "多雲" in weather_text(forecast, "zh-Hant")
    assert "東北風" in weather_text(forecast, "zh-Hant")
    assert "花港观鱼" in place_lines([place], "zh")


def test_data_of_the_map_is_dated_in_chinas_time_which_is_said() -> None:
    assert china_time("2026-11-22T17:48:00+00:00", "zh") == "2026-11-23 01:48（北京时间）"
    assert china_time("2026-11-22T17:48:00+00:00", "en") == "2026-11-23 01:48 (UTC+8)"
    assert china_time("yesterday", "en") == "yesterday"


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ({}, [1, 2, 3]),
        ({"b": (3, ""), "a": (2, "")}, [2, 3, 4]),
        ({"a": (1, "上午"), "b": (1, "下午")}, [1, 2, 3]),
    ],
)
def test_places_have_numbers_of_their_own_or_those_of_the_answers_one_list(
    written: dict[str, tuple[int, str]], numbers: list[int]
) -> None:
    places = [Place(**{**place(), "id": id, "number": 7}) for id in "abc"]
    assert [each["number"] for each in with_pin_numbers(places, written)] == numbers


async def test_a_list_s_places_are_counted_from_one_though_the_text_names_another_before() -> None:
    """The cards began at 2: pin 1 was of the lake in the first sentence."""
    places = [Place(**{**place(name=name), "id": name}) for name in ("甲公园", "乙公园", "丙公园")]
    text = "离丙公园不远。\n\n- 乙公园：安静\n- 甲公园：大"
    shown = await places_as_shown(places, [], text, "zh", first=())
    assert {p["name"]: p["number"] for p in shown} == {"乙公园": 1, "甲公园": 2, "丙公园": 3}


async def test_a_stop_has_its_number_in_the_plan_whatever_else_is_shown_or_written() -> None:
    places = [Place(**{**place(name=name), "id": name}) for name in ("甲公园", "乙公园", "丙公园")]
    text = "1. 丙公园\n2. 甲公园\n3. 乙公园"
    shown = await places_as_shown(places, [], text, "zh", first=("乙公园", "gone", "甲公园"))
    assert [(p["name"], p["number"]) for p in shown] == [
        ("乙公园", 1),
        ("甲公园", 3),
        ("丙公园", 4),
    ]


async def test_places_stand_in_the_answers_order_and_none_that_nobody_asked_for() -> None:
    def entered(name: str, source: str, keywords: list[str], kind: str) -> Place:
        return Place(
            **{**place(name=name), "id": name, "source": source, "keywords": keywords,
               "category": kind}
        )  # fmt: skip

    places = [
        entered("停车场", "a0-0", ["景点"], "停车场"),
        entered("甲公园", "a0-1", ["景点"], "公园"),
        entered("乙公园", "a0-2", ["景点"], "公园"),
        entered("丙公园", "a0-3", ["景点"], "公园"),
    ]
    used = [
        Source(**{**export_samples.source(0), "id": name, "number": number})
        for number, name in enumerate(("w0-0", "a0-2", "a0-1"), 1)
    ]
    text = "甲公园最近。先去乙公园[2](u)，再去甲公园[3](u)。"
    shown = await places_as_shown(places, used, text, "zh", first=())
    assert [(p["name"], p["number"]) for p in shown] == [
        ("乙公园", 1),
        ("甲公园", 2),
        ("丙公园", 3),
    ]
    listed_there = f"{text}\n\n- **甲公园** — 81 m[3](u)\n- **乙公园** — 99 m[2](u)"
    shown = await places_as_shown(places, used, listed_there, "zh", first=())
    assert [p["name"] for p in shown] == ["甲公园", "乙公园", "丙公园"], "as its list has them"


async def test_a_ways_ends_and_stops_are_told_in_latin_letters_to_who_reads_no_chinese() -> None:
    at = Point(lng=116.4, lat=39.9)
    ends = [Anchor(name=name, wgs84=at) for name in ("王府井", "故宫")]
    way = cast(Route, {"id": "r", "origin": "王府井", "destination": "故宫", "ends": ends,
                       "via": ends[:1]})  # fmt: skip
    [told] = await ways_of([way], "de")
    assert [end["name_en"] for end in [*told["ends"], *told["via"]]] == [
        "Wangfujing", "Gugong", "Wangfujing",
    ]  # fmt: skip
    assert await ways_of([way], "zh") == [way]


def test_a_place_is_far_from_what_the_question_names_and_from_nothing_else() -> None:
    """Every row had a second distance from where the plan had chosen to search besides."""
    both = Place(**{
        **place(), "distance_from": "Esplanadi", "distance_m": 400, "walk_m": 500,
        "further": [Distance(origin="Kiasma", metres=90),
                    Distance(origin="东京站", origin_en="Tokyo Station", metres=7)],
    })  # fmt: skip

    def told(question: str) -> list[str]:
        return distance_texts(from_origins_named([both], question)[0], "en")

    assert told("Cafés near Kiasma?") == ["90 m from Kiasma"]
    assert told("Cafés near KIASMA or Tokyo station?") == [
        "90 m from Kiasma",
        "7 m from Tokyo Station",
    ]
    assert told("Cafés in town?") == ["400 m from Esplanadi"]
    hotel = Distance(origin="和平饭店", metres=90)
    bund = Place(**{**both, "distance_from": "外滩", "further": [hotel]})
    assert from_origins_named([bund], "Cafés near the Peace Hotel?") == [bund]
    [moved] = from_origins_named([both], "Kiasma")
    assert "walk_m" not in moved, "that was the walk from elsewhere"
    between = Place(**{**both, "detour_m": 20})
    assert from_origins_named([between], "") == [between]
