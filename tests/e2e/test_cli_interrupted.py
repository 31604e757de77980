"""`tanlu ask` interrupted, killed or left by its reader."""

import contextlib
import os
import signal

import pytest

from agent.offline.gemini import GeminiService
from tests.support.command_line import (
    EN,
    NO_MAP,
    Cli,
    cli_fixture,
    gemini_fixture,
    keyed,
    searched,
    searches,
    until,
)

__all__ = ["cli_fixture", "gemini_fixture"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_run_and_the_thread_goes_on_later(cli: Cli, gemini: GeminiService) -> None:
    gemini.fail("hang", times=None, match=searches)
    process = cli.start("ask", *NO_MAP, EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    said = err.strip().splitlines()[-1]
    thread = said.split("--thread ")[1].split()[0]
    gemini.faults.clear()
    found = cli.ask("--thread", thread, *NO_MAP, **keyed(gemini))
    assert found["thread_id"] == thread
    assert found["sources"]
    assert _written_queries(gemini) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("asks_for_it", [True, False])
def test_a_killed_run_is_brought_to_its_end(
    cli: Cli, gemini: GeminiService, asks_for_it: bool
) -> None:
    gemini.fail("hang", times=None, match=searches)
    process = cli.start("ask", *NO_MAP, EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.kill()
    process.communicate(timeout=240)
    gemini.faults.clear()
    thread = _only_thread(cli)
    if not asks_for_it:
        done = cli.run("ask", *NO_MAP, "Who built the Bund?", **keyed(gemini))
        assert done.returncode == 0, done.stderr
        assert thread in done.stderr
    found = cli.ask("--thread", thread, *NO_MAP, **keyed(gemini))
    assert found["sources"]
    assert found["answer"]


def _only_thread(cli: Cli) -> str:
    import sqlite3

    with contextlib.closing(sqlite3.connect(cli.folder / "data" / "runs.sqlite")) as db:
        (row,) = db.execute("SELECT thread_id FROM runs WHERE status = 'open'").fetchall()
    return str(row[0])


def _written_queries(gemini: GeminiService) -> int:
    return sum("<task>generate_query" in str(r.body) for r in gemini.requests)


def test_a_reader_that_goes_away_is_no_traceback(cli: Cli) -> None:
    process = cli.start("ask", "--offline", *NO_MAP, EN)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    assert process.wait(timeout=240) == 1
