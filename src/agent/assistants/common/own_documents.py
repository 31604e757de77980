"""Read the user's own documents: whose they are, which of them a run may read, what they say.

Every assistant reads the collections that its question or its settings name. Where none is named
there is no tool and no cost, but for `plan_execute`, which reads all that its owner may read.
"""

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any, Literal

from langchain_core.tools import BaseTool, tool
from langgraph.config import get_config
from langgraph.runtime import Runtime
from pydantic import BaseModel, Field, field_validator

from agent.assistants.common.conversation import attachments_of, last_question
from agent.assistants.common.forms import Words
from agent.assistants.common.gaps import run_gap
from agent.assistants.common.search import page_row, result_element
from agent.assistants.common.services import Services
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError, InputError
from agent.evidence.language import fold
from agent.evidence.markdown import link_url
from agent.evidence.queries import clean_text
from agent.evidence.types import Gap, Source
from agent.knowledge.types import Collected, KnowledgeHit, KnownDocument, Scope
from agent.runs.engine import EVERYBODY, OWNER
from agent.search.hits import only_known
from agent.state import QuestionInput, Turn, reader_language
from agent.texts import Language, reason_of, say

SEARCH_DOCUMENTS = "search_documents"
PAPERS, SAMPLE_PAPERS = "papers", "sample-papers"
SHOWN_COLLECTIONS = 30
_LOOKED_AT, _SHOWN, _NEAREST = 20, 6, 3
_PASSAGE, _TITLE = 1500, 200
_PDF = "pdf"
log = logging.getLogger(__name__)


@tool(SEARCH_DOCUMENTS)
def search_documents(query: str) -> str:
    """Search the user's own documents, by words or a question in their language.

    Brings passages with ids to cite.
    """
    return ""


DOCUMENTS: BaseTool = search_documents


def papers_of(mode: str) -> str:
    """Return the collection of this mode's papers."""
    return SAMPLE_PAPERS if mode == "offline" else PAPERS


def is_own(collection: str) -> bool:
    """Return True for a collection of the user's documents, not of downloaded papers."""
    return collection not in (PAPERS, SAMPLE_PAPERS)


def read_by_default(names: Iterable[str]) -> list[str]:
    """Return the collections of own documents: papers of earlier questions have to be named."""
    return list(filter(is_own, names))


def owner_of(runtime: Runtime[Configuration]) -> str:
    """Return whose documents may be read: the server's user's, or the command line's."""
    user = runtime.server_info.user if runtime.server_info else None
    if user is not None:
        return "" if user.identity == EVERYBODY else str(user.identity)
    config = get_config()
    # A server hands a user it has stored on as plain data, beside the name alone.
    stored = (config.get("configurable") or {}).get("langgraph_auth_user_id")
    # Nobody asked for a run that is continued; the server notes on it whose it was.
    return str((config.get("metadata") or {}).get(OWNER) or "" if stored is None else stored)


@dataclass(frozen=True)
class Readable:
    """Hold whose documents a run reads, and which collections; settled at its start."""

    owner: str
    names: list[str] = field(default_factory=list)
    collections: list[Collected] = field(default_factory=list)
    """All that the owner may read, where they were looked up."""
    gaps: list[Gap] = field(default_factory=list)
    named: bool = False
    """Whether the question or the settings name the collections."""


class AsksForDocuments(BaseModel):
    """What a plan says of the user's own documents."""

    own_documents: Literal["", "also", "only"] = Field(
        "", description="Whether the question asks for the user's own documents, or for no others."
    )
    only_words: Words = Field("", description="With only: the user's words for it, copied.")

    @field_validator("own_documents", mode="before")
    @classmethod
    def _own_documents(cls, value: object) -> object:
        return value if value in ("also", "only") else ""

    def asks(self, question: str, conversation: str = "") -> str:
        """Return what is asked of own documents: no others only in words that the user has used."""
        is_only = self.own_documents == "only"
        proven = is_only and asks_for_no_others(self.only_words, question, conversation)
        return "also" if is_only and not proven else self.own_documents


def asks_for_no_others(words: str, question: str, conversation: str = "") -> bool:
    """Return whether words that a model has copied stand in what was said, and are not all of it.

    A weak model says of any question that it wants the user's own documents only; believed, it
    had nothing looked up (6 of 12 runs of small models).
    """
    if not words.strip():
        return False
    copied, asked, said = (fold("".join(t.split())) for t in (words, question, conversation))
    return copied != asked and (copied in asked or copied in said)


def held_inside(state: QuestionInput, asks: str) -> str:
    """Return what is asked of own documents, on a thread whose last question wanted no others.

    That holds on until a question asks for others beside them: words that only the user's own
    documents know stand in the conversation, and a planner may send them out.
    """
    is_inside = _turn_before(state).get("stays_inside") is True
    return "only" if is_inside and asks != "also" else asks


def _turn_before(state: QuestionInput) -> dict[str, Any]:
    """Return the turn of the thread's last question, as a client may have written it."""
    turn: object = dict(state).get("turn")
    return turn if isinstance(turn, dict) else {}


def kept_inside(turn: Turn, asks: str) -> Turn:
    """Return a turn that reads own documents only, as the next ones where words ask for that."""
    inside = Turn(**{**turn, "own_only": True})
    return Turn(**{**inside, "stays_inside": True}) if asks == "only" else inside


def lacking_documents(readable: Readable, language: Language, *, only: bool) -> list[Gap]:
    """Return that there are no documents, where the question asks for them."""
    if readable.names or readable.gaps:
        return []
    if only:
        return [run_gap("documents.none_to_read", language)]
    return [run_gap("documents.no_documents", language)]


async def documents_asked_for(
    state: QuestionInput,
    configuration: Configuration,
    services: Services,
    runtime: Runtime[Configuration],
    *,
    turn: Turn,
    readable: Readable,
    asks: str,
) -> tuple[Readable, Turn, list[Gap]]:
    """Return what a run reads once a model has told what its question `asks` of own documents.

    That is all that its owner has, where it names none. The turn says where nothing else may be
    searched; documents that are asked for and not there are a gap.
    """
    asks = held_inside(state, asks)
    if asks and not readable.names:
        readable = await readable_collections(
            state, configuration, services, runtime, turn=turn, all_by_default=True
        )
    only = configuration.sources == "own" or asks == "only"
    turn = with_named(turn, readable)
    turn = kept_inside(turn, asks) if only else turn
    wanted = only or asks
    return (
        readable,
        turn,
        lacking_documents(readable, reader_language(turn), only=only) if wanted else [],
    )


def own_scope(readable: Sequence[str], owner: str, runtime: Runtime[Configuration]) -> Scope | None:
    """Return what a run that settled this may read; None for nothing, and for another's run.

    A client may write to the state of its thread: whose run it is says the server alone.
    """
    if owner != owner_of(runtime):
        log.warning("a run whose state names another owner reads no documents")
        return None
    return Scope(tuple(readable), owner) if readable else None


async def readable_collections(
    state: QuestionInput,
    configuration: Configuration,
    services: Services,
    runtime: Runtime[Configuration],
    *,
    turn: Turn,
    all_by_default: bool = False,
) -> Readable:
    """Return what this run may read; raise InputError for a collection that is not there.

    What the question brings along and nobody reads is a gap.
    """
    readable = await _readable_collections(
        state, configuration, services, runtime, turn=turn, all_by_default=all_by_default
    )
    if not (count := attachments_of(last_question(state["messages"]))):
        return readable
    gap = run_gap("documents.attachments_unread", reader_language(turn), count=count)
    return replace(readable, gaps=[gap, *readable.gaps])


async def _readable_collections(
    state: QuestionInput,
    configuration: Configuration,
    services: Services,
    runtime: Runtime[Configuration],
    *,
    turn: Turn,
    all_by_default: bool,
) -> Readable:
    """Return the collections this run may read.

    Somebody else's is told as one that nobody has. A knowledge base that fails is a gap.
    """
    chosen, owner = _named(state, configuration), owner_of(runtime)
    before = _named_before(state) if chosen is None else []
    all_by_default = all_by_default or configuration.sources == "own"
    if not (chosen or before or (chosen is None and all_by_default)):
        return Readable(owner)
    try:
        collections = await services.knowledge().collections(owner)
    except AgentError as error:
        return Readable(owner, gaps=[documents_gap(error, turn["language"])])
    names = list(dict.fromkeys(each["name"] for each in collections))
    if chosen is None:
        still = [name for name in before if name in names]
        by_default = read_by_default(names) if all_by_default else []
        return Readable(owner, still or by_default, collections, named=bool(still))
    for name in chosen:
        if name not in names:
            there = ", ".join(sorted(names)[:SHOWN_COLLECTIONS]) or "none"
            raise InputError("collections", f"There is no {name[:80]!r}; there are: {there}")
    return Readable(owner, list(dict.fromkeys(chosen)), collections, named=True)


def _named_before(state: QuestionInput) -> list[str]:
    """Return the collections that an earlier question on the thread named: a follow-up has them.

    A client may have written them there: only what is its own is read.
    """
    names = _turn_before(state).get("collections")
    return [name for name in names if isinstance(name, str)] if isinstance(names, list) else []


def with_named(turn: Turn, readable: Readable) -> Turn:
    """Return a turn that tells the next one on its thread which collections are named."""
    return Turn(**{**turn, "collections": readable.names}) if readable.named else turn


def _named(state: QuestionInput, configuration: Configuration) -> list[str] | None:
    """Return the collections that the input names, else the settings; None where neither does."""
    chosen: object = state.get("collections")
    if chosen is None:
        names = [name.strip() for name in configuration.collections.split(",")]
        return list(filter(None, names)) or None
    if not isinstance(chosen, list) or not all(isinstance(name, str) for name in chosen):
        raise InputError("collections", "must be a list of names")
    return chosen


def documents_gap(error: AgentError, language: Language) -> Gap:
    """Return the gap of a knowledge base that cannot be used."""
    log.warning("own documents: %s", error)
    reason = reason_of(error, language)
    return run_gap("documents.knowledge_failed", language, reason=reason)


PassageKey = tuple[str, int]
"""A passage by its document and its place in it."""
_NO_NAMES: Mapping[PassageKey, str] = {}


def passage_key(hit: KnowledgeHit) -> PassageKey:
    """Return what tells a passage from all others."""
    return hit.document["id"], hit.chunk["number"]


@dataclass(frozen=True)
class OwnPassages:
    """Hold what own documents say on a query: a source for each passage, or why there is none."""

    query: str
    sources: list[Source] = field(default_factory=list)
    gap: Gap | None = None

    def shown(self, ids: Sequence[str], language: Language) -> str:
        """Return the passages as a model reads them in a tool's result, under these ids."""
        rows = [
            page_row(source["quotes"][0], id=name, title=source["title"])
            for name, source in zip(ids, self.sources, strict=True)
        ]
        failure = self.gap["message"] if self.gap else say("tools.nothing", language)
        return result_element(self.query, rows or [failure], tool=SEARCH_DOCUMENTS)


async def search_own(
    query: str,
    scope: Scope | None,
    services: Services,
    meter: Meter,
    *,
    prefix: str,
    language: Language,
    names: Mapping[PassageKey, str] = _NO_NAMES,
) -> OwnPassages:
    """Return the passages nearest to a query, best first; never raise for a failure.

    `names` are the ids of passages that have one already.
    """
    if scope is None:
        return OwnPassages(query)
    try:
        hits = await services.knowledge().search(query, scope, limit=_LOOKED_AT, meter=meter)
    except AgentError as error:
        return OwnPassages(query, gap=documents_gap(error, language))
    return OwnPassages(query, passage_sources(hits[:_SHOWN], prefix, names, language))


def passage_sources(
    hits: Sequence[KnowledgeHit],
    prefix: str,
    names: Mapping[PassageKey, str],
    language: Language,
) -> list[Source]:
    """Return a source for each passage, under the id that it has already, else a new one."""
    return [
        passage_source(names.get(passage_key(hit), f"{prefix}-{n}"), hit, language)
        for n, hit in enumerate(hits)
    ]


def is_near(hit: KnowledgeHit) -> bool:
    """Return whether its meaning is among the nearest, where vectors were compared."""
    return hit.ranks.get("vector", _NEAREST + 1) <= _NEAREST


def passage_text(hit: KnowledgeHit) -> str:
    """Return a passage with its headings, as it is ranked."""
    return "\n".join([*hit.chunk["headings"], hit.chunk["text"]])


def passage_source(name: str, hit: KnowledgeHit, language: Language) -> Source:
    """Return a passage as it is cited: with its page, and an address only where others have it.

    Its words are its quote, under the headings that are not its title.
    """
    document, page = hit.document, hit.chunk["page"]
    path = shown_path(document["path"])
    title = clean_text(document["title"], _TITLE) or path
    headings = [clean_text(heading, _TITLE) for heading in hit.chunk["headings"]]
    under = " › ".join(heading for heading in headings if heading != title)
    # A document could write our markers to have itself cited under another one's name.
    text = only_known(" ".join(hit.chunk["text"].split()), ())[:_PASSAGE]
    url = link_url(document["url"] or "")
    if url and page and document["kind"] == _PDF:
        url = f"{url.partition('#')[0]}#page={page}"
    return Source(
        id=name,
        kind="document",
        title=_with_unread(titled(title, path, page, url, language), document, language),
        url=url,
        provider=say("plan_execute.sources.documents", language),
        quotes=[f"{under}: {text}" if under else text],
        document=document["id"],
    )


_UNREAD = 80


def _with_unread(title: str, document: KnownDocument, language: Language) -> str:
    """Return a title that says which pages of the document nobody has read, as scans among them."""
    pages = document.get("metadata", {}).get("unread_pages")
    if not isinstance(pages, str):
        return title
    return title + say("documents.unread", language, pages=clean_text(pages, _UNREAD))


def titled(title: str, path: str, page: int | None, url: str, language: Language) -> str:
    """Return `Title, p. 3 (folder/file.pdf)`; the path only where there is no address."""
    named = with_page(title, page, language)
    return named if url or not path or path in named else f"{named} ({path})"


def with_page(title: str, page: int | None, language: Language) -> str:
    """Return `Title, p. 3`."""
    if page is None:
        return title
    return say("plan_execute.page", language, title=title, page=str(page))


def shown_path(path: str) -> str:
    """Return the path that others may see: below the ingested folder, else the name."""
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(path).is_absolute():
            return kind(path).name
    return path


def marked_passages(sources: Iterable[Source]) -> str:
    """Return passages as marked text."""
    return "\n\n".join(f"{s['title']}: {s['quotes'][0]} [^{s['id']}]" for s in sources)
