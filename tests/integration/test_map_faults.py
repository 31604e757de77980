"""Whatever the map server does, a call ends in time, with its reason, and no process stays."""

import asyncio
import time
from pathlib import Path

import pytest

from agent.core.errors import AgentError, MalformedReply, ProviderUnavailable
from agent.core.redaction import hide
from agent.mcp.map import text_of
from agent.mcp.servers import amap_server
from agent.mcp.session import SessionLimits, SupervisedSession
from agent.settings import Settings
from tests.support.map_fixtures import is_running, scripted_server, scripted_session, until
from tests.support.map_servers import GREETINGS, STRANGE

AMAP = amap_server(Settings())
HASTY = SessionLimits(start=0.5, call=0.4, ping=0.3)


async def failure(session: SupervisedSession) -> AgentError:
    with pytest.raises(AgentError) as caught:
        await session.call_tool("maps_geo", {"address": "王府井"})
    return caught.value


async def test_a_missing_command_is_named() -> None:
    settings = Settings(amap_mcp_command=["no-such-map-server"], amap_maps_api_key="k" * 20)
    session = SupervisedSession(amap_server(settings))
    error = await failure(session)
    await session.aclose()
    assert error.code == "map_server_down"
    assert "no-such-map-server" in str(error)


async def test_a_server_that_exits_at_its_start_is_reported_with_its_last_words() -> None:
    async with scripted_session("exit_at_start") as session:
        error = await failure(session)
    assert error.code == "map_server_down"
    assert "cannot open the licence file" in str(error)


async def test_a_key_in_the_last_words_is_hidden() -> None:
    hide("scripted-key-000")
    async with scripted_session("tell_key_and_exit") as session:
        error = await failure(session)
    assert "bad key" in str(error)
    assert "scripted-key-000" not in str(error)


async def test_a_server_that_hangs_at_its_start_is_given_up_in_time() -> None:
    began = time.monotonic()
    async with scripted_session("hang_at_start", limits=HASTY) as session:
        error = await failure(session)
    assert error.code == "map_server_down"
    assert time.monotonic() - began < 30


async def test_a_slow_tool_times_out_and_the_server_stays() -> None:
    async with scripted_session(
        "hang_in_call", limits=SessionLimits(start=60, call=0.3, ping=60)
    ) as session:
        error = await failure(session)
        assert error.code == "map_timeout"
        assert session.pid is not None
        assert session.starts == 1


async def test_a_frozen_server_is_ended() -> None:
    async with scripted_session(
        "freeze_in_call", limits=SessionLimits(start=60, call=0.3, ping=0.3)
    ) as session:
        await session.list_tools()
        pid = session.pid
        assert pid is not None
        error = await failure(session)
        assert error.code == "map_timeout"
        await until(lambda: not is_running(pid))


async def test_a_call_that_died_with_its_server_is_repeated_once(tmp_path: Path) -> None:
    async with scripted_session("die_in_first_call", marker=tmp_path / "been") as session:
        result = await session.call_tool("maps_geo", {})
    assert not result.isError
    assert session.starts == 2


async def test_a_server_that_dies_in_every_call_is_given_up() -> None:
    async with scripted_session("die_in_every_call") as session:
        error = await failure(session)
    assert isinstance(error, ProviderUnavailable)
    assert error.code == "map_server_down"
    assert session.starts == 2


@pytest.mark.parametrize("noise", ["garbage_bytes", "noise_line"])
async def test_bytes_that_are_no_message_do_not_end_the_session(noise: str) -> None:
    async with scripted_session(noise) as session:
        first = await session.call_tool("maps_geo", {})
        second = await session.call_tool("maps_geo", {})
    assert first.content == second.content
    assert session.starts == 1


async def test_half_a_reply_is_a_timeout() -> None:
    async with scripted_session(
        "half_json", limits=SessionLimits(start=60, call=0.3, ping=0.3)
    ) as session:
        error = await failure(session)
    assert error.code == "map_timeout"


@pytest.mark.parametrize("strange", sorted(STRANGE))
async def test_a_result_outside_the_protocol_is_malformed_and_the_session_stays(
    strange: str,
) -> None:
    async with scripted_session(strange) as session:
        error = await failure(session)
        assert isinstance(error, MalformedReply)
        assert error.code == "map_malformed"
        assert session.pid is not None


@pytest.mark.parametrize("strange", [*sorted(GREETINGS), "tools_are_a_text"])
async def test_a_greeting_outside_the_protocol_is_a_server_that_does_not_run(strange: str) -> None:
    async with scripted_session(strange) as session:
        error = await failure(session)
    assert isinstance(error, ProviderUnavailable)
    assert error.code == "map_server_down"
    assert "\n" not in str(error)


async def test_a_server_that_closes_its_output_in_every_call_is_given_up() -> None:
    async with scripted_session("closes_its_output") as session:
        error = await failure(session)
    assert error.code == "map_server_down"
    assert session.starts == 2


async def test_half_characters_in_a_reply_are_replaced() -> None:
    async with scripted_session("broken_characters") as session:
        text = text_of(await session.call_tool("maps_geo", {}))
    assert AMAP.parse(text) == {"name": "\ufffd31m故宫", "said": "\ufffd"}


async def test_a_reply_of_50_megabytes_is_refused_and_the_session_stays() -> None:
    async with scripted_session("huge_result", limits=SessionLimits(start=60, call=60)) as session:
        error = await failure(session)
        assert isinstance(error, MalformedReply)
        assert error.code == "map_too_large"
        assert session.pid is not None


@pytest.mark.parametrize(
    ("fault", "named"), [("tool_missing", "maps_regeocode"), ("schema_changed", "maps_regeocode")]
)
async def test_a_server_with_other_tools_is_not_used(fault: str, named: str) -> None:
    async with scripted_session(fault) as session:
        error = await failure(session)
        assert session.pid is None
    assert error.code == "map_contract"
    assert named in str(error)


async def test_a_server_that_ignores_its_closed_input_is_killed() -> None:
    async with scripted_session("ignore_eof") as session:
        await session.list_tools()
        pid = session.pid
    assert pid is not None
    assert not is_running(pid)


async def test_after_failed_starts_the_next_ones_wait_and_callers_fail_fast() -> None:
    now = [1000.0]
    session = SupervisedSession(scripted_server("exit_at_start"), clock=lambda: now[0])
    for _ in range(2):
        await failure(session)
    assert session.starts == 2
    error = await failure(session)
    assert session.starts == 2
    assert "next attempt in 0.5 s" in str(error)
    now[0] += 0.6
    await failure(session)
    assert session.starts == 3
    await session.aclose()


async def test_an_unused_server_is_ended_and_started_again_when_needed() -> None:
    async with scripted_session(
        "none", limits=SessionLimits(start=60, call=60, idle=0.01)
    ) as session:
        await session.call_tool("maps_geo", {})
        await until(lambda: session.pid is None)
        await session.call_tool("maps_geo", {})
    assert session.starts == 2


async def test_twenty_callers_at_once_start_one_server() -> None:
    async with scripted_session("none") as session:
        results = await asyncio.gather(*(session.call_tool("maps_geo", {}) for _ in range(20)))
    assert session.starts == 1
    assert len({str(result.content) for result in results}) == 1


async def test_a_cancelled_caller_leaves_the_others_alone() -> None:
    async with scripted_session("none") as session:
        waiting = [asyncio.create_task(session.call_tool("maps_geo", {})) for _ in range(4)]
        await asyncio.sleep(0)
        waiting[0].cancel()
        results = await asyncio.gather(*waiting, return_exceptions=True)
    assert isinstance(results[0], asyncio.CancelledError)
    assert not any(isinstance(result, BaseException) for result in results[1:])
    assert session.starts == 1


async def test_a_closed_session_starts_nothing() -> None:
    async with scripted_session("none") as session:
        await session.call_tool("maps_geo", {})
    error = await failure(session)
    assert "closed" in str(error)
    assert session.starts == 1
