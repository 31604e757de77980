"""One page under several spellings of its address, and addresses as services write them."""

from typing import Any

import pytest

from agent.evidence.markdown import canonical
from agent.evidence.numbering import Numbering
from agent.evidence.types import Source
from agent.search.hits import _distinct, make_hit
from tests.support.rows import by_examples

SPELLINGS = [
    "https://a.example.com/x", "https://a.example.com/x#top", "http://a.example.com/x",
    "https://a.example.com/x/", "https://a.example.com/x?utm_source=z&utm_medium=m",
    "https://A.example.com:443/x?fbclid=1", "https://www.a.example.com/x?spm=a.b",
]  # fmt: skip
OTHERS = [
    "https://a.example.com/y", "https://a.example.com/x?page=2", "https://b.example.com/x",
    "https://a.example.com/x#/settings", "https://a.example.com:8443/x", "https://a.example.com/X",
]  # fmt: skip


def source(number: int, url: str, **more: Any) -> Source:
    row = {"id": f"w0-{number}", "kind": "page", "title": "t", "provider": "tavily", "quotes": []}
    return Source(**{**row, "url": url, **more})  # type: ignore[typeddict-item]


@pytest.mark.parametrize("url", SPELLINGS)
def test_spellings_of_one_page_are_one_hit_and_one_source(url: str) -> None:
    hits = _distinct([make_hit("t", each, "s") for each in (SPELLINGS[0], url)])
    assert [hit.url for hit in hits] == [SPELLINGS[0]]
    numbers = Numbering()
    assert [numbers.number(source(n, each)) for n, each in enumerate((SPELLINGS[0], url))] == [1, 1]


def test_what_differs_in_more_than_spelling_is_another_page() -> None:
    assert len({canonical(url) for url in [SPELLINGS[0], *OTHERS]}) == 1 + len(OTHERS)


@by_examples
def test_an_address_is_read_as_a_browser_completes_it(written: Any, url: str | None) -> None:
    hit = make_hit("t", written, "s")
    assert (hit and hit.url) == url
