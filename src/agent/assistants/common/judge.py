"""The model that judges an answer, and what it reads."""

import logging
from collections.abc import Awaitable, Callable, Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from types import MappingProxyType
from typing import Any, cast

from agent.assistants.common.conversation import known_words
from agent.assistants.common.previous import NO_PREVIOUS
from agent.assistants.common.shown_records import distinct_places
from agent.assistants.common.toolbox import is_calculation
from agent.assistants.common.turn import now_there
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.processor import compute
from agent.evidence.claims.judging import (
    CONTEXT,
    Ruling,
    Rulings,
    asked_of,
    passages_block,
    statements_block,
)
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import figures
from agent.evidence.findings import QuotedFacts
from agent.evidence.language import without_marks
from agent.evidence.mentions import source_ids
from agent.evidence.notation import Notation
from agent.evidence.numbering import source_key
from agent.evidence.open_when import BEFORE
from agent.evidence.ordering import judged as with_verdicts
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.references import headed_title, untitled
from agent.evidence.stated import states
from agent.evidence.types import Constraints, Place, Route, Source, Weather
from agent.evidence.unshown import may_stand_unshown
from agent.evidence.way_steps import step_text
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.client import EndpointKind, ModelClient
from agent.prompts import task_prompt
from agent.state import Gathered, reader_language
from agent.texts import Language, say

log = logging.getLogger(__name__)
WAITING: Mapping[EndpointKind, float] = {"hosted": 6.0, "thinking": 15.0, "near": 60.0}
"""Seconds that a reader waits for a judge, by how it is served."""
_ROUNDED_FROM, _ROUNDED_TO = 1000, 100
_INFERRED_FROM = ("category", "name")
"""Metres from which a distance is told in kilometres, and to what it is rounded then."""

Ask = Callable[[Sequence[Statement], Evidence], Awaitable[list[Ruling] | AgentError | None]]
"""Have a batch of statements judged; what fails, or None, where the judge cannot."""


@dataclass(frozen=True)
class Judge:
    """Ask a model about statements."""

    models: ModelClient
    model: str
    meter: Meter
    notation: Notation

    async def __call__(
        self, batch: Sequence[Statement], evidence: Evidence
    ) -> list[Ruling] | AgentError:
        """Return the rulings on a batch; where the model fails, why."""
        passages = await compute(lambda: passages_block(batch, evidence), otherwise=lambda: None)
        if passages is None:
            return []
        statements = statements_block(batch, evidence, self.notation)
        is_of_places = any(record.place for record in evidence.records.values())
        prompt = task_prompt(
            "claim_check",
            today=evidence.now or evidence.today,
            question=asked_of(evidence),
            passages=passages,
            statements=statements,
            of_reader=passages if passages.startswith("0.") else "",
            of_places="yes" if is_of_places else "",
            **_read_with(statements, batch, passages, evidence),
        )
        try:
            reply = await self.models.ask(
                self.model,
                prompt,
                meter=self.meter,
                schema=Rulings,
                thinking=DEFAULT_THINKING["query"],
            )
        except AgentError as error:
            log.info("%d statements were not judged: %s", len(batch), error)
            return error
        names, parsed = _names(passages), reply.parsed or Rulings()
        found = _of_shown(parsed.rulings, names)
        return await compute(
            lambda: _with_unshown(found, batch, names, evidence), otherwise=lambda: found
        )


def _of_shown(rulings: Iterable[Ruling], names: Container[str]) -> list[Ruling]:
    """Return rulings that name only passages which this call showed."""
    return [
        one.model_copy(update={"p": [name for p in one.p if (name := p.strip("[] ")) in names]})
        for one in rulings
    ]


def _with_unshown(
    rulings: Sequence[Ruling], batch: Sequence[Statement], names: Container[str], evidence: Evidence
) -> list[Ruling]:
    """Return rulings that know whether what was not shown may bear what a proposal takes out."""
    ones = {one.name: one for one in batch}
    return [
        ruling.model_copy(update={"unshown": may_stand_unshown(ruling.bad, one, names, evidence)})
        if ruling.v == "p" and ruling.fix and (one := ones.get(ruling.id))
        else ruling
        for ruling in rulings
    ]


def _names(passages: str) -> set[str]:
    return {line.partition(" ")[0] for line in passages.splitlines()}


def _read_with(
    block: str, shown: Sequence[Statement], passages: str, evidence: Evidence
) -> dict[str, str]:
    """Return what the instructions explain only where it is there: cells, sums, open ends.

    A figure that stands in what its statement cites, or that was asked about, is neither a sum nor
    a time that a plan sets; sums of days need one that is named.
    """
    said = [(f, one) for one in shown for f in figures(one.plain) if states(f)]
    new = [f for f, one in said if not evidence.stands(f, one.sources)]
    of_passages = (evidence.by_name[name].figures for name in _names(passages))
    named = chain((f for f, _ in said), figures(asked_of(evidence)), *of_passages)
    kinds = {statement.kind for statement in shown}
    places = [record.place for record in evidence.records.values() if record.place]
    verdicts = [verdict for place in places for verdict in place.get("verdicts", [])]
    is_open = any(v["verdict"] == "unknown" and v["text"] in passages for v in verdicts)
    has = {"context": CONTEXT in block, "cells": "cell" in kinds, "headings": "heading" in kinds,
           "open_demand": is_open, "times": any(f.date or f.clock is not None for f in new),
           "sums": bool(new), "days": new and any(f.date and f.date[2] for f in named)}  # fmt: skip
    return {name: "yes" if it else "" for name, it in has.items()}


def evidence_of(
    state: Gathered,
    sources: Mapping[str, Source],
    texts: Mapping[str, str],
    known: Iterable[str],
    own: Sequence[str] = (),
    *,
    worked: Sequence[str] = (),
    shown: Sequence[Place] = (),
    earlier: Sequence[Place] = (),
    seen: Mapping[str, Sequence[str]] | None = None,
    findings: QuotedFacts = MappingProxyType({}),
) -> Evidence:
    """Return what an answer may rest on: quotes, pages, and the map's records, by source id.

    `texts` is what else each source says; `known` are words that need no source, `worked` those
    that programs gave besides, `own` what code says in the text, `shown` the places as the writer
    is shown them, with what is near, and `earlier` those of the last turns; `seen` is what of each
    source the writer was shown, or will be; `findings` are what was told of pages in their words.
    """
    turn, before = state["turn"], state.get("previous") or NO_PREVIOUS
    found = [*shown, *state.get("places", []), *(earlier or before["places"])]
    # With what it fails or may fail, as the writer is shown it: a new wording may say so.
    language = reader_language(turn)
    places = with_verdicts(distinct_places(found), turn.get("constraints", {}), language)
    by_record = record_texts(places, state.get("routes", []), state.get("weather", []), language)
    user_words = known_words(cast(Mapping[str, Any], state).get("messages", []))
    return Evidence(
        _records(sources, texts, by_record, places),
        question=turn["question"],
        today=turn["today"],
        now=now_there(turn, [*state.get("places", []), *shown], state),
        known=[*user_words, *known, *worked],
        worked=worked,
        own=own,
        seen={} if seen is None else seen,
        findings=findings,
        demanded=_hours_asked([turn.get("constraints", {}), *(p.get("demands") for p in places)]),
    )


def _hours_asked(demands: Iterable[Constraints | None]) -> list[str]:
    """Return the times that places are to be open at or until, by the question or one search."""
    asked = ((each or {}).get(key) for each in demands for key in ("open_at", "open_until"))
    return list(dict.fromkeys(str(time).removeprefix(BEFORE) for time in asked if time))


def _records(
    sources: Mapping[str, Source],
    texts: Mapping[str, str],
    by_record: Mapping[str, str],
    places: Iterable[Place],
) -> dict[str, Record]:
    """Return what each source says; a place that was found twice says it under its first id."""
    by_source = {id: place for place in places for id in source_ids(place)}
    records, told = dict[str, Record](), set[str]()
    for name, source in sources.items():
        if place := by_source.get(name):
            said = dict.fromkeys(texts[id] for id in source_ids(place) if texts.get(id))
            words = [] if place["id"] in told else [by_record[place["source"]], *said]
            records[name] = Record(words, place, f"place {place['id']}")
            told.add(place["id"])
            continue
        # The quotes of a record say once more what its line does.
        of_map = [by_record[name], texts.get(name, "")] if name in by_record else []
        records[name] = Record(
            of_map or _words_of(name, source, texts),
            page=source_key(source) if source["kind"] in ("page", "document") else "",
            is_own=source["kind"] == "document" and not is_calculation(source),
            is_worked=is_calculation(source),
        )
    return records


def _words_of(name: str, source: Source, texts: Mapping[str, str]) -> list[str]:
    """Return a source's words below its head: quotes may be a model's, where text is none."""
    # What an earlier turn left begins with the title already, and so do pages.
    words = [texts[name]] if texts.get(name) else source["quotes"]
    if source["kind"] == "document" and not words:
        # An earlier answer's document: its passages of this turn say it.
        return []
    if is_calculation(source) and (sums := _sums_in(words)):
        return sums
    below = [untitled(source, text) for text in words]
    return ["\n".join(filter(None, [headed_title(source), *below]))]


def _sums_in(texts: Iterable[str]) -> list[str]:
    """Return the sums of a calculation, each one that is read alone; none of other output.

    What is indented belongs to the line above; a heading stands above each sum under it.
    """
    found, told = list[str](), ""
    # What an answer has quoted of it, line by line, stands in the whole.
    for text in sorted(texts, key=len, reverse=True):
        head = ""
        for lines in _of_one_line([line for line in text.splitlines() if line.strip()]):
            said = without_marks("".join(lines))
            is_head = _is_heading(lines[0]) and len(lines) == 1
            head = lines[0].strip() if is_head else head
            if not is_head and said not in told:
                found.append("\n".join(filter(None, [head, *lines])))
            told += said
    return found if any("=" in text for text in found) else []


def _of_one_line(lines: Sequence[str]) -> Iterator[list[str]]:
    """Yield each line with those behind it that are indented."""
    begins = [at for at, line in enumerate(lines) if not (at and line[:1].isspace())]
    for begin, end in zip(begins, [*begins[1:], len(lines)], strict=True):
        yield [*lines[begin:end]]


def _is_heading(line: str) -> bool:
    bare = line.strip()
    return "=" not in bare and (bare.endswith((":", "：")) or not (bare[0].isalnum()))


def record_texts(
    places: Iterable[Place], routes: Iterable[Route], weather: Iterable[Weather], language: Language
) -> dict[str, str]:
    """Return each record of the map by its source: as a model is shown it, and unrounded.

    Of demands those that a place is not known to meet, those that code has inferred from its kind
    or name, and a total that it has worked out: what else it meets stands in its fields.
    """
    texts: dict[str, str] = {}
    for place in places:
        news = [v for v in place.get("verdicts", [])
                if v["verdict"] != "satisfied" or v["field"] in _INFERRED_FROM
                or v["constraint"] == "total_cost"]  # fmt: skip
        line = place_lines([Place(**{**place, "verdicts": news})], language)
        metres = place["distance_m"] or 0
        # 1300 m is its 1.3 km: said once more it would be another length to a judge.
        is_told = metres < _ROUNDED_FROM or not metres % _ROUNDED_TO
        exact = f"{say('records.modes.straight', language)} {metres} m"
        texts[place["source"]] = line if is_told else f"{line} | {exact}"
    for route in routes:
        minutes, metres = (route["duration_s"] or 0) / 60, route["distance_m"] or 0
        told_minutes = say("records.minutes", language, minutes=f"{minutes:.1f}")
        line, exact = route_lines([route], language), f"{metres} m, {told_minutes}"
        # What the line says already comes once more in its reader's language.
        told = [step for step in route["steps"] if "line" not in step]
        is_ride = len(told) < len(route["steps"])
        steps = [] if is_ride else [step_text(step["instruction"], language) for step in told]
        more = [step for step in steps if step not in line]
        texts[route["source"]] = " |\n".join([line, exact, *more])
    for forecast in weather:
        texts[forecast["source"]] = weather_lines([forecast], language)
    return texts
