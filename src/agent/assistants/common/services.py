"""Everything outside that a run uses. The root's `services.py` builds it once per process."""

import logging
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime

from agent.assistants.common.workspace import Workspace, Workspaces
from agent.core.budget import Budgets, Usage
from agent.core.calls import Calls
from agent.core.concurrency import Lazy
from agent.core.errors import AgentError, ConfigurationError, StoreFailed
from agent.core.hosts import Hosts
from agent.core.tracing import Tracing
from agent.knowledge.base import KnowledgeBase
from agent.knowledge.rerank import RerankClient
from agent.mcp.map import Maps
from agent.models.client import ModelClient
from agent.reading.papers import PaperStore
from agent.reading.reader import Reader
from agent.runs.person import PersonMemory
from agent.runs.reply_cache import ReplyCache
from agent.runs.run_log import WishBox
from agent.runs.workspace_store import Room
from agent.sample.server import SampleServices
from agent.sandbox.programs import CodeRunner
from agent.sandbox.select import CodeSandbox
from agent.search.document_sources import DocumentSources
from agent.search.google import resolve_links
from agent.search.web import WebSearch
from agent.settings import Settings
from agent.texts import Language, say

log = logging.getLogger(__name__)
LINK_SECONDS = 2.0
LOOKED_FOR = "GEMINI_API_KEY, GOOGLE_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL"


def no_model() -> ConfigurationError:
    """Return the error of a server that is to be online and has no model."""
    problem = f"No model is configured; looked for {LOOKED_FOR}"
    return ConfigurationError("TANLU_MODE=online", problem, fault="no_model", variables=LOOKED_FOR)


@dataclass(frozen=True)
class Services:
    """Hold the adapters of one process; close them when it ends.

    Those that only some questions use are built by the first that does: `services.reader()`.
    """

    settings: Settings
    mode: str
    models: ModelClient
    web: WebSearch
    maps: Maps
    library: Lazy[DocumentSources]
    reader: Lazy[Reader]
    papers: Lazy[PaperStore]
    reranker: Lazy[RerankClient]
    knowledge: Lazy[KnowledgeBase]
    code: Lazy[CodeSandbox]
    calls: Calls
    hosts: Hosts
    workspaces: Workspaces
    reply_cache: ReplyCache | None = None
    wishes: WishBox | None = None
    persons: PersonMemory | None = None
    sample: SampleServices | None = None
    tracing: Tracing | None = None
    budgets: Budgets = field(default_factory=Budgets)
    clock: Callable[[], datetime] = lambda: datetime.now().astimezone()

    def now(self) -> datetime:
        """Return the present in the machine's time zone."""
        return self.clock()

    def notice(self, language: Language) -> str:
        """Return that this is sample data and what would change it; nothing when online."""
        return self.sample.notice(language, LOOKED_FOR) if self.sample else ""

    def answer_notice(self, question: str, language: Language) -> str:
        """Return the notice before an answer: sample data, and that no model wrote it."""
        if self.sample is None:
            return ""
        how = self.sample.model_notice(question, language)
        return f"{self.notice(language)}{say('punctuation.space', language)}{how}"

    def nothing_found(self, question: str, language: Language) -> str:
        """Return the answer to a question on which no source has anything."""
        if self.sample:
            return self.sample.nothing_found(question, language)
        return say("answer.nothing", language)

    def billed(self, usage: Usage) -> Usage:
        """Return the usage with its cost; sample services cost nothing."""
        return Usage(**{**usage, "cost_usd": 0.0}) if self.sample else usage

    async def links(self, urls: list[str]) -> dict[str, str | None]:
        """Return the target of each redirect link, None where it is not known in two seconds."""
        return await resolve_links(self.web.http, urls, hosts=self.hosts, timeout=LINK_SECONDS)

    async def code_runner(self) -> CodeRunner | None:
        """Return what runs a model's code; None where no safe way exists, then none is run."""
        return await self.code().runner()

    def workspace(self, room: Room) -> Workspace:
        """Return what an owner's turns on a thread have read; `room_of` names the room."""
        return self.workspaces.of(room)

    async def close_turn(self, turn_id: str) -> None:
        """Forget what was kept for a turn that is over."""
        self.budgets.close(turn_id)
        # That of a thread stays for its next turn.
        await self.workspaces.store.close_turn(turn_id)
        if self.reply_cache:
            await self.reply_cache.close_turn(turn_id)
        if self.wishes:
            try:
                await self.wishes.forget(turn_id)
            except (AgentError, StoreFailed) as error:
                log.warning("the wishes of a turn that has ended are not removed: %s", error)

    async def aclose(self) -> None:
        """Close clients and files, end the map server, stop the sample services."""
        if self.code.built:
            await self.code.built.aclose()
        await self.maps.aclose()
        for adapter in (self.reranker.built, self.knowledge.built):
            if adapter:
                await adapter.aclose()
        await self.web.aclose()
        await self.models.aclose()
        if self.reply_cache:
            await self.reply_cache.aclose()
        await self.workspaces.store.aclose()
        if self.wishes:
            await self.wishes.aclose()
        if self.calls.shared:
            await self.calls.shared.aclose()
        if self.tracing:
            await self.tracing.aclose()
        if self.sample:
            self.sample.stop()


GetServices = Callable[[], Services]
"""Called when a node runs, so that building a graph reads no setting."""
