"""Tasks run as soon as they can, so many at once, and end together when one of them must."""

import asyncio

import pytest

from agent.assistants.plan_execute.execute import carry_out
from agent.assistants.plan_execute.state import Task
from tests.support.map_fixtures import until


def task(name: str, *dep: str) -> Task:
    return Task(id=name, query=name, dep=list(dep))


class Bench:
    """Work that says when it begins and ends; `gates` hold tasks back."""

    def __init__(self) -> None:
        self.log: list[str] = []
        self.gates: dict[str, asyncio.Event] = {}
        self.now = self.most = 0

    async def work(self, task: Task, earlier: list[str]) -> str:
        self.log.append(f"+{task['id']}")
        self.now += 1
        self.most = max(self.most, self.now)
        try:
            if gate := self.gates.get(task["id"]):
                await gate.wait()
            await asyncio.sleep(0)
        finally:
            self.now -= 1
            self.log.append(f"-{task['id']}")
        return "+".join([*earlier, task["id"]])


async def test_results_come_in_the_order_of_the_tasks_with_those_they_depend_on() -> None:
    tasks = [task("c", "a", "b"), task("a"), task("b", "a")]
    assert await carry_out(tasks, 4, Bench().work) == ["a+a+b+c", "a", "a+b"]


async def test_never_more_than_so_many_run_at_once() -> None:
    bench = Bench()
    await carry_out([task(f"t{n}") for n in range(20)], 3, bench.work)
    assert bench.most == 3


async def test_a_task_does_not_wait_for_others_than_its_own() -> None:
    bench = Bench()
    bench.gates["slow"] = asyncio.Event()
    tasks = [task("slow"), task("quick"), task("next", "quick")]
    running = asyncio.ensure_future(carry_out(tasks, 4, bench.work))
    await until(lambda: "-next" in bench.log)
    assert "-slow" not in bench.log
    bench.gates["slow"].set()
    await running


async def test_a_task_that_waits_for_another_takes_no_place() -> None:
    """Else a chain listed backwards would wait for itself."""
    tasks = [task("d", "c"), task("c", "b"), task("b", "a"), task("a")]
    assert await carry_out(tasks, 1, Bench().work) == ["a+b+c+d", "a+b+c", "a+b", "a"]


async def test_cancelling_ends_every_task() -> None:
    bench = Bench()
    bench.gates = {name: asyncio.Event() for name in "abc"}
    running = asyncio.ensure_future(carry_out([task("a"), task("b"), task("c")], 2, bench.work))
    await until(lambda: bench.now == 2)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert bench.now == 0
    assert "+c" not in bench.log


async def test_what_one_raises_ends_the_others() -> None:
    bench = Bench()
    bench.gates["a"] = asyncio.Event()

    async def work(each: Task, earlier: list[str]) -> str:
        if each["id"] == "b":
            raise ValueError("broken")
        return await bench.work(each, earlier)

    with pytest.raises(ValueError, match="broken"):
        await carry_out([task("a"), task("b"), task("c", "b")], 4, work)
    assert bench.now == 0
    assert "+c" not in bench.log
