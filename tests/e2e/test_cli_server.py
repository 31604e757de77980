"""`tanlu ask --url`: the same from a server, as a process."""

import json
import os
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.e2e.server_fixtures import server_fixture
from tests.support.command_line import (
    EN,
    KEYS,
    NO_MAP,
    Cli,
    cli_fixture,
    failed_in_one_line,
    gemini_fixture,
    keyed,
    searched,
    searches,
    until,
)
from tests.support.dev_server import DevServer, dev_server
from tests.support.standins import GeminiService
from tests.support.terminal import terminal

__all__ = ["cli_fixture", "gemini_fixture", "server_fixture"]


@pytest.mark.server
def test_the_object_is_the_same(cli: Cli, server: DevServer) -> None:
    there = cli.ask("--url", server.url, *NO_MAP, EN)
    here = cli.ask("--offline", *NO_MAP, EN)
    assert list(there)[: len(KEYS)] == KEYS
    assert [s["url"] for s in there["sources"]] == [s["url"] for s in here["sources"]]
    again = cli.ask("--url", server.url, "--thread", there["thread_id"])
    assert again["answer"] == there["answer"]
    anew = cli.ask("--url", server.url, *NO_MAP, "--again", there["thread_id"])
    assert anew["thread_id"] != there["thread_id"]
    assert (anew["changes"]["same"] > 0, anew["changes"]["gone"]) == (True, [])
    more = cli.ask("--url", server.url, *NO_MAP, "--thread", there["thread_id"], "Cheaper?")
    assert more["thread_id"] == there["thread_id"]
    assert more["run_id"] != there["run_id"]


@pytest.mark.server
def test_threads_of_a_server_are_listed_shown_and_deleted(cli: Cli, server: DevServer) -> None:
    def threads(*words: str, code: int = 0) -> dict[str, Any]:
        done = cli.run("threads", *words, "--url", server.url, "--json")
        assert done.returncode == code, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found

    asked = cli.ask("--url", server.url, *NO_MAP, EN)["thread_id"]
    first, *_ = threads("list")["threads"]
    assert (first["thread_id"], first["assistant"], first["status"]) == (asked, "agent", "idle")
    assert threads("show", asked)["messages"][0] == {"type": "human", "text": EN}
    assert threads("prune", "--days", "1")["deleted"] == []
    assert threads("delete", asked, asked, code=1)["deleted"] == [asked]
    assert asked not in [row["thread_id"] for row in threads("list")["threads"]]


@pytest.mark.server
def test_a_person_sees_the_same(cli: Cli, server: DevServer) -> None:
    done = cli.run("ask", "--url", server.url, *NO_MAP, EN, "--html", "a.html", "--log-file", "log")
    assert done.returncode == 0, done.stderr
    assert "stay with the server" in done.stderr
    assert "Queries: " in done.stderr
    assert f"--url {server.url}" in done.stdout
    assert (cli.folder / "a.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.server
@pytest.mark.skipif(os.name != "posix", reason="needs a pseudo-terminal")
def test_a_plan_is_reviewed_at_a_server_too(cli: Cli, server: DevServer) -> None:
    url = ("ask", "--url", server.url, *NO_MAP, "--set", "review_plan=true", EN)
    with terminal(*url, folder=cli.folder, env=cli.terminal_environment()) as person:
        person.expect("\n> ")
        person.type("-2\n")
        person.expect("\n> ")
        person.type("+ sodium-ion cathodes\n")
        person.expect("\n> ")
        person.type("\n")
        person.expect("Queries: How do sodium-ion batteries work; sodium-ion cathodes\n")
        assert person.ends() == 0, person.text
        assert f"--url {server.url}" in person.text


@pytest.mark.server
def test_what_the_server_would_drop_or_refuse_is_named(cli: Cli, server: DevServer) -> None:
    url = ("ask", "--url", server.url, EN)
    failed_in_one_line(cli.run(*url, "--set", "nothing=1"), 2, "nothing")
    failed_in_one_line(cli.run(*url, "--set", "max_research_loops=99"), 2, "max_research_loops")
    failed_in_one_line(cli.run(*url, "--assistant", "nobody"), 2, "nobody", "agent")
    form = ("--format-requirement", "a year")
    failed_in_one_line(cli.run(*url, *form), 2, "--format-requirement", "team_answer")
    unknown = "5d4f5a64-7f0c-4a55-9d0c-6ad3c9b9f002"
    failed_in_one_line(cli.run(*url[:3], "--thread", unknown), 2, "--thread")


@pytest.mark.server
def test_a_server_that_is_not_there_is_one_line(cli: Cli) -> None:
    done = cli.run("ask", "--url", "http://127.0.0.1:9", EN)
    failed_in_one_line(done, 1, "http://127.0.0.1:9")
    done = cli.run("ask", "--url", "http://127.0.0.1:9", EN, HTTP_PROXY="http://127.0.0.1:1")
    failed_in_one_line(done, 1, "http://127.0.0.1:9")


@pytest.mark.server
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_cancels_the_run_on_the_server(
    cli: Cli, gemini: GeminiService, tmp_path: Path
) -> None:
    import httpx

    gemini.fail("hang", times=None, match=searches)
    with dev_server(tmp_path / "server", env=keyed(gemini)) as server:
        process = cli.start("ask", "--url", server.url, *NO_MAP, EN)
        until(lambda: searched(gemini) > 0)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=240)
        assert process.returncode == 130
        thread = err.split("--thread ")[1].split()[0]
        with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
            (run,) = client.get(f"/threads/{thread}/runs").json()
            assert run["status"] == "interrupted"
        gemini.faults.clear()
        found = cli.ask("--url", server.url, "--thread", thread, *NO_MAP)
        assert found["sources"]
        gemini.fail("status", status=403, times=None)
        done = cli.run("ask", "--url", server.url, *NO_MAP, EN)
        reason, remedy = done.stderr.splitlines()[-2:]
        assert reason.startswith("tanlu: Every source failed: ")
        failed_in_one_line(done, 1, "valid key")
        assert remedy.startswith("tanlu: ")


@pytest.mark.server
@pytest.mark.slow
@pytest.mark.skipif(os.name != "posix", reason="kill -9")
def test_a_question_is_answered_though_its_server_is_killed_and_forgets_it(
    cli: Cli, gemini: GeminiService, tmp_path: Path
) -> None:
    gemini.fail("hang", times=None, match=searches)
    with dev_server(tmp_path / "server", env=keyed(gemini), forgetful=True) as server:
        process = cli.start("ask", "--json", "--url", server.url, *NO_MAP, EN)
        until(lambda: searched(gemini) > 0)
        server.kill()
        gemini.faults.clear()
        server.start()
        out, err = process.communicate(timeout=240)
        assert process.returncode == 0, err
        answer = json.loads(out)
        assert answer["sources"]
        assert f"continued as {answer['run_id']}" in server.output()
