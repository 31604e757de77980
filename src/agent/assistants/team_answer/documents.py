"""Own documents and pages in a discussion: what no checkpoint keeps and each step reads.

Own documents stand whole in every prompt as far as there is room; what has no room is searched by
a tool. Of pages the whole text is there for the verifier, its quotes and the judge.
"""

import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import cast

from langgraph.runtime import Runtime

from agent.assistants.common.own_documents import own_scope
from agent.assistants.common.services import Services
from agent.assistants.common.turn import context_limit, own_limit
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    document_elements,
    rest_of,
    with_whole_documents,
)
from agent.assistants.common.workspace import Item, Workspace, runs
from agent.assistants.team_answer.evidence_view import known_sources, looked_for
from agent.assistants.team_answer.state import TeamState
from agent.configuration import Configuration
from agent.core.strings import estimated_tokens
from agent.evidence.claims.passages import Passage
from agent.evidence.markdown import canonical
from agent.evidence.types import Source
from agent.knowledge.types import Scope

PageWords = Mapping[str, Sequence[str]]
"""What pages say, by the ids of their sources."""


async def with_documents(
    state: TeamState,
    services: Services,
    configuration: Configuration,
    runtime: Runtime[Configuration],
) -> tuple[TeamState, WholeDocuments]:
    """Return the documents that are read whole, and the state with their passages to cite."""
    tokens = own_limit(state["turn"], configuration)
    scope = _scope(state, runtime)
    state, whole = await with_whole_documents(state, scope, services, tokens=tokens)
    return state, replace(whole, differences=state.get("differences") or [])


async def page_texts(state: TeamState, workspace: Workspace, ids: Collection[str]) -> PageWords:
    """Return the whole text of each of these sources that is a page and was opened."""
    items = _by_source(state, await workspace.items())
    return {name: [item.text] for name, item in items.items() if name in ids}


async def page_passages(state: TeamState, workspace: Workspace, tokens: int) -> PageWords:
    """Return the passages of opened pages that are nearest to what is asked and claimed."""
    passages = await workspace.nearest(looked_for(state), tokens)
    found: dict[str, list[Passage]] = {}
    for passage in passages:
        found.setdefault(passage.source, []).append(passage)
    items = _by_source(state, await workspace.items(found))
    return {name: runs(found[item.id]) for name, item in items.items()}


def with_pages(state: TeamState, words: PageWords) -> TeamState:
    """Return the state in which pages are quoted with these words of their own.

    What a search has said of a page that was opened may be a model's: it proves nothing then.
    """
    sources = [
        Source(**{**source, "quotes": [*(words.get(source["id"]) or source["quotes"])]})
        for source in state.get("sources_gathered", [])
    ]
    return cast(TeamState, {**state, "sources_gathered": sources})


def _by_source(state: TeamState, items: Sequence[Item]) -> dict[str, Item]:
    """Return opened pages by the ids of their sources in this turn."""
    by_address = {canonical(item.url): item for item in items if item.url and item.text}
    pages = [source for source in known_sources(state) if source["kind"] == "page"]
    found = {source["id"]: by_address.get(canonical(source["url"])) for source in pages}
    return {name: item for name, item in found.items() if item}


def searched_scope(
    state: TeamState, runtime: Runtime[Configuration], whole: WholeDocuments
) -> Scope | None:
    """Return the documents that are left to be searched; None where none is."""
    scope = _scope(state, runtime)
    return rest_of(scope, whole) if scope else None


def prompt_limit(state: TeamState, configuration: Configuration, whole: WholeDocuments) -> int:
    """Return the tokens of a prompt with its documents, which come on top where a window allows."""
    shown = estimated_tokens(document_elements(whole))
    room = state["turn"].get("room", sys.maxsize)
    return min(context_limit(state["turn"], configuration) + shown, room)


def _scope(state: TeamState, runtime: Runtime[Configuration]) -> Scope | None:
    return own_scope(state.get("readable", []), state.get("owner", ""), runtime)
