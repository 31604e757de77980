"""Let a model list and open own documents, where they are too large to be shown whole."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

from langchain_core.messages import ToolCall
from langchain_core.tools import BaseTool, tool

from agent.assistants.common.own_documents import (
    DOCUMENTS,
    OwnPassages,
    PassageKey,
    documents_gap,
    passage_sources,
    passage_text,
    shown_path,
)
from agent.assistants.common.services import Services
from agent.assistants.common.whole_documents import title_of
from agent.core.errors import AgentError
from agent.evidence.language import fold
from agent.evidence.queries import clean_text
from agent.knowledge.ranking import nearest_within
from agent.knowledge.types import KnownDocument, Scope
from agent.texts import Language, say

LIST_DOCUMENTS, OPEN_DOCUMENT = "list_documents", "open_document"
_LISTED, _MOST_CHARACTERS, _LONGEST = 200, 400_000, 300


@tool(LIST_DOCUMENTS)
def list_documents() -> str:
    """List the user's own documents by their titles."""
    return ""


@tool(OPEN_DOCUMENT)
def open_document(document: str, looking_for: str) -> str:
    """Open one of the user's own documents, by its title as listed.

    Brings the whole of a short one, of a long one the passages nearest to looking_for, with ids.
    """
    return ""


DOCUMENT_TOOLS: tuple[BaseTool, ...] = (DOCUMENTS, list_documents, open_document)


def document_named(call: ToolCall) -> tuple[str, str]:
    """Return the document that a call of the tool names, and what it looks for."""
    values = (call["args"].get(name) for name in ("document", "looking_for"))
    texts = [clean_text(text, _LONGEST) if isinstance(text, str) else "" for text in values]
    return texts[0], texts[1]


async def listed_documents(scope: Scope | None, services: Services, language: Language) -> str:
    """Return the titles of own documents with their files, a line each."""
    if scope is None:
        return say("tools.nothing", language)
    try:
        documents = await services.knowledge().documents(scope)
    except AgentError as error:
        return documents_gap(error, language)["message"]
    lines = [f"{title_of(each)} ({shown_path(each['path'])})" for each in documents[:_LISTED]]
    return "\n".join(lines) or say("tools.nothing", language)


async def open_own(
    document: str,
    looking_for: str,
    scope: Scope | None,
    services: Services,
    *,
    prefix: str,
    language: Language,
    tokens: int,
    names: Mapping[PassageKey, str],
) -> OwnPassages:
    """Return the passages of a document in their order, all or the nearest; never raise.

    `names` are the ids of passages that have one already.
    """
    if scope is None:
        return OwnPassages(document)
    knowledge = services.knowledge()
    try:
        known = _named(document, await knowledge.documents(scope))
        if known is None:
            return OwnPassages(document)
        hits = await knowledge.texts(
            replace(scope, documents=(known["id"],)), most=_MOST_CHARACTERS
        )
    except AgentError as error:
        return OwnPassages(document, gap=documents_gap(error, language))
    texts = [passage_text(hit) for hit in hits]
    chosen = [hits[at] for at in nearest_within(texts, looking_for or document, tokens)]
    return OwnPassages(document, passage_sources(chosen, prefix, names, language))


def _named(name: str, documents: Sequence[KnownDocument]) -> KnownDocument | None:
    """Return the document of this title, file or id; else the one whose title holds the words."""
    wanted = fold(name)
    for each in documents:
        titles = (each["id"], title_of(each), shown_path(each["path"]))
        if wanted in (*map(fold, titles), fold(f"{titles[1]} ({titles[2]})")):
            return each
    return next((d for d in documents if wanted and wanted in fold(title_of(d))), None)
