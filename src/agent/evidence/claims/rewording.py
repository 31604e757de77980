"""Say what fails as its judge would: in words that code has found to add nothing, or not at all."""

from collections.abc import Sequence
from dataclasses import replace

from agent.core.patterns import Linear
from agent.evidence.claims.corrected import can_be_left_out, ending_with
from agent.evidence.claims.judging import with_citations
from agent.evidence.claims.outcomes import LEAVES_OUT, Outcome
from agent.evidence.claims.passages import Evidence, Passage
from agent.evidence.claims.statements import Notation, Statement
from agent.evidence.language import without_marks

Failing = tuple[Statement, Outcome]
_EACH, _OWN = 320, 4
"""Tokens of passages that a statement may have, and how many of what it cites stand beside."""
_HEAD = Linear(r"\*\*[^*\d\n]{1,40}(?:\*\*[:：]|[:：]\*\*)\s?")


def deciding_passages(failing: Failing, evidence: Evidence) -> list[Passage]:
    """Return the passages that decide a statement, and the best of those that it cites itself."""
    statement, outcome = failing
    best = evidence.best(statement, _EACH)
    own = [passage for passage in best if passage.source in statement.cited] or best
    return list(dict.fromkeys([*outcome.passages, *own[:_OWN]]))


def as_the_judge_says(
    statements: Sequence[Statement],
    outcomes: Sequence[Outcome],
    evidence: Evidence,
    notation: Notation,
) -> list[Outcome]:
    """Return the outcomes; what fails reads as its judge would say it.

    It goes where the judge leaves nothing of it, and it can be spared.
    """
    found = list[Outcome]()
    for one, outcome in zip(statements, outcomes, strict=True):
        words = None
        if outcome.fix == LEAVES_OUT:
            words = "" if can_be_left_out(statements, len(found), found, closes=True) else None
        elif outcome.fix:
            words = reworded(one, outcome.fix, evidence, notation)
        found.append(
            replace(outcome, revised=words) if outcome.fails and words is not None else outcome
        )
    return found


def without_false(statements: Sequence[Statement], outcomes: Sequence[Outcome]) -> list[Outcome]:
    """Return the outcomes; what nobody could mend goes, where a report can spare it.

    That is what a source contradicts, or of which nothing is borne out; where only words of a
    statement stand nowhere these are marked. The text's first statement stays, and so does what the
    next sentence may refer back to.
    """
    found = [*outcomes]
    first = next((at for at, one in enumerate(statements) if one.kind != "heading"), 0)
    for at, one in enumerate(statements):
        is_false = outcomes[at].verdict == "contradicted" or one.plain in outcomes[at].spans
        behind = [each for each in statements[at + 1 : at + 2] if each.block == one.block]
        leans = any(each.kind == "sentence" or each.line == one.line for each in behind)
        goes = at > first and outcomes[at].fails and is_false and not leans
        if goes and can_be_left_out(statements, at, found):
            found[at] = replace(outcomes[at], revised="")
    return found


def reworded(one: Statement, fix: str, evidence: Evidence, notation: Notation) -> str:
    """Return a judge's wording, which cites what the statement did where it cites nothing.

    Its citations stand before its stop, apart where the statement's do, and none in a heading, or
    in a cell whose row has them.
    """
    apart = any(one.text[: each.start - one.start].endswith(" ") for each in one.citations)
    blank = " " if apart else ""
    said = with_citations(fix, evidence, notation, one.exact, blank)
    words = _with_head(one.text, said).rstrip()
    cited = [name for match in notation.pattern.finditer(words) for name in notation.read(match)]
    is_in_row = one.kind == "cell" and not one.citations and {*cited} <= {*one.cited}
    if is_in_row or one.kind == "heading":
        bold = "**" * (one.kind == "heading" and one.text.startswith("**") and "**" not in words)
        return f"{bold}{notation.pattern.sub('', words).rstrip()}{bold}"
    if not cited and one.citations and "[0]" not in fix:
        return ending_with(blank + notation.write(one.cited[0]), words)
    at, written = len(words), ""
    for match in reversed([*notation.pattern.finditer(words)]):
        if words[match.end() : at].strip():
            break
        at, written = match.start(), match[0] + written
    return ending_with(blank * bool(written) + written, words[:at].rstrip())


def _with_head(text: str, wording: str) -> str:
    """Return a wording under the head that the statement begins with: `**Moving in**: …`."""
    head = _HEAD.match(text)
    if head is None:
        return wording
    said = without_marks(head[0])
    ends = (at for at in range(len(wording) + 1) if without_marks(wording[:at]) == said)
    # A head's last sign, as of "**Ateneum (Helsinki)**:", is no word.
    return head[0] + wording[next(ends, 0) :].lstrip(")）]】?？!！*:： ")
