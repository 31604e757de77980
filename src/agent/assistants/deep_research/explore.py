"""One step of exploration: the model says what to do next, or a limit does."""

import logging
from collections.abc import Awaitable, Sequence
from itertools import groupby
from typing import Any, Literal, cast

from langchain_core.messages import AIMessage, AnyMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.gaps import STOPPED_EARLY, ask_or_gap, run_gap, stopped_early
from agent.assistants.common.material import with_ids_of
from agent.assistants.common.own_documents import SEARCH_DOCUMENTS, own_scope, search_own
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.search import map_tools
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import new_wishes, wished, with_wishes
from agent.assistants.common.turn import (
    Share,
    answer_model,
    context_limit,
    meter_of,
    own_limit,
    share_spent,
)
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    document_elements,
    read_documents_whole,
    rest_of,
)
from agent.assistants.deep_research.compress_topic import Compression
from agent.assistants.deep_research.notes import lead_notes, workspace_lines
from agent.assistants.deep_research.plan import (
    begun,
    next_planned,
    plan_elements,
    topic_named,
    without,
)
from agent.assistants.deep_research.state import (
    Counts,
    DeepState,
    DeepUpdate,
    Intent,
    configuration_of,
    topic_messages,
)
from agent.assistants.deep_research.tools import (
    SEARCH,
    THINK,
    last_step,
    offers_maps,
    own_tools,
    reads_left,
    reads_of_searches,
)
from agent.configuration import Configuration
from agent.core.budget import Meter, no_usage
from agent.core.progress import event
from agent.core.strings import cut_to_shares, cut_to_tokens, estimated_tokens
from agent.evidence.citations import MARKER
from agent.evidence.queries import clean_text
from agent.evidence.records import with_weekday
from agent.evidence.types import Gap, Source
from agent.knowledge.ranking import nearest_within
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import ModelAnswer
from agent.prompts import Raw, element, task_prompt
from agent.state import Turn, inner
from agent.texts import say

_TOOLS = 1000
"""Tokens for the descriptions of our own tools, a reply's beginning and separators."""
_MAP_TOOLS = 1500
_RECORD, _BEGINNING = 400, 200
_LISTED = 16
"""The part of the limit, one in …, for the list of pages."""
_STEP = 48_000
_DOCUMENTS_LATER = 20_000
"""Tokens of own documents in every step but the first."""
_UNREAD = "d0"
"""What the ids begin with of passages of documents that have no room, as of a first search."""
_PREVIOUS = 10
"""The part of the limit, one in …, for the last turn: less showed titles only to who has to decide
whether anything must be looked up. Each round is sent it again."""
_NAME = 120
"""Characters of a question that stands for a topic without a name."""


async def own_documents(
    state: DeepState,
    configuration: Configuration,
    services: Services,
    runtime: Runtime[Configuration],
    meter: Meter,
) -> tuple[DeepState, Raw, list[Source]]:
    """Return own documents for the lead: whole at first, later what bears on the topic.

    Of those that have no room come the passages nearest to the question, with a source for each
    that is new; of the last turn the state has what these do not show.
    """
    scope = own_scope(state.get("readable", []), state.get("owner", ""), runtime)
    if scope is None:
        return state, Raw(""), []
    turn, own = state["turn"], own_limit(state["turn"], configuration)
    whole = await read_documents_whole(scope, services, turn["language"], tokens=own)
    rest, new = rest_of(scope, whole), list[Source]()
    gathered = state.get("sources_gathered", [])
    nearest = [source for source in gathered if source["id"].startswith(f"{_UNREAD}-")]
    if rest is None:
        nearest = []
    elif not state["rounds"] and not nearest:
        found = await search_own(
            turn["question"], rest, services, meter, prefix=_UNREAD, language=turn["language"]
        )
        nearest = new = found.sources
    if state["rounds"]:
        asked = [turn["question"], state["topic"]]
        whole = first_and_nearest(whole, asked, min(own, _DOCUMENTS_LATER))
    rows = [
        element("passage", f"[^{each['id']}] {each['quotes'][0]}", title=each["title"])
        for each in nearest
    ]
    earlier = with_ids_of(whole.sources(turn["language"]), state["previous"])
    state = cast(DeepState, {**state, "previous": earlier})
    return state, Raw("\n".join([document_elements(whole), *rows])), new


def first_and_nearest(whole: WholeDocuments, queries: Sequence[str], tokens: int) -> WholeDocuments:
    """Return the small documents, whole, that have half of the room, and passages of the others.

    Those that bear most on the queries, under the ids that they have in all. The small ones are
    the beginning of all prompts.
    """
    texts = whole.texts
    if sum(map(estimated_tokens, texts.values())) <= tokens:
        return whole
    small, first = set[str](), tokens // 2
    for _, ids in groupby(texts, key=lambda name: name.partition("-")[0]):
        every = {name: estimated_tokens(texts[name]) for name in ids}
        first -= sum(every.values())
        if first < 0:
            break
        small |= every.keys()
        tokens -= sum(every.values())
    others = [name for name in texts if name not in small]
    near = nearest_within([texts[name] for name in others], "\n".join(queries), tokens)
    return whole.with_passages({*small, *(others[place] for place in near)})


def explore_prompt(
    state: DeepState, configuration: Configuration, documents: str = ""
) -> list[BaseMessage]:
    """Return instructions, own documents, what is done and known, and the topic's messages."""
    turn, limit = state["turn"], lead_limit(state["turn"], configuration)
    asked = f"{turn['question']}\n{state['topic']}"
    values = {
        "documents": documents,
        "today": with_weekday(turn["today"], "en"),
        "conversation": cut_to_tokens(state["conversation"], limit // 10),
        "previous": previous_lines(
            state["previous"], limit // _PREVIOUS, asked, places_in=turn["language"]
        ),
        "plan": plan_elements(state.get("plan", []), limit // 10),
        "topics_done": cut_to_tokens(topics_done(state), limit // 8),
        "notes": lead_notes(state, limit // 6),
        "workspace": workspace_lines(state, limit // _LISTED),
        "topic": state["topic"],
        "left": left(state, configuration),
        "question": cut_to_tokens(turn["question"], limit // 5),
    }
    prompt = task_prompt("deep_explore", **values)
    free = limit - prompt_tokens(prompt) - _tool_tokens(state, configuration)
    return with_wishes([*prompt, *_fitting(topic_messages(state), free)], state)


def _fitting(messages: list[AnyMessage], tokens: int) -> list[AnyMessage]:
    """Return a topic's messages, their results cut to shares where all have no room."""
    texts = [str(each.text) for each in messages if isinstance(each, ToolMessage)]
    size = prompt_tokens(messages)
    if size <= tokens:
        return messages
    free = tokens - size + sum(map(estimated_tokens, texts))
    shares = iter(cut_to_shares(texts, max(0, free)))
    return [
        each.model_copy(update={"content": next(shares)}) if isinstance(each, ToolMessage) else each
        for each in messages
    ]


def _tool_tokens(state: DeepState, configuration: Configuration) -> int:
    return _TOOLS + (_MAP_TOOLS if offers_maps(state, configuration) else 0)


def lead_limit(turn: Turn, configuration: Configuration) -> int:
    """Return the tokens of a step's prompt, without own documents: it is sent again each time."""
    return min(_STEP, context_limit(turn, configuration))


def lead_model(state: DeepState, configuration: Configuration) -> str:
    """Return the model that leads: its own setting, else what writes the answer."""
    return configuration.lead_model or answer_model(state["turn"], configuration)


def topic_name(state: DeepState) -> str:
    """Return the present topic's name; without one it is the question.

    Beside a plan that is called the whole of it: cut at its length it would seem another topic.
    """
    question = state["turn"]["question"]
    if state.get("plan"):
        question = say("deep_research.whole_question", state["turn"]["language"])
    return state["topic"] or clean_text(question, _NAME)


def left(state: DeepState, configuration: Configuration) -> str:
    """Return how many rounds and topics, the present one included, may still be used."""
    rounds = configuration.max_exploration_rounds - state["rounds"]
    done = sum(topic["status"] == "done" for topic in state.get("plan", []))
    topics = configuration.max_topics - max(done, len(state.get("search_results", [])))
    text = say(
        "deep_research.left",
        state["turn"]["language"],
        rounds=str(max(1, rounds)),
        topics=str(max(1, topics)),
    )
    if configuration.max_page_reads:
        text += say(
            "deep_research.left_of_pages",
            state["turn"]["language"],
            pages=str(reads_left(state, configuration)),
            searches=str(reads_of_searches(state, configuration)),
        )
    if not offers_maps(state, configuration):
        return text
    used = (state.get("usage") or no_usage())["map_calls"]
    calls = str(max(0, configuration.max_map_calls - used))
    return text + say("deep_research.left_on_map", state["turn"]["language"], calls=calls)


def topics_done(state: DeepState) -> str:
    """Return a line for each closed topic: its pages, what is known and what is open."""
    language, lines = state["turn"]["language"], []
    for entry in state.get("search_results", []):
        text = entry["reason"]
        if (notes := entry["compressed_content"]) and not entry.get("whole"):
            text = cut_to_tokens(" ".join(MARKER.sub("", notes).split()), _BEGINNING)
        open_ = entry.get("open", "")
        key = "deep_research.topic_open" if open_ else "deep_research.topic_closed"
        values = {"topic": entry["topic"], "pages": len(entry["useful_webpages"]), "open": open_}
        lines.append("- " + cut_to_tokens(say(key, language, text=text, **values), _RECORD))
    return "\n".join(lines)


def room(state: DeepState, configuration: Configuration) -> int:
    """Return the tokens that the next prompt could still take."""
    used = prompt_tokens(explore_prompt(state, configuration))
    return lead_limit(state["turn"], configuration) - used - _tool_tokens(state, configuration)


ENDING = frozenset({"rounds_spent", "run_share_spent", "model_stuck", "model_failed"})
MAX_FRUITLESS = 4
"""Rounds in a row in which nothing was looked up."""
ROUNDS_PER_TOPIC = 12
_TOKEN_SHARE, _SECOND_SHARE = 0.7, 0.6


def ending(state: DeepState, configuration: Configuration, meter: Meter) -> Gap | None:
    """Return why exploration must end now, for the reader; None where it may go on."""
    language = state["turn"]["language"]
    if configuration.answer_now:
        return stopped_early(language)
    for gap in state.get("gaps", []):
        if gap["code"] in ENDING:
            return gap
    if state["rounds"] >= configuration.max_exploration_rounds:
        limit = str(configuration.max_exploration_rounds)
        return run_gap("deep_research.rounds_spent", language, limit=limit)
    if state["fruitless"] >= MAX_FRUITLESS:
        return run_gap("deep_research.model_stuck", language, limit=str(MAX_FRUITLESS))
    if spent := share_spent(_share(state), state.get("usage"), configuration, meter):
        return run_gap("deep_research.run_share_spent", language, limit=spent)
    return None


def _share(state: DeepState) -> Share:
    """Return what exploration leaves to reading and writing: a call for each topic, and three."""
    return Share(len(state.get("search_results", [])) + 3, _TOKEN_SHARE, _SECOND_SHARE)


log = logging.getLogger(__name__)
NODE = "explore"
_SURELY = 2
"""Calls without any of tools after which the model is not asked for one again."""
_LEAST_ROOM = 6
"""The part of the limit (one in …) that must be free for the next results."""


async def explore(
    state: DeepState,
    runtime: Runtime[Configuration],
    *,
    get_services: GetServices,
    compression: Compression,
) -> DeepUpdate:
    """Ask the model once; end or clear instead where a limit says so. Never raise for it."""
    services = get_services()
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    state = cast(DeepState, {**wished(state, wishes), "plan": without(state.get("plan"), wishes)})
    if (left := _left_topic(state)) is None:
        with compression.tasks.ending_with(state["turn"]["id"]):
            left = await _explored(state, runtime, services)
    return DeepUpdate(**{"plan": state["plan"], **left, "wishes": wishes}) if wishes else left


def _left_topic(state: DeepState) -> DeepUpdate | None:
    """Return the change to the next topic where the present one was dropped; the end after all."""
    topic = topic_named(state["plan"], state["topic"]) if state["topic"] else None
    if topic is None or topic["status"] != "dropped":
        return None
    reason = say("steering.drop", state["turn"]["language"], text=topic["name"])
    kind = "change" if next_planned(state["plan"]) else "end"
    return DeepUpdate(plan=state["plan"], intent=_intent(kind, reason))


async def _explored(
    state: DeepState, runtime: Runtime[Configuration], services: Services
) -> DeepUpdate:
    configuration = configuration_of(runtime)
    meter = meter_of(state, configuration, services)
    if gap := ending(state, configuration, meter):
        return _end_update(state, gap, runtime)
    if _is_full(state, configuration):
        cleared = _intent("clear", say("deep_research.cleared", state["turn"]["language"]))
        return DeepUpdate(intent=cleared, counts=Counts(forced_archives=1))
    state, opening = _opened(state, runtime)
    if meter.budget.remarks["model_no_tools"] >= _SURELY:
        return DeepUpdate(**{**opening, **_by_code(state)})
    tools, gaps = await _tools(state, configuration, services, meter)
    for gap in gaps:
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    turn, language = state["turn"], state["turn"]["language"]
    shown, documents, found = await own_documents(state, configuration, services, runtime, meter)
    if found:
        opening = DeepUpdate(**{**opening, "sources_gathered": found})
    asking: Awaitable[ModelAnswer[BaseModel]] = services.models.ask(
        lead_model(state, configuration),
        explore_prompt(shown, configuration, documents),
        meter=meter,
        tools=tools,
        thinking=DEFAULT_THINKING["research"],
    )
    reply, failed = await ask_or_gap(
        asking,
        turn,
        NODE,
        lambda reason: run_gap("deep_research.model_failed", language, reason=reason),
    )
    if reply is None:
        ended = _end_update(state, failed[0], runtime)
        return DeepUpdate(**{**opening, **ended}, usage=meter.usage)
    if reply.no_tools:
        by_code = DeepUpdate(**{**_by_code(state), "gaps": gaps, "usage": meter.usage})
        return DeepUpdate(**{**opening, **by_code})
    return DeepUpdate(**{**opening, **_step_update(state, reply.message, gaps, meter)})


def _opened(state: DeepState, runtime: Runtime[Configuration]) -> tuple[DeepState, DeepUpdate]:
    """Return the state with its first planned topic under way where it has none, and the update."""
    plan = state.get("plan", [])
    topic = next_planned(plan)
    if state["topic"] or topic is None:
        return state, DeepUpdate()
    name = topic["name"]
    runtime.stream_writer(event("topic_started", NODE, text=name, count=0))
    update = DeepUpdate(topic=name, plan=begun(plan, name))
    return cast(DeepState, {**state, **update}), update


def _step_update(state: DeepState, message: AIMessage, gaps: list[Gap], meter: Meter) -> DeepUpdate:
    messages: list[Any] = [message]
    if not message.tool_calls:
        messages.append(HumanMessage(say("deep_research.nudge", state["turn"]["language"])))
    fruitless = state["fruitless"] if message.tool_calls else state["fruitless"] + 1
    return DeepUpdate(
        topic_messages=inner(messages),
        rounds=state["rounds"] + 1,
        topic_rounds=state["topic_rounds"] + 1,
        fruitless=fruitless,
        gaps=gaps,
        usage=meter.usage,
    )


def _end_update(state: DeepState, gap: Gap, runtime: Runtime[Configuration]) -> DeepUpdate:
    """Return the end, told once; where nothing was searched, a search for the question first."""
    is_known = gap in state.get("gaps", [])
    if not is_known:
        log.info("turn=%s %s: ended by %s", state["turn"]["id"], NODE, gap["code"])
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
    gaps = [] if is_known else [gap]
    if not state["searched"] and gap["code"] != STOPPED_EARLY:
        return DeepUpdate(topic_messages=inner([calls_of_our_own(state)]), gaps=gaps, searched=True)
    return DeepUpdate(intent=_intent("end", gap["message"]), gaps=gaps)


def _by_code(state: DeepState) -> DeepUpdate:
    """Return the next step where the model's service calls no tools.

    Each topic is searched for once, by its name and by the question.
    """
    if not any(isinstance(m, AIMessage) and m.tool_calls for m in topic_messages(state)):
        message = calls_of_our_own(state, state["topic"])
        return DeepUpdate(
            topic_messages=inner([message]),
            searched=True,
            rounds=state["rounds"] + 1,
            topic_rounds=state["topic_rounds"] + 1,
        )
    kind = "change" if next_planned(state.get("plan", [])) else "end"
    return DeepUpdate(intent=_intent(kind, say("gaps.model_no_tools", state["turn"]["language"])))


def calls_of_our_own(state: DeepState, topic: str = "") -> AIMessage:
    """Return the calls that the model should have made: a search for the question itself."""
    question = state["turn"]["question"]
    queries = list(dict.fromkeys(filter(None, [topic, question])))
    inside = state["turn"].get("own_only", False)
    return AIMessage(
        content="",
        tool_calls=[
            {"name": THINK, "args": {"reflection": question}, "id": "own-0", "type": "tool_call"},
            {
                "name": SEARCH_DOCUMENTS if inside else SEARCH,
                "args": {"query": question} if inside else {"queries": queries},
                "id": "own-1",
                "type": "tool_call",
            },
        ],
    )


def _intent(kind: Any, reason: str) -> Intent:
    return Intent(kind=kind, new_topic="", reason=reason, urls=None)


def _is_full(state: DeepState, configuration: Configuration) -> bool:
    """Return whether the topic's messages leave no room for results, or took too many rounds.

    The last step's are none of them: what they have brought nobody has read.
    """
    messages = topic_messages(state)
    if len(messages) == len(last_step(messages)):
        return False
    free = room(state, configuration)
    full = free < lead_limit(state["turn"], configuration) // _LEAST_ROOM
    return full or state["topic_rounds"] >= ROUNDS_PER_TOPIC


async def _tools(
    state: DeepState, configuration: Configuration, services: Services, meter: Meter
) -> tuple[list[BaseTool], list[Gap]]:
    """Return our own tools, and the map's where a place is named and the map can be had."""
    own = own_tools(state, configuration, code=await services.code_runner() is not None)
    if not offers_maps(state, configuration):
        return own, []
    maps, gaps = await map_tools(state["turn"], services, meter)
    return [*own, *maps], gaps


def after_explore(state: DeepState) -> Literal["act", "switch_topic", "explore"]:
    """Route to what the model or a limit asked for; back where the model only talked."""
    if state.get("intent"):
        return "switch_topic"
    return "act" if has_calls(state) else "explore"


def has_calls(state: DeepState) -> bool:
    """Return whether the topic's last message asks for something."""
    last = next(reversed(topic_messages(state)), None)
    return isinstance(last, AIMessage) and bool(last.tool_calls)
