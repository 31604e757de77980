"""The arguments of `tanlu batch`: what is refused before anything is asked, and how to go on."""

import os
import shlex
from argparse import Namespace
from pathlib import Path

import pytest

from agent.batch.disk import TraceFolder, file_name_of
from agent.batch.questions import BENCHMARKS
from agent.cli import COMMANDS
from agent.cli.batch import BatchPlan, advise, read_batch_plan
from agent.cli.parser import build_parser
from agent.core.errors import AgentError, ConfigurationError, InputError


def parsed(*argv: str) -> Namespace:
    return build_parser(COMMANDS).parse_args(["batch", *argv])


def plan(*argv: str) -> BatchPlan:
    return read_batch_plan(parsed(*argv))


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = "".join(f'{{"id": "{n}", "question": "question {n}?"}}\n' for n in range(4))
    (tmp_path / "questions.jsonl").write_text(lines, "utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        ((), "-o"),
        (("-o", "a.jsonl"), "QUESTIONS"),
        (("questions.jsonl",), "-o"),
        (("missing.jsonl", "-o", "a.jsonl"), "QUESTIONS"),
        (("questions.jsonl", "-o", "no/such/a.jsonl"), "-o"),
        (("questions.jsonl", "-o", "."), "-o"),
        (("questions.jsonl", "-o", "a.jsonl", "--assistant", "nobody"), "--assistant"),
        (("questions.jsonl", "-o", "a.jsonl", "--set", "no_such=1"), "--set no_such"),
        (("questions.jsonl", "-o", "a.jsonl", "--set", "max_model_calls=0"), "max_model_calls"),
        (("questions.jsonl", "-o", "a.jsonl", "--url", "server"), "--url"),
        (("questions.jsonl", "-o", f"{'很' * 100}.jsonl"), "-o"),
        (("questions.jsonl", "-o", "a.jsonl", "--url", "http://a", "--offline"), "--offline"),
    ],
)
def test_what_is_wrong_is_named_before_anything_is_asked(argv: tuple[str, ...], named: str) -> None:
    with pytest.raises((InputError, ConfigurationError)) as refused:
        plan(*argv)
    assert refused.value.name == named


def test_a_read_only_place_is_named_by_its_own_option(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="cannot be written to") as refused:
        plan("questions.jsonl", "-o", "a.jsonl")
    assert refused.value.name == "-o"
    with pytest.raises(InputError, match="cannot be written to") as refused:
        TraceFolder(Path("traces"))
    assert refused.value.name == "--trace-dir"


def test_a_trace_that_cannot_be_written_is_one_clear_error(folder: Path) -> None:
    traces = TraceFolder(folder / "traces")
    (folder / "traces").rmdir()
    with pytest.raises(AgentError, match=r"--trace-dir: .*a\.json cannot be written"):
        traces.write("a", {})


@pytest.mark.parametrize(
    "argv", [("--concurrency", "0"), ("--limit", "-1"), ("--max-cost", "nan"), ("--format", "x")]
)
def test_a_number_that_cannot_be_is_bad_usage(
    argv: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as refused:
        parsed("questions.jsonl", "-o", "a.jsonl", *argv)
    assert refused.value.code == 2
    assert argv[0] in capsys.readouterr().err


@pytest.mark.skipif(os.name != "posix", reason="quoting of a POSIX shell")
def test_the_command_that_goes_on_is_the_same_batch() -> None:
    argv = [
        "questions.jsonl", "-o", "my answers.jsonl", "--assistant", "agent", "--concurrency", "3",
        "--limit", "2", "--retry-failed", "--max-cost", "12345678.5", "--trace-dir", "tr",
        "--score", "--decrypt", "--format", "gaia", "--benchmark", "gaia",
        "--set", "answer_language=zh", "--set", "max_searches=3", "--log-file", "a b.log",
    ]  # fmt: skip
    words = shlex.split(plan(*argv).resume)
    assert words[:2] == ["tanlu", "batch"]
    assert parsed(*words[2:]) == parsed(*argv)


def test_the_configuration_decides_which_rows_count() -> None:
    to = ("questions.jsonl", "-o", "a.jsonl")
    same = {plan(*to).place.config, plan(*to, "--concurrency", "2", "--limit", "1").place.config}
    assert len(same) == 1
    others = {
        plan(*to, "--set", "max_searches=3").place.config,
        plan(*to, "--assistant", "agent").place.config,
    }
    assert len(same | others) == 3


def test_the_environment_s_choice_is_part_of_the_configuration(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    to = ("questions.jsonl", "-o", "a.jsonl")
    before = plan(*to).place.config
    monkeypatch.setenv("ANSWER_MODEL", "gemini-3.5-flash-lite")
    assert plan(*to).place.config != before


def test_a_batch_that_began_here_can_go_on_on_a_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GEMINI_API_KEY", "AIza-canary-0123456789abcdef")
    to = ("questions.jsonl", "-o", "a.jsonl", "--set", "max_searches=3")
    assert plan(*to).place == plan(*to, "--url", "http://127.0.0.1:1").place


def test_only_the_first_questions_are_taken(folder: Path) -> None:
    found = plan("questions.jsonl", "-o", "a.jsonl", "--limit", "2", "--format", "minimal")
    assert [question.id for question in found.questions] == ["0", "1"]
    assert found.place.rows == (folder / "a.jsonl.rows.jsonl").resolve()
    assert found.log_file == Path("a.jsonl.log")


def test_the_command_line_names_every_benchmark_that_is_read(folder: Path) -> None:
    (folder / "b.csv").write_text("metadata,problem,answer\n{},Who?,Ann\n", "utf-8")
    for name in BENCHMARKS:
        found = plan("b.csv", "-o", "a.jsonl", "--benchmark", name)
        assert bool(found.questions) is (name == "simpleqa")


@pytest.mark.parametrize(("assistant", "advised"), [("team_answer", 1), ("deep_research", 0)])
def test_a_benchmark_of_reports_is_not_given_to_the_team_without_a_word(
    folder: Path, assistant: str, advised: int, capsys: pytest.CaptureFixture[str]
) -> None:
    row = '{"id": 1, "topic": "t", "language": "en", "prompt": "Write."}\n'
    (folder / "query.jsonl").write_text(row, "utf-8")
    advise(plan("query.jsonl", "-o", "a.jsonl", "--assistant", assistant))
    assert capsys.readouterr().err.count("--assistant deep_research") == advised


def test_the_sample_has_questions_of_its_own() -> None:
    found = plan("--offline")
    assert len(found.questions) >= 30
    assert found.answers.parent.is_dir()
    assert found.bad_lines == []


@pytest.mark.parametrize(
    "id", ["a/b", "..", ".", "", "con", "A", "问题", "x" * 300, "a\x00b", "a.json/../b"]
)
def test_a_trace_stays_in_its_folder_under_any_id(id: str, tmp_path: Path) -> None:
    folder = TraceFolder(tmp_path / "traces")
    folder.write(id, {"reasoning_trace": [{"text": "one"}, {"text": "two"}]})
    (path,) = (tmp_path / "traces").iterdir()
    assert path == folder.path(id)
    assert folder.reasoning(id) == "one\ntwo"


def test_no_two_ids_share_a_file() -> None:
    ids = ["a", "A", "a/b", "a_b", "a?b", "问题", "答案", "x" * 90, "x" * 91]
    assert len({file_name_of(id).lower() for id in ids}) == len(ids)
