"""One topic's branch: its pages read, then compressed to notes with a marker for each fact."""

import logging
import re
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass, field
from typing import cast

from langchain_core.messages import BaseMessage
from langgraph.runtime import Runtime
from pydantic import BaseModel

from agent.assistants.common.conversation import prompt_tokens
from agent.assistants.common.gaps import ask_or_gap, gap_of, run_gap
from agent.assistants.common.reading import MAX_TEXT, read_side_by_side
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.turn import context_limit, open_meter, room_of
from agent.assistants.common.workspace import Item, Workspace
from agent.assistants.deep_research.state import (
    Counts,
    DeepUpdate,
    TopicBranch,
    TopicResult,
    UsefulPage,
    configuration_of,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.concurrency import Lanes, TurnTasks
from agent.core.errors import AgentError
from agent.core.processor import breathe, compute
from agent.core.progress import Emit, event
from agent.core.strings import cut_to_shares, cut_to_tokens, estimated_tokens, first_lines
from agent.evidence.citations import MARKER, cited_ids
from agent.evidence.language import SENTENCE_END
from agent.evidence.markdown import first_heading
from agent.evidence.queries import clean_text
from agent.evidence.references import is_domain
from agent.evidence.types import Gap, Source
from agent.knowledge.ranking import Bm25, best_first
from agent.models.catalogue import DEFAULT_THINKING
from agent.models.types import ModelAnswer
from agent.prompts import Raw, element, task_prompt
from agent.search.hits import beginning, only_known, quotes_by_id, summary_label
from agent.state import answer_language
from agent.texts import Language

log = logging.getLogger(__name__)
_MAX_TITLE = 160


@dataclass(frozen=True)
class ReadPage:
    """Hold a page with its text; `partial` where that is an excerpt."""

    page: UsefulPage
    text: str
    partial: bool


async def read_pages(
    pages: Sequence[UsefulPage],
    services: Services,
    meter: Meter,
    language: Language,
    workspace: Workspace,
) -> tuple[list[ReadPage], list[Gap]]:
    """Return every page in order; what no search or call has opened is read now, all at once.

    An unreadable one becomes its excerpt. Never raise for a page.
    """
    items = {item.id: item for item in await workspace.items([page["id"] for page in pages])}
    texts: dict[str, tuple[str, bool]] = {}
    dates = {page["url"]: page["published"] or "" for page in pages}
    for page in pages:
        item = items.get(page["id"])
        if item and item.text:
            dates[page["url"]] = dates[page["url"]] or item.date
            texts[page["url"]] = item.text, False
    gaps: dict[str, Gap] = {}
    urls = [page["url"] for page in pages if page["url"] not in texts]
    if urls and services.web.can_extract:
        try:
            extracted = await services.web.extract(urls, meter=meter)
            texts |= {content.url: (content.text, False) for content in extracted}
        except AgentError as error:
            log.warning("turn=%s reading: %s", meter.turn_id, error)
            gaps[error.code] = gap_of("", error, "reader", language)
        urls = []
    for url, read in (await read_side_by_side(urls, services, meter)).items():
        if isinstance(read, AgentError):
            gaps.setdefault(read.code, gap_of(url, read, "reader", language))
        elif read.text.strip():
            texts[url] = read.text, read.partial
            dates[url] = dates[url] or read.published
    pages = [UsefulPage(**{**page, "published": dates[page["url"]] or None}) for page in pages]
    await workspace.keep(
        [_item(page, texts[page["url"]][0]) for page in pages if page["url"] in texts]
    )
    return [_read(page, texts.get(page["url"])) for page in pages], list(gaps.values())


def _item(page: UsefulPage, text: str) -> Item:
    return Item(
        "page", page["title"], page["url"], text, date=page["published"] or "",
        site=page["site"], provider=page["provider"],
    )  # fmt: skip


def _read(page: UsefulPage, text_found: tuple[str, bool] | None) -> ReadPage:
    text, partial = text_found if text_found and text_found[0].strip() else (page["snippet"], True)
    if text_found and is_domain(page["title"]) and (heading := first_heading(text)):
        # Google names a page by its site alone.
        page = UsefulPage(**{**page, "title": only_known(heading, ())[:_MAX_TITLE]})
    # A page could write our markers to have itself cited under another source's name.
    return ReadPage(page, only_known(text[:MAX_TEXT], ()), partial or len(text) > MAX_TEXT)


NODE = "compress_topic"
_PER_PAGE = 80
"""Tokens for a page's tag."""
_LEAST_OF_PAGE = 300
"""Tokens of a page below which its words say less than notes do."""
_OF_SHARE = 0.7
_PER_TOKEN: dict[Language, float] = {"zh": 1.5, "zh-Hant": 1.5, "en": 0.75}
"""Chinese characters, or English words, a token."""
_OPEN = re.compile(r"^[ \t*_#>-]*(?:OPEN|未决|待查)\**[ \t]*[:：]\**[ \t]*(.*)$", re.MULTILINE)
_NOTHING_OPEN = frozenset(
    {"", "nothing", "nothing open", "none", "no", "no open", "no questions", "no open questions",
     "no question", "no open question", "na", "n/a", "无", "没有", "暂无", "-", "—"}
)  # fmt: skip
_MAX_OPEN, _MAX_QUOTE, _LIKE = 400, 500, 0.15


@dataclass(frozen=True)
class Compression:
    """Read and compress closed topics, beside the exploration of the next one or at its end."""

    get_services: GetServices
    lanes: Lanes = field(default_factory=Lanes)
    tasks: TurnTasks[DeepUpdate] = field(default_factory=TurnTasks)

    def start(self, branch: TopicBranch, runtime: Runtime[Configuration]) -> None:
        """Begin a topic that has just been closed."""
        topic = branch["result"]["topic"]
        self.tasks.start(branch["turn"]["id"], topic, self._run(branch, runtime))

    async def result(self, branch: TopicBranch, runtime: Runtime[Configuration]) -> DeepUpdate:
        """Return the topic's notes: of what was begun, else made now from replies that are kept.

        What was begun is of no use where the topic has got more pages or findings since.
        """
        begun = await self.tasks.result(branch["turn"]["id"], branch["result"]["topic"])
        is_whole = begun and _held(begun["search_results"][0]) == _held(branch["result"])
        return begun if begun and is_whole else await self._run(branch, runtime)

    async def _run(self, state: TopicBranch, runtime: Runtime[Configuration]) -> DeepUpdate:
        services, configuration = self.get_services(), configuration_of(runtime)
        meter = open_meter(state["turn"], configuration, services, spent=state["spent"])
        workspace = services.workspace(room_of(state["turn"], runtime))
        branch = _Branch(state, configuration, services, meter, runtime.stream_writer, workspace)
        async with self.lanes.of(state["turn"]["id"], configuration.max_parallel_reads):
            return await branch.run()

    def close(self, turn_id: str) -> None:
        self.lanes.close(turn_id)
        self.tasks.close(turn_id)


def _held(entry: TopicResult) -> tuple[list[str], str | None]:
    return [page["id"] for page in entry["useful_webpages"]], entry.get("found")


async def compress_topic(
    state: TopicBranch, runtime: Runtime[Configuration], *, compression: Compression
) -> DeepUpdate:
    """Return a topic's notes; for a failing page or model marked excerpts."""
    return await compression.result(state, runtime)


@dataclass(frozen=True)
class Notes:
    """Hold the notes of a topic as marked text, what they leave open, and markers removed."""

    text: str
    open: str = ""
    unknown: int = 0


@dataclass(frozen=True)
class _Branch:
    state: TopicBranch
    configuration: Configuration
    services: Services
    meter: Meter
    emit: Emit
    workspace: Workspace

    async def run(self) -> DeepUpdate:
        result, turn, began = self.state["result"], self.state["turn"], time.monotonic()
        name, count = f"t{self.state['number']}", len(result["useful_webpages"])
        self.emit(event("reading", NODE, id=name, text=result["topic"], count=count))
        pages, gaps = await read_pages(
            result["useful_webpages"], self.services, self.meter, turn["language"], self.workspace
        )
        room = self.configuration.small_topic_tokens
        # What explorers brought they have told with the words of the pages.
        untold = [each for each in pages if "found" not in result or not each.page.get("topic")]
        # An answer that is wanted at once is written from the pages themselves.
        is_small = (
            self.configuration.answer_now
            or _tokens(untold) < room
            or room >= _LEAST_OF_PAGE * len(untold)
        )
        if is_small:
            notes = Notes(await _excerpted(pages))
        else:
            notes, failed = await self._compress(untold)
            gaps += failed
        for gap in gaps:
            self.emit(event("gap", NODE, id=name, text=gap["message"]))
        seconds = time.monotonic() - began
        self.emit(event("compressed", NODE, id=name, text=result["topic"], count=count,
                        seconds=seconds))  # fmt: skip
        partial = sum(read.partial for read in pages)
        log.info("turn=%s %s %s: %d pages, %d partial, %.1f s",
                 turn["id"], NODE, name, count, partial, seconds)  # fmt: skip
        entry = _with_notes(result, pages, notes)
        entry["whole"] = is_small
        told = "\n".join([result.get("found", ""), notes.text])
        return DeepUpdate(
            search_results=[entry],
            sources_gathered=await compute(
                lambda: _sources(pages, told), otherwise=lambda: _sources(pages, "")
            ),
            counts=Counts(unknown_notes=notes.unknown),
            gaps=gaps,
            usage=self.meter.usage,
        )

    async def _compress(self, pages: list[ReadPage]) -> tuple["Notes", list[Gap]]:
        """Return notes that cite only these pages."""
        language, topic = self.state["turn"]["language"], self.state["result"]["topic"]
        ids = [read.page["id"] for read in pages]
        asking: Awaitable[ModelAnswer[BaseModel]] = self.services.models.ask(
            self.configuration.research_model,
            self._prompt(pages),
            meter=self.meter,
            thinking=DEFAULT_THINKING["research"],
        )
        reply, gaps = await ask_or_gap(
            asking,
            self.state["turn"],
            NODE,
            lambda reason: run_gap(
                "deep_research.compress_failed", language, query=topic, reason=reason
            ),
        )
        if reply is None:
            return Notes(await _excerpted(pages)), gaps
        unknown = sum(name not in ids for name in cited_ids(reply.text))
        text, open_ = _without_open(reply.text)
        notes = Notes(only_known(text, ids).strip(), open_, unknown)
        if MARKER.search(notes.text):
            return notes, []
        notes = Notes(await _excerpted(pages), open_, unknown)
        return notes, [run_gap("deep_research.compress_unmarked", language, query=topic)]

    def _prompt(self, pages: list[ReadPage]) -> list[BaseMessage]:
        """Return the instructions with the pages, each cut to its share of the limit."""
        turn = self.state["turn"]
        limit = context_limit(turn, self.configuration)
        language = turn["language"]
        values = {
            "question": cut_to_tokens(turn["question"], limit // 5),
            "topic": self.state["result"]["topic"],
            "words": str(_words(pages, limit // self.configuration.max_topics, language)),
        }
        target = answer_language(turn)
        bare = task_prompt("deep_compress", target, pages="", **values)
        free = limit - prompt_tokens(bare) - 100
        return task_prompt("deep_compress", target, pages=read_page_elements(pages, free), **values)


def read_page_elements(pages: Sequence[ReadPage], tokens: int) -> Raw:
    """Return pages as a model reads them, each cut to its share of so many tokens.

    One that could not be read and has no excerpt is left out: nothing in it can be cited.
    """
    pages = [read for read in pages if read.text.strip()]
    shares = cut_to_shares([read.text for read in pages], tokens - _PER_PAGE * len(pages))
    rows = [_page_element(read, text) for read, text in zip(pages, shares, strict=True)]
    return Raw("\n".join(rows))


def topic_element(entry: TopicResult, tokens: int, shorter: Callable[[str], str] = str) -> Raw:
    """Return a topic for a prompt: what explorers have found on it, and its notes.

    Where no model has written notes these are what the searches showed; its pages stand apart, and
    `shorter` takes out what these show. Findings that have no room are left out whole. What
    explorers left open the pages may tell that the lead has read since.
    """
    found = entry.get("found", "")
    is_told = bool(found) and entry.get("whole", False)
    notes = "" if is_told else entry["compressed_content"] or ""
    found = first_lines(found, tokens - min(estimated_tokens(notes), tokens // 2))
    notes = cut_to_tokens(notes, tokens - estimated_tokens(found))
    text = shorter("\n".join(filter(None, [found, notes])))
    open_ = entry.get("open") or None
    read = [page["id"] for page in entry["useful_webpages"] if page.get("opened")]
    since = " ".join(read) if open_ and "found" in entry else ""
    return element("topic", text, name=entry["topic"], open=open_, read_since=since or None)


def _tokens(pages: Sequence[ReadPage]) -> int:
    return sum(estimated_tokens(read.text) for read in pages)


def _words(pages: Sequence[ReadPage], share: int, language: Language) -> int:
    """Return how long notes may be, in words or Chinese characters: a sixth of their pages.

    `share` are the tokens of the report's prompt that fall to a topic.
    """
    tokens = min(_tokens(pages) / 6, share * _OF_SHARE)
    return round(max(300, min(2500, tokens)) * _PER_TOKEN[language] / 50) * 50


def _without_open(text: str) -> tuple[str, str]:
    """Return notes without their line on what stays open, and what that says."""
    matches = list(_OPEN.finditer(text))
    if not matches:
        return text, ""
    said = clean_text(MARKER.sub("", matches[-1][1]), _MAX_OPEN)
    return _OPEN.sub("", text), "" if said.rstrip(".。").casefold() in _NOTHING_OPEN else said


def _page_element(read: ReadPage, text: str) -> str:
    page = read.page
    partial = "yes" if read.partial else "no"
    about = {"title": page["title"][:120], "site": page["site"][:60]}
    return element("page", text, id=page["id"], **about, published=page["published"],
                   partial=partial)  # fmt: skip


async def _excerpted(pages: list[ReadPage]) -> str:
    return await compute(
        lambda: _excerpts(pages), otherwise=lambda: _excerpts(pages, has_own=False)
    )


def _excerpts(pages: list[ReadPage], *, has_own: bool = True) -> str:
    """Return the search's own excerpts, each with its page's marker.

    Of one that a search's model has written the page's sentences that are nearest to it.
    """
    lines = []
    for read in pages:
        breathe()
        page, snippet = read.page, read.page["snippet"]
        label = summary_label(snippet) if has_own and read.text != snippet else ""
        told = SENTENCE_END.split(snippet.removeprefix(label)) if label else []
        own = " ".join(" ".join(_own_words(read, told)).split()) if told else snippet
        text = beginning(own) or beginning(" ".join(read.text.split()))
        lines.append(f"{page['title']}: {text}[^{page['id']}]")
    return "\n\n".join(lines)


def _with_notes(result: TopicResult, pages: list[ReadPage], notes: Notes) -> TopicResult:
    read = [UsefulPage(**{**each.page, "partial": each.partial}) for each in pages]
    open_ = "; ".join(filter(None, [result.get("open", ""), notes.open]))
    noted = {"useful_webpages": read, "compressed_content": notes.text, "open": open_}
    return cast(TopicResult, {**result, **noted})


def _sources(pages: list[ReadPage], notes: str) -> list[Source]:
    """Return the pages as sources; their quotes are sentences of their own."""
    noted = quotes_by_id(notes)
    return [
        Source(
            id=read.page["id"],
            kind="page",
            title=read.page["title"],
            url=read.page["url"],
            provider=read.page["provider"],
            quotes=_own_words(read, noted.get(read.page["id"], [])),
            site=read.page["site"],
            published=read.page["published"],
        )
        for read in pages
    ]


def _own_words(read: ReadPage, noted: Sequence[str]) -> list[str]:
    """Return the sentences of a page that are nearest to what was noted of it."""
    own = [part.strip() for part in SENTENCE_END.split(read.text) if part.strip()]
    if not own:
        return []
    bm25, quotes = Bm25(own if noted else ()), list[str]()
    for sentence in noted:
        breathe()
        for at, score in best_first(bm25.scores(sentence))[:1]:
            quotes += [own[at][:_MAX_QUOTE]] if score >= _LIKE else []
    return list(dict.fromkeys(quotes)) or [beginning(read.page["snippet"] or own[0])]
