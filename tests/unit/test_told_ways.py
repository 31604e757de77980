"""The ways of a planned day are what was measured between its rows, also after a change."""

from collections.abc import Sequence
from typing import Any, cast

import pytest

from agent.assistants.common.filled_in import FilledIn
from agent.assistants.common.look_up import Looked
from agent.evidence.citations import Citer
from agent.evidence.number_forms import ENGLISH_NUMBERS
from agent.evidence.revision import Revised
from agent.evidence.told_ways import way_cells
from agent.evidence.types import Leg, Place, Route, Source
from tests.support.rows import by_examples
from tests.unit.page_sources import source

SPOTS = {"Hotel": 0.0, "Museum": 0.01, "Market": 0.02, "Church": 0.03}


def place(name: str) -> Place:
    at = {"lng": 24.9 + SPOTS[name], "lat": 60.17}
    found = {"id": f"osm:{name}", "name": name, "wgs84": at, "city": "Helsinki",
             "url": f"https://map.example/{name}", "source": f"a0-{len(name)}",
             "category": name.lower(), "address": f"{name} Street 1"}  # fmt: skip
    return cast(Place, found)


PLACES = [*map(place, SPOTS)]


def route(begin: str, end: str, metres: int, mode: str = "walking") -> Route:
    ends = [{"name": name, "wgs84": place(name)["wgs84"]} for name in (begin, end)]
    found = {"id": f"{begin}-{end}", "mode": mode, "origin": begin, "destination": end,
             "distance_m": metres, "duration_s": metres, "steps": [], "ends": ends,
             "source": f"a9-{metres}"}  # fmt: skip
    return cast(Route, found)


class Map:
    """A map that measures every way it is asked for: 500 m; or none."""

    def __init__(self, *modes: str) -> None:
        self.asked, self.tools = list[str](), {"map_way": ""}
        self.meant = list[list[str]]()
        self.modes = modes or ("walking", "transit", "driving")

    async def __call__(self, tool: str, argument: str, places: Sequence[Place] = ()) -> Looked:
        self.asked.append(argument)
        self.meant.append([each["id"] for each in places])
        begin, end, mode, _ = (part.partition(", ")[0] for part in argument.split(" | "))
        if mode not in self.modes:
            return Looked("")
        way = route(begin, end, 500 + len(self.asked), mode)
        return Looked("", [source(way["source"])], {way["source"]: "way"}, [], [way])


class Writer:
    """What of a draft is needed to fill in its ways."""

    def __init__(self, routes: Sequence[Route] = ()) -> None:
        self.known_places, self.language, self.withdrawn = PLACES, "en", ""
        self.number_form = ENGLISH_NUMBERS
        self.state: dict[str, Any] = {"routes": [*routes]}
        self.joined = frozenset[str]()
        self.sources = {each["source"]: source(each["source"]) for each in routes}
        self.citer = Citer(self.sources)

    def add_records(self, _: Sequence[Place], routes: Sequence[Route]) -> None:
        self.state["routes"] = [*self.state["routes"], *routes]

    def add(self, sources: Sequence[Source], _: Any) -> None:
        self.sources |= {each["id"]: each for each in sources}


def filling(asked: Map | None = None, routes: Sequence[Route] = ()) -> FilledIn:
    return FilledIn(cast(Any, Writer(routes)), asked)


DAY = """| Time | Stop | Way there |
|---|---|---|
| 9:00 | Hotel | – |
| 10:00 | Museum [7](https://map.example/Museum) | [>walking] |
| 12:00 | Lunch at the Market | [>transit] |
"""


async def test_a_way_is_that_which_was_measured_between_the_rows_or_is_measured_now() -> None:
    measured = Map()
    text = (await filling(measured, [route("Hotel", "Museum", 640)]).filled(Revised(DAY))).text
    assert "640 m, 11 min [1](https://e.example/a9-640) |" in text
    assert measured.asked == ["Museum | Market | transit | Helsinki"]
    assert "501 m, 8 min [2](https://e.example/a9-501) |" in text


async def test_a_way_back_is_measured_itself_and_cites_its_own_record() -> None:
    """From the library to the café the link led from the café to the library."""
    measured, there = Map(), route("Museum", "Hotel", 640)
    text = (await filling(measured, [there]).filled(Revised(DAY))).text
    assert measured.asked[-1] == "Hotel | Museum | walking | Helsinki"
    assert "502 m, 8 min [1](https://e.example/a9-502) |" in text
    text = (await filling(None, [there, route("Hotel", "Museum", 660)]).filled(Revised(DAY))).text
    assert "660 m, 11 min [1](https://e.example/a9-660) |" in text
    # Where nothing measures it any more, it is as long as the way there.
    text = (await filling(Map("none"), [there]).filled(Revised(DAY))).text
    assert "640 m, 11 min [1](https://e.example/a9-640) |" in text


async def test_of_two_ways_that_end_near_a_place_the_one_to_it_is_told() -> None:
    beside, exact = route("Hotel", "Museum", 620), route("Hotel", "Museum", 640)
    beside["ends"][1]["wgs84"] = {"lng": 24.9105, "lat": 60.17}
    text = (await filling(None, [beside, exact]).filled(Revised(DAY))).text
    assert "640 m, 11 min [1](https://e.example/a9-640) |" in text


async def test_a_way_is_asked_for_between_the_places_of_the_records_namesakes_by_address() -> None:
    """A museum of that name 100 m off was taken: the way fitted no row, and was a dash."""
    measured = Map()
    exact = filling(measured)
    await exact.filled(Revised(DAY))
    assert measured.meant == [["osm:Hotel", "osm:Museum"], ["osm:Museum", "osm:Market"]]
    assert exact.draft.joined == {"osm:Hotel", "osm:Museum", "osm:Market"}
    exact = filling(measured)
    other = cast(Place, {**place("Church"), "id": "osm:2", "name": "Museum", "url": "https://m.e"})
    exact.draft.known_places = [*PLACES, other]  # type: ignore[misc]
    await exact.filled(Revised(DAY.replace("Lunch at the Market", "Museum [2](https://m.e)")))
    assert measured.asked[-1].startswith("Museum, Museum Street 1 | Museum, Church Street 1 | ")


async def test_a_walk_between_two_known_places_that_nobody_measured_says_so() -> None:
    text = (await filling(Map("none")).filled(Revised(DAY))).text
    assert text.splitlines()[3].endswith("| not measured |")


NEXT_DAY = """| Time | Stop | Way there |
|---|---|---|
| 9:00 | Church | – |
| 20:00 | {last} | [>walking] |

## Day 2

| Time | Stop | Way there |
|---|---|---|
| 9:00 | Market | [>walking] |
"""


async def test_the_first_way_of_a_next_day_begins_where_one_sleeps() -> None:
    text = (await filling(Map()).filled(Revised(NEXT_DAY.format(last="Hotel")))).text
    assert "| Market | Hotel → Market: " in text
    assert (await filling(Map()).filled(Revised(text))).text == text
    text = (await filling(Map()).filled(Revised(NEXT_DAY.format(last="Museum")))).text
    assert "| Market | – |" in text, "nobody knows where that is"


async def test_a_way_to_another_stop_than_before_is_measured_anew() -> None:
    measured = Map()
    exact = filling(measured)
    text = (await exact.filled(Revised(DAY))).text
    text = text.replace(" [2]", "[2]")  # As a reviser writes it again.
    anew = (await exact.filled(Revised(text.replace("Lunch at the Market", "Church")))).text
    assert measured.asked[2:] == ["Museum | Church | transit | Helsinki"]
    assert "503 m" in anew
    assert "502 m" not in anew
    assert "a9-502" not in anew
    gone = "\n".join(line for line in text.splitlines() if "Museum" not in line)
    assert "504 m" in (await exact.filled(Revised(gone))).text


@pytest.mark.parametrize("asked", [Map("none"), None])
async def test_what_nobody_can_measure_is_a_dash_and_no_sign_is_left(asked: Map | None) -> None:
    day = DAY.replace("Hotel", "Somewhere")
    text = (await filling(asked).filled(Revised(f"{day}\nThe way is [>driving].\n"))).text
    assert text.count("| – |") == 2
    assert "| Transit |" in text
    assert "The way is Drive." in text
    tram = day.replace("[>transit]", "[>tram 5]")
    assert "| tram 5 |" in (await filling(asked).filled(Revised(tram))).text


async def test_a_ride_that_the_map_does_not_know_stays_one_and_has_the_walk_beside_it() -> None:
    measured = Map("walking")
    text = (await filling(measured).filled(Revised(DAY))).text
    assert measured.asked[-2:] == ["Museum | Market | transit | Helsinki",
                                   "Museum | Market | walking | Helsinki"]  # fmt: skip
    assert "| Transit (not measured; Walk 503 m, 8 min) [" in text.splitlines()[4]
    tram = (await filling(measured).filled(Revised(DAY.replace("[>transit]", "[>tram 5]")))).text
    assert "| tram 5 (not measured; Walk" in tram.splitlines()[4]


async def test_a_walk_that_a_map_without_rides_tells_again_is_recorded_once() -> None:
    class OnFoot(Map):
        async def __call__(self, tool: str, argument: str, places: Sequence[Place] = ()) -> Looked:
            argument = argument.replace("transit", "walking")
            return await super().__call__(tool, argument, places)

    exact = filling(OnFoot(), [route("Hotel", "Museum", 640), route("Museum", "Market", 777)])
    text = (await exact.filled(Revised(DAY))).text
    assert "| Transit (not measured; Walk 777 m" in text.splitlines()[4]
    assert [each["source"] for each in exact.draft.state["routes"]] == ["a9-640", "a9-777"]


async def test_a_sign_is_read_however_it_is_written_and_none_is_left() -> None:
    measured = Map()
    day = DAY.replace("[>walking]", "[> walk ]").replace("[>transit]", "[>tram]")
    text = (await filling(measured).filled(Revised(f"{day}\nIt is [= 2*40+5 ] or [=sum].\n"))).text
    assert [asked.split(" | ")[2] for asked in measured.asked] == ["walking", "transit"]
    assert "It is 85 or –." in text
    assert "[=" not in text
    assert "[>" not in text


async def test_a_way_that_cannot_be_told_loses_no_text() -> None:
    exact = filling(Map())
    exact.draft.add = lambda *_: None  # type: ignore[method-assign]
    text = (await exact.filled(Revised(DAY))).text
    assert text.count("| – |") == 3


async def test_a_walk_that_was_measured_among_all_places_is_not_asked_for_again() -> None:
    measured = Map()
    exact = filling(measured)
    leg = Leg(mode="walking", distance_m=777, duration_s=600, estimated=False)
    exact.walks = {(place("Museum")["source"], place("Hotel")["source"]): leg}
    text = (await exact.filled(Revised(DAY))).text
    assert "777 m, 10 min |" in text
    assert measured.asked == ["Museum | Market | transit | Helsinki"]


async def test_a_way_behind_a_row_that_the_map_does_not_know_says_where_it_begins() -> None:
    day = DAY.replace("| 12:00 |", "| 11:00 | A friend's atelier | [>walking] |\n| 12:00 |")
    lines = (await filling(Map()).filled(Revised(day))).text.splitlines()
    assert lines[4].endswith("| – |")
    assert "| Museum → Market: " in lines[5]
    assert "→" not in lines[3]


def test_a_place_is_known_by_all_words_of_a_cell_where_its_name_has_more() -> None:
    names = {"name": "Päärautatieasema", "name_en": "Helsinki Central Railway Station"}
    places = [cast(Place, {**place("Hotel"), **names}), *PLACES[1:]]
    day = DAY.replace("| Hotel |", "| Helsinki Central Station |")
    assert way_cells(day, places)[0].ids == ("osm:Hotel", "osm:Museum")
    unknown = DAY.replace("| Hotel |", "| Station |")
    assert way_cells(unknown, places)[0].ids is None


PLAN = """| Time | Place | What to do | Way there |
|---|---|---|---|
| 12:45 | Market | Lunch | – |
| 14:00 | {place} | {what} | [>walking] |
| 17:00 | Hotel | The end | [>walking] |
"""


@by_examples
def test_a_row_is_where_its_place_cell_says(
    place: str, what: str, here: str, ways: list[list[str] | None]
) -> None:
    story = cast(Place, {**PLACES[1], "id": "osm:Story", "name": "Story"})
    text = PLAN.format(place=place, what=what)
    told = [each.ids and [*each.ids] for each in way_cells(text, [*PLACES, story])]
    assert told == [each and [f"osm:{name}" for name in each] for each in ways], here


async def test_a_fall_back_named_beside_a_stop_by_an_edit_leaves_the_next_way_as_it_is() -> None:
    exact = filling(Map())
    text = (await exact.filled(Revised(PLAN.format(place="Museum", what="Art")))).text
    beside = text.replace("| Art |", "| Art; else the Church [3](https://map.example/Church) |")
    assert (await exact.filled(Revised(beside))).text == beside


async def test_a_next_day_begins_where_one_sleeps_whatever_one_does_there() -> None:
    lodging = cast(Place, {**PLACES[0], "category": "hotel"})
    first = PLAN.format(place="Museum", what="Art")
    first = first.replace("The end", "Sleep; a drink at the Church [3](https://map.example/Church)")
    text = f"{first}\n## Day 2\n\n{DAY.replace('| 9:00 | Hotel | – |' + chr(10), '')}"
    joined = [each.ids for each in way_cells(text, [lodging, *PLACES[1:]])]
    assert joined[2] == ("osm:Hotel", "osm:Museum")


async def test_a_text_that_is_streamed_has_its_ways_too() -> None:
    async def pieces() -> Any:
        for line in f"Two days.\n\n{DAY}\nEnd.".splitlines(keepends=True):
            yield line

    shown = [piece async for piece in filling(Map()).streamed(pieces())]
    assert shown[0] == "Two days.\n"
    assert "501 m" in "".join(shown)
    assert "".join(shown).endswith("End.")
    assert "[>" not in "".join(shown)


SIDEWAYS = {
    "days as columns": """| Time | Day 1 | Day 2 |
|---|---|---|
| 9:00 | Hotel | Church |
| 10:00 | [>walking] Museum | [>transit] Market |
| 12:00 | Market ([>walking]) | [>walking] Hotel |
""",
    "days as columns, a row for ways": """| Time | Day 1 | Day 2 |
|---|---|---|
| 9:00 | Hotel | Church [2](https://map.example/Church) |
| Way | [>walking] | [>transit] |
| 10:00 | Museum | Market |
| Way | [>walking] | [>walking] |
| 12:00 | Market | Hotel |
""",
    "days as columns, each with one for ways": """| Time | Day 1 | Way | Day 2 | Way |
|---|---|---|---|---|
| 9:00 | Hotel | – | Church | – |
| 10:00 | Museum | [>walking] | Market | [>transit] |
| 12:00 | Market | [>walking] | Hotel | [>walking] |
""",
    "times as columns": """| Day | Morning | Noon | Evening |
|---|---|---|---|
| 1 | Hotel | [>walking] Museum | [>walking] Market |
| 2 | Church | [>transit] Market | Hotel, [>walking] |
""",
    "times as columns, a column for ways": """| Day | 9:00 | Way | 10:00 | Way | 12:00 |
|---|---|---|---|---|---|
| 1 | Hotel | [>walking] | Museum | [>walking] | Market |
| 2 | Church | [>transit] | Market | [>walking] | Hotel |
""",
    "times as columns, a row for ways": """| Day | 9:00 | 10:00 | 12:00 |
|---|---|---|---|
| Day 1 | Hotel | Museum | Market |
| Ways | – | [>walking] | [>walking] |
| Day 2 | Church | Market | Hotel |
| Ways | – | [>transit] | [>walking] |
""",
    "stops and ways in one cell": """| Day | Plan |
|---|---|
| 1 | Hotel, [>walking] Museum, [>walking] Market |
| 2 | Church → [>transit] → Market → [>walking] → Hotel |
""",
}  # fmt: skip
DAYS = [("Hotel", "Museum"), ("Museum", "Market"), ("Church", "Market"), ("Market", "Hotel")]


@pytest.mark.parametrize("table", SIDEWAYS.values(), ids=SIDEWAYS)
def test_ways_go_between_successive_stops_whichever_way_a_table_lies(table: str) -> None:
    joined = [each.ids for each in way_cells(table, PLACES)]
    assert sorted(map(str, joined)) == sorted(
        str((f"osm:{begin}", f"osm:{end}")) for begin, end in DAYS
    )


@pytest.mark.parametrize("table", SIDEWAYS.values(), ids=SIDEWAYS)
async def test_a_changed_stop_of_a_table_that_lies_sideways_changes_its_ways_alone(
    table: str,
) -> None:
    measured = Map()
    exact = filling(measured)
    text = (await exact.filled(Revised(table))).text
    assert "[>" not in text
    assert len(measured.asked) == len(DAYS)
    assert (await exact.filled(Revised(text))).text == text
    head, museum, rest = text.partition("Museum")
    anew = (await exact.filled(Revised(f"{head}Church{rest}"))).text
    assert sorted(measured.asked[4:]) == ["Church | Market | walking | Helsinki",
                                          "Hotel | Church | walking | Helsinki"]  # fmt: skip
    assert museum
    assert "505 m" in anew
    assert "506 m" in anew


def test_a_table_of_ways_joins_the_two_places_of_each_row() -> None:
    text = "| From | Way | To |\n|---|---|---|\n| Hotel | [>walking] | Museum |\n"
    assert [each.ids for each in way_cells(text, PLACES)] == [("osm:Hotel", "osm:Museum")]


def test_a_sign_in_the_head_of_a_table_joins_nothing() -> None:
    assert [each.ids for each in way_cells("| Hotel | [>walking] | Museum |\n", PLACES)] == [None]


def test_a_place_in_a_note_is_no_stop_that_a_way_leads_to() -> None:
    text = """| Time | Stop | Way there | Note |
|---|---|---|---|
| 9:00 | Somewhere | – | |
| 10:00 | Museum | [>walking] | view of the Church |
"""
    assert [each.ids for each in way_cells(text, PLACES)] == [None]


@pytest.mark.parametrize("cell", ["Old Hall", "Market", "Old Hall · Market"])
def test_a_stop_is_known_by_either_of_its_names(cell: str) -> None:
    places = [*PLACES[:2], cast(Place, {**place("Market"), "name_en": "Old Hall"})]
    text = DAY.replace("Lunch at the Market", cell)
    assert [way.ids for way in way_cells(text, places)] == [
        ("osm:Hotel", "osm:Museum"), ("osm:Museum", "osm:Market")
    ]  # fmt: skip
