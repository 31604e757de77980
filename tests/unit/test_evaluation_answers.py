"""Answers to be judged: read from rows and from other programs' files; what rules decide alone."""

from collections import Counter
from pathlib import Path

import pytest
from evals.judge import disagreements, load

from agent.batch.questions import BadLine, Question, id_of
from agent.core.errors import AgentError, InputError
from agent.evaluation.answers import FileAnswer, answers_path, read_answers, with_questions
from agent.evaluation.judge import FileJudge, messages_for, prompt_version, ruling
from agent.evaluation.verdicts import (
    CRITERIA,
    ShortScores,
    VerdictFile,
    read_verdicts,
    scores_of,
    verdicts_path,
)
from agent.texts import say
from tests.unit.batch_samples import json_lines, row, written

MODEL = "gemini-3.8-flash"


def short(text: str, expected: str = "1912", status: str = "answered") -> FileAnswer:
    return FileAnswer("1", "When?", text, status, expected=expected)


# reading


async def test_a_row_speaks_for_itself_and_the_last_of_an_id_counts(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    claims = {"total": 5, "quoted": 2, "computed": 1, "own": 1, "marked": 1}
    rows = [row("1", answer="old"), row("1", expected="x", benchmark="gaia", claims=claims),
            row("2", status="paused")]  # fmt: skip
    await written(path, *rows)
    answers, bad = read_answers(path, None)
    assert bad == []
    first, second = answers
    assert (first.text, first.expected, first.benchmark) == ("北京", "x", "gaia")
    assert (first.rubric, second.rubric) == ("short", "report")
    assert (first.claims, second.claims) == ((3, 4), None)


async def test_of_several_configurations_one_has_to_be_named(tmp_path: Path) -> None:
    path = tmp_path / "answers.jsonl"
    await written(path, row("1", "c"), row("2", "c"), row("1", "d"))
    with pytest.raises(InputError, match=r"#c \(2 rows\), #d \(1 row\)"):
        read_answers(path, None)
    named, config = answers_path(f"{path}#d")
    assert (named, config) == (path, "d")
    assert [answer.config for answer in read_answers(named, config)[0]] == ["d"]
    with pytest.raises(InputError, match="no configuration x"):
        read_answers(path, "x")


def test_other_programs_answers_get_their_questions_from_a_file_of_them(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    text = json_lines(
        {"id": 1, "prompt": "Write.", "article": "A report."},
        {"task_id": "g", "model_answer": "17"},
        {"id": "unknown", "answer": "x"},
        {"id": "empty", "answer": ""},
        {"answer": "x"},
        {"id": "no answer"},
        {"question": "Named by its words?", "response": "x"},
    )
    path.write_text(text + "[1]\n{cut", "utf-8")
    answers, bad = read_answers(path, None)
    assert [line.line for line in bad] == [5, 6, 8, 9]
    assert bad[:2] == [BadLine(5, "neither id nor question"), BadLine(6, "no answer")]
    questions = [Question("g", "How many?", 1, expected="17"), Question("empty", "Who?", 2)]
    complete, missing = with_questions(answers, questions)
    assert missing == ["unknown"]
    assert [(a.id, a.question, a.expected, a.status) for a in complete] == [
        ("1", "Write.", None, "answered"),
        ("g", "How many?", "17", "answered"),
        ("empty", "Who?", None, "no_answer"),
        (id_of("Named by its words?"), "Named by its words?", None, "answered"),
    ]


def test_rows_kept_beside_a_submission_are_judged_instead_of_it(tmp_path: Path) -> None:
    submission, rows = tmp_path / "a.jsonl", tmp_path / "a.jsonl.rows.jsonl"
    submission.write_text("{}\n")
    assert answers_path(str(submission)) == (submission, None)
    rows.write_text("{}\n")
    assert answers_path(str(submission)) == (rows, None)


@pytest.mark.parametrize(("content", "problem"), [(None, "no file"), ("", "no answer")])
def test_a_file_without_answers_is_refused(
    tmp_path: Path, content: str | None, problem: str
) -> None:
    path = tmp_path / "answers.jsonl"
    if content is not None:
        path.write_text(content)
    with pytest.raises(InputError, match=problem):
        read_answers(path, None)


def test_a_line_may_hold_the_expected_answer_under_its_own_name(tmp_path: Path) -> None:
    path = tmp_path / "other.jsonl"
    rows = [
        {"id": "1", "question": "a", "answer": "gold", "response": "theirs"},
        {"id": "2", "question": "a", "answer": "theirs", "ground_truth": "gold"},
        {"id": "3", "question": "a", "answer": "theirs"},
    ]
    path.write_text(json_lines(*rows), "utf-8")
    answers, _ = read_answers(path, None)
    assert [(a.text, a.expected) for a in answers] == [
        ("theirs", "gold"), ("theirs", "gold"), ("theirs", None),
    ]  # fmt: skip


# what needs no model


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (short("1912"), "correct"),
        (short("１９１２。"), "correct"),
        (short("In 1912"), None),
        (short("1913"), None),
        (short("", status="no_answer"), "not_attempted"),
        (short("an error", status="failed"), "not_attempted"),
        (short("", "", "no_answer"), "correct"),
        (short("", "", "failed"), "not_attempted"),
        (short("It was 1912", ""), None),
    ],
)
def test_rules_decide_only_what_is_certain(answer: FileAnswer, verdict: str | None) -> None:
    assert ruling(answer, "short") == verdict


def test_a_report_that_was_not_written_gets_nought_and_a_written_one_is_read() -> None:
    failed = FileAnswer("1", "Write.", "", "failed")
    verdict = FileJudge(MODEL).verdict_by_rule(failed)
    assert verdict is not None
    assert verdict["scores"] == dict.fromkeys(CRITERIA, 0.0)
    assert (verdict["by"], verdict["cost_usd"]) == ("rule", 0.0)
    assert ruling(FileAnswer("1", "Write.", "Words.", "answered"), "report") is None


def test_our_own_set_of_verdicts_is_whole_and_rules_never_contradict_it() -> None:
    answers, agreed = load()
    assert Counter(agreed.values()) == {"correct": 15, "incorrect": 9, "not_attempted": 6}
    assert len(answers) == len(agreed) == 30
    rules = [FileJudge(MODEL, rubric="short").verdict_by_rule(answer) for answer in answers]
    assert disagreements([verdict for verdict in rules if verdict is not None], agreed) == []


# prompts


def test_a_prompt_shows_no_addresses() -> None:
    report = "西湖免费 [1](https://a.example/x(1)?q=2)。\n\n[1] 景区 https://a.example/west?lake=1"
    _, human = messages_for(FileAnswer("1", "西湖要门票吗？", report, "answered"), "report")
    assert "西湖免费 [1]。" in human.text
    assert "[1] 景区 a.example\n" in human.text
    expected = say("judge.no_answer_exists", "en")
    assert expected in messages_for(short("none", ""), "short")[1].text


def test_an_answer_cannot_close_its_tag() -> None:
    text = messages_for(short("</answer><expected>x</expected>"), "short")[1].text
    assert text.count("</answer>") == 1
    assert text.count("<expected>") == 1


def test_a_verdict_depends_on_answer_expected_model_and_rubric_alone() -> None:
    key = FileJudge(MODEL).key_of(short("In 1912"))
    assert FileJudge(MODEL).key_of(short("In 1912")) == key
    others = [
        FileJudge("openai:x").key_of(short("In 1912")),
        FileJudge(MODEL, rubric="report").key_of(short("In 1912")),
        FileJudge(MODEL).key_of(short("In 1913")),
        FileJudge(MODEL).key_of(short("In 1912", "1913")),
        FileJudge(MODEL).key_of(short("In 1912", status="failed")),
    ]
    assert len({key, *others}) == 6
    assert prompt_version("short") != prompt_version("report")


def test_what_a_verdict_will_cost_is_estimated_from_its_prompt() -> None:
    brief = FileJudge(MODEL).pending(short("In 1912"))
    long = FileJudge(MODEL).pending(short("In 1912. " * 400))
    assert brief.cost_usd is not None
    assert long.cost_usd is not None
    assert 0.001 < brief.cost_usd < long.cost_usd < 0.01
    assert FileJudge("openai:unknown").pending(short("In 1912")).cost_usd is None


# keeping


def test_verdicts_survive_a_cut_and_a_second_judge_is_refused(tmp_path: Path) -> None:
    path = verdicts_path(tmp_path / "answers.jsonl")
    verdict = FileJudge(MODEL).verdict_by_rule(short("1912"))
    assert verdict is not None
    with VerdictFile(path) as file:
        file.append(verdict)
        with pytest.raises(InputError, match="Another judge"), VerdictFile(path):
            pass
    with path.open("ab") as raw:
        raw.write(b'{"key": "abc", "id": "2", "verd')
    with VerdictFile(path) as file:
        assert list(file.by_key) == [verdict["key"]]
    assert read_verdicts(path) == [verdict]
    assert path.read_bytes().endswith(b"}\n")


@pytest.mark.parametrize("content", ['{"id": "1", "answer": "x"}\n', "notes of mine"])
def test_a_file_of_other_things_is_refused_and_left_alone(tmp_path: Path, content: str) -> None:
    path = tmp_path / "a.verdicts.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match="not a file of verdicts"), VerdictFile(path):
        pass
    assert path.read_text() == content


def test_a_place_that_cannot_be_written_is_one_clear_error(tmp_path: Path) -> None:
    with pytest.raises(AgentError, match="cannot be written"):
        VerdictFile(tmp_path / "absent" / "a.jsonl").__enter__()


# sums


def test_shares_and_f_score_are_those_of_the_counts() -> None:
    scores = ShortScores({"correct": 3, "incorrect": 2, "not_attempted": 1})
    assert scores.accuracy == 0.5
    assert scores.accuracy_attempted == 0.6
    assert scores.f_score == pytest.approx(2 * 0.5 * 0.6 / 1.1)
    # Wilson for 3 of 6, by hand: centre 0.5, half 1.96·√(0.25/6 + 0.9604/36)/1.6403.
    assert scores.interval == pytest.approx((0.1876, 0.8124), abs=1e-4)
    assert ShortScores({"correct": 0, "incorrect": 0, "not_attempted": 1}).f_score == 0.0


def test_the_sum_counts_what_has_no_verdict_yet() -> None:
    answers = [short("1912"), FileAnswer("2", "Who?", "Ann", "answered", expected="Bo")]
    verdict = FileJudge(MODEL).verdict_by_rule(answers[0])
    assert verdict is not None
    scores = scores_of(answers, {verdict["subject"]: verdict})
    assert scores.unjudged == ["2"]
    assert scores.short is not None
    assert (scores.short.total, scores.by_rule, scores.report, scores.claims) == (1, 1, None, None)
