"""The tools of a discussion: searches that are not made twice, sources, code, the map, failures."""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import AIMessage, ToolCall
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph

from agent.assistants.common.services import Services
from agent.assistants.team_answer.state import TeamConfiguration, TeamState
from agent.assistants.team_answer.tools import MAX_SHOWN, searches_saved
from agent.assistants.team_answer.use_tools import use_tools
from agent.core.concurrency import Lazy
from agent.core.strings import estimated_tokens
from agent.sample.records import SamplePage
from agent.sandbox.programs import CodeResult
from agent.state import inner
from agent.texts import say
from tests.integration.team_lab import TeamLab, team_laboratory
from tests.support.long_lab import page
from tests.support.map_fixtures import until
from tests.support.reading import LICENCE, TERMS, LinkedPages
from tests.support.team_steps import Runner, ScriptedMaps, answers, call, texts, turn, with_runner

Q = "青岚大桥 通车"


@dataclass
class Steps:
    """One discussion's tool steps, one after another on a thread."""

    services: Services
    context: dict[str, Any] = field(default_factory=dict)
    given: dict[str, Any] = field(default_factory=dict)
    """What the state holds before the first step."""
    saver: InMemorySaver = field(default_factory=InMemorySaver)
    events: list[dict[str, Any]] = field(default_factory=list)
    begun: bool = False

    async def do(self, *calls: ToolCall, message: AIMessage | None = None) -> dict[str, Any]:
        """The state after a step that answers these calls."""
        said = message or AIMessage("", tool_calls=list(calls))
        first = {} if self.begun else {"turn": turn(), "speaker": "researcher", **self.given}
        self.begun = True
        return await self.run({**first, "pending": inner(deque([said]))})

    async def run(self, given: Any) -> dict[str, Any]:
        """The same for any input; None goes on after a failure."""
        now = self.services.now().timestamp()
        if given and "turn" in given:
            given["turn"]["started_at"] = now

        async def step(state: TeamState, runtime: Any) -> Any:
            return await use_tools(state, runtime, get_services=lambda: self.services)

        graph = StateGraph(TeamState, context_schema=TeamConfiguration)
        graph.add_node("use_tools", step)
        graph.add_edge(START, "use_tools")
        graph.add_edge("use_tools", END)
        compiled: Any = graph.compile(checkpointer=self.saver)
        context = TeamConfiguration(**{"geo_routing": "never", **self.context})
        where = {"configurable": {"thread_id": "t"}}
        async for told in compiled.astream(given, where, context=context, stream_mode="custom"):
            self.events.append(told)
        return dict((await compiled.aget_state(where)).values)

    def told(self, kind: str) -> list[dict[str, Any]]:
        return [event for event in self.events if event["type"] == kind]


@pytest.fixture
async def standing() -> Any:
    async with team_laboratory() as lab:
        yield lab


def long_pages(query: str, limit: int) -> Sequence[SamplePage]:
    return [page(n, query, f"{query}第{n}页" + "很长的正文" * 200) for n in range(min(limit, 8))]


async def test_results_are_kept_whole_and_shown_cut_with_ids_that_go_on_over_the_turn() -> None:
    web: Any = long_pages
    async with team_laboratory(web=web) as lab:
        steps = Steps(lab.services)
        first = await steps.do(call("search_google", 0, query=Q), call("search_bocha", 1, query=Q))
        second = await steps.do(call("search_google", 0, query="青岚大桥 长度"))
    assert [e["id"] for e in second["evidence_pool"]] == ["s0", "s1", "s2"]
    assert [m.status for m in answers(first)] == ["success", "success"]
    pool = first["evidence_pool"]
    assert pool[0]["text"].startswith(f'<results id="s0" tool="search_google" query="{Q}">\n')
    assert '<result id="s0-0" title="' in pool[0]["text"]
    assert pool[0]["source_ids"] == [f"s0-{n}" for n in range(len(pool[0]["source_ids"]))]
    assert all(len(text) <= MAX_SHOWN for text in texts(first))
    assert texts(first)[0].count("<result ") == pool[0]["text"].count("<result ")
    known = {source["id"]: source for source in second["sources_gathered"]}
    assert "s2-0" in known
    assert known["s0-0"]["kind"] == "page"
    assert known["s0-0"]["provider"] == "serper"
    assert known["s0-0"]["quotes"][0].startswith(f"{Q}第0页")
    assert [note["evidence"] for note in second["pending_tools"]] == ["s0", "s1", "s2"]
    assert second["tool_rounds"] == 2
    assert [q["query"] for q in second["queries"]] == [Q, Q, "青岚大桥 长度"]
    assert second["usage"]["searches"] == 3
    done = steps.told("search_done")
    assert {event["id"] for event in done} == {"s0", "s1", "s2"}
    assert {event["speaker"] for event in done} == {"researcher"}


async def test_results_leave_room_in_the_speakers_prompt() -> None:
    web: Any = long_pages
    async with team_laboratory(web=web) as lab:
        steps = Steps(lab.services, {"context_token_limit": 8000})
        state = await steps.do(*(call("search_google", n, query=f"{Q} 第{n}") for n in range(6)))
    shown = texts(state)
    assert sum(estimated_tokens(text) for text in shown) <= 4200
    assert all(text.endswith("</results>") and "<result " in text for text in shown)


async def test_a_page_that_another_query_finds_keeps_its_first_id_and_gains_the_excerpt() -> None:
    def one_page(query: str, limit: int) -> Sequence[SamplePage]:
        return [replace(page(0, "桥", f"关于{query}的一段。"), url="https://pages.example/one")]

    web: Any = one_page
    async with team_laboratory(web=web) as lab:
        steps = Steps(lab.services)
        await steps.do(call("search_google", query="通车年份"))
        state = await steps.do(
            call("search_bocha", 0, query="全长"), call("search_google", 1, query="设计师")
        )
    assert [source["id"] for source in state["sources_gathered"]] == ["s0-0"]
    assert state["sources_gathered"][0]["quotes"] == [
        "关于通车年份的一段。", "关于全长的一段。", "关于设计师的一段。",
    ]  # fmt: skip
    assert all('<result id="s0-0"' in text for text in texts(state))


async def test_a_search_made_before_costs_nothing_and_hints_at_another_angle() -> None:
    async with team_laboratory() as lab:
        steps = Steps(lab.services)
        first = await steps.do(call("search_google", query="Population of Paris 2019"))
        second = await steps.do(
            call("search_google", 0, query="2019 population of Paris"),
            call("search_google", 1, query="population of paris 2020"),
            call("search_bocha", 2, query="Population of Paris 2019"),
        )
    assert sorted(lab.queries()) == [
        "Population of Paris 2019", "Population of Paris 2019", "population of paris 2020",
    ]  # fmt: skip
    cached, other, elsewhere = second["evidence_pool"][1:]
    assert (cached["id"], cached["cached"], cached["asked"]) == (
        "s1", True, "2019 population of Paris",
    )  # fmt: skip
    assert cached["source_ids"] == first["evidence_pool"][0]["source_ids"]
    assert not other["cached"]
    assert not elsewhere["cached"]
    hint, _, shown = texts(second)[0].partition("\n")
    assert "换一个角度" in hint
    assert shown == texts(first)[0]
    assert searches_saved(second["evidence_pool"]) == 1
    assert second["usage"]["searches"] == 3


async def test_two_equal_searches_of_one_step_are_asked_once() -> None:
    async with team_laboratory() as lab:
        steps = Steps(lab.services)
        state = await steps.do(
            call("search_bocha", 0, query=Q), call("search_bocha", 1, query=f"{Q}？")
        )
    assert lab.queries() == [Q]
    assert [e["cached"] for e in state["evidence_pool"]] == [False, True]
    assert state["evidence_pool"][1]["source_ids"] == state["evidence_pool"][0]["source_ids"]
    assert "s0" in texts(state)[1]
    assert "<result " not in texts(state)[1]


async def test_a_failed_search_is_no_result_to_reuse() -> None:
    async with team_laboratory() as lab:
        lab.serper.fail("status", status=500, times=3)
        steps = Steps(lab.services)
        failed = await steps.do(
            call("search_google", 0, query=Q), call("search_google", 1, query=Q)
        )
        assert [e["failed"] for e in failed["evidence_pool"]] == [True, True]
        vars(lab.services.calls)["_breakers"].clear()  # the minute of the breaker is over
        state = await steps.do(call("search_google", query=Q))
    assert not state["evidence_pool"][-1]["failed"]


async def test_a_provider_that_is_down_is_told_once_and_the_other_engine_named() -> None:
    async with team_laboratory() as lab:
        lab.serper.fail("status", status=403, times=None, body={"message": "Unauthorized."})
        steps = Steps(lab.services)
        await steps.do(call("search_google", 0, query=Q), call("search_google", 1, query="长度"))
        state = await steps.do(
            call("search_google", query="设计师"), call("search_bocha", 1, query=Q)
        )
    assert [(gap["provider"], gap["code"]) for gap in state["gaps"]] == [
        ("serper", "search_key_invalid")
    ]
    assert len(steps.told("gap")) == 1
    assert [message.status for message in answers(state)] == ["error", "success"]
    assert "search_bocha" in texts(state)[0]
    assert "Serper" in texts(state)[0]
    assert [e["failed"] for e in state["evidence_pool"]] == [True, True, True, False]


async def test_an_open_breaker_is_said_plainly_and_nothing_is_sent() -> None:
    async with team_laboratory() as lab:
        lab.serper.fail("status", status=500, times=None)
        steps = Steps(lab.services)
        await steps.do(call("search_google", query=Q))
        sent = len(lab.serper.requests)
        state = await steps.do(call("search_google", query="长度"))
        assert len(lab.serper.requests) == sent
    assert "连续多次失败" in texts(state)[0]
    assert {gap["code"] for gap in state["gaps"]} <= {"unavailable", "breaker_open"}


async def test_spent_searches_are_one_gap_whatever_the_engine() -> None:
    async with team_laboratory() as lab:
        steps = Steps(lab.services, {"max_searches": 1})
        await steps.do(call("search_google", query=Q))
        await steps.do(call("search_google", query="长度"))
        state = await steps.do(call("search_bocha", query="长度"))
    assert [gap["code"] for gap in state["gaps"]] == ["budget_max_searches"]
    assert "max_searches" in texts(state)[0]
    assert "search_google" not in texts(state)[0]
    assert len(lab.queries()) == 1


REFUSED: list[tuple[Any, list[str]]] = [
    (call("search_web", query=Q), ["search_web", "search_google", "search_bocha", "run_code"]),
    (call("search_tavily", query=Q), ["search_tavily", "search_google"]),
    (call("maps_geo", address="x"), ["maps_geo", "search_google"]),
    (call("search_google"), ["search_google", "query"]),
    (call("search_google", queries=["a", "b"]), ["search_google", "query"]),
    (call("search_google", query=7), ["query"]),
    (call("run_code", code="  "), ["code"]),
    (call("run_code", code="1" * 20_001), ["20000"]),
]


async def test_a_call_that_cannot_be_done_is_answered_with_what_can(standing: TeamLab) -> None:
    steps = Steps(with_runner(standing.services, Runner()))
    for asked, told in REFUSED:
        state = await steps.do(asked, call("run_code", 1, code="1+1"))
        refused, done = answers(state)
        assert (refused.status, done.status) == ("error", "success")
        assert all(word in str(refused.text) for word in told), told
    assert [e["id"] for e in state["evidence_pool"]] == [f"c{n}" for n in range(len(REFUSED))]


async def test_arguments_are_read_tolerantly_and_broken_ones_answered(standing: TeamLab) -> None:
    steps = Steps(standing.services)
    message = AIMessage(
        "",
        tool_calls=[call("search_google", 0, q=Q), call("search_bocha", 1, queries=[Q])],
        invalid_tool_calls=[
            {
                "name": "search_google",
                "args": "{",
                "id": "call-2",
                "error": "",
                "type": "invalid_tool_call",
            }
        ],
    )
    state = await steps.do(message=message)
    assert [m.status for m in answers(state)] == ["success", "success", "error"]
    assert [m.tool_call_id for m in answers(state)] == ["call-0", "call-1", "call-2"]
    many = await steps.do(*(call("search_google", n, query=f"桥 {n} 号") for n in range(14)))
    assert [m.status for m in answers(many)].count("error") == 2


async def test_a_program_is_evidence_with_its_result(standing: TeamLab) -> None:
    runner = Runner(
        lambda code: CodeResult("4\n") if "2" in code else CodeResult("", "NameError: x")
    )
    steps = Steps(with_runner(standing.services, runner))
    state = await steps.do(call("run_code", 0, code="print(2+2)"), call("run_code", 1, code="x"))
    assert [(e["id"], e["text"], e["failed"]) for e in state["evidence_pool"]] == [
        ("c0", "4", False), ("c1", "NameError: x", True),
    ]  # fmt: skip
    assert texts(state)[0] == '<output id="c0">4</output>'
    assert [event["text"] for event in steps.told("code")] == ["print(2+2) ⇒ 4", "x ⇒ NameError: x"]
    assert state["gaps"] == []


async def test_a_program_really_runs(standing: TeamLab) -> None:
    if await standing.services.code_runner() is None:
        pytest.skip("code cannot be run safely here")
    state = await Steps(standing.services).do(call("run_code", code="1987 - 1949"))
    assert state["evidence_pool"][0]["text"] == "38"


async def test_the_map_is_asked_under_ids_of_its_own_and_a_thing_twice_found_is_one(
    standing: TeamLab,
) -> None:
    maps = ScriptedMaps()
    services: Any = replace(standing.services, maps=maps)  # type: ignore[arg-type]
    steps = Steps(services, {"geo_routing": "llm"})
    await steps.do(call("maps_weather", 0, city="杭州"), call("maps_fly", 1, to="x"))
    state = await steps.do(
        call("maps_weather", 0, city="上海"), call("maps_weather", 1, city="杭州")
    )
    assert [source["id"] for source in state["sources_gathered"]] == ["a0-0", "a1-0"]
    assert [weather["city"] for weather in state["weather"]] == ["杭州", "上海"]
    assert texts(state)[1] == "[^a0-0] 杭州 晴"
    assert [e["id"] for e in state["evidence_pool"]] == ["a0", "a1", "a2"]
    assert [e["source_ids"] for e in state["evidence_pool"]] == [["a0-0"], ["a1-0"], ["a0-0"]]
    assert [event["id"] for event in steps.told("map_call")] == ["a0", "a1", "a2"]


async def test_a_map_that_fails_is_a_gap_once_and_then_not_asked(standing: TeamLab) -> None:
    services: Any = replace(standing.services, maps=ScriptedMaps(down="map_server_down"))  # type: ignore[arg-type]
    steps = Steps(services, {"geo_routing": "llm"})
    await steps.do(call("maps_weather", 0, city="杭州"), call("maps_weather", 1, city="上海"))
    state = await steps.do(call("maps_weather", city="北京"))
    assert [gap["code"] for gap in state["gaps"]] == ["map_server_down"]
    assert "maps_weather" in texts(state)[0]
    assert answers(state)[0].status == "error"


async def test_a_step_repeated_after_a_crash_pays_for_no_search_again(tmp_path: Path) -> None:
    class Dying(Runner):
        async def run(self, code: str) -> CodeResult:
            await until(lambda: bool(steps.told("search_done")), 20)
            raise RuntimeError("killed")

    async with team_laboratory(reply_cache=tmp_path) as lab:
        steps = Steps(with_runner(lab.services, Dying()))
        with pytest.raises(RuntimeError, match="killed"):
            await steps.do(call("search_google", 0, query=Q), call("run_code", 1, code="1"))
        lab.services.budgets.close("turn-1")
        steps.services = with_runner(lab.services, Runner())
        state = await steps.run(None)
    assert lab.queries() == [Q]
    assert [e["id"] for e in state["evidence_pool"]] == ["s0", "c0"]
    assert state["usage"]["searches"] == 1


async def test_a_page_is_opened_by_its_id_and_what_was_read_can_be_cited() -> None:
    reader = LinkedPages()
    async with team_laboratory() as lab:
        services: Any = replace(lab.services, reader=Lazy(lambda: reader))
        steps = Steps(services)
        await steps.do(call("search_google", query=Q))
        opened = await steps.do(call("read_page", url="s0-0", looking_for="许可费用"))
        linked = await steps.do(call("read_page", url=LICENCE, looking_for="许可费用"))
    [shown], [terms] = texts(opened), texts(linked)
    assert shown.startswith('<page id="s0-0" ')
    assert "免费许可最多连接一个执行器" in shown
    assert f'<link url="{LICENCE}">' in shown
    assert '<page id="r1-0" ' in terms
    sources = {source["id"]: source for source in linked["sources_gathered"]}
    assert "免费许可最多连接一个执行器" in sources["s0-0"]["quotes"][0]
    assert (sources["r1-0"]["url"], sources["r1-0"]["quotes"]) == (LICENCE, [TERMS])
    assert [(e["id"], e["kind"]) for e in linked["evidence_pool"]][1:] == [
        ("r0", "page"), ("r1", "page"),
    ]  # fmt: skip
    assert reader.asked.count(LICENCE) == 1
    assert linked["pages_opened"] == 2, "the search had read the first one already"


async def test_a_page_that_was_read_in_part_is_told_to_the_reader() -> None:
    reader = LinkedPages(text="很长的一页。" * 24_000)
    async with team_laboratory() as lab:
        services: Any = replace(lab.services, reader=Lazy(lambda: reader))
        steps = Steps(services)
        await steps.do(call("search_google", query=Q))
        state = await steps.do(call("read_page", url="s0-0", looking_for="一页"))
    (gap,) = state["gaps"]
    assert (gap["code"], gap["message"]) == (
        "page_partial", say("reading.partly", "zh", title="常见问题"),
    )  # fmt: skip


async def test_no_page_is_opened_that_nobody_showed_or_beyond_the_limit() -> None:
    reader = LinkedPages()
    async with team_laboratory() as lab:
        services: Any = replace(lab.services, reader=Lazy(lambda: reader))
        steps = Steps(services, {"max_page_reads": 1})
        await steps.do(call("search_google", query=Q))
        state = await steps.do(
            call("read_page", 0, url="http://evil.example/", looking_for="x"),
            call("read_page", 1, url="s9-9", looking_for="x"),
        )
        refused = texts(state)
        state = await steps.do(*(call("read_page", n, url=f"s0-{n}") for n in range(2)))
    assert ["没有出现过这个地址" in text for text in refused] == [True, True]
    # The one page of the limit was opened by the search; what was read may be read again.
    assert [answer.status for answer in answers(state)][-2:] == ["success", "error"]
    assert len({*reader.asked}) == 1
    assert state.get("gaps", []) == []
