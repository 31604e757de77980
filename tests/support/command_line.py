"""`tanlu` as a process in an empty folder; import the fixtures."""

import json
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from agent.sample.model.reply import SampleModel
from tests.support.programs import Program, clean_environment
from tests.support.served import serving
from tests.support.standins import GeminiService

KEYS = [
    "assistant", "mode", "thread_id", "run_id", "answer", "sources", "places", "routes",
    "weather", "gaps", "queries", "usage", "checks", "degraded", "needs",
    "final_answer", "answered", "verified",
]  # fmt: skip
ZH, EN = "王府井附近适合遛娃的好去处", "How do sodium-ion batteries work?"
ASPECTS_ZH, ASPECTS_EN = "王府井附近的亲子餐厅和公园", "What do sodium-ion batteries cost?"
"""Questions that name aspects: the sample model writes three searches and two."""
NO_MAP = ("--set", "geo_routing=never")
CANARY = "canary-key-0123456789"


class Cli:
    """Starts `tanlu` in an empty folder, with nothing configured but what is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[Program] = []
        self.env = {
            "TANLU_DATA_DIR": str(folder / "data"),
            "XDG_CONFIG_HOME": str(folder / "config"),
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": "100",
        }

    def start(self, *argv: str, cold: bool = False, **env: str) -> Program:
        """Start it without waiting; `cold` is as of `Program`."""
        environment = clean_environment(**{**self.env, **env})
        process = Program("-m", "agent", *argv, folder=self.folder, env=environment, cold=cold)
        self.started.append(process)
        return process

    def terminal_environment(self, **env: str) -> dict[str, str]:
        """The same for a program on a terminal."""
        return clean_environment(**{**self.env, "TERM": "xterm", "PYTHONUTF8": "1", **env})

    def run(self, *argv: str, cold: bool = False, **env: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*argv, cold=cold, **env)
        out, err = process.communicate(timeout=300)
        return subprocess.CompletedProcess(argv, process.wait(), out, err)

    def ask(self, *argv: str, **env: str) -> dict[str, Any]:
        """The object of `tanlu ask --json …`; the run must have answered."""
        done = self.run("ask", "--json", *argv, **env)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture(name="cli")
def cli_fixture(tmp_path: Path) -> Iterator[Cli]:
    found = Cli(tmp_path)
    yield found
    for process in found.started:
        process.end()


@pytest.fixture(name="gemini")
def gemini_fixture() -> Iterator[GeminiService]:
    """Gemini's protocol on loopback, for those that `keyed` tells of it."""
    with serving(GeminiService(SampleModel(), key=CANARY)) as served:
        served["gemini"].environment = served.environment
        yield served["gemini"]


def keyed(service: GeminiService) -> dict[str, str]:
    """The environment of someone with a Gemini key."""
    return service.environment


def searches(_request: Any, body: Any) -> bool:
    """Whether a request asks Gemini to search the web."""
    return "googleSearch" in str(body)


def searched(service: GeminiService) -> int:
    return sum(searches(None, request.body) for request in service.requests)


def until(reached: Callable[[], bool], seconds: float = 120) -> None:
    """Wait for something outside; fails when it does not come."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not reached():
        assert time.monotonic() < end, "it did not come"
        pause.wait(0.02)


def failed_in_one_line(done: subprocess.CompletedProcess[str], code: int, *named: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("tanlu: ")
    for word in named:
        assert word in line
