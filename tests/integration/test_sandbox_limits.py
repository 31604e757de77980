"""Programs that want everything end at their limits, and those that run beside them go on."""

import asyncio
import sys
import time
from dataclasses import replace

import pytest

from agent.sandbox.process import ProcessRunner
from agent.sandbox.programs import CodeLimits, CodeResult
from agent.settings import Settings
from tests.integration.sandbox_programs import GREEDY
from tests.support.process_memory import ConfinedPeak

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")

TIGHT = CodeLimits(wall_seconds=1.0, cpu_seconds=0.2, memory_mb=64, output_bytes=2000, parallel=8)
ROOMY = replace(TIGHT, wall_seconds=60)
"""For programs that a busy machine may keep waiting, but whose end does not depend on time."""
ENDS = ("timeout", "output limit", "MemoryError", "RecursionError", "PermissionError", "crash",
        "OverflowError", "SyntaxError", "killed", "ValueError")  # fmt: skip


async def run_all(programs: list[str], limits: CodeLimits) -> list[CodeResult]:
    runner = ProcessRunner(limits)
    try:
        return await asyncio.gather(*map(runner.run, programs))
    finally:
        await runner.aclose()


async def run_one(program: str, limits: CodeLimits = TIGHT) -> CodeResult:
    return (await run_all([program], limits))[0]


async def test_every_greedy_program_ends_at_a_limit() -> None:
    """With honest ones beside them, which are not disturbed."""
    honest = ["print(sum(range(100)))"] * 6
    results, undisturbed = await asyncio.gather(
        run_all(list(GREEDY.values()), TIGHT), run_all(honest, ROOMY)
    )
    greedy = dict(zip(GREEDY, results, strict=True))
    assert {name: r for name, r in greedy.items() if not r.error.startswith(ENDS)} == {}
    # The limits are a second; a program that met none of them would go on for a minute at least.
    assert {name: r for name, r in greedy.items() if r.seconds > 40} == {}
    assert {name for name, r in greedy.items() if len(r.output) > TIGHT.output_bytes} == set()
    assert {(r.output, r.error) for r in undisturbed} == {("4950", "")}


async def test_the_error_says_which_limit_it_was() -> None:
    expected = {
        "an endless loop": "timeout: more than 0.2 s of computing",
        "a bad regular expression": "timeout: more than 0.2 s of computing",
        "a huge text": "MemoryError (line 1)",
        "a flood of output": "output limit: more than 32000 bytes printed",
    }
    results = await run_all([GREEDY[name] for name in expected], ROOMY)
    assert [result.error for result in results] == list(expected.values())
    assert (await run_one(GREEDY["a lock never opened"])).error == "timeout: longer than 1 s"


HOLDS = """
kept = []
try:
    while True:
        kept.append({})
except MemoryError:
    pass
while True:
    pass
"""
MEMORY = {
    "small": HOLDS.format("len(kept)"),
    "medium": HOLDS.format("b'x' * 65_536"),
    "large": HOLDS.format("b'x' * 1_000_000"),
}


@pytest.mark.parametrize("program", MEMORY)
async def test_a_program_and_its_interpreter_stay_within_the_memory_together(program: str) -> None:
    limits = CodeLimits(wall_seconds=60, cpu_seconds=2)
    assert limits.memory_mb == Settings().code_memory_mb
    peak = ConfinedPeak()
    running = asyncio.create_task(run_one(MEMORY[program], limits))
    while not running.done():
        peak.sample()
        await asyncio.wait([running], timeout=0.01)
    assert running.result().error == "timeout: more than 2 s of computing"
    assert 90 < peak.most <= 128


async def test_a_program_has_some_memory_however_little_is_allowed() -> None:
    few = replace(ROOMY, memory_mb=16)
    assert (await run_one("print(len(b'x' * 8_000_000))", few)).output == "8000000"
    assert (await run_one("print(len(b'x' * 24_000_000))", few)).error == "MemoryError (line 1)"


async def test_what_was_printed_before_the_limit_is_kept() -> None:
    result = await run_one("print('第一步')\nwhile True: pass", ROOMY)
    assert (result.output, result.error[:7]) == ("第一步", "timeout")


@pytest.mark.parametrize("program", ["print('中' * 5000)", "'中' * 5000"])
async def test_a_long_output_is_cut_between_characters(program: str) -> None:
    result = await run_one(program, ROOMY)
    assert (result.output, result.error, result.truncated) == ("中" * 666, "", True)


@pytest.mark.parametrize("program", ["print('x' * 1999)", "'x' * 2000"])
async def test_an_output_of_just_the_limit_is_whole(program: str) -> None:
    result = await run_one(program, ROOMY)
    assert len(result.output) in (1999, 2000)
    assert not result.truncated


async def test_many_programs_at_once_never_see_each_others_output() -> None:
    programs = [f"for i in range(50): print('run {n}', i)" for n in range(35)]
    results = await run_all(programs, CodeLimits(wall_seconds=60, cpu_seconds=5, parallel=4))
    expected = ["\n".join(f"run {n} {i}" for i in range(50)) for n in range(35)]
    assert [result.output for result in results] == expected


async def test_nothing_is_kept_from_one_program_to_the_next() -> None:
    first = "x = 1\nmath.pi = 3\nre.enum.sys.modules['json'].dumps = None"
    results = await run_all([first, "print('x' in dir(), math.pi, json.dumps(1))"], ROOMY)
    assert results[1].output == "False 3.141592653589793 1"


async def test_no_more_run_at_once_than_the_limit_says() -> None:
    runner = ProcessRunner(CodeLimits(wall_seconds=0.3, cpu_seconds=5, parallel=2))
    waits = "lock = re.enum.sys.modules['_thread'].allocate_lock()\nlock.acquire(); lock.acquire()"
    started = time.monotonic()
    results = await asyncio.gather(*[runner.run(waits) for _ in range(4)])
    assert time.monotonic() - started >= 0.6
    assert {result.error for result in results} == {"timeout: longer than 0.3 s"}
    await runner.aclose()


async def test_a_program_without_end_is_not_even_started() -> None:
    result = await run_one("x = 1\n" * 50_000)
    assert result.error == "not run: the program has more than 100000 characters"
