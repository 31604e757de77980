"""Any reply of a service, and any line of a client, is read or refused by an error of the house."""

import json
import math
import warnings
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import ormsgpack
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from langchain_core.tools import StructuredTool

from agent.assistants.common.forms import Reflection, SearchQueryList
from agent.batch.answers import line_of, parse_row
from agent.batch.records import file_records
from agent.core.calls import Calls, retry_after_seconds
from agent.core.errors import AgentError, InputError, MalformedReply, ProviderError, UnsafeUrl
from agent.core.outside import finite, parse_json, parse_json_at
from agent.evaluation.verdicts import parse_verdict
from agent.evidence.constraints import valid_constraints
from agent.evidence.grounding import ground
from agent.evidence.maps import valid_map_task
from agent.evidence.types import Location
from agent.mcp import transports
from agent.mcp.amap.records import PRESENTATION, AmapReader
from agent.mcp.amap.tools import clean_arguments
from agent.mcp.keyed import KeyedReader, KeyedService
from agent.mcp.mapbox import MapboxService
from agent.mcp.osm.records import PRESENTATION as OSM_PRESENTATION
from agent.mcp.osm.records import OsmReader
from agent.mcp.osm.server import OsmTools
from agent.mcp.osm.services import PUBLIC, OsmServices, OsmSettings, ServiceError
from agent.mcp.records import MapOptions, MapRecords, MapResult
from agent.mcp.servers import amap_server
from agent.mcp.tencent import TencentService, clean_reply
from agent.models.compatible import in_our_shape
from agent.models.errors import error_in, failure_of, translate, translate_errors
from agent.models.google import read_google_reply, text_parts
from agent.models.replies import arguments_of, calls_in
from agent.models.validation import find_object, parse_reply
from agent.reading.encoding import page_text
from agent.reading.extract import body_kind
from agent.reading.guard import AddressGuard
from agent.search.bocha import BochaSearch
from agent.search.documents import SourceEndpoint
from agent.search.http import error_message
from agent.search.openalex import OpenAlex
from agent.search.rules import ANY
from agent.search.sec_edgar import read_registrants
from agent.search.sec_facts import as_text, read_figures, still_reported
from agent.search.semantic_scholar import SemanticScholar
from agent.search.serper import SerperSearch
from agent.search.tavily import TavilySearch
from agent.search.wikipedia import Wikipedia
from agent.server.mcp_endpoint import RefusedLine, message_of
from agent.settings import Settings
from tests.fuzz.odd import odd, pieces, scalars, sent, texts, values
from tests.fuzz.templates import (
    AMAP,
    GEMINI,
    GROUNDING,
    HITS,
    LINES,
    MESSAGE,
    OSM,
    QUERIES,
    ROWS,
)
from tests.fuzz.test_texts import URLS
from tests.support.keyed_maps import mapbox, tencent

T = TypeVar("T")
ENDPOINT: Any = SourceEndpoint("http://127.0.0.1:1", None, 5, 1.0)
SEARCHES: dict[str, Any] = {
    kind.name: kind
    for kind in (TavilySearch, SerperSearch, BochaSearch, Wikipedia, OpenAlex, SemanticScholar)
}
JSON = pieces(
    "{", "}", "[", "]", ":", ",", '"', '"query"', '"a": ', "1", "-", "1e9", "NaN", "true", "null",
    "```json\n", "\n```", "<think>", "</think>", "\\u", "\\ud83d", "//", "'", "[" * 200, "]" * 200,
)  # fmt: skip
SERVER = amap_server(Settings())


def finished(work: Coroutine[Any, Any, Any]) -> Any:
    """Return the result of work that waits for nothing."""
    with pytest.raises(StopIteration) as ended:
        work.send(None)
    return ended.value.value


def refused_by(error: type[Exception], read: Callable[[], T]) -> T | None:
    """Return what is read; None where it is refused by this error. Any other is a fault."""
    try:
        return read()
    except error:
        return None


class Answering:
    """Stand for the HTTP client: every request has the same reply."""

    def __init__(self, reply: Any) -> None:
        self._reply = reply

    async def post(self, *_: Any, **__: Any) -> Any:
        return self._reply

    async def get(self, *_: Any, **__: Any) -> Any:
        return self._reply


def can_be_kept(value: Any) -> None:
    """Hold a value against what stores it and what sends it."""
    ormsgpack.packb(value, option=ormsgpack.OPT_NON_STR_KEYS)
    json.dumps(value, ensure_ascii=False, allow_nan=False).encode()


@given(st.one_of(JSON, values.map(lambda value: json.dumps(value))))
def test_json_is_read_as_it_can_be_kept(text: str) -> None:
    can_be_kept(refused_by(ValueError, lambda: parse_json(text)))
    can_be_kept(refused_by(ValueError, lambda: parse_json(text.encode("utf-8", "replace"))))
    can_be_kept(refused_by(json.JSONDecodeError, lambda: parse_json_at(text)[0]))


@given(st.one_of(scalars, values))
def test_a_number_is_finite_or_none(value: Any) -> None:
    number = finite(value)
    assert number is None or math.isfinite(number)
    wait = retry_after_seconds(value)
    assert wait is None or (math.isfinite(wait) and wait >= 0)


@given(st.one_of(JSON, odd(QUERIES).map(lambda value: sent(value).decode())), JSON, JSON)
def test_a_structured_reply_fits_or_says_what_is_wrong(text: str, before: str, after: str) -> None:
    def read(reply: str) -> None:
        refused_by(ValueError, lambda: parse_reply(reply, SearchQueryList))
        refused_by(ValueError, lambda: parse_reply(reply, Reflection))
        can_be_kept(refused_by(ValueError, lambda: find_object(reply)))

    for reply in (text, f"{before}{text}{after}", f"```json\n{text}\n```"):
        read(reply)


@given(odd(GEMINI))
def test_a_reply_of_gemini_is_read_or_malformed(reply: Any) -> None:
    def read() -> list[str]:
        with translate_errors("model:google", "m"), warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the library's, of words that it does not know
            return text_parts(read_google_reply(sent(reply).decode())[0])

    assert all(isinstance(text, str) for text in refused_by(MalformedReply, read) or ())


@given(odd(GROUNDING), st.lists(texts, max_size=3))
def test_grounding_loses_no_text(metadata: Any, parts: list[str]) -> None:
    metadata = parse_json(sent(metadata))
    grounded = ground(parts, metadata, prefix="w0", provider="google")
    can_be_kept(grounded.sources)


@given(odd(MESSAGE), st.booleans())
def test_a_message_of_a_compatible_service_has_our_shape(message: Any, partial: bool) -> None:
    shape = in_our_shape(parse_json(sent(message)), partial=partial)
    assert isinstance(shape["tool_calls"], list)


@given(st.one_of(values, JSON))
def test_arguments_of_a_call_are_an_object_or_none(value: Any) -> None:
    arguments = arguments_of(value)
    assert arguments is None or isinstance(arguments, dict)


def _look(query: str = "", count: int = 1) -> str:
    """Stand for a tool."""
    return query * count


TOOL = StructuredTool.from_function(_look, name="look")
CALLS = pieces(
    "look", "(", ")", "<tool_call>", "</tool_call>",
    '{"name": "look", "arguments": {"query": "a"}}',
    "[TOOL_CALLS]", "<|python_tag|>", '<function=look>{"query": 1}</function>', "functools[", "]",
    '<invoke name="look">', '<parameter name="query">', "</parameter>", "```json\n", "```", "\n",
)  # fmt: skip


@given(CALLS)
def test_calls_written_as_text_are_found_and_what_is_before_is_its_beginning(text: str) -> None:
    calls, before = calls_in(text, [TOOL])
    assert text.startswith(before)
    can_be_kept([dict(call) for call in calls])


@given(st.one_of(values, odd({"error": {"code": 400, "message": "context length is 4096 tokens",
       "status": "X", "details": [{"reason": "R", "retryDelay": "3s"}]}})),
       st.sampled_from([None, 200, 302, 400, 401, 404, 413, 429, 500, 503]))  # fmt: skip
@example({"error": {"code": 400, "details": 5}}, None)
def test_a_refusal_has_a_cause(body: Any, status: int | None) -> None:
    body = parse_json(sent(body))
    assert isinstance(error_message(body), str)
    for failure in (error_in(body), failure_of(body, status, {"retry-after": "soon"})):
        if failure is not None:
            assert failure.code
            assert failure.window is None or failure.window >= 0 or failure.sent is None


@given(st.sampled_from([ValueError, KeyError, RecursionError, OverflowError, OSError, TypeError]))
def test_whatever_a_library_raises_is_an_error_of_the_provider(kind: type[Exception]) -> None:
    assert isinstance(translate(kind("x"), "model:google", "m"), ProviderError)


@pytest.mark.parametrize("name", SEARCHES)
@given(st.data())
def test_a_search_s_reply_is_hits_or_an_error(name: str, data: st.DataObject) -> None:
    reply = parse_json(sent(data.draw(odd(HITS[name]))))
    search = SEARCHES[name](Answering(reply), Calls(), ENDPOINT)
    rules = ANY if issubclass(SEARCHES[name], TavilySearch | SerperSearch | BochaSearch) else ""
    work = search.fetch("王府井 museum", 5, rules)
    found = refused_by(AgentError, lambda: finished(work)) or []
    can_be_kept([vars(hit) if hasattr(hit, "__dict__") else hit for hit in found if hit])


@given(odd(HITS["sec_facts"]), odd(HITS["sec_companies"]), texts)
def test_filings_are_read_or_left_out(facts: Any, companies: Any, query: str) -> None:
    facts, companies = parse_json(sent(facts)), parse_json(sent(companies))
    figures = read_figures("Revenues", facts, 320193) if isinstance(facts, dict) else []
    can_be_kept([dict(figure) for figure in figures])
    as_text(still_reported([figures]))
    if isinstance(companies, dict):
        read_registrants(companies).find(query)


@pytest.mark.parametrize("tool", AMAP)
@given(st.data())
def test_the_map_s_reply_is_records_or_an_error(tool: str, data: st.DataObject) -> None:
    arguments, template = AMAP[tool]
    reply = sent(data.draw(odd(template))).decode()
    result = MapResult()
    read = MapRecords(result, MapOptions(prefix="a0", language="zh"), presentation=PRESENTATION)
    given_arguments = data.draw(odd(arguments))

    def enter() -> None:
        cleaned = clean_arguments(tool, given_arguments)
        AmapReader(read).read(tool, cleaned, SERVER.parse(reply))

    refused_by(ProviderError, enter)
    can_be_kept([result.places, result.routes, result.weather, result.sources])


class AnsweringServices(OsmServices):
    """Every request of a service has the same reply."""

    def __init__(self, reply: Any) -> None:
        super().__init__(OsmSettings(PUBLIC, "fuzz"))
        self._reply = reply

    async def _asked(self, *_: Any, **__: Any) -> Any:
        return self._reply


@pytest.mark.parametrize("tool", OSM)
@given(st.data())
def test_a_reply_of_openstreetmap_s_services_is_records_or_an_error(
    tool: str, data: st.DataObject
) -> None:
    arguments, template = OSM[tool]
    reply = parse_json(sent(data.draw(odd(template))))
    tools = OsmTools(AnsweringServices(reply))
    answer = refused_by(ServiceError, lambda: finished(tools.call(tool, arguments)))
    can_be_kept(answer)
    result = MapResult()
    options = MapOptions(prefix="a0", language="zh")
    read = MapRecords(result, options, presentation=OSM_PRESENTATION)
    for each in [answer, parse_json(sent(data.draw(odd(answer))))] if answer else []:
        if isinstance(each, dict):
            OsmReader(read).read(tool, arguments, each)
    can_be_kept([result.places, result.routes, result.weather, result.sources])


KEYED: dict[str, tuple[KeyedService, dict[str, Any]]] = {
    "tencent places": (TencentService(), tencent("placeSuggestion", {"keyword": "王"})),
    "tencent way": (TencentService(), tencent("directionTransit", {})),
    "mapbox places": (MapboxService(), mapbox("search_and_geocode_tool", {"q": "Café"})),
    "mapbox way": (
        MapboxService(),
        mapbox("directions_tool", {"coordinates": [{"longitude": 13.4, "latitude": 52.5}] * 2}),
    ),
}


@pytest.mark.parametrize("name", KEYED)
@given(st.data())
def test_a_reply_of_a_map_by_key_is_records_or_an_error(name: str, data: st.DataObject) -> None:
    service, template = KEYED[name]
    reply = parse_json(sent(data.draw(odd(template))))
    if not isinstance(reply, dict):
        return
    clean = clean_reply if service.provider == "tencent" else dict
    read = refused_by(ProviderError, lambda: clean(reply))
    if read is None:
        return
    result = MapResult()
    options = MapOptions(prefix="a0", language="zh")
    reader = KeyedReader(MapRecords(result, options, presentation=OSM_PRESENTATION), service)
    reader.read("any", {}, read)
    way = service.read_way(read)
    stops = [("a", Location(lng=116.4, lat=39.9, crs=service.crs))] * 2
    if way.distance_m is not None:
        reader.add_way([way, way], "driving", stops)
    can_be_kept([result.places, result.routes, result.sources])


DEMANDS = (
    "max_cost min_cost total_cost people min_rating free open_at open_until open_on suits kind"
    " max_distance_m max_walk_m intent place city keywords radius_m mode origin avoid wishes other"
)


@given(st.dictionaries(st.sampled_from(DEMANDS.split()), values))
@example({"kind": []})
@example({"open_on": -1})
@example({"suits": 5})
def test_what_a_model_demands_of_the_map_is_valid_or_left_out(candidate: Any) -> None:
    candidate = parse_json(sent(candidate))
    can_be_kept(dict(valid_constraints(candidate)))
    can_be_kept(dict(valid_map_task(candidate) or {}))


@given(st.lists(odd(ROWS[0]).map(sent) | odd(ROWS[1]).map(sent) | JSON.map(
    lambda text: text.encode("utf-8", "replace")), max_size=5),
    st.sampled_from([".jsonl", ".json", ".csv", ".txt"]))  # fmt: skip
def test_rows_of_questions_and_answers_are_read_or_bad_lines(lines: list[bytes], end: str) -> None:
    rows = file_records(b"\n".join(lines), end, COLUMNS, lambda _: None)
    assert all(row.line >= 1 for row in refused_by(InputError, lambda: list(rows)) or ())
    for line in lines:
        if (row := parse_row(line)) is not None:
            assert parse_row(line_of(row)) is not None
        parse_verdict(line)


@given(st.one_of(odd(LINES).map(sent), JSON.map(lambda text: text.encode("utf-8", "replace"))))
def test_a_line_of_mcp_is_a_message_or_refused(line: bytes) -> None:
    can_be_kept(json.loads(refused_by(RefusedLine, lambda: message_of(line)) or "{}"))
    transports._message(line)


@given(URLS)
@example("http://http://\ud83d")
@example("http://a.example/?\ud83d=\ud83d")
def test_an_address_is_a_target_or_unsafe(url: str) -> None:
    target = refused_by(UnsafeUrl, lambda: AddressGuard().parse(url))
    assert target is None or target.url.isascii()


COLUMNS = frozenset(["question"])
CHARSETS = ["utf-8", "rot13", "hex", "utf-16", "utf-7", "idna", "gbk", "big5", "zz", "undefined"]


@given(st.binary(max_size=60), st.sampled_from(CHARSETS), texts)
def test_a_page_is_text_whatever_it_says_of_itself(body: bytes, name: str, kind: str) -> None:
    text = page_text(b"<meta charset=" + name.encode() + b">" + body, f"text/html; charset={kind}")
    text.encode("utf-8", "surrogatepass")
    refused_by(ProviderError, lambda: body_kind(body, kind))
