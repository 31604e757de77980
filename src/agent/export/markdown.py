"""An answer as one Markdown document, and its Markdown as HTML in which nothing can act."""

import re
from collections.abc import Mapping, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent.evidence.markdown import link_url, without_urls
from agent.evidence.types import Place
from agent.export.finished import FinishedAnswer, by_mention, without_notice, without_title
from agent.export.wording import credit, local_time, metres, rating
from agent.texts import say
from agent.texts.language import Language

LINK_REL = "noopener nofollow ugc"
_TOP_LEVEL = 3
"""Headings of the answer begin below those of the page."""


def answer_html(markdown: str, titles: Mapping[str, str]) -> str:
    """Raw HTML is shown as text, images are not loaded, links are http or https only.

    `titles` maps a citation's number to its source's title, shown when one points at it.
    """
    parser = answer_parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _TOP_LEVEL - 1)}"
        _mark_links(token.children or [], titles)
    return str(parser.renderer.render(tokens, parser.options, {}))


def answer_parser() -> MarkdownIt:
    """CommonMark with tables, without HTML and images; links that `link_url` refuses are text."""
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.validateLink = _is_allowed  # type: ignore[method-assign]
    return parser


def _is_allowed(url: str) -> bool:
    return bool(link_url(url))


def _mark_links(children: Sequence[Token], titles: Mapping[str, str]) -> None:
    for token, following in pairwise(children):
        if token.type != "link_open":
            continue
        token.attrSet("rel", LINK_REL)
        token.attrSet("target", "_blank")
        if following.type == "text" and following.content.isdigit():
            token.attrSet("class", "cite")
            if title := titles.get(following.content):
                token.attrSet("title", title)


_ACTIVE = re.compile(r"([\\`*_{}\[\]<>#|!])")


def markdown_document(answer: FinishedAnswer) -> str:
    """Question, answer with its sources, table of places."""
    text = without_title(without_notice(answer.answer, answer.notice), answer.question)
    notice = [f"> {answer.notice}"] if answer.notice else []
    parts = [f"# {escaped(answer.question)}", local_time(answer.generated_at), *notice, text]
    if answer.places:
        parts.append(f"## {say('export.places', answer.language)}")
        parts.append(place_table(by_mention(answer.places), answer.language))
        parts.append(f"*{credit(answer.places, answer.language)}*")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def place_table(places: Sequence[Place], language: Language) -> str:
    """A table in the pipe form; what a map wrote cannot break out of its cell."""
    names = [
        say(f"export.{key}", language) for key in ("name", "distance", "rating", "hours", "address")
    ]
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
