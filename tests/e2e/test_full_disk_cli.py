"""`tanlu` on a full disk: one line, nothing more paid for, and the thread goes on later."""

from typing import Any

import pytest

from tests.e2e.test_batch_cli import TO, ask_for, rows, tasks
from tests.support.command_line import (
    EN,
    NO_MAP,
    ZH,
    Cli,
    cli_fixture,
    failed_in_one_line,
    gemini_fixture,
    keyed,
)
from tests.support.full_disk import LINUX, fill
from tests.support.standins import GeminiService

__all__ = ["cli_fixture", "gemini_fixture"]
pytestmark = LINUX


def full_at(cli: Cli, gemini: GeminiService, number: int) -> None:
    """The disk is full for the command that makes this request."""

    def latency(_request: Any, _body: Any) -> float:
        if len(gemini.requests) == number:
            fill(cli.started[-1].pid)
        return 0

    gemini.latency = latency


@pytest.mark.parametrize(
    ("text", "told", "then"),
    [(EN, "nothing more is paid for", "Go on with: "), (ZH, "不再发起付费调用", "接着进行：")],
)
def test_a_question_ends_in_one_line_and_goes_on_where_it_was(
    text: str, told: str, then: str, cli: Cli, gemini: GeminiService
) -> None:
    data = cli.folder / "data"
    full_at(cli, gemini, 2)
    done = cli.run("ask", text, *NO_MAP, "--json", **keyed(gemini))
    failed_in_one_line(done, 1, "TANLU_DATA_DIR", str(data), told, then, "--thread")
    assert "unexpected" not in done.stderr
    assert tasks(gemini, "reflection") + tasks(gemini, "answer") == 0
    asked = len(gemini.requests)
    thread = done.stderr.rpartition("ask --thread ")[2].split()[0]
    assert cli.ask("--thread", thread, *NO_MAP, **keyed(gemini))["answer"]
    assert tasks(gemini, "generate_query") == 1
    # What was in flight, that is at most the searches of one step, was asked for again; the judge
    # of the answer's statements comes last.
    assert len(gemini.requests) <= 2 * asked + 2


def test_a_batch_ends_says_how_to_go_on_and_pays_no_question_more(
    cli: Cli, gemini: GeminiService
) -> None:
    ask_for(cli, 6)
    full_at(cli, gemini, 3)
    to = (*TO, "--concurrency", "2")
    done = cli.run("batch", "questions.jsonl", *to, **keyed(gemini))
    assert done.returncode == 1, done.stderr
    assert "TANLU_DATA_DIR" in done.stderr
    assert "Go on with: " in done.stderr
    assert "Traceback" not in done.stderr
    assert "unexpected" not in done.stderr + (cli.folder / "answers.jsonl.log").read_text("utf-8")
    assert rows(cli) == []
    assert tasks(gemini, "generate_query") == 2
    assert tasks(gemini, "reflection") + tasks(gemini, "answer") == 0
    gemini.latency = lambda request, body: 0
    again = cli.run("batch", "questions.jsonl", *to, **keyed(gemini))
    assert again.returncode == 0, again.stderr
    assert [row["status"] for row in rows(cli)] == ["answered"] * 6
