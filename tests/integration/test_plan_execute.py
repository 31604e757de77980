"""A dossier from beginning to end: tasks, sources, papers, own documents, citations."""

import re
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import replace
from types import SimpleNamespace
from typing import Any
from urllib.parse import urlsplit

import pytest
from langchain_core.messages import AIMessageChunk

from agent.core.errors import ConfigurationError, InputError
from agent.sample.model.request import ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from tests.integration.faults import at
from tests.support.lab import answer_of, told
from tests.support.plan_knowledge import MemoryKnowledge
from tests.support.plan_lab import (
    EN,
    ZH,
    PlanLab,
    Planner,
    World,
    looks_up,
    plan_process,
    planned,
)

TASKS = ("青岚公司 钠离子电池 技术路线", "钠离子电池 同行 比较")
EVE = SimpleNamespace(identity="eve", is_authenticated=True, display_name="Eve")
NOTE = "层状氧化物是钠离子电池的一条技术路线。\n\n与同行比较，中科海钠用铜基氧化物。"


@pytest.fixture
async def lab(shared: World) -> AsyncIterator[PlanLab]:
    shared.clear()
    shared.gemini.llm = Planner(*TASKS)
    knowledge = MemoryKnowledge()
    knowledge.put("钠离子电池笔记", NOTE)
    async with plan_process(shared, knowledge=knowledge) as lab:
        yield lab


def plays(lab: PlanLab, *tasks: Any, **rules: Any) -> Planner:
    llm = Planner(*(tasks or TASKS), **rules)
    lab.world.gemini.llm = llm
    return llm


def cited_documents(state: dict[str, Any]) -> set[str]:
    """The titles of the own documents that the dossier cites."""
    titles = [s["title"] for s in told(state)["sources"] if "(notes/" in s["title"]]
    return {title.partition(" (notes/")[0] for title in titles}


def own_titles(state: dict[str, Any]) -> set[str]:
    """The own documents that passages are from."""
    return {p["title"] for p in state["passages"] if p["path"].startswith("notes/")}


def kinds(state: dict[str, Any]) -> set[str]:
    return {source["kind"] for source in told(state)["sources"]}


async def test_a_dossier_cites_every_kind_of_source(lab: PlanLab) -> None:
    plays(lab, execute_decide=looks_up("sec_edgar_search", query="Qinglan revenue"))
    state = await lab.ask()
    text = str(answer_of(state).text)
    assert kinds(state) == {"page", "paper", "filing", "document"}
    assert text.startswith("# 资料汇编")
    assert "[^" not in text
    assert state["dossier"] == text
    assert told(state)["assistant"] == "plan_execute"
    assert told(state)["gaps"] == []
    assert not told(state)["degraded"]
    assert told(state)["checks"]["unverified_figures"] == 0


async def test_nothing_streams_but_the_dossier(lab: PlanLab) -> None:
    plays(lab, execute_decide=looks_up("sec_edgar_search", query="Qinglan revenue"))
    given: Any = {"messages": ZH}
    streamed = [
        part[0]
        async for _, part in lab.graph.astream(
            given, lab.where(), context=lab.configured(), stream_mode="messages", subgraphs=True
        )
    ]
    assert {type(message) for message in streamed} == {AIMessageChunk}
    assert len({message.id for message in streamed}) == 1


async def test_papers_are_cited_by_their_page_and_own_documents_by_their_file(
    lab: PlanLab,
) -> None:
    state = await lab.ask()
    text = str(answer_of(state).text)
    assert re.search(r"\[\d+\]\(https://papers\.tanlu-lab\.com/[\w-]+\.pdf#page=2\)", text)
    assert re.search(r"\d+\. \[.*，第 2 页\]\(.*#page=2\) — 论文全文", text)
    assert re.search(r"\d+\. 钠离子电池笔记 \(notes/钠离子电池笔记\.md\) — 资料库文档", text)


async def test_two_passages_of_one_page_are_one_citation(lab: PlanLab) -> None:
    state = await lab.ask()
    notes = [s for s in told(state)["sources"] if s["title"].startswith("钠离子电池笔记")]
    assert len([p for p in state["passages"] if p["title"] == "钠离子电池笔记"]) == 2
    assert len(notes) == 1


async def test_every_required_source_is_searched_once_for_every_task(lab: PlanLab) -> None:
    await lab.ask()
    for name in ("wikipedia", "openalex", "semantic_scholar", "tavily"):
        assert lab.world.asked(name) == len(TASKS), name
    assert lab.world.asked("sec") == 0


async def test_each_source_is_asked_in_its_language_where_the_plan_has_queries(
    lab: PlanLab,
) -> None:
    queries = ["钠离子电池 成本", "钠离子电池 价格走势", "sodium-ion battery cost"]
    plays(lab, {"query": "钠离子电池的成本", "queries": queries})
    await lab.ask()
    counts = {name: lab.world.asked(name) for name in
              ("wikipedia", "openalex", "semantic_scholar", "tavily")}  # fmt: skip
    assert counts == {"wikipedia": 2, "openalex": 1, "semantic_scholar": 1, "tavily": 3}
    (request,) = lab.world.openalex.requests
    assert request.query["search"] == queries[2]


async def test_a_figure_of_a_filing_stands_with_unit_period_and_source(lab: PlanLab) -> None:
    plays(lab, execute_decide=looks_up("sec_edgar_search", query="Qinglan revenue"))
    text = str(answer_of(await lab.ask()).text)
    assert re.search(
        r"\| Revenues \| 362000000 \| USD \| FY2024[^|]* \| \[\d+\]\(https://www\.sec\.gov/", text
    )


async def test_what_was_consulted_is_told_source_by_source(lab: PlanLab) -> None:
    text = str(answer_of(await lab.ask()).text)
    section = text.split("**查阅范围**")[1]
    for row in ("| 维基百科 | 百科 | 4 | 4 |", "| OpenAlex | 论文 | 6 | 6 |"):
        assert row in section
    assert "论文全文：下载 6 篇，失败 0 篇" in section


async def test_the_same_paper_of_two_catalogues_is_one_document(lab: PlanLab) -> None:
    state = await lab.ask()
    documents = state["executor_result"][0]["documents"]
    papers = [d for d in documents if d["kind"] == "paper"]
    assert len(papers) == len({d["doi"] for d in papers}) == 5


async def test_only_the_catalogues_are_scored_and_cut(lab: PlanLab) -> None:
    state = await lab.ask(rerank_top_n=2)
    for result in state["executor_result"]:
        scored = [d["source"] for d in result["documents"] if d.get("score") is not None]
        others = [d["source"] for d in result["documents"] if d.get("score") is None]
        assert len(scored) == 2
        assert set(scored) <= {"openalex", "semantic_scholar"}
        assert sorted(others) == ["tavily", "tavily", "wikipedia", "wikipedia"]


async def test_which_sources_are_scored_is_a_setting(lab: PlanLab) -> None:
    state = await lab.ask(rerank_sources="wikipedia, tavily", rerank_top_n=2)
    for result in state["executor_result"]:
        counts = Counter(d["source"] for d in result["documents"] if d.get("score") is not None)
        assert counts.total() == 2
        assert set(counts) <= {"wikipedia", "tavily"}
        assert sum(d["kind"] == "paper" for d in result["documents"]) == 5
    unscored = await lab.ask(thread="none", rerank_sources="none")
    assert [d for r in unscored["executor_result"] for d in r["documents"] if "score" in d] == []
    with pytest.raises(ConfigurationError, match="rerank_sources"):
        lab.configured(rerank_sources="the_moon")


async def test_settings_and_rankers_are_the_operators_not_the_readers(
    lab: PlanLab, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "agent.assistants.plan_execute")
    text = str(answer_of(await lab.ask()).text)
    for word in ("bm25", "AkShare", "tanlu doctor", "_KEY"):
        assert word not in text
    assert "tanlu[finance]" in caplog.text


async def test_tasks_of_a_dag_see_the_results_they_depend_on(lab: PlanLab) -> None:
    llm = plays(lab, ("技术路线", []), ("财务", []), ("比较", ["T1"]))
    state = await lab.ask(plan_mode="dag")
    (last,) = [t for t in llm.asked("execute_decide") if "\n比较\n" in t.user]
    ids = [[f"[^{d['id']}]" for d in each["documents"]] for each in state["executor_result"]]
    assert all(name in last.user for name in ids[0])
    assert not any(name in last.user for name in ids[1])
    assert [task["dep"] for task in state["tasks"]] == [[], [], ["T1"]]
    assert [query["round"] for query in told(state)["queries"]] == [1, 1, 2]


async def test_a_dependent_tasks_queries_are_written_from_what_it_depends_on(
    lab: PlanLab,
) -> None:
    written = ModelReply(json={"queries": ["青岚电池 二期 产能", "青岚电池 二期产能"],
                           "company": "青岚电池 / Qinglan Inc."})  # fmt: skip
    first = {"query": "谁是最大的供应商", "sources": []}
    then = {"query": "该供应商的产能", "dep": ["T1"], "sources": ["filings"]}
    llm = plays(lab, first, then, task_queries=lambda turn: written)
    state = await lab.ask(plan_mode="dag")
    (turn,) = llm.asked("task_queries")
    (name, *_) = [d["id"] for d in state["executor_result"][0]["documents"]]
    assert f"[^{name}]" in block(turn.user, "earlier")
    assert block(turn.user, "planned") == "该供应商的产能"
    asked = [request.query.get("gsrsearch") for request in lab.world.wikipedia.requests]
    assert asked == ["谁是最大的供应商", "青岚电池 二期 产能"]
    assert state["tasks"][1]["queries"] == ["青岚电池 二期 产能"]
    assert state["executor_result"][1]["decisions"] == ["sec_edgar_search: Qinglan Inc."]
    assert llm.asked("execute_decide") == []


async def test_queries_as_planned_serve_where_none_can_be_written(lab: PlanLab) -> None:
    plays(lab, ("技术路线", []), ("比较", ["T1"]))
    lab.world.gemini.fail("status", status=400, times=None, match=at("task_queries"))
    state = await lab.ask(plan_mode="dag")
    assert [gap["code"] for gap in told(state)["gaps"]] == ["queries_failed"]
    assert [result["status"] for result in state["executor_result"]] == ["done", "done"]


async def test_a_task_whose_dependency_found_nothing_still_runs(lab: PlanLab) -> None:
    plays(lab, ("技术路线", []), ("比较", ["T1"]))
    lab.world.wikipedia.fail("status", times=None, status=500,
                             match=lambda request, _: "技术路线" in str(request.query))  # fmt: skip
    state = await lab.ask(plan_mode="dag", web_search="off")
    assert [result["status"] for result in state["executor_result"]] == ["done", "done"]


async def test_the_model_decides_about_optional_tools_a_bounded_number_of_times(
    lab: PlanLab,
) -> None:
    calls = iter(range(1000))

    def insists(turn: Any) -> Any:
        rule = looks_up("sec_edgar_search", query=f"Qinglan {next(calls)}")
        return rule(turn.__class__(system=turn.system, user=turn.user, tools=turn.tools))

    llm = plays(lab, "财务", execute_decide=insists)
    state = await lab.ask(max_executor_rounds=2)
    assert len(llm.asked("execute_decide")) == 2
    assert len(state["executor_result"][0]["decisions"]) == 2


async def test_no_model_is_asked_to_decide_where_there_is_nothing_to_decide(shared: World) -> None:
    shared.clear()
    shared.gemini.llm = Planner("财务")
    async with plan_process(shared, sec_user_agent=None) as lab:
        await lab.ask()
    assert shared.llm.asked("execute_decide") == []


async def test_no_model_decides_where_the_plan_names_the_source_and_the_company(
    lab: PlanLab,
) -> None:
    company = {"query": "青岚公司 财务", "sources": ["filings"], "company": "青岚 / Qinglan Inc."}
    llm = plays(lab, company, {"query": "钠离子电池 同行", "sources": []}, "钠离子电池 成本")
    state = await lab.ask()
    asked = [block(turn.user, "task") for turn in llm.asked("execute_decide")]
    assert asked == ["钠离子电池 成本"]
    assert state["executor_result"][0]["decisions"] == ["sec_edgar_search: Qinglan Inc."]
    assert "| Revenues | 362000000 | USD |" in str(answer_of(state).text)
    # The plan, one decision (there were three), the headings, the dossier; and the judge's.
    judged = len(llm.asked("claim_check"))
    assert told(state)["usage"]["model_calls"] == 4 + judged
    assert state["tasks"][1] == {"id": "T2", "query": "钠离子电池 同行", "dep": [], "sources": []}


async def test_a_model_decides_about_a_planned_source_without_a_company(lab: PlanLab) -> None:
    llm = plays(lab, {"query": "钠电企业 财务", "sources": ["filings", "akshare", "documents"]})
    await lab.ask()
    (turn,) = llm.asked("execute_decide")
    assert [tool.name for tool in turn.tools] == ["sec_edgar_search"]


async def test_the_planner_sees_own_documents_and_what_can_be_asked(shared: World) -> None:
    shared.clear()
    llm = shared.gemini.llm = Planner("技术路线")
    knowledge = MemoryKnowledge()
    knowledge.put("钠离子电池笔记", NOTE)
    knowledge.put("差旅 <制度>", "酒店。")
    async with plan_process(shared, knowledge=knowledge, openalex_api_key=None) as lab:
        await lab.ask()
    (turn,) = llm.asked("plan_tasks")
    assert block(turn.user, "collections").split("\n") == [
        "own (2)", "- 差旅 <制度>", "- 钠离子电池笔记",
    ]  # fmt: skip
    assert block(turn.user, "sources") == "filings"
    assert block(turn.user, "unavailable") == "OpenAlex"


async def test_the_model_sees_a_cropped_observation_and_the_state_keeps_the_whole(
    lab: PlanLab,
) -> None:
    llm = plays(lab, "财务", execute_decide=looks_up("sec_edgar_search", query="Qinglan"))
    state = await lab.ask()
    (shown,) = llm.asked("execute_decide")[1].tool_results
    assert shown.text.startswith("- Qinglan Inc.")
    assert '"figures"' not in shown.text
    assert state["executor_result"][0]["documents"][0]["figures"][0]["unit"] == "USD"


async def test_the_pool_has_the_tasks_and_the_rewritten_headings(lab: PlanLab) -> None:
    llm = plays(
        lab, rewrite_headings=lambda turn: ModelReply(json={"questions": ["甲？", "甲?", ""]})
    )
    state = await lab.ask()
    assert "\n钠离子电池笔记\n" in llm.asked("rewrite_headings")[0].user
    assert state["question_pool"] == [*TASKS, "甲？"]
    assert state["pre_questions"] == state["question_pool"]
    assert {passage["target"] for passage in state["passages"]} <= set(state["pre_questions"])


async def test_only_the_collections_that_were_asked_for_are_read(lab: PlanLab) -> None:
    lab.services.knowledge().put("别的笔记", NOTE, collection="other")
    state = await lab.ask(inputs={"collections": ["other"]})
    assert cited_documents(state) == {"别的笔记"}
    assert state["readable"] == ["other"]


async def test_the_best_web_pages_of_a_task_are_read_whole_and_kept_outside_the_state(
    lab: PlanLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = plays(lab)
    await lab.ask(thread="unread", max_task_pages=0)
    site = lab.world.site
    longer = {u: replace(p, text=f"{p.text}\n\n仅见于正文 {u}。") for u, p in site.known.items()}
    monkeypatch.setattr(site, "known", longer)
    state = await lab.ask(max_task_pages=1)
    unread, read = (turn.user for turn in llm.asked("dossier"))
    assert (unread.count("仅见于正文"), read.count("仅见于正文")) == (0, len(TASKS))
    cited = {source["kind"] for source in told(state)["sources"]}
    assert "page" in cited
    assert all("仅见于正文" not in str(state[key]) for key in ("executor_result", "passages"))


async def test_a_passage_is_shown_under_its_headings(lab: PlanLab) -> None:
    document, chunks = lab.services.knowledge().held["own/钠离子电池笔记"]
    for chunk in chunks:
        chunk["headings"] = [document["title"], "风险（我方判断）"]
    llm = plays(lab)
    await lab.ask()
    shown = block(llm.asked("dossier")[0].user, "passages")
    assert "] (资料库文档) 钠离子电池笔记 › 风险（我方判断）: 层状氧化物" in shown


async def test_papers_that_earlier_questions_left_do_not_pass(lab: PlanLab) -> None:
    lab.services.knowledge().put("锂电池的技术路线与同行比较", NOTE, collection="papers")
    state = await lab.ask()
    assert "锂电池的技术路线与同行比较" not in {p["title"] for p in state["passages"]}
    named = await lab.ask(thread="named", inputs={"collections": ["own"]})
    assert cited_documents(named) == {"钠离子电池笔记"}


async def test_own_documents_are_read_whatever_sources_and_company_a_task_names(
    lab: PlanLab,
) -> None:
    knowledge = lab.services.knowledge()
    knowledge.put(
        "年度报告摘要", "青岚公司钠离子电池业务。\n\n最大客户占收入的 64%，电池交付延期。"
    )
    knowledge.put("物流", "青岚物流有限公司电池交付延期，最大客户占收入的 9%。")
    task = {"query": "青岚公司 最大客户 电池交付", "company": "青岚公司", "sources": []}
    plays(lab, task, rewrite_headings=lambda turn: ModelReply(json={"questions": []}))
    state = await lab.ask()
    assert own_titles(state) >= {"年度报告摘要", "物流"}
    assert any("64%" in passage["text"] for passage in state["passages"])
    assert told(state)["gaps"] == []


async def test_the_rest_of_a_document_that_was_found_comes_where_there_is_room(
    lab: PlanLab,
) -> None:
    weak = [f"第{n}节：硬碳来自一家进口商，顾问的意见见附件{n}，电池不在此列。" for n in range(6)]
    lab.services.knowledge().put("尽调", "\n\n".join(["青岚公司最大客户与电池交付。", *weak]))
    task = {"query": "青岚公司 最大客户 电池交付", "company": "青岚公司", "sources": ["documents"]}
    plays(lab, task, rewrite_headings=lambda turn: ModelReply(json={"questions": []}))
    state = await lab.ask(max_passages=24)
    texts = {p["text"] for p in state["passages"] if p["title"] == "尽调"}
    assert len(texts) == 7
    few = await lab.ask(max_passages=3)
    of_documents = [p for p in few["passages"] if not p["path"].startswith("http")]
    assert len(of_documents) == 3
    assert own_titles(few) == {"尽调"}


async def test_no_collections_are_read_where_none_are_wanted(lab: PlanLab) -> None:
    state = await lab.ask(inputs={"collections": []})
    assert own_titles(state) == set()
    assert state["passages"]


@pytest.mark.parametrize(
    ("question", "wanted"),
    [
        ("我的文档里怎么说青岚钠电？", "also"),
        ("What do my documents say about Qinglan?", "also"),
        ("Qué dicen mis documentos sobre Qinglan, y solo ellos?", "only"),
        (ZH, ""),
    ],
)
async def test_whoever_asks_about_own_documents_and_has_none_is_told(
    shared: World, question: str, wanted: str
) -> None:
    shared.clear()
    shared.gemini.llm = Planner(*TASKS)
    shared.llm.own_documents, shared.llm.only_words = wanted, "solo ellos"
    async with plan_process(shared, knowledge=MemoryKnowledge()) as lab:
        state = await lab.ask(question)
    code = {"also": "no_documents", "only": "none_to_read", "": ""}[wanted]
    told_of = {gap["code"]: gap["message"] for gap in told(state)["gaps"]}
    assert {"no_documents", "none_to_read"} & set(told_of) == ({code} if code else set())
    assert told_of.get(code, "").rstrip("。.") in str(answer_of(state).text)


async def test_an_unknown_collection_is_refused_by_name(lab: PlanLab) -> None:
    with pytest.raises(InputError, match=r"collections: There is no 'nix'; there are: own"):
        await lab.ask(inputs={"collections": ["nix"]})


async def test_documents_of_somebody_else_are_not_read(lab: PlanLab) -> None:
    lab.services.knowledge().put("别人的", NOTE, collection="secret", owner="eve")
    state = await lab.ask()
    assert state["readable"] == ["own"]


@pytest.mark.parametrize("given", [{"langgraph_auth_user_id": "eve"}, {"langgraph_auth_user": EVE}])
async def test_a_user_of_a_server_reads_their_own_documents_only(
    lab: PlanLab, given: dict[str, Any]
) -> None:
    lab.services.knowledge().put("伊芙的", NOTE, collection="hers", owner="eve")
    where = {"configurable": {"thread_id": "t", **given}}
    state = await lab.graph.ainvoke({"messages": ZH}, where, context=lab.configured())
    assert (state["owner"], state["readable"]) == ("eve", ["hers"])
    assert {scope.owner for _, scope in lab.services.knowledge().searched} == {"eve"}


async def test_progress_tells_plan_tasks_papers_and_passages(lab: PlanLab) -> None:
    events = await lab.events()
    types = [event["type"] for event in events]
    assert types[0] == "tasks"
    assert types[types.index("answering") + 1] == "judged"
    assert types[-1] == "done"
    for kind, count in {"task_started": 2, "task_done": 2, "download": 6, "ingested": 1,
                        "passages": 1, "search_started": 8, "search_done": 8}.items():  # fmt: skip
        assert types.count(kind) == count, kind


async def test_an_english_question_gets_an_english_dossier(lab: PlanLab) -> None:
    plays(lab, "Qinglan sodium battery", "sodium battery peers")
    text = str(answer_of(await lab.ask(EN)).text)
    assert "**What was consulted**" in text
    assert ", p. 1](" in text


async def test_a_second_question_starts_clean_and_may_cite_the_first_answer(lab: PlanLab) -> None:
    first = await lab.ask()
    llm = plays(lab, "成本")
    second = await lab.ask("它的成本呢？")
    assert [task["query"] for task in second["tasks"]] == ["成本"]
    assert len(second["executor_result"]) == 1
    assert len(second["sources_gathered"]) < len(first["sources_gathered"])
    found = [d["id"] for result in first["executor_result"] for d in result["documents"]]
    prompt = llm.asked("plan_tasks")[0].user
    assert any(f"[^{name}]" in prompt for name in found)


async def test_what_a_follow_up_cites_of_the_answer_before_is_checked_against_the_whole_page(
    lab: PlanLab,
) -> None:
    site, known = lab.world.site, lab.world.site.known
    await lab.ask(thread="found", max_task_pages=0)
    body = "".join(f"第{n}段讲的是正文。" for n in range(400))
    site.known = {
        u: replace(p, text=f"{p.text}\n\n{body}末句说产能翻倍。") for u, p in known.items()
    }
    try:
        first = await lab.ask()
    finally:
        site.known = known
    page = next(s["id"] for s in told(first)["sources"] if s["url"].startswith("https://pages."))

    def again(turn: ModelTurn) -> ModelReply:
        assert f"[^{page}]" in turn.user
        return ModelReply(text=f"# 产能\n\n末句说产能翻倍[^{page}]。")

    llm = plays(lab, "产能", dossier=again)
    await lab.ask("后来呢？")
    judged = "".join(block(turn.user, "passages") for turn in llm.asked("claim_check"))
    assert "末句说产能翻倍" in judged


async def test_of_a_long_page_in_another_language_a_dossier_s_judge_sees_what_was_searched_for(
    lab: PlanLab,
) -> None:
    plays(lab, "钠离子电池产能翻倍")
    await lab.ask(EN, thread="found", max_task_pages=0)
    site, known = lab.world.site, lab.world.site.known
    body = "\n".join(f"第{n}段讲的是别的事，其余见手册。" * 6 for n in range(90))
    said = "钠离子电池产能今年翻倍，厂商自己这样说。" * 3
    site.known = {u: replace(p, text=f"{p.text}\n{body}\n{said}") for u, p in known.items()}

    def writes(turn: ModelTurn) -> ModelReply:
        page = next(
            name
            for name, text in re.findall(r"\[\^([\w-]+)\](.*)", turn.user)
            if "今年翻倍" in text
        )
        return ModelReply(text=f"# Output\n\nThe makers turn out twice as many cells [^{page}].")

    llm = plays(lab, "钠离子电池产能翻倍", dossier=writes)
    try:
        await lab.ask(EN)
    finally:
        site.known = known
    [call, *_] = llm.asked("claim_check")
    assert "今年翻倍" in block(call.user, "passages")


async def test_the_plan_is_repaired_once(lab: PlanLab) -> None:
    plans = [planned(("T1", "甲", ["T2"]), ("T2", "乙", ["T1"])), planned(("T1", "甲", []))]
    llm = plays(lab, plan_tasks=lambda turn: plans.pop(0))
    state = await lab.ask(plan_mode="dag")
    assert len(llm.asked("plan_tasks")) == 2
    assert "成环" in llm.asked("plan_tasks")[1].user
    assert state["plan_note"] == ""
    assert [task["query"] for task in state["tasks"]] == ["甲"]


async def test_the_knowledge_base_of_the_process_keeps_papers_by_page(shared: World) -> None:
    """Files are read in processes of their own, so that one test has to do."""
    shared.clear()
    shared.gemini.llm = Planner("sodium energy density")
    async with plan_process(shared, real=True) as lab:
        state = await lab.ask(EN)
        again = await lab.ask(EN, thread="again")
        known = await lab.services.knowledge().collections()
    assert [(each["name"], each["documents"]) for each in known] == [("papers", 3)]
    assert {p["page"] for p in state["passages"] if "pages." not in p["path"]} <= {1, 2, 3}
    assert any("#page=" in source["url"] for source in told(state)["sources"])
    assert [p["document"] for p in again["downloaded_papers"]] == [
        p["document"] for p in state["downloaded_papers"]
    ]
    # Papers of earlier questions are read only where they are named.
    assert again["readable"] == []


async def test_a_paper_in_another_language_is_found_by_its_own_headings(lab: PlanLab) -> None:
    lab.services.knowledge().held.clear()
    state = await lab.ask(max_downloads=1)
    titles = [paper["title"] for paper in state["downloaded_papers"]]
    assert set(state["question_pool"]) >= {f"{title}是什么" for title in titles}


async def test_papers_that_words_alone_cannot_judge_are_kept_in_part(lab: PlanLab) -> None:
    state = await lab.ask(rerank_threshold=1.0)
    for result in state["executor_result"]:
        assert sum(d.get("score") is not None for d in result["documents"]) == 3


async def test_the_date_that_a_page_tells_stands_with_it_wherever_it_is_shown(
    lab: PlanLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    llm = plays(lab)
    await lab.ask(thread="undated", max_task_pages=0)
    site = lab.world.site
    dated = "<meta property='article:published_time' content='2026-09-14'><p>{}</p>"
    pages = {
        urlsplit(page.url).path: (
            "text/html",
            dated.format(page.text + "仅见于正文。" * 9).encode(),
        )
        for page in site.known.values()
    }
    monkeypatch.setattr(site, "bodies", site.bodies | pages)
    state = await lab.ask(max_task_pages=1)
    rows = lines(llm.asked("dossier")[-1].user, "tasks")
    dates = ["2026-09-14" in row.partition(") ")[0] for row in rows if "仅见于正文" in row]
    assert dates == [True] * len(TASKS)
    judged = [row for turn in llm.asked("claim_check") for row in lines(turn.user, "passages")]
    assert all("2026-09-14" in row for row in judged if "仅见于正文" in row)
    assert any("2026-09-14" in row for row in judged)
    assert any(source.get("published") == "2026-09-14" for source in told(state)["sources"])
