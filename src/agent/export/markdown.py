"""A finished answer as one Markdown document."""

import re
from collections.abc import Sequence

from agent.evidence.links import link_url, without_urls
from agent.evidence.types import Place
from agent.export.finished import FinishedAnswer, by_mention, without_notice, without_title
from agent.export.wording import WORDS, credit, local_time, metres, rating
from agent.language import Language

_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|!])")


def markdown_document(answer: FinishedAnswer) -> str:
    """Question, answer with its sources, table of places."""
    text = without_title(without_notice(answer.answer, answer.notice), answer.question)
    notice = [f"> {answer.notice}"] if answer.notice else []
    parts = [f"# {escaped(answer.question)}", local_time(answer.generated_at), *notice, text]
    if answer.places:
        parts.append(f"## {WORDS[answer.language]['places']}")
        parts.append(place_table(by_mention(answer.places), answer.language))
        parts.append(f"*{credit(answer.places, answer.language)}*")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def place_table(places: Sequence[Place], language: Language) -> str:
    """A table in the pipe form; what a map wrote cannot break out of its cell."""
    words = WORDS[language]
    names = [words[key] for key in ("name", "distance", "rating", "hours", "address")]
    lines = [_row(names), _row(["---"] * len(names))]
    for place in places:
        name = _cell(place["name"])
        if url := link_url(place["url"]):
            name = f"[{name}]({url})"
        cells = [metres(place["distance_m"]), rating(place), place["open_time"] or "",
                 place["address"] or ""]  # fmt: skip
        lines.append(_row([name, *map(_cell, cells)]))
    return "\n".join(lines)


def escaped(text: str) -> str:
    """One line in which no character is Markdown or HTML."""
    return _ACTIVE.sub(r"\\\1", " ".join(text.split()))


def _cell(text: str) -> str:
    """What a map wrote, less the addresses that readers of Markdown would make links of."""
    return escaped(without_urls(text)[0])


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
