"""Read a file of questions in the shapes of the common benchmarks.

An encrypted text is XORed with a repeated key and written as base64; the row carries its key in the
column `canary`. BrowseComp and BrowseComp-ZH take the SHA-256 digest of the canary as key, xbench
its bytes.
"""

import ast
import base64
import binascii
import contextlib
import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path
from typing import Any, Literal

from agent.batch.records import file_records
from agent.core.errors import InputError
from agent.core.outside import parse_json
from agent.core.strings import valid_text

Rubric = Literal["short", "report"]
"""The kind of answer a benchmark wants: a short one that is right or wrong, or a report."""


@dataclass(frozen=True)
class Benchmark:
    """Hold how a benchmark's rows are recognised; names are those of `records.plain_name`."""

    title: str
    columns: frozenset[str]
    rubric: Rubric = "short"
    id: tuple[str, ...] = ()
    """Columns that hold the row's id and have no name that says so."""


def _columns(*names: str) -> frozenset[str]:
    return frozenset(names)


# In this order: the first whose columns a row has.
BENCHMARKS: dict[str, Benchmark] = {
    "browsecomp": Benchmark("BrowseComp", _columns("problem", "answer", "problem_topic")),
    "browsecomp_zh": Benchmark("BrowseComp-ZH", _columns("topic", "question", "answer", "canary")),
    "xbench": Benchmark("xbench-DeepSearch", _columns("id", "prompt", "answer", "canary")),
    "simpleqa": Benchmark("SimpleQA", _columns("metadata", "problem", "answer")),
    "frames": Benchmark(
        "FRAMES",
        _columns("prompt", "answer", "reasoning_types", "wiki_links"),
        id=("", "unnamed:_0"),
    ),
    "gaia": Benchmark("GAIA", _columns("task_id", "question", "level")),
    "webwalkerqa": Benchmark("WebWalkerQA", _columns("question", "answer", "root_url", "info")),
    "deepresearch_bench": Benchmark(
        "DeepResearch Bench", _columns("id", "topic", "language", "prompt"), rubric="report"
    ),
}


def benchmark_of(fields: Mapping[str, Any]) -> str | None:
    """Return the name of the benchmark that a row has the columns of, or None."""
    names = fields.keys()
    return next((name for name, one in BENCHMARKS.items() if one.columns <= names), None)


def missing_columns(fields: Mapping[str, Any], name: str) -> list[str]:
    """Return the columns of a benchmark that a row lacks, sorted."""
    return sorted(BENCHMARKS[name].columns - fields.keys())


def is_encrypted(text: str, canary: str) -> bool:
    """Return True if `text` is encrypted; decrypted copies keep their canary."""
    return bool(canary and text) and _cipher(text) is not None


def decrypt_row(question: str, answer: str | None, canary: str) -> tuple[str, str | None]:
    """Decrypt both; an empty answer stays as it is. Raise ValueError if no known key fits."""
    for key in (hashlib.sha256(canary.encode()).digest(), canary.encode()):
        text = _clear(question, key)
        expected = _clear(answer, key) if answer else answer
        if text and (expected or not answer):
            return text, expected
    raise ValueError("cannot be decrypted with its canary")


def _cipher(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def _clear(text: str, key: bytes) -> str | None:
    """Decrypt a text; return None for a wrong key, which makes no readable text."""
    cipher = _cipher(text)
    if cipher is None:
        return None
    try:
        clear = bytes(a ^ b for a, b in zip(cipher, cycle(key), strict=False)).decode()
    except UnicodeDecodeError:
        return None
    readable = all(sign.isprintable() or sign.isspace() for sign in clear)
    return clear.strip() if readable else None


# Column names as records.plain_name writes them; the first that says something counts.
_ID = ("id", "task_id", "question_id")
_TEXT = ("question", "problem", "prompt", "query")
_EXPECTED = ("answer", "final_answer", "ground_truth", "expected_answer", "expected")
_FORMAT = ("format_requirement", "answer_format", "format")
_LEVEL = (
    *("level", "difficulty", "difficulty_level", "shape", "answer_type", "type"),
    "reasoning_types",
)
_NOTES = ("info", "metadata")
_FILES = (
    *("file_name", "file_path", "file", "files", "attachment", "attachments"),
    *("image", "image_path", "images"),
)
_HIDDEN = "?"
"""GAIA's test set has this in place of the answers it does not publish."""
_MAX_NOTES = 20_000
_MAX_ID = 200


@dataclass(frozen=True)
class Question:
    id: str
    """The file's own id, else the first 16 digits of the SHA-1 of the text."""
    text: str
    line: int
    """The row's first line in the file, from 1."""
    format_requirement: str | None = None
    expected: str | None = None
    """None: not given. "": known to have no answer."""
    level: str | None = None
    needs_file: bool = False
    benchmark: str | None = None
    """Its name in `benchmarks.BENCHMARKS`, where the row has the columns of one."""
    published: str = field(default="", compare=False)
    """The text letter by letter: a benchmark's own scorer may look its tasks up by it."""


@dataclass(frozen=True)
class BadLine:
    line: int
    problem: str


def read_questions(
    path: Path,
    *,
    decrypt: bool = False,
    benchmark: str | None = None,
    tell: Callable[[str], object] = lambda _: None,
) -> tuple[list[Question], list[BadLine]]:
    """Return the usable questions in the file's order, and the lines that are none.

    Rows are taken for `benchmark`'s; without it each is recognised by its columns. `tell` is given
    what else a reader should know: an encoding that was guessed, sheets that were not read. Raises
    InputError("QUESTIONS", …) where the file as a whole cannot be used.
    """
    raw = _read(path)
    questions: dict[str, Question] = {}
    bad: list[BadLine] = []
    rows = file_records(raw, path.suffix.casefold(), frozenset(_TEXT), tell)
    for line, fields, problem in rows:
        if problem is None:
            problem = _take(questions, line, fields, decrypt=decrypt, benchmark=benchmark)
        if problem is not None:
            bad.append(BadLine(line, problem))
    if not questions and not bad:
        raise InputError("QUESTIONS", f"holds no question: {path}")
    return list(questions.values()), bad


def _take(
    questions: dict[str, Question],
    line: int,
    fields: Mapping[str, Any],
    *,
    decrypt: bool,
    benchmark: str | None,
) -> str | None:
    """Add the row's question; return the problem of one that cannot be used."""
    if benchmark is not None and (missing := missing_columns(fields, benchmark)):
        return f"not of {BENCHMARKS[benchmark].title}: no column {', '.join(missing)}"
    try:
        question = _question(line, fields, benchmark or benchmark_of(fields), decrypt=decrypt)
    except ValueError as error:
        return str(error)
    if question.id in questions:
        return f"the id {question.id!r} is that of line {questions[question.id].line}"
    questions[question.id] = question
    return None


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except FileNotFoundError:
        raise InputError("QUESTIONS", f"There is no file {path}") from None
    except IsADirectoryError:
        raise InputError("QUESTIONS", f"is a folder: {path}") from None
    except OSError as error:
        reason = error.strerror or type(error).__name__
        raise InputError("QUESTIONS", f"cannot be read, {path}: {reason}") from error


def _question(
    line: int, fields: Mapping[str, Any], benchmark: str | None, *, decrypt: bool
) -> Question:
    """Return the question of a row; raise ValueError saying what is wrong with it."""
    text = _pick(fields, _TEXT)
    if text is None:
        raise ValueError(f"no question (a column {', '.join(_TEXT)})")
    expected = _expected_answer(fields)
    canary = _pick(fields, ("canary",)) or ""
    if is_encrypted(text, canary):
        if not decrypt:
            raise ValueError("encrypted; --decrypt reads it with its canary")
        text, expected = decrypt_row(text, expected, canary)
    own_ids = BENCHMARKS[benchmark].id if benchmark else ()
    return Question(
        id=_id(fields, text, own_ids),
        text=text,
        line=line,
        format_requirement=_optional(fields, _FORMAT),
        expected=None if expected == _HIDDEN else expected,
        level=_level(fields),
        needs_file=any(_says_something(fields.get(name)) for name in _FILES),
        benchmark=benchmark,
        published=_published(fields, text),
    )


def _published(fields: Mapping[str, Any], text: str) -> str:
    """Return the question's column as it stands in the file, the clear text of an encrypted one."""
    columns = [fields[name] for name in _TEXT if isinstance(fields.get(name), str)]
    return next((column for column in columns if column.strip() == text), text)


def id_of(text: str) -> str:
    """Return the id of a question that has none of its own."""
    return hashlib.sha1(text.encode(), usedforsecurity=False).hexdigest()[:16]


def _id(fields: Mapping[str, Any], text: str, own_ids: tuple[str, ...]) -> str:
    own = _pick(fields, (*_ID, *own_ids))
    if own is None:
        return id_of(text)
    if len(own) > _MAX_ID:
        raise ValueError(f"the id is longer than {_MAX_ID} characters")
    return own


def _optional(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return `_pick` of an optional column, which is ignored where it is no text."""
    for name in names:
        with contextlib.suppress(ValueError):
            text = _pick(fields, (name,))
            if text is not None:
                return text
    return None


def _pick(fields: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """Return the first of these columns that has text; None where none has."""
    for name in names:
        value = fields.get(name)
        text = None if value is None else _text(name, value)
        if text:
            return text
    return None


def _text(name: str, value: object) -> str:
    """Return one column as text, a list as its elements with commas between."""
    if isinstance(value, list):
        return ", ".join(_text(name, part) for part in value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str | int | float):
        raise ValueError(f"the column {name} is not a text")
    return valid_text(str(value)).strip()


def _expected_answer(fields: Mapping[str, Any]) -> str | None:
    """Return the expected answer; "" only where the file says that there is none."""
    answerable = fields.get("answerable")
    if answerable is not None and _text("answerable", answerable).casefold() in (
        "false",
        "no",
        "0",
    ):
        return ""
    answer = _pick(fields, _EXPECTED)
    if answer is not None or (answerable is not None and answerable != ""):
        return answer
    return "" if any(name in fields for name in _EXPECTED) else None


def _level(fields: Mapping[str, Any]) -> str | None:
    """Return the row's own level, else that in WebWalkerQA's `info` or SimpleQA's `metadata`."""
    own = _optional(fields, _LEVEL)
    if own is not None:
        return own
    for name in _NOTES:
        level = _optional(_notes(fields.get(name)), _LEVEL)
        if level is not None:
            return level
    return None


def _notes(value: object) -> Mapping[str, Any]:
    """Parse an object, also from JSON or Python text; anything else is empty."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, str) or not value.startswith("{") or len(value) > _MAX_NOTES:
        return {}
    for parse in (parse_json, ast.literal_eval):
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
