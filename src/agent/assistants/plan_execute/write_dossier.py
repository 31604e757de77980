"""The last node: the dossier with numbered citations, and everything a client wants beside it."""

import sys
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, cast

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime

from agent.assistants.common.calculated import calculations
from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.days_told import told_days
from agent.assistants.common.differences import untold_section
from agent.assistants.common.draft import Draft
from agent.assistants.common.excerpts import excerpt_lines, sentences_of
from agent.assistants.common.gaps import TASK_GAPS, brought_by_map, gap_lines, readers_gaps, run_gap
from agent.assistants.common.inside_words import KeptInside, public_texts
from agent.assistants.common.looks import Looks
from agent.assistants.common.own_documents import own_scope
from agent.assistants.common.previous_lines import previous_lines
from agent.assistants.common.rounds import WriterBrief, with_revision, write_in_rounds
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.steering import new_wishes, wish_lines, wished, with_wishes
from agent.assistants.common.toolbox import is_calculation
from agent.assistants.common.turn import context_limit, own_limit, room_of
from agent.assistants.common.whole_documents import (
    WholeDocuments,
    document_elements,
    rest_of,
    with_whole_documents,
)
from agent.assistants.common.workspace import Item, RankedPassages, runs
from agent.assistants.common.writer import MessageParts, write_message
from agent.assistants.plan_execute.documents import figure_text, kind_and_date, source_name
from agent.assistants.plan_execute.search_info import distinct_questions, page_title
from agent.assistants.plan_execute.state import (
    ExecutorResult,
    KnowledgePassage,
    PlanState,
    PlanUpdate,
    configuration_of,
)
from agent.assistants.plan_execute.subject import task_queries
from agent.configuration import Configuration
from agent.core.errors import AgentError
from agent.core.processor import compute
from agent.core.strings import cut_to_shares, cut_to_tokens, estimated_tokens
from agent.evidence.citations import inert
from agent.evidence.claims.passages import Passage as ClaimPassage
from agent.evidence.number_forms import ENGLISH_NUMBERS, NumberForm
from agent.evidence.references import CITATION, site_of, without_heads
from agent.evidence.types import Gap, Source
from agent.knowledge.types import Scope
from agent.prompts import Raw, element, task_prompt
from agent.search.documents import Document, FiledFigure
from agent.state import answer_language, reader_language
from agent.texts import Language, say

NODE = "write_dossier"
ASSISTANT = "plan_execute"
MAX_FIGURES = 16
_CELL = 120


def figures_of(results: Sequence[ExecutorResult]) -> list[tuple[str, FiledFigure]]:
    """Return the figures of filings and statements, each once, under the id of their document."""
    figures: dict[tuple[str, str, str, str], tuple[str, FiledFigure]] = {}
    for result in results:
        for document in result["documents"]:
            for figure in document.get("figures", []):
                key = (figure["name"], figure["value"], figure["unit"], figure["period"])
                figures.setdefault(key, (document["id"], figure))
    return list(figures.values())


def figure_section(
    figures: Sequence[tuple[str, FiledFigure]],
    language: Language,
    form: NumberForm = ENGLISH_NUMBERS,
) -> str:
    """Return a table with unit, period and marker of each figure; empty without figures.

    Values stand as their source has them, in the form of the reader's numbers.
    """
    if not figures:
        return ""
    rows = list[str]()
    for name, figure in figures[:MAX_FIGURES]:
        value = figure["value"]
        value = value if form == ENGLISH_NUMBERS else form.written(value, value)
        cells = map(cell, (figure["name"], value, figure["unit"], figure["period"]))
        rows.append(f"| {' | '.join(cells)} | [^{name}] |")
    head = [
        say("plan_execute.figures", language),
        "",
        say("plan_execute.figures_head", language),
        "|---|---|---|---|---|",
    ]
    left = len(figures) - len(rows)
    more = ["", say("plan_execute.figures_more", language, count=str(left))] if left else []
    return "\n".join([*head, *rows, *more])


def consulted_section(
    state: PlanState, used: Sequence[Source], language: Language, looked: Iterable[Source] = ()
) -> str:
    """Return what each source brought and what of it is cited, the papers, the plan's note.

    `looked` are those that a revision has looked up.
    """
    rows = consulted_rows(state, used, language, looked)
    table = (
        [say("plan_execute.consulted_head", language), "|---|---|---:|---:|", *rows] if rows else []
    )
    notes = _notes(state, language)
    if not rows and not notes:
        return ""
    return "\n".join(
        [say("plan_execute.consulted", language), "", *table, *([""] if rows else []), *notes]
    )


def consulted_rows(
    state: PlanState, used: Sequence[Source], language: Language, looked: Iterable[Source] = ()
) -> list[str]:
    """Return a row for each source: name, kind, distinct documents found, and cited.

    None where there is but the reader's own documents: how many were read is told anyway.
    """
    by_source: dict[tuple[str, str], set[str]] = {}
    known = set[str]()
    for name, kind, key in _consulted_documents(state, language):
        by_source.setdefault((name, kind), set()).add(key)
        known.add(key)
    for source in looked:
        if (key := _key(source)) not in known:
            kind = say(f"plan_execute.kinds.{_KINDS.get(source['kind'], source['kind'])}", language)
            name = source_name(source["provider"], language)
            by_source.setdefault((name, kind), set()).add(key)
    cited = {_key(source) for source in used}
    own = say("plan_execute.kinds.document", language)
    if all(kind == own for _, kind in by_source):
        return []
    return [
        f"| {cell(name)} | {kind} | {len(keys)} | {len(keys & cited)} |"
        for (name, kind), keys in by_source.items()
    ]


_KINDS = {"place": "map", "document": "document"}


def _consulted_documents(state: PlanState, language: Language) -> Iterator[tuple[str, str, str]]:
    """Yield source, kind and address of everything that was found."""
    kinds = {kind: say(f"plan_execute.kinds.{name}", language) for kind, name in _KINDS.items()}
    for result in state.get("executor_result", []):
        for document in result["documents"]:
            kinds[document["id"]] = say(f"plan_execute.kinds.{document['kind']}", language)
    for source in state.get("sources_gathered", []):
        if kind := kinds.get(source["id"]) or kinds.get(source["kind"]):
            yield source["provider"], kind, _key(source)


def _key(source: Source) -> str:
    """Return what the sources of one document share: each of its pages is a source of its own."""
    return source.get("document") or source["url"] or source["title"]


def _notes(state: PlanState, language: Language) -> list[str]:
    notes = []
    if note := state.get("plan_note"):
        notes.append(say("plan_execute.plan", language, text=inert(note)))
    papers = {paper["url"]: paper["path"] for paper in state.get("downloaded_papers", [])}
    if papers:
        failed = sum(path is None for path in papers.values())
        counts = {"got": str(len(papers) - failed), "failed": str(failed)}
        notes.append(say("plan_execute.papers", language, **counts))
    return [f"- {note}" for note in notes]


def cell(text: str) -> str:
    """Return foreign text as it can stand in a table."""
    return inert(text[:_CELL]).replace("|", "\\|")


_SHOWN_FIGURES = 40
_PER_TASK, _PER_DOCUMENT, _ELSEWHERE = 40, 40, 6
_MOST = 40_000
"""Tokens of what was found outside that the writer is shown."""
_EXCERPTS, _LOOKED_AT = 4, 8000
"""Documents of a task that are quoted, and characters of each that are looked through."""


async def write_dossier(
    state: PlanState, runtime: Runtime[Configuration], *, get_services: GetServices
) -> PlanUpdate:
    """Write the dossier; where nothing was found it says so, with every reason."""
    services, configuration = get_services(), configuration_of(runtime)
    wishes = await new_wishes(state, services, runtime.stream_writer, NODE)
    state = wished(state, wishes)
    limit = own_limit(state["turn"], configuration)
    scope = _whole_scope(state, runtime)
    state, whole = await with_whole_documents(state, scope, services, tokens=limit)
    workspace = services.workspace(room_of(state["turn"], runtime))
    kept = {item.id: item for item in await workspace.items(_found(state))}
    items = {name: kept[name] for name in _found(state) if name in kept}
    state = _dated(state, items)
    draft = Draft(
        state,
        configuration,
        services,
        runtime.stream_writer,
        node=NODE,
        assistant=ASSISTANT,
        texts={**_texts(state, items), **whole.texts},
    )
    draft.gaps = task_gaps_told_once(draft.gaps, state)
    own = own_scope(state.get("readable", []), state["owner"], runtime)
    looks = Looks(
        services, configuration, state["turn"], draft.meter, workspace,
        scope=await _rest(own, whole, services),
        inside=KeptInside([*whole.texts.values()], public_texts(state, items.values())),
        maps=_has_map(state, configuration),
        places=[*draft.places, *draft.previous["places"]],
    )  # fmt: skip
    dossier = _Dossier(draft, state, whole, items, looks)
    parts = MessageParts(
        dossier.body, dossier.sections, dossier.metadata(), dossier.checks(), is_report=True
    )
    closing = await write_message(draft, parts)
    text = str(closing["messages"][-1].text).removeprefix(draft.notice)
    return cast(PlanUpdate, {**closing, "dossier": text, "wishes": wishes})


async def _rest(own: Scope | None, whole: WholeDocuments, services: Services) -> Scope | None:
    """Return the own documents that are not shown whole; None where there are none."""
    if own is None:
        return None
    try:
        every = await services.knowledge().documents(own)
    except AgentError:
        return None
    read = {document["id"] for document in whole.read}
    return rest_of(own, replace(whole, unread=[each for each in every if each["id"] not in read]))


def _has_map(state: PlanState, configuration: Configuration) -> bool:
    """Return whether the map has answered, or was planned for any task."""
    planned = any("map" in (task.get("sources") or ()) for task in state["tasks"])
    return brought_by_map(state) or (planned and configuration.geo_routing != "never")


def _whole_scope(state: PlanState, runtime: Runtime[Configuration]) -> Scope | None:
    """Return the own documents that are shown whole; None where there are none."""
    own = own_scope(state.get("readable", []), state["owner"], runtime)
    chosen = tuple(state.get("whole_documents") or ())
    return replace(own, documents=chosen) if own and chosen else None


def task_gaps_told_once(gaps: Sequence[Gap], state: PlanState) -> list[Gap]:
    """Return the gaps; those of tasks that documents answered as one, where no task has more.

    Own documents that are read whole answer every task, as far as anybody can tell.
    """
    targets = {passage["target"] for passage in state.get("passages", [])}
    whole = bool(state.get("whole_documents"))

    def is_answered(gap: Gap) -> bool:
        return whole or not targets.isdisjoint(distinct_questions([gap["query"]]))

    every = [
        Gap(**{**gap, "recovered": True}) if gap["code"] in TASK_GAPS and is_answered(gap) else gap
        for gap in gaps
    ]
    statuses = {result["status"] for result in state.get("executor_result", [])}
    if (targets or whole) and "empty" in statuses and statuses <= {"empty", "skipped"}:
        every.append(run_gap("plan_execute.documents_alone", reader_language(state["turn"])))
    return every


@dataclass(frozen=True)
class _Dossier:
    """Write a dossier from the tasks' documents and the passages."""

    draft: Draft
    state: PlanState
    whole: WholeDocuments
    """The own documents that are shown whole."""
    items: Mapping[str, Item]
    """What the tasks' documents say, by their ids."""
    looks: Looks

    @property
    def results(self) -> list[ExecutorResult]:
        return self.state.get("executor_result", [])

    @property
    def passages(self) -> list[KnowledgePassage]:
        return self.state.get("passages", [])

    def has_evidence(self) -> bool:
        documents = any(result["documents"] for result in self.results)
        previous = self.draft.previous["sources"]
        return bool(
            documents or self.passages or self.whole.hits or self.draft.record_lines() or previous
        )

    async def body(self) -> AsyncIterator[str]:
        draft = self.draft
        if not self.has_evidence():
            # Where the sources of every task failed, other words would find no more.
            failed = bool(self.results) and all(r["status"] == "failed" for r in self.results)
            draft.degraded = draft.degraded or failed
            tried = [result["query"] for result in self.results]
            none = say("plan_execute.none_answered", draft.language)
            yield draft.by_code(none) if failed else draft.nothing_found(tried)
            return
        rounds = write_in_rounds(
            draft, await self.prompt(), self.material, part="dossier", asked=self.asked(),
            look=self.looks if self.items or self.looks.asks_further else None,
        )  # fmt: skip
        async for piece in rounds:
            yield piece

    def asked(self) -> WriterBrief:
        """Return what the dossier has to answer besides the question."""
        wishes = wish_lines(self.state.get("wishes") or [], self.draft.language).splitlines()
        plan = [*(task["query"] for task in self.state["tasks"]), *wishes]
        return WriterBrief(document_elements(self.whole), self.state.get("differences") or [], plan)

    def sections(self) -> list[str]:
        draft = self.draft
        figures = figure_section(figures_of(self.results), draft.language, draft.number_form)
        figures = draft.cited(figures)
        read = draft.by_code(self.state.get("documents_read", ""))
        left = untold_section(draft, self.state.get("differences") or [])
        records, sums = draft.record_sections(is_report=True), calculations(draft)
        sections = [figures, *records, sums, left, read]
        # It counts what is cited, so that it comes last; a revision may have left some out.
        told = {match[1] for match in CITATION.finditer("\n".join([draft.body, *sections]))}
        used = [source for source in draft.citer.used if str(source.get("number")) in told]
        looked = (source for source in draft.read.values() if not is_calculation(source))
        consulted = consulted_section(self.state, used, draft.language, looked)
        return [*sections, consulted]

    def metadata(self) -> dict[str, Any]:
        state = self.state
        counts = {r["task"]: (r["status"], len(r["documents"])) for r in self.results}
        tasks = [
            {**task, "status": status, "documents": count}
            for task in state["tasks"]
            for status, count in [counts.get(task["id"], ("skipped", 0))]
        ]
        papers = [
            {key: paper[key] for key in ("title", "url", "page_url", "error")}
            for paper in state.get("downloaded_papers", [])
        ]
        return {"tasks": tasks, "plan_note": state.get("plan_note", ""), "papers": papers}

    def checks(self) -> dict[str, int]:
        papers = self.state.get("downloaded_papers", [])
        return {
            "tasks": len(self.state["tasks"]),
            "papers": len({paper["document"] for paper in papers} - {None}),
            "passages": len(self.passages) + len(self.whole.hits),
            "documents_whole": len(self.whole.read),
        }

    async def prompt(self) -> list[BaseMessage]:
        """Return the prompt, filled with what bears on the question as far as the limit leaves."""
        turn = self.draft.turn
        own = document_elements(self.whole)
        room = turn.get("room", sys.maxsize) - estimated_tokens(own)
        limit = min(context_limit(turn, self.draft.configuration), room)
        figures = [f"[^{name}] {figure_text(figure)}" for name, figure in figures_of(self.results)]
        values = {
            "today": await told_days(
                turn, self.whole.texts.values(), self.state.get("differences") or []
            ),
            "conversation": cut_to_tokens(self.state["conversation"], limit // 10),
            "previous": previous_lines(
                self.draft.earlier, limit // 10, turn["question"], places_in=turn["language"]
            ),
            "question": cut_to_tokens(turn["question"], limit // 8),
            "differences": "\n".join(self.state.get("differences") or []),
            "figures": cut_to_tokens("\n".join(figures[:_SHOWN_FIGURES]), limit // 10),
            "places": self.draft.record_lines(limit // 10),
            "gaps": cut_to_tokens(
                gap_lines(_untold(self.draft.gaps), self.draft.language), limit // 20
            ),
        }
        language = answer_language(turn)
        bare = task_prompt("dossier", language, documents="", tasks="", passages="", **values)
        free = limit - prompt_tokens(with_revision(bare)) - 100
        passages = self._passage_lines(free // 2)
        tasks = Raw(await self._task_elements(min(_MOST, free - estimated_tokens(passages))))
        parts = {"documents": own, "tasks": tasks, "passages": passages}
        full = task_prompt("dossier", language, **parts, **values)
        return with_wishes(full, self.state)

    async def _task_elements(self, tokens: int) -> str:
        """Return every task with what its documents say that bears on the dossier."""
        count = sum(len(result["documents"]) for result in self.results)
        free = tokens - _PER_TASK * len(self.results) - _PER_DOCUMENT * count
        said = await compute(lambda: self._chosen(free), otherwise=dict[str, list[str]])
        elements = []
        for result in self.results:
            lines = [self._document_line(each, said) for each in result["documents"]]
            if elsewhere := [f"[^{name}]" for name in result.get("elsewhere", [])[:_ELSEWHERE]]:
                lines.append(f"see also, with other tasks: {' '.join(elsewhere)}")
            attributes = {"id": result["task"], "query": result["query"]}
            elements.append(element("task", "\n" + "\n".join(lines) + "\n", **attributes))
        return cut_to_tokens("\n".join(elements), tokens)

    def _chosen(self, tokens: int) -> dict[str, list[str]]:
        """Return the passages nearest to what is asked, by the documents; none stays unheard."""
        state, items = self.state, list(self.items.values())
        asked = self.asked()
        queries = [self.draft.turn["question"], *asked.plan, *state.get("pre_questions", [])]
        queries += [query for task in state["tasks"] for query in task_queries(task)]
        ranked = RankedPassages(items, queries)
        chosen = ranked.choose(tokens)
        self.draft.show(ranked.nearest_first(chosen))
        shown: dict[str, list[ClaimPassage]] = {}
        for passage in chosen:
            shown.setdefault(passage.source, []).append(passage)
        return {name: runs(passages) for name, passages in shown.items()}

    def _document_line(self, document: Document, said: Mapping[str, Sequence[str]]) -> str:
        """Return a document with its passages; where nothing is kept of it, its beginning."""
        source = self.draft.sources.get(document["id"])
        site = site_of(source) if source and source["kind"] == "page" else ""
        told = kind_and_date(document, self.draft.language, site=site)
        head = f"[^{document['id']}] ({told}) {document['title']}"
        texts = said.get(document["id"], (document["text"],))
        texts = [without_heads(" ".join(each.split()), [document["title"]]) for each in texts]
        text = " … ".join(filter(None, texts))
        return f"{head} — {text}" if text else head

    def _passage_lines(self, tokens: int) -> str:
        """Return the passages, long ones cut so that all have room."""
        heads = [
            f"[^{passage['id']}] ({self.draft.sources[passage['id']]['provider']}) "
            f"{_under(passage, self.draft.language)}: "
            for passage in self.passages
        ]
        texts = [
            without_heads(
                " ".join(passage["text"].split()), [passage["title"], *passage["headings"]]
            )
            for passage in self.passages
        ]
        texts = cut_to_shares(texts, tokens - estimated_tokens("\n".join(heads)) - len(heads))
        lines = [head + text for head, text in zip(heads, texts, strict=True)]
        return cut_to_tokens("\n".join(lines), tokens)

    def material(self) -> str:
        """Return what documents say that is nearest to their task, each document once."""
        sections, cited, seen = [], set[str](), set[str]()
        question, language = self.draft.turn["question"], self.draft.language
        for result in self.results:
            names = [document["id"] for document in result["documents"]]
            found = [self.items[name] for name in names if name in self.items]
            fresh = [item for item in found if item.id not in cited][:_EXCERPTS]
            cited |= {item.id for item in fresh}
            said = {item.id: _sentences(item.title, item.words) for item in fresh}
            asked = f"{question} {result['query']}"
            if lines := excerpt_lines(said, asked, language, seen=seen):
                sections.append("\n".join([f"## {inert(result['query'])}", "", *lines]))
        if self.passages:
            first = _first_of_targets(self.passages)
            # Each of them: what is found in own documents has been chosen already.
            each = [{p["id"]: _sentences(p["title"], p["text"])} for p in first]
            lines = [line for s in each for line in excerpt_lines(s, question, language, seen=seen)]
            own = say("plan_execute.own", language)
            sections.append("\n".join([f"## {own}", "", *lines]))
        if self.whole.hits:
            said = {name: _sentences("", text) for name, text in self.whole.texts.items()}
            lines = excerpt_lines(said, question, language, seen=seen)
            sections.append("\n".join([f"## {say('plan_execute.own', language)}", "", *lines]))
        if records := self.draft.record_lines():
            named = say("plan_execute.map", self.draft.language)
            sections.append(
                "\n".join([f"## {named}", "", *(f"- {r}" for r in records.split("\n"))])
            )
        return "\n\n".join(sections)


def _untold(gaps: Sequence[Gap]) -> list[Gap]:
    return [gap for gap in readers_gaps(gaps) if not gap.get("recovered")]


def _under(passage: KnowledgePassage, language: Language) -> str:
    """Return a passage's title and page with the headings it stands under."""
    headings = [heading for heading in passage["headings"] if heading != passage["title"]]
    return " › ".join([page_title(passage, language), *headings])


def _sentences(title: str, text: str) -> list[str]:
    """Return the sentences of a document's beginning; of one without a text its title."""
    return sentences_of(text[:_LOOKED_AT]) or [title]


def _first_of_targets(passages: list[KnowledgePassage]) -> list[KnowledgePassage]:
    """Return the two best passages of each target."""
    grouped = groupby(passages, key=lambda passage: passage["target"])
    return [passage for _, group in grouped for passage in list(group)[:2]]


def _found(state: PlanState) -> list[str]:
    """Return the ids of what the tasks have found outside, in the order of the plan."""
    results = state.get("executor_result", [])
    return list(dict.fromkeys(each["id"] for result in results for each in result["documents"]))


def _dated(state: PlanState, items: Mapping[str, Item]) -> PlanState:
    """Return the state in which documents and sources have the dates that their pages tell."""

    def dated(told: Mapping[str, Any]) -> Any:
        item = items.get(told["id"])
        is_told = told.get("published") or told.get("year")
        return {**told, "published": item.date} if item and item.date and not is_told else told

    results = [
        ExecutorResult(**{**result, "documents": [*map(dated, result["documents"])]})
        for result in state.get("executor_result", [])
    ]
    sources: list[Source] = [*map(dated, state.get("sources_gathered", []))]
    return PlanState(**{**state, "executor_result": results, "sources_gathered": sources})


def _texts(state: PlanState, items: Mapping[str, Item]) -> dict[str, str]:
    """Return what each document and passage says, with its dates and figures."""
    texts: dict[str, str] = {}
    for result in state.get("executor_result", []):
        for document in result["documents"]:
            item = items.get(document["id"])
            said = item.words if item else document["text"]
            lines = [document["title"], said]
            lines.append(document.get("published") or str(document.get("year") or ""))
            lines += [f"cited by {count}"] if (count := document.get("cited_by")) else []
            lines += map(figure_text, document.get("figures", []))
            texts[document["id"]] = "\n".join(filter(None, lines))
    for passage in state.get("passages", []):
        lines = [passage["title"], *passage["headings"], passage["text"]]
        texts[passage["id"]] = "\n".join(lines)
    return texts
