"""The tables of a dossier that code writes: figures, and what was consulted."""

from collections.abc import Iterator, Mapping, Sequence

from agent.assistants.plan_execute.observations import ids_of
from agent.assistants.plan_execute.state import ExecutorResult, PlanState
from agent.assistants.plan_execute.wording import KINDS, off_reason, say, source_name
from agent.evidence.citations import inert
from agent.evidence.types import Source
from agent.language import Language
from agent.search.documents import Figure

MAX_FIGURES = 16
_CELL = 120


def figures_of(results: Sequence[ExecutorResult]) -> list[tuple[str, Figure]]:
    """The figures of filings and statements, each once, under the id of their document."""
    found: dict[tuple[str, str, str, str], tuple[str, Figure]] = {}
    for result in results:
        for name, document in zip(ids_of(result), result["documents"], strict=True):
            for figure in document.get("figures", []):
                key = (figure["name"], figure["value"], figure["unit"], figure["period"])
                found.setdefault(key, (name, figure))
    return list(found.values())


def figure_section(figures: Sequence[tuple[str, Figure]], language: Language) -> str:
    """A table with unit, period and marker of each figure; empty without figures."""
    if not figures:
        return ""
    rows = [
        f"| {cells} | [^{name}] |"
        for name, figure in figures[:MAX_FIGURES]
        if (cells := " | ".join(cell(figure[key]) for key in ("name", "value", "unit", "period")))
    ]
    head = [say("figures", language), "", say("figures_head", language), "|---|---|---|---|---|"]
    left = len(figures) - len(rows)
    more = ["", say("figures_more", language, count=str(left))] if left else []
    return "\n".join([*head, *rows, *more])


def consulted_section(
    state: PlanState, used: Sequence[Source], off: Mapping[str, str], language: Language
) -> str:
    """What each source brought and what of it is cited; the ranking, the papers, what was off."""
    rows = consulted_rows(state, used, language)
    table = [say("consulted_head", language), "|---|---|---:|---:|", *rows] if rows else []
    notes = _notes(state, off, language)
    if not rows and not notes:
        return ""
    return "\n".join([say("consulted", language), "", *table, *([""] if rows else []), *notes])


def consulted_rows(state: PlanState, used: Sequence[Source], language: Language) -> list[str]:
    """A row for each source: name, kind, distinct documents found, and cited."""
    found: dict[tuple[str, str], set[str]] = {}
    for name, kind, key in _consulted(state, language):
        found.setdefault((name, kind), set()).add(key)
    cited = {_key(source) for source in used}
    return [
        f"| {cell(name)} | {kind} | {len(keys)} | {len(keys & cited)} |"
        for (name, kind), keys in found.items()
    ]


def _consulted(state: PlanState, language: Language) -> Iterator[tuple[str, str, str]]:
    """Source, kind and address of everything that was found."""
    kinds: dict[str, str] = {
        "place": KINDS["map"][language],
        "document": KINDS["document"][language],
    }
    for result in state.get("executor_result", []):
        for name, document in zip(ids_of(result), result["documents"], strict=True):
            kinds[name] = KINDS[document["kind"]][language]
    for source in state.get("sources_gathered", []):
        if kind := kinds.get(source["id"]) or kinds.get(source["kind"]):
            yield source["provider"], kind, _key(source)


def _key(source: Source) -> str:
    return source["url"] or source["title"]


def _notes(state: PlanState, off: Mapping[str, str], language: Language) -> list[str]:
    notes = []
    if note := state.get("plan_note"):
        notes.append(say("plan", language, text=inert(note)))
    backends = dict.fromkeys(
        # Why a server was not used is a gap's to say.
        inert(result["rerank"]).partition(" (")[0]
        for result in state.get("executor_result", [])
        if result["rerank"]
    )
    if backends:
        notes.append(say("ranked", language, text="; ".join(backends)))
    papers = {paper["url"]: paper["path"] for paper in state.get("downloaded_papers", [])}
    if papers:
        failed = sum(path is None for path in papers.values())
        counts = {"got": str(len(papers) - failed), "failed": str(failed)}
        notes.append(say("papers", language, **counts))
    if off:
        told = "; ".join(
            f"{source_name(n, language)} ({inert(off_reason(n, why, language))})"
            for n, why in off.items()
        )
        notes.append(say("off", language, text=told))
    return [f"- {note}" for note in notes]


def cell(text: str) -> str:
    """Foreign text as it can stand in a table."""
    return inert(text[:_CELL]).replace("|", "\\|")
