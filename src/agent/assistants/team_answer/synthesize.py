"""Settles the bare answer, with the evidence it rests on, or that none was found."""

import logging
import re
from dataclasses import dataclass, field

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.budget import meter_of
from agent.assistants.common.gaps import ask_or_gap, run_gap
from agent.assistants.common.records import place_lines, prompt_tokens, route_lines, weather_lines
from agent.assistants.common.services import GetServices, Services
from agent.assistants.team_answer.speakers import about, transcript_block, without_signals
from agent.assistants.team_answer.state import (
    Evidence,
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.progress import event
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.citations import MARKER, cited_ids
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap, Source
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import render

_MAX_ANSWER = 2000
_SNIPPET, _CITED_SNIPPET = 160, 400
_LIKELY = 0.5
_BRACKET = re.compile(r"\s?\[\^([^\[\]\n]{1,200})\]")
_CALCULATION = re.compile(r"c\d+")
_ID = re.compile(r"[a-z]+\d+(?:-\d+)?")
_NO_ANSWER = re.compile(
    r"(?:not found|no answer(?: found)?|cannot be determined|not available|insufficient .{0,40}"
    r"|无法确定|无法回答|未找到|没有找到|未能找到|查不到|没有查到).{0,10}",
    re.IGNORECASE,
)


class Settled(BaseModel):
    """The answer with what it rests on."""

    found: bool = Field(description="Whether the material bears an answer out.")
    answer: str = Field("", description="The bare answer; empty where none was found.")
    evidence: list[str] = Field(
        default_factory=list, description="Ids the answer rests on: s3-0, a1-0 or c0."
    )
    explanation: str = Field("", description="Why, with [^id] markers.")


@dataclass(frozen=True)
class Settlement:
    """What of it can be kept; an empty answer is an honest none."""

    answer: str = ""
    explanation: str = ""
    evidence: list[str] = field(default_factory=list)
    unknown: int = 0
    """Ids nobody issued."""
    unsupported: bool = False
    """Whether an answer was given that nothing bears out."""


def settled(said: Settled, state: TeamState) -> Settlement:
    """A model's word, kept only as far as pages, places or calculations of this turn bear it."""
    explanation = without_signals(said.explanation)
    known, unknown = _issued([*said.evidence, *_marked(said.answer)], state)
    # Unknown markers of the explanation are removed and counted where it is cited.
    meant = dict.fromkeys([*known, *_issued(_marked(explanation), state)[0]])
    answer = clean_text(MARKER.sub("", without_signals(said.answer)), _MAX_ANSWER)
    claimed = said.found and bool(answer) and not _NO_ANSWER.fullmatch(answer)
    kept = answer if claimed and meant else ""
    return Settlement(
        answer=kept,
        explanation=_BRACKET.sub(_without_calculations, explanation),
        evidence=list(meant) if kept else [],
        unknown=unknown,
        unsupported=claimed and not meant,
    )


def likely(state: TeamState) -> Settlement:
    """The analyst's best hypothesis, where it names a source and the verifier agreed."""
    alive = [branch for branch in state.get("hypotheses", []) if not branch["pruned"]]
    best = max(alive, key=lambda branch: branch["score"], default=None)
    if best is None or best["score"] < _LIKELY or not state.get("verified"):
        return Settlement()
    said = Settled(found=True, answer=best["text"], explanation=best["text"])
    return settled(said, state)


def settle_prompt(state: TeamState, configuration: Configuration) -> list[BaseMessage]:
    """The whole discussion with what can be cited, within `context_token_limit`."""
    language, limit = state["turn"]["language"], configuration.context_token_limit
    values = about(state, limit)
    evidence = evidence_lines(state, limit // 3)

    def asked(transcript: str) -> list[BaseMessage]:
        told = render(
            "team_synthesize", language, transcript=transcript, evidence=evidence, **values
        )
        return [SystemMessage(render("team_synthesize_system", language)), HumanMessage(told)]

    free = limit - prompt_tokens(asked("")) - 60
    return asked(transcript_block(state.get("transcript") or [], free, language))


def evidence_lines(state: TeamState, tokens: int) -> str:
    """Calculations, the map's records and pages, one a line; those the discussion names first."""
    language, turns = state["turn"]["language"], state.get("transcript") or []
    said = [turn["text"] for turn in turns] + [h["text"] for h in state.get("hypotheses", [])]
    named = dict.fromkeys(name for text in said for name in cited_ids(text))
    pages = [s for s in state.get("sources_gathered", []) if s["kind"] == "page"]
    records = "\n".join(
        [
            place_lines(state.get("places", []), language),
            route_lines(state.get("routes", []), language),
            weather_lines(state.get("weather", []), language),
        ]
    )
    lines = [
        *(_page_line(s, _CITED_SNIPPET) for s in pages if s["id"] in named),
        *map(_calculation_line, calculations(state)),
        *filter(None, records.splitlines()),
        *(_page_line(s, _SNIPPET) for s in pages if s["id"] not in named),
    ]
    kept, used = [], 0
    for line in lines:
        used += estimated_tokens(line) + 1
        if used > tokens:
            break
        kept.append(line)
    return "\n".join(kept)


def calculations(state: TeamState) -> list[Evidence]:
    """The programs of this turn that ended well."""
    pool = state.get("evidence_pool", [])
    return [found for found in pool if found["kind"] == "code" and not found["failed"]]


def _page_line(source: Source, length: int) -> str:
    snippet = " ".join(" … ".join(source["quotes"]).split())[:length]
    return f"[^{source['id']}] {source['title']}" + (f" — {snippet}" if snippet else "")


def _calculation_line(found: Evidence) -> str:
    program, result = (" ".join(text.split()) for text in (found["asked"], found["text"]))
    return f"{found['id']}: {cut_to_tokens(program, 150)} ⇒ {cut_to_tokens(result, 100)}"


def _issued(names: list[str], state: TeamState) -> tuple[list[str], int]:
    """Those of the ids that this turn issued, and how many others there are.

    The id of a whole search (`s3`) stands for its results.
    """
    pool = {found["id"]: found for found in state.get("evidence_pool", []) if not found["failed"]}
    sources = {source["id"] for source in state.get("sources_gathered", [])}
    known, unknown = dict[str, None](), 0
    for name in (name for text in names for name in _ID.findall(text.lower())):
        if name in sources or (name in pool and pool[name]["kind"] == "code"):
            known[name] = None
        elif name in pool and pool[name]["source_ids"]:
            known |= dict.fromkeys(pool[name]["source_ids"])
        else:
            unknown += 1
    return list(known), unknown


def _marked(text: str) -> list[str]:
    return [found[1] for found in _BRACKET.finditer(text)]


def _without_calculations(found: re.Match[str]) -> str:
    """A marker without the ids of calculations, which are shown and not linked."""
    names = [name.strip(" ^") for name in re.split(r"[,;，；、\s]+", found[1])]
    kept = [name for name in names if name and not _CALCULATION.fullmatch(name)]
    if len(kept) == len(names):
        return found[0]
    return "".join(f"[^{name}]" for name in kept)


log = logging.getLogger(__name__)
NODE = "synthesize"


async def synthesize(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Never an answer that nothing bears out; without a model, the hypothesis all agreed on."""
    services, configuration = get_services(), configuration_of(runtime)
    # A discussion may spend all but what is kept for the answer; this is the answer.
    meter = meter_of(state, configuration, services, answering=True)
    said, gaps = await _said(state, configuration, services, meter)
    kept = settled(said, state) if said else likely(state)
    if kept.unsupported:
        gaps.append(run_gap("team_answer.answer_unsupported", state["turn"]["language"]))
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    log.info("turn=%s %s: %s, %d pieces of evidence, %d unknown ids", state["turn"]["id"], NODE,
             "found" if kept.answer else "none", len(kept.evidence), kept.unknown)  # fmt: skip
    return TeamUpdate(
        raw_answer=kept.answer,
        explanation=kept.explanation,
        answer_evidence=kept.evidence,
        unknown_ids=kept.unknown,
        unsettled=said is None,
        reasoning_trace=[TraceEntry(step=NODE, text=_trace(kept))],
        gaps=gaps,
        usage=meter.usage,
    )


async def _said(
    state: TeamState, configuration: Configuration, services: Services, meter: Meter
) -> tuple[Settled | None, list[Gap]]:
    """The model's word, of the second model where the first one fails; None where both do."""
    chosen, gaps = state["turn"]["reasoning_model"], list[Gap]()
    models = [chosen] if chosen else [configuration.answer_model, configuration.reflection_model]
    prompt = settle_prompt(state, configuration)
    for model in dict.fromkeys(models):
        asking = services.models.ask(
            model, prompt, meter=meter, schema=Settled, thinking=DEFAULT_THINKING["reflection"]
        )
        reply, gaps = await ask_or_gap(asking, state["turn"], NODE)
        if reply is not None:
            return reply.parsed, []
        if gaps[0]["code"].startswith("budget_"):
            break
    return None, gaps


def _trace(kept: Settlement) -> str:
    return "\n".join(part for part in (kept.answer or "–", kept.explanation) if part)
