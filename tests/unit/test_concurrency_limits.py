"""Limits and caches that all threads and event loops of a process share."""

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from agent.core.concurrency import (
    BoundedCache,
    Lazy,
    SharedSemaphore,
    SlidingWindow,
    TurnTasks,
)
from agent.reading.fetch import HostLimits


def test_a_lazy_value_is_built_once_for_all_threads_and_not_before_it_is_used() -> None:
    together, builds = threading.Barrier(4), []

    def build() -> object:
        builds.append(object())
        return builds[-1]

    lazy = Lazy(build)
    assert lazy.built is None

    def use(_: int) -> object:
        together.wait(10)
        return lazy()

    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(use, range(4))) == {lazy.built}
    assert len(builds) == 1


def test_a_lazy_value_that_cannot_be_built_is_tried_again_at_the_next_use() -> None:
    replies = iter([ValueError("a bad setting"), "built"])

    def build() -> str:
        reply = next(replies)
        if isinstance(reply, ValueError):
            raise reply
        return str(reply)

    lazy = Lazy(build)
    with pytest.raises(ValueError, match="a bad setting"):
        lazy()
    assert (lazy(), lazy()) == ("built", "built")


def test_a_host_is_shared_by_the_loops_of_several_threads() -> None:
    limits = HostLimits(at_once=2, rate=0)
    here, most, passed, lock = [0], [0], [0], threading.Lock()

    async def visit() -> None:
        async with limits.turn("a.com"):
            with lock:
                here[0] += 1
                most[0] = max(most[0], here[0])
            for _ in range(20):
                await asyncio.sleep(0)
            with lock:
                here[0] -= 1
                passed[0] += 1

    async def visits() -> None:
        await asyncio.gather(*(visit() for _ in range(50)))

    threads = [threading.Thread(target=asyncio.run, args=(visits(),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(20)
    assert (passed[0], here[0]) == (200, 0)
    assert most[0] == 2


async def test_a_place_held_for_a_loop_that_has_ended_goes_to_the_next() -> None:
    semaphore = SharedSemaphore(1)
    gone = asyncio.new_event_loop()
    async with semaphore:
        semaphore._waiting.append((gone, gone.create_future()))
        waiting = asyncio.create_task(semaphore.__aenter__())
        await asyncio.sleep(0)
        gone.close()
    await asyncio.wait_for(waiting, 1)


async def test_hosts_nobody_uses_are_forgotten() -> None:
    limits = HostLimits(rate=0)
    async with limits.turn("kept.com"):
        for number in range(3000):
            async with limits.turn(f"{number}.com"):
                pass
        assert len(limits._hosts) <= 1000
        assert "kept.com" in limits._hosts


def test_a_cache_is_bounded_by_weight_and_age_and_forgets_the_longest_unused_first() -> None:
    now = [0.0]
    cache: BoundedCache[str, bytes] = BoundedCache(10, seconds=5, weigh=len, clock=lambda: now[0])
    cache.put("a", b"1234")
    cache.put("b", b"1234")
    assert cache.get("a") == b"1234"
    cache.put("c", b"1234")
    assert (cache.get("a"), cache.get("b"), cache.get("c")) == (b"1234", None, b"1234")
    cache.put("d", b"x" * 11)
    assert cache.get("d") is None
    cache.put("a", b"1")
    cache.put("a", b"2", seconds=6)
    now[0] = 5.0
    assert cache.get("a") == b"2"
    now[0] = 6.0
    assert cache.get("a") is None


def test_a_window_admits_what_it_has_places_for() -> None:
    now = [0.0]
    window = SlidingWindow(2, 60, clock=lambda: now[0])
    assert [window.admit() for _ in range(3)] == [True, True, False]
    now[0] = 59.0
    assert not window.admit()
    now[0] = 60.0
    assert window.admit()


async def doubled(number: int, calls: list[int]) -> int:
    calls.append(number)
    await asyncio.sleep(0)
    return 2 * number


async def test_work_of_a_turn_is_begun_once_and_its_result_is_had_once() -> None:
    tasks, calls = TurnTasks[int](), list[int]()
    tasks.start("turn", "a", doubled(1, calls))
    tasks.start("turn", "a", doubled(2, calls))
    tasks.start("other", "a", doubled(3, calls))
    assert [await tasks.result("turn", "a"), await tasks.result("other", "a")] == [2, 6]
    assert await tasks.result("turn", "a") is None
    assert calls == [1, 3]


async def test_a_step_that_fails_or_is_cancelled_ends_its_turns_work_and_no_other() -> None:
    tasks, begun = TurnTasks[None](), list[asyncio.Task[None]]()

    async def waits() -> None:
        task = asyncio.current_task()
        assert task is not None
        begun.append(task)
        await asyncio.Event().wait()

    for error in (ValueError, asyncio.CancelledError):
        tasks.start("turn", "a", waits())
        tasks.start("other", error.__name__, waits())
        await asyncio.sleep(0)
        with pytest.raises(error), tasks.ending_with("turn"):
            raise error
        await asyncio.sleep(0)
        assert [task.cancelled() for task in begun[-2:]] == [True, False]
    tasks.close("other")
    await asyncio.gather(*begun, return_exceptions=True)
    assert all(task.cancelled() for task in begun)


async def test_an_error_of_a_turns_work_is_raised_where_its_result_is_wanted() -> None:
    tasks = TurnTasks[int]()

    async def fails() -> int:
        raise ValueError("broken")

    tasks.start("turn", "a", fails())
    with pytest.raises(ValueError, match="broken"):
        await tasks.result("turn", "a")
