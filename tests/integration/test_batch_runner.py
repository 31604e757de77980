"""A batch decides what to ask, when to stop, and what a row says."""

import asyncio
import gc
import tracemalloc
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.batch.answers import Row, RowFile
from agent.batch.jobs import BatchTarget, Finished, JobAttempt, job_of
from agent.batch.questions import Question
from agent.batch.runner import BatchCounts, BatchLimits, Runner
from agent.core.errors import AgentError, ConfigurationError
from agent.core.redaction import hide
from tests.support.batch_lab import questions, values_of


def gap(code: str) -> dict[str, str]:
    return {"query": "q", "provider": "google", "code": code, "message": "the day is spent"}


class ScriptedWorker:
    """Answers as `say` says, each when `free` is set; records who was asked and who forgotten."""

    models: Mapping[str, str] = {"answer_model": "scripted"}

    def __init__(self, say: Callable[[JobAttempt], Finished] | None = None) -> None:
        self.say = say or (lambda job: Finished(values_of(f"answer {job.question.id}"), 0.1))
        self.free = asyncio.Event()
        self.free.set()
        self.asked: list[tuple[str, int]] = []
        self.forgotten: list[str] = []
        self.now = self.most = 0

    async def work(self, job: JobAttempt) -> Finished:
        self.asked.append((job.question.id, job.attempt))
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            await asyncio.sleep(0)
            await self.free.wait()
            return self.say(job)
        finally:
            self.now -= 1

    async def forget(self, job: JobAttempt, finished: Finished | None) -> None:
        self.forgotten.append(job.question.id)


class Quiet:
    """Progress that shows and keeps nothing."""

    def begin(self, counts: BatchCounts) -> None:
        """Nothing to show."""

    def row_done(self, row: Row, counts: BatchCounts) -> None:
        """Nothing to show."""

    def notice(self, line: str) -> None:
        """Nothing to show."""


@asynccontextmanager
async def runner_over(
    path: Path, worker: ScriptedWorker, **limits: Any
) -> AsyncIterator[tuple[Runner, RowFile]]:
    async with await RowFile.open(path) as file:
        place = BatchTarget(path, "agent", "config")
        yield Runner(worker, file, place, limits=BatchLimits(**limits), progress=Quiet()), file


async def run_once(
    path: Path, worker: ScriptedWorker, asked: Sequence[Question], **limits: Any
) -> tuple[Runner, list[Row]]:
    """One start of a batch; its runner and the rows in the file afterwards."""
    async with runner_over(path, worker, **limits) as (runner, file):
        await runner.run(asked)
        return runner, await file.rows()


def spent_day(job: JobAttempt) -> Finished:
    """A run that the day's quota kept from an answer."""
    gaps = [gap("model_quota_day")]
    return Finished({"gaps": gaps}, 0.1, AgentError("every source failed"))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "answers.jsonl"


async def until(worker: ScriptedWorker, asked: int) -> None:
    async with asyncio.timeout(120):
        while len(worker.asked) < asked:  # noqa: ASYNC110 - the runner has no event for it
            await asyncio.sleep(0)


async def test_every_question_gets_one_row_with_all_its_fields(path: Path) -> None:
    runner, rows = await run_once(path, ScriptedWorker(), questions(20), concurrency=4)
    assert sorted(row["id"] for row in rows) == sorted(q.id for q in questions(20))
    assert rows[0] == {
        "id": rows[0]["id"],
        "question": rows[0]["question"],
        "answer": f"answer {rows[0]['id']}",
        "status": "answered",
        "error": None,
        "sources": [],
        "usage": {
            "model_calls": 1, "input_tokens": 10, "output_tokens": 5, "searches": 0,
            "map_calls": 0, "seconds": 0.1, "cost_usd": 0.01,
        },
        "models": {"answer_model": "scripted"},
        "seconds": 0.1,
        "config": "config",
        "attempt": 0,
        "assistant": "agent",
        "settings": {},
    }  # fmt: skip
    assert (runner.counts.rows_done, runner.counts.left) == (20, 0)
    assert runner.counts.cost_usd == pytest.approx(0.2)


async def test_a_row_tells_what_was_expected_and_how_its_claims_were_checked(path: Path) -> None:
    claims = {"total": 3, "quoted": 2, "marked": 1}

    def say(job: JobAttempt) -> Finished:
        checks = {"claims": claims, "statements": ["long"]}
        return Finished(values_of("391", checks=checks), 0.1)

    given = questions(1, expected="391", benchmark="gaia")
    _, rows = await run_once(path, ScriptedWorker(say), given)
    assert (rows[0]["expected"], rows[0]["benchmark"]) == ("391", "gaia")
    assert rows[0]["claims"] == claims
    assert "statements" not in str(rows[0])


async def test_never_more_are_asked_at_once_than_allowed(path: Path) -> None:
    worker = ScriptedWorker()
    worker.free.clear()
    async with runner_over(path, worker, concurrency=3) as (runner, _):
        running = asyncio.create_task(runner.run(questions(10)))
        await until(worker, 3)
        worker.free.set()
        await running
    assert worker.most == 3


async def test_a_second_start_asks_nothing_that_has_a_row(path: Path) -> None:
    await run_once(path, ScriptedWorker(), questions(5))
    again = ScriptedWorker()
    runner, rows = await run_once(path, again, questions(7))
    assert [id for id, _ in again.asked] == ["q5", "q6"]
    assert (runner.counts.before, len(rows)) == (5, 7)


async def test_another_configuration_is_asked_anew(path: Path) -> None:
    await run_once(path, ScriptedWorker(), questions(2))
    async with await RowFile.open(path) as file:
        assert file.entry("q0", "config")
        assert file.entry("q0", "another") is None


async def test_a_question_that_needs_a_file_is_skipped_without_being_asked(path: Path) -> None:
    worker = ScriptedWorker()
    for _ in range(2):
        _, rows = await run_once(path, worker, questions(2, needs_file=True))
    assert worker.asked == []
    assert [row["status"] for row in rows] == ["skipped", "skipped"]


async def test_a_failed_question_is_asked_again_only_on_demand(path: Path) -> None:
    failing = ScriptedWorker(lambda job: Finished({}, 0.1, AgentError("no luck")))
    _, rows = await run_once(path, failing, questions(1))
    assert (rows[0]["status"], rows[0]["error"]) == ("failed", "no luck")
    idle, again = ScriptedWorker(), ScriptedWorker()
    await run_once(path, idle, questions(1))
    _, rows = await run_once(path, again, questions(1), retry_failed=True)
    assert idle.asked == []
    assert again.asked == [("q0", 1)]
    assert [row["status"] for row in rows] == ["answered"]


async def test_nothing_new_begins_once_the_file_has_cost_enough(path: Path) -> None:
    worker = ScriptedWorker()
    runner, rows = await run_once(path, worker, questions(50), concurrency=2, max_cost=0.05)
    assert runner.stopped == "max_cost"
    assert 5 <= len(rows) <= 6
    assert runner.counts.left == 50 - len(rows)
    more = ScriptedWorker()
    runner, rows = await run_once(path, more, questions(50), max_cost=0.05)
    assert more.asked == []
    assert runner.stopped == "max_cost"


@pytest.mark.parametrize("code", ["model_quota_day", "model_quota", "search_quota"])
async def test_a_spent_quota_pauses_the_batch_instead_of_failing_rows(
    path: Path, code: str
) -> None:
    def say(job: JobAttempt) -> Finished:
        if int(job.question.id[1:]) < 3:
            return Finished(values_of("fine"), 0.1)
        return Finished({"gaps": [gap(code)]}, 0.1, AgentError("every source failed"))

    worker = ScriptedWorker(say)
    runner, rows = await run_once(path, worker, questions(100), concurrency=2)
    statuses = [row["status"] for row in rows]
    assert runner.stopped == "quota"
    assert "the day is spent" in runner.reason
    assert statuses.count("answered") == 3
    assert 1 <= statuses.count("paused") <= 2
    assert "failed" not in statuses
    tomorrow = ScriptedWorker()
    runner, rows = await run_once(path, tomorrow, questions(100))
    assert {row["status"] for row in rows} == {"answered"}
    assert (len(rows), len(tomorrow.asked)) == (100, 97)


async def test_an_answer_in_spite_of_a_spent_quota_is_an_answer(path: Path) -> None:
    told = {"gaps": [gap("search_quota")]}
    worker = ScriptedWorker(lambda job: Finished(values_of("found elsewhere", **told), 0.1))
    runner, rows = await run_once(path, worker, questions(2))
    assert runner.stopped is None
    assert [row["status"] for row in rows] == ["answered", "answered"]


async def test_a_makeshift_answer_under_a_spent_quota_is_paused(path: Path) -> None:
    told = {"gaps": [gap("model_quota_day")], "degraded": True}
    worker = ScriptedWorker(lambda job: Finished(values_of("makeshift", **told), 0.1))
    runner, rows = await run_once(path, worker, questions(1))
    assert (runner.stopped, rows[0]["status"], rows[0]["answer"]) == ("quota", "paused", "")


async def test_a_bare_answer_is_the_row_s_and_none_is_honest(path: Path) -> None:
    def say(job: JobAttempt) -> Finished:
        final = "1,234" if job.question.id == "q0" else ""
        return Finished(values_of("**Answer: 1,234** …", final_answer=final), 0.1)

    _, rows = await run_once(path, ScriptedWorker(say), questions(2))
    found = {row["id"]: (row["answer"], row["status"]) for row in rows}
    assert found == {"q0": ("1,234", "answered"), "q1": ("", "no_answer")}


async def test_none_because_models_failed_is_no_honest_none(path: Path) -> None:
    told = {"gaps": [gap("unavailable")], "degraded": True}
    values = values_of("**No answer …**", final_answer="", **told)
    _, rows = await run_once(path, ScriptedWorker(lambda job: Finished(values, 0.1)), questions(1))
    assert (rows[0]["status"], rows[0]["answer"]) == ("failed", "")
    assert rows[0]["error"]


async def test_stopping_lets_what_is_in_flight_finish(path: Path) -> None:
    worker = ScriptedWorker()
    worker.free.clear()
    async with runner_over(path, worker, concurrency=2) as (runner, file):
        running = asyncio.create_task(runner.run(questions(10)))
        await until(worker, 2)
        runner.stop("interrupted", "interrupted")
        worker.free.set()
        await running
        assert {row["id"] for row in await file.rows()} == {"q0", "q1"}
    assert len(worker.asked) == 2
    assert runner.counts.left == 8


async def test_cancelling_leaves_what_is_in_flight_for_the_next_start(path: Path) -> None:
    worker = ScriptedWorker()
    worker.free.clear()
    async with runner_over(path, worker, concurrency=2) as (runner, file):
        running = asyncio.create_task(runner.run(questions(3)))
        await until(worker, 2)
        runner.cancel()
        await running
        assert await file.rows() == []
    again = ScriptedWorker()
    _, rows = await run_once(path, again, questions(3))
    assert len(rows) == 3
    assert [attempt for _, attempt in again.asked] == [0, 0, 0]


async def test_what_no_question_can_pass_fails_no_row(path: Path) -> None:
    def say(job: JobAttempt) -> Finished:
        raise ConfigurationError("ANSWER_MODEL", "is no model")

    runner, rows = await run_once(path, ScriptedWorker(say), questions(20), concurrency=2)
    assert runner.stopped == "error"
    assert "ANSWER_MODEL" in runner.reason
    assert rows == []


async def test_a_row_that_cannot_be_written_ends_the_batch(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def full(self: Any, row: Any) -> None:
        raise AgentError("no space left")

    monkeypatch.setattr(RowFile, "append", full)
    worker = ScriptedWorker()
    with pytest.raises(AgentError, match="no space left"):
        await run_once(path, worker, questions(50), concurrency=2)
    assert len(worker.asked) <= 4
    assert worker.forgotten == []


async def test_a_thread_is_forgotten_only_after_its_row_is_on_disk(path: Path) -> None:
    written: list[int] = []

    class Watching(ScriptedWorker):
        async def forget(self, job: JobAttempt, finished: Finished | None) -> None:
            text = await asyncio.to_thread(path.read_text, "utf-8")
            written.append(text.count(f'"{job.question.id}"'))

    await run_once(path, Watching(), questions(5))
    assert written == [1, 1, 1, 1, 1]


async def test_no_key_reaches_a_row(path: Path) -> None:
    hide("sk-canary-0123456789")
    said = values_of("the key is sk-canary-0123456789", sources=[
        {"number": 1, "title": "sk-canary-0123456789", "url": "https://a.example/?key=sk-canary-0123456789"}
    ])  # fmt: skip
    await run_once(path, ScriptedWorker(lambda job: Finished(said, 0.1)), questions(1))
    assert "sk-canary" not in await asyncio.to_thread(path.read_text, "utf-8")


async def test_memory_does_not_grow_with_finished_questions(path: Path) -> None:
    big = "x" * 100_000
    worker = ScriptedWorker(lambda job: Finished(values_of(big + job.question.id), 0.1))
    asked = questions(200)
    taken: list[int] = []

    class Measuring(ScriptedWorker):
        async def forget(self, job: JobAttempt, finished: Finished | None) -> None:
            if job.question.id in ("q49", "q199"):
                gc.collect()
                taken.append(tracemalloc.get_traced_memory()[0])

    measuring = Measuring(worker.say)
    tracemalloc.start()
    try:
        await run_once(path, measuring, asked)
    finally:
        tracemalloc.stop()
    # A row is 100 kB; what stays of one is its place in the file.
    assert taken[1] - taken[0] < 400_000


def test_the_thread_of_an_attempt_is_the_same_in_every_process(tmp_path: Path) -> None:
    place = BatchTarget(tmp_path / "answers.jsonl", "agent", "config")
    question = Question("1", "who?", 1)
    first = job_of(question, 0, place)
    assert job_of(question, 0, place) == first
    others = [
        job_of(question, 1, place),
        job_of(Question("1", "when?", 1), 0, place),
        job_of(question, 0, BatchTarget(place.rows, "agent", "other")),
        job_of(question, 0, BatchTarget(tmp_path / "other.jsonl", "agent", "config")),
    ]
    assert len({first.thread_id, *(job.thread_id for job in others)}) == 5


async def test_a_quota_that_stays_spent_pauses_again(path: Path) -> None:
    for _ in range(2):
        runner, rows = await run_once(path, ScriptedWorker(spent_day), questions(4), concurrency=1)
        assert runner.stopped == "quota"
        assert [row["status"] for row in rows] == ["paused"]
    assert rows[0]["attempt"] == 1
