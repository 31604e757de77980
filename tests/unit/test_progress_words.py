"""A run's progress in plain words, for the terminal and MCP."""

from agent.core.progress import event
from agent.texts import event_line
from tests.support.rows import by_examples


@by_examples
def test_calls_of_the_map_are_told_without_the_names_of_its_tools(
    asked: str, zh: str, en: str
) -> None:
    told = event("map_call", "n", text=asked)
    assert (event_line(told, "zh"), event_line(told, "en")) == (zh, en)


def test_enough_was_found_is_said_only_where_a_model_said_so() -> None:
    enough = event("reflection", "reflection", text="", count=0)
    short = event("reflection", "reflection", text="the ticket price of 2026", count=0)
    assert event_line(enough, "en") == "Enough found"
    assert event_line(short, "en") == "Still missing: the ticket price of 2026"
    assert event_line(short, "zh") == "还缺 the ticket price of 2026"
