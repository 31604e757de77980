"""Keep of a topic that is cleared what the lead thought, had explored and calculated."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage

from agent.assistants.common.shown_records import distinct_places, ways_said
from agent.assistants.common.toolbox import is_calculation
from agent.assistants.deep_research.state import DeepState, kept_pages, site_name, topic_messages
from agent.assistants.deep_research.tools import MAX_THOUGHT, thought_of
from agent.core.strings import cut_to_shares, estimated_tokens, first_lines
from agent.evidence.names import with_origins_called
from agent.evidence.queries import clean_text
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.types import Source

_TITLE = 90


def thoughts_of(topic: str, messages: Sequence[AnyMessage]) -> list[str]:
    """Return the lead's thoughts in a topic, each once; without one they are on the whole."""
    lines, of = list[str](), f"({topic}) " if topic else ""
    for message in messages:
        if isinstance(message, AIMessage):
            thoughts = [clean_text(str(message.text), MAX_THOUGHT)]
            thoughts += [thought_of(call) for call in message.tool_calls]
            lines += [f"{of}{thought}" for thought in thoughts if thought]
    return list(dict.fromkeys(lines))


def lead_notes(state: DeepState, tokens: int) -> str:
    """Return what the lead knows of closed topics: what was found, calculated and thought.

    Without findings that the present topic's messages show.
    """
    shown = "\n".join(str(message.text) for message in topic_messages(state))
    found = dict[str, str]()
    for entry in state.get("search_results", []):
        lines = entry.get("found", "").splitlines()
        if unshown := [line for line in lines if line not in shown]:
            found[entry["topic"]] = "\n".join(unshown)
    shares = cut_to_shares([*found.values()], tokens * 2 // 3, first_lines)
    told = [f"({topic})\n{text}" for topic, text in zip(found, shares, strict=True) if text]
    return shown_notes([*told, *calculated(state), *state.get("notes", [])], tokens)


def calculated(state: DeepState) -> list[str]:
    """Return what programs have worked out, as marked text."""
    sources = state.get("sources_gathered", [])
    return [result_lines(source) for source in sources if is_calculation(source)]


def result_lines(source: Source) -> str:
    """Return a program's result, each line with its marker: one alone seems to be the last's."""
    lines = filter(str.strip, source["quotes"][0].splitlines())
    return "\n".join(f"{line} [^{source['id']}]" for line in lines)


def shown_notes(notes: Sequence[str], tokens: int) -> str:
    """Return the notes for a prompt, the oldest left out first."""
    kept = list[str]()
    for note in reversed(notes):
        if (tokens := tokens - estimated_tokens(note) - 1) < 0:
            break
        kept.append(note)
    return "\n".join(reversed(kept))


def workspace_lines(state: DeepState, tokens: int) -> str:
    """Return the pages that closed topics kept or left, and the map's records, by their ids.

    Those of the present topic stand in its messages. The oldest pages are left out where there is
    no room. The state says the same after a crash.
    """
    records = unshown_record_lines(state, [str(message.text) for message in topic_messages(state)])
    records = first_lines(records, tokens // 2)
    known = [*state.get("pages_left", []), *kept_pages(state)]
    pages = {page.get("id"): page for page in known}.values()
    lines = [
        f"{page['id']} · {page['title'][:_TITLE]} · {site_name(page['url'])}"
        for page in pages
        if page.get("id")
    ]
    listed = shown_notes(lines, tokens - estimated_tokens(records))
    return "\n".join(filter(None, [listed, records]))


def unshown_record_lines(state: DeepState, told: Sequence[str] = ()) -> str:
    """Return a line for each record of the map that the texts do not show."""
    language, shown = state["turn"]["language"], "\n".join(told)

    def new(records: Sequence[Any]) -> list[Any]:
        return [each for each in records if f"[^{each['source']}]" not in shown]

    places = with_origins_called(distinct_places(state.get("places", [])), language)
    parts = (
        place_lines(new(places), language),
        route_lines(new(ways_said(state.get("routes", []), places, language)), language),
        weather_lines(new(state.get("weather", [])), language),
    )
    return "\n".join(filter(None, parts))
