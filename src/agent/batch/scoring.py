"""Compare answers with expected ones by GAIA's rule."""

import math
import re
import unicodedata
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal

from typing_extensions import TypedDict

from agent.batch.answers import Row, RowStatus
from agent.batch.questions import Question
from agent.core.strings import has_any, split_at, without_digit_groups

_Z = 1.959963984540054
"""Of a normal distribution, 95% lie within so many standard deviations."""
_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(e[+-]?\d{1,4})?", re.ASCII | re.IGNORECASE)
_SEPARATORS = ",;、"
# Full-width forms mean what their ASCII forms mean; so does the typographic minus.
_WIDTHS = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {0x3000: 0x20, 0x2212: 0x2D}
_UNITS = str.maketrans("", "", "$%")


@dataclass(frozen=True)
class Tally:
    correct: int
    total: int

    @property
    def accuracy(self) -> float:
        """Return the share of correct rows; 0 where nothing was scored."""
        return self.correct / self.total if self.total else 0.0

    @property
    def interval(self) -> tuple[float, float]:
        return interval(self.correct, self.total)


@dataclass(frozen=True)
class Summary:
    """Hold the score of the rows answered, no_answer and failed with an expected answer."""

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
    status: RowStatus


def is_correct(answer: str, expected: str, status: RowStatus) -> bool:
    """Apply GAIA's rule; an `expected` of "" asks for the status no_answer, whatever the text.

    A number is compared as a number, without `$`, `%` and the commas of thousands; a list
    (`,`, `;` or `、`) element by element in order; all else without space, punctuation, case.
    """
    if not expected.strip():
        return status == "no_answer"
    if status != "answered":
        return False
    answer, expected = _ascii_width(answer), _ascii_width(expected)
    number = _expected_number(expected)
    # "100,200,300" may be one number or three: the answer may be right in either reading.
    if number is not None and _answer_number(answer) == number:
        return True
    if has_any(expected, _SEPARATORS):
        return _same_lists(answer, expected)
    return number is None and _same_texts(answer, expected)


def _ascii_width(text: str) -> str:
    return text.translate(_WIDTHS).strip()


def _expected_number(text: str) -> Decimal | None:
    """Parse a number whose commas stand between groups of three digits; "1, 2" is a list."""
    bare = without_digit_groups(text.translate(_UNITS).strip())
    return Decimal(bare) if _NUMBER.fullmatch(bare) else None


def _answer_number(text: str) -> Decimal | None:
    bare = text.translate(_UNITS).replace(",", "").strip()
    return Decimal(bare) if _NUMBER.fullmatch(bare) else None


def _same_lists(answer: str, expected: str) -> bool:
    answers, parts = (split_at(text, _SEPARATORS) for text in (answer, expected))
    return len(answers) == len(parts) and all(map(_same_elements, answers, parts))


def _same_elements(answer: str, expected: str) -> bool:
    number = _expected_number(expected)
    if number is not None:
        return _answer_number(answer) == number
    return _same_texts(answer, expected)


def _same_texts(answer: str, expected: str) -> bool:
    """Compare bare texts; punctuation alone is compared as it is."""
    bare = _bare(expected)
    return _bare(answer) == bare if bare else answer.strip() == expected.strip()


def _bare(text: str) -> str:
    folded = unicodedata.normalize("NFC", text).casefold()
    return "".join(sign for sign in folded if not _is_ignored(sign))


def _is_ignored(sign: str) -> bool:
    """Return whether a character is space, a format mark or punctuation of any script."""
    category = unicodedata.category(sign)
    return (
        sign.isspace()
        or category.startswith("P")
        or category == "Cf"
        or (sign.isascii() and category.startswith("S"))
    )


def interval(correct: int, total: int) -> tuple[float, float]:
    """Return Wilson's 95% interval of a proportion; (0, 1) for a total of 0."""
    if total == 0:
        return 0.0, 1.0
    share, spread = correct / total, _Z**2 / total
    middle = (share + spread / 2) / (1 + spread)
    half = _Z * math.sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    # Rounding must put neither end on the wrong side of the share itself.
    return max(0.0, min(share, middle - half)), min(1.0, max(share, middle + half))


@dataclass(frozen=True)
class _Scored:
    question: Question
    expected: str
    row: Row
    correct: bool


def summary(rows: Iterable[Row], questions: Iterable[Question]) -> Summary:
    """Score the rows of one configuration; the last of an id counts."""
    answerable = [question for question in questions if question.expected is not None]
    scored = _score_rows(rows, answerable)
    return Summary(
        overall=_tally(scored, lambda one: True),
        levels=_levels(scored),
        answered=_tally(scored, lambda one: one.row["status"] == "answered"),
        unanswerable=_tally(scored, lambda one: not one.expected.strip()),
        not_scored=len(answerable) - len(scored),
    )


def _levels(scored: list[_Scored]) -> dict[str, Tally]:
    """Return the score by level, numbers in their order, questions without a level last."""
    by_level: dict[str, list[_Scored]] = {}
    for one in scored:
        by_level.setdefault(one.question.level or "-", []).append(one)
    if by_level.keys() <= {"-"}:
        return {}
    order = sorted(by_level, key=lambda name: (name == "-", name.isdigit() * len(name), name))
    return {name: _tally(by_level[name], lambda one: True) for name in order}


def wrong(rows: Iterable[Row], questions: Iterable[Question]) -> list[Wrong]:
    """Return the scored rows that are not correct, in the order of the questions."""
    return [
        Wrong(
            id=one.question.id,
            question=one.question.text,
            expected=one.expected,
            answer=one.row["answer"],
            status=one.row["status"],
        )
        for one in _score_rows(rows, questions)
        if not one.correct
    ]


def _score_rows(rows: Iterable[Row], questions: Iterable[Question]) -> list[_Scored]:
    last = {row["id"]: row for row in rows}
    return [
        _Scored(
            question,
            question.expected,
            row,
            is_correct(row["answer"], question.expected, row["status"]),
        )
        for question in questions
        if question.expected is not None
        and (row := last.get(question.id)) is not None
        and row["status"] in ("answered", "no_answer", "failed")
    ]


def _tally(scored: list[_Scored], counts: Callable[[_Scored], bool]) -> Tally:
    chosen = [one.correct for one in scored if counts(one)]
    return Tally(sum(chosen), len(chosen))
