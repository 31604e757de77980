"""Hits made safe, markers kept or dropped, quotes, error texts, link targets."""

from email.utils import formatdate
from time import time
from typing import Any, get_args

import pytest

from agent.core.calls import retry_after_seconds
from agent.evidence.citations import cited_ids
from agent.search.google import GoogleSearch
from agent.search.hits import LABELS, WebChoice, beginning, make_hit, only_known, quotes_by_id
from agent.search.http import error_message
from agent.search.web import REGISTRY, key_variable
from agent.settings import Settings
from agent.texts import say
from tests.support.meters import meter
from tests.support.rows import by_examples
from tests.support.search_scripts import GOOGLE, ScriptedModels, grounded_reply, task


@by_examples
def test_a_result_without_a_web_address_is_no_hit(url: Any) -> None:
    assert make_hit("t", url, "s") is None


def test_a_hit_is_plain_text_without_emphasis_entities_or_hidden_characters() -> None:
    hit = make_hit(
        "<b>故宫</b>&amp;门票", " https://www.a.cn/x ", "a\u202e\nb<em>c</em>", site=None
    )
    assert hit is not None
    assert (hit.title, hit.url, hit.snippet, hit.site) == (
        "故宫&门票",
        "https://www.a.cn/x",
        "a bc",
        "a.cn",
    )


def test_a_page_cannot_write_our_markers() -> None:
    hit = make_hit("t [^w0-1]", "https://a.cn/", "x [^a0-0] [w0-2] 【^w1-1】 [2024] [note]")
    assert hit is not None
    assert cited_ids(f"{hit.title} {hit.snippet}") == []
    assert hit.snippet == "x [2024] [note]"


def test_a_hit_without_a_title_is_named_after_its_host() -> None:
    hit = make_hit(None, "https://a.cn/x", None, published="")
    assert hit is not None
    assert (hit.title, hit.snippet, hit.published) == ("a.cn", "", None)


def test_markers_are_kept_in_one_spelling_and_only_where_known() -> None:
    text = "甲。[w0-1, w9-9] 乙 [^w0-0、^w0-1]。 丙[^w0-7] 丁 [1] [^2]"
    assert only_known(text, {"w0-0", "w0-1"}) == "甲。[^w0-1] 乙[^w0-0][^w0-1]。 丙 丁 [1]"


def test_quotes_are_the_sentences_before_the_markers() -> None:
    text = "门票 60 元。[^w0-0][^w0-1] 周一闭馆[^w0-1]。It costs 3.5 dollars [^w0-2]. Next.[^w0-0]"
    assert quotes_by_id(text) == {
        "w0-0": ["门票 60 元。", "Next."],
        "w0-1": ["门票 60 元。", "周一闭馆"],
        "w0-2": ["It costs 3.5 dollars"],
    }


@by_examples
def test_a_retry_after_is_seconds_or_unknown(value: Any, seconds: float | None) -> None:
    assert retry_after_seconds(value) == seconds


def test_a_retry_after_may_be_a_date() -> None:
    seconds = retry_after_seconds(formatdate(time() + 60, usegmt=True))
    assert seconds is not None
    assert 55 < seconds <= 60


@by_examples
def test_an_error_body_is_read_in_every_shape(body: Any, text: str) -> None:
    assert error_message(body) == text


def test_a_registered_service_has_its_settings_its_choice_and_its_label() -> None:
    for name in REGISTRY:
        for suffix in ("api_key", "base_url", "default_count"):
            assert f"{name}_{suffix}" in Settings.model_fields
        assert name in get_args(WebChoice)
        assert name in LABELS
        assert key_variable(name) == f"{name.upper()}_API_KEY"
    assert set(get_args(WebChoice)) - set(REGISTRY) == {"auto", "google", "off"}


async def test_sources_without_a_list_of_searches_count_as_one_search() -> None:
    reply = grounded_reply()
    assert reply.grounding is not None
    reply.grounding["web_search_queries"].clear()  # type: ignore[attr-defined]
    account = meter()
    found = await GoogleSearch(ScriptedModels([reply])).research(task(model=GOOGLE), meter=account)
    assert found.executed == ["故宫门票"]
    assert account.usage["searches"] == 1


async def test_a_text_whose_pages_support_no_sentence_of_it_is_no_finding() -> None:
    reply = grounded_reply()
    assert reply.grounding is not None
    reply.grounding["grounding_supports"].clear()  # type: ignore[attr-defined]
    models = ScriptedModels([reply])
    found = await GoogleSearch(models).research(task(model=GOOGLE), meter=meter())
    assert len(models.asked) == 1
    assert (found.text, found.sources) == ("", [])
    assert [gap["code"] for gap in found.gaps] == ["no_results"]
    assert found.gaps[0]["message"] != say("search.no_results", "zh", service="Google")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("短句。", "短句。"),
        ("一句话。" * 100, "一句话。" * 75),
        ("One sentence here. " * 30, ("One sentence here. " * 15).strip()),
        ("长" * 400, "长" * 300 + "…"),
    ],
)
def test_an_excerpt_ends_with_a_sentence_or_shows_that_it_is_cut(text: str, shown: str) -> None:
    assert beginning(text) == shown
