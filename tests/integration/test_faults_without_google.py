"""The same faults where no model and no search is Google's."""

from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import pytest_asyncio
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import SecretStr

from agent.configuration import MODEL_FIELDS
from agent.graph import build_graph
from agent.models.client import ModelClient
from agent.sample.model.reply import SampleModel
from agent.search.web import WebSearch
from tests.integration.faults import at, ended, leaving_no_process, well_again
from tests.support.lab import ZH, Lab, laboratory
from tests.support.served import serve_in_thread
from tests.support.standins import OpenAIService

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]
STAGES = ("generate_query", "amap_research", "reflection", "answer")
KINDS: dict[str, tuple[str, dict[str, Any]]] = {
    "401": ("status", {"status": 401}),
    "402": ("status", {"status": 402}),
    "429": ("status", {"status": 429, "headers": {"Retry-After": "0"}}),
    "500": ("status", {"status": 500}),
    "dropped": ("drop", {}),
    "garbage": ("garbage", {}),
    "html": ("html", {"status": 502}),
    "empty": ("empty", {}),
}
LASTING = {"401", "402"}
"""Asking again does not help, so they are not asked again."""


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    """The sample with a model of another provider beside it."""
    other = OpenAIService(SampleModel(), models=None)
    with leaving_no_process(), serve_in_thread(other.app) as running:
        async with laboratory(
            tanlu_mode="offline", tanlu_data_dir=tmp_path_factory.mktemp("data")
        ) as built:
            services, sample = built.services, built.services.sample
            assert sample
            settings = services.settings.model_copy(
                update={"openai_base_url": f"{running.url}/v1", "openai_api_key": SecretStr("key")}
            )
            models = ModelClient(settings, services.calls)
            mixed = replace(
                services,
                settings=settings,
                models=models,
                web=WebSearch(settings, models, services.calls),
                sample=replace(sample, services={**sample.services, "openai": other}),
            )
            yield Lab(mixed, build_graph(lambda: mixed).compile(checkpointer=InMemorySaver()))
            await models.aclose()
            await mixed.web.aclose()


# A key that is refused at once ends the run: the test of Google's models has that.
# Between the first call and the answer's stream each node gets what the client makes of a fault.
ENDS, BETWEEN = ("generate_query", "answer"), ("402", "500", "garbage")
CASES = [
    (stage, kind)
    for stage in STAGES
    for kind in KINDS
    if (stage, kind) != ("generate_query", "401") and (stage in ENDS or kind in BETWEEN)
]


@pytest.mark.parametrize("times", [1, None])
@pytest.mark.parametrize(("stage", "kind"), CASES)
async def test_a_fault_of_another_model_is_survived(
    lab: Lab, stage: str, kind: str, times: int | None
) -> None:
    well_again(lab)
    fault, details = KINDS[kind]
    lab.standin("openai").fail(fault, match=at(stage), times=times, **details)  # type: ignore[arg-type]
    context = dict.fromkeys(MODEL_FIELDS, "openai:sample")
    result = await ended(lab, ZH, context=context)
    assert not lab.gemini.requests
    assert result.error is None
    assert result.kept["checks"]["cited"] > 0
    if times is None:
        assert result.gaps
        assert result.kept["degraded"] is (stage == "answer")
    elif kind not in LASTING:
        assert result.gaps == []
        assert not result.kept["degraded"]
