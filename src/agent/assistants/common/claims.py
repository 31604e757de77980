"""The check of an answer: a judge reads each statement while the text streams, code proves."""

import asyncio
import logging
import math
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from operator import itemgetter
from string import ascii_lowercase
from typing import Any

from agent.assistants.common.check_limits import Cause, Judged, ended, unchecked_note
from agent.assistants.common.judge import Ask
from agent.assistants.common.told_verdicts import OpenWish, SettledWish, open_wishes, settled
from agent.core.concurrency import begin_beside
from agent.core.errors import AgentError, BudgetExceeded
from agent.core.processor import compute
from agent.core.strings import letters_of
from agent.evidence.citations import NOT_FOUND, STRANGER
from agent.evidence.claims.corrected import (
    Part,
    as_the_judge_says,
    cited_anew,
    corrected,
    counts,
    left_out_for_want,
    rows,
    with_quotes,
)
from agent.evidence.claims.judging import BATCH, Ruling, batches
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import Key, Splitter, Statement, statements
from agent.evidence.declared_sums import SIGN
from agent.evidence.language import fold, words
from agent.evidence.lent import with_lent
from agent.evidence.notation import CONTRADICTED, MARK, finished_notation
from agent.evidence.numbering import source_key
from agent.evidence.references import (
    references,
    renumbered,
    resolved,
    with_targets,
    without_bare_list,
)
from agent.evidence.revision import Revised
from agent.evidence.sum_lines import inputs_of, with_inputs, with_line_citations
from agent.evidence.tables import signs_in
from agent.evidence.told_ways import WAY
from agent.evidence.totals import Total
from agent.evidence.types import Source
from agent.texts import Language, say

log = logging.getLogger(__name__)
_MOST_CALLS, _MOST_AT_ONCE, _MOST_AT_END, _MOST_ALONE = 16, 16, 7, 8
"""Calls of one answer, and statements of one beside the text, of its last ones, and of the only
one: for a short text a second call costs as much as the first."""
_MOST_TOLD, _MOST_GIVEN = 4, 2
_MEANINGS = {MARK: "answer.no_source_says", CONTRADICTED: "answer.source_says_otherwise"}


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
    ruled_out: Mapping[str, str] = field(default_factory=dict)
    """The words by which the text says of places, by their names in it, that they do not fit."""
    told: Sequence[tuple[str, str]] = ()
    """What pages bear out, each with the words that it stands in: it may be of a place."""
    settled: frozenset[SettledWish] = frozenset()
    """What no record knows of places, and pages that the text cites of them tell."""


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
    beside: bool = True
    """Whether calls go on side by side and beside the writing; else one at a time, after it."""
    seconds: float = 6.0
    """How long a reader waits for the judge after the text."""
    body: str = ""
    statements: list[Statement] = field(default_factory=list)
    outcomes: list[Outcome] = field(default_factory=list)
    heads: list[Statement] = field(default_factory=list)
    """Headings that state nothing, as far as anybody knows: they can be revised."""
    quoted: str = ""
    """What code quotes below the text, which is not checked."""
    is_checked: bool = False
    cites: Sequence[tuple[int, str]] = ()
    """The ids that the text cites, in order, with the characters before which they stand."""
    mends: bool = True
    """Whether what fails is said here as the judge would."""
    left_out: Sequence[str] = ()
    """What the statements were about that a revision took out since no source bore them."""
    tells: bool = False
    """Whether the reader is told how much went, as of a report; a short answer changes quietly."""
    added_up: Callable[[list[Part]], list[Part]] = lambda parts: parts
    """Makes the totals of the text, as its check leaves it, the sums of their columns."""
    summed: Callable[[], list[Total]] = list
    """Returns the totals of the text that code has added up."""
    settled: frozenset[SettledWish] = frozenset()
    """What no record knows of places, and pages that the text cites of them tell."""
    told: Callable[[int, int], None] = lambda judged, total: None
    """Hears how many of the statements are judged, whenever some more are."""
    sums_up: bool = False
    """Whether the text begins with what sums up the rest: that is judged when the rest is known."""

    def __post_init__(self) -> None:
        """Begin with nothing read."""
        self.notation = finished_notation(self.used, self.sources)
        self._calls = list[asyncio.Task[None]]()
        self.begin()
        self._cited = list[Source]()
        self._lane, self._until = asyncio.Semaphore(_MOST_CALLS if self.beside else 1), math.inf
        self._rulings: dict[Key, Ruling] = {}
        self._exact: dict[Key, tuple[str, ...]] = {}
        self._strange: dict[Key, Sequence[str]] = {}
        self._mended: tuple[Sequence[Outcome], list[Part]] = (), []
        """The text in parts, of the outcomes that it has been mended by."""

    def begin(self) -> None:
        """Begin a text; one that was withdrawn is not judged any more."""
        self.stop()
        self._judging = Judged()
        self._begin_text()

    def _begin_text(self) -> None:
        self._splitter = Splitter(self.notation)
        self._text, self._read, self._keeps = "", 0, False
        self._found, self._waiting = list[Statement](), list[Statement]()
        self._calls = []

    def feed(self, piece: str) -> None:
        """Take the next piece of the text; what stands in its finished lines is judged at once."""
        searched = len(self._text)
        self._text += piece
        if self.judge is None or not self.beside:
            return
        # Line by line, however it comes: a text that is read again is asked about alike.
        while (end := self._text.find("\n", searched)) >= 0:
            found = self._splitter.split(self._text[self._read : end + 1], self._read)
            self._found += found
            self._waiting += [one for one in found if one.key not in self._judging.asked
                              and not self._is_open(one)]  # fmt: skip
            self._read = searched = end + 1
            if len(self._waiting) >= BATCH:
                if self._keeps or not self.sums_up:
                    self._ask(self.judge, batches(self._waiting, _MOST_AT_ONCE))
                self._waiting, self._keeps = [], True

    def _is_open(self, one: Statement) -> bool:
        """Return whether code has yet to fill a sign in: words, or citations of a row, change."""
        begin, end = one.start, one.end
        if one.kind == "cell":
            begin, end = one.line, self._text.find("\n", one.end)
        text = self._text[begin : end if end >= 0 else len(self._text)]
        return SIGN in text or any(signs_in(text, WAY))

    def _ask(self, judge: Ask, groups: Iterable[Sequence[Statement]]) -> None:
        for batch in islice(groups, _MOST_CALLS - len(self._calls)):
            self._judging.asked |= {one.key for one in batch}
            self._calls.append(begin_beside(self._judged(judge, [*map(self._exactly, batch)])))

    def _exactly(self, one: Statement) -> Statement:
        """Return a statement with the ids that it cites as they were written."""
        if one.key not in self._exact:
            names = self._named(one.start, one.end)
            self._strange[one.key] = [n[1:] for n in names if n.startswith(STRANGER)]
            names = tuple(name for name in names if not name.startswith(STRANGER))
            if one.kind == "cell" and not (one.citations or names):
                end = self._text.find("\n", one.end)
                of_row = self._named(one.line, end if end >= 0 else len(self._text))
                names = tuple(name for name in of_row if name in one.cited)
            self._exact[one.key] = names
        return replace(one, exact=self._exact[one.key])

    def strangers(self, one: Statement) -> Sequence[str]:
        """Return what a statement of the text cited that is no source: it was taken out."""
        return self._strange.get(one.key, ())

    def _named(self, start: int, end: int) -> tuple[str, ...]:
        """Return the ids that are written in a part of the text, each once."""
        begin, stop = (bisect_right(self.cites, at, key=itemgetter(0)) for at in (start, end))
        return tuple(dict.fromkeys(name for _, name in self.cites[begin:stop]))

    async def _judged(self, judge: Ask, batch: Sequence[Statement]) -> None:
        # A call that is given up would cancel what all others wait for.
        evidence = await asyncio.shield(self.evidence)
        if evidence is None:
            return
        asked = await self._lent([one for one in batch if not evidence.says(one.plain)])
        async with self._lane:
            if not asked or asyncio.get_running_loop().time() > self._until:
                return
            found = await judge(asked, evidence)
            if found is None or isinstance(found, AgentError):
                self._judging.failed |= {one.key for one in asked}
            if isinstance(found, BudgetExceeded):
                self._judging.unpaid |= {one.key for one in asked}
            rulings = _rulings(found)
        self._judging.heard |= {one.key for one in asked}
        # A ruling on a part "5b" of a sentence that has none is one on the sentence.
        by_name = {one.name: one for one in asked}
        named = [
            (by_name.get(r.id) or by_name.get(r.id.rstrip(ascii_lowercase)), r) for r in rulings
        ]
        self._rulings |= {one.key: ruling for one, ruling in named if one}
        every = {one.key for one in self.statements} or self._judging.asked
        self.told(len(self._rulings.keys() & every), len(every))

    async def _lent(self, ones: Sequence[Statement]) -> Sequence[Statement]:
        """Return statements with what their text, as far as it is known, cites near them.

        Those of a text that is known whole have it already.
        """
        if all(one.drafted for one in ones):
            return ones
        every = self.statements or self._found
        return await compute(lambda: with_lent(ones, every), otherwise=lambda: ones)

    async def finish(self, body: str, late: Callable[[], None] = lambda: None) -> None:
        """Have the rest judged, prove all rulings, and say what fails as the judge would.

        When the reader has waited long enough, `late` tells so and nothing more is asked; what is
        under way is waited for a while longer. A text from memory alone is marked: nothing that was
        found would bear other words.
        """
        evidence = await self.judged(body, late)
        if evidence is not None and evidence.records and self.mends:
            self.outcomes = await compute(self._as_said, otherwise=lambda: self.outcomes)

    def _as_said(self) -> list[Outcome]:
        return as_the_judge_says(
            self.statements, self.outcomes, self.notation, is_report=self.tells
        )

    async def judged(
        self, body: str, late: Callable[[], None] = lambda: None, *, longer: bool = True
    ) -> Evidence | None:
        """Have the rest judged and prove all rulings; return what they rest on.

        What is under way when it is late is waited for where that may take `longer`; else it goes
        on, and nobody waits.
        """
        self.body = self._text = body
        self._cited = list(self.used)
        evidence = await self.evidence
        if evidence is None:
            return None
        decided = await compute(lambda: self._decided(evidence), otherwise=lambda: None)
        if decided is None:
            return None
        self._text, found = decided
        if self._text != body:
            self.cites = ()
        self.statements = [*map(self._exactly, found)]
        self.statements = [*await self._lent(self.statements)]
        self.is_checked = True
        self._until = asyncio.get_running_loop().time() + self.seconds
        if self.judge is not None:
            rest = [one for one in self.statements
                    if one.key not in self._judging.asked and not self._is_open(one)]  # fmt: skip
            wishes = await compute(lambda: self._wishes(evidence), otherwise=list[OpenWish])
            rest += [w.asked for w in wishes if w.asked.key not in self._judging.asked]
            most = _MOST_AT_END if self._calls else _MOST_ALONE
            is_long = self.sums_up or not self.beside
            self._ask(self.judge, batches(rest, BATCH if is_long else most))
            await ended(self._calls, self.seconds, late, longer=longer)
            self.settled = settled(wishes, self._rulings, evidence)
        rulings = {at: self._rulings[one.key] for at, one in enumerate(self.statements)
                   if one.key in self._rulings}  # fmt: skip
        self.outcomes = await compute(
            lambda: proved(self.statements, rulings, evidence, self.summed()),
            otherwise=lambda: [Outcome("unchecked")] * len(self.statements),
        )
        self._give_sources(evidence)
        self._leave_heads_out()
        if self.quoted:
            # It stands below a text that cites nothing, and says so.
            self.outcomes = [
                outcome if one.citations else replace(outcome, cite=None)
                for one, outcome in zip(self.statements, self.outcomes, strict=True)
            ]
        return evidence

    def _give_sources(self, evidence: Evidence) -> None:
        """Let what is borne out, and cited only ids that are no source, cite what bears it."""
        self.outcomes = [
            replace(it, cite=evidence.sources_of(it.passages)[:_MOST_GIVEN] or None)
            if self.strangers(one) and it.verdict == "supported"
            and not (one.citations or NOT_FOUND in one.exact) else it
            for one, it in zip(self.statements, self.outcomes, strict=True)
        ]  # fmt: skip

    def _leave_heads_out(self) -> None:
        """Count no heading that no judge has ruled on, and of which code shows nothing wrong."""
        pairs = [*zip(self.statements, self.outcomes, strict=True)]
        heads = [one for one, it in pairs if one.kind == "heading"
                 and it.verdict == "unchecked" and one.key not in self._rulings]  # fmt: skip
        self.heads, names = heads, {one.name for one in heads}
        kept = [pair for pair in pairs if pair[0].name not in names]
        self.statements, self.outcomes = [one for one, _ in kept], [it for _, it in kept]

    def _wishes(self, evidence: Evidence) -> list[OpenWish]:
        """Return what no record knows of places and pages may, as statements beside the text's."""
        found = open_wishes(
            self.statements, evidence, self.notation, self.language, text=self._text
        )
        self._exact |= {wish.asked.key: wish.asked.exact for wish in found}
        return found

    def widen(
        self, evidence: "asyncio.Task[Evidence | None]", sources: Mapping[str, Source]
    ) -> None:
        """Take up more that the text may rest on."""
        self.evidence, self.sources = evidence, sources
        self.notation = finished_notation(self.used, sources)

    async def revise(self, anew: Revised) -> None:
        """Take up a revised text: what is known of its statements is asked no more.

        Asked again are those that failed, those at the places that are new, and what stands behind
        these or behind one that is gone: it may mean something else by now.
        """
        text, gone = anew.text, anew.gone
        failed = {
            one.key for one, it in zip(self.statements, self.outcomes, strict=True) if it.fails
        }
        found = await compute(lambda: statements(text, self.notation), otherwise=list[Statement])
        is_new = [any(one.start < e and s < one.end for s, e in anew.new) for one in found]
        behind = {
            one.key
            for at, (before, one) in enumerate(pairwise(found))
            if one.kind != "cell"
            and one.block == before.block
            and (is_new[at] or any(before.end <= place <= one.start for place in gone))
        }
        forgotten = (
            failed | behind | {one.key for one, is_it in zip(found, is_new, strict=True) if is_it}
        )
        self.cites, self._text = anew.cites, text
        for one in (one for one, is_it in zip(found, is_new, strict=True) if is_it):
            self._exact.pop(one.key, None)
            self._exactly(one)
        self._judging.forget(forgotten)
        self._rulings = {k: ruling for k, ruling in self._rulings.items() if k not in forgotten}
        self.statements, self.outcomes = found, []
        self._begin_text()

    def stop(self) -> None:
        """Give up what is still asked: nobody waits for it any more."""
        for call in self._calls:
            call.cancel()

    def _decided(self, evidence: Evidence) -> tuple[str, list[Statement]] | None:
        """Return the text without a list of sources of its own, and what it states."""
        text = without_bare_list(self.body, [*self._cited, *self.sources.values()])
        asked = letters_of(evidence.question)

        def states(one: Statement) -> bool:
            """A title that repeats the question states nothing."""
            repeats = one.kind == "heading" and letters_of(one.plain) == asked
            return not (repeats or evidence.says(one.plain))

        found = [one for one in statements(text, self.notation) if states(one)]
        return text, found

    @property
    def text(self) -> str:
        """Return the text that the statements stand in."""
        return self._text

    @property
    def _left(self) -> dict[Cause, int]:
        """Return how many statements nobody judged, and why; none where nobody was to."""
        if self.judge is None or not self.is_checked:
            return {}
        return self._judging.left(self.statements, self.outcomes, self._rulings)

    @property
    def citing(self) -> dict[str, list[str]]:
        """Return the statements that rest on each source, by its id."""
        citing: dict[str, list[str]] = {}
        for statement in self.statements:
            for name in statement.cited:
                citing.setdefault(name, []).append(statement.said)
        return citing

    def _note(self) -> str:
        """Return what the signs in the text mean and how much went, or that it was not checked."""
        if not self.is_checked or self._judging.is_nothing:
            return say("answer.not_checked", self.language) if self.body else ""
        between = say("punctuation.semicolon", self.language)
        signs = {outcome.sign for outcome in self.outcomes if outcome.fails}
        told = ((sign, key) for sign, key in _MEANINGS.items() if sign in signs)
        notes = [say(key, self.language, mark=sign) for sign, key in told]
        gone = [*self.left_out, *left_out_for_want(self.statements, self.outcomes)]
        if gone and self.tells:
            more = f" (+{len(gone) - _MOST_TOLD})" if len(gone) > _MOST_TOLD else ""
            what = between.join(gone[:_MOST_TOLD]) + more
            notes.append(say("answer.left_out", self.language, what=what))
        if self.tells and self._left:
            notes.append(unchecked_note(self._left, self.language))
        line = between.join(notes)
        return line[:1].upper() + line[1:]

    def mended(self) -> list[Part]:
        """Return the text in parts, as its check has left it."""
        if self._mended[0] is not self.outcomes:
            parts = corrected(self._text, self.statements, self.outcomes, self.notation)
            self._mended = self.outcomes, self.added_up(parts)
        return self._mended[1]

    def finished(self, streamed: str, targets: Mapping[str, str | None]) -> Checked:
        """Return the message that was streamed around the text, corrected and with its sources.

        `targets` are where links of sources lead by now.
        """
        parts, begins = self.mended(), streamed.index(self.body or self.quoted)
        closing = streamed[begins + len(self.body) :]
        listed = references(resolved(self._cited, targets), self.language)
        closing = closing.removesuffix(f"\n\n{listed}")
        ends = closing.find(self.quoted) + len(self.quoted)
        quoted, closing = closing[:ends], closing[ends:]
        cited = [*(part.text for part in parts), quoted, closing]
        text = "\0".join(cited)
        whole, used = renumbered(f"{text}\0{inputs_of(self.used, text)}", self.used)
        *texts, quoted, closing, inputs = whole.split("\0")
        used = with_inputs(used, inputs)
        parts = [replace(part, text=text) for part, text in zip(parts, texts, strict=True)]
        ids = {source_key(source): source["id"] for source in used}
        shown = {name: ids.get(source_key(one), name) for name, one in self.sources.items()}
        used = resolved(with_quotes(used, self.outcomes, self.sources), targets)
        sources = references(used, self.language)
        written = [streamed[:begins], *texts, quoted, f"\n\n{self._note()}".rstrip(), closing]
        own = sum(len(with_targets(text, targets)) for text in [*texts, quoted])
        text = with_targets("".join(written), targets) + f"\n\n{sources}" * bool(sources)
        return Checked(
            text=text,
            used=used,
            counts=counts(self.outcomes) | {**self._left},
            statements=rows(
                parts,
                begins,
                lambda piece: with_targets(piece, targets),
                lambda name: shown.get(name, name),
            ),
            extent=[begins, begins + own],
            missing=sum(outcome.fails for outcome in self.outcomes),
            ruled_out=self._ruled_out(),
            settled=self.settled,
            told=[
                (f"{one.row}\n{one.context}", one.said)
                for one, outcome in zip(self.statements, self.outcomes, strict=True)
                if outcome.verdict == "supported"
                and any(
                    self.sources[id]["kind"] != "place" for id in one.cited if id in self.sources
                )
            ],
        )

    def _ruled_out(self) -> dict[str, str]:
        """Return the places that the text itself rules out, as its judge reads it.

        Words that were changed are not told again.
        """
        found = dict[str, str]()
        for one, outcome in zip(self.statements, self.outcomes, strict=True):
            ruling = self._rulings.get(one.key)
            around = fold(f"{one.row} {one.context} {one.said}")
            if ruling and outcome.revised != "" and not outcome.fails:
                said = self._without_citations(one) if outcome.revised is None else ""
                named = (self._as_recorded(name, one, around)
                         for name in ruling.out if fold(name) in around)  # fmt: skip
                found |= {name: said for name in named if name not in found}
        return found

    def _without_citations(self, one: Statement) -> str:
        """Return a statement's words as they read where it cites nothing."""
        bare = cited_anew(one, (), self.notation)
        return " ".join(each.plain for each in statements(bare, self.notation))

    def _as_recorded(self, name: str, one: Statement, around: str) -> str:
        """Return a place's name as its record has it that a statement cites and tells shorter."""
        cited = (self.sources[id] for id in one.exact or one.cited if id in self.sources)
        titles = {source["title"] for source in cited if source["kind"] == "place"}
        told = {title for title in titles if words(name) < words(title)
                and fold(title) not in around}  # fmt: skip
        return told.pop() if len(told) == 1 else name


def _rulings(found: list[Ruling] | AgentError | None) -> list[Ruling]:
    return found if isinstance(found, list) else []


def unchecked(streamed: str, body: str, used: list[Source], language: Language) -> Checked:
    """Return a message as it was streamed, which says below its text that it was not checked."""
    begins = streamed.find(body)
    end = begins + len(body)
    note = f"\n\n{say('answer.not_checked', language)}" if body else ""
    return Checked(
        text=f"{streamed[:end]}{note}{streamed[end:]}",
        used=with_inputs(used),
        counts=counts([]),
        statements=[],
        extent=[begins, end],
        missing=0,
    )


def led_to_lines(checked: Checked) -> Checked:
    """Return a message whose citations of calculations lead to the lines with their figures."""
    text, moved = with_line_citations(checked.text, checked.extent, checked.used)
    statements = [
        {**row, "start": moved(row["start"]), "end": moved(row["end"])}
        for row in checked.statements
    ]
    return replace(checked, text=text, statements=statements, extent=[*map(moved, checked.extent)])
