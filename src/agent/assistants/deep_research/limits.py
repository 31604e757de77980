"""When exploration ends without the model's word, so that reading and writing stay possible."""

from agent.assistants.deep_research.state import DeepState
from agent.assistants.deep_research.wording import run_gap
from agent.budget import Meter
from agent.configuration import Configuration
from agent.evidence.types import Gap
from agent.nodes.budget_share import Share, share_spent

ENDING = frozenset({"rounds_spent", "run_share_spent", "model_stuck", "model_failed"})
MAX_FRUITLESS = 4
"""Rounds in a row in which nothing was looked up."""
ROUNDS_PER_TOPIC = 12
_TOKEN_SHARE, _SECOND_SHARE = 0.7, 0.6


def ending(state: DeepState, configuration: Configuration, meter: Meter) -> Gap | None:
    """Why exploration must end now, told to the reader; None where it may go on."""
    language = state["turn"]["language"]
    for gap in state.get("gaps", []):
        if gap["code"] in ENDING:
            return gap
    if state["rounds"] >= configuration.max_exploration_rounds:
        limit = str(configuration.max_exploration_rounds)
        return run_gap("rounds_spent", language, limit=limit)
    if state["fruitless"] >= MAX_FRUITLESS:
        return run_gap("model_stuck", language, limit=str(MAX_FRUITLESS))
    if spent := share_spent(_share(state), state.get("usage"), configuration, meter):
        return run_gap("run_share_spent", language, limit=spent)
    return None


def _share(state: DeepState) -> Share:
    """What exploration leaves to reading and writing: a call for each topic, and three."""
    return Share(len(state.get("search_results", [])) + 3, _TOKEN_SHARE, _SECOND_SHARE)
