"""Hold what the steps of one task share: its services, records, and asking a source."""

import logging
import time
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.tools import BaseTool

from agent.assistants.common.gaps import run_gap
from agent.assistants.common.inside_words import KeptInside
from agent.assistants.common.search import belongs_on_map
from agent.assistants.common.services import Services
from agent.assistants.common.toolbox import Known, Toolbox, ToolPolicy
from agent.assistants.common.workspace import Workspace
from agent.assistants.plan_execute.documents import WEB_OFF, documents_of, source_name
from agent.assistants.plan_execute.state import Task
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.concurrency import SingleFlight
from agent.core.errors import AgentError, BudgetExceeded
from agent.core.faults import contained
from agent.core.progress import Emit, EventType, ProgressEvent, event
from agent.evidence.types import Gap
from agent.evidence.vocabulary import limiting_cities
from agent.mcp.records import MapResult
from agent.search.documents import Documents
from agent.search.hits import rule_gaps
from agent.search.rules import rules_of
from agent.state import Turn
from agent.texts import Language, reason_of, say

NODE = "execute"
REQUIRED = ("wikipedia", "openalex", "semantic_scholar", "tavily")
"""Searched for every task."""
OPTIONAL = ("sec_edgar", "akshare")
"""Looked up where the model decides so, as is the map."""


_CALLS_OF_A_TASK = 1000
"""More than a task makes: its calls are numbered from here on."""


@dataclass
class Shared:
    """Hold what the executors of a run share."""

    flights: SingleFlight = field(default_factory=SingleFlight)
    """Equal searches at the same time."""
    inside: KeptInside | None = None
    """What no query may take outside."""
    papers_told: set[str] = field(default_factory=set)
    """Papers whose download was told already, by their URLs."""


@dataclass
class ExecutorRun:
    """Hold services, account, progress and options of one executor."""

    task: Task
    turn: Turn
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit
    workspace: Workspace
    off: Mapping[str, str]
    """Why a source is off, by its name."""
    shared: Shared = field(default_factory=Shared)
    known: Known = field(default_factory=Known)
    """The places that earlier tasks and turns have shown; the map's calls may name them."""
    map_result: MapResult = field(default_factory=MapResult)
    """What the map has brought to this task."""
    map_calls: int = 0
    maps: list[BaseTool] | None = None
    """The map's tools, once they were asked for; none where it cannot be had."""

    @property
    def language(self) -> Language:
        return self.turn["language"]

    @property
    def number(self) -> str:
        """Return `2` of the task T2."""
        return self.task["id"].removeprefix("T")

    @property
    def wants_maps(self) -> bool:
        """Return whether the map's tools belong to this task, and are available."""
        planned = self.task.get("sources")
        said = None if planned is None else "map" in planned
        texts = (self.turn["question"], self.task["query"])
        return belongs_on_map(self.configuration.geo_routing, said, texts)

    @property
    def map_turn(self) -> Turn:
        """Return the turn as the map is asked: a task that names its city is looked for there."""
        query = self.task["query"]
        return Turn(**{**self.turn, "question": query}) if limiting_cities(query) else self.turn

    def toolbox(self, names: Mapping[str, str]) -> Toolbox:
        """Return what makes the map's calls; ids of its records are `a2000-0` … in task T2.

        `names` are those of positions that the model has located.
        """
        known = replace(
            self.known,
            places=[*self.known.places, *self.map_result.places],
            names={**self.known.names, **names},
        )
        number = _CALLS_OF_A_TASK * int(self.number) + self.map_calls
        return Toolbox(
            self.services, self.configuration, self.map_turn, self.meter, self._emit_as_task,
            ToolPolicy(NODE, maps=True), known, numbers={"map": number},
        )  # fmt: skip

    def take(self, found: MapResult) -> None:
        """Take up what one call of the map has brought."""
        self.map_calls += 1
        whole = self.map_result
        whole.places += found.places
        whole.routes += found.routes
        whole.weather += found.weather
        whole.sources += found.sources
        whole.rejected += found.rejected

    def _emit_as_task(self, told: ProgressEvent) -> None:
        self.emit(ProgressEvent(**{**told, "id": self.task["id"]}))

    def tell(self, kind: EventType, text: str, **more: Any) -> None:
        """Emit a progress event of this task."""
        self.emit(event(kind, NODE, id=self.task["id"], text=text, **more))

    def tell_searching(self, source: str, query: str) -> float:
        """Emit that a source is asked; return the moment."""
        self.tell("search_started", f"{source_name(source, self.language)}: {query}")
        return time.monotonic()

    def tell_searched(self, source: str, query: str, count: int, began: float) -> None:
        text = f"{source_name(source, self.language)}: {query}"
        self.tell("search_done", text, count=count, seconds=time.monotonic() - began)


log = logging.getLogger(__name__)


def sources_off(services: Services, configuration: Configuration) -> dict[str, str]:
    """Return why sources are off in this run, by name; the log is told, not the reader."""
    off = dict(services.library().off(configuration.research_model))
    if configuration.web_search == "off":
        off["tavily"] = WEB_OFF
    for name, why in off.items():
        log.info("%s: %s is off: %s", NODE, name, why)
    return off


async def ask_source(run: ExecutorRun, source: str, query: str) -> tuple[Any, list[Gap]]:
    """Return the raw result of a source, or the gaps where it failed.

    Nobody words the query of a task anew: what own documents alone have is left out of it.
    """
    if run.shared.inside is not None and not (query := await run.shared.inside.without(query)):
        return [], []
    began = run.tell_searching(source, query)
    value: Any = []
    gaps: list[Gap] = []
    try:
        # Tasks may want the same at the same time; one after another, the reply cache has it.
        with contained(source):
            value = await run.shared.flights.do(
                f"{source} {query}", lambda: _search_source(run, source, query)
            )
        if isinstance(value, Documents):
            gaps = rule_gaps(query, source, value, run.language)
    except AgentError as error:
        gaps = [_gap(run, source, query, error)]
        log.warning("turn=%s %s %s: %s", run.turn["id"], run.task["id"], source, error)
    run.tell_searched(source, query, len(documents_of(value, source)), began)
    return value, gaps


async def _search_source(run: ExecutorRun, source: str, query: str) -> Any:
    return await run.services.library().search(
        source,
        query,
        meter=run.meter,
        model=run.configuration.research_model,
        choice=run.configuration.web_search,
        rules=rules_of(run.configuration),
        today=run.turn["today"],
    )


def _gap(run: ExecutorRun, source: str, query: str, error: Exception) -> Gap:
    values = {"source": source_name(source, run.language), "reason": _reason(run, error)}
    gap = run_gap(
        "plan_execute.source_failed", run.language, query=query, provider=source, **values
    )
    if isinstance(error, AgentError):
        gap["code"] = error.code
    if isinstance(error, BudgetExceeded):
        gap["message"] = reason_of(error, run.language)
    return gap


def _reason(run: ExecutorRun, error: Exception) -> str:
    if isinstance(error, AgentError):
        return reason_of(error, run.language)
    return say("plan_execute.defect", run.language)
