"""A question of a batch in this process: goes on where it was, and leaves nothing behind."""

import asyncio
import contextlib
import os
import sqlite3
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from langgraph.types import StateSnapshot

from agent.assistants.common.services import Services
from agent.batch.jobs import BatchTarget, Finished, JobAttempt, attempt_result, job_of
from agent.batch.local import LocalWorker
from agent.batch.questions import Question
from agent.core.errors import ConfigurationError
from agent.runs.threads import open_threads
from agent.services import build_services
from agent.settings import read_settings
from tests.support.command_line import ASPECTS_EN, searches
from tests.support.lab import EN, with_clock
from tests.support.standins import GeminiService, gemini_error

CONTEXT = {"geo_routing": "never"}
DAY = timedelta(days=1)
SPENT = gemini_error(429, quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier")


def place(tmp_path: Path) -> BatchTarget:
    return BatchTarget(tmp_path / "a.jsonl", "agent", "c", {"geo_routing": "never"})


def job(tmp_path: Path, text: str = EN) -> JobAttempt:
    return job_of(Question("1", text, 1), 0, place(tmp_path))


@asynccontextmanager
async def working(
    services: Services, assistant: str = "agent", context: dict[str, Any] | None = None
) -> AsyncIterator[LocalWorker]:
    """A worker as a process of its own would have it, over these services."""
    async with open_threads(read_settings()) as threads:
        given = CONTEXT if context is None else context
        yield LocalWorker(assistant, given, threads=threads, services=services)


@pytest.fixture
async def services() -> AsyncIterator[Services]:
    from agent.runs.reply_cache import ReplyCache

    settings = read_settings(tanlu_mode="offline")
    built = build_services(settings, reply_cache=ReplyCache(settings.tanlu_data_dir))
    yield built
    await built.aclose()


@pytest.fixture
def gemini(services: Services) -> GeminiService:
    assert services.sample
    found = services.sample.services["gemini"]
    assert isinstance(found, GeminiService)
    return found


def count(file: str, what: str) -> int:
    folder = Path(os.environ["TANLU_DATA_DIR"])
    with contextlib.closing(sqlite3.connect(folder / file)) as db:
        return int(db.execute(f"SELECT count(*) FROM {what}").fetchone()[0])


async def left_in_flight(services: Services, gemini: GeminiService, given: JobAttempt) -> None:
    """A process begins the question and dies while it searches."""
    fault = gemini.fail("hang", times=None, match=searches)
    before = sum(searches(None, r.body) for r in gemini.requests)
    async with working(services) as worker:
        begun = asyncio.create_task(worker.work(given))
        async with asyncio.timeout(120):
            while sum(searches(None, r.body) for r in gemini.requests) < before + 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        begun.cancel()
        await asyncio.gather(begun, return_exceptions=True)
    fault.times = 0


def written(gemini: GeminiService) -> int:
    return sum("<task>generate_query<" in str(request.body) for request in gemini.requests)


async def test_a_question_goes_on_from_its_last_step(
    tmp_path: Path, services: Services, gemini: GeminiService
) -> None:
    given = job(tmp_path, ASPECTS_EN)
    await left_in_flight(services, gemini, given)
    async with working(services) as worker:
        finished = await worker.work(given)
    assert finished.error is None
    assert written(gemini) == 1


async def test_the_night_between_two_starts_does_not_count_as_working_time(
    tmp_path: Path, services: Services, gemini: GeminiService
) -> None:
    given = job(tmp_path, ASPECTS_EN)
    await left_in_flight(services, gemini, given)
    for turn_id in list(services.budgets._open):
        services.budgets.close(turn_id)
    tomorrow = with_clock(services, lambda: datetime.now().astimezone() + DAY)
    async with working(tomorrow) as worker:
        finished = await worker.work(given)
    gaps = finished.values["gaps"]
    assert [gap for gap in gaps if gap["code"].startswith("budget_")] == []
    assert finished.seconds < 300


async def test_several_nights_do_not_count_either(services: Services) -> None:
    began = datetime.now().astimezone() - 2 * DAY
    last_step = began + DAY + timedelta(seconds=100)
    turn = {"id": "a-turn", "started_at": began.timestamp()}
    found = StateSnapshot(
        {"turn": turn}, ("web_research",), {}, {"tanlu_idle_seconds": DAY.total_seconds()},  # type: ignore[typeddict-unknown-key]
        last_step.isoformat(), None, (), (),
    )  # fmt: skip
    async with working(services) as worker:
        idle = worker._go_on_counting(found)
    assert services.budgets._open["a-turn"].seconds() == pytest.approx(100, abs=60)
    assert idle == pytest.approx(2 * DAY.total_seconds() - 100, abs=60)


async def test_a_finished_question_is_found_finished(
    tmp_path: Path, services: Services, gemini: GeminiService
) -> None:
    given = job(tmp_path)
    async with working(services) as worker:
        first = await worker.work(given)
        asked = len(gemini.requests)
    async with working(services) as worker:
        again = await worker.work(given)
    assert len(gemini.requests) == asked
    assert again.values["messages"][-1].text == first.values["messages"][-1].text


async def test_thread_and_paid_replies_stay_until_the_row_is_written(
    tmp_path: Path, services: Services
) -> None:
    given = job(tmp_path)
    async with working(services) as worker:
        finished = await worker.work(given)
        assert count("threads.sqlite", "checkpoints") > 3
        assert count("runs.sqlite", "replies") > 2
        await worker.forget(given, finished)
    for table in ("checkpoints", "writes"):
        assert count("threads.sqlite", table) == 0
    assert count("runs.sqlite", "replies") == 0
    assert services.budgets._open == {}


async def test_a_question_without_any_source_fails_with_its_reason_and_its_cost(
    tmp_path: Path, services: Services, gemini: GeminiService
) -> None:
    assert services.sample
    for service in services.sample.services.values():
        if service is not gemini:
            service.fail("status", status=401, times=None)
    gemini.fail("status", status=400, body=gemini_error(400), times=None, match=searches)
    given = job(tmp_path)
    async with working(services, context={**CONTEXT, "max_research_loops": 1}) as worker:
        finished = await worker.work(given)
        result = attempt_result(given, finished, place(tmp_path), models=worker.models)
    assert result.row["status"] == "failed"
    assert "every source failed" in (result.row["error"] or "")
    assert result.row["usage"]["model_calls"] > 0


async def test_the_spent_quota_of_a_day_pauses_the_question(
    tmp_path: Path, services: Services, gemini: GeminiService
) -> None:
    gemini.fail("status", status=429, body=SPENT, times=None)
    given = job(tmp_path)
    async with working(services) as worker:
        finished = await worker.work(given)
        result = attempt_result(given, finished, place(tmp_path), models=worker.models)
    assert result.row["status"] == "paused"
    assert result.quota
    assert "quota" in result.quota


async def test_a_question_that_cannot_be_asked_fails_alone(
    tmp_path: Path, services: Services
) -> None:
    given = job(tmp_path, text="x" * 30_000)
    async with working(services) as worker:
        finished: Finished = await worker.work(given)
    assert finished.error is not None
    assert "messages" in str(finished.error) or "longer" in str(finished.error)


async def test_a_model_that_does_not_exist_ends_the_batch(
    tmp_path: Path, services: Services
) -> None:
    context = {**CONTEXT, "answer_model": "nobody:nothing"}
    async with working(services, context=context) as worker:
        with pytest.raises(ConfigurationError, match="nobody"):
            await worker.work(job(tmp_path))


async def test_the_row_names_the_models(services: Services) -> None:
    async with working(services, context={"answer_model": "gemini-3.5-flash-lite"}) as worker:
        assert worker.models["answer_model"] == "gemini-3.5-flash-lite"
        assert set(worker.models) == {
            "query_generator_model", "research_model", "reflection_model", "answer_model",
        }  # fmt: skip
