"""Ways on OpenStreetMap and what lies on them: over places, between two, at a time, as wished."""

import re

import pytest

from agent.assistants.common.map_tasks import has_place
from agent.evidence.geo import distance_text, metres_apart
from agent.evidence.maps import valid_map_task
from agent.evidence.records import route_text
from agent.evidence.said import names_said
from agent.evidence.types import MapTask
from agent.evidence.way_steps import way_text
from agent.mcp.records import MapOptions, MapResult, lnglat
from agent.texts import say
from tests.integration.test_second_map_server import STATION, World, world_fixture
from tests.support.map_fixtures import meter, script_fixture

__all__ = ["script_fixture", "world_fixture"]


async def test_something_between_two_is_searched_around_their_middle_and_from_both_ends(
    world: World,
) -> None:
    """ "On the way from the station to the museum" was searched around one of them."""
    ends = {"origin": STATION, "destination": "Museum of Rivers"}
    task = {"intent": "nearby", "keywords": ["cafe"], **ends}
    assert has_place(MapTask(**task), None)  # type: ignore[typeddict-item]
    result = await world.result(task)
    assert result.centre_name == say(
        "map.between", "en", begin=ends["origin"], end=ends["destination"]
    )
    assert result.anchor is None, "the middle is no place of the reader's"
    [place, *_] = result.places
    assert (place["distance_from"], place["further"][0]["origin"]) == (*ends.values(),)
    both = (place["distance_m"] or 0) + (place["further"][0]["metres"] or 0)
    assert result.between is not None
    straight = metres_apart(result.between[0][1], result.between[1][1])
    assert place["detour_m"] == pytest.approx(both - straight, abs=2)
    assert not [gap for gap in result.gaps if gap["code"] == "map_between"]
    same = valid_map_task({**task, "destination": STATION})
    assert same is not None
    around = await world.result(dict(same))
    assert (around.centre_name, around.between) == (STATION, None), "none is between one alone"


async def test_between_two_that_are_far_apart_only_the_middle_is_searched_and_that_is_told(
    world: World,
) -> None:
    task = {"intent": "nearby", "keywords": ["cafe"], "origin": STATION}
    result = await world.result({**task, "destination": "13.0,52.0"})
    told = [gap["message"] for gap in result.gaps if gap["code"] == "map_between"]
    values = {"begin": STATION, "end": "13.0,52.0", "far": distance_text(10_000, "en")}
    assert told == [say("map.between_far", "en", **values)]


async def test_a_way_goes_over_the_places_named_and_says_what_it_takes_no_account_of(
    world: World,
) -> None:
    ends = {"origin": STATION, "destination": "Museum der Flüsse", "via": ["Uferpark"]}
    wishes = ["not along the main road", "no stairs"]
    way = {"intent": "route", "mode": "walking", "wishes": wishes, "arrive_by": "09:00", **ends}
    result = await world.result(way)
    [route] = result.routes
    assert route["destination"] == "Uferpark → Museum der Flüsse"
    assert (route["distance_m"] or 0) > 602
    assert [end["name"] for end in route["ends"]] == [STATION, "Museum der Flüsse"]
    assert [stop["name"] for stop in route["via"]] == ["Uferpark"]
    assert route["zone"] == "Europe/Berlin"
    legs = way_text(route, "de").split("; ")
    assert [leg.partition(": ")[0] for leg in legs] == [
        f"{STATION} → Uferpark", "Uferpark → Museum der Flüsse",
    ]  # fmt: skip
    assert all(re.search(r": \S+ k?m, \d+ Min\.$", leg) for leg in legs), legs
    between = route["id"].split(":")[3].split(",")
    assert route["url"].count("loc=") == 3
    assert f"&loc={float(between[1]):.5f},{float(between[0]):.5f}&" in route["url"]
    [gap] = result.gaps
    assert (gap["code"], gap["message"]) == (
        "map_wished",
        say("map.wished", "en", wishes=", ".join(wishes)),
    )


async def test_a_way_begins_and_ends_with_what_one_does_there(world: World) -> None:
    """A way ended with the bare name of a street."""
    task = {"intent": "route", "origin": STATION, "destination": "Uferpark", "mode": "walking"}
    [route] = (await world.result(task)).routes
    told = [step["instruction"] for step in route["steps"]]
    assert told == ["set out (Hauptweg)", "turn left into Uferweg", "arrive"]
    assert "turn left into Uferweg 50 m; arrive" in route_text(route, "en")


async def test_stops_in_any_order_are_gone_to_in_the_shortest_one_and_that_is_told(
    world: World,
) -> None:
    named = ["Uferpark", "Museum der Flüsse"]
    way = {"intent": "route", "origin": STATION, "mode": "walking"}
    lengths = []
    for first, last in (named, named[::-1]):
        [route] = (await world.result({**way, "via": [first], "destination": last})).routes
        lengths.append(route["distance_m"] or 0)
    for via in (named, named[::-1]):
        task = valid_map_task({**way, "via": via, "any_order": True})
        result = await world.result(dict(task or {}))
        assert [route["distance_m"] for route in result.routes] == [min(lengths)]
        assert [gap["message"] for gap in result.gaps] == [say("map.ordered_on_foot", "en")]
        # The stops change their places, and the words that they were asked by stay with them.
        words = {"Uferpark": "the park", "Museum der Flüsse": "the museum"}
        said = names_said(MapTask(intent="route", said=words), result.meant)
        assert {name: said[name] for name in words} == words
        assert len(said) == len(words)
    assert lengths[0] != lengths[1]


@pytest.mark.usefixtures("map_server_script")
async def test_a_model_s_way_over_a_place_and_the_direct_one_are_two(world: World) -> None:
    result = await world.result({"intent": "route", "origin": STATION, "destination": "Uferpark"})
    start, end = (lnglat(at["location"]) for at in result.routes[0]["ends"])
    ends = {"origin": start, "destination": end}
    for more in ({}, {"via": "13.403,52.521"}):
        await world.call(result, "osm_route", mode="walking", **ends, **more)
    assert [route["url"].count("loc=") for route in result.routes] == [0, 3]


async def test_a_model_s_way_has_the_names_of_its_ends_however_their_positions_are_written(
    world: World,
) -> None:
    """徒歩 24.9414566,60.1713198 → … stood in the answer's sources: the geocoder has 7 digits."""
    result = MapResult(intent="route", provider="osm")
    for query in (f"{STATION}, Seestadt", "Uferpark"):
        await world.call(result, "osm_geocode", query=query)
    start, end = result.names
    ends = {"origin": f"{start}4", "destination": end.replace(",", "0, ").rstrip("0")}
    reply = await world.call(result, "osm_route", mode="walking", **ends)
    [route] = result.routes
    assert (route["origin"], route["destination"]) == (STATION, "Uferpark")
    assert f"{STATION} → Uferpark" in str(reply.content)
    assert result.sources[0]["title"].endswith(f"{STATION} → Uferpark")


async def test_what_a_map_cannot_tell_of_a_place_is_left_to_the_writer_who_sees_what_is_known(
    world: World,
) -> None:
    """“Cannot tell how far it is on foot” stood above an answer that told it, measured."""
    task = valid_map_task(
        {"intent": "poi", "place": "Uferpark", "wishes": ["how far on foot", "traffic now"]}
    )
    result = await world.result(dict(task or {}))
    assert [place["name"] for place in result.places] == ["Uferpark"]
    told = say("map.besides", "en", wishes="how far on foot, traffic now")
    assert [(gap["code"], gap["message"]) for gap in result.gaps] == [("map_wished", told)]


async def test_a_way_that_was_not_found_takes_no_account_of_nothing(world: World) -> None:
    way = {"intent": "route", "origin": STATION, "destination": "Nirgendwo", "wishes": ["no hills"]}
    result = await world.result(way)
    assert [gap["code"] for gap in result.gaps] == ["map_place_not_found"]


@pytest.mark.parametrize("mode", ["walking", "driving"])
async def test_when_one_wants_to_be_there_is_told_where_traffic_matters_apart_from_the_way(
    world: World, mode: str
) -> None:
    way = {"intent": "route", "origin": STATION, "destination": "Uferpark", "mode": mode}
    wishes = {"wishes": ["no main road"], "depart_at": "7:30", "arrive_by": "2026-12-01T8:00"}
    task = valid_map_task({**way, **wishes})
    assert task is not None
    assert (task["depart_at"], task["arrive_by"]) == ("07:30", "2026-12-01T08:00")
    assert valid_map_task(task) == task
    result = await world.result(dict(task))
    told = [gap["message"] for gap in result.gaps]
    times = [("depart_at", "07:30"), ("arrive_by", "08:00")]
    joined = ", ".join(say(f"map.{key}", "en", time=time) for key, time in times)
    untimed = say("map.untimed", "en", wishes=joined)
    assert told[-1] == say("map.wished", "en", wishes="no main road")
    assert told[:-1] == ([untimed] if mode == "driving" else [])


@pytest.mark.parametrize(
    ("via", "codes"), [([], []), (["Nirgendwo", "Uferpark"], ["map_place_not_found"])]
)
async def test_that_an_end_was_not_found_is_not_told_of_a_way_that_a_model_found(
    world: World, via: list[str], codes: list[str]
) -> None:
    """That Senaatintori could not be found stood beside the way there, and its stops had cards."""
    task: MapTask = {"intent": "route", "origin": "Nirgendwo 1", "destination": "Uferpark"}
    task["via"] = via
    result = await world.result(dict(task))
    assert [gap["code"] for gap in result.gaps] == ["map_place_not_found"]
    found = [await world.call(result, "osm_geocode", query=name) for name in (STATION, "Uferpark")]
    ids = [re.findall(r'"id":"([a-z]+/\d+)"', str(reply.content))[0] for reply in found]
    await world.call(result, "osm_route", mode="walking", origin=ids[0], destination=ids[1])
    await world.maps.look_up_more(
        result, task, "q", options=MapOptions(prefix="a0", language="en"),
        meter=meter(), on_call=lambda call: None,
    )  # fmt: skip
    assert len(result.routes) == 1
    assert result.places == [], "an end of a way is no place that was looked for"
    assert [gap["code"] for gap in result.gaps] == codes


async def test_a_name_with_its_asker_s_form_behind_it_is_asked_for_without_that(
    world: World,
) -> None:
    task = {"intent": "route", "origin": f"{STATION} (des Bahnhofes)", "destination": "Uferpark"}
    result = await world.result(task)
    assert (len(result.routes), result.gaps) == (1, [])
