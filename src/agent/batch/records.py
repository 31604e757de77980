"""The rows of a file of questions with their line numbers; a broken one costs only itself."""

import csv
import json
import re
from collections.abc import Iterator
from typing import Any, NamedTuple

from agent.errors import InputError

MAX_LINE = 1_000_000
"""Bytes of one JSON line. A CSV cell may have 131,072 characters, the csv module's own limit."""
_DELIMITERS = (",", ";", "\t")
_NOT_UTF8 = "not UTF-8 (a file in GBK or the like must be saved as UTF-8)"


class Record(NamedTuple):
    line: int
    """Where it begins, from 1."""
    fields: dict[str, Any]
    """By column name in lower case with single underscores; empty where there is a problem."""
    problem: str | None = None


def records(raw: bytes, suffix: str, wanted: frozenset[str]) -> Iterator[Record]:
    """Every row of the file; `wanted` are the columns of which a CSV header must have one."""
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError("QUESTIONS", "the file is UTF-16; save it as UTF-8")
    raw = raw.removeprefix(b"\xef\xbb\xbf")
    if _is_csv(raw, suffix):
        return _csv_records(raw, wanted)
    if _is_one_array(raw):
        problem = "the file is one JSON array; write one object on each line instead"
        raise InputError("QUESTIONS", problem)
    return _json_records(raw)


def plain_name(column: str) -> str:
    """`Final answer`, ` final-answer` and `final_answer` are one column."""
    return re.sub(r"[\s_-]+", "_", column.strip().casefold())


def _is_csv(raw: bytes, suffix: str) -> bool:
    if suffix in (".csv", ".tsv"):
        return True
    if suffix in (".jsonl", ".ndjson", ".json"):
        return False
    return not raw.lstrip().startswith((b"{", b"["))


def _is_one_array(raw: bytes) -> bool:
    try:
        return raw.lstrip().startswith(b"[") and isinstance(json.loads(raw), list)
    except (ValueError, RecursionError):
        return False


def _json_records(raw: bytes) -> Iterator[Record]:
    for number, line in enumerate(raw.split(b"\n"), start=1):
        if line.strip():
            yield _json_record(number, line)


def _json_record(number: int, line: bytes) -> Record:
    if len(line) > MAX_LINE:
        return Record(number, {}, f"longer than {MAX_LINE:,} bytes")
    try:
        found = json.loads(line.decode())
    except UnicodeDecodeError:
        return Record(number, {}, _NOT_UTF8)
    except (ValueError, RecursionError) as error:
        reason = error.msg if isinstance(error, json.JSONDecodeError) else "cannot be read"
        return Record(number, {}, f"not valid JSON ({reason})")
    if not isinstance(found, dict):
        return Record(number, {}, f"not a JSON object but {_kind(found)}")
    return Record(number, _by_name(found.items()))


def _kind(found: object) -> str:
    if isinstance(found, list):
        return "an array"
    return "a text" if isinstance(found, str) else "a bare value"


def _by_name(pairs: Any) -> dict[str, Any]:
    """Of two columns with one name the first that says something counts."""
    fields: dict[str, Any] = {}
    for column, value in pairs:
        name = plain_name(column)
        if name not in fields or fields[name] in (None, ""):
            fields[name] = value
    return fields


def _csv_records(raw: bytes, wanted: frozenset[str]) -> Iterator[Record]:
    lines = raw.decode(errors="surrogateescape").split("\n")
    lines = [f"{line}\n" for line in lines[:-1]] + [line for line in lines[-1:] if line]
    delimiter = _delimiter(lines, wanted)
    rows = _cells(lines, delimiter)
    header = next(([plain_name(cell) for cell in cells] for _, cells, _ in rows if cells), [])
    for line, cells, problem in rows:
        if problem is not None:
            yield Record(line, {}, problem)
        elif any(cell.strip() for cell in cells):
            yield _csv_record(line, header, cells)


def _csv_record(line: int, header: list[str], cells: list[str]) -> Record:
    if any("\ud800" <= sign <= "\udfff" for sign in "".join(cells)):
        return Record(line, {}, _NOT_UTF8)
    if any(cell.strip() for cell in cells[len(header) :]):
        return Record(line, {}, f"{len(cells)} cells under {len(header)} columns")
    return Record(line, _by_name(zip(header, cells, strict=False)))


def _delimiter(lines: list[str], wanted: frozenset[str]) -> str:
    """The one under which the header names a question; the most columns decide a tie."""
    best, most = "", 0
    for delimiter in _DELIMITERS:
        header: list[str] = next((cells for _, cells, _ in _cells(lines, delimiter) if cells), [])
        if len(header) > most and wanted.intersection(plain_name(cell) for cell in header):
            best, most = delimiter, len(header)
    if lines and not best:
        raise InputError("QUESTIONS", f"the first line names no column {', '.join(sorted(wanted))}")
    return best or ","


class _Lines:
    """The lines from one on, and how far the reader has come."""

    def __init__(self, lines: list[str], at: int) -> None:
        self.lines, self.at = lines, at

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        if self.at >= len(self.lines):
            raise StopIteration
        self.at += 1
        return self.lines[self.at - 1]


def _cells(lines: list[str], delimiter: str) -> Iterator[tuple[int, list[str], str | None]]:
    """Row by row. After a row that cannot be read it begins again on that row's second line."""
    at = 0
    while at < len(lines):
        feed = _Lines(lines, at)
        try:
            for cells in csv.reader(feed, delimiter=delimiter, strict=True):
                yield at + 1, cells, None
                at = feed.at
        except csv.Error as error:
            yield at + 1, [], _reason(error)
            at += 1


def _reason(error: csv.Error) -> str:
    if "unexpected end" in str(error):
        return "not valid CSV (a quotation mark is not closed)"
    return f"not valid CSV ({error})"
