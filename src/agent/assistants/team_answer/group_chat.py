"""One step of the discussion: somebody is chosen and speaks, or calls tools before they do."""

import asyncio
import logging
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime

from agent.assistants.common.budget import Share, meter_of, share_spent
from agent.assistants.common.gaps import gap_of, run_gap
from agent.assistants.common.services import GetServices, Services
from agent.assistants.team_answer.engine import Chat, GroupChatEngine, engine
from agent.assistants.team_answer.speakers import (
    ends_discussion,
    next_in_turn,
    select_prompt,
    spoken,
    turn_prompt,
    updated_hypotheses,
    verdict_of,
    without_ending,
    without_signals,
)
from agent.assistants.team_answer.state import (
    ChatTurn,
    Speaker,
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.tools import Offered, offered_tools
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError, BudgetExceeded, ConfigurationError, MalformedReply
from agent.core.progress import Emit, event
from agent.evidence.citations import MARKER
from agent.evidence.types import Gap
from agent.texts import say
from agent.texts.language import Language
from agent.texts.reasons import reason_of


def after_group_chat(state: TeamState) -> Literal["group_chat", "use_tools", "synthesize"]:
    """To the tools that were called, to the end, or on with the discussion."""
    if state.get("ended"):
        return "synthesize"
    pending = state.get("pending")
    last = pending[-1] if pending else None
    return "use_tools" if isinstance(last, AIMessage) and last.tool_calls else "group_chat"


log = logging.getLogger(__name__)
NODE = "group_chat"
MAX_FAILURES = 3
"""Model calls that may fail in a row."""
_SHARE = Share(kept_calls=3, tokens=0.9, seconds=0.85)
"""Settling the answer and its form takes two calls, and one may have to be repaired."""


async def group_chat(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Never raises for a model or a spent budget: three failures in a row, or the budget, end
    the discussion. Raises ConfigurationError.
    """
    services, configuration = get_services(), configuration_of(runtime)
    # AG2's engine is imported here, which takes a second of CPU: off the event loop.
    chosen_engine = await asyncio.to_thread(engine, configuration.chat_engine)
    meter = meter_of(state, configuration, services)
    return await _Step(
        state, configuration, services, meter, runtime.stream_writer, chosen_engine
    ).run()


@dataclass
class _Step:
    state: TeamState
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit
    engine: GroupChatEngine
    gaps: list[Gap] = field(default_factory=list)
    failures: int = 0

    async def run(self) -> TeamUpdate:
        self.failures = self.state["failures"]
        spent = self.state.get("usage")
        if limit := share_spent(_SHARE, spent, self.configuration, self.meter):
            return self._ended(
                "budget", run_gap("team_answer.chat_budget", self._language, limit=limit)
            )
        speaker: Speaker | None = None
        try:
            speaker = await self._speaker()
            if self.failures < MAX_FAILURES:
                return await self._spoken(speaker)
        except ConfigurationError:
            raise
        except BudgetExceeded as error:
            return self._ended("budget", gap_of("", error, "team_answer", self._language))
        except AgentError as error:
            self._failed(error)
        if self.failures >= MAX_FAILURES:
            gap = run_gap("team_answer.chat_failures", self._language, limit=str(MAX_FAILURES))
            return self._ended("failures", gap)
        return self._update(speaker=speaker, failures=self.failures)

    @property
    def _language(self) -> Language:
        return self.state["turn"]["language"]

    @property
    def _round(self) -> int:
        return len(self.state.get("transcript") or []) + 1

    async def _speaker(self) -> Speaker:
        """Whose turn it is, or who is chosen; the next in turn where the choice fails."""
        if present := self.state.get("speaker"):
            return present
        turns = self.state.get("transcript") or []
        candidates = next_in_turn([turn["speaker"] for turn in turns])
        speaker = candidates[0]
        if turns:
            prompt = select_prompt(self.state, self.configuration, candidates)
            try:
                speaker = (await self.engine.select(self._chat(), prompt, candidates)).speaker
                self.failures = 0
            except (ConfigurationError, BudgetExceeded):
                raise
            except AgentError as error:
                self._failed(error)
        if self.failures < MAX_FAILURES:
            self.emit(event("turn_started", NODE, id=str(self._round), speaker=speaker))
        return speaker

    async def _spoken(self, speaker: Speaker) -> TeamUpdate:
        """What the speaker says: calls of tools, or its turn. Raises AgentError."""
        may = self.state["tool_rounds"] < self.configuration.max_tool_rounds
        offered = await self._offered() if may else Offered()
        prompt = turn_prompt(
            self.state, self.configuration, speaker, offered.tools, may_use_tools=may
        )
        message = await self.engine.speak(self._chat(), speaker, prompt, offered.tools)
        text = spoken(str(message.text))
        if message.tool_calls and offered.tools:
            return self._called(speaker, message)
        if message.tool_calls or not text:
            what = "calls tools it was not given" if message.tool_calls else "says nothing"
            raise MalformedReply("model", f"{speaker} {what}", code="model_no_turn")
        return self._said(speaker, text)

    async def _offered(self) -> Offered:
        offered = await offered_tools(self.state, self.configuration, self.services, self.meter)
        for gap in offered.gaps:
            self._tell(gap)
        return offered

    def _called(self, speaker: Speaker, message: AIMessage) -> TeamUpdate:
        pending = [*(self.state.get("pending") or []), message]
        return self._update(speaker=speaker, pending=pending, failures=0)

    def _said(self, speaker: Speaker, text: str) -> TeamUpdate:
        """The turn, in the transcript; the end where the speaker or the limit says so."""
        state, number = self.state, self._round
        verdict = verdict_of(text) if speaker == "verifier" else None
        turn = ChatTurn(
            round=number,
            speaker=speaker,
            text=without_ending(text),
            tools=state.get("pending_tools") or [],
            verdict=verdict,
            ends=ends_discussion(text),
        )
        ended = "terminated" if turn["ends"] else None
        if not ended and number >= self.configuration.max_group_chat_rounds:
            ended = "rounds"
            self._tell(run_gap("team_answer.chat_rounds", self._language, limit=str(number)))
        self.emit(event("turn", NODE, id=str(number), speaker=speaker, text=self._shown(turn)))
        log.info("turn=%s %s %d: %s, %d tools, verdict %s, ended %s",
                 state["turn"]["id"], NODE, number, speaker, len(turn["tools"]), verdict,
                 ended)  # fmt: skip
        update = self._update(
            **_NOBODY, failures=0, transcript=[turn], reasoning_trace=[_trace(turn)], ended=ended
        )
        if speaker == "analyst":
            update["hypotheses"] = updated_hypotheses(text, state.get("hypotheses") or [])
        if verdict:
            update["verified"] = verdict == "agree"
        return update

    def _shown(self, turn: ChatTurn) -> str:
        """What people read of a turn."""
        if text := MARKER.sub("", without_signals(turn["text"])):
            return text
        if turn["verdict"]:
            return say(f"team_answer.verdict_{turn['verdict']}", self._language)
        return say("team_answer.ends", self._language)

    def _failed(self, error: AgentError) -> None:
        """Counts a failed model call, and tells of the first one."""
        self.failures += 1
        log.warning("turn=%s %s: failed call %d: %s",
                    self.state["turn"]["id"], NODE, self.failures, error)  # fmt: skip
        told = [*(self.state.get("gaps") or []), *self.gaps]
        if not any(gap["code"] == "chat_model_failed" for gap in told):
            reason = reason_of(error, self._language)
            self._tell(run_gap("team_answer.chat_model_failed", self._language, reason=reason))

    def _ended(self, reason: str, gap: Gap) -> TeamUpdate:
        """The end before anybody said so; what was found stays in the evidence."""
        self._tell(gap)
        log.info("turn=%s %s: ended by %s", self.state["turn"]["id"], NODE, reason)
        entry = TraceEntry(step=NODE, text=gap["message"], round=self._round)
        return self._update(
            **_NOBODY, failures=self.failures, ended=reason, reasoning_trace=[entry]
        )

    def _tell(self, gap: Gap) -> None:
        self.gaps.append(gap)
        self.emit(event("gap", NODE, text=gap["message"]))

    def _update(self, **values: Any) -> TeamUpdate:
        update = {**values, "gaps": self.gaps, "usage": self.meter.usage}
        return cast(TeamUpdate, update)

    def _chat(self) -> Chat:
        configuration = self.configuration
        return Chat(
            models=self.services.models,
            meter=self.meter,
            language=self._language,
            manager_model=configuration.query_generator_model,
            speaker_models={
                "researcher": configuration.research_model,
                "analyst": configuration.reflection_model,
                "verifier": configuration.reflection_model,
            },
        )


_NOBODY: dict[str, Any] = {"speaker": None, "pending": [], "pending_tools": [], "tool_rounds": 0}
"""The state between two turns."""


def _trace(turn: ChatTurn) -> TraceEntry:
    return TraceEntry(
        step=NODE,
        text=turn["text"],
        speaker=turn["speaker"],
        round=turn["round"],
        tools=[f"{note['tool']}: {note['asked']}" for note in turn["tools"]],
    )
