"""Show a place of an answer's list as a card: its lines of facts, and what else is said of it.

The page is told what a bullet's card says of it, and finds names alike (`map/bullet_names.js`).
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import TypeVar

from markdown_it.token import Token

from agent.core.patterns import PIECE
from agent.evidence.demand_words import signed_verdicts, verdicts_told
from agent.evidence.mentions import mentioned
from agent.evidence.names import local_name, map_name
from agent.evidence.records import (
    cost_text,
    hours_text,
    kind_text,
    reach_texts,
    telephone,
)
from agent.evidence.types import Place
from agent.export.bullet_names import CITED, Span, is_name, name_in, named_part
from agent.export.finished import FinishedAnswer, numbered_sources, rating
from agent.export.said_facts import facts_said, is_of_facts
from agent.texts import Language, in_script

T = TypeVar("T")
_BREAKS = ("softbreak", "hardbreak")
_EQUALS = " = "


@dataclass(frozen=True)
class Card:
    """Hold the lines of a place's card, in its reader's language."""

    number: int
    """Of its pin; 0 for a place of an answer that has no numbers."""
    cited: int
    """Which cites its record; 0 for a place that the answer does not cite."""
    name: str
    local: str
    """The name on the spot, where that is another one."""
    url: str
    facts: tuple[str, ...]
    """The telephone last, where it has one."""
    demands: tuple[str, ...]
    """What of the wishes it meets, each with its sign."""
    ticks: tuple[tuple[str, str], ...]
    """The same as verdict and wish, for where the sign is drawn."""
    address: str
    photo: str = ""
    """Its address, where one may be shown."""
    phone: str = ""
    """Where a wish is left open, which one asks there; a number and nothing else."""


def card_of(
    place: Place,
    language: Language,
    cited: int = 0,
    photo_hosts: Sequence[str] = (),
    said: Collection[str] = (),
) -> Card:
    """Return a place's card; `cited` is the number of its source.

    It leaves out the fields of facts that are `said` beside it (`said_facts.FIELDS`).
    """
    photo = place["photo"] or ""
    name, stars, told = map_name(place, language), rating(place, language), verdicts_told(place)
    facts = {
        "distance": reach_texts(place, language),
        "rating": [f"★ {stars}"] if stars else [],
        "cost": [cost_text(place, language)],
        "hours": [hours_text(place, language)],
    }
    is_bare = not any(filter(None, chain(*facts.values())))
    is_open = any(verdict["verdict"] == "unknown" for verdict in told)
    phone = telephone(place) if is_open and "phone" not in said else ""
    shown = chain(*(texts for field, texts in facts.items() if field not in said))
    # That a stop is one is all there is to say of it.
    known = [kind_text(place, language)] if is_bare else shown
    return Card(
        number=place.get("number") or 0,
        cited=cited,
        name=name,
        local=local_name(place, language),
        url=place["url"],
        facts=tuple(filter(None, [*known, phone])),
        demands=tuple(signed_verdicts(told)),
        ticks=tuple((verdict["verdict"], verdict["text"]) for verdict in told),
        address="" if "address" in said else in_script(place["address"] or "", language),
        photo=photo if photo.startswith(tuple(f"https://{host}/" for host in photo_hosts)) else "",
        phone=phone,
    )


CARD = "place_card"
"""The kind of a token, and of a node, whose `meta` has a card by this name."""
BEHIND = "behind"
"""By which it also has the tokens of the paragraph that it stands behind, if it does."""
TABLE = "|"
_MOST_BEHIND = 2


class PlaceCards:
    """Turn bullets of an answer that are places into cards; `shown` are the ids of those."""

    def __init__(self, answer: FinishedAnswer) -> None:
        self.shown: set[str] = set()
        self.order: list[str] = []
        """Their ids as the text tells them, with `TABLE` where one stands."""
        self.told: dict[str, list[list[int | str]]] = {}
        """Of each card what it says of its bullet's words: where that begins in them, and it.

        That is its name, or all where no more than facts is said; of one behind a paragraph it is
        nothing.
        """
        self.said: dict[str, list[str]] = {}
        """Of each card the fields of facts that it leaves out: the words beside it say them."""
        self._language, self._photo_hosts = answer.language, answer.photo_hosts
        left = answer.outing["left_out"] if answer.outing else []
        self._left_out = {each["place"]: each["text"] for each in left}
        cited = {source["id"]: number for number, source in numbered_sources(answer)}
        self._places = [(cited.get(place["source"], 0), place) for place in answer.places]
        self._records = {str(number) for number, _ in self._places if number}
        self._is_planned = answer.outing is not None

    @property
    def instead(self) -> set[str]:
        """Return the ids of the places whose cards stand for a line in the list below the text.

        Where few places have cards the list has all, as the map does: its numbers have no gaps.
        """
        return self.shown if 2 * len(self.shown) >= len(self._places) else set()

    def in_tables(self, tokens: Sequence[Token]) -> set[str]:
        """Return the ids of the places that rows of an answer's own tables name and cite."""
        told, cites, words = set[str](), set[int](), ""
        for before, token in pairwise(tokens):
            if token.type == "tr_close":
                named = mentioned([place for cited, place in self._places if cited in cites], words)
                told |= named.keys()
                cites, words = set(), ""
            elif before.type in ("td_open", "th_open") and token.type == "inline":
                cites.update(_cites(token.children or []))
                words += f"{token.content}\n"
        return told

    def apply(self, tokens: list[Token]) -> list[Token]:
        """Return an answer's tokens with its cards, beside a planned day in its order."""
        marked = self.mark(tokens)
        return self.in_order(marked, marked, lambda first, last: slice(first, last + 1))

    def mark(self, tokens: list[Token]) -> list[Token]:
        """Return an answer's tokens with a token `CARD` first in each bullet that is a place.

        A paragraph or bullet that is the first to cite and name others has their cards behind it.
        """
        out: list[Token] = []
        steps = set[int]() if self._is_planned else self._steps(tokens)
        fronts = dict[int, tuple[int, Place]]()
        # A place has its card at the bullet that names it, wherever another cites it.
        for place_of in (self._place_of, self._place_of_lead):
            for index, token in enumerate(tokens):
                is_open = (
                    token.type == "list_item_open" and index not in steps and index not in fronts
                )
                inline = _inline_of(tokens, index) if is_open else None
                if inline and (told := place_of(inline.children or [])):
                    fronts[index] = told
                    self.shown.add(told[1]["id"])
        behind = {} if self._is_planned else self._told_behind(tokens, {*fronts}, steps)
        for index, token in enumerate(tokens):
            out.append(token)
            if token.type == "table_open":
                self.order.append(TABLE)
            if index in fronts:
                cited, place = fronts[index]
                inline = _inline_of(tokens, index)
                assert inline is not None
                token.attrJoin("class", "card")
                self.order.append(place["id"])
                inline.children = self._remark(inline.children or [], place, cited)
                out.append(self._card(place, cited, inline.children))
            if index in behind:
                opened, inline = tokens[index - 2 : index]
                cards = list[Token]()
                for cited, place in behind[index]:
                    self.shown.add(place["id"])
                    self.order.append(place["id"])
                    self.told[place["id"]] = []
                    cards.append(self._card(place, cited, inline.children or []))
                out += _list_of(cards, opened, inline)
        return out

    def _card(self, place: Place, cited: int, beside: Sequence[Token]) -> Token:
        """Return a place's card, without what the words beside it say."""
        words = _words_of(beside, str(cited), self._records)
        said = self.said[place["id"]] = facts_said(words[:PIECE], place, self._language)
        card = card_of(place, self._language, cited, self._photo_hosts, said)
        return Token(CARD, "", 0, meta={CARD: card})

    def _told_behind(
        self, tokens: Sequence[Token], fronts: Collection[int], steps: Collection[int]
    ) -> dict[int, list[tuple[int, Place]]]:
        """Return the places whose cards stand behind a paragraph, by where that closes.

        It is the first to cite their records, and names them, or nothing else in bold. Of many
        none is on a card: that is a summary. Nor is what a table's row tells, and what others are
        far from, where one looked. What the opening of a list only touches has its card at the
        item that tells of it, too.
        """
        in_items, tabled = self._told_in_items(tokens, fronts), self.in_tables(tokens)
        leads = {number for number, place in self._places if place["id"] in self.shown}
        cited_at, ordered, found = set[int](), list[bool](), dict[int, list[tuple[int, Place]]]()
        origins = {place["distance_from"] for _, place in self._places} - {None}
        for index, token in enumerate(tokens):
            if token.type.endswith("_list_open"):
                ordered.append(token.type == "ordered_list_open")
            elif token.type.endswith("_list_close"):
                ordered.pop()
            if token.type != "inline":
                continue
            cites = _cites(token.children or [])
            is_opening = not ordered and not leads.isdisjoint(cites)
            new = [n for n in dict.fromkeys(cites) if n not in cited_at
                   and not (is_opening and in_items.get(n, 0) > index)]  # fmt: skip
            cited_at.update(new)
            item = index - 2
            is_item = index > 1 and tokens[item].type == "list_item_open"
            is_step = is_item and (item in steps or (ordered[-1] and item not in fronts))
            is_text = tokens[index - 1].type == "paragraph_open"
            if not new or is_step or not is_text or _EQUALS in token.content:
                continue
            if not is_item and tokens[index - 1].level:
                continue
            named = mentioned([place for _, place in self._places], token.content)
            is_one = (
                bool(_head_of(token.children or []))
                and len(self._records & {*map(str, cites)}) == 1
            )
            told = [(n, place) for n in new for cited, place in self._places
                    if n == cited and place["id"] not in {*self.shown, *self._left_out, *tabled}
                    and (place["id"] in named or (is_one and not named))
                    and origins.isdisjoint((place["name"], place.get("name_en")))]  # fmt: skip
            if 0 < len(told) <= _MOST_BEHIND:
                found[index + 1] = told
        return found

    def _told_in_items(self, tokens: Sequence[Token], fronts: Collection[int]) -> dict[int, int]:
        """Return where the items that are places cite other records and name their places."""
        places, found = [place for _, place in self._places], dict[int, int]()
        for item in fronts:
            if inline := _inline_of(tokens, item):
                named = mentioned(places, inline.content)
                cites = {*_cites(inline.children or [])}
                found.update((number, item) for number, place in self._places
                             if number in cites and place["id"] in named)  # fmt: skip
        return found

    def _steps(self, tokens: Sequence[Token]) -> set[int]:
        """Return where the items of lists begin whose numbers contradict those of pins.

        Where some of a numbered list's items are places and others are steps, a card with another
        number than its step's would be a second count.
        """
        lists, steps = list[list[tuple[int, bool, bool]]](), set[int]()
        for index, token in enumerate(tokens):
            if token.type.endswith("_list_open"):
                lists.append([])
            elif token.type == "list_item_open":
                inline = _inline_of(tokens, index)
                children = (inline.children if inline else None) or []
                told = self._place_of(children) or self._place_of_lead(children)
                is_same = told is not None and str(told[1].get("number")) == token.info
                lists[-1].append((index, told is not None, is_same))
            elif token.type.endswith("_list_close"):
                items = lists.pop()
                cards = [is_same for _, is_card, is_same in items if is_card]
                is_mixed = 0 < len(cards) < len(items) and not all(cards)
                if is_mixed and token.type == "ordered_list_close":
                    steps |= {index for index, _, _ in items}
        return steps

    def in_order(
        self, rows: list[T], marked: Sequence[Token], part: Callable[[int, int], slice]
    ) -> list[T]:
        """Return rows in which the cards of a list stand in a planned day's order.

        Its other items stay. `part` are an item's rows by its first and last of the marked tokens.
        """
        ordered = [*rows]
        for cards in _lists(marked) if self._is_planned else ():
            items = [ordered[part(first, last)] for _, first, last in sorted(cards)]
            # Items have different lengths: from the end.
            for (_, first, last), item in reversed([*zip(cards, items, strict=True)]):
                ordered[part(first, last)] = item
        return ordered

    def _place_of(self, children: Sequence[Token]) -> tuple[int, Place] | None:
        """Return the place that a bullet names first, and the number of its record.

        The bullet cites it, of two of one name first, or can mean no other. One that calculates is
        about a sum.
        """
        text = "".join(child.content for child in children)
        if _EQUALS in text:
            return None
        cites = [child.content for child in children if child.content.isdigit()]
        head = _head_of(children)
        named = [(cited, place, span) for cited, place in self._places
                 if (span := name_in(text, place, head))]  # fmt: skip
        named.sort(key=lambda told: [*cites, str(told[0])].index(str(told[0])))
        for cited, place, (_, end) in named:
            # A bullet that says why a place is not in a planned day stays one.
            why = self._left_out.get(place["id"])
            is_line = place["id"] in self.shown or bool(why and why in text)
            is_alone = len(named) == 1 and not text[end : end + 1].isalnum()
            if not is_line and (str(cited) in cites or is_alone):
                return cited, place
        return None

    def _place_of_lead(self, children: Sequence[Token]) -> tuple[int, Place] | None:
        """Return the place whose record alone a bullet cites that begins with another bold word.

        That is its name in its reader's words. One that names another place compares.
        """
        text, head = "".join(child.content for child in children), _head_of(children)
        own = [told for told in self._places if told[0] in _cites(children)]
        is_lead = bool(head) and text.lstrip().startswith(head) and _EQUALS not in text
        if not is_lead or len(own) != 1 or own[0][1]["id"] in {*self.shown, *self._left_out}:
            return None
        named = mentioned([place for _, place in self._places], text)
        return own[0] if named.keys() <= {own[0][1]["id"]} else None

    def _remark(self, children: Sequence[Token], place: Place, cited: int) -> list[Token]:
        """Return what a bullet says besides its place's name: nothing where that is facts alone."""
        text, written, depth = "", "", 0
        for child in children:
            depth += child.nesting if child.type in ("link_open", "link_close") else 0
            is_words = child.type == "text" and not depth
            text += child.content if is_words else CITED * len(child.content)
            written += child.content
            if child.type in _BREAKS:
                text, written = f"{text}\n", f"{written}\n"
        name = _name_of(children, text, place)
        begin, end = (name and named_part(text[:PIECE], place, name)) or (0, 0)
        rest = (text[:begin] + text[end:]).replace(CITED, " ")
        card = card_of(place, self._language)
        others = {*map(str, _cites(children))} - {str(cited)}
        if not others and len(text) < PIECE and is_of_facts(rest, (*card.facts, card.address)):
            self.told[place["id"]] = [[0, written]]
            return []
        self.told[place["id"]] = [[begin, written[begin:end]]] if end else []
        at = 0
        for child in children:
            inside = slice(max(begin - at, 0), max(end - at, 0))
            at += len(child.content) + (child.type in _BREAKS)
            if child.type == "text":
                child.content = child.content[: inside.start] + child.content[inside.stop :]
        return [*children]


def _cites(children: Sequence[Token]) -> list[int]:
    """Return the numbers of the sources that a text cites, in its order."""
    return [int(child.content) for before, child in pairwise(children)
            if before.type == "link_open" and child.content.isdecimal()]  # fmt: skip


def _words_of(children: Sequence[Token], cited: str, records: Collection[str]) -> str:
    """Return what a text says of a place: not what cites the records of others alone."""
    said, words, cites = "", "", set[str]()
    for before, child in zip([None, *children], [*children, _END], strict=True):
        if before and before.type == "link_open" and child.content.isdecimal():
            cites.add(child.content)
            continue
        is_next = bool(cites) and any(map(str.isalnum, child.content))
        if is_next or child is _END:
            said += words if cited in cites or cites.isdisjoint(records) else "\n"
            words, cites = "", set()
        words += "\n" if child.type in _BREAKS else child.content
    return said


_END = Token("end", "", 0)


def _list_of(cards: Iterable[Token], opened: Token, inline: Token) -> list[Token]:
    """Return the tokens of a list of cards behind a paragraph."""
    tokens = [Token("bullet_list_open", "ul", 1, block=True)]
    for card in cards:
        item = Token("list_item_open", "li", 1, block=True, attrs={"class": "card"})
        card.meta[BEHIND] = (opened, inline)
        tokens += [
            item,
            card,
            Token("paragraph_open", "p", 1, block=True, hidden=True),
            Token("inline", "", 0, children=[]),
            Token("paragraph_close", "p", -1, block=True, hidden=True),
            Token("list_item_close", "li", -1, block=True),
        ]
    return [*tokens, Token("bullet_list_close", "ul", -1, block=True)]


def _inline_of(tokens: Sequence[Token], item: int) -> Token | None:
    """Return the text that an item begins with."""
    return next((other for other in tokens[item : item + 3] if other.children), None)


def _lists(tokens: Sequence[Token]) -> Iterator[list[tuple[int, int, int]]]:
    """Yield the cards of each list, of one within an item first.

    Of a card these are its number, and its item's first and last token.
    """
    lists, begun = list[list[tuple[int, int, int]]](), list[int]()
    for at, token in enumerate(tokens):
        if token.type.endswith("_list_open"):
            lists.append([])
        elif token.type == "list_item_open":
            begun.append(at)
        elif token.type == "list_item_close":
            first = begun.pop()
            if tokens[first + 1].type == CARD:
                lists[-1].append((tokens[first + 1].meta[CARD].number, first, at))
        elif token.type.endswith("_list_close"):
            yield lists.pop()


def _head_of(children: Sequence[Token]) -> str:
    """Return what a bullet prints bold first."""
    bold = (b.content for a, b in pairwise(children) if a.type == "strong_open")
    return next(bold, "")[:PIECE]


def _name_of(children: Sequence[Token], text: str, place: Place) -> Span | None:
    """Return where the name at the front of a bullet stands, whole where it is printed bold."""
    span, at = name_in(text, place, _head_of(children)), 0
    for before, child in zip([None, *children], children, strict=False):
        if before and before.type == "strong_open":
            is_head = span and at <= span[0] and is_name(child.content[:PIECE], place)
            return (at, at + len(child.content)) if is_head else span
        at += len(child.content) + (child.type in _BREAKS)
    return span
