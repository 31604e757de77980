"""Prove the sums that a writer declares in a long text, and make them sources that it cites."""

import asyncio
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial
from itertools import count
from typing import NamedTuple

from agent.assistants.common.draft import Draft
from agent.assistants.common.inputs import numbers_of
from agent.assistants.common.toolbox import calculation, is_calculation
from agent.core.processor import compute
from agent.core.strings import is_wide
from agent.evidence.citations import MARKER
from agent.evidence.claims.passages import Evidence
from agent.evidence.declared_sums import DeclaredSum, declared_sums, unclosed
from agent.evidence.formulas import values_of
from agent.evidence.references import CITATION
from agent.evidence.revision import Revised, rewritten
from agent.evidence.sum_lines import assumed_label, results
from agent.evidence.types import Source


@dataclass
class DeclaredSums:
    """Hold the declared sums of one text: those that hold are sources like a program's."""

    draft: Draft
    unproved: dict[str, str] = field(default_factory=dict)
    """Why those that a text was left with do not hold, by their signs."""
    _sources: dict[str, Source] = field(default_factory=dict)
    """The source of each line that holds."""
    _given: set[Decimal] = field(default_factory=set)
    """What these lines give."""

    async def told(self, text: Revised, *, leaves: bool) -> Revised:
        """Return a text with the values of its declared sums, which cite the lines that give them.

        One that does not hold is a mere value, which nothing bears; it stays as it is where the
        text `leaves` it to a revision.
        """
        form = self.draft.number_form
        found = await compute(
            lambda: [*declared_sums(text.text, form)], otherwise=list[DeclaredSum]
        )
        if found and (claims := self.draft.claims):
            evidence = await asyncio.shield(claims.evidence)
            new = await compute(lambda: self._new(found, evidence), otherwise=dict[str, _Held])
            self._list(new)
        changes = [
            (one.start, one.end, f"{one.told}{self._citation(text.text, one)}")
            for one in found
            if one.line in self._sources or not leaves
        ]
        told = rewritten(text, changes)
        return rewritten(told, unclosed(told.text))

    def _new(self, found: Sequence[DeclaredSum], evidence: Evidence | None) -> dict[str, "_Held"]:
        """Return the sums that hold and have no source yet, by their lines; note why others do not.

        Each number is known, or called assumed; what one of them gives the others may use.
        """
        new = dict[str, _Held]()
        if evidence is None:
            return new
        told = values_of(evidence.told)
        for _ in range(2):
            for one in (one for one in found if one.line not in self._sources):
                known = told | self._given
                lost = one.unknown(partial(evidence.has_term, values=known))
                self.unproved.pop(one.sign, None)
                if one.is_right and not lost:
                    new[one.line] = _Held(one, one.assumed)
                    self._given |= one.gives
                else:
                    self.unproved[one.sign] = _why(one, lost)
        said = told | evidence.sayers.keys()
        doubtful = self._assumed_results() - said
        for line, (one, assumed) in new.items():
            terms = {*one.sum.terms} if one.sum else set[Decimal]()
            assumed = [*assumed, *(f"{term:f}" for term in sorted(terms & doubtful))]
            new[line] = _Held(one, assumed)
            doubtful |= one.gives - said if assumed else set()
        return new

    def _assumed_results(self) -> set[Decimal]:
        """Return what lines give that rest on numbers from nowhere."""
        lines = (line for one in self.draft.sources.values() for line in one.get("assumed", ()))
        return {figure.value for line in lines for figure in results(line)}

    def _list(self, new: Mapping[str, "_Held"]) -> None:
        """Make sums a source that the text can cite, each a line with what it assumes."""
        if not new:
            return
        draft = self.draft
        name = next(name for n in count() if (name := f"c{n}-0") not in draft.sources)
        lines = {line: f"{line}{assumed_label(held.assumed, draft.language)}"
                 for line, held in new.items()}  # fmt: skip
        source = calculation(name, "\n".join(lines.values()), draft.language)
        if assumed := [told for line, told in lines.items() if told != line]:
            source["assumed"] = assumed
        draft.add([source], {})
        ids = {str(source.get("number")): source["id"] for source in draft.citer.used}
        for one, _ in new.values():
            marks = (MARKER.match(mark) or CITATION.match(mark) for mark in one.cited)
            named = (ids.get(mark[1], mark[1]) for mark in marks if mark)
            cited = (n for n in named if n in draft.sources)
            pages = [n for n in cited if not is_calculation(draft.sources[n])]
            draft.inputs[numbers_of(one.line)] = [*dict.fromkeys(pages)]
        self._sources |= dict.fromkeys(lines, source)

    def _citation(self, text: str, one: DeclaredSum) -> str:
        """Return the citation of a sum's line, unless its writer cites that source beside it."""
        if (source := self._sources.get(one.line)) is None:
            return ""
        number = self.draft.citer.number(source)
        behind = CITATION.match(text, one.end + text.startswith(" ", one.end))
        if behind and behind[1] == str(number):
            return ""
        return f"[{number}]" if is_wide(one.told[-1]) else f" [{number}]"


def bare_sums(text: Revised) -> Revised:
    """Return a text with the values of its declared sums, as their writer tells them."""
    values = [(one.start, one.end, one.told) for one in declared_sums(text.text)]
    told = rewritten(text, values)
    return rewritten(told, unclosed(told.text))


class _Held(NamedTuple):
    """Hold a sum that holds, and the numbers from nowhere that it rests on."""

    sum: DeclaredSum
    assumed: Sequence[str]


def _why(one: DeclaredSum, lost: Sequence[Decimal]) -> str:
    """Return why a sum does not hold: numbers that stand nowhere, or what it gives instead."""
    if one.sum is None:
        return "is no sum of numbers"
    return f"nowhere: {', '.join(f'{n:f}' for n in lost)}" if lost else f"gives {one.sum}"
