"""`tanlu ask --set review_plan=true`: a person reviews the plan on a terminal."""

import os

import pytest

from tests.support.command_line import (
    EN,
    NO_MAP,
    Cli,
    cli_fixture,
    failed_in_one_line,
    gemini_fixture,
    keyed,
)
from tests.support.standins import GeminiService
from tests.support.terminal import terminal

__all__ = ["cli_fixture", "gemini_fixture"]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
REVIEW = ("--set", "review_plan=true", *NO_MAP)


def test_left_with_ctrl_c_the_plan_waits_and_is_edited_later(
    cli: Cli, gemini: GeminiService
) -> None:
    env = cli.terminal_environment(**keyed(gemini))
    with terminal("ask", *REVIEW, EN, folder=cli.folder, env=env) as first:
        first.expect("nothing is searched yet")
        first.expect("1. ")
        first.expect("about $")
        first.expect("\n> ")
        assert first.interrupt() == 130
        assert "Traceback" not in first.text
    assert len(gemini.requests) == 1
    thread = first.text.rsplit("--thread ", 1)[1].split()[0]
    waiting = cli.run("ask", "--json", "--thread", thread, *REVIEW, **keyed(gemini))
    failed_in_one_line(waiting, 1, "review_plan", thread)
    again = ("ask", "--thread", thread, *REVIEW, "--html", "a.html")
    with terminal(*again, folder=cli.folder, env=env) as second:
        second.expect("\n> ")
        second.type("1 sodium-ion cathodes\n")
        second.expect("1. sodium-ion cathodes")
        second.expect("\n> ")
        second.type("\n")
        assert second.ends() == 0, second.text
        assert "Queries: sodium-ion cathodes" in second.text
    assert any("sodium-ion cathodes" in str(r.body) for r in gemini.requests[1:])
    assert sum("<task>generate_query" in str(r.body) for r in gemini.requests) == 1
    assert (cli.folder / "a.html").exists()
