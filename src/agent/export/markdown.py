"""Export an answer as one Markdown document, and its Markdown as HTML in which nothing can act."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from agent.core.processor import breathe
from agent.evidence.markdown import link_url, open_url, without_dead_links, without_urls
from agent.evidence.references import references, strip_references
from agent.evidence.types import Place
from agent.export.finished import (
    FinishedAnswer,
    by_mention,
    checked_sentences,
    column_title,
    credit,
    place_cell,
    place_columns,
    statement_line,
    subtitle,
    without_notice,
    without_title,
)
from agent.export.place_cards import CARD, Card, PlaceCards
from agent.texts import Language, say

LINK_REL = "noopener nofollow ugc"
_TOP_LEVEL = 3
"""Headings of the answer begin below those of the page."""


def answer_html(markdown: str, titles: Mapping[str, str], cards: PlaceCards | None = None) -> str:
    """Return HTML: raw HTML is shown as text, images are not loaded, links are http or https only.

    `titles` maps a citation's number to its source's title, shown when one points at it.
    """
    parser = answer_parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        breathe()
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{min(6, int(token.tag[1]) + _TOP_LEVEL - 1)}"
        # The language of code would be an attribute, and nothing of a text is one.
        token.info = ""
        _mark_links(token.children or [], titles)
    _mark_timetables(tokens)
    if cards:
        tokens = cards.apply(tokens)
        parser.add_render_rule(CARD, _card_html)
    return str(parser.renderer.render(tokens, parser.options, {}))


def link_html(url: str, text: str) -> str:
    """Return a link that gives nothing away; its text alone where the address may be none."""
    label = escape(text.strip() or url)
    if not (href := open_url(url)):
        return label
    return f'<a href="{escape(href)}" target="_blank" rel="{LINK_REL}">{label}</a>'


def _card_html(_: Any, tokens: Sequence[Token], index: int, *_options: Any) -> str:
    card: Card = tokens[index].meta[CARD]
    local = f" <small>{escape(card.local)}</small>" if card.local else ""
    facts = "".join(f"<span>{escape(fact)}</span>" for fact in card.facts)
    tag, to = ("a", f' href="#source-{card.cited}"') if card.cited else ("span", "")
    return (
        f"{photo_html(card)}"
        f'<{tag} class="number"{to}>{card.number}</{tag}>'
        f"<strong>{link_html(card.url, card.name)}</strong>{local}"
        f'<span class="facts">{facts}</span>'
        f"{ticks_html(card)}"
    )


def photo_html(card: Card) -> str:
    """Return a place's photo, loaded once it comes into view; its host is told nothing."""
    if not card.photo:
        return ""
    return (
        f'<img class="photo" src="{escape(card.photo)}" alt="{escape(card.name)}" width="96" '
        'height="72" loading="lazy" decoding="async" referrerpolicy="no-referrer">'
    )


def ticks_html(card: Card) -> str:
    """Return which wishes a place meets; the style draws the signs."""
    ticks = "".join(
        f'<span class="{escape(verdict)}">{escape(text)}</span>' for verdict, text in card.ticks
    )
    return f'<span class="demands">{ticks}</span>' if ticks else ""


def _mark_timetables(tokens: Sequence[Token]) -> None:
    """Mark tables of which each row begins with a time: on a phone they are a line of stops.

    The page does the same (`answer/render_markdown.js`).
    """
    table: Token | None = None
    for index, token in enumerate(tokens):
        if token.type == "table_open":
            table = token
            table.attrSet("class", "timetable")
        is_first = token.type == "td_open" and tokens[index - 1].type == "tr_open"
        if is_first and table and not _HOURS.fullmatch(tokens[index + 1].content.strip()):
            table.attrs.pop("class", None)


_HOURS = re.compile(r"\d?\d:\d\d(?:\s?[–~-]\s?\d?\d:\d\d)?")


def answer_parser() -> MarkdownIt:
    """Return a CommonMark parser with tables, without HTML and images.

    Refused links become text.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.validateLink = _is_allowed  # type: ignore[method-assign]
    return parser


def _is_allowed(url: str) -> bool:
    return bool(link_url(url))


def _mark_links(children: Sequence[Token], titles: Mapping[str, str]) -> None:
    for index, token in enumerate(children):
        if token.type != "link_open":
            continue
        following = children[index + 1]
        cited = following.content if following.type == "text" else ""
        if cited.isdigit():
            token.attrSet("class", "cite")
            if title := titles.get(cited):
                token.attrSet("title", title)
        if open_url(str(token.attrGet("href"))):
            token.attrSet("rel", LINK_REL)
            token.attrSet("target", "_blank")
        elif cited in titles:
            token.attrSet("href", f"#source-{cited}")
        else:
            end = next(other for other in children[index:] if other.type == "link_close")
            token.tag = end.tag = "span"
            del token.attrs["href"]


_ACTIVE = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_{}[]<>#|!"})


def markdown_document(answer: FinishedAnswer) -> str:
    """Return question, answer with its sources, and table of places."""
    text = without_title(without_notice(answer.answer, answer.notice), answer.question)
    if any(source.get("unresolved") for source in answer.sources):
        unresolved = say("export.unresolved", answer.language)
        listed = references(answer.sources, answer.language, unresolved=unresolved)
        text = f"{strip_references(text)}\n\n{listed}"
    parts = [
        f"# {escape_markdown(answer.question)}",
        subtitle(answer),
        without_dead_links(text),
    ]
    if line := statement_line(answer):
        parts.append(f"*{escape_markdown(line)}*")
    if answer.notice:
        parts.append(f"> {answer.notice}")
    if checked := checked_sentences(answer):
        parts.append(f"## {say('export.checked.title', answer.language)}")
        parts.append(
            "\n".join(f"- {escape_markdown(f'{one.text} — {one.verdict}')}" for one in checked)
        )
    if answer.places:
        parts.append(f"## {say('export.places', answer.language)}")
        parts.append(place_table(by_mention(answer.places), answer.language))
        parts.append(f"*{credit(answer.places, answer.language)}*")
    return "\n\n".join(part.strip() for part in parts) + "\n"


def place_table(places: Sequence[Place], language: Language) -> str:
    """Return a table in the pipe form; what a map wrote cannot break out of its cell."""
    columns = place_columns(places)
    titles = [_cell(column_title(key, places, language)) for key in columns]
    lines = [_row(["", *titles]), _row(["---"] * (1 + len(columns)))]
    for place in places:
        cells = [_cell(place_cell(key, place, places, language)) for key in columns]
        if url := open_url(place["url"]):
            cells[0] = f"[{cells[0]}]({url})"
        lines.append(_row([str(place.get("number") or ""), *cells]))
    return "\n".join(lines)


def cell_text(cell: SyntaxTreeNode) -> str:
    """Return the words of a table's cell."""
    tokens = [token for child in cell.children for token in child.to_tokens()]
    return "".join(part.content for token in tokens for part in token.children or [])


def escape_markdown(text: str) -> str:
    """Return one line in which no character is Markdown or HTML."""
    return " ".join(text.split()).translate(_ACTIVE)


def _cell(text: str) -> str:
    """Return a map's text without the addresses that Markdown readers would turn into links."""
    return escape_markdown(without_urls(text))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
