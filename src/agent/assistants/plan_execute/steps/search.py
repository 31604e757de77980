"""Searches the sources that every task is searched in, all at once."""

import asyncio

from langgraph.runtime import Runtime

from agent.assistants.plan_execute.cleaning import documents_of
from agent.assistants.plan_execute.state import ExecutorState
from agent.assistants.plan_execute.steps.asking import ask_source
from agent.assistants.plan_execute.steps.run import REQUIRED, ExecutorRun
from agent.assistants.plan_execute.steps.tools import SEARCHES

_OF_TOOL = {tool.name: source for source, tool in SEARCHES.items()}


async def search(state: ExecutorState, runtime: Runtime[ExecutorRun]) -> ExecutorState:
    """All that was found, also by optional tools; a source that fails is a gap.

    Sources that are off are not asked: the run says so once.
    """
    run, query = runtime.context, state["current_query"]
    names = [name for name in REQUIRED if name not in run.off]
    outcomes = await asyncio.gather(*(ask_source(run, name, query) for name in names))
    found = [
        document
        for message in state.get("optional_search_results") or []
        for document in documents_of(message.content, _OF_TOOL.get(str(message.name), ""))
        if message.name in _OF_TOOL
    ]
    for name, (value, _) in zip(names, outcomes, strict=True):
        found += documents_of(value, name)
    return ExecutorState(
        search_results=found,
        gaps=[gap for _, gaps in outcomes for gap in gaps],
    )
