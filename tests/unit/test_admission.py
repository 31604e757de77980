"""What a run may ask: sizes, steps, webhooks, and names that look like a secret's."""

from collections.abc import Mapping
from typing import Any

import pytest

from agent.assistants.common.conversation import MAX_QUESTION
from agent.assistants.plan_execute.state import PlanConfiguration
from agent.configuration import Configuration
from agent.core.errors import InputError
from agent.core.redaction import is_secret
from agent.server.auth.admission import (
    LONGEST_DELAY,
    MAX_DEPTH,
    MAX_INPUT,
    MAX_SETTINGS,
    MAX_STEPS,
    characters_in,
    check_run,
    check_settings,
)


def asked(question: str) -> dict[str, Any]:
    return {"input": {"messages": [{"role": "user", "content": question}]}}


@pytest.mark.parametrize("question", ["王" * MAX_QUESTION, "\n" * MAX_QUESTION, '"' * MAX_QUESTION])
def test_the_longest_question_passes_whatever_it_is_written_in(question: str) -> None:
    check_run(asked(question))


@pytest.mark.parametrize("name", ["input", "command", "context", "config", "metadata"])
def test_what_is_too_long_is_refused_by_name(name: str) -> None:
    with pytest.raises(InputError, match=f"^{name} is longer than"):
        check_run({name: {"x": "x" * (MAX_INPUT + 1)}})


def test_a_picture_that_makes_an_input_too_long_is_told_not_to_be_read() -> None:
    picture = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "A" * 99_999}}
    text = {"type": "text", "text": "what is this?"}
    message = {"role": "user", "content": [text, picture]}
    with pytest.raises(InputError, match="attachments are not read"):
        check_run({"input": {"messages": [message]}})
    with pytest.raises(InputError, match=r"characters\.$"):
        check_run({"input": {"messages": [{"role": "user", "content": [text] * 9_999}]}})


ODD_INPUTS: list[Any] = [
    "a question", [1, 2], 5,
    *({"messages": messages} for messages in (
        None, 5, [None], [{"content": "x"}], [{"role": "nobody", "content": "x"}],
        [{"role": "user", "content": 5}], [{"role": "user", "content": [None]}],
        [{"role": "user", "content": [[{"type": "text", "text": "x"}]]}],
    )),
]  # fmt: skip


@pytest.mark.parametrize("value", ODD_INPUTS)
def test_an_input_that_is_no_conversation_is_refused_in_one_line(value: Any) -> None:
    with pytest.raises(InputError, match=r"^input[. ].*must be [^\n]*$"):
        check_run({"input": value})


@pytest.mark.parametrize(
    "messages",
    ["x", [], ["x"], [["user", "x"]], {"type": "human", "content": "x"},
     [{"role": "user", "content": ["x"]}], [{"role": "user", "content": [{"odd": "block"}]}]],
)  # fmt: skip
def test_every_way_to_write_a_conversation_passes(messages: Any) -> None:
    check_run({"input": {"messages": messages}})
    check_run({"input": None})
    check_run({"input": {"max_research_loops": 1}})


def test_many_small_parts_are_as_much_as_one_large_one() -> None:
    with pytest.raises(InputError, match=r"^input "):
        check_run({"input": {"messages": [[]] * MAX_INPUT}})


def test_a_deep_value_is_measured_to_its_bottom() -> None:
    deep: Any = "end"
    for _ in range(5000):
        deep = [deep]
    assert characters_in(deep) == 5004
    with pytest.raises(InputError, match=r"^metadata "):
        check_run({"metadata": {"deep": ["x" * MAX_SETTINGS]}})


def nested(levels: int) -> Any:
    value: Any = {}
    for _ in range(levels - 1):
        value = {"a": value}
    return value


@pytest.mark.parametrize("name", ["input", "command", "context", "config", "metadata"])
def test_what_no_json_could_say_again_is_refused_by_name(name: str) -> None:
    """One such thread would hide its owner's whole list behind an error."""
    check_run({name: nested(MAX_DEPTH)})
    for levels in (MAX_DEPTH + 1, 1000):
        with pytest.raises(InputError, match=f"^{name} is nested"):
            check_run({name: nested(levels)})


@pytest.mark.parametrize("steps", [1, 25, MAX_STEPS])
def test_steps_within_what_our_graphs_take_pass(steps: int) -> None:
    check_run({"config": {"recursion_limit": steps}})


@pytest.mark.parametrize("steps", [0, -1, MAX_STEPS + 1, 10**9, 1.5, True, "10", None])
def test_other_steps_are_refused_by_name(steps: object) -> None:
    with pytest.raises(InputError, match=r"^config\.recursion_limit must be between 1 and"):
        check_run({"config": {"recursion_limit": steps}})


def test_a_webhook_is_refused() -> None:
    with pytest.raises(InputError, match=r"^webhook "):
        check_run({"webhook": "http://127.0.0.1:9/"})
    check_run({"webhook": None})


def test_nothing_is_told_to_langsmith() -> None:
    """Its keys would be asked for over the network, for each run and without any setting."""
    with pytest.raises(InputError, match=r"^feedback_keys "):
        check_run({"feedback_keys": ["liked"]})
    check_run({"feedback_keys": []})


@pytest.mark.parametrize("name", ["interrupt_before", "interrupt_after"])
def test_a_list_of_nodes_is_no_place_for_a_book(name: str) -> None:
    check_run({name: "*"})
    with pytest.raises(InputError, match=f"^{name} "):
        check_run({name: ["x" * MAX_SETTINGS]})


@pytest.mark.parametrize(
    "name",
    ["key", "api_key", "apiKey", "apiKeys", "APIKEY", "x-api-key", "openai.api_key", "token",
     "accessToken", "secret", "client_secret", "password", "Authorization", "cookie",
     "credentials", "GEMINI_API_KEY"],
)  # fmt: skip
@pytest.mark.parametrize("where", ["context", "metadata", "config.metadata", "config.configurable"])
def test_a_secret_s_name_is_refused_wherever_it_is(name: str, where: str) -> None:
    value: Any = {"deep": [{name: "CANARY-in-a-request"}]}
    for part in reversed(where.split(".")):
        value = {part: value}
    with pytest.raises(InputError) as caught:
        check_run(value)
    assert caught.value.name.startswith(f"{where}.deep.{name}")
    assert "CANARY" not in caught.value.message


@pytest.mark.parametrize("configuration", [Configuration, PlanConfiguration])
def test_no_setting_of_ours_looks_like_a_secret(configuration: type[Configuration]) -> None:
    assert [name for name in configuration.model_fields if is_secret(name)] == []


@pytest.mark.parametrize(
    "name",
    ["thread_id", "monkey", "keyboard", "tokens", "context_token_limit", "keyword", "hotkeyed"],
)
def test_other_names_pass(name: str) -> None:
    check_settings({"metadata": {name: "x"}})


@pytest.mark.parametrize(
    "given",
    [
        {"context": {"langgraph_auth_user_id": "alice"}},
        {"context": {"langgraph_auth_permissions": ["all"]}},
        {"context": {"langgraph_auth_user": {"identity": "alice"}}},
    ],
)
def test_a_user_is_not_a_client_s_to_name(given: Mapping[str, Any]) -> None:
    with pytest.raises(InputError, match=r"^context\.langgraph_auth_"):
        check_run(given)


def test_what_the_server_itself_adds_passes() -> None:
    own = {
        "langgraph_auth_user": {"identity": "alice", "token": "x"},
        "langgraph_auth_user_id": "alice",
        "langgraph_request_id": "r",
        "__request_start_time_ms__": 1,
        "thread_id": "t",
    }
    check_run({"config": {"configurable": own}, "context": {}, "input": None, "command": None})


@pytest.mark.parametrize("odd", [None, [], "text", 5, {"configurable": []}])
def test_a_value_of_another_shape_is_the_server_s_to_refuse(odd: object) -> None:
    check_run({"config": odd, "context": odd, "metadata": odd})


def test_a_context_that_the_server_repeats_in_its_config_is_named_as_it_was_sent() -> None:
    context = {"api_key": "x"}
    config = {"configurable": {**context, "__context_provided__": True}}
    with pytest.raises(InputError, match=r"^context\.api_key "):
        check_run({"context": context, "config": config})


@pytest.mark.parametrize(
    "slipped", [{"api_key": "x"}, {"__api_key": "x"}, {"mode": {"api_key": "x"}}]
)
def test_what_a_checkpoint_slips_into_the_config_is_seen(slipped: Mapping[str, Any]) -> None:
    """The server puts its names in there, whichever they are, after it copied the context."""
    context = {"mode": "x"}
    config = {"configurable": {**context, "__context_provided__": True, **slipped}}
    with pytest.raises(InputError, match=r"^config\.configurable\..*api_key "):
        check_run({"context": context, "config": config})


def test_the_user_that_a_cron_brings_along_passes() -> None:
    check_run({"context": {"langgraph_auth_user": object(), "max_research_loops": 1}})


@pytest.mark.parametrize("seconds", [-1, LONGEST_DELAY + 1, 10**12, 1e308, True, "1"])
def test_a_run_is_put_off_for_a_time_and_overtakes_nobody(seconds: object) -> None:
    """The server's queue is sorted by when a run may begin; a time gone by comes first there."""
    check_run({"after_seconds": 0})
    check_run({"after_seconds": LONGEST_DELAY})
    with pytest.raises(InputError, match=r"^after_seconds must be between 0 and"):
        check_run({"after_seconds": seconds})


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("max_serches", "max_searches"), ("maxSearches", "max_searches"),
        ("answer_modell", "answer_model"), ("geo-routing", "geo_routing"),
        ("review_plans", "review_plan"),
    ],
)  # fmt: skip
def test_a_setting_that_is_misspelt_is_told_how_it_is_written(name: str, meant: str) -> None:
    for request in ({"context": {name: 1}}, {"config": {"configurable": {name: 1}}}):
        with pytest.raises(InputError, match=f"do you mean {meant}") as refused:
            check_run(request)
        assert refused.value.name.endswith(name)


@pytest.mark.parametrize(
    "name", [*Configuration.model_fields, "thread_id", "user_id", "run_id", "model", "x", "theme"]
)
def test_settings_of_ours_and_names_of_others_are_let_through(name: str) -> None:
    check_run({"context": {name: "1"}, "config": {"configurable": {name: "1"}}})
