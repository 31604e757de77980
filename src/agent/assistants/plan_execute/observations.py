"""What models are shown of documents: the essential, by kind of source, within so many tokens."""

from collections.abc import Sequence

from agent.assistants.plan_execute.state import ExecutorResult
from agent.assistants.plan_execute.wording import KINDS, say, source_name
from agent.evidence.lengths import cut_to_tokens, estimated_tokens
from agent.language import Language
from agent.search.documents import Document, Figure

_PREVIEW = 60
_FIGURES = 8
_EARLIER = 30


def crop_observation(documents: Sequence[Document], language: Language, *, tokens: int) -> str:
    """The results of a tool for the model that called it; the whole results stay in the state."""
    if not documents:
        return say("nothing", language)
    lines, left = list[str](), tokens
    for document in documents:
        line = _cropped(document, language)
        if (left := left - estimated_tokens(line) - 1) < 0:
            break
        lines.append(line)
    return "\n".join(lines) or cut_to_tokens(_cropped(documents[0], language), tokens)


def earlier_lines(results: Sequence[ExecutorResult]) -> str:
    """The results of tasks that another one depends on, each with its marker."""
    return "\n".join(
        f"[^{name}] {document['title']} — {_preview(document)}"
        for result in results
        for name, document in list(zip(ids_of(result), result["documents"], strict=True))[:_EARLIER]
    )


def ids_of(result: ExecutorResult) -> list[str]:
    """What a task's documents are cited by: `e2-0` …"""
    number = result["task"].removeprefix("T")
    return [f"e{number}-{index}" for index in range(len(result["documents"]))]


def about(document: Document, language: Language) -> str:
    """`paper, 2024`."""
    dated = document.get("year") or (document.get("published") or "")[:10]
    return ", ".join(str(part) for part in (KINDS[document["kind"]][language], dated) if part)


def figure_text(figure: Figure) -> str:
    """`Revenue: 362 bn CNY (FY2024)`."""
    return f"{figure['name']}: {figure['value']} {figure['unit']} ({figure['period']})"


def _cropped(document: Document, language: Language) -> str:
    source = source_name(document["source"], language)
    head = f"- {document['title']} ({source}; {about(document, language)})"
    if document["kind"] in ("filing", "statement"):
        shown = "; ".join(map(figure_text, document.get("figures", [])[:_FIGURES]))
        return f"{head}: {shown or _preview(document)}"
    if document["kind"] == "paper" and (cited := document.get("cited_by")):
        head = f"{head[:-1]}; ×{cited})"
    return f"{head}: {_preview(document)}"


def _preview(document: Document) -> str:
    return cut_to_tokens(" ".join(document["text"].split()), _PREVIEW)
