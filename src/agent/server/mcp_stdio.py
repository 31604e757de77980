"""Offer the assistants as tools over stdio, to clients that start programs."""

import asyncio
import uuid
from collections.abc import Mapping
from typing import Any

from mcp.server.stdio import stdio_server
from mcp.types import CallToolRequestParams, CallToolResult, Tool

from agent.client.local import LocalRunner
from agent.client.run_result import Pause
from agent.core.errors import AgentError, InputError
from agent.runs.threads import Threads, open_threads
from agent.server.mcp_call import CallProgress, ToolServer, pause_refusal, read_arguments
from agent.server.mcp_tools import AssistantTool, assistant_tool, result_of
from agent.services import close_process_services
from agent.settings import read_settings


async def serve(graphs: Mapping[str, Any]) -> None:
    """Serve until the client hangs up; `graphs` are those of langgraph.json. Raises AgentError."""
    try:
        async with open_threads(read_settings()) as threads, stdio_server() as (read, write):
            server = StdioServer(threads, graphs).server
            await server.run(read, write, server.create_initialization_options())
    finally:
        await close_process_services()


class StdioServer(ToolServer):
    """Answer calls in this process, on the threads of the data folder."""

    def __init__(self, threads: Threads, graphs: Mapping[str, Any]) -> None:
        super().__init__()
        self._runner, self._graphs = LocalRunner(threads), graphs
        self._offered: dict[str, AssistantTool] = {}

    async def tools(self) -> list[Tool]:
        return [offered.tool for offered in (await self._catalogue()).values()]

    async def answer(self, params: CallToolRequestParams) -> CallToolResult:
        offered = (await self._catalogue()).get(params.name)
        if offered is None:
            raise AgentError(f"there is no tool {params.name!r}; known: {', '.join(self._offered)}")
        arguments = read_arguments(params.arguments or {}, offered)
        assistant, thread_id = offered.graph_id, arguments.thread_id or str(uuid.uuid4())
        if arguments.thread_id and not (await self._runner.snapshot(assistant, thread_id)).values:
            raise InputError("thread_id", "there is no such thread")
        progress = CallProgress(self.notify(), arguments.language)
        async with progress.running():
            run = await self._runner.accept(
                assistant, thread_id, input=arguments.input, context=arguments.context
            )
            outcome = await self._runner.run(run, progress)
        if isinstance(outcome, Pause):
            raise pause_refusal(thread_id)
        return result_of(outcome)

    async def _catalogue(self) -> Mapping[str, AssistantTool]:
        if not self._offered:
            self._offered = await asyncio.to_thread(self._read_catalogue)
        return self._offered

    def _read_catalogue(self) -> dict[str, AssistantTool]:
        offered = {}
        for name, described in self._graphs.items():
            graph = self._runner.graph(name)
            schemas = {
                "input_schema": graph.get_input_jsonschema(),
                "context_schema": graph.get_context_jsonschema(),
            }
            assistant = {"assistant_id": name, "graph_id": name, **described}
            offered[name] = assistant_tool(name, assistant, schemas)
        return offered
