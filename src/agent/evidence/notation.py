"""How a text cites, `[^w0-2]` between nodes, `[n](url)` in a finished answer, and what it marks."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from agent.evidence.citations import MARKER
from agent.evidence.language import is_cut
from agent.evidence.markdown import link_url
from agent.evidence.mentions import without_branch
from agent.evidence.names import BETWEEN_NAMES
from agent.evidence.numbering import source_key
from agent.evidence.references import CITATION
from agent.evidence.types import Source

MARK, CONTRADICTED = "†", "‡"
"""The signs of words that no source says, and of such of which a source says otherwise."""
_ENDS = ".!?…。！？"
_SIGN = re.compile(rf"\s?([{MARK}{CONTRADICTED}])")


@dataclass(frozen=True)
class Notation:
    """How a text cites: the pattern of a citation, the source ids it names, how one is written."""

    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], tuple[str, ...]]
    write: Callable[[str], str]
    names: tuple[str, ...] = ()
    """Names with a full stop or its like in them: no sentence ends there."""


MARKED = Notation(MARKER, lambda match: (match[1],), lambda name: f"[^{name}]")
"""The notation between nodes: `[^w0-2]`."""
LINKED = Notation(CITATION, lambda match: (match[0],), str)
"""The notation of any finished answer, whatever its sources are."""


def finished_notation(used: list[Source], sources: Mapping[str, Source]) -> Notation:
    """Return the notation of a finished answer: `[n](url)`; sources of one URL share a number.

    `used` are the cited sources in order of their numbers; one that is newly cited is appended.
    """
    by_key: dict[str, list[str]] = {}
    for name in sources:
        by_key.setdefault(source_key(sources[name]), []).append(name)

    def read(match: re.Match[str]) -> tuple[str, ...]:
        number = int(match[1])
        if not 0 < number <= len(used) or (match[2] or "") != used[number - 1]["url"]:
            return ()
        return tuple(by_key.get(source_key(used[number - 1]), ()))

    def write(name: str) -> str:
        keys = [source_key(source) for source in used]
        key, url = source_key(sources[name]), link_url(sources[name]["url"])
        if key not in keys:
            keys.append(key)
            used.append(Source(**{**sources[name], "url": url, "number": len(keys)}))
        number = keys.index(key) + 1
        return f"[{number}]({url})" if url else f"[{number}]"

    names = {name for source in sources.values() for name in _names_in(source)}
    return Notation(CITATION, read, write, tuple(sorted(filter(is_cut, names))))


def _names_in(source: Source) -> set[str]:
    """Return what a text may call a source by: a place by its name in either language, too.

    A page's title is often a sentence; what ends it ends one that is quoted.
    """
    title = source["title"]
    if source["kind"] != "place":
        return {title.rstrip(_ENDS)}
    called = {title, *title.split(BETWEEN_NAMES)}
    return called | {*map(without_branch, called)}


def is_marked(text: str) -> bool:
    """Return whether a text has a sign of words that no source bears."""
    return MARK in text or CONTRADICTED in text


def with_words_for_signs(text: str, meanings: Mapping[str, str]) -> str:
    """Return an answer with words in place of the signs, and of the blanks before them."""
    # To look for a blank before a sign takes long where there is none.
    return _SIGN.sub(lambda match: meanings[match[1]], text) if is_marked(text) else text
