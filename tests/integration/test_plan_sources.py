"""Sources that are down, slow, too busy, unreadable or off: the others' results are unharmed."""

from collections.abc import AsyncIterator
from typing import Any

import pytest

from agent.core.concurrency import Lazy
from agent.sample.model.text import block
from agent.texts import say
from tests.support.lab import answer_of, told
from tests.support.plan_lab import PlanLab, Planner, World, looks_up, plan_process

REQUIRED = ("wikipedia", "openalex", "semantic_scholar", "tavily")
FAULTS: dict[str, dict[str, Any]] = {
    "down": {"kind": "status", "status": 503},
    "slow": {"kind": "hang"},
    "busy": {"kind": "status", "status": 429, "headers": {"Retry-After": "3600"}},
    "malformed": {"kind": "garbage"},
}


@pytest.fixture
async def lab(shared: World, request: pytest.FixtureRequest) -> AsyncIterator[PlanLab]:
    shared.clear()
    shared.gemini.llm = Planner("技术路线", "同行比较")
    # Short only where one hangs: on a busy machine the others take their time.
    seconds = 1 if "slow" in request.node.name else 60
    async with plan_process(shared, search_timeout_seconds=seconds) as lab:
        yield lab


def break_down(world: World, name: str, fault: str) -> None:
    details = dict(FAULTS[fault])
    world.services[name].fail(details.pop("kind"), times=None, **details)


def of_source(state: dict[str, Any], source: str) -> list[str]:
    return [
        document["title"]
        for result in state["executor_result"]
        for document in result["documents"]
        if document["source"] == source
    ]


@pytest.mark.parametrize("fault", FAULTS)
async def test_a_catalogue_that_fails_leaves_the_others_unharmed(lab: PlanLab, fault: str) -> None:
    break_down(lab.world, "openalex", fault)
    state = await lab.ask()
    assert of_source(state, "openalex") == []
    for name, count in {"wikipedia": 4, "semantic_scholar": 6, "tavily": 4}.items():
        assert len(of_source(state, name)) == count
    (gap,) = told(state)["gaps"]
    assert gap["provider"] == "openalex"
    assert "*另：OpenAlex 没有查成。*" in str(answer_of(state).text)


@pytest.mark.parametrize("name", REQUIRED)
async def test_any_required_source_may_be_down(lab: PlanLab, name: str) -> None:
    break_down(lab.world, name, "down")
    state = await lab.ask()
    assert [gap["provider"] for gap in told(state)["gaps"]] == [name]
    for other in set(REQUIRED) - {name}:
        assert of_source(state, other), other


async def test_a_source_that_is_off_is_one_gap_for_all_tasks_and_not_asked(
    shared: World, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "agent.assistants.plan_execute")
    shared.clear()
    shared.gemini.llm = Planner("技术路线", "同行比较", "成本")
    async with plan_process(shared, openalex_api_key=None) as lab:
        state = await lab.ask()
    (gap,) = told(state)["gaps"]
    assert (gap["provider"], gap["code"]) == ("openalex", "source_off")
    assert "OPENALEX_API_KEY" in caplog.text
    assert "OPENALEX_API_KEY" not in str(answer_of(state).text) + gap["message"]
    assert "OpenAlex 没有" not in str(answer_of(state).text), "doctor tells the operator"
    (writing,) = [t.user for t in lab.llm.asked("dossier")]
    assert block(writing, "gaps") == ""
    assert shared.asked("openalex") == 0


async def test_a_web_search_that_is_switched_off_is_said_to_be(lab: PlanLab) -> None:
    state = await lab.ask(web_search="off")
    assert [(gap["provider"], gap["code"]) for gap in told(state)["gaps"]] == [
        ("tavily", "source_off")
    ]
    assert lab.world.asked("tavily") == 0


async def test_with_everything_down_the_answer_says_so_and_why(lab: PlanLab) -> None:
    lab.world.gemini.llm = Planner("技术路线", {"query": "同行比较", "company": "澄海储能"})
    for name in REQUIRED:
        break_down(lab.world, name, "down")
    state = await lab.ask()
    text = str(answer_of(state).text)
    assert "澄海储能" not in text
    assert text.startswith("没有一个来源能查询")
    assert told(state)["degraded"]
    assert {gap["provider"] for gap in told(state)["gaps"]} == set(REQUIRED)
    assert [result["status"] for result in state["executor_result"]] == ["failed", "failed"]
    assert lab.llm.asked("dossier") == []
    assert told(state)["sources"] == []


async def test_sources_that_answer_but_have_nothing_are_an_empty_task(lab: PlanLab) -> None:
    nothing: dict[str, dict[str, Any]] = {
        "wikipedia": {"batchcomplete": True},
        "openalex": {"meta": {"count": 0}, "results": []},
        "semantic_scholar": {"total": 0, "offset": 0},
        "tavily": {"results": []},
    }
    for name, body in nothing.items():
        lab.world.services[name].fail("status", times=None, status=200, body=body)
    state = await lab.ask()
    assert [(gap["code"], gap["query"]) for gap in told(state)["gaps"]] == [
        ("task_empty", "技术路线"),
        ("task_empty", "同行比较"),
    ]
    assert told(state)["gaps"][0]["message"] == say(
        "plan_execute.gaps.task_empty", "zh", task="技术路线"
    )
    assert say("answer.nothing", "zh") in str(answer_of(state).text)


async def test_an_optional_source_that_fails_is_told_to_the_model_and_to_the_reader(
    lab: PlanLab,
) -> None:
    llm = Planner("财务", execute_decide=looks_up("sec_edgar_search", query="Qinglan"))
    lab.world.gemini.llm = llm
    break_down(lab.world, "sec", "down")
    state = await lab.ask()
    (told_model,) = llm.asked("execute_decide")[1].tool_results
    assert "SEC EDGAR" in told_model.text
    assert [gap["provider"] for gap in told(state)["gaps"]] == ["sec_edgar"]
    assert of_source(state, "wikipedia")


@pytest.mark.parametrize(
    "value",
    [
        '[{"title": "技术路线 同行比较", "url": "https://x.example/1", "text": "正文"}]',
        [{"title": "技术路线 同行比较", "url": "https://x.example/1", "text": "正文"}],
        {"title": "技术路线 同行比较", "url": "https://x.example/1", "text": "正文"},
    ],
    ids=["text", "list", "dict"],
)
async def test_a_source_may_answer_in_any_of_the_three_shapes(lab: PlanLab, value: Any) -> None:
    library = lab.services.library()

    class Odd:
        async def search(self, name: str, query: str, **more: Any) -> Any:
            return value if name == "openalex" else await library.search(name, query, **more)

        def __getattr__(self, name: str) -> Any:
            return getattr(library, name)

    lab.services.library = Lazy(Odd)
    state = await lab.ask()
    # Both tasks found it; it stays with one of them.
    assert of_source(state, "openalex") == ["技术路线 同行比较"]


async def test_a_source_with_a_defect_does_not_end_the_run(lab: PlanLab) -> None:
    library = lab.services.library()

    class Broken:
        async def search(self, name: str, query: str, **more: Any) -> Any:
            if name == "wikipedia":
                raise KeyError("extract")
            return await library.search(name, query, **more)

        def __getattr__(self, name: str) -> Any:
            return getattr(library, name)

    lab.services.library = Lazy(Broken)
    state = await lab.ask()
    (gap,) = told(state)["gaps"]
    assert (gap["provider"], gap["code"]) == ("wikipedia", "malformed")
    assert of_source(state, "openalex")


async def test_a_rerank_server_that_is_down_is_replaced_and_noted(
    shared: World, caplog: pytest.LogCaptureFixture
) -> None:
    shared.clear()
    shared.gemini.llm = Planner("技术路线")
    async with plan_process(shared, tei_rerank_url="http://127.0.0.1:9") as lab:
        state = await lab.ask()
    (result,) = state["executor_result"]
    assert result["rerank"].startswith("bm25 (tei: ")
    assert of_source(state, "openalex")
    assert "ranking: tei: " in caplog.text
    assert told(state)["gaps"] == []
    assert "bm25" not in str(answer_of(state).text)


async def test_a_limit_of_searches_ends_searching_and_says_so(lab: PlanLab) -> None:
    state = await lab.ask(max_searches=3)
    codes = [gap["code"] for gap in told(state)["gaps"]]
    assert codes == ["budget_max_searches"]
    assert told(state)["usage"]["searches"] == 3
    assert told(state)["sources"]
