"""Does what a speaker asked for: all calls of its message at once, each with its own outcome."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, cast

from langchain_core.messages import AIMessage, AnyMessage
from langgraph.runtime import Runtime

from agent.assistants.team_answer.doing import NODE, Doing, short
from agent.assistants.team_answer.jobs import Job, Planner
from agent.assistants.team_answer.ledger import Ledger
from agent.assistants.team_answer.searching import engines_of, results_text, shortened
from agent.assistants.team_answer.state import TeamState, TeamUpdate, TraceEntry
from agent.assistants.team_answer.tool_wording import say
from agent.assistants.team_answer.toolbox import TeamServices, settings_of
from agent.assistants.team_answer.tools import CODE, offers_maps
from agent.configuration import Configuration
from agent.evidence.types import Gap
from agent.language import Language
from agent.mcp.types import Survey
from agent.nodes.prompt_size import prompt_tokens
from agent.nodes.searching import Brought
from agent.nodes.toolbox import meter_of
from agent.progress import event
from agent.prompts import element
from agent.state import PlannedQuery, replaced

_LEAST_TOKENS = 200


async def use_tools(
    state: TeamState, runtime: Runtime[Configuration], *, services: TeamServices
) -> TeamUpdate:
    """Answers every call of the last pending message; a failure is an answer, never raised."""
    given, configuration = services(), settings_of(runtime)
    engines = engines_of(given.web, configuration, state["turn"])
    runner = await given.code_runner()
    planner = Planner(
        pool=state.get("evidence_pool", []),
        offered=[*engines.services, *([CODE] if runner else [])],
        maps=offers_maps(state, configuration),
        language=state["turn"]["language"],
    )
    doing = Doing(
        given=given,
        configuration=configuration,
        turn=state["turn"],
        speaker=state["speaker"] or "researcher",
        meter=meter_of(state, configuration, given),
        emit=runtime.stream_writer,
        engines=engines,
        runner=runner,
        planner=planner,
    )
    jobs = planner.jobs(cast(AIMessage, state["pending"][-1]))
    await asyncio.gather(*(doing.do(job) for job in jobs if job.is_open))
    return _Settling(state, doing, Ledger(state.get("sources_gathered", []))).update(jobs)


@dataclass
class _Settling:
    """Enters what came of the jobs, in the order of the calls, so that ids are the same again."""

    state: TeamState
    doing: Doing
    ledger: Ledger
    gaps: list[Gap] = field(default_factory=list)

    @property
    def language(self) -> Language:
        return self.state["turn"]["language"]

    def _settle(self, job: Job) -> None:
        if job.twin is not None:
            job.text, job.source_ids = job.twin.text, list(job.twin.source_ids)
            if job.twin.failed:
                job.failed, job.hint = True, ""
        elif job.id in self.doing.brought:
            self._settle_search(job, self.doing.brought[job.id])
        elif job.id in self.doing.surveys:
            self._settle_map(job, self.doing.surveys[job.id])
        if job.kind == "search" and job.cached:
            self.doing.tell("search_done", job, job.asked, count=len(job.source_ids), seconds=0.0)

    def _settle_search(self, job: Job, brought: Brought) -> None:
        self.gaps += brought.gaps
        if brought.failure:
            job.fail(self._failure(job, brought))
            return
        ids = self.ledger.add_hits(job.id, brought)
        job.source_ids = list(dict.fromkeys(ids))
        job.text = results_text(job.id, job.call["name"], brought, ids, self.language)

    def _failure(self, job: Job, brought: Brought) -> str:
        """Why there is nothing, and what else the model can do."""
        failing = {gap["provider"] for gap in (*self.state.get("gaps", []), *brought.gaps)}
        spent = any(gap["code"].startswith("budget_") for gap in brought.gaps)
        others = [
            name
            for name, service in self.doing.engines.services.items()
            if name != job.call["name"] and service.name not in failing and not spent
        ]
        reason = brought.failure.rstrip("。.")
        if not others:
            return say("no_tools", self.language, reason=reason)
        return say("other_tools", self.language, reason=reason, tools=", ".join(others))

    def _settle_map(self, job: Job, survey: Survey) -> None:
        self.gaps += survey.gaps
        ids = self.ledger.add_survey(survey)
        for new, known in ids.items():
            job.text = job.text.replace(f"[^{new}]", f"[^{known}]")
        job.source_ids = list(dict.fromkeys(ids.values()))
        for records in (survey.places, survey.routes, survey.weather):
            told = cast(list[Any], records)
            told[:] = [each for each in told if ids.get(each["source"]) == each["source"]]

    def update(self, jobs: Sequence[Job]) -> TeamUpdate:
        """What the step leaves in the state."""
        for job in jobs:
            self._settle(job)
        state, round_ = self.state, len(self.state.get("transcript", [])) + 1
        done = [job for job in jobs if job.kind is not None]
        shown = self._shown(jobs)
        notes = [job.note(shown[id(job)]) for job in done]
        answers: list[AnyMessage] = [job.message(shown[id(job)]) for job in jobs]
        asked = [job.asked for job in done if job.kind == "search" and not job.cached]
        surveys = self.doing.surveys.values()
        return TeamUpdate(
            pending=[*state["pending"], *answers],
            pending_tools=[*state.get("pending_tools", []), *notes],
            tool_rounds=state.get("tool_rounds", 0) + 1,
            evidence_pool=[job.evidence(self.doing.speaker, round_) for job in done],
            reasoning_trace=[self._trace(jobs, round_)],
            queries=[PlannedQuery(query=query, map=None, round=round_) for query in asked],
            sources_gathered=replaced(self.ledger.sources),
            places=[place for survey in surveys for place in survey.places],
            routes=[route for survey in surveys for route in survey.routes],
            weather=[weather for survey in surveys for weather in survey.weather],
            gaps=self._new_gaps(),
            usage=self.doing.meter.usage,
        )

    def _shown(self, jobs: Sequence[Job]) -> dict[int, str]:
        """What the speaker reads of each job: whole results share what its prompt can hold."""
        limit = self.doing.configuration.context_token_limit
        free = (limit - prompt_tokens(self.state["pending"])) // 2
        share = max(_LEAST_TOKENS, free // max(len(jobs), 1))
        shown = {}
        for job in jobs:
            text = job.text
            if job.kind == "code":
                text = element("output", text, id=job.id)
            parts = [job.hint] if job.twin and job.hint else [job.hint, text]
            whole = "\n".join(part for part in parts if part)
            shown[id(job)] = shortened(whole, share, self.language)
        return shown

    def _new_gaps(self) -> list[Gap]:
        """Each reason of each provider once in a turn; a spent budget is nobody's own."""
        known, fresh = {_reason(gap) for gap in self.state.get("gaps", [])}, []
        for gap in (*self.gaps, *self.doing.gaps):
            if _reason(gap) not in known:
                known.add(_reason(gap))
                fresh.append(gap)
                self.doing.emit(event("gap", NODE, text=gap["message"], speaker=self.doing.speaker))
        return fresh

    def _trace(self, jobs: Sequence[Job], round_: int) -> TraceEntry:
        lines = [f"{job.id or '-'} {job.call['name']}: {short(job.asked)}" for job in jobs]
        return TraceEntry(
            step=NODE,
            text="\n".join(lines),
            speaker=self.doing.speaker,
            round=round_,
            tools=[job.call["name"] for job in jobs],
        )


def _reason(gap: Gap) -> tuple[str, str]:
    budget = gap["code"].startswith("budget_")
    return "" if budget else gap["provider"], gap["code"]
