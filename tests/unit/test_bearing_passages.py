"""What bears a statement is among the passages that its judge is shown: rows of both kinds."""

from collections.abc import Sequence
from typing import Any

import pytest

from agent.assistants.common.judge import evidence_of
from agent.evidence.addends import adding_up
from agent.evidence.claims.judging import passages_block
from agent.evidence.claims.passages import Evidence
from agent.evidence.claims.statements import Statement, statements
from agent.evidence.figures import figures
from agent.evidence.findings import findings_in
from agent.evidence.notation import MARKED
from agent.evidence.types import Source
from tests.support.rows import rows
from tests.support.team_steps import turn

_PAGES, _LINES = 9, 30
"""Other pages of a run, and lines around those of a row's page: too many to show all."""


def page(name: str, kind: Any, text: str) -> Source:
    return Source(id=name, kind=kind, title=name, url="", provider="", quotes=[text])


def known(row: dict[str, Any]) -> Evidence:
    """Return what a row's text rests on: its pages, long, among others; its calculation."""
    around = "\n".join(row["filler"].format(n=n) for n in range(_LINES))
    texts = {name: f"\n{around}\n".join(["", *parts, ""]) for name, parts in row["pages"].items()}
    other = "\n".join(f"Chapter {n} of the almanac tells of moons, frost and hay. " * 2
                      for n in range(_LINES))  # fmt: skip
    texts |= {f"w{n}-9": f"Almanac {n}\n{other}" for n in range(_PAGES)}
    sources = {name: page(name, "page", text) for name, text in texts.items()}
    if row["calculation"]:
        more = "".join(f"Sack {n}: {n} × 3.75 = {n * 3.75:.2f} EUR\n" for n in range(11, 60))
        sums = page("c0-0", "document", row["calculation"] + more)
        sources["c0-0"] = Source(**{**sums, "provider": "calculation"})
    return evidence_of({"turn": turn()}, sources, texts, [], findings=findings_in(row["found"]))


def judged_with(text: str) -> Sequence[Statement]:
    """Return a text's statements among others, as one call has them."""
    return statements(text + "\n\nHay is cut in June. [^w3-9] Frost comes late. [^w4-9]", MARKED)


@pytest.mark.parametrize("row", rows("bearing_passages"), ids=lambda row: row["note"])
def test_what_bears_a_statement_is_shown_to_its_judge(row: dict[str, Any]) -> None:
    shown = passages_block(judged_with(row["text"]), known(row))
    assert not [words for words in row["bears"] if words not in shown]
    assert "Almanac 8" not in shown, "what it does not cite is left out"


def test_a_figure_of_few_digits_is_taken_for_nobody_s_sum() -> None:
    lines = [figures("60 + 12 = 72"), figures("200")]
    assert [*adding_up(figures("272.00")[0], lines)] == [(0, 1), (1, 0)]
    assert not [*adding_up(figures("260")[0], lines)]
    assert [*adding_up(figures("344.0")[0], [figures("72 + 272")])] == [(0,)]
