"""Several places of one name or kind on the second map: which is meant, and which is nearest."""

from typing import Any

import pytest

from agent.evidence.records import place_lines
from agent.evidence.references import references
from agent.evidence.types import MapTask, Place
from agent.mcp.osm.records import name_of
from agent.mcp.records import MapOptions, MapResult
from agent.texts import Language, say
from tests.integration.osm_service import own_elements
from tests.integration.test_second_map_server import STATION, World, osm_world, world_fixture
from tests.support.map_fixtures import meter
from tests.support.rows import by_examples

__all__ = ["world_fixture"]

BARE_CAFE = {
    "type": "node", "id": 90, "lat": 52.5214, "lon": 13.406,
    "tags": {"amenity": "cafe", "name": "Bare"},
}  # fmt: skip
FURTHER_BRANCH = {
    "type": "node", "id": 91, "lat": 52.5225, "lon": 13.409,
    "tags": {"amenity": "cafe", "name": "Café Morgenrot", "name:en": "Dawn Café",
             "addr:street": "Ostweg", "addr:housenumber": "8", "addr:city": "Seestadt"},
}  # fmt: skip


async def test_of_several_places_the_nearest_comes_first_and_its_line_says_that_it_is() -> None:
    elements = [*own_elements(), BARE_CAFE, FURTHER_BRANCH]
    async with osm_world(elements) as changed:
        result = await changed.result({"intent": "nearby", "place": STATION, "keywords": ["cafe"]})
    first, *others = place_lines(result.places, "en").splitlines()
    assert first.split(" | ")[2] == "44 m from Seestadt Hauptbahnhof (nearest of these)"
    assert not [line for line in others if "nearest" in line]


async def test_a_shop_that_the_map_has_as_a_point_and_as_a_house_is_one_with_what_both_say() -> (
    None
):
    point = {"type": "node", "id": 90, "lat": 52.5214, "lon": 13.406,
             "tags": {"amenity": "cafe", "name": "Twin", "opening_hours": "24/7"}}  # fmt: skip
    house = {"type": "way", "id": 91, "lat": 52.52145, "lon": 13.4061,
             "tags": {"amenity": "cafe", "name": "Twin", "phone": "+49 1"}}  # fmt: skip
    branch = {**point, "id": 92, "lat": 52.5224}
    task = {"intent": "nearby", "place": STATION, "keywords": ["cafe"]}
    async with osm_world([*own_elements(), point, house, branch]) as changed:
        result = await changed.result(task)
    twins = [place for place in result.places if place["name"] == "Twin"]
    assert [(p["open_time"], p.get("phone")) for p in twins] == [
        ("daily 24 h", "+49 1"), ("daily 24 h", None),
    ]  # fmt: skip
    assert len(result.places) == result.searches[0]["hits"]


async def test_branches_of_a_name_are_told_apart_in_the_list_of_sources_by_their_street() -> None:
    async with osm_world([*own_elements(), FURTHER_BRANCH]) as world:
        result = await world.result({"intent": "nearby", "place": STATION, "keywords": ["cafe"]})
    named = [each for each in result.sources if "Café Morgenrot" in each["title"]]
    listed = references(named, "en")
    assert "(Hauptweg 7, Seestadt)" in listed
    assert "(Ostweg 8, Seestadt)" in listed
    assert "OpenStreetMap/node" not in listed


async def test_of_two_places_of_a_name_the_other_s_city_is_told(world: World) -> None:
    task = {"intent": "nearby", "place": "Café Morgenrot", "keywords": ["museum"]}
    result = await world.result(task)
    assert [gap["code"] for gap in result.gaps if "Nordhaven" in gap["message"]] == [
        "map_ambiguous"
    ]
    result = await world.result({**task, "country": "fi"})
    assert [place["name_en"] for place in result.places] == ["Sea Museum"]


async def test_a_place_of_the_very_name_goes_before_one_that_has_it_in_its_name() -> None:
    bistro = {
        "type": "node", "id": 5, "lat": 52.53, "lon": 13.41,
        "tags": {"amenity": "cafe", "name": "Uferpark Bistro", "opening_hours": "24/7",
                 "phone": "1", "website": "w", "cuisine": "local", "wheelchair": "yes"},
    }  # fmt: skip
    async with osm_world([bistro, *own_elements()]) as world:
        named = await world.result({"intent": "poi", "place": "Uferpark"})
        near = await world.result({"intent": "nearby", "place": "Uferpark", "keywords": ["cafe"]})
    assert [place["name"] for place in named.places] == ["Uferpark"]
    assert near.centre is not None
    assert near.centre["lat"] != 52.53


async def test_a_square_goes_before_the_stop_that_is_called_after_it() -> None:
    """A way to Senaatintori ended at a tram stop 136 m off it."""
    both = [
        {"type": "node", "id": 96 + at, "lat": 52.52 + at / 100, "lon": 13.41,
         "tags": {key: kind, "name": "Marktplatz"}}
        for at, (key, kind) in enumerate([("railway", "tram_stop"), ("place", "square")])
    ]  # fmt: skip
    async with osm_world([*own_elements(), *both]) as world:
        way = {"intent": "route", "origin": STATION, "destination": "Marktplatz"}
        [route] = (await world.result(way)).routes
    assert route["ends"][1]["wgs84"]["lat"] == 52.53


@pytest.mark.parametrize("half", [0.0, 0.0007])
@pytest.mark.parametrize("intent", ["nearby", "area"])
async def test_around_a_square_or_a_quarter_s_point_the_radius_is_searched(
    half: float, intent: str
) -> None:
    """Within the box of Senaatintori there is no museum, and a point's box holds nothing."""
    at = {"lat": 52.5205, "lon": 13.4051}
    box = [at["lon"] - half, at["lat"] - half, at["lon"] + half, at["lat"] + half]
    square = {"type": "relation", "id": 96, **at, "box": box,
              "tags": {"place": "square", "name": "Marktplatz"}}  # fmt: skip
    task = {"intent": intent, "place": "Marktplatz", "city": "Seestadt", "keywords": ["cafe"]}
    async with osm_world([*own_elements(), square]) as world:
        result = await world.result(task)
    assert result.gaps == []
    assert "Café Morgenrot" in {place["name"] for place in result.places}
    assert {place["distance_from"] for place in result.places} == {"Marktplatz"}


async def test_a_quarter_is_searched_whole_and_around_it_where_so_wide_a_circle_is_asked_for(
    world: World,
) -> None:
    task = {"intent": "area", "place": "Mühlenviertel", "keywords": ["pharmacy", "cafe"]}
    within = await world.result(task)
    around = await world.result({**task, "intent": "nearby", "radius_m": 3000})
    assert [place["name"] for place in within.places] == ["Mühlen-Apotheke"]
    assert len(around.places) > 1
    assert all(place["distance_m"] is not None for place in around.places)


async def test_a_place_that_has_the_asked_name_beside_its_own_is_no_other() -> None:
    """ "Helsingin keskusta" was told as taken to be City center, which it is."""
    tags = {"place": "neighbourhood", "name": "Keskusta", "name:en": "City center",
            "alt_name:fi": "Seestadtin keskusta"}  # fmt: skip
    middle = {"type": "node", "id": 96, "lat": 52.5205, "lon": 13.4051, "tags": tags}
    task = {"intent": "nearby", "place": tags["alt_name:fi"], "city": "Seestadt"}
    async with osm_world([*own_elements(), middle]) as world:
        result = await world.result({**task, "keywords": ["cafe"]})
    assert result.gaps == []
    assert result.places


@pytest.mark.parametrize(
    ("address", "language", "name"),
    [
        ({"addr:street": "Ostweg", "addr:city": "Seestadt"}, "en", "playground (Ostweg)"),
        ({"addr:city": "Seestadt"}, "de", "Spielplatz (nahe Café Morgenrot)"),
        ({}, "zh", "儿童游乐场（Café Morgenrot附近）"),
    ],
)
async def test_what_has_no_name_is_told_by_its_kind_and_where_it_is(
    address: dict[str, str], language: Language, name: str
) -> None:
    """A plan led for ten minutes to a stop that was called "playground"."""
    tags = {"leisure": "playground", **address}
    playground = {"type": "way", "id": 96, "lat": 52.5216, "lon": 13.4072, "tags": tags}
    task = {"intent": "nearby", "place": STATION, "keywords": ["playground", "cafe"]}
    async with osm_world([*own_elements(), playground]) as world:
        result = await world.result(task, language=language)
    assert [place["name"] for place in result.places if place["id"] == "osm:way/96"] == [name]


async def test_what_else_bears_a_station_s_name_is_no_place_of_a_search_for_cafes() -> None:
    stand = {
        "type": "node", "id": 96, "lat": 52.5211, "lon": 13.4062,
        "tags": {"amenity": "bicycle_rental", "name": STATION},
    }  # fmt: skip
    async with osm_world([*own_elements(), stand]) as world:
        result = await world.result({"intent": "nearby", "place": STATION, "keywords": ["zoo"]})
        before = len(result.places)
        await world.call(result, "osm_geocode", query=STATION)
    assert len(result.places) == before


@pytest.mark.parametrize(("known", "told"), [((0.6, 0.55), True), ((0.8, 0.5), False)])
async def test_of_towns_of_a_name_the_others_are_told_where_they_are_as_well_known(
    known: tuple[float, float], told: bool
) -> None:
    towns = [
        {"type": "relation", "id": 95 + at, "lat": 52.5 - at, "lon": 13.4, "country": "de",
         "state": state, "importance": worth, "box": [13.3, 52.4 - at, 13.5, 52.6 - at],
         "tags": {"place": "town", "name": "Quellbach"}}
        for at, (state, worth) in enumerate(zip(("Nordland", "Südland"), known, strict=True))
    ]  # fmt: skip
    async with osm_world([*own_elements(), *towns]) as world:
        result = await world.result(
            {"intent": "nearby", "place": "Quellbach", "keywords": ["cafe"]}
        )
    values = {"place": "Quellbach", "city": "Nordland, DE", "others": "Südland, DE"}
    message = say("map.ambiguous", "en", **values)
    assert (message in [gap["message"] for gap in result.gaps]) is told


async def test_a_stop_in_a_town_that_is_called_like_it_is_no_other_town() -> None:
    stop = {"type": "node", "id": 98, "lat": 52.53, "lon": 13.41,
            "tags": {"railway": "station", "name": "Seestadt"}}  # fmt: skip
    async with osm_world([*own_elements(), stop]) as world:
        task = {"intent": "area", "city": "Seestadt", "place": "Seestadt", "keywords": ["cafe"]}
        result = await world.result({**task, "city": None})
    assert result.places
    assert result.gaps == []


async def test_the_city_of_a_place_is_told_where_nobody_named_one(world: World) -> None:
    task = {"intent": "nearby", "place": "Museum of Rivers", "keywords": ["cafe"]}
    message = say("map.city_assumed", "en", place=task["place"], city="Seestadt")
    assert message in [gap["message"] for gap in (await world.result(task)).gaps]
    named = await world.result({**task, "city": "Seestadt"})
    asked = await world.result(task, question="Cafés at the Museum of Rivers in Seestadt?")
    assert message not in [gap["message"] for gap in [*named.gaps, *asked.gaps]]


async def test_a_way_to_a_place_that_was_shown_goes_to_that_one_not_to_a_namesake(
    world: World,
) -> None:
    shown = (await world.result({"intent": "poi", "place": "Uferpark"})).places[0]
    names = (("osm:node/901", 13.41, "Ostweg 8"), ("osm:node/902", 13.45, "Westweg 2"))
    beside = Place(**{**shown, "id": "osm:node/903", "name": "Kiosk (Uferpark)"})  # type: ignore[typeddict-item]
    known = [
        Place(**{**shown, "id": key, "name": "Kaffee Eins", "address": f"{street}, Seestadt",
                 "location": {"lng": lng, "lat": 52.521, "crs": "WGS-84"}})  # type: ignore[typeddict-item]
        for key, lng, street in names
    ]  # fmt: skip

    async def way(name: str) -> tuple[str, float]:
        task = {"intent": "route", "mode": "walking", "origin": STATION, "destination": name}
        [route] = (await world.result(task, known=known)).routes
        return route["ends"][1]["name"], route["ends"][1]["wgs84"]["lng"]

    assert await way("kaffee eins") == ("Kaffee Eins (Ostweg 8, Seestadt)", 13.41)
    assert await way("Kaffee Eins, Westweg 2") == ("Kaffee Eins (Westweg 2, Seestadt)", 13.45)
    known[0] = beside
    assert await way("Kaffee Eins") == ("Kaffee Eins", 13.45)
    assert (await way("Uferpark"))[0] == "Uferpark"
    known[1]["name"] = "咖啡一号 (Kaffee Eins)"
    assert await way("Kaffee Eins") == ("咖啡一号 (Kaffee Eins)", 13.45)


async def test_a_place_that_is_called_otherwise_than_asked_for_is_told_as_what_it_is() -> None:
    async with osm_world() as world:
        task = {"intent": "nearby", "place": "Seestadt Haupt", "keywords": ["cafe"]}
        result = await world.result(task)
        exact = await world.result({**task, "place": STATION.upper()})
    english = "Seestadt Central Station"
    taken = say("map.taken", "en", place="Seestadt Haupt", name=english)
    assert [gap["message"] for gap in result.gaps] == [taken]
    assert result.centre_name == english
    assert exact.gaps == []


async def test_a_place_that_is_asked_for_by_any_of_its_names_is_told_by_that_name() -> None:
    """The station's display name is the town's: it was told as taken, "61 m from Helsinki"."""
    tags = {"railway": "station", "name": "Nordhaven", "name:fi": "Nordhavenin rautatieasema"}
    stop = {"type": "node", "id": 97, "lat": 52.5212, "lon": 13.4061, "tags": tags}
    async with osm_world([*own_elements(), stop]) as world:
        task = {"intent": "nearby", "place": tags["name:fi"], "keywords": ["cafe"]}
        result = await world.result(task)
    assert "map_taken" not in [gap["code"] for gap in result.gaps]
    assert {place["distance_from"] for place in result.places} == {tags["name:fi"]}


async def test_what_was_searched_around_is_no_hit_of_its_own_search() -> None:
    stop = {
        "type": "node", "id": 97, "lat": 52.5212, "lon": 13.4061,
        "tags": {"railway": "station", "name": STATION},
    }  # fmt: skip
    async with osm_world([*own_elements(), stop]) as world:
        task = {"intent": "nearby", "place": STATION, "keywords": ["station", "cafe"]}
        result = await world.result(task)
    assert result.places
    assert STATION not in {place["name"] for place in result.places}


async def test_what_is_known_to_meet_the_demands_comes_in_before_what_is_described_better() -> None:
    """Of thirty cafés the map showed the twenty best described, none of which had a ramp."""
    told = {"opening_hours": "Mo-Su 08:00-20:00", "website": "w", "phone": "p"}
    near = [
        {"type": "node", "id": 100 + n, "lat": 52.5211 + n / 1e5, "lon": 13.406,
         "tags": {"amenity": "cafe", "name": f"Café {n}", "wheelchair": "no", **told}}
        for n in range(30)
    ]  # fmt: skip
    ramp = {"amenity": "cafe", "name": "Rampe", "wheelchair": "yes",
            "wheelchair:description": "a ramp behind", "toilets:wheelchair": "no"}  # fmt: skip
    far = {"type": "node", "id": 99, "lat": 52.526, "lon": 13.406, "tags": ramp}
    async with osm_world([*own_elements(), *near, far]) as world:
        task = {"intent": "nearby", "place": STATION, "keywords": ["cafe"]}
        result = await world.result(task, constraints={"suits": ["wheelchair"]})
    assert {"Rampe", "Café Morgenrot"} == {place["name"] for place in result.places[:2]}
    assert {place.get("wheelchair") for place in result.places[-2:]} == {"no"}
    [found] = [place for place in result.places if place["name"] == "Rampe"]
    assert (found["access"], found["toilets"]) == ("a ramp behind", "no")


async def test_what_a_model_searches_around_is_what_places_are_measured_from() -> None:
    """By the id that the geocoder gave: fourteen cafés had no distance, and the id was refused."""
    async with osm_world() as world:
        result = MapResult(intent="nearby", provider="osm")
        await world.call(result, "osm_geocode", query=STATION)
        assert result.places == [], "where one searches around is no place of the search"
        found = await world.call(result, "osm_nearby", location="node/10", kinds="cafe")
    assert found.status == "success"
    assert f"m from {STATION}" in str(found.content)
    assert result.places[0]["distance_from"] == STATION


@pytest.mark.parametrize(
    ("place", "told"),
    [
        ("Hauptbahnhof Seestadt (station)", False),
        ("Aleksanterinkatu 52", True),
    ],
)
async def test_that_a_place_was_not_found_is_not_told_of_one_that_a_model_found(
    place: str, told: bool
) -> None:
    async with osm_world() as world:
        task: MapTask = {"intent": "nearby", "place": place, "keywords": ["cafe"]}
        result = await world.result(dict(task))
        assert [gap["code"] for gap in result.gaps] == ["map_place_not_found"]
        await world.call(result, "osm_geocode", query=STATION)
        if not told:
            result.names = dict.fromkeys(result.names, "Hauptbahnhof Seestadt")
        await world.call(result, "osm_nearby", location="node/10", kinds="cafe")
        options = MapOptions(prefix="a0", language="en")
        await world.maps.look_up_more(
            result, task, "q", options=options, meter=meter(), on_call=lambda call: None
        )
    assert result.places
    taken = say("map.taken", "en", place=place, name=STATION)
    assert [gap["message"] for gap in result.gaps] == ([taken] if told else [])


@pytest.mark.parametrize("place", ["Seestadt city centre", "the centre of Seestadt", "Downtown"])
async def test_the_middle_of_a_city_is_where_the_city_is(world: World, place: str) -> None:
    """Nothing is called so, and nothing was found around it."""
    task = {"intent": "nearby", "place": place, "city": "Seestadt", "keywords": ["cafe"]}
    result = await world.result(task)
    assert result.centre_name == place
    assert result.places
    assert all(found["distance_m"] is not None for found in result.places)


CENTRAL: dict[str, Any] = {
    "type": "node", "id": 97, "lat": 52.5212, "lon": 13.4061,
    "tags": {"railway": "station", "name": "Nordhavenin päärautatieasema",
             "name:zh": "諾德港中央車站", "name:en": "Nordhaven Central Railway Station",
             "name:de": "Nordhaven Hauptbahnhof"},
}  # fmt: skip
MUSEUM = {
    "type": "node", "id": 94, "lat": 52.5215, "lon": 13.4065,
    "tags": {"tourism": "museum", "name": "Merimuseo", "name:en": "Sea Museum",
             "name:ru": "Морской музей", "name:zh": "海事博物館"},
}  # fmt: skip


@by_examples
async def test_a_place_and_its_centre_are_named_in_the_reader_s_language_and_letters(
    language: Language, centre: str, line: str
) -> None:
    async with osm_world([*own_elements(), CENTRAL, MUSEUM]) as world:
        task = {"intent": "nearby", "place": CENTRAL["tags"]["name"], "keywords": ["museum"]}
        result = await world.result(task, language=language, question="?")
    assert result.centre_name == centre
    assert {each["distance_from"] for each in result.places} == {centre}
    assert f"] {line} | " in place_lines(result.places, language)


@pytest.mark.parametrize(
    ("local", "chinese", "shown"),
    [
        ("銅鑼灣 Causeway Bay", "銅鑼灣", "铜锣湾 Causeway Bay"),
        ("誠品書店", "誠品書店", "诚品书店"),
        ("東京駅", "东京站", "东京站 (東京駅)"),
        ("横浜駅", None, "横浜駅"),
    ],
)
def test_simplified_characters_are_read_and_another_language_s_stay_beside(
    local: str, chinese: str | None, shown: str
) -> None:
    assert name_of({"name": local, "names": {"zh": chinese}}, "zh") == shown


@pytest.mark.parametrize(
    ("place", "question", "told"),
    [
        ("Nordhaven Central Station", "", False),
        ("Nordhaven Main Station", "诺德港中央车站附近的咖啡馆", False),
        ("Nordhaven Main Station", "火车站附近的咖啡馆", True),
    ],
)
async def test_a_station_is_no_other_where_a_name_of_it_has_the_words_or_its_asker_wrote_it(
    place: str, question: str, told: bool
) -> None:
    found = {**CENTRAL, "tags": {**CENTRAL["tags"], "name:loose": f"the {place}"}}
    async with osm_world([*own_elements(), found]) as world:
        task = {"intent": "nearby", "place": place, "keywords": ["cafe"]}
        result = await world.result(task, question=question)
    assert [gap["code"] for gap in result.gaps] == (["map_taken"] if told else [])
    assert result.centre_name == "Nordhaven Central Railway Station"
