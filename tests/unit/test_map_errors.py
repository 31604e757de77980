import pytest

from agent.core.errors import (
    AgentError,
    BudgetExceeded,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.mcp.amap.tools import failure
from agent.mcp.records import map_gap, map_message
from agent.texts import LANGUAGES, Language, reason_of, say, table


@pytest.mark.parametrize(
    ("text", "kind", "code"),
    [
        ("Geocoding failed: CUQPS_HAS_EXCEEDED_THE_LIMIT", RateLimited, "map_rate"),
        ("API 调用失败：CKQPS_HAS_EXCEEDED_THE_LIMIT", RateLimited, "map_rate"),
        ("Geocoding failed: ACCESS_TOO_FREQUENT", RateLimited, "map_banned"),
        ("Geocoding failed: DAILY_QUERY_OVER_LIMIT", RateLimited, "map_quota_day"),
        ("Geocoding failed: USER_DAILY_QUERY_OVER_LIMIT", RateLimited, "map_quota_day"),
        ("Geocoding failed: SERVER_IS_BUSY", ProviderUnavailable, "map_busy"),
        ("Geocoding failed: INVALID_USER_KEY", ProviderRefused, "map_key_invalid"),
        ("Geocoding failed: USERKEY_PLAT_NOMATCH", ProviderRefused, "map_key_invalid"),
        ("Geocoding failed: INVALID_PARAMS", ProviderRefused, "map_bad_request"),
        ("Geocoding failed: ENGINE_RESPONSE_DATA_ERROR", ProviderRefused, "map_place_not_found"),
        ("Geocoding failed: OUT_OF_SERVICE", ProviderRefused, "map_not_covered"),
        ("Direction Walking failed: OVER_DIRECTION_RANGE", ProviderRefused, "map_no_route"),
        ("Geocoding failed: 账号处于被封禁状态", ProviderRefused, "map_key_invalid"),
        ("Error: something else", ProviderRefused, "map_failed"),
        ("Error: Unexpected end of JSON input", MalformedReply, "map_malformed"),
        (
            "Error: request to https://restapi.amap.com/v3/x?key=abcdefgh failed, reason: x",
            ProviderUnavailable,
            "map_network",
        ),
    ],
)
def test_a_failed_call_is_known_by_amaps_word_for_it(
    text: str, kind: type[ProviderError], code: str
) -> None:
    error = failure("maps_geo", text)
    assert type(error) is kind
    assert error.code == code
    assert "abcdefgh" not in str(error)


def test_an_unknown_id_or_city_is_a_place_not_found() -> None:
    text = "Error: Cannot read properties of undefined (reading '{}')"
    assert failure("maps_search_detail", text.format("id")).code == "map_place_not_found"
    assert failure("maps_weather", text.format("city")).code == "map_place_not_found"
    assert failure("maps_text_search", text.format("map")).code == "map_malformed"


def test_a_bicycle_route_without_a_reason_is_no_route() -> None:
    error = failure("maps_bicycling", "Direction bicycling failed: undefined")
    assert error.code == "map_no_route"


@pytest.mark.parametrize("code", sorted(table("map.errors", "en")))
@pytest.mark.parametrize("language", ["zh", "en"])
def test_each_code_has_words_in_both_languages(code: str, language: Language) -> None:
    text = map_message(ProviderError("amap", "why", code=code), language, "王府井")
    assert text
    assert "{" not in text
    assert any("\u4e00" <= letter <= "\u9fff" for letter in text) or language == "en"


def test_a_gap_names_what_was_asked_and_what_to_do() -> None:
    error = ProviderRefused("amap", "AMAP_MAPS_API_KEY is not set", code="map_key_missing")
    gap = map_gap(error, "王府井附近", "zh")
    assert gap["provider"] == "amap"
    assert gap["query"] == "王府井附近"
    assert "AMAP_MAPS_API_KEY" in gap["message"]
    assert "Web服务" in gap["message"]


def test_a_spent_budget_is_told_without_the_name_of_a_setting() -> None:
    error: AgentError = BudgetExceeded("max_map_calls", 12)
    assert map_message(error, "zh") == "地图只查了一部分"
    assert "max_map_calls" not in map_message(error, "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_model_of_the_map_step_is_blamed_for_what_it_did(language: Language) -> None:
    late = ProviderUnavailable("model:openai", "no answer", code="timeout")
    text = map_message(late, language)
    assert text == say("map.unwritten", language, reason=reason_of(late, language))
    assert text != say("map.errors.map_timeout", language)
