"""Choose what a writer is shown of all that a run has read: passages, verbatim, by their pages.

Notes are a guide and not the material: half of what decides a question stands in none of them.
Eighty pages whole fit into no prompt, and narrow queries find more than room does.
"""

from collections.abc import Iterable, Mapping, Sequence

from agent.assistants.common.previous import renamed_in, turns_of
from agent.assistants.common.workspace import Item, RankedPassages
from agent.core.processor import breathe
from agent.evidence import findings
from agent.evidence.claims.passages import Passage
from agent.evidence.language import without_marks
from agent.evidence.numbering import source_key
from agent.evidence.types import Source
from agent.knowledge.ranking import Bm25, best_first
from agent.prompts import Raw, element
from agent.state import EarlierTurn, Previous

_TITLE, _SITE = 120, 60
_PER_PAGE = 60
"""Tokens for a page's tag."""


def chosen_passages(
    ranked: RankedPassages, quotes: Mapping[str, Sequence[str]], tokens: int
) -> list[Passage]:
    """Return the passages that notes quote with those around them, then the nearest to a query.

    `quotes` are the sentences that notes have from each item, by its id.
    """
    tokens -= _PER_PAGE * len(ranked.items)
    kept = _within(_quoted(ranked.items, quotes), tokens)
    names = {passage.name for passage in kept}
    left = tokens - sum(passage.tokens for passage in kept)
    nearest = ranked.choose(left)
    # What is kept already takes no room of the others.
    again = sum(passage.tokens for passage in nearest if passage.name in names)
    nearest = ranked.choose(left + again) if again else nearest
    return [*kept, *(passage for passage in nearest if passage.name not in names)]


def _quoted(items: Iterable[Item], quotes: Mapping[str, Sequence[str]]) -> list[Passage]:
    """Return what bears each quote best before what stands around it."""
    best, around = list[Passage](), list[Passage]()
    for item in items:
        sentences = quotes.get(item.id, ())
        passages = item.passages if sentences else []
        index = Bm25([passage.text for passage in passages], item.counted if passages else None)
        for sentence in sentences:
            breathe()
            for at, score in best_first(index.scores(sentence))[:1]:
                best += [passages[at]] if score else []
                around += passages[max(0, at - 1) : at + 2] if score else []
    return list({passage.name: passage for passage in [*best, *around]}.values())


def _within(passages: Iterable[Passage], tokens: int) -> list[Passage]:
    kept = list[Passage]()
    for passage in passages:
        if passage.tokens <= tokens:
            kept.append(passage)
            tokens -= passage.tokens
    return kept


def without_shown(
    previous: Previous, items: Iterable[Item], passages: Iterable[Passage]
) -> Previous:
    """Return what the last turns left without what these passages of the items show anyway.

    A source of which no other words are left is left out.
    """
    texts = dict[str, str]()
    for passage in passages:
        texts[passage.source] = f"{texts.get(passage.source, '')} {passage.text}"
    shown = {source_key(item.source()): texts[item.id] for item in items if item.id in texts}
    sources = list[Source]()
    for source in previous["sources"]:
        breathe()
        text = shown.get(source_key(source), "")
        quotes = [quote for quote in source["quotes"] if not _stands_in(quote, text)]
        if quotes or not text:
            sources.append(Source(**{**source, "quotes": quotes}))
    return Previous(**{**previous, "sources": sources})


def with_ids_of(gathered: Iterable[Source], previous: Previous) -> Previous:
    """Return what earlier turns left, under the ids of this turn where it found the same again.

    A page is the same by its address, a passage of a document by its words. Quotes of a document
    that this turn shows anyway are left out, so that a prompt has them once.
    """
    pages, passages = dict[str, str](), dict[str, list[tuple[str, str]]]()
    for source in gathered:
        if source["kind"] == "page" and source["url"]:
            pages.setdefault(source_key(source), source["id"])
        elif source["kind"] == "document":
            words = without_marks(" ".join(source["quotes"]))
            passages.setdefault(source_key(source), []).append((source["id"], words))
    names, sources = dict[str, str](), list[Source]()
    for source in previous["sources"]:
        key, quotes = source_key(source), source["quotes"]
        names[source["id"]] = name = pages.get(key, source["id"])
        if again := passages.get(key):
            names[source["id"]] = name = _told_in(quotes, again) or name
            told = "\n".join(words for _, words in again)
            quotes = [quote for quote in quotes if not _are_in(_bare_lines([quote]), told)]
        sources.append(Source(**{**source, "id": name, "quotes": quotes}))
    return Previous(
        **{
            **previous,
            "sources": sources,
            "notes": [renamed_in(note, names) for note in previous.get("notes", [])],
            "turns": [
                EarlierTurn(**{**turn, "cited": [names.get(id, id) for id in turn["cited"]]})
                for turn in turns_of(previous)
            ],
        }
    )


def still_said(previous: Previous, again: Previous) -> list[Source]:
    """Return the sources of the last turns as they are cited in this one, of which `again` is.

    A file's number stands for all its passages: where these are read anew they alone say it.
    """
    both = zip(previous["sources"], again["sources"], strict=True)
    return [
        Source(**{**old, "quotes": new["quotes"]}) if old["kind"] == "document" else old
        for old, new in both
    ]


def without_quotes_of(text: str, passages: Iterable[Passage]) -> str:
    """Return findings without the quotes that these passages have anyway."""
    shown: dict[str, str] = {}
    for passage in passages:
        shown[passage.source] = shown.get(passage.source, "") + without_marks(passage.text)
    for quote in [*findings.QUOTED.finditer(text)]:
        breathe()
        if without_marks(quote[2]) in shown.get(quote[3], ""):
            text = text.replace(quote[1], "")
    return text


def _told_in(quotes: Iterable[str], passages: Iterable[tuple[str, str]]) -> str:
    """Return the id of the passage that says all of the quotes; empty where none does."""
    lines = _bare_lines(quotes)
    return next((name for name, words in passages if lines and _are_in(lines, words)), "")


def _bare_lines(quotes: Iterable[str]) -> list[str]:
    return [without_marks(line) for quote in quotes for line in quote.splitlines()]


def _are_in(lines: Iterable[str], words: str) -> bool:
    return all(line in words for line in lines)


def _stands_in(quote: str, text: str) -> bool:
    """Return whether each line of a quote does; the rule below a table's head is none."""
    lines = (" ".join(line.split()) for line in quote.splitlines())
    return all(line in text for line in lines if line.strip("|-: "))


def page_elements(items: Iterable[Item], passages: Iterable[Passage]) -> Raw:
    """Return the pages of passages, each with its own in order, and … where others stand."""
    by_item: dict[str, dict[str, Passage]] = {}
    for passage in passages:
        by_item.setdefault(passage.source, {})[passage.name] = passage
    rows = [_page_element(item, by_item[item.id]) for item in items if item.id in by_item]
    return Raw("\n".join(rows))


def _page_element(item: Item, shown: Mapping[str, Passage]) -> str:
    lines = [passage.text if passage.name in shown else "…" for passage in item.passages]
    text = "\n".join(
        line for line, before in zip(lines, ["", *lines], strict=False) if line != before
    )
    about = {"id": item.id, "title": item.title[:_TITLE], "site": item.site[:_SITE] or None}
    return element("page", f"\n{text}\n", **about, published=item.date[:10] or None)
