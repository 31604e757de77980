"""The help of the map is one form, told in the same words, in every round that may ask for it."""

import json
from typing import Any

from agent.assistants.common.forms import (
    PlannedMap,
    Reflection,
    SearchQueryList,
    WebReflection,
    WrittenQuery,
)
from agent.assistants.common.map_tasks import plan_queries
from agent.assistants.common.question import FirstQueryList
from agent.configuration import Configuration
from agent.models.validation import schema_of
from agent.prompts import instructions, render

WISHED: dict[str, Any] = {
    "intent": "route", "origin": "天安门", "destination": "颐和园", "via": ["国家图书馆", "动物园"],
    "any_order": True, "wishes": ["no stairs"], "depart_at": "09:00", "suits": ["wheelchair"],
}  # fmt: skip


def map_of(form: type, key: str) -> Any:
    return schema_of(form)["properties"][key]["items"]["properties"]["map"]


def test_a_later_round_has_the_whole_form_of_the_first() -> None:
    """A second search of a way lost its stops, whom it is to suit, and what was wished of it."""
    first, later = map_of(SearchQueryList, "query"), map_of(Reflection, "follow_up_queries")
    assert first == later == map_of(FirstQueryList, "query")
    assert first["properties"].keys() == PlannedMap.model_fields.keys()


def test_a_later_round_is_told_the_form_in_the_words_of_the_first() -> None:
    first, later = render("generate_query_system"), render("reflection_system")
    _, form = first.split("only where one helps. ")
    assert form in later
    fields = ("intent", "any_order", "open_at", "open_on", "suits", "wishes", "place", "country")
    assert all(f"{name}:" in form or f"{name}," in form for name in fields)


def test_what_a_later_round_wishes_of_a_way_reaches_the_map() -> None:
    verdict = Reflection.model_validate(
        {"is_sufficient": False, "follow_up_queries": [{"query": "q", "map": WISHED}]}
    )
    [query] = plan_queries(verdict.follow_up_queries, Configuration(), None)
    task = query["map"]
    assert task is not None
    assert task["via"] == WISHED["via"]
    assert task["any_order"] == "via"
    assert task["wishes"] == WISHED["wishes"]
    assert task["depart_at"] == WISHED["depart_at"]
    assert task["demands"] == {"suits": ["wheelchair"]}


def test_a_round_that_cannot_ask_the_map_has_no_form_and_no_words_for_it() -> None:
    assert '"map"' not in json.dumps(schema_of(WebReflection))
    known = dict.fromkeys(("previous_sources", "previous_places", "gaps"), "x")
    told = instructions("reflection", {**known, "map_calls_left": ""})
    assert "map" not in told
    assert "any_order" in instructions("reflection", {**known, "map_calls_left": "3"})
    given = {"query": "q", "map": {"intent": "poi", "place": "p"}}
    written = WebReflection.model_validate({"is_sufficient": False, "follow_up_queries": [given]})
    assert written.follow_up_queries[0].map is not None, "who fills it in all the same is heard"
    assert WrittenQuery.model_validate(given).map == written.follow_up_queries[0].map
