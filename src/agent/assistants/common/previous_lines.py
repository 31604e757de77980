"""Tell a model what the last turns left: their notes, and their sources with the nearest words."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from itertools import chain

from agent.assistants.common.previous import page_sources, shown_lines, turns_of
from agent.core.strings import cut_to_shares, cut_to_tokens, estimated_tokens
from agent.evidence.citations import MARKER
from agent.evidence.language import without_marks, without_said
from agent.evidence.references import site_of, untitled
from agent.evidence.types import Source
from agent.knowledge.ranking import Bm25, best_first
from agent.state import Previous
from agent.texts import Language


def previous_lines(
    previous: Previous,
    tokens: int,
    question: str = "",
    *,
    places_in: Language | None = None,
    brief: bool = False,
) -> str:
    """Return notes and sources of the last turns for a model, within so many tokens.

    Of a source's words those stand there that are in no note, of each as much as of others: the
    lines nearest to the question where there is no room for all; where it is `brief`, none of a
    source that only older answers cite. `places_in` is the language in which the listed places
    stand there, too.
    """
    if listed := shown_lines(previous, {}, places_in, tokens // 2) if places_in else "":
        rest = previous_lines(previous, tokens - estimated_tokens(listed) - 1, question)
        return "\n\n".join(filter(None, [rest, listed]))
    notes = previous.get("notes", [])
    noted, sources = without_marks(MARKER.sub("", " ".join(notes))), page_sources(previous)
    heads = [_head(source) for source in sources]
    before = "\n\n".join([*notes, ""]) if notes else ""
    free = tokens - estimated_tokens("\n".join([before, *heads])) - 3 * len(heads)
    silent = _older(previous) if brief else frozenset[str]()
    lines = [[] if source["id"] in silent else _lines(source, noted) for source in sources]
    words = [
        cut if cut == (whole := _joined(own)) or not question
        else cut_to_tokens(_nearest(own, question, len(cut) / len(whole)), estimated_tokens(cut))
        for own, cut in zip(lines, cut_to_shares([*map(_joined, lines)], free), strict=True)
    ]  # fmt: skip
    rows = [" — ".join(filter(None, pair)) for pair in zip(heads, words, strict=True)]
    return cut_to_tokens((before + "\n".join(rows)).rstrip(), tokens)


def _older(previous: Previous) -> frozenset[str]:
    """Return the ids of the sources that only answers before the last one cite."""
    cited = [turn["cited"] for turn in turns_of(previous)]
    return frozenset(chain.from_iterable(cited[1:])).difference(*cited[:1])


def _head(source: Source) -> str:
    """Return a source's id and title, the site it is on, and when it was published."""
    title, site = source["title"], site_of(source)
    about = [f"[^{source['id']}] {title}", "" if site in title else site, source.get("published")]
    return " · ".join(filter(None, about))


def _lines(source: Source, noted: str) -> list[str]:
    """Return a source's lines, each once, without its title, which leads, and what is noted."""
    quoted = (" ".join(line.split()) for quote in source["quotes"] for line in quote.splitlines())
    lines = (untitled(source, line) for line in quoted)
    new = (without_said(line, noted) for line in dict.fromkeys(lines))
    return [line for line in new if line]


def _joined(lines: Iterable[str]) -> str:
    """Return lines as one; the rows of a table stay lines of their own."""
    text = ""
    for line in lines:
        row = line.startswith("|")
        text += ("\n" if row or text.endswith("|") else " / ") * bool(text or row) + line
    return text


def _nearest(lines: Sequence[str], question: str, share: float) -> str:
    """Return the lines nearest to a question, a share of their length, in their order.

    The first of a table's rows is its head, and comes with each of the others.
    """
    head, heads = -1, list[int]()
    for at, line in enumerate(lines):
        is_row = line.startswith("|")
        head = at if is_row and head < 0 else head if is_row else -1
        heads.append(head)
    left, indexes = share * sum(map(len, lines)), set[int]()
    for at in _by_bearing(tuple(lines), question):
        table = range(heads[at], heads[at] + 2) if heads[at] >= 0 else ()
        new = {at, *table}.intersection(range(len(lines))) - indexes
        size = sum(len(lines[n]) for n in new)
        if size <= left:
            indexes |= new
            left -= size
    return _joined(lines[n] for n in sorted(indexes))


@lru_cache(maxsize=256)
def _by_bearing(lines: tuple[str, ...], question: str) -> Sequence[int]:
    """Return the places of lines, the nearest to a question first: each prompt of a turn asks."""
    return [at for at, _ in best_first(Bm25(lines).scores(question))]
