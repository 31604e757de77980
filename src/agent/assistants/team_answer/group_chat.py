"""Take one step of the discussion: choose a speaker, who speaks or calls tools first."""

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.messages.tool import tool_call
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime

from agent.assistants.common.gaps import gap_of, run_gap, stopped_early
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import dropped, new_wishes, wished
from agent.assistants.common.toolbox import CODE
from agent.assistants.common.turn import Share, context_limit, meter_of, room_of, share_spent
from agent.assistants.common.whole_documents import WholeDocuments
from agent.assistants.common.workspace import Workspace
from agent.assistants.team_answer.documents import (
    page_passages,
    searched_scope,
    with_documents,
    with_pages,
)
from agent.assistants.team_answer.engine import Chat, GroupChatEngine, group_chat_engine
from agent.assistants.team_answer.evidence_view import known_sources
from agent.assistants.team_answer.settlement import settled_answer
from agent.assistants.team_answer.speakers import (
    next_by_rules,
    next_in_turn,
    select_prompt,
    turn_prompt,
    updated_hypotheses,
)
from agent.assistants.team_answer.state import (
    ChatTurn,
    Speaker,
    TeamState,
    TeamUpdate,
    ToolEvidence,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.tools import SEARCHES, Offered, offered_tools
from agent.assistants.team_answer.verdict import (
    VERDICT,
    VERDICT_TOOL,
    GivenVerdict,
    agreed_of,
    given_verdict,
    verdict_of,
    without_ending,
    without_signals,
    without_verdict,
)
from agent.assistants.team_answer.verified import defect_of, unread_nearest, value_of_verdict
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError, BudgetExceeded, ConfigurationError, MalformedReply
from agent.core.progress import Emit, event
from agent.evidence.citations import MARKER
from agent.evidence.types import Gap
from agent.runs.run_log import Wish
from agent.state import inner
from agent.texts import Language, reason_of, say


def after_group_chat(state: TeamState) -> Literal["group_chat", "use_tools", "synthesize"]:
    """Return the node that follows: the called tools, the end, or the discussion again."""
    if state.get("ended"):
        return "synthesize"
    pending = state.get("pending")
    last = pending[-1] if pending else None
    return "use_tools" if isinstance(last, AIMessage) and last.tool_calls else "group_chat"


log = logging.getLogger(__name__)
NODE = "group_chat"
MAX_FAILURES = 3
"""Model calls that may fail in a row."""
_SEARCHED_BY_CODE = 3
"""Questions that code searches for where the researcher calls no tools."""
_STALLED_TURNS = 4
"""Turns in a row without new evidence that end the discussion: two rounds."""
_SHARE = Share(kept_calls=3, tokens=0.9, seconds=0.85)
"""Settling the answer and its form takes two calls, and one may have to be repaired."""


async def group_chat(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Take one step; three failures in a row or a spent budget end the discussion.

    Raises ConfigurationError.
    """
    services, configuration = get_services(), configuration_of(runtime)
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    # AG2's engine is imported here, which takes a second of CPU: off the event loop.
    chosen_engine = await asyncio.to_thread(group_chat_engine, configuration.chat_engine)
    meter = meter_of(state, configuration, services)
    steered = _steered(state, wishes)
    read, whole = await with_documents(steered, services, configuration, runtime)
    searched = searched_scope(state, runtime, whole) is not None
    step = _Step(
        read, configuration, services, meter, runtime.stream_writer, chosen_engine, whole,
        services.workspace(room_of(state["turn"], runtime)), searches_own=searched,
    )  # fmt: skip
    update = await step.run()
    if wishes:
        update["wishes"], update["sub_questions"] = wishes, steered["sub_questions"]
    return update


def _steered(state: TeamState, wishes: list[Wish]) -> TeamState:
    """Return the state with new wishes, and without the steps that are not wanted any more."""
    steps = [
        step
        for number, step in enumerate(state["sub_questions"], 1)
        if not dropped(wishes, step, str(number))
    ]
    return cast(TeamState, {**wished(state, wishes), "sub_questions": steps})


@dataclass
class _Step:
    state: TeamState
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit
    engine: GroupChatEngine
    whole: WholeDocuments
    workspace: Workspace
    searches_own: bool
    """Whether own documents are left to be searched."""
    gaps: list[Gap] = field(default_factory=list)
    failures: int = 0
    instruction: str = ""

    async def run(self) -> TeamUpdate:
        self.failures = self.state["failures"]
        self.instruction = self.state.get("instruction", "")
        spent = self.state.get("usage")
        if self.configuration.answer_now:
            return self._end_update("budget", stopped_early(self._language))
        if limit := share_spent(_SHARE, spent, self.configuration, self.meter):
            return self._end_update(
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
            return self._end_update("budget", gap_of("", error, "team_answer", self._language))
        except AgentError as error:
            self._count_failure(error)
        if self.failures >= MAX_FAILURES:
            gap = run_gap("team_answer.chat_failures", self._language, limit=str(MAX_FAILURES))
            return self._end_update("failures", gap)
        return self._update(speaker=speaker, failures=self.failures)

    @property
    def _language(self) -> Language:
        return self.state["turn"]["language"]

    @property
    def _round(self) -> int:
        return len(self.state.get("transcript") or []) + 1

    async def _speaker(self) -> Speaker:
        """Return the present speaker, or the next one: by the rules, or chosen by the chair."""
        if present := self.state.get("speaker"):
            return present
        turns = self.state.get("transcript") or []
        speaker = next_by_rules(turns)
        if self.configuration.chair == "model" and turns:
            speaker = await self._chosen([turn["speaker"] for turn in turns])
        else:
            speaker = await self.engine.follow(speaker, turns[-1]["speaker"] if turns else None)
        if self.failures < MAX_FAILURES:
            self.emit(event("turn_started", NODE, id=str(self._round), speaker=speaker))
        return speaker

    async def _chosen(self, speakers: list[Speaker]) -> Speaker:
        """Return the chair model's choice; the next in turn where it fails."""
        candidates = next_in_turn(speakers)
        prompt = select_prompt(self.state, self.configuration, candidates)
        try:
            selection = await self.engine.select(self._chat(), prompt, candidates)
        except (ConfigurationError, BudgetExceeded):
            raise
        except AgentError as error:
            self._count_failure(error)
            return candidates[0]
        self.failures, self.instruction = 0, selection.instruction
        return selection.speaker

    async def _spoken(self, speaker: Speaker) -> TeamUpdate:
        """Return the speaker's calls of tools, a reminder, or its turn. Raises AgentError."""
        may = self.state["tool_rounds"] < self.configuration.max_tool_rounds and not any(
            isinstance(m, HumanMessage) for m in self._present_reminders()
        )
        offered = await self._offer() if may else Offered()
        if calls := self._first_calls(speaker, offered.tools):
            return self._call_update(speaker, AIMessage("", tool_calls=calls))
        if speaker == "verifier":
            tokens = context_limit(self.state["turn"], self.configuration) // 3
            words = await page_passages(self.state, self.workspace, tokens)
            self.state = with_pages(self.state, words)
        tools = [*offered.tools, *([VERDICT_TOOL] if speaker == "verifier" else [])]
        state = cast(TeamState, {**self.state, "instruction": self.instruction})
        prompt = turn_prompt(
            state, self.configuration, speaker, tools, whole=self.whole, may_use_tools=may
        )
        message = without_verdict(await self.engine.speak(self._chat(), speaker, prompt, tools))
        given = given_verdict(message) if speaker == "verifier" else None
        text = given.lines if given else str(message.text).strip()
        if message.tool_calls and offered.tools and not given:
            return self._call_update(speaker, message)
        if calls := self._calls_by_code(speaker, offered.tools):
            return self._call_update(speaker, AIMessage("", tool_calls=calls))
        if (message.tool_calls and not given) or not text:
            problem = "calls tools it was not given" if message.tool_calls else "says nothing"
            raise MalformedReply("model", f"{speaker} {problem}", code="model_no_turn")
        summed = self._summed(given)
        if speaker == "verifier" and (reminder := self._missing(text, given, summed)):
            return self._remind(message, reminder)
        return self._turn_update(speaker, "\n".join([*self._earlier(text), text]), given, summed)

    def _first_calls(self, speaker: Speaker, tools: Sequence[BaseTool]) -> list[ToolCall]:
        """Return the look-ups that the analysis named, before the researcher is asked at all."""
        state, offered = self.state, [tool.name for tool in tools]
        begun = state.get("transcript") or state.get("pending") or state.get("evidence_pool")
        if speaker != "researcher" or begun or self.failures:
            return []
        # An engine that is not there is asked for by habit: the one that is there looks.
        engine = next((name for name in offered if name in SEARCHES), "")
        named = [
            (engine if look["tool"] in SEARCHES and look["tool"] not in offered else look["tool"],
             look["text"])
            for look in state["analysis"].get("first", [])
        ]  # fmt: skip
        return [
            tool_call(
                name=name,
                args={"code" if name == CODE else "query": text},
                id=f"first-{number}",
            )
            for number, (name, text) in enumerate(dict.fromkeys(named))
            if name in offered
        ]

    def _summed(self, given: GivenVerdict | None) -> list[ToolEvidence]:
        """Return the verifier's own sum as evidence, where its terms are known and it comes out."""
        if given is None or not (value := value_of_verdict(given, self.state)):
            return []
        pool = self.state.get("evidence_pool") or []
        number = sum(each["kind"] == "code" for each in pool)
        sums = ToolEvidence(
            id=f"c{number}", kind="code", tool=CODE, asked=given.formula, text=value,
            source_ids=[], speaker="verifier", round=self._round, cached=False, failed=False,
        )  # fmt: skip
        given.evidence.append(sums["id"])
        return [sums]

    def _calls_by_code(self, speaker: Speaker, tools: Sequence[BaseTool]) -> list[ToolCall]:
        """Return the searches that a researcher should have made; none where anything was.

        They are made at once where the service calls no tools or its model is weak, and where the
        researcher has nothing to show at its second turn.
        """
        searches = [tool.name for tool in tools if tool.name in SEARCHES]
        turns = self.state.get("transcript") or []
        remarks = self.meter.budget.remarks
        calls_none = remarks["model_no_tools"] + remarks["model_weak"] > 0
        is_silent = calls_none or any(turn["speaker"] == "researcher" for turn in turns)
        looked = self.state.get("evidence_pool") or self.state.get("pending_tools")
        if speaker != "researcher" or not searches or looked or not is_silent:
            return []
        queries = [self.state["turn"]["question"], *self.state.get("sub_questions", [])]
        return [
            tool_call(name=searches[0], args={"query": query}, id=f"own-{number}")
            for number, query in enumerate(dict.fromkeys(queries[:_SEARCHED_BY_CODE]))
        ]

    def _present_reminders(self) -> list[AnyMessage]:
        """Return what the verifier was told in this turn that its verdict lacks."""
        return [m for m in self.state.get("pending") or [] if m.name == VERDICT]

    def _missing(
        self, text: str, given: GivenVerdict | None, summed: Sequence[ToolEvidence]
    ) -> str:
        """Return what the verifier is asked for once: its verdict, or what that lacks."""
        if self._present_reminders():
            return ""
        verdict = verdict_of(text)
        if given is None:
            return "verdict" if verdict in (None, "agree") else ""
        if verdict != "agree":
            return ""
        pool = [*(self.state.get("evidence_pool") or []), *summed]
        state = cast(TeamState, {**self.state, "evidence_pool": pool})
        synthesized = settled_answer(given.settled, state)
        if synthesized.outcome == "not_found" and not synthesized.unsupported:
            return "not_found" if unread_nearest(given, state) else ""
        return "unsupported" if synthesized.unsupported else defect_of(synthesized, given, state)

    def _remind(self, message: AIMessage, key: str) -> TeamUpdate:
        """Return the verifier's words with the reminder that it goes on with."""
        given = given_verdict(message)
        ids = unread_nearest(given, self.state) if given and key == "not_found" else []
        words = say(
            f"team_answer.remind_{key}", self._language, **({"ids": " ".join(ids)} if ids else {})
        )
        answers: list[AnyMessage] = [
            ToolMessage(words, tool_call_id=call["id"] or "", name=VERDICT)
            for call in message.tool_calls
        ]
        pending = inner([message, *(answers or [HumanMessage(words, name=VERDICT)])])
        return self._update(speaker="verifier", pending=pending, failures=0)

    def _earlier(self, text: str) -> list[str]:
        """Return what the speaker said before it was asked for its verdict alone."""
        pending = self.state.get("pending") or []
        if not self._present_reminders() or without_signals(text):
            return []
        words = [str(m.text) for m in pending if isinstance(m, AIMessage) and not m.tool_calls]
        return [without_signals(word) for word in words[-1:] if word != text]

    async def _offer(self) -> Offered:
        offered = await offered_tools(
            self.state, self.configuration, self.services, self.meter, own=self.searches_own
        )
        for gap in offered.gaps:
            self._tell(gap)
        return offered

    def _call_update(self, speaker: Speaker, message: AIMessage) -> TeamUpdate:
        return self._update(speaker=speaker, pending=inner([message]), failures=0)

    def _turn_update(
        self, speaker: Speaker, text: str, given: GivenVerdict | None, summed: list[ToolEvidence]
    ) -> TeamUpdate:
        """Return the turn for the transcript; the end where the verifier or a limit says so."""
        verdict = verdict_of(text) if speaker == "verifier" else None
        from_memory = verdict == "agree" and self._has_nothing()
        turn = ChatTurn(
            round=self._round,
            speaker=speaker,
            text=without_ending(text),
            tools=self.state.get("pending_tools") or [],
            verdict=verdict,
            agreed=agreed_of(text) if verdict == "agree" else "",
            ends=verdict == "agree" and not from_memory,
        )
        if given:
            turn["given"] = given.model_dump()
        ended = self._end_after(turn)
        self.emit(
            event(
                "turn", NODE, id=str(self._round), speaker=speaker, text=self._readable_text(turn)
            )
        )
        log.info("turn=%s %s %d: %s, %d tools, verdict %s, ended %s", self.state["turn"]["id"],
                 NODE, self._round, speaker, len(turn["tools"]), verdict, ended)  # fmt: skip
        update = self._update(
            **_NOBODY, failures=0, transcript=[turn], reasoning_trace=[_trace(turn)], ended=ended,
            evidence_pool=summed,
        )  # fmt: skip
        if from_memory:
            update["instruction"] = say("team_answer.look_up", self._language)
        if speaker == "analyst":
            update["hypotheses"] = updated_hypotheses(text, self.state.get("hypotheses") or [])
        return update

    def _has_nothing(self) -> bool:
        """Return True if no evidence was gathered though tools are there; at one agreement only."""
        known = [e for e in self.state.get("evidence_pool") or [] if not e["failed"]]
        agreed = any(turn["verdict"] == "agree" for turn in self.state.get("transcript") or [])
        may_look = self.configuration.max_tool_rounds > 0
        return may_look and not (known or agreed or known_sources(self.state))

    def _end_after(self, turn: ChatTurn) -> str | None:
        """Return the reason why the discussion ends with this turn, and tell of it; else None."""
        if turn["ends"]:
            return "terminated"
        if turn["round"] >= self.configuration.max_group_chat_rounds:
            self._tell(run_gap("team_answer.chat_rounds", self._language, limit=str(turn["round"])))
            return "rounds"
        newest = max((e["round"] for e in self.state.get("evidence_pool") or []
                      if not (e["cached"] or e["failed"])), default=0)  # fmt: skip
        if turn["speaker"] == "verifier" and turn["round"] - newest >= _STALLED_TURNS:
            self._tell(run_gap("team_answer.chat_stalled", self._language))
            return "stalled"
        return None

    def _readable_text(self, turn: ChatTurn) -> str:
        """Return what people read of a turn."""
        if text := MARKER.sub("", without_signals(turn["text"])):
            return text
        if turn["verdict"]:
            return say(f"team_answer.verdict_{turn['verdict']}", self._language)
        return ""

    def _count_failure(self, error: AgentError) -> None:
        """Count a failed model call, and tell of the first one."""
        self.failures += 1
        log.warning("turn=%s %s: failed call %d: %s",
                    self.state["turn"]["id"], NODE, self.failures, error)  # fmt: skip
        gaps = [*(self.state.get("gaps") or []), *self.gaps]
        if not any(gap["code"] == "chat_model_failed" for gap in gaps):
            reason = reason_of(error, self._language)
            gap = run_gap(
                "team_answer.chat_model_failed", self._language, provider="model", reason=reason
            )
            self._tell(gap)

    def _end_update(self, reason: str, gap: Gap) -> TeamUpdate:
        """Return the end for another reason than agreement; the evidence stays."""
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
        update = {
            "instruction": self.instruction, **values, "gaps": self.gaps, "usage": self.meter.usage
        }  # fmt: skip
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
                # The verifier's words are the answer, where they hold.
                "verifier": self.state["turn"]["reasoning_model"] or configuration.reflection_model,
            },
        )


_NOBODY: dict[str, Any] = {
    "speaker": None,
    "pending": None,
    "pending_tools": [],
    "tool_rounds": 0,
    "instruction": "",
}
"""The state between two turns."""


def _trace(turn: ChatTurn) -> TraceEntry:
    return TraceEntry(
        step=NODE,
        text=turn["text"],
        speaker=turn["speaker"],
        round=turn["round"],
        tools=[f"{note['tool']}: {note['asked']}" for note in turn["tools"]],
    )
