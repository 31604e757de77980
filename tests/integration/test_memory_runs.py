"""The cache of paid replies and the run log, in files and in Postgres."""

import asyncio
import threading
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from agent.core.errors import StoreFailed
from agent.core.redaction import hide
from agent.runs.reply_cache import AFTER_RUN, ReplyCache
from agent.runs.run_log import MAX_ATTEMPTS, RunLog
from agent.runs.sql import KEEP_SECONDS, Place
from tests.support.postgres import database_fixture, postgres_fixture, where_fixture, written_down
from tests.support.run_fixtures import a_run

__all__ = ["database_fixture", "postgres_fixture", "where_fixture"]


async def test_a_reply_is_found_again_only_in_its_own_turn(where: Place) -> None:
    reply_cache = ReplyCache(where)
    await reply_cache.save("turn-1", "key", "答复")
    assert await reply_cache.load("turn-1", "key") == "答复"
    assert await reply_cache.load("turn-2", "key") is None
    await reply_cache.forget("turn-1")
    assert await reply_cache.load("turn-1", "key") is None
    await reply_cache.aclose()


async def test_a_closed_turn_keeps_its_replies_until_its_last_step_is_saved(where: Place) -> None:
    async def close_in_a_run(reply_cache: ReplyCache, after_run: list[Any]) -> None:
        AFTER_RUN.set(after_run)
        await reply_cache.close_turn("turn")

    async with aclosing(ReplyCache(where)) as reply_cache:
        await reply_cache.save("turn", "key", "paid")
        after_run: list[Any] = []
        # A task, as a step of a run is: what it sets is seen there alone.
        await asyncio.create_task(close_in_a_run(reply_cache, after_run))
        assert await reply_cache.load("turn", "key") == "paid"
        for work in after_run:
            await work()
        assert await reply_cache.load("turn", "key") is None


async def test_a_reply_that_cannot_be_written_costs_nothing(
    where: Place, caplog: pytest.LogCaptureFixture
) -> None:
    async with aclosing(ReplyCache(where)) as reply_cache:
        await reply_cache.save("turn", "broken", "secret words \ud83d\x00")
        await reply_cache.save("turn", "whole", "答复")
        assert await reply_cache.load("turn", "broken") in (None, "secret words \ufffd")
        assert await reply_cache.load("turn", "whole") == "答复"
    assert "secret words" not in caplog.text


async def test_replies_older_than_seven_days_are_gone_when_the_cache_opens(
    where: Place,
) -> None:
    now = 1_000_000.0
    old = ReplyCache(where, clock=lambda: now - KEEP_SECONDS - 1)
    await old.save("turn", "old", "x")
    await old.aclose()
    reply_cache = ReplyCache(where, clock=lambda: now)
    assert await reply_cache.load("turn", "old") is None
    await reply_cache.aclose()


async def test_the_reply_cache_serves_several_event_loops_at_once(where: Place) -> None:
    reply_cache = ReplyCache(where)

    def other_loop(name: str) -> None:
        async def work() -> None:
            await asyncio.gather(*(reply_cache.save(name, str(n), name) for n in range(20)))
            assert await reply_cache.load(name, "19") == name

        asyncio.run(work())

    workers = [threading.Thread(target=other_loop, args=(f"loop-{n}",)) for n in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        await asyncio.to_thread(worker.join)
    assert await reply_cache.load("loop-3", "0") == "loop-3"
    await reply_cache.aclose()
    await reply_cache.aclose()


async def test_a_reply_cache_that_fails_lets_nothing_begin_and_saves_what_was_paid_once_it_works(
    where: Place,
) -> None:
    variable = "TANLU_DATA_DIR" if isinstance(where, Path) else "DATABASE_URL"
    async with aclosing(ReplyCache(where)) as reply_cache:
        await reply_cache.ready("turn")
        await reply_cache._database.run(lambda db: db.execute("ALTER TABLE replies RENAME TO away"))
        with pytest.raises(StoreFailed, match=variable):
            await reply_cache.save("turn", "key", "paid")
        for turn in ("turn", "another"):
            with pytest.raises(StoreFailed, match=variable):
                await reply_cache.ready(turn)
        assert await reply_cache.load("turn", "key") == "paid"
        await reply_cache.forget("ended")
        await reply_cache._database.run(lambda db: db.execute("ALTER TABLE away RENAME TO replies"))
        await reply_cache.ready("another")
    async with aclosing(ReplyCache(where)) as reply_cache:
        assert await reply_cache.load("turn", "key") == "paid"
        rows = await reply_cache._database.run(
            lambda db: db.execute("SELECT * FROM replies").fetchall()
        )
    assert len(rows) == 1


async def test_an_accepted_run_is_open_until_it_is_finished(where: Place) -> None:
    runs = RunLog(where)
    run = a_run(context={"max_research_loops": 1})
    await runs.accept(run)
    (open_run,) = await runs.working()
    assert (open_run.input, open_run.context) == (run.input, run.context)
    await runs.finish(run.run_id)
    assert await runs.working() == []
    await runs.aclose()


async def test_a_run_whose_process_lives_is_not_offered(where: Place) -> None:
    alive, other = RunLog(where), RunLog(where)
    await alive.accept(a_run())
    assert await other.unfinished() == []
    await alive.aclose()
    assert len(await other.unfinished()) == 1
    await other.aclose()


async def test_a_run_left_behind_is_taken_by_one_process_only(where: Place) -> None:
    gone, one, two = (RunLog(where) for _ in range(3))
    await gone.accept(a_run())
    await gone.aclose()
    (seen,) = await one.unfinished()
    assert await two.unfinished() == [seen]
    taken = await one.take(seen)
    assert taken is not None
    assert taken.attempts == 1
    assert await two.take(seen) is None
    assert await two.unfinished() == []
    await one.aclose()
    await two.aclose()


async def test_a_run_is_given_up_after_three_attempts(where: Place) -> None:
    run = a_run()
    first = RunLog(where)
    await first.accept(run)
    await first.aclose()
    for attempt in range(MAX_ATTEMPTS):
        process = RunLog(where)
        taken = await process.take((await process.unfinished())[0])
        assert taken is not None
        assert taken.attempts == attempt + 1
        await process.aclose()
    last = RunLog(where)
    assert await last.take((await last.unfinished())[0]) is None
    assert await last.unfinished() == []
    await last.aclose()


async def test_the_command_line_leaves_the_runs_of_a_server_alone(where: Place) -> None:
    server, cli = RunLog(where, "server /srv"), RunLog(where, "cli")
    await server.accept(a_run())
    await server.aclose()
    assert await cli.unfinished() == []
    await cli.aclose()


async def test_a_renamed_run_keeps_its_earlier_ids(where: Place) -> None:
    runs = RunLog(where)
    run = a_run()
    await runs.accept(run)
    renamed = await runs.rename((await runs.working())[0], "new-id")
    assert renamed.run_ids == (run.run_id, "new-id")
    assert (await runs.working())[0].run_ids == renamed.run_ids
    await runs.aclose()


async def test_no_key_reaches_the_run_log(where: Place) -> None:
    hide("CANARY-run-log-1234")
    runs = RunLog(where)
    await runs.accept(
        a_run(
            input={"messages": "my key is CANARY-run-log-1234"},
            context={"api_key": "sk-another-one", "max_run_tokens": 5000},
        )
    )
    (stored,) = await runs.working()
    assert stored.context == {"max_run_tokens": 5000}
    await runs.aclose()
    everything = written_down(where)
    assert b"CANARY" not in everything
    assert b"sk-another-one" not in everything


async def test_what_was_asked_is_not_kept_after_the_end(where: Place) -> None:
    runs = RunLog(where)
    run = a_run(input={"messages": "something private"})
    await runs.accept(run)
    await runs.finish(run.run_id, "error")
    rows = await runs._database.run(
        lambda db: db.execute("SELECT input, context, status FROM runs").fetchall()
    )
    assert rows == [("null", "{}", "error")]
    await runs.aclose()


async def test_only_the_last_half_minute_of_a_dead_process_is_looked_at_again(
    where: Place,
) -> None:
    now = [1000.0]
    dying = RunLog(where, clock=lambda: now[0])
    early, late, stopped = a_run(), a_run(assistant="other"), a_run()
    for run, seconds, end in (
        (early, 0, "success"),
        (late, 60, "error"),
        (stopped, 0, "cancelled"),
    ):
        await dying.accept(run)
        now[0] += seconds
        await dying.finish(run.run_id, end)
    await dying.aclose()
    restarted = RunLog(where, clock=lambda: now[0])
    assert await restarted.lately_ended() == [(late.thread_id, "other", "")]
    await restarted.aclose()
