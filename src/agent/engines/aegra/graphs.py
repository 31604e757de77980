"""Be the graphs as Aegra takes them (aegra.json, `graphs`): each run has its thread to itself.

Aegra enters a factory before it starts the graph, and leaves it when the run has ended.
"""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.pregel import Pregel
from langgraph_sdk.runtime import ServerRuntime

from agent.assistants.deep_research.graph import graph as _deep_research
from agent.assistants.plan_execute.graph import graph as _plan_execute
from agent.assistants.team_answer.graph import graph as _team_answer
from agent.engines.aegra.thread_queue import LOCKS, shorten
from agent.graph import graph as _agent
from agent.runs.reply_cache import AFTER_RUN

ServedGraph = Pregel[Any, Any, Any, Any]
Factory = Callable[[RunnableConfig, ServerRuntime[Any]], AbstractAsyncContextManager[ServedGraph]]


def _factory(name: str, compiled: Any) -> Factory:
    # Without our transformer: Aegra adds the same one, and refuses to have it twice.
    graph: ServedGraph = compiled.builder.compile(name=name)

    @asynccontextmanager
    async def made(
        config: RunnableConfig, runtime: ServerRuntime[Any]
    ) -> AsyncIterator[ServedGraph]:
        if runtime.execution_runtime is None:
            yield graph
            return
        run = config["configurable"]
        thread_id, run_id = str(run["thread_id"]), str(run["run_id"])
        # The steps of the run are tasks begun below, which see the same list.
        after_run: list[Callable[[], Awaitable[None]]] = []
        AFTER_RUN.set(after_run)
        async with LOCKS.turn(thread_id, run_id):
            yield graph
            await shorten(thread_id, run_id)
        for work in after_run:
            await work()

    return made


agent = _factory("agent", _agent)
deep_research = _factory("deep_research", _deep_research)
team_answer = _factory("team_answer", _team_answer)
plan_execute = _factory("plan_execute", _plan_execute)
