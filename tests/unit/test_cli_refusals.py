"""What the parser of the command line refuses is told in a sentence, with what to do instead."""

import argparse
import re
from collections.abc import Iterator

import pytest

from agent.cli import COMMANDS, main
from agent.cli.parser import build_parser

ARGPARSE = re.compile(r"expected|invalid|unrecognized|not allowed|required:|argument -|usage:")
"""Words of the library's own fragments."""
OPTIONS_OF_PYTHON = {"-h", "--help", "--version"}


def commands() -> dict[str, argparse.ArgumentParser]:
    (chosen,) = (a for a in build_parser(COMMANDS)._actions if a.dest == "command")
    assert isinstance(chosen.choices, dict)
    return chosen.choices


def given(parser: argparse.ArgumentParser) -> list[str]:
    """What a command needs before its options are looked at."""
    needed = [a for a in parser._actions if a.required and a.nargs not in ("*", "?")]
    return [str(next(iter(action.choices or ["x"]))) for action in needed]


def cases() -> Iterator[tuple[str, ...]]:
    """Every way in which an argument of a command can be refused."""
    for name, parser in commands().items():
        yield name, *given(parser), "--no-such-option"
        if given(parser):
            yield (name,)
        for action in parser._actions:
            if OPTIONS_OF_PYTHON & {*action.option_strings}:
                continue
            begin = (name, *given(parser), *action.option_strings[-1:])
            if action.option_strings and action.nargs == 0:
                yield *begin[:-1], f"{begin[-1]}=1"
            elif action.option_strings:
                yield begin
            if action.choices is not None:
                yield (*begin[: None if action.option_strings else 1], "qqqqqq")
            elif action.type is not None and begin[-1] not in ("--format-requirement",):
                yield from ((*begin, bad) for bad in ("-1", "x") if action.option_strings)
        for group in parser._mutually_exclusive_groups:
            first, other = (a.option_strings[-1] for a in group._group_actions[:2])
            yield name, first, other, "x"
    yield ("nnnnnn",)
    yield ("--no-such-option",)
    yield ("doctor", "more")


def test_every_command_and_every_kind_of_refusal_is_there() -> None:
    wrong = [*cases()]
    assert {case[0] for case in wrong} >= set(COMMANDS)
    assert len(wrong) > 120


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_refusal_is_one_sentence_in_the_readers_language_that_says_what_to_do(
    language: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", language)
    ended = {case: (main(case), *capsys.readouterr()) for case in cases()}
    assert {case: left for case, left in ended.items() if not is_told(*left, language)} == {}


def is_told(code: int, out: str, err: str, language: str) -> bool:
    """Return whether a refusal is what it has to be: its code, and one sentence of ours."""
    told = err.removeprefix("tanlu: ").removesuffix("\n")
    return (
        (code, out) == (2, "")
        and err == f"tanlu: {told}\n"
        and len(told.splitlines()) == 1
        and not ARGPARSE.search(told)
        and bool(re.search(r"[一-鿿]", told)) is (language == "zh")
        and bool(re.search(r"(\. What it takes: .*|。 用法见 .*)--help$|[?？]$", told))
    )


def test_what_is_meant_is_guessed_from_what_the_argument_takes(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", "en")
    assert main(["config", "lst"]) == 2
    assert main(["serve", "--engine", "langraph"]) == 2
    shown = capsys.readouterr().err.splitlines()
    assert shown[0].endswith("give one of list, set, unset; did you mean list?")
    assert shown[1].endswith("did you mean langgraph?")


@pytest.mark.parametrize(
    ("argv", "meant"),
    [
        (["asl", "question"], "did you mean ask?"),
        (["ask", "question", "--jsom"], "did you mean --json?"),
        (["ask", "question", "--asistant=agent"], "did you mean --assistant?"),
        (["batch", "q.jsonl", "--retry-faild"], "did you mean --retry-failed?"),
        (["ask", "question", "--zzzz"], ""),
        (["ask", "question", "--modle"], ""),
    ],
)
def test_a_misspelt_word_is_answered_with_the_one_that_was_meant_and_without_a_wild_guess(
    argv: list[str],
    meant: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", "en")
    assert main(argv) == 2
    told = capsys.readouterr().err.rstrip()
    assert told.endswith(meant) if meant else "did you mean" not in told


def test_an_option_is_written_out_so_that_a_script_means_the_same_later(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", "en")
    assert main(["ask", "q", "--assist", "agent"]) == 2
    assert capsys.readouterr().err.endswith("did you mean --assistant?\n")


@pytest.mark.parametrize(
    "argv",
    [
        ["ask", "q", "--near", "here"],
        ["ask", "q", "--assistant", "nobody"],
        ["ask", "q", "--set", "max_searches"],
        ["ask", "q", "--html", "no/such/folder/a.html"],
        ["ask", "q", "--thread", "x"],
        ["ask", "q", "--url", "ftp://x"],
        ["ask", "q", "--format-requirement", "a year"],
        ["ask", "q", "--since", "foo"],
        ["ask", "q", "--since", "2026-02-30"],
        ["ask", "q", "--since", "2099-01-01"],
        ["ask", "q", "--site", "not a site"],
        ["ask"],
        ["batch"],
        ["ingest"],
        ["threads", "show"],
    ],
    ids=" ".join,
)
def test_what_a_command_refuses_itself_is_a_chinese_sentence_for_a_chinese_reader(
    argv: list[str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", "zh")
    assert main(argv) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(r"[一-鿿]", line)
    assert line.endswith(("。", "？"))


def test_a_setting_that_there_is_not_is_refused_in_the_reader_s_language(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", "zh")
    assert main(["ask", "q", "--offline", "--set", "foo=1"]) == 2
    assert capsys.readouterr().err.startswith("tanlu: --set foo：没有这个设置；")


@pytest.mark.parametrize(("option", "value"), [("--since", "foo"), ("--site", "not a site")])
def test_a_refusal_names_the_option_that_was_given_and_what_it_takes(
    option: str, value: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("ANSWER_LANGUAGE", "en")
    assert main(["ask", "q", option, value]) == 2
    assert capsys.readouterr().err.startswith(f"tanlu: {option} must be ")
