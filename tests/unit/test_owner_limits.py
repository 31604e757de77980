"""What an owner may begin, and what those are told who may not."""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from typing import Any

import pytest
from langgraph_sdk import Auth

from agent.core.errors import AgentError
from agent.core.telemetry import STEP, Cost, NodeStep, tell_listeners
from agent.engines.langgraph.app import LangGraphServer
from agent.runs import engine
from agent.server import assistant_call
from agent.server.auth import authorization, owner_limits
from agent.server.auth.api_keys import access
from agent.server.auth.owner_limits import OwnerLimits, TooMany, question_language
from agent.settings import AccessSettings

NIGHT = datetime(2026, 11, 23, 23, 59, 30, tzinfo=UTC)
YESTERDAY = datetime(2026, 11, 22, tzinfo=UTC)


class Threads:
    """A server's list of threads, of which some are busy."""

    def __init__(self) -> None:
        self.busy: dict[str, str] = {}
        self.made_at: dict[str, datetime] = {}

    async def search(self, *, metadata: Any, status: str, limit: int, select: Any) -> Any:
        assert status == "busy"
        owner = metadata["tanlu_owner"] if metadata else None
        await asyncio.sleep(0)
        rows = [
            {"thread_id": id, "created_at": self.made_at.get(id, YESTERDAY).isoformat()}
            for id, whose in self.busy.items()
            if owner in (None, whose)
        ]
        return rows[:limit]


class Server(LangGraphServer):
    def __init__(self) -> None:
        self.threads = Threads()

    @asynccontextmanager
    async def _opened(self) -> AsyncIterator["Server"]:
        yield self

    def client(self, owner: str) -> Any:
        return self._opened()


@pytest.fixture(autouse=True)
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    listing = Server()
    monkeypatch.setattr(engine, "_engine", listing)
    monkeypatch.setattr(owner_limits, "is_free", lambda: False)
    monkeypatch.setenv("TANLU_API_KEYS", "alice:alice-key-0123456789,bob:bob-key-0123456789abc")
    access.cache_clear()
    yield listing
    access.cache_clear()


class Clock:
    def __init__(self) -> None:
        self.seconds = 100.0

    def __call__(self) -> float:
        return self.seconds


def limits(clock: Clock | None = None, **settings: Any) -> OwnerLimits:
    return OwnerLimits(AccessSettings(**settings), clock=clock or Clock(), now=lambda: NIGHT)


async def refusal(of: OwnerLimits, owner: str, thread: str = "") -> TooMany:
    with pytest.raises(TooMany) as raised:
        await of.admit(owner, thread)
    return raised.value


async def test_without_limits_everybody_may() -> None:
    unlimited = limits()
    for _ in range(100):
        await unlimited.admit("alice", "t")


async def test_the_third_run_of_a_minute_waits_and_the_other_owner_does_not() -> None:
    clock = Clock()
    paced = limits(clock, tanlu_runs_per_minute=2)
    await paced.admit("alice")
    clock.seconds += 20
    await paced.admit("alice")
    assert (await refusal(paced, "alice")).retry_after == 40
    await paced.admit("bob")
    clock.seconds += 40
    await paced.admit("alice")


async def test_open_runs_are_those_the_server_lists_of_the_owner(server: Server) -> None:
    few = limits(tanlu_open_runs=2)
    server.threads.busy = {"one": "alice", "two": "alice", "three": "bob"}
    assert (await refusal(few, "alice", "new")).name == "open_runs"
    await few.admit("alice", "two")
    await few.admit("bob", "new")


async def test_runs_let_in_at_once_count_before_the_server_lists_them(server: Server) -> None:
    clock = Clock()
    few = limits(clock, tanlu_open_runs=2)
    await few.admit("alice", "one")
    await few.admit("alice", "two")
    await refusal(few, "alice", "three")
    clock.seconds += 2
    await few.admit("alice", "three")


@pytest.mark.parametrize("named", [True, False])
async def test_of_runs_asked_for_at_once_as_many_begin_as_may_be_open(named: bool) -> None:
    few = limits(tanlu_open_runs=3)
    asking = (few.admit("alice", f"t{number}" if named else "") for number in range(10))
    refused = await asyncio.gather(*asking, return_exceptions=True)
    assert [getattr(each, "name", "admitted") for each in refused] == [
        *["admitted"] * 3,
        *["open_runs"] * 7,
    ]
    await few.admit("bob", "t" if named else "")


async def test_a_run_without_a_thread_counts_once_as_soon_as_the_server_lists_it(
    server: Server,
) -> None:
    few = limits(tanlu_open_runs=3)
    for number in range(3):
        await few.admit("alice")
        server.threads.busy[f"made-{number}"] = "alice"
        server.threads.made_at[f"made-{number}"] = NIGHT
    await refusal(few, "alice")


async def test_a_run_that_is_refused_for_its_pace_takes_no_open_place() -> None:
    clock = Clock()
    few = limits(clock, tanlu_open_runs=2, tanlu_runs_per_minute=1)
    await few.admit("alice")
    assert (await refusal(few, "alice")).name == "runs_per_minute"
    clock.seconds += 59.5
    assert (await refusal(few, "alice")).name == "runs_per_minute"
    clock.seconds += 0.5
    await few.admit("alice")


async def test_a_spent_day_ends_at_midnight() -> None:
    dollars = limits(tanlu_daily_usd=1.5)
    async with dollars.running():
        for owner, usd in (("alice", 1.0), ("alice", 0.5), ("bob", 1.4), ("bob", None)):
            token = STEP.set(NodeStep("agent", "node", owner=owner))
            tell_listeners(Cost("google:some-model", usd))
            STEP.reset(token)
    assert await dollars.spent("alice") == 1.5
    assert (await refusal(dollars, "alice")).retry_after == 30
    await dollars.admit("bob")


async def test_yesterday_s_dollars_do_not_count() -> None:
    day = [NIGHT]
    dollars = OwnerLimits(AccessSettings(tanlu_daily_usd=1), now=lambda: day[0])
    async with dollars.running():
        token = STEP.set(NodeStep("agent", "node", owner="alice"))
        tell_listeners(Cost("google:some-model", 2))
        await refusal(dollars, "alice")
        day[0] = datetime(2026, 11, 24, tzinfo=UTC)
        await dollars.admit("alice")
        tell_listeners(Cost("google:some-model", 0.5))
        STEP.reset(token)
    assert await dollars.spent("alice") == 0.5


async def test_sample_services_spend_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(owner_limits, "is_free", lambda: True)
    dollars = limits(tanlu_daily_usd=1)
    async with dollars.running():
        tell_listeners(Cost("google:some-model", 2))
    await dollars.admit("")


@pytest.mark.parametrize(
    ("question", "words"),
    [
        ("王府井附近适合遛娃的好去处", "一分钟最多可提 1 个问题"),
        ("Where to?", "1 question a minute"),
    ],
)
async def test_the_rule_for_runs_answers_429_in_the_question_s_language(
    monkeypatch: pytest.MonkeyPatch, question: str, words: str
) -> None:
    paced = limits(tanlu_runs_per_minute=1)
    monkeypatch.setattr(authorization, "owner_limits", lambda: paced)
    user: Any = type("User", (), {"identity": "alice"})()
    context = Auth.types.AuthContext([], user, "threads", "create_run")

    async def ask() -> None:
        await authorization.create_run(context, {"kwargs": {"input": {"messages": question}}})

    await ask()
    with pytest.raises(Auth.exceptions.HTTPException) as raised:
        await ask()
    assert raised.value.status_code == 429
    assert words in raised.value.detail
    assert raised.value.headers == {"Retry-After": "60"}


async def test_a_run_that_is_refused_for_its_input_takes_no_place(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    paced = limits(tanlu_runs_per_minute=1)
    monkeypatch.setattr(authorization, "owner_limits", lambda: paced)
    user: Any = type("User", (), {"identity": "alice"})()
    context = Auth.types.AuthContext([], user, "threads", "create_run")
    with pytest.raises(Auth.exceptions.HTTPException) as raised:
        await authorization.create_run(context, {"kwargs": {"webhook": "http://10.0.0.1/"}})
    assert raised.value.status_code == 422
    await paced.admit("alice")


@pytest.mark.parametrize(
    ("request_", "language"),
    [
        ({"input": {"messages": "西湖"}}, "zh"),
        ({"input": {"messages": [{"role": "user", "content": "西湖"}]}}, "zh"),
        ({"input": {"messages": [("user", [{"type": "text", "text": "湖"}])]}}, "zh"),
        ({"input": {"messages": []}}, "en"),
        ({"input": {"messages": [3]}}, "en"),
        ({"command": {"resume": "西湖"}}, "en"),
        ({}, "en"),
    ],
)  # fmt: skip
def test_the_language_is_the_last_message_s(request_: Mapping[str, Any], language: str) -> None:
    assert question_language(request_) == language


@pytest.mark.parametrize("ruled", [False, True])
async def test_over_mcp_an_open_server_asks_once_whichever_engine_it_has(
    monkeypatch: pytest.MonkeyPatch, server: Server, ruled: bool
) -> None:
    """LangGraph's own server asks no rule for what this process begins, Aegra does."""
    monkeypatch.delenv("TANLU_API_KEYS")
    access.cache_clear()
    monkeypatch.setattr(server, "rules_its_own_calls", ruled)
    paced = limits(tanlu_runs_per_minute=1)
    await paced.admit("")
    monkeypatch.setattr(assistant_call, "owner_limits", lambda: paced)
    nothing: Any = None
    call = assistant_call.Call(nothing, nothing, nothing, lambda: False, metadata={})
    question = assistant_call.CallArguments("西湖在哪", None, {}, {})
    expected = (AttributeError, "threads") if ruled else (AgentError, "一分钟最多可提 1 个问题")
    with pytest.raises(expected[0], match=expected[1]):
        await call.answer(question)
