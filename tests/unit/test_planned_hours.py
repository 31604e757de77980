"""A plan's stops are held against the hours of their records on the days that it names."""

from agent.evidence.planned_hours import hours_faults
from agent.evidence.types import Place
from tests.support.rows import by_examples
from tests.unit import export_samples

TODAY = "2026-11-30"
MUSEUM: Place = Place(**{  # type: ignore[typeddict-item]
    **export_samples.place(name="Ateneum"), "id": "osm:1",
    "hours_osm": "Tu-Fr 10:00-20:00; Sa-Su 10:00-17:00",
})  # fmt: skip


def faults(*rows: str, head: str = "## Plan") -> list[str]:
    table = "\n".join(["| Time | Stop | Hours |", "|---|---|---|", *rows])
    return hours_faults(f"{head}\n\n{table}\n", [MUSEUM], TODAY)


@by_examples
def test_a_stop_that_is_closed_then_or_has_another_day_s_hours_is_told(
    row: str, fault: str
) -> None:
    found = faults(row)
    assert len(found) == bool(fault)
    assert all(fault in line and line.startswith("Ateneum, 2026-12-0") for line in found)


def test_a_day_stands_in_a_row_above_or_in_the_heading() -> None:
    later = "| 18:30 | Ateneum | – |"
    assert len(faults("| Sat 5 Dec 9:00 | Kamppi | – |", later)) == 1
    assert len(faults(later, head="## Day 2: Saturday 5 December")) == 1
    assert faults(later, head="## Day 1: Friday 4 December") == []


@by_examples
def test_a_stop_of_a_plan_that_lies_sideways_has_its_day_and_time(table: str) -> None:
    [fault] = hours_faults(table, [MUSEUM], TODAY)
    assert fault.startswith("Ateneum, 2026-12-05 Sat")
    assert "18:30: its record says 10:00–17:00" in fault


def test_what_one_does_at_a_stop_may_name_another_place_and_the_stop_is_held_to_its_hours() -> None:
    other: Place = Place(**{  # type: ignore[typeddict-item]
        **export_samples.place(name="Kiasma"), "id": "osm:2", "hours_osm": "Mo-Su 08:00-23:00",
    })  # fmt: skip
    table = "| Time | Stop | Plan |\n|---|---|---|\n| 9:00 | Kiasma | Art |\n"
    table += "| 18:30 | Ateneum | Art; if it is full, back to Kiasma |\n"
    [fault] = hours_faults(f"## Saturday 5 December\n\n{table}", [MUSEUM, other], TODAY)
    assert fault.startswith("Ateneum, 2026-12-05 Sat, 18:30")
