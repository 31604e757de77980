"""Turns of the processor: one at a time, fair to each owner, and given up when time is over."""

import asyncio
import threading
from collections.abc import Callable

import pytest

from agent.core.processor import (
    ORDINARY,
    SHORT,
    SLICE,
    Processor,
    breathe,
    compute,
    lazy_property,
    read_in_turns,
)


class Clock:
    """Tell a time that only steps of work, and rests, move on."""

    def __init__(self) -> None:
        self.now, self.rests = 0.0, list[float]()

    def __call__(self) -> float:
        return self.now

    def rest(self, seconds: float) -> None:
        self.rests.append(seconds)
        self.now += seconds


def never() -> str:
    raise AssertionError("the time was enough")


async def test_work_does_not_wait_for_threads_that_wait_for_the_network() -> None:
    answered, loop = threading.Event(), asyncio.get_running_loop()
    lookups = [loop.run_in_executor(None, answered.wait, 30) for _ in range(64)]
    assert await asyncio.wait_for(compute(lambda: "done", otherwise=never), 5) == "done"
    answered.set()
    await asyncio.gather(*lookups)


@pytest.mark.parametrize(("size", "here"), [(SHORT, True), (SHORT + 1, False)])
async def test_a_long_text_is_read_off_the_event_loop_and_a_short_one_at_once(
    size: int, here: bool
) -> None:
    own = threading.get_ident()
    assert (await read_in_turns(threading.get_ident, size) == own) is here


@pytest.mark.parametrize("size", [SHORT, SHORT + 1])
async def test_what_a_text_is_refused_for_is_raised(size: int) -> None:
    def refuse() -> str:
        raise ValueError("no text")

    with pytest.raises(ValueError, match="no text"):
        await read_in_turns(refuse, size)


async def test_work_is_done_one_at_a_time() -> None:
    at_once, most, slow = [0], [0], threading.Event()

    def work() -> str:
        at_once[0] += 1
        most[0] = max(most[0], at_once[0])
        slow.wait(0.02)
        at_once[0] -= 1
        return "done"

    await asyncio.gather(*(compute(work, otherwise=never) for _ in range(8)))
    assert most[0] == 1


async def test_work_that_never_breathes_is_given_up_and_holds_up_nobody() -> None:
    slow = threading.Event()
    given_up = compute(lambda: str(slow.wait(30)), otherwise=lambda: "too long", seconds=0.05)
    assert await given_up == "too long"
    assert await asyncio.wait_for(compute(lambda: "next", otherwise=never), 5) == "next"
    slow.set()


async def test_others_go_on_beside_work_that_does_not_breathe_long_before_its_time_is_over() -> (
    None
):
    begun, over = threading.Event(), threading.Event()

    def stuck() -> str:
        begun.set()
        over.wait(30)
        breathe()
        return "late"

    late = asyncio.create_task(compute(stuck, otherwise=never, seconds=20))
    await asyncio.to_thread(begun.wait, 5)
    assert await asyncio.wait_for(compute(lambda: "next", otherwise=never), 5) == "next"
    over.set()
    assert await late == "late"


@pytest.mark.parametrize("ending", ["too slow", "cancelled"])
async def test_work_that_nobody_waits_for_ends_at_its_next_breath(ending: str) -> None:
    begun, ended = threading.Event(), threading.Event()

    def endless() -> str:
        try:
            while True:
                begun.set()
                try:
                    breathe()
                except Exception:  # noqa: BLE001 - what a careless reader does
                    continue
        finally:
            ended.set()

    seconds = 0.05 if ending == "too slow" else 60
    task = asyncio.create_task(compute(endless, otherwise=lambda: "without", seconds=seconds))
    assert await asyncio.to_thread(begun.wait, 5)
    if ending == "cancelled":
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    else:
        assert await task == "without"
    assert await asyncio.to_thread(ended.wait, 5)


async def test_work_that_breaks_is_done_otherwise_and_its_turn_is_over(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> str:
        raise ValueError("of its own")

    with pytest.raises(ValueError, match="of its own"):
        await Processor().compute(broken, otherwise=never, seconds=5, owner="")
    assert await compute(broken, otherwise=lambda: "without") == "without"
    assert "of its own" in caplog.text
    assert await asyncio.wait_for(compute(lambda: "next", otherwise=never), 5) == "next"


def steps(
    name: str, count: int, clock: Clock, turns: list[str], during: Callable[[int], None]
) -> Callable[[], str]:
    """Return work of so many steps, of a slice each, that are written down."""

    def work() -> str:
        for number in range(count):
            turns.append(name)
            during(number)
            clock.now += SLICE
            breathe()
        return name

    return work


def between(turns: list[str], name: str) -> list[str]:
    """Return who had the turns from the first of somebody to the last."""
    last = len(turns) - turns[::-1].index(name)
    return turns[turns.index(name) : last]


async def beside(heavy: list[str], ordinary: int) -> list[str]:
    """Return the turns of heavy work, of these owners, and an ordinary run that comes later."""
    clock, turns, loop = Clock(), list[str](), asyncio.get_running_loop()
    processor, came, ended = Processor(clock, clock.rest), asyncio.Event(), threading.Event()

    def until_it_ends(number: int) -> None:
        if number == 400:
            loop.call_soon_threadsafe(came.set)
        assert number < 500_000 or ended.is_set()

    def endless(name: str) -> Callable[[], str]:
        return steps(name, 1_000_000, clock, turns, until_it_ends)

    async def one(owner: str, work: Callable[[], str]) -> str:
        return await processor.compute(work, otherwise=str, seconds=1e6, owner=owner)

    worst = [asyncio.create_task(one(owner, endless(owner))) for owner in heavy]
    await came.wait()
    await one("bo", steps("bo", ordinary, clock, turns, lambda _: None))
    ended.set()
    for task in worst:
        task.cancel()
    await asyncio.gather(*worst, return_exceptions=True)
    return turns


async def test_an_ordinary_run_takes_at_most_half_as_long_again_beside_the_worst_one() -> None:
    turns = between(await beside(["anna"], ordinary=40), "bo")
    assert len(turns) <= 1.5 * turns.count("bo")


async def test_an_owner_of_many_heavy_runs_has_no_more_turns_than_another_of_one() -> None:
    turns = between(await beside(["anna"] * 6, ordinary=2000), "bo")
    assert turns.count("anna") <= turns.count("bo") + 1
    assert turns.count("anna") > 0.5 * turns.count("bo")


async def test_long_work_rests_as_long_as_it_works_and_short_work_never() -> None:
    clock, turns = Clock(), list[str]()
    processor = Processor(clock, clock.rest)

    async def run(count: int) -> None:
        work = steps("one", count, clock, turns, lambda _: None)
        await processor.compute(work, otherwise=never, seconds=1e6, owner="")

    await run(round(ORDINARY / SLICE) - 1)
    assert clock.rests == []
    before = clock.now
    await run(200)
    assert sum(clock.rests) >= 0.45 * (clock.now - before - ORDINARY)


async def test_rests_and_turns_of_others_are_not_counted_as_the_works_own_time() -> None:
    clock, turns = Clock(), list[str]()
    processor = Processor(clock, clock.rest)
    works = [
        processor.compute(
            steps(name, 150, clock, turns, lambda _: None), otherwise=never, seconds=2, owner=name
        )
        for name in ("anna", "bo", "carl", "dora")
    ]
    assert set(await asyncio.gather(*works)) == {"anna", "bo", "carl", "dora"}
    assert clock.now > 3


def test_a_lazy_property_is_computed_once_for_each_object_and_never_waits_for_another() -> None:
    inside, others = threading.Event(), threading.Event()

    class Text:
        def __init__(self, is_slow: bool) -> None:
            self.is_slow, self.computed = is_slow, 0

        @lazy_property
        def length(self) -> int:
            """Say how long it is."""
            self.computed += 1
            if self.is_slow:
                inside.set()
                assert others.wait(5)
            return 1

    slow, quick = Text(is_slow=True), Text(is_slow=False)
    thread = threading.Thread(target=lambda: slow.length)
    thread.start()
    assert inside.wait(5)
    assert (quick.length, quick.length, quick.computed) == (1, 1, 1)
    others.set()
    thread.join(5)
    assert (slow.length, slow.computed) == (1, 1)
    assert Text.length.__doc__ == "Say how long it is."
