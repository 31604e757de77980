"""Citations: markers in, numbered links and a list of sources out.

The one place to import from; the marker grammar and the stream transformer have files of
their own.
"""

import re
from collections.abc import Mapping, Sequence
from urllib.parse import urlsplit

from agent.language import Language

from .citer import Citer
from .links import link_url, without_urls
from .markers import MARKER, cited_ids
from .queries import clean_text
from .types import Source

__all__ = [
    "MARKER",
    "Citer",
    "carry_over",
    "cited_ids",
    "inert",
    "references",
    "renumber_for_prompt",
    "restamp",
    "strip_references",
    "with_targets",
]

_HEADINGS: Mapping[Language, str] = {"zh": "**来源**", "en": "**Sources**"}
_MAX_TITLE = 160
_MAX_LINE = 500
_MARKDOWN = re.compile(r"([\\\[\]`*_<>|~])")
_NUMBERED_LINK = re.compile(r"\[\d{1,4}\]\(([^()\s]{1,2000})\)")
_TARGET = re.compile(r"\]\(([^()\s]+)\)")
_LIST_BEGINS = re.compile(r"\n\n(?:\*\*来源\*\*|\*\*Sources\*\*)\n\n(?=1\. )")


def references(used: Sequence[Source], language: Language) -> str:
    """The list of sources as markdown, one numbered line each; empty without sources."""
    if not used:
        return ""
    lines = [_reference(source, number) for number, source in enumerate(used, 1)]
    return "\n".join([_HEADINGS[language], "", *lines])


def strip_references(answer: str) -> str:
    """An answer without the list of sources at its end."""
    lists = list(_LIST_BEGINS.finditer(answer))
    return answer[: lists[-1].start()].rstrip() if lists else answer


def carry_over(sources: Sequence[Source], prefix: str = "p0") -> list[Source]:
    """Sources of the previous turn under ids of their own (`p0-0` …), not yet numbered.

    With new ids nothing the next search finds can be mistaken for them.
    """
    carried: list[Source] = []
    for index, source in enumerate(sources):
        fresh = source.copy()
        fresh["id"] = f"{prefix}-{index}"
        fresh["quotes"] = list(source["quotes"])
        fresh.pop("number", None)
        carried.append(fresh)
    return carried


def restamp(text: str, ids: Mapping[str, str]) -> str:
    """Marked text with its ids replaced; markers whose id is not in the mapping go."""
    return MARKER.sub(lambda found: f"[^{ids[found[1]]}]" if found[1] in ids else "", text)


def renumber_for_prompt(answer: str, carried: Sequence[Source]) -> str:
    """A finished answer as the next turn's model may see it: markers for links, no URLs.

    Links are matched by URL to the carried-over sources; the list of sources is cut off.
    """
    by_url = {link_url(source["url"]): source["id"] for source in carried if source["url"]}

    def marker(found: re.Match[str]) -> str:
        name = by_url.get(found[1])
        return f"[^{name}]" if name else ""

    return _NUMBERED_LINK.sub(marker, strip_references(answer))


def with_targets(
    answer: str, used: Sequence[Source], targets: Mapping[str, str]
) -> tuple[str, list[Source]]:
    """Return a finished answer and its sources with each redirect link led where it leads.

    A target is foreign text: it is written as any source's URL is, in one pass.
    """
    leads = {link_url(url): led for url, target in targets.items() if (led := link_url(target))}
    text = _TARGET.sub(lambda found: f"]({leads.get(found[1], found[1])})", answer)
    return text, [Source(**{**s, "url": leads.get(s["url"], s["url"])}) for s in used]


def inert(text: str) -> str:
    """One line of foreign text that shows its words and does nothing: no link, image or tag."""
    citer = Citer({})
    return (citer.feed(clean_text(text, _MAX_LINE)) + citer.flush()).strip()


def _reference(source: Source, position: int) -> str:
    number = source.get("number") or position
    url = link_url(source["url"])
    named = without_urls(clean_text(source["title"], _MAX_TITLE))[0].strip()
    title = _MARKDOWN.sub(r"\\\1", named or urlsplit(url).hostname or "–")
    provider = _MARKDOWN.sub(r"\\\1", clean_text(source["provider"], _MAX_TITLE))
    linked = f"[{title}]({url})" if url else title
    provider = provider[:1].upper() + provider[1:]
    return f"{number}. {linked} — {provider}" if provider else f"{number}. {linked}"
