"""A batch on `langgraph dev`: killed, the server killed, gone on with, finished here.

One server for all of it. The stand-ins run in a process of their own and count what they answered.
"""

import os
import time
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from benchmarks.loads import environment
from benchmarks.script import question
from benchmarks.standins import StandinOptions, Standins

from tests.support.batch_lab import Here, here_fixture, rows_in, write_questions
from tests.support.command_line import Cli, cli_fixture, until
from tests.support.dev_server import DevServer, dev_server
from tests.support.run_fixtures import whole_folder

__all__ = ["cli_fixture", "here_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]

COUNT = 10
CALLS = 8
KEY = "canary-tanlu-key-0123456789"
TO = ("-o", "answers.jsonl", "--assistant", "agent", "--set", "geo_routing=never",
      "--set", "claim_check=false",
      "--concurrency", "4")  # fmt: skip


@pytest.fixture(scope="module")
def standins() -> Iterator[Standins]:
    with Standins(StandinOptions(scale=0.1)) as running:
        yield running


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, standins: Standins) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("server"), env=environment(standins)) as started:
        yield started


def ask_for(cli: Cli, count: int) -> None:
    asked = [{"id": str(n), "question": question(n)} for n in range(count)]
    write_questions(cli.folder / "questions.jsonl", asked)


def reached(answers: Path, rows: int) -> bool:
    return len(rows_in(answers)) >= rows


def as_if_it_had_run_for_an_hour(server: DevServer) -> None:
    """The age of what a killed server leaves is its life; only old leftovers are removed."""
    for left in (server.folder / "threads" / "owners").iterdir():
        os.utime(left, (time.time() - 3600,) * 2)


def test_a_batch_and_its_server_are_killed_and_every_question_is_answered_once(
    cli: Cli, here: Here, server: DevServer, standins: Standins
) -> None:
    ask_for(cli, COUNT)
    answers = cli.folder / "answers.jsonl"
    command = ("batch", "questions.jsonl", *TO, "--url", server.url)
    process = cli.start(*command, TANLU_API_KEY=KEY)
    until(partial(reached, answers, 1))
    process.kill()
    process.communicate(timeout=240)
    before = len(rows_in(answers))
    process = cli.start(*command, TANLU_API_KEY=KEY)
    until(partial(reached, answers, before + 1))
    server.kill()
    as_if_it_had_run_for_an_hour(server)
    server.start()
    _, err = process.communicate(timeout=240)
    assert process.returncode == 0, err
    rows = rows_in(answers)
    assert sorted(int(row["id"]) for row in rows) == list(range(COUNT))
    assert {row["status"] for row in rows} == {"answered"}
    assert all(row["sources"] for row in rows)
    answered: Counter[int] = Counter()
    for call in standins.stats()["gemini"]["calls"]:
        answered[call["run"]] += call["status"] == 200
    assert all(answered[number] >= CALLS for number in range(COUNT))
    # Killing the batch repeats nothing; killing the server only what came in its last moment.
    assert sum(answered.values()) <= COUNT * CALLS + 4 * 3, answered
    assert KEY.encode() not in whole_folder(cli.folder)
    assert "BlockingError" not in server.output()
    assert "interrupted runs are not continued" not in server.output()
    settings = environment(standins)
    # A setting of the server, and none of those that the questions were asked with.
    del settings["RESOLVE_LINKS"]
    done = here("batch", "questions.jsonl", *TO, **settings)
    assert done.code == 0, done.err
    assert f"{COUNT} already done" in done.err


def test_a_server_says_what_it_does_not_know(cli: Cli, here: Here, server: DevServer) -> None:
    ask_for(cli, 1)
    to = ("batch", "questions.jsonl", "-o", "answers.jsonl", "--url", server.url)
    for wrong, named in (
        (("--assistant", "nobody"), "--assistant"),
        (("--assistant", "agent", "--set", "no_such=1"), "--set no_such"),
    ):
        done = here(*to, *wrong)
        assert done.code == 2
        assert named in done.err
    assert rows_in(cli.folder / "answers.jsonl") == []
