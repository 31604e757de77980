"""Ten rows of our own as each benchmark publishes its own: read, recognised, decrypted."""

import csv
import io
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest
from openpyxl import Workbook
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from agent.batch.questions import BENCHMARKS, BadLine, read_questions
from agent.core.errors import InputError
from tests.unit.batch_samples import Write, writer

FOLDER = Path(__file__).parents[1] / "fixtures" / "benchmarks"
FILES = sorted(str(path.relative_to(FOLDER)) for path in FOLDER.glob("*/*"))
"""Each in a folder of its benchmark's name, with the name under which it is published."""
ITEMS: list[dict[str, str]] = json.loads((FOLDER / "browsecomp_zh/test.json").read_text("utf-8"))
"""What all of them tell, in the one that is not encrypted and has all."""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


def workbook(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> bytes:
    """A workbook as spreadsheets write it."""
    book, packed = Workbook(), io.BytesIO()
    for row in (header, *rows):
        book.active.append(list(row))
    book.save(packed)
    return packed.getvalue()


@pytest.mark.parametrize("name", FILES)
def test_ten_rows_come_back_as_they_were_written(name: str) -> None:
    benchmark = name.partition("/")[0]
    questions, bad = read_questions(FOLDER / name, decrypt=True)
    assert bad == []
    assert [question.text for question in questions] == [one["Question"] for one in ITEMS]
    assert {question.benchmark for question in questions} == {benchmark}
    answers = [None if benchmark == "deepresearch_bench" else one["Answer"] for one in ITEMS]
    assert [question.expected for question in questions] == answers
    assert not any(question.needs_file for question in questions)


def test_every_benchmark_has_its_ten_rows_here() -> None:
    assert {name.partition("/")[0] for name in FILES} == BENCHMARKS.keys()


@pytest.mark.parametrize(
    "name",
    ["browsecomp/browse_comp.csv", "browsecomp_zh/encrypted.xlsx", "xbench/DeepSearch.csv"],
)
def test_an_encrypted_file_shows_nothing_in_clear_and_is_not_decrypted_unasked(name: str) -> None:
    path = FOLDER / name
    assert all(one["Question"].encode() not in path.read_bytes() for one in ITEMS)
    questions, bad = read_questions(path)
    assert questions == []
    assert len(bad) == 10
    assert all("--decrypt" in line.problem for line in bad)


def test_ids_and_levels_are_those_of_the_file() -> None:
    def read(name: str) -> list[tuple[str, str | None]]:
        (path,) = (FOLDER / name).iterdir()
        questions, _ = read_questions(path, decrypt=True)
        return [(question.id, question.level) for question in questions[:2]]

    assert read("gaia") == [("own-0", "1"), ("own-1", "1")]
    assert read("frames") == [
        (id, "Numerical reasoning | Multiple constraints") for id in ("0", "1")
    ]
    assert read("simpleqa")[0][1] == "Other"
    assert [id for id, _ in read("xbench")] == ["1", "2"]
    assert [id for id, _ in read("deepresearch_bench")] == ["1", "2"]


def test_the_prompt_is_kept_letter_by_letter_for_scorers_that_look_it_up() -> None:
    questions, _ = read_questions(FOLDER / "deepresearch_bench/query.jsonl")
    assert questions[0].published == f"{ITEMS[0]['Question']} "
    assert questions[0].text == ITEMS[0]["Question"]


def test_a_named_benchmark_refuses_rows_of_another() -> None:
    path = FOLDER / "simpleqa/simple_qa.csv"
    questions, bad = read_questions(path, benchmark="frames")
    assert questions == []
    assert bad[0] == BadLine(2, "not of FRAMES: no column prompt, reasoning_types, wiki_links")
    questions, bad = read_questions(path, benchmark="simpleqa")
    assert (len(questions), bad) == (10, [])


def test_rows_of_nobody_s_shape_are_of_no_benchmark(write: Write) -> None:
    questions, _ = read_questions(write('{"id": "1", "question": "a", "answer": "b"}'))
    assert questions[0].benchmark is None


def test_one_row_with_another_canary_spoils_itself_only(write: Write) -> None:
    header, first, second, *_ = csv.reader(
        (FOLDER / "browsecomp/browse_comp.csv").read_text("utf-8").splitlines()
    )
    text = io.StringIO()
    csv.writer(text).writerows([header, [*first[:-1], "x"], second])
    questions, bad = read_questions(write(text.getvalue(), "b.csv"), decrypt=True)
    assert [question.line for question in questions] == [3]
    assert bad == [BadLine(2, "cannot be decrypted with its canary")]


# one JSON array, a workbook


def test_an_array_s_elements_are_named_by_the_lines_where_they_begin(write: Write) -> None:
    rows = [{"id": "1", "question": "a"}, 7, {"id": "1", "question": "b"}, {"question": "c, ]"}]
    path = write(json.dumps(rows, indent=1), "q.json")
    questions, bad = read_questions(path)
    assert [(question.text, question.line) for question in questions] == [("a", 2), ("c, ]", 11)]
    assert [line.line for line in bad] == [6, 7]
    assert "not a JSON object" in bad[0].problem
    assert "the id '1' is that of line 2" in bad[1].problem


def test_a_workbook_may_have_empty_rows_and_cells(write: Write) -> None:
    sheet = workbook(("Question", "Answer"), [("a & <b>", "x"), ("", ""), ("c", "")])
    questions, bad = read_questions(write(sheet, "q.xlsx"))
    assert bad == []
    assert [(q.text, q.expected, q.line) for q in questions] == [("a & <b>", "x", 2), ("c", "", 4)]


def test_a_workbook_s_pieces_of_text_are_joined_and_its_numbers_are_as_shown(write: Write) -> None:
    rich = CellRichText(TextBlock(InlineFont(b=True), "北京"), "在哪？")
    questions, _ = read_questions(write(workbook(["question"], [[rich], [1912]]), "q.xlsx"))
    assert [question.text for question in questions] == ["北京在哪？", "1912"]


def test_a_workbook_that_names_no_question_reports_its_rows(write: Write) -> None:
    questions, bad = read_questions(write(workbook(("A", "B"), [("1", "2")]), "q.xlsx"))
    assert questions == []
    assert bad[0].line == 2


def test_a_zip_without_a_sheet_is_refused_in_one_sentence(write: Write) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_questions(write(b"PK\x05\x06" + bytes(18), "q.xlsx"))
