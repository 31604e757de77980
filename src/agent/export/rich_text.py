"""The answer's Markdown as HTML in which nothing a model or a page wrote can act."""

from collections.abc import Mapping, Sequence
from itertools import pairwise

from markdown_it import MarkdownIt
from markdown_it.token import Token

from agent.evidence.links import link_url

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
