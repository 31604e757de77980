"""Run `tanlu mcp`: the assistants as tools over stdio, for clients that start programs."""

import asyncio
import uuid
from argparse import Namespace
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, Tool

from agent.cli.console import ANSWERED, USAGE, fail
from agent.cli.environment import configure_logging, log_level, read_environment
from agent.cli.local import LocalRun
from agent.cli.request import Request
from agent.cli.serve import server_config
from agent.cli.watch import SilentWatcher
from agent.client.run_result import Pause
from agent.core.errors import AgentError, InputError
from agent.runs.threads import Threads, open_threads
from agent.server.mcp_call import CallProgress, ToolServer, pause_refusal, read_arguments
from agent.server.mcp_tools import AssistantTool, assistant_tool, result_of
from agent.services import close_process_services
from agent.settings import read_settings


def run(arguments: Namespace) -> int:
    """Run the command; return 0 when the client hangs up, 2 for unusable settings."""
    try:
        read_environment(offline=arguments.offline)
        # Standard output is the protocol's; clients show standard error as a log.
        configure_logging(log_level(), arguments.log_file)
        asyncio.run(_serve())
    except AgentError as error:
        return fail(error, code=USAGE)
    return ANSWERED


async def _serve() -> None:
    try:
        async with open_threads(read_settings()) as threads, stdio_server() as (read, write):
            server = StdioServer(threads).server
            await server.run(read, write, server.create_initialization_options())
    finally:
        await close_process_services()


class StdioServer(ToolServer):
    """Answer calls in this process, on the threads of the data folder."""

    def __init__(self, threads: Threads) -> None:
        super().__init__()
        self._threads = threads
        self._offered: dict[str, AssistantTool] = {}

    async def tools(self) -> list[Tool]:
        return [offered.tool for offered in (await self._catalogue()).values()]

    async def answer(self, params: CallToolRequestParams) -> CallToolResult:
        offered = (await self._catalogue()).get(params.name)
        if offered is None:
            raise AgentError(f"there is no tool {params.name!r}; known: {', '.join(self._offered)}")
        arguments = read_arguments(params.arguments or {}, offered)
        progress = CallProgress(self.notify(), arguments.language)
        request = _ToolRequest(
            question=arguments.question,
            assistant=offered.graph_id,
            thread_id=arguments.thread_id or str(uuid.uuid4()),
            follows_up=arguments.thread_id is not None,
            context=arguments.context,
            input=arguments.input,
        )
        run = LocalRun(self._threads, request, _Listener(progress))
        if request.follows_up and not await run.thread_exists():
            raise InputError("thread_id", "there is no such thread")
        async with progress.running():
            outcome = await run.ask(asyncio.Event())
        if isinstance(outcome, Pause):
            raise pause_refusal(request.thread_id)
        return result_of(outcome)

    async def _catalogue(self) -> Mapping[str, AssistantTool]:
        if not self._offered:
            self._offered = await asyncio.to_thread(self._read_catalogue)
        return self._offered

    def _read_catalogue(self) -> dict[str, AssistantTool]:
        offered = {}
        for name, described in server_config()["graphs"].items():
            graph = LocalRun(self._threads, _NO_REQUEST, SilentWatcher()).graph(name)
            schemas = {
                "input_schema": graph.get_input_jsonschema(),
                "context_schema": graph.get_context_jsonschema(),
            }
            assistant = {"assistant_id": name, "graph_id": name, **described}
            offered[name] = assistant_tool(name, assistant, schemas)
        return offered


@dataclass(frozen=True)
class _ToolRequest(Request):
    """Hold a call's question; its arguments make the input."""

    input: dict[str, Any] = field(default_factory=dict)

    def graph_input(self) -> dict[str, Any]:
        return self.input


_NO_REQUEST = Request(None, "agent", "", False, {})


class _Listener(SilentWatcher):
    """Pass a run's progress on to the client."""

    def __init__(self, progress: CallProgress) -> None:
        self._progress = progress
        self._tasks: set[asyncio.Task[None]] = set()

    def event(self, event: Mapping[str, Any]) -> None:
        task = asyncio.create_task(self._progress.event(event))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
