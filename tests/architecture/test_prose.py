"""The pages for people are in sentences that one reads once: short ones, on average."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
MOST = 19
"""Words of a sentence, on average over a page."""
LONGEST = 26
"""Words of any sentence of the reference, which is looked up and not read in order."""
_CODE = re.compile(r"^```.*?^```", re.DOTALL | re.MULTILINE)
_NO_PROSE = re.compile(r"^\s*(?:\||#|<|!\[).*$", re.MULTILINE)
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) ", re.MULTILINE)
_END = re.compile(r"(?<=[.!?])[\"”)]?\s+(?=[A-Z“\"(\[`*])")


def sentences(text: str) -> Iterator[str]:
    """Yield the sentences of paragraphs and lists, not of tables, headings and code."""
    for part in (_CODE, _NO_PROSE, _ITEM):
        text = part.sub("\n\n", text)
    text = re.sub(r"`[^`]*`", "Code", re.sub(r"\]\([^)]*\)", "]", text))
    for block in re.split(r"\n\s*\n", text):
        yield from _END.split(" ".join(block.split()))


def words(sentence: str) -> int:
    return len(re.findall(r"[\w'’$-]+", sentence))


@pytest.mark.parametrize("page", PAGES)
def test_a_page_has_no_more_than_nineteen_words_a_sentence(page: str) -> None:
    lengths = [words(one) for one in sentences((ROOT / page).read_text("utf-8"))]
    counted = [length for length in lengths if length > 2]
    assert sum(counted) <= MOST * len(counted)


def test_no_sentence_of_the_reference_is_long() -> None:
    reference = (ROOT / "docs/reference.md").read_text("utf-8")
    assert not [one for one in sentences(reference) if words(one) > LONGEST]
