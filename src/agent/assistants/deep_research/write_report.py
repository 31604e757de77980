"""The last node: the report with numbered citations, and everything a client wants beside it."""

import asyncio
import logging
import sys
from collections.abc import AsyncIterator, Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from agent.assistants.common.calculated import calculations
from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.days_told import told_days
from agent.assistants.common.differences import differences_among, untold_section
from agent.assistants.common.draft import Draft
from agent.assistants.common.excerpts import excerpt_lines, sentences_by_id, sentences_of
from agent.assistants.common.filled_in import Walks
from agent.assistants.common.gaps import brought_by_map, gap_lines, run_gap
from agent.assistants.common.inside_words import KeptInside, public_texts
from agent.assistants.common.looks import Looks
from agent.assistants.common.material import (
    chosen_passages,
    page_elements,
    without_quotes_of,
    without_shown,
)
from agent.assistants.common.own_documents import own_scope
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.rounds import WriterBrief, with_revision, write_in_rounds
from agent.assistants.common.services import GetServices
from agent.assistants.common.steering import new_wishes, wish_lines, wished, with_wishes
from agent.assistants.common.toolbox import is_calculation
from agent.assistants.common.turn import context_limit, own_limit, room_of
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    document_elements,
    rest_of,
    with_whole_documents,
)
from agent.assistants.common.workspace import Item, RankedPassages, Workspace, first_passages
from agent.assistants.common.writer import MessageParts, refuse_if_all_failed, write_message
from agent.assistants.deep_research.compress_topic import Compression, topic_element
from agent.assistants.deep_research.explore import topic_name
from agent.assistants.deep_research.notes import result_lines, shown_notes
from agent.assistants.deep_research.state import (
    DeepState,
    DeepUpdate,
    TopicResult,
    configuration_of,
    kept_pages,
)
from agent.assistants.deep_research.tools import offers_maps
from agent.configuration import Configuration
from agent.core.errors import AgentError
from agent.core.processor import compute
from agent.core.progress import event
from agent.core.strings import cut_to_tokens, estimated_tokens, shares
from agent.evidence.citations import cited_ids
from agent.evidence.claims.passages import Passage
from agent.evidence.geo import distance_m
from agent.evidence.names import map_name
from agent.evidence.types import Gap, Place
from agent.prompts import Raw, element, fence, task_prompt
from agent.search.hits import beginning, only_known, quotes_by_id
from agent.state import answer_language, reader_language, replaced
from agent.texts import Language, say

log = logging.getLogger(__name__)
NODE = "write_report"
ASSISTANT = "deep_research"
_COUNTS = ("thoughts", "refused_calls", "invented_urls", "forced_archives", "unknown_notes",
           "pages_opened")  # fmt: skip
_MEASURED, _NEAREST, _LEAST_MEASURED = 12, 3, 2
_MAX_TITLE = 80
_MATERIAL = 60_000
"""Tokens of passages that the writer is shown at most."""
_SECONDS = 60.0
"""To choose passages among all that was read, on a processor that others use, too: a report
without them is another report."""
_THOUGHTS = 3000
"""Tokens of the lead's thoughts, the last ones first."""
_UNNAMED = 600
"""Tokens of a page that nobody has named: it came among others of a search."""
_PER_TOPIC = 60
"""Tokens for a topic's tag."""


async def write_report(
    state: DeepState,
    runtime: Runtime[Configuration],
    *,
    get_services: GetServices,
    compression: Compression,
) -> DeepUpdate:
    """Write the report from the topics' notes; raise NothingFound where every source failed."""
    services, configuration = get_services(), configuration_of(runtime)
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    state = wished(state, wishes)
    scope = own_scope(state.get("readable", []), state.get("owner", ""), runtime)
    limit = own_limit(state["turn"], configuration)
    state, whole = await with_whole_documents(state, scope, services, tokens=limit)
    workspace = services.workspace(room_of(state["turn"], runtime))
    read = await _read(state, workspace, whole)
    draft = Draft(
        state,
        configuration,
        services,
        runtime.stream_writer,
        node=NODE,
        assistant=ASSISTANT,
        read=[item.source([beginning(item.words)]) for item in read],
    )
    walks, (differences, gaps) = await asyncio.gather(
        _walks(draft),
        differences_among(
            whole, draft.turn, services, draft.meter, model=configuration.research_model, node=NODE
        ),
    )
    draft.gaps += gaps
    # Beside ways that were measured only what was planned with is told to be so far apart.
    near = [p for p in draft.places if p["id"] in draft.chosen or not state.get("routes")]
    between = distance_lines(near, draft.language, walks)
    draft.texts = texts_of(read, between) | whole.texts
    for gap in (*_not_researched(state), *_partly_read(state)):
        runtime.stream_writer(event("gap", NODE, text=gap["message"]))
        draft.gaps.append(gap)
    looks = Looks(
        services, configuration, draft.turn, draft.meter, workspace,
        scope=rest_of(scope, whole) if scope and whole.unread else None,
        inside=KeptInside([*whole.texts.values()], public_texts(state, read)),
        maps=offers_maps(state, configuration) or brought_by_map(state),
        places=[*draft.places, *draft.previous["places"]],
    )  # fmt: skip
    report = _Report(draft, state, list(between.values()), whole, differences, looks, read, walks)
    if not report.has_evidence:
        gaps = [gap for gap in draft.gaps if gap["provider"] != ASSISTANT]
        refuse_if_all_failed(gaps, draft.language)
    parts = MessageParts(
        report.body, report.sections, report.metadata(), report.checks(),
        notes=report.notes(), is_report=True,
    )  # fmt: skip
    closing = await write_message(draft, parts)
    compression.close(draft.turn["id"])
    text = str(closing["messages"][-1].text).removeprefix(draft.notice)
    gone = dict.fromkeys(("pages_left", "notes"), replaced([]))
    written = {**gone, "report": text, "wishes": wishes}
    return cast(DeepUpdate, {**closing, **written})


async def _read(state: DeepState, workspace: Workspace, whole: WholeDocuments) -> list[Item]:
    """Return the pages and texts that were read, those of topics first, in their order.

    Without those which the prompt has whole anyway.
    """
    shown = {document["id"] for document in whole.read}
    kept = {page["id"]: n for n, page in enumerate(kept_pages(state))}
    items = sorted(await workspace.items(), key=lambda one: (kept.get(one.id, len(kept)), one.id))
    return [one for one in items if one.kind != "place" and not shown & {one.id, one.record}]


def _not_researched(state: DeepState) -> list[Gap]:
    """Return which topics of the plan nobody looked into, where not all there is was read."""
    language = reader_language(state["turn"])
    if state.get("own_whole"):
        return []
    left = [topic["name"] for topic in state.get("plan", []) if topic["status"] == "planned"]
    names = say("punctuation.comma", language).join(left)
    return [run_gap("deep_research.not_researched", language, topics=names)] if left else []


def _partly_read(state: DeepState) -> list[Gap]:
    """Return of how many pages in all topics only an excerpt could be had."""
    language = reader_language(state["turn"])
    count = sum(p.get("partial", False) for p in kept_pages(state))
    return [run_gap("deep_research.page_partial", language, count=str(count))] if count else []


@dataclass(frozen=True)
class _Report:
    """Write the report from the topics' notes."""

    draft: Draft
    state: DeepState
    between: Sequence[str]
    """How far the places are from each other."""
    whole: WholeDocuments
    """The own documents that are shown whole."""
    differences: Sequence[str]
    """Where they contradict each other, as marked lines."""
    looks: Looks
    read: Sequence[Item] = ()
    """What was read of the web and of documents that are not shown whole."""
    walks: Walks = field(default_factory=dict)

    @property
    def has_evidence(self) -> bool:
        return bool(self.topics() or self.read or self.whole.hits or self.draft.previous["sources"])

    def sections(self) -> list[str]:
        read = self.draft.by_code(self.whole.coverage(self.draft.language))
        records = self.draft.record_sections(is_report=True)
        return [
            *records,
            calculations(self.draft),
            untold_section(self.draft, self.differences),
            read,
        ]

    async def body(self) -> AsyncIterator[str]:
        if not self.has_evidence:
            yield self.draft.nothing_found([q["query"] for q in self.state.get("queries", [])])
            return
        rounds = write_in_rounds(
            self.draft,
            await self.prompt(),
            self.material,
            part="report",
            asked=self.asked(),
            look=self.looks if self.read or self.looks.asks_further else None,
        )
        async for piece in rounds:
            yield piece

    def asked(self) -> WriterBrief:
        """Return what the report has to answer besides the question."""
        planned = [topic["name"] for topic in self.state.get("plan", [])]
        nameless = topic_name(cast(DeepState, {**self.state, "topic": ""}))
        entries = [entry["topic"] for entry in self.state.get("search_results", [])]
        explored = [name for name in entries if name != nameless]
        wishes = wish_lines(self.state.get("wishes") or [], self.draft.turn["language"])
        heads = dict.fromkeys([*planned, *explored, *wishes.splitlines()])
        documents = document_elements(self.whole)
        return WriterBrief(documents, self.differences, list(heads), self.walks)

    def metadata(self) -> dict[str, Any]:
        topics = [
            {"topic": entry["topic"], "pages": len(entry["useful_webpages"])}
            for entry in self.state.get("search_results", [])
        ]
        return {"search_results": topics}

    def checks(self) -> dict[str, int]:
        counts: dict[str, Any] = {**self.state.get("counts", {})}
        return {
            "rounds": self.state.get("rounds", 0),
            **{name: counts.get(name, 0) for name in _COUNTS},
            "documents_whole": len(self.whole.read),
        }

    async def prompt(self) -> list[BaseMessage]:
        """Return the prompt: the notes on every topic, and passages of what was read.

        The notes have at most half of the room, each topic its share; the passages have the rest.
        """
        turn, state = self.draft.turn, self.state
        limit, topics = context_limit(turn, self.draft.configuration), self.topics()
        values = {
            "today": await told_days(
                # Each line is of another page: a day takes no year of the one before it.
                turn,
                self.whole.texts.values(),
                self.differences,
                "\n".join(dict(topics).values()).splitlines(),
            ),
            "conversation": cut_to_tokens(state["conversation"], limit // 10),
            "previous": self._previous_lines(limit // 4, ()),
            "question": cut_to_tokens(turn["question"], limit // 5),
            "gaps": cut_to_tokens(gap_lines(self.draft.gaps, self.draft.language), limit // 10),
            "differences": "\n".join(self.differences),
        }
        language = answer_language(turn)
        lines = cut_to_tokens(self._unread_lines(), limit // 12)
        bare = task_prompt("deep_report", language, documents="", topics="", pages=lines, **values)
        free = limit - prompt_tokens(with_revision(bare)) - 100
        notes = free // 2 if self.read else free
        thoughts = shown_notes(state.get("notes", []), min(_THOUGHTS, free // 8))
        # A thought may name an id that nothing has.
        known = only_known(thoughts, self.draft.sources)
        room = free - estimated_tokens(self._noted(notes, known))
        size = min(_MATERIAL, room)
        shown = await compute(
            lambda: self._passages(size),
            otherwise=lambda: self._beginnings(size),
            seconds=_SECONDS,
        )
        noted = await compute(lambda: self._noted(notes, known, shown), otherwise=Raw)
        pages = Raw("\n".join(filter(None, [page_elements(self.read, shown), fence(lines)])))
        parts = {"documents": document_elements(self.whole), "topics": noted, "pages": pages}
        values["previous"] = self._previous_lines(limit // 4, shown)
        full = task_prompt("deep_report", language, **parts, **values)
        return with_wishes(full, state)

    def _noted(self, tokens: int, thoughts: str, shown: Sequence[Passage] = ()) -> Raw:
        """Return the topics with their notes, each its share, without what these passages show.

        What short ones leave goes to longer ones. The map's records are cut by whole lines.
        """
        entries = {entry["topic"]: entry for entry in self.state.get("search_results", [])}
        map_topic = say("deep_research.map_topic", self.draft.language)

        def row(name: str, text: str, share: int, shorter: Callable[[str], str] = str) -> Raw:
            if name in entries:
                return topic_element(entries[name], share, shorter)
            if name == map_topic:
                is_whole = estimated_tokens(text) <= share
                return element("topic", text if is_whole else self._record_lines(share), name=name)
            return element("topic", cut_to_tokens(text, share), name=name)

        topics = self.topics()
        # A finding has room with its quote before that is taken out.
        whole = (str(row(*topic, sys.maxsize)) for topic in topics)
        given = shares([estimated_tokens(text) + _PER_TOPIC for text in whole], tokens)
        cut = partial(without_quotes_of, passages=shown)
        rows = [row(*topic, max(0, share - _PER_TOPIC), cut)
                for topic, share in zip(topics, given, strict=True)]  # fmt: skip
        if thoughts:
            name = say("deep_research.thoughts", self.draft.turn["language"])
            rows.append(element("topic", thoughts, name=name))
        return Raw("\n".join(rows))

    def _record_lines(self, tokens: int = sys.maxsize) -> str:
        """Return the map's records, and how far places are apart, within `tokens`."""
        between = "\n".join(self.between)
        records = self.draft.record_lines(tokens - estimated_tokens(between))
        return "\n".join(filter(None, [records, between]))

    def _previous_lines(self, tokens: int, shown: Sequence[Passage]) -> str:
        """Return what the last turns left, but for what these passages show."""
        earlier, turn = without_shown(self.draft.earlier, self.read, shown), self.draft.turn
        return previous_lines(earlier, tokens, turn["question"], places_in=turn["language"])

    def _passages(self, tokens: int) -> list[Passage]:
        """Return what is shown of what was read: by the notes, the queries, and what is asked."""
        entries = self.state.get("search_results", [])
        told = [(entry.get("found", ""), entry["compressed_content"] or "") for entry in entries]
        quotes = quotes_by_id("\n\n".join(text for each in told for text in each))
        queries = [query["query"] for query in self.state.get("queries", [])]
        found = (item.query for item in self.read)
        wanted = [*queries, *found, *self.asked().plan, self.draft.turn["question"]]
        wanted = list(filter(None, wanted))
        ranked = RankedPassages(self.read, wanted)
        shown = chosen_passages(ranked, quotes, tokens)
        named = {page["id"] for page in kept_pages(self.state)} | quotes.keys()
        others = [item for item in self.read if named and item.id not in named]
        few = {p.name for item in others for p in ranked.choose(_UNNAMED, of=item)}
        silent = {item.id for item in others}
        shown = [p for p in shown if p.source not in silent or p.name in few]
        self.draft.show(ranked.nearest_first(shown))
        return shown

    def _beginnings(self, tokens: int) -> list[Passage]:
        """Return the beginnings of what was read: what is shown where to choose takes too long."""
        shown = first_passages(self.read, tokens - _PER_TOPIC * len(self.read))
        told = {item.id: list[str]() for item in self.read}
        for passage in shown:
            told[passage.source].append(passage.text)
        self.draft.show(told)
        return shown

    def _unread_lines(self) -> str:
        """Return what is known of pages that notes cite and no passage is kept of."""
        read = {item.id for item in self.read}
        return page_lines(self.state.get("search_results", []), but=read)

    def topics(self) -> list[tuple[str, str]]:
        """Return the topics with their notes; the map's records are one of their own."""
        topics = [
            (entry["topic"], entry["compressed_content"] or "")
            for entry in self.state.get("search_results", [])
        ]
        if records := self._record_lines():
            topics.append((say("deep_research.map_topic", self.draft.language), records))
        if calculated := self._source_lines(calculated=True):
            topics.append((say("deep_research.calculated", self.draft.language), calculated))
        if own := self._source_lines(calculated=False):
            topics.append((say("plan_execute.own", self.draft.language), own))
        return topics if any(notes for _, notes in topics) else []

    def notes(self) -> list[str]:
        """Return the notes for the next turn; short pages are known by their sources."""
        return [
            f"## {entry['topic']}\n{entry['compressed_content']}"
            for entry in self.state.get("search_results", [])
            if entry["compressed_content"] and not entry.get("whole")
        ]

    def _source_lines(self, *, calculated: bool) -> str:
        """Return the results of programs; or passages of own documents, each page's once."""
        rows = {
            (source["title"], *source["quotes"]): source
            for source in reversed(self.state.get("sources_gathered", []))
            if source["kind"] == "document"
            and source["id"] not in self.whole.by_id
            and is_calculation(source) == calculated
        }
        return "\n".join(
            result_lines(source)
            if calculated
            else f"{source['title']}: {source['quotes'][0]} [^{source['id']}]"
            for source in reversed(rows.values())
        )

    def material(self) -> str:
        """Return what the notes say on each topic that is nearest to the question; all records."""
        language, seen, sections = self.draft.language, set[str](), list[str]()
        noted = len(self.state.get("search_results", []))
        for at, (name, notes) in enumerate(self.topics()):
            asked = f"{self.draft.turn['question']} {name}"
            said = sentences_by_id([notes])
            lines = excerpt_lines(said, asked, language, seen=seen) if at < noted else [notes]
            sections += [f"## {name}\n\n{body}"] if (body := "\n".join(lines)) else []
        if self.whole.hits:
            said = {name: sentences_of(text) for name, text in self.whole.texts.items()}
            lines = excerpt_lines(said, self.draft.turn["question"], language, seen=seen)
            sections.append("\n".join([f"## {say('plan_execute.own', language)}", "", *lines]))
        return "\n\n".join(sections)


def page_lines(entries: Sequence[TopicResult], but: Container[str] = ()) -> str:
    """Return title, site and date of each page that notes cite, so that sources can be weighed.

    Pages of a topic without notes stand in the prompt themselves.
    """
    lines = []
    for entry in entries:
        noted = set() if entry.get("whole") else set(cited_ids(entry["compressed_content"] or ""))
        for page in entry["useful_webpages"]:
            if page["id"] in noted and page["id"] not in but:
                about = (page["title"][:_MAX_TITLE], page["site"], (page["published"] or "")[:10])
                lines.append(f"[^{page['id']}] " + " | ".join(filter(None, about)))
    return "\n".join(lines)


def texts_of(read: Sequence[Item], between: Mapping[tuple[str, str], str]) -> dict[str, str]:
    """Return what was read by its id, and of places how far they are from each other."""
    texts = {item.id: item.words for item in read}
    for pair, line in between.items():
        texts |= {name: f"{texts.get(name, '')}\n{line}" for name in pair}
    return texts


def distance_lines(
    places: Sequence[Place], language: Language, walks: Walks
) -> dict[tuple[str, str], str]:
    """Return how far each place is from those nearest to it, by the sources of both.

    Where the map has no way on foot it is a straight line, and called one.
    """
    near: dict[tuple[str, str], str] = {}
    shown = list(places[:_MEASURED])
    for place in shown:
        others = sorted(
            (round(distance_m(_position(place), _position(other))), other["source"], other)
            for other in shown
            if other is not place
        )
        for metres, _, other in others[:_NEAREST]:
            ids = (place["source"], other["source"])
            if ids[::-1] not in near:
                begin, end = (map_name(one, language) for one in (place, other))
                values = {"begin": begin, "end": end, "metres": metres}
                line = say("records.straight_line", language, **values)
                if leg := walks.get(ids) or walks.get(ids[::-1]):
                    minutes = max(1, round(leg["duration_s"] / 60))
                    on_foot = {"walked": leg["distance_m"], "minutes": minutes}
                    line = say("records.on_foot", language, **values, **on_foot)
                near[ids] = f"{line} [^{ids[0]}][^{ids[1]}]"
    return near


async def _walks(draft: Draft) -> Walks:
    """Return the ways on foot between the places that the report may put into an order.

    Where the lead has measured the ways of its plan, no others are asked for.
    """
    if draft.state.get("routes"):
        return {}
    free = draft.meter.left("map_calls") - draft.configuration.MAP_CALLS_KEPT
    places = draft.places[: min(_MEASURED, max(0, free))]
    if len(places) < _LEAST_MEASURED:
        return {}
    try:
        legs = await draft.services.maps.walks(
            [place["location"] for place in places],
            meter=draft.meter,
            on_call=lambda call: draft.emit(event("map_call", NODE, text=call)),
        )
    except AgentError as error:
        log.warning("turn=%s ways on foot: %s", draft.turn["id"], error)
        return {}
    return {
        (places[one]["source"], places[other]["source"]): leg for (one, other), leg in legs.items()
    }


def _position(place: Place) -> tuple[float, float]:
    return place["wgs84"]["lng"], place["wgs84"]["lat"]
