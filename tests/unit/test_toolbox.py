"""One executor of a model's calls: what is refused, asked once, and which ids stay."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import pytest
from langchain_core.messages import AIMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool

from agent.assistants.common.inside_words import KeptInside, inside_words
from agent.assistants.common.services import Services
from agent.assistants.common.tool_results import shown_result
from agent.assistants.common.toolbox import (
    EarlierSearch,
    Known,
    Toolbox,
    ToolOutcome,
    ToolPolicy,
    next_numbers,
    queries_of,
)
from agent.configuration import Configuration
from agent.core.budget import Meter, unlimited_meter
from agent.core.errors import ConfigurationError, ProviderUnavailable
from agent.evidence.types import Location, Place
from agent.knowledge.types import Scope
from agent.mcp.amap.records import PRESENTATION
from agent.mcp.new_records import new_place
from agent.mcp.records import MapOptions, MapRecords, MapResult, place_line
from agent.sandbox.programs import CodeResult
from agent.search.hits import Hit
from agent.state import Turn
from agent.texts import say
from tests.support.plan_knowledge import MemoryKnowledge
from tests.support.rows import by_examples

TURN = cast(Turn, {"language": "en", "question": "q", "near": None, "today": "2026-11-28"})


class OneSearch:
    """A search that finds a page named after its query; one query fails."""

    name = "one"

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def search(self, query: str, *, meter: Meter, count: int | None = None) -> list[Hit]:
        self.asked.append(query)
        if query == "down":
            raise ProviderUnavailable("one", "it is down")
        return [Hit(query, f"https://a.example/{query}", f"About {query}.")]


class Runner:
    """Runs nothing, prints how long a program is."""

    name = "monty"

    async def run(self, code: str) -> CodeResult:
        return CodeResult(str(len(code)))

    async def aclose(self) -> None:
        """Nothing is open."""


@tool
def maps_search_detail(id: str) -> str:
    """A place's record."""
    return id


class Map:
    """A map that has a record for each id."""

    tools_: Sequence[BaseTool] = (maps_search_detail,)

    async def tools(
        self, result: MapResult, query: str, *, options: MapOptions, meter: Meter,
        on_call: Callable[[str], None],
    ) -> Any:  # fmt: skip
        return _Tools(MapRecords(result, options, presentation=PRESENTATION))


class _Tools:
    def __init__(self, records: MapRecords) -> None:
        self.tools, self._records = Map.tools_, records

    async def call(self, call: ToolCall) -> ToolMessage:
        place = self._records.known_place(call["args"]["id"]) or self._records.add_place(
            a_place(call["args"]["id"])
        )
        assert place is not None
        return ToolMessage(place_line(place, "en"), tool_call_id=call["id"] or "")


def a_place(name: str) -> Place:
    location = Location(lng=120.1, lat=30.2, crs="GCJ-02")
    return new_place(id=f"amap:{name}", name=f"Place {name}", location=location, url="u")


def call(name: str, **args: Any) -> ToolCall:
    return ToolCall(name=name, args=args, id=f"{name}-{len(args)}", type="tool_call")


def box(policy: ToolPolicy, known: Known | None = None) -> Toolbox:
    services = cast(Services, type("Only", (), {"maps": Map()})())
    return Toolbox(
        services, Configuration(), TURN, unlimited_meter("t"), lambda told: None, policy,
        known or Known(),
    )  # fmt: skip


def searching(service: OneSearch, **more: Any) -> ToolPolicy:
    return ToolPolicy("act", searches={"search": [service]}, **more)


async def outcomes_of(toolbox: Toolbox, *calls: ToolCall) -> list[ToolOutcome]:
    return await toolbox.run(AIMessage("", tool_calls=list(calls)))


async def test_an_equal_search_of_one_message_is_asked_once_and_named() -> None:
    service = OneSearch()
    first, second = await outcomes_of(
        box(searching(service)), call("search", query="a"), call("search", query="a", count=2)
    )
    assert service.asked == ["a"]
    assert (first.id, second.twin) == ("s0", first)
    assert second.hint == say("tools.same_step", "en", id="s0")


async def test_a_search_of_before_is_shown_again_and_not_asked() -> None:
    service, earlier = OneSearch(), EarlierSearch("search", "a", "what was found", ["s0-0"])
    known = Known(recall=lambda tool, query: earlier if query == "a" else None)
    [again] = await outcomes_of(box(searching(service), known), call("search", query="a"))
    assert (service.asked, again.text, again.source_ids) == ([], "what was found", ["s0-0"])


async def test_of_several_queries_one_that_fails_costs_only_itself() -> None:
    [both] = await outcomes_of(
        box(searching(OneSearch(), queries=5)), call("search", queries=["a", "down"])
    )
    assert not both.failed
    assert [bool(result.failure) for result in both.results] == [False, True]
    assert "https://a.example/a" in shown_result(both.results[0], 500, "en")
    assert both.results[1].failure in shown_result(both.results[1], 500, "en")


async def test_a_search_that_nothing_serves_says_why_and_is_a_gap() -> None:
    missing = ConfigurationError("web_search", "no service is named")
    [outcome] = await outcomes_of(
        box(ToolPolicy("act", searches={"search": missing})), call("search", query="a")
    )
    assert outcome.failed
    assert [gap["query"] for gap in outcome.gaps] == ["a"]


@pytest.mark.parametrize(
    "refused",
    [
        call("no_such_tool"),
        call("run_code", code=" "),
        call("search"),
        call("search", query=["a", "b"]),
        call("maps_geo", address="a"),
        call("search_documents", query="a"),
    ],
)
async def test_what_is_not_there_or_asks_nothing_is_refused(refused: ToolCall) -> None:
    policy = searching(OneSearch(), runner=Runner())
    [outcome] = await outcomes_of(box(policy), refused)
    assert (outcome.kind, outcome.failed) == (None, True)
    assert outcome.message(outcome.text).status == "error"


async def test_a_call_that_nobody_can_read_is_answered() -> None:
    message = AIMessage(
        "", invalid_tool_calls=[{"name": "search", "args": "{", "id": "x", "error": "no JSON"}]
    )
    [outcome] = await box(searching(OneSearch())).run(message)
    assert outcome.message(outcome.text).tool_call_id == "x"


async def test_calls_beyond_the_most_of_one_step_wait_for_the_next() -> None:
    service = OneSearch()
    calls = [call("search", query=f"q{n}") for n in range(14)]
    done = await outcomes_of(box(searching(service)), *calls)
    assert len(service.asked) == 12
    assert [outcome.kind for outcome in done[12:]] == [None, None]


async def test_a_program_has_an_id_and_its_output() -> None:
    [outcome] = await outcomes_of(
        box(ToolPolicy("act", runner=Runner())), call("run_code", code="12")
    )
    assert (outcome.id, outcome.text, outcome.failed) == ("c0", "2", False)


async def test_a_place_that_two_calls_find_is_one_record_with_one_id() -> None:
    first, second = await outcomes_of(
        box(ToolPolicy("act", maps=True)),
        call("maps_search_detail", id="B1"),
        call("maps_search_detail", id="B1", extra=1),
    )
    assert first.map_result
    assert second.map_result
    assert [place["source"] for place in first.map_result.places] == ["a0-0"]
    assert (second.map_result.places, second.map_result.sources) == ([], [])
    assert second.text.startswith("[^a0-0]")


async def test_a_place_of_an_earlier_topic_or_turn_is_known_by_its_id() -> None:
    place = Place(**{**a_place("B1"), "source": "p3"})
    for name in ("p3", "[^p3]", "B1", "amap:B1"):
        [outcome] = await outcomes_of(
            box(ToolPolicy("act", maps=True), Known(places=[place])),
            call("maps_search_detail", id=name),
        )
        assert outcome.text.startswith("[^p3]")
        assert outcome.map_result is not None
        assert outcome.map_result.places == []


@pytest.fixture
def knowledge() -> MemoryKnowledge:
    held = MemoryKnowledge()
    held.put("租约", "月租 28,000 元。\n\n押金三个月。\n\n楼面荷载 2.5 吨。")
    held.put("年报", "\n\n".join(f"第 {n} 章，仓库与车队，数字从略。" * 30 for n in range(40)))
    return held


async def documents_of(knowledge: MemoryKnowledge, *calls: ToolCall) -> list[ToolOutcome]:
    policy = ToolPolicy("act", scope=Scope(("own",), ""), page_tokens=400)
    toolbox = box(policy)
    toolbox.services = cast(Services, type("Only", (), {"knowledge": lambda self: knowledge})())
    return await outcomes_of(toolbox, *calls)


async def test_own_documents_are_listed_by_title_and_opened_whole_or_where_they_bear(
    knowledge: MemoryKnowledge,
) -> None:
    listed, short, long = await documents_of(
        knowledge,
        call("list_documents"),
        call("open_document", document="租约", looking_for="押金"),
        call("open_document", document="年报 (notes/年报.md)", looking_for="第 31 章"),
    )
    assert ("租约" in listed.text, "年报" in listed.text) == (True, True)
    assert listed.source_ids == []
    assert short.documents is not None
    assert [s["quotes"][0] for s in short.documents.sources] == [
        "月租 28,000 元。", "押金三个月。", "楼面荷载 2.5 吨。",
    ]  # fmt: skip
    assert short.source_ids[0] == f"{short.id}-0"
    assert "第 31 章" in long.text
    assert "第 3 章" not in long.text


@pytest.mark.parametrize("document", ["合同", "", "租约 2"])
async def test_a_document_that_is_not_there_is_no_source(
    knowledge: MemoryKnowledge, document: str
) -> None:
    [outcome] = await documents_of(
        knowledge, call("open_document", document=document, looking_for="押金")
    )
    assert outcome.source_ids == []
    assert say("tools.nothing", "en") in outcome.text


def test_numbers_go_on_behind_those_of_the_turn() -> None:
    numbers: Mapping[Any, int] = next_numbers(["a0-1", "a3-0", "a482-17", "d1-2", "t0-1", "p7"])
    assert (numbers["map"], numbers["documents"], numbers["search"]) == (4, 2, 0)


@pytest.mark.parametrize(
    ("arguments", "queries"),
    [
        ({"queries": ["a", " a ", "b"]}, ["a", "b"]),
        ({"query": "a\nb"}, ["a", "b"]),
        ({"q": ["a", 3]}, ["a"]),
        ({}, []),
    ],
)
def test_queries_are_read_tolerantly(arguments: dict[str, Any], queries: list[str]) -> None:
    assert queries_of(call("search", **arguments), 5) == queries


OWN = (
    "Contract HT-2026-017 with Ferry Line. Anna Berg signs for 5,990,000 by 2026-12-06; mail "
    "anna@berg.example. ISO 9001, EN 12845. Site Test: on the site, a test. 沈老师负责针剂。"
)


@by_examples
def test_what_stands_in_own_documents_alone_is_named(query: str, named: list[str]) -> None:
    assert inside_words(query, [OWN], ["What does it cost?"]) == named
    assert inside_words(query, [OWN], [query]) == [], "the question says it as well"


async def test_a_query_with_words_of_own_documents_is_not_sent_and_the_model_is_told() -> None:
    service = OneSearch()
    inside = KeptInside([OWN], ["What does it cost?"])
    queries = ["HT-2026-017 permit", "permits"]
    policy = searching(service, queries=5, inside=inside)
    [both] = await outcomes_of(box(policy), call("search", queries=queries))
    assert service.asked == ["permits"]
    refusal = say("tools.inside", "en", words="HT-2026-017")
    assert refusal in shown_result(both.results[0], 500, "en")
    assert not both.gaps, "the reader lacks nothing"


async def test_a_name_of_two_words_may_be_asked_for_again_and_a_number_never() -> None:
    refused = [ToolMessage(say("tools.inside", "en", words=words), tool_call_id="1")
               for words in ("Ferry Line", "HT-2026-017")]  # fmt: skip
    inside = KeptInside([OWN], [], refused)
    assert not await inside.refusal("Ferry Line fares", "en")
    assert await inside.refusal("HT-2026-017", "en")
    shown = [ToolMessage(OWN, tool_call_id="1")]
    assert await KeptInside([OWN], [], shown).refusal("Ferry Line fares", "en"), "no refusal yet"
    assert await inside.without("permit HT-2026-017 for 沈老师 and Ferry Line") == (
        "permit for and Ferry Line"
    )
