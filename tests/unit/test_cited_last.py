"""What a revision took out of a text is not shown below it."""

from collections.abc import Sequence
from typing import Any, cast

from agent.assistants.common.draft import Draft
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.deep_research.notes import unshown_record_lines
from agent.evidence.citations import Citer
from agent.evidence.types import Place, Route, Source
from agent.texts import say
from tests.support.rows import by_examples
from tests.unit.export_samples import place
from tests.unit.page_sources import source


def way(begin: str, metres: int) -> Route:
    name = f"a9-{metres}"
    found = {"id": name, "mode": "walking", "origin": begin, "destination": "Station", "url": "",
             "distance_m": metres, "duration_s": metres, "steps": [], "ends": [],
             "source": name}  # fmt: skip
    return cast(Route, found)


def drafting(ways: Sequence[Route], *places: Place) -> Draft:
    draft = Draft.__new__(Draft)
    draft.citer = Citer({each["source"]: source(each["source"]) for each in ways})
    draft.state = cast(Any, {"routes": [*ways], "weather": []})
    draft.turn, draft.language, draft.gaps = cast(Any, {"question": "?"}), "en", []
    draft.places, draft.previous, draft.sources = [*places], NO_PREVIOUS, {}
    return draft


def test_a_forecast_that_the_text_tells_and_cites_of_an_earlier_turn_is_not_told_again() -> None:
    page = {"url": "https://weather.example/", "title": "Weather forecast Helsinki"}
    sources = [{**source(name), **page} for name in ("p0-5", "y9-0")]
    day = {"date": "2026-12-04", "day": "light snow", "night": "", "high_c": 0, "low_c": -4,
           "wind": None}  # fmt: skip
    forecast = {"id": "Helsinki", "city": "Helsinki", "days": [day], "source": "y9-0"}
    draft = drafting([])
    draft.citer = Citer({each["id"]: each for each in cast(Any, sources)})
    draft.body = draft.cited("The forecast is light snow and -4 to 0 °C [^p0-5].")
    draft.state = cast(Any, {"weather": [forecast], "sources_gathered": sources[1:]})
    turn = {"question": "?", "day": "2026-12-04", "started_at": 1_796_000_000.0}
    draft.turn = cast(Any, turn)
    assert draft.record_sections() == []
    draft.state = cast(Any, {"weather": [forecast], "sources_gathered": []})
    assert "light snow" in "".join(draft.record_sections())


def test_of_the_ways_of_a_draft_those_are_shown_that_its_text_still_cites() -> None:
    ways = [way("Library", 641), way("Story", 1100)]
    draft = drafting(ways)
    drafted = draft.cited("Walk there [^a9-641] or there [^a9-1100].")
    draft.body = drafted.split(" or ")[0]
    assert [each["id"] for each in draft.cited_last] == ["a9-641"]
    shown = "\n".join(draft.record_sections(is_report=True))
    assert "Library" in shown
    assert "Story" not in shown


def test_ways_stand_as_the_text_tells_them_and_a_plan_s_without_the_turns_of_its_table() -> None:
    ride = {
        "instruction": "",
        "distance_m": 900,
        "line": "Tram 4",
        "board_at": "A",
        "leave_at": "B",
    }
    turns = [{"instruction": f"Turn into Street {n}", "distance_m": n} for n in (100, 200, 341)]
    ways = [{**way("Library", 641), "steps": turns, "whole": True}, {**way("Story", 1100)},
            {**way("Church", 900), "mode": "transit", "steps": [ride]}]  # fmt: skip
    draft = drafting(ways)
    drafted = draft.cited("Walk [^a9-641], ride [^a9-900] or go there [^a9-1100].")
    draft.body = f"First {drafted.split()[-1]} {drafted}"
    [listed] = draft.record_sections(is_report=True)
    assert [line.partition(" →")[0] for line in listed.splitlines()[1:]] == [
        "- Walk: Story", "- Walk: Library", "- Transit: Church"
    ]  # fmt: skip
    assert "Turn into Street 100" in listed
    draft.joined = frozenset(["osm:Library"])
    [listed] = draft.record_sections(is_report=True)
    assert "Street" not in listed
    assert "641 m" in listed
    assert "Tram 4" in listed


def test_ways_are_told_between_places_as_their_reader_calls_them() -> None:
    """An English plan said Vanha Kauppahalli; the record has Old Market Hall."""
    hall = {**place(1, "Vanha Kauppahalli"), "name_en": "Old Market Hall"}
    draft = drafting([way("Vanha Kauppahalli", 641)], cast(Place, hall))
    draft.body = draft.cited("Walk there [^a9-641].")
    [listed] = draft.record_sections(is_report=True)
    assert "Old Market Hall → Station" in listed
    assert "Walk: Old Market Hall → Station" in draft.record_lines()
    assert "] Old Market Hall · Vanha Kauppahalli | " in draft.record_lines()
    draft.language = "zh"
    assert "Vanha Kauppahalli → Station" in draft.record_lines()


def test_the_map_s_records_are_whole_lines_the_ways_before_places_that_nobody_looked_up() -> None:
    """Of 188 places 36 were shown, the last one as far as its number, and none of the ways."""
    cafes = [cast(Place, {**place(n, f"Café {n}"), "id": f"osm:node/{n}", "source": f"a1-{n}",
                          "distance_from": "Hotel"}) for n in range(1, 41)]  # fmt: skip
    hotel = cast(Place, {**place(99, "Hotel"), "source": "a0-0", "keywords": [],
                         "distance_from": None})  # fmt: skip
    ways = [way("Hotel", 641), cast(Route, {**way("Hotel", 641), "source": "a8-0"})]
    draft = drafting(ways, *cafes, hotel)
    whole = draft.record_lines().splitlines()
    assert whole[0].startswith("[^a0-0] Hotel")
    assert [line.partition(" Walk")[0] for line in whole if "Walk" in line] == ["[^a9-641]"]
    assert "found" not in "".join(whole)
    cut = draft.record_lines(600).splitlines()
    assert cut[:2] == whole[:2]
    assert cut[3:] == whole[2 : len(cut) - 1]
    assert cut[2] == say("map.listed_of_found", "en", listed=len(cut) - 2, count=41)
    assert draft.record_lines(1).splitlines()[:2] == whole[:2]


def test_below_a_report_stand_the_ways_whose_length_it_does_not_tell_and_no_turns() -> None:
    """Twenty lines repeated the legs of a plan's tables, with the turns of taxi rides."""
    turns = [{"instruction": "Turn left", "distance_m": 100}]
    ways = [cast(Route, {**way(name, metres), "steps": turns})
            for name, metres in (("Library", 641), ("Story", 1100), ("Church", 309))]  # fmt: skip
    draft = drafting(ways)
    table = "| Stop | Way |\n|---|---|\n| A | Walk 641 m, 11 min [^a9-641] |\n\n"
    draft.body = draft.cited(f"{table}Else 309 m [^a9-309], or a taxi [^a9-1100].")
    [listed] = draft.record_sections(is_report=True)
    assert [line.partition(" [")[0] for line in listed.splitlines()[1:]] == [
        "- Walk: Story → Station · 1.1 km · 18 min"
    ]
    draft.body += " It is 1.1 km."
    assert draft.record_sections(is_report=True) == []


def test_who_comes_on_wheels_is_told_that_ways_are_those_of_pedestrians() -> None:
    draft = drafting([way("Library", 641)])
    assert "kerbs" not in draft.record_lines()
    draft.turn["constraints"] = {"suits": ["wheelchair"]}
    told, line = draft.record_lines().splitlines()
    assert "steps, kerbs and slopes" in told, "once, before the ways"
    assert "641 m" in line
    draft.state = cast(Any, {"routes": []})
    assert draft.record_lines() == ""


def joining(begin: str, end: str, metres: int, mode: str = "walking") -> Route:
    spots = {"Hotel": 24.91, "Café": 24.92}
    ends = [{"name": each, "wgs84": {"lng": spots[each], "lat": 60.1}} for each in (begin, end)]
    found = {**way(begin, metres), "destination": end, "mode": mode, "ends": ends}
    name = f"a9-{begin}-{mode}"
    return cast(Route, {**found, "source": name, "id": name, "url": f"https://m.example/{name}"})


@by_examples
def test_a_way_there_and_one_back_that_is_as_long_are_one_source(
    mode: str, back: int, titles: list[str]
) -> None:
    """Twenty of 63 sources of a plan were ways, most of them told in both directions."""
    there, other = joining("Hotel", "Café", 201, mode), joining("Café", "Hotel", back, mode)
    draft = drafting([there])
    titled = [Source(**{**source(each["source"]), "url": each["url"], "kind": "place",
                        "title": f"Way {each['origin']} → {each['destination']}"})
              for each in (there, other)]  # fmt: skip
    draft.read, draft.texts, draft.claims = {}, {}, None
    draft.sources = draft._named(titled[:1])
    draft.citer = Citer(draft.sources)
    draft.citer.number(draft.sources[there["source"]])
    draft.state = cast(Any, {"routes": [there, other]})
    draft.add(titled[1:], {})
    draft.citer.number(draft.sources[other["source"]])
    assert [each["title"] for each in draft.citer.used] == titles


def test_the_lead_reads_of_ways_and_distances_by_its_reader_s_names() -> None:
    hall = {**place(1, "Vanha Kauppahalli"), "name_en": "Old Market Hall"}
    cafe = {**place(2, "Kahvila"), "distance_from": "Vanha Kauppahalli", "distance_m": 90}
    found = {"places": [hall, cafe], "routes": [way("Vanha Kauppahalli", 641)]}
    lines = unshown_record_lines(cast(Any, {**found, "turn": {"language": "en"}}))
    assert "90 m from Old Market Hall" in lines
    assert "Walk: Old Market Hall → Station" in lines
