"""Processes that are killed, and what the next one makes of their runs."""

import random
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from uuid import uuid4

import pytest

from tests.support.probe_graph import CALLS_PER_RUN
from tests.support.probe_service import Probe, probe_service
from tests.support.programs import REPOSITORY, Program, clean_environment


class Shell:
    """Runs the probe command line in one data folder."""

    def __init__(self, folder: Path, url: str) -> None:
        self.folder = folder
        self._env = clean_environment(TANLU_DATA_DIR=str(folder), PROBE_URL=url)
        self._started: list[Program] = []

    def start(self, *arguments: str) -> Program:
        command = ("-m", "tests.integration.probe_cli", *arguments)
        process = Program(*command, folder=REPOSITORY, env=self._env)
        self._started.append(process)
        return process

    def ask(self, turn: str) -> Program:
        return self.start(str(uuid4()), str(uuid4()), turn)

    def continue_all(self) -> list[str]:
        """How each interrupted run ended, as the next process tells."""
        output, _ = self.start().communicate(timeout=240)
        return [line.split()[1] for line in output.splitlines()]

    def cached_replies(self) -> int:
        if not (self.folder / "runs.sqlite").exists():
            return 0
        with closing(sqlite3.connect(self.folder / "runs.sqlite", timeout=10)) as db:
            return int(db.execute("SELECT count(*) FROM replies").fetchone()[0])

    def end(self) -> None:
        for process in self._started:
            process.end()


@pytest.fixture
def probe_and_url() -> Iterator[tuple[Probe, str]]:
    with probe_service() as found:
        yield found


@pytest.fixture
def probe(probe_and_url: tuple[Probe, str]) -> Probe:
    return probe_and_url[0]


@pytest.fixture
def shell(tmp_path: Path, probe_and_url: tuple[Probe, str]) -> Iterator[Shell]:
    opened = Shell(tmp_path, probe_and_url[1])
    yield opened
    opened.end()


def wait_for_replies(shell: Shell, replies: int) -> None:
    until = time.monotonic() + 120
    while shell.cached_replies() < replies:
        assert time.monotonic() < until, "the replies did not reach the reply cache"
        time.sleep(0.02)


def test_no_call_that_was_finished_before_kill_9_is_made_again(probe: Probe, shell: Shell) -> None:
    probe.held = {"turn/work-1"}
    process = shell.ask("turn")
    for name in ("work-1", "work-0-again", "work-2-again"):
        probe.wait_for(f"turn/{name}")
    wait_for_replies(shell, 5)
    process.kill()
    process.wait()
    probe.held = set()
    assert shell.continue_all() == ["continuing", "success"]
    assert probe.arrived.pop("turn/work-1") == 2
    assert len(probe.arrived) == CALLS_PER_RUN - 1
    assert set(probe.arrived.values()) == {1}


def test_a_call_finished_inside_an_unfinished_node_is_not_made_again(
    probe: Probe, shell: Shell
) -> None:
    probe.held = {f"turn/work-{n}-again" for n in range(3)}
    process = shell.ask("turn")
    for name in probe.held:
        probe.wait_for(name)
    wait_for_replies(shell, 4)
    process.kill()
    process.wait()
    probe.held = set()
    shell.continue_all()
    assert [probe.arrived[f"turn/work-{n}"] for n in range(3)] == [1, 1, 1]


def test_a_run_killed_before_its_first_checkpoint_begins_from_its_input(
    probe: Probe, shell: Shell
) -> None:
    probe.held = {"turn/plan"}
    process = shell.ask("turn")
    probe.wait_for("turn/plan")
    process.kill()
    process.wait()
    for file in shell.folder.glob("threads.sqlite*"):
        file.unlink()
    probe.held = set()
    assert shell.continue_all() == ["continuing", "success"]
    assert probe.answered["turn/answer"] == 1


def test_a_run_that_another_process_works_on_is_left_to_it(probe: Probe, shell: Shell) -> None:
    probe.held = {"turn/work-1"}
    process = shell.ask("turn")
    probe.wait_for("turn/work-1")
    assert shell.continue_all() == []
    probe.held = set()
    assert process.wait(timeout=240) == 0
    assert shell.continue_all() == []
    assert probe.arrived["turn/work-1"] == 1


def test_two_processes_that_start_at_once_continue_a_run_once(probe: Probe, shell: Shell) -> None:
    probe.held = {"turn/work-1"}
    process = shell.ask("turn")
    probe.wait_for("turn/work-1")
    process.kill()
    process.wait()
    probe.held = set()
    outputs = [p.communicate(timeout=240)[0] for p in [shell.start(), shell.start()]]
    assert sorted(" ".join(outputs).split()[1::2]) == ["continuing", "success"]
    assert probe.arrived["turn/answer"] == 1


@pytest.mark.slow
def test_runs_killed_at_random_points_all_end_and_repeat_at_most_what_was_in_flight(
    probe: Probe, shell: Shell
) -> None:
    probe.seconds = 0.03
    chance = random.Random(7)
    kills = 0
    for number in range(4):
        process = shell.ask(f"turn-{number}")
        probe.wait_for(f"turn-{number}/plan")
        time.sleep(chance.uniform(0, 0.25))
        if process.poll() is None:
            process.kill()
            kills += 1
        process.wait()
    shell.continue_all()
    assert shell.continue_all() == []
    for number in range(4):
        assert probe.answered[f"turn-{number}/answer"] >= 1
    repeated = sum(probe.answered.values()) - 4 * CALLS_PER_RUN
    assert 0 <= repeated <= 3 * kills
