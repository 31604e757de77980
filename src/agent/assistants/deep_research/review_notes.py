"""Judge the notes of all topics once: may more be looked up before the report is written?"""

import logging
from collections.abc import Sequence
from typing import Annotated, Literal

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel, BeforeValidator, Field

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.forms import Words
from agent.assistants.common.gaps import lacking, parsed_or_gap
from agent.assistants.common.material import chosen_passages, page_elements, without_quotes_of
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.services import GetServices
from agent.assistants.common.steering import new_wishes, wished, with_wishes
from agent.assistants.common.turn import Share, context_limit, meter_of, room_of, share_spent
from agent.assistants.common.workspace import Item, RankedPassages
from agent.assistants.deep_research.compress_topic import topic_element
from agent.assistants.deep_research.explore import ENDING, left
from agent.assistants.deep_research.notes import calculated, shown_notes, unshown_record_lines
from agent.assistants.deep_research.plan import TopicToPlan, plan_elements, with_topics
from agent.assistants.deep_research.state import (
    DeepState,
    DeepUpdate,
    TopicResult,
    configuration_of,
    pages_read,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.processor import compute
from agent.core.progress import event
from agent.core.strings import cut_to_tokens, estimated_tokens, first_lines
from agent.evidence.claims.passages import Passage
from agent.evidence.queries import clean_text
from agent.evidence.records import with_weekday
from agent.evidence.types import Gap
from agent.prompts import Raw, element, task_prompt
from agent.state import answer_language, reader_language
from agent.texts import is_written_in, say

log = logging.getLogger(__name__)
NODE = "review_notes"
MAX_MORE = 2
"""Topics that a review may open."""
_LEAST_ROUNDS = 3
_MAX_MISSING, _MOST_MISSING = 300, 12
_THOUGHTS = 1000
"""Tokens of the lead's thoughts, the last ones first."""
_PASSAGES = 12_000
"""Tokens of the words of pages that the lead itself has read."""
_SHARE = Share(5, 0.6, 0.5)


def _as_list(given: object) -> object:
    return [given] if isinstance(given, str) else given or []


class NotesReview(BaseModel):
    """The verdict over the notes."""

    missing: Annotated[list[Words], BeforeValidator(_as_list)] = Field(
        default_factory=list, description="Things that the reader misses, each by itself."
    )
    topics: list[TopicToPlan] = Field(default_factory=list, description="At most two, or none.")


async def review_notes(
    state: DeepState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> DeepUpdate:
    """Have a model judge the notes once, and open what it misses; never raise for its failure."""
    services, configuration = get_services(), configuration_of(runtime)
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    state = wished(state, wishes)
    meter = meter_of(state, configuration, services)
    if not _is_worth_it(state, configuration, meter, asked=bool(wishes)):
        return DeepUpdate(reviewed=True, wishes=wishes)
    workspace = services.workspace(room_of(state["turn"], runtime))
    read = await workspace.items(pages_read(state))
    prompt = await compute(
        lambda: _prompt(state, configuration, read),
        otherwise=lambda: _prompt(state, configuration, ()),
    )
    review, gaps = await parsed_or_gap(
        services.models, configuration.reflection_model, prompt, NotesReview,
        meter=meter, turn=state["turn"], part="reflection", thinks="reflection",
    )  # fmt: skip
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    if review is None:
        return DeepUpdate(reviewed=True, wishes=wishes, gaps=gaps, usage=meter.usage)
    plan, room = state.get("plan", []), _room(state, configuration)
    longer = with_topics(plan, review.topics[:room], len(plan) + MAX_MORE)
    added = len(longer) - len(plan)
    log.info("turn=%s %s: %d more topics", state["turn"]["id"], NODE, added)
    told = say("punctuation.semicolon", reader_language(state["turn"])).join(_things(review))
    runtime.stream_writer(event("reflection", NODE, text=told, count=added))
    update = DeepUpdate(reviewed=True, wishes=wishes, usage=meter.usage)
    if not added:
        return DeepUpdate(
            **update, gaps=[*gaps, *_missing(review, state)], search_results=_settled(state)
        )
    return DeepUpdate(**update, plan=longer, topic="", exploring=True, fruitless=0)


def _is_worth_it(
    state: DeepState, configuration: Configuration, meter: Meter, *, asked: bool
) -> bool:
    """Return whether a model wrote several notes, or left open what it found, and more may be.

    What the lead itself has read it has judged itself.

    Where the topics are spent, what is missing can still be told.

    `asked`: the person has just asked for something besides.
    """
    entries = state.get("search_results", [])
    noted = [each for each in entries if each["compressed_content"] and not each.get("whole")]
    explored = [each for each in entries if each.get("found")]
    judged = asked or len(noted) > 1 or any(each.get("open") for each in [*noted, *explored])
    if state.get("reviewed") or not judged:
        return False
    if any(gap["code"] in ENDING for gap in state.get("gaps", [])):
        return False
    if state["rounds"] + _LEAST_ROUNDS > configuration.max_exploration_rounds:
        return False
    return not share_spent(_SHARE, state.get("usage"), configuration, meter)


def _room(state: DeepState, configuration: Configuration) -> int:
    """Return how many topics may be added."""
    left = configuration.max_topics - len(state.get("search_results", []))
    return min(MAX_MORE, max(0, left))


def _missing(review: NotesReview, state: DeepState) -> list[Gap]:
    """Return what the notes lack and nobody will look up, if that is said in the right language."""
    language, things = reader_language(state["turn"]), _things(review)
    if not things or not is_written_in(" ".join(things), language):
        return []
    return [lacking(things, language)]


def _settled(state: DeepState) -> list[TopicResult]:
    """Return the topics that left something open without it: a model has judged it with all."""
    entries = [entry for entry in state.get("search_results", []) if entry.get("open")]
    return [TopicResult(**{**entry, "open": ""}) for entry in entries]


def _things(review: NotesReview) -> list[str]:
    """Return what a review misses, a few words each, each thing once: semicolons part them, too."""
    parts = (part for one in review.missing for part in one.replace("；", ";").split(";"))
    every = (clean_text(part, _MAX_MISSING).rstrip("。. ") for part in parts)
    return [*dict.fromkeys(filter(None, every))][:_MOST_MISSING]


def _prompt(
    state: DeepState, configuration: Configuration, read: Sequence[Item]
) -> list[BaseMessage]:
    """Return the prompt with all notes, and the passages of `read` that bear on what is asked."""
    turn = state["turn"]
    limit = context_limit(turn, configuration)
    values = {
        "today": with_weekday(turn["today"], "en"),
        "previous": previous_lines(state["previous"], limit // 20, turn["question"]),
        "plan": plan_elements(state.get("plan", []), limit // 10),
        "left": left(state, configuration),
        "question": cut_to_tokens(turn["question"], limit // 5),
    }
    target = answer_language(turn)
    bare = prompt_tokens(task_prompt("deep_review", target, topics="", pages="", **values))
    free = limit - bare
    ranked = RankedPassages(read, _wanted(state, read))
    shown = chosen_passages(ranked, {}, min(_PASSAGES, free // 3)) if read else []
    pages = page_elements(read, shown)
    topics = _topics(state, free - estimated_tokens(pages), shown)
    full = task_prompt("deep_review", target, topics=topics, pages=pages, **values)
    return with_wishes(full, state)


def _wanted(state: DeepState, read: Sequence[Item]) -> list[str]:
    """Return what the passages of pages have to bear on."""
    found = filter(None, (item.query for item in read))
    entries = state.get("search_results", [])
    planned = (f"{topic['name']} {topic['what_to_find']}" for topic in state.get("plan", []))
    explored = (f"{entry['topic']} {entry.get('open', '')}" for entry in entries)
    return [*dict.fromkeys([*found, state["turn"]["question"], *planned, *explored])]


def _topics(state: DeepState, tokens: int, shown: Sequence[Passage]) -> Raw:
    """Return the topics with their notes, each its share of the room; the map is one of them."""
    language, entries = state["turn"]["language"], state.get("search_results", [])
    share = max(0, tokens // (len(entries) + 3) - 80)
    rows = [topic_element(each, share, lambda text: without_quotes_of(text, shown))
            for each in entries]  # fmt: skip
    if records := unshown_record_lines(state):
        name = say("deep_research.map_topic", language)
        rows.append(element("topic", first_lines(records, share), name=name))
    if sums := "\n".join(calculated(state)):
        name = say("deep_research.calculated", language)
        rows.append(element("topic", cut_to_tokens(sums, share), name=name))
    # What a topic left open the lead may have found since, and says so.
    if thoughts := shown_notes(state.get("notes", []), min(share, _THOUGHTS)):
        name = say("deep_research.thoughts", language)
        rows.append(element("topic", thoughts, name=name))
    return Raw("\n".join(rows))


def after_notes(state: DeepState) -> Literal["explore", "write_report"]:
    """Route to what the review wants to know, else to the report."""
    return "explore" if state["exploring"] else "write_report"
