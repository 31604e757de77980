"""Ask a running server through its SDK: the same request, the same outcome."""

import asyncio
import time
from collections.abc import Mapping
from typing import Any

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.cli.request import AskRequest, misused
from agent.client.connection import (
    checked_settings,
    connected,
    find_assistant,
    server_refusal,
    status_of,
)
from agent.client.follow import (
    FollowedRun,
    FollowLimits,
    RunFollower,
    RunListener,
    RunOrder,
    ended_run,
    max_run_seconds,
)
from agent.client.run_result import Pause, RunName, RunResult, outcome_of, pause_of

_QUEUE_SECONDS = 3600.0
"""A person sees that the question waits, and has Ctrl-C."""
_AWAY_SECONDS = 120.0


async def ask_server(request: AskRequest, listener: RunListener) -> RunResult | Pause:
    """Run the assistant on `request.url`, to its answer or to where it waits for a review.

    Cancelling cancels the run there. Raises AgentError.
    """
    url = request.url or ""
    async with connected(url) as client:
        try:
            return await _ask(client, request, listener)
        except httpx.HTTPError as error:
            raise server_refusal(url, error) from None


async def _ask(
    client: LangGraphClient, request: AskRequest, listener: RunListener
) -> RunResult | Pause:
    began = time.monotonic()
    assistant = await find_assistant(client, request.assistant)
    schemas = await client.assistants.get_schemas(assistant["assistant_id"])
    follower = _follower(client, request, assistant, schemas, listener)
    if request.question is not None or request.resume is not None:
        await follower.begin()
    elif not await _rejoin(request, follower):
        state = await client.threads.get_state(request.thread_id)
        if not state["values"]:
            raise misused("--thread", "no_thread_there", thread=request.thread_id)
        if not state["next"]:
            return _outcome(request, ended_run(state), 0.0)
        await follower.begin()
    try:
        run = await follower.follow()
    except asyncio.CancelledError:
        await follower.cancel()
        raise
    if run.error:
        raise run.error
    return pause_of(run.values) or _outcome(request, run, time.monotonic() - began)


def _follower(
    client: LangGraphClient,
    request: AskRequest,
    assistant: Mapping[str, Any],
    schemas: Mapping[str, Any],
    listener: RunListener,
) -> RunFollower:
    """Return the follower of a run with checked settings; raise ConfigurationError."""
    properties = (schemas.get("input_schema") or {}).get("properties", {})
    if request.format_requirement is not None and "format_requirement" not in properties:
        raise misused("--format-requirement", "not_taken_there", assistant=request.assistant)
    schema = schemas.get("context_schema") or schemas.get("config_schema") or {}
    context = checked_settings(request.context, schema, saves=request.saves)
    run = RunOrder(
        assistant,
        request.thread_id,
        input=request.graph_input(),
        resume=request.resume,
        context=context,
        stream_mode=("custom", "messages-tuple", "values"),
    )
    seconds = max_run_seconds(context, schema)
    limits = FollowLimits(run=seconds, queue=_QUEUE_SECONDS, away=_AWAY_SECONDS)
    return RunFollower(client, run, server=request.url or "", limits=limits, listener=listener)


async def _rejoin(request: AskRequest, follower: RunFollower) -> bool:
    """Rejoin the run under way on the thread; raise InputError where there is no thread."""
    try:
        return await follower.rejoin()
    except httpx.HTTPStatusError as error:
        if status_of(error) != 404:
            raise
        raise misused("--thread", "no_thread_there", thread=request.thread_id) from None


def _outcome(request: AskRequest, run: FollowedRun, seconds: float) -> RunResult:
    return outcome_of(
        run.values, RunName(request.assistant, request.thread_id, run.run_id), seconds
    )
