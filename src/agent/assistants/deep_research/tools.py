"""The tools of exploration as a model sees them, and the order in which it may call them.

They are only described here: `act` executes searches, `switch_topic` changes and endings.
"""

import re
import unicodedata
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final, Literal

from langchain_core.messages import AIMessage, AnyMessage, ToolCall, ToolMessage
from langchain_core.tools import BaseTool, tool

from agent.assistants.common.document_tools import DOCUMENT_TOOLS
from agent.assistants.common.reading import READ, READING
from agent.assistants.common.search import belongs_on_map, offers_map
from agent.assistants.common.toolbox import CODING, queries_of
from agent.assistants.deep_research.state import Counts, DeepState
from agent.configuration import Configuration
from agent.evidence.queries import clean_text
from agent.search.hits import MAX_QUERY

THINK, SEARCH, EXPLORE = "think_tool", "tavily_search", "explore"
CHANGE, END = "change_research_topic", "end_of_research"
OUTSIDE = (SEARCH, READ, EXPLORE)
"""Tools that ask the web."""
_THOUGHTFUL = (THINK, SEARCH, EXPLORE, CHANGE, END)
"""Calls that carry a thought."""
MAX_QUERIES, MAX_EXPLORED = 5, 5
_MAX_TOPIC, _MAX_REASON, MAX_THOUGHT, _MAX_URLS = 120, 300, 1500, 60


@tool
def think_tool(reflection: str) -> str:
    """Note what was found, what is missing and what to do next; before and after each search."""
    return reflection


@tool
def tavily_search(reflection: str, queries: list[str]) -> str:
    """Search the web for one to three distinct queries at once; brings words of the pages.

    reflection: what is known, what is missing, why these queries.
    """
    return ""


@tool(EXPLORE)
def explore_topics(reflection: str, topics: list[str]) -> str:
    """Give two to five independent matters to explorers, who search side by side.

    topics: each as "matter | query | query", three queries at most; a planned topic by its name
    or id (T3). Brings findings with the words of pages, their ids and what stays open. Opens
    pages of those that are left to searches, each topic its share.
    """
    return ""


@tool
def change_research_topic(
    reflection: str, new_topic: str, reason: str, search_result_of_current_topic: list[str]
) -> str:
    """Close the present topic, keeping the ids of its useful pages, and begin another one.

    reflection: what was found and what stays open.
    """
    return ""


@tool
def end_of_research(reflection: str, search_result_of_current_topic: list[str]) -> str:
    """End the research, keeping the ids of the present topic's useful pages.

    reflection: what was found, which planned topics (T3) that answers, and what stays open.
    """
    return ""


EXPLORING: tuple[BaseTool, ...] = (
    think_tool,
    tavily_search,
    explore_topics,
    READING,
    change_research_topic,
    end_of_research,
)


def thought_of(call: ToolCall) -> str:
    """Return the `reflection` among a call's arguments, which every tool may have."""
    return _text(call["args"], "reflection", MAX_THOUGHT)


@dataclass(frozen=True)
class ToExplore:
    """A matter to be explored by itself, with its first queries."""

    topic: str
    queries: tuple[str, ...]
    wanted: str = ""
    """What the plan says is to be found of it."""


def explored_topics(call: ToolCall, planned: Mapping[str, str] | None = None) -> list[ToExplore]:
    """Return the matters of a call, at most five; one without queries is its own.

    `planned` are the names of planned topics by their ids: a matter may be called by either.
    """
    found: dict[str, ToExplore] = {}
    for line in _texts(call["args"], "topics", "topic"):
        parts = [text for part in line.split("|") if (text := clean_text(part, MAX_QUERY))]
        if parts:
            # A model calls it `T3`, `[T3]` or `T3: its name`.
            name = parts[0].replace("：", ":").partition(":")[0].strip(_QUOTES + " ").upper()
            parts[0] = (planned or {}).get(name, parts[0])
            found.setdefault(parts[0], ToExplore(parts[0], tuple(parts[1:4] or parts[:1])))
    return list(found.values())[:MAX_EXPLORED]


def new_topic_of(call: ToolCall) -> str:
    return _text(call["args"], "new_topic", _MAX_TOPIC)


def stated_reason(call: ToolCall) -> str:
    return _text(call["args"], "reason", _MAX_REASON)


def useful_of(call: ToolCall) -> list[str]:
    """Return the ids or addresses that the model calls useful, as it wrote them."""
    named = _texts(call["args"], "search_result_of_current_topic")
    return list(dict.fromkeys(n for name in named if (n := name.strip(" []^"))))[:_MAX_URLS]


def _text(arguments: Mapping[str, Any], name: str, limit: int) -> str:
    value = arguments.get(name)
    return clean_text(value, limit) if isinstance(value, str) else ""


def _texts(arguments: Mapping[str, Any], *names: str) -> list[str]:
    """Return a list of texts; models also write one text, or lines, for a list."""
    value = next((arguments[name] for name in names if arguments.get(name)), None)
    if isinstance(value, str):
        return value.splitlines()
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


_QUOTES = "\"'“”‘’「」《》【】[]()。.,:;!?、"
CallRefusal = Literal[
    "empty_thought",
    "empty_search",
    "search_first",
    "same_topic",
    "done_topic",
    "no_topic",
    "planned_left",
    "second_change",
    "unseen",
    "code_first",
    "too_many",
    "unknown_tool",
]
Ruling = CallRefusal | Literal["moved"] | None
"""Refused, left to the topic that a change begins, or allowed."""
MOVED: Final = "moved"
PLANNED_LEFT: Final = "planned_left"
MAX_CALLS = 12
"""Calls of one message that are done."""
_ID = re.compile(r"(?<![A-Z0-9])(T\d{1,3})(?![A-Z0-9])")
"""What a planned topic is called by."""
_TO = {"-", "–", "—", "~", "～", "至", "到"}
"""What stands between the first and the last of several."""
_KEPT = 3
"""The part of a turn's pages, one in so many, that no search opens by itself."""


@dataclass(frozen=True)
class TopicHistory:
    """Hold what happened before these calls, as far as it matters to them."""

    topic: str
    done: Collection[str]
    """The topics that are closed."""
    thought: bool
    """Whether the model has thought since the last search, or since the topic began."""
    searched: bool
    """Whether anything was searched or opened in this turn."""
    answered: bool = False
    """Whether what earlier turns found may be all that the question needs."""
    planned: Mapping[str, str] = field(default_factory=dict)
    """The topics of the plan that nobody has looked into yet, by their ids."""
    reminded: bool = False
    """Whether an end of this topic was refused before for what is planned."""
    tools: Collection[str] = tuple(each.name for each in EXPLORING)
    """The names of those that there are."""
    moved: bool = False
    """Whether these calls stood behind the change that began the topic, with its thought."""


def thought_since_search(messages: Sequence[AnyMessage]) -> bool:
    """Return whether the model has thought alone since the last search of a topic."""
    for message in reversed(messages):
        if isinstance(message, ToolMessage) and message.status == "success":
            if message.name == THINK:
                return True
            if message.name in (SEARCH, EXPLORE):
                return False
    return False


def looked_up(messages: Sequence[AnyMessage]) -> bool:
    """Return whether a topic was searched for, read about or asked of the map."""
    return any(
        isinstance(message, ToolMessage)
        and message.status == "success"
        and message.name not in (THINK, CHANGE, END)
        for message in messages
    )


def last_step(messages: Sequence[AnyMessage]) -> list[AnyMessage]:
    """Return the model's last message of a topic with the answers to it."""
    at = max((n for n, each in enumerate(messages) if isinstance(each, AIMessage)), default=0)
    return list(messages[at:])


def was_reminded(messages: Sequence[AnyMessage]) -> bool:
    """Return whether an end was refused before because of planned topics, which it named."""
    return any(
        isinstance(message, ToolMessage) and message.artifact == PLANNED_LEFT
        for message in messages
    )


def last_thought(messages: Sequence[AnyMessage]) -> str:
    """Return the model's last thought in a topic."""
    for message in reversed(messages):
        calls = message.tool_calls if isinstance(message, AIMessage) else []
        closing = [call for call in calls if call["name"] in (CHANGE, END)]
        for call in [*closing, *reversed(calls)]:
            if call["name"] in _THOUGHTFUL and (thought := thought_of(call)):
                return thought
        if isinstance(message, AIMessage) and (text := clean_text(str(message.text), MAX_THOUGHT)):
            return text
    return ""


def same_topic(one: str, other: str) -> bool:
    """Return whether two names are the same but for case, width and punctuation."""
    return _plain(one) == _plain(other)


def moved_calls(calls: Sequence[ToolCall]) -> list[AnyMessage]:
    """Return the message with which a topic begins: calls that stood behind the change to it."""
    return [AIMessage("", tool_calls=list(calls), id=f"{MOVED}-{calls[0]['id']}")] if calls else []


def were_moved(message: AnyMessage) -> bool:
    """Return whether a message was made by `moved_calls`."""
    return (message.id or "").startswith(f"{MOVED}-")


def ruled(calls: Sequence[ToolCall], history: TopicHistory) -> list[Ruling]:
    """Return for each call in order why it is refused, or None where it is allowed.

    What stands behind a change belongs to the topic that it begins.
    """
    order, rulings = _Order(history), list[Ruling]()
    for number, call in enumerate(calls):
        if order.changed:
            rulings.append(MOVED)
        elif number >= MAX_CALLS:
            rulings.append("too_many")
        else:
            rulings.append(order.judge(call, calls[number + 1 :]))
    return rulings


def thoughtless(calls: Sequence[ToolCall], history: TopicHistory) -> list[ToolCall]:
    """Return the searches of one message that no thought came before.

    The model is asked for it with their results: a search that is refused costs a step more.
    """
    order = _Order(history)
    for number, call in enumerate(calls[:MAX_CALLS]):
        order.judge(call, calls[number + 1 :])
    return order.thoughtless


def _ids_in(text: str, ids: Sequence[str]) -> set[str]:
    """Return which ids of planned topics a text names, by themselves or between two: T1–T4."""
    parts = _ID.split(text.upper())
    named, between = parts[1::2], parts[2:-1:2]
    found = {*named}
    for (first, last), sign in zip(pairwise(named), between, strict=True):
        if sign.strip() in _TO:
            found |= {name for name in ids if int(first[1:]) < int(name[1:]) < int(last[1:])}
    return found


class _Order:
    """Check the calls of one message in their order."""

    def __init__(self, history: TopicHistory) -> None:
        self._history = history
        self._thought = history.thought or history.moved
        self._ending, self._searching, self.changed = False, False, False
        self.thoughtless = list[ToolCall]()
        """The searches that nobody thought before."""

    def judge(self, call: ToolCall, following: Sequence[ToolCall]) -> CallRefusal | None:
        name = call["name"]
        if name not in self._history.tools:
            return "unknown_tool"
        if name in (CHANGE, END):
            return self._closing(call, following)
        if name == THINK:
            return self._thinking(call)
        return self._search(call) if name in (SEARCH, EXPLORE) else None

    def _thinking(self, call: ToolCall) -> CallRefusal | None:
        if not thought_of(call):
            return "empty_thought"
        if self._searching:
            # A thought beside a search was had before its results were seen.
            return None
        self._thought = True
        return None

    def _search(self, call: ToolCall) -> CallRefusal | None:
        if not (queries_of(call, MAX_QUERIES) or explored_topics(call)):
            return "empty_search"
        if not (self._thought or self._searching or thought_of(call)):
            self.thoughtless.append(call)
        self._thought, self._searching = False, True
        return None

    def _closing(self, call: ToolCall, following: Sequence[ToolCall]) -> CallRefusal | None:
        if self._ending or self._history.moved:
            return "second_change"
        if self._searching:
            return "unseen"
        if call["name"] == CHANGE and (refusal := self._unfit(new_topic_of(call))):
            return refusal
        if call["name"] == END and not (self._history.searched or self._history.answered):
            return "search_first"
        if call["name"] == END and not self._history.reminded and self._forgets(call):
            return PLANNED_LEFT
        if call["name"] == END and any(each["name"] in (SEARCH, EXPLORE) for each in following):
            return "unseen"
        self.changed, self._ending = call["name"] == CHANGE, call["name"] == END
        return None

    def _forgets(self, call: ToolCall) -> bool:
        """Return whether an end's reflection names one of the planned topics not at all."""
        thought, planned = thought_of(call), self._history.planned
        ids, words = _ids_in(thought, [*planned]), _plain(thought)
        return any(
            name not in ids and _plain(topic) not in words for name, topic in planned.items()
        )

    def _unfit(self, topic: str) -> CallRefusal | None:
        if not topic:
            return None if self._history.planned else "no_topic"
        if same_topic(topic, self._history.topic):
            return "same_topic"
        if any(same_topic(topic, closed) for closed in self._history.done):
            return "done_topic"
        return None


def _plain(topic: str) -> str:
    folded = unicodedata.normalize("NFKC", topic).casefold()
    return "".join(folded.split()).strip(_QUOTES)


def own_tools(state: DeepState, configuration: Configuration, *, code: bool) -> list[BaseTool]:
    """Return our own tools that there are in this turn; `code` says if programs can be run."""
    inside = state["turn"].get("own_only", False)
    tools = [t for t in EXPLORING if t.name != READ or configuration.max_page_reads]
    tools = [t for t in tools if not (inside and t.name in OUTSIDE)]
    return [*tools, *(DOCUMENT_TOOLS if state.get("readable") else ()), *([CODING] if code else ())]


def offers_maps(state: DeepState, configuration: Configuration) -> bool:
    """Return whether the map's tools belong to this question, and are available."""
    turn, routing = state["turn"], configuration.geo_routing
    belongs = belongs_on_map(routing, turn.get("map_helps"), [turn["question"]])
    return belongs and offers_map(state, configuration)


def reads_left(state: DeepState, configuration: Configuration) -> int:
    """Return how many pages the model may still open in this turn."""
    counts: Counts = state.get("counts") or Counts()
    return max(0, configuration.max_page_reads - counts.get("pages_opened", 0))


def reads_of_searches(state: DeepState, configuration: Configuration) -> int:
    """Return how many pages searches may still open by themselves: the lead keeps a third."""
    return max(0, reads_left(state, configuration) - configuration.max_page_reads // _KEPT)
