"""Keep all that a run has read once, by ids that stay, and show of it what bears on a query.

What is kept here is in no checkpoint: a page is read at one step and may be needed at each later
one, in another topic and in the turns that follow. Prompts are filled from it by choice.
"""

import json
from collections import Counter, OrderedDict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, replace
from itertools import zip_longest
from urllib.parse import urlsplit

from agent.core.processor import breathe, compute, lazy_property
from agent.core.strings import letters_of
from agent.evidence.claims.passages import Passage
from agent.evidence.figure_index import FigureIndex
from agent.evidence.figures import Figure, distinct, figures, same
from agent.evidence.language import sentence_spans
from agent.evidence.markdown import canonical
from agent.evidence.pieces import packed
from agent.evidence.stated import states
from agent.evidence.types import Place, Source, SourceKind
from agent.knowledge.ranking import Bm25, best_first, rarity
from agent.knowledge.terms import terms
from agent.runs.workspace_store import KeptRow, Room, Thing, WorkspaceStore
from agent.search.hits import Hit, only_known, summary_label

_LETTERS: dict[SourceKind, str] = {
    "page": "w", "place": "a", "paper": "l", "filing": "l", "document": "f",
}  # fmt: skip
"""What ids begin with (`numbering.is_kept`); those that a turn counts up have smaller numbers."""
LONGEST_TEXT, LONGEST_TITLE = 200_000, 300
"""Characters kept of one thing."""
_BRIEF = 700
_BEST = 3
"""How many of the nearest passages bring their whole page, where half the room holds these."""
_FIGURES_READ, _MOST_FIGURES = 400, 20
"""How many of the passages that are nearest by their words are read for the figures of queries:
to read takes many times what counting words does. And figures of one query."""
_WORD = 24
"""Characters behind a number that are looked at for what it counts."""
_READ_AGAIN = 64_000_000
"""Bytes of things that this process keeps at hand."""


@dataclass(frozen=True)
class Item:
    """Hold one thing that a run has read; its id, once it is kept, stays for the whole thread."""

    kind: SourceKind
    title: str
    url: str = ""
    text: str = ""
    """All that was read of it, without any marker of ours."""
    snippet: str = ""
    """What a search itself showed of it, which may be a model's words."""
    date: str = ""
    """When it was published, as its source wrote it."""
    site: str = ""
    provider: str = ""
    query: str = ""
    """That found it."""
    record: str = ""
    """The id of a place or an own document; what has none is known by its address."""
    place: Place | None = None
    id: str = ""

    @property
    def key(self) -> str:
        """Return what two records of the same thing share: near-equal addresses are one."""
        return self.record or (canonical(self.url) if self.url else f"{self.kind}: {self.title}")

    @property
    def words(self) -> str:
        """Return its text, where it was not read its snippet: what a writer is shown of it."""
        return self.text or self.snippet

    @lazy_property
    def passages(self) -> list[Passage]:
        """Return its words in passages: `w482-17.3` is the third."""
        texts = (" ".join(piece.split()) for piece in packed([self.words]))
        return [Passage(f"{self.id}.{n}", self.id, text) for n, text in enumerate(texts, 1)]

    @lazy_property
    def counted(self) -> list[Counter[str]]:
        """Return the terms of each passage, of which those of the title are part."""
        title = terms(self.title[:LONGEST_TITLE])
        return [Counter([*title, *terms(passage.text)]) for passage in self.passages]

    def source(self, quotes: Iterable[str] = ()) -> Source:
        """Return it as an answer cites it."""
        return Source(
            id=self.id, kind=self.kind, title=self.title, url=self.url, provider=self.provider,
            quotes=list(quotes), site=self.site, published=self.date or None,
        )  # fmt: skip


class RankedPassages:
    """Passages of items, held against queries once for any number of choices of them."""

    def __init__(self, items: Sequence[Item], queries: Iterable[str]) -> None:
        self.items = items
        self.every = [passage for item in items for passage in item.passages]
        self._queries = [*dict.fromkeys(queries)]

    @lazy_property
    def places(self) -> dict[str, list[int]]:
        """Return by query which passages bear on it, the nearest first."""
        index = Bm25(
            [passage.text for passage in self.every],
            [counts for item in self.items for counts in item.counted],
        )
        asked = {query: [*filter(states, distinct(figures(query)))] for query in self._queries}
        most = _FIGURES_READ // max(1, sum(map(bool, asked.values())))
        rankings = dict[str, list[int]]()
        for query, told in asked.items():
            ranked = best_first(index.scores(query))
            if told:
                near = {place: self.every[place] for place, _ in ranked[:most]}
                ranked = best_first(index.scores(query, _figures_within(near, query, told)))
            rankings[query] = [place for place, score in ranked if score]
        return rankings

    @lazy_property
    def best(self) -> list[Passage]:
        """Return the passages that bear on any query, the best of each first, then the second.

        Where none shares a word or a figure with a query, all of them.
        """
        return [self.every[place] for place in _in_turn(self.places.values())] or [*self.every]

    @lazy_property
    def _best_of(self) -> dict[str, list[Passage]]:
        found = dict[str, list[Passage]]()
        for passage in self.best:
            found.setdefault(passage.source, []).append(passage)
        return found

    def choose(self, tokens: int, *, of: Item | None = None) -> list[Passage]:
        """Return the passages nearest to the queries, verbatim, in order; by choice of one item.

        As many as `tokens` hold, the best of each query before the second best of any. Room that
        is left goes to the beginnings of pages without any, to neighbours, and to the rest in
        order. What is no longer than that comes whole: a list's next step may share no word with
        a query.
        """
        every = self.every if of is None else of.passages
        if sum(passage.tokens for passage in every) <= tokens:
            return [*every]
        items = self.items if of is None else [of]
        best = self.best if of is None else self._best_of.get(of.id, [])
        return _that_fit(_filling(items, every, best), every, tokens)

    def nearest_first(self, shown: Iterable[Passage]) -> dict[str, list[str]]:
        """Return what is shown of each item: nearest first to what found it, and to all queries.

        They are in the page's language where who reads of it in another one shares no word with
        it.
        """
        names = {passage.name for passage in shown}
        are_shown = [passage.name in names for passage in self.every]
        by_item, at = dict[str, range](), 0
        for item in self.items:
            by_item[item.id] = range(at, at := at + len(item.passages))
        order = [place for place in _in_turn(self.places.values()) if are_shown[place]]
        ranks = {place: rank for rank, place in enumerate(order)}
        told = dict[str, list[str]]()
        for item in self.items:
            breathe()
            own = [place for place in by_item[item.id] if are_shown[place]]
            found = [p for p in self.places.get(item.query, ()) if p in by_item[item.id]]
            first = {place: rank for rank, place in enumerate(found)}
            last = len(self.every)
            own.sort(key=lambda p: (first.get(p, last), ranks.get(p, last)))
            told[item.id] = [self.every[place].text for place in own]
        return told


def first_passages(items: Sequence[Item], tokens: int) -> list[Passage]:
    """Return the beginnings of all items, then what follows, as `tokens` hold: at no cost."""
    every = [passage for item in items for passage in item.passages]
    return _that_fit(_filling(items, every, ()), every, tokens)


def _that_fit(wanted: Iterable[Passage], every: Sequence[Passage], tokens: int) -> list[Passage]:
    chosen = set[str]()
    for passage in wanted:
        if passage.tokens <= tokens and passage.name not in chosen:
            chosen.add(passage.name)
            tokens -= passage.tokens
    return [passage for passage in every if passage.name in chosen]


def _in_turn(rankings: Iterable[Sequence[int]]) -> list[int]:
    """Return the first of each, the second of each, and so on, each place once."""
    order = (place for places in zip_longest(*rankings) for place in places)
    return [place for place in dict.fromkeys(order) if place is not None]


def passages_by_queries(items: Sequence[Item], queries: Iterable[str]) -> list[Passage]:
    """Return the passages that bear on any of the queries, as `RankedPassages.best` has them."""
    return RankedPassages(items, queries).best


def _figures_within(
    near: Mapping[int, Passage], query: str, told: Sequence[Figure]
) -> Iterator[tuple[float, list[int]]]:
    """Yield how rare each figure of a query is among passages near to it, and who has it.

    And so what a number counts there: 38 vCPU are no 38 zones where a vCPU has its quota.
    """
    places, index = [*near], FigureIndex(passage.figures for passage in near.values())
    for figure in told[:_MOST_FIGURES]:
        holders = [places[at] for at in index.holders(figure)]
        yield rarity(len(holders), len(near)), holders
        if not figure.kind and (counted := _word_behind(figure, query)):
            of_it = [at for at in holders if _counts(figure, counted, near[at].text)]
            yield rarity(len(of_it), len(near)), of_it


def _word_behind(figure: Figure, text: str) -> str:
    return next(iter(terms(text[figure.end : figure.end + _WORD])), "")


def _counts(figure: Figure, counted: str, text: str) -> bool:
    """Return whether a figure has a word behind it, or in the head of the table it is a cell of."""
    held = [one for one in figures(text) if same(figure, one)]
    beside = (
        (text[max(0, one.start - 2) : one.start], text[one.end : one.end + 2]) for one in held
    )
    is_cell = any("|" in before and "|" in behind for before, behind in beside)
    is_of_head = is_cell and counted in terms(text)
    return is_of_head or any(_word_behind(one, text) == counted for one in held)


def choose(items: Sequence[Item], queries: Iterable[str], tokens: int) -> list[Passage]:
    """Return the passages nearest to the queries, as `RankedPassages.choose` has them."""
    return RankedPassages(items, queries).choose(tokens)


def nearest_pages(items: Sequence[Item], asked: str, tokens: int) -> list[Passage]:
    """Return the passages nearest to what is asked: a short page that has any of them, whole.

    The line that answers it may share fewer words with it than those around it.
    """
    by_id, whole = {item.id: item for item in items}, dict[str, Item]()
    room = tokens // 2
    for name in dict.fromkeys(p.source for p in passages_by_queries(items, [asked])[:_BEST]):
        size = sum(passage.tokens for passage in by_id[name].passages)
        if size <= room:
            tokens, room = tokens - size, room - size
            whole[name] = by_id[name]
    rest = choose([item for item in items if item.id not in whole], [asked], tokens)
    return [passage for item in whole.values() for passage in item.passages] + rest


def _filling(
    items: Sequence[Item], every: Sequence[Passage], best: Sequence[Passage]
) -> Iterator[Passage]:
    """Yield the best, the first of other pages, those beside the best, and all in order.

    A page in another language than the query shares no word with it.
    """
    yield from best
    heard = {passage.source for passage in best}
    yield from (item.passages[0] for item in items if item.passages and item.id not in heard)
    places = {passage.name: place for place, passage in enumerate(every)}
    for passage in best:
        place = places[passage.name]
        beside = every[max(0, place - 1) : place + 2]
        yield from (other for other in beside if other.source == passage.source)
    yield from every


def runs(passages: Iterable[Passage]) -> list[str]:
    """Return the texts of passages in their order, those that follow one another as one."""
    texts, following = list[str](), ""
    for passage in passages:
        head, _, number = passage.name.rpartition(".")
        if passage.name == following:
            texts[-1] += f"\n{passage.text}"
        else:
            texts.append(passage.text)
        following = f"{head}.{int(number) + 1}"
    return texts


def item_of_hit(hit: Hit, query: str, service: str) -> Item:
    """Return what a search has found, as it is kept."""
    return Item(
        "page", hit.title, hit.url, text=hit.text, snippet=hit.snippet, date=hit.published or "",
        site=hit.site, provider=service, query=query,
    )  # fmt: skip


class Workspaces:
    """Open the workspaces of threads, and keep what was read of them lately at hand."""

    def __init__(self, store: WorkspaceStore, megabytes: float) -> None:
        self.store, self.most = store, int(megabytes * 1_000_000)
        self._read: OrderedDict[tuple[str, str, str], tuple[int, Item]] = OrderedDict()
        self._size = 0

    def of(self, room: Room) -> "Workspace":
        """Return the workspace of an owner's turn on a thread."""
        return Workspace(self, room)

    async def load(self, room: Room, rows: Iterable[KeptRow]) -> list[Item]:
        """Return the things of these rows in their order; those at hand are not read again."""
        names = {row: (room.thread, room.owner, row.id) for row in rows}
        known = {row: self._read[name][1] for row, name in names.items()
                 if name in self._read and self._read[name][0] == row.size}  # fmt: skip
        read = await self.store.items(room, [row.id for row in names if row not in known])
        for row, name in names.items():
            if text := read.get(row.id):
                known[row] = _item(row.id, text)
                self._remember(name, row.size, known[row])
        return [known[row] for row in names if row in known]

    def _remember(self, name: tuple[str, str, str], size: int, item: Item) -> None:
        before, _ = self._read.pop(name, (0, None))
        self._size += size - before
        self._read[name] = size, item
        while self._size > _READ_AGAIN:
            _, (gone, _) = self._read.popitem(last=False)
            self._size -= gone

    async def forget(self, thread_id: str) -> None:
        """Forget a thread."""
        for name in [name for name in self._read if name[0] == thread_id]:
            self._size -= self._read.pop(name)[0]
        await self.store.forget(thread_id)


@dataclass(frozen=True)
class Workspace:
    """Hold what one owner's turns on a thread have read."""

    workspaces: Workspaces
    room: Room

    async def keep(self, items: Sequence[Item]) -> list[Item]:
        """Keep things, each once, and return them in order as they are kept, with their ids.

        Of two with the same address the longer text stays, of an earlier turn its own; what the
        other says besides comes below it. Raises StoreFailed.
        """
        keys = {item.key for item in items}
        rows = [row for row in await self.workspaces.store.rows(self.room) if row.key in keys]
        earlier = {row.id for row in rows if row.turn != self.room.turn}
        known = {item.key: item for item in await self.workspaces.load(self.room, rows)}
        grown = await compute(
            lambda: [_grown(known.get(item.key), item, earlier) for item in items],
            otherwise=lambda: [*items],
        )
        names = await self._put(grown)
        kept = {item.id: item for item in await self.items(names)}
        return [kept[name] for name in names if name in kept]

    async def _put(self, items: Sequence[Item]) -> list[str]:
        things = [_thing(item) for item in items]
        return await self.workspaces.store.keep(self.room, things, most=self.workspaces.most)

    async def items(self, ids: Collection[str] | None = None) -> list[Item]:
        """Return the things with these ids, by default all, those that came last at the end."""
        return await self._where(lambda row: ids is None or row.id in ids)

    async def nearest(
        self, queries: Sequence[str], tokens: int, ids: Collection[str] | None = None
    ) -> list[Passage]:
        """Return the passages nearest to the queries, verbatim, as far as `tokens` hold them."""
        items = await self.items(ids)
        return await compute(lambda: choose(items, queries, tokens), otherwise=list)

    async def cite(self, ids: Iterable[str]) -> None:
        """Note what the turn's answer cites, for the turns that follow."""
        await self.workspaces.store.cite(self.room, ids)

    async def of_before(self, *, last_only: bool = False) -> list[Item]:
        """Return what the last turns' answers cited, by choice the very last one's alone."""
        rows = await self.workspaces.store.rows(self.room)
        cited = [row for row in rows if row.cited_in not in ("", self.room.turn)]
        last = cited[-1].cited_in if cited and last_only else ""
        return await self.workspaces.load(
            self.room, (row for row in cited if not last or row.cited_in == last)
        )

    async def _where(self, wanted: Callable[[KeptRow], bool]) -> list[Item]:
        rows = await self.workspaces.store.rows(self.room)
        return await self.workspaces.load(self.room, filter(wanted, rows))


def _grown(known: Item | None, item: Item, earlier: Collection[str]) -> Item:
    """Return a thing with all that is known of it and that was found anew, each sentence once.

    A search shows of a page what answers its query, also where a reader has missed it.
    """
    both = [item] if known is None else [known, item]
    lead = max(both, key=lambda one: (one.id in earlier, len(one.words)))
    # A page could write our markers.
    every = [only_known(text, ()) for one in both for text in (one.text, one.snippet)]
    words, news = only_known(lead.words, ()), list[str]()
    others = dict.fromkeys(text for text in every if text not in words)
    said = letters_of(words) if others else ""
    for text in others:
        if lead.text and summary_label(text):
            continue
        for begin, end in sentence_spans(text):
            if (letters := letters_of(text[begin:end])) not in said:
                news.append(text[begin:end])
                said += letters
    if not news:
        return lead
    whole = "\n".join([lead.words, *news])
    return replace(lead, text=whole) if lead.text else replace(lead, snippet=whole)


def _thing(item: Item) -> Thing:
    # A page could write our markers to have itself cited under another source's name.
    text, snippet = only_known(item.text[:LONGEST_TEXT], ()), only_known(item.snippet, ())
    # A page that was opened by its address says as well whose word it is.
    site = item.site or ((urlsplit(item.url).hostname or "") if item.kind == "page" else "")
    title = only_known(item.title[:LONGEST_TITLE], ())
    whole = replace(
        item, text=text, snippet=snippet, title=title, site=site.removeprefix("www."), id=""
    )
    brief = replace(whole, text=text[:_BRIEF])
    return Thing(_LETTERS[item.kind], item.key, _json(whole), _json(brief))


def _json(item: Item) -> str:
    return json.dumps({k: v for k, v in asdict(item).items() if v}, ensure_ascii=False)


_NAMES = frozenset(field.name for field in fields(Item))


def _item(name: str, text: str) -> Item:
    """Return a thing as it was kept, also by another version."""
    values = {key: value for key, value in json.loads(text).items() if key in _NAMES}
    return Item(**{"title": "", **values, "id": name})
