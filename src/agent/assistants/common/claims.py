"""The check of claims of a finished text: by rules, and one cheap model call for the doubtful."""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from pydantic import BaseModel, Field

from agent.assistants.common.conversation import known_words
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.processor import compute
from agent.evidence.citations import source_key
from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.correct import (
    CONTRADICTED,
    MARK,
    Part,
    corrected,
    counts,
    doubts,
    judged,
    marked_where_named,
    renumbered,
    shown_passages,
    signs,
    statements,
    with_source_figures,
)
from agent.evidence.claims.evidence import Evidence, Record, record
from agent.evidence.claims.facts import Passage
from agent.evidence.claims.places import without_invented_places
from agent.evidence.claims.sentences import numbered
from agent.evidence.constraints import judged as with_verdicts
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.references import references, resolved, with_targets
from agent.evidence.types import Place, Route, Source, Weather
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.client import ModelClient
from agent.prompts import Raw, element, task_prompt
from agent.state import Gathered
from agent.texts import Language, say

log = logging.getLogger(__name__)
_MAX_DOUBTS = 12
_MAX_QUOTES = 12
_MEANINGS = {MARK: "answer.no_source_says", CONTRADICTED: "answer.source_says_otherwise"}


class ClaimVerdict(BaseModel):
    """One sentence's."""

    id: int
    verdict: str = Field(
        description="supported, partly, contradicted, not_there or nothing_to_check"
    )
    quote: str = Field("", description="The words of the passage, copied; empty if not_there.")


class ClaimVerdicts(BaseModel):
    """The verdict of the passages on each sentence."""

    verdicts: list[ClaimVerdict] = []


@dataclass(frozen=True)
class Checked:
    """Hold a message's text after its check; `counts` and `statements` go into its checks."""

    text: str
    used: list[Source]
    counts: dict[str, int]
    statements: list[dict[str, Any]]
    extent: list[int]
    """Where the text that was checked begins and ends, without the line below it."""
    missing: int
    """Figures that no source has."""
    rejected: int
    """Places that were recommended and that no evidence knows."""


@dataclass
class ClaimCheck:
    """Check one message; `body` is its text, with numbered citations."""

    body: str
    used: list[Source]
    sources: Mapping[str, Source]
    evidence: Evidence
    language: Language
    earlier: Mapping[str, Source] = field(default_factory=dict)
    """Pages of older answers: they are cited only where nothing else says what a sentence says."""
    quoted: str = ""
    """What code quotes below the text, which is not checked."""
    findings: list[Finding] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    """Names of recommended places that no evidence knows."""
    is_checked: bool = False

    def __post_init__(self) -> None:
        """Remember what was cited before anything is set right."""
        self._cited, self._text = list(self.used), self.body
        self.sources = {**self.sources, **self.earlier}
        self._notation = numbered(self.used, self.sources)

    @property
    def citing(self) -> dict[str, list[str]]:
        """Return the sentences that cite each source, by its id; a row with its table's head."""
        citing: dict[str, list[str]] = {}
        for finding in self.findings:
            sentence = finding.sentence
            for name in (*sentence.cited, *finding.attach):
                words = f"{sentence.head} {sentence.plain}".replace("\0", " ")
                citing.setdefault(name, []).append(words)
        return citing

    async def decide(self, *, seconds: float) -> None:
        """Check by rules, in a thread; a text too long for the time stays as it was written."""
        decided = await compute(self._decided, otherwise=lambda: None, seconds=seconds)
        if decided is not None:
            self._text, self.rejected, self.findings = decided
        self.is_checked = decided is not None

    def _decided(self) -> tuple[str, list[str], list[Finding]] | None:
        """Return the text without invented places, their names, and what is found of the rest."""
        text, names = without_invented_places(self.body, self.evidence, self._notation)
        findings = check(text, self.evidence, self._notation)
        if self.earlier:
            pages = _pages(self.earlier)
            findings = [_attached(finding, pages) for finding in findings]
        findings = marked_where_named(findings, names)
        return text, names, with_source_figures(findings, self.evidence)

    async def ask(self, models: ModelClient, model: str, meter: Meter, *, seconds: float) -> None:
        """Have a model judge what is doubtful; where it cannot in time, the rules' word stands."""
        doubtful = doubts(self.findings, _MAX_DOUBTS)
        if not doubtful:
            return
        passages = await compute(
            lambda: [shown_passages(finding, self.evidence) for finding in doubtful],
            otherwise=list[list[Passage]],
            seconds=seconds,
        )
        if not passages:
            return
        try:
            async with asyncio.timeout(seconds):
                verdicts = await self._verdicts(doubtful, passages, models, model, meter)
        except (AgentError, TimeoutError) as error:
            log.info("claims were not judged: %s", error or "too slow")
            return
        judgements = {
            id(doubtful[verdict.id - 1]): (verdict, passages[verdict.id - 1])
            for verdict in verdicts
            if 0 < verdict.id <= len(doubtful)
        }
        self.findings = [
            self._with_verdict(finding, *judgement)
            if (judgement := judgements.get(id(finding)))
            else finding
            for finding in self.findings
        ]

    def _with_verdict(
        self, finding: Finding, verdict: ClaimVerdict, passages: Sequence[Passage]
    ) -> Finding:
        word = verdict.verdict.replace(" ", "_")
        return judged(finding, word, verdict.quote, passages, self.evidence)

    async def _verdicts(
        self,
        findings: Sequence[Finding],
        passages: Sequence[Sequence[Passage]],
        models: ModelClient,
        model: str,
        meter: Meter,
    ) -> list[ClaimVerdict]:
        each = enumerate(zip(findings, passages, strict=True), 1)
        claims = Raw("\n".join(claim_element(n, *claim) for n, claim in each))
        reply = await models.ask(
            model,
            task_prompt("claim_check", claims=claims),
            meter=meter,
            schema=ClaimVerdicts,
            thinking=DEFAULT_THINKING["query"],
        )
        assert reply.parsed is not None
        return reply.parsed.verdicts

    def _note(self) -> str:
        """Return what the signs in the text mean, or that it was not checked; else nothing."""
        if not self.is_checked:
            return say("answer.not_checked", self.language) if self.body else ""
        between = say("punctuation.semicolon", self.language)
        return between.join(
            say(_MEANINGS[sign], self.language, mark=sign) for sign in signs(self.findings)
        )

    def finished(self, streamed: str, targets: Mapping[str, str | None]) -> Checked:
        """Return the message that was streamed around the text, corrected and with its sources.

        `targets` are where links of sources lead by now.
        """
        begin = streamed.index(self.body or self.quoted)
        closing = streamed[begin + len(self.body) :]
        listed = references(resolved(self._cited, targets), self.language)
        closing = closing.removesuffix(f"\n\n{listed}")
        ends = closing.find(self.quoted) + len(self.quoted)
        quoted, closing = closing[:ends], closing[ends:]
        parts = corrected(self._text, self.findings, self._notation)
        cited = [*(part.text for part in parts), quoted, closing]
        whole, used = renumbered("\0".join(cited), self.used)
        *texts, quoted, closing = whole.split("\0")
        parts = [Part(text, part.finding) for text, part in zip(texts, parts, strict=True)]
        used = resolved(_with_quotes(used, self.findings, self.sources), targets)
        sources = references(used, self.language)
        note = f"\n\n{self._note()}".rstrip()
        written = [streamed[:begin], *texts, quoted, note, closing]
        own = sum(len(with_targets(text, targets)) for text in [*texts, quoted])
        text = with_targets("".join(written), targets) + f"\n\n{sources}" * bool(sources)
        return Checked(
            text=text,
            used=used,
            counts=counts(self.findings, found=bool(self.sources)),
            statements=statements(parts, begin, lambda piece: with_targets(piece, targets)),
            extent=[begin, begin + own],
            missing=sum(len(f.missing) for f in self.findings if f.verdict == "marked"),
            rejected=len(self.rejected),
        )


def unchecked(streamed: str, body: str, used: list[Source], language: Language) -> Checked:
    """Return a message as it was streamed, which says below its text that it was not checked."""
    begin = streamed.find(body)
    end = begin + len(body)
    note = f"\n\n{say('answer.not_checked', language)}" if body else ""
    return Checked(
        text=f"{streamed[:end]}{note}{streamed[end:]}",
        used=used,
        counts=counts([]),
        statements=[],
        extent=[begin, end],
        missing=0,
        rejected=0,
    )


def claim_element(number: int, finding: Finding, passages: Sequence[Passage]) -> Raw:
    """Return a doubtful sentence with the passages to judge it by, for a prompt."""
    plain = finding.sentence.plain.replace("\0", "")
    head = finding.sentence.head
    rows = [element("sentence", plain), *([element("table_head", head)] if head else [])]
    rows += [element("passage", _with_head(passage.text, passage.head)) for passage in passages]
    return Raw(f'<claim id="{number}">\n' + "\n".join(rows) + "\n</claim>")


def _with_head(text: str, head: str) -> str:
    """Return a row below the head of its table; any other text as it is."""
    return f"{head}\n{text}" if head else text


def _with_quotes(
    used: Sequence[Source], findings: Iterable[Finding], sources: Mapping[str, Source]
) -> list[Source]:
    """Return the cited sources with the passages that bear the text, or not, before others."""
    quotes: dict[str, list[str]] = {}
    for finding in findings:
        quote = finding.quote
        bears = finding.verdict != "marked" or finding.contradicted
        if quote and quote.source in sources and bears:
            source = sources[quote.source]
            if source["kind"] != "place" and quote.text != source["title"]:
                quotes.setdefault(source_key(source), []).append(quote.text)
    with_quotes = []
    for source in used:
        own = quotes.get(source_key(source), [])
        every = list(dict.fromkeys([*own, *source["quotes"]]))[:_MAX_QUOTES]
        with_quotes.append(Source(**{**source, "quotes": every}))
    return with_quotes


def evidence_of(
    state: Gathered,
    sources: Mapping[str, Source],
    texts: Mapping[str, str],
    known: Iterable[str],
    own: Iterable[str] = (),
) -> Evidence:
    """Return what an answer may rest on: quotes, pages, and the map's records, by source id.

    `texts` is what else each source says; `known` are words that need no source, `own` what
    code says in the text.
    """
    turn, previous = state["turn"], state.get("previous")
    places = [*(previous["places"] if previous else []), *state.get("places", [])]
    by_record = record_texts(
        places, state.get("routes", []), state.get("weather", []), turn["language"]
    )
    verdicts = with_verdicts(places, turn.get("constraints", {}), turn["language"])
    by_source: dict[str, Place] = {place["source"]: place for place in verdicts}
    records: dict[str, Record] = {
        name: record(
            name,
            [source["title"], *_words_of(name, source, texts), by_record.get(name, "")],
            by_source.get(name),
        )
        for name, source in sources.items()
    }
    user_words = known_words(cast(Mapping[str, Any], state).get("messages", []))
    return Evidence(
        records,
        question=turn["question"],
        today=turn["today"],
        known=[*user_words, *known],
        own=own,
    )


def _pages(sources: Mapping[str, Source]) -> Evidence:
    """Return pages of which no more than their quotes is known as evidence."""
    return Evidence(
        {name: record(name, [page["title"], *page["quotes"]]) for name, page in sources.items()}
    )


def _attached(finding: Finding, pages: Evidence) -> Finding:
    """Return a sentence that nothing bears with the one page that does; else as it is."""
    if finding.verdict != "marked" or finding.contradicted or finding.sentence.cited:
        return finding
    again = check(finding.sentence.text, pages)
    if len(again) != 1 or again[0].verdict != "attached":
        return finding
    return replace(again[0], sentence=finding.sentence)


def _words_of(name: str, source: Source, texts: Mapping[str, str]) -> list[str]:
    """Return a source's own words and date: quotes may be a model's, where its text is there."""
    text = texts.get(name, "")
    return [*([text] if text else source["quotes"]), (source.get("published") or "")[:10]]


def record_texts(
    places: Iterable[Place], routes: Iterable[Route], weather: Iterable[Weather], language: Language
) -> dict[str, str]:
    """Return each record of the map by its source: as a model is shown it, and unrounded."""
    texts: dict[str, str] = {}
    for place in places:
        exact = [f"{place['distance_m']} m"] if place["distance_m"] is not None else []
        texts[place["source"]] = "\n".join([place_lines([place], language), *exact])
    for route in routes:
        seconds, metres = route["duration_s"] or 0, route["distance_m"] or 0
        steps = [step["instruction"] for step in route["steps"]]
        lines = [route_lines([route], language), f"{metres} m, {seconds / 60:.1f} min", *steps]
        texts[route["source"]] = "\n".join(lines)
    for forecast in weather:
        texts[forecast["source"]] = weather_lines([forecast], language)
    return texts
