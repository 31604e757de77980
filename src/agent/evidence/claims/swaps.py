"""Detect figures that a source gives to another subject, citation or day."""

import re

from agent.evidence.claims.claim import Claim, among, figure_words, same_kind
from agent.evidence.claims.facts import Passage, hedge, names, split_clauses, words
from agent.evidence.claims.sentences import Citation
from agent.evidence.figures import Figure, figures

_NUMBERED_LINE = re.compile(r"\b(?:line|bus|route|exit|terminal) \d{1,3}\b", re.I)
_LIGHT = words("takes costs needs runs gives goes 需要 花费 时间 费用")
"""Words that say nothing about what a figure is of."""


def _clause_of(claim: Claim, figure: Figure) -> str:
    """Return the clause a figure stands in; in a table also the row's first cell."""
    clauses, at = split_clauses(claim.text), 0
    for clause in clauses:
        start = claim.text.find(clause, at)
        at = start + len(clause)
        if start <= figure.start < at:
            first = clauses[0] if claim.sentence.row and clause != clauses[0] else ""
            return f"{first} {clause}".strip()
    return claim.text


def is_swapped(claim: Claim, figure: Figure) -> bool:
    """Return whether the cited words give the clause's subject another figure of its kind."""
    clause = _clause_of(claim, figure)
    own = words(clause) - figure_words(clause) - _LIGHT
    own_figures = figures(clause)
    own_names = [*names(clause), *_NUMBERED_LINE.findall(clause)]
    hedged = hedge(claim.text, figure)
    bearing, differing = set[Passage](), set[Passage]()
    for index in claim.evidence.clauses(claim.sentence.cited):
        these = index.bearing(figure, hedged)
        bearing |= these
        for part, rivals in index.of_kind(figure.kind or "").items():
            if part not in these and not all(among(f, own_figures) for f in rivals):
                differing.add(part)
    most = max((len(own & part.words) for part in bearing), default=0)
    other = max((len(own & part.words) for part in differing), default=0)
    if other >= 2 and (most == 0 or other >= most + 2):
        return True
    return _of_another_day(claim, figure) or any(
        any(part.names(name) for part in differing)
        and not any(part.names(name) for part in bearing)
        for name in own_names
    )


def is_of_another_citation(claim: Claim, figure: Figure) -> bool:
    """Return whether the citation behind the figure gives another of the sentence's figures."""
    if (heading := _heading(claim, figure)) and claim.borne(figure, claim.evidence.of(heading.ids)):
        return False
    group = _group_behind(claim, figure)
    cited = claim.evidence.of(name for citation in group for name in citation.ids)
    if len(group) == len(claim.sentence.citations) or claim.borne(figure, cited):
        return False
    rivals = [f for f in claim.facts if f is not figure and same_kind(f, figure)]
    return any(_group_behind(claim, f) != group and claim.borne(f, cited) for f in rivals)


def _heading(claim: Claim, figure: Figure) -> Citation | None:
    """Return the last citation before a figure, where no figure of its clause precedes it."""
    start = claim.sentence.start
    before = [c for c in claim.sentence.citations if c.end - start <= figure.start]
    if not before:
        return None
    clause = re.split(r"[，,；;、：:]", claim.text[: before[-1].start - start])[-1]
    return None if figures(clause) else before[-1]


def _group_behind(claim: Claim, figure: Figure) -> list[Citation]:
    """Return the citations that follow a figure with nothing but each other in between."""
    group: list[Citation] = []
    for citation in claim.sentence.citations:
        at = citation.start - claim.sentence.start
        if at >= figure.end and (not group or citation.start <= group[-1].end + 1):
            group.append(citation)
    return group


def _of_another_day(claim: Claim, figure: Figure) -> bool:
    """Return whether the figure stands only where another day than the sentence's is told."""
    days = [f for f in claim.figures if f.date]
    if len(days) != 1 or figure.date:
        return False
    that_day = claim.bearers(days[0])
    bearing = claim.bearers(figure).intersection(claim.cited)
    return not that_day.isdisjoint(claim.cited) and all(
        passage not in that_day and passage.dates for passage in bearing
    )
