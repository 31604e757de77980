"""Reads a file of questions: JSON lines or CSV, in the shapes of the common benchmarks."""

import ast
import contextlib
import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agent.batch.decrypt import decrypted, is_encrypted
from agent.batch.records import records
from agent.errors import InputError
from agent.strings import valid_text

# Column names as records.plain_name writes them; the first that says something counts.
_ID = ("id", "task_id", "question_id")
_TEXT = ("question", "problem", "prompt", "query")
_EXPECTED = ("answer", "final_answer", "ground_truth", "expected_answer", "expected")
_FORMAT = ("format_requirement", "answer_format", "format")
_LEVEL = ("level", "difficulty", "difficulty_level", "shape", "answer_type", "type")
_NOTES = ("info", "metadata")
_FILES = (
    *("file_name", "file_path", "file", "files", "attachment", "attachments"),
    *("image", "image_path", "images"),
)
_HIDDEN = "?"
"""What GAIA's test set has in place of the answers it does not publish."""
_MAX_NOTES = 20_000
_MAX_ID = 200


@dataclass(frozen=True)
class Question:
    id: str
    """The file's own id, else the first 16 digits of the SHA-1 of the text."""
    text: str
    line: int
    """Where the row begins in the file, from 1."""
    format_requirement: str | None = None
    expected: str | None = None
    """None: not given. "": known to have no answer."""
    level: str | None = None
    needs_file: bool = False


@dataclass(frozen=True)
class BadLine:
    line: int
    problem: str


def read_questions(path: Path, *, decrypt: bool = False) -> tuple[list[Question], list[BadLine]]:
    """Every usable question in the file's order, and every line that is not one.

    Raises InputError("QUESTIONS", …) where the file as a whole cannot be used.
    """
    raw = _read(path)
    found: dict[str, Question] = {}
    bad: list[BadLine] = []
    for line, fields, problem in records(raw, path.suffix.casefold(), frozenset(_TEXT)):
        if problem is None:
            problem = _take(found, line, fields, decrypt=decrypt)
        if problem is not None:
            bad.append(BadLine(line, problem))
    if not found and not bad:
        raise InputError("QUESTIONS", f"{path} holds no question")
    return list(found.values()), bad


def _take(
    found: dict[str, Question], line: int, fields: Mapping[str, Any], *, decrypt: bool
) -> str | None:
    """Adds the row's question; what is wrong with it where it cannot be used."""
    try:
        question = _question(line, fields, decrypt=decrypt)
    except ValueError as error:
        return str(error)
    except RecursionError:
        return "nested too deeply"
    if question.id in found:
        return f"the id {question.id!r} is that of line {found[question.id].line}"
    found[question.id] = question
    return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("QUESTIONS", f"there is no file {path}") from None
    except IsADirectoryError:
        raise InputError("QUESTIONS", f"{path} is a folder") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError("QUESTIONS", f"{path} cannot be read: {reason}") from error


def _question(line: int, fields: Mapping[str, Any], *, decrypt: bool) -> Question:
    """Raises ValueError with what is wrong in the row."""
    text = _pick(fields, _TEXT)
    if text is None:
        raise ValueError(f"no question (a column {', '.join(_TEXT)})")
    expected = _expected(fields)
    canary = _pick(fields, ("canary",)) or ""
    if is_encrypted(text, canary):
        if not decrypt:
            raise ValueError("encrypted; --decrypt reads it with its canary")
        text, expected = decrypted(text, expected, canary)
    return Question(
        id=_id(fields, text),
        text=text,
        line=line,
        format_requirement=_optional(fields, _FORMAT),
        expected=None if expected == _HIDDEN else expected,
        level=_level(fields),
        needs_file=any(_says_something(fields.get(name)) for name in _FILES),
    )


def _id(fields: Mapping[str, Any], text: str) -> str:
    own = _pick(fields, _ID)
    if own is None:
        return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]
    if len(own) > _MAX_ID:
        raise ValueError(f"the id is longer than {_MAX_ID} characters")
    return own


def _optional(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """As `_pick`, but what is no text is as good as absent: the question can be asked."""
    for name in names:
        with contextlib.suppress(ValueError):
            text = _pick(fields, (name,))
            if text is not None:
                return text
    return None


def _pick(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The first of these columns that has text; None where none has."""
    for name in names:
        value = fields.get(name)
        text = None if value is None else _text(name, value)
        if text:
            return text
    return None


def _text(name: str, value: object) -> str:
    """One column as text; a list reads as its elements with commas between."""
    if isinstance(value, list):
        return ", ".join(_text(name, part) for part in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise ValueError(f"the column {name} is not a text")
    return valid_text(str(value)).strip()


def _expected(fields: Mapping[str, Any]) -> str | None:
    """ "" only where the file says that there is no answer."""
    answerable = fields.get("answerable")
    if answerable is not None and _text("answerable", answerable).casefold() in (
        "false",
        "no",
        "0",
    ):
        return ""
    given = _pick(fields, _EXPECTED)
    if given is not None or (answerable is not None and answerable != ""):
        return given
    return "" if any(name in fields for name in _EXPECTED) else None


def _level(fields: Mapping[str, Any]) -> str | None:
    """The row's own level, else the one in WebWalkerQA's `info` or SimpleQA's `metadata`."""
    own = _optional(fields, _LEVEL)
    if own is not None:
        return own
    for name in _NOTES:
        level = _optional(_notes(fields.get(name)), _LEVEL)
        if level is not None:
            return level
    return None


def _notes(value: object) -> Mapping[str, Any]:
    """An object, or one written as text in JSON or in Python's way; anything else is empty."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or not value.startswith("{") or len(value) > _MAX_NOTES:
        return {}
    for parse in (json.loads, ast.literal_eval):
        try:
            notes = parse(value)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            continue
        return notes if isinstance(notes, dict) else {}
    return {}


def _says_something(value: object) -> bool:
    if isinstance(value, str):
        return value.strip().casefold() not in ("", "none", "null", "nan")
    return bool(value)
