"""Read ANSWERS to be judged: rows of a batch, or another program's with its questions beside."""

import hashlib
import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from agent.batch.answers import Row, parse_row, rows_path
from agent.batch.questions import BENCHMARKS, BadLine, Question, Rubric, id_of
from agent.core.errors import InputError
from agent.core.outside import parse_json
from agent.core.strings import valid_text
from agent.texts import counted

_ID = ("id", "task_id", "question_id")
_QUESTION = ("question", "prompt", "problem", "query")
_ANSWER = ("model_answer", "article", "response", "prediction", "answer")
_EXPECTED = ("expected", "expected_answer", "ground_truth", "final_answer", "answer")
"""`answer` is the expected one only beside an answer under another name."""
JUDGED = ("answered", "no_answer", "failed")
"""Statuses that count; a skipped or paused question has nothing to judge yet."""


@dataclass(frozen=True)
class FileAnswer:
    """Hold one answer; `row` is its batch row, empty for another program's."""

    id: str
    question: str
    text: str
    status: str
    config: str = ""
    expected: str | None = None
    benchmark: str | None = None
    row: Mapping[str, Any] = field(default_factory=dict, repr=False)

    @property
    def rubric(self) -> Rubric:
        """Return how it is to be judged: a benchmark says so, else an expected answer does."""
        if self.benchmark in BENCHMARKS:
            return BENCHMARKS[self.benchmark].rubric
        return "report" if self.expected is None else "short"

    @property
    def subject(self) -> str:
        """Return a short hash of what is judged: another attempt is another subject."""
        text = json.dumps([self.id, self.config, self.status, self.text], ensure_ascii=False)
        return hashlib.sha256(text.encode(errors="replace")).hexdigest()[:16]

    @property
    def claims(self) -> tuple[int, int] | None:
        """Return how many claims its sources bear out, and of how many, by the run's own check.

        Sentences of the writer's own, which need no source, are no claims.
        """
        counts = self.row.get("claims")
        if not isinstance(counts, Mapping):
            return None
        borne_out = sum(_count(counts, name) for name in _BORNE_OUT)
        claims = borne_out + _count(counts, "marked")
        # What nobody compared with its sources is told by neither.
        return (borne_out, claims) if claims else None


_BORNE_OUT = ("quoted", "computed", "rematched", "attached", "repaired", "supported", "revised")
"""The verdicts of the check as it is and as it was before version 2 of its counts."""


def _count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def answers_path(address: str) -> tuple[Path, str | None]:
    """Return file and configuration of `FILE` or `FILE#CONFIG`; rows kept beside FILE win."""
    path, config = Path(address), None
    if not path.exists() and "#" in address:
        name, _, config = address.rpartition("#")
        path = Path(name)
    rows = rows_path(path, "minimal")
    return (rows if rows.is_file() else path), config


def read_answers(path: Path, config: str | None) -> tuple[list[FileAnswer], list[BadLine]]:
    """Return the last answer to each question under one configuration, and the lines that are none.

    Raises InputError("ANSWERS", …) where the file as a whole cannot be used.
    """
    answers: dict[tuple[str, str], FileAnswer] = {}
    bad: list[BadLine] = []
    for number, line in enumerate(_lines(path), start=1):
        if not line.strip():
            continue
        answer = _answer(line)
        if isinstance(answer, str):
            bad.append(BadLine(number, answer))
        else:
            answers[answer.config, answer.id] = answer
    if not answers:
        raise InputError("ANSWERS", f"holds no answer: {path}")
    return _of_one(path, list(answers.values()), config), bad


def _lines(path: Path) -> list[bytes]:
    try:
        return path.read_bytes().split(b"\n")
    except FileNotFoundError:
        raise InputError("ANSWERS", f"There is no file {path}") from None
    except OSError as error:
        raise InputError("ANSWERS", f"cannot be read, {path}: {error.strerror}") from None


def _answer(line: bytes) -> FileAnswer | str:
    """Return the answer in a line, or what is wrong with it."""
    row = parse_row(line)
    if row is not None:
        return _of_row(row)
    try:
        fields = parse_json(line)
    except ValueError:
        return "not valid JSON"
    if not isinstance(fields, dict):
        return "not a JSON object"
    id, text, question = (_pick(fields, names) for names in (_ID, _ANSWER, _QUESTION))
    has_other_name = any(name in fields for name in _ANSWER[:-1])
    expected = _pick(fields, _EXPECTED if has_other_name else _EXPECTED[:-1])
    if text is None:
        return "no answer"
    if not id and not question:
        return "neither id nor question"
    status = "answered" if text else "no_answer"
    return FileAnswer(id or id_of(question or ""), question or "", text, status, expected=expected)


def _of_row(row: Row) -> FileAnswer:
    return FileAnswer(
        row["id"],
        row["question"],
        valid_text(row["answer"]),
        row["status"],
        row["config"],
        row.get("expected"),
        row.get("benchmark"),
        row,
    )


def _pick(fields: Mapping[str, Any], names: Iterable[str]) -> str | None:
    """Return the first of these fields that is a text or a number, as text."""
    for name in names:
        if isinstance(value := fields.get(name), str | int):
            return valid_text(str(value)).strip()
    return None


def _of_one(path: Path, answers: list[FileAnswer], config: str | None) -> list[FileAnswer]:
    """Return the answers under one configuration; raise InputError where it is not clear which."""
    there = Counter(answer.config for answer in answers)
    if config is None and len(there) > 1:
        told = {name: counted("rows", count, "en") for name, count in there.items()}
        names = ", ".join(f"#{name} ({rows})" for name, rows in told.items())
        problem = f"holds {len(there)} configurations in {path}: {names}; name one behind the file"
        raise InputError("ANSWERS", problem)
    if config is not None and config not in there:
        raise InputError("ANSWERS", f"has no configuration {config} in {path}: {', '.join(there)}")
    return [answer for answer in answers if config in (None, answer.config)]


def with_questions(
    answers: Sequence[FileAnswer], questions: Sequence[Question]
) -> tuple[list[FileAnswer], list[str]]:
    """Return the answers with what their questions add, and the ids of those without any."""
    by_id = {question.id: question for question in questions}
    complete = [_completed(answer, by_id.get(answer.id)) for answer in answers]
    return (
        [answer for answer in complete if answer.question],
        [answer.id for answer in complete if not answer.question],
    )


def _completed(answer: FileAnswer, question: Question | None) -> FileAnswer:
    if question is None:
        return answer
    return replace(
        answer,
        question=answer.question or question.text,
        expected=answer.expected if answer.expected is not None else question.expected,
        benchmark=answer.benchmark or question.benchmark,
    )
