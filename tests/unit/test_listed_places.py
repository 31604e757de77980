"""Which places a writer sees, and of how many it is told."""

from typing import Any, cast

from agent.assistants.common.listed_places import (
    MOST_LISTED,
    chosen_places,
    found_lines,
    listed_of,
    listed_places,
    parted,
    suitable,
)
from agent.assistants.common.shown_records import places_as_shown, sources_as_shown
from agent.evidence.geo import location_at
from agent.evidence.mentions import mentioned, named_in
from agent.evidence.types import Constraints, FoundPlaces, Location, MapTask, Place, Route, Source
from agent.mcp.new_records import new_place, new_route
from agent.mcp.osm.prefetch import OsmPrefetch
from agent.mcp.osm.records import PRESENTATION
from agent.mcp.records import MapOptions, MapRecords, MapResult
from agent.texts import say
from tests.unit import export_samples


def place(number: int, **more: object) -> Place:
    known = new_place(
        id=f"osm:node/{number}", name=f"Sammlung {number}", url="https://example.org",
        location={"lng": 13.4, "lat": 52.5, "crs": "WGS-84"},
    )  # fmt: skip
    return Place(**{**known, "keywords": ["museum"], "distance_from": "Kamppi", **more})  # type: ignore[typeddict-item]


MANY = [place(number) for number in range(30)]


APART = [place(n, source=f"a0-{n}", wgs84={"lng": 13 + n / 100, "lat": 52.5}) for n in range(30)]
WAY = new_route(
    id="way", mode="walking", url="https://example.org", distance_m=900, duration_s=700,
    stops=[(name, Location(lng=lng, lat=52.5, crs="WGS-84"))
           for name, lng in (("here", 13.0), ("there", 13.2700001), ("on", 13.29))],
)  # fmt: skip


def task(*found: FoundPlaces) -> MapTask:
    return MapTask(intent="nearby", found=list(found))


def test_of_many_places_the_best_are_listed_and_those_that_are_named() -> None:
    shown = [each["id"] for each in listed_places(MANY, "Visit Sammlung 27 or Sammlung 3.")]
    assert len(shown) == MOST_LISTED
    assert shown == [f"osm:node/{number}" for number in (*range(19), 27)]
    assert listed_places(MANY[:5], "") == MANY[:5]


def test_the_kinds_of_one_search_share_the_list_in_turn() -> None:
    """A search for restaurants and cafés filled it with restaurants: no café had any hours."""
    restaurants = [place(n, keywords=[], category="restaurant (Thai)") for n in range(25)]
    cafes = [place(n, keywords=[], category="café") for n in range(25, 40)]
    shown = [each["id"] for each in listed_places([*restaurants, *cafes], "")]
    assert shown == [f"osm:node/{number}" for number in (*range(10), *range(25, 35))]
    few = [each["id"] for each in listed_places([*restaurants, *cafes[:3]], "")]
    assert few == [f"osm:node/{number}" for number in (*range(17), *range(25, 28))]


def test_of_places_that_nothing_is_far_from_those_with_hours_are_listed_first() -> None:
    """Of twenty museums of a city those without hours were shown to who planned a day."""
    museums = [place(n, distance_from=None, open_time="10:00-18:00" if n > 24 else None)
               for n in range(30)]  # fmt: skip
    shown = [each["id"] for each in listed_places(museums, "")]
    assert shown == [f"osm:node/{number}" for number in (*range(15), *range(25, 30))]
    near = [Place(**{**each, "distance_from": "Kamppi"}) for each in museums]
    assert [each["id"] for each in listed_places(near, "")] == [p["id"] for p in near[:20]]


def test_a_name_s_next_record_is_listed_behind_other_places() -> None:
    ranks = [place(n, name="Senate Square", keywords=[], category=f"kind {n}", source=f"a4-{n}",
                   distance_from=None) for n in range(15)]  # fmt: skip
    museums = [place(n, source=f"a5-{n}", distance_from=None) for n in range(15, 40)]
    shown = [each["source"] for each in listed_places([*ranks, *museums], "")]
    assert sum(source.startswith("a4-") for source in shown) == 3, "the best of each search stay"


def test_what_was_asked_for_is_listed_before_what_lies_around_what_was_found() -> None:
    """The cafés by each of eight museums took the room of all museums but three."""
    museums = [place(n, source=f"a0-{n}", distance_from=None) for n in range(12)]
    cafés = [
        place(100 + n, name=f"Café {n}", source=f"a{n // 5 + 1}-{n}", keywords=["café"],
              distance_from=museums[n // 5]["name"])
        for n in range(40)
    ]  # fmt: skip
    shown = [each["name"] for each in listed_places([*museums, *cafés], "")]
    assert shown[:12] == [each["name"] for each in museums]
    around = [each["distance_from"] for each in listed_places([*museums, *cafés], "")[12:]]
    assert {*around} == {each["name"] for each in museums[:8]}, "the best of each search stay"
    hall = place(50, name="Halle", keywords=[], distance_from=None)
    asked = [place(100 + n, distance_from="Halle") for n in range(20)]
    assert len(listed_places([hall, *asked, *museums], "")) == 20
    near = [p for p in listed_places([hall, *asked, *museums], "") if p["distance_from"]]
    assert len(near) > 8, "what is around a place that the question names is asked for"


def test_a_place_with_two_records_side_by_side_is_listed_once() -> None:
    twice = [place(n, name="Oodi", distance_from=None) for n in range(2)]
    far = place(2, name="Oodi", wgs84={"lng": 13.5, "lat": 52.6})
    stop = place(5, name="Oodi", category="tram stop")
    bare = [place(n, name="parking", nameless=True) for n in (3, 4)]
    assert listed_places([*twice, far, stop, *bare], "") == [twice[0], far, stop, *bare]
    assert listed_places(twice, "", stops=[twice[1]["id"]]) == twice


def test_a_planned_stop_is_listed_whatever_its_rank() -> None:
    shown = [each["id"] for each in listed_places(MANY, "", stops=["osm:node/28"])]
    assert len(shown) == MOST_LISTED
    assert shown[-1] == "osm:node/28"


def test_the_best_of_each_search_are_listed_however_many_others_are_named() -> None:
    """Of thirty restaurants that were looked for last the writer saw none."""
    text = ", ".join(f"Sammlung {number}" for number in range(25))
    last = [place(n, source=f"a18-{n}", category="restaurant") for n in range(40, 60)]
    shown = [each["id"] for each in listed_places([*MANY, *last], text)]
    assert shown == [f"osm:node/{number}" for number in (*range(25), *range(40, 43))]


def test_of_a_stop_that_has_several_records_one_is_listed_where_it_is_named() -> None:
    stops = [place(n, name="Senaatintori", category="tram stop") for n in range(40, 43)]
    shown = [each["id"] for each in listed_places([*MANY, *stops], "At Senaatintori.")]
    assert shown == [f"osm:node/{number}" for number in (*range(19), 40)]


def test_what_ways_lead_to_and_thoughts_name_or_cite_is_listed_whatever_its_rank() -> None:
    """The writer saw nine walks, and of the cafés at their ends no hours."""
    chosen = chosen_places(APART, [WAY], ["(Sunday) Sammlung 22 before noon", "then [^a0-25]"])
    assert chosen == {f"osm:node/{number}" for number in (0, 22, 25, 27, 29)}
    shown = [each["id"] for each in listed_places(APART, "", stops=chosen)]
    assert shown == [f"osm:node/{number}" for number in (*range(16), 22, 25, 27, 29)]


async def test_what_a_cited_way_leads_to_is_named_by_the_answer() -> None:
    way = Route(**{**WAY, "source": "a1-0"})
    source = Source(
        id="a1-0", number=1, kind="place", title="", url="", provider="osm", quotes=[]
    )  # fmt: skip
    for used, named in (([source], ["a0-0", "a0-27", "a0-29"]), ([], [])):
        places = await places_as_shown(APART, used, "900 m [1].", "zh", first=(), routes=[way])
        assert [place["source"] for place in places if place["mentioned"]] == named


async def test_the_stops_that_the_ways_of_a_plan_join_are_named_by_the_answer() -> None:
    """Helsinki Central Station had no pin: its record says Helsinki Central Railway Station."""
    places = await places_as_shown(APART, [], "900 m", "zh", first=(), stops=["osm:node/3"])
    assert [place["id"] for place in places if place["mentioned"]] == ["osm:node/3"]


async def test_a_stop_with_a_record_for_each_direction_is_named_once() -> None:
    """A report had one tram stop as its places 10 and 11."""
    name = "Aleksanterinkatu"
    two = [place(n, name=name, category="tram stop", source=f"a0-{n}") for n in range(2)]
    source = Source(
        id="a0-1", number=1, kind="place", title="", url="", provider="osm", quotes=[]
    )  # fmt: skip
    for used, named in (([], ["a0-0"]), ([source], ["a0-1"])):
        places = await places_as_shown(two, used, f"Take the tram at {name}.", "zh", first=())
        assert [each["source"] for each in places if each["mentioned"]] == named


def cites(*places: Place) -> list[Source]:
    return [Source(id=each["source"], number=n, kind="place", title="", url=each["url"],
                   provider="osm", quotes=[]) for n, each in enumerate(places, 1)]  # fmt: skip


async def test_a_report_s_places_are_those_that_it_cites_or_its_tables_name() -> None:
    """A restaurant called as a tram stop, and two streets, were stops with a verdict each."""
    stop = place(1, name="Lasipalatsi", category="tram stop", source="a0-1")
    oodi = place(2, name="Oodi", category="library", source="a0-2")
    zetor = place(3, name="Zetor", category="restaurant", source="a0-3")
    forum = place(4, name="Forum", category="mall", source="a0-4")
    text = (
        "Oodi [1](u).\n\n| Time | Stop |\n|---|---|\n| 18:00 | Zetor |\n| 19:00 | Lasipalatsi |\n"
    )
    text += "\nThe Forum is near. Restaurant Lasipalatsi is closed on Sundays."
    known = [forum, stop, oodi, zetor]
    told: Any = {"first": (), "ruled_out": {"Restaurant Lasipalatsi": "closed"}}
    shown = await places_as_shown(known, cites(oodi), text, "en", is_report=True, **told)
    assert {each["name"] for each in shown if each["mentioned"]} == {"Oodi", "Zetor"}
    shown = await places_as_shown(known, cites(oodi, stop), text, "en", is_report=True, **told)
    assert {each["name"] for each in shown if each["mentioned"]} == {"Oodi", "Zetor", "Lasipalatsi"}


async def test_the_numbers_of_a_report_s_places_have_no_gaps() -> None:
    """Its list of what to ask gave Kiasma a 2 and the Ateneum a 3; nothing was 1."""
    hotel, kiasma, oodi = (
        place(n, name=name, source=f"a0-{n}") for n, name in enumerate(("Torni", "Kiasma", "Oodi"))
    )
    twin = place(4, name="Oodi", source="a0-4", wgs84=oodi["wgs84"])
    text = "Oodi first.\n\n1. Call the City Museum\n2. Kiasma: hours\n3. Torni: a room\n"
    used = cites(twin, oodi, hotel, kiasma)
    shown = await places_as_shown(
        [twin, hotel, kiasma, oodi], used, text, "en", first=(), is_report=True
    )
    named = [each for each in shown if each["mentioned"]]
    assert [each["number"] for each in named] == [1, 2, 3]
    assert {each["name"] for each in named} == {"Torni", "Kiasma", "Oodi"}


def test_a_cited_way_is_called_as_its_ends_are() -> None:
    way = Route(**{**WAY, "source": "a1-0"})
    source = Source(
        id="a1-0", number=1, kind="place", title=f"Walk {way['origin']} → {way['destination']}",
        url="", provider="osm", quotes=[],
    )  # fmt: skip
    here = place(1, name=way["origin"], name_en="Central Station", source="a0-1")
    [shown] = sources_as_shown([source], [here], "en", [way])
    assert shown["title"] == f"Walk Central Station → {way['destination']}"
    assert sources_as_shown([source], [here], "zh", [way])[0]["title"] == source["title"]


def test_all_that_is_named_is_listed_also_where_it_is_much() -> None:
    text = ", ".join(f"Sammlung {number}" for number in range(5, 30))
    assert len(listed_places(MANY, text)) == 25


def test_the_writer_is_told_of_how_many_the_listed_places_are_some() -> None:
    museums = FoundPlaces(words="museum", where="Kamppi", count=36, is_cut=False)
    whole = FoundPlaces(words="park", where="Kamppi", count=8, is_cut=False)
    again = [task(museums), task(museums, whole)]
    first, counts = found_lines(again, MANY[:8], "en").splitlines()
    assert first == "museum, Kamppi: 8 of 36 on the map"
    assert counts == say("map.counts_of_listed", "en")
    assert "至少有 36 处，列出 8 处" in found_lines(
        [task({**museums, "is_cut": True})], MANY[:8], "zh"
    )
    assert found_lines([task({**museums, "count": 8})], MANY[:8], "en") == ""


def test_the_writer_is_told_of_what_the_map_has_none_and_how_far_around() -> None:
    """It could not say that the map has no vegetarian restaurant within 3.8 km: it knew nothing."""
    none = FoundPlaces(words="素食", where="三里屯", count=0, is_cut=False, radius_m=3800)
    told = "素食，三里屯 3.8 km：地图上没有"
    assert found_lines([task(none)], MANY[:8], "zh") == told
    assert "3.8 km" in found_lines([task(none)], [], "en")
    later = FoundPlaces(words="素食", where="三里屯", count=2, is_cut=False)
    assert found_lines([task(none), task(later)], MANY[:8], "zh") == ""
    by_model = place(41, keywords=["素食"], distance_from="三里屯")
    assert found_lines([task(none)], [by_model], "zh") == ""


def test_a_report_s_writer_is_told_how_many_places_it_does_not_see() -> None:
    assert listed_of(MANY[:20], MANY, "en") == "20 of 30 places found are listed"
    assert listed_of(MANY[:20], MANY, "zh") == "找到 30 处，列出 20 处"
    assert listed_of(MANY, MANY, "en") == ""


def test_of_a_kind_that_was_searched_at_two_places_each_counts_its_own() -> None:
    two = [FoundPlaces(words="museum", where=where, count=9, is_cut=False)
           for where in ("Kamppi", "Hakaniemi")]  # fmt: skip
    places = [*MANY[:3], place(40, distance_from="Hakaniemi")]
    lines = found_lines([task(*two)], places, "en").splitlines()
    assert [line.partition(": ")[2].split()[0] for line in lines[:2]] == ["3", "1"]


def test_a_place_is_named_by_any_name_of_its_record() -> None:
    water = place(1, name="水之家 (Haus der Gewässer)", other_names=["Haus der Gewässer"])
    assert mentioned([water], "We went to the Haus der Gewasser.")
    assert mentioned([water], "推荐水之家，很有名")
    assert not mentioned([water], "We went to the Haus.")


def test_of_branches_of_one_name_the_first_is_named() -> None:
    names = {"a": ["Espresso House"], "b": ["Espresso House"], "c": ["Kaffa", "卡法"], "d": ["Ö"]}
    assert named_in(names, "An espresso house, 卡法咖啡馆里的卡法，以及别的") == ["a"]
    assert named_in(names, "卡法, Espresso House") == ["a", "c"]


def test_of_a_search_by_demands_what_is_nearer_and_not_known_to_fit_is_entered_too() -> None:
    """A café 318 m away had no hours: "the nearest that is open late" was one at 329 m."""
    late = "Mo-Su 08:00-23:00"
    rows = [
        {"id": f"node/{at}", "name": f"Café {at}", "lng": 24.94, "lat": 60.16 + at / 10_000,
         "tag": "amenity=cafe", "kinds": ["cafe"], "hours": hours}
        for at, hours in enumerate(["Mo-Su 08:00-12:00", "", "", "", *[late] * 9], 1)
    ]  # fmt: skip
    options = MapOptions(prefix="a0", language="en", constraints=Constraints(open_until="22:00"))
    records = MapRecords(MapResult(), options, presentation=PRESENTATION)
    station = location_at("24.94", "60.16", "WGS-84")
    assert station
    records.set_centre("Station", station)
    task = MapTask(intent="nearby", keywords=["cafe"])
    OsmPrefetch(task, "", records, cast(Any, None))._enter(rows)
    entered = [each["name"] for each in records.result.places]
    assert len(entered) == 8
    assert {*entered} >= {"Café 2", "Café 3", "Café 5"}
    assert not {*entered} & {"Café 1", "Café 4"}


def test_a_forecast_s_quote_has_the_day_that_is_asked_for_and_all_where_none_is() -> None:
    """A quote of a week was cut before the Friday that it was cited for."""
    dates = [f"2026-12-0{n}" for n in range(1, 6)]
    sky = {"day": "阴", "night": "阴", "high_c": 2, "low_c": -1, "wind": None}
    days = [{"date": date, **sky} for date in dates]
    forecast: Any = {"id": "w", "city": "北京", "days": days, "source": "y9-0", "fetched_at": ""}
    entered = Source(**{**export_samples.source(), "id": "y9-0", "quotes": ["all of the week"]})
    asked: Any = {"weather": [forecast], "days": [dates[3]]}
    [told] = sources_as_shown([entered], [], "zh", **asked)
    assert [date for date in dates if date in told["quotes"][0]] == [dates[3]]
    for day in ([], ["2026-12-09"]):
        assert sources_as_shown([entered], [], "zh", **{**asked, "days": day}) == [entered]


BARE: dict[str, Any] = {"keywords": [], "distance_from": None}
UNFIT = {"constraint": "wheelchair", "verdict": "violated", "field": "", "text": "no"}
FIT = {**UNFIT, "verdict": "satisfied", "text": "yes"}


def test_what_a_search_by_a_name_found_beside_its_first_hit_stands_behind_the_others() -> None:
    """The bike station of Kiasma and a hairdresser in the Forum stood before the restaurants."""
    museum, bikes, kiosk = (place(n, source=f"a0-{n}", **BARE) for n in (2, 9, 10))
    by_kind = [place(n, source=f"a1-{n}", category="museum") for n in range(3, 5)]
    toilet = place(11, source="a1-8", category="toilet (wheelchair access)")
    unfit = place(7, source="a1-9", verdicts=[UNFIT])
    foremost, others = parted([bikes, kiosk, toilet, unfit, museum, *by_kind], [kiosk["id"]])
    assert foremost == [museum, kiosk]
    assert others == [*by_kind, bikes, toilet, unfit]


def test_what_was_looked_up_by_its_name_is_told_of_first_whatever_it_fails() -> None:
    """A trip's writer was not told that its hotel has no access: it stood behind sixty cafés."""
    cafe = place(3, source="a1-0", category="cafe", verdicts=[FIT])
    hotel = place(1, source="a0-0", category="hotel", verdicts=[UNFIT], **BARE)
    assert parted([cafe, hotel], []) == ([hotel], [cafe])


def test_what_one_goes_to_and_meets_what_is_demanded_is_suitable() -> None:
    kind = {**FIT, "constraint": "kind"}
    cafe, other = (place(n, category="cafe", verdicts=[v]) for n, v in ((1, FIT), (2, kind)))
    stop = place(3, category="tram stop", verdicts=[FIT])
    both = place(4, category="cafe", verdicts=[FIT, UNFIT])
    assert suitable([cafe, other, stop, both]) == {cafe["id"]}
