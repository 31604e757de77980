"""What becomes of statements by their proof, and the figures that were shown to be wrong."""

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Literal

from agent.evidence.claims.passages import Passage
from agent.evidence.notation import CONTRADICTED, MARK

Verdict = Literal["supported", "computed", "own", "missing", "contradicted", "unchecked"]
LEAVES_OUT = "-"
"""The wording that takes a statement out."""


@dataclass(frozen=True)
class Outcome:
    """What becomes of a statement."""

    verdict: Verdict
    spans: tuple[str, ...] = ()
    """The words that are not borne out: each carries a sign, † or ‡."""
    unproved: tuple[str, ...] = field(default=(), kw_only=True)
    """Figures that nothing has, in a statement that its judge takes for borne out."""
    passages: tuple[Passage, ...] = ()
    """The passages that decide."""
    quote: str = ""
    """The words of a passage that say otherwise."""
    cite: tuple[str, ...] | None = None
    """The sources to cite in place of the statement's; None leaves its citations."""
    fix: str = ""
    """The judge's wording, with markers for citations; "-" leaves the statement out."""
    is_open: bool = False
    """Whether a passage that its judge was not shown may bear what the wording takes out."""
    value: str = ""
    """What a sum gives, where the text tells another."""
    results: tuple[Decimal, ...] = field(default=(), compare=False)
    """What right sums behind it give, with what they are put together from: 8.8 − 3 of a fare."""
    revised: str | None = None
    """The wording that took the statement's place; empty where it was left out."""

    @property
    def fails(self) -> bool:
        return self.verdict in ("missing", "contradicted") and self.revised is None

    @property
    def sign(self) -> str:
        return CONTRADICTED if self.verdict == "contradicted" else MARK
