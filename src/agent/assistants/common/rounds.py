"""Write a long text in rounds: draft, check of all it states, review, one revision, check again.

Nobody reads the draft: a text that changes under the eyes is none, so that the reader is told how
far it is. The revision is no second draft, which costs as much as the first one and is wrong in new
places, but edits of numbered statements: what is right stays as it is. What was found right is not
judged again; what fails after all this is marked.
"""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate, chain, zip_longest
from typing import Self, TypeVar

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

from agent.assistants.common.answer_text import write_or_quote
from agent.assistants.common.claims import ClaimCheck
from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.days_told import days_told
from agent.assistants.common.differences import untold
from agent.assistants.common.draft import Draft
from agent.assistants.common.filled_in import FilledIn, Walks
from agent.assistants.common.look_up import Looked, LookUp
from agent.core.errors import AgentError, ConfigurationError
from agent.core.patterns import Linear
from agent.core.processor import compute, lazy_property
from agent.core.progress import SECONDS_BETWEEN_SIGNS, Emit, ProgressEvent, event
from agent.core.strings import cut_to_tokens, estimated_tokens
from agent.evidence.citations import ids_in, inert
from agent.evidence.claims.corrected import left_out_for_want
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Splitter, Statement
from agent.evidence.language import sentence_spans, words_in_order
from agent.evidence.planned_hours import hours_faults
from agent.evidence.revision import (
    AskedPart,
    Review,
    ReviewLine,
    Revised,
    Revision,
    applied,
    deciding_passages,
    faults_block,
    numbered_draft,
    passage_line,
    wanted_looks,
)
from agent.evidence.totals import TOTAL
from agent.evidence.types import Source
from agent.prompts import Raw, render
from agent.state import answer_language

log = logging.getLogger(__name__)
Reply = TypeVar("Reply", bound=BaseModel)
Entry = TypeVar("Entry")
PHASE, REVIEW = "revise", "review"
_ROOM, _REVIEW_ROOM = 20_000, 40_000
"""Tokens of the prompt of a revision, and of a review: what a text leaves out, or whose price is of
another kind, only who has the material sees."""
_FAULTS, _LOOKED_UP, _QUESTION, _PLAN, _REVIEWED = 6000, 4000, 800, 800, 2000
"""Tokens of parts of it."""
_PER_LINE = 8
_LOOKS, _AT_ONCE = 6, 3
"""What is looked up for one review, and how much at once."""
_NOTHING = Raw("")
_NO_MARKER = Linear(r"⟨h?\d{1,4}[a-z]?⟩|\s?\[\d{1,3}\]")
"""Numbers of statements, and of sources as they are nowhere shown to who revises."""


@dataclass(frozen=True)
class WriterBrief:
    """What a text has to answer besides the question, and what the draft was shown of it."""

    documents: Raw = _NOTHING
    """Own documents, as they stand first in the draft's prompt."""
    differences: Sequence[str] = ()
    """Where own documents contradict each other."""
    plan: Sequence[str] = ()
    """Heads of the plan, and wishes."""
    walks: Walks = field(default_factory=dict)


async def write_in_rounds(
    draft: Draft,
    prompt: Sequence[BaseMessage],
    material: Callable[[], str],
    *,
    part: str,
    asked: WriterBrief | None = None,
    look: LookUp | None = None,
) -> AsyncIterator[str]:
    """Yield the text as it is after its revision; where nobody judges it beside, as it is written.

    `prompt` asks for the draft; only ids that it shows can be cited. For `material` and `part` see
    `write_or_quote`. Where `look` is none, nothing is looked up any more.
    """
    rounds = _Rounds(draft, with_revision(prompt), asked or WriterBrief(), look)
    draft.allow(rounds.shown(rounds.prompt))
    try:
        pieces = write_or_quote(draft, rounds.prompt, material, part=part)
        if draft.claims is not None and draft.is_judged_beside:
            yield await rounds.text(pieces, draft.claims)
        else:
            async for piece in rounds.exact.streamed(pieces):
                yield piece
    finally:
        # What code adds below the text may cite all there is.
        draft.allow(draft.sources)


def with_revision(prompt: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return a draft's prompt that also tells how it is revised.

    So that both have one beginning: a service that keeps it charges for it once.
    """
    system, *others = prompt
    return [SystemMessage(f"{system.text}\n{render('revise_system')}"), *others]


@dataclass(frozen=True)
class _Rounds:
    draft: Draft
    prompt: Sequence[BaseMessage]
    asked: WriterBrief
    look: LookUp | None

    @cached_property
    def exact(self) -> FilledIn:
        """Return what fills in the totals and ways of the text."""
        return FilledIn(self.draft, self.look, self.asked.walks)

    def shown(self, prompt: Sequence[BaseMessage]) -> dict[str, Source]:
        """Return the sources that a prompt shows."""
        names = ids_in("\n".join(message.text for message in prompt))
        return {name: one for name, one in self.draft.sources.items() if name in names}

    async def text(self, pieces: AsyncIterator[str], claims: ClaimCheck) -> str:
        """Return the text after its revision; what of it is not checked yet is left to the end."""
        draft, claims.sums_up = self.draft, True
        with _Signs(draft.emit) as signs:
            text = await self._drafted(pieces, signs)
            draft.is_watched = True
            drafted = await self.exact.filled(Revised(text, claims.cites), leaves=True)
            text, claims.cites = drafted.text, drafted.cites
            claims.used[:] = draft.citer.used
            claims.added_up, claims.summed = self.exact.added_up, self.exact.summed
            if draft.quoted or draft.degraded or draft.refuses:
                return await self._as_it_is(claims, drafted)
            claims.mends, claims.tells = False, True
            claims.told = lambda judged, total: signs.say(lambda: self._told(judged, total, 1))
            evidence = await claims.judged(text, draft.tell_late, longer=False)
            # What fails after the revision is said as the judge would, or taken out.
            claims.mends = True
            if draft.late.is_set() or evidence is None:
                claims.told = lambda judged, total: None
                return await self._as_it_is(claims, drafted)
            revised = await self._revised(claims, evidence, signs)
            claims.told = lambda judged, total: draft.emit(self._told(judged, total, 2))
            if revised is None:
                return await self._as_it_is(claims, drafted)
            revised = await self.exact.filled(revised)
            claims.used[:] = draft.citer.used
            await claims.revise(revised)
            if again := await self._once_more(claims, revised.text):
                again = await self.exact.filled(again)
                claims.used[:] = draft.citer.used
                await claims.revise(again)
            return (again or revised).text

    async def _as_it_is(self, claims: ClaimCheck, drafted: Revised) -> str:
        """Return a text that nobody revises, without a sign."""
        closed = await self.exact.filled(drafted)
        claims.cites = closed.cites
        return closed.text

    async def _drafted(self, pieces: AsyncIterator[str], signs: "_Signs") -> str:
        draft, text = self.draft, ""
        # That the answer is being written has just been said.
        signs.later(
            lambda: event("drafting", draft.node, id="draft", count=len(words_in_order(text)))
        )
        async for piece in pieces:
            text += piece
            draft.watch(piece)
        text = draft.without_withdrawn(text).rstrip("\n")
        draft.withdrawn = ""
        return text

    def _told(self, judged: int, total: int, check: int) -> ProgressEvent:
        node = self.draft.node
        return event("judged", node, id=f"check-{check}", text=str(total), count=judged)

    async def _revised(
        self, claims: ClaimCheck, evidence: Evidence, signs: "_Signs"
    ) -> Revised | None:
        """Return the text with a model's edits; None where it has none, or nothing was judged.

        It is asked where nothing fails, too, unless a reading of the whole has found nothing
        either: no check of statements finds what a text leaves out, or what it has twice.
        """
        if all(outcome.verdict == "unchecked" for outcome in claims.outcomes):
            return None
        named = map(claims.strangers, claims.statements)
        strangers = {place: [*map(inert, names)] for place, names in enumerate(named) if names}
        splitter = Splitter(claims.notation)
        await compute(lambda: splitter.split(claims.text), otherwise=list[Statement])
        left = {TOTAL: TOTAL, **self.exact.sums.unproved}
        faults = await compute(
            lambda: faults_block(claims.statements, claims.outcomes, strangers, evidence, left),
            otherwise=list[str],
        )
        signs.say(lambda: event("revising", self.draft.node, id="revision", count=len(faults)))
        places = [*claims.statements, *claims.heads, *splitter.headings]
        revising = _Revising(self, claims, evidence, faults, places)
        if await revising.is_right():
            return None
        revision = await revising.asked_for()
        settled = {one.line for one in revision.passed if one.why}
        self.draft.passed_over |= {line for n, line in revising.untold.items() if n in settled}
        if not (revision.edits or revision.inserts):
            return None
        revised = await self._applied(revising, revision)
        bare = {edit.id for edit in revision.edits if not edit.text}
        claims.left_out = left_out_for_want(claims.statements, claims.outcomes, bare)
        self.draft.revision = {
            "failed": len(faults),
            "edits": len(revision.edits),
            "inserts": len(revision.inserts),
            "looks": revising.looks,
            "passed": len(revision.passed),
            "open": len(revising.review),
        }
        return revised

    async def _once_more(self, claims: ClaimCheck, text: str) -> Revised | None:
        """Return the text with what its revision still tells wrongly said anew by itself.

        It is asked where the judge has no sound words for any of that. What is added is checked as
        what is edited: a sentence may be told anew elsewhere.
        """
        draft, claims.mends = self.draft, False
        evidence = await claims.judged(text, draft.tell_late, longer=False)
        claims.mends = True
        if draft.late.is_set() or evidence is None:
            return None
        pairs = zip(claims.statements, claims.outcomes, strict=True)
        failing = [pair for pair in pairs if pair[1].fails]
        if all(outcome.fix for _, outcome in failing):
            return None
        ones, outcomes = zip(*failing, strict=True)
        faults = await compute(
            lambda: faults_block(ones, outcomes, {}, evidence), otherwise=list[str]
        )
        revising = _Revising(self, claims, evidence, faults, claims.statements)
        revision = await revising.changes()
        is_empty = not (revision.edits or revision.inserts)
        return None if is_empty else await self._applied(revising, revision)

    async def _applied(self, revising: "_Revising", revision: Revision) -> Revised | None:
        """Return the text with the edits, which may cite what their writer was shown."""
        self.draft.allow(revising.citable)
        return await compute(
            lambda: applied(revising.claims.text, revising.places, revision, self._clean),
            otherwise=lambda: None,
        )

    def _clean(self, words: str) -> tuple[str, list[tuple[int, str]]]:
        return self.draft.edited(_NO_MARKER.sub("", words))


@dataclass
class _Revising:
    """Ask for one revision; what its review wants to know besides is looked up and shown to it."""

    rounds: _Rounds
    claims: ClaimCheck
    evidence: Evidence
    faults: Sequence[str]
    places: Sequence[Statement]
    """What can be edited: the statements, and headings that are none."""
    looks: int = 0
    citable: dict[str, Source] = field(default_factory=dict)
    """The sources that it was shown."""
    looked: str = ""
    review: Sequence[ReviewLine] = ()
    """What its reader would miss in the text; later what of it nobody has settled."""
    untold: Mapping[str, str] = field(default_factory=dict)
    """Differences of which the draft does not tell both sides, by their names in the review."""
    answered: Sequence[AskedPart] = ()
    """The parts of the question that the draft answers."""

    async def is_right(self) -> bool:
        """Read the text as its reader will; return whether neither that nor the check found fault.

        A reading that names no part of the question is none.
        """
        reply = await self._reply(Review, REVIEW)
        left = [*await self._left_untold(), *await self._closed()]
        if reply is None or not (reply.parts or reply.findings):
            self.review = left
            return False
        self.answered = [part for part in reply.parts if part.at and not part.lacks]
        lines = await compute(lambda: reply.lines(self.places), otherwise=list[ReviewLine])
        self.review = _within([*left, *lines], _REVIEWED)
        return not (self.review or self.faults)

    async def _left_untold(self) -> list[ReviewLine]:
        """Return a line for each difference of which the draft does not tell both sides."""
        cited = {name for one in self.claims.statements for name in one.exact or one.cited}
        left = await compute(
            lambda: untold(self.rounds.asked.differences, self.claims.text, cited),
            otherwise=list[str],
        )
        self.untold = {f"d{n}": line for n, line in enumerate(left, 1)}
        return [ReviewLine(name, f"not both told: {line}") for name, line in self.untold.items()]

    async def _closed(self) -> list[ReviewLine]:
        """Return a line for each stop of a plan that its record has closed then."""
        draft, text = self.rounds.draft, self.claims.text
        places, today = draft.known_places, draft.turn["today"]
        lines = await compute(lambda: hours_faults(text, places, today), otherwise=list[str])
        return [ReviewLine(f"o{n}", f"hours: {line}") for n, line in enumerate(lines, 1)]

    async def asked_for(self) -> Revision:
        """Return all edits; none where the model fails, or what came before it failed.

        Lines of the review that these neither settle nor pass are asked for once more.
        """
        await self._look_up()
        revision, is_last = Revision(), False
        while reply := await self._reply(Revision, PHASE, revision):
            revision = revision.joined(reply.within(self.places))
            self.review = revision.leaves(self.review)
            if not is_last:
                self.review = [*self.review, *self._taken_out(revision)]
            if is_last or not self.review:
                break
            is_last = True
        return revision

    async def changes(self) -> Revision:
        """Return edits and inserts, in one reply; none where the model fails.

        They may be of any statement: what fails is told in others, too.
        """
        reply = await self._reply(Revision, PHASE)
        return reply.within(self.places) if reply else Revision()

    def _taken_out(self, revision: Revision) -> list[ReviewLine]:
        """Return a line for each answer that a revision takes out: it mends that, or passes it."""
        parts = [part.asked for part in self.answered if revision.takes_out(part.at)]
        return [
            ReviewLine(f"a{n}", f"asked: {asked}: no statement answers it any more")
            for n, asked in enumerate(parts, 1)
        ]

    async def _reply(
        self, schema: type[Reply], phase: str, sofar: Revision | None = None
    ) -> Reply | None:
        draft = self.rounds.draft
        prompt = await compute(
            lambda: self._prompt(phase, sofar or Revision()), otherwise=list[BaseMessage]
        )
        if not prompt:
            return None
        self.citable |= self.rounds.shown(prompt[1:])
        try:
            reply = await draft.services.models.ask(
                draft.model, prompt, meter=draft.meter, schema=schema
            )
        except ConfigurationError:
            raise
        except AgentError as error:
            log.info("turn=%s %s of the draft failed: %s", draft.turn["id"], phase, error)
            return None
        return reply.parsed

    async def _look_up(self) -> None:
        """Look up what the review wants, for whoever revises: no model asks for it then."""
        if (look := self.rounds.look) is None:
            return
        wanted = [*wanted_looks(self.review, look.tools).items()][:_LOOKS]
        found = list[Looked]()
        for at in range(0, len(wanted), _AT_ONCE):
            some = [one for one, _ in wanted[at : at + _AT_ONCE]]
            found += await asyncio.gather(*(look(one.tool, one.argument) for one in some))
        lines = list[str]()
        for (one, line), looked in zip(wanted, found, strict=True):
            lines.append(f"{line} {one.tool}: {one.argument}")
            lines += _within(looked.text.splitlines(), _LOOKED_UP // len(wanted))
        # Two looks often bring the same passages.
        self.looks, self.looked = len(wanted), "\n".join(dict.fromkeys(lines))
        draft = self.rounds.draft
        for looked in found:
            draft.add_records(looked.places, looked.routes)
            draft.show(looked.seen)
            if looked.sources:
                draft.add(looked.sources, looked.texts)

    def _prompt(self, phase: str, sofar: Revision) -> list[BaseMessage]:
        """Return the prompt: it begins as the draft's, and has room for so much of the sources."""
        draft, asked, look = self.rounds.draft, self.rounds.asked, self.rounds.look
        is_short = estimated_tokens(asked.documents) <= _ROOM // 2
        claims = self.claims
        text = numbered_draft(claims.text, self.places, claims.notation)
        tools = look.tools if look and phase == REVIEW else {}
        documents = asked.documents if is_short else _NOTHING
        values = {
            "documents": documents,
            "today": days_told((one.said for one in self.places), draft.turn["today"]),
            "question": cut_to_tokens(draft.turn["question"], _QUESTION),
            "differences": "\n".join(asked.differences),
            "plan": cut_to_tokens(
                "\n".join(f"- {head.removeprefix('- ')}" for head in asked.plan), _PLAN
            ),
            "draft": text,
            "words": str(len(words_in_order(claims.notation.pattern.sub("", claims.text)))),
            "review": "\n".join(map(str, self.review)),
            "failed": "\n".join(_within(self.faults, _FAULTS)) if phase == PHASE else "",
            "phase": phase,
            "lookups": "\n".join(f"{name}: {what}" for name, what in tools.items()),
            "looked_up": self.looked,
            "edits_so_far": "" if sofar == Revision() else sofar.model_dump_json(),
        }
        language = answer_language(draft.turn)
        system = self.rounds.prompt[0]
        bare = [system, HumanMessage(render("revise", language, sources="", **values))]
        room = (_REVIEW_ROOM if phase == REVIEW else _ROOM) - prompt_tokens(bare)
        accused = self._accused if phase == PHASE else []
        sources = self._sources(room, accused, documents)
        return [system, HumanMessage(render("revise", language, sources=sources, **values))]

    def _sources(self, room: int, accused: Sequence[Passage], elsewhere: Raw) -> str:
        """Return as many passages as there is room for, those that bear on a fault in any case.

        Where they fit all of what the text cites, of own documents and of calculations: what a text
        leaves out may share no word with a question in another language. Else first what is nearest
        to what is asked. In the order of the sources, and each source's in its own.
        """
        sources, shown = self.rounds.draft.sources, ids_in(elsewhere)
        cited = {name for one in self.claims.statements for name in one.exact or one.cited}
        cited |= {name for name, source in sources.items() if source["kind"] == "document"}
        rest = [p for p in self.evidence.passages if p.source in cited]
        near = [p for p in self._near(room) if p.source in sources]
        kept, left = dict.fromkeys(accused), room - _tokens(accused)
        is_all = _tokens({*accused, *(p for p in rest if p.source not in shown)}) <= room
        for passage in [*rest, *near] if is_all else [*near, *rest]:
            size = _tokens([passage])
            if passage not in kept and passage.source not in shown and size <= left:
                left -= size
                kept[passage] = None
        every = [p for p in kept if p.source not in shown and not self._is_looked_up(p)]
        in_order = sorted(every, key=lambda each: [*map(int, each.name.split("."))])
        return "\n".join(map(passage_line, in_order))

    def _is_looked_up(self, passage: Passage) -> bool:
        """Return whether a look has brought all of a passage: it is shown once."""
        source = self.rounds.draft.sources.get(passage.source)
        head = [source["title"], (source.get("published") or "")[:10]] if source else []
        text = passage.text
        for words in head:
            text = text.removeprefix(words).lstrip()
        return all(text[start:end] in self.looked for start, end in sentence_spans(text))

    def _near(self, room: int) -> list[Passage]:
        """Return the passages nearest to what is asked, each heading its share of the room."""
        asked = self.rounds.asked
        wanted = [
            self.rounds.draft.turn["question"],
            *asked.plan,
            *asked.differences,
            *(line.text for line in self.review),
        ]
        share = max(0, room) // len(wanted)
        told = (Statement(0, 0, words, words) for words in wanted)
        # What a text lacks shares little with what is asked.
        best = (self.evidence.telling(one, share, least=0)[0] for one in told)
        return [*dict.fromkeys(chain.from_iterable(best))]

    @lazy_property
    def _accused(self) -> list[Passage]:
        """Return the passages that bear on what fails, as far as there is room in any case."""
        pairs = zip(self.claims.statements, self.claims.outcomes, strict=True)
        failing = (deciding_passages(pair, self.evidence) for pair in pairs if pair[1].fails)
        found = dict.fromkeys(filter(None, chain.from_iterable(zip_longest(*failing))))
        every = [passage for passage in found if passage.text != self.evidence.question]
        tokens = accumulate(map(_tokens, ([passage] for passage in every)))
        return [passage for passage, used in zip(every, tokens, strict=True) if used <= _FAULTS]


def _tokens(passages: Iterable[Passage]) -> int:
    return sum(passage.tokens + _PER_LINE for passage in passages)


class _Signs:
    """Say what is done when that changes, and every 15 s that it still is."""

    def __init__(self, emit: Emit) -> None:
        self._emit = emit
        self._timer: asyncio.TimerHandle | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stop()

    def say(self, sign: Callable[[], ProgressEvent]) -> None:
        """Say what is done from now on, as it is at each time."""
        self._emit(sign())
        self.later(sign)

    def later(self, sign: Callable[[], ProgressEvent]) -> None:
        """Say the same, but not at once."""
        self._stop()
        loop = asyncio.get_running_loop()
        self._timer = loop.call_later(SECONDS_BETWEEN_SIGNS, self.say, sign)

    def _stop(self) -> None:
        if self._timer is not None:
            self._timer.cancel()


def _within(entries: Iterable[Entry], tokens: int) -> list[Entry]:
    """Return as many entries as there is room for."""
    kept = list[Entry]()
    for entry in entries:
        if (size := estimated_tokens(str(entry))) <= tokens:
            kept.append(entry)
            tokens -= size
    return kept
