"""What is told of a failure: in the question's language, without the words of its maker."""

import re
from pathlib import Path

import pytest

import agent
from agent.assistants.common.gaps import gap_of
from agent.assistants.common.writer import all_failed, gap_section, refuse_if_all_failed
from agent.core.errors import (
    AgentError,
    BudgetExceeded,
    ConfigurationError,
    MalformedReply,
    NothingFound,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
)
from agent.evidence.types import Gap
from agent.mcp.errors import map_message
from agent.search.gaps import failure_gap
from agent.search.types import WebTask
from agent.texts import table
from agent.texts.language import Language
from agent.texts.reasons import reason_of

REASONS = table("reasons", "en")
_OF_OTHER_ERRORS = ("store_failed", "budget_", "configuration", "web_search")
MACHINE = "gemini-9: HTTP 500 of upstream at line 3"
_CODE = re.compile(r'code="([a-z_]+)"')
_HAN = re.compile(r"[\u4e00-\u9fff]")
_ENGLISH = re.compile(r"[a-z]{2,} [a-z]{2,}")
_ALLOWED = ("tanlu doctor", "pip install")
ERRORS: tuple[AgentError, ...] = (
    ProviderUnavailable("model:google", MACHINE),
    ProviderUnavailable("tavily", MACHINE, code="timeout"),
    RateLimited("serper", MACHINE),
    ProviderRefused("model:openai", MACHINE, code="model_key_invalid"),
    MalformedReply("amap", MACHINE),
    *(BudgetExceeded(code.removeprefix("budget_"), 3) for code in REASONS if "budget" in code),
    ConfigurationError("web_search", "nothing configured; set GEMINI_API_KEY"),
    AgentError(MACHINE),
)


def _codes() -> list[str]:
    """Every code that some line of the package gives an error."""
    sources = Path(agent.__file__).parent.rglob("*.py")
    found = {code for source in sources for code in _CODE.findall(source.read_text("utf-8"))}
    return sorted(code for code in {*found, *REASONS} if not code.startswith(_OF_OTHER_ERRORS))


def is_in(language: Language, text: str) -> bool:
    """Whether a sentence is wholly in this language; names and settings may stand in it."""
    for allowed in _ALLOWED:
        text = text.replace(allowed, "")
    if language == "en":
        return not _HAN.search(text.replace("Web服务", ""))
    return bool(_HAN.search(text)) and not _ENGLISH.search(text)


@pytest.mark.parametrize("language", ["zh", "en"])
def test_whatever_its_code_an_error_is_told_in_the_language_of_the_question(
    language: Language,
) -> None:
    for code in _codes():
        error = ProviderRefused("model:google", MACHINE, code=code)
        for said in (reason_of(error, language), map_message(error, language, "X")):
            assert "gemini-9" not in said, code
            assert "{" not in said, code
            assert is_in(language, said), (code, said)


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("part", sorted(table("gaps", "en")))
def test_every_part_of_a_run_says_what_its_failure_costs(part: str, language: Language) -> None:
    for error in ERRORS:
        gap = gap_of("q", error, part, language)
        assert MACHINE not in gap["message"]
        assert is_in(language, gap["message"]), gap["message"]
        assert gap["code"] == error.code


def test_a_failed_search_keeps_its_code_and_names_the_key_to_correct() -> None:
    task = WebTask("王府井", "", "zh", "2026-11-21", "google:gemini-9")
    error = ProviderRefused("tavily", "HTTP 401: Unauthorized", code="search_key_invalid")
    gap = failure_gap(task, "tavily", error, text="failed")
    assert gap["code"] == "search_key_invalid"
    assert gap["message"] == "Tavily 搜索没有成功：TAVILY_API_KEY 无效，请检查密钥"


def test_amaps_own_word_stays_where_it_says_what_to_correct() -> None:
    refused = ProviderRefused(
        "amap", "maps_geo failed: INVALID_USER_IP of AMAP_MAPS_API_KEY", code="map_key_invalid"
    )
    assert map_message(refused, "zh").endswith("；高德的回复：INVALID_USER_IP")
    down = ProviderUnavailable("amap", "died twice during maps_geo", code="map_server_down")
    assert "twice" not in map_message(down, "en")


def _gap(query: str, message: str) -> Gap:
    return Gap(query=query, provider="google", code="no_results", message=message)


def test_a_reason_stands_once_with_the_queries_it_concerns() -> None:
    gaps = [_gap(query, "Bocha 没有找到相关的结果。") for query in ("甲", "乙", "甲")]
    assert gap_section(gaps, "zh").splitlines()[1:] == ["- Bocha 没有找到相关的结果（甲；乙）"]
    many = [_gap(f"q{n}", "Bocha found nothing.") for n in range(5)]
    assert gap_section(many, "en").splitlines()[1:] == [
        "- Bocha found nothing (q0; q1; q2; 5 in all)"
    ]


def test_an_address_in_a_query_stays_harmless_also_where_the_query_is_cut() -> None:
    query = "见" * 50 + " http://[::ffff:1.2.3.4]/login"
    assert "http" not in gap_section([_gap(query, "no")], "zh")


def test_a_question_that_nothing_answers_is_told_every_reason_and_what_to_do() -> None:
    gaps = [_gap("甲", "一。"), _gap("乙", "一。"), _gap("", "二")]
    assert all_failed(gaps, "zh").startswith("所有来源都没能查到：一；二。")
    assert "tanlu doctor" in all_failed(gaps, "en")


def test_where_nothing_could_be_looked_up_the_sources_say_why_not_the_models() -> None:
    down = ProviderUnavailable("model:google", MACHINE)
    source = Gap(query="甲", provider="google", code="timeout", message="Google 搜索没有成功")
    gaps = [gap_of("", down, "generate_query", "zh"), source, gap_of("", down, "reflection", "zh")]
    with pytest.raises(NothingFound, match="没能查到：Google 搜索没有成功。请"):
        refuse_if_all_failed(gaps, "zh")
    with pytest.raises(NothingFound, match=r"^没有模型能够作答：没能由模型拟定搜索词"):
        refuse_if_all_failed(gaps[:1], "zh")
