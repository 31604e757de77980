"""`tanlu batch` as a process: its files, its progress, Ctrl-C, a spent quota, a cost limit."""

import asyncio
import contextlib
import json
import os
import signal
from typing import Any

import pytest

from agent.batch.answers import RowFile
from agent.texts import say
from tests.support.batch_lab import Here, here_fixture, rows_in, write_questions
from tests.support.command_line import (
    CANARY,
    EN,
    ZH,
    Cli,
    cli_fixture,
    gemini_fixture,
    keyed,
    searched,
    searches,
    until,
)
from tests.support.programs import Program, clean_environment
from tests.support.run_fixtures import whole_folder
from tests.support.standins import GeminiService, gemini_error

__all__ = ["cli_fixture", "gemini_fixture", "here_fixture"]

TO = ("-o", "answers.jsonl", "--assistant", "agent", "--set", "geo_routing=never")
POSIX = pytest.mark.skipif(os.name != "posix", reason="signals and terminals of POSIX")


def ask_for(cli: Cli, count: int) -> None:
    asked = [{"id": f"q{n}", "question": f"{EN} ({n})"} for n in range(count)]
    write_questions(cli.folder / "questions.jsonl", asked)


def rows(cli: Cli) -> list[dict[str, Any]]:
    return rows_in(cli.folder / "answers.jsonl")


def tasks(gemini: GeminiService, task: str) -> int:
    return sum(f"<task>{task}<" in str(request.body) for request in gemini.requests)


def test_a_batch_writes_rows_score_traces_and_a_log_and_does_nothing_the_second_time(
    cli: Cli, here: Here
) -> None:
    write_questions(
        cli.folder / "questions.jsonl",
        [
            {"task_id": "a/1", "Question": EN, "Level": 1, "Final answer": "sodium"},
            {"task_id": "b", "Question": ZH, "Level": 2, "Final answer": "", "file_name": ""},
            {"task_id": "c", "Question": "What is in it?", "file_name": "c.png"},
        ],
    )
    with (cli.folder / "questions.jsonl").open("a", encoding="utf-8") as file:
        file.write("{poisoned\n")
    command = ("batch", "questions.jsonl", *TO, "--offline", "--score", "--trace-dir", "traces")
    first = here(*command)
    assert first.code == 1, first.err
    assert "Line 4 is left out" in first.err
    assert "[3/3]" in first.err
    for shown in ("answered", "cost of the file", "interval", "level 1", "2 wrong"):
        assert shown in first.out
    found = {row["id"]: row for row in rows(cli)}
    assert {id: row["status"] for id, row in found.items()} == {
        "a/1": "answered", "b": "answered", "c": "skipped",
    }  # fmt: skip
    assert found["a/1"]["sources"][0]["number"] == 1
    traces = [json.loads(p.read_text("utf-8")) for p in (cli.folder / "traces").glob("*.json")]
    assert sorted(trace["id"] for trace in traces) == ["a/1", "b"]
    assert all(trace["queries"] and trace["sources"] for trace in traces)
    assert "question=a/1" in (cli.folder / "answers.jsonl.log").read_text("utf-8")
    before = (cli.folder / "answers.jsonl").read_bytes()
    second = here(*command, "--limit", "2")
    assert second.code == 1
    assert "2 already done" in second.err
    assert (cli.folder / "answers.jsonl").read_bytes() == before


def test_answers_in_another_form_stand_beside_their_rows(cli: Cli, here: Here) -> None:
    ask_for(cli, 3)
    asked = ("batch", "questions.jsonl", *TO, "--offline", "--format", "gaia", "--limit", "2")
    done = here(*asked, "--score")
    assert done.code == 0, done.err
    assert say("batch.unscorable", "en") in done.out
    assert [set(row) for row in rows(cli)] == [{"task_id", "model_answer", "reasoning_trace"}] * 2
    assert len(rows_in(cli.folder / "answers.jsonl.rows.jsonl")) == 2


@POSIX
def test_ctrl_c_finishes_what_is_in_flight_and_the_printed_command_goes_on(
    cli: Cli, here: Here, gemini: GeminiService
) -> None:
    ask_for(cli, 5)
    gemini.fail("hang", times=None, match=searches, seconds=3.0)
    process = cli.start("batch", "questions.jsonl", *TO, "--concurrency", "2", **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert "Traceback" not in err
    assert "finishing what is in flight" in err
    assert [row["status"] for row in rows(cli)] == ["answered", "answered"]
    gemini.faults.clear()
    done = here.resume(err, **keyed(gemini))
    assert done.code == 0, done.err
    assert sorted(row["id"] for row in rows(cli)) == [f"q{n}" for n in range(5)]
    assert tasks(gemini, "generate_query") == 5
    assert CANARY.encode() not in whole_folder(cli.folder)


@POSIX
def test_a_second_ctrl_c_leaves_what_is_in_flight_which_goes_on_later(
    cli: Cli, here: Here, gemini: GeminiService
) -> None:
    ask_for(cli, 2)
    gemini.fail("hang", times=None, match=searches)
    process = cli.start("batch", "questions.jsonl", *TO, **keyed(gemini))
    assert process.stderr is not None
    until(lambda: searched(gemini) == 2)
    process.send_signal(signal.SIGINT)
    for line in process.stderr:
        if "in flight" in line:
            break
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=240)
    assert process.returncode == 130, err
    assert rows(cli) == []
    gemini.faults.clear()
    done = here.resume(err, **keyed(gemini))
    assert done.code == 0, done.err
    assert [row["status"] for row in rows(cli)] == ["answered", "answered"]
    assert tasks(gemini, "generate_query") == 2


def test_a_spent_daily_quota_pauses_and_the_printed_command_goes_on(
    cli: Cli, here: Here, gemini: GeminiService
) -> None:
    ask_for(cli, 6)
    spent = gemini_error(429, quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier")

    def beyond(_request: Any, _body: Any) -> bool:
        """From the third question on."""
        return tasks(gemini, "generate_query") > 2

    gemini.fail("status", status=429, body=spent, times=None, match=beyond)
    done = here("batch", "questions.jsonl", *TO, "--concurrency", "1", **keyed(gemini))
    assert done.code == 1, done.err
    assert done.err.strip().splitlines()[-1].startswith("tanlu: The batch is paused, 4 left: ")
    assert [row["status"] for row in rows(cli)] == ["answered", "answered", "paused"]
    gemini.faults.clear()
    done = here.resume(done.err, **keyed(gemini))
    assert done.code == 0, done.err
    assert [row["status"] for row in rows(cli)] == ["answered"] * 6


def test_nothing_new_begins_once_the_cost_is_reached(
    cli: Cli, here: Here, gemini: GeminiService
) -> None:
    ask_for(cli, 3)
    limited = ("--concurrency", "1", "--max-cost", "0.000001")
    done = here("batch", "questions.jsonl", *TO, *limited, **keyed(gemini))
    assert done.code == 1
    assert "stopped, 2 left" in done.err
    assert len(rows(cli)) == 1
    assert rows(cli)[0]["usage"]["cost_usd"] > 0
    assert say("batch.more_cost", "en", command="") in done.err
    assert "--max-cost 1e-06" in done.err


@POSIX
def test_on_a_terminal_a_bar_tells_rate_cost_and_counts(cli: Cli) -> None:
    import pty

    ask_for(cli, 6)
    ours, theirs = pty.openpty()
    env = clean_environment(**cli.env, TERM="xterm-256color")
    command = ("-m", "agent", "batch", "questions.jsonl", *TO, "--offline")
    process = Program(*command, folder=cli.folder, env=env, stderr=theirs)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # what Linux says at the end of a terminal
        while part := os.read(ours, 65536):
            shown += part
    os.close(ours)
    out, _ = process.communicate(timeout=240)
    assert process.returncode == 0, shown
    text = shown.decode("utf-8", "replace")
    for word in ("/min", "0/6", "$0.00", "answered", "left"):
        assert word in text, text
    assert "questions" in out


def test_two_batches_do_not_write_one_file(cli: Cli, here: Here) -> None:
    ask_for(cli, 1)
    file = asyncio.run(RowFile.open(cli.folder / "answers.jsonl"))
    done = here("batch", "questions.jsonl", *TO, "--offline")
    asyncio.run(file.close())
    assert done.code == 2
    assert "ANSWERS" in done.err
    assert len(done.err.strip().splitlines()) == 1
