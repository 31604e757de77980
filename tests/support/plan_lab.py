"""A dossier in one process: scripted models, and made-up sources, papers and a web on loopback."""

import re
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from aiohttp.typedefs import Middleware
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.common.services import Services
from agent.assistants.plan_execute.state import PlanConfiguration
from agent.core.concurrency import Lazy
from agent.runs.reply_cache import ReplyCache
from agent.runs.workspace_store import WorkspaceStore
from agent.sample.model.request import FunctionCall, ModelReply, ModelTurn
from agent.sample.model.text import block, lines
from agent.sample.services.loopback import Service
from agent.sample.services.search import KEY
from agent.services import build_papers, build_reader, build_services
from agent.settings import Settings
from tests.support.long_lab import MODEL_KEY, LongLab, ModelByTask, Rule, Web, says_json
from tests.support.plan_knowledge import MemoryKnowledge, With
from tests.support.plan_sources import HOST, PAGES, PaperPages, articles, companies, papers
from tests.support.served import Served, serving
from tests.support.standins import (
    GeminiService,
    OpenAlexService,
    SecService,
    SemanticScholarService,
    TavilyService,
    WikipediaService,
)

ZH = "青岚公司钠离子电池的技术路线与同行相比如何"
EN = "How does Qinglan's sodium battery technology compare with its peers?"
CONTACT = "Plan Lab lab@example.org"
_TASK = re.compile(r'<task id="([^"]+)" query="([^"]*)">(.*?)</task>', re.DOTALL)
_MARKED = re.compile(r"\[\^([\w-]+)\]")


class Planner(ModelByTask):
    """Plans `tasks` and writes faithfully from what it gets.

    A task is a query, a query and dependencies, or all its keys but the id.
    """

    def __init__(self, *tasks: str | tuple[str, list[str]] | dict[str, Any], **rules: Rule) -> None:
        self.own_documents = self.only_words = ""
        self.tasks = tasks or ("青岚公司 钠离子电池 技术路线", "钠离子电池 同行 比较")
        defaults: dict[str, Rule] = {
            "plan_tasks": self.plan,
            "task_queries": says_json(queries=[]),
            "execute_decide": lambda turn: ModelReply(text="不需要。"),
            "rewrite_headings": rewrite,
            "dossier": dossier,
        }
        super().__init__(**defaults | rules)

    def plan(self, turn: ModelTurn) -> ModelReply:
        tasks = [{"id": f"T{n}", **_keys(t)} for n, t in enumerate(self.tasks, 1)]
        own = {"own_documents": self.own_documents, "only_words": self.only_words}
        return ModelReply(json={"tasks": tasks, **own})


def _keys(task: str | tuple[str, list[str]] | dict[str, Any]) -> dict[str, Any]:
    if isinstance(task, dict):
        return {"dep": [], **task}
    query, dep = task if isinstance(task, tuple) else (task, [])
    return {"query": query, "dep": dep}


def planned(*tasks: tuple[str, str, list[str]]) -> ModelReply:
    """A plan of these ids, queries and dependencies."""
    return ModelReply(json={"tasks": [{"id": i, "query": q, "dep": dep} for i, q, dep in tasks]})


def rewrite(turn: ModelTurn) -> ModelReply:
    return ModelReply(json={"questions": [f"{h}是什么" for h in lines(turn.user, "headings")[:3]]})


def dossier(turn: ModelTurn) -> ModelReply:
    """Every task's documents as a list, then the passages, then the figures."""
    parts = ["# 资料汇编", "## 摘要", "见下。"]
    for _, query, text in _TASK.findall(turn.user):
        parts += [f"## {query}", *_items(text)]
    for name in ("documents", "passages", "figures", "places"):
        parts += _items(block(turn.user, name))
    return ModelReply(text="\n\n".join(parts))


def _items(text: str) -> list[str]:
    return [
        f"- {_MARKED.sub('', line).strip()} [^{name}]"
        for line in text.strip().splitlines()
        for name in _MARKED.findall(line)[:1]
    ]


def looks_up(name: str, **arguments: Any) -> Rule:
    """A rule that calls a tool once in each task, where it is offered."""

    def rule(turn: ModelTurn) -> ModelReply:
        if turn.tool_results or not any(tool.name == name for tool in turn.tools):
            return ModelReply(text="够了。")
        return ModelReply(calls=(FunctionCall(name, arguments),))

    return rule


class World(Served):
    """The stand-ins, which outlive every process; each is an attribute of its name."""

    def __getattr__(self, name: str) -> Any:
        if name not in self.services:
            raise AttributeError(name)
        return self.services[name]

    @property
    def llm(self) -> Any:
        return self.services["gemini"].llm

    def clear(self) -> None:
        """No faults, empty logs."""
        for service in self.services.values():
            service.faults.clear()
            service.requests.clear()

    def asked(self, name: str) -> int:
        """How many requests a stand-in got, robots.txt aside."""
        return sum(request.path != "/robots.txt" for request in self.requests(name))

    def settings_with(self, **changes: Any) -> Settings:
        contact = dict.fromkeys(("wikipedia_user_agent", "sec_user_agent"), CONTACT)
        more = {"semantic_scholar_qps": 100, "search_timeout_seconds": 60}
        given = Settings(**{**self.settings, **contact, **more, **changes})
        # No operator may ask the SEC more often than it allows; its stand-in does not mind.
        return given.model_copy(update={"sec_edgar_qps": 1000})


@contextmanager
def running_world(
    llm: Any = None,
    *,
    web: Web | None = None,
    middleware: Callable[[str], Middleware] | None = None,
) -> Iterator[World]:
    """Every stand-in, running; each behind the middleware of its name."""
    pages = web or Web(count=2)
    services: list[Service] = [
        GeminiService(llm or Planner(), key=MODEL_KEY),
        TavilyService(key=KEY, pages=pages),
        WikipediaService(articles=articles),
        OpenAlexService(key=KEY, papers=papers("oa")),
        SemanticScholarService(key=KEY, papers=papers("s2")),
        SecService(companies=companies),
        PaperPages(pages.known),
    ]
    if middleware:
        for service in services:
            service.app.middlewares.insert(0, middleware(service.name))
    with serving(*services) as served:
        yield World(served.services, served.urls)


@dataclass(kw_only=True)
class PlanLab(LongLab):
    """The graph, its services, and the world around them."""

    world: World
    question, configuration, durability = ZH, PlanConfiguration, "sync"

    @property
    def llm(self) -> Any:
        return self.world.llm

    def configured(self, **context: Any) -> PlanConfiguration:
        return PlanConfiguration(**{"geo_routing": "never", **self.context, **context})


@asynccontextmanager
async def plan_process(
    world: World,
    *,
    reply_cache: Path | None = None,
    saver: Any = None,
    knowledge: Any = None,
    real: bool = False,
    **settings: Any,
) -> AsyncIterator[PlanLab]:
    """The graph as a process of its own would have it.

    `real` has the process's own knowledge base, which reads each PDF in a process of its own.
    """
    from agent.assistants.plan_execute.graph import build_graph

    async with AsyncExitStack() as stack:
        kept = ReplyCache(reply_cache) if reply_cache else None
        held_pages = WorkspaceStore(reply_cache) if reply_cache else None
        built = build_services(
            world.settings_with(**settings), reply_cache=kept, workspace=held_pages
        )
        services = _reading(built, world)
        stack.push_async_callback(services.aclose)
        held = services.knowledge() if real else knowledge or MemoryKnowledge()
        with_own: Any = With(services, knowledge=Lazy(lambda: held))
        graph = build_graph(lambda: with_own).compile(checkpointer=saver or InMemorySaver())
        yield PlanLab(services=with_own, graph=graph, world=world)


def _reading(services: Services, world: World) -> Services:
    """The site of papers, and that of pages, is found under its name."""
    built = (services.settings, services.calls, services.hosts)
    reader = build_reader(*built, origins={PAGES: world.urls["site"]})
    shelf = build_papers(*built, origins={HOST: world.urls["site"]})
    return replace(services, papers=Lazy(lambda: shelf), reader=Lazy(lambda: reader))


@asynccontextmanager
async def plan_laboratory(
    llm: Any = None, *, web: Web | None = None, saver: Any = None, **settings: Any
) -> AsyncIterator[PlanLab]:
    """A world and one process in it."""
    with running_world(llm, web=web) as world:
        async with plan_process(world, saver=saver, **settings) as lab:
            yield lab
