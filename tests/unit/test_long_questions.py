"""The long questions and their points: what a sheet holds, and how a judge's reply is scored."""

import json
from pathlib import Path

import pytest
from evals.long_questions import __main__ as scoring
from evals.own_documents import sets

from agent.assistants.registry import ASSISTANTS
from agent.evaluation.verdicts import CRITERIA


def written(row: scoring.Row, score: float, *, but: int = 0) -> str:
    scores = [{"n": n, "score": 0 if n == but else score} for n, *_ in scoring.points(row)]
    return json.dumps({"scores": scores})


def test_twelve_questions_have_points_for_every_criterion() -> None:
    rows = scoring.load()
    assert len({row["id"] for row in rows}) == 12
    collections = {label["collection"] for label in sets.load()}
    for row in rows:
        assert row["assistant"] in ASSISTANTS
        assert [*row["rubric"]] == [*row["weights"]] == [*CRITERIA]
        assert all(row["rubric"].values())
        assert row.get("collection") in (None, *collections)


def test_a_sheet_numbers_the_points_and_holds_question_and_answer() -> None:
    row = scoring.load()[0]
    text = scoring.sheet(row, "磷酸铁锂。")
    last = [*scoring.points(row)][-1]
    assert f"\n{last[0]}. {last[2]['asks']}\n</points>" in text
    assert row["question"] in text
    assert "<answer>\n磷酸铁锂。\n</answer>" in text


def test_a_point_counts_by_its_weight_and_a_criterion_by_its_own() -> None:
    row = {
        "id": "a",
        "weights": dict.fromkeys(CRITERIA, 25),
        "rubric": {
            name: [{"weight": 3, "asks": "x"}, {"weight": 1, "asks": "y"}] for name in CRITERIA
        },
    }
    scores = scoring.Scores.model_validate_json(written(row, 8, but=2))
    assert scoring.totals(row, scores) == {
        "comprehensiveness": 6, "insight": 8, "instruction_following": 8, "readability": 8,
        "overall": 7.5,
    }  # fmt: skip


def test_a_point_without_a_score_is_told() -> None:
    row = scoring.load()[0]
    with pytest.raises(ValueError, match=r"points without a score: \[1, 2"):
        scoring.totals(row, scoring.Scores(scores=[]))


def test_sheets_are_written_for_answers_and_scored_where_a_reply_lies_beside(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    first, second = scoring.load()[:2]
    rows = [
        {"id": row["id"], "question": row["question"], "answer": "…", "status": "answered"}
        for row in (first, second)
    ]
    answers = tmp_path / "a.jsonl"
    answers.write_text("\n".join(json.dumps(row) for row in rows), "utf-8")
    sheets = tmp_path / "sheets"
    given = ["--answers", str(answers), "--sheets", str(sheets)]
    scoring.main(given)
    assert {path.name for path in sheets.iterdir()} == {f"{first['id']}.md", f"{second['id']}.md"}
    (sheets / f"{first['id']}.json").write_text(written(first, 8), "utf-8")
    capsys.readouterr()
    scoring.main(given)
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()] == [
        first["id"], "broad", "all",
    ]  # fmt: skip
