"""A batch that is killed and started again: every id once, none lost, no finished call repeated.

The stand-ins run in a process of their own and know which calls they answered to the end.
"""

import contextlib
import hashlib
import sqlite3
from collections import Counter
from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from benchmarks.loads import environment
from benchmarks.script import question
from benchmarks.standins import KEY, StandinOptions, Standins

from agent.batch.jobs import BatchTarget, job_of
from agent.batch.questions import Question
from tests.support.batch_lab import Here, here_fixture, rows_in, write_questions
from tests.support.command_line import Cli, cli_fixture, until
from tests.support.run_fixtures import whole_folder

__all__ = ["cli_fixture", "here_fixture"]
pytestmark = [pytest.mark.slow]

COUNT = 12
CALLS = 8
"""Of one question: queries, three searches, a reflection, two searches, the answer."""
COMMAND = (
    "batch", "questions.jsonl", "-o", "answers.jsonl", "--assistant", "agent",
    "--concurrency", "4", "--set", "geo_routing=never", "--set", "claim_check=false",
    # Whether one is begun and given up depends on what the kill left.
    "--set", "early_answer=false",
)  # fmt: skip


class AnsweredCalls:
    """What the stand-ins answered so far, by question."""

    def __init__(self, standins: Standins) -> None:
        self._standins = standins
        self._answered: Counter[int] = Counter()

    def answered(self) -> Counter[int]:
        for call in self._standins.stats()["gemini"]["calls"]:
            if call["status"] == 200:
                self._answered[call["run"]] += 1
        return self._answered


@pytest.fixture
def standins() -> Iterator[Standins]:
    with Standins(StandinOptions(scale=0.05)) as running:
        yield running


def _reached(answers: Path, rows: int) -> bool:
    return len(rows_in(answers)) >= rows


def count_unrecorded(cli: Cli, calls: AnsweredCalls, lost: Counter[int]) -> None:
    """Set `lost`: calls so far whose reply had not reached the disk at a kill, by question."""
    rows = {row["id"]: row for row in rows_in(cli.folder / "answers.jsonl")}
    answered = calls.answered()
    config = next(iter(rows.values()))["config"]
    place = BatchTarget((cli.folder / "answers.jsonl").resolve(), "agent", config)
    with contextlib.closing(sqlite3.connect(cli.folder / "data" / "runs.sqlite")) as db:
        for number in range(COUNT):
            if str(number) in rows:
                continue
            asked = Question(str(number), question(number), number + 1)
            job = job_of(asked, 0, place)
            name = f"{job.thread_id}\n{job.message_id}\n1".encode()
            turn = hashlib.sha256(name).hexdigest()[:32]
            (kept,) = db.execute("SELECT count(*) FROM replies WHERE turn_id = ?", (turn,))
            # Not a sum: a question in flight at two kills has been answered again meanwhile.
            lost[number] = max(0, answered[number] - kept[0])


def test_killed_again_and_again_every_question_is_answered_once_and_paid_once(
    cli: Cli, here: Here, standins: Standins
) -> None:
    answers, calls = cli.folder / "answers.jsonl", AnsweredCalls(standins)
    lost: Counter[int] = Counter()
    write_questions(
        cli.folder / "questions.jsonl",
        [{"id": str(n), "question": question(n)} for n in range(COUNT)],
    )
    settings = environment(standins)
    for reached in (1, 6):
        process = cli.start(*COMMAND, **settings)
        until(partial(_reached, answers, reached))
        process.kill()
        process.communicate(timeout=240)
        count_unrecorded(cli, calls, lost)
        with answers.open("ab") as file:
            file.write(b'{"id": "cut short by the kill", "ques')
    done = here(*COMMAND, **settings)
    assert done.code == 0, done.err
    assert "it is mended" in done.err
    rows = rows_in(answers)
    assert sorted(int(row["id"]) for row in rows) == list(range(COUNT))
    assert {row["status"] for row in rows} == {"answered"}
    assert all(row["sources"] for row in rows)
    assert {row["attempt"] for row in rows} == {0}
    answered = calls.answered()
    assert set(answered) == set(range(COUNT))
    # At most: a stand-in counts no reply whose reader was killed as it came to its end.
    assert all(answered[n] <= CALLS + lost[n] for n in range(COUNT)), (answered, lost)
    # Only a reply that came in the milliseconds before a kill can be unknown to the disk.
    assert 0 <= lost.total() <= 2 * 4 * 3
    assert {row["usage"]["model_calls"] for row in rows} == {CALLS}
    assert KEY.encode() not in whole_folder(cli.folder)
    assert leftovers(cli.folder) <= 2 * 4


def leftovers(folder: Path) -> int:
    """Threads that stayed after their questions were done."""
    with contextlib.closing(sqlite3.connect(folder / "data" / "threads.sqlite")) as db:
        (count,) = db.execute("SELECT count(DISTINCT thread_id) FROM checkpoints").fetchone()
    return int(count)
