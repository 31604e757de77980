"""What the discussion gathered, as those who judge it read it: passages, records, calculations.

It is chosen for what is asked and claimed, from all that was found, whoever found it.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain

from agent.assistants.common.search import page_row
from agent.assistants.common.tool_results import rounded
from agent.assistants.team_answer.state import TeamState, ToolEvidence
from agent.assistants.team_answer.tools import known_positions, measurement
from agent.core.strings import cut_to_tokens, estimated_tokens, letters_of
from agent.evidence.language import SENTENCE_END
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.types import Source
from agent.knowledge.ranking import Bm25, best_first
from agent.prompts import Raw, fence
from agent.texts import Language

_NEAREST = 2
"""Sources that must have been read where the answer is said to be nowhere."""
_PIECE, _OF_LOOKUPS = 240, 3
"""Characters of a piece of a page; the share of calculations and records in the tokens."""


def previous_sources(state: TeamState) -> list[Source]:
    """Return the sources that the last answer on this thread cited."""
    previous = state.get("previous")
    return previous["sources"] if previous else []


def known_sources(state: TeamState) -> list[Source]:
    """Return all that can be cited: of this turn, and of the last answer."""
    return [*state.get("sources_gathered", []), *previous_sources(state)]


def lookups(state: TeamState) -> list[ToolEvidence]:
    """Return the calculations and the map's lookups of this turn that ended well."""
    pool = state.get("evidence_pool", [])
    return [each for each in pool if each["kind"] in ("code", "map") and not each["failed"]]


def evidence_view(state: TeamState, tokens: int, *, besides: Collection[str] = ()) -> Raw:
    """Return calculations and records, then the passages nearest to what is asked and claimed.

    Sources `besides` are shown elsewhere in the prompt.
    """
    lines, used = list[str](), 0
    for line in _record_lines(state):
        used += estimated_tokens(line) + 1
        if used > tokens // _OF_LOOKUPS:
            break
        lines.append(fence(line))
    sources = [s for s in known_sources(state) if s["kind"] in ("page", "document")]
    shown = [source for source in sources if source["id"] not in besides]
    return Raw("\n".join([*lines, *_passages(shown, "\n".join(looked_for(state)), tokens - used)]))


def nearest_sources(state: TeamState) -> list[str]:
    """Return the ids of the sources whose passages share most with what is asked, best first."""
    asked = f"{state['turn']['question']} {state['analysis']['asked']}"
    pieces = [(s["id"], piece) for s in known_sources(state) for piece in _pieces(s["quotes"])]
    ranked = best_first(Bm25([piece for _, piece in pieces]).scores(asked))
    return list(dict.fromkeys(pieces[at][0] for at, score in ranked if score > 0))[:_NEAREST]


def _record_lines(state: TeamState) -> Iterator[str]:
    """Yield calculations, measurements and the map's records, one a line."""
    language, names = state["turn"]["language"], known_positions(state)
    # What a lookup of the map has brought stands in its records.
    bare = (each for each in lookups(state) if not each["source_ids"])
    yield from (_lookup_line(each, names, language) for each in bare)
    records = (
        place_lines(state.get("places", []), language),
        route_lines(state.get("routes", []), language),
        weather_lines(state.get("weather", []), language),
    )
    yield from filter(None, chain.from_iterable(text.splitlines() for text in records))


def _lookup_line(lookup: ToolEvidence, names: Mapping[str, str], language: Language) -> str:
    """Return a lookup with its result; `names` are those of positions."""
    if lookup["kind"] == "map":
        words = measurement(lookup, names, language)
        return f"{lookup['id']}: {cut_to_tokens(words, 200)}"
    request, result = (
        " ".join(text.split()) for text in (lookup["asked"], rounded(lookup["text"]))
    )
    return f"{lookup['id']}: {cut_to_tokens(request, 150)} ⇒ {cut_to_tokens(result, 100)}"


def _passages(sources: Sequence[Source], query: str, tokens: int) -> list[str]:
    """Return a row for each source with its nearest passages, verbatim, within the tokens.

    The nearest one of each source comes before the second of any.
    """
    pieces = [(at, piece) for at, s in enumerate(sources) for piece in _pieces(s["quotes"])]
    ranked = best_first(Bm25([piece for _, piece in pieces]).scores(query))
    order = [*(place for place, _ in ranked), *range(len(pieces))]
    chosen = dict[int, None]()
    for firsts in (True, False):
        seen = set[int]()
        for place in order:
            at, piece = pieces[place]
            cost = estimated_tokens(piece) + (20 if firsts else 1)
            if place in chosen or (firsts and at in seen) or cost > tokens:
                continue
            seen.add(at)
            chosen[place] = None
            tokens -= cost
    found: dict[int, list[int]] = {}
    for place in sorted(chosen):
        found.setdefault(pieces[place][0], []).append(place)
    return [
        page_row(
            _joined([(place, pieces[place][1]) for place in places]),
            id=sources[at]["id"],
            title=sources[at]["title"],
            date=(sources[at].get("published") or "")[:10] or None,
        )
        for at, places in found.items()
    ]


def looked_for(state: TeamState) -> list[str]:
    """Return what passages have to be near to: the question, its steps, what was claimed last."""
    said = [turn["text"] for turn in (state.get("transcript") or [])[-2:]]
    asked = [state["turn"]["question"], state["analysis"]["asked"]]
    return [*asked, *state.get("sub_questions", []), *said]


def _joined(pieces: Sequence[tuple[int, str]]) -> str:
    """Return pieces in their order, with a sign where something is left out between two."""
    text, before = "", -1
    for place, piece in pieces:
        parted = " " if place == before + 1 else " … "
        text, before = f"{text}{parted if text else ''}{piece}", place
    return text


def _pieces(quotes: Sequence[str]) -> Iterator[str]:
    """Yield what a source says, each sentence once, in pieces of a few sentences."""
    pending, before = "", set[str]()
    for sentence in (each for quote in quotes for each in SENTENCE_END.split(quote)):
        letters = letters_of(sentence)
        if not letters or letters in before:
            continue
        before.add(letters)
        pending = f"{pending} {' '.join(sentence.split())}".strip()
        if len(pending) >= _PIECE:
            yield pending
            pending = ""
    if pending:
        yield pending
