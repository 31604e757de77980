"""Does what the model decided: special sources at once, the map's calls one after another."""

import asyncio
import json
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langgraph.runtime import Runtime

from agent.assistants.plan_execute.cleaning import documents_of
from agent.assistants.plan_execute.observations import crop_observation
from agent.assistants.plan_execute.state import ExecutorState
from agent.assistants.plan_execute.steps.asking import ask_source
from agent.assistants.plan_execute.steps.run import ExecutorRun
from agent.assistants.plan_execute.steps.tools import SEARCHES, query_of
from agent.assistants.plan_execute.wording import say
from agent.evidence.lengths import cut_to_tokens
from agent.evidence.types import Gap
from agent.mcp.tools import asked_about

MAX_CALLS = 6
"""Calls of one message that are done."""
_SHARE = 2
"""The part of the prompt's limit that all observations together may take: a half."""


@dataclass
class _Done:
    """What came of one call: whole, and as the model is shown it."""

    call: ToolCall
    whole: str
    shown: str
    failed: bool = False
    gaps: list[Gap] = field(default_factory=list)
    line: str = ""
    """For the record of decisions."""

    def message(self, text: str) -> ToolMessage:
        status = "error" if self.failed else "success"
        call = self.call
        return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status=status)


async def optional_tools(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Answers every call of the last message; a failure is an answer, never raised."""
    run = runtime.context
    asked = cast(AIMessage, state["executor_messages"][-1])
    doing = _Doing(run, _asked_before(state), _tokens(run, len(asked.tool_calls)))
    done = await doing.all(asked.tool_calls)
    messages: list[AnyMessage] = [each.message(each.shown) for each in done]
    return ExecutorState(
        executor_messages=messages,
        optional_search_results=[each.message(each.whole) for each in done if each.line],
        decisions=[each.line for each in done if each.line],
        rounds=state.get("rounds", 0) + 1,
        gaps=[gap for each in done for gap in each.gaps],
    )


@dataclass(frozen=True)
class _Doing:
    run: ExecutorRun
    before: set[str]
    tokens: int

    async def all(self, calls: Sequence[ToolCall]) -> list[_Done]:
        """In the order of the calls; the map's in turn, so that its records get the same ids."""
        slots: list[_Done | None] = [self._refused(n, call) for n, call in enumerate(calls)]
        open_ = [n for n, slot in enumerate(slots) if slot is None]
        searches = [n for n in open_ if _source(calls[n])]
        found = await asyncio.gather(*(self._search(calls[n]) for n in searches))
        for n, done in zip(searches, found, strict=True):
            slots[n] = done
        for n in open_:
            if slots[n] is None:
                slots[n] = await self._map(calls[n])
        return [slot for slot in slots if slot]

    def _refused(self, position: int, call: ToolCall) -> _Done | None:
        """The answer to a call that is not done."""
        language, source = self.run.language, _source(call)
        names = [SEARCHES[name].name for name in SEARCHES if name not in self.run.off]
        names += [tool.name for tool in self.run.maps.tools] if self.run.maps else []
        if position >= MAX_CALLS or call["name"] not in names:
            return _Done(call, "", say("no_tool", language, tools=", ".join(names)), failed=True)
        if source and not query_of(call):
            return _Done(call, "", say("no_query", language), failed=True)
        if (key := _key(call)) in self.before:
            return _Done(call, "", say("asked_before", language))
        self.before.add(key)
        return None

    async def _search(self, call: ToolCall) -> _Done:
        run, source, query = self.run, _source(call), query_of(call)
        line = f"{call['name']}: {query}"
        value, gaps = await ask_source(run, source, query)
        if gaps:
            text = say("failed", run.language, reason=gaps[0]["message"])
            return _Done(call, text, text, True, gaps, line)
        found = documents_of(value, source)
        whole = json.dumps(found, ensure_ascii=False)
        shown = crop_observation(found, run.language, tokens=self.tokens)
        return _Done(call, whole, shown, line=line)

    async def _map(self, call: ToolCall) -> _Done:
        run = self.run
        assert run.maps is not None
        seen = len(run.survey.gaps)
        answer = await run.maps.call(call)
        text, gaps = str(answer.text), list(run.survey.gaps[seen:])
        line = f"{call['name']}: {asked_about(call['args'])}"
        shown = cut_to_tokens(text, self.tokens)
        return _Done(call, text, shown, answer.status == "error", gaps, line)


def _source(call: ToolCall) -> str:
    """The source behind a tool; empty for the map's."""
    return next((name for name, tool in SEARCHES.items() if tool.name == call["name"]), "")


def _key(call: ToolCall) -> str:
    asked = query_of(call) if _source(call) else json.dumps(call["args"], sort_keys=True)
    return f"{call['name']} {unicodedata.normalize('NFKC', asked).casefold()}"


def _asked_before(state: ExecutorState) -> set[str]:
    """What earlier rounds of this task were answered."""
    messages = (state.get("executor_messages") or [])[:-1]
    return {
        _key(call)
        for message in messages
        if isinstance(message, AIMessage)
        for call in message.tool_calls
    }


def _tokens(run: ExecutorRun, calls: int) -> int:
    """What one observation may take in the prompts that follow."""
    rounds = max(1, run.configuration.max_executor_rounds)
    return run.configuration.context_token_limit // (_SHARE * rounds * max(1, calls))
