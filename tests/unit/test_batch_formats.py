"""ANSWERS in the formats that benchmarks take."""

from pathlib import Path

import pytest

from agent.batch.answers import Row, rows_path, write_answers, write_lines
from agent.core.errors import AgentError
from tests.unit.batch_samples import lines_of, row

ROWS = [
    row("1", answer="北京"),
    row("2", answer="", status="no_answer"),
    row("3", answer="", status="paused"),
    row("4", answer="", status="failed"),
]


def test_gaias_submission_has_a_line_for_every_question_that_is_through(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    assert write_answers(path, ROWS, "gaia", lambda row: f"trace of {row['id']}") == 3
    assert lines_of(path)[0] == {
        "task_id": "1",
        "model_answer": "北京",
        "reasoning_trace": "trace of 1",
    }
    assert [line["model_answer"] for line in lines_of(path)] == ["北京", "", ""]


def test_without_traces_gaias_column_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    write_answers(path, ROWS[:1], "gaia")
    assert lines_of(path)[0]["reasoning_trace"] == ""


def test_the_minimal_format_is_id_and_answer_with_readable_characters(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    assert write_answers(path, ROWS, "minimal") == 3
    assert path.read_text(encoding="utf-8").startswith('{"id": "1", "answer": "北京"}\n')


def test_deepresearch_bench_gets_numbered_articles_under_its_own_prompts(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    rows = [row("7", answer="A report [1](https://a.example)."), row("07", answer="x"), *ROWS[2:]]
    prompts = {"7": "Write a report. ", "4": "Another"}
    assert write_answers(path, rows, "deepresearch_bench", prompts=prompts) == 3
    assert lines_of(path) == [
        {"id": 7, "prompt": "Write a report. ", "article": "A report [1](https://a.example)."},
        {"id": "07", "prompt": "who?", "article": "x"},
        {"id": 4, "prompt": "Another", "article": ""},
    ]


def test_the_rows_are_their_own_file_and_other_formats_have_it_beside_them(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    assert rows_path(path, "rows") == path
    assert rows_path(path, "gaia") == tmp_path / "answers.jsonl.rows.jsonl"
    assert write_answers(path, ROWS, "rows") == 0
    assert not path.exists()


def test_an_older_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("old\n")

    def trace_of(row: Row) -> str:
        if row["id"] == "2":
            raise AgentError("the trace is gone")
        return ""

    with pytest.raises(AgentError, match="trace is gone"):
        write_answers(path, ROWS, "gaia", trace_of)
    assert path.read_text() == "old\n"
    write_answers(path, ROWS, "gaia")
    assert len(lines_of(path)) == 3


def test_half_a_character_does_not_stop_the_file(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    write_lines(path, [{"id": "1", "answer": "a \ud83d"}])
    assert lines_of(path) == [{"id": "1", "answer": "a ?"}]


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="cannot be written") as failed:
        write_lines(tmp_path / "absent" / "answers.jsonl", [])
    assert failed.value.code == "answers_unwritable"
