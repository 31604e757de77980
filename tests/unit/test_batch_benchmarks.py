"""Ten rows of our own as each benchmark publishes its own: read, recognised, decrypted."""

import json
from pathlib import Path

import pytest
from openpyxl.cell.rich_text import CellRichText, TextBlock
from openpyxl.cell.text import InlineFont

from agent.batch.questions import BENCHMARKS, BadLine, read_questions
from agent.core.errors import InputError
from tests.support.benchmark_files import CANARY, FILES, ITEMS, hashed, table, workbook
from tests.unit.batch_samples import Write, writer


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


@pytest.mark.parametrize("name", FILES)
def test_ten_rows_come_back_as_they_were_written(write: Write, name: str) -> None:
    benchmark, file, content = FILES[name]
    questions, bad = read_questions(write(content(), file), decrypt=True)
    assert bad == []
    assert [question.text for question in questions] == [one.question for one in ITEMS]
    assert {question.benchmark for question in questions} == {benchmark}
    answers = [None if benchmark == "deepresearch_bench" else one.answer for one in ITEMS]
    assert [question.expected for question in questions] == answers
    assert not any(question.needs_file for question in questions)


def test_every_benchmark_has_its_ten_rows_here() -> None:
    assert {benchmark for benchmark, _, _ in FILES.values()} == BENCHMARKS.keys()


@pytest.mark.parametrize("name", ["browsecomp", "browsecomp_zh", "xbench"])
def test_an_encrypted_file_shows_nothing_in_clear_and_is_not_decrypted_unasked(
    write: Write, name: str
) -> None:
    _, file, content = FILES[name]
    path = write(content(), file)
    assert all(one.question.encode() not in path.read_bytes() for one in ITEMS)
    questions, bad = read_questions(path)
    assert questions == []
    assert len(bad) == 10
    assert all("--decrypt" in line.problem for line in bad)


def test_ids_and_levels_are_those_of_the_file(write: Write) -> None:
    def read(name: str) -> list[tuple[str, str | None]]:
        _, file, content = FILES[name]
        questions, _ = read_questions(write(content(), file), decrypt=True)
        return [(question.id, question.level) for question in questions[:2]]

    assert read("gaia") == [("own-0", "1"), ("own-1", "1")]
    assert read("frames") == [
        (id, "Numerical reasoning | Multiple constraints") for id in ("0", "1")
    ]
    assert read("simpleqa")[0][1] == "Other"
    assert [id for id, _ in read("xbench")] == ["1", "2"]
    assert [id for id, _ in read("deepresearch_bench")] == ["1", "2"]


def test_the_prompt_is_kept_letter_by_letter_for_scorers_that_look_it_up(write: Write) -> None:
    _, file, content = FILES["deepresearch_bench"]
    questions, _ = read_questions(write(content(), file))
    assert questions[0].published == f"{ITEMS[0].question} "
    assert questions[0].text == ITEMS[0].question


def test_a_named_benchmark_refuses_rows_of_another(write: Write) -> None:
    _, file, content = FILES["simpleqa"]
    path = write(content(), file)
    questions, bad = read_questions(path, benchmark="frames")
    assert questions == []
    assert bad[0] == BadLine(2, "not of FRAMES: no column prompt, reasoning_types, wiki_links")
    questions, bad = read_questions(path, benchmark="simpleqa")
    assert (len(questions), bad) == (10, [])


def test_rows_of_nobody_s_shape_are_of_no_benchmark(write: Write) -> None:
    questions, _ = read_questions(write('{"id": "1", "question": "a", "answer": "b"}'))
    assert questions[0].benchmark is None


def test_one_row_with_another_canary_spoils_itself_only(write: Write) -> None:
    rows = [(hashed("a question"), hashed("an answer"), "t", CANARY if n else "x") for n in (0, 1)]
    header = ("problem", "answer", "problem_topic", "canary")
    questions, bad = read_questions(write(table(header, rows), "b.csv"), decrypt=True)
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
