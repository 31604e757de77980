"""What a search of OpenStreetMap finds is held against what is demanded, however much it is."""

from typing import Any

import pytest

from agent.evidence.ordering import judged
from agent.evidence.types import Constraints, MapTask
from agent.mcp.osm.prefetch import OsmPrefetch
from agent.mcp.osm.records import PRESENTATION
from agent.mcp.records import BranchCalls, MapOptions, MapRecords, MapResult

HOURS = "Mo-Su 10:00-23:00"


def row(number: int, **more: Any) -> dict[str, Any]:
    return {
        "id": f"node/{number}", "name": f"Ravintola {number}", "tag": "amenity=restaurant",
        "kinds": ["restaurant"], "lng": 24.94, "lat": 60.17 + number / 100_000, **more,
    }  # fmt: skip


async def found(rows: list[dict[str, Any]], demands: Constraints) -> MapResult:
    async def send(tool: str, arguments: dict[str, Any]) -> dict[str, Any]:
        return {"places": rows}

    result = MapResult(intent="nearby")
    here = {"lng": 24.94, "lat": 60.17}
    options = MapOptions(prefix="a0", language="en", near=here, constraints=demands)  # type: ignore[arg-type]
    records = MapRecords(result, options, presentation=PRESENTATION)
    task = MapTask(intent="nearby", keywords=["restaurant"])
    await OsmPrefetch(task, "q", records, BranchCalls(send, left=lambda: 9)).run()
    return result


@pytest.mark.parametrize("others", [{"hours": HOURS, "wheelchair": "no"}, {"hours": HOURS}])
async def test_of_many_places_those_are_found_that_meet_what_takes_no_time_to_read(
    others: dict[str, str],
) -> None:
    """Of 198 restaurants only the nearest sixty were held against "for a wheelchair"."""
    fits = {"hours": HOURS, "wheelchair": "yes"}
    rows = [row(number, **(fits if number % 40 == 39 else others)) for number in range(200)]
    demands = Constraints(suits=["wheelchair"], open_until="22:00")
    result = await found(rows, demands)
    known = [
        place["id"]
        for place in judged(result.places, demands, "en")
        if all(each["verdict"] == "satisfied" for each in place["verdicts"])
    ]
    assert known == [f"osm:node/{number}" for number in range(39, 200, 40)]
