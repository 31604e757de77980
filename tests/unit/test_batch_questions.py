"""A file of questions in the shapes of the benchmarks."""

import csv
import hashlib
import io
import random
from pathlib import Path

import pytest

from agent.batch.questions import BadLine, Question, read_questions
from tests.unit.batch_samples import CANARY, Write, encrypt, json_lines, writer


@pytest.fixture
def write(tmp_path: Path) -> Write:
    return writer(tmp_path)


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
        Question("a-1", "How many?", 1, expected="17", level="2", benchmark="gaia"),
        Question("a-2", "Whose?", 2, level="3", needs_file=True, benchmark="gaia"),
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
