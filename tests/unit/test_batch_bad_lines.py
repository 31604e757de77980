"""Everything that may be wrong in a file of questions; the rest goes on."""

import random
from pathlib import Path

import pytest

from agent.batch.questions import BadLine, read_questions
from agent.core.errors import InputError
from tests.unit.batch_samples import Write, json_lines, writer


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


BAD_JSON: dict[str, tuple[bytes, str]] = {
    "cut": (b'{"id": "x", "question": "a', "not valid JSON"),
    "bare": (b"hello", "not valid JSON"),
    "array": (b'[{"id": "x", "question": "a"}]', "an array"),
    "number": (b"12", "a bare value"),
    "text": (b'"a question?"', "a text"),
    "no question": (b'{"id": "x", "answer": "a"}', "no question"),
    "empty question": (b'{"id": "x", "question": "  "}', "no question"),
    "object as question": (b'{"id": "x", "question": {"a": 1}}', "not a text"),
    "object as id": (b'{"id": {"a": 1}, "question": "a"}', "not a text"),
    "long id": (b'{"id": "' + b"x" * 300 + b'", "question": "a"}', "id is longer"),
    "not as the others": (
        '{"id": "x", "question": "北京"}'.encode("gbk"),
        "not in the encoding of the other lines",
    ),
    "no character": (b'{"id": "x", "question": "\\u0000\\u009b"}', "no question"),
    "duplicate": (b'{"id": "1", "question": "another"}', "the id '1' is that of line 1"),
    "5 MB": (b'{"id": "x", "question": "' + b"a" * 5_000_000 + b'"}', "longer than 1,000,000"),
    "deep": (b'{"question": ' + b"[" * 400_000, "not valid JSON"),
    "deep and whole": (b'{"question": ' + b"[" * 450 + b"]" * 450 + b"}", "nested too deeply"),
    "deeper than 100": (b'{"question": "a", "more": ' + b"[" * 101 + b"]" * 101 + b"}", "nested"),
    "nul": (b"\0\0\0\0", "not valid JSON"),
}


@pytest.mark.parametrize("kind", BAD_JSON)
def test_a_bad_json_line_is_reported_and_the_rest_goes_on(write: Write, kind: str) -> None:
    line, problem = BAD_JSON[kind]
    good = '{"id": "1", "question": "何"}\n'.encode()
    questions, bad = read_questions(write(good + line + b"\n" + good.replace(b"1", b"2")))
    assert [(q.id, q.text, q.line) for q in questions] == [("1", "何", 1), ("2", "何", 3)]
    assert [line.line for line in bad] == [2]
    assert problem in bad[0].problem
    assert len(bad[0].problem) < 200


BAD_CSV: dict[str, tuple[bytes, str, int]] = {
    "too many cells": (b"x,a,b,c", "4 cells under 3 columns", 1),
    "no question": (b"x,,b", "no question", 1),
    "one cell": (b"x", "no question", 1),
    "not as the others": (
        "x,北京,b".encode("gbk"),
        "not in the encoding of the other lines (UTF-8)",
        1,
    ),
    "text behind a quotation mark": (b'x,"a"b,c', "not valid CSV", 1),
    "5 MB": (b"x," + b"a" * 5_000_000 + b",c", "not valid CSV", 1),
    "5 MB of cells": (b"x,a,b" + b",c" * 2_500_000, "cells under 3 columns", 1),
    "duplicate": (b"1,other,b", "the id '1' is that of line 2", 1),
    "duplicate over two lines": (b'1,"oth\ner",b', "the id '1' is that of line 2", 2),
    "open quotation mark": (b'x,"a,b', "not valid CSV", 1),
}


@pytest.mark.parametrize("kind", BAD_CSV)
def test_a_bad_csv_row_is_reported_and_the_rest_goes_on(write: Write, kind: str) -> None:
    row, problem, lines = BAD_CSV[kind]
    path = write("id,question,答案\n1,何,b\n".encode() + row + b'\n2,"a",b\n3,c,d\n', "q.csv")
    questions, bad = read_questions(path)
    assert [(q.id, q.line) for q in questions] == [("1", 2), ("2", 3 + lines), ("3", 4 + lines)]
    assert [line.line for line in bad] == [3]
    assert problem in bad[0].problem


def test_an_open_quotation_mark_in_the_last_row_is_said(write: Write) -> None:
    questions, bad = read_questions(write('id,question\n1,a\n2,"b\n', "q.csv"))
    assert [q.id for q in questions] == ["1"]
    assert bad == [BadLine(3, "not valid CSV (a quotation mark is not closed)")]


def test_missing_columns_of_a_short_csv_row_are_simply_not_given(write: Write) -> None:
    questions, bad = read_questions(write("id,question,answer\n1,a\n\n , ,\n2,b,\n", "q.csv"))
    assert bad == []
    assert [(q.id, q.expected, q.line) for q in questions] == [("1", None, 2), ("2", "", 5)]


def test_two_rows_without_an_id_and_with_the_same_text_are_duplicates(write: Write) -> None:
    questions, bad = read_questions(write(json_lines({"query": "a"}, {"query": "a"})))
    assert len(questions) == 1
    assert [line.line for line in bad] == [2]


def test_what_is_no_text_in_an_optional_column_does_not_cost_the_question(write: Write) -> None:
    row = {"id": "1", "question": "a", "level": {"x": 1}, "format": [{}], "type": "hard"}
    questions, bad = read_questions(write(json_lines(row)))
    assert bad == []
    assert (questions[0].format_requirement, questions[0].level) == (None, "hard")


# the whole file


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"", "q.jsonl", "holds no question"),
        (b"\n \n", "q.jsonl", "holds no question"),
        (b"", "q.csv", "holds no question"),
        (b"id,question\n", "q.csv", "holds no question"),
        (b"id,text\n1,a\n", "q.csv", "names no column"),
        ("编号,说明\n1,a\n".encode("gbk"), "q.csv", "names no column"),
        (b"PAR1....PAR1", "q.parquet", "Parquet"),
        (b"PK\x03\x04 cut short", "q.xlsx", "The workbook cannot be read"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(
    write: Write, content: bytes, name: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        read_questions(write(content, name))
    assert refused.value.name == "QUESTIONS"


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="There is no file"):
        read_questions(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        read_questions(tmp_path)


def test_of_any_mix_of_good_and_bad_lines_each_is_read_or_reported_once(write: Write) -> None:
    chance = random.Random(43)
    kinds = [line for kind, (line, _) in BAD_JSON.items() if "MB" not in kind and kind != "deep"]
    for _ in range(60):
        lines, good, wrong = ['{"id": "1", "question": "何"}'.encode()], [1], []
        for number in range(2, chance.randint(3, 30)):
            if chance.random() < 0.5:
                lines.append(f'{{"id": "q{number}", "question": "何"}}'.encode())
                good.append(number)
            else:
                lines.append(chance.choice(kinds))
                wrong.append(number)
        questions, bad = read_questions(write(b"\n".join(lines)))
        assert [q.line for q in questions] == good
        assert [line.line for line in bad] == wrong


def test_what_lies_beside_the_question_may_be_nested(write: Write) -> None:
    nested = b"[" * 99 + b"]" * 99
    questions, bad = read_questions(write(b'{"question": "a", "more": ' + nested + b"}\n"))
    assert ([q.text for q in questions], bad) == (["a"], [])


def test_an_id_with_more_digits_than_a_number_has_keeps_them_all(write: Write) -> None:
    ids = ["9" * 40, "9" * 39 + "8"]
    lines = "".join(f'{{"id": {id}, "question": "a"}}\n' for id in ids)
    questions, bad = read_questions(write(lines.encode()))
    assert ([question.id for question in questions], bad) == (ids, [])
