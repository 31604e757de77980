"""Run `tanlu threads`: list, show, delete and prune those of this data folder or of a server."""

from argparse import Namespace
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

import httpx
from langgraph_sdk.client import LangGraphClient

from agent.cli.console import ANSWERED, FAILED, fail, print_result
from agent.cli.environment import exit_code_of
from agent.cli.request import misused, server_url
from agent.client.connection import connected, server_refusal, status_of
from agent.client.run_result import spoken
from agent.core.calls import Calls
from agent.core.errors import AgentError, ConfigurationError
from agent.knowledge.base import KnowledgeBase, open_knowledge_base
from agent.retention import ThreadArchive, ThreadRemains
from agent.runs.engine import OWNER
from agent.runs.threads import open_threads
from agent.settings import read_settings

ThreadRow = Mapping[str, Any]
"""A thread in a list: thread_id, title, assistant, owner, status, updated_at, …"""
_PAGE = 100


class ThreadHolder(Protocol):
    """Know the threads of a data folder or of a server."""

    async def rows(self, limit: int) -> list[ThreadRow]: ...

    async def values(self, thread_id: str) -> ThreadRow: ...

    async def older_than(self, days: int) -> list[str]: ...

    async def delete(self, thread_id: str) -> None: ...


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 done, 1 if a thread could not be deleted, 2 bad usage."""
    return exit_code_of(arguments, _run)


async def _run(arguments: Namespace) -> int:
    async with _opened(arguments) as place:
        match arguments.action:
            case "list":
                _print_rows(await place.rows(arguments.limit), as_json=arguments.json)
            case "show":
                (thread_id,) = _named(arguments, most=1)
                _print_messages(thread_id, await place.values(thread_id), as_json=arguments.json)
            case "delete":
                return await _delete(place, _named(arguments), as_json=arguments.json)
            case "prune":
                return await _prune(place, arguments)
    return ANSWERED


def _named(arguments: Namespace, most: int | None = None) -> list[str]:
    threads: list[str] = arguments.threads
    if not threads or (most and len(threads) > most):
        raise misused("THREAD", "one_thread" if most else "threads")
    return threads


async def _prune(place: ThreadHolder, arguments: Namespace) -> int:
    days = arguments.days or read_settings().tanlu_keep_days
    if not days:
        raise misused("--days", "days")
    old = await place.older_than(days)
    if not arguments.dry_run:
        return await _delete(place, old, as_json=arguments.json)
    print_result({"old": old}, "\n".join(old), as_json=arguments.json)
    return ANSWERED


async def _delete(place: ThreadHolder, threads: Sequence[str], *, as_json: bool) -> int:
    deleted, problems = list[str](), list[str]()
    for thread_id in threads:
        try:
            await place.delete(thread_id)
        except ConfigurationError:
            raise
        except AgentError as error:
            problems.append(error.message)
        else:
            deleted.append(thread_id)
    print_result({"deleted": deleted}, f"{len(deleted)} deleted", as_json=as_json)
    for problem in problems:
        fail(problem)
    return FAILED if problems else ANSWERED


@asynccontextmanager
async def _opened(arguments: Namespace) -> AsyncIterator[ThreadHolder]:
    """Open the server that was named, else the data folder or database of the settings."""
    if url := server_url(arguments.url, offline=False):
        async with connected(url) as client:
            try:
                yield ServerThreads(client)
            except httpx.HTTPError as error:
                raise server_refusal(url, error) from None
        return
    async with AsyncExitStack() as stack:
        settings = read_settings()
        threads = await stack.enter_async_context(open_threads(settings))
        knowledge: list[KnowledgeBase] = []

        def base() -> KnowledgeBase:
            knowledge.append(open_knowledge_base(settings, Calls()))
            stack.push_async_callback(knowledge[-1].aclose)
            return knowledge[-1]

        papers = settings.tanlu_data_dir / "papers"
        evidence = ThreadRemains(
            threads.saver,
            threads.reply_cache,
            threads.workspace,
            threads.shares,
            papers=papers,
            knowledge=base,
        )
        archive = ThreadArchive(threads.saver, threads.runs, evidence)
        yield LocalThreads(archive, arguments.owner)


class LocalThreads:
    """Know the threads of a data folder or database, whoever they belong to."""

    def __init__(self, archive: ThreadArchive, owner: str | None) -> None:
        self._archive, self._owner = archive, owner

    async def rows(self, limit: int) -> list[ThreadRow]:
        found = await self._archive.summaries(limit=limit, owner=self._owner)
        return [asdict(summary) for summary in found]

    async def values(self, thread_id: str) -> ThreadRow:
        return await self._archive.values(thread_id)

    async def older_than(self, days: int) -> list[str]:
        return await self._archive.older_than(days, datetime.now(UTC))

    async def delete(self, thread_id: str) -> None:
        await self._archive.delete(thread_id)


class ServerThreads:
    """Know the threads of a server that belong to our key."""

    def __init__(self, client: LangGraphClient) -> None:
        self._client = client

    async def rows(self, limit: int) -> list[ThreadRow]:
        return [_row(thread) async for thread in self._all("desc", limit)]

    async def values(self, thread_id: str) -> ThreadRow:
        try:
            values = (await self._client.threads.get_state(thread_id))["values"]
        except httpx.HTTPStatusError as error:
            raise _missing(thread_id, error) from None
        return values if isinstance(values, Mapping) else {}

    async def older_than(self, days: int) -> list[str]:
        until = (datetime.now(UTC) - timedelta(days=days)).isoformat()
        old: list[str] = []
        async for thread in self._all("asc"):
            if str(thread["updated_at"]) >= until:
                break
            old.append(thread["thread_id"])
        return old

    async def delete(self, thread_id: str) -> None:
        try:
            await self._client.threads.delete(thread_id)
        except httpx.HTTPStatusError as error:
            raise _missing(thread_id, error) from None

    async def _all(self, order: Any, limit: int | None = None) -> AsyncIterator[Any]:
        """Yield the threads by the time somebody worked on them; all of them without a limit."""
        count = 0
        while limit is None or count < limit:
            most = _PAGE if limit is None else min(_PAGE, limit - count)
            page = await self._client.threads.search(
                limit=most, offset=count, sort_by="updated_at", sort_order=order,
                select=["thread_id", "status", "updated_at", "metadata"],
            )  # fmt: skip
            for thread in page:
                yield thread
            count += len(page)
            if len(page) < most:
                return


def _row(thread: Any) -> ThreadRow:
    metadata = thread.get("metadata") or {}
    return {
        "thread_id": thread["thread_id"],
        "title": str(metadata.get("title") or ""),
        "assistant": str(metadata.get("graph_id") or ""),
        "owner": str(metadata.get(OWNER) or ""),
        "status": thread["status"],
        "updated_at": str(thread["updated_at"]),
    }


def _missing(thread_id: str, error: httpx.HTTPStatusError) -> Exception:
    if status_of(error) in (404, 422):
        return AgentError(f"there is no thread {thread_id}")
    return error


def _print_rows(rows: Sequence[ThreadRow], *, as_json: bool) -> None:
    lines = [
        "  ".join(
            [row["thread_id"], str(row["updated_at"])[:16].replace("T", " "), row["status"],
             *([f"{row['kilobytes']} kB"] if "kilobytes" in row else []), row["title"]]
        ).rstrip()
        for row in rows
    ]  # fmt: skip
    print_result({"threads": list(rows)}, "\n".join(lines), as_json=as_json)


def _print_messages(thread_id: str, values: ThreadRow, *, as_json: bool) -> None:
    messages = spoken(values)
    text = "\n\n".join(f"# {text}" if role == "human" else text for role, text in messages)
    rows = [{"type": role, "text": text} for role, text in messages]
    print_result({"thread_id": thread_id, "messages": rows}, text, as_json=as_json)
