"""Say anew what fails: what a writer is shown of it, and the statements that come of its words."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from itertools import accumulate

from pydantic import BaseModel

from agent.core.patterns import Linear
from agent.evidence.claims.citing import cite_of
from agent.evidence.claims.corrected import cited_anew
from agent.evidence.claims.judging import Text, refers_back, statements_block, with_citations
from agent.evidence.claims.outcomes import LEAVES_OUT, Outcome
from agent.evidence.claims.passages import KNOWN, Evidence, Passage
from agent.evidence.claims.proof import is_sound_fix
from agent.evidence.claims.statements import Notation, Splitter, Statement, end_of
from agent.evidence.figures import Figure, figures
from agent.evidence.language import fold, without_marks

Failing = tuple[Statement, Outcome]
_EACH, _OWN, _OWN_TOKENS = 320, 2, 700
"""Tokens of passages that a statement may have; of those that it cites itself, how many stand
beside those at least, and their tokens at most."""


class Rewording(BaseModel):
    """A statement in other words; the prompt says how they may be."""

    id: Text = ""
    text: Text = ""


class Rewordings(BaseModel):
    """What a writer made of the statements that failed."""

    wordings: list[Rewording] = []


def deciding_passages(failing: Failing, evidence: Evidence) -> list[Passage]:
    """Return the passages that decide a statement, and the best of those that it cites itself."""
    statement, outcome = failing
    best = evidence.best(statement, _EACH)
    own = [passage for passage in best if passage.source in statement.cited] or best[:_OWN]
    tokens = accumulate(passage.tokens for passage in own)
    taken = sum(used <= _OWN_TOKENS for used in tokens)
    return list(dict.fromkeys([*outcome.passages, *own[: max(_OWN, taken)]]))


def used_block(failing: Sequence[Failing], evidence: Evidence) -> str:
    """Return the passages of some statements as lines: their names, then their words."""
    names = {passage.name for one in failing for passage in deciding_passages(one, evidence)}
    used = (passage for passage in evidence.passages if passage.name in names)
    return "\n".join(f"{passage.name} {passage.text}" for passage in used)


def failing_block(failing: Sequence[Failing], evidence: Evidence, notation: Notation) -> str:
    """Return statements as lines, each with its words at fault and what a source says instead."""
    lines = list[str]()
    for statement, outcome in failing:
        names = (passage.name for passage in deciding_passages((statement, outcome), evidence))
        lines.append(statements_block([statement], evidence, notation))
        lines += [f"   not borne out: {span}" for span in outcome.spans]
        lines += [f"   a source says: {outcome.quote}"] if outcome.quote else []
        lines += [f"   the sum gives: {outcome.value}"] if outcome.value else []
        lines.append(f"   passages: {' '.join(names)}")
    return "\n".join(lines)


def sound_wordings(
    wordings: Iterable[Rewording], failing: Sequence[Failing], evidence: Evidence
) -> dict[str, str]:
    """Return the wordings whose figures and names stand in the passages, by statement."""
    by_name = {statement.name: (statement, outcome) for statement, outcome in failing}
    sound: dict[str, str] = {}
    for wording in wordings:
        if (one := by_name.get(wording.id.strip("[]. "))) and is_sound_fix(
            wording.text, one[0], deciding_passages(one, evidence), one[1].value
        ):
            sound[one[0].name] = wording.text.strip()
    return sound


def reworded(
    statement: Statement, wording: str, evidence: Evidence, notation: Notation
) -> Statement | None:
    """Return a statement in a writer's words, which cite what it cited where they cite nothing.

    None where it is left out.
    """
    if wording.strip() == LEAVES_OUT:
        return None
    cites_told = "[0]" in wording
    wording = _with_head(statement.text, with_citations(wording, evidence, notation))
    [*found] = Splitter(notation).split(wording)
    cited = tuple(dict.fromkeys(name for one in found for name in one.cited))
    names: Sequence[str] = ()
    if statement.kind == "cell" and not statement.citations and {*cited} <= {*statement.cited}:
        # Its row cites what the wording does, in another cell.
        wording = notation.pattern.sub("", wording).rstrip()
    if not cited and statement.citations and not cites_told:
        names = statement.cited[:1]
    elif notation.pattern.sub("", statement.text).strip()[-1:] == statement.text[-1:]:
        # Cited before its stop: the wording is, too.
        wording, names = _without_last_citations(wording, notation)
    if names:
        bare = replace(statement, text=wording, citations=(), cited=())
        wording = cited_anew(bare, names, notation)
    plain = " ".join(one.plain for one in found)
    again = Splitter(notation).split(wording, statement.start)
    citations = tuple(citation for one in again for citation in one.citations)
    return replace(
        statement,
        text=wording,
        plain=plain,
        citations=citations,
        cited=cited or statement.cited,
        exact=cited or statement.exact,
    )


def _without_last_citations(wording: str, notation: Notation) -> tuple[str, Sequence[str]]:
    """Return a wording without the citations behind its stop, and what they name."""
    bare, names = wording.rstrip(), list[str]()
    while (found := [*notation.pattern.finditer(bare)]) and found[-1].end() == len(bare):
        names = [*notation.read(found[-1])[:1], *names]
        bare = bare[: found[-1].start()].rstrip()
    return bare, names


def shown_by_code(before: Statement, after: Statement, outcome: Outcome) -> bool:
    """Return whether a new wording needs no judge: it only leaves out, or takes a source's words.

    The words that were not borne out are gone, and the ruling says that the rest is.
    """
    old, new = without_marks(fold(before.plain)), without_marks(fold(after.plain))
    told = [without_marks(fold(words)) for words in (outcome.quote, outcome.value)]
    spans = [without_marks(fold(span)) for span in outcome.spans]
    if before.plain in outcome.spans or any(span in new for span in spans):
        return False
    for span in spans:
        begin, _, end = old.partition(span)
        words = new[len(begin) : len(new) - len(end)]
        if not (new.startswith(begin) and new.endswith(end) and (not words or words in told)):
            return False
        old = f"{begin}{words}{end}"
    return old == new


def as_supported(after: Statement, outcome: Outcome, evidence: Evidence) -> Outcome:
    """Return a wording that code has shown to be borne out by what its ruling names.

    What says otherwise bears out nothing but its own words: the wording cites what it did.
    """
    is_against = outcome.verdict == "contradicted"
    cite = after.cited if is_against else cite_of(after, outcome.passages, evidence)
    return Outcome("supported", passages=outcome.passages, cite=cite)


def kept_figures(before: Statement, outcome: Outcome) -> list[Figure]:
    """Return the figures of a statement that its ruling did not accuse: a wording may keep them."""
    rest = before.said
    for span in outcome.spans:
        rest = rest.replace(span, " ")
    return [] if before.plain in outcome.spans else list(figures(rest))


def as_borne(new: Statement, again: Outcome, notation: Notation) -> str:
    """Return a new wording that cites what bears it; what was told to the reader needs nothing."""
    sources = {passage.source for passage in again.passages}
    names = () if again.cite is None and sources == {KNOWN} else again.cite
    if names is None or names == new.cited:
        return new.text
    return cited_anew(new, names, notation).rstrip()


def _with_head(text: str, wording: str) -> str:
    """Return a wording under the head that the statement begins with: `**Moving in**: …`."""
    head = _HEAD.match(text)
    if head is None:
        return wording
    said = without_marks(head[0])
    ends = (at for at in range(len(wording) + 1) if without_marks(wording[:at]) == said)
    return head[0] + wording[next(ends, 0) :].lstrip("*:： ")


_HEAD = Linear(r"\*\*[^*\d\n]{1,40}(?:\*\*[:：]|[:：]\*\*)\s?")


def following(statements: Sequence[Statement], at: int, new: Statement | None) -> Statement | None:
    """Return the sentence behind one that is said anew (none: left out), as it reads then.

    None where it does not lean on the sentence before it.
    """
    if at + 1 >= len(statements):
        return None
    before, after = statements[at : at + 2]
    leans = after.context.endswith(end_of(before.plain)) and refers_back(after)
    if after.kind == "cell" or after.block != before.block or not leans:
        return None
    if new is None:
        return replace(after, context=before.context)
    above = after.context.removesuffix(end_of(before.plain))
    return replace(after, context=above + end_of(new.plain))
