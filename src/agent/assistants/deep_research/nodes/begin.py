"""The first node: checks the input and opens the turn with an empty archive."""

import logging

from langgraph.runtime import Runtime

from agent.assistants.deep_research.state import DeepState, DeepUpdate, new_research
from agent.assistants.deep_research.toolbox import DeepServices, settings_of
from agent.configuration import Configuration
from agent.evidence.queries import clean_text
from agent.nodes.conversation import conversation, previous_evidence
from agent.nodes.opening import open_turn
from agent.progress import event

log = logging.getLogger(__name__)
NODE = "begin"
_TOPIC = 60


async def begin(
    state: DeepState, runtime: Runtime[Configuration], *, services: DeepServices
) -> DeepUpdate:
    """Opens the turn; the first topic is the question until the model names one."""
    given, configuration = services(), settings_of(runtime)
    turn = open_turn(state, configuration, given, runtime)
    previous = previous_evidence(state["messages"])
    opened = new_research()
    opened["turn"], opened["previous"] = turn, previous
    opened["conversation"] = conversation(state["messages"], previous["sources"])
    opened["base"] = len(state["messages"])
    opened["topic"] = clean_text(turn["question"], _TOPIC)
    if notice := given.notice(turn["language"]):
        runtime.stream_writer(event("notice", NODE, text=notice))
    log.info("turn=%s %s: %d characters asked", turn["id"], NODE, len(turn["question"]))
    return opened
