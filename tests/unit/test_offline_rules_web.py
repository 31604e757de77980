"""The offline brain searches: grounded sentences and write-ups from the pages of the sample."""

import pytest

from agent.language import Language
from agent.offline import rules_research
from agent.offline.brain import Turn
from agent.offline.corpus import Page, load_sample
from agent.offline.rules import SampleBrain
from agent.prompts import Raw, element
from tests.support.offline_turns import TODAY, ask, cited, text_of


@pytest.fixture
def sample_pages(monkeypatch: pytest.MonkeyPatch) -> list[Page]:
    """Two pages on one subject, found by any query that names it; the sample in small."""
    pages = [
        _page("zh", "王府井亲子游（示例）", "王府井步行街很平。亲子乐园在地下一层。周一闭馆。"),
        _page("en", "The Bund with kids (sample)", "The Bund is flat. Kids like the ferry."),
    ]

    def search(query: str, language: str | None = None, limit: int = 8) -> list[Page]:
        found = [page for page in pages if page.subjects[0] in query]
        return [page for page in found if language in (None, page.language)][:limit]

    monkeypatch.setattr(rules_research, "search_pages", search)
    return pages


def _page(language: str, title: str, text: str) -> Page:
    subject = "王府井" if language == "zh" else "Bund"
    return Page(
        id=f"sample-{language}",
        url=f"https://sample.example/{language}",
        title=title,
        site="sample.example",
        language=language,
        published=TODAY,
        subjects=(subject,),
        topics=(),
        text=text,
    )


def test_a_grounded_sentence_rests_on_the_page_it_comes_from(sample_pages: list[Page]) -> None:
    found = SampleBrain().respond(ask("web_research", query="王府井 亲子乐园"))
    assert found.queries == ("王府井 亲子乐园",)
    assert found.grounded
    pages = [sentence.pages for sentence in found.grounded if sentence.pages]
    assert pages
    assert all(page[0].uri == sample_pages[0].url for page in pages)
    assert all(page[0].title == sample_pages[0].title for page in pages)
    assert all(s.text.strip() in sample_pages[0].text for s in found.grounded)


def test_an_english_query_finds_the_english_page(sample_pages: list[Page]) -> None:
    found = SampleBrain().respond(ask("web_research", "en", query="the Bund with kids"))
    text = "".join(sentence.text for sentence in found.grounded or ())
    assert "Kids like the ferry." in text
    assert sample_pages[1].url in {p.uri for s in found.grounded or () for p in s.pages}


@pytest.mark.usefixtures("sample_pages")
@pytest.mark.parametrize(("language", "said"), [("zh", "示例数据里没有"), ("en", "has nothing on")])
def test_a_query_outside_the_sample_is_answered_honestly(language: Language, said: str) -> None:
    found = SampleBrain().respond(ask("web_research", language, query="Reykjavik geysers"))
    assert found.grounded is not None
    assert [sentence.pages for sentence in found.grounded] == [()]
    assert said in found.grounded[0].text


def test_every_subject_of_the_bundled_pages_is_found_by_its_name() -> None:
    pages = load_sample().pages
    assert pages
    for page in pages:
        turn = ask("web_research", query=f"{page.subjects[0]} {' '.join(page.topics)}")
        found = SampleBrain().respond(turn).grounded or ()
        assert any(sentence.pages for sentence in found), page.id


@pytest.mark.usefixtures("sample_pages")
def test_without_the_search_tool_nothing_was_searched() -> None:
    turn = ask("web_research", query="王府井")
    found = SampleBrain().respond(Turn(turn.system, turn.user, search=False))
    assert found.queries == ()
    assert not any(sentence.pages for sentence in found.grounded or ())


@pytest.mark.parametrize("language", ["zh", "en"])
def test_a_write_up_cites_the_result_each_sentence_is_from(language: Language) -> None:
    results = Raw(
        "\n".join(
            [
                element(
                    "result", "标题\n王府井有亲子乐园。周一闭馆。", id="w0-0", site="a.example"
                ),
                element("result", "Title\nThe museum opens at 9.30. It is free.", id="w0-1"),
            ]
        )
    )
    text = text_of(
        SampleBrain().respond(ask("web_writeup", language, query="王府井", results=results))
    )
    assert cited(text) == {"w0-0", "w0-1"}
    assert "王府井有亲子乐园。[^w0-0]" in text
    assert "The museum opens at 9.30.[^w0-1]" in text


def test_a_write_up_of_no_results_says_so() -> None:
    text = text_of(SampleBrain().respond(ask("web_writeup", query="王府井")))
    assert "没有" in text
    assert not cited(text)
