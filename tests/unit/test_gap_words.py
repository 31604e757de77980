"""What is told of a failure: in the question's language, without the words of its maker."""

import pickle
import re
from pathlib import Path

import pytest

import agent
from agent.assistants.common.gaps import (
    gap_lines,
    gap_of,
    lacking,
    reader_note,
    run_gap,
    said_first,
    taken_sources,
    with_recovered,
)
from agent.assistants.common.services import no_model
from agent.assistants.common.writer import all_failed, refuse_if_all_failed
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
from agent.evidence.grounding import says_not_found
from agent.evidence.types import Gap, Query, Source
from agent.mcp.records import map_gap, map_message
from agent.search.hits import WebTask, failure_gap, search_gap
from agent.settings import read_settings
from agent.texts import Language, problem_text, reason_of, remedy_of, say, table

LANGUAGES: tuple[Language, ...] = ("zh", "en")
REASONS = table("reasons", "en")
_OF_OTHER_ERRORS = ("store_failed", "budget_", "configuration", "web_search")
NONE_EN = say("search.no_results", "en")
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


def test_search_strings_settings_and_codes_are_not_told_to_the_reader() -> None:
    spent = Gap(
        query="杭州西湖一日游路线安排攻略 2026",
        provider="amap",
        code="budget_max_map_calls",
        message="max_map_calls 已用完",
    )
    failed = failure_gap(
        WebTask("王府井 室内亲子乐园", "", "zh", "2026-11-21", "google:gemini-9"),
        "tavily",
        ProviderRefused("tavily", MACHINE, code="search_key_invalid"),
        text="failed",
    )
    note = reader_note([spent, failed, spent], "可以去公园。", "zh")
    assert note == f"*另：地图只查了一部分；{say('missing.web', 'zh')}。*"


def test_what_was_not_found_is_told_in_its_own_words_once_and_on_one_line() -> None:
    gaps = [_gap(query, "没有查到中国儿童艺术剧院2026年的演出和票价。") for query in ("甲", "乙")]
    gaps += [_gap("丙", f"没有查到{n}。") for n in "一二三"]
    note = reader_note(gaps, "可以去公园。", "zh")
    assert note == "*另：没有查到中国儿童艺术剧院2026年的演出和票价；没有查到一。*"


@pytest.mark.parametrize(
    ("code", "zh", "en"),
    [
        ("map_place_not_found", "没有查到“甲”在哪里", "Nothing was found on where “甲” is"),
        ("map_no_results", "没有查到符合“甲”的地点", "No place was found that fits “甲”"),
        ("ungrounded", say("search.ungrounded", "zh"), say("search.ungrounded", "en")),
    ],
)
def test_what_was_not_found_is_said_without_the_map_and_the_search(
    code: str, zh: str, en: str
) -> None:
    def worded(language: Language) -> str:
        if code == "ungrounded":
            task = WebTask("q", "", language, "2026-11-21", "m")
            return search_gap(task, "google", code)["message"]
        return map_message(ProviderRefused("amap", MACHINE, code=code), language, "甲")

    assert (worded("zh"), worded("en")) == (zh, en)
    assert says_not_found(zh)
    assert says_not_found(en)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("票价没有查到，请以官网为准。", "没有查到中国儿童艺术剧院2026年的演出和票价。"),
        ("No current user count was found.", "No figure for the number of Zed users was found."),
        ("只用了三个网页：有 2 个网页没能读到全文。", "有 2 个网页没能读到全文，只用了摘要"),
    ],
)
def test_what_the_text_says_already_is_not_told_again(text: str, message: str) -> None:
    assert reader_note([_gap("q", message)], text, "zh") == ""


def test_what_the_notes_lack_is_told_where_the_report_states_it_from_memory() -> None:
    lack = lacking(["the licence of Temporal's server"], "en")
    report = (
        "Temporal bills by Actions; its server is a cluster of four services.\n\n"
        "| Temporal | MIT licence for server and SDK |\n\n"
        "The one measured comparison is no benchmark; none was found for Temporal."
    )
    assert "licence of Temporal's server" in reader_note([lack], report, "en")
    said = "The licence of Temporal's server was not found."
    assert reader_note([lack], f"{report} {said}", "en") == ""


def test_each_thing_that_the_notes_lack_is_noted_unless_the_text_tells_it() -> None:
    things = [
        "query times of the three engines on the same logs",
        "Loki's measured compression",
        "the nodes that OpenSearch needs for 2 TB a day",
        "the price of Datadog Flex compute",
    ]
    text = (
        "Query seconds of all engines on the same logs were not found. "
        "Of OpenSearch's nodes for 2 TB a day no count was found."
    )
    gap = lacking(things, "en")
    note = f"*Note: {lacking(things[1:2], 'en')['message']}.*"
    assert reader_note([gap], text, "en", marked=["Datadog Flex compute price –"]) == note
    told = f"{text} The measured compression of Loki was not found."
    assert reader_note([gap], told, "en", marked=["Datadog Flex compute price –"]) == ""
    assert all(thing in gap["message"] for thing in things), "who writes the text reads them all"


def test_the_writer_has_each_thing_that_the_notes_lack_on_a_line_of_its_own() -> None:
    things = [
        f"the price of service {number} a month, {'with all its fees' * 4}" for number in range(9)
    ]
    lines = gap_lines([lacking(things, "en")], "en").splitlines()
    assert lines == [lacking([""], "en")["message"], *(f"- {thing}" for thing in things)]


def test_a_note_lists_whole_things_alone() -> None:
    things = [f"le prix {number}: {'frais' * 30}" for number in range(9)]
    note = reader_note([lacking(things, "en")], "It costs 3 euros.", "en")
    assert note == f"*Note: {lacking(things[:3], 'en')['message']}.*"
    assert len(note) < 700


@pytest.mark.parametrize(
    ("thing", "text"),
    [
        (
            "Official us-east-1 hourly prices of OpenSearch data nodes (r7g.search) and ultrawarm1",
            "Log prices of Axiom and the official hourly prices of OpenSearch's nodes: not found.",
        ),
        (
            "PolarDB PostgreSQL 企业版计算节点内地价、标准版包年包月与三年折扣",
            "企业版节点价没有查到。",
        ),
        ("Price of an Elastic Enterprise licence", "Elastic's licence has a price not found here."),
    ],
)
def test_a_thing_that_the_text_tells_in_other_words_is_not_noted(thing: str, text: str) -> None:
    assert reader_note([lacking([thing], "en")], text, "en") == ""


def test_a_gap_of_an_older_state_is_told_in_its_own_sentence() -> None:
    old = Gap(query="", provider="deep_research", code="notes_lack", message="No page gave A or B.")
    assert reader_note([old], "C costs 3 euros.", "en") == "*Note: No page gave A or B.*"


def test_one_search_of_several_that_found_nothing_is_not_told() -> None:
    for language in LANGUAGES:
        gap = search_gap(WebTask("q", "", language, "2026-11-21", "m"), "google", "no_results")
        assert reader_note([gap], "Go to the park, on the web or not.", language) == ""


def test_what_something_else_stood_in_for_is_not_told() -> None:
    gap = Gap(query="q", provider="google", code="timeout", message="x", recovered=True)
    assert reader_note([gap], "", "zh") == ""
    assert reader_note([gap], "", "en", unfinished=True) == "*Note: the text is not complete.*"


def test_what_was_taken_for_what_was_asked_is_told_once_where_the_answer_has_records_of_it() -> (
    None
):
    message = say("map.taken", "en", place="Starbucks (Sanlitun)", name="Blue Frog (Sanlitun)")
    gap = Gap(query="q", provider="amap", code="map_taken", message=message, concerns=["a1-0"])

    def note(source: str, text: str, verdict: str | None = None) -> str:
        cited = Source(id=source, kind="place", title="T", url="u", provider="p", quotes=[])
        gaps = with_recovered([gap, gap], [], [cited], "en")
        return reader_note(gaps, text, "en", verdict=verdict)

    told = say("answer.missing", "en", text=message)
    assert note("a1-0", "It is 789 m.") == told
    assert note("a1-0", "It is 789 m.", verdict="") == told
    assert message in note("a1-0", "It is 789 m.", verdict="What lunch costs was not found.")
    assert note("a1-0", f"For {message}, it is 789 m.") == ""
    assert note("a2-0", "It is open until 22:30.") == ""


def test_a_web_without_pages_is_no_loss_where_the_map_or_other_searches_answer() -> None:
    one = Gap(query="coffee", provider="google", code="no_results", message=NONE_EN)
    own = Gap(query="weather", provider="google", code="no_results", message="Nothing on it.")
    place = Source(id="a0-0", kind="place", title="", url="", provider="amap", quotes=[])
    page = Source(**{**place, "id": "w0-0", "kind": "page"})
    queries: list[Query] = [{"query": "weather", "map": {"intent": "weather"}}]

    def recovered(gaps: list[Gap], cited: list[Source]) -> list[bool]:
        return [gap.get("recovered", False) for gap in with_recovered(gaps, queries, cited, "en")]

    assert recovered([one, own], [place]) == [True, True]
    assert recovered([one, own], [page]) == [True, False]
    assert recovered([one, own], []) == [False, False]
    no_map = Gap(query="weather", provider="amap", code="map_no_results", message="")
    assert recovered([own, no_map], [place]) == [False, False]
    unknown = Gap(query="weather", provider="osm", code="map_place_not_found", message="")
    assert recovered([unknown], [page]) == [True]
    assert recovered([unknown], [place]) == [False]
    assert recovered([unknown], [Source(**{**page, "id": "w1-0"})]) == [False]


def test_an_address_in_a_gap_stays_harmless() -> None:
    assert "http" not in reader_note([_gap("q", "见 http://[::ffff:1.2.3.4]/login")], "", "zh")


def test_a_question_that_nothing_answers_is_told_every_reason_and_what_to_do() -> None:
    gaps = [_gap("甲", "一。"), _gap("乙", "一。"), _gap("", "二")]
    assert all_failed(gaps, "zh").startswith(say("answer.all_failed", "zh", reasons="一；二"))
    assert "tanlu doctor" in all_failed(gaps, "en")


@pytest.mark.parametrize(
    ("code", "helps"),
    [
        ("unreachable", "HTTPS_PROXY"), ("model_not_running", "ollama serve"),
        ("model_key_invalid", "tanlu config set"),
        ("model_quota_day", "OPENAI_BASE_URL"), ("unavailable", "Try again later"),
    ],
)  # fmt: skip
def test_a_failed_run_says_after_an_arrow_what_helps(code: str, helps: str) -> None:
    down = ProviderUnavailable("model:google", MACHINE, code=code)
    reason, remedy = all_failed([gap_of("", down, "generate_query", "en")], "en").split(" → ")
    assert reason.startswith("every model failed: ")
    assert helps in remedy


def test_no_network_is_told_from_a_service_that_is_down() -> None:
    def worded(code: str) -> str:
        return gap_of("", ProviderUnavailable("model:google", "", code=code), "answer", "zh")[
            "message"
        ]

    assert "连不上模型服务" in worded("unreachable")
    assert say("reasons.unavailable", "zh", who="模型服务") in worded("unavailable")


def test_where_nothing_could_be_looked_up_the_sources_say_why_not_the_models() -> None:
    down = ProviderUnavailable("model:google", MACHINE)
    source = Gap(query="甲", provider="google", code="timeout", message="Google 搜索没有成功")
    gaps = [gap_of("", down, "generate_query", "zh"), source, gap_of("", down, "reflection", "zh")]
    with pytest.raises(NothingFound, match="没能查到：Google 搜索没有成功。 → 请"):
        refuse_if_all_failed(gaps, "zh")
    with pytest.raises(NothingFound, match=r"^没有模型能够作答：没有模型读这个问题"):
        refuse_if_all_failed(gaps[:1], "zh")


FAILED = Gap(query="q", provider="google", code="model_busy", message="搜索没有成功")


def test_the_reader_is_told_what_reflection_misses_instead_of_which_part_failed() -> None:
    gap = "还缺雷峰塔 2026 年的票价。"
    note = reader_note([FAILED], "可以去雷峰塔。", "zh", verdict=gap)
    assert note == "*另：还缺雷峰塔 2026 年的票价。*"
    english = "The ticket price of 2026 is missing."
    assert reader_note([], "Go there.", "en", verdict=english) == (
        "*Note: The ticket price of 2026 is missing.*"
    )
    assert "没有成功" in reader_note([FAILED], "可以去雷峰塔。", "zh", verdict=english)


@pytest.mark.parametrize(
    "text", ["雷峰塔值得去，2026 年的票价没有查到。", "缺的是雷峰塔 2026 年的票价，其余都有。"]
)
def test_what_the_text_says_is_missing_is_not_said_again_below(text: str) -> None:
    assert reader_note([FAILED], text, "zh", verdict="还缺雷峰塔 2026 年的票价。") == ""


def test_a_short_note_is_not_said_again_where_one_sentence_has_its_words() -> None:
    gap = "The forecast does not reach the weekend."
    text = "The forecast doesn't reach the weekend yet: it ends on Thursday."
    assert reader_note([], text, "en", verdict=gap) == ""
    apart = "The forecast is for four days. You may reach the lake by bus. Weekends are busy."
    assert reader_note([], apart, "en", verdict=gap) != ""


def test_what_a_short_answer_tells_part_by_part_is_not_told_again_as_missing() -> None:
    """The line repeated what the answer says of both houses, and left out the third it names."""
    gap = (
        "能坐到22:00以后的餐厅只有麦当劳，一坐一忘22:00打烊，缺少人均100元以内、营业到深夜的餐厅。"
    )
    told = (
        "能坐到十点以后、人均100元以内的餐厅只有麦当劳。\n\n"
        "- 一坐一忘：每天11:00-22:00，十点打烊\n- 鸟屯：营业17:00-01:00，人均没有查到"
    )
    assert reader_note([], told, "zh", verdict=gap) == ""
    assert reader_note([], told.replace("100元", "80元"), "zh", verdict=gap) != ""
    assert reader_note([], "麦当劳全天营业，一坐一忘22:00打烊。", "zh", verdict=gap) != ""


def test_a_failed_search_costs_the_reader_nothing_where_reflection_has_enough() -> None:
    assert reader_note([FAILED], "可以去公园。", "zh", verdict="") == ""
    assert reader_note([FAILED], "可以去公园。", "zh") != ""


@pytest.mark.parametrize(
    ("variable", "value", "zh", "en"),
    [
        ("AMAP_QPS", "0", "AMAP_QPS：必须大于 0", "AMAP_QPS must be more than 0"),
        ("MODEL_RPM", "many", "MODEL_RPM：必须是整数", "MODEL_RPM must be a whole number"),
        ("MAP_TILES", "maps", "MAP_TILES：只能是 'none'", "MAP_TILES must be 'none'"),
    ],
)
def test_a_wrong_setting_is_explained_in_both_languages(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, zh: str, en: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError) as caught:
        read_settings()
    assert problem_text(caught.value, "zh").startswith(zh)
    assert problem_text(caught.value, "en").startswith(en)
    again = pickle.loads(pickle.dumps(caught.value))
    assert problem_text(again, "zh").startswith(zh)


def test_a_server_without_a_model_names_what_it_needs_once_in_both_languages() -> None:
    assert problem_text(no_model(), "zh").count("GEMINI_API_KEY") == 1
    assert problem_text(no_model(), "en").startswith("TANLU_MODE=online: No model is configured")


def test_what_was_said_first_is_told_to_a_judge_without_what_its_writer_is_to_do() -> None:
    unmet = Gap(query="", provider="osm", code="map_unmet", message="OpenStreetMap knows no prices")
    assert gap_lines([unmet], "en", written=False) == unmet["message"]
    assert gap_lines([unmet], "en") != unmet["message"]


def test_a_wish_that_its_writer_is_to_speak_of_is_no_note_of_code_s_own() -> None:
    wished = Gap(query="", provider="osm", code="map_wished", message="not asked for “no hills”")
    assert say("missing.wished", "en", text=wished["message"]) in gap_lines([wished], "en")
    assert said_first([wished], "en") == reader_note([wished], "It is flat.", "en") == ""


def test_a_gap_of_no_query_begins_with_its_message() -> None:
    off = Gap(query="", provider="x", code="search_off", message="Web search is switched off.")
    other = Gap(query="wages", provider="x", code="no_pages", message="No source had it.")
    assert gap_lines([off, other, off], "en") == (
        "Web search is switched off\nwages: No source had it."
    )


@pytest.mark.parametrize("part", ["generate_query", "reflection", "analyze", "answer"])
def test_a_model_reads_nothing_of_how_the_run_went(part: str) -> None:
    failed = gap_of("", MalformedReply("model:openai", MACHINE, code="model_schema"), part, "en")
    slow = gap_of("", ProviderUnavailable("model:openai", MACHINE, code="timeout"), part, "en")
    weak = Gap(query="", provider="model", code="model_weak", message=say("gaps.model_weak", "en"))
    assert gap_lines([failed, slow, weak], "en") == ""


def test_a_model_reads_what_a_failed_search_means_for_the_reader_not_its_cause() -> None:
    task = WebTask("竹筏 票价", "", "zh", "2026-11-21", "google:gemini-9")
    down = ProviderRefused("tavily", MACHINE, code="search_key_invalid")
    lines = gap_lines([failure_gap(task, "tavily", down, text="failed")], "zh")
    assert lines == f"竹筏 票价: {say('missing.web', 'zh')}"


DEAD = ("map_key_invalid", "map_quota_day", "map_rate", "map_malformed", "map_no_node",
        "map_key_missing", "map_timeout", "map_install_failed", "map_failed")  # fmt: skip


@pytest.mark.parametrize("code", DEAD)
@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("verdict", ["", None, "还缺票价。", "The price is missing."])
def test_a_map_that_could_not_be_asked_is_told_once_by_its_cause(
    code: str, language: Language, verdict: str | None
) -> None:
    errors = [ProviderRefused("amap", MACHINE, code=code)] * 2
    gaps = [map_gap(error, query, language) for error, query in zip(errors, "甲乙", strict=True)]
    name = say("map.provider", language)
    cause = say(f"missing.map_causes.{code}", language, map=name)
    note = reader_note(gaps, "可以去公园。", language, verdict=verdict, mapped=False)
    assert note.count(say("missing.map_dead", language, cause=cause)) == 1
    assert MACHINE not in note
    assert reader_note(gaps, f"{note[1:-1]}", language, verdict="", mapped=False) == ""
    part = reader_note(gaps, "可以去公园。", language, verdict=verdict)
    assert part.count(say("missing.map", language)) == 1


def test_where_the_maps_model_failed_nobody_blames_the_map() -> None:
    for code in ("timeout", "unavailable", "model_key_invalid"):
        gap = map_gap(ProviderUnavailable("model:openai", MACHINE, code=code), "q", "en")
        assert (gap["provider"], gap["code"]) == ("model:openai", code)
        assert "Amap" not in gap["message"]
        assert reader_note([gap], "Go there.", "en", mapped=False) == ""
    slow = map_gap(ProviderUnavailable("amap", MACHINE, code="timeout"), "q", "en")
    assert slow["code"] == "map_timeout"
    assert "did not answer in time" in reader_note([slow], "Go there.", "en", mapped=False)


def test_who_wants_nothing_new_looked_up_is_told_of_no_limit_of_the_operator() -> None:
    assert reason_of(BudgetExceeded("max_searches", 0), "zh") == say("reasons.budget_none", "zh")
    assert "max_searches = 5" in reason_of(BudgetExceeded("max_searches", 5), "en")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_spent_search_quota_advises_other_searches_not_a_model(language: Language) -> None:
    advised = remedy_of(["search_quota"], language)
    assert "TAVILY_API_KEY" in advised
    assert "TANLU_MODEL" not in advised


def test_a_note_that_there_are_no_own_documents_is_not_why_nothing_was_found() -> None:
    none = run_gap("documents.no_documents", "en")
    reason = "the model said the same again and again"
    spoke = run_gap("team_answer.chat_model_failed", "en", provider="model", reason=reason)
    refuse_if_all_failed([none], "en")
    with pytest.raises(NothingFound) as failed:
        refuse_if_all_failed([none, spoke], "en")
    assert reason in str(failed.value)
    assert none["message"] not in str(failed.value)


def test_what_was_found_by_a_place_taken_for_another_is_known_by_its_sources() -> None:
    taken = Gap(query="", provider="amap", code="map_taken", message="…", concerns=["a1-0"])
    other = Gap(query="", provider="amap", code="map_differs", message="…", concerns=["a2-0"])
    assert taken_sources([taken, other]) == {"a1-0"}
