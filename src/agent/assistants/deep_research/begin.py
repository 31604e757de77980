"""The first node: check the input, open the turn with an empty archive, and plan its topics."""

import logging
from typing import cast

from langchain_core.messages import AnyMessage, HumanMessage, RemoveMessage
from langgraph.runtime import Runtime

from agent.assistants.common.conversation import conversation
from agent.assistants.common.own_documents import readable_collections
from agent.assistants.common.previous import opened_previous, previous_of
from agent.assistants.common.review import waiting
from agent.assistants.common.services import GetServices
from agent.assistants.common.turn import meter_of, open_turn, refuse_without_thread
from agent.assistants.deep_research.plan import planned_topics, tell_topics
from agent.assistants.deep_research.state import (
    DeepState,
    DeepUpdate,
    configuration_of,
    new_research,
)
from agent.configuration import Configuration
from agent.core.budget import Usage
from agent.core.progress import event
from agent.state import replaced
from agent.texts import say

log = logging.getLogger(__name__)
NODE = "begin"


async def begin(
    state: DeepState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> DeepUpdate:
    """Open the turn and plan it; without a plan the model names its topics one by one."""
    services, configuration = get_services(), configuration_of(runtime)
    refuse_without_thread(configuration)
    abandoned = _abandoned_messages(state)
    gone = {message.id for message in abandoned}
    messages = [message for message in state["messages"] if message.id not in gone]
    thread = cast(DeepState, {**state, "messages": messages})
    turn = open_turn(thread, configuration, services, runtime)
    previous = opened_previous(previous_of(thread), turn)
    readable = await readable_collections(
        state, configuration, services, runtime, language=turn["language"]
    )
    opened = new_research()
    opened["turn"] = waiting(turn, configuration, services)
    opened["previous"] = previous
    opened["conversation"] = conversation(messages, previous["sources"])
    opened["owner"], opened["readable"] = readable.owner, readable.names
    opened["base"] = len(messages)
    opened["messages"] = cast(
        list[AnyMessage], [RemoveMessage(id=message.id or "") for message in abandoned]
    )
    opened["topic"] = ""
    if notice := services.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    log.info("turn=%s %s: %d characters asked", turn["id"], NODE, len(turn["question"]))
    meter = meter_of(opened, configuration, services)
    opened["plan"], gaps = await planned_topics(opened, configuration, services, meter)
    opened["gaps"] = replaced([*readable.gaps, *gaps])
    opened["usage"] = Usage(**meter.usage, first=True)
    tell_topics(opened["plan"], runtime.stream_writer, NODE)
    return opened


def _abandoned_messages(state: DeepState) -> list[AnyMessage]:
    """Return the messages of a question that was given up, in a thread of an earlier version."""
    if not state.get("exploring"):
        return []
    nudges = {say("deep_research.nudge", "zh"), say("deep_research.nudge", "en")}
    return [
        message
        for message in state["messages"][state["base"] :]
        if not isinstance(message, HumanMessage) or str(message.text) in nudges
    ]
