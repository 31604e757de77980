"""Real keys change the endpoints and nothing else; without Google the whole assistant works too."""

import json
import re
import subprocess
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from agent.core.errors import ProviderError
from agent.mcp.amap.install import find_node, installed_server
from agent.sample.model.reply import SampleModel
from agent.sample.services.loopback import Service
from tests.support import programs
from tests.support.lab import EN, ZH, Lab, answer_of, laboratory, tasks, told
from tests.support.programs import REPOSITORY, clean_environment
from tests.support.served import Served, serving
from tests.support.standins import (
    AmapService,
    BochaService,
    GeminiService,
    OpenAIService,
    Rules,
    TavilyService,
    gemini_error,
)

REDIRECT = REPOSITORY / "src" / "agent" / "sample" / "services" / "amap_redirect.cjs"
KEY, MODEL = "profile-canary-0123456789abcdef", "standin-chat"
SEARCHES: Callable[..., bool] = lambda request, body: "google_search" in _snake(body)  # noqa: E731

DIFFERENT = {
    r"\\*\[(?:示例|Sample)\\*\] ": "",
    r"https://uri\.amap\.com/marker\?[^)\"]+": "MARKER",
    # A notice and longer links move what was judged.
    r"\"(start|end)\": \d+": r'"\1": 0',
    r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d[^\"*]*": "TIME",
}


def _snake(body: Any) -> str:
    return str(body).replace("googleSearch", "google_search")


def map_environment(standins: Served, script: Path) -> dict[str, str]:
    """The real map server, started by the operator's own command."""
    command = [find_node().node, "--require", str(REDIRECT), str(script)]
    return {
        "AMAP_MAPS_API_KEY": KEY,
        "AMAP_MCP_COMMAND": json.dumps(command),
        "AMAP_MCP_ENV": "AMAP_TEST_BASE_URL",
        "AMAP_TEST_BASE_URL": standins.urls["amap"],
    }


def asked(question: str, folder: Path, **environment: str) -> dict[str, Any]:
    """What `tanlu ask --json` prints in this environment."""
    done = programs.run(
        ["-m", "agent", "ask", question, "--json"],
        folder=folder,
        env=clean_environment(TANLU_DATA_DIR=str(folder / "data"), **environment),
    )
    assert done.returncode == 0, done.stderr
    printed: dict[str, Any] = json.loads(done.stdout)
    return printed


def comparable(printed: dict[str, Any]) -> dict[str, Any]:
    """A run without what must differ: times, ids of the run, cost, and what marks a sample.

    The sample's places do not exist under Amap's ids, so their links lead to a position.
    """
    # Titles say that they are of the sample, and writer and judge read them.
    differ = ("seconds", "cost_usd", "input_tokens")
    usage = {k: v for k, v in printed["usage"].items() if k not in differ}
    dropped = dict.fromkeys(("mode", "thread_id", "run_id", "own_text"))
    answer = re.sub(r"\A> .*\n\n", "", printed["answer"])
    text = json.dumps({**printed, **dropped, "answer": answer, "usage": usage}, ensure_ascii=False)
    for pattern, same in DIFFERENT.items():
        text = re.sub(pattern, same, text)
    kept: dict[str, Any] = json.loads(text)
    return kept


@pytest.fixture(scope="module")
def script() -> Path:
    """The pinned server, installed once; without it there is no map to test."""
    try:
        return installed_server(find_node())
    except ProviderError as error:
        pytest.skip(f"no map server: {error}")


@pytest.fixture(scope="module")
def standins() -> Iterator[Served]:
    with serving(GeminiService(SampleModel(), key=KEY), AmapService(key=KEY)) as running:
        yield running


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.parametrize("question", [ZH, EN])
def test_with_real_keys_nothing_differs_but_the_endpoints(
    question: str, standins: Served, script: Path, tmp_path: Path
) -> None:
    online = asked(
        question,
        tmp_path,
        **standins.environment,
        **map_environment(standins, script),
    )
    offline = asked(question, tmp_path)
    assert (online["mode"], offline["mode"]) == ("online", "offline")
    assert offline["answer"].startswith("> ")
    assert not online["answer"].startswith("> ")
    assert offline["usage"]["cost_usd"] == 0
    assert online["usage"]["cost_usd"] > 0
    assert comparable(online) == comparable(offline)
    assert online["sources"]
    assert bool(online["places"]) is (question == ZH)
    assert standins.requests("gemini")


CHINA = {
    "DeepSeek": Rules(no_json_schema=True, no_forced_tool=True, reasoning_back=True),
    "DashScope": Rules(no_json_schema=True, no_forced_tool=True),
    "one that knows no JSON mode": Rules(
        no_json_schema=True, no_json_object=True, no_forced_tool=True
    ),
}


@asynccontextmanager
async def china(
    standins: Served, script: Path, environment: pytest.MonkeyPatch
) -> AsyncIterator[Lab]:
    """The assistant as configured where Google cannot be reached."""
    values = {
        "TANLU_MODEL": f"openai:{MODEL}",
        **standins.environment,
        **map_environment(standins, script),
    }
    for name, value in values.items():
        environment.setenv(name, value)
    environment.delenv("GEMINI_API_KEY")
    async with laboratory() as lab:
        yield lab


@pytest.mark.node
@pytest.mark.slow
@pytest.mark.parametrize("name", CHINA)
async def test_without_google_the_whole_question_works(
    name: str, script: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("langchain_openai")
    llm = SampleModel()
    with serving(
        GeminiService(llm, key=KEY), AmapService(key=KEY), BochaService(key=KEY),
        OpenAIService(llm, key=KEY, models=(MODEL,), rules=CHINA[name]),
    ) as standins:  # fmt: skip
        async with china(standins, script, monkeypatch) as lab:
            state = await lab.ask(ZH)
            follow_up = await lab.ask("那附近有停车场吗", context={"map_details": 0})
        assert standins.requests("gemini") == []
        assert standins.requests("bocha")
        done = set(tasks(standins.requests("openai")))
        results = [m for r in standins.requests("openai") for m in _messages(r.body, "tool")]
    kept = told(state)
    assert kept["mode"] == "online"
    assert kept["gaps"] == []
    assert not kept["degraded"]
    assert {s["provider"] for s in kept["sources"] if s["kind"] == "page"} == {"bocha"}
    assert {s["kind"] for s in kept["sources"]} == {"page", "place"}
    assert [place for place in kept["places"] if place["mentioned"]]
    assert {"generate_query", "amap_research", "answer"} <= done
    assert results, "no tool of the map was called by the model"
    assert told(follow_up)["needs"] is None
    assert told(follow_up)["places"]
    assert KEY not in str(state)


def _messages(body: Any, role: str) -> list[Any]:
    given = body.get("messages", []) if isinstance(body, dict) else []
    return [message for message in given if message["role"] == role]


REFUSALS = {
    "the key may not search": (403, gemini_error(403, message="Search is not enabled.")),
    "the quota is spent": (
        429,
        gemini_error(429, quota_id="GenerateRequestsPerDayPerProjectPerModel-FreeTier"),
    ),
    "the region": (
        400,
        gemini_error(400, message="User location is not supported.", word="FAILED_PRECONDITION"),
    ),
}


@asynccontextmanager
async def refused_google(case: str, *others: Service) -> AsyncIterator[tuple[Lab, GeminiService]]:
    """Gemini answers, but does not search; `others` are the configured search services."""
    gemini = GeminiService(SampleModel(), key=KEY)
    status, body = REFUSALS[case]
    gemini.fail("status", match=SEARCHES, times=None, status=status, body=body)
    with serving(gemini, *others) as served:
        async with laboratory(**served.settings) as lab:
            yield lab, gemini


@pytest.mark.parametrize("case", REFUSALS)
async def test_a_refused_google_search_falls_to_the_next_service_once_and_says_so(
    case: str,
) -> None:
    bocha, tavily = BochaService(key=KEY), TavilyService(key=KEY)
    async with refused_google(case, bocha, tavily) as (lab, _):
        state = await lab.ask(EN, context={"max_research_loops": 1, "geo_routing": "never"})
    kept = told(state)
    assert {source["provider"] for source in kept["sources"]} == {"bocha"}
    assert len(bocha.requests) == len(state["search_query"])
    assert tavily.requests == []
    assert [gap["provider"] for gap in kept["gaps"]] == ["google"] * len(state["search_query"])
    # Another service stood in: the reader misses nothing, the log and the state say so.
    assert {"Bocha" in gap["message"] for gap in kept["gaps"]} == {True}
    assert "Bocha was used" not in str(answer_of(state).text)
    assert not kept["degraded"]
    assert KEY not in str(state)


async def test_where_the_next_service_fails_too_no_third_one_is_asked() -> None:
    bocha, tavily = BochaService(key=KEY), TavilyService(key=KEY)
    bocha.spend_money()
    async with refused_google("the region", bocha, tavily) as (lab, _):
        with pytest.raises(RuntimeError, match="every source failed") as caught:
            await lab.ask(EN, context={"max_research_loops": 1, "geo_routing": "never"})
    assert tavily.requests == []
    assert len(str(caught.value).split(" → ")) == 2, "why, and what helps"
    assert KEY not in str(caught.value)


async def test_offline_whatever_model_is_configured_is_the_samples(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_MODEL", "openai:some-chat")
    where: dict[str, Any] = {"openai_api_key": KEY, "openai_base_url": "https://models.invalid/v1"}
    async with laboratory(tanlu_mode="offline", **where) as lab:
        state = await lab.ask(EN, context={"geo_routing": "never"})
        assert tasks(lab.gemini.requests)
        assert lab.services.sample
        asked = [lab.standin(name).requests for name in lab.services.sample.services]
        assert KEY not in str(asked)
    assert told(state)["gaps"] == []
    assert not told(state)["degraded"]


def checked(*command: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """`python test_mcp_integration.py` in this environment."""
    told = clean_environment(**environment, PYTHONIOENCODING="utf-8")
    return programs.run(command, folder=REPOSITORY, env=told)


@pytest.mark.node
@pytest.mark.slow
def test_with_a_key_the_four_checks_ask_amap_itself_and_skip_nothing(
    standins: Served, script: Path, tmp_path: Path
) -> None:
    before = len(standins.requests("amap"))
    environment = map_environment(standins, script)
    done = checked("test_mcp_integration.py", TANLU_DATA_DIR=str(tmp_path), **environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("map: Amap\n")
    assert done.stdout.count("\nok ") == 4
    assert len(standins.requests("amap")) == before + 2


@pytest.mark.node
@pytest.mark.slow
def test_a_key_that_amap_refuses_fails_the_check_that_needs_it_and_is_not_shown(
    standins: Served, script: Path, tmp_path: Path
) -> None:
    environment = {**map_environment(standins, script), "AMAP_MAPS_API_KEY": f"not-{KEY}"}
    done = checked("-m", "test_mcp_integration", TANLU_DATA_DIR=str(tmp_path), **environment)
    assert done.returncode == 1
    assert "FAIL  4 tool use" in done.stdout
    assert done.stdout.count("\nok ") == 3
    assert KEY not in done.stdout + done.stderr
