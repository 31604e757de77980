import json
import random
from typing import Any

import pytest

from agent.core.errors import MalformedReply
from agent.mcp.amap.records import PRESENTATION, AmapReader
from agent.mcp.map_server import LARGEST
from agent.mcp.records import MapOptions, MapRecords, MapResult
from agent.mcp.reply_text import LONGEST, compacted, fitting_lines
from agent.mcp.servers import amap_server
from agent.mcp.transports import Lines
from agent.settings import Settings
from agent.texts import say

AMAP = amap_server(Settings())


def test_lines_are_the_same_however_the_stream_is_cut() -> None:
    whole = b"".join(b"line %d\n" % n for n in range(200)) + b"rest"
    rng = random.Random(4)
    for _ in range(20):
        lines, found, at = Lines(), [], 0
        while at < len(whole):
            size = rng.randrange(1, 40)
            found += lines.feed(whole[at : at + size])
            at += size
        assert found == [b"line %d" % n for n in range(200)]


@pytest.mark.parametrize(
    "message",
    [b'{"jsonrpc":"2.0","id":7,"result":"%s"}', b'{"result":"%s","jsonrpc":"2.0","id":7}'],
)
def test_a_line_over_the_limit_becomes_an_error_for_its_request(message: bytes) -> None:
    lines = Lines(limit=1000)
    found = lines.feed(message % (b"x" * 5000) + b'\n{"next": 1}\n')
    assert json.loads(found[0])["id"] == 7
    assert json.loads(found[0])["error"]["code"] == -32099
    assert found[1] == b'{"next": 1}'


def test_an_empty_list_is_no_value_except_where_it_is_a_list() -> None:
    reply = AMAP.parse('{"pois": [], "rating": [], "a": {"city": [], "road": ""}, "steps": []}')
    assert reply == {"pois": [], "rating": None, "a": {"city": None, "road": None}, "steps": []}


@pytest.mark.parametrize("text", ["", "[]", "<html>", '{"cut":', "[" * 100_000])
def test_what_is_no_object_is_malformed(text: str) -> None:
    with pytest.raises(MalformedReply) as caught:
        AMAP.parse(text)
    assert caught.value.code == "map_malformed"


def test_a_huge_reply_is_refused() -> None:
    with pytest.raises(MalformedReply) as caught:
        AMAP.parse('{"a": "%s"}' % ("x" * LARGEST))
    assert caught.value.code == "map_too_large"


def shown_to_a_model(tool: str, reply: dict[str, Any]) -> str:
    options = MapOptions(prefix="a0", language="zh")
    records = MapRecords(MapResult(), options, presentation=PRESENTATION)
    return AmapReader(records).read(tool, {}, reply)


def test_a_model_is_shown_at_most_twenty_places_without_photos() -> None:
    pois = [
        {"id": f"B{n}", "name": "店", "address": None, "photos": {"url": "x"}, "typecode": "1"}
        for n in range(50)
    ]
    shown = json.loads(shown_to_a_model("maps_text_search", {"pois": pois}))
    assert len(shown["pois"]) == 20
    assert shown["pois"][0] == {"id": "B0", "name": "店"}


def test_what_is_too_long_is_cut_between_items_so_that_it_stays_json() -> None:
    steps = [{"instruction": "直行" * 300, "distance": "1"} for _ in range(12)]
    text = compacted(["[^a0-0] walking"], {"route": {"paths": [{"steps": steps}]}})
    assert len(text) <= LONGEST
    head, body = text.split("\n", 1)
    assert head == "[^a0-0] walking"
    assert 0 < len(json.loads(body)["route"]["paths"][0]["steps"]) < 12


def test_records_are_told_whole_and_of_how_many() -> None:
    """An answer ended within a place: “Sat–Sun 12:00–2”."""
    lines = [f"[^a0-{n}] {'x' * 90}" for n in range(60)]
    *kept, left = fitting_lines(lines, "en").splitlines()
    assert kept == lines[: len(kept)]
    assert left == say("map.listed_of_found", "en", listed=len(kept), count=60)
    assert len("\n".join(kept)) <= LONGEST < len("\n".join(lines[: len(kept) + 1]))
    assert fitting_lines(lines[:9], "en").splitlines() == lines[:9]
    more = fitting_lines(lines[:9], "en", count=12, key="map.listed_of_ways")
    assert more.splitlines()[9:] == [say("map.listed_of_ways", "en", listed=9, count=12)]
