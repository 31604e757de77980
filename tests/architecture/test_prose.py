"""The pages for people are in sentences that one reads once: short ones, on average."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = ["README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))]
MOST = 19
"""Words of a sentence, on average over a page."""
LONGEST = {
    "README.md": 29,
    "docs/first_minutes.md": 29,
    "docs/reference.md": 26,
    "docs/sample_questions.md": 30,
}
"""Words of any sentence of the pages that are read first, and of the reference."""
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


@pytest.mark.parametrize("page", LONGEST)
def test_no_sentence_of_a_page_is_long(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    assert not [one for one in sentences(text) if words(one) > LONGEST[page]]
