"""Keep of a topic that is cleared what the lead thought, had explored and calculated."""

from collections.abc import Sequence

from langchain_core.messages import AIMessage, AnyMessage, ToolMessage

from agent.assistants.common.toolbox import is_calculation
from agent.assistants.deep_research.state import DeepState, kept_pages, site_name
from agent.assistants.deep_research.tools import EXPLORE, MAX_THOUGHT, thought_of
from agent.core.strings import estimated_tokens
from agent.evidence.queries import clean_text

_LONGEST, _TITLE = 8000, 90


def found_in(messages: Sequence[AnyMessage]) -> str:
    """Return what explorers have found in a topic."""
    return "\n".join(
        str(message.text)[:_LONGEST]
        for message in messages
        if isinstance(message, ToolMessage)
        and message.name == EXPLORE
        and message.status == "success"
    )


def thoughts_of(topic: str, messages: Sequence[AnyMessage]) -> list[str]:
    """Return the lead's thoughts in a topic, each once."""
    lines = list[str]()
    for message in messages:
        if isinstance(message, AIMessage):
            thoughts = [clean_text(str(message.text), MAX_THOUGHT)]
            thoughts += [thought_of(call) for call in message.tool_calls]
            lines += [f"({topic}) {thought}" for thought in thoughts if thought]
    return list(dict.fromkeys(lines))


def lead_notes(state: DeepState, tokens: int) -> str:
    """Return what the lead knows of closed topics: what was found, calculated and thought."""
    found = [
        f"({entry['topic']})\n{entry['found']}"
        for entry in state.get("search_results", [])
        if entry.get("found")
    ]
    calculated = [
        f"{source['quotes'][0]} [^{source['id']}]"
        for source in state.get("sources_gathered", [])
        if is_calculation(source)
    ]
    return shown_notes([*found, *calculated, *state.get("notes", [])], tokens)


def shown_notes(notes: Sequence[str], tokens: int) -> str:
    """Return the notes for a prompt, the oldest left out first."""
    kept = list[str]()
    for note in reversed(notes):
        if (tokens := tokens - estimated_tokens(note) - 1) < 0:
            break
        kept.append(note)
    return "\n".join(reversed(kept))


def workspace_lines(state: DeepState, tokens: int) -> str:
    """Return ids and titles of the pages that closed topics kept or left, the oldest left out.

    Those of the present topic stand in its messages. The state says the same after a crash.
    """
    pages = [*state.get("pages_left", []), *kept_pages(state)]
    lines = [
        f"{page['id']} · {page['title'][:_TITLE]} · {site_name(page['url'])}"
        for page in pages
        if page.get("id")
    ]
    return shown_notes(lines, tokens)
