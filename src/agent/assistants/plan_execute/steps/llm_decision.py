"""Decides, before the sources that are always searched, what else to look up."""

import logging
from typing import Literal

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.plan_execute.observations import earlier_lines
from agent.assistants.plan_execute.state import ExecutorState
from agent.assistants.plan_execute.steps.run import ExecutorRun
from agent.assistants.plan_execute.steps.tools import offered_tools
from agent.assistants.plan_execute.wording import run_gap
from agent.errors import AgentError, ConfigurationError
from agent.evidence.lengths import cut_to_tokens
from agent.evidence.queries import clean_text
from agent.evidence.reasons import reason_of
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import Reply
from agent.prompts import render

log = logging.getLogger(__name__)
_LINE = 200


async def llm_decision(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """Asks the model while there are rounds and optional tools left; a failure is a gap."""
    run = runtime.context
    left = run.configuration.max_executor_rounds - state.get("rounds", 0)
    tools, gaps = await offered_tools(run) if left > 0 else ([], [])
    if not tools:
        return ExecutorState(gaps=gaps)
    try:
        reply: Reply[BaseModel] = await run.given.models.ask(
            run.configuration.research_model,
            _prompt(state, run, left),
            meter=run.meter,
            tools=tools,
            thinking=DEFAULT_THINKING["research"],
        )
    except ConfigurationError:
        raise
    except AgentError as error:
        log.warning("turn=%s %s: %s", run.turn["id"], run.task["id"], error)
        query, reason = run.task["query"], reason_of(error, run.language)
        gap = run_gap("decide_failed", run.language, query=query, reason=reason)
        return ExecutorState(gaps=[*gaps, gap])
    said = clean_text(reply.text, _LINE)
    return ExecutorState(
        executor_messages=[reply.message], decisions=[said] if said else [], gaps=gaps
    )


def after_decision(state: ExecutorState) -> Literal["optional_tools", "search"]:
    """To the tools that were called, or on to the sources that are always searched."""
    messages = state.get("executor_messages") or []
    last = messages[-1] if messages else None
    return "optional_tools" if isinstance(last, AIMessage) and last.tool_calls else "search"


def _prompt(state: ExecutorState, run: ExecutorRun, left: int) -> list[BaseMessage]:
    limit, turn = run.configuration.context_token_limit, run.turn
    values = {
        "today": turn["today"],
        "question": cut_to_tokens(turn["question"], limit // 8),
        "task": run.task["query"],
        "earlier": cut_to_tokens(earlier_lines(state.get("earlier", [])), limit // 8),
        "tools_left": str(left),
    }
    said: list[AnyMessage] = state.get("executor_messages") or []
    return [
        SystemMessage(render("execute_decide_system", run.language)),
        HumanMessage(render("execute_decide", run.language, **values)),
        *said,
    ]
