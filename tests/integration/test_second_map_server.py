"""OpenStreetMap, the second map: our own server, before stand-ins of the services it asks."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from typing import Any

import pytest
from langchain_core.messages import ToolCall, ToolMessage
from langgraph.checkpoint.memory import InMemorySaver

from agent.core.calls import Calls
from agent.core.errors import ProviderRefused
from agent.evidence.constraints import check
from agent.evidence.maps import valid_map_task
from agent.evidence.ordering import judged
from agent.evidence.records import time_there
from agent.evidence.types import Constraints, MapTask
from agent.graph import build_graph
from agent.mcp.map import Maps, build_map_client, build_maps
from agent.mcp.osm.services import PUBLIC
from agent.mcp.records import MapOptions, MapResult
from agent.mcp.servers import amap_server, osm_server
from agent.sample.services.amap import AmapService
from agent.settings import Settings
from agent.texts import say
from tests.integration.osm_service import (
    OsmLab,
    osm_service,
    osm_settings,
)
from tests.integration.test_question_kept import Spoken, plan
from tests.support.lab import Lab, answer_of, laboratory, told
from tests.support.map_fixtures import meter, script_fixture
from tests.support.osm_extract import extract_elements
from tests.support.served import serve_in_thread
from tests.support.standin import FaultKind

__all__ = ["script_fixture"]

STATION = "Seestadt Hauptbahnhof"
HERE = {"lng": 13.406, "lat": 52.521}


@dataclass
class World:
    """The maps before the stand-in."""

    lab: OsmLab
    maps: Maps

    async def result(self, task: dict[str, Any], language: str = "en", **more: Any) -> MapResult:
        options = MapOptions(prefix="a0", language=language, **more)  # type: ignore[arg-type]
        asked = MapTask(**task)  # type: ignore[typeddict-item]
        return await self.maps.map_result(
            asked, "q", options=options, meter=meter(), on_call=lambda call: None
        )

    async def call(self, result: MapResult, name: str, **arguments: Any) -> ToolMessage:
        """Make a model's call."""
        options = MapOptions(prefix="a0", language="en")
        tools = await self.maps.tools(
            result, "q", options=options, meter=meter(), on_call=lambda call: None
        )
        return await tools.call(ToolCall(name=name, args=arguments, id="c", type="tool_call"))


@asynccontextmanager
async def osm_world(elements: Any = None, **settings: Any) -> AsyncIterator[World]:
    with osm_service(elements) as lab:
        maps = build_maps(osm_settings(lab, **settings), Calls())
        try:
            yield World(lab, maps)
        finally:
            await maps.aclose()


@pytest.fixture(name="world")
async def world_fixture() -> AsyncIterator[World]:
    async with osm_world() as world:
        yield world


async def test_kinds_around_a_place_are_one_search_whose_records_are_whole(world: World) -> None:
    task = {"intent": "nearby", "place": STATION, "keywords": ["cafe", "playground"]}
    result = await world.result(task)
    first = result.places[0]
    assert [place["name"] for place in result.places[:3]] == [
        "Café Morgenrot", "playground (near Kaffeekontor)", "Zum Anker",
    ]  # fmt: skip
    assert (first["id"], first["name_en"], first["category"]) == (
        "osm:node/11", "Dawn Café", "cafe (wheelchair access)",
    )  # fmt: skip
    assert first["location"] == {"lng": 13.407, "lat": 52.5215, "crs": "WGS-84"}
    assert first["wgs84"] == {"lng": 13.407, "lat": 52.5215}
    assert (first["rating"], first["cost"]) == (None, None)
    assert first["open_time"] == "Mon–Fri 07:30–19:00; Sat 08:30–17:00"
    assert first["opening"][1] == {"days": [6], "start": 510, "end": 1020}
    assert first["distance_m"] == 88
    assert {source["provider"] for source in result.sources} == {"OpenStreetMap"}
    assert len(world.lab.asked("/overpass")) == 1
    assert (result.provider, result.complete, result.gaps) == ("osm", True, [])


async def test_names_and_kinds_are_in_the_reader_s_language_the_local_name_beside(
    world: World,
) -> None:
    result = await world.result(
        {"intent": "nearby", "place": "湖城中央车站", "keywords": ["咖啡馆"]}, "zh"
    )
    first = result.places[0]
    assert first["name"] == "朝霞咖啡馆 (Café Morgenrot)"
    assert first["category"] == "咖啡馆（无障碍）"
    assert first["open_time"] == "周一至周五 07:30–19:00；周六 08:30–17:00"


async def test_a_kind_that_has_no_tag_is_looked_for_in_names_and_cuisines(world: World) -> None:
    result = await world.result({"intent": "nearby", "place": STATION, "keywords": ["vegan"]})
    assert [place["name"] for place in result.places] == ["Gartenküche", "Trattoria Ponte"]


async def test_demands_are_checked_by_hours_access_and_entry(world: World) -> None:
    demands = Constraints(open_on=[6], open_at="16:00", suits=["wheelchair"])
    result = await world.result(
        {"intent": "nearby", "place": STATION, "keywords": ["cafe"]}, constraints=demands
    )
    first, *others = judged(result.places, demands, "en")
    assert first["name"] == "Café Morgenrot"
    assert {verdict["verdict"] for verdict in first["verdicts"]} == {"satisfied"}
    assert "unknown" in {v["verdict"] for place in others for v in place["verdicts"]}
    museum = await world.result({"intent": "poi", "place": "Museum of Rivers"})
    [free, dear] = check(museum.places[0], Constraints(free=True, min_rating=4.5), "en")
    assert (free["verdict"], dear["verdict"]) == ("satisfied", "unknown")


async def test_few_hits_widen_the_search_and_each_place_tells_how_far_it_is(world: World) -> None:
    """ "Too few within 554 m, so those within 1.4 km are listed, too" was said of no wish."""
    task = {"intent": "nearby", "place": STATION, "keywords": ["pharmacy"], "radius_m": 500}
    result = await world.result(task, constraints=Constraints(max_distance_m=500))
    assert result.gaps == []
    [place] = judged(result.places, Constraints(max_distance_m=500), "en")
    assert place["name"] == "Mühlen-Apotheke"
    assert (place["distance_m"] or 0) > 500
    assert [verdict["verdict"] for verdict in place["verdicts"]] == ["violated"]


async def test_a_district_is_searched_within_its_bounds(world: World) -> None:
    for intent in ("area", "nearby"):
        result = await world.result(
            {"intent": intent, "place": "Mill Quarter", "keywords": ["pharmacy", "cafe"]}
        )
        assert [place["name"] for place in result.places] == ["Mühlen-Apotheke"]


async def test_a_named_place_comes_with_one_request(world: World) -> None:
    result = await world.result({"intent": "poi", "place": "Museum of Rivers", "city": "Lake City"})
    assert [(p["name"], p["cost"]) for p in result.places] == [("Museum der Flüsse", 0.0)]
    assert len(world.lab.service.requests) == 1


async def test_a_way_has_its_line_and_steps(world: World) -> None:
    ends = {"origin": STATION, "destination": "Museum der Flüsse"}
    for mode, profile in (("walking", "foot"), ("bicycling", "bike"), ("driving", "car")):
        [route] = (await world.result({"intent": "route", "mode": mode, **ends})).routes
        assert (route["mode"], route["distance_m"]) == (mode, 602)
        assert route["line"] == [[13.406, 52.521], [13.403, 52.521], [13.4, 52.519]]
        assert route["steps"][1]["instruction"] == "turn left into Uferweg"
        assert f"fossgis_osrm_{profile}" in route["url"]
        assert time_there("2026-06-28T23:33:52+00:00", [route], "en").endswith("(Berlin, UTC+2)")


async def test_that_there_are_no_timetables_is_said_before_the_way_on_foot(world: World) -> None:
    task = {"intent": "route", "origin": STATION, "destination": "Uferpark", "mode": "transit"}
    result = await world.result(task)
    assert [route["mode"] for route in result.routes] == ["walking"]
    assert [gap["message"] for gap in result.gaps] == [
        say("map.no_timetables.walking", "en", map="OpenStreetMap")
    ]


async def test_a_forecast_is_open_meteo_s_and_on_the_clock_there(world: World) -> None:
    result = await world.result({"intent": "weather", "city": "Seestadt"}, "zh")
    [weather] = result.weather
    moment = "2026-11-28T23:33:52+00:00"
    assert time_there(moment, [weather], "zh") == "2026-11-29 00:33 (Berlin, UTC+1)"
    assert (weather["city"], weather["zone"]) == ("湖城 (Seestadt)", "Europe/Berlin")
    day = weather["days"][0]
    assert (day["day"], day["low_c"], day["high_c"], day["wind"]) == ("阴", -1, 5, "西北风 4 级")
    assert [source["provider"] for source in result.sources] == ["Open-Meteo"]


async def test_a_position_has_a_district_and_things_around_it(world: World) -> None:
    assert await world.maps.district(HERE, "en", meter=meter()) == "Seestadt, DE"  # type: ignore[arg-type]
    result = await world.result({"intent": "nearby", "keywords": ["park"]}, near=HERE)
    assert [place["name"] for place in result.places] == ["Uferpark"]
    assert result.places[0]["distance_from"] == say("map.here", "en")


async def test_an_unknown_place_is_a_gap_in_the_words_asked(world: World) -> None:
    result = await world.result({"intent": "nearby", "place": "Nowhere Hall", "keywords": ["bar"]})
    assert [(gap["provider"], gap["code"]) for gap in result.gaps] == [
        ("osm", "map_place_not_found")
    ]
    assert "Nowhere Hall" in result.gaps[0]["message"]


async def test_walks_are_measured_on_the_way_in_one_request(world: World) -> None:
    task = {"intent": "nearby", "place": STATION, "keywords": ["cafe"]}
    result = await world.result(task)
    points = [place["location"] for place in result.places]
    legs = await world.maps.walks(points, meter=meter(), on_call=lambda call: None)
    assert len(legs) == len(points) * (len(points) - 1)
    from_one = await world.maps.walks_from(
        points[0], points[1:], meter=meter(), on_call=lambda call: None
    )
    assert from_one[0]["distance_m"] == legs[0, 1]["distance_m"]
    assert len(world.lab.asked("/osrm")) == 2


async def test_a_model_s_calls_bring_records_and_ids_stand_for_positions(world: World) -> None:
    result = MapResult()
    found = await world.call(result, "osm_nearby", location="13.406,52.521", kinds="cafe|museum")
    assert str(found.content).startswith("[^a0-0] ")
    way = await world.call(
        result, "osm_route", origin="osm:node/11", destination="way/19", mode="walking"
    )
    assert way.status == "success"
    assert "Museum of Rivers" in str(way.content), "as its reader calls it"
    assert "Museum of Rivers" in result.sources[-1]["title"]
    wrong = await world.call(result, "osm_route", origin="x", destination="y", mode="flying")
    assert wrong.status == "error"


async def test_the_ways_of_a_matrix_are_records_to_cite_by_the_names_of_their_ends(
    world: World,
) -> None:
    """“632 assumed” stood in a report's list of sums: the map's own answer was no source."""
    result = MapResult()
    await world.call(result, "osm_nearby", location="13.406,52.521", kinds="cafe|museum")
    ids = [place["source"] for place in result.places[:3]]
    answer = await world.call(
        result, "osm_matrix", origins="|".join(ids), destinations="|".join(ids), mode="walking"
    )
    assert len(result.routes) == 3, "of six, as the ways back are as long"
    lines = str(answer.content).splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        f"[^{way['source']}]" for way in result.routes
    ]
    assert lines[0].partition(" Walk: ")[2].startswith("Dawn Café → ")
    assert {way["source"] for way in result.routes} <= {each["id"] for each in result.sources}


async def test_details_are_told_of_records_by_their_own_ids_with_the_telephone(
    world: World,
) -> None:
    """“BAD_REQUEST ids are like node/123” was the answer to the ids that all other tools take."""
    result = MapResult()
    await world.call(result, "osm_nearby", location="13.406,52.521", kinds="cafe|museum")
    known, other = result.places[:2]
    known["phone"], name = "+49 30 1234567", other["id"].partition(":")[2]
    asked = len(world.lab.service.requests)
    answer = await world.call(result, "osm_details", ids=f"{known['source']}|{other['source']}")
    lines = str(answer.content).splitlines()
    assert [line.partition(" ")[0] for line in lines] == [
        f"[^{known['source']}]",
        f"[^{other['source']}]",
    ]
    assert "+49 30 1234567" in lines[0]
    assert len(world.lab.service.requests) == asked
    fresh = MapResult(places=[known])
    answer = await world.call(fresh, "osm_details", ids=f"{known['source']}|{name}")
    assert [each["id"] for each in fresh.places] == [known["id"], other["id"]]
    assert len(str(answer.content).splitlines()) == 2


async def test_tools_are_offered_before_the_server_starts(world: World) -> None:
    tools = await world.maps.tools(
        MapResult(), "q", options=MapOptions("a0", "en"), meter=meter(), on_call=lambda call: None
    )
    assert {tool.name for tool in tools.tools} >= {"osm_nearby", "osm_route", "osm_weather"}
    assert not world.maps.running


@pytest.mark.parametrize(
    ("status", "code"),
    [(429, "map_rate"), (403, "map_key_invalid"), (504, "map_busy"), (400, "map_bad_request")],
)
async def test_a_refusal_of_a_service_is_told_by_what_it_means(
    world: World, status: int, code: str
) -> None:
    world.lab.service.fail("status", status=status, times=None, body={"error": "no"})
    result = await world.result({"intent": "nearby", "place": STATION, "keywords": ["cafe"]})
    assert [(gap["provider"], gap["code"]) for gap in result.gaps] == [("osm", code)]
    assert "osm" not in result.gaps[0]["message"].split()


async def test_requests_name_the_program_and_whom_to_turn_to() -> None:
    async with osm_world(tanlu_contact="maps@example.org") as world:
        await world.result({"intent": "poi", "place": "Uferpark"})
        [request] = world.lab.service.requests
    assert request.headers["User-Agent"].startswith("tanlu/")
    assert "maps@example.org" in request.headers["User-Agent"]


async def test_the_public_services_are_not_asked_by_nobody_in_particular() -> None:
    maps = build_maps(Settings(map_servers="osm"), Calls())
    with pytest.raises(ProviderRefused) as caught:
        await maps.clients[0].session.ready()
    result = await maps.map_result(
        MapTask(intent="poi", place="Louvre"), "q",
        options=MapOptions("a0", "en"), meter=meter(), on_call=lambda call: None,
    )  # fmt: skip
    assert caught.value.code == "map_key_missing"
    assert "TANLU_CONTACT" in result.gaps[0]["message"]
    assert set(maps.clients[0].server.service_of.values()) == {
        "nominatim", "overpass", "osrm", "open-meteo",
    }  # fmt: skip
    assert all(url.startswith("https://") for url in PUBLIC.values())


async def test_a_place_that_no_map_covers_is_asked_of_none() -> None:
    maps = build_maps(Settings(map_servers="amap"), Calls())
    result = await maps.map_result(
        MapTask(intent="nearby", place="Alexanderplatz", keywords=["cafe"], country="de"), "q",
        options=MapOptions("a0", "en"), meter=meter(), on_call=lambda call: None,
    )  # fmt: skip
    assert [gap["code"] for gap in result.gaps] == ["map_not_covered"]
    assert "Alexanderplatz" in result.gaps[0]["message"]
    assert not result.open_for_tools
    assert not maps.running


async def test_ten_questions_at_once_about_one_place_ask_each_service_once(world: World) -> None:
    task = {"intent": "nearby", "place": STATION, "keywords": ["cafe"]}
    results = await asyncio.gather(*(world.result(task) for _ in range(10)))
    assert {len(result.places) for result in results} == {4}
    assert len(world.lab.service.requests) == 2


async def test_places_of_a_real_extract_are_found_with_their_hours() -> None:
    async with osm_world(extract_elements()) as world:
        result = await world.result(
            {"intent": "area", "place": "Helsinki", "keywords": ["cafe", "museum", "pharmacy"]}
        )
        ekberg = await world.result({"intent": "poi", "place": "Ekberg", "city": "Helsinki"})
    assert len(result.places) == 8
    assert sum("opening" in place for place in result.places) >= 6
    assert ekberg.places[0]["opening"]


@asynccontextmanager
async def both_maps() -> AsyncIterator[Maps]:
    """Amap's own server and ours, each before its stand-in."""
    with osm_service() as lab, serve_in_thread(AmapService().app) as amap:
        settings = osm_settings(lab, amap_qps=1000)
        entries = [amap_server(settings, redirect=amap.url), osm_server(settings)]
        maps = Maps([build_map_client(settings, Calls(), server=one) for one in entries])
        try:
            yield maps
        finally:
            await maps.aclose()


@pytest.mark.usefixtures("map_server_script")
async def test_a_second_map_that_is_not_set_up_is_no_gap_where_the_first_one_answered() -> None:
    with osm_service() as lab, serve_in_thread(AmapService().app) as amap:
        settings = osm_settings(lab, amap_qps=1000)
        other = replace(osm_server(settings), missing="TANLU_CONTACT")
        entries = [amap_server(settings, redirect=amap.url), other]
        maps = Maps([build_map_client(settings, Calls(), server=one) for one in entries])
        try:
            world = World(None, maps)  # type: ignore[arg-type]
            result = await world.result({"intent": "poi", "place": "没有这个地方"})
        finally:
            await maps.aclose()
    assert [(gap["provider"], gap["code"]) for gap in result.gaps] == [
        ("amap", "map_place_not_found")
    ]


@pytest.mark.usefixtures("map_server_script")
async def test_each_task_of_a_question_goes_to_the_map_that_covers_its_place() -> None:
    async with both_maps() as maps:
        world = World(None, maps)  # type: ignore[arg-type]
        at_home = {"intent": "nearby", "place": "王府井", "keywords": ["书店"], "country": "cn"}
        abroad = {"intent": "nearby", "place": STATION, "keywords": ["cafe"], "country": "de"}
        home, away = await asyncio.gather(world.result(at_home), world.result(abroad))
        assert (home.provider, home.places[0]["location"]["crs"]) == ("amap", "GCJ-02")
        assert (away.provider, away.places[0]["location"]["crs"]) == ("osm", "WGS-84")
        more = await world.call(away, "osm_nearby", location="13.406,52.521", kinds="park")
        assert more.status == "success"
        points = [place["location"] for place in away.places]
        assert await maps.walks(points, meter=meter(), on_call=lambda call: None)
        mixed = [home.places[0]["location"], *points]
        assert await maps.walks(mixed, meter=meter(), on_call=lambda call: None) == {}
        offered = await maps.tools(
            MapResult(), "q", options=MapOptions("a0", "en"), meter=meter(),
            on_call=lambda call: None,
        )  # fmt: skip
        names = {tool.name for tool in offered.tools}
        assert {"maps_around_search", "osm_nearby"} <= names


@pytest.mark.usefixtures("map_server_script")
async def test_where_nobody_said_the_country_the_next_map_is_asked_or_the_position_decides() -> (
    None
):
    async with both_maps() as maps:
        world = World(None, maps)  # type: ignore[arg-type]
        unsaid = await world.result({"intent": "nearby", "place": STATION, "keywords": ["cafe"]})
        assert (unsaid.provider, len(unsaid.places), unsaid.gaps) == ("osm", 4, [])
        here = await world.result({"intent": "nearby", "keywords": ["park"]}, near=HERE)
        assert here.provider == "osm"
        point = await world.result(
            {"intent": "nearby", "place": "116.41,39.91", "keywords": ["书店"]}, "zh"
        )
        assert point.provider == "amap"


@pytest.mark.usefixtures("map_server_script")
async def test_one_question_about_two_countries_has_places_and_credits_of_both_maps() -> None:
    home = {"intent": "nearby", "place": "王府井", "keywords": ["书店"], "country": "cn"}
    abroad = {"intent": "nearby", "place": STATION, "keywords": ["cafe"], "country": "de"}
    async with laboratory() as lab, both_maps() as maps:
        services = replace(lab.services, maps=maps)
        lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
        lab.gemini.llm = Spoken(
            generate_query=[
                plan(
                    {"query": "王府井 书店", "map": home, "web": False},
                    {"query": "Cafés in Seestadt", "map": abroad, "web": False},
                )
            ]
        )
        state = await lab.ask("王府井的书店和湖城中央车站的咖啡馆，各推荐一家")
        maps_shown = {place["id"].partition(":")[0] for place in told(state)["places"]}
        text = str(answer_of(state).text)
        cafe = next(p for p in told(state)["places"] if p["id"].startswith("osm:"))
    assert maps_shown == {"amap", "osm"}
    assert cafe["zone"] == "Europe/Berlin"
    assert {"高德地图，OpenStreetMap 贡献者 (ODbL)", "OpenStreetMap 贡献者 (ODbL)，高德地图"} & {
        line.partition("© ")[2].partition("，查询于")[0] for line in text.splitlines()
    }
    assert {"高德地图", "OpenStreetMap"} <= {s["provider"] for s in told(state)["sources"]} | {
        source["provider"] for source in state["sources_gathered"]
    }


async def test_a_kind_with_a_word_before_it_is_that_kind_with_the_word_in_its_cuisine(
    world: World,
) -> None:
    result = await world.result(
        {"intent": "nearby", "place": STATION, "keywords": ["vegan restaurant"]}
    )
    assert [(place["name"], place["category"]) for place in result.places] == [
        ("Gartenküche", "restaurant (vegan, regional)"),
        ("Trattoria Ponte", "restaurant (italian, vegan options)"),
    ]


async def test_straight_lines_are_measured_without_asking_anybody(world: World) -> None:
    found = await world.call(MapResult(), "osm_geocode", query=STATION)
    assert str(found.content).endswith(" | 13.406000,52.521000")
    asked = len(world.lab.service.requests)
    lines = await world.call(
        MapResult(), "osm_matrix", origins="13.406,52.521", destinations="13.407,52.5215",
        mode="straight",
    )  # fmt: skip
    assert str(lines.content) == "[^a0-0] Straight line: 13.406,52.521 → 13.407,52.5215 · 88 m"
    assert len(world.lab.service.requests) == asked


async def test_what_a_map_cannot_do_stands_first_and_a_wish_in_words_is_its_writer_s_to_tell() -> (
    None
):
    """“Cannot go by the shortest order” stood above an answer that had all orders reckoned."""
    way = {"intent": "route", "origin": STATION, "destination": "Uferpark", "mode": "transit"}
    way["wishes"] = ["there by 9"]
    async with laboratory() as lab, osm_world() as world:
        services = replace(lab.services, maps=world.maps)
        lab = Lab(services, build_graph(lambda: services).compile(checkpointer=InMemorySaver()))
        asked = {"query": "Tram to Uferpark", "map": {**way, "country": "de"}, "web": False}
        lab.gemini.llm = llm = Spoken(generate_query=[plan(asked)])
        state = await lab.ask(f"How do I get from {STATION} to Uferpark by tram?")
        [shown], [written] = llm.prompts("reflection"), llm.prompts("answer")
    rides = say("map.no_timetables.walking", "en", map="OpenStreetMap")
    wished = say("map.wished", "en", wishes="there by 9")
    assert say("missing.said", "en", text=rides) in shown
    assert say("missing.wished", "en", text=wished) in written
    text = str(answer_of(state).text)
    notice, first, *_ = text.split("\n\n")
    assert notice.startswith("> ")
    assert first == say("answer.first", "en", text=rides[0].upper() + rides[1:])
    assert "there by 9" not in text


@pytest.mark.parametrize(
    "fault", ["drop", "drop_mid_body", "garbage", "cut_json", "empty", "html", "deep_json"]
)
async def test_a_service_that_misbehaves_for_good_is_a_gap(world: World, fault: FaultKind) -> None:
    world.lab.service.fail(fault, times=None)
    result = await world.result({"intent": "nearby", "place": STATION, "keywords": ["cafe"]})
    assert [(gap["provider"], gap["code"][:4]) for gap in result.gaps] == [("osm", "map_")]
    assert result.gaps[0]["message"]


@pytest.mark.parametrize("fault", ["drop", "garbage", "empty", "html", "status"])
async def test_a_service_that_misbehaves_once_costs_nothing(world: World, fault: FaultKind) -> None:
    world.lab.service.fail(fault, status=503)
    result = await world.result({"intent": "nearby", "place": STATION, "keywords": ["cafe"]})
    assert (len(result.places), result.gaps) == (4, [])


async def test_a_server_that_is_killed_is_started_again(world: World) -> None:
    session = world.maps.clients[0].session
    await session.ready()
    pid = session.pid
    assert pid is not None
    os.kill(pid, signal.SIGKILL)
    result = await world.result({"intent": "poi", "place": "Uferpark"})
    assert [place["name"] for place in result.places] == ["Uferpark"]
    assert session.starts == 2
    await world.maps.aclose()
    assert not world.maps.running


async def test_a_reader_of_chinese_is_told_an_english_name_where_there_is_no_chinese_one(
    world: World,
) -> None:
    named = {}
    for place, country in (("Nordhaven asema", "fi"), ("Museum der Flüsse", "de")):
        task = {"intent": "nearby", "place": place, "keywords": ["cafe"], "country": country}
        named[place] = (await world.result(task, "zh")).centre_name
    assert named == {
        "Nordhaven asema": "Northaven Station (Nordhaven asema)",
        "Museum der Flüsse": "河流博物馆 (Museum der Flüsse)",
    }


async def test_where_the_asker_is_needs_no_place(world: World) -> None:
    for intent, found in (("regeo", "places"), ("weather", "weather")):
        task = valid_map_task({"intent": intent})
        assert task is not None
        result = await world.result(dict(task), near=HERE)
        assert len(getattr(result, found)) == 1


@pytest.mark.usefixtures("map_server_script")
async def test_amap_too_needs_no_place_where_the_asker_is() -> None:
    tiananmen = {"lng": 116.3912, "lat": 39.9059}
    async with both_maps() as maps:
        world = World(None, maps)  # type: ignore[arg-type]
        for intent, found in (("regeo", "places"), ("weather", "weather")):
            result = await world.result(
                dict(valid_map_task({"intent": intent}) or {}), "zh", near=tiananmen
            )
            assert (result.provider, len(getattr(result, found)), result.gaps) == ("amap", 1, [])
