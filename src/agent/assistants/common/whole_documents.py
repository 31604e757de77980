"""Read own documents whole: what the user names is never filtered, only put into an order.

Small documents are read first, so that one long file does not keep many short ones out. What does
not fit is searched as it always was, and named to the reader.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar, cast

from agent.assistants.common.own_documents import (
    PassageKey,
    documents_gap,
    passage_key,
    passage_source,
    passage_text,
    shown_path,
)
from agent.assistants.common.services import Services
from agent.core.errors import AgentError
from agent.core.processor import lazy_property
from agent.core.strings import estimated_tokens
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap, Source
from agent.knowledge.types import KnowledgeHit, KnownDocument, Scope
from agent.prompts import Raw, element
from agent.search.hits import only_known
from agent.state import Gathered
from agent.texts import Language, say

S = TypeVar("S", bound=Gathered)
_MOST_CHARACTERS = 4
"""Characters that a token has at most, in any language."""
_NAMED, _TOLD = 20, 3
"""Documents that are named among those not read: to a model, and to the reader."""
_TITLE = 80


@dataclass(frozen=True)
class WholeDocuments:
    """Hold the documents of a scope: the passages of those read whole, and those left out."""

    hits: list[KnowledgeHit] = field(default_factory=list)
    """Each document's passages in their order, small documents first."""
    read: list[KnownDocument] = field(default_factory=list)
    unread: list[KnownDocument] = field(default_factory=list)
    """Those for which there was no room, and those whose files could not be read."""
    gap: Gap | None = None
    shown: frozenset[str] | None = None
    """The ids of the passages that are shown, where that is not all."""
    differences: Sequence[str] = ()
    """Where they contradict each other, to be told with them."""

    @property
    def by_id(self) -> dict[str, KnowledgeHit]:
        """Return the passages by their ids: `o1-0` is the first of the second document."""
        if self.shown is None:
            return self._every
        return {name: hit for name, hit in self._every.items() if name in self.shown}

    @property
    def names(self) -> dict[PassageKey, str]:
        """Return the ids of all passages, whether they are shown or not."""
        return {passage_key(hit): name for name, hit in self._every.items()}

    @lazy_property
    def _every(self) -> dict[str, KnowledgeHit]:
        numbers: dict[str, int] = {}
        counts: dict[str, int] = {}
        ids: dict[str, KnowledgeHit] = {}
        for hit in self.hits:
            document = hit.document["id"]
            number = numbers.setdefault(document, len(numbers))
            counts[document] = counts.get(document, -1) + 1
            ids[f"o{number}-{counts[document]}"] = hit
        return ids

    @property
    def texts(self) -> dict[str, str]:
        """Return the passages with their headings, by their ids."""
        return {name: passage_text(hit) for name, hit in self.by_id.items()}

    def sources(self, language: Language) -> list[Source]:
        """Return a source for each passage."""
        return [passage_source(name, hit, language) for name, hit in self.by_id.items()]

    def with_passages(self, names: Collection[str]) -> "WholeDocuments":
        """Return these passages alone, under the ids that they have among all."""
        return replace(self, shown=frozenset(names))

    def coverage(self, language: Language) -> str:
        """Return `Read 4 of 5 of your documents; not read: Annex`; empty where there are none."""
        total = len(self.read) + len(self.unread)
        if not total:
            return ""
        counts = {"read": str(len(self.read)), "total": str(total)}
        if not self.unread:
            return say("documents.read", language, **counts)
        titles = [title_of(document) for document in self.unread]
        names = say("punctuation.comma", language).join(titles[:_TOLD])
        if (left := len(titles) - _TOLD) > 0:
            names = say("documents.and_more", language, names=names, count=str(left))
        return say("documents.read_partly", language, **counts, names=names)


async def read_documents_whole(
    scope: Scope, services: Services, language: Language, *, tokens: int
) -> WholeDocuments:
    """Return the documents of a scope whole, as far as `tokens` hold them; never raise."""
    knowledge = services.knowledge()
    try:
        every = await knowledge.documents(scope)
        hits = await knowledge.texts(scope, most=_MOST_CHARACTERS * tokens)
    except AgentError as error:
        return WholeDocuments(gap=documents_gap(error, language))
    fitting = _fitting(hits, tokens)
    # Whoever has room for less has the same beginning: a service that keeps it charges for it once.
    kept = [hit for name in fitting for hit in hits if hit.document["id"] == name]
    return WholeDocuments(
        kept,
        [document for document in every if document["id"] in fitting],
        [document for document in every if document["id"] not in fitting],
    )


async def with_whole_documents(
    state: S, scope: Scope | None, services: Services, *, tokens: int
) -> tuple[S, WholeDocuments]:
    """Return what own documents say, whole, and the state with a source for each passage.

    Whoever writes reads them then: no checkpoint has to keep them. A knowledge base that fails is
    a gap.
    """
    if scope is None:
        return state, WholeDocuments()
    language = state["turn"]["language"]
    found = await read_documents_whole(scope, services, language, tokens=tokens)
    known: dict[str, Any] = {**state}
    gathered = known.get("sources_gathered", [])
    known["sources_gathered"] = [*gathered, *found.sources(language)]
    known["gaps"] = [*known.get("gaps", []), *([found.gap] if found.gap else [])]
    return cast(S, known), found


def rest_of(scope: Scope, whole: WholeDocuments) -> Scope | None:
    """Return the scope of those documents that are not read whole; None where that is none."""
    if not whole.read:
        return scope
    rest = tuple(document["id"] for document in whole.unread)
    return replace(scope, documents=rest) if rest else None


def _fitting(hits: Sequence[KnowledgeHit], tokens: int) -> list[str]:
    """Return the ids of the documents that fit together, small ones first."""
    sizes: dict[str, int] = {}
    for hit in hits:
        size = estimated_tokens(hit.chunk["text"])
        sizes[hit.document["id"]] = sizes.get(hit.document["id"], 0) + size
    fitting = list[str]()
    for name, size in sorted(sizes.items(), key=lambda sized: sized[1]):
        if (tokens := tokens - size) < 0:
            break
        fitting.append(name)
    return fitting


def title_of(document: KnownDocument) -> str:
    """Return a document as its user knows it: the title, else the file's name."""
    return clean_text(document["title"], _TITLE) or shown_path(document["path"])


def _lines(text: str) -> str:
    """Return a text without blanks that say nothing; rows of a table and of code stay lines."""
    return "\n".join(
        row[: len(row) - len(row.lstrip())][:_INDENT] + line
        for row in text.splitlines()
        if (line := " ".join(row.split()))
    )


_INDENT = 16
"""Characters by which a line of code or YAML is indented at most."""


def document_elements(whole: WholeDocuments) -> Raw:
    """Return the documents as a model reads them, each passage behind its marker."""
    lines: dict[str, list[str]] = {}
    titles: dict[str, str] = {}
    for name, hit in whole.by_id.items():
        document = hit.document
        titles[document["id"]] = title_of(document)
        headings = " › ".join(h for h in hit.chunk["headings"] if h != document["title"])
        under = f"{clean_text(headings, _TITLE)}: " if headings else ""
        # A document could write our markers to have itself cited under another one's name.
        text = only_known(_lines(hit.chunk["text"]), ())
        lines.setdefault(document["id"], []).append(f"[^{name}] {under}{text}")
    elements = [
        element("document", "\n" + "\n".join(rows) + "\n", title=titles[document])
        for document, rows in lines.items()
    ]
    if whole.unread:
        # Whoever can open them has to know of them.
        elements.append(element("not_shown", "; ".join(map(title_of, whole.unread[:_NAMED]))))
    if whole.differences:
        elements.append(element("differences", "\n".join(["", *whole.differences, ""])))
    return Raw("\n".join(elements))
