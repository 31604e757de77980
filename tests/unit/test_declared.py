"""What becomes of declared sums in a text: values that cite lines, however the text is cut."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Sequence
from decimal import Decimal
from types import SimpleNamespace
from typing import Any, cast

from agent.assistants.common.filled_in import FilledIn
from agent.evidence.citations import Citer
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.number_forms import ENGLISH_NUMBERS
from agent.evidence.revision import Revised
from agent.evidence.types import Source
from tests.unit.page_sources import source

PAGE = source("w0-0")
WRITTEN = (
    "Two rooms [^w0-0] cost [=rooms: 2 × 40.5[^w0-0] = €81], seven "
    "[=all seven nights (a long remark on what is taken for the season, the town, the board, the "
    "tax of the town, beds for children and all that is drunk in that time by those who come): "
    "81 + ~35.5 × 7 = €329.50](note) "
    "and [=more: 2 × 99.25 = €198.50]."
)
SHOWN = "Two rooms [1](https://e.example/w0-0) cost €81 [2], seven €329.50 [2] and €198.50."


class Writer:
    """What of a draft is needed to prove its sums."""

    known_places = ()
    language, withdrawn, number_form = "en", "", ENGLISH_NUMBERS

    def __init__(self) -> None:
        self.sources: dict[str, Source] = {"w0-0": PAGE}
        self.state: dict[str, Any] = {"routes": []}
        self.citer = Citer(self.sources)
        self.inputs = dict[frozenset[Decimal], Sequence[str]]()
        texts = {"w0-0": Record(["A room is €40.50."], page="w0-0")}
        known = asyncio.get_running_loop().create_future()
        known.set_result(Evidence(texts, question="Two rooms for 7 nights?"))
        self.claims = SimpleNamespace(evidence=known)

    def add(self, sources: Iterable[Source], _: Any) -> None:
        self.sources |= {each["id"]: each for each in sources}


async def streamed(pieces: Iterable[str]) -> list[str]:
    """Return what a reader is sent of a text that comes in these pieces."""
    writer = Writer()

    async def numbered() -> AsyncIterator[str]:
        for piece in pieces:
            yield writer.citer.feed(piece)
        yield writer.citer.flush()

    return [piece async for piece in FilledIn(cast(Any, writer), None).streamed(numbered())]


async def test_no_cut_of_a_text_shows_a_sign_of_a_sum() -> None:
    for at in range(len(WRITTEN) + 1):
        shown = await streamed([WRITTEN[:at], WRITTEN[at:]])
        assert "".join(shown) == SHOWN
    shown = await streamed(WRITTEN)
    assert "".join(shown) == SHOWN
    assert not any("[=" in "".join(shown[:n]) for n in range(len(shown)))


async def test_a_text_that_ends_within_a_sign_shows_its_words_alone() -> None:
    for at in range(len(WRITTEN)):
        assert "[=" not in "".join(await streamed([WRITTEN[:at]]))


async def test_a_line_is_one_source_however_often_it_is_declared() -> None:
    writer = Writer()
    exact = FilledIn(cast(Any, writer), None)
    text = (await exact.filled(Revised(WRITTEN), leaves=True)).text
    assert [*writer.sources] == ["w0-0", "c0-0"]
    [seven] = writer.sources["c0-0"]["assumed"]
    assert seven.endswith("= €329.50 (35.5 assumed)")
    assert [*writer.inputs.values()] == [["w0-0"], []], "what a writer cites in a sign"
    assert "[=more: 2 × 99.25 = €198.50]" in text
    assert exact.sums.unproved == {"[=more: 2 × 99.25 = €198.50]": "nowhere: 99.25"}
    again = Revised(f"[=rooms: 2 × 40.5 = €81] or [=three: 3 × 40.5 = €121.50], {text}")
    text = (await exact.filled(again)).text
    assert text.startswith("€81 [1] or €121.50 [1], Two rooms")
    assert [*writer.sources] == ["w0-0", "c0-0", "c1-0"]
    assert "[=" not in text


async def test_a_sum_assumes_what_it_is_made_of_does_unless_a_source_says_that_too() -> None:
    writer = Writer()
    text = (
        "[=week: 7 × ~5.75 = €40.25], [=both: 40.25 + 40.5 = €80.75] or [=all: 80.75 × 2 = €161.5],"
        " [=two: 2 × ~20.25 = €40.5], [=four: 40.5 × 2 = €81]"
    )
    await FilledIn(cast(Any, writer), None).filled(Revised(text))
    lines = writer.sources["c0-0"]["quotes"][0].splitlines()
    assert [line.partition("€")[2] for line in lines] == [
        "40.25 (5.75 assumed)", "80.75 (40.25 assumed)", "161.5 (80.75 assumed)",
        "40.5 (20.25 assumed)", "81",
    ]  # fmt: skip


async def test_a_sum_that_cannot_be_proved_loses_no_text() -> None:
    writer = Writer()
    writer.add = lambda *_: 1 / 0  # type: ignore[method-assign, assignment]
    text = (await FilledIn(cast(Any, writer), None).filled(Revised(WRITTEN), leaves=True)).text
    assert "cost €81, seven €329.50(note) and €198.50." in text


async def test_a_line_s_sources_are_pages_each_once() -> None:
    writer = Writer()
    exact = FilledIn(cast(Any, writer), None)
    await exact.filled(Revised("[=two: 2 × 40.5 [^w0-0] = €81]"), leaves=True)
    twice = "[=more: 81 [^c0-0] + 40.5 [^w0-0] + 40.5 [^w0-0] = €162]"
    await exact.filled(Revised(twice), leaves=True)
    assert [*writer.inputs.values()] == [["w0-0"], ["w0-0"]]
