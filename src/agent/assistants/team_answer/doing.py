"""Asks outside for what a message's calls want: searches, the map, programs."""

import time
from dataclasses import dataclass, field
from typing import Any

from agent.assistants.team_answer.jobs import Job, Planner
from agent.assistants.team_answer.searching import Engines
from agent.assistants.team_answer.speakers import Speaker
from agent.assistants.team_answer.tool_wording import sandbox_gap, say
from agent.assistants.team_answer.toolbox import TeamToolbox
from agent.budget import Meter
from agent.configuration import Configuration
from agent.errors import AgentError
from agent.evidence.types import Gap
from agent.language import Language
from agent.mcp.messages import map_gap
from agent.mcp.types import MapOptions, Survey
from agent.nodes.searching import Brought, ask_services
from agent.progress import Emit, EventType, event
from agent.sandbox.types import CodeResult, CodeRunner
from agent.state import Turn
from agent.strings import valid_text

NODE = "use_tools"
_LINE = 80


@dataclass
class Doing:
    """Does jobs at once; what they brought is kept by the job's id until it is settled."""

    given: TeamToolbox
    configuration: Configuration
    turn: Turn
    speaker: Speaker
    meter: Meter
    emit: Emit
    engines: Engines
    runner: CodeRunner | None
    planner: Planner
    gaps: list[Gap] = field(default_factory=list)
    brought: dict[str, Brought] = field(default_factory=dict)
    surveys: dict[str, Survey] = field(default_factory=dict)

    async def do(self, job: Job) -> None:
        if job.kind == "search":
            await self._search(job)
        elif job.kind == "map":
            await self._ask_map(job)
        else:
            await self._run_code(job)

    async def _search(self, job: Job) -> None:
        began = time.monotonic()
        self.tell("search_started", job, job.asked)
        service = self.engines.services[job.call["name"]]
        model = self.configuration.research_model
        brought = await ask_services(
            job.asked, [service], turn=self.turn, model=model, meter=self.meter
        )
        self.brought[job.id] = brought
        seconds = time.monotonic() - began
        self.tell("search_done", job, job.asked, count=len(brought.hits), seconds=seconds)

    async def _ask_map(self, job: Job) -> None:
        turn, survey = self.turn, Survey()
        options = MapOptions(prefix=job.id, language=turn["language"], near=turn["near"])
        self.surveys[job.id] = survey
        try:
            maps = await self.given.maps.tools(
                survey,
                turn["question"],
                options=options,
                meter=self.meter,
                tell=lambda asked: self.tell("map_call", job, asked),
            )
        except AgentError as error:
            gap = map_gap(error, job.asked, turn["language"])
            survey.gaps.append(gap)
            job.fail(gap["message"])
            return
        names = [tool.name for tool in maps.tools]
        if job.call["name"] not in names:
            job.refuse(self.planner.no_such_tool(job.call["name"], names))
            return
        answer = await maps.call(job.call)
        job.text, job.failed = str(answer.text), answer.status == "error"

    async def _run_code(self, job: Job) -> None:
        began = time.monotonic()
        assert self.runner is not None
        try:
            result = await self.runner.run(job.asked)
        except AgentError as error:
            gap = sandbox_gap(error, self.turn["language"])
            self.gaps.append(gap)
            job.fail(gap["message"])
        else:
            job.text, job.failed = outcome_text(result, self.turn["language"]), bool(result.error)
        told = f"{short(job.asked)} ⇒ {short(job.text)}"
        self.tell("code", job, told, seconds=time.monotonic() - began)

    def tell(self, kind: EventType, job: Job, text: str, **more: Any) -> None:
        self.emit(event(kind, NODE, id=job.id, text=text, speaker=self.speaker, **more))


def outcome_text(result: CodeResult, language: Language) -> str:
    """What a program printed or came to, then its error."""
    parts = [result.output.rstrip("\n")]
    if result.truncated:
        parts.append(say("truncated", language))
    parts.append(result.error)
    return valid_text("\n".join(part for part in parts if part)) or say("no_output", language)


def short(text: str) -> str:
    """One line of at most 80 characters."""
    line = " ".join(text.split())
    return line if len(line) <= _LINE else line[: _LINE - 1] + "…"
