"""Decide what else to look up for a task, and call the optional tools."""

import asyncio
import json
import unicodedata
from collections.abc import Awaitable, Container, Mapping, Sequence
from itertools import islice
from typing import Literal, cast

from langchain_core.messages import (
    AIMessage,
    AnyMessage,
    BaseMessage,
    ToolCall,
    ToolMessage,
)
from langchain_core.tools import BaseTool, tool
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.gaps import ask_or_gap, parsed_or_gap, run_gap
from agent.assistants.common.search import located, map_tools
from agent.assistants.common.toolbox import Toolbox, ToolOutcome
from agent.assistants.common.turn import context_limit
from agent.assistants.plan_execute.documents import crop_observation, documents_of, earlier_lines
from agent.assistants.plan_execute.state import ExecutorState, SpecialSource, Task
from agent.assistants.plan_execute.subject import (
    MAX_COMPANY,
    cleaned_queries,
    companies_of,
    latin_name,
    listed_name,
    task_queries,
)
from agent.assistants.plan_execute.task_run import OPTIONAL, ExecutorRun, ask_source
from agent.core.strings import cut_to_tokens
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.mcp.tools import subject_of
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import ModelAnswer
from agent.prompts import task_prompt
from agent.state import inner
from agent.texts import detect_language, say

SEC, AKSHARE = "sec_edgar_search", "akshare_search"
MAX_CALLS = 6
"""Calls of one message that are done."""
_MAX_QUERY = 300
_NAMES = ("query", "company", "symbol", "keywords", "q")


@tool(SEC)
def sec_edgar_search(query: str) -> str:
    """Annual and quarterly reports, and their figures, of companies that report to the US SEC.

    Name the company in English or its ticker, and the subject.
    """
    return ""


@tool(AKSHARE)
def akshare_search(query: str) -> str:
    """Profile, business and figures of a company listed in mainland China or Hong Kong.

    Name the company as it is listed, or its code.
    """
    return ""


SEARCHES: Mapping[str, BaseTool] = {"sec_edgar": sec_edgar_search, "akshare": akshare_search}


PLANNED = "planned"
"""The id of the message whose calls are the plan's."""
_SOURCES: Mapping[str, SpecialSource] = {"sec_edgar": "filings", "akshare": "akshare"}


def planned_calls(task: Task, off: Container[str]) -> list[ToolCall]:
    """Return the searches that the plan says enough about: whose source, and which company."""
    chosen, companies = task.get("sources", []), companies_of(task.get("company", ""))
    english = next((q for q in task_queries(task) if detect_language(q) == "en"), "")
    calls = (
        (source, f"{name} {english}".strip() if source == "sec_edgar" else name)
        for source in OPTIONAL
        if _SOURCES[source] in chosen and source not in off
        for names in companies
        if (name := latin_name(names) if source == "sec_edgar" else listed_name(names))
    )
    return [
        ToolCall(name=SEARCHES[source].name, args={"query": query}, id=f"{PLANNED}-{n}")
        for n, (source, query) in enumerate(islice(calls, MAX_CALLS))
    ]


def _undecided_sources(task: Task) -> list[str]:
    """Return the optional sources that a model decides about: all, or those without a company."""
    names = task.get("sources")
    if names is None:
        return list(OPTIONAL)
    return [] if task.get("company") else [name for name in OPTIONAL if _SOURCES[name] in names]


async def decision_tools(run: ExecutorRun, task: Task) -> tuple[list[BaseTool], list[Gap]]:
    """Return what a model may decide about, and why the map is not there where it should be."""
    tools = [SEARCHES[name] for name in _undecided_sources(task) if name not in run.off]
    if not run.wants_maps:
        return tools, []
    gaps = list[Gap]()
    if run.maps is None:
        run.maps, gaps = await map_tools(run.map_turn, run.services, run.meter)
    return [*tools, *run.maps], gaps


def query_of(call: ToolCall) -> str:
    """Return the query of a search, also from a list of one; empty where there is none."""
    arguments = call["args"]
    value = next((arguments[name] for name in _NAMES if arguments.get(name)), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return clean_text(value, _MAX_QUERY) if isinstance(value, str) else ""


_LINE = 200


async def llm_decision(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Look up what the plan says; ask the model while there is something left to decide.

    It is asked while there are rounds and optional tools left; a failure is a gap.
    """
    run = runtime.context
    task, gaps = await _task_with_queries(state, run)
    decided = await _decision(ExecutorState(**{**state, "task": task}), run)
    return ExecutorState(**{**decided, "task": task, "gaps": [*gaps, *decided.get("gaps", [])]})


class TaskQueries(BaseModel):
    """The queries of a task, now that the results it depends on are known."""

    queries: list[str] = Field(description="One to three searches.")
    company: str = Field("", description="Names of the company it is about, parted by /.")


async def _task_with_queries(state: ExecutorState, run: ExecutorRun) -> tuple[Task, list[Gap]]:
    """Return a dependent task with queries a model writes from the findings, before its start."""
    task, earlier = state["task"], state.get("earlier") or []
    if state.get("executor_messages") or not any(result["documents"] for result in earlier):
        return task, []
    limit, turn = context_limit(run.turn, run.configuration), run.turn
    values = {
        "today": turn["today"],
        "question": cut_to_tokens(turn["question"], limit // 8),
        "task": task["query"],
        "planned": "\n".join(task_queries(task)),
        "earlier": cut_to_tokens(earlier_lines(earlier), limit // 4),
    }
    prompt = task_prompt("task_queries", **values)
    written, gaps = await parsed_or_gap(
        run.services.models, run.configuration.query_generator_model, prompt, TaskQueries,
        meter=run.meter, turn=turn, part=task["id"],
        failed="plan_execute.queries_failed", query=task["query"],
    )  # fmt: skip
    if written is None:
        return task, gaps
    queries = cleaned_queries(written.queries) or task_queries(task)
    company = clean_text(written.company, MAX_COMPANY) or task.get("company", "")
    return cast(Task, {**task, "queries": queries, "company": company}), gaps


async def _decision(state: ExecutorState, run: ExecutorRun) -> ExecutorState:
    """Return the calls to make next: the plan's, then those a model wants; else none."""
    task = state["task"]
    left = run.configuration.max_executor_rounds - state.get("rounds", 0)
    planned = planned_calls(task, run.off) if left > 0 else []
    if planned and not state.get("executor_messages"):
        return ExecutorState(
            executor_messages=inner([AIMessage("", tool_calls=planned, id=PLANNED)])
        )
    tools, gaps = await decision_tools(run, task) if left > 0 else ([], [])
    if not tools:
        return ExecutorState(gaps=gaps)
    asking: Awaitable[ModelAnswer[BaseModel]] = run.services.models.ask(
        run.configuration.research_model,
        _prompt(state, run, left),
        meter=run.meter,
        tools=tools,
        thinking=DEFAULT_THINKING["research"],
    )
    query, language = task["query"], run.language
    reply, failed = await ask_or_gap(
        asking,
        run.turn,
        run.task["id"],
        lambda reason: run_gap("plan_execute.decide_failed", language, query=query, reason=reason),
    )
    if reply is None:
        return ExecutorState(gaps=[*gaps, *failed])
    note = clean_text(reply.text, _LINE)
    return ExecutorState(
        executor_messages=inner([reply.message]), decisions=[note] if note else [], gaps=gaps
    )


def after_decision(state: ExecutorState) -> Literal["optional_tools", "search"]:
    """Route to the called tools, or on to the sources that are always searched."""
    messages = state.get("executor_messages") or []
    last = messages[-1] if messages else None
    return "optional_tools" if isinstance(last, AIMessage) and last.tool_calls else "search"


def _prompt(state: ExecutorState, run: ExecutorRun, left: int) -> list[BaseMessage]:
    limit, turn = context_limit(run.turn, run.configuration), run.turn
    values = {
        "today": turn["today"],
        "question": cut_to_tokens(turn["question"], limit // 8),
        "task": run.task["query"],
        "earlier": cut_to_tokens(earlier_lines(state.get("earlier", [])), limit // 8),
        "tools_left": str(left),
    }
    messages: list[AnyMessage] = state.get("executor_messages") or []
    others = [message for message in messages if not _is_planned(message)]
    return [*task_prompt("execute_decide", **values), *others]


def _is_planned(message: AnyMessage) -> bool:
    """Return True for a call of the plan, which no model made, and for its result."""
    if isinstance(message, ToolMessage):
        return message.tool_call_id.startswith(PLANNED)
    return message.id == PLANNED


_SHARE = 2
"""The part of the prompt's limit that all observations together may take: a half."""


async def optional_tools(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Answer every call of the last message; a failure is an answer, never raised."""
    run = runtime.context
    message = cast(AIMessage, state["executor_messages"][-1])
    tokens = _tokens(run, len(message.tool_calls))
    outcomes = _planned(message.tool_calls, _asked_before(state), run)
    await asyncio.gather(
        _ask_map(
            [each for each in outcomes if each.kind == "map"],
            run,
            run.toolbox(located(state["executor_messages"])),
        ),
        *(_search(each, run) for each in outcomes if each.kind == "search"),
    )
    done = [each for each in outcomes if each.kind]
    return ExecutorState(
        executor_messages=inner([each.message(_shown(each, run, tokens)) for each in outcomes]),
        optional_search_results=inner([each.message(each.text) for each in done]),
        decisions=[f"{each.call['name']}: {each.asked}" for each in done],
        rounds=state.get("rounds", 0) + (message.id != PLANNED),
        gaps=[gap for each in outcomes for gap in each.gaps],
    )


def _planned(calls: Sequence[ToolCall], before: set[str], run: ExecutorRun) -> list[ToolOutcome]:
    """Return an outcome for each call: refused, asked before, or open."""
    names = [SEARCHES[name].name for name in SEARCHES if name not in run.off]
    names += [tool.name for tool in run.maps or []]
    outcomes = [ToolOutcome(call) for call in calls]
    for position, outcome in enumerate(outcomes):
        call = outcome.call
        source, key = _source(call), _key(call)
        if position >= MAX_CALLS or call["name"] not in names:
            outcome.refuse(say("plan_execute.no_tool", run.language, tools=", ".join(names)))
        elif source and not query_of(call):
            outcome.refuse(say("plan_execute.no_query", run.language))
        elif key in before:
            outcome.text = say("plan_execute.asked_before", run.language)
        else:
            before.add(key)
            outcome.kind = "search" if source else "map"
            outcome.queries = [query_of(call) if source else subject_of(call["args"])]
    return outcomes


async def _search(outcome: ToolOutcome, run: ExecutorRun) -> None:
    source = _source(outcome.call)
    value, outcome.gaps = await ask_source(run, source, outcome.asked)
    if outcome.gaps:
        reason = outcome.gaps[0]["message"]
        outcome.fail(say("plan_execute.failed", run.language, reason=reason))
    else:
        outcome.text = json.dumps(documents_of(value, source), ensure_ascii=False)


async def _ask_map(outcomes: Sequence[ToolOutcome], run: ExecutorRun, box: Toolbox) -> None:
    asked = box.planned([each.call for each in outcomes])
    await box.do(asked)
    for outcome, each in zip(outcomes, asked, strict=True):
        outcome.text, outcome.failed, outcome.gaps = each.text, each.failed, each.gaps
        if each.map_result is not None:
            run.take(each.map_result)


def _shown(outcome: ToolOutcome, run: ExecutorRun, tokens: int) -> str:
    """Return a result as the model sees it."""
    if outcome.kind == "map":
        return cut_to_tokens(outcome.text, tokens)
    if outcome.kind is None or outcome.failed:
        return outcome.text
    documents = documents_of(outcome.text, _source(outcome.call))
    return crop_observation(documents, run.language, tokens=tokens)


def _source(call: ToolCall) -> str:
    """Return the source behind a tool; empty for the map's."""
    return next((name for name, tool in SEARCHES.items() if tool.name == call["name"]), "")


def _key(call: ToolCall) -> str:
    subject = query_of(call) if _source(call) else json.dumps(call["args"], sort_keys=True)
    return f"{call['name']} {unicodedata.normalize('NFKC', subject).casefold()}"


def _asked_before(state: ExecutorState) -> set[str]:
    """Return the keys of the calls that earlier rounds have made."""
    messages = (state.get("executor_messages") or [])[:-1]
    return {
        _key(call)
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }


def _tokens(run: ExecutorRun, calls: int) -> int:
    """Return the tokens of one observation in the prompts that follow."""
    rounds = max(1, run.configuration.max_executor_rounds)
    return context_limit(run.turn, run.configuration) // (_SHARE * rounds * max(1, calls))
