"""The dossier as finished pieces: the model's text made clean and checked, code's tables."""

from collections.abc import AsyncIterator, Mapping
from itertools import groupby
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

from agent.assistants.plan_execute.dossier_text import (
    consulted_section,
    figure_section,
    figures_of,
)
from agent.assistants.plan_execute.observations import about, figure_text, ids_of
from agent.assistants.plan_execute.passages import aliases, page_title
from agent.assistants.plan_execute.state import ExecutorResult, Passage, PlanState
from agent.assistants.plan_execute.toolbox import PlanToolbox
from agent.assistants.plan_execute.wording import run_gap
from agent.assistants.plan_execute.wording import say as told_by_code
from agent.budget import Meter
from agent.configuration import Configuration
from agent.evidence.citations import Citer, inert
from agent.evidence.lengths import cut_to_tokens, estimated_tokens
from agent.evidence.types import Gap
from agent.nodes.evidence_text import place_lines, route_lines, weather_lines
from agent.nodes.prompt_size import prompt_tokens
from agent.nodes.writer import CheckedWriter
from agent.prompts import Raw, element, render
from agent.search.documents import Document
from agent.search.grounded import beginning

_SHOWN_FIGURES = 40
_PER_TASK, _PER_DOCUMENT, _LEAST = 40, 40, 40
_EXCERPTS = 4
"""Excerpts of each task, where no model can write."""


class DossierWriter(CheckedWriter):
    """Writes from the tasks' documents and the passages; figures no cited source has are marked."""

    _part = "dossier"

    def __init__(
        self,
        state: PlanState,
        configuration: Configuration,
        given: PlanToolbox,
        meter: Meter,
        *,
        off: Mapping[str, str],
    ) -> None:
        super().__init__(state, configuration, given, meter, texts=_texts(state))
        self._state, self._off = state, off
        self._results: list[ExecutorResult] = state.get("executor_result", [])
        self._passages: list[Passage] = state.get("passages", [])
        self._figures = figures_of(self._results)
        ledger = {
            source["id"]: source
            for source in (*state.get("sources_gathered", []), *self._previous["sources"])
        }
        pages = {name: ledger[first] for name, first in aliases(self._passages).items()}
        self.citer = Citer({**ledger, **pages})

    @property
    def has_evidence(self) -> bool:
        documents = any(result["documents"] for result in self._results)
        return bool(documents or self._passages or self._records() or self._previous["sources"])

    def told(self) -> dict[str, Any]:
        state = self._state
        counts = {r["task"]: (r["status"], len(r["documents"])) for r in self._results}
        tasks = [
            {**task, "status": status, "documents": count}
            for task in state["tasks"]
            for status, count in [counts.get(task["id"], ("skipped", 0))]
        ]
        papers = [
            {key: paper[key] for key in ("title", "url", "page_url", "error")}
            for paper in state.get("downloaded_papers", [])
        ]
        more = {"tasks": tasks, "plan_note": state.get("plan_note", ""), "papers": papers}
        return {**super().told(), **more}

    def checks(self) -> dict[str, int]:
        papers = self._state.get("downloaded_papers", [])
        return {
            **super().checks(),
            "tasks": len(self._state["tasks"]),
            "papers": sum(paper["document"] is not None for paper in papers),
            "passages": len(self._passages),
        }

    def _uncited_gap(self) -> Gap:
        code = "dossier_uncited" if self._material() else "dossier_uncited_alone"
        return run_gap(code, self._language)

    async def _body(self) -> AsyncIterator[str]:
        if not self.has_evidence and self._none_answered():
            self.degraded = True
            yield told_by_code("none_answered", self._language)
            return
        async for piece in super()._body():
            yield piece

    def _none_answered(self) -> bool:
        """Whether every task's sources failed: other words would find no more."""
        return bool(self._results) and all(r["status"] == "failed" for r in self._results)

    def _own_sections(self) -> list[str]:
        figures = self._cited(figure_section(self._figures, self._language))
        sections = [figures, *super()._own_sections()]
        consulted = consulted_section(self._state, self.citer.used, self._off, self._language)
        return [*sections, consulted]

    def _messages(self) -> list[BaseMessage]:
        """The prompt, its documents cut to what the limit leaves."""
        turn, limit = self._turn, self._configuration.context_token_limit
        figures = [f"[^{name}] {figure_text(figure)}" for name, figure in self._figures]
        gaps = "\n".join(f"{gap['query']}: {gap['message']}" for gap in self.gaps)
        values = {
            "today": turn["today"],
            "conversation": cut_to_tokens(self._state["conversation"], limit // 10),
            "question": cut_to_tokens(turn["question"], limit // 8),
            "figures": cut_to_tokens("\n".join(figures[:_SHOWN_FIGURES]), limit // 10),
            "places": cut_to_tokens(self._records(), limit // 10),
            "gaps": cut_to_tokens(gaps, limit // 20),
        }
        system = SystemMessage(render("dossier_system", self._language))
        bare = render("dossier", self._language, tasks="", passages="", **values)
        free = limit - prompt_tokens([system, HumanMessage(bare)]) - 100
        passages = self._passage_lines(free // 2)
        tasks = Raw(self._task_elements(free - estimated_tokens(passages)))
        full = render("dossier", self._language, tasks=tasks, passages=passages, **values)
        return [system, HumanMessage(full)]

    def _task_elements(self, tokens: int) -> str:
        """Every task with its documents, their texts cut to equal shares."""
        count = sum(len(result["documents"]) for result in self._results)
        free = tokens - _PER_TASK * len(self._results)
        share = max(_LEAST, free // max(1, count) - _PER_DOCUMENT)
        shown = []
        for result in self._results:
            lines = [
                self._document_line(name, document, share)
                for name, document in zip(ids_of(result), result["documents"], strict=True)
            ]
            text = cut_to_tokens("\n".join(lines), free // max(1, len(self._results)) + _PER_TASK)
            shown.append(element("task", f"\n{text}\n", id=result["task"], query=result["query"]))
        return "\n".join(shown)

    def _document_line(self, name: str, document: Document, tokens: int) -> str:
        text = cut_to_tokens(" ".join(document["text"].split()), tokens)
        head = f"[^{name}] ({about(document, self._language)}) {document['title']}"
        return f"{head} — {text}" if text else head

    def _passage_lines(self, tokens: int) -> str:
        share = max(_LEAST, tokens // max(1, len(self._passages)) - _PER_DOCUMENT)
        lines = [
            f"[^{passage['id']}] {page_title(passage, self._language)}: "
            + cut_to_tokens(" ".join(passage["text"].split()), share)
            for passage in self._passages
        ]
        return cut_to_tokens("\n".join(lines), tokens)

    def _material(self) -> str:
        """The beginnings of what was found, each document once."""
        sections, seen = [], set[str]()
        for result in self._results:
            found = list(zip(ids_of(result), result["documents"], strict=True))
            fresh = [(name, d) for name, d in found if (d["url"] or d["title"]) not in seen]
            seen |= {d["url"] or d["title"] for _, d in fresh[:_EXCERPTS]}
            lines = [
                f"- {inert(d['title'])}: {inert(beginning(' '.join(d['text'].split())))} [^{name}]"
                for name, d in fresh[:_EXCERPTS]
            ]
            if lines:
                sections.append("\n".join([f"## {inert(result['query'])}", "", *lines]))
        if self._passages:
            lines = [
                f"- {inert(beginning(' '.join(p['text'].split())))} [^{p['id']}]"
                for p in _first_of_targets(self._passages)
            ]
            own = told_by_code("own", self._language)
            sections.append("\n".join([f"## {own}", "", *lines]))
        if records := self._records():
            named = told_by_code("map", self._language)
            sections.append(
                "\n".join([f"## {named}", "", *(f"- {r}" for r in records.split("\n"))])
            )
        return "\n\n".join(sections)


def _first_of_targets(passages: list[Passage]) -> list[Passage]:
    """The two best passages of each target."""
    grouped = groupby(passages, key=lambda passage: passage["target"])
    return [passage for _, group in grouped for passage in list(group)[:2]]


def _texts(state: PlanState) -> dict[str, str]:
    """What each source says, for checking figures."""
    texts: dict[str, str] = {}
    for result in state.get("executor_result", []):
        for name, document in zip(ids_of(result), result["documents"], strict=True):
            said = [document["title"], document["text"], str(document.get("year") or "")]
            said += [document.get("published") or "", f"{document.get('cited_by') or ''}"]
            texts[name] = "\n".join([*said, *map(figure_text, document.get("figures", []))])
    for passage in state.get("passages", []):
        texts[passage["id"]] = "\n".join([passage["title"], *passage["headings"], passage["text"]])
    language = state["turn"]["language"]
    for source in [*state.get("sources_gathered", []), *state["previous"]["sources"]]:
        texts.setdefault(source["id"], "\n".join([source["title"], *source["quotes"]]))
    for place in state.get("places", []):
        texts[place["source"]] = (
            f"{texts.get(place['source'], '')}\n{place_lines([place], language)}"
        )
    for route in state.get("routes", []):
        texts[route["source"]] = (
            f"{texts.get(route['source'], '')}\n{route_lines([route], language)}"
        )
    for day in state.get("weather", []):
        texts[day["source"]] = f"{texts.get(day['source'], '')}\n{weather_lines([day], language)}"
    return texts
