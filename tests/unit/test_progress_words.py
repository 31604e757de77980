"""A run's progress in plain words, for the terminal and MCP."""

from agent.core.progress import event
from agent.texts import event_line, say
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


def test_one_of_a_kind_is_not_told_in_the_plural() -> None:
    one, two = (event("reading", "n", text="tea", count=count) for count in (1, 2))
    assert event_line(one, "en") == "Reading 1 page: tea"
    assert event_line(two, "en") == "Reading 2 pages: tea"
    assert event_line(event("tasks", "n", text="tea", count=1), "en") == say(
        "progress.events.tasks_one", "en", text="tea"
    )
