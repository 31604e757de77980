"""How new pages have to be and of which sites: what each service is told, and what is dropped."""

from typing import Any

import pytest

from agent.assistants.common.search import ask_providers
from agent.configuration import Configuration
from agent.core.calls import Calls
from agent.core.errors import ConfigurationError
from agent.search.hits import RULED_OUT, Endpoint, Hit, HitSearch, WebTask, make_hit, rules_text
from agent.search.rules import SearchRules, published_as, rules_of, today_here
from agent.texts import problem_text, say
from tests.contract.search_bench import Bench, bench_fixture, running_fixture
from tests.contract.web_search import WRITTEN, Build, build_fixture
from tests.support.lab import laboratory
from tests.support.meters import meter
from tests.support.rows import by_examples
from tests.support.search_scripts import GOOGLE, OTHER, ScriptedModels, grounded_reply

__all__ = ["bench_fixture", "build_fixture", "running_fixture"]

SITES = SearchRules(sites=("example.com", "b.org"), without=("c.net",))
ENDINGS = SearchRules(sites=("gov", "b.org"), without=("test",))
EXPECTED: dict[str, list[tuple[SearchRules, dict[str, Any]]]] = {
    "tavily": [
        (SearchRules(since="week"), {"time_range": "week"}),
        (SearchRules(since="2026-01-31"), {"start_date": "2026-01-31"}),
        (SITES, {"include_domains": ["example.com", "b.org"], "exclude_domains": ["c.net"]}),
        (ENDINGS, {"include_domains": ["*.gov", "b.org"], "exclude_domains": ["*.test"]}),
    ],
    "serper": [
        (SearchRules(since="month"), {"tbs": "qdr:m"}),
        (SearchRules(since="2026-01-31"), {"tbs": "cdr:1,cd_min:1/31/2026"}),
        (SITES, {"q": "故宫 (site:example.com OR site:b.org) -site:c.net"}),
        (SearchRules(without=("c.net",)), {"q": "故宫 -site:c.net"}),
        (ENDINGS, {"q": "故宫 (site:gov OR site:b.org) -site:test"}),
    ],
    "bocha": [
        (SearchRules(since="year"), {"freshness": "oneYear"}),
        (SearchRules(since="2026-01-31"), {"freshness": "2026-01-31..2099-12-31"}),
        (SITES, {"include": "example.com|b.org", "exclude": "c.net"}),
        (ENDINGS, {"include": None, "exclude": None}),
    ],
}


async def sent(bench: Bench, rules: SearchRules) -> dict[str, Any]:
    provider = bench.provider()
    assert isinstance(provider, HitSearch)
    await provider.search("故宫", meter=meter(), rules=rules)
    body: dict[str, Any] = bench.service.requests[-1].body
    return body


async def test_each_service_is_told_the_rules_in_its_own_words(bench: Bench) -> None:
    for rules, fields in EXPECTED[bench.name]:
        body = await sent(bench, rules)
        assert {name: body.get(name) for name in fields} == fields


async def test_without_rules_a_request_is_what_it_was(bench: Bench) -> None:
    names = {name for _, fields in EXPECTED[bench.name] for name in fields} - {"q", "freshness"}
    body = await sent(bench, SearchRules())
    assert names.isdisjoint(body)


async def test_what_a_service_lets_through_is_dropped(bench: Bench) -> None:
    provider = bench.provider()
    assert isinstance(provider, HitSearch)
    elsewhere = SearchRules(sites=("b.org",))
    assert await provider.search("故宫", meter=meter(), rules=elsewhere) == []
    not_here = SearchRules(without=("example.com",))
    assert await provider.search("故宫", meter=meter(), rules=not_here) == []
    fresh = SearchRules(since="2026-06-01")
    hits = await provider.search("故宫", meter=meter(), rules=fresh)
    assert all((hit.published or "")[:10] >= "2026-06-01" for hit in hits if hit.published)


class Dated(HitSearch):
    """A search that lets pages of any age through."""

    name = "tavily"
    found = ("2026-05-01", "May 1, 2026", "2026年5月1日", "2 years ago", "2026-06-02", None)

    async def fetch(self, query: str, count: int, rules: SearchRules) -> list[Hit | None]:
        return [
            make_hit(f"{n}", f"https://example.com/{n}", "x", published=day)
            for n, day in enumerate(self.found)
        ]


def dated() -> Dated:
    return Dated(None, Calls(), Endpoint("", None, 9, 9))  # type: ignore[arg-type]


async def test_a_page_whose_own_date_is_too_old_is_dropped_and_one_without_a_date_stays() -> None:
    hits = await dated().search("故宫", meter=meter(), rules=SearchRules(since="2026-06-01"))
    assert [hit.published for hit in hits] == ["2026-06-02", None]
    assert hits.older_than == "2026-06-01"
    every = await dated().search("故宫", meter=meter())
    assert len(every) == len(Dated.found)
    assert every.older_than == ""


def test_a_date_is_kept_as_iso_writes_it_and_an_age_as_exactly_as_it_was_told() -> None:
    told = {
        "2026-05-01T08:00:00+08:00": "2026-05-01T08:00:00+08:00",
        "May 1, 2026": "2026-05-01",
        "Tue, 24 Mar 2026 08:00:00 GMT": "2026-03-24",
        "2026年5月1日": "2026-05-01",
        "3 天前": "2026-11-18",
        "2 months ago": "2026-09",
        "2 years ago": "2024",
        "2026": "2026",
        "lately": "lately",
    }
    assert {words: published_as(words, "2026-11-21") for words in told} == told


async def test_a_search_dates_its_pages_by_the_asker_s_day() -> None:
    hits = await dated().search("故宫", meter=meter(), today="2026-11-21")
    assert [hit.published for hit in hits] == [
        *["2026-05-01"] * 3, "2024", "2026-06-02", None
    ]  # fmt: skip


class Late(Dated):
    """A search that finds a page of late November alone."""

    found = ("2026-11-20",)


@pytest.mark.parametrize(
    ("today", "found"), [("2026-11-21", 1), ("2026-11-22", 0), ("2020-01-01", 1)]
)
async def test_how_old_a_page_is_is_counted_back_from_the_asker_s_day(
    build: Build, today: str, found: int
) -> None:
    """Where this machine's day had begun, what the asker calls yesterday's was dropped."""
    search, _ = build(ScriptedModels([]), "tavily")
    search._hits["tavily"] = Late(None, Calls(), Endpoint("", None, 9, 9))  # type: ignore[arg-type]
    rules = SearchRules(since="day")
    provider = search.provider("tavily", model=OTHER, rules=rules, today=today)
    assert len(await provider.search("故宫", meter=meter())) == found
    task = WebTask("故宫", "w0", "zh", today, OTHER, "tavily", rules)
    assert len((await search.research(task, meter=meter())).sources) == found


@by_examples
def test_a_date_is_read_as_services_word_it(
    published: str | None, since: str, is_old: bool
) -> None:
    assert SearchRules(since=since).is_too_old(published, "2026-11-21") is is_old


async def test_the_gap_says_what_was_left_out_for_its_age(build: Build) -> None:
    search, _ = build(ScriptedModels([WRITTEN]), "tavily")
    search._hits["tavily"] = dated()
    rules = SearchRules(since="2026-06-01")
    task = WebTask("故宫", "w0", "zh", "2026-11-21", OTHER, "tavily", rules)
    result = await search.research(task, meter=meter())
    assert [gap["code"] for gap in result.gaps][-1] == "search_since"
    assert "2026-06-01 及以后" in result.gaps[-1]["message"]


async def test_a_run_s_provider_tells_assistants_the_same(build: Build) -> None:
    search, _ = build(ScriptedModels([]), "tavily")
    search._hits["tavily"] = dated()
    provider = search.provider("tavily", model=OTHER, rules=SearchRules(since="2026-06-01"))
    turn: Any = {"language": "en", "today": "2026-11-21"}
    result = await ask_providers("故宫", [provider], turn=turn, model=OTHER, meter=meter())
    assert [gap["code"] for gap in result.gaps] == ["search_since"]
    assert "since 2026-06-01" in result.gaps[0]["message"]


@pytest.mark.parametrize("since", ["2026-06-01", "day"])
async def test_the_sample_s_services_honour_the_range(bench: Bench, since: str) -> None:
    provider = bench.provider()
    assert isinstance(provider, HitSearch)
    assert await provider.search("故宫", meter=meter(), rules=SearchRules(since=since)) == []
    old = SearchRules(since="2026-04-30")
    assert await provider.search("故宫", meter=meter(), rules=old)


async def test_the_sample_s_google_honours_the_range() -> None:
    async with laboratory() as lab:
        ended = await lab.ask("钠离子电池是什么", context={"search_since": today_here()})
        assert not [s for s in ended["sources_gathered"] if s["provider"] == "google"]
    async with laboratory() as lab:
        ended = await lab.ask("钠离子电池是什么", context={"search_since": "2026-01-31"})
        assert [s for s in ended["sources_gathered"] if s["provider"] == "google"]
        gaps = [gap["code"] for gap in ended["messages"][-1].additional_kwargs["gaps"]]
        assert gaps.count("search_undated") == 1


@pytest.mark.parametrize(
    "rules", [SearchRules(sites=("b.org",)), SearchRules(since="2099-01-01", without=("a.b",))]
)
async def test_a_search_that_its_reader_s_rules_leave_nothing_says_so(
    build: Build, rules: SearchRules
) -> None:
    search, _ = build(ScriptedModels([]), "tavily")
    search._hits["tavily"] = Late(None, Calls(), Endpoint("", None, 9, 9))  # type: ignore[arg-type]
    task = WebTask("故宫", "w0", "en", "2026-11-21", OTHER, "tavily", rules)
    result = await search.research(task, meter=meter())
    assert [gap["code"] for gap in result.gaps] == [RULED_OUT]
    assert rules_text(rules, "en") in result.gaps[0]["message"]
    provider = search.provider("tavily", model=OTHER, rules=rules)
    turn: Any = {"language": "en", "today": "2026-11-21"}
    found = await ask_providers("故宫", [provider], turn=turn, model=OTHER, meter=meter())
    assert [gap["code"] for gap in found.gaps] == [RULED_OUT]


def test_rules_are_told_as_they_are_set() -> None:
    rules = rules_of(
        Configuration(search_sites="*.gov, a.org, -b.com, -*.test", search_since="week")
    )
    assert rules_text(rules, "en") == "*.gov, a.org, -b.com, -*.test, of the last week"


async def test_a_provider_for_a_run_keeps_its_rules(build: Build) -> None:
    search, services = build(ScriptedModels([WRITTEN]), "tavily")
    provider = search.provider("auto", model=OTHER, rules=SearchRules(since="day"))
    await provider.search("故宫", meter=meter())
    assert services["tavily"].requests[-1].body["time_range"] == "day"


def google_task(rules: SearchRules) -> WebTask:
    return WebTask("故宫", "w0", "zh", "2026-11-21", GOOGLE, "google", rules)


async def test_google_is_told_the_time_and_what_is_of_other_sites_is_dropped(build: Build) -> None:
    models = ScriptedModels([grounded_reply(), grounded_reply()])
    search, _ = build(models)
    first = await search.research(google_task(SearchRules(since="week")), meter=meter())
    assert first.sources
    assert models.ranges[0] == ("2026-11-14T00:00:00Z", "2026-11-21T23:59:59Z")
    dropped = await search.research(google_task(SearchRules(sites=("b.org",))), meter=meter())
    assert (dropped.text, dropped.sources) == ("", [])
    assert [gap["code"] for gap in dropped.gaps] == [RULED_OUT]
    assert "site:b.org" in str(models.asked[1][1])


async def test_where_sites_are_ruled_a_service_that_can_comes_before_google(build: Build) -> None:
    models = ScriptedModels([WRITTEN])
    search, services = build(models, "tavily")
    task = WebTask("故宫", "w0", "zh", "2026-11-21", GOOGLE, "auto", SITES)
    await search.research(task, meter=meter())
    assert services["tavily"].requests


async def test_gemini_gets_the_time_as_its_api_has_it() -> None:
    async with laboratory() as lab:
        await lab.ask("钠离子电池是什么", context={"search_since": "2026-01-31"})
        tools = [tool for request in lab.gemini.requests for tool in request.body.get("tools", [])]
        filters = [t["googleSearch"].get("timeRangeFilter") for t in tools if "googleSearch" in t]
        assert filters
        # Its API reads a field's name in either spelling.
        ranges = [{name.replace("_", "").casefold(): at for name, at in f.items()} for f in filters]
        assert all(each["starttime"].startswith("2026-01-31T00:00:00") for each in ranges)
        assert all(each["endtime"] for each in ranges)


def test_a_sites_rule_reaches_what_is_below_it_and_nothing_beside_it() -> None:
    rules = SearchRules(sites=("gov.cn",), without=("ads.gov.cn",))
    assert rules.allows("www.gov.cn")
    assert rules.allows("stats.gov.cn")
    assert not rules.allows("x.ads.gov.cn")
    assert not rules.allows("notgov.cn")


def test_an_ending_of_sites_is_all_sites_that_end_so() -> None:
    rules = rules_of(Configuration(search_sites="*.gov, *.edu.cn, -*.test"))
    assert (rules.sites, rules.without) == (("gov", "edu.cn"), ("test",))
    assert rules.allows("www.nasa.gov")
    assert rules.allows("pku.edu.cn")
    assert not rules.allows("gov.cn")
    assert not rules.allows("a.test")


def test_the_rules_are_read_from_the_settings() -> None:
    configuration = Configuration(search_since="week", search_sites="www.A.org, -b.com")
    assert rules_of(configuration) == SearchRules("week", ("a.org",), ("b.com",))
    assert not rules_of(Configuration())


def test_a_date_to_come_is_refused_in_the_reader_s_language() -> None:
    with pytest.raises(ConfigurationError, match="search_since") as refused:
        Configuration(search_since="2099-01-01")
    assert problem_text(refused.value, "zh") == "search_since：不能是将来的日期"
    assert problem_text(refused.value, "en") == f"search_since {say('faults.in_the_future', 'en')}."
    with pytest.raises(ConfigurationError, match="a day of the calendar"):
        Configuration(search_since="2026-02-30")


@by_examples
def test_a_rule_that_cannot_be_read_names_its_setting(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Configuration(**{name: value})
