"""Which service a search goes to, and what is said where there is none."""

import pytest

from agent.core.errors import ConfigurationError, ProviderRefused
from agent.sample.services.search import KEY
from tests.contract.web_search import REFUSALS, WRITTEN, Build, build_fixture
from tests.support.meters import meter
from tests.support.search_scripts import GOOGLE, OTHER, ScriptedModels, grounded_reply, task

__all__ = ["build_fixture"]


async def test_auto_searches_with_google_where_the_model_is_googles(build: Build) -> None:
    models = ScriptedModels(
        [grounded_reply("故宫周一闭馆。", "https://a.cn/", "故宫 周一", "闭馆")]
    )
    search, services = build(models, "bocha")
    account = meter()
    found = await search.research(task(model=GOOGLE), meter=account)
    assert found.text == "故宫周一闭馆。[^w0-0]"
    assert found.executed == ["故宫 周一", "闭馆"]
    assert found.search_entry_points == ["<div>suggestions</div>"]
    assert (found.sources[0]["provider"], found.sources[0]["url"]) == ("google", "https://a.cn/")
    assert account.usage["searches"] == 2
    assert account.usage["cost_usd"] == pytest.approx(0.028)
    assert models.asked[0][2]
    assert not found.gaps
    assert not services["bocha"].requests


@pytest.mark.parametrize(
    ("names", "first"),
    [
        (("serper", "tavily", "bocha"), "bocha"),
        (("serper", "tavily"), "tavily"),
        (("serper",), "serper"),
    ],
)
async def test_auto_takes_the_first_configured_service_for_other_models(
    build: Build, names: tuple[str, ...], first: str
) -> None:
    models = ScriptedModels([WRITTEN])
    search, services = build(models, *names)
    found = await search.research(task(), meter=meter())
    assert {source["provider"] for source in found.sources} == {first}
    assert [name for name, service in services.items() if service.requests] == [first]
    assert found.executed == ["故宫门票"]


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: error.code)
async def test_a_refused_google_search_falls_to_the_next_service_once_with_a_gap(
    build: Build, error: Exception
) -> None:
    models = ScriptedModels([error, WRITTEN])
    search, services = build(models, "tavily", "serper")
    account = meter()
    found = await search.research(task(model=GOOGLE), meter=account)
    assert found.sources[0]["provider"] == "tavily"
    [gap] = found.gaps
    assert gap["provider"] == "google"
    assert gap["code"] == getattr(error, "code", None)
    assert "Tavily" in gap["message"]
    assert account.usage["searches"] == 1
    assert not services["serper"].requests


async def test_a_failed_fallback_is_not_followed_by_another(build: Build) -> None:
    models = ScriptedModels([REFUSALS[0]])
    search, services = build(models, "bocha", "tavily")
    services["bocha"].fail("status", status=401, times=None)
    found = await search.research(task(model=GOOGLE, language="en"), meter=meter())
    assert (found.text, found.sources) == ("", [])
    assert [gap["provider"] for gap in found.gaps] == ["google", "bocha"]
    assert not services["tavily"].requests


async def test_without_another_service_a_refused_google_search_is_a_gap(build: Build) -> None:
    search, _ = build(ScriptedModels([REFUSALS[0]]))
    found = await search.research(task(model=GOOGLE), meter=meter())
    assert [gap["code"] for gap in found.gaps] == ["model_forbidden"]


async def test_a_chosen_service_is_used_whatever_the_model(build: Build) -> None:
    models = ScriptedModels([WRITTEN])
    search, services = build(models, "bocha", "serper")
    await search.research(task(model=GOOGLE, choice="serper"), meter=meter())
    assert services["serper"].requests
    assert not services["bocha"].requests
    assert not models.asked


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("name", ["tavily", "serper", "bocha"])
async def test_a_chosen_service_without_a_key_names_its_variable(
    build: Build, name: str, language: str
) -> None:
    search, _ = build(ScriptedModels())
    found = await search.research(task(choice=name, language=language), meter=meter())
    assert found.gaps[0]["code"] == "search_key_missing"
    assert f"{name.upper()}_API_KEY" in found.gaps[0]["message"]


async def test_with_nothing_configured_the_gap_names_what_to_set(build: Build) -> None:
    search, _ = build(ScriptedModels())
    found = await search.research(task(), meter=meter())
    [gap] = found.gaps
    assert gap["code"] == "search_not_configured"
    for variable in ("GEMINI_API_KEY", "BOCHA_API_KEY", "TAVILY_API_KEY", "SERPER_API_KEY"):
        assert variable in gap["message"]


async def test_google_by_choice_needs_a_model_of_googles(build: Build) -> None:
    search, services = build(ScriptedModels([WRITTEN]), "bocha")
    found = await search.research(task(choice="google"), meter=meter())
    assert found.gaps[0]["code"] == "search_not_configured"
    assert OTHER in found.gaps[0]["message"]
    assert not services["bocha"].requests


async def test_off_searches_nothing(build: Build) -> None:
    models = ScriptedModels([grounded_reply()])
    search, services = build(models, "bocha")
    found = await search.research(task(model=GOOGLE, choice="off"), meter=meter())
    assert (found.text, [gap["code"] for gap in found.gaps]) == ("", ["search_off"])
    assert not models.asked
    assert not services["bocha"].requests


async def test_providers_are_chosen_like_searches(build: Build) -> None:
    search, _ = build(ScriptedModels([grounded_reply()]), "serper")
    assert search.provider(model=OTHER).name == "serper"
    assert search.provider("serper", model=GOOGLE).name == "serper"
    with pytest.raises(ConfigurationError, match="TAVILY_API_KEY"):
        search.provider("tavily", model=GOOGLE)
    with pytest.raises(ConfigurationError, match="off"):
        search.provider("off", model=GOOGLE)


async def test_health_probes_what_is_configured_and_only_that(build: Build) -> None:
    models = ScriptedModels([ProviderRefused("model:google", "no search on free keys")])
    search, services = build(models, "bocha", "serper")
    services["serper"].fail("status", status=403, body={"message": "Unauthorized."}, times=None)
    report = {row["provider"]: row for row in await search.health(GOOGLE)}
    assert (report["bocha"]["configured"], report["bocha"]["works"]) == (True, True)
    assert (report["serper"]["configured"], report["serper"]["works"]) == (True, False)
    assert (report["tavily"]["configured"], report["tavily"]["works"]) == (False, None)
    assert "TAVILY_API_KEY" in report["tavily"]["message"]
    assert "free keys" in report["google"]["message"]
    assert KEY not in str(report)
    assert "google" not in {row["provider"] for row in await search.health(OTHER)}
