"""The first node: checks the input and opens the turn with an empty archive."""

import logging
from typing import cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import conversation, previous_evidence
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import open_turn
from agent.assistants.deep_research.state import (
    DeepState,
    DeepUpdate,
    configuration_of,
    new_research,
)
from agent.configuration import Configuration
from agent.core.progress import event
from agent.evidence.queries import clean_text
from agent.texts import say

log = logging.getLogger(__name__)
NODE = "begin"
_TOPIC = 60


async def begin(
    state: DeepState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> DeepUpdate:
    """Opens the turn; the first topic is the question until the model names one."""
    services, configuration = get_services(), configuration_of(runtime)
    turn = open_turn(state, configuration, services, runtime)
    abandoned = _abandoned(state)
    gone = {message.id for message in abandoned}
    messages = [message for message in state["messages"] if message.id not in gone]
    previous = previous_evidence(messages)
    opened = new_research()
    opened["turn"], opened["previous"] = turn, previous
    opened["conversation"] = conversation(messages, previous["sources"])
    opened["base"] = len(messages)
    opened["messages"] = cast(
        list[AnyMessage], [RemoveMessage(id=message.id or "") for message in abandoned]
    )
    opened["topic"] = clean_text(turn["question"], _TOPIC)
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    log.info("turn=%s %s: %d characters asked", turn["id"], NODE, len(turn["question"]))
    return opened


def _abandoned(state: DeepState) -> list[AnyMessage]:
    """What an earlier question, given up while a topic was explored, left on the thread."""
    if not state.get("exploring"):
        return []
    nudges = {say("deep_research.nudge", "zh"), say("deep_research.nudge", "en")}
    return [
        message
        for message in state["messages"][state["base"] :]
        if not isinstance(message, HumanMessage) or str(message.text) in nudges
    ]
