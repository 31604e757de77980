"""Runs beside each other keep apart, and a run that is cancelled stops at once."""

import asyncio
import re
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from langchain_core.messages import HumanMessage

from tests.integration.faults import children, leaving_no_process
from tests.support.kept_amap import with_its_own
from tests.support.lab import EN, ZH, Lab, answer_of, laboratory, told
from tests.support.map_fixtures import until
from tests.support.standin import Recorded

pytestmark = pytest.mark.node
__all__ = ["with_its_own"]
QUESTIONS = (ZH, EN, "杭州西湖附近的咖啡馆", "上海迪士尼怎么玩")


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    with leaving_no_process():
        async with laboratory(tanlu_mode="offline") as built:
            yield built


def requests(lab: Lab) -> list[Recorded]:
    assert lab.services.sample
    return [r for s in lab.services.sample.services.values() for r in s.requests]


def seen(state: dict[str, Any]) -> dict[str, Any]:
    """What a run said and found, without times and what a warm cache saves."""
    moment = r"\d{4}-\d\d-\d\d \d\d:\d\d(?=（北京时间）| \(UTC)"
    text = re.sub(moment, "TIME", str(answer_of(state).text))
    kept = told(state)
    usage = {name: kept["usage"][name] for name in ("model_calls", "searches")}
    ids = [place["id"] for place in kept["places"]]
    return {"text": text, "queries": kept["queries"], "usage": usage, "places": ids}


async def test_questions_at_once_get_what_each_gets_alone(lab: Lab) -> None:
    alone = [seen(await lab.ask(q, f"alone-{n}")) for n, q in enumerate(QUESTIONS)]
    together = await asyncio.gather(
        *(lab.ask(q, f"together-{n}") for n, q in enumerate(QUESTIONS * 2))
    )
    assert [seen(state) for state in together] == alone * 2


async def test_two_runs_on_one_thread_at_once_do_not_mix(lab: Lab) -> None:
    alone = [seen(await lab.ask(q, f"alone-{n}")) for n, q in enumerate((ZH, EN))]
    both = await asyncio.gather(lab.ask(ZH, "shared"), lab.ask(EN, "shared"))
    for state, expected in zip(both, alone, strict=True):
        assert seen(state)["queries"] == expected["queries"]
        assert seen(state)["usage"] == expected["usage"]
        assert seen(state)["places"] == expected["places"]
    assert [s["turn"]["question"] for s in both] == [ZH, EN]


@pytest.mark.usefixtures("with_its_own")
async def test_thirty_runs_at_once_share_one_map_server_and_all_answer(lab: Lab) -> None:
    # What tests before this one have left to the next, as a reader of documents, is none of it.
    before = {*children()}
    states = await asyncio.gather(*(lab.ask(ZH, f"t{n}") for n in range(30)))
    assert lab.services.maps.clients[0].session.starts == 1
    assert len({*children()} - before) == 1
    assert all(told(state)["checks"]["cited"] for state in states)
    assert all(told(state)["gaps"] == [] for state in states)
    assert len({seen(state)["text"] for state in states}) == 1


async def test_follow_ups_cost_as_much_as_first_questions(lab: Lab) -> None:
    costs = [told(await lab.ask(ZH, "long"))["usage"] for _ in range(4)]
    assert {cost["model_calls"] for cost in costs} == {costs[0]["model_calls"]}
    assert {cost["searches"] for cost in costs} == {costs[0]["searches"]}


@pytest.mark.parametrize("point", range(1, 11))
async def test_a_cancelled_run_asks_nothing_more(lab: Lab, point: int) -> None:
    assert lab.services.sample
    for service in lab.services.sample.services.values():
        service.latency = lambda request, body: 0.02
    run = asyncio.create_task(lab.ask(ZH, "cancelled"))
    await until(lambda: len(requests(lab)) >= point)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    await every_service_has_caught_up(lab)
    before = requests(lab)
    # A whole run of another question is time enough for anything left over to show itself.
    state = await lab.ask(EN, "another")
    assert told(state)["checks"]["cited"]
    after = [r for r in requests(lab) if not any(r is known for known in before)]
    assert [r.path for r in after if not r.path.startswith("/v1beta/models/")] == []
    assert not [r for r in after if "王府井" in str(r.body)]


async def every_service_has_caught_up(lab: Lab) -> None:
    """What was on its way when the run was cancelled has been noted."""
    sample, maps = lab.services.sample, lab.services.maps.clients[0].session
    if maps.pid is not None:
        # It takes its calls one after another: what it was told before has been asked by then.
        await maps.call_tool("maps_weather", {"city": "北京"})
    assert sample
    async with httpx.AsyncClient(trust_env=False, timeout=60) as client:
        await client.get(f"http://127.0.0.1:{sample.running.port}/")
    for service in sample.services.values():
        service.requests[:] = [r for r in service.requests if r.path != "/"]


async def test_a_thread_whose_run_was_cancelled_answers_the_next_question(lab: Lab) -> None:
    run = asyncio.create_task(lab.ask(ZH, "same"))
    await until(lambda: len(lab.gemini.requests) >= 2)
    run.cancel()
    with pytest.raises(asyncio.CancelledError):
        await run
    state = await lab.ask(EN, "same")
    assert state["turn"]["question"] == EN
    assert state["places"] == []
    assert not any("王府井" in q["query"] for q in state["queries"])
    assert isinstance(state["messages"][0], HumanMessage)
