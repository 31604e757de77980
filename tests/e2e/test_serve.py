"""`tanlu serve` says where the page is, keeps quiet, and ends with one line."""

import re
import signal
import socket
from collections.abc import Iterator

import httpx
import pytest

from agent.texts import say
from tests.support.command_line import Cli, cli_fixture, until
from tests.support.ports import free_port
from tests.support.programs import Program

__all__ = ["cli_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
BROWSER = {"accept": "text/html,application/xhtml+xml"}
_ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/app")


@pytest.fixture(name="taken")
def taken_fixture() -> Iterator[int]:
    """A port that somebody else listens on."""
    with socket.socket() as other:
        other.bind(("127.0.0.1", free_port()))
        other.listen()
        yield other.getsockname()[1]


def read_until(process: Program, word: str) -> list[str]:
    """Return the lines on stderr up to the one with the word."""
    assert process.stderr is not None
    lines: list[str] = []
    for line in process.stderr:
        lines.append(line.rstrip("\n"))
        if word in line:
            return lines
    raise AssertionError(f"{word!r} did not come: {lines}")


def test_serve_says_where_the_page_is_stays_quiet_and_ends_with_one_line(
    cli: Cli, taken: int
) -> None:
    process = cli.start("serve", "--port", str(taken), ANSWER_LANGUAGE="en")
    lines = read_until(process, "Data")
    assert lines[0].startswith(f"Port {taken} is taken, using ")
    assert [line.split()[0] for line in lines[1:]] == ["Page", "Studio", "Data"]
    assert "GEMINI_API_KEY" in lines[-1]
    page = _ADDRESS.search(lines[1])
    assert page is not None
    with httpx.Client(trust_env=False, timeout=30) as http:
        root = http.get(page[0].removesuffix("app"), headers=BROWSER)
        assert (root.status_code, root.headers["location"]) == (307, "app")
        for _ in range(20):
            assert "<html" in http.get(page[0], headers=BROWSER).text
        # Every client of MCP asks this at its start.
        assert http.get(page[0].removesuffix("app") + "mcp").status_code == 405
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.wait() == 0
    assert err.splitlines() == [say("serve.stopped", "en")]
    assert out == ""


def test_a_second_server_in_the_folder_ends_with_the_reason_in_one_line(cli: Cli) -> None:
    first = cli.start("serve", "--port", str(free_port()))
    read_until(first, "Data")
    second = cli.run("serve", "--port", str(free_port()))
    assert second.returncode == 1
    assert second.stdout == ""
    (line,) = second.stderr.splitlines()
    assert line.startswith("tanlu: Another server is running in this folder: stop that one")


def test_an_address_that_is_not_this_machines_is_refused_in_one_line(cli: Cli) -> None:
    done = cli.run("serve", "--host", "192.0.2.1")
    assert done.returncode == 2
    assert done.stderr.startswith("tanlu: --host cannot be 192.0.2.1:")
    assert len(done.stderr.splitlines()) == 1


def test_a_setting_that_stops_every_answer_is_said_with_the_address(cli: Cli) -> None:
    process = cli.start("serve", "--port", str(free_port()), TANLU_MODE="online")
    lines = read_until(process, "GEMINI_API_KEY")
    assert any(_ADDRESS.search(line) for line in lines)
    process.send_signal(signal.SIGTERM)
    until(lambda: process.poll() is not None, 60)
    assert process.wait() == 0
