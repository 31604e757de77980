"""What a run may choose is checked as its own assistant would take it."""

import pytest

from agent.configuration import Configuration
from agent.errors import ConfigurationError
from agent.installed import ASSISTANTS
from agent.security.choices import check_choices, chosen


def test_what_is_chosen_is_found_in_the_context_and_in_the_config() -> None:
    assert chosen({"context": {"max_topics": 3, "nothing_of_ours": 1}}) == {"max_topics": 3}
    assert chosen({"config": {"configurable": {"max_topics": 3}}}) == {"max_topics": 3}
    assert chosen({"config": None, "context": None}) == chosen({}) == {}
    assert chosen({"config": {"configurable": None}, "context": [1]}) == {}


@pytest.mark.parametrize("assistant", ASSISTANTS)
@pytest.mark.parametrize(
    ("name", "value"),
    [("max_research_loops", 99), ("web_search", "altavista"), ("max_run_seconds", "soon"),
     ("review_plan", [1]), ("max_topics", {"a": 1})],
)  # fmt: skip
def test_one_line_names_the_field_that_an_assistant_does_not_take(
    assistant: str, name: str, value: object
) -> None:
    with pytest.raises(ConfigurationError, match=rf"^{name}: [^\n]+$"):
        check_choices(assistant, {"max_searches": 5, name: value})


NUMBERS = [name for name, field in Configuration.model_fields.items()
           if field.annotation in (int, float)]  # fmt: skip


@pytest.mark.parametrize("assistant", ASSISTANTS)
@pytest.mark.parametrize("value", [True, False])
def test_true_and_false_are_no_numbers(assistant: str, value: bool) -> None:
    """Taken as 1, a `max_map_calls` of true would leave a run with one call of the map."""
    assert len(NUMBERS) > 20
    for name in NUMBERS:
        with pytest.raises(ConfigurationError, match=rf"^{name}: must be a number, not tr"):
            check_choices(assistant, {name: value})
    check_choices(assistant, {"review_plan": value})


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_defaults_and_what_counts_as_unset_pass(assistant: str) -> None:
    check_choices(assistant, dict.fromkeys(Configuration.model_fields))
    check_choices(assistant, {"web_search": "", "max_searches": "7"})


def test_a_bad_default_of_the_environment_is_not_the_caller_s(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAX_SEARCHES", "many")
    check_choices("agent", {"max_topics": 3})
    with pytest.raises(ConfigurationError, match="max_searches"):
        check_choices("agent", {"max_searches": "few"})


def test_other_graphs_have_their_own_words() -> None:
    check_choices("a graph of somebody's", {"max_research_loops": 99})
