"""The tools a task's model may call: special sources and the map."""

from collections.abc import Mapping

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool, tool

from agent.assistants.plan_execute.steps.run import OPTIONAL, ExecutorRun
from agent.errors import AgentError
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.mcp.messages import map_gap

SEC, AKSHARE = "sec_edgar_search", "akshare_search"
_MAX_QUERY = 300
_NAMES = ("query", "company", "symbol", "keywords", "q")
_NOT_SET_UP = ("map_key_missing", "map_no_node")


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


async def offered_tools(run: ExecutorRun) -> tuple[list[BaseTool], list[Gap]]:
    """What can be had here, and why the map cannot where the task is about a place."""
    tools = [SEARCHES[name] for name in OPTIONAL if name not in run.off]
    if not run.wants_maps:
        return tools, []
    query = run.task["query"]
    try:
        if run.maps is None:
            run.maps = await run.given.maps.tools(
                run.survey,
                query,
                options=run.map_options,
                meter=run.meter,
                tell=run.tell_map_call,
            )
    except AgentError as error:
        run.maps_failed = True
        return tools, [map_gap(error, query, run.language)]
    return [*tools, *run.maps.tools], []


def query_of(call: ToolCall) -> str:
    """The one query of a search; empty where there is none. Models also write a list of one."""
    arguments = call["args"]
    value = next((arguments[name] for name in _NAMES if arguments.get(name)), None)
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    return clean_text(value, _MAX_QUERY) if isinstance(value, str) else ""
