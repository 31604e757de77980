"""Which way of running code is chosen, and that nothing of a program outlives its caller."""

import asyncio
import contextlib
import signal
import struct
import subprocess
import sys
import threading
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from agent.cli.doctor import examine
from agent.sandbox import monty, process
from agent.sandbox import select as sandbox
from agent.sandbox.monty import MontyRunner
from agent.sandbox.process import ProcessRunner
from agent.sandbox.programs import CodeLimits, CodeRunner
from agent.sandbox.select import CodeSandbox
from agent.services import build_services
from agent.settings import read_settings
from tests.support.map_fixtures import until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks into /proc")

LASTING = "while True: pass"
LONG = CodeLimits(wall_seconds=60, cpu_seconds=50, parallel=2)
KINDS = [ProcessRunner, *([MontyRunner] if monty.installed() else [])]


def alive(pid: int) -> bool:
    """Whether it is there and no zombie."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def children() -> set[int]:
    found: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        with contextlib.suppress(OSError):
            found.update(map(int, (task / "children").read_text().split()))
    return {pid for pid in found if alive(pid)}


async def until_started(before: set[int], count: int = 1) -> None:
    await until(lambda: len(children() - before) >= count)


async def gone(runner: CodeRunner, before: set[int]) -> bool:
    """At once; Monty only sends the signal before it returns."""
    if runner.name != "process":
        await until(lambda: children() <= before)
    return children() <= before


@pytest.fixture(params=KINDS, ids=lambda kind: kind.name if hasattr(kind, "name") else "")
async def runner(request: pytest.FixtureRequest) -> AsyncIterator[CodeRunner]:
    made: CodeRunner = request.param(LONG)
    yield made
    await made.aclose()


async def test_a_cancelled_program_is_dead_when_the_call_returns(runner: CodeRunner) -> None:
    before = children()
    call = asyncio.create_task(runner.run(LASTING))
    await until_started(before)
    call.cancel()
    started = time.monotonic()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert time.monotonic() - started < LONG.cpu_seconds / 2
    assert await gone(runner, before)


async def test_a_timeout_of_the_caller_ends_the_program(runner: CodeRunner) -> None:
    before = children()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.4):
            await runner.run(LASTING)
    assert await gone(runner, before)


async def test_closing_ends_what_runs_and_what_waits(runner: CodeRunner) -> None:
    before = children()
    calls = [asyncio.create_task(runner.run(LASTING)) for _ in range(4)]
    await until_started(before, 2)
    await runner.aclose()
    errors = sorted([(await call).error for call in calls])
    assert errors == ["cancelled", "cancelled", "not run: shutting down", "not run: shutting down"]
    assert await gone(runner, before)
    assert (await runner.run("1")).error == "not run: shutting down"


async def test_a_waiting_program_that_is_cancelled_never_starts() -> None:
    runner = ProcessRunner(CodeLimits(60, 50, parallel=1))
    before = children()
    first = asyncio.create_task(runner.run(LASTING))
    await until_started(before)
    second = asyncio.create_task(runner.run("1"))
    await asyncio.sleep(0)
    second.cancel()
    with pytest.raises(asyncio.CancelledError):
        await second
    assert len(children() - before) == 1
    await runner.aclose()
    assert (await first).error == "cancelled"


async def test_the_event_loop_goes_on_while_a_program_runs(runner: CodeRunner) -> None:
    before = children()
    call = asyncio.create_task(runner.run(LASTING))
    await until_started(before)
    for _ in range(30):
        await asyncio.sleep(0.01)
    # A loop that waited for the program would be back only after its end.
    assert not call.done()
    assert children() > before
    call.cancel()
    await asyncio.wait({call})


def test_a_program_dies_with_a_parent_that_is_killed() -> None:
    owner = subprocess.Popen(
        [sys.executable, "-m", "tests.integration.sandbox_owner", LASTING],
        stdout=subprocess.PIPE,
    )
    with owner:
        assert owner.stdout is not None
        child = int(owner.stdout.readline())
        assert alive(child)
        owner.send_signal(signal.SIGKILL)
    asyncio.run(until(lambda: not alive(child)))


@pytest.fixture
def fresh() -> Iterator[None]:
    """No verdict from before, none left behind."""
    for trial in (sandbox._process_problem, sandbox._monty_problem):
        trial.cache_clear()
    yield
    for trial in (sandbox._process_problem, sandbox._monty_problem):
        trial.cache_clear()


async def chosen(mode: str) -> tuple[str | None, str]:
    made = CodeSandbox(read_settings(code_sandbox=mode))
    runner = await made.runner()
    said = (await made.health())[1]
    await made.aclose()
    return runner.name if runner else None, said


async def test_linux_uses_a_process_of_its_own() -> None:
    assert await chosen("auto") == ("process", "process")


async def test_code_can_be_switched_off() -> None:
    assert await chosen("off") == (None, "off: CODE_SANDBOX=off")


@pytest.mark.skipif(not monty.installed(), reason="needs tanlu[sandbox]")
async def test_where_the_kernel_cannot_confine_monty_is_used(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "filter_for", lambda machine: None)
    name, said = await chosen("auto")
    assert name == "monty"
    assert "process: no list of system calls for" in said


async def test_where_neither_works_no_code_is_run(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sandbox.sys, "platform", "darwin")
    monkeypatch.setattr(monty, "installed", lambda: False)
    name, said = await chosen("auto")
    assert name is None
    assert "seccomp needs Linux, this is darwin; monty: pydantic-monty is not installed" in said


async def test_a_refused_filter_means_that_code_is_not_run(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process, "filter_for", lambda machine: b"\xff" * 8)
    name, said = await chosen("process")
    assert name is None
    assert said == "process: cannot be confined (NotConfined: prctl(22): Invalid argument)"


async def test_a_filter_that_lets_everything_pass_is_found_out(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = struct.pack("=HBBI", 0x06, 0, 0, 0x7FFF0000)
    monkeypatch.setattr(process, "filter_for", lambda machine: everything)
    name, said = await chosen("process")
    assert name is None
    assert said == (
        "process: the self-test found a way out: "
        "open write list socket socketpair fork execute signal limits control trace"
    )


async def test_an_interpreter_that_does_not_start_means_that_code_is_not_run(
    fresh: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(process.sys, "executable", "/nowhere/python")
    assert await chosen("process") == (None, "process: No such file or directory")


async def test_doctor_says_how_code_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TANLU_MODE", "offline")
    found = {check["name"]: check for check in await examine()}["code"]
    assert (found["state"], found["detail"]) == ("ok", "runs in a sandbox: process")


def test_the_services_have_one_runner_for_all_event_loops() -> None:
    services = build_services(read_settings(tanlu_mode="offline"))
    found: list[tuple[CodeRunner | None, str]] = []

    async def use() -> None:
        runner = await services.code_runner()
        assert runner is not None
        found.append((runner, (await runner.run("6 * 7")).output))

    threads = [threading.Thread(target=lambda: asyncio.run(use())) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    asyncio.run(services.aclose())
    assert len({id(runner) for runner, _ in found}) == 1
    assert [output for _, output in found] == ["42"] * 4


async def test_nothing_blocks_the_event_loop_of_the_server() -> None:
    """`langgraph dev` refuses blocking calls on its loop with this very library."""
    blockbuster = pytest.importorskip("blockbuster")
    made = CodeSandbox(read_settings())
    with blockbuster.blockbuster_ctx():
        runner = await made.runner()
        assert runner is not None
        assert (await runner.run("1 + 1")).output == "2"
        await made.aclose()
