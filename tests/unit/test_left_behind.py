"""What a command tried in this process leaves behind does not reach the test after it."""

import logging
import os
from pathlib import Path

import pytest

from agent.cli import main
from agent.cli.environment import configure_logging
from agent.core.redaction import hide


@pytest.fixture(scope="module")
def told_before() -> str | None:
    """A module's fixtures are set up before the fixture that clears a test's environment."""
    return os.environ.get("TANLU_MODE")


def test_a_command_changes_the_process_it_runs_in(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["ask", "", "--offline"]) == 2
    configure_logging(None, None)
    assert os.environ["TANLU_MODE"] == "offline"
    assert logging.getLogger("httpx").level == logging.WARNING


def test_the_next_test_sees_the_keys_and_requests_that_are_logged(
    told_before: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    hide("canary-left-behind")
    logging.getLogger("httpx").info("GET /?key=%s", "canary-left-behind")
    assert "canary-left-behind" in caplog.text
    assert told_before is None
