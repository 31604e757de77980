"""What was found on pages, each finding with a page's own words; and where these words stand."""

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate, chain

from agent.core.patterns import Linear
from agent.core.processor import breathe
from agent.evidence.citations import ID
from agent.evidence.language import without_marks

QUOTED = Linear(rf"(“([^“”]{{1,400}})” ?)\[\^({ID})\]")
"""A page's words with its marker: with their signs, without, and the id."""
QuotedFacts = Mapping[str, Sequence["QuotedFact"]]
"""By the id of their page."""


@dataclass(frozen=True)
class QuotedFact:
    """A fact in its finder's language, and the words of the page that bear it."""

    fact: str
    quote: str


def findings_in(texts: Iterable[str]) -> dict[str, list[QuotedFact]]:
    """Return the findings of texts, marked lines: `- A fact “the page's words” [^w0-2]`."""
    found = defaultdict[str, list[QuotedFact]](list)
    for line in chain.from_iterable(map(str.splitlines, texts)):
        breathe()
        begin = 0
        for match in QUOTED.finditer(line):
            found[match[3]].append(QuotedFact(line[begin : match.start()].strip("- "), match[2]))
            begin = match.end()
    return dict(found)


def where_quoted(
    findings: Iterable[QuotedFact], texts: Sequence[str]
) -> Iterator[tuple[QuotedFact, Sequence[int]]]:
    """Yield each finding with the texts that its quote stands in: a page's passages, in order."""
    bare = [*map(without_marks, texts)]
    whole, starts = "".join(bare), [0, *accumulate(map(len, bare))]
    for finding in findings:
        breathe()
        quote = without_marks(finding.quote)
        if quote and (at := whole.find(quote)) >= 0:
            first, last = (bisect_right(starts, end) - 1 for end in (at, at + len(quote) - 1))
            yield finding, range(first, last + 1)
