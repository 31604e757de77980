"""Hosts are looked up in threads of their own, and those that do not answer are remembered."""

import asyncio
import threading

import pytest

from agent.core.hosts import Hosts


class Names:
    """Answer look-ups, or let them wait until they are told to go on."""

    def __init__(self, *, waits: bool = False, known: bool = True) -> None:
        self.asked, self.known = list[str](), known
        self.go_on = threading.Event()
        if not waits:
            self.go_on.set()

    def __call__(self, host: str, port: int) -> list[str]:
        self.asked.append(host)
        assert self.go_on.wait(30)
        if not self.known:
            raise OSError("no such name")
        return ["198.51.100.7"]


async def test_a_host_that_is_not_found_is_not_looked_up_again_for_a_while() -> None:
    now, names = [0.0], Names(known=False)
    hosts = Hosts(300, names, clock=lambda: now[0])
    for _ in range(3):
        with pytest.raises(OSError, match=r"no such name|did not answer"):
            await hosts.resolve("gone.example", 443)
    assert names.asked == ["gone.example"]
    now[0], names.known = 301.0, True
    assert await hosts.resolve("gone.example", 443) == ["198.51.100.7"]


async def test_equal_lookups_at_one_moment_are_one() -> None:
    names = Names()
    hosts = Hosts(300, names)
    await asyncio.gather(*(hosts.resolve("a.example", 443) for _ in range(9)))
    assert names.asked == ["a.example"]


async def test_lookups_that_were_given_up_hold_up_nobody() -> None:
    names = Names(waits=True)
    hosts = Hosts(300, names)
    for number in range(40):
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.001):
                await hosts.resolve(f"{number}.example", 443)
    assert await asyncio.wait_for(asyncio.to_thread(lambda: "free"), 5) == "free"
    others = Hosts(300, Names())
    assert await asyncio.wait_for(others.resolve("b.example", 443), 5)
    names.go_on.set()


async def test_names_without_end_take_no_threads_without_end() -> None:
    names = Names(waits=True)
    hosts = Hosts(0, names)
    tasks = [asyncio.create_task(hosts.resolve(f"{n}.example", 443)) for n in range(200)]
    waiting = set(tasks)
    async with asyncio.timeout(30):
        while len(waiting) > 64:
            _, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)
    assert len(waiting) == 64
    assert all("too many" in str(task.exception()) for task in tasks if task not in waiting)
    names.go_on.set()
    await asyncio.gather(*waiting)


async def test_a_host_is_left_alone_after_two_failures_in_a_row_and_never_without_seconds() -> None:
    hosts, forgetful = Hosts(300, Names()), Hosts(0, Names())
    for each in (hosts, forgetful):
        each.silent("a.example")
        assert not each.is_silent("a.example")
        each.answered("a.example")
        each.silent("a.example")
        assert not each.is_silent("a.example")
        each.silent("a.example")
    assert hosts.is_silent("a.example")
    assert not forgetful.is_silent("a.example")
    assert await hosts.resolve("b.example", 443)
