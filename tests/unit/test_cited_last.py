"""What a revision took out of a text is not shown below it."""

from typing import Any, cast

from agent.assistants.common.draft import Draft
from agent.evidence.citations import Citer
from agent.evidence.types import Route
from tests.support.page_sources import source


def way(begin: str, metres: int) -> Route:
    name = f"a9-{metres}"
    found = {"id": name, "mode": "walking", "origin": begin, "destination": "Station", "url": "",
             "distance_m": metres, "duration_s": metres, "steps": [], "ends": [],
             "source": name}  # fmt: skip
    return cast(Route, found)


def test_of_the_ways_of_a_draft_those_are_shown_that_its_text_still_cites() -> None:
    ways = [way("Library", 641), way("Story", 1100)]
    draft = Draft.__new__(Draft)
    draft.citer = Citer({each["source"]: source(each["source"]) for each in ways})
    drafted = draft.cited("Walk there [^a9-641] or there [^a9-1100].")
    draft.state = cast(Any, {"routes": ways, "weather": []})
    draft.turn, draft.language, draft.gaps = cast(Any, {"question": "?"}), "en", []
    draft.body = drafted.split(" or ")[0]
    assert [each["id"] for each in draft.cited_last] == ["a9-641"]
    shown = "\n".join(draft.record_sections(is_report=True))
    assert "Library" in shown
    assert "Story" not in shown
