"""Pages of the sample are found by what they are about, and by nothing else."""

from agent.sample.corpus import search_pages
from agent.sample.records import load_sample
from tests.support.rows import by_examples


@by_examples
def test_a_query_outside_the_sample_finds_no_page(query: str) -> None:
    assert search_pages(query) == []


@by_examples
def test_a_query_finds_the_page_on_it_first(query: str, first: str) -> None:
    assert search_pages(query)[0].id == first


def test_every_page_is_found_by_its_own_title() -> None:
    for page in load_sample().pages:
        found = search_pages(page.title.split("] ", 1)[1], limit=3)
        assert page.id in {other.id for other in found}, page.id


def test_pages_of_another_city_are_left_out() -> None:
    found = search_pages("上海亲子游")
    assert found
    assert {page.id.split("-")[0] for page in found} <= {"bund", "disney"}


def test_a_search_begins_with_its_language_and_keeps_to_its_limit() -> None:
    found = search_pages("西湖", limit=3)
    assert len(found) == 3
    assert {page.language for page in found} == {"zh"}


def test_a_search_of_a_very_long_text_ends() -> None:
    assert search_pages("王府井 " * 10_000)
