"""What a run may choose is checked as its own assistant would take it."""

from typing import Any

import pytest

from agent.assistants.registry import ASSISTANTS
from agent.configuration import Configuration
from agent.core.errors import ConfigurationError, InputError
from agent.server.auth.admission import (
    _graph,
    check_choices,
    check_command,
    chosen_settings,
    goes_to_node,
)


def test_what_is_chosen_is_found_in_the_context_and_in_the_config() -> None:
    assert chosen_settings({"context": {"max_topics": 3, "nothing_of_ours": 1}}) == {
        "max_topics": 3
    }
    assert chosen_settings({"config": {"configurable": {"max_topics": 3}}}) == {"max_topics": 3}
    assert chosen_settings({"config": None, "context": None}) == chosen_settings({}) == {}
    assert chosen_settings({"config": {"configurable": None}, "context": [1]}) == {}


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
        with pytest.raises(ConfigurationError, match=rf"^{name} must be a number, not tr"):
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


COMMANDS: dict[str, Any] = {
    "command must have resume, goto or update": {},
    "command.goto must be a node's name": {"goto": {"node": "web_research", "input": {}}},
    "command.goto must be a node's": {"goto": ["reflection", {"node": "review_plan", "input": 1}]},
    "command.goto must be one of generate_query, review_plan, reflection, plan_outing, final":
        {"goto": "web_research"},
    "command.goto must be one of": {"goto": ["reflection", "nowhere"]},
    "command.update must be an object": {"update": 5},
    "command.update must have keys of the state only": {"update": {"nothing_of_ours": 1}},
    "command.update must have keys": {"update": {"branch:to:reflection": 1}},
    "command.update.messages must be messages": {"update": {"messages": 5}},
    "command.update.messages": {"update": {"messages": [{"role": "nobody", "content": "x"}]}},
    "command.update.query_list: Input should be a valid list": {"update": {"query_list": 5}},
    "command.update.turn": {"update": [["turn", 5]]},
    "command.update.usage": {"update": {"usage": 3}},
}  # fmt: skip


@pytest.mark.parametrize("told", COMMANDS)
def test_a_command_that_would_fail_in_the_graph_is_one_line(told: str) -> None:
    with pytest.raises(InputError) as caught:
        check_command("agent", COMMANDS[told])
    assert caught.value.message.startswith(told)
    assert "\n" not in caught.value.message
    check_command("a graph of somebody's", COMMANDS[told])


@pytest.mark.parametrize("assistant", ASSISTANTS)
@pytest.mark.parametrize(
    "command",
    [
        {"resume": {"cancel": True}}, {"resume": False}, {"goto": "__end__"}, {"goto": ["__end__"]},
        {"resume": "x", "goto": None, "update": None}, {"update": {"messages": "A question?"}},
        {"update": {"messages": [{"role": "user", "content": "A question?"}], "gaps": None}},
        {"update": [["messages", {"type": "human", "content": "A question?"}]], "goto": []},
    ],
)  # fmt: skip
def test_commands_that_work_pass(assistant: str, command: dict[str, Any]) -> None:
    check_command(assistant, command)


@pytest.mark.parametrize("assistant", ASSISTANTS)
def test_a_thread_goes_on_at_any_node_that_reads_the_state(assistant: str) -> None:
    nodes = str(_graph(assistant).get_graph().nodes)
    with pytest.raises(InputError) as caught:
        check_command(assistant, {"goto": "nowhere"})
    for node in caught.value.problem.removeprefix("must be one of ").split(", "):
        check_command(assistant, {"goto": node})
        assert node in nodes
        assert goes_to_node({"goto": node}) is (node != "__end__")


def test_other_graphs_have_their_own_words() -> None:
    check_choices("a graph of somebody's", {"max_research_loops": 99})
