"""Whatever a model asks for, what is spent stays within the limits, and the run ends."""

import itertools
import random
from collections.abc import AsyncIterator
from typing import Any

import pytest
import pytest_asyncio

from agent.sample.model.reply import SampleModel
from agent.sample.model.request import Model, ModelReply, ModelTurn
from agent.sample.model.text import task_of
from tests.integration.faults import Ended, ended, well_again
from tests.support.lab import ZH, Lab, laboratory

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]


class Insatiable:
    """Never satisfied, and never short of new queries for web and map."""

    def __init__(self, inner: Model) -> None:
        self.inner, self._numbers = inner, itertools.count()

    def respond(self, turn: ModelTurn) -> ModelReply:
        match task_of(turn):
            case "generate_query":
                return ModelReply(json={"query": self._more(), "rationale": ""})
            case "reflection":
                verdict = {"is_sufficient": False, "knowledge_gap": "更多"}
                return ModelReply(json={**verdict, "follow_up_queries": self._more()})
        return self.inner.respond(turn)

    def _more(self) -> list[dict[str, Any]]:
        words = ("亲子乐园", "咖啡", "书店", "公园", "博物馆", "餐厅", "酒店", "商场")
        task = {"intent": "nearby", "place": "王府井", "city": "北京"}
        numbers = [next(self._numbers) for _ in range(1000)]
        return [
            {"query": f"王府井 {n} 号", "map": {**task, "keywords": [f"{words[n % 8]}{n}"]}}
            for n in numbers
        ]


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with laboratory(
        tanlu_mode="offline", tanlu_data_dir=tmp_path_factory.mktemp("data")
    ) as built:
        yield built


@pytest.fixture
def insatiable(lab: Lab) -> Lab:
    well_again(lab)
    lab.gemini.llm = Insatiable(SampleModel())
    return lab


def assert_within(result: Ended, lab: Lab, limits: dict[str, Any]) -> None:
    """What the stand-ins saw agrees with what the run says, and with its limits."""
    assert len(lab.amap.requests) <= limits["max_map_calls"]
    assert len(lab.gemini.requests) <= limits["max_model_calls"]
    if result.error is None:
        usage = result.kept["usage"]
        assert usage["model_calls"] == len(lab.gemini.requests)
        assert usage["map_calls"] == len(lab.amap.requests)
        assert usage["map_calls"] <= limits["max_map_calls"]
        assert usage["searches"] <= limits["max_searches"]


async def test_a_model_that_always_wants_more_is_ended_by_the_loops(insatiable: Lab) -> None:
    limits = {"max_map_calls": 12, "max_model_calls": 40, "max_searches": 30}
    result = await ended(insatiable, ZH, context={"max_research_loops": 10, **limits})
    assert result.error is None
    assert result.kept["checks"]["cited"] > 0
    assert any(code.startswith("budget_") for code in result.codes)
    assert_within(result, insatiable, limits)


@pytest.mark.parametrize("seed", range(24))
async def test_any_limits_bind_and_leave_an_answer(insatiable: Lab, seed: int) -> None:
    chosen = random.Random(seed)
    limits = {
        "max_searches": chosen.choice([0, 1, 2, 5, 30]),
        "max_model_calls": chosen.choice([1, 2, 3, 5, 8, 40]),
        "max_map_calls": chosen.choice([0, 1, 2, 3, 7, 12]),
    }
    more = {
        "max_run_tokens": chosen.choice([1000, 5000, 400_000]),
        "max_research_loops": chosen.randint(1, 10),
        "number_of_initial_queries": chosen.randint(1, 10),
        "map_rounds": chosen.randint(0, 3),
        "map_details": chosen.randint(0, 5),
        "web_search": chosen.choice(["auto", "tavily", "off"]),
        "geo_routing": chosen.choice(["llm", "always", "never", "rules"]),
    }
    result = await ended(insatiable, ZH, context={**limits, **more})
    assert_within(result, insatiable, limits)
