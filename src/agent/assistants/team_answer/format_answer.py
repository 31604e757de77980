"""Write the message: the answer in the form asked for, why, and what it rests on: the last node.

Rules bring the answer into its form; a model is asked only where they see that it is not met.
"""

import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, Literal, cast
from urllib.parse import urlsplit

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field

from agent.assistants.common.claims import Checked
from agent.assistants.common.document_tools import LIST_DOCUMENTS
from agent.assistants.common.draft import Draft
from agent.assistants.common.gaps import parsed_or_gap
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.tool_results import rounded
from agent.assistants.common.turn import context_limit, room_of
from agent.assistants.common.whole_documents import WholeDocuments
from agent.assistants.common.writer import MessageParts, refuse_if_all_failed, write_message
from agent.assistants.team_answer.answer_form import (
    as_written,
    formatted,
    presentable,
    same_answer,
    unmet,
    with_unit,
)
from agent.assistants.team_answer.documents import page_texts, with_documents
from agent.assistants.team_answer.evidence_view import known_sources, lookups
from agent.assistants.team_answer.state import (
    AnswerOutcome,
    ChatTurn,
    TeamState,
    TeamUpdate,
    ToolEvidence,
    TraceEntry,
    configuration_of,
)
from agent.assistants.team_answer.tools import (
    known_positions,
    map_arguments,
    measurement,
    searches_saved,
    shown_calculations,
)
from agent.assistants.team_answer.verified import agreed_answer, refutation, terms_behind
from agent.configuration import Configuration
from agent.core.progress import event
from agent.core.strings import cut_to_tokens
from agent.evidence.citations import cited_ids, inert
from agent.evidence.formulas import is_sum, written_sum
from agent.evidence.markdown import fenced
from agent.evidence.number_forms import ENGLISH_NUMBERS, NumberForm
from agent.evidence.queries import clean_text
from agent.evidence.records import owners
from agent.evidence.types import Gap, Source
from agent.mcp.servers import map_of_tool
from agent.prompts import task_prompt
from agent.state import reader_language
from agent.texts import Language, say

log = logging.getLogger(__name__)
NODE = "format_answer"
ASSISTANT = "team_answer"
_MAX_ANSWER = 2000
_SHOWN_TRIES, _SHOWN_LINES, _SHOWN_CHARACTERS = 12, 25, 1200
_RESULT = 400


def headline(answer: str, outcome: AnswerOutcome, language: Language) -> str:
    """Return the answer in bold, the denial of its premise, or the honest none."""
    if not answer:
        return say("team_answer.answer.none", language)
    key = "premise_false" if outcome == "premise_false" else "answer"
    return say(f"team_answer.answer.{key}", language, text=inert(answer).replace("*", "\\*"))


def tried(pool: Sequence[ToolEvidence], language: Language, sources: Iterable[Source] = ()) -> str:
    """Return what was looked up and calculated for nothing, each once.

    Of `sources` pages are told by their titles: a model opens them by ids that mean nothing here.
    """
    titles = {source[key]: source["title"] for source in sources for key in ("id", "url")}
    lines: dict[str, None] = {}
    for evidence in pool:
        if not evidence["cached"] and (words := _plain_words(evidence, titles)):
            lines[_try(evidence, words, language)] = None
    if not lines:
        return say("team_answer.answer.tried_nothing", language)
    listed = list(lines)[:_SHOWN_TRIES]
    if left := len(lines) - len(listed):
        listed.append(say("team_answer.answer.tried_more", language, text=str(left)))
    return "\n".join([say("team_answer.answer.tried", language), *listed])


def _try(evidence: ToolEvidence, words: str, language: Language) -> str:
    kind = say(f"team_answer.answer.kind_{evidence['kind']}", language)
    failed = say("team_answer.answer.failed", language) if evidence["failed"] else ""
    return f"- {kind}{inert(words[:120])}{failed}"


def _plain_words(evidence: ToolEvidence, titles: Mapping[str, str]) -> str:
    """Return what was asked, of a map's tool its arguments' values alone; empty for a list."""
    asked = evidence["asked"]
    if evidence["kind"] == "map":
        return ", ".join(map_arguments(asked).values())
    if evidence["kind"] == "page":
        page, _, wanted = asked.partition(" ")
        # Of an address its host alone: no foreign link stands in an answer.
        return titles.get(page) or " ".join(filter(None, (_host(page), wanted)))
    return "" if asked == LIST_DOCUMENTS else asked


def _host(address: str) -> str:
    try:
        return urlsplit(address).hostname or ""
    except ValueError:
        return ""


def map_section(used: Sequence[ToolEvidence], names: Mapping[str, str], language: Language) -> str:
    """Return the map's measurements that an answer rests on, each once."""
    lines = dict.fromkeys(f"- {inert(measurement(e, names, language)[:_RESULT])}" for e in used)
    maps = dict.fromkeys(map_of_tool(e["tool"]) for e in used)
    title = say("team_answer.answer.on_map", language, maps=owners(maps, language))
    return "\n".join([title, *lines]) if lines else ""


def calculation_section(
    names: Iterable[str],
    pool: Sequence[ToolEvidence],
    language: Language,
    form: NumberForm = ENGLISH_NUMBERS,
) -> str:
    """Return the programs of these ids, each once with its number and result; empty without any."""
    blocks = shown_calculations(names, pool)
    return "\n\n".join(_calculation(n, each, language, form) for n, each in enumerate(blocks, 1))


def _calculation(number: int, evidence: ToolEvidence, language: Language, form: NumberForm) -> str:
    """Return what was worked out as a sum or as lines that say what they give.

    People read results: a program is shown only where its result is bare values.
    """
    head = say("team_answer.answer.calculated", language, number=str(number))
    program, text = evidence["asked"].strip(), inert(rounded(evidence["text"])[:_RESULT])
    if formula := written_sum(program):
        return f"{head}\n\n{form.written(f'{formula} = {text.strip()}', '')}"
    if printed := _told_lines(rounded(evidence["text"]), form):
        return "\n".join([head, "", *printed])
    lines = program[:_SHOWN_CHARACTERS].rstrip().splitlines()[:_SHOWN_LINES]
    if "\n".join(lines) != program:
        lines.append(say("team_answer.answer.cut", language))
    result = say("team_answer.answer.result", language, text=text)
    return "\n".join([head, "", fenced("\n".join(lines), "python"), "", result])


def _told_lines(result: str, form: NumberForm) -> list[str]:
    """Return the lines of a result as a list, if each says what its value is, or how it came."""
    lines = [line.strip() for line in result.splitlines() if line.strip()]
    is_told = all(map(_tells, lines))
    told = [form.written(line[:_RESULT], "") for line in lines[:_SHOWN_LINES]] if is_told else []
    return [f"- {inert(line)}".replace(" * ", " × ").replace("*", "\\*") for line in told]


def _tells(line: str) -> bool:
    """Return whether a line has a value behind its label, or behind the sum that gives it."""
    before, sign, value = line.replace("：", ":").replace("=", ":").rpartition(":")
    is_named = any(map(str.isalpha, line)) or is_sum(before)
    return bool(sign and before.strip() and value.strip()) and is_named


async def format_answer(
    state: TeamState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> TeamUpdate:
    """Write the message; raise NothingFound where every source asked, or every model, failed."""
    services, configuration = get_services(), configuration_of(runtime)
    draft, state, whole = await _drafted(state, services, configuration, runtime)
    if _all_failed(state):
        gaps = [gap for gap in draft.gaps if gap["provider"] != ASSISTANT]
        refuse_if_all_failed(gaps, draft.language)
    answer, final = await _in_both_forms(state, draft)
    outcome: AnswerOutcome = (state.get("outcome") or "answer") if final else "not_found"
    title = headline(_measured(answer, state), outcome, draft.language)
    for words in _own(state, title):
        draft.by_code(words)
    verified = bool(final) and state.get("verified", False)
    body = "".join(_body(draft, state, answer, outcome))
    refuted = partial(
        refutation, answer, terms_behind(state), language=draft.language,
        denies=outcome == "premise_false",
    )  # fmt: skip
    # Read once for an answer that was agreed on: what fails goes back to the team.
    if final and _may_go_back(state, configuration):
        draft.begin_check()
        draft.body = body
        if said := refuted(claims=await draft.check(), unproved=True):
            return _objection(state, draft, said)
    told: dict[str, Any] = {"final_answer": answer, "answered": bool(final), "outcome": outcome}
    told["verified"] = verified
    checks = _checks(state, verified) | {"documents_whole": len(whole.read)}
    draft.conclude = partial(
        _concluded, draft, title=title, refuted=refuted, told=told, checks=checks
    )
    coverage = draft.by_code(whole.coverage(draft.language))
    parts = MessageParts(
        body=lambda: _whole(body),
        sections=lambda: [*_sections(draft, state, final), coverage],
        metadata=told,
        checks=checks,
        located=known_positions(state),
        is_report=True,
    )
    closing = await write_message(draft, parts)
    trace = [TraceEntry(step=NODE, text=final or "–")]
    update = {**closing, "final_answer": final, "verified": told["verified"]}
    return cast(TeamUpdate, {**update, "reasoning_trace": trace})


def after_format_answer(state: TeamState) -> Literal["group_chat", "__end__"]:
    """Route back to the discussion where the judge has refuted what it agreed on."""
    return "__end__" if state.get("ended") else "group_chat"


async def _drafted(
    state: TeamState,
    services: Services,
    configuration: Configuration,
    runtime: Runtime[Configuration],
) -> tuple[Draft, TeamState, WholeDocuments]:
    """Return the message to be written, and the state with own documents that are read whole."""
    read, whole = await with_documents(state, services, configuration, runtime)
    workspace = services.workspace(room_of(state["turn"], runtime))
    pages = await page_texts(read, workspace, state.get("answer_evidence", []))
    draft = Draft(
        state, configuration, services, runtime.stream_writer, node=NODE, assistant=ASSISTANT,
        texts=whole.texts | {name: text for name, [text] in pages.items()},
        known=_known(read, "map"), worked=_known(read, "code"),
        read=[s for s in read.get("sources_gathered", []) if s["id"] in whole.by_id],
    )  # fmt: skip
    draft.gaps += [whole.gap] if whole.gap else []
    draft.degraded = state.get("unsettled", False) or state.get("ended") == "failures"
    draft.citer.unknown_ids_removed = state.get("unknown_ids", 0)
    return draft, read, whole


async def _in_both_forms(state: TeamState, draft: Draft) -> tuple[str, str]:
    """Return the answer as people read it, and as it is compared."""
    bare, gaps = await _in_form(state.get("raw_answer", "").strip(), state, draft)
    draft.gaps += gaps
    for gap in gaps:
        draft.emit(event("gap", NODE, text=gap["message"]))
    if state.get("outcome") == "premise_false":
        return bare, bare
    requirement = state["analysis"]["format_requirement"]
    shown = presentable(bare, requirement)
    if not requirement:
        shown = as_written(shown, state.get("explanation", ""))
    return shown, formatted(bare, requirement)


def _may_go_back(state: TeamState, configuration: Configuration) -> bool:
    """Return whether an answer that the verifier agreed to may be looked at once more."""
    rounds_left = configuration.max_group_chat_rounds - len(state.get("transcript") or [])
    return state.get("ended") == "terminated" and not state.get("objected") and rounds_left > 0


def _objection(state: TeamState, draft: Draft, said: str) -> TeamUpdate:
    """Return to the discussion, with what the judge has said as the verifier's objection."""
    draft.emit(event("gap", NODE, text=said))
    turn = ChatTurn(
        round=len(state.get("transcript") or []) + 1, speaker="verifier", text=said, tools=[],
        verdict="disagree", agreed="", ends=False,
    )  # fmt: skip
    log.info("turn=%s %s: refuted: %s", draft.turn["id"], NODE, said)
    entry = TraceEntry(step=NODE, text=said, speaker="verifier", round=turn["round"])
    return TeamUpdate(
        ended=None, objected=True, verified=False, transcript=[turn], reasoning_trace=[entry],
        usage=draft.meter.usage,
    )  # fmt: skip


async def _whole(body: str) -> AsyncIterator[str]:
    yield body


def _concluded(
    draft: Draft,
    checked: Checked,
    *,
    title: str,
    refuted: Callable[..., str],
    told: dict[str, Any],
    checks: dict[str, int],
) -> Checked:
    """Return the message; where the judge finds its reasons wanting, that is what it is told of."""
    if not told["answered"] or not refuted(claims=draft.claims):
        return checked
    told["verified"], checks["verified"] = False, 0
    state = cast(TeamState, draft.state)
    known = "" if state.get("verified") else _unverified(state, draft.language)
    remark = say("team_answer.answer.unverified_judged", draft.language)
    return with_remark(checked, title, remark, instead=known)


def with_remark(checked: Checked, title: str, remark: str, *, instead: str = "") -> Checked:
    """Return the message with a remark below its first line, and what points behind it moved.

    A remark that stands there already gives way to it.
    """
    at = checked.text.find(title) + len(title)
    old = f"\n\n{instead}" if instead else ""
    moved = len(remark) + 2 - len(old)
    text = f"{checked.text[:at]}\n\n{remark}{checked.text[at:].removeprefix(old)}"
    statements = [
        {**row, "start": row["start"] + moved, "end": row["end"] + moved}
        if row["start"] >= at
        else row
        for row in checked.statements
    ]
    begin, end = checked.extent
    return replace(checked, text=text, statements=statements, extent=[begin, end + moved])


def _known(state: TeamState, kind: Literal["map", "code"]) -> list[str]:
    """Return what the text says without a source: results of lookups of a kind, or their names."""
    of_kind = [each["text"] for each in lookups(state) if each["kind"] == kind]
    texts = [text for each in of_kind for text in (each, rounded(each))]
    return [*texts, *(_calculations(state) if kind == "code" else [])]


def _own(state: TeamState, title: str) -> list[str]:
    """Return what code says: the answer, which has its own checks, remarks, names of calculations.

    The pages say no such lines.
    """
    return [title, *_remarks(state, reader_language(state["turn"])), *_calculations(state)]


def _calculations(state: TeamState) -> list[str]:
    """Return how the text refers to the calculations that are shown below it."""
    count = len(shown_calculations(state.get("answer_evidence", []), lookups(state)))
    language = reader_language(state["turn"])
    return [
        say("team_answer.answer.calculation", language, number=str(n + 1)) for n in range(count)
    ]


def _checks(state: TeamState, verified: bool) -> dict[str, int]:
    return {
        "rounds": len(state.get("transcript", [])),
        "searches_saved": searches_saved(state.get("evidence_pool", [])),
        "verified": int(verified),
    }


def _all_failed(state: TeamState) -> bool:
    """Return whether there is no answer because every search, or every model, failed."""
    searches = [each for each in state.get("evidence_pool", []) if each["kind"] != "code"]
    nobody_spoke = state.get("ended") == "failures" and not state.get("transcript")
    none_worked = bool(searches) and all(search["failed"] for search in searches)
    return not state.get("raw_answer", "").strip() and (nobody_spoke or none_worked)


def _body(draft: Draft, state: TeamState, answer: str, outcome: AnswerOutcome) -> Iterator[str]:
    """Yield the answer in the form people read, and what it rests on."""
    language = draft.language
    yield headline(_measured(answer, state), outcome, language)
    for remark in _remarks(state, language) if answer else []:
        yield f"\n\n{remark}"
    if explanation := state.get("explanation", ""):
        # A model's own list of sources goes; code writes that.
        yield "\n\n" + (draft.clean(explanation) + draft.rest()).strip()
    if markers := _uncited_gap(state, explanation):
        yield "\n\n" + draft.cited(say("team_answer.answer.rests_on", language) + markers)


def _measured(answer: str, state: TeamState) -> str:
    """Return a bare number with its unit as the explanation tells it, where no form is asked."""
    is_free = not state["analysis"]["format_requirement"]
    return with_unit(answer, state.get("explanation", "")) if is_free else answer


def _remarks(state: TeamState, language: Language) -> list[str]:
    """Return what code says of the answer below it: why it is not verified, who contests it."""
    remarks = [] if state.get("verified") else [_unverified(state, language)]
    keys = [key for key in ("contested", "unsettled") if state.get(key)]
    return [*remarks, *(say(f"team_answer.answer.{key}", language) for key in keys)]


def _unverified(state: TeamState, language: Language) -> str:
    reason = state.get("unverified_reason") or "unverified_none"
    agreed = {"agreed": agreed_answer(state)} if reason == "unverified_other" else {}
    return say(f"team_answer.answer.{reason}", language, **agreed)


def _uncited_gap(state: TeamState, explanation: str) -> str:
    """Return markers of the sources the answer rests on and the explanation does not name."""
    cited = set(cited_ids(explanation))
    ids = {source["id"] for source in state.get("sources_gathered", [])}
    names = state.get("answer_evidence", [])
    return "".join(f"[^{name}]" for name in names if name in ids and name not in cited)


def _sections(draft: Draft, state: TeamState, answer: str) -> list[str]:
    """Return the calculations and measurements an answer rests on; without one, what was tried."""
    if not answer:
        return [tried(state.get("evidence_pool", []), draft.language, known_sources(state))]
    names = set(state.get("answer_evidence", []))
    used = [each for each in lookups(state) if each["id"] in names]
    measured = [each for each in used if each["kind"] == "map"]
    sections = (
        calculation_section(names, lookups(state), draft.language, draft.number_form),
        map_section(measured, known_positions(state), draft.language),
    )
    return [draft.cited(section) for section in sections if section]


class Extracted(BaseModel):
    """The answer in its form."""

    answer: str = Field(description="The answer and nothing else.")


async def _in_form(raw: str, state: TeamState, draft: Draft) -> tuple[str, list[Gap]]:
    """Return the settled answer, put into its form by a model only where rules see a need."""
    requirement = state["analysis"]["format_requirement"]
    if not raw or state.get("outcome") == "premise_false" or not unmet(raw, requirement):
        return raw, []
    prompt = _prompt(raw, state, context_limit(draft.turn, draft.configuration))
    extracted, gaps = await parsed_or_gap(
        draft.services.models, draft.configuration.query_generator_model, prompt, Extracted,
        meter=draft.meter, turn=draft.turn, part=NODE,
    )  # fmt: skip
    if extracted is None:
        return raw, gaps
    answer = clean_text(extracted.answer, _MAX_ANSWER)
    return (answer if is_extract(answer, raw) else raw), []


def is_extract(answer: str, raw: str) -> bool:
    """Return True if a model brought the settled answer into another form, not another answer."""
    grown = len(answer) > 2 * len(raw) + 40
    return bool(answer) and not grown and same_answer(answer, raw)


def _prompt(raw: str, state: TeamState, limit: int) -> list[BaseMessage]:
    turn = state["turn"]
    values = {
        "question": cut_to_tokens(turn["question"], limit // 2),
        "format_requirement": state["analysis"]["format_requirement"],
        "answer": cut_to_tokens(raw, limit // 4),
    }
    return task_prompt("team_format", **values)
