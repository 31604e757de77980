"""Carries out tasks as soon as what they depend on is done, so many at once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

from agent.assistants.plan_execute.state import Task

R = TypeVar("R")
Work = Callable[[Task, list[R]], Awaitable[R]]
"""A task with the results of those it depends on."""


async def carry_out(tasks: Sequence[Task], width: int, work: Work[R]) -> list[R]:
    """The results in the order of the tasks, whose dependencies make no circle.

    What one task raises ends the others and is raised; so does cancelling this.
    """
    places = asyncio.Semaphore(width)
    results: dict[str, R] = {}
    done = {task["id"]: asyncio.Event() for task in tasks}

    async def one(task: Task) -> None:
        for dep in task["dep"]:
            await done[dep].wait()
        async with places:
            results[task["id"]] = await work(task, [results[dep] for dep in task["dep"]])
        done[task["id"]].set()

    running = [asyncio.ensure_future(one(task)) for task in tasks]
    try:
        await asyncio.gather(*running)
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
    return [results[task["id"]] for task in tasks]
