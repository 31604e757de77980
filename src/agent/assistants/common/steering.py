"""Take up what a person asks for while their question is worked on."""

import logging
from collections.abc import Sequence
from typing import TypeVar, cast

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agent.assistants.common.preferences import with_used
from agent.assistants.common.services import Services
from agent.core.errors import AgentError, StoreFailed
from agent.core.progress import Emit, event
from agent.core.strings import cut_to_tokens
from agent.evidence.queries import same_search
from agent.prompts import render
from agent.runs.run_log import Wish
from agent.state import Gathered
from agent.texts import Language, say

S = TypeVar("S", bound=Gathered)
log = logging.getLogger(__name__)
_MOST_TOKENS = 2500


async def new_wishes(
    state: Gathered, services: Services, emit: Emit, node: str, *, known: Sequence[Wish] = ()
) -> list[Wish]:
    """Return the wishes that came since the last step, and tell of each; none where they fail.

    `known` are those that this step has taken up already.
    """
    turn = state["turn"]
    if services.wishes is None:
        return []
    try:
        wishes = await services.wishes.of(turn["id"])
    except (AgentError, StoreFailed) as error:
        log.warning("turn=%s %s: wishes cannot be read: %s", turn["id"], node, error)
        return []
    earlier = [*(state.get("wishes") or []), *known]
    fresh = [wish for wish in wishes if wish not in earlier]
    for wish in fresh:
        log.info("turn=%s %s: a %s of %d characters", turn["id"], node, wish["kind"],
                 len(wish["text"]))  # fmt: skip
        emit(event(wish["kind"], node, text=wish["text"]))
    return fresh


def wished(state: S, wishes: Sequence[Wish]) -> S:
    """Return the state with new wishes beside those that were taken up before."""
    earlier = cast(Gathered, state).get("wishes") or []
    return cast(S, {**state, "wishes": [*earlier, *wishes]})


def with_wishes(prompt: Sequence[BaseMessage], state: Gathered) -> list[BaseMessage]:
    """Return the prompt with what the person prefers and asked for meanwhile, where there is any.

    It stands below the question, fenced like it; the instructions say whose words it is.
    """
    prompt = with_used(prompt, state["turn"])
    wishes, language = state.get("wishes") or [], state["turn"]["language"]
    if not wishes:
        return list(prompt)
    system, request, *others = prompt
    lines = cut_to_tokens(wish_lines(wishes, language), _MOST_TOKENS)
    rule, block = render("wishes_system"), render("wishes", wishes=lines)
    return [
        SystemMessage(f"{system.text}\n{rule}"),
        HumanMessage(f"{request.text}\n{block}"),
        *others,
    ]


def wish_lines(wishes: Sequence[Wish], language: Language) -> str:
    """Return the wishes, one line each, for a model."""
    lines = (say(f"steering.{each['kind']}", language, text=each["text"]) for each in wishes)
    return "\n".join(f"- {line}" for line in lines)


def dropped(wishes: Sequence[Wish], text: str, *names: str) -> bool:
    """Return whether a line of a plan is not wanted any more: named by its words, id or number."""
    targets = [wish["text"].strip().casefold() for wish in wishes if wish["kind"] == "drop"]
    exact = {name.casefold() for name in (text, *names) if name}
    return any(target in exact or same_search(target, text) for target in targets)
