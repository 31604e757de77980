"""`/readyz`: whether questions can be answered, without asking anything that costs."""

from types import SimpleNamespace
from typing import Any

import pytest

from agent import services
from tests.unit.page_client import KEY, page_client


async def ready() -> tuple[int, dict[str, Any]]:
    async with page_client() as http:
        response = await http.get("/readyz")
    return response.status_code, response.json()


def started(patch: pytest.MonkeyPatch, pid: int | None, problem: str | None) -> None:
    maps = SimpleNamespace(running=pid is not None, problem=problem)
    running = SimpleNamespace(maps=maps)
    patch.setattr(services, "_current", running)


async def test_offline_it_is_ready_and_has_started_nothing() -> None:
    assert await ready() == (
        200,
        {
            "ok": True,
            "mode": "offline",
            "models": {"google": False, "openai": False},
            "map": {"state": "not started", "code": None},
        },
    )
    assert services._current is None


async def test_online_it_says_which_models_and_keeps_keys_to_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "g-secret-123")
    status, told = await ready()
    assert (status, told["mode"]) == (200, "online")
    assert told["models"] == {"google": True, "openai": False}
    assert told["map"] == {"state": "off", "code": "map_key_missing"}
    assert "secret" not in str(told)


@pytest.mark.parametrize(
    ("pid", "problem", "state"),
    [
        (17, None, {"state": "running", "code": None}),
        (None, None, {"state": "not started", "code": None}),
        (None, "map_no_node", {"state": "failed", "code": "map_no_node"}),
    ],
)
async def test_the_map_s_state_is_told_and_does_not_decide(
    monkeypatch: pytest.MonkeyPatch, pid: int | None, problem: str | None, state: dict[str, Any]
) -> None:
    started(monkeypatch, pid, problem)
    status, told = await ready()
    assert (status, told["map"]) == (200, state)


@pytest.mark.parametrize(
    ("setting", "value", "named"),
    [
        ("AMAP_QPS", "fast", "AMAP_QPS"),
        ("TANLU_MODE", "online", "GEMINI_API_KEY"),
        ("TANLU_API_KEYS", f"alice:{KEY},bob", "TANLU_API_KEYS"),
    ],
)
async def test_what_keeps_it_from_answering_is_named(
    monkeypatch: pytest.MonkeyPatch, setting: str, value: str, named: str
) -> None:
    monkeypatch.setenv(setting, value)
    status, told = await ready()
    assert (status, told["ok"]) == (503, False)
    assert named in told["reason"]
    assert KEY not in str(told)
