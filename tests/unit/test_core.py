"""Settings, configuration, budget, redaction: what the whole deployment stands on."""

import logging
import pickle
from dataclasses import replace
from io import StringIO

import pytest

from agent.configuration import Configuration, configure
from agent.core.budget import Budget, Budgets, Limits, add_usage, no_usage
from agent.core.errors import AgentError, BudgetExceeded, ConfigurationError, ProviderError
from agent.core.redaction import ScrubbingFilter, hide, scrub
from agent.settings import read_settings
from tests.support.rows import by_examples

LIMITS = Limits(10, 10, 10, 1000, 100, 20)


def test_d18_what_a_run_asks_for_beats_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MAX_RESEARCH_LOOPS", "9")
    assert configure({"max_research_loops": 1}).max_research_loops == 1
    assert configure({}).max_research_loops == 9


@pytest.mark.parametrize("empty", ["", None])
def test_d18_empty_values_count_as_unset(
    monkeypatch: pytest.MonkeyPatch, empty: str | None
) -> None:
    monkeypatch.setenv("ANSWER_MODEL", "")
    assert configure({"answer_model": empty}).answer_model == "gemini-3.8-flash"


def test_tanlu_model_serves_all_roles_unless_a_role_names_its_own(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_MODEL", "openai:deepseek-chat")
    monkeypatch.setenv("ANSWER_MODEL", "openai:deepseek-reasoner")
    configuration = configure({"research_model": "openai:other"})
    assert configuration.query_generator_model == "openai:deepseek-chat"
    assert configuration.research_model == "openai:other"
    assert configuration.answer_model == "openai:deepseek-reasoner"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("max_research_loops", 0),
        ("max_research_loops", 11),
        ("number_of_initial_queries", "abc"),
        ("max_run_seconds", float("nan")),
        ("max_searches", 1e308),
        ("web_search", "yahoo"),
        ("no_such_field", 1),
    ],
)
def test_a_bad_value_is_one_line_that_names_the_field(field: str, value: object) -> None:
    with pytest.raises(ConfigurationError) as caught:
        configure({field: value})
    assert caught.value.name == field
    assert "\n" not in str(caught.value)


def test_a_map_command_that_is_no_json_list_names_the_variable(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AMAP_MCP_COMMAND", "npx -y something")
    with pytest.raises(ConfigurationError, match=r"^AMAP_MCP_COMMAND must be a JSON list"):
        read_settings()


@by_examples
def test_auto_is_offline_only_when_no_model_is_configured(
    monkeypatch: pytest.MonkeyPatch, variables: dict[str, str], mode: str
) -> None:
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    assert read_settings().mode == mode


def test_blanks_around_a_variable_do_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", " https://api.example/v1\t")
    monkeypatch.setenv("OPENAI_API_KEY", "sk-1 \n")
    monkeypatch.setenv("TANLU_MODEL", " openai:deepseek-chat ")
    monkeypatch.setenv("GEMINI_API_KEY", "  ")
    settings = read_settings()
    assert settings.openai_base_url == "https://api.example/v1"
    assert settings.openai_api_key is not None
    assert settings.openai_api_key.get_secret_value() == "sk-1"
    assert (settings.tanlu_model, settings.gemini_api_key) == ("openai:deepseek-chat", None)


@pytest.mark.parametrize("key", ["sk-你的密钥", "sk 1", "sk-1“", "sk-\u200b1"])
@pytest.mark.parametrize("name", ["OPENAI_API_KEY", "AMAP_MAPS_API_KEY", "TAVILY_API_KEY"])
def test_a_key_that_no_service_has_given_out_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, name: str, key: str
) -> None:
    monkeypatch.setenv(name, key)
    with pytest.raises(ConfigurationError) as caught:
        read_settings()
    assert (caught.value.name, caught.value.fault) == (name, "key_characters")
    assert key not in str(caught.value)


@pytest.mark.parametrize(
    "address",
    ["api.example/v1", "https://api .example/v1", "https:///v1", "http://[bad", "https://a:99999",
     "http://user@", "http://:80/v1"],
)  # fmt: skip
def test_what_is_no_address_of_a_model_is_refused_by_its_name(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    with pytest.raises(ConfigurationError, match=r"^OPENAI_BASE_URL must "):
        read_settings()


def test_gemini_api_key_wins_over_google_api_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "google-one")
    monkeypatch.setenv("GEMINI_API_KEY", "gemini-one")
    key = read_settings().google_key
    assert key is not None
    assert key.get_secret_value() == "gemini-one"


def test_every_key_in_the_settings_is_hidden_from_text(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AMAP_MAPS_API_KEY", "CANARY+map/key")
    read_settings()
    leaked = "request to https://x/y?key=CANARY%2Bmap%2Fkey failed, CANARY+map/key"
    assert "CANARY" not in scrub(leaked)
    assert "CANARY" not in str(ProviderError("amap", leaked))


def test_logs_are_scrubbed_with_their_tracebacks() -> None:
    hide("CANARY-in-log")
    stream = StringIO()
    writer = logging.StreamHandler(stream)
    writer.addFilter(ScrubbingFilter())
    log = logging.Logger("test")
    log.addHandler(writer)
    try:
        raise ValueError("with CANARY-in-log inside")
    except ValueError:
        log.exception("failed for %s", "CANARY-in-log")
    assert "CANARY" not in stream.getvalue()
    assert "Traceback" in stream.getvalue()


def test_our_errors_survive_pickling_and_reach_clients() -> None:
    error = pickle.loads(pickle.dumps(ConfigurationError("FIELD", "is wrong")))
    assert (error.name, str(error)) == ("FIELD", "FIELD is wrong.")
    assert issubclass(AgentError, RuntimeError)


def test_the_last_model_call_is_kept_for_the_answer() -> None:
    budget = Budget("t", Limits(10, 2, 10, 1000, 100, 20))
    budget.meter().reserve("model_calls")
    with pytest.raises(BudgetExceeded):
        budget.meter().reserve("model_calls")
    budget.meter(answering=True).reserve("model_calls")


def test_tokens_stop_research_but_not_the_answer() -> None:
    budget = Budget("t", LIMITS)
    budget.meter().record(input_tokens=600, output_tokens=500)
    with pytest.raises(BudgetExceeded, match="max_run_tokens"):
        budget.meter().reserve("model_calls")
    budget.meter(answering=True).reserve("model_calls")


def test_a_resumed_turn_goes_on_from_what_it_had_spent() -> None:
    spent = add_usage(no_usage(), None)
    spent["searches"] = 10
    budget = Budgets().of("t", LIMITS, spent=spent, elapsed=30)
    with pytest.raises(BudgetExceeded, match="max_searches"):
        budget.meter().reserve("searches")
    assert budget.seconds() >= 30


def test_a_run_that_goes_on_with_a_turn_brings_its_own_limits() -> None:
    budgets = Budgets()
    budgets.of("t", LIMITS).meter().reserve("searches")
    with pytest.raises(BudgetExceeded, match="max_searches"):
        budgets.of("t", replace(LIMITS, max_searches=0)).meter().reserve("searches")


def test_an_unknown_cost_makes_the_sum_unknown() -> None:
    known, unknown = no_usage(), no_usage()
    known["cost_usd"], unknown["cost_usd"] = 0.5, None
    assert add_usage(known, unknown)["cost_usd"] is None
    assert add_usage(known, known)["cost_usd"] == 1.0


def test_the_configuration_has_no_secret_and_every_field_is_described() -> None:
    for name, field in Configuration.model_fields.items():
        assert field.description, name
        assert "api_key" not in name


def test_a_run_that_has_spent_its_dollars_asks_no_model_but_for_its_answer() -> None:
    limits = Limits(9, 9, 9, 9_000_000, 60.0, 0.0, max_run_dollars=0.4)
    budget = Budget("t", limits)
    budget.meter().record(cost_usd=0.4)
    with pytest.raises(BudgetExceeded, match="max_run_dollars"):
        budget.meter().reserve("model_calls")
    budget.meter(answering=True).reserve("model_calls")
    unknown = Budget("u", limits)
    unknown.meter().record(cost_usd=None)
    unknown.meter().reserve("model_calls")
