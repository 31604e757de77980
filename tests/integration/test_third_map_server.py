"""Another map server is an entry and a reader: the session, gateway and tools stay the same."""

import json
import sys
from collections.abc import AsyncIterator, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import ToolCall, ToolMessage
from mcp.server.lowlevel import Server
from mcp.types import TextContent, Tool
from pydantic import SecretStr

from agent.core.budget import Meter
from agent.core.calls import Calls
from agent.core.errors import ProviderError, ProviderRefused, ProviderUnavailable
from agent.evidence.types import Location
from agent.mcp.amap.tools import CATALOGUE as AMAP_TOOLS
from agent.mcp.map import MapClient, build_map_client
from agent.mcp.map_server import (
    Catalogue,
    MapServer,
    ServerAddress,
    ServerCommand,
    behind_preface,
)
from agent.mcp.new_records import new_place
from agent.mcp.records import (
    MapOptions,
    MapRecords,
    MapResult,
    Presentation,
    map_message,
    place_line,
)
from agent.mcp.reply_text import fitting_lines
from agent.mcp.servers import amap_server
from agent.settings import Settings
from agent.texts import Language, table
from tests.integration.hut_server import PROVIDER, TOOLS
from tests.integration.hut_service import hut_address, mcp_address
from tests.support.map_fixtures import meter

SCRIPT = Path(__file__).with_name("hut_server.py")
OPTIONS = MapOptions(prefix="a0", language="en")


class HutReader:
    """Read the records of huts."""

    def __init__(self, records: MapRecords) -> None:
        self._records = records

    def read(self, tool: str, arguments: Mapping[str, Any], reply: dict[str, Any]) -> str:
        huts = reply["huts"] if tool == "find_huts" else [reply["hut"]]
        places = [self._records.add_place(self._place(hut), ["hut"]) for hut in huts]
        return fitting_lines([place_line(place, "en") for place in places if place], "en")

    def _place(self, hut: dict[str, Any]) -> Any:
        lat, lng = hut["at"]
        return new_place(
            id=f"{PROVIDER}:{hut['code']}",
            name=hut["title"],
            location=Location(lng=lng, lat=lat, crs="WGS-84"),
            url=f"https://huts.example/{hut['code']}",
            category=f"{hut['beds']} beds",
        )


def hut_error(tool: str, text: str) -> ProviderError:
    code = "map_place_not_found" if "E404-HUT" in text else "map_failed"
    return ProviderRefused(PROVIDER, f"{tool}: {text}", code=code)


def hut_server(kind: str = "usual") -> MapServer:
    return MapServer(
        presentation=Presentation(
            provider=PROVIDER,
            names={"zh": "山屋", "en": "Alpine Huts"},
        ),
        command=lambda: ServerCommand(sys.executable, (str(SCRIPT), kind), {}),
        catalogue=Catalogue(TOOLS),
        reader=HutReader,
        read_object=behind_preface,
        read_error=hut_error,
        qps=1000,
    )


@asynccontextmanager
async def entry_map(entry: MapServer) -> AsyncIterator[MapClient]:
    built = build_map_client(Settings(), Calls(), server=entry)
    try:
        yield built
    finally:
        await built.aclose()


def hut_map(kind: str = "usual") -> AbstractAsyncContextManager[MapClient]:
    return entry_map(hut_server(kind))


async def call(
    maps: MapClient, result: MapResult, name: str, account: Meter | None = None, **arguments: str
) -> ToolMessage:
    """Make a model's call."""
    tools = await maps.tools(
        result, "huts?", options=OPTIONS, meter=account or meter(), on_call=lambda line: None
    )
    return await tools.call(ToolCall(name=name, args=arguments, id="c", type="tool_call"))


async def test_its_records_come_out_as_places_of_its_own_name() -> None:
    result = MapResult(intent="nearby")
    async with hut_map() as maps:
        message = await call(maps, result, "find_huts", valley="Lauterbrunnen")
        await call(maps, result, "hut_record", code="h7")
    assert [place["id"] for place in result.places] == ["huts:h7", "huts:h9"]
    assert result.places[0]["wgs84"] == {"lng": 8.0, "lat": 46.55}
    assert [(s["id"], s["title"], s["provider"]) for s in result.sources] == [
        ("a0-0", "Upper Hut", "Alpine Huts"),
        ("a0-1", "Lower Hut", "Alpine Huts"),
    ]
    assert str(message.content).splitlines()[0] == "[^a0-0] Upper Hut | 40 beds"


async def test_a_model_is_offered_its_tools_whatever_the_intent() -> None:
    async with hut_map() as maps:
        tools = await maps.tools(
            MapResult(intent="weather"),
            "q",
            options=OPTIONS,
            meter=meter(),
            on_call=lambda line: None,
        )
        health = await maps.health()
    assert {tool.name for tool in tools.tools} == {"find_huts", "hut_record"}
    assert (health["provider"], health["works"], health["tools"]) == (PROVIDER, True, 2)


async def test_without_a_plan_nothing_is_fetched_before_the_model() -> None:
    async with hut_map() as maps:
        result = await maps.map_result(
            {"intent": "nearby", "place": "Mürren"}, "q",
            options=OPTIONS, meter=meter(), on_call=lambda line: None,
        )  # fmt: skip
        assert maps.session.pid is None
    assert (result.gaps, result.complete, result.open_for_tools) == ([], False, True)


async def test_its_own_error_is_read_and_names_it() -> None:
    async with hut_map() as maps:
        with pytest.raises(ProviderRefused) as caught:
            await maps._gateway.call("hut_record", {"code": "h8"}, meter=meter())
        message = await call(maps, MapResult(), "hut_record", code="h8")
    assert (caught.value.provider, caught.value.code) == (PROVIDER, "map_place_not_found")
    assert "E404-HUT h8" in str(caught.value)
    assert message.status == "error"


async def test_wrong_arguments_are_refused_in_its_name() -> None:
    async with hut_map() as maps:
        for tool, named in (("hut_record", "code"), ("maps_geo", "no tool maps_geo")):
            with pytest.raises(ProviderRefused, match=named) as caught:
                await maps._gateway.call(tool, {"address": "x"}, meter=meter())
            assert (caught.value.provider, caught.value.code) == (PROVIDER, "map_bad_request")


async def test_an_extra_tool_is_offered_to_nobody() -> None:
    async with hut_map("extra") as maps:
        message = await call(maps, MapResult(), "burn_hut")
    assert message.status == "error"
    assert "there are: find_huts, hut_record" in str(message.content)


@pytest.mark.parametrize("kind", ["preface", "structured"])
async def test_its_objects_are_read_wherever_they_stand(kind: str) -> None:
    result = MapResult(intent="nearby")
    async with hut_map(kind) as maps:
        await call(maps, result, "find_huts", valley="Lauterbrunnen")
    assert [place["id"] for place in result.places] == ["huts:h7", "huts:h9"]


async def test_it_may_be_reached_by_http_with_headers_of_its_own() -> None:
    result, asked = MapResult(intent="nearby"), list[str]()
    with hut_address("key-of-huts", asked) as url:
        address = ServerAddress(url, {"X-Key": "key-of-huts"})
        entry = replace(hut_server(), command=lambda: address)
        async with entry_map(entry) as maps:
            await call(maps, result, "find_huts", valley="Lauterbrunnen")
            health = await maps.health()
            assert maps.session.running
    assert [place["name"] for place in result.places] == ["Upper Hut", "Lower Hut"]
    assert health["works"]
    assert "key-of-huts" not in repr(address)
    assert {"POST"} <= set(asked)


async def test_a_refused_key_of_a_server_reached_by_http_is_told() -> None:
    with hut_address("another", []) as url:
        entry = replace(hut_server(), command=lambda: ServerAddress(url, {"X-Key": "wrong"}))
        async with entry_map(entry) as maps:
            with pytest.raises(ProviderRefused) as caught:
                await maps.session.ready()
    assert (caught.value.provider, caught.value.code) == (PROVIDER, "map_key_invalid")


async def test_a_server_that_nobody_runs_is_a_matter_of_the_network() -> None:
    with hut_address("", []) as url:
        pass
    entry = replace(hut_server(), command=lambda: ServerAddress(url))
    async with entry_map(entry) as maps:
        with pytest.raises(ProviderUnavailable) as caught:
            await maps.session.ready()
    assert (caught.value.provider, caught.value.code) == (PROVIDER, "map_network")


async def test_a_server_that_ends_at_its_start_is_named() -> None:
    async with hut_map("exits") as maps:
        with pytest.raises(ProviderUnavailable, match="the huts are closed") as caught:
            await maps.session.ready()
    assert (caught.value.provider, caught.value.code) == (PROVIDER, "map_server_down")


@pytest.mark.parametrize("language", ["zh", "en"])
@pytest.mark.parametrize("code", sorted(table("map.errors", "en")))
def test_no_sentence_about_it_names_another_map(code: str, language: Language) -> None:
    error = ProviderRefused(PROVIDER, "KEY_IS_WRONG", code=code)
    text = map_message(error, language, "Mürren")
    assert not [name for name in ("Amap", "AMAP", "高德", "{") if name in text]


async def test_a_spent_budget_is_a_gap_of_its_name() -> None:
    result = MapResult()
    async with hut_map() as maps:
        await call(maps, result, "find_huts", meter(map_calls=0), valley="Lauterbrunnen")
    assert [(gap["provider"], gap["code"]) for gap in result.gaps] == [
        (PROVIDER, "budget_max_map_calls")
    ]


async def test_amaps_hosted_server_is_the_same_entry_reached_with_the_key() -> None:
    served: Server[Any] = Server("amap-hosted")
    place = {"country": "中国", "province": "北京市", "city": "北京市", "location": "116.41,39.91"}

    @served.list_tools()  # type: ignore[no-untyped-call,untyped-decorator]
    async def list_tools() -> list[Tool]:
        more = Tool(name="maps_schema_navi", inputSchema={"type": "object", "properties": {}})
        return [*AMAP_TOOLS.own_tools(), more]

    @served.call_tool()  # type: ignore[untyped-decorator]
    async def call_tool(name: str, arguments: dict[str, Any]) -> list[TextContent]:
        reply = json.dumps({"return": [place]})
        return [TextContent(type="text", text=reply)]

    with mcp_address(served, lambda scope: scope["query_string"] == b"key=key-of-amap") as url:
        settings = Settings(amap_maps_api_key=SecretStr("key-of-amap"), amap_mcp_url=url)
        async with entry_map(amap_server(settings)) as maps:
            reply = await maps._gateway.call("maps_geo", {"address": "王府井"}, meter=meter())
            health = await maps.health()
        refused = Settings(amap_maps_api_key=SecretStr("another-key"), amap_mcp_url=url)
        async with entry_map(amap_server(refused)) as maps:
            with pytest.raises(ProviderRefused) as caught:
                await maps.session.ready()
    assert reply["return"][0]["location"] == "116.41,39.91"
    assert (health["works"], caught.value.code) == (True, "map_key_invalid")
    assert "another-key" not in str(caught.value)
