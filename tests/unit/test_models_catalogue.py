"""Model names, prices, thinking levels."""

from datetime import date

import pytest

from agent.configuration import MODEL_FIELDS, Configuration
from agent.core.errors import ConfigurationError
from agent.models.catalogue import (
    GOOGLE_MODELS,
    RETIRED,
    ModelName,
    clamp,
    parse,
    price,
    retirement,
    search_price,
)
from agent.models.client import pace_of

NOVEMBER, JANUARY = date(2026, 11, 20), date(2027, 1, 1)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("gemini-3.8-flash", ModelName("google", "gemini-3.8-flash")),
        ("models/gemini-3.8-flash", ModelName("google", "gemini-3.8-flash")),
        ("google:gemini-4-argon", ModelName("google", "gemini-4-argon")),
        ("google_genai:gemini-4-argon", ModelName("google", "gemini-4-argon")),
        ("openai:deepseek-chat", ModelName("openai", "deepseek-chat")),
        ("openai:qwen3:8b", ModelName("openai", "qwen3:8b")),
    ],
)
def test_a_name_has_a_provider_and_an_id(name: str, parts: ModelName) -> None:
    assert parse(name) == parts


@pytest.mark.parametrize(
    "name", ["anthropic:x", "", "openai:", "a b", "../../x", "x" * 500, "openai:é1"]
)
def test_an_impossible_name_is_an_error_that_names_the_field(name: str) -> None:
    with pytest.raises(ConfigurationError, match=r"^answer_model (names|is) ") as caught:
        parse(name, "answer_model")
    assert len(str(caught.value)) < 200


@pytest.mark.parametrize("name", ["deepseek-chat", "qwen-max", "deepseek:deepseek-chat"])
def test_a_name_without_a_known_provider_is_told_how_to_be_written(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"openai:{name.rpartition(':')[2]} .*OPENAI_BASE"):
        parse(name, "TANLU_MODEL")


def test_prices_change_on_their_day() -> None:
    flash = "gemini-3.8-flash"
    assert price(flash, 1_000_000, 1_000_000, on=NOVEMBER) == pytest.approx(4.5)
    assert price(flash, 1_000_000, 1_000_000, on=JANUARY) == pytest.approx(9.0)
    assert price("gemini-4-carbon", 0, 1_000_000, on=date(2026, 11, 30)) == pytest.approx(10)
    assert price("gemini-4-carbon", 0, 1_000_000, on=date(2026, 12, 1)) == pytest.approx(20)


def test_searches_are_billed_by_executed_query() -> None:
    assert price("gemini-3.5-flash-lite", 0, 0, 1000, on=NOVEMBER) == pytest.approx(14)
    assert search_price("gemini-3.5-flash-lite", 5) == pytest.approx(0.07)
    assert search_price("openai:x", 5) == 0


def test_an_unknown_price_is_none_and_a_routed_model_costs_what_its_successor_does() -> None:
    assert price("openai:deepseek-chat", 1, 1, on=NOVEMBER) is None
    assert price("gemini-99", 1, 1, on=NOVEMBER) is None
    assert price("gemini-2.5-flash", 9, 9, on=NOVEMBER) == price(
        "gemini-3.5-flash-lite", 9, 9, on=NOVEMBER
    )


def test_retired_models_have_living_successors_and_no_default_is_retired() -> None:
    assert set(RETIRED.values()) <= set(GOOGLE_MODELS)
    fields = Configuration.model_fields
    assert all(retirement(fields[name].default) is None for name in MODEL_FIELDS)
    assert all(fields[name].default in GOOGLE_MODELS for name in MODEL_FIELDS)


def test_no_default_needs_a_paid_key() -> None:
    fields = Configuration.model_fields
    assert not any(GOOGLE_MODELS[fields[name].default].paid_only for name in MODEL_FIELDS)


def test_thinking_is_clamped_to_what_the_model_takes() -> None:
    assert clamp("gemini-3.8-flash", "minimal") == "low"
    assert clamp("gemini-3.5-flash-lite", "minimal") == "minimal"
    assert clamp("gemini-3.1-pro-preview", "medium") == "high"
    assert clamp("gemini-3.8-flash", None) is None
    assert clamp("gemini-1.0-ancient", "high") is None
    assert clamp("gemini-7-unheard-of", "high") == "high"


@pytest.mark.parametrize("rpm", [1, 2, 5, 15, 60, 1000])
def test_pacing_never_exceeds_the_limit_in_a_minute(rpm: int) -> None:
    rate, burst = pace_of(rpm)
    assert burst >= 1
    assert rate > 0
    assert burst - 1 + rate * 60 <= rpm
