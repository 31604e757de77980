"""One question on its way: its thread, its run, what is asked, and what came of it."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agent.batch.questions import Question
from agent.core.errors import AgentError
from agent.runs.run_log import AcceptedRun

_NAMESPACE = uuid.UUID("6f0c2a53-1f0b-5a0e-9a51-3d1c0c7f2b44")


@dataclass(frozen=True)
class Place:
    """Where a batch writes, and under which assistant and configuration it asks."""

    rows: Path
    """Absolute; part of every thread's name."""
    assistant: str
    config: str


@dataclass(frozen=True)
class Job:
    """One attempt at one question; the ids are the same in every process that works on it."""

    question: Question
    attempt: int
    thread_id: str
    run_id: str
    message_id: str

    def graph_input(self, *, formatted: bool) -> dict[str, Any]:
        """What the assistant gets; `formatted`: whether it takes a format requirement."""
        message = {"role": "user", "content": self.question.text, "id": self.message_id}
        given: dict[str, Any] = {"messages": [message]}
        if formatted and self.question.format_requirement:
            given["format_requirement"] = self.question.format_requirement
        return given

    def accepted(
        self, assistant: str, context: Mapping[str, Any], *, formatted: bool
    ) -> AcceptedRun:
        """The run as `checkpointer.run_config` takes it."""
        return AcceptedRun(
            run_id=self.run_id,
            thread_id=self.thread_id,
            assistant=assistant,
            input=self.graph_input(formatted=formatted),
            context=dict(context),
        )


def job_of(question: Question, attempt: int, place: Place) -> Job:
    """The same thread for the same attempt, so that a killed question goes on where it was.

    The question's words are part of the name: a changed question never takes over a thread.
    """
    words = (str(place.rows), place.assistant, place.config, question.id,
             question.text, str(attempt))  # fmt: skip
    thread = uuid.uuid5(_NAMESPACE, "\n".join(words))
    return Job(
        question,
        attempt,
        str(thread),
        str(uuid.uuid5(thread, "run")),
        str(uuid.uuid5(thread, "message")),
    )


def unreviewed() -> AgentError:
    """Where a server's own setting pauses the runs of a batch."""
    return AgentError("review_plan: the run waits for a review, which a batch cannot give")


@dataclass(frozen=True)
class Finished:
    """A run's last values, also where it failed; `error` is then what to show."""

    values: Mapping[str, Any]
    seconds: float
    error: AgentError | None = None


class Worker(Protocol):
    """Who runs the questions: this process, or a server."""

    @property
    def models(self) -> Mapping[str, str]:
        """The models by what they are for, as far as they are known here."""
        ...

    async def work(self, job: Job) -> Finished:
        """Run a question to its end, from where an earlier process left it.

        Raises ConfigurationError where no question could succeed, asyncio.CancelledError.
        """
        ...

    async def forget(self, job: Job, finished: Finished | None) -> None:
        """The row is on disk: what was kept to resume the question can go."""
        ...
