"""Carry what a turn knew into the next one on its thread: its evidence under new ids, and notes.

Besides the messages it is all that lives on, and it holds one turn only.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage
from pydantic import TypeAdapter, ValidationError

from agent.assistants.common.conversation import KEPT_MESSAGES
from agent.core.strings import cut_to_tokens
from agent.evidence.citations import MARKER, carry_over, source_key
from agent.evidence.places import source_ids
from agent.evidence.types import Outing, Place, Source
from agent.state import AgentInput, Previous, Turn

_SOURCES = TypeAdapter(list[Source])
_PLACES = TypeAdapter(list[Place])
_OUTING = TypeAdapter(Outing)
_MOST_PLACES = 12
_LONGEST_TEXT = 1200
"""Characters kept of a source: of its text where that is a passage, else of its quotes."""
_PASSAGE = 4000
"""Characters of a text that is a passage and not a whole page."""
_NOTES_SHARE = 0.6
"""The part of the room behind citations and places that notes may take."""
_SHOWN_TEXT = 600
NO_PREVIOUS = Previous(sources=[], places=[])
_ABOUT = 600
"""Bytes for what is neither a source, a place nor a note."""


def previous_of(state: AgentInput) -> Previous:
    """Return what the last turn left; read off the last answer where the thread has nothing of it.

    That is so where a client sends the messages itself.
    """
    stored: Previous | None = dict(state).get("previous")  # type: ignore[assignment]
    answer = next((m for m in reversed(state["messages"]) if isinstance(m, AIMessage)), None)
    if stored and stored.get("answer") and answer is not None and stored["answer"] == answer.id:
        return stored
    evidence = _evidence_of(answer.additional_kwargs) if answer is not None else NO_PREVIOUS
    near = stored.get("near") if stored else None
    return Previous(**{**evidence, "near": near}) if near else evidence


def opened_previous(previous: Previous, turn: Turn) -> Previous:
    """Return it as the turn that begins keeps it: with where this question is asked from."""
    return Previous(**{**previous, "near": turn["near"]})


def page_sources(previous: Previous) -> list[Source]:
    """Return the earlier sources that no earlier place stands for already."""
    of_places = {id for place in previous["places"] for id in source_ids(place)}
    return [source for source in previous["sources"] if source["id"] not in of_places]


def with_ids_of(gathered: Iterable[Source], previous: Previous) -> Previous:
    """Return it with the ids that its pages have where this turn found them again."""
    found = {source_key(s): s["id"] for s in gathered if s["kind"] == "page" and s["url"]}
    names = {s["id"]: found.get(source_key(s), s["id"]) for s in previous["sources"]}
    return Previous(
        **{
            **previous,
            "sources": [Source(**{**s, "id": names[s["id"]]}) for s in previous["sources"]],
            "notes": [_with_ids(note, names) for note in previous.get("notes", [])],
        }
    )


def previous_lines(previous: Previous, tokens: int) -> str:
    """Return notes and sources of the last turn for a model, within so many tokens.

    Of a source's words those stand there that are in no note.
    """
    notes = previous.get("notes", [])
    noted = " ".join(" ".join(notes).split())
    lines = [
        " — ".join(filter(None, [f"[^{source['id']}] {source['title']}", _words(source, noted)]))
        for source in page_sources(previous)
    ]
    return cut_to_tokens("\n\n".join(filter(None, [*notes, "\n".join(lines)])), tokens)


def _words(source: Source, noted: str) -> str:
    quotes = (" ".join(quote.split()) for quote in source["quotes"])
    return " / ".join(q for q in quotes if q.rstrip("。.") not in noted)[:_SHOWN_TEXT]


def earlier_pages(messages: Sequence[AnyMessage], known: Iterable[Source]) -> dict[str, Source]:
    """Return the pages that answers before the last one cited, by new ids; none that is known."""
    answers = [message for message in messages if isinstance(message, AIMessage)]
    cited = {
        source["url"]: source
        for message in answers[-KEPT_MESSAGES:-1]
        for source in _evidence_of(message.additional_kwargs)["sources"]
        if source["kind"] == "page" and source["url"]
    }
    for source in known:
        cited.pop(source["url"], None)
    return {source["id"]: source for source in carry_over(list(cited.values()), "p1")}


@dataclass(frozen=True)
class Knowledge:
    """Hold what a turn knew at its end: what it cited, what else it gathered, and its notes."""

    cited: Sequence[Source]
    gathered: Sequence[Source]
    places: Sequence[Place]
    notes: Sequence[str]
    texts: Mapping[str, str] = field(default_factory=dict)
    """What a source says, by its id; its quotes where that is a whole page or nothing."""


def carried(knowledge: Knowledge, turn: Turn, *, answer: str, limit: int) -> Previous:
    """Return what the next turn begins with: at most `limit` bytes as JSON.

    First what was cited, then places, notes with their sources, and the other sources.
    """
    room = _Room(limit - _ABOUT)
    every = {s["id"]: s for s in [*knowledge.gathered, *knowledge.cited]}
    first = _first_ids([*knowledge.cited, *every.values()])
    words: dict[str, list[str]] = {}
    for each in every.values():
        words.setdefault(first[each["id"]], []).extend(_words_kept(each, knowledge))
    chosen: dict[str, Source] = {}

    def add(sources: Iterable[Source]) -> None:
        for source in sources:
            name = first[source["id"]]
            entry = _with_words(every[name], words[name])
            if name not in chosen and room.takes(entry):
                chosen[name] = entry

    add(knowledge.cited)
    places = list[Place]()
    for place in knowledge.places[:_MOST_PLACES]:
        if room.takes(place):
            add(every[id] for id in source_ids(place) if id in every)
            places.append(place)
    notes = _fitting(knowledge.notes, int(room.left * _NOTES_SHARE))
    for note in notes:
        room.takes(note)
    add(every[name] for note in notes for name in MARKER.findall(note) if name in every)
    add(s for s in knowledge.gathered if s["quotes"] or knowledge.texts.get(s["id"]))
    previous = _renamed(list(chosen.values()), places, notes, first)
    previous["answer"], previous["near"] = answer, turn["near"]
    previous["constraints"] = turn.get("constraints", {})
    return previous


@dataclass
class _Room:
    left: int

    def takes(self, entry: object) -> bool:
        """Return True if the entry fits, and count it."""
        size = len(json.dumps(entry, ensure_ascii=False).encode()) + 2
        if size > self.left:
            return False
        self.left -= size
        return True


def _first_ids(sources: Iterable[Source]) -> dict[str, str]:
    """Return the id that each source is kept under: one a page, each passage of a document its own.

    It is the first id of the page.
    """
    of_page: dict[str, str] = {}
    return {
        source["id"]: of_page.setdefault(source_key(source), source["id"])
        if source["kind"] == "page"
        else source["id"]
        for source in sources
    }


def _words_kept(source: Source, knowledge: Knowledge) -> list[str]:
    """Return a source's own words: its text where that is a passage, else its quotes."""
    text = knowledge.texts.get(source["id"], "")
    return [text] if text and len(text) <= _PASSAGE else source["quotes"]


def _with_words(source: Source, words: Iterable[str]) -> Source:
    """Return the source with as much of its words as is kept, each once."""
    quotes, left = list[str](), _LONGEST_TEXT
    for quote in dict.fromkeys(words):
        if left > 0:
            quotes.append(quote[:left])
            left -= len(quote)
    return Source(**{**source, "quotes": quotes})


def _fitting(notes: Sequence[str], size: int) -> list[str]:
    """Return the notes cut at line ends to equal shares of so many bytes."""
    cut, waiting = list[str](), [note for note in notes if note.strip()]
    for at, note in enumerate(waiting):
        share, lines = size // (len(waiting) - at), list[str]()
        for line in note.splitlines():
            if (share := share - len(line.encode()) - 2) < 0:
                break
            lines.append(line)
        if text := "\n".join(lines).strip():
            cut.append(text)
            size -= len(text.encode()) + 2
    return cut


def _renamed(
    sources: Sequence[Source],
    places: Sequence[Place],
    notes: Sequence[str],
    first: Mapping[str, str],
) -> Previous:
    """Return them under new ids; a marker of none of the sources is taken out.

    `first` is the id under which each id's source is kept.
    """
    fresh = carry_over(sources, "p0")
    kept = {old["id"]: new["id"] for old, new in zip(sources, fresh, strict=True)}
    names = {id: kept[name] for id, name in first.items() if name in kept}
    of_places = [
        (place, [names[id] for id in source_ids(place) if id in names]) for place in places
    ]
    return Previous(
        sources=fresh,
        places=[_carry_place(place, ids) for place, ids in of_places if ids],
        notes=[_with_ids(note, names) for note in notes],
    )


def _with_ids(note: str, names: Mapping[str, str]) -> str:
    """Return a note with its markers under other ids, without those that have none."""
    return MARKER.sub(lambda m: f"[^{names[m[1]]}]" if m[1] in names else "", note)


def _evidence_of(metadata: dict[str, Any]) -> Previous:
    """Return what an answer cited, under new ids; tolerant of foreign messages."""
    try:
        sources = _SOURCES.validate_python(metadata.get("sources") or [])
        places = _PLACES.validate_python(metadata.get("places") or [])
        outing = metadata.get("outing") and _OUTING.validate_python(metadata["outing"])
    except ValidationError:
        return NO_PREVIOUS
    ids = {source["id"]: source["id"] for source in sources}
    previous = _renamed(sources, places, [], ids)
    return Previous(**{**previous, "outing": outing}) if outing else previous


def _carry_place(place: Place, ids: list[str]) -> Place:
    """Return the place under its new source ids, without the verdicts of an earlier question."""
    carried_place = Place(**{**place, "source": ids[0], "sources": ids})
    carried_place.pop("verdicts", None)
    return carried_place
