"""Own documents in a discussion: read whole into every prompt as far as there is room.

What has no room is searched by a tool. No checkpoint keeps their texts: each step reads them.
"""

import sys

from langgraph.runtime import Runtime

from agent.assistants.common.own_documents import own_scope
from agent.assistants.common.services import Services
from agent.assistants.common.turn import context_limit
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    document_elements,
    rest_of,
    with_whole_documents,
)
from agent.assistants.team_answer.state import TeamState
from agent.configuration import Configuration
from agent.core.strings import estimated_tokens
from agent.knowledge.types import Scope


async def with_documents(
    state: TeamState,
    services: Services,
    configuration: Configuration,
    runtime: Runtime[Configuration],
) -> tuple[TeamState, WholeDocuments]:
    """Return the documents that are read whole, and the state with their passages to cite."""
    tokens = min(configuration.own_token_limit, state["turn"].get("room", sys.maxsize) // 2)
    scope = _scope(state, runtime)
    return await with_whole_documents(state, scope, services, tokens=tokens)


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
