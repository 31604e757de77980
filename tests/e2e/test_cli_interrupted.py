"""`tanlu ask` interrupted, killed or left by its reader."""

import contextlib
import os
import signal
import sqlite3
from collections.abc import Iterator

import pytest

from tests.support.command_line import (
    ASPECTS_EN,
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
from tests.support.standins import GeminiService
from tests.support.terminal import terminal

__all__ = ["cli_fixture", "gemini_fixture"]


POSIX = pytest.mark.skipif(os.name != "posix", reason="signals")


@POSIX
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_what_ends_a_program_ends_the_run_in_order(
    cli: Cli, gemini: GeminiService, name: str
) -> None:
    gemini.fail("hang", times=None, match=searches)
    with _handled(signal.Signals[name], signal.SIG_DFL):
        process = cli.start("ask", *NO_MAP, ASPECTS_EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.send_signal(signal.Signals[name])
    out, err = process.communicate(timeout=240)
    assert (process.returncode, out) == (130, "")
    assert "Traceback" not in err
    assert "The question was cancelled. Go on with: " in err
    assert _runs(cli) == ["cancelled"]


@POSIX
def test_ctrl_c_ends_the_run_and_the_thread_goes_on_later(cli: Cli, gemini: GeminiService) -> None:
    gemini.fail("hang", times=None, match=searches)
    process = cli.start("ask", *NO_MAP, ASPECTS_EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=240)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    assert _runs(cli) == ["cancelled"]
    said = err.strip().splitlines()[-1]
    thread = said.split("--thread ")[1].split()[0]
    gemini.faults.clear()
    found = cli.ask("--thread", thread, *NO_MAP, **keyed(gemini))
    assert found["thread_id"] == thread
    assert found["sources"]
    assert _written_queries(gemini) == 1


@POSIX
def test_a_terminal_that_is_closed_ends_the_run_too(cli: Cli, gemini: GeminiService) -> None:
    """Nothing can be said any more then, which must not keep the run from its end."""
    gemini.fail("hang", times=None, match=searches)
    env = cli.terminal_environment(**keyed(gemini))
    with (
        _handled(signal.SIGHUP, signal.SIG_DFL),
        terminal("ask", *NO_MAP, ASPECTS_EN, folder=cli.folder, env=env) as screen,
    ):
        until(lambda: searched(gemini) > 1)
        screen.hang_up()
        assert screen.process.wait(timeout=240) == 130
    assert _runs(cli) == ["cancelled"]


@POSIX
def test_begun_by_nohup_it_outlives_the_terminal(cli: Cli, gemini: GeminiService) -> None:
    gemini.fail("hang", match=searches, seconds=3.0)
    with _handled(signal.SIGHUP, signal.SIG_IGN):
        process = cli.start("ask", *NO_MAP, ASPECTS_EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.send_signal(signal.SIGHUP)
    process.communicate(timeout=240)
    assert process.returncode == 0
    assert _runs(cli) == ["success"]


@POSIX
def test_begun_in_the_background_of_a_script_it_ends_when_it_is_told_to(
    cli: Cli, gemini: GeminiService
) -> None:
    """Shells have such a command ignore Ctrl-C, which is none of SIGTERM's."""
    gemini.fail("hang", times=None, match=searches)
    with _handled(signal.SIGINT, signal.SIG_IGN):
        process = cli.start("ask", *NO_MAP, ASPECTS_EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert _runs(cli) == ["cancelled"]


@POSIX
@pytest.mark.parametrize("asks_for_it", [True, False])
def test_a_killed_run_is_brought_to_its_end(
    cli: Cli, gemini: GeminiService, asks_for_it: bool
) -> None:
    gemini.fail("hang", times=None, match=searches)
    process = cli.start("ask", *NO_MAP, ASPECTS_EN, **keyed(gemini))
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


@contextlib.contextmanager
def _handled(number: signal.Signals, how: signal.Handlers) -> Iterator[None]:
    """Start what is started meanwhile with the signal ignored, or not, whatever we were given."""
    before = signal.signal(number, how)
    try:
        yield
    finally:
        signal.signal(number, before)


def _runs(cli: Cli) -> list[str]:
    with contextlib.closing(sqlite3.connect(cli.folder / "data" / "runs.sqlite")) as db:
        return [status for (status,) in db.execute("SELECT status FROM runs")]


def _only_thread(cli: Cli) -> str:
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
