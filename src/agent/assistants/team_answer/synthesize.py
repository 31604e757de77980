"""Settle the bare answer with the evidence it rests on, check it, and say if it is verified."""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import chain

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.gaps import ask_or_gap, run_gap
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import new_wishes, wished, with_wishes
from agent.assistants.common.turn import context_limit, meter_of
from agent.assistants.team_answer.answer_form import same_answer
from agent.assistants.team_answer.speakers import (
    NOT_FOUND,
    PREMISE_FALSE,
    about,
    has_looked,
    previous_sources,
    transcript_block,
    without_signals,
)
from agent.assistants.team_answer.state import (
    ChatTurn,
    Evidence,
    Outcome,
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.tools import (
    calculation_numbers,
    known_positions,
    measurement,
    rounded,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.processor import read_in_turns
from agent.core.progress import event
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.citations import MARKER
from agent.evidence.figures import figures, same
from agent.evidence.queries import clean_text
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.types import Gap, Source
from agent.knowledge.ranking import Bm25, best_first
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import task_prompt
from agent.state import answer_language
from agent.texts import Language, say

_MAX_ANSWER = 2000
_SNIPPET, _CITED_SNIPPET = 160, 500
_LIKELY = 0.5
_BRACKET = re.compile(r"\s?\[\^([^\[\]\n]{1,200})\]")
_LOOKUP = re.compile(r"[ac]\d+")
_SENTENCE_ENDS = re.compile(r"(?<=[。！？；])|(?<=[.!?;])\s+|\n+")
_NOT_LETTER = re.compile(r"[\W_]+")
_OUTCOMES: dict[str, Outcome] = {"answer": "answer", "premise_false": "premise_false"}
_ID = re.compile(r"(?<![a-z])[a-z]++\d+(?:-\d+)?")
_NO_ANSWER = re.compile(
    r"(?:not found|no answer(?: found)?|cannot be determined|not available|insufficient .{0,40}"
    r"|无法确定|无法回答|未找到|没有找到|未能找到|查不到|没有查到).{0,10}",
    re.IGNORECASE,
)


class Settled(BaseModel):
    """The answer with what it rests on."""

    outcome: str = Field("not_found", description="answer, premise_false or not_found.")
    answer: str = Field("", description="The bare answer; empty where none was found.")
    evidence: list[str] = Field(
        default_factory=list, description="Ids the answer rests on: s3-0, a1-0 or c0."
    )
    explanation: str = Field("", description="Why, with [^id] markers.")
    contested: bool = Field(False, description="True where sources give different answers.")


@dataclass(frozen=True)
class SynthesizedAnswer:
    """Hold the part of a settled answer that can be shown; an empty answer is an honest none."""

    outcome: Outcome = "not_found"
    answer: str = ""
    explanation: str = ""
    evidence: list[str] = field(default_factory=list)
    unknown: int = 0
    """Ids nobody issued."""
    unsupported: bool = False
    """True where an answer was given that nothing bears out."""
    contested: bool = False


def settled(reply: Settled, state: TeamState) -> SynthesizedAnswer:
    """Return a model's answer as far as pages, places or lookups of this turn bear it."""
    explanation = without_signals(reply.explanation)
    ids, unknown = _issued_ids([*reply.evidence, *_marker_ids(reply.answer)], state)
    # Unknown markers of the explanation are removed and counted where it is cited.
    evidence = dict.fromkeys([*ids, *_issued_ids(_marker_ids(explanation), state)[0]])
    answer = clean_text(MARKER.sub("", without_signals(reply.answer)), _MAX_ANSWER)
    outcome = _OUTCOMES.get(reply.outcome.strip().lower(), "not_found")
    claimed = outcome != "not_found" and bool(answer) and not _NO_ANSWER.fullmatch(answer)
    is_answer = claimed and bool(evidence)
    numbers = calculation_numbers(evidence if is_answer else (), lookups(state))
    references = {
        name: say("team_answer.answer.calculation", state["turn"]["language"], number=str(number))
        for name, number in numbers.items()
    }
    return SynthesizedAnswer(
        outcome=outcome if is_answer else "not_found",
        answer=answer if is_answer else "",
        explanation=_BRACKET.sub(partial(_with_lookups_named, references), explanation),
        evidence=list(evidence) if is_answer else [],
        unknown=unknown,
        unsupported=claimed and not evidence,
        contested=is_answer and reply.contested,
    )


def likely(state: TeamState) -> SynthesizedAnswer:
    """Return, without a model, the answer that the verifier agreed to, if a source bears it."""
    turn = _agreement(state)
    if turn is None:
        return SynthesizedAnswer()
    alive = [branch for branch in state.get("hypotheses", []) if not branch["pruned"]]
    best = max(alive, key=lambda branch: branch["score"], default=None)
    answer = turn.get("agreed", "") or (best["text"] if best and best["score"] >= _LIKELY else "")
    if not answer or NOT_FOUND.search(answer) or PREMISE_FALSE.search(answer):
        return SynthesizedAnswer()
    explanation = best["text"] if best and best["score"] >= _LIKELY else turn["text"]
    return settled(Settled(outcome="answer", answer=answer, explanation=explanation), state)


def _agreement(state: TeamState) -> ChatTurn | None:
    """Return the verifier's last turn where it agreed in it; else None."""
    turns = [t for t in state.get("transcript") or [] if t["speaker"] == "verifier"]
    return turns[-1] if turns and turns[-1]["verdict"] == "agree" else None


def unverified_reason(synthesized: SynthesizedAnswer, state: TeamState) -> str:
    """Return the key of `team_answer.answer` for why the answer is not verified; "" if it is."""
    turns = [t for t in state.get("transcript") or [] if t["verdict"]]
    agreement = _agreement(state)
    if not turns:
        return "unverified_none"
    if agreement is None:
        return "unverified_disagreed"
    if not agrees(agreement.get("agreed", ""), synthesized):
        return "unverified_other"
    if not has_looked(state.get("transcript") or []):
        return "unverified_unlooked"
    return "unverified_figures" if missing_figures(synthesized, state) else ""


def agreed_answer(state: TeamState) -> str:
    """Return what the verifier agreed to; empty if it has not agreed."""
    agreement = _agreement(state)
    return agreement.get("agreed", "") if agreement else ""


def agrees(agreed: str, synthesized: SynthesizedAnswer) -> bool:
    """Return True if the verifier's words agree to this answer; NOT FOUND agrees to none."""
    if NOT_FOUND.search(agreed):
        return synthesized.outcome == "not_found"
    if PREMISE_FALSE.search(agreed):
        return synthesized.outcome == "premise_false"
    return synthesized.outcome != "not_found" and same_answer(agreed, synthesized.answer)


def missing_figures(synthesized: SynthesizedAnswer, state: TeamState) -> list[str]:
    """Return the figures of the answer that no evidence it rests on has, rounding allowed."""
    texts = evidence_texts(synthesized.evidence, state)
    known = [figure for text in texts for figure in figures(text)]
    return [
        figure.text
        for figure in figures(synthesized.answer)
        if figure.telling and not any(same(figure, other) for other in known)
    ]


def evidence_texts(names: Sequence[str], state: TeamState) -> list[str]:
    """Return what the evidence of these ids says: quotes, records, and results of lookups."""
    ids, language = set(names), state["turn"]["language"]
    sources = [*state.get("sources_gathered", []), *previous_sources(state)]
    texts = [
        "\n".join([source["title"], *source["quotes"]]) for source in sources if source["id"] in ids
    ]
    texts += [
        each["text"]
        for each in state.get("evidence_pool", [])
        if each["id"] in ids or (each["kind"] == "map" and ids & set(each["source_ids"]))
    ]
    texts.append(place_lines([p for p in state.get("places", []) if p["source"] in ids], language))
    texts.append(route_lines([r for r in state.get("routes", []) if r["source"] in ids], language))
    return texts


def problem_of(synthesized: SynthesizedAnswer, state: TeamState) -> str:
    """Return what is wrong with a settled answer, for the one repair; empty if nothing is."""
    language = state["turn"]["language"]
    if synthesized.unsupported:
        return say("team_answer.problem_unsupported", language)
    if missing := missing_figures(synthesized, state):
        return say("team_answer.problem_figures", language, figures=", ".join(missing))
    agreed = agreed_answer(state)
    if agreed and not agrees(agreed, synthesized):
        return say("team_answer.problem_agreed", language, agreed=agreed)
    return ""


def settle_prompt(state: TeamState, configuration: Configuration) -> list[BaseMessage]:
    """Return the whole discussion with what can be cited, within `context_token_limit`."""
    turn = state["turn"]
    limit = context_limit(turn, configuration)
    values = about(state, limit)
    evidence = evidence_lines(state, limit // 3)

    def asked(transcript: str) -> list[BaseMessage]:
        blocks = {**values, "transcript": transcript, "evidence": evidence}
        return with_wishes(task_prompt("team_synthesize", answer_language(turn), **blocks), state)

    free = limit - prompt_tokens(asked("")) - 60
    # Results stand in <evidence>; the transcript repeats none.
    return asked(transcript_block(state.get("transcript") or [], free, turn["language"], level=2))


def evidence_lines(state: TeamState, tokens: int) -> str:
    """Return calculations, map records and pages, one a line; those in the discussion first."""
    language, turns = state["turn"]["language"], state.get("transcript") or []
    texts = [turn["text"] for turn in turns] + [h["text"] for h in state.get("hypotheses", [])]
    pages = [s for s in state.get("sources_gathered", []) if s["kind"] in ("page", "document")]
    named = {name for text in texts for name in _ID.findall(text)}
    about, names = "\n".join([state["turn"]["question"], *texts]), known_positions(state)
    records = "\n".join(
        [
            place_lines(state.get("places", []), language),
            route_lines(state.get("routes", []), language),
            weather_lines(state.get("weather", []), language),
        ]
    )
    # Lines are made one by one: those behind the limit never are.
    lines = chain(
        (_page_line(s, _CITED_SNIPPET, about) for s in pages if s["id"] in named),
        (_lookup_line(each, names, language) for each in lookups(state)),
        filter(None, records.splitlines()),
        (_page_line(s, _SNIPPET, about) for s in pages if s["id"] not in named),
    )
    fitting, used = [], 0
    for line in lines:
        used += estimated_tokens(line) + 1
        if used > tokens:
            break
        fitting.append(line)
    return "\n".join(fitting)


def lookups(state: TeamState) -> list[Evidence]:
    """Return the calculations and the map's lookups of this turn that ended well."""
    pool = state.get("evidence_pool", [])
    return [each for each in pool if each["kind"] in ("code", "map") and not each["failed"]]


def _page_line(source: Source, length: int, about: str) -> str:
    """Return a page's title, date and the sentences nearest to what was discussed."""
    snippet = _nearest_sentences(_once(source["quotes"]), length, about)
    dated = f" ({date[:10]})" if (date := source.get("published")) else ""
    return f"[^{source['id']}] {source['title']}{dated}" + (f" — {snippet}" if snippet else "")


def _once(quotes: Sequence[str]) -> list[str]:
    """Return the sentences of a page's quotes, each once, on one line."""
    sentences, before = list[str](), ""
    for sentence in (each for quote in quotes for each in _SENTENCE_ENDS.split(quote)):
        letters = _NOT_LETTER.sub("", sentence)
        if letters and letters not in before:
            sentences.append(" ".join(sentence.split()))
            before += f"\n{letters}"
    return sentences


def _nearest_sentences(sentences: Sequence[str], length: int, about: str) -> str:
    """Return sentences in their order: those nearest to a text if they do not all fit."""
    chosen, left = set[int](), length
    ranked = best_first(Bm25(sentences).scores(about)) if len(" ".join(sentences)) > length else ()
    for at, _ in ranked or enumerate(sentences):
        if len(sentences[at]) <= left or not chosen:
            chosen.add(at)
            left -= len(sentences[at]) + 3
    parts = (
        f"{'' if at - 1 in chosen or not at else '… '}{sentences[at]}" for at in sorted(chosen)
    )
    return " ".join(parts)[:length]


def _lookup_line(lookup: Evidence, names: Mapping[str, str], language: Language) -> str:
    """Return a lookup with its result; `names` are those of positions."""
    if lookup["kind"] == "map":
        words = measurement(lookup, names, language)
        return f"{lookup['id']}: {cut_to_tokens(words, 200)}"
    request, result = (
        " ".join(text.split()) for text in (lookup["asked"], rounded(lookup["text"]))
    )
    return f"{lookup['id']}: {cut_to_tokens(request, 150)} ⇒ {cut_to_tokens(result, 100)}"


def _issued_ids(names: Sequence[str], state: TeamState) -> tuple[list[str], int]:
    """Return those of the ids that this turn issued, and how many others there are.

    The id of a whole search (`s3`) stands for its results; a calculation's and a map lookup's for
    itself.
    """
    pool = {each["id"]: each for each in state.get("evidence_pool", []) if not each["failed"]}
    citable = [*state.get("sources_gathered", []), *previous_sources(state)]
    sources = {source["id"] for source in citable}
    issued, unknown = dict[str, None](), 0
    for name in (name for text in names for name in _ID.findall(text.lower())):
        if name in sources or (name in pool and pool[name]["kind"] in ("code", "map")):
            issued[name] = None
        elif name in pool and pool[name]["source_ids"]:
            issued |= dict.fromkeys(pool[name]["source_ids"])
        else:
            unknown += 1
    return list(issued), unknown


def _marker_ids(text: str) -> list[str]:
    return [match[1] for match in _BRACKET.finditer(text)]


def _with_lookups_named(references: Mapping[str, str], match: re.Match[str]) -> str:
    """Return a marker with calculations as `references` to their blocks: they have no link.

    Map lookups are left out.
    """
    names = [name.strip(" ^") for name in re.split(r"[,;，；、\s]+", match[1])]
    linked = [name for name in names if name and not _LOOKUP.fullmatch(name)]
    if len(linked) == len(names):
        return match[0]
    calculations = dict.fromkeys(references[name] for name in names if name in references)
    return "".join([*(f"[^{name}]" for name in linked), *calculations])


log = logging.getLogger(__name__)
NODE = "synthesize"


async def synthesize(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Settle the answer; without a model, what the verifier agreed to."""
    services, configuration = get_services(), configuration_of(runtime)
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    state = wished(state, wishes)
    # A discussion may spend all but what is kept for the answer; this is the answer.
    meter = meter_of(state, configuration, services, answering=True)
    synthesis = _Synthesis(state, configuration, services, meter)
    synthesized, gaps = await synthesis.run()
    reason = unverified_reason(synthesized, state)
    if synthesized.unsupported:
        gaps.append(run_gap("team_answer.answer_unsupported", state["turn"]["language"]))
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    log.info("turn=%s %s: %s, %d pieces of evidence, %d unknown ids, %s", state["turn"]["id"], NODE,
             synthesized.outcome, len(synthesized.evidence), synthesized.unknown,
             reason or "verified")  # fmt: skip
    return TeamUpdate(
        outcome=synthesized.outcome,
        contested=synthesized.contested,
        raw_answer=synthesized.answer,
        explanation=synthesized.explanation,
        answer_evidence=synthesized.evidence,
        unknown_ids=synthesized.unknown,
        unsettled=synthesis.failed,
        verified=not reason,
        unverified_reason=reason,
        reasoning_trace=[TraceEntry(step=NODE, text=_trace(synthesized))],
        gaps=gaps,
        wishes=wishes,
        usage=meter.usage,
    )


@dataclass
class _Synthesis:
    """Ask for the settled answer, of the second model where the first fails; repair it once."""

    state: TeamState
    configuration: Configuration
    services: Services
    meter: Meter
    failed: bool = False
    """True where no model settled it."""

    async def run(self) -> tuple[SynthesizedAnswer, list[Gap]]:
        """Return what can be kept of the answer, and gaps."""
        configuration = self.configuration
        said = sum(len(turn["text"]) for turn in self.state.get("transcript") or [])
        prompt = await read_in_turns(partial(settle_prompt, self.state, configuration), said)
        chosen = self.state["turn"]["reasoning_model"] or configuration.answer_model
        models = [chosen, configuration.reflection_model]
        gaps: list[Gap] = []
        for name in dict.fromkeys(models):
            reply, gaps = await self._ask(name, prompt)
            if reply is not None:
                return await self._repair(name, prompt, reply), []
            if gaps[0]["code"].startswith("budget_"):
                break
        self.failed = True
        return likely(self.state), gaps

    async def _repair(
        self, model: str, prompt: list[BaseMessage], reply: Settled
    ) -> SynthesizedAnswer:
        """Return the settlement, of a second reply where code finds fault with the first."""
        synthesized = settled(reply, self.state)
        problem = problem_of(synthesized, self.state)
        if not problem:
            return synthesized
        again, _ = await self._ask(
            model, [*prompt, AIMessage(reply.model_dump_json()), HumanMessage(problem)]
        )
        second = settled(again, self.state) if again else synthesized
        return synthesized if synthesized.answer and second.unsupported else second

    async def _ask(self, model: str, prompt: list[BaseMessage]) -> tuple[Settled | None, list[Gap]]:
        asking = self.services.models.ask(
            model, prompt, meter=self.meter, schema=Settled, thinking=DEFAULT_THINKING["reflection"]
        )
        reply, gaps = await ask_or_gap(asking, self.state["turn"], NODE)
        return (reply.parsed if reply else None), gaps


def _trace(synthesized: SynthesizedAnswer) -> str:
    return "\n".join(filter(None, [synthesized.answer or "–", synthesized.explanation]))
