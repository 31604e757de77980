"""The wrapper of outside calls: pace, retries, limits, breaker, reply cache."""

import asyncio
import random
from collections.abc import Callable
from dataclasses import replace

import pytest
from langgraph.graph import START, StateGraph
from typing_extensions import TypedDict

from agent.core import calls, progress
from agent.core.budget import Budget, Limits, Meter
from agent.core.calls import Calls, Policy, Pulse, retry_after_seconds
from agent.core.concurrency import Breaker, Pace, SharedSemaphore, SingleFlight
from agent.core.errors import (
    BudgetExceeded,
    MalformedReply,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
    TimedOut,
)
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.rows import by_examples

LIMITS = Limits(
    max_searches=5,
    max_model_calls=5,
    max_map_calls=5,
    max_run_tokens=1000,
    max_run_seconds=60,
    answer_seconds=10,
)
QUICK = Policy("x", "searches", timeout=1, attempts=3, base_delay=0.001)


def meter(limits: Limits = LIMITS, elapsed: float = 0.0) -> Meter:
    return Budget("turn", limits, elapsed=elapsed).meter()


class Replies:
    """Answers in order; an exception is raised."""

    def __init__(self, *replies: str | Exception) -> None:
        self.left, self.asked = list(replies), 0

    async def __call__(self) -> str:
        self.asked += 1
        reply = self.left.pop(0)
        if isinstance(reply, Exception):
            raise reply
        return reply


@pytest.mark.parametrize(
    "error",
    [ProviderUnavailable("x", "503"), RateLimited("x", "429"), MalformedReply("x", "half")],
)
async def test_a_passing_fault_is_retried_and_each_attempt_is_counted(error: Exception) -> None:
    send, account = Replies(error, "fine"), meter()
    assert await Calls().call(QUICK, send, meter=account) == "fine"
    assert (send.asked, account.usage["searches"]) == (2, 2)


async def test_a_refusal_is_not_retried() -> None:
    send = Replies(ProviderRefused("x", "bad key"), "never")
    with pytest.raises(ProviderRefused):
        await Calls().call(QUICK, send, meter=meter())
    assert send.asked == 1


async def test_a_policy_says_itself_which_faults_are_retried() -> None:
    policy = replace(QUICK, retry_on=lambda error: error.code == "busy")
    send = Replies(ProviderUnavailable("x", "", code="busy"), ProviderUnavailable("x", ""), "never")
    with pytest.raises(ProviderUnavailable):
        await Calls().call(policy, send, meter=meter())
    assert send.asked == 2


async def test_it_gives_up_after_the_allowed_attempts() -> None:
    send = Replies(*[ProviderUnavailable("x", "503")] * 5)
    with pytest.raises(ProviderUnavailable):
        await Calls().call(QUICK, send, meter=meter())
    assert send.asked == 3


async def test_a_wait_the_service_asks_for_is_not_begun_when_it_is_too_long() -> None:
    send = Replies(RateLimited("x", "tomorrow", retry_after=3600), "never")
    with pytest.raises(RateLimited):
        await Calls().call(QUICK, send, meter=meter())
    assert send.asked == 1


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What would have been waited for, in seconds; nobody waits."""
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(asyncio, "sleep", sleep)
    return waits


async def test_each_wait_is_twice_the_one_before_up_to_the_longest(
    whole_back_off: None, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.5)  # no jitter
    policy = Policy("x", None, timeout=1, attempts=6, base_delay=0.25, max_delay=2.0)
    with pytest.raises(ProviderUnavailable):
        await Calls().call(policy, Replies(*[ProviderUnavailable("x", "503")] * 6), meter=meter())
    assert waits == [0.25, 0.5, 1.0, 2.0, 2.0]


async def test_a_wait_that_would_end_with_the_run_is_not_begun(
    whole_back_off: None, waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(random, "random", lambda: 0.5)
    account = meter()
    monkeypatch.setattr(account, "remaining", lambda: 0.25)
    send = Replies(*[ProviderUnavailable("x", "503")] * 2)
    with pytest.raises(ProviderUnavailable):
        await Calls().call(Policy("x", None, timeout=1, base_delay=0.25), send, meter=account)
    assert (waits, send.asked) == ([], 1)


@pytest.mark.parametrize("wait", ["-1", "0", "0.001", "nan", "Thu, 01 Jan 1970 00:00:00 GMT"])
async def test_a_retry_after_of_nothing_leaves_our_own_wait(
    wait: str, whole_back_off: None, waits: list[float]
) -> None:
    send = Replies(*[RateLimited("x", "", retry_after=retry_after_seconds(wait))] * 3)
    with pytest.raises(RateLimited):
        await Calls().call(Policy("x", None, timeout=1, base_delay=0.3), send, meter=meter())
    assert len(waits) == 2
    assert min(waits) >= 0.15


async def test_a_hanging_call_ends_at_its_time_limit() -> None:
    policy = Policy("x", None, timeout=0.01, attempts=1)
    with pytest.raises(ProviderUnavailable) as caught:
        await Calls().call(policy, asyncio.Event().wait, meter=meter())
    assert caught.value.code == "timeout"


async def test_a_spent_budget_stops_the_call_before_it_is_made() -> None:
    send = Replies("one", "two")
    account = meter(Limits(1, 5, 5, 1000, 60, 10))
    await Calls().call(QUICK, send, meter=account)
    with pytest.raises(BudgetExceeded) as caught:
        await Calls().call(QUICK, send, meter=account)
    assert (caught.value.limit, send.asked) == ("max_searches", 1)


async def test_no_research_call_begins_in_the_time_kept_for_the_answer() -> None:
    with pytest.raises(BudgetExceeded) as caught:
        await Calls().call(QUICK, Replies("late"), meter=meter(elapsed=55))
    assert caught.value.limit == "max_run_seconds"


async def test_a_place_in_the_queue_beyond_the_runs_end_is_not_waited_for() -> None:
    calls, send = Calls(), Replies("first", "never")
    calls.pace("x", rate=0.001)
    await calls.call(QUICK, send, meter=meter())
    with pytest.raises(BudgetExceeded):
        await calls.call(QUICK, send, meter=meter())
    assert send.asked == 1


async def test_a_reply_is_paid_once_in_a_turn_and_again_in_the_next() -> None:
    calls, send = Calls(reply_cache=MemoryReplyCache()), Replies("first", "second")
    account = meter()
    again = Budget("another turn", LIMITS).meter()
    assert await calls.once(QUICK, send, meter=account, request={"q": 1}) == "first"
    assert await calls.once(QUICK, send, meter=account, request={"q": 1}) == "first"
    assert await calls.once(QUICK, send, meter=again, request={"q": 1}) == "second"
    assert send.asked == 2


def clock() -> tuple[Callable[[], float], Callable[[float], None]]:
    now = [0.0]

    def pass_(seconds: float) -> None:
        now[0] += seconds

    return lambda: now[0], pass_


def test_a_pace_lets_a_burst_through_and_spaces_the_rest() -> None:
    time, pass_ = clock()
    pace = Pace(2, burst=3, clock=time)
    assert [pace.reserve() for _ in range(5)] == [0, 0, 0, 0.5, 1.0]
    pass_(10)
    assert pace.reserve() == 0


def test_a_pace_of_zero_is_no_limit() -> None:
    assert [Pace(0).reserve() for _ in range(3)] == [0, 0, 0]


def test_a_breaker_opens_after_three_failures_and_lets_one_probe_through_later() -> None:
    time, pass_ = clock()
    breaker = Breaker(threshold=3, cool=60, clock=time)
    for _ in range(3):
        breaker.check("x")
        breaker.failed()
    with pytest.raises(ProviderUnavailable) as caught:
        breaker.check("x")
    assert caught.value.code == "breaker_open"
    pass_(61)
    breaker.check("x")
    with pytest.raises(ProviderUnavailable):
        breaker.check("x")
    breaker.succeeded()
    breaker.check("x")


async def test_a_part_of_a_service_that_is_down_leaves_its_other_parts_open() -> None:
    calls, pages = Calls(), replace(QUICK, breaker=True, part="pages")

    async def fail() -> str:
        raise ProviderUnavailable("x", "down")

    async def reply() -> str:
        return "here"

    for code in ("unavailable", "breaker_open"):
        with pytest.raises(ProviderUnavailable) as caught:
            await calls.call(pages, fail, meter=meter())
        assert caught.value.code == code
    assert await calls.call(replace(QUICK, breaker=True), reply, meter=meter()) == "here"


async def test_equal_calls_in_flight_share_one_reply() -> None:
    flights, gate, asked = SingleFlight(), asyncio.Event(), []

    async def send() -> str:
        asked.append(1)
        await gate.wait()
        return "shared"

    waiting = [asyncio.create_task(flights.do("k", send)) for _ in range(5)]
    await asyncio.sleep(0)
    gate.set()
    assert await asyncio.gather(*waiting) == ["shared"] * 5
    assert len(asked) == 1


async def test_one_cancelled_caller_leaves_the_call_to_the_others_and_the_last_ends_it() -> None:
    flights, gate, ended = SingleFlight(), asyncio.Event(), []

    async def send() -> str:
        try:
            await gate.wait()
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return "shared"

    first, second = (asyncio.create_task(flights.do("k", send)) for _ in range(2))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    first.cancel()
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    assert not ended
    second.cancel()
    await asyncio.gather(first, second, return_exceptions=True)
    await asyncio.sleep(0)
    assert ended == ["cancelled"]


async def test_signs_of_life_put_the_time_limit_of_a_call_off() -> None:
    pulse, policy = Pulse(), Policy("x", None, timeout=0.6, attempts=1)

    async def slow() -> str:
        for _ in range(8):
            await asyncio.sleep(0.1)
            pulse.beat()
        return "whole"

    assert await Calls().call(policy, slow, meter=meter(), pulse=pulse) == "whole"


async def test_a_call_that_stands_still_after_some_signs_ends() -> None:
    pulse = Pulse()
    policy = Policy("x", None, timeout=0.05, attempts=1, setting="MODEL_TIMEOUT_SECONDS")

    async def stuck() -> str:
        pulse.beat()
        await asyncio.Event().wait()
        return "never"

    with pytest.raises(TimedOut) as caught:
        await Calls().call(policy, stuck, meter=meter(), pulse=pulse)
    assert caught.value.setting == "MODEL_TIMEOUT_SECONDS"


async def test_waiting_for_a_place_is_no_part_of_a_calls_time() -> None:
    policy = Policy("x", None, timeout=0.3, attempts=1, places=SharedSemaphore(1))
    calls = Calls()

    async def slow() -> str:
        await asyncio.sleep(0.2)
        return "done"

    asked = (calls.once(policy, slow, meter=meter(), request=n) for n in range(3))
    assert await asyncio.gather(*asked) == ["done"] * 3


async def test_a_place_beyond_the_runs_end_is_not_waited_for() -> None:
    places = SharedSemaphore(1)
    policy = Policy("x", None, timeout=1, places=places)
    async with places:
        with pytest.raises(BudgetExceeded) as caught:
            await Calls().once(policy, Replies("never"), meter=meter(elapsed=49.99), request=1)
    assert caught.value.limit == "max_run_seconds"


class _Nothing(TypedDict):
    pass


async def test_a_call_under_way_is_told_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(progress, "SECONDS_BETWEEN_SIGNS", 0.01)
    told_twice = asyncio.Event()

    async def send() -> str:
        await told_twice.wait()
        return "late"

    async def node(state: _Nothing) -> _Nothing:
        await Calls().call(Policy("model:x", None, timeout=30), send, meter=meter())
        return {}

    graph = StateGraph(_Nothing).add_node("node", node).add_edge(START, "node").compile()
    events = []
    async for event in graph.astream({}, stream_mode="custom"):
        events.append(event)
        if len(events) == 2:
            told_twice.set()
    assert {(event["type"], event["speaker"]) for event in events} == {("waiting", "model")}


@by_examples
def test_a_late_call_says_whether_its_own_time_is_over_or_the_run_s(
    setting: str, heard: int, left: float, told: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    account, pulse = meter(), Pulse()
    monkeypatch.setattr(account, "remaining", lambda: left)
    pulse.beats = heard
    error = calls._late(Policy("x", None, timeout=7, setting=setting), account, 4.2, pulse)
    assert told in str(error)
    assert (error.begun, error.seconds) == (heard > 0, 4.2 if left <= 0 else 7)


async def test_a_place_that_is_free_with_the_end_of_the_run_is_not_waited_for(
    waits: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    account = meter()
    monkeypatch.setattr(account, "remaining", lambda: 0.25)
    with pytest.raises(BudgetExceeded, match="max_run_seconds"):
        await calls._wait(0.25, account)
    await calls._wait(0.0, account)
    await calls._wait(0.125, account)
    assert waits == [0.125]


def test_of_a_date_to_come_the_seconds_until_then_are_waited(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(calls.time, "time", lambda: 1_800_000_000.0)
    assert retry_after_seconds("Fri, 15 Jan 2027 08:00:30 GMT") == 30
    assert retry_after_seconds("Fri, 15 Jan 2027 08:00:00 GMT") == 0
    assert retry_after_seconds("Fri, 15 Jan 2027 07:59:59 GMT") is None
    assert retry_after_seconds("2.5") == 2.5
    assert retry_after_seconds("soon") is None
