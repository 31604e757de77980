"""`tanlu judge` and `tanlu compare` over Gemini's protocol, with a scripted model as the judge."""

import asyncio
import json
import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.core.errors import AgentError
from agent.evaluation.answers import FileAnswer
from agent.evaluation.judge import Docket, FileJudge, JudgeSession
from agent.evaluation.verdicts import JudgeVerdict, VerdictFile, read_verdicts
from agent.sample.model.request import ModelReply as Reply
from agent.sample.model.request import ModelTurn
from agent.texts import say
from tests.support.batch_lab import Here, here_fixture, rows_in
from tests.support.command_line import CANARY, Cli, cli_fixture, keyed, until
from tests.support.scripted import KEY, Scripted, client_for
from tests.support.served import serving
from tests.support.standins import GeminiService, gemini_error
from tests.unit.batch_samples import json_lines, row

__all__ = ["cli_fixture", "here_fixture"]

ENGLISH = {"ANSWER_LANGUAGE": "en"}


def says(verdict: str) -> Reply:
    return Reply(text=json.dumps({"extracted": "x", "reason": "because", "verdict": verdict}))


def scored(*scores: float) -> Reply:
    names = ("comprehensiveness", "insight", "instruction_following", "readability")
    parts = {name: {"reason": f"of {name}", "score": score}
             for name, score in zip(names, scores, strict=True)}  # fmt: skip
    return Reply(text=json.dumps({"requirements": ["a: done", "b: missing"], **parts}))


def judged_by(text: str) -> str:
    """Return what a turn gives to judge."""
    match = re.search(r"<(?:answer|report)>\n(.*?)\n</", text, re.DOTALL)
    assert match is not None
    return match[1]


def honest(turn: ModelTurn) -> Reply:
    """Judge by what the answer says of itself."""
    text = judged_by(turn.user)
    if text.startswith("Report"):
        return scored(*map(float, text.split()[1:5]))
    return says(text.split()[0].strip(",:.").lower())


@pytest.fixture
def llm() -> Scripted:
    return Scripted(otherwise=honest)


@pytest.fixture
def gemini(llm: Scripted) -> Iterator[GeminiService]:
    service = GeminiService(llm, key=CANARY)
    with serving(service) as served:
        service.environment = served.environment
        yield service


@pytest.fixture
def env(gemini: GeminiService) -> dict[str, str]:
    return {**keyed(gemini), **ENGLISH}


def put(cli: Cli, name: str, *rows: Any) -> None:
    (cli.folder / name).write_text(json_lines(*rows), "utf-8")


def of(id: str, answer: str, expected: str | None = "1912", **changes: Any) -> Any:
    about: dict[str, Any] = {"assistant": "team_answer", "settings": {"max_searches": "3"},
                             "models": {"answer_model": "gemini-3.8-flash"}}  # fmt: skip
    if expected is not None:
        about["expected"] = expected
    return row(id, question=f"Question {id}?", answer=answer, **{**about, **changes})


MIXED = [
    of("rule", "1912"),
    of("right", "Correct, in a sentence."),
    of("wrong", "Incorrect: 1913."),
    of("open", "not_attempted really"),
    of("failed", "", status="failed"),
    of("skipped", "", status="skipped"),
    of("report", "Report 8 6 7 7.5 and words", None, claims={"quoted": 9, "marked": 1, "own": 4}),
]


def test_every_answer_gets_a_verdict_once_and_the_card_sums_them_up(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted
) -> None:
    put(cli, "a.jsonl", *MIXED)
    first = here("judge", "a.jsonl", "--card", "card.json", **env)
    assert first.code == 0, first.err
    assert len(llm.turns) == 4
    assert "to judge by gemini-3.8-flash: 4," in first.err
    assert "by rule: 2" in first.err
    card = json.loads((cli.folder / "card.json").read_text("utf-8"))
    assert card["rubric"].startswith("own rubric after SimpleQA")
    assert card["answers"]["statuses"] == {"answered": 5, "failed": 1, "skipped": 1}
    assert card["answers"]["settings"] == {"max_searches": "3"}
    assert card["answers"]["models"] == {"answer_model": "gemini-3.8-flash"}
    assert card["scores"]["short"]["correct"] == 2
    assert card["scores"]["short"]["incorrect"] == 1
    assert card["scores"]["short"]["not_attempted"] == 2
    assert card["scores"]["short"]["accuracy"] == 0.4
    assert card["scores"]["report"]["overall"] == pytest.approx(7.12, abs=0.01)
    assert card["scores"]["claims"] == {"borne_out": 9, "claims": 10, "share": 0.9}
    assert card["judge"]["cost_usd"] > 0
    assert "no official score" in first.out
    assert "may favour its own" in first.out
    second = here("judge", "a.jsonl", "--card", "card.md", **env)
    assert (second.code, len(llm.turns)) == (0, 4)
    assert "judged before: 6" in second.err
    assert (cli.folder / "card.md").read_text("utf-8").strip() == second.out.strip()


def test_a_verdict_keeps_its_reasons(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted
) -> None:
    put(cli, "a.jsonl", *MIXED)
    here("judge", "a.jsonl", **env)
    verdicts = {v["id"]: v for v in read_verdicts(cli.folder / "a.jsonl.verdicts.jsonl")}
    assert (verdicts["wrong"]["verdict"], verdicts["wrong"]["reason"]) == ("incorrect", "because")
    assert verdicts["report"]["reasons"]["insight"] == "of insight"
    assert verdicts["report"]["requirements"] == ["a: done", "b: missing"]
    assert {v["by"] for v in verdicts.values()} == {"rule", "gemini-3.8-flash"}


def test_an_answer_that_the_provider_refused_is_left_and_judged_at_the_next_start(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted, gemini: GeminiService
) -> None:
    put(cli, "a.jsonl", of("1", "correct one"), of("2", "incorrect two"), of("3", "correct three"))
    fault = gemini.fail("status", status=400, body=gemini_error(400), times=None,
                        match=lambda _, body: "incorrect two" in str(body))  # fmt: skip
    first = here("judge", "a.jsonl", **env)
    assert first.code == 1
    assert "2: not judged" in first.err
    assert "Without a verdict: 1" in first.err.splitlines()[-1]
    assert "Traceback" not in first.err
    fault.times = 0
    asked = len(llm.turns)
    assert here("judge", "a.jsonl", **env).code == 0
    assert len(llm.turns) == asked + 1


def test_a_spent_quota_stops_and_asks_nothing_more(
    cli: Cli, here: Here, env: dict[str, str], gemini: GeminiService
) -> None:
    put(cli, "a.jsonl", *(of(str(n), f"correct {n}") for n in range(9)))
    quota = "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
    gemini.fail("status", status=429, body=gemini_error(429, quota_id=quota), times=None)
    stopped = here("judge", "a.jsonl", "--concurrency", "1", **env)
    assert stopped.code == 1
    assert "Stopped, 9 without a verdict" in stopped.err
    assert stopped.err.count("not judged") == 1


def test_no_verdict_begins_that_could_pass_the_limit_and_a_higher_one_goes_on(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted
) -> None:
    put(cli, "a.jsonl", *(of(str(n), f"correct {n}") for n in range(6)))
    limited = here("judge", "a.jsonl", "--max-usd", "0.006", **env)
    assert limited.code == 1
    assert "--max-cost" in limited.err.splitlines()[-1]
    kept = read_verdicts(cli.folder / "a.jsonl.verdicts.jsonl")
    assert 0 < len(kept) < 6
    assert sum(v["cost_usd"] or 0 for v in kept) <= 0.006
    assert here("judge", "a.jsonl", "--max-cost", "1", **env).code == 0
    assert len(llm.turns) == 6


def test_a_dry_run_asks_nothing_writes_nothing_and_needs_no_key(cli: Cli, here: Here) -> None:
    put(cli, "a.jsonl", *MIXED)
    done = here("judge", "a.jsonl", "--dry-run", **ENGLISH)
    assert done.code == 0
    assert re.search(r"gemini-3.8-flash: 4, about [\d,]+ tokens, \$0\.0\d+; by rule: 2", done.err)
    assert [path.name for path in cli.folder.glob("a.jsonl*")] == ["a.jsonl"]


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        (("a.jsonl",), "GEMINI_API_KEY"),
        (("missing.jsonl",), "ANSWERS"),
        (("a.jsonl", "--model", "nobody:x"), "--model"),
        (("a.jsonl", "--card", "no/such/card.json"), "--card"),
        (("a.jsonl", "--questions", "missing.csv"), "QUESTIONS"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_paid(
    cli: Cli, here: Here, argv: tuple[str, ...], named: str
) -> None:
    put(cli, "a.jsonl", *MIXED)
    refused = here("judge", *argv, **ENGLISH)
    assert refused.code == 2
    assert refused.err.splitlines()[-1].startswith(f"tanlu: {named}")
    assert not (cli.folder / "a.jsonl.verdicts.jsonl").exists()


def test_a_cost_that_nobody_knows_is_not_bounded(cli: Cli, here: Here, env: dict[str, str]) -> None:
    put(cli, "a.jsonl", *MIXED)
    refused = here("judge", "a.jsonl", "--model", "openai:x", "--max-cost", "1", **env)
    assert refused.code == 2
    assert "The price of openai:x is not known" in refused.err


def test_bad_lines_are_named_and_the_rest_is_judged(
    cli: Cli, here: Here, env: dict[str, str]
) -> None:
    put(cli, "a.jsonl", of("1", "correct"), {"id": "2"}, of("3", "incorrect"))
    done = here("judge", "a.jsonl", **env)
    assert done.code == 1
    assert "a.jsonl: Line 2 is left out: no answer" in done.err
    assert len(rows_in(cli.folder / "a.jsonl.verdicts.jsonl")) == 2


def test_another_program_s_answers_are_judged_with_a_benchmark_s_file_of_questions(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted
) -> None:
    published, name = Path(__file__).parents[1] / "fixtures" / "benchmarks", "browse_comp.csv"
    items = json.loads((published / "browsecomp_zh" / "test.json").read_text("utf-8"))
    put(cli, "other.jsonl", *({"question": i["Question"], "response": "correct"} for i in items))
    questions = str(published / "browsecomp" / name)
    argv = ("judge", "other.jsonl", "--questions", questions, "--card", "card.json")
    encrypted = here(*argv, **env)
    assert (encrypted.code, llm.turns) == (2, [])
    assert f"{name}: Line 2 is left out: encrypted; --decrypt" in encrypted.err
    done = here(*argv, "--decrypt", "--benchmark", "browsecomp", **env)
    assert done.code == 0, done.err
    card = json.loads((cli.folder / "card.json").read_text("utf-8"))
    assert card["answers"]["formats"] == ["browsecomp"]
    assert card["scores"]["short"]["correct"] == 10
    shown = [re.search(r"<expected>\n(.*)\n", turn.user) for turn in llm.turns]
    assert {match[1] for match in shown if match} == {item["Answer"] for item in items}


@pytest.mark.parametrize(
    "reply",
    [
        '{"extracted": "x", "reason": "r", "verdict": "NOT ATTEMPTED"}',
        '```json\n{"reason": "r", "verdict": "not-attempted",}\n```',
        'Let me compare them.\n{"extracted": null, "reason": "r", "verdict": "Not_attempted"}',
    ],
)
def test_a_class_is_understood_as_models_write_it(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted, reply: str
) -> None:
    put(cli, "a.jsonl", of("1", "Helium only."))
    llm.then(Reply(text=reply))
    assert here("judge", "a.jsonl", **env).code == 0
    (verdict,) = read_verdicts(cli.folder / "a.jsonl.verdicts.jsonl")
    assert (verdict["verdict"], len(llm.turns)) == ("not_attempted", 1)


def test_a_score_beyond_the_scale_is_asked_for_again(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted
) -> None:
    put(cli, "a.jsonl", MIXED[-1])
    llm.then(scored(80, 60, 70, 75), scored(8, 6, 7, 7.5))
    assert here("judge", "a.jsonl", **env).code == 0
    assert len(llm.turns) == 2
    (verdict,) = read_verdicts(cli.folder / "a.jsonl.verdicts.jsonl")
    assert list(verdict["scores"].values()) == [8, 6, 7, 7.5]


@pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")
def test_ctrl_c_lets_the_verdict_under_way_finish_and_leaves_the_rest(
    cli: Cli, here: Here, env: dict[str, str], llm: Scripted
) -> None:
    put(cli, "a.jsonl", *(of(str(n), f"correct {n}") for n in range(3)))

    def interrupted(turn: ModelTurn) -> Reply:
        os.kill(os.getpid(), signal.SIGINT)
        return honest(turn)

    llm.then(interrupted)
    stopped = here("judge", "a.jsonl", "--concurrency", "1", **env)
    assert stopped.code == 130
    assert "Finishing the verdicts under way" in stopped.err
    assert "Interrupted, 2 left; " in stopped.err.splitlines()[-1]
    assert len(read_verdicts(cli.folder / "a.jsonl.verdicts.jsonl")) == 1
    assert here("judge", "a.jsonl", **env).code == 0


async def test_a_judge_that_is_cut_off_pays_no_verdict_twice(tmp_path: Path, llm: Scripted) -> None:
    answers = [
        FileAnswer(str(n), "When?", f"correct {n}", "answered", expected="x") for n in range(3)
    ]
    judge, service = FileJudge("gemini-3.8-flash"), GeminiService(llm, key=KEY)
    told: list[FileAnswer] = []

    def notice(answer: FileAnswer, _outcome: JudgeVerdict | AgentError) -> None:
        told.append(answer)

    async with client_for(service) as client:
        fault = service.fail("hang", times=None, match=lambda _, body: "correct 1" in str(body))
        with VerdictFile(tmp_path / "v.jsonl") as file:
            session = JudgeSession(judge, client, file, max_cost=None, notice=notice)
            docket = Docket.of(judge, answers, file.by_key.keys())
            running = asyncio.create_task(session.run(docket, concurrency=2))
            await asyncio.to_thread(until, lambda: len(told) == 2)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
        fault.times = 0
        asked = len(llm.turns)
        with VerdictFile(tmp_path / "v.jsonl") as file:
            docket = Docket.of(judge, answers, file.by_key.keys())
            assert (docket.before, [p.answer.id for p in docket.pending]) == (2, ["1"])
            session = JudgeSession(judge, client, file, max_cost=None, notice=notice)
            await session.run(docket, concurrency=2)
        assert len(llm.turns) == asked + 1
    assert sorted(v["id"] for v in read_verdicts(tmp_path / "v.jsonl")) == ["0", "1", "2"]


# two files


def judged(cli: Cli, here: Here, env: dict[str, str], name: str, classes: str) -> None:
    words = {"c": "Correct", "i": "Incorrect", "n": "not_attempted"}
    put(cli, name, *(of(str(n), f"{words[c]} {name}") for n, c in enumerate(classes)))
    assert here("judge", name, **env).code == 0


def test_two_files_are_compared_in_plain_words_of_both_languages(
    cli: Cli, here: Here, env: dict[str, str]
) -> None:
    judged(cli, here, env, "a.jsonl", "ciiiiiiinc")
    judged(cli, here, env, "b.jsonl", "cccccccccc")
    done = here("compare", "a.jsonl", "b.jsonl", **ENGLISH)
    assert done.code == 0, done.err
    assert say("compare.basis", "en", pairs=10, judge="gemini-3.8-flash") in done.out
    assert "Correct: A 20.0%, B 100.0%; difference +80.0 points" in done.out
    assert say("compare.split", "en", split=8, a=0, b=8) in done.out
    assert say("compare.b_better", "en", p="0.8%") in done.out
    chinese = here("compare", "b.jsonl", "a.jsonl", ANSWER_LANGUAGE="zh")
    assert say("compare.a_better", "zh", p="0.8%") in chinese.out
    found = json.loads(here("compare", "a.jsonl", "b.jsonl", "--json", **ENGLISH).out)
    assert (found["short"]["only_b"], found["short"]["p"]) == (8, 0.007812)


def test_two_configurations_in_one_file_are_judged_and_compared_by_their_names(
    cli: Cli, here: Here, env: dict[str, str]
) -> None:
    rows = [of(str(n), f"{'Correct' if n < 2 else 'Incorrect'} one", config="c") for n in range(8)]
    put(cli, "a.jsonl", *rows, *(of(str(n), "Correct two", config="d") for n in range(8)))
    refused = here("judge", "a.jsonl", **env)
    assert refused.code == 2
    assert "#c (8 rows), #d (8 rows)" in refused.err
    for name in ("a.jsonl#c", "a.jsonl#d"):
        assert here("judge", name, **env).code == 0
    told = here("compare", "a.jsonl#c", "a.jsonl#d", **ENGLISH).out
    assert "Correct: A 25.0%, B 100.0%" in told
    assert "→ B is better" in told


def test_a_small_difference_is_not_called_one(cli: Cli, here: Here, env: dict[str, str]) -> None:
    judged(cli, here, env, "a.jsonl", "ccccci")
    judged(cli, here, env, "b.jsonl", "cccccc")
    told = here("compare", "a.jsonl", "b.jsonl", **ENGLISH).out
    assert say("compare.same", "en", p="100%").split(":")[0] in told
    assert say("compare.few_split", "en", least=6) in told


def test_reports_are_compared_by_criterion(cli: Cli, here: Here, env: dict[str, str]) -> None:
    for name, plus in (("a.jsonl", 0), ("b.jsonl", 1)):
        put(cli, name, *(of(str(n), f"Report {4 + plus} 5 6 7 {n}", None) for n in range(3)))
        assert here("judge", name, **env).code == 0
    told = here("compare", "a.jsonl", "b.jsonl", **ENGLISH).out
    assert (
        say(
            "compare.score",
            "en",
            title="all four",
            a="5.50",
            b="5.75",
            value="+0.25",
            low="+0.25",
            high="+0.25",
            p="25.0%",
        )
        in told
    )
    assert "comprehensiveness: A 4.00, B 5.00; +1.00" in told
    assert say("compare.too_few_pairs", "en", least=6) in told
    assert "A = a.jsonl (team_answer, max_searches=3)" in told


def test_files_without_verdicts_or_a_common_judge_are_not_compared(
    cli: Cli, here: Here, env: dict[str, str]
) -> None:
    judged(cli, here, env, "a.jsonl", "cc")
    put(cli, "b.jsonl", of("0", "Incorrect"))
    refused = here("compare", "a.jsonl", "b.jsonl", **ENGLISH)
    assert refused.code == 2
    assert f"b.jsonl {say('compare.unjudged', 'en')}." in refused.err
    assert here("judge", "b.jsonl", "--model", "gemini-3.5-flash-lite", **env).code == 0
    refused = here("compare", "a.jsonl", "b.jsonl", **ENGLISH)
    assert refused.code == 2
    assert "No model has judged both" in refused.err
