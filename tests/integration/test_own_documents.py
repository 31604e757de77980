"""Own documents in the assistants that read them only where a collection is named."""

from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.common.own_documents import own_scope
from agent.assistants.deep_research.state import DeepConfiguration
from agent.core.errors import InputError, ProviderUnavailable
from agent.graph import build_graph
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block
from agent.texts import say
from tests.integration.team_lab import Team, gives, team_laboratory
from tests.integration.test_question_kept import Spoken, plan
from tests.support.deep_lab import (
    Researcher,
    deep_laboratory,
    done_calls,
    end,
    search,
    shown_urls,
    think,
)
from tests.support.lab import Lab, answer_of, laboratory, told
from tests.support.plan_knowledge import MemoryKnowledge, With

pytestmark = pytest.mark.node
QUESTION = "青岚大桥的桥面多久检修一次？"
NOTES = "桥面每三年检修一次，上次是2024年。\n\n食堂周五供应面条。"
WRITTEN = plan({"query": "青岚大桥 桥面 检修 周期"}, question=QUESTION)


@pytest.fixture
async def lab() -> AsyncIterator[Lab]:
    async with laboratory() as built:
        yield built


@pytest.fixture
def knowledge() -> MemoryKnowledge:
    held = MemoryKnowledge()
    held.put("检修手册", NOTES)
    return held


def over(lab: Lab, knowledge: Any) -> Lab:
    services: Any = With(lab.services, knowledge=lambda: knowledge)
    graph = build_graph(lambda: services).compile(checkpointer=InMemorySaver())
    return Lab(lab.services, graph)


def deep_graph(lab: Any, knowledge: Any) -> Any:
    from agent.assistants.deep_research.graph import build_graph as build_deep_graph

    services: Any = With(lab.services, knowledge=lambda: knowledge)
    return build_deep_graph(lambda: services).compile(checkpointer=InMemorySaver())


async def test_the_main_assistant_cites_a_passage_of_a_collection_that_is_named(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    llm = Spoken(generate_query=[WRITTEN], answer=[ModelReply(text="桥面每三年检修一次[^o0-0]。")])
    lab.gemini.llm = llm
    state = await over(lab, knowledge).ask(QUESTION, collections=["own"])
    findings = block(llm.prompts("answer")[0], "findings")
    assert "检修手册 (notes/检修手册.md): 桥面每三年检修一次，上次是2024年。 [^o0-0]" in findings
    assert "食堂周五供应面条。 [^o0-1]" in findings, "what is named is not filtered"
    (source,) = [s for s in told(state)["sources"] if s["kind"] == "document"]
    assert source["title"] == "检修手册 (notes/检修手册.md)"
    assert "[1]" in str(answer_of(state).text)


async def test_what_has_no_room_is_searched_by_each_query(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    knowledge.put("长卷", "\n\n".join(f"第 {n} 章，青岚大桥的桥面。" * 60 for n in range(30)))
    llm = lab.gemini.llm = Spoken(generate_query=[WRITTEN])
    await over(lab, knowledge).ask(QUESTION, collections=["own"], context={"own_token_limit": 2000})
    findings = block(llm.prompts("answer")[0], "findings")
    assert "上次是2024年。 [^o0-0]" in findings
    assert "的桥面。 [^d0-0]" in findings
    assert [query for query, _ in knowledge.searched] == ["青岚大桥 桥面 检修 周期"]


async def test_a_collection_is_read_once_however_many_queries_there_are(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    knowledge.put("长卷", "\n\n".join(f"第 {n} 章，青岚大桥的桥面。" * 60 for n in range(30)))
    queries = [{"query": f"青岚大桥 桥面 检修 {n}"} for n in range(3)]
    lab.gemini.llm = Spoken(generate_query=[plan(*queries, question=QUESTION)])
    context = {"own_token_limit": 2000, "max_research_loops": 1}
    state = await over(lab, knowledge).ask(QUESTION, collections=["own"], context=context)
    assert knowledge.read_whole == 1
    assert len(knowledge.searched) == 3
    ids = {source["id"] for source in state["sources_gathered"] if source["kind"] == "document"}
    assert {"o0-0", "d0-0", "d1-0", "d2-0"} <= ids


async def test_own_documents_alone_are_asked_where_so_set(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    lab.gemini.llm = Spoken(generate_query=[WRITTEN])
    here = over(lab, knowledge)
    state = await here.ask(QUESTION, context={"sources": "own", "geo_routing": "always"})
    assert {s["kind"] for s in state["sources_gathered"]} == {"document"}
    assert lab.gemini.llm.prompts("web_research") == []
    assert state["usage"]["searches"] == state["usage"]["map_calls"] == 0


async def test_a_question_for_own_documents_alone_reads_all_that_one_has(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    knowledge.put("theirs", NOTES, collection="bobs", owner="bob")
    alone = plan({"query": "桥面 检修"}, question=QUESTION, only_own_documents=QUESTION[:4])
    lab.gemini.llm = Spoken(generate_query=[alone, alone])
    state = await over(lab, knowledge).ask(QUESTION)
    assert {s["title"] for s in state["sources_gathered"]} == {"检修手册 (notes/检修手册.md)"}
    assert state["usage"]["searches"] == 0
    nobody = await over(lab, MemoryKnowledge()).ask(QUESTION, thread="none")
    assert [gap["code"] for gap in nobody["gaps"]] == ["none_to_read"]
    assert nobody["usage"]["searches"] == 0


async def test_where_no_collection_is_named_no_document_is_looked_at(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    lab.gemini.llm = Spoken(generate_query=[WRITTEN])
    here = over(lab, knowledge)
    state = await here.ask(QUESTION)
    assert (knowledge.searched, state["readable"]) == ([], [])
    state = await here.ask(QUESTION, thread="empty", collections=[])
    assert (knowledge.searched, state["readable"]) == ([], [])
    state = await here.ask(QUESTION, thread="set", context={"collections": "own"})
    assert state["readable"] == ["own"], "a setting names them where the question does not"
    assert knowledge.searched == [], "all of it was read"


async def test_a_collection_that_is_not_there_is_refused_before_anything_is_paid(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    llm = lab.gemini.llm = Spoken()
    knowledge.put("theirs", NOTES, collection="bobs", owner="bob")
    for name in ("nix", "bobs"):
        with pytest.raises(InputError, match=f"There is no '{name}'; there are: own"):
            await over(lab, knowledge).ask(QUESTION, collections=[name])
    assert llm.turns == []


def test_a_thread_whose_state_was_given_another_owner_reads_nothing() -> None:
    def run_of(name: str) -> Any:
        user = SimpleNamespace(identity=name)
        return SimpleNamespace(server_info=SimpleNamespace(user=user))

    assert own_scope(["bobs"], "bob", run_of("alice")) is None
    scope = own_scope(["alices"], "alice", run_of("alice"))
    assert scope
    assert (scope.owner, scope.collections) == ("alice", ("alices",))
    assert own_scope([], "alice", run_of("alice")) is None


async def test_where_own_documents_contradict_each_other_the_main_assistant_tells_both_sides(
    lab: Lab, knowledge: MemoryKnowledge
) -> None:
    knowledge.put("通知", "桥面改为每两年检修一次。")
    pair = {
        "about": "检修", "first": "o1-0", "first_words": "每三年检修一次",
        "second": "o0-0", "second_words": "每两年检修一次",
    }  # fmt: skip
    found = ModelReply(json={"differences": [pair]})
    answer = ModelReply(text="手册说三年[^o1-0]，通知说两年[^o0-0]。")
    llm = Spoken(generate_query=[WRITTEN], own_differences=[found], answer=[answer])
    lab.gemini.llm = llm
    await over(lab, knowledge).ask(QUESTION, collections=["own"])
    [shown] = llm.prompts("answer")
    both = "检修: “每三年检修一次” [^o1-0] ≠ “每两年检修一次” [^o0-0]"
    assert f"{say('documents.differ', 'zh')}\n{both}" in block(shown, "findings")
    assert len(llm.prompts("own_differences")) == 1


async def test_a_knowledge_base_that_fails_is_a_gap_and_the_web_answers(
    lab: Lab, knowledge: MemoryKnowledge, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def fails(*_: Any, **__: Any) -> Any:
        raise ProviderUnavailable("knowledge", "is gone")

    monkeypatch.setattr(knowledge, "texts", fails)
    lab.gemini.llm = Spoken(generate_query=[WRITTEN])
    state = await over(lab, knowledge).ask(QUESTION, collections=["own"])
    assert "knowledge_failed" in {gap["code"] for gap in state["gaps"]}
    assert state["web_research_result"] or state["gaps"]


async def test_deep_research_searches_them_with_a_tool_and_reports_what_they_say(
    knowledge: MemoryKnowledge,
) -> None:
    def explore(turn: ModelTurn) -> ModelReply:
        done = done_calls(turn)
        if "search_documents" not in done:
            assert any(tool.name == "search_documents" for tool in turn.tools)
            calls = (think(), search("青岚大桥"), documents("桥面多久检修"))
            return ModelReply(calls=calls)
        return ModelReply(calls=(think("够了"), end(shown_urls(turn)[:1])))

    async with deep_laboratory(Researcher("检修", deep_explore=explore)) as lab:
        graph = deep_graph(lab, knowledge)
        where: Any = {"configurable": {"thread_id": "t"}}
        asked: Any = {"messages": QUESTION, "collections": ["own"]}
        state: Any = await graph.ainvoke(asked, where, context=DeepConfiguration(max_topics=1))
        shown = block(lab.llm.asked("deep_report")[0].user, "documents")
        assert '<document title="检修手册">' in shown
        assert "[^o0-1] 食堂周五供应面条。" in shown, "what is named is not filtered"
        cited = [s["kind"] for s in state["messages"][-1].additional_kwargs["sources"]]
        assert "document" in cited
        assert "每三年检修一次" in state["report"]
        await graph.ainvoke({"messages": QUESTION}, {"configurable": {"thread_id": "u"}})  # type: ignore[call-overload]
        offered = lab.llm.asked("deep_explore")[-1].tools
        assert "search_documents" not in {tool.name for tool in offered}


async def test_a_search_of_deep_research_takes_no_number_of_own_documents_outside(
    knowledge: MemoryKnowledge,
) -> None:
    knowledge.put("合同", "检修合同编号 HT-2026-0173，金额 5,990,000 元。")

    def explore(turn: ModelTurn) -> ModelReply:
        if "tavily_search" not in done_calls(turn):
            calls = (think(), search("HT-2026-0173 检修 违约", "桥面检修 周期"))
            return ModelReply(calls=calls)
        return ModelReply(calls=(think("够了"), end(shown_urls(turn)[:1])))

    async with deep_laboratory(Researcher("检修", deep_explore=explore)) as lab:
        graph = deep_graph(lab, knowledge)
        where: Any = {"configurable": {"thread_id": "t"}}
        asked: Any = {"messages": QUESTION, "collections": ["own"]}
        await graph.ainvoke(asked, where, context=DeepConfiguration(max_topics=1))
        [told] = [r for turn in lab.llm.asked("deep_explore")[1:2] for r in turn.tool_results
                  if r.name == "tavily_search"]  # fmt: skip
        sent = str([request.body for request in lab.tavily.requests])
    assert say("tools.inside", "zh", words="HT-2026-0173") in told.text
    assert "0173" not in sent
    assert "桥面检修" in sent


@pytest.mark.parametrize("size", ["small", "large"])
async def test_deep_research_asks_own_documents_alone_where_the_question_wants_it(
    knowledge: MemoryKnowledge, size: str
) -> None:
    """Small ones lead and writer have whole; in larger ones the lead looks for what bears on it."""
    if size == "large":
        knowledge.put("长卷", "\n\n".join(f"第 {n} 章，桥面检修。" * 60 for n in range(30)))

    def explore(turn: ModelTurn) -> ModelReply:
        offered = {tool.name for tool in turn.tools}
        assert not offered & {"tavily_search", "read_page"}
        assert not any(name.startswith("maps_") for name in offered)
        if "search_documents" not in done_calls(turn):
            # A model that knows tools of elsewhere is refused.
            return ModelReply(calls=(think(), search("北京青岚大桥"), documents("桥面检修")))
        return ModelReply(calls=(think("够了"), end([])))

    topics = [{"name": "检修"}, {"name": "食堂"}]
    planned = ModelReply(
        json={"topics": topics, "own_documents": "only", "only_words": QUESTION[:4]}
    )
    researcher = Researcher("检修", deep_explore=explore, deep_plan=lambda turn: planned)
    async with deep_laboratory(researcher) as lab:
        graph = deep_graph(lab, knowledge)
        where: Any = {"configurable": {"thread_id": "t"}}
        context = DeepConfiguration(own_token_limit=2000, geo_routing="always")
        state: Any = await graph.ainvoke({"messages": QUESTION}, where, context=context)
        assert (state["usage"]["searches"], lab.tavily.requests) == (0, [])
        # Where all is read whole no planned topic is left.
        steps = {"small": 2, "large": 3}[size]
        assert len(lab.llm.asked("deep_explore")) == steps
        # The end was confirmed: no topic is told as left out.
        assert state["gaps"] == []
        shown = block(lab.llm.asked("deep_explore")[0].user, "documents")
        assert "桥面每三年检修一次" in shown
        assert ("长卷" in shown) == (size == "large"), "what is not shown is named"
        cited = {s["kind"] for s in state["messages"][-1].additional_kwargs["sources"]}
        assert cited == {"document"}
        first = block(lab.llm.asked("deep_explore")[0].user, "documents")
        assert ("<not_shown>长卷</not_shown>" in first) is (size == "large")
        told = {"small": "documents.read", "large": "documents.read_partly"}[size]
        counts = {"read": "1", "total": {"small": "1", "large": "2"}[size]}
        names = {"names": "长卷"} if size == "large" else {}
        assert say(told, "zh", **counts, **names) in state["report"]


async def test_a_follow_up_for_own_documents_means_those_of_the_turn_before(
    knowledge: MemoryKnowledge,
) -> None:
    knowledge.put("酿造", "麦汁煮六十分钟。", collection="brewery")
    planned = ModelReply(json={"topics": [], "own_documents": "only", "only_words": QUESTION[:4]})
    ended = ModelReply(calls=(think("够了"), end([])))
    researcher = Researcher(deep_explore=lambda turn: ended, deep_plan=lambda turn: planned)
    async with deep_laboratory(researcher) as lab:
        graph = deep_graph(lab, knowledge)
        where: Any = {"configurable": {"thread_id": "t"}}
        await graph.ainvoke({"messages": QUESTION, "collections": ["own"]}, where)
        state: Any = await graph.ainvoke({"messages": "我们自己的文件里，食堂呢？"}, where)
    assert state["readable"] == ["own"]
    shown = block(lab.llm.asked("deep_explore")[-1].user, "documents")
    assert ("食堂周五" in shown, "麦汁" in shown) == (True, False)


def documents(query: str) -> FunctionCall:
    return FunctionCall("search_documents", {"query": query})


def reads_whole(turn: ModelTurn) -> ModelReply:
    assert "[^o0-1] 食堂周五供应面条。" in block(turn.user, "documents")
    assert "search_documents" not in {tool.name for tool in turn.tools}
    return ModelReply(text="答案是三年[^o0-0]。")


AGREED: Any = {
    "evidence": ["o0-0"],
    "looked_at": ["o0-1"],
    "quotes": ["桥面每三年检修一次"],
    "answer": "三年",
    "explanation": "桥面每三年检修一次[^o0-0]。",
}


async def test_a_team_reads_them_whole_and_settles_an_answer_on_them(
    knowledge: MemoryKnowledge,
) -> None:
    from agent.assistants.team_answer.graph import build_graph as team_graph

    team = Team(team_researcher=reads_whole, team_verifier=gives(**AGREED))
    async with team_laboratory(team) as lab:
        services: Any = With(lab.services, knowledge=lambda: knowledge)
        graph = team_graph(lambda: services).compile(checkpointer=InMemorySaver())
        asked: Any = {"messages": QUESTION, "collections": ["own"]}
        state: Any = await graph.ainvoke(asked, lab.where(), context=lab.configured())
        (verifier,) = lab.llm.asked("team_verifier")
    assert (state["final_answer"], state["verified"]) == ("三年", True)
    assert state["answer_evidence"] == ["o0-0"]
    assert [s["kind"] for s in state["messages"][-1].additional_kwargs["sources"]] == ["document"]
    assert verifier.user.index("<documents>") < verifier.user.index("<question>")
    assert "o0-0" not in block(verifier.user, "evidence")
    assert say("documents.read", "zh", read="1", total="1") in str(answer_of(state).text)
    kept = [source["id"] for source in state["sources_gathered"]]
    assert kept == ["o0-0"], "what nobody cited is in no checkpoint"


async def test_a_team_has_what_contradicts_itself_before_it_and_compares_once(
    knowledge: MemoryKnowledge,
) -> None:
    from agent.assistants.team_answer.graph import build_graph as team_graph

    # The longer one comes second.
    knowledge.put(
        "通知", "桥面改为每两年检修一次，由养护科安排，检修前三天在桥头贴出公告，封闭半幅车道。"
    )
    pair = {
        "about": "检修", "first": "o0-0", "first_words": "每三年检修一次",
        "second": "o1-0", "second_words": "每两年检修一次",
    }  # fmt: skip
    team = Team(
        team_researcher=reads_whole,
        team_verifier=gives(**AGREED),
        own_differences=lambda turn: ModelReply(json={"differences": [pair]}),
    )
    async with team_laboratory(team) as lab:
        services: Any = With(lab.services, knowledge=lambda: knowledge)
        graph = team_graph(lambda: services).compile(checkpointer=InMemorySaver())
        asked: Any = {"messages": QUESTION, "collections": ["own"]}
        await graph.ainvoke(asked, lab.where(), context=lab.configured())
        seen = [*lab.llm.asked("team_researcher"), *lab.llm.asked("team_verifier")]
        compared = lab.llm.asked("own_differences")
    both = "检修: “每三年检修一次” [^o0-0] ≠ “每两年检修一次” [^o1-0]"
    assert [block(turn.user, "differences").strip() for turn in seen] == [both] * len(seen)
    assert (len(compared), len(seen) > 1) == (1, True)


async def test_of_documents_without_room_a_team_searches_those_that_are_left(
    knowledge: MemoryKnowledge,
) -> None:
    from agent.assistants.team_answer.graph import build_graph as team_graph

    knowledge.put("长卷", "\n\n".join(f"第 {n} 章，桥面检修。" * 60 for n in range(30)))

    def researcher(turn: ModelTurn) -> ModelReply:
        if not turn.tool_results:
            return ModelReply(calls=(documents("桥面 检修"),))
        assert "桥面检修" in turn.tool_results[-1].text
        return ModelReply(text="答案是三年[^o0-0]。")

    team = Team(team_researcher=researcher, team_verifier=gives(**AGREED))
    async with team_laboratory(team) as lab:
        services: Any = With(lab.services, knowledge=lambda: knowledge)
        graph = team_graph(lambda: services).compile(checkpointer=InMemorySaver())
        asked: Any = {"messages": QUESTION, "collections": ["own"]}
        configured = lab.configured(own_token_limit=2000)
        state: Any = await graph.ainvoke(asked, lab.where(), context=configured)
    assert (state["final_answer"], state["verified"]) == ("三年", True)
    told = say("documents.read_partly", "zh", read="1", total="2", names="长卷")
    assert told in str(answer_of(state).text)


async def test_a_team_asks_own_documents_alone_where_the_question_wants_it(
    knowledge: MemoryKnowledge,
) -> None:
    from agent.assistants.team_answer.graph import build_graph as team_graph

    def researcher(turn: ModelTurn) -> ModelReply:
        assert {tool.name for tool in turn.tools} <= {"run_code"}
        if not turn.tool_results:
            # A model that knows tools of elsewhere is refused.
            return ModelReply(calls=(FunctionCall("search_bocha", {"query": "青岚大桥"}),))
        return reads_whole(turn)

    looks = [{"tool": "search_bocha", "text": "青岚大桥"}]
    only = {"own_documents": "only", "only_words": QUESTION[:4]}
    read = {"asked": QUESTION, **only, "needs_map": True, "first": looks}
    team = Team(
        team_researcher=researcher,
        team_verifier=gives(**AGREED),
        team_analyze=lambda turn: ModelReply(json=read),
    )
    async with team_laboratory(team) as lab:
        services: Any = With(lab.services, knowledge=lambda: knowledge)
        graph = team_graph(lambda: services).compile(checkpointer=InMemorySaver())
        asked: Any = {"messages": QUESTION}
        state: Any = await graph.ainvoke(asked, lab.where(), context=lab.configured())
        requests = [*lab.bocha.requests, *lab.serper.requests, *lab.amap.requests]
    assert (state["final_answer"], requests) == ("三年", [])
    assert (state["usage"]["searches"], state["usage"]["map_calls"]) == (0, 0)


async def test_a_team_that_found_nothing_in_them_says_that_it_looked(
    knowledge: MemoryKnowledge,
) -> None:
    from agent.assistants.team_answer.graph import build_graph as team_graph

    nothing = gives(outcome="not_found", explanation="没有查到。")
    team = Team("", team_researcher=reads_whole, team_verifier=nothing)
    async with team_laboratory(team) as lab:
        services: Any = With(lab.services, knowledge=lambda: knowledge)
        graph = team_graph(lambda: services).compile(checkpointer=InMemorySaver())
        asked: Any = {"messages": QUESTION, "collections": ["own"]}
        state: Any = await graph.ainvoke(asked, lab.where(), context=lab.configured())
    assert state["final_answer"] == ""
    assert say("documents.read", "zh", read="1", total="1") in str(answer_of(state).text)
