"""Read tables of delimited text: a document a row where it is one of companies, else lines."""

import csv
import io
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from agent.core.strings import valid_text
from agent.evidence.markdown import link_url
from agent.knowledge.file_events import ReadEvent, in_read_events, notes_on, title_from_path
from agent.knowledge.split import Block, Stretch, pack_units
from agent.reading.encoding import Encoding, UnknownEncoding, encoding_of_file
from agent.reading.parts import MAX_CELL, MAX_CELLS, CannotRead

_NAMES = (
    "organization_name", "company_name", "company", "name", "org_name",
    "公司名称", "企业名称", "公司", "名称", "公司简称", "简称",
)  # fmt: skip
_COMPANY_COLUMNS = """
short_description description full_description industries industry category_list
category_groups_list founded_on founded_date founded_year headquarters_location headquarters
homepage_url website cb_url crunchbase_url employee_count number_of_employees total_funding
total_funding_usd last_funding_type operating_status company_type legal_name stock_symbol
founders num_funding_rounds
简介 公司简介 行业 所属行业 成立日期 成立时间 总部 官网 员工人数 融资总额
主营业务 经营范围 法定代表人 注册资本 股票代码
"""
_OF_COMPANIES = frozenset(_COMPANY_COLUMNS.split())
_ADDRESSES = ("homepage_url", "website", "官网", "cb_url", "crunchbase_url", "url")
_NEEDED = 2
"""Columns besides the name that make a table one of companies."""
_MAX_METADATA = 1_000
_PROBE = 1 << 20
_DELIMITERS = ",\t;|"


def read_table(path: str) -> Iterator[ReadEvent]:
    """Yield a row of companies has layer base and its fields as metadata; raises CannotRead."""
    csv.field_size_limit(1 << 22)
    with open(path, "rb") as file:
        encoding = _encoding_of(file)
        probe = file.read(_PROBE).decode(encoding.codec, "replace")
        file.seek(0)
        text = io.TextIOWrapper(file, encoding=encoding.codec, errors="replace", newline="")
        try:
            rows = _Rows(csv.reader(text, delimiter=_delimiter(probe, path)))
            yield from _events(rows, path)
            yield from notes_on(encoding, rows.bad)
            if rows.cut:
                yield ReadEvent(note={"key": "cut_row", "row": rows.cut})
        except csv.Error:
            raise CannotRead("page_unreadable") from None


class _Rows:
    """Hold rows, the first that does not fit into what is kept of one, and unread characters."""

    def __init__(self, rows: Iterator[list[str]]) -> None:
        self._rows = enumerate(rows, 1)
        self.cut = 0
        self.bad = 0

    def __iter__(self) -> "_Rows":
        return self

    def __next__(self) -> list[str]:
        number, row = next(self._rows)
        if not self.cut and (len(row) > MAX_CELLS or max(map(len, row), default=0) > MAX_CELL):
            self.cut = number
        self.bad += sum(cell.count("\ufffd") for cell in row)
        return row


def _events(rows: Iterator[list[str]], path: str) -> Iterator[ReadEvent]:
    header = next((row for row in rows if any(cell.strip() for cell in row)), [])
    columns = [valid_text(cell).strip() for cell in header][:MAX_CELLS]
    name = _name_column(columns)
    if name is None:
        yield from _plain_table(columns, rows, title_from_path(path))
    else:
        yield from _companies(columns, name, rows)


def _name_column(columns: list[str]) -> int | None:
    """Return the column of the company's name; None for any other table."""
    keys = [_key(column) for column in columns]
    if len(_OF_COMPANIES.intersection(keys)) < _NEEDED:
        return None
    return next((keys.index(name) for name in _NAMES if name in keys), None)


def _key(column: str) -> str:
    return "_".join(column.casefold().replace("-", " ").split())


def _companies(columns: list[str], name: int, rows: Iterator[list[str]]) -> Iterator[ReadEvent]:
    for number, row in enumerate(rows, 1):
        cells = [valid_text(cell).strip()[:MAX_CELL] for cell in row[:MAX_CELLS]]
        if len(cells) <= name or not cells[name]:
            continue
        fields = {
            column: cell for column, cell in zip(columns, cells, strict=False) if cell and column
        }
        title = " ".join(cells[name].split())[:300]
        metadata = {column: cell[:_MAX_METADATA] for column, cell in fields.items()}
        document = {"title": title, "url": _address(fields), "layer": "base", "metadata": metadata}
        yield ReadEvent(document={**document, "row": number})
        lines = [Block(f"{column}: {cell}") for column, cell in fields.items()]
        yield from in_read_events(Stretch(_lines(text), (title,)) for text in pack_units(lines))


def _lines(text: str) -> str:
    return text.replace("\n\n", "\n")


def _address(fields: Mapping[str, str]) -> str | None:
    by_key = {_key(column): cell for column, cell in fields.items()}
    for key in _ADDRESSES:
        value = by_key.get(key, "")
        if value and (url := link_url(value if "://" in value else f"https://{value}")):
            return url
    return None


def _plain_table(columns: list[str], rows: Iterator[list[str]], title: str) -> Iterator[ReadEvent]:
    """Yield rows as lines of `column: value`, as many as fit into a stretch, never cut."""
    document: dict[str, Any] = {"title": title, "url": None, "layer": "base", "metadata": {}}
    yield ReadEvent(document=document)
    lines = (Block(line, table=True) for line in _rows_as_lines(columns, rows))
    waiting: list[Block] = []
    for line in lines:
        waiting.append(line)
        if len(waiting) >= 256:
            yield from in_read_events(
                Stretch(_lines(text), (title,)) for text in pack_units(waiting)
            )
            waiting = []
    yield from in_read_events(Stretch(_lines(text), (title,)) for text in pack_units(waiting))


def _rows_as_lines(columns: list[str], rows: Iterator[list[str]]) -> Iterator[str]:
    for row in rows:
        cells = [" ".join(valid_text(cell).split())[:MAX_CELL] for cell in row[:MAX_CELLS]]
        named = zip([*columns, *[""] * len(cells)], cells, strict=False)
        parts = [f"{column}: {cell}" if column else cell for column, cell in named if cell]
        if parts:
            yield "; ".join(parts)


def _encoding_of(file: BinaryIO) -> Encoding:
    if not file.read(_PROBE).strip():
        raise CannotRead("page_empty")
    file.seek(0)
    try:
        return encoding_of_file(file)
    except UnknownEncoding:
        raise CannotRead("page_encoding") from None


def _delimiter(text: str, path: str) -> str:
    """Return the one that the first lines have most often, where they have it equally often."""
    if Path(path).suffix.lower() == ".tsv":
        return "\t"
    lines = [line for line in text.splitlines()[:20] if line.strip()]
    first = lines[0] if lines else ""
    return max(_DELIMITERS, key=first.count)
