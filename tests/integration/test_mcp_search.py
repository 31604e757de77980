"""`search` and `fetch` for programs that do research of their own, over the sample's services."""

from dataclasses import replace
from typing import Any

import pytest

from agent.core.errors import AgentError, ConfigurationError, InputError
from agent.core.telemetry import STEP, Cost, Event, listening
from agent.server.mcp_search import answer_search
from tests.support.lab import laboratory

EN = "How do sodium-ion batteries work?"


async def found(name: str, given: dict[str, Any], **settings: Any) -> dict[str, Any]:
    async with laboratory(**settings) as lab:
        result = await answer_search(name, given, lab.services, "alice")
    assert result.structuredContent is not None
    return result.structuredContent


async def test_a_result_of_a_search_is_read_by_its_id() -> None:
    first, *_ = (await found("search", {"query": EN}))["results"]
    page = await found("fetch", {"id": first["id"]})
    assert (page["id"], page["url"], page["metadata"]["kind"]) == (first["id"],) * 2 + ("html",)
    assert "sodium" in page["text"].lower()


async def test_where_only_own_documents_are_read_nothing_is_asked_outside(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    first, *_ = (await found("search", {"query": EN}))["results"]
    monkeypatch.setenv("SOURCES", "own")
    assert await found("search", {"query": EN}) == {"results": []}
    with pytest.raises(InputError, match="Only own documents"):
        await found("fetch", {"id": first["id"]})


async def test_the_operator_s_rules_on_sites_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SEARCH_SITES", "nowhere.example")
    assert await found("search", {"query": EN}) == {"results": []}


class NoSearch:
    """Stands in for the web where no service is configured."""

    def provider(self, *_: Any, **__: Any) -> Any:
        raise ConfigurationError("web_search", "nothing configured; set TAVILY_API_KEY")


async def test_a_search_that_nothing_can_answer_says_why() -> None:
    async with laboratory() as lab:
        web: Any = NoSearch()
        with pytest.raises(AgentError, match="set TAVILY_API_KEY"):
            await answer_search("search", {"query": EN}, replace(lab.services, web=web), "alice")


async def test_what_a_search_costs_is_on_its_owner_s_account() -> None:
    owners: list[str] = []

    def note(event: Event) -> None:
        if isinstance(event, Cost):
            step = STEP.get()
            owners.append(step.owner if step else "")

    with listening(note):
        await found("search", {"query": EN})
    assert set(owners) == {"alice"}
    assert STEP.get() is None
