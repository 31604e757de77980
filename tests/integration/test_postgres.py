"""What only a database can do to us: races, losses, addresses. Shared behaviour: test_memory_*."""

import asyncio
import subprocess
import sys
import threading
from typing import Any
from urllib.parse import quote

import pytest
from langgraph.checkpoint.postgres import PostgresSaver
from pydantic import SecretStr

from agent.cli import main
from agent.cli.doctor import _data_folder
from agent.core.errors import AgentError, ConfigurationError, StoreFailed
from agent.engines.langgraph.checkpoints import make
from agent.runs import lease
from agent.runs import postgres as connections
from agent.runs.lease import ServerLock, SeveralServers, only_server
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import RunLog
from agent.runs.threads import open_saver, open_threads
from agent.settings import Settings
from tests.support.ports import free_port
from tests.support.postgres import (
    PASSWORD,
    ROLE,
    PostgresServer,
    cut_off,
    database_fixture,
    let_in,
    postgres_fixture,
    rows,
)
from tests.support.run_fixtures import a_run

__all__ = ["database_fixture", "postgres_fixture"]
CHECKPOINT: Any = {
    "v": 4, "id": "1f0", "ts": "2026-11-21T00:00:00+00:00", "channel_versions": {"text": "1"},
    "versions_seen": {}, "channel_values": {"text": "a\0b\ud83d"},
}  # fmt: skip


@pytest.fixture
def fresh(postgres: PostgresServer) -> SecretStr:
    """A database nobody has used."""
    return SecretStr(postgres.new_database())


async def test_first_starts_at_once_make_every_table_once(fresh: SecretStr) -> None:
    async def start() -> None:
        async with open_threads(Settings(database_url=fresh)) as threads:
            await threads.runs.accept(a_run())
            await threads.reply_cache.save("turn", "key", "x")

    await asyncio.gather(*(start() for _ in range(5)))
    assert rows(fresh, "SELECT count(*) FROM runs") == [(5,)]
    made = rows(fresh, "SELECT tablename FROM pg_tables WHERE schemaname = 'tanlu'")
    assert {"runs", "replies", "checkpoints", "checkpoint_writes"} <= {name for (name,) in made}
    assert rows(fresh, "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'") == [(0,)]


def bad_addresses(port: int) -> dict[str, str]:
    secret, other = quote(PASSWORD, safe=""), free_port()
    return {
        "wrong password": f"postgresql://{ROLE}:not-{secret}@127.0.0.1:{port}/postgres",
        "no such database": f"postgresql://{ROLE}:{secret}@127.0.0.1:{port}/nowhere",
        "nobody listens": f"postgresql://{ROLE}:{secret}@127.0.0.1:{other}/postgres",
        "at sign in the password": f"postgresql://{ROLE}:{PASSWORD}@127.0.0.1:{port}/postgres",
        "slash in the password": f"postgresql://{ROLE}:pw/tests@127.0.0.1:{port}/postgres",
        "another database": f"mysql://{ROLE}:{secret}@127.0.0.1:{port}/postgres",
        "a driver's name": f"postgresql+psycopg://{ROLE}:{secret}@127.0.0.1:{port}/postgres",
    }


@pytest.mark.parametrize("mistake", list(bad_addresses(1)))
async def test_a_bad_address_names_its_variable_and_never_shows_the_password(
    postgres: PostgresServer,
    mistake: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.setenv("DATABASE_URL", bad_addresses(postgres.port)[mistake])
    monkeypatch.delenv("LANGGRAPH_RUNTIME_EDITION", raising=False)
    async with make() as saver:
        assert "DATABASE_URL" in caplog.text
        with pytest.raises(ConfigurationError, match="DATABASE_URL") as caught:
            await saver.aget_tuple({"configurable": {"thread_id": "t"}})
    (found,) = await _data_folder(Settings())
    assert (found["state"], found["name"]) == ("broken", "threads")
    for said in (str(caught.value), found["detail"], repr(Settings()), caplog.text.strip()):
        assert "\n" not in said
        for part in (PASSWORD, "tests", quote(PASSWORD, safe="")):
            assert part not in said


def test_the_command_line_says_a_wrong_password_in_one_line(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DATABASE_URL", bad_addresses(postgres.port)["wrong password"])
    assert main(["ask", "--offline", "How do sodium-ion batteries work?"]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    assert "tests" not in err
    last = err.strip().splitlines()[-1]
    assert last.startswith("tanlu: DATABASE_URL cannot be used: ")
    assert "password authentication failed" in last


async def test_a_server_that_starts_before_its_database_works_once_that_is_there(
    fresh: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DATABASE_URL", fresh.get_secret_value())
    monkeypatch.delenv("LANGGRAPH_RUNTIME_EDITION", raising=False)
    await asyncio.to_thread(cut_off, fresh, for_good=True)
    thread: Any = {"configurable": {"thread_id": "t"}}
    async with make() as saver:
        with pytest.raises(ConfigurationError, match="DATABASE_URL"):
            await saver.aget_tuple(thread)
        await asyncio.to_thread(let_in, fresh)
        assert await saver.aget_tuple(thread) is None


async def test_the_doctor_names_the_database_without_its_password(database: SecretStr) -> None:
    (found,) = await _data_folder(Settings(database_url=database))
    assert found["state"] == "ok"
    assert "on 127.0.0.1:" in found["detail"]
    assert "tests" not in found["detail"]


async def test_without_the_extra_the_address_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in [n for n in sys.modules if n.startswith(("agent.runs.postgres", "psycopg"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "psycopg", None)
    address = SecretStr("postgresql://somebody@127.0.0.1/x")
    with pytest.raises(ConfigurationError, match=r"DATABASE_URL.*tanlu\[postgres\]"):
        async with open_saver(address):
            pass
    with pytest.raises(ConfigurationError, match=r"tanlu\[postgres\]"):
        await RunLog(address).working()


async def test_a_thread_is_deleted_after_what_a_cancelled_run_still_writes(
    fresh: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each write has a thread and a connection of its own: the deletion may overtake it."""
    begun, may_end = threading.Event(), threading.Event()
    put_writes = PostgresSaver.put_writes

    def slow(*arguments: Any) -> None:
        begun.set()
        may_end.wait(10)
        put_writes(*arguments)

    monkeypatch.setattr(PostgresSaver, "put_writes", slow)
    where: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": "", "checkpoint_id": "1f0"}}
    async with open_saver(fresh) as saver:
        writing = asyncio.create_task(saver.aput_writes(where, [("text", "a")], "task"))
        await asyncio.to_thread(begun.wait, 10)
        writing.cancel()
        deleting = asyncio.create_task(saver.adelete_thread("t"))
        # A deletion that waits for nothing has ended when another connection has come and gone.
        assert await saver.aget_tuple(where) is None
        may_end.set()
        await deleting
    assert rows(fresh, "SELECT count(*) FROM checkpoint_writes") == [(0,)]


async def test_connections_that_break_are_opened_again(
    database: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with open_threads(Settings(database_url=database)) as threads:
        run = a_run()
        await threads.runs.accept(run)
        await threads.reply_cache.save("turn", "key", "x")
        await asyncio.to_thread(cut_off, database)
        assert await threads.reply_cache.load("turn", "key") == "x"
        assert run.run_id in {r.run_id for r in await threads.runs.working()}
        config: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}
        await threads.saver.aput(config, CHECKPOINT, {}, {"text": "1"})
        found = await threads.saver.aget_tuple(config)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"text": "ab\ufffd"}


async def test_a_database_that_is_gone_is_one_line_wherever_it_is_used(
    fresh: SecretStr, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connections, "_PAUSES", (0.0, 0.05))
    async with open_threads(Settings(database_url=fresh)) as threads:
        await threads.reply_cache.save("turn", "key", "x")
        await threads.runs.working()
        await asyncio.to_thread(cut_off, fresh, for_good=True)
        with pytest.raises(StoreFailed, match=r"DATABASE_URL.*is gone") as caught:
            await threads.saver.aget_tuple({"configurable": {"thread_id": "t"}})
        with pytest.raises(StoreFailed, match="DATABASE_URL"):
            await threads.runs.accept(a_run())
        for asked in (threads.reply_cache.load("turn", "key"), threads.reply_cache.ready("turn")):
            with pytest.raises(StoreFailed, match="DATABASE_URL"):
                await asked
    assert "\n" not in str(caught.value)
    assert "Traceback" not in caplog.text
    assert "tests" not in caplog.text + str(caught.value)


async def test_a_living_process_that_loses_its_connection_is_soon_alive_for_others_again(
    fresh: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_BEAT_SECONDS", 0.05)
    alive, other = RunLog(fresh), RunLog(fresh)
    await alive.accept(a_run())
    assert await other.unfinished() == []
    await asyncio.to_thread(cut_off, fresh)
    async with asyncio.timeout(120):
        while await other.unfinished():  # noqa: ASYNC110 - the other side's thread changes it
            await asyncio.sleep(0.02)
    await alive.aclose()
    assert len(await other.unfinished()) == 1
    await other.aclose()


async def test_a_run_that_was_taken_up_is_not_closed_by_its_first_owner(fresh: SecretStr) -> None:
    slow, other = RunLog(fresh), RunLog(fresh)
    run = a_run()
    await slow.accept(run)
    (seen,) = await slow.working()
    await other.take(seen)
    await slow.finish(run.run_id)
    assert [r.run_id for r in await other.working()] == [run.run_id]
    await slow.aclose()
    await other.aclose()


async def test_a_turn_that_comes_back_from_another_process_is_not_paid_again(
    database: SecretStr,
) -> None:
    here, there = ReplyCache(database), ReplyCache(database)
    assert await here.load("wandering", "second") is None
    await there.save("wandering", "second", "paid\0 there\ud83d")
    assert await here.load("wandering", "second") == "paid there\ufffd"
    await here.aclose()
    await there.aclose()


async def test_a_second_server_of_a_database_is_refused_with_the_way_to_several(
    fresh: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lease, "_GONE_SECONDS", 0.3)
    async with only_server(fresh):
        with pytest.raises(AgentError, match=r"tanlu\[aegra\].*docs/deployment\.md") as refused:
            async with only_server(fresh):
                pass
        assert "\n" not in str(refused.value)
        async with open_threads(Settings(database_url=fresh)) as threads:
            await threads.runs.accept(a_run())
    async with only_server(fresh):
        """The first one has ended."""


SERVES = """
import asyncio, sys
from pydantic import SecretStr
from agent.runs.lease import only_server

async def main():
    async with only_server(SecretStr(sys.argv[1])):
        print("serves", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


def serve_and_be_killed(database: SecretStr) -> None:
    command = [sys.executable, "-c", SERVES, database.get_secret_value()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "serves\n"
        other.kill()


async def test_a_server_that_was_killed_is_not_in_the_way_of_its_restart(fresh: SecretStr) -> None:
    await asyncio.to_thread(serve_and_be_killed, fresh)
    async with asyncio.timeout(30), only_server(fresh):
        """It starts without being told to wait."""


async def test_a_server_that_loses_its_connection_is_soon_the_only_one_again(
    fresh: SecretStr, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connections, "_BEAT_SECONDS", 0.05)
    monkeypatch.setattr(lease, "_GONE_SECONDS", 0.0)
    async with only_server(fresh):
        await asyncio.to_thread(cut_off, fresh)
        async with asyncio.timeout(60):
            while not await is_refused(fresh):  # noqa: ASYNC110 - the other's thread changes it
                await asyncio.sleep(0.02)


async def is_refused(database: SecretStr) -> bool:
    lock = ServerLock(database)
    try:
        await lock.take()
    except SeveralServers:
        return True
    finally:
        await lock.aclose()
    return False


async def test_servers_that_start_without_their_database_say_later_that_they_are_several(
    fresh: SecretStr, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(lease, "_GONE_SECONDS", 0.0)
    monkeypatch.setattr(lease, "_AWAY_SECONDS", 0.05)
    await asyncio.to_thread(cut_off, fresh, for_good=True)
    async with only_server(fresh), only_server(fresh):
        await asyncio.to_thread(let_in, fresh)
        async with asyncio.timeout(60):
            while "tanlu[aegra]" not in caplog.text:  # noqa: ASYNC110 - another task logs it
                await asyncio.sleep(0.02)


async def test_a_role_that_owns_only_its_schema_is_enough(
    fresh: SecretStr, postgres: PostgresServer
) -> None:
    rows(fresh, "CREATE ROLE modest LOGIN PASSWORD 'modest-words'")
    rows(fresh, "CREATE SCHEMA tanlu AUTHORIZATION modest")
    name = fresh.get_secret_value().rpartition("/")[2]
    address = f"postgresql://modest:modest-words@127.0.0.1:{postgres.port}/{name}"
    async with open_threads(Settings(database_url=SecretStr(address))) as threads:
        await threads.runs.accept(a_run())
        assert len(await threads.runs.working()) == 1
