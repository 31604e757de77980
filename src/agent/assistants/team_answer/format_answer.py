"""The last node: the answer in the form asked for, by a model and then by rules, and written.

1 NFC, surrounding quotes off · 2 digit groups out of a bare number · 3 an integral number as an
integer · 4 lower case, unless the requirement shows capitals · 5 one space after `,` and `;`.
What the requirement itself shows (digit groups, decimals, capitals) is kept. Applying the rules
again changes nothing.
"""

import re
import unicodedata
from collections.abc import AsyncIterator, Sequence
from typing import cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.gaps import ask_or_gap
from agent.assistants.common.services import GetServices
from agent.assistants.common.writer import (
    Draft,
    MessageParts,
    refuse_if_all_failed,
    write_message,
)
from agent.assistants.team_answer.state import (
    Evidence,
    TeamState,
    TeamUpdate,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.synthesize import calculations
from agent.assistants.team_answer.tools import searches_saved
from agent.configuration import Configuration
from agent.core.progress import event
from agent.core.strings import cut_to_tokens
from agent.evidence.citations import cited_ids, inert
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap
from agent.models.catalogue import DEFAULT_THINKING
from agent.prompts import render
from agent.texts import say
from agent.texts.language import Language

_SHOWN_TRIES, _SHOWN_LINES, _SHOWN_CHARACTERS = 12, 25, 1200
_RESULT = 400
_TICKS = re.compile(r"`+")


def headline(answer: str, language: Language) -> str:
    """The answer in bold, or the honest none; what it quotes can do nothing."""
    if not answer:
        return say("team_answer.answer.none", language)
    return say("team_answer.answer.answer", language, text=inert(answer).replace("*", "\\*"))


def tried(pool: Sequence[Evidence], language: Language) -> str:
    """What was looked up and calculated for nothing, each once."""
    lines: dict[str, None] = {}
    for found in pool:
        if not found["cached"]:
            lines[_try(found, language)] = None
    if not lines:
        return say("team_answer.answer.tried_nothing", language)
    shown = list(lines)[:_SHOWN_TRIES]
    if left := len(lines) - len(shown):
        shown.append(say("team_answer.answer.tried_more", language, text=str(left)))
    return "\n".join([say("team_answer.answer.tried", language), *shown])


def _try(found: Evidence, language: Language) -> str:
    kind = say(f"team_answer.answer.kind_{found['kind']}", language)
    failed = say("team_answer.answer.failed", language) if found["failed"] else ""
    return f"- {kind}{inert(found['asked'][:120])}{failed}"


def calculation_section(used: Sequence[Evidence], language: Language) -> str:
    """The programs an answer rests on, each with its result; empty where there is none."""
    if not used:
        return ""
    shown = [_calculation(found, language) for found in used]
    return "\n\n".join([say("team_answer.answer.calculated", language), *shown])


def _calculation(found: Evidence, language: Language) -> str:
    program = found["asked"].strip()
    lines = program[:_SHOWN_CHARACTERS].rstrip().splitlines()[:_SHOWN_LINES]
    if "\n".join(lines) != program:
        lines.append(say("team_answer.answer.cut", language))
    longest = max((len(run) for run in _TICKS.findall(program)), default=0)
    fence = "`" * max(3, longest + 1)
    result = say("team_answer.answer.result", language, text=inert(found["text"][:_RESULT]))
    return "\n".join([f"{fence}python", *lines, fence, "", result])


_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "`": "`"}
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_SEPARATOR = re.compile(
    r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|\s*(?P<mark>[,，;；])[\s,，]*(?=\S)|\s*[，；]\s*$"
)
_SPACES = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?:^|[.!?。！？]\s+)[\"'“‘]?([A-Z])(?=[a-z]*[\s,.;!?]|[a-z]*$)")
_EXAMPLE = re.compile(
    r"(?:e\.g\.|i\.e\.|such as|for example|for instance|\blike\b|[:：“‘\"'「『]|如|例|形)",
    re.IGNORECASE,
)
_SHOWS_GROUPS = re.compile(
    r"[0-9],[0-9]{3}(?![0-9])|thousands? separator|千分位|千位分隔", re.IGNORECASE
)
_SHOWS_DECIMALS = re.compile(r"[0-9]\.[0-9]|decimal|小数", re.IGNORECASE)


def formatted(answer: str, requirement: str = "") -> str:
    """The answer as it is compared: all rules. Empty stays empty."""
    shown = presentable(answer, requirement)
    if shows_capitals(requirement):
        return shown
    return unicodedata.normalize("NFC", shown.lower())


def presentable(answer: str, requirement: str = "") -> str:
    """The answer as people read it: every rule but lower case."""
    bare = _unquoted(_SPACES.sub(" ", unicodedata.normalize("NFC", answer)).strip())
    if _GROUPED.fullmatch(bare):
        if _SHOWS_GROUPS.search(requirement):
            return bare
        bare = bare.replace(",", "")
    if number := _NUMBER.fullmatch(bare):
        return _plain(number, keep=bool(_SHOWS_DECIMALS.search(requirement)))
    return _spaced(bare)


def shows_capitals(requirement: str) -> bool:
    """Whether the form asked for has a capital in an example, not only where a sentence begins."""
    begins = {found.start(1) for found in _SENTENCE.finditer(requirement)}
    if _EXAMPLE.search(requirement):
        begins = {at for at in begins if not _EXAMPLE.search(requirement[:at])}
    return any(letter.isupper() for at, letter in enumerate(requirement) if at not in begins)


def _unquoted(text: str) -> str:
    """Without the quotes around the whole of it; those inside stay, and so do marks of titles."""
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        inside = text[1:-1]
        if text[0] in inside or text[-1] in inside or not inside.strip():
            break
        text = inside.strip()
    return text


def _plain(number: re.Match[str], *, keep: bool) -> str:
    """`12.0` as `12`, `3.75` as it is; with `keep` nothing is taken off."""
    sign, whole, fraction = number[1], number[2], number[3]
    if keep or (fraction and fraction.strip("0")):
        return number[0]
    return f"{'-' if sign == '-' and whole != '0' else ''}{whole}"


def _spaced(text: str) -> str:
    """Commas and semicolons in ASCII with one space behind; digit groups stay whole."""

    def put(found: re.Match[str]) -> str:
        mark = found["mark"]
        if mark:
            return "; " if mark in ";；" else ", "
        kept = found[0].strip()
        return {"，": ",", "；": ";"}.get(kept, kept)

    return _SEPARATOR.sub(put, text).strip()


NODE = "format_answer"
ASSISTANT = "team_answer"
_MAX_ANSWER = 2000
_HAN = re.compile(r"[\u3400-\u9fff]")
_WORD = re.compile(r"[0-9]+|[^\W\d_\u3400-\u9fff]+|[\u3400-\u9fff]")


class Extracted(BaseModel):
    """The answer in its form."""

    answer: str = Field(description="The answer and nothing else.")


async def format_answer(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Write the message; raise NothingFound where every source asked, or every model, failed."""
    draft = Draft(
        state,
        configuration_of(runtime),
        get_services(),
        runtime.stream_writer,
        node=NODE,
        assistant=ASSISTANT,
    )
    if _all_failed(state):
        gaps = [gap for gap in draft.gaps if gap["provider"] != ASSISTANT]
        refuse_if_all_failed(gaps, draft.language)
    draft.degraded = state.get("unsettled", False) or state.get("ended") == "failures"
    draft.citer.unknown_ids_removed = state.get("unknown_ids", 0)
    extracted, gaps = await _extracted(state.get("raw_answer", "").strip(), state, draft)
    for gap in gaps:
        draft.gaps.append(gap)
        draft.emit(event("gap", NODE, text=gap["message"]))
    requirement = state["analysis"]["format_requirement"]
    answer, final = presentable(extracted, requirement), formatted(extracted, requirement)
    verified = bool(final) and state.get("verified", False)
    parts = MessageParts(
        body=lambda: _body(draft, state, answer, verified=verified),
        sections=lambda: _calculations(draft, state),
        metadata={"final_answer": final, "answered": bool(final), "verified": verified},
        checks={
            "rounds": len(state.get("transcript", [])),
            "searches_saved": searches_saved(state.get("evidence_pool", [])),
            "verified": int(verified),
        },
    )
    closing = await write_message(draft, parts)
    trace = [TraceEntry(step=NODE, text=final or "–")]
    settled = {"final_answer": final, "verified": verified, "reasoning_trace": trace}
    return cast(TeamUpdate, {**closing, **settled})


def _all_failed(state: TeamState) -> bool:
    """Return whether there is no answer because every search, or every model, failed."""
    searches = [each for each in state.get("evidence_pool", []) if each["kind"] != "code"]
    nobody_spoke = state.get("ended") == "failures" and not state.get("transcript")
    none_worked = bool(searches) and all(search["failed"] for search in searches)
    return not state.get("raw_answer", "").strip() and (nobody_spoke or none_worked)


async def _body(
    draft: Draft, state: TeamState, answer: str, *, verified: bool
) -> AsyncIterator[str]:
    """Yield the answer in the form people read, and what it rests on."""
    language = draft.language
    yield headline(answer, language)
    if answer and not verified:
        yield f"\n\n{say('team_answer.answer.unverified', language)}"
    if answer and state.get("unsettled", False):
        yield f"\n\n{say('team_answer.answer.unsettled', language)}"
    if explanation := state.get("explanation", ""):
        yield "\n\n" + draft.cited(explanation)
    if markers := _uncited(state, explanation):
        yield "\n\n" + draft.cited(say("team_answer.answer.rests_on", language) + markers)
    if not answer:
        yield "\n\n" + tried(state.get("evidence_pool", []), language)


def _uncited(state: TeamState, explanation: str) -> str:
    """Return markers of the sources the answer rests on and the explanation does not name."""
    cited = set(cited_ids(explanation))
    known = {source["id"] for source in state.get("sources_gathered", [])}
    names = state.get("answer_evidence", [])
    return "".join(f"[^{name}]" for name in names if name in known and name not in cited)


def _calculations(draft: Draft, state: TeamState) -> list[str]:
    used = set(state.get("answer_evidence", []))
    programs = [program for program in calculations(state) if program["id"] in used]
    return [draft.cited(calculation_section(programs, draft.language))]


async def _extracted(raw: str, state: TeamState, draft: Draft) -> tuple[str, list[Gap]]:
    """What the model takes out of the settled answer; the settled answer where it cannot."""
    if not raw:
        return "", []
    asking = draft.services.models.ask(
        draft.configuration.query_generator_model,
        _prompt(raw, state, draft.configuration.context_token_limit),
        meter=draft.meter,
        schema=Extracted,
        thinking=DEFAULT_THINKING["query"],
    )
    reply, gaps = await ask_or_gap(asking, draft.turn, NODE)
    if reply is None:
        return raw, gaps
    assert reply.parsed is not None
    answer = clean_text(reply.parsed.answer, _MAX_ANSWER)
    requirement = state["analysis"]["format_requirement"]
    faithful = is_extract(answer, raw, requirement, state["turn"]["language"])
    return (answer if faithful else raw), []


def is_extract(answer: str, raw: str, requirement: str, language: Language) -> bool:
    """Whether a model took the answer out of the settled one, rather than giving another.

    A requirement may ask for other words or figures, and an answer in Chinese characters may be
    put into the question's language: then only an answer that has grown is refused.
    """
    if not answer or len(answer) > 2 * len(raw) + 40:
        return False
    if requirement or (language == "en" and _HAN.search(raw)):
        return True
    return set(_WORD.findall(answer.casefold())) <= set(_WORD.findall(raw.casefold()))


def _prompt(raw: str, state: TeamState, limit: int) -> list[BaseMessage]:
    turn = state["turn"]
    values = {
        "question": cut_to_tokens(turn["question"], limit // 2),
        "format_requirement": state["analysis"]["format_requirement"],
        "answer": cut_to_tokens(raw, limit // 4),
    }
    return [
        SystemMessage(render("team_format_system", turn["language"])),
        HumanMessage(render("team_format", turn["language"], **values)),
    ]
