"""What targets found in the knowledge base, as passages that can be cited by document and page."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import PurePosixPath, PureWindowsPath

from agent.assistants.plan_execute.collection import PAPERS, SAMPLE_PAPERS
from agent.assistants.plan_execute.state import Passage
from agent.assistants.plan_execute.wording import say, source_name
from agent.evidence.links import link_url
from agent.evidence.queries import clean_text
from agent.evidence.types import Source
from agent.language import Language
from agent.retrieval.types import Hit
from agent.search.grounded import beginning
from agent.search.hits import only_known

_TITLE = 200
_PDF = "pdf"


@dataclass(frozen=True)
class Found:
    """A target's hits with their scores, best first."""

    number: int
    target: str
    hits: list[tuple[Hit, float]]


def passages_of(found: Sequence[Found], limit: int) -> list[tuple[Passage, Hit]]:
    """At most `limit` passages, each once: every target's best first, then the second ones.

    In the order of targets; ids are `d{target}-{n}`.
    """
    owner: dict[tuple[str, int], int] = {}
    for row in zip_longest(*(each.hits for each in found)):
        for each, ranked in zip(found, row, strict=True):
            if ranked is not None and len(owner) < limit:
                owner.setdefault(_key(ranked[0]), each.number)
    return [
        (_passage(f"d{each.number}-{n}", each.target, hit, score), hit)
        for each in found
        for n, (hit, score) in enumerate(_own(each, owner))
    ]


def sources_of(passages: Sequence[tuple[Passage, Hit]], language: Language) -> list[Source]:
    """Each passage as it is cited: with its page, and with an address only where others have it."""
    return [_source(passage, hit, language) for passage, hit in passages]


def page_title(passage: Passage, language: Language) -> str:
    """`Title, p. 3`."""
    if passage["page"] is None:
        return passage["title"]
    return say("page", language, title=passage["title"], page=str(passage["page"]))


def aliases(passages: Sequence[Passage]) -> dict[str, str]:
    """For each passage the first one of the same page of the same document: one citation."""
    first: dict[tuple[str, str, int | None], str] = {}
    return {
        passage["id"]: first.setdefault(
            (passage["path"], passage["title"], passage["page"]), passage["id"]
        )
        for passage in passages
    }


def _own(each: Found, owner: dict[tuple[str, int], int]) -> list[tuple[Hit, float]]:
    return [(hit, score) for hit, score in each.hits if owner.get(_key(hit)) == each.number]


def _passage(name: str, target: str, hit: Hit, score: float) -> Passage:
    document, chunk = hit.document, hit.chunk
    path = shown_path(document["path"])
    return Passage(
        id=name,
        target=target,
        title=clean_text(document["title"], _TITLE) or path,
        path=path,
        page=chunk["page"],
        headings=[clean_text(heading, _TITLE) for heading in chunk["headings"]],
        # A document could write our markers to have itself cited under another one's name.
        text=only_known(chunk["text"], ()),
        score=round(score, 4),
    )


def shown_path(path: str) -> str:
    """As far as others may see it: below the folder that was read in, else the name."""
    for kind in (PurePosixPath, PureWindowsPath):
        if kind(path).is_absolute():
            return kind(path).name
    return path


def _source(passage: Passage, hit: Hit, language: Language) -> Source:
    url = link_url(hit.document["url"] or "")
    if url and passage["page"] and hit.document["kind"] == _PDF:
        url = f"{url.partition('#')[0]}#page={passage['page']}"
    quote = beginning(" ".join(passage["text"].split()))
    named = page_title(passage, language)
    is_paper = hit.document["collection"] in (PAPERS, SAMPLE_PAPERS)
    if not url and passage["path"] and passage["path"] not in named:
        named = f"{named} ({passage['path']})"
    return Source(
        id=passage["id"],
        kind="document",
        title=named,
        url=url,
        provider=source_name("papers" if is_paper else "documents", language),
        quotes=[quote] if quote else [],
    )


def _key(hit: Hit) -> tuple[str, int]:
    return hit.document["id"], hit.chunk["number"]
