import argparse
import os
import re
from pathlib import Path

import pytest

from agent.cli import COMMANDS, main
from agent.cli.parser import build_parser, join_negative_values
from agent.cli.request import MAX_QUESTION, AskRequest, read_request
from agent.client.connection import checked_settings
from agent.core.errors import ConfigurationError, InputError
from agent.texts import say
from tests.support.rows import by_examples

THREAD = "0b9f2f3e-5d2c-4c33-9f57-1c1d5a4f0a11"


@pytest.fixture(autouse=True)
def _elsewhere(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """No test reads the `.env` of the folder it was started in."""
    monkeypatch.chdir(tmp_path)


def parsed(*argv: str) -> argparse.Namespace:
    return build_parser(COMMANDS).parse_args(["ask", *join_negative_values(argv)])


def request(*argv: str) -> AskRequest:
    return read_request(parsed(*argv))


def test_a_question_becomes_a_message_on_a_new_thread() -> None:
    first, second = request("王府井附近", "遛娃"), request("王府井附近 遛娃")
    assert first.graph_input() == {"messages": [{"role": "user", "content": "王府井附近 遛娃"}]}
    assert first.thread_id != second.thread_id
    assert first.context == {}
    assert not first.follows_up


def test_a_thread_without_a_question_goes_on() -> None:
    found = request("--thread", THREAD)
    assert found.graph_input() is None
    assert found.thread_id == THREAD
    assert found.follows_up


@pytest.mark.parametrize("near", ["-0.12,51.5", "-0.12, 51.5"])
def test_near_takes_negative_degrees(near: str) -> None:
    found = request("pubs near me", "--near", near)
    assert found.near == {"lng": -0.12, "lat": 51.5}
    assert (found.graph_input() or {})["user_location"] == {"lng": -0.12, "lat": 51.5}


def test_the_form_of_the_answer_goes_to_assistants_that_take_it() -> None:
    wanted = ("--format-requirement", " a  year ")
    given = request("q", "--assistant", "team_answer", *wanted).graph_input()
    assert given is not None
    assert given["format_requirement"] == "a year"
    plain = request("q", "--assistant", "team_answer").graph_input()
    assert plain is not None
    assert "format_requirement" not in plain
    with pytest.raises(InputError, match="goes with a question"):
        request("--thread", "5d4f5a64-7f0c-4a55-9d0c-6ad3c9b9f002", *wanted)
    theirs = request("q", "--url", "http://x", "--assistant", "mine", *wanted)
    assert theirs.format_requirement == "a year"


def test_an_option_that_the_assistant_does_not_take_is_named_as_it_was_given() -> None:
    for option, value in (("--ics", ["a.ics"]), ("--pocket-map", ["a.pdf"]), ("--outing", [])):
        with pytest.raises(InputError, match=f"^{option} is not taken by plan_execute"):
            request("q", "--assistant", "plan_execute", option, *value)


def test_the_pocket_map_is_a_drawing_or_a_pdf() -> None:
    with pytest.raises(InputError, match=re.escape(say("faults.usage.pocket_map", "en"))):
        request("q", "--pocket-map", "a.png")
    assert request("q", "--pocket-map", "a.SVG").context == {"outing": "on"}


def test_settings_are_typed_and_only_those_given_are_sent() -> None:
    found = request("q", "--set", "max_research_loops=3", "--set", "review_plan=false")
    assert found.context == {"max_research_loops": 3, "review_plan": False}


def test_a_saved_answer_gets_lasting_links_unless_told_otherwise(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert request("q", "--html", "a.html").context == {"resolve_links": True}
    assert request("q", "--html", "a.html", "--set", "resolve_links=false").context == {
        "resolve_links": False
    }
    monkeypatch.setenv("RESOLVE_LINKS", "false")
    assert request("q", "--geojson", "a.json").context == {}


@pytest.mark.parametrize(
    ("argv", "named"),
    [
        ([], "QUESTION"),
        ([""], "QUESTION"),
        (["  \t\x07 "], "QUESTION"),
        (["x" * 1_000_000], "QUESTION"),
        (["q", "--assistant", "nobody"], "--assistant"),
        (["q", "--thread", "../../etc"], "--thread"),
        (["q", "--format-requirement", "a year"], "--format-requirement"),
        (["q", "--assistant", "team_answer", "--format-requirement", " "], "--format-requirement"),
        (["q", "--near", "here"], "--near"),
        (["q", "--near", "200,95"], "--near"),
        (["q", "--set", "no_such=1"], "no_such"),
        (["q", "--set", "max_research_loops"], "--set must be SETTING=VALUE"),
        (["q", "--set", "max_research_loops=99"], "max_research_loops"),
        (["q", "--set", "max_run_seconds=soon"], "max_run_seconds"),
        (["q", "--set", "GEMINI_API_KEY=abcdefgh"], "GEMINI_API_KEY"),
        (["q", "--url", "ftp://x"], "--url"),
        (["q", "--url", "http://x", "--offline"], "--offline"),
        (["q", "--html", "."], "--html"),
        (["q", "--geojson", "no/such/folder/a.json"], "--geojson"),
        (["q", "--log-file", "no/such/folder/log"], "--log-file"),
    ],
)
def test_bad_usage_is_one_line_that_names_the_argument(
    argv: list[str], named: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ask", *argv]) == 2
    shown = capsys.readouterr()
    assert shown.out == ""
    assert len(shown.err.splitlines()) == 1
    assert shown.err.startswith("tanlu: ")
    assert named in shown.err
    assert len(shown.err) < 800


@pytest.mark.parametrize("argv", [["--no-such"], ["nonsense"], ["ask", "--near"]])
def test_what_argparse_refuses_is_bad_usage(argv: list[str]) -> None:
    assert main(argv) == 2


def test_an_environment_setting_out_of_range_is_named(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAX_RESEARCH_LOOPS", "77")
    assert main(["ask", "q"]) == 2
    assert "MAX_RESEARCH_LOOPS" in capsys.readouterr().err


def test_offline_is_for_this_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_MODE", "online")
    main(["ask", "", "--offline"])
    assert os.environ["TANLU_MODE"] == "offline"


def test_the_env_file_of_the_folder_is_read_and_the_environment_wins(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MAX_RESEARCH_LOOPS", "77")
    monkeypatch.setenv("MAX_SEARCHES", "5")
    monkeypatch.delenv("MAX_RESEARCH_LOOPS")
    Path(".env").write_text("MAX_RESEARCH_LOOPS=66\nMAX_SEARCHES=many\n", "utf-8")
    assert main(["ask", "q"]) == 2
    shown = capsys.readouterr().err
    assert "MAX_RESEARCH_LOOPS" in shown
    assert "max_searches" not in shown
    Path(".env").write_bytes(b"NAME=\xff\xfe")
    assert main(["ask", "q"]) == 2
    assert ".env" in capsys.readouterr().err


def test_the_length_of_a_question_is_what_the_assistant_takes() -> None:
    conversation = pytest.importorskip("agent.assistants.common.conversation")
    assert conversation.MAX_QUESTION == MAX_QUESTION


SCHEMA = {
    "$defs": {"Web": {"enum": ["auto", "off"], "type": "string"}},
    "properties": {
        "max_research_loops": {"type": "integer", "minimum": 1, "maximum": 10},
        "web_search": {"$ref": "#/$defs/Web"},
        "review_plan": {"anyOf": [{"type": "boolean"}, {"type": "null"}]},
        "resolve_links": {"type": "boolean"},
        "answer_model": {"type": "string"},
        "max_run_seconds": {"type": "number", "minimum": 1, "maximum": 86400},
    },
}


def test_settings_for_a_server_take_its_types() -> None:
    given = {"max_research_loops": "2", "review_plan": "yes", "web_search": "off"}
    assert checked_settings(given, SCHEMA, saves=True) == {
        "max_research_loops": 2, "review_plan": True, "web_search": "off", "resolve_links": True,
    }  # fmt: skip
    assert checked_settings({}, {}, saves=True) == {}


@by_examples
def test_a_setting_the_server_would_drop_or_refuse_is_named(key: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=key):
        checked_settings({key: value}, SCHEMA)


def test_a_question_in_chinese_is_read_in_a_locale_that_knows_ascii_only() -> None:
    argument = "三里屯的咖啡馆".encode().decode("ascii", "surrogateescape")

    chosen = build_parser(COMMANDS).parse_args(["ask", argument])

    assert chosen.question == ["三里屯的咖啡馆"]


def test_a_question_that_is_text_already_stays_as_it_is() -> None:
    chosen = build_parser(COMMANDS).parse_args(["search", "café 咖啡"])

    assert chosen.query == ["café 咖啡"]


@pytest.mark.parametrize(
    "option", ["--html", "--geojson", "--markdown", "--gpx", "--ics", "--log-file"]
)
@pytest.mark.parametrize("name", ["很" * 100 + ".x", "a" * 300, f"{'很' * 100}/a.x"])
def test_a_name_that_no_file_can_have_is_refused_in_words_before_the_question(
    option: str, name: str
) -> None:
    with pytest.raises(InputError, match=r"too long|no folder") as refused:
        request("q", option, name)
    assert refused.value.name == option
    assert "Errno" not in refused.value.message
