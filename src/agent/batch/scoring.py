"""Compares answers with expected ones by GAIA's rule."""

from collections.abc import Iterable
from dataclasses import dataclass

from typing_extensions import TypedDict

from agent.batch.questions import Question
from agent.batch.rows import Row, Status


@dataclass(frozen=True)
class Tally:
    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """0 to 1; 0 where nothing was scored."""
        return self.correct / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return interval(self.correct, self.total)


@dataclass(frozen=True)
class Summary:
    """Scored are rows answered, no_answer and failed whose question has an expected answer."""

    overall: Tally
    levels: dict[str, Tally]
    """By the question's level, sorted; questions without one under "-"; empty if none has one."""
    answered: Tally
    """Only rows with status answered: how far a given answer can be trusted."""
    unanswerable: Tally
    """Only questions without an answer: correct is no_answer."""
    not_scored: int
    """Questions with an expected answer that were skipped, paused or not run."""


class Wrong(TypedDict):
    id: str
    question: str
    expected: str
    answer: str
    status: Status


def is_correct(answer: str, expected: str, status: Status) -> bool:
    raise NotImplementedError


def interval(correct: int, total: int) -> tuple[float, float]:
    """Wilson's 95% interval of a proportion; (0, 1) where nothing was tried."""
    raise NotImplementedError


def summary(rows: Iterable[Row], questions: Iterable[Question]) -> Summary:
    """`rows` of one configuration; the last of an id counts."""
    raise NotImplementedError


def wrong(rows: Iterable[Row], questions: Iterable[Question]) -> list[Wrong]:
    """The scored rows that are not correct, in the order of the questions."""
    raise NotImplementedError
