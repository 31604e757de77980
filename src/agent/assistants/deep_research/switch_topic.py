"""Archive what the present topic found and take its messages out of the conversation."""

import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

from langchain_core.messages import AnyMessage, RemoveMessage, ToolMessage
from langgraph.runtime import Runtime
from langgraph.types import Send

from agent.assistants.common.gaps import run_gap
from agent.assistants.common.reading import READ
from agent.assistants.common.search import located
from agent.assistants.common.toolbox import MAP_PREFIXES
from agent.assistants.deep_research.compress_topic import Compression
from agent.assistants.deep_research.explore import calls_of_our_own, has_calls, topic_name
from agent.assistants.deep_research.notes import thoughts_of
from agent.assistants.deep_research.plan import (
    begun,
    next_planned,
    topic_named,
    with_status,
)
from agent.assistants.deep_research.state import (
    Counts,
    DeepState,
    DeepUpdate,
    FoundPage,
    Intent,
    PlannedTopic,
    ShownPage,
    TopicBranch,
    TopicResult,
    UsefulPage,
    add_counts,
    configuration_of,
    found_page,
    kept_pages,
    merge_topics,
    topic_messages,
)
from agent.assistants.deep_research.tools import (
    SEARCH,
    last_step,
    last_thought,
    looked_up,
    moved_calls,
)
from agent.configuration import Configuration
from agent.core.budget import add_usage, no_usage
from agent.core.progress import Emit, event
from agent.evidence.markdown import canonical
from agent.evidence.queries import same_search
from agent.evidence.types import Gap
from agent.state import reader_language, replaced

log = logging.getLogger(__name__)
NODE = "switch_topic"
_MAX_NAMED, _UNNAMED = 30, 6
_MAX_LEFT = 60
_MAX_THOUGHT = 400


async def switch_topic(
    state: DeepState, runtime: Runtime[Configuration], *, compression: Compression
) -> DeepUpdate:
    """Carry out a change, an end or a clearing that was decided."""
    intent = _last_try(state) or cast(Intent, state["intent"])
    limit, messages = configuration_of(runtime).max_topics, topic_messages(state)
    new_topic = _new_topic(state, intent)
    archive, name = _archive(state, intent, messages), topic_name(state)
    entry = archive.own(name)
    entries = len(state.get("search_results", [])) + _is_new(state, entry)
    goes_on = intent["kind"] == "clear" or (intent["kind"] == "change" and entries < limit)
    gaps = _gaps(state, entry, messages)
    if intent["kind"] == "change" and not goes_on:
        values = {"limit": str(limit), "topic": new_topic}
        gaps.append(run_gap("deep_research.topics_spent", reader_language(state["turn"]), **values))
    topic = new_topic if goes_on and new_topic else state["topic"]
    _tell(entry, gaps, runtime.stream_writer)
    if goes_on and intent["kind"] == "change":
        runtime.stream_writer(event("topic_started", NODE, text=topic, count=entries))
    log.info("turn=%s %s: %s, %d topics", state["turn"]["id"], NODE, intent["kind"], entries)
    is_cleared = intent["kind"] == "clear" and not intent.get("calls")
    # What the last calls have brought nobody has read.
    unread = last_step(messages) if is_cleared else []
    calls = moved_calls(intent.get("calls", [])) if goes_on else []
    switched = DeepUpdate(
        messages=_removals(state),
        topic_messages=replaced([*unread, *calls]),
        search_results=archive.entries,
        pages_found=replaced([]),
        pages_left=replaced(_pages_left(state, archive.entries)),
        links_found=[] if is_cleared else replaced([]),
        topic=topic,
        positions={**state.get("positions", {}), **located(messages)},
        notes=_notes(state, messages[: len(messages) - len(unread)]),
        plan=_plan(
            state,
            intent,
            topic if goes_on else "",
            is_done=archive.names_pages or looked_up(messages),
        ),
        topic_rounds=0,
        exploring=goes_on,
        intent=None,
        gaps=gaps,
        counts=Counts(invented_urls=archive.invented),
    )
    if goes_on and intent["kind"] == "change":
        return await _with_notes(state, switched, runtime, compression)
    return switched


def _last_try(state: DeepState) -> Intent | None:
    """Return a search for the question itself where a model ends and nothing at all was found.

    A weak model names topics and queries that have nothing to do with it.
    """
    intent, question = cast(Intent, state["intent"]), state["turn"]["question"]
    pages = state["pages_found"] or state.get("pages_left") or kept_pages(state)
    found = pages or state.get("sources_gathered") or state["previous"]["sources"]
    asked = [query["query"] for query in state.get("queries", [])]
    is_known = any(same_search(question, query) for query in asked)
    if intent["kind"] != "end" or intent["urls"] is None or found or is_known:
        return None
    return Intent(**{**intent, "kind": "clear", "calls": calls_of_our_own(state).tool_calls})


def _notes(state: DeepState, messages: Sequence[AnyMessage]) -> list[str]:
    return [] if _is_dropped(state) else thoughts_of(state["topic"], messages)


def _removals(state: DeepState) -> list[Any]:
    """Take out the messages that a run of an earlier version left among the thread's."""
    return [RemoveMessage(id=message.id or "") for message in state["messages"][state["base"] :]]


def _tell(entry: TopicResult | None, gaps: Sequence[Gap], emit: Emit) -> None:
    """Emit what is missing, and the topic that is closed."""
    for gap in gaps:
        emit(event("gap", NODE, text=gap["message"]))
    if entry:
        count = len(entry["useful_webpages"])
        emit(event("topic_done", NODE, text=entry["topic"], count=count))


async def _with_notes(
    state: DeepState,
    switched: DeepUpdate,
    runtime: Runtime[Configuration],
    compression: Compression,
) -> DeepUpdate:
    """Begin to compress the topic that is left; add the notes of those that were left before."""
    closed = merge_topics(state.get("search_results"), switched["search_results"])
    branches = topic_branches(cast(DeepState, {**state, "search_results": closed}))
    left = topic_name(state)
    for branch in branches:
        if branch["result"]["topic"] == left:
            compression.start(branch, runtime)
    with compression.tasks.ending_with(state["turn"]["id"]):
        noted = [
            await compression.result(branch, runtime)
            for branch in branches
            if branch["result"]["topic"] != left
        ]
    merged: dict[str, Any] = {**switched}
    for update in noted:
        for key in ("search_results", "gaps"):
            merged[key] = [*cast(Any, update)[key], *merged[key]]
        sources = [*merged.get("sources_gathered", []), *update["sources_gathered"]]
        merged["sources_gathered"] = sources
        merged["counts"] = add_counts(merged["counts"], update["counts"])
        merged["usage"] = add_usage(merged.get("usage"), update["usage"])
    return cast(DeepUpdate, merged)


def _plan(state: DeepState, intent: Intent, topic: str, *, is_done: bool) -> list[PlannedTopic]:
    """Return the plan with the topic that is left, and the one that begins, if any.

    Where nothing was looked up in the topic that is left, not even on the map, and no page named
    that answers it (`is_done`), it stays planned;
    one that the person dropped stays dropped. An end that the model has confirmed says that those
    still planned are answered.
    """
    plan, left = state.get("plan", []), topic_name(state)
    if intent["kind"] == "end" and intent["urls"] is not None:
        for each in [each for each in plan if each["status"] == "planned"]:
            plan = with_status(plan, each["id"], "done")
    is_known = left in {entry["topic"] for entry in state.get("search_results", [])}
    planned = topic_named(plan, left)
    if left != topic and not (planned and planned["status"] == "dropped"):
        plan = with_status(plan, left, "done" if is_done or is_known else "planned")
    return begun(plan, topic) if topic else plan


def _new_topic(state: DeepState, intent: Intent) -> str:
    """Return the topic to go on with by its name in the plan; the next one where none is named."""
    plan, name = state.get("plan", []), intent["new_topic"]
    planned = topic_named(plan, name) if name else next_planned(plan)
    return planned["name"] if planned and intent["kind"] == "change" else name


@dataclass(frozen=True)
class _Archive:
    """Hold what is kept of a topic that is left."""

    entries: list[TopicResult] = field(default_factory=list)
    """Its own, and those of explored topics of which pages were named."""
    invented: int = 0
    """Pages that were named and that nothing had brought."""
    names_pages: bool = False
    """Whether pages were named that something had brought."""

    def own(self, topic: str) -> TopicResult | None:
        """Return the entry of this topic."""
        return next((entry for entry in self.entries if entry["topic"] == topic), None)


def _archive(state: DeepState, intent: Intent, messages: list[AnyMessage]) -> _Archive:
    """Return the topic's entry with its useful pages; those of explored topics go to theirs.

    Without an entry where nothing was searched or opened in this topic, nor a page of an earlier
    one named: a change then only names it; and where the person dropped it.
    """
    if _is_dropped(state):
        return _Archive()
    name, entries = topic_name(state), state.get("search_results", [])
    known = {entry["topic"]: (place, entry) for place, entry in enumerate(entries)}
    chosen, invented, names_pages = _useful(state, intent["urls"])
    of_topics: dict[str, list[FoundPage]] = {name: []}
    for page in chosen:
        of = page.get("topic", "")
        of_topics.setdefault(of if of in known else name, []).append(page)
    looked = any(isinstance(m, ToolMessage) and m.name in (SEARCH, READ) and m.status == "success"
                 for m in messages)  # fmt: skip
    reason = " / ".join(filter(None, (intent["reason"], last_thought(messages)[:_MAX_THOUGHT])))
    archived = list[TopicResult]()
    for topic, pages in of_topics.items():
        place, earlier = known.get(topic, (len(entries), None))
        fresh = _fresh(pages, earlier, place)
        if fresh or (topic == name and looked):
            archived.append(_entry(topic, reason if topic == name else "", earlier, fresh))
    return _Archive(archived, invented, names_pages)


def _fresh(pages: Sequence[FoundPage], earlier: TopicResult | None, place: int) -> list[UsefulPage]:
    """Return those of the pages that a topic does not have yet."""
    kept = earlier["useful_webpages"] if earlier else []
    urls = {page["url"] for page in kept}
    fresh = [page for page in pages if page["url"] not in urls]
    return [
        cast(UsefulPage, {**page, "id": page.get("id") or f"t{place}-{number}"})
        for number, page in enumerate(fresh, start=len(kept))
    ]


def _entry(
    topic: str, reason: str, earlier: TopicResult | None, fresh: Sequence[UsefulPage]
) -> TopicResult:
    """Return a topic with pages that are new, and what explorers have found on it before."""
    kept = earlier or TopicResult(
        topic=topic, reason="", useful_webpages=[], compressed_content=None
    )
    entry = TopicResult(
        topic=topic, reason=reason or kept["reason"],
        useful_webpages=[*kept["useful_webpages"], *fresh], compressed_content=None,
    )  # fmt: skip
    if "found" in kept:
        entry["found"] = kept["found"]
        if kept["compressed_content"] is None:
            entry["open"] = kept.get("open", "")
    return entry


def _is_dropped(state: DeepState) -> bool:
    """Return whether the person does not want the present topic any more."""
    planned = topic_named(state.get("plan", []), topic_name(state))
    return planned is not None and planned["status"] == "dropped"


def _is_new(state: DeepState, entry: TopicResult | None) -> bool:
    topics = {e["topic"] for e in state.get("search_results", [])}
    return entry is not None and entry["topic"] not in topics


def _useful(state: DeepState, named: list[str] | None) -> tuple[list[FoundPage], int, bool]:
    """Return the named pages that this turn brought, and how many named ones nothing brought.

    Then whether any of them was brought, by an earlier topic too. Where none is named, those of
    this topic that the model opened and the first of the others stand for them. What another topic
    keeps stays there, and so do the pages of explorers that nobody names.
    """
    by_url: dict[str, FoundPage] = {}
    for page in state["pages_found"]:
        first = by_url.setdefault(canonical(page["url"]), page)
        if page.get("opened"):
            by_url[canonical(page["url"])] = {**first, "opened": True}
    left = [
        found_page(page.get("id", ""), page["url"], page["title"])
        for page in state.get("pages_left", [])
    ]
    known = {canonical(page["url"]): page for page in left} | by_url
    elsewhere = {canonical(page["url"]) for page in kept_pages(state)}
    ids = {page.get("id", ""): url for url, page in known.items()}
    ids |= {page["id"]: canonical(page["url"]) for page in kept_pages(state)}
    addresses = dict.fromkeys(
        ids.get(name) or ids.get(name.rpartition(".")[0]) or canonical(name) for name in named or []
    )
    chosen = [known[url] for url in addresses if url in known][:_MAX_NAMED]
    invented = sum(url not in known and url not in elsewhere for url in addresses)
    unnamed = [page for page in by_url.values() if not page.get("topic")]
    unnamed.sort(key=lambda page: not page.get("opened"))
    return chosen or unnamed[:_UNNAMED], invented, len(addresses) > invented


def _pages_left(state: DeepState, entries: Sequence[TopicResult]) -> list[ShownPage]:
    """Return what this turn's searches brought and no topic keeps, the latest last."""
    useful = [*kept_pages(state), *(page for each in entries for page in each["useful_webpages"])]
    taken = {canonical(page["url"]) for page in useful}
    pages = [*state.get("pages_left", []), *state.get("pages_found", [])]
    by_url = {canonical(page["url"]): page for page in pages}
    left = [page for url, page in by_url.items() if url not in taken]
    opened = {canonical(page["url"]) for page in pages if page.get("opened")}
    return [_shown(page, canonical(page["url"]) in opened) for page in left[-_MAX_LEFT:]]


def _shown(page: ShownPage, opened: bool) -> ShownPage:
    shown = ShownPage(id=page.get("id", ""), url=page["url"], title=page["title"])
    return ShownPage(**shown, opened=True) if opened else shown


def _gaps(state: DeepState, entry: TopicResult | None, messages: Sequence[AnyMessage]) -> list[Gap]:
    """Return that the topic has no pages, where the map did not answer it."""
    mapped = any(
        isinstance(m, ToolMessage) and (m.name or "").startswith(MAP_PREFIXES)
        and m.status == "success"
        for m in messages
    )  # fmt: skip
    if entry is None or entry["useful_webpages"] or mapped:
        return []
    language = reader_language(state["turn"])
    return [run_gap("deep_research.no_pages", language, query=entry["topic"])]


def after_switch(state: DeepState) -> list[Send] | Literal["explore", "act", "review_notes"]:
    """Route on with the research, to a branch for each topic without notes, or to their review."""
    if state["exploring"]:
        return "act" if has_calls(state) else "explore"
    branches = [Send("compress_topic", branch) for branch in topic_branches(state)]
    return branches or "review_notes"


def topic_branches(state: DeepState) -> list[TopicBranch]:
    """Return a branch for each topic with pages and without notes."""
    turn, spent = state["turn"], state.get("usage") or no_usage()
    return [
        TopicBranch(
            number=number,
            result=entry,
            turn=turn,
            spent=spent,
        )
        for number, entry in enumerate(state.get("search_results", []))
        if entry["useful_webpages"] and entry["compressed_content"] is None
    ]
