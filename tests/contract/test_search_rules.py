"""How new pages have to be and of which sites: what each service is told, and what is dropped."""

from typing import Any

import pytest

from agent.configuration import Configuration
from agent.core.errors import ConfigurationError
from agent.search.hits import HitSearch, SearchRules, WebTask, rules_of
from tests.support.lab import laboratory
from tests.support.search_bench import Bench, bench_fixture, running_fixture
from tests.support.search_scripts import GOOGLE, OTHER, ScriptedModels, grounded_reply, meter
from tests.support.web_search import WRITTEN, Build, build_fixture

__all__ = ["bench_fixture", "build_fixture", "running_fixture"]

SITES = SearchRules(sites=("example.com", "b.org"), without=("c.net",))
EXPECTED: dict[str, list[tuple[SearchRules, dict[str, Any]]]] = {
    "tavily": [
        (SearchRules(since="week"), {"time_range": "week"}),
        (SearchRules(since="2026-01-31"), {"start_date": "2026-01-31"}),
        (SITES, {"include_domains": ["example.com", "b.org"], "exclude_domains": ["c.net"]}),
    ],
    "serper": [
        (SearchRules(since="month"), {"tbs": "qdr:m"}),
        (SearchRules(since="2026-01-31"), {"tbs": "cdr:1,cd_min:1/31/2026"}),
        (SITES, {"q": "故宫 (site:example.com OR site:b.org) -site:c.net"}),
        (SearchRules(without=("c.net",)), {"q": "故宫 -site:c.net"}),
    ],
    "bocha": [
        (SearchRules(since="year"), {"freshness": "oneYear"}),
        (SearchRules(since="2026-01-31"), {"freshness": "2026-01-31..2099-12-31"}),
        (SITES, {"include": "example.com|b.org", "exclude": "c.net"}),
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
    assert [gap["code"] for gap in dropped.gaps] == ["search_sites"]
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


def test_the_rules_are_read_from_the_settings() -> None:
    configuration = Configuration(search_since="week", search_sites="www.A.org, -b.com")
    assert rules_of(configuration) == SearchRules("week", ("a.org",), ("b.com",))
    assert not rules_of(Configuration())


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("search_since", "yesterday"),
        ("search_since", "2026-1-1"),
        ("search_sites", "not a site"),
        ("search_sites", "a.org;b.org"),
    ],
)
def test_a_rule_that_cannot_be_read_names_its_setting(name: str, value: str) -> None:
    with pytest.raises(ConfigurationError, match=name):
        Configuration(**{name: value})
