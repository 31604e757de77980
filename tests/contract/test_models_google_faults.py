"""Gemini through the client: what it refuses, what passes, and keys and models that do not fit."""

import asyncio
from typing import Any

import pytest

from agent.core.calls import Calls
from agent.core.errors import (
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.models.client import ModelClient
from agent.models.probe import probe
from tests.contract.gemini_client import (
    FLASH,
    LITE,
    client_fixture,
    gemini_fixture,
    llm_fixture,
    said,
)
from tests.support.meters import meter
from tests.support.scripted import ASK, KEY, Scripted, client_for
from tests.support.standins import GeminiService, gemini_error

__all__ = ["client_fixture", "gemini_fixture", "llm_fixture"]

REFUSALS: list[tuple[int, dict[str, Any], type[ProviderError], str]] = [
    (400, gemini_error(400, "API_KEY_INVALID"), ProviderRefused, "model_key_invalid"),
    (
        400,
        gemini_error(400, message="User location is not supported", word="FAILED_PRECONDITION"),
        ProviderRefused,
        "model_region",
    ),
    (
        400,
        gemini_error(400, message="input exceeds the maximum number of tokens allowed"),
        ProviderRefused,
        "model_context",
    ),
    (400, gemini_error(400, message="bad"), ProviderRefused, "model_bad_request"),
    (403, gemini_error(403), ProviderRefused, "model_forbidden"),
    (404, gemini_error(404, message="models/x is not found"), ProviderRefused, "model_missing"),
    (
        429,
        gemini_error(429, quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
        ProviderRefused,
        "model_quota_day",
    ),
    (429, gemini_error(429, None, 3600), RateLimited, "rate_limited"),
]


@pytest.mark.parametrize(("status", "body", "error", "code"), REFUSALS)
async def test_a_refusal_is_not_tried_again(
    client: ModelClient,
    gemini: GeminiService,
    status: int,
    body: dict[str, Any],
    error: type[ProviderError],
    code: str,
) -> None:
    gemini.fail("status", status=status, body=body, times=None)
    with pytest.raises(error) as caught:
        await client.ask(LITE, ASK, meter=meter())
    assert caught.value.code == code
    assert KEY not in repr(caught.value)
    assert len([r for r in gemini.requests if r.method == "POST"]) == 1


async def test_the_wait_a_service_asks_for_is_kept(
    client: ModelClient, gemini: GeminiService
) -> None:
    gemini.fail("status", status=429, body=gemini_error(429, None, 0.4))
    start = asyncio.get_running_loop().time()
    await client.ask(LITE, ASK, meter=meter())
    assert asyncio.get_running_loop().time() - start >= 0.4
    assert len(gemini.requests) == 2


@pytest.mark.parametrize(
    ("kind", "details"),
    [
        ("status", {"status": 500, "body": gemini_error(500)}),
        ("status", {"status": 503, "body": gemini_error(503)}),
        ("html", {"status": 502}),
        ("drop", {}),
        ("drop_mid_body", {}),
        ("garbage", {}),
        ("deep_json", {}),
        ("cut_json", {}),
        ("empty", {}),
        ("hang", {}),
    ],
)
@pytest.mark.parametrize("times", [1, None])
async def test_a_passing_fault_is_survived_and_a_lasting_one_is_an_error(
    gemini: GeminiService, kind: Any, details: dict[str, Any], times: int | None
) -> None:
    async with client_for(gemini, model_timeout_seconds=0.8 if kind == "hang" else 60) as client:
        await client.ask(LITE, ASK, meter=meter())
        before = len(gemini.requests)
        gemini.fail(kind, times=times, **details)
        if times == 1:
            assert (await client.ask(LITE, ASK, meter=meter())).text
            return
        with pytest.raises((ProviderUnavailable, MalformedReply)) as caught:
            await client.ask(LITE, ASK, meter=meter())
        assert KEY not in repr(caught.value)
        assert len(gemini.requests) - before == (2 if kind in ("empty", "hang") else 4)


async def test_a_service_that_cannot_be_reached_is_told_from_one_that_fails() -> None:
    from agent.settings import Settings

    settings = Settings(gemini_api_key=KEY, google_gemini_base_url="http://127.0.0.1:9")
    client = ModelClient(settings, Calls())
    with pytest.raises(ProviderUnavailable) as caught:
        await client.ask(LITE, ASK, meter=meter())
    assert caught.value.code == "unreachable"
    await client.aclose()


async def test_a_wrong_key_names_no_key() -> None:
    gemini = GeminiService(Scripted(), key="another")
    async with client_for(gemini) as client:
        with pytest.raises(ProviderRefused) as caught:
            await client.ask(LITE, ASK, meter=meter())
    assert caught.value.code == "model_key_invalid"


async def test_a_missing_key_names_its_variable() -> None:
    from agent.settings import Settings

    with pytest.raises(ConfigurationError, match="GEMINI_API_KEY"):
        await ModelClient(Settings(), Calls()).ask(LITE, ASK, meter=meter())


async def test_a_retired_model_is_served_by_its_successor_and_the_log_says_so_once(
    client: ModelClient, gemini: GeminiService, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        await client.ask("gemini-2.0-flash", ASK, meter=meter())
    assert models_asked(gemini) == [LITE, LITE]
    assert caplog.text.count("asked for gemini-2.0-flash, served by gemini-3.5-flash-lite") == 1


@pytest.mark.parametrize(("fallback", "asked"), [(FLASH, [LITE, FLASH]), (LITE, [LITE])])
async def test_a_retired_model_is_never_its_own_fallback(
    client: ModelClient, gemini: GeminiService, fallback: str, asked: list[str]
) -> None:
    gemini.fail("status", status=404, body=gemini_error(404), times=len(asked))
    with pytest.raises(ProviderRefused):
        await said(client, "gemini-2.0-flash", fallback)
    assert models_asked(gemini) == asked


def models_asked(gemini: GeminiService) -> list[str]:
    """The models in the order in which the service was asked for them."""
    return [request.path.split("/models/")[1].split(":")[0] for request in gemini.requests]


async def test_doctor_learns_which_models_the_service_knows(client: ModelClient) -> None:
    assert FLASH in await client.list_models()
    assert (await probe(client, FLASH)).error is None
    assert "gemini-3.8-flash" in str((await probe(client, "gemini-2.5-pro")).error)
    unknown = await probe(client, "gemini-9-none")
    assert unknown.error is not None
    assert unknown.error.code == "model_missing"
    assert FLASH in unknown.names
    assert "provider" in str((await probe(client, "nobody:x")).error)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (gemini_error(400, "API_KEY_INVALID"), "model_key_invalid"),
        (gemini_error(403), "model_forbidden"),
        (gemini_error(429, None, 3600), "rate_limited"),
        (gemini_error(503), "unavailable"),
    ],
)
async def test_an_error_under_http_200_has_its_own_name(
    client: ModelClient, gemini: GeminiService, error: dict[str, Any], code: str
) -> None:
    gemini.fail("status", status=200, body=error, times=None)
    with pytest.raises(ProviderError) as caught:
        await client.ask(LITE, ASK, meter=meter())
    assert caught.value.code == code
