"""Batches in tests: a worker that does as it is told, and `tanlu batch` as a process."""

import asyncio
import json
import logging
import shlex
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from agent.batch.answers import Row, RowFile
from agent.batch.jobs import BatchTarget, Finished, JobAttempt
from agent.batch.questions import Question
from agent.batch.runner import BatchCounts, BatchLimits, Runner
from agent.cli import main
from agent.cli.environment import configure_logging
from agent.core.errors import AgentError
from tests.support.command_line import Cli


def questions(count: int, **changes: Any) -> list[Question]:
    return [Question(f"q{n}", f"question {n}?", n + 1, **changes) for n in range(count)]


def values_of(text: str, **told: Any) -> dict[str, Any]:
    """A server's last values of a run that said this."""
    usage = {"model_calls": 1, "input_tokens": 10, "output_tokens": 5, "cost_usd": 0.01}
    kept = {"usage": usage, "gaps": [], **told}
    said = {"type": "ai", "content": text, "additional_kwargs": kept}
    return {"messages": [{"type": "human", "content": "?"}, said]}


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


def write_questions(path: Path, asked: Iterable[Mapping[str, Any]]) -> None:
    path.write_text("".join(json.dumps(q, ensure_ascii=False) + "\n" for q in asked), "utf-8")


def rows_in(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, whole lines only."""
    if not path.exists():
        return []
    whole = path.read_bytes().rpartition(b"\n")[0]
    return [json.loads(line) for line in whole.splitlines() if line]


@dataclass(frozen=True)
class Said:
    """What a command left behind."""

    code: int
    out: str
    err: str


class Here:
    """`tanlu` in this process, in the folder of `cli`: a process of its own takes seconds."""

    def __init__(
        self, cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._cli, self._monkeypatch, self._capsys = cli, monkeypatch, capsys

    def __call__(self, *argv: str, **env: str) -> Said:
        # Logging stays as it was: pytest's own writers are on the root, too.
        before = logging.getLogger().level
        with self._monkeypatch.context() as patch:
            patch.chdir(self._cli.folder)
            for name, value in {**self._cli.env, **env}.items():
                patch.setenv(name, value)
            if "--offline" in argv:
                patch.setenv("TANLU_MODE", "offline")
            try:
                code = main(argv)
            finally:
                configure_logging(None, None)
                logging.getLogger().setLevel(before)
        told = self._capsys.readouterr()
        return Said(code, told.out, told.err)

    def resume(self, said: str, **env: str) -> Said:
        """Run the command that the last line of stderr tells to go on with."""
        words = shlex.split(said.strip().splitlines()[-1].split("Go on with: ")[1])
        assert words[0] == "tanlu"
        return self(*words[1:], **env)


@pytest.fixture(name="here")
def here_fixture(
    cli: Cli, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Here:
    return Here(cli, monkeypatch, capsys)
