"""List the threads of a place, and delete one with all that belongs to it."""

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Protocol

from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.base.id import UUID
from langgraph.checkpoint.serde.types import INTERRUPT

from agent.assistants.common.own_documents import PAPERS, SAMPLE_PAPERS
from agent.core.errors import AgentError
from agent.core.strings import one_line
from agent.knowledge.base import KnowledgeBase
from agent.knowledge.types import Scope
from agent.runs.engine import OWNER
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import RunLog
from agent.runs.shares import Shares
from agent.runs.sql import ThreadSize
from agent.runs.threads import Saver
from agent.runs.workspace_store import WorkspaceStore

_UUID_EPOCH = datetime(1582, 10, 15, tzinfo=UTC)
_TITLE = 80


@dataclass(frozen=True)
class ThreadSummary:
    """Describe a thread as a list shows it."""

    thread_id: str
    title: str
    """Its first question, shortened."""
    assistant: str
    owner: str
    """Whose key it was asked with; empty without keys."""
    status: str
    """`idle`, `waiting` for a person, or `interrupted`."""
    updated_at: str
    turns: int
    kilobytes: int


class StoredThreads(Protocol):
    """Read what a saver holds of all threads."""

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None: ...

    async def overview(self) -> Sequence[ThreadSize]: ...


class ThreadRemains:
    """Hold what threads have outside their rows: paid replies, what they read, papers, shares."""

    def __init__(
        self,
        threads: StoredThreads,
        reply_cache: ReplyCache,
        workspace: WorkspaceStore,
        shares: Shares,
        *,
        papers: Path,
        knowledge: Callable[[], KnowledgeBase],
    ) -> None:
        self._threads, self._reply_cache, self._workspace = threads, reply_cache, workspace
        self._shares = shares
        self._papers, self._knowledge = papers, knowledge

    async def forget(self, thread_id: str, values: Mapping[str, Any] | None = None) -> None:
        """Remove what a thread has that no other thread shows; `values` if they are known."""
        if values is None:
            saved = await self._threads.aget_tuple(_config(thread_id))
            values = saved.checkpoint["channel_values"] if saved else {}
        if turn_id := (values.get("turn") or {}).get("id"):
            await self._reply_cache.forget(turn_id)
        await self._workspace.forget(thread_id)
        if mine := set(_papers(values)):
            await self._remove_papers(mine - await self._cited_by_others(thread_id))
        # The last, just before the thread's own rows: who shares meanwhile looks for them then.
        await self._shares.forget(thread_id)

    async def forget_uncited(self, days: int, now: datetime) -> None:
        """Remove what no thread has and that was kept here so many days ago: papers, what was read.

        Where several machines delete, one of them deletes the thread and each its own files.
        """
        until = (now - timedelta(days=days)).timestamp()
        threads = {size.thread_id for size in await self._threads.overview()}
        await self._workspace.forget_unused(until, threads)
        if not await asyncio.to_thread(_has_older, self._papers, until):
            return
        cited = await self._cited_by_others("")
        documents = await self._knowledge().documents(Scope((PAPERS, SAMPLE_PAPERS)))
        urls = {
            document["url"]
            for document in documents
            if document["url"]
            and document["url"] not in cited
            and _is_older(self._path(document["sha256"]), until)
        }
        await self._remove_papers(urls)

    async def _cited_by_others(self, thread_id: str) -> set[str]:
        cited: set[str] = set()
        for size in await self._threads.overview():
            if size.thread_id != thread_id:
                saved = await self._threads.aget_tuple(_config(size.thread_id))
                cited |= set(_papers(saved.checkpoint["channel_values"])) if saved else set()
        return cited

    async def _remove_papers(self, urls: set[str]) -> None:
        """Remove papers by the addresses they were fetched from, with their files."""
        if not urls:
            return
        knowledge = self._knowledge()
        documents = await knowledge.documents(Scope((PAPERS, SAMPLE_PAPERS)))
        gone = [document for document in documents if document["url"] in urls]
        kept = {document["sha256"] for document in documents if document not in gone}
        await knowledge.delete([document["id"] for document in gone])
        for sha256 in {document["sha256"] for document in gone} - kept:
            await asyncio.to_thread(self._path(sha256).unlink, missing_ok=True)

    def _path(self, sha256: str) -> Path:
        return self._papers / f"{sha256}.pdf"


class ThreadArchive:
    """Hold what is stored of threads in one place: checkpoints, runs, and their evidence."""

    def __init__(self, saver: Saver, runs: RunLog, evidence: ThreadRemains) -> None:
        self._saver, self._runs, self._evidence = saver, runs, evidence

    async def summaries(self, *, limit: int, owner: str | None = None) -> list[ThreadSummary]:
        """Return the threads that were worked on last; with `owner` those of one key."""
        found: list[ThreadSummary] = []
        for size in await self._saver.overview():
            if len(found) == limit:
                break
            summary = await self._summary(size)
            if summary is not None and owner in (None, summary.owner):
                found.append(summary)
        return found

    async def values(self, thread_id: str) -> dict[str, Any]:
        """Return a thread's last values; raise AgentError where there is no such thread."""
        saved = await self._saver.aget_tuple(_config(thread_id))
        if saved is None:
            raise AgentError(f"There is no thread {thread_id} here.")
        return dict(saved.checkpoint["channel_values"])

    async def is_worked_on(self, thread_id: str) -> bool:
        """Return whether a living process works on a run of the thread."""
        return await self._runs.is_worked_on(thread_id)

    async def older_than(self, days: int, now: datetime) -> list[str]:
        """Return the threads on which nobody has worked for so many days, the oldest first."""
        until = now - timedelta(days=days)
        sizes = await self._saver.overview()
        return [size.thread_id for size in reversed(sizes) if _time(size.last) < until]

    async def forget_uncited(self, days: int, now: datetime) -> None:
        """Remove what is that old and belongs to no thread any more."""
        await self._evidence.forget_uncited(days, now)

    async def delete(self, thread_id: str) -> None:
        """Remove a thread with its runs, replies and the papers that no other thread cites.

        Raises AgentError where there is none, or a run works on it.
        """
        values = await self.values(thread_id)
        if await self.is_worked_on(thread_id):
            raise AgentError(f"A run works on {thread_id}: stop it first.")
        await self._evidence.forget(thread_id, values)
        await self._runs.forget(thread_id)
        await self._saver.adelete_thread(thread_id)
        await self._saver.give_back()

    async def _summary(self, size: ThreadSize) -> ThreadSummary | None:
        saved = await self._saver.aget_tuple(_config(size.thread_id))
        if saved is None:
            return None
        values = saved.checkpoint["channel_values"]
        questions = [m for m in values.get("messages") or [] if isinstance(m, HumanMessage)]
        waits = any(channel == INTERRUPT for _, channel, _ in saved.pending_writes or [])
        return ThreadSummary(
            thread_id=size.thread_id,
            title=one_line(str(questions[0].text))[:_TITLE] if questions else "",
            assistant=_assistant(values),
            owner=str(saved.metadata.get(OWNER) or ""),
            status="waiting" if waits else "idle" if _ended(values) else "interrupted",
            updated_at=saved.checkpoint["ts"],
            turns=len(questions),
            kilobytes=round(size.bytes / 1000),
        )


def _config(thread_id: str) -> RunnableConfig:
    return RunnableConfig(configurable={"thread_id": thread_id})


def _has_older(papers: Path, until: float) -> bool:
    return papers.is_dir() and any(_is_older(path, until) for path in papers.glob("*.pdf"))


def _is_older(path: Path, until: float) -> bool:
    return path.exists() and path.stat().st_mtime < until


def _time(checkpoint_id: str) -> datetime:
    """Return when a checkpoint was made, which its id tells."""
    return _UUID_EPOCH + timedelta(microseconds=UUID(checkpoint_id).time / 10)


def _ended(values: Mapping[str, Any]) -> bool:
    messages = values.get("messages") or []
    return bool(messages) and not isinstance(messages[-1], HumanMessage)


def _assistant(values: Mapping[str, Any]) -> str:
    for message in reversed(values.get("messages") or []):
        if isinstance(message, BaseMessage) and (
            name := message.additional_kwargs.get("assistant")
        ):
            return str(name)
    return ""


def _papers(values: Mapping[str, Any]) -> Iterator[str]:
    """Yield the addresses of the papers that a thread's turns have downloaded."""
    rows = list(values.get("downloaded_papers") or [])
    for message in values.get("messages") or []:
        if isinstance(message, BaseMessage):
            rows += message.additional_kwargs.get("papers") or []
    for row in rows:
        if isinstance(row, Mapping) and row.get("url") and not row.get("error"):
            yield str(row["url"])
