"""Turns at a host are counted across event loops."""

import asyncio
import threading

from agent.reading.hosts import HostLimits, Turnstile


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
    turnstile = Turnstile(1)
    gone = asyncio.new_event_loop()
    async with turnstile.turn():
        turnstile._waiting.append((gone, gone.create_future()))
        waiting = asyncio.create_task(turnstile._enter())
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
