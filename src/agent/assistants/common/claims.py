"""The check of an answer: a judge reads each statement while the text streams, code proves."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, cast

from agent.assistants.common.conversation import known_words
from agent.core.budget import Meter
from agent.core.concurrency import begin
from agent.core.errors import AgentError
from agent.core.processor import compute
from agent.core.strings import cut_to_tokens
from agent.evidence.citations import source_key
from agent.evidence.claims.corrected import (
    CONTRADICTED,
    MARK,
    can_be_left_out,
    corrected,
    counts,
    renumbered,
    rows,
    signs,
)
from agent.evidence.claims.judging import (
    Ruling,
    Rulings,
    batches,
    passages_block,
    statements_block,
    with_citations,
)
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.places import without_invented_places
from agent.evidence.claims.proof import Outcome, proved, revised
from agent.evidence.claims.statements import (
    Notation,
    Splitter,
    Statement,
    numbered,
    statements,
)
from agent.evidence.constraints import judged as with_verdicts
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.references import references, resolved, with_targets
from agent.evidence.types import Place, Route, Source, Weather
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.client import ModelClient
from agent.prompts import task_prompt
from agent.state import Gathered
from agent.texts import Language, say

log = logging.getLogger(__name__)
_FIRST, _MOST_CALLS = 12, 12
"""Statements that are worth a call while more are being written; calls of one answer."""
_LATE = 4
"""How many times as long as a reader waits for the judge its verdicts still correct the message."""
_MAX_QUOTES = 12
_QUESTION_TOKENS = 300
_MEANINGS = {MARK: "answer.no_source_says", CONTRADICTED: "answer.source_says_otherwise"}

Ask = Callable[[Sequence[Statement], Evidence], Awaitable[list[Ruling]]]
"""Have a batch of statements judged."""


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
    """Statements of which words stand in no source."""
    rejected: int
    """Places that were recommended and that no evidence knows."""


@dataclass(frozen=True)
class Judge:
    """Ask a model about statements."""

    models: ModelClient
    model: str
    meter: Meter
    notation: Notation

    async def __call__(self, batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        """Return the rulings on a batch; none where the model fails."""
        passages = await compute(
            lambda: passages_block(batch, evidence), otherwise=lambda: "", seconds=_SECONDS
        )
        if not passages:
            return []
        prompt = task_prompt(
            "claim_check",
            today=evidence.today,
            question=cut_to_tokens(evidence.question, _QUESTION_TOKENS),
            passages=passages,
            statements=statements_block(batch, evidence, self.notation),
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
            return []
        return reply.parsed.rulings if reply.parsed else []


_SECONDS = 10.0


@dataclass
class ClaimCheck:
    """Check one text while it is written: `feed` it as it streams, `finish` it, take `finished`.

    `judge` is none where nobody judges: then nothing is marked but what a place's own record says
    otherwise.
    """

    evidence: "asyncio.Task[Evidence | None]"
    used: list[Source]
    sources: Mapping[str, Source]
    language: Language
    judge: Ask | None = None
    body: str = ""
    statements: list[Statement] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    rejected: list[str] = field(default_factory=list)
    """Names of recommended places that no evidence knows."""
    quoted: str = ""
    """What code quotes below the text, which is not checked."""
    is_checked: bool = False

    def __post_init__(self) -> None:
        """Begin with nothing read."""
        self.notation = numbered(self.used, self.sources)
        self._splitter = Splitter(self.notation)
        self._text, self._read = "", 0
        self._cited = list[Source]()
        self._waiting, self._asked = list[Statement](), set[Any]()
        self._calls = list[asyncio.Task[dict[Any, Ruling]]]()

    def feed(self, piece: str) -> None:
        """Take the next piece of the text; what stands in its finished blocks is judged at once."""
        before = len(self._text)
        self._text += piece
        end = self._text.rfind("\n\n", max(self._read, before - 1))
        if end < 0 or self.judge is None:
            return
        self._waiting += self._splitter.split(self._text[self._read : end + 2], self._read)
        self._read = end + 2
        if len(self._waiting) >= _FIRST:
            self._ask(self._waiting)
            self._waiting = []

    def _ask(self, statements: Sequence[Statement]) -> None:
        assert self.judge is not None
        self._asked |= {one.key for one in statements}
        for batch in batches(statements)[: _MOST_CALLS - len(self._calls)]:
            self._calls.append(begin(self._judged(self.judge, batch)))

    async def _judged(self, judge: Ask, batch: Sequence[Statement]) -> dict[Any, Ruling]:
        evidence = await self.evidence
        if evidence is None or not evidence.records:
            return {}
        asked = [one for one in batch if not evidence.says(one.plain)]
        found = await judge(asked, evidence) if asked else []
        by_name = {one.name: one for one in asked}
        return {by_name[r.id].key: r for r in found if r.id in by_name}

    async def finish(self, body: str, *, seconds: float) -> None:
        """Have the rest judged, prove all rulings, and have what fails reworded once.

        After `seconds` nothing more is asked; what is under way is waited for a while longer.
        """
        self.body = self._text = body
        self._cited = list(self.used)
        evidence = await self.evidence
        if evidence is None:
            return
        loop = asyncio.get_running_loop()
        soon = loop.time() + seconds
        decided = await compute(lambda: self._decided(evidence), otherwise=lambda: None)
        if decided is None:
            return
        self._text, self.rejected, self.statements = decided
        self.is_checked = True
        if self.judge is not None:
            self._ask([one for one in self.statements if one.key not in self._asked])
        rulings = await _gathered(self._calls, seconds * _LATE)
        self.outcomes = await self._proved(self.statements, rulings, evidence)
        if self.judge is not None and loop.time() < soon:
            await self._revise(self.judge, evidence, seconds * _LATE)

    def stop(self) -> None:
        """Give up what is still asked: nobody waits for it any more."""
        for call in self._calls:
            call.cancel()

    def _decided(self, evidence: Evidence) -> tuple[str, list[str], list[Statement]] | None:
        """Return the text without invented places, their names, and what it states."""
        text, names = without_invented_places(self.body, evidence, self.notation)
        if not evidence.records:
            # Thanks and sums rest on nothing that a judge could read: they state nothing.
            return text, names, []
        found = [one for one in statements(text, self.notation) if not evidence.says(one.plain)]
        return text, names, found

    async def _proved(
        self, found: Sequence[Statement], rulings: Mapping[Any, Ruling], evidence: Evidence
    ) -> list[Outcome]:
        by_place = {at: rulings[one.key] for at, one in enumerate(found) if one.key in rulings}
        return await compute(
            lambda: proved(found, by_place, evidence),
            otherwise=lambda: [Outcome("unchecked")] * len(found),
        )

    async def _revise(self, judge: Ask, evidence: Evidence, seconds: float) -> None:
        """Say what fails as the judge would have it, where the new wording is borne out in turn."""
        wordings = dict[int, Statement]()
        for at, (one, outcome) in enumerate(zip(self.statements, self.outcomes, strict=True)):
            if not (outcome.fails and outcome.fix):
                continue
            if outcome.fix == "-":
                if can_be_left_out(self._text, one):
                    self.outcomes[at] = revised(outcome, None, "-")
                continue
            wording = with_citations(outcome.fix, evidence, self.notation)
            wordings[at] = _reworded(one, wording, self.notation)
        again = [begin(self._judged(judge, batch)) for batch in batches([*wordings.values()])]
        rulings = await _gathered(again, seconds)
        outcomes = await self._proved([*wordings.values()], rulings, evidence)
        for (at, one), outcome in zip(wordings.items(), outcomes, strict=True):
            self.outcomes[at] = revised(self.outcomes[at], outcome, one.text)

    @property
    def citing(self) -> dict[str, list[str]]:
        """Return the statements that rest on each source, by its id."""
        citing: dict[str, list[str]] = {}
        for statement in self.statements:
            for name in statement.cited:
                citing.setdefault(name, []).append(statement.said)
        return citing

    def _note(self) -> str:
        """Return what the signs in the text mean, or that it was not checked; else nothing."""
        if not self.is_checked:
            return say("answer.not_checked", self.language) if self.body else ""
        between = say("punctuation.semicolon", self.language)
        return between.join(
            say(_MEANINGS[sign], self.language, mark=sign) for sign in signs(self.outcomes)
        )

    def finished(self, streamed: str, targets: Mapping[str, str | None]) -> Checked:
        """Return the message that was streamed around the text, corrected and with its sources.

        `targets` are where links of sources lead by now.
        """
        begins = streamed.index(self.body or self.quoted)
        closing = streamed[begins + len(self.body) :]
        listed = references(resolved(self._cited, targets), self.language)
        closing = closing.removesuffix(f"\n\n{listed}")
        ends = closing.find(self.quoted) + len(self.quoted)
        quoted, closing = closing[:ends], closing[ends:]
        parts = corrected(self._text, self.statements, self.outcomes, self.notation)
        cited = [*(part.text for part in parts), quoted, closing]
        whole, used = renumbered("\0".join(cited), self.used)
        *texts, quoted, closing = whole.split("\0")
        parts = [replace(part, text=text) for part, text in zip(parts, texts, strict=True)]
        used = resolved(_with_quotes(used, self.outcomes, self.sources), targets)
        sources = references(used, self.language)
        note = f"\n\n{self._note()}".rstrip()
        written = [streamed[:begins], *texts, quoted, note, closing]
        own = sum(len(with_targets(text, targets)) for text in [*texts, quoted])
        text = with_targets("".join(written), targets) + f"\n\n{sources}" * bool(sources)
        return Checked(
            text=text,
            used=used,
            counts=counts(self.outcomes),
            statements=rows(parts, begins, lambda piece: with_targets(piece, targets)),
            extent=[begins, begins + own],
            missing=sum(outcome.fails for outcome in self.outcomes),
            rejected=len(self.rejected),
        )


def unchecked(streamed: str, body: str, used: list[Source], language: Language) -> Checked:
    """Return a message as it was streamed, which says below its text that it was not checked."""
    begins = streamed.find(body)
    end = begins + len(body)
    note = f"\n\n{say('answer.not_checked', language)}" if body else ""
    return Checked(
        text=f"{streamed[:end]}{note}{streamed[end:]}",
        used=used,
        counts=counts([]),
        statements=[],
        extent=[begins, end],
        missing=0,
        rejected=0,
    )


async def _gathered(
    calls: Sequence["asyncio.Task[dict[Any, Ruling]]"], seconds: float
) -> dict[Any, Ruling]:
    """Return the rulings of the calls that end in time; the others are given up."""
    if not calls:
        return {}
    done, late = await asyncio.wait(calls, timeout=seconds)
    for call in late:
        call.cancel()
    if late:
        log.info("%d of %d calls of the judge were too slow", len(late), len(calls))
    rulings: dict[Any, Ruling] = {}
    for call in calls:
        if call in done and not call.cancelled() and call.exception() is None:
            rulings |= call.result()
    return rulings


def _reworded(statement: Statement, wording: str, notation: Notation) -> Statement:
    """Return a statement in other words, citing what it cited where these words cite nothing."""
    [*found] = Splitter(notation).split(wording)
    cited = tuple(dict.fromkeys(name for one in found for name in one.cited))
    if not cited and statement.citations:
        mark = "".join(map(notation.write, statement.cited[:1]))
        wording = f"{wording} {mark}" if wording[-1:].isascii() else f"{wording}{mark}"
    plain = " ".join(one.plain for one in found)
    return replace(
        statement, text=wording, plain=plain, citations=(), cited=cited or statement.cited
    )


def _with_quotes(
    used: Sequence[Source], outcomes: Iterable[Outcome], sources: Mapping[str, Source]
) -> list[Source]:
    """Return the cited sources with the passages that bear the text, or not, before others."""
    quotes: dict[str, list[str]] = {}
    for outcome in outcomes:
        for passage in outcome.passages:
            source = sources.get(passage.source)
            if source and source["kind"] != "place" and passage.text != source["title"]:
                quotes.setdefault(source_key(source), []).append(passage.text)
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
    own: Sequence[str] = (),
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
    records = {
        name: Record(
            [*_words_of(name, source, texts), by_record.get(name, "")], by_source.get(name)
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


def _words_of(name: str, source: Source, texts: Mapping[str, str]) -> list[str]:
    """Return a source's words, its title and date first: quotes may be a model's, where text is."""
    dated = " ".join(filter(None, [source["title"], (source.get("published") or "")[:10]]))
    text = texts.get(name, "")
    return ["\n".join([dated, *([text] if text else source["quotes"])])]


def record_texts(
    places: Iterable[Place], routes: Iterable[Route], weather: Iterable[Weather], language: Language
) -> dict[str, str]:
    """Return each record of the map by its source: as a model is shown it, and unrounded."""
    texts: dict[str, str] = {}
    for place in places:
        metres = place["distance_m"]
        exact = [f"{metres} m in a straight line"] if metres is not None else []
        verdicts = [verdict["text"] for verdict in place.get("verdicts", [])]
        lines = [place_lines([place], language), *exact, *verdicts]
        texts[place["source"]] = "\n".join(dict.fromkeys(lines))
    for route in routes:
        seconds, metres = route["duration_s"] or 0, route["distance_m"] or 0
        steps = [step["instruction"] for step in route["steps"]]
        lines = [route_lines([route], language), f"{metres} m, {seconds / 60:.1f} min", *steps]
        texts[route["source"]] = "\n".join(lines)
    for forecast in weather:
        texts[forecast["source"]] = weather_lines([forecast], language)
    return texts
