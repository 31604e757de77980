"""Time-outs, and faults of what is searched: the run ends in time, with an answer and a gap."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessageChunk

from agent.configuration import configure
from agent.core.errors import NothingFound
from agent.graph import build_graph
from agent.mcp.map import build_maps
from agent.settings import Settings
from agent.texts import say
from tests.integration.faults import STAGES, Ended, at, ended, leaving_no_process, turn_at
from tests.support.lab import EN, ZH, Lab, answer_of, laboratory, told
from tests.support.map_fixtures import SCRIPT, until

pytestmark = pytest.mark.node
SERVICES = ("tavily", "serper", "bocha")
HASTY = {"map_call_seconds": 1, "search_timeout_seconds": 1}
"""For what hangs; long enough for what works beside it on a busy machine."""


@asynccontextmanager
async def closing_leaves_nothing(**settings: Any) -> AsyncIterator[Lab]:
    with leaving_no_process():
        async with laboratory(tanlu_mode="offline", **settings) as lab:
            yield lab


def answered_with_gap(result: Ended, *codes: str) -> None:
    assert result.error is None
    assert result.kept["checks"]["cited"] > 0
    assert not result.kept["degraded"]
    assert result.gaps
    assert not codes or result.codes & set(codes)


def map_told_dead(result: Ended, *codes: str) -> None:
    """The text says once, in the reader's words, that the map could not be asked and why."""
    name = say("map.provider", "zh")
    told = [say(f"missing.map_causes.{code}", "zh", map=name) for code in codes]
    dead = [say("missing.map_dead", "zh", cause=cause) for cause in told]
    assert sum(result.answer.count(line) for line in dead) == 1, result.answer
    assert "AMAP_" not in result.answer


@pytest.mark.parametrize("times", [1, None])
async def test_a_model_that_hangs_at_any_stage_is_survived(times: int | None) -> None:
    async def hangs_at(stage: str) -> Ended:
        async with laboratory(tanlu_mode="offline", model_timeout_seconds=1.5) as lab:
            lab.gemini.fail("hang", match=at(stage), times=times)
            return await ended(lab, ZH, servers=len(STAGES))

    with leaving_no_process():
        results = dict(zip(STAGES, await asyncio.gather(*map(hangs_at, STAGES)), strict=True))
    for stage, result in results.items():
        assert result.error is None
        assert result.kept["checks"]["cited"] > 0
        assert result.kept["degraded"] is (stage == "answer" and times is None)
        if times is None:
            assert "timeout" in result.codes, stage


async def test_an_answer_that_stops_coming_is_continued_or_ended() -> None:
    async with closing_leaves_nothing(model_timeout_seconds=1.5) as lab:
        lab.gemini.fail_stream("stall", after=80, match=turn_at("answer"))
        once = await ended(lab, ZH)
        lab.gemini.fail_stream("stall", after=80, match=turn_at("answer"), times=None)
        for_ever = await ended(lab, ZH)
    assert not once.gaps
    assert not once.kept["degraded"]
    assert for_ever.kept["degraded"]
    assert for_ever.kept["checks"]["cited"] > 0
    assert for_ever.codes == {"model_cut_off"}


@pytest.mark.parametrize("stage", ["generate_query", "web_research", "reflection", "answer"])
async def test_a_run_ends_at_its_limit_of_time_whatever_hangs(stage: str) -> None:
    async with closing_leaves_nothing() as lab:
        lab.gemini.fail("hang", match=at(stage), times=None)
        began = await ended(lab, ZH, context={"max_run_seconds": 3})
    assert began.seconds < 3 + 30
    assert began.error or began.codes & {"timeout", "budget_max_run_seconds"}


@pytest.mark.parametrize("service", ["amap", "bocha"])
async def test_a_run_ends_at_its_limit_of_time_whatever_source_hangs(service: str) -> None:
    async with closing_leaves_nothing() as lab:
        lab.standin(service).fail("hang", times=None)
        context = {"max_run_seconds": 3, "web_search": "bocha", "max_research_loops": 1}
        result = await ended(lab, ZH, context=context)
    assert result.seconds < 3 + 30
    assert result.error or result.codes & {"timeout", "map_timeout", "budget_max_run_seconds"}


@pytest.mark.parametrize("kind", ["drop", "error", "no_finish", "max_tokens", "safety", "stall"])
@pytest.mark.parametrize("times", [1, None])
async def test_what_streams_under_a_fault_is_still_what_is_stored(
    kind: str, times: int | None
) -> None:
    seconds = 1.5 if kind == "stall" else 60
    async with closing_leaves_nothing(model_timeout_seconds=seconds) as lab:
        # Not before a citation, which the check would put there.
        after = 120 if kind == "safety" else 145
        lab.gemini.fail_stream(kind, after=after, match=turn_at("answer"), times=times)
        streamed, stored = "", None
        async for mode, part in lab.graph.astream(
            {"messages": ZH},  # type: ignore[arg-type]
            {"configurable": {"thread_id": "s"}},
            # One that was begun early and failed would be asked for anew.
            context=configure({"early_answer": False}),
            stream_mode=["messages", "values"],
        ):
            if mode == "messages" and isinstance(part[0], AIMessageChunk):
                streamed += str(part[0].text)
            elif mode == "values":
                stored = part["messages"][-1]
    assert stored is not None
    assert streamed == str(stored.text)
    assert stored.additional_kwargs["checks"]["cited"] > 0
    assert stored.additional_kwargs["degraded"] is (times is None or kind == "safety")


@pytest.mark.parametrize(
    ("service", "kind"),
    [
        *(("bocha", kind) for kind in ("500", "429", "garbage", "html", "drop", "hang", "empty")),
        *((service, "401") for service in SERVICES),
    ],
)
async def test_a_search_service_that_is_down_is_a_gap_and_the_map_answers(
    service: str, kind: str
) -> None:
    async with closing_leaves_nothing(**(HASTY if kind == "hang" else {})) as lab:
        known = lab.standin(service)
        fault: Any = ("status", {"status": int(kind)}) if kind.isdigit() else (kind, {})
        known.fail(fault[0], times=None, **fault[1])
        result = await ended(lab, ZH, context={"web_search": service})
        answered_with_gap(result)
        assert {gap["provider"] for gap in result.gaps} == {service}


@pytest.mark.parametrize("service", SERVICES)
async def test_where_the_only_source_is_down_the_error_is_typed_and_names_it(service: str) -> None:
    async with closing_leaves_nothing() as lab:
        lab.standin(service).fail("status", status=401, times=None)
        result = await ended(lab, EN, context={"web_search": service})
    assert isinstance(result.error, NothingFound)
    assert service in result.error.message.lower()
    assert "\n" not in result.error.message


async def test_with_every_model_down_the_evidence_itself_is_the_answer() -> None:
    async with closing_leaves_nothing() as lab:
        lab.gemini.fail("status", status=503, times=None)
        result = await ended(lab, ZH)
    assert result.error is None
    assert result.kept["degraded"]
    assert result.kept["checks"]["cited"] > 0
    assert result.kept["places"]


async def test_with_everything_down_the_error_names_every_source() -> None:
    async with closing_leaves_nothing() as lab:
        lab.gemini.fail("status", status=503, times=None)
        lab.amap.failing = "SERVICE_NOT_AVAILABLE"
        for service in SERVICES:
            lab.standin(service).fail("status", status=500, times=None)
        result = await ended(lab, ZH)
    assert isinstance(result.error, NothingFound)
    assert all(name in result.error.message for name in ("Google", "Bocha", "高德"))


COMMANDS = {
    "exit_at_start": "map_server_down",
    "hang_at_start": "map_server_down",
    "hang_in_call": "map_timeout",
    "freeze_in_call": "map_timeout",
    "die_in_every_call": "map_server_down",
    "half_json": "map_timeout",
    "not_json_text": "map_malformed",
    "huge_result": "map_too_large",
    "tool_missing": "map_contract",
    "schema_changed": "map_contract",
    "garbage_bytes": "",
    "die_in_first_call": "",
    "ignore_eof": "",
}


@pytest.mark.parametrize("fault", COMMANDS)
async def test_a_map_server_that_misbehaves_is_a_gap_and_the_web_answers(
    fault: str, tmp_path: Path
) -> None:
    command = [sys.executable, str(SCRIPT), fault, str(tmp_path / "been")]
    patience = {
        "huge_result": {"map_call_seconds": 10},
        "hang_at_start": {"map_start_seconds": 0.6},
    }
    limits = HASTY | patience.get(fault, {})
    async with closing_leaves_nothing(**limits, amap_mcp_command=command) as lab:
        result = await ended(lab, ZH)
    answered_with_gap(result, *([COMMANDS[fault]] if COMMANDS[fault] else []))
    if code := COMMANDS[fault]:
        map_told_dead(result, code)
    assert result.kept["places"] == []


async def test_a_missing_map_server_is_a_gap_that_names_doctor_and_doctor_names_the_command() -> (
    None
):
    async with closing_leaves_nothing(amap_mcp_command=["no-such-map"]) as lab:
        result = await ended(lab, ZH)
        health = await lab.services.maps.clients[0].health()
    answered_with_gap(result, "map_server_down")
    assert any("tanlu doctor" in gap["message"] for gap in result.gaps)
    assert "no-such-map" in health["message"]


async def test_an_answer_that_found_nothing_says_that_the_map_could_not_be_asked() -> None:
    async with closing_leaves_nothing(amap_mcp_command=["no-such-map"]) as lab:
        state = await lab.ask("拉萨布达拉宫附近酒店")
    assert told(state)["sources"] == []
    cause = say("missing.map_causes.map_server_down", "zh")
    assert say("missing.map_dead", "zh", cause=cause) in str(answer_of(state).text)


async def test_a_missing_map_key_is_a_gap_that_names_the_variable() -> None:
    async with closing_leaves_nothing() as lab:
        maps = build_maps(Settings(amap_maps_api_key=None), lab.services.calls)
        services = replace(lab.services, maps=maps)
        with leaving_no_process():
            result = await ended(Lab(services, build_graph(lambda: services).compile()), ZH)
    answered_with_gap(result, "map_key_missing")
    map_told_dead(result, "map_key_missing")
    assert any("AMAP_MAPS_API_KEY" in gap["message"] for gap in result.gaps)


@pytest.mark.parametrize(
    ("name", "code"),
    [
        ("INVALID_USER_KEY", "map_key_invalid"),
        ("账号处于被封禁状态", "map_key_invalid"),
        ("DAILY_QUERY_OVER_LIMIT", "map_quota_day"),
        ("CUQPS_HAS_EXCEEDED_THE_LIMIT", "map_rate"),
    ],
)
async def test_a_refusing_map_service_is_a_gap(name: str, code: str) -> None:
    async with closing_leaves_nothing() as lab:
        lab.amap.failing = name
        result = await ended(lab, ZH)
    answered_with_gap(result, code)
    map_told_dead(result, code)


@pytest.mark.parametrize(
    "kind", ["status", "drop", "garbage", "cut_json", "deep_json", "empty", "html", "hang"]
)
@pytest.mark.parametrize("times", [1, None])
async def test_a_map_service_that_fails_is_survived(kind: Any, times: int | None) -> None:
    async with closing_leaves_nothing(map_call_seconds=1 if kind == "hang" else 60) as lab:
        lab.amap.fail(kind, times=times)
        result = await ended(lab, ZH)
    if times is None:
        answered_with_gap(result)
    else:
        assert result.kept["checks"]["cited"] > 0
        assert kind == "hang" or result.gaps == []


async def test_a_map_server_killed_mid_call_costs_nothing_but_a_restart() -> None:
    async with closing_leaves_nothing() as lab:
        lab.amap.latency = lambda request, body: 3600
        running = asyncio.create_task(ended(lab, ZH, servers=2))
        await until(lambda: bool(lab.amap.requests))
        pid = lab.services.maps.clients[0].session.pid
        assert pid is not None
        lab.amap.latency = None
        os.kill(pid, signal.SIGKILL)
        result = await running
        assert lab.services.maps.clients[0].session.starts == 2
    assert result.gaps == []
    assert any(place["mentioned"] for place in result.kept["places"])
