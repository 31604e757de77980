"""A file of questions: the shapes of the benchmarks, and everything that may be wrong in it."""

import base64
import csv
import hashlib
import io
import json
import random
from collections.abc import Callable
from itertools import cycle
from pathlib import Path
from typing import Any

import pytest

from agent.batch.questions import BadLine, Question, read_questions
from agent.errors import InputError

Write = Callable[..., Path]
CANARY = "BENCH:11111111-2222-3333-4444-555555555555"


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def write(content: str | bytes, name: str = "questions.jsonl") -> Path:
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return path

    return write


def json_lines(*rows: dict[str, Any]) -> str:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def encrypt(text: str, key: bytes) -> str:
    return base64.b64encode(
        bytes(a ^ b for a, b in zip(text.encode(), cycle(key), strict=False))
    ).decode()


def only(path: Path, *, decrypt: bool = False) -> Question:
    questions, bad = read_questions(path, decrypt=decrypt)
    assert bad == []
    assert len(questions) == 1
    return questions[0]


# shapes


def test_gaia_is_read_with_level_answer_and_file(write: Write) -> None:
    path = write(
        json_lines(
            {"task_id": "a-1", "Question": "How many?", "Level": 2, "Final answer": "17"},
            {"task_id": "a-2", "Question": "Whose?", "Level": "3", "file_name": "x.xlsx"},
            {"task_id": "a-3", "Question": "Hidden?", "Final answer": "?", "file_name": ""},
        )
    )
    questions, bad = read_questions(path)
    assert bad == []
    assert questions == [
        Question("a-1", "How many?", 1, expected="17", level="2"),
        Question("a-2", "Whose?", 2, level="3", needs_file=True),
        Question("a-3", "Hidden?", 3),
    ]


@pytest.mark.parametrize("name", ["Question", "question", "problem", "prompt", "query"])
def test_the_original_shape_and_every_name_of_a_question(write: Write, name: str) -> None:
    assert only(write(json_lines({"id": 7, name: " 谁？ "}))) == Question("7", "谁？", 1)


def test_webwalker_gets_an_id_from_its_text_and_a_level_from_its_info(write: Write) -> None:
    row = {"question": "Who?", "answer": "Ann", "root_url": "https://a.example", "info": {}}
    row["info"] = {"difficulty_level": "hard", "lang": "en"}
    found = only(write(json_lines(row)))
    assert found.id == hashlib.sha1(b"Who?").hexdigest()[:16]
    assert (found.expected, found.level) == ("Ann", "hard")


def test_simpleqa_is_read_from_csv_with_the_level_of_its_metadata(write: Write) -> None:
    text = "metadata,problem,answer\n\"{'topic': 'Art', 'answer_type': 'Person'}\",Who?,Ann\n"
    assert only(write(text, "q.csv")).level == "Person"


def test_deep_research_bench_has_only_an_id_and_a_prompt(write: Write) -> None:
    assert only(write(json_lines({"id": 3, "prompt": "写"}))) == Question("3", "写", 1)


def test_our_own_shape_has_a_format_and_may_be_unanswerable(write: Write) -> None:
    path = write(
        json_lines(
            {"id": "1", "question": "a", "answer": "x", "format_requirement": "one word"},
            {"id": "2", "question": "b", "answer": "x", "answerable": False},
            {"id": "3", "question": "c", "answer": None},
            {"id": "4", "question": "d", "answer": ""},
            {"id": "5", "question": "e", "answerable": True, "answer": None},
            {"id": "6", "question": "f"},
            {"id": "7", "question": "g", "answer": ["x", 2]},
        )
    )
    questions, _ = read_questions(path)
    assert [q.expected for q in questions] == ["x", "", "", "", None, None, "x, 2"]
    assert questions[0].format_requirement == "one word"


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_csv_with_a_bom_any_delimiter_and_newlines_in_quotes(write: Write, delimiter: str) -> None:
    table = io.StringIO()
    rows = csv.writer(table, delimiter=delimiter, lineterminator="\r\n")
    rows.writerows(
        [["id", "Question", "answer"], ["1", 'two\nlines; "x", y', "a"], ["2", "b", "c"]]
    )
    path = write(b"\xef\xbb\xbf" + table.getvalue().encode(), "q.csv")
    assert read_questions(path) == (
        [
            Question("1", 'two\nlines; "x", y', 2, expected="a"),
            Question("2", "b", 4, expected="c"),
        ],
        [],
    )


def test_json_lines_with_a_bom_blank_lines_and_windows_line_ends(write: Write) -> None:
    text = '\r\n{"id":"1","question":"a\u2028b"}\r\n\r\n{"id":"2","question":"c"}'
    questions, bad = read_questions(write(b"\xef\xbb\xbf" + text.encode()))
    assert bad == []
    assert [(q.id, q.line) for q in questions] == [("1", 2), ("2", 4)]


@pytest.mark.parametrize(
    ("content", "name"), [('{"question": "a"}', "q.txt"), ("id,question\n1,a\n", "questions")]
)
def test_an_unknown_suffix_is_read_by_its_first_sign(write: Write, content: str, name: str) -> None:
    assert only(write(content, name)).text == "a"


# encrypted benchmarks


def browsecomp(question: str, answer: str) -> str:
    key = hashlib.sha256(CANARY.encode()).digest()
    return (
        "problem,answer,problem_topic,canary\n"
        f"{encrypt(question, key)},{encrypt(answer, key)},Art,{CANARY}\n"
    )


def xbench(question: str, answer: str) -> bytes:
    key = CANARY.encode()
    row = f"5,{encrypt(question, key)},{encrypt(answer, key)},{CANARY}\n"
    return b"\xef\xbb\xbf" + f"id,prompt,answer,canary\n{row}".encode()


def test_browsecomp_and_xbench_are_decrypted_when_asked(write: Write) -> None:
    first = only(write(browsecomp("Which painter died in 1912?", "Ann"), "b.csv"), decrypt=True)
    assert (first.text, first.expected) == ("Which painter died in 1912?", "Ann")
    second = only(write(xbench("谁画了这幅画？", "安"), "x.csv"), decrypt=True)
    assert (second.id, second.text, second.expected) == ("5", "谁画了这幅画？", "安")


def test_nothing_is_decrypted_unasked(write: Write) -> None:
    questions, bad = read_questions(
        write(browsecomp("Which painter died in 1912?", "Ann"), "b.csv")
    )
    assert questions == []
    assert [line.line for line in bad] == [2]
    assert "--decrypt" in bad[0].problem


def test_a_wrong_canary_spoils_one_line_only(write: Write) -> None:
    key = hashlib.sha256(b"other").digest()
    row = {"id": "1", "problem": encrypt("Which painter died in 1912?", key), "canary": CANARY}
    questions, bad = read_questions(
        write(json_lines(row, {"id": "2", "problem": "b"})), decrypt=True
    )
    assert [q.id for q in questions] == ["2"]
    assert bad == [BadLine(1, "cannot be decrypted with its canary")]


def test_a_decrypted_copy_that_kept_its_canary_is_read_with_and_without(write: Write) -> None:
    path = write(json_lines({"id": "1", "problem": "Who is it?", "answer": "x", "canary": CANARY}))
    assert only(path) == only(path, decrypt=True)


# one bad line

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
    "not utf-8": ('{"id": "x", "question": "北京"}'.encode("gbk"), "not UTF-8"),
    "half a character": (b'{"id": "x", "question": "a \\ud83d"}', "half a character"),
    "duplicate": (b'{"id": "1", "question": "another"}', "the id '1' is that of line 1"),
    "5 MB": (b'{"id": "x", "question": "' + b"a" * 5_000_000 + b'"}', "longer than 1,000,000"),
    "deep": (b'{"question": ' + b"[" * 400_000, "not valid JSON"),
    "deep and whole": (b'{"question": ' + b"[" * 450 + b"]" * 450 + b"}", "nested too deeply"),
    "huge number": (b'{"question": ' + b"9" * 9000 + b"}", "not valid JSON"),
    "nul": (b"\0\0\0\0", "not valid JSON"),
}


@pytest.mark.parametrize("kind", BAD_JSON)
def test_a_bad_json_line_is_reported_and_the_rest_goes_on(write: Write, kind: str) -> None:
    line, problem = BAD_JSON[kind]
    good = b'{"id": "1", "question": "a"}\n'
    questions, bad = read_questions(write(good + line + b"\n" + good.replace(b"1", b"2")))
    assert [(q.id, q.text, q.line) for q in questions] == [("1", "a", 1), ("2", "a", 3)]
    assert [line.line for line in bad] == [2]
    assert problem in bad[0].problem
    assert len(bad[0].problem) < 200


BAD_CSV: dict[str, tuple[bytes, str, int]] = {
    "too many cells": (b"x,a,b,c", "4 cells under 3 columns", 1),
    "no question": (b"x,,b", "no question", 1),
    "one cell": (b"x", "no question", 1),
    "not utf-8": ("x,北京,b".encode("gbk"), "not UTF-8", 1),
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
    path = write(b"id,question,answer\n1,a,b\n" + row + b'\n2,"a",b\n3,c,d\n', "q.csv")
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
    found = only(write(json_lines(row)))
    assert found.format_requirement is None


# the whole file


@pytest.mark.parametrize(
    ("content", "name", "problem"),
    [
        (b"", "q.jsonl", "holds no question"),
        (b"\n \n", "q.jsonl", "holds no question"),
        (b"", "q.csv", "holds no question"),
        (b"id,question\n", "q.csv", "holds no question"),
        (b"id,text\n1,a\n", "q.csv", "names no column"),
        ("编号,问题\n1,a\n".encode("gbk"), "q.csv", "names no column"),
        ('{"question": "a"}'.encode("utf-16"), "q.jsonl", "UTF-16"),
        (b'[\n{"question": "a"},\n{"question": "b"}\n]', "q.json", "one JSON array"),
        (b'[{"question": "a"}]', "q.json", "one JSON array"),
    ],
)
def test_a_file_that_cannot_be_used_is_refused_in_one_sentence(
    write: Write, content: bytes, name: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem) as refused:
        read_questions(write(content, name))
    assert refused.value.name == "QUESTIONS"


def test_a_missing_file_and_a_folder_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there is no file"):
        read_questions(tmp_path / "absent.jsonl")
    with pytest.raises(InputError, match="is a folder"):
        read_questions(tmp_path)


def test_of_any_mix_of_good_and_bad_lines_each_is_read_or_reported_once(write: Write) -> None:
    chance = random.Random(43)
    kinds = [line for kind, (line, _) in BAD_JSON.items() if "MB" not in kind and kind != "deep"]
    for _ in range(60):
        lines, good, wrong = [b'{"id": "1", "question": "a"}'], [1], []
        for number in range(2, chance.randint(3, 30)):
            if chance.random() < 0.5:
                lines.append(json.dumps({"id": f"q{number}", "question": "a"}).encode())
                good.append(number)
            else:
                lines.append(chance.choice(kinds))
                wrong.append(number)
        questions, bad = read_questions(write(b"\n".join(lines)))
        assert [q.line for q in questions] == good
        assert [line.line for line in bad] == wrong


def test_random_csv_tables_are_read_back_with_their_lines(write: Write) -> None:
    chance = random.Random(44)
    signs = "ab ,;\"\n\t北京'"
    for _ in range(200):
        texts = ["x" + "".join(chance.choices(signs, k=chance.randint(0, 12))) for _ in range(9)]
        table = io.StringIO()
        rows = csv.writer(table, delimiter=chance.choice(",;\t"), lineterminator="\n")
        rows.writerow(["id", "prompt", "answer"])
        expected, line = [], 2
        for number, text in enumerate(texts):
            rows.writerow([number, text, "z"])
            expected.append((str(number), text.strip(), line))
            line += 1 + text.count("\n")
        questions, bad = read_questions(write(table.getvalue(), "q.csv"))
        assert bad == []
        assert [(q.id, q.text, q.line) for q in questions] == expected
