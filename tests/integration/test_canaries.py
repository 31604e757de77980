"""No key appears anywhere: state, history, streams, logs, errors, output, exports, files, reprs."""

import json
import logging
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from agent.assistants.common.services import Services
from agent.configuration import MODEL_FIELDS, Configuration, configure
from agent.core.errors import AgentError, ProviderError
from agent.graph import build_graph
from agent.mcp.amap.install import find_node
from agent.runs.reply_cache import ReplyCache
from agent.runs.threads import open_saver
from agent.sample.model.reply import SampleModel
from agent.sample.services.loopback import Service
from agent.services import build_services
from agent.settings import Settings, read_settings
from tests.integration.faults import at
from tests.support import programs
from tests.support.dev_server import clean_environment
from tests.support.lab import EN, ZH
from tests.support.map_fixtures import script_fixture
from tests.support.run_fixtures import whole_folder
from tests.support.served import serving
from tests.support.standins import (
    AmapService,
    BochaService,
    GeminiService,
    OpenAIService,
    SerperService,
    TavilyService,
    gemini_error,
)

pytestmark = pytest.mark.node
__all__ = ["script_fixture"]
REPOSITORY = Path(__file__).parents[2]
REDIRECT = REPOSITORY / "src" / "agent" / "sample" / "services" / "amap_redirect.cjs"
MARK = "CANARY"
KEYS = {
    name.upper(): f"{MARK}-{name.upper().replace('_', '-')}-0123456789abcdef"
    for name, known in Settings.model_fields.items()
    if SecretStr in getattr(known.annotation, "__args__", ()) and name != "database_url"
} | {"TANLU_REDIS_URL": f"redis://:{MARK}-REDIS-0123456789abcdef@127.0.0.1:9/0"}
"""A key for every secret there is, so that a new one is tested from its first day; an address of a
database leads somewhere, so it is tested with one (test_postgres). No Redis answers at its own."""


@dataclass
class Town:
    """The stand-ins, and the environment that leads to them with real-looking keys."""

    services: dict[str, Service]
    environment: dict[str, str]
    texts: list[str] = field(default_factory=list)

    def well_again(self) -> None:
        for service in self.services.values():
            service.faults.clear()

    def saw_keys(self) -> bool:
        """Whether the stand-ins got the keys: else this proves nothing."""
        return all(
            any(MARK in str((r.headers, r.query)) for r in service.requests)
            or any(MARK in str(r.body) for r in service.requests)
            for service in self.services.values()
        )


@pytest.fixture
def town(map_server_script: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Town]:
    llm = SampleModel()
    with serving(
        GeminiService(llm), OpenAIService(llm), AmapService(), TavilyService(), SerperService(),
        BochaService(),
    ) as served:  # fmt: skip
        command = [find_node().node, "--require", str(REDIRECT), str(map_server_script)]
        environment = (
            served.environment
            | KEYS
            | {
                "AMAP_TEST_BASE_URL": served.urls["amap"],
                "AMAP_MCP_COMMAND": json.dumps(command),
                "AMAP_MCP_ENV": "AMAP_TEST_BASE_URL",
                "AMAP_QPS": "500",
            }
        )
        for name, value in environment.items():
            monkeypatch.setenv(name, value)
        yield Town(served.services, environment)


@asynccontextmanager
async def open_town(town: Town, folder: Path) -> AsyncIterator["Asking"]:
    reply_cache = ReplyCache(folder)
    services = build_services(read_settings(), reply_cache=reply_cache)
    async with open_saver(folder) as saver:
        graph = build_graph(lambda: services).compile(checkpointer=saver)
        try:
            yield Asking(town, services, graph)
        finally:
            await services.aclose()
            await reply_cache.aclose()


@dataclass
class Asking:
    """Questions whose every visible trace is kept."""

    town: Town
    services: Services
    graph: Any
    count: int = 0

    async def __call__(self, question: str, **context: Any) -> None:
        self.count += 1
        config = {"configurable": {"thread_id": f"t{self.count}"}}
        modes = ["custom", "messages", "updates", "values", "debug"]
        try:
            async for part in self.graph.astream(
                {"messages": question}, config, context=configure(context), stream_mode=modes
            ):
                self.town.texts.append(repr(part))
        except AgentError as error:
            self.town.texts += [str(error), repr(error), repr(error.__cause__), repr(error.args)]
        async for state in self.graph.aget_state_history(config):
            self.town.texts.append(repr(state))


def echoes(kind: str, status: int) -> dict[str, Any]:
    """An error body that repeats the key it was sent, as services like to do."""
    said = f"API key {KEYS[f'{kind}_API_KEY']} not valid: ?key={KEYS[f'{kind}_API_KEY']}&v=1"
    body = gemini_error(status, message=said)
    return {"status": status, "body": body | {"message": said, "detail": {"error": said}}}


async def every_failure(ask: Asking) -> None:
    """Forces each class of error once."""
    services = ask.town.services
    await ask(ZH)
    for status in (400, 401, 403, 404, 429, 500):
        services["gemini"].fail("status", times=None, **echoes("GEMINI", status))
        services["openai"].fail("status", times=None, **echoes("OPENAI", status))
        for name in ("bocha", "tavily", "serper"):
            services[name].fail("status", times=None, **echoes(name.upper(), status))
        await ask(ZH, max_run_seconds=4)
        await ask(EN, max_run_seconds=4, **dict.fromkeys(MODEL_FIELDS, "openai:gpt"))
        ask.town.well_again()
    for name in ("bocha", "tavily", "serper"):
        await ask(EN, web_search=name, max_research_loops=1)
    services["amap"].fail("drop", times=None)
    await ask(ZH)
    ask.town.well_again()
    services["gemini"].fail("status", match=at("answer"), times=None, **echoes("GEMINI", 400))
    services["amap"].fail("garbage", times=None)
    await ask("杭州西湖附近的咖啡馆")
    ask.town.well_again()


async def test_no_key_is_in_any_trace_of_any_failure(
    town: Town, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    folder = tmp_path / "threads"
    async with open_town(town, folder) as ask:
        await every_failure(ask)
        used = ask.services
        held = [used, used.settings, used.models, used.web, used.maps, used.maps.clients[0].session]
        town.texts += [f"{thing!r} {thing}" for thing in (*held, used.calls, ask.graph)]
        vendors = vars(used.models)["_vendors"].values()
        town.texts += [repr(vars(vendor)) for vendor in vendors]
        town.texts.append(str(await ask.services.maps.clients[0].health()))
    assert town.saw_keys()
    found = [text[max(0, at_ - 300) : at_ + 60] for text in (*town.texts, caplog.text)
             if (at_ := text.find(MARK)) >= 0]  # fmt: skip
    assert not found
    stored = whole_folder(folder)
    assert len(stored) > 50_000
    assert MARK.encode() not in stored


async def test_an_address_that_cannot_be_one_is_told_without_the_key_in_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("GOOGLE_GEMINI_BASE_URL", "http://127.0.0.1:9")
    for service in ("TAVILY", "BOCHA", "SERPER"):
        for url in (f"http://[{KEYS['TAVILY_API_KEY']}", f"ftp://h/?key={KEYS['TAVILY_API_KEY']}"):
            monkeypatch.setenv(f"{service}_BASE_URL", url)
            services = build_services(read_settings())
            try:
                graph = build_graph(lambda: services).compile()  # noqa: B023
                context = configure({"web_search": service.lower(), "geo_routing": "never"})
                with pytest.raises(AgentError) as caught:
                    await graph.ainvoke({"messages": EN}, context=context)  # type: ignore[arg-type]
                assert MARK not in f"{caught.value} {caught.value!r} {caught.value.__context__!r}"
            finally:
                await services.aclose()


@pytest.mark.parametrize(
    "name", ["AMAP_QPS", "MODEL_RPM", "AMAP_MCP_COMMAND", "OPENAI_EXTRA_BODY", "TANLU_MODE"]
)
def test_a_key_in_the_wrong_variable_is_not_repeated(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, KEYS["GEMINI_API_KEY"])
    with pytest.raises(AgentError) as caught:
        read_settings()
    assert name in str(caught.value)
    assert MARK not in f"{caught.value} {caught.value!r} {caught.value.__cause__!r}"


def test_a_key_in_a_field_of_the_run_is_not_repeated() -> None:
    Settings(gemini_api_key=SecretStr(KEYS["GEMINI_API_KEY"]))
    told = ""
    for name in Configuration.model_fields:
        try:
            configure({name: KEYS["GEMINI_API_KEY"]})
        except AgentError as error:
            told += str(error)
    assert told
    assert MARK not in told
    assert MARK not in str(ProviderError("x", f"said {KEYS['GEMINI_API_KEY']}"))


@pytest.mark.parametrize("broken", [False, True])
def test_the_command_line_writes_no_key_anywhere(town: Town, tmp_path: Path, broken: bool) -> None:
    if broken:
        town.services["gemini"].fail(
            "status", match=at("web_research"), times=None, **echoes("GEMINI", 403)
        )
        town.services["bocha"].fail("status", times=None, **echoes("BOCHA", 401))
        town.services["amap"].fail("drop", times=None)
    files = {f"--{k}": str(tmp_path / f"out.{k}") for k in ("html", "geojson", "log-file")}
    options = [word for pair in files.items() for word in pair]
    done = programs.run(
        ["-m", "agent", "ask", ZH, "--json", *options],
        folder=tmp_path,
        env=clean_environment(
            TANLU_DATA_DIR=str(tmp_path / "data"), TANLU_LOG_LEVEL="DEBUG", **town.environment
        ),
    )
    assert (MARK in done.stdout, MARK in done.stderr) == (False, False)
    if not broken:
        assert done.returncode == 0, done.stderr
        assert sorted(p.name for p in tmp_path.glob("out.*")) == [
            "out.geojson", "out.html", "out.log-file",
        ]  # fmt: skip
    assert Path(files["--log-file"]).stat().st_size > 0
    assert MARK.encode() not in whole_folder(tmp_path)
    assert os.environ["GEMINI_API_KEY"].startswith(MARK)
