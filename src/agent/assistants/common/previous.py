"""Carry what the last turns knew into the next one on their thread, under new ids.

Besides the messages it is all that lives on: of the last turn what it found, with its notes; of
those before it what their readers saw, the list of places and the sources.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage
from pydantic import TypeAdapter, ValidationError

from agent.core.processor import breathe
from agent.core.strings import cut_to_tokens, json_bytes
from agent.evidence.citations import MARKER
from agent.evidence.figures import figures
from agent.evidence.language import without_marks, without_said
from agent.evidence.mentions import in_list_order, list_numbers, places_of, source_ids, stop_numbers
from agent.evidence.names import titled_name
from agent.evidence.numbering import carry_over, source_key
from agent.evidence.outing.text import day_lines
from agent.evidence.pieces import with_heads
from agent.evidence.queries import clean_text
from agent.evidence.records import place_facts, some_of_each_kind
from agent.evidence.references import untitled
from agent.evidence.types import LeftOut, Outing, Place, Source, Stop
from agent.evidence.zones import zone_of
from agent.knowledge.ranking import Bm25, best_first
from agent.state import AgentInput, EarlierTurn, Previous, ShownPlace, Turn
from agent.texts import Language

_SOURCES = TypeAdapter(list[Source])
_PLACES = TypeAdapter(list[Place])
_OUTING = TypeAdapter(Outing)
_MOST_PLACES = 12
"""Of one answer that are kept with all that the map says of them."""
_MOST_SHOWN = 30
"""Of one answer whose names and numbers are kept."""
_TURNS, _LONGEST_ASKED = 3, 80
_LONGEST_TEXT, _NEAREST, _LIKE = 1600, 2, 0.1
"""Characters kept of a source's words; pieces of a text kept for a sentence that cites it, and the
least bearing they have on it."""
_NOTES_SHARE = 0.6
"""The part of the room behind citations and places that notes may take."""
NO_PREVIOUS = Previous(sources=[], places=[])
_UNCITED_SHARE, _EARLIER_SHARE = 0.2, 0.5
"""Of the room behind what bears the answer: for what it did not cite, and for earlier turns."""
_READ_OFF = 200_000
"""Bytes of what is read off a client's own messages."""
_ABOUT = 600
"""Bytes for what is neither a source, a place nor a note."""


def previous_of(state: AgentInput) -> Previous:
    """Return what the last turns left; read off the answers where the thread has nothing of them.

    That is so where a client sends the messages itself.
    """
    stored: Previous | None = dict(state).get("previous")  # type: ignore[assignment]
    answer = next((m for m in reversed(state["messages"]) if isinstance(m, AIMessage)), None)
    if stored and stored.get("answer") and answer is not None and stored["answer"] == answer.id:
        return stored
    evidence = _evidence_of(state["messages"])
    near = stored.get("near") if stored else None
    return Previous(**{**evidence, "near": near}) if near else evidence


def opened_previous(previous: Previous, turn: Turn) -> Previous:
    """Return it as the turn that begins keeps it: with where, and on whose clock, it is asked."""
    return Previous(**{**previous, "near": turn["near"], "utc_offset": turn.get("utc_offset")})


def turns_of(previous: Previous) -> list[EarlierTurn]:
    """Return the remembered turns, the newest first; one for a thread of before."""
    if "turns" in previous:
        return previous["turns"]
    if not (previous["sources"] or previous["places"]):
        return []
    return [_shown("", previous["places"], [source["id"] for source in previous["sources"]])]


def listed_last(previous: Previous) -> list[Place]:
    """Return the places of the last answer that showed any, in its order."""
    shown = next((turn["places"] for turn in turns_of(previous) if turn["places"]), [])
    by_id = {place["id"]: place for place in previous["places"]}
    return [by_id[each["id"]] for each in shown if each["id"] in by_id]


def zone_before(previous: Previous) -> str:
    """Return the name of the zone that the last answers' places are in; empty without any."""
    return next((turn["zone"] for turn in turns_of(previous) if turn["zone"]), "")


def shown_lines(
    previous: Previous,
    again: Mapping[str, str],
    language: Language,
    tokens: int,
    *,
    brief: bool = False,
) -> str:
    """Return what the last answers listed for a model: a line each place, with its number.

    Within so many tokens, the newest list first; where it is `brief`, that one alone with facts
    and pins.
    A place stands with its facts in the newest list only, and without any where it was found
    again: `again` has its new source by its id.
    """
    by_id, told = {place["id"]: place for place in previous["places"]}, {*again}
    parts = list[str]()
    for at, turn in enumerate(turns_of(previous)):
        lines, last = list[str](), 0
        for position, shown in enumerate(turn["places"], 1):
            place = by_id.get(shown["id"])
            # "The second one" is counted in the answer's list; what it did not name has its pin.
            no = shown.get("listed", position)
            if brief and at and not no:
                continue
            source = again.get(shown["id"]) or (place["source"] if place else "")
            tell = titled_name if shown["id"] in told or (brief and at) else place_facts
            facts = tell(place, language) if place else shown["name"]
            number = f"no. {no}" if no else f"map pin {shown['number']}"
            last = max(last, no) if "heading" not in shown else last
            number += f" ({shown['heading']})" if "heading" in shown else ""
            number = f" | {number}" if no or shown["number"] else ""
            lines.append(f"{f'[^{source}] ' if source else ''}{facts}{number}")
            told.add(shown["id"])
        if lines:
            # "The last two" are counted from its end.
            numbers = f" (no. 1–{last})" if last > 1 else ""
            head = f"“{turn['question']}”{numbers}:" if turn["question"] else ""
            parts.append("\n".join([head, *lines]))
    return cut_to_tokens("\n".join(parts).strip(), tokens)


def page_sources(previous: Previous) -> list[Source]:
    """Return the earlier sources but those of places, and files that say nothing more uncited."""
    of_places = {id for place in previous["places"] for id in source_ids(place)}
    cited = {id for turn in turns_of(previous) for id in turn["cited"]}
    telling = (s for s in previous["sources"] if s["id"] not in of_places)
    return [s for s in telling if s["quotes"] or s["kind"] != "document" or s["id"] in cited]


def planned_before(previous: Previous, language: Language) -> str:
    """Return the lines of the day that was planned last for a model; empty without any."""
    if not (outing := previous.get("outing")):
        return ""
    # Its own ids are of the turn that planned it.
    ids = {place["id"]: place["source"] for place in previous["places"]}
    stops = [
        Stop(**{**stop, "source": ids.get(stop["place"], "")}) if "place" in stop else stop
        for stop in outing["stops"]
    ]
    gone = [LeftOut(**{**one, "source": ids.get(one["place"], "")}) for one in outing["left_out"]]
    return day_lines(Outing(**{**outing, "stops": stops, "left_out": gone}), language)


@dataclass(frozen=True)
class Knowledge:
    """Hold what a turn knew at its end: what it cited, what else it gathered, and its notes."""

    cited: Sequence[Source]
    gathered: Sequence[Source]
    places: Sequence[Place]
    notes: Sequence[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    """What a source says, by its id; its quotes where that is nothing."""
    citing: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """The sentences of the answer that cite a source, by its id."""
    names: Mapping[str, str] = field(default_factory=dict)
    """Names of positions ("lng,lat") that calls of the map located."""
    listed: Mapping[str, tuple[int, str]] = field(default_factory=dict)
    """The numbers that places have in the answer's own lists, and those lists' headings."""
    earlier: Previous = field(default_factory=lambda: NO_PREVIOUS)
    """What the turns before it left."""


def carried(knowledge: Knowledge, turn: Turn, *, answer: str, limit: int) -> Previous:
    """Return what the next turn begins with: at most `limit` bytes as JSON."""
    previous = _kept(knowledge, turn["question"], turn.get("zone", ""), limit)
    previous["answer"], previous["near"] = answer, turn["near"]
    previous["utc_offset"] = turn.get("utc_offset")
    previous["constraints"] = turn.get("constraints", {})
    if knowledge.names:
        previous["names"] = dict([*knowledge.names.items()][-_MOST_PLACES:])
    outing, known = knowledge.earlier.get("outing"), {place["id"] for place in previous["places"]}
    if outing and not known.isdisjoint(places_of(outing)):
        previous["outing"] = outing
    return previous


def _kept(knowledge: Knowledge, question: str, zone: str, limit: int) -> Previous:
    """Return what is kept of a turn and of those before it.

    First the words that bear what was cited and those with figures, then places, of each its record
    or nothing, what the turns before showed, notes with their sources, and the rest.
    """
    room = _Room(limit - _ABOUT)
    before = _before(knowledge)
    every = {s["id"]: s for s in [*before.sources, *knowledge.gathered, *knowledge.cited]}
    of_places = {
        id: place["id"] for place in [*before.places, *knowledge.places] for id in source_ids(place)
    }
    first = _first_ids([*knowledge.cited, *every.values()], of_places)
    choice = _Choice(room, {name: every[name] for name in first.values()})
    own = _shown(question, knowledge.places, [first[s["id"]] for s in knowledge.cited], zone)
    for place in own["places"] if knowledge.listed else ():
        place["listed"], heading = knowledge.listed.get(place["id"], (0, ""))
        if heading:
            place["heading"] = heading
    shows = bool(own["places"] or own["cited"]) and room.takes(own)
    choice.add(first[s["id"]] for s in knowledge.cited)
    for name, each in every.items():
        choice.know(first[name], _pieces(each, knowledge))
    telling = [s["id"] for s in knowledge.gathered if s["quotes"] or knowledge.texts.get(s["id"])]
    choice.fill(_CITED)
    # The next question may be about what this answer did not use, or about an earlier one.
    uncited = int(room.left * _UNCITED_SHARE) if len(telling) > len(knowledge.cited) else 0
    earlier = int(room.left * _EARLIER_SHARE) if before.turns else 0
    room.left -= uncited + earlier
    choice.fill(_FIGURES)
    places, own_places = list[Place](), some_of_each_kind(knowledge.places)[:_MOST_PLACES]
    _add_places(own_places, places, choice, first)
    free, room.left = room.left, earlier
    turns = [turn for turn in before.turns if room.takes(turn)]
    choice.add(first[name] for turn in turns for name in turn["cited"])
    _add_places(before.places, places, choice, first)
    choice.fill(_CITED)
    room.left += free
    notes = _fitting(knowledge.notes, int(room.left * _NOTES_SHARE))
    for note in notes:
        room.takes(note)
    choice.fill(_REST)
    choice.add(first[name] for note in notes for name in MARKER.findall(note) if name in every)
    room.left += uncited
    choice.add(first[name] for name in telling if name not in of_places)
    choice.fill(_REST)
    return _renamed(choice.sources(), places, notes, first, turns=[*[own] * shows, *turns])


@dataclass(frozen=True)
class _Before:
    """Hold what the turns before this one showed."""

    turns: Sequence[EarlierTurn]
    places: Sequence[Place]
    sources: Sequence[Source]


def _before(knowledge: Knowledge) -> _Before:
    """Return the turns before this one, as many as live on, with what they and a day showed."""
    showed = bool(knowledge.places or knowledge.cited)
    turns = turns_of(knowledge.earlier)[: _TURNS - showed]
    shown = {each["id"] for turn in turns for each in turn["places"]}
    outing = knowledge.earlier.get("outing")
    missed = [left["place"] for left in outing["left_out"]] if outing else []
    day = {*places_of(outing), *missed}
    places = [p for p in knowledge.earlier["places"] if p["id"] in shown | day]
    places.sort(key=lambda place: place["id"] not in day)
    cited = {id for turn in turns for id in turn["cited"]}
    cited |= {id for place in places for id in source_ids(place)}
    sources = [source for source in knowledge.earlier["sources"] if source["id"] in cited]
    return _Before(turns, places, sources)


def _shown(
    question: str, places: Sequence[Place], cited: Sequence[str], zone: str = ""
) -> EarlierTurn:
    return EarlierTurn(
        question=clean_text(question, _LONGEST_ASKED),
        places=[
            ShownPlace(id=place["id"], name=place["name"], number=place.get("number", 0))
            # What the answer did not name is in no list of it.
            | ({} if place["mentioned"] else {"listed": 0})
            for place in places[:_MOST_SHOWN]
        ],
        cited=list(dict.fromkeys(cited)),
        zone=str(zone_of(places[0])) if places else zone,
    )


def _add_places(
    candidates: Iterable[Place], places: list[Place], choice: "_Choice", first: Mapping[str, str]
) -> None:
    """Add the places that there is room for, with their sources; each once."""
    known = {place["id"] for place in places}
    for place in candidates:
        if place["id"] not in known and choice.room.takes(place):
            choice.add(first[id] for id in source_ids(place) if id in first)
            places.append(place)


_RULE = "|---|---|"
_CITED, _FIGURES, _REST = range(3)
"""The worth of a piece of text: it bears the answer, has figures, or neither."""


@dataclass
class _Piece:
    """Hold a line of a source, or a run of its sentences, with the head of a table's row."""

    text: str
    head: str = ""
    worth: int = _REST
    taken: bool = False


class _Choice:
    """Choose sources, and of their words the best of all of them before more of one."""

    def __init__(self, room: "_Room", sources: Mapping[str, Source]) -> None:
        self.room, self._sources = room, sources
        self._pieces: dict[str, list[_Piece]] = {}
        self._left: dict[str, int] = {}
        """The characters that each chosen source may still get."""

    def know(self, name: str, pieces: Iterable[_Piece]) -> None:
        """Add pieces of a source that may be kept, without those that are there already."""
        own = self._pieces.setdefault(name, [])
        for piece in pieces:
            breathe()
            if not any(piece.text in other.text for other in own):
                own.append(piece)

    def add(self, names: Iterable[str]) -> None:
        """Choose sources, without words yet, as far as there is room."""
        for name in names:
            bare = Source(**{**self._sources[name], "quotes": []})
            if name not in self._left and self.room.takes(bare):
                self._left[name] = _LONGEST_TEXT

    def fill(self, worth: int) -> None:
        """Take pieces of the chosen sources, up to a worth, those that are worth most first."""
        for level in range(worth + 1):
            for name in self._left:
                for piece in self._pieces.get(name, []):
                    if piece.worth == level:
                        self._take(name, piece)

    def _take(self, name: str, piece: _Piece) -> None:
        has_head = any(p.taken and p.head == piece.head for p in self._pieces[name])
        text = piece.text if has_head else piece.text + piece.head
        fits = not piece.taken and len(text) <= self._left[name]
        if fits and self.room.takes([text, _RULE]):
            piece.taken = True
            self._left[name] -= len(text)

    def sources(self) -> list[Source]:
        """Return the chosen sources with their words, in the order of the text."""
        return [
            Source(**{**self._sources[name], "quotes": _quotes(self._pieces.get(name, []))})
            for name in self._left
        ]


@dataclass
class _Room:
    left: int

    def takes(self, entry: object) -> bool:
        """Return True if the entry fits, and count it."""
        size = json_bytes(entry) + 2
        if size > self.left:
            return False
        self.left -= size
        return True


def _first_ids(sources: Sequence[Source], of_places: Mapping[str, str]) -> dict[str, str]:
    """Return the id that each source is kept under: the first one of its page, file or place.

    `of_places` has the ids of places by their sources'.
    """
    firsts: dict[str, str] = {}
    keyed = {s["id"]: source_key(s) for s in sources if s["kind"] in ("page", "document")}
    keys = (of_places.get(s["id"]) or keyed.get(s["id"], s["id"]) for s in sources)
    return {s["id"]: firsts.setdefault(key, s["id"]) for s, key in zip(sources, keys, strict=True)}


def _pieces(source: Source, knowledge: Knowledge) -> list[_Piece]:
    """Return a source's own words in pieces, and what each is worth; its title is none."""
    title, told = source["title"].casefold(), knowledge.texts.get(source["id"], "")
    text = [_Piece(*pair) for pair in with_heads(told) if pair[0].lstrip("# ").casefold() != title]
    whole = without_marks(told)
    every = [untitled(source, quote) for quote in source["quotes"]]
    cited = [without_marks(quote) for quote in every]
    quotes = list[str]()
    for quote in every:
        # One passage may be a part of another.
        new = quote if "|" in quote else without_said(quote, whole)
        quotes += [new] * (without_marks(new) not in whole)
        whole += without_marks(new)
    pieces = [*(_Piece(quote[:_LONGEST_TEXT], worth=_CITED) for quote in quotes), *text]
    _rank_cited(pieces, knowledge.citing.get(source["id"], ()))
    for piece in pieces:
        if (bare := without_marks(piece.text)) and any(bare in q or q in bare for q in cited if q):
            piece.worth = _CITED
        if piece.worth == _REST and any(figure.telling for figure in figures(piece.text)):
            piece.worth = _FIGURES
    return pieces


def _rank_cited(pieces: Sequence[_Piece], sentences: Sequence[str]) -> None:
    """Give the pieces nearest to the sentences that cite their source the worth of quotes."""
    if not sentences or all(piece.worth == _CITED for piece in pieces):
        return
    bm25 = Bm25([f"{piece.head} {piece.text}" for piece in pieces])
    for sentence in sentences:
        for at, score in best_first(bm25.scores(sentence))[:_NEAREST]:
            pieces[at].worth = _CITED if score >= _LIKE else pieces[at].worth


def _quotes(pieces: Iterable[_Piece]) -> list[str]:
    """Return the pieces that are kept; the rows of a table are one text below its head."""
    quotes, head = list[str](), ""
    for piece in pieces:
        if not piece.taken:
            continue
        if piece.head and piece.head == head:
            quotes[-1] += f"\n{piece.text}"
        elif piece.head:
            quotes.append(f"{piece.head}\n{_RULE}\n{piece.text}")
        else:
            quotes.append(piece.text)
        head = piece.head
    return quotes


def _fitting(notes: Sequence[str], size: int) -> list[str]:
    """Return the notes cut at line ends to equal shares of so many bytes."""
    cut, waiting = list[str](), [note for note in notes if note.strip()]
    for at, note in enumerate(waiting):
        share, lines = size // (len(waiting) - at), list[str]()
        for line in note.splitlines():
            if (share := share - len(line.encode("utf-8", "replace")) - 2) < 0:
                break
            lines.append(line)
        if text := "\n".join(lines).strip():
            cut.append(text)
            size -= len(text.encode("utf-8", "replace")) + 2
    return cut


def _renamed(
    sources: Sequence[Source],
    places: Sequence[Place],
    notes: Sequence[str],
    first: Mapping[str, str],
    *,
    prefix: str = "p0",
    turns: Sequence[EarlierTurn] = (),
) -> Previous:
    """Return them under new ids; a marker of none of the sources is taken out.

    `first` is the id under which each id's source is choice.
    """
    fresh = carry_over(sources, prefix)
    kept = {old["id"]: new["id"] for old, new in zip(sources, fresh, strict=True)}
    names = {id: kept[name] for id, name in first.items() if name in kept}
    ids = [[names[id] for id in source_ids(place) if id in names] for place in places]
    return Previous(
        sources=fresh,
        places=[_carry_place(p, own) for p, own in zip(places, ids, strict=True) if own],
        notes=[renamed_in(note, names) for note in notes],
        turns=[
            EarlierTurn(**{**turn, "cited": [names[id] for id in turn["cited"] if id in names]})
            for turn in turns
        ],
    )


def renamed_in(note: str, names: Mapping[str, str]) -> str:
    """Return a note with its markers under other ids, without those that have none."""
    return MARKER.sub(lambda m: f"[^{names[m[1]]}]" if m[1] in names else "", note)


def _evidence_of(messages: Sequence[AnyMessage]) -> Previous:
    """Return what the last answers showed, under new ids; tolerant of foreign messages."""
    previous, question, at = NO_PREVIOUS, "", 0
    answers = [message for message in messages if isinstance(message, AIMessage)]
    for message in messages:
        if isinstance(message, HumanMessage):
            question = str(message.text)
        elif isinstance(message, AIMessage):
            at += 1
            if at > len(answers) - _TURNS:
                previous = _with_answer(previous, message, question)
    return previous


def _with_answer(earlier: Previous, answer: AIMessage, question: str) -> Previous:
    """Return what is known after one more answer, whose evidence its message carries."""
    metadata = answer.additional_kwargs
    try:
        sources = _SOURCES.validate_python(metadata.get("sources") or [])
        shown = _PLACES.validate_python(metadata.get("places") or [])
        outing = metadata.get("outing") and _OUTING.validate_python(metadata["outing"])
    except ValidationError:
        return earlier
    places = in_list_order(shown, str(answer.text))
    numbers = stop_numbers(places_of(outing)) or list_numbers(places, str(answer.text))
    # Its ids are of its own turn: the same one is another source's in the next.
    own = _renamed(sources, places, [], {s["id"]: s["id"] for s in sources}, prefix="m0")
    knowledge = Knowledge(own["sources"], [], own["places"], [], listed=numbers, earlier=earlier)
    previous = _kept(knowledge, question, "", _READ_OFF)
    outing = outing or earlier.get("outing")
    return Previous(**{**previous, "outing": outing}) if outing else previous


def _carry_place(place: Place, ids: list[str]) -> Place:
    """Return the place under its new source ids, without the verdicts of an earlier question."""
    ids = list(dict.fromkeys(ids))
    carried_place = Place(**{**place, "source": ids[0], "sources": ids})
    carried_place.pop("verdicts", None)
    return carried_place
