"""Describe one question of a batch: its thread, its run, its input, its result."""

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from agent.batch.questions import Question
from agent.core.errors import AgentError
from agent.runs.run_log import AcceptedRun

_NAMESPACE = uuid.UUID("6f0c2a53-1f0b-5a0e-9a51-3d1c0c7f2b44")


@dataclass(frozen=True)
class Place:
    """Name a batch's file of rows, its assistant and its configuration."""

    rows: Path
    """Absolute; part of every thread's name."""
    assistant: str
    config: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    """What differs from the defaults; told in the rows."""


@dataclass(frozen=True)
class Job:
    """Hold one attempt at one question; the ids are the same in every process that works on it."""

    question: Question
    attempt: int
    thread_id: str
    run_id: str
    message_id: str

    def graph_input(self, *, formatted: bool) -> dict[str, Any]:
        """Return the input of the run; `formatted` means that the assistant takes a format."""
        message = {"role": "user", "content": self.question.text, "id": self.message_id}
        values: dict[str, Any] = {"messages": [message]}
        if formatted and self.question.format_requirement:
            values["format_requirement"] = self.question.format_requirement
        return values

    def accepted_run(
        self, assistant: str, context: Mapping[str, Any], *, formatted: bool
    ) -> AcceptedRun:
        """Return the run as `threads.run_config` takes it."""
        return AcceptedRun(
            run_id=self.run_id,
            thread_id=self.thread_id,
            assistant=assistant,
            input=self.graph_input(formatted=formatted),
            context=dict(context),
        )


def job_of(question: Question, attempt: int, place: Place) -> Job:
    """Return the job of an attempt, always on the same thread: a killed question goes on there.

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


def review_error() -> AgentError:
    """Return the error of a run that a setting of the server pauses for a review."""
    return AgentError("review_plan: the run waits for a review, which a batch cannot give")


@dataclass(frozen=True)
class Finished:
    """Hold a run's last values, also where it failed; `error` is then what to show."""

    values: Mapping[str, Any]
    seconds: float
    error: AgentError | None = None


class Worker(Protocol):
    """Run questions, in this process or on a server."""

    @property
    def models(self) -> Mapping[str, str]:
        """Return the models by purpose, as far as they are known here."""
        ...

    async def work(self, job: Job) -> Finished:
        """Run a question to its end, from where an earlier process left it.

        Raises ConfigurationError where no question could succeed, asyncio.CancelledError.
        """
        ...

    async def forget(self, job: Job, finished: Finished | None) -> None:
        """Delete what was kept to resume a question, now that its row is on disk."""
        ...
