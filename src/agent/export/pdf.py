"""Export a finished answer as a PDF (the extra `tanlu[pdf]`): text, links, tables, sources.

reportlab reads a paragraph as markup of its own, in which an image or a colour can do things;
therefore all text is escaped here, and only the tags written here exist.
"""

import io
import re
from collections.abc import Collection, Sequence
from itertools import chain, repeat
from typing import Any
from urllib.parse import unquote

from markdown_it.tree import SyntaxTreeNode
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.units import mm
from reportlab.platypus import (
    CondPageBreak,
    KeepTogether,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
)

from agent.core.errors import AgentError
from agent.core.processor import breathe
from agent.core.strings import one_line
from agent.evidence.markdown import open_url
from agent.evidence.outing.text import day_title, outing_section
from agent.evidence.references import day_of, line_letter, site_of
from agent.evidence.types import Source
from agent.export.finished import (
    FinishedAnswer,
    by_mention,
    checked_sentences,
    column_widths,
    credit,
    credit_left,
    file_title,
    numbered_sources,
    statement_line,
    subtitle,
)
from agent.export.markdown import answer_parser, cell_text, file_text, is_note, place_table
from agent.export.outing import STOPS, PhoneCode, mark_stops, outing_of, stop_pins
from agent.export.pdf_map import code_drawing, map_drawing
from agent.export.pdf_text import (
    CHINESE,
    LATIN,
    LONGEST,
    UNPRINTABLE,
    MixedParagraph,
    bounded_parts,
    encodes,
    inline_markup,
    link_markup,
    paragraph_style,
    printable_text,
    printed_width,
    register_fonts,
    source_anchor,
    text_markup,
)
from agent.export.place_cards import CARD, Card, PlaceCards
from agent.export.svg_map import drawn_pins, drawn_ways, planned_stops
from agent.texts import Language, say

_MARKER = re.compile(r" \[\^[^\]]+\]")
_QR = 35 * mm
_MARGIN, _PADDING = 20 * mm, 6
"""The library keeps a padding between a page's margin and its text."""
_WIDTH = A4[0] - 2 * (_MARGIN + _PADDING)
_INDENT = 14.0
_DEEPEST = 6
_MOST_COLUMNS, _MOST_ROWS = 8, 200
_SIZES = {1: 17.0, 2: 14.0, 3: 12.0}
_BODY, _SMALL = 10.5, 8.5
_FOLLOWING = 54
"""Points that must be free below a heading for what follows it."""
_SAMPLE, _MOST_BOXES = 5_000, 0.2
_GREY, _LINE = "#5f6368", "#c8ccd0"


def pdf_document(answer: FinishedAnswer) -> bytes:
    """Return the whole file; what no font has is printed as a box.

    Raises AgentError (`no_letters`) for an answer in a script of which no font is brought along:
    a page of boxes would be taken for a fault of whoever prints it.
    """
    letters = "".join(filter(str.isalpha, answer.answer[:_SAMPLE]))
    if printable_text(letters).count(UNPRINTABLE) > _MOST_BOXES * len(letters):
        raise AgentError(say("export.no_letters", answer.language), code="no_letters")
    register_fonts()
    page = _Page(answer.language, {str(number) for number, _ in numbered_sources(answer)})
    title = printable_text(file_title(answer))
    cards = PlaceCards(answer)
    parts = [
        *page.lines(title, size=_SIZES[1], after=4, bold=True),
        *page.lines(subtitle(answer), size=_SMALL, colour=_GREY),
        *page.markdown(file_text(answer), answer, cards),
        *page.lines(statement_line(answer), size=_SMALL, colour=_GREY),
        *page.lines(answer.notice, size=_SMALL, colour=_GREY),
        *_checked(answer, page),
        *_places(answer, page, cards.instead),
        *_sources(answer, page),
    ]
    return _built(parts, title, answer.language)


def _built(parts: list[Any], title: str, language: Language) -> bytes:
    buffer = io.BytesIO()
    document = SimpleDocTemplate(
        buffer, pagesize=A4, leftMargin=_MARGIN, rightMargin=_MARGIN, topMargin=_MARGIN,
        bottomMargin=_MARGIN, title=title, author="Tanlu", creator="Tanlu",
    )  # fmt: skip
    footer = _footer(say("export.made_by", language))
    document.build(parts, onFirstPage=footer, onLaterPages=footer)
    return buffer.getvalue()


def pocket_document(answer: FinishedAnswer) -> bytes:
    """Return the planned day on one page: its map, the timetable, a code for the phone.

    Raises AgentError (`no_outing`) where the answer has none.
    """
    outing = outing_of(answer)
    register_fonts()
    page = _Page(answer.language)
    title = day_title(outing, answer.language)
    section = outing_section(outing, answer.language).partition("\n\n")[2]
    parts = [
        *page.lines(title, size=_SIZES[1], after=6, bold=True),
        *page.lines(answer.notice, size=_SMALL, colour=_GREY),
        map_drawing(
            pins := stop_pins(answer), width=_WIDTH, path=len(pins), ways=drawn_ways(answer)
        ),
        Spacer(1, 6),
        *page.markdown(_MARKER.sub("", section), answer),
        *page.lines(credit(answer.places, answer.language), size=_SMALL, colour=_GREY),
    ]
    return _built(parts, title, answer.language)


def _footer(made_by: str) -> Any:
    def draw(canvas: Any, _document: Any) -> None:
        canvas.setFont(LATIN if encodes(made_by, "cp1252") else CHINESE, _SMALL)
        canvas.setFillColor(HexColor(_GREY))
        canvas.drawString(_MARGIN + _PADDING, _MARGIN / 2, made_by)
        canvas.drawRightString(A4[0] - _MARGIN - _PADDING, _MARGIN / 2, str(canvas.getPageNumber()))

    return draw


def _places(answer: FinishedAnswer, page: "_Page", told: Collection[str]) -> list[Any]:
    """Return the map, and a table of the places that no card of the text tells."""
    pins, anchor = drawn_pins(answer)
    ways = drawn_ways(answer)
    if not (answer.places or ways):
        return []
    listed = [place for place in by_mention(answer.places) if place["id"] not in told]
    table = page.markdown(place_table(listed, answer.language)) if listed else []
    path = planned_stops(answer)
    drawn = (
        [map_drawing(pins, anchor, width=_WIDTH, path=path, ways=ways), Spacer(1, 6)]
        if pins or ways
        else []
    )
    parts = [*drawn, *table]
    title = say("export.places", answer.language)
    head = page.title(title, needs=drawn) if parts else []
    return [*head, *parts, *page.lines(credit_left(answer), size=_SMALL, colour=_GREY)]


def _checked(answer: FinishedAnswer, page: "_Page") -> list[Any]:
    """Return the sentences that a source corrects, with its words."""
    checked = checked_sentences(answer)
    head = page.title(say("export.checked.title", answer.language)) if checked else []
    cited = [f" [{one.cited}]" if one.cited else "" for one in checked]
    lines = [f"{one.text} — {one.verdict}{number}"
             for one, number in zip(checked, cited, strict=True)]  # fmt: skip
    return [*head, *(part for line in lines for part in page.lines(line, level=1, bullet="–"))]


def _sources(answer: FinishedAnswer, page: "_Page") -> list[Any]:
    """Return the numbered sources; the addresses of pages can be read on paper."""
    if not answer.sources:
        return []
    rows = [page.source(number, source) for number, source in numbered_sources(answer)]
    return [*page.title(say("export.sources", answer.language)), *rows]


class _Page:
    """Lay out the blocks of one document in its language."""

    def __init__(self, language: Language, sources: Collection[str] = ()) -> None:
        self._language: Language = language
        self._width = _WIDTH
        self._listed = sources

    def markdown(
        self, text: str, answer: FinishedAnswer | None = None, cards: PlaceCards | None = None
    ) -> list[Any]:
        """Return the blocks of Markdown; beside the stops of an answer's day stands its code."""
        tokens = answer_parser().parse(text)
        if answer:
            mark_stops(tokens, answer)
        tree = SyntaxTreeNode(cards.apply(tokens) if cards else tokens)
        return self._blocks(tree.children, 0)

    def heading(self, pieces: Sequence[str], depth: int, **options: Any) -> list[Any]:
        """Return a heading that stays with what follows it, of which `needs` stays whole."""
        size = _SIZES.get(depth, _BODY + 0.5)
        needs = sum(part.wrap(self._width, 0)[1] for part in options.pop("needs", ()))
        style = {"size": size, "before": size * 0.7, **options}
        paragraphs = [self._paragraph(markup, **style) for markup in pieces]
        return [CondPageBreak(size * 2.5 + (needs or _FOLLOWING)), *paragraphs]

    def title(self, text: str, **options: Any) -> list[Any]:
        """Return the heading of a part that is beside the answer."""
        bold = text_markup(text, self._language, latin=f"{LATIN}-Bold")
        return self.heading([bold], 2, **options)

    def card(self, card: Card, level: int) -> Any:
        """Return a place's card: its name, then what is known of it, in small print."""
        bold = text_markup(card.name, self._language, latin=f"{LATIN}-Bold")
        name = link_markup(card.url, bold)
        if card.local:
            local = text_markup(card.local, self._language)
            name += f' <font size="{_SMALL}" color="{_GREY}">{local}</font>'
        facts = filter(None, [*card.facts, one_line(card.address)])
        lines = [" · ".join(facts), " · ".join(card.demands)]
        bullet = f"{card.number}."
        return KeepTogether([
            self._paragraph(name, level=level, bullet=bullet, before=4, after=0),
            *(self._paragraph(text_markup(line[:LONGEST], self._language), size=_SMALL + 0.5,
                              colour=_GREY, level=level, after=2) for line in lines if line),
        ])  # fmt: skip

    def lines(self, text: str, *, bold: bool = False, **style: Any) -> list[Any]:
        """Return plain text as paragraphs; none for none."""
        latin = f"{LATIN}-Bold" if bold else LATIN
        return [
            self._paragraph(text_markup(part, self._language, latin=latin), **style)
            for part in bounded_parts(text)
            if part
        ]

    def source(self, number: int, source: Source) -> Any:
        url = source["url"]
        title = text_markup(one_line(source["title"]) or one_line(url), self._language)
        markup = f'<a name="{source_anchor(number)}"/>{link_markup(url, title)}'
        address = ""
        if open_url(url):
            address = one_line(unquote(url)) if source["kind"] != "place" else site_of(source)
            if source.get("unresolved"):
                address = say("export.unresolved", self._language)
        if about := " · ".join(filter(None, [day_of(source), address])):
            behind = "<br/>" if source["kind"] != "place" else " "
            about = text_markup(about, self._language)
            markup += f'{behind}<font size="{_SMALL - 1}" color="{_GREY}">{about}</font>'
        for at, line in enumerate(source.get("sums", ())):
            place = f'<a name="{source_anchor(f"{number}{line_letter(at)}")}"/>'
            markup += f"<br/>{place}{text_markup(one_line(line), self._language)}"
        return self._paragraph(markup, size=_SMALL + 0.5, level=1, bullet=f"{number}.")

    def _blocks(self, nodes: Sequence[SyntaxTreeNode], level: int) -> list[Any]:
        return [part for node in nodes for part in self._block(node, level)]

    def _block(self, node: SyntaxTreeNode, level: int) -> list[Any]:
        breathe()
        match node.type:
            case "heading":
                pieces = self._inline(node, bold=True)
                return self.heading(pieces, int(node.tag[1]), level=level)
            case "paragraph":
                look: dict[str, Any] = {"size": _SMALL, "colour": _GREY} if is_note(node) else {}
                return [self._paragraph(each, level=level, **look) for each in self._inline(node)]
            case "bullet_list" | "ordered_list":
                return [*self._list(node, level + 1), *([] if level else [Spacer(1, 4)])]
            case "blockquote":
                return self._blocks(node.children, level + 1)
            case "table":
                code: PhoneCode | None = node.meta.get(STOPS)
                return self._beside_code(node, code) if code else self._table(node, self._width)
            case "fence" | "code_block":
                lines = node.content.rstrip().splitlines()
                style: dict[str, Any] = {"size": _SMALL, "level": level + 1, "after": 0}
                return [part for line in lines for part in self.lines(line or " ", **style)]
            case "hr":
                return [Spacer(1, _BODY)]
            case "place_card":
                return [self.card(node.meta[CARD], level)]
        return self.lines(node.content, level=level)

    def _list(self, node: SyntaxTreeNode, level: int) -> list[Any]:
        first = int(str(node.attrs.get("start", 1))) if node.type == "ordered_list" else None
        parts: list[Any] = []
        for number, item in enumerate(node.children):
            bullet = "–" if first is None else f"{first + number}."
            for place, child in enumerate(item.children):
                # What a card's bullet says besides may be nothing.
                if child.type == "paragraph" and place and not child.children[0].children:
                    continue
                if child.type == "paragraph":
                    marks = chain([bullet if place == 0 else ""], repeat(""))
                    for markup, mark in zip(self._inline(child), marks, strict=False):
                        parts.append(self._paragraph(markup, level=level, bullet=mark, after=2))
                else:
                    parts += self._block(child, level)
        return parts

    def _beside_code(self, node: SyntaxTreeNode, code: PhoneCode) -> list[Any]:
        """Return the stops, and beside them the code that opens them on a phone."""
        width = self._width - _QR - 2 * _PADDING
        caption = self.lines(code.caption, size=_SMALL, colour=_GREY)
        cells = [self._table(node, width), [code_drawing(code.url, _QR), *caption]]
        table = Table([cells], colWidths=[width + 2 * _PADDING, _QR], splitInRow=1)
        table.setStyle(TableStyle([
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
            ("LEFTPADDING", (0, 0), (-1, -1), 0), ("RIGHTPADDING", (0, 0), (-1, -1), 0),
            ("TOPPADDING", (0, 0), (-1, -1), 0),
        ]))  # fmt: skip
        return [table, Spacer(1, 4)]

    def _table(self, node: SyntaxTreeNode, width: float) -> list[Any]:
        rows = [row for part in node.children for row in part.children]
        cells = [[self._inline(cell, bold=row is rows[0]) for cell in row.children] for row in rows]
        if len(cells[0]) > _MOST_COLUMNS or any(len(cell) > 1 for row in cells for cell in row):
            return [part for row in cells for part in self._as_text(row)]
        head, rest = cells[0], cells[1:]
        # The library measures all rows anew for each page that a table goes over.
        parts = [rest[at : at + _MOST_ROWS] for at in range(0, len(rest), _MOST_ROWS)] or [[]]
        texts = [[cell_text(cell) for cell in row.children] for row in rows]
        widths = column_widths(texts, width, self._width_of, 2 * _PADDING)
        return [self._grid([head, *part], widths, is_last=part is parts[-1]) for part in parts]

    def _width_of(self, text: str) -> float:
        """Return a cell's width in points, as wide as the head's bold letters are."""
        return printed_width(text, self._language, latin=f"{LATIN}-Bold", size=_SMALL)

    def _as_text(self, row: Sequence[Sequence[str]]) -> list[Any]:
        """Return a row that no table has room for as text."""
        pieces = [piece for cell in row for piece in cell]
        joined = " | ".join(pieces)
        return [self._paragraph(each) for each in (pieces if len(joined) > LONGEST else [joined])]

    def _grid(
        self, rows: Sequence[Sequence[Sequence[str]]], widths: Sequence[float], *, is_last: bool
    ) -> Table:
        breathe()
        style: dict[str, Any] = {"size": _SMALL, "after": 0, "is_cell": True}
        body = [[self._paragraph(cell[0], **style) for cell in row] for row in rows]
        table = Table(
            body, colWidths=widths, repeatRows=1, splitInRow=1,
            spaceBefore=4, spaceAfter=8 if is_last else 0,
        )  # fmt: skip
        table.setStyle(TableStyle([
            ("GRID", (0, 0), (-1, -1), 0.5, HexColor(_LINE)),
            ("BACKGROUND", (0, 0), (-1, 0), HexColor("#f1f3f4")),
            ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ]))  # fmt: skip
        return table

    def _inline(self, node: SyntaxTreeNode, *, bold: bool = False) -> list[str]:
        tokens = [token for child in node.children for token in child.to_tokens()]
        parts = [part for token in tokens for part in token.children or []]
        return inline_markup(parts, self._language, bold=bold, listed=self._listed)

    def _paragraph(
        self, markup: str, *, size: float = _BODY, colour: str = "#202124", level: int = 0,
        bullet: str = "", before: float = 0, after: float = 6, is_cell: bool = False,
    ) -> Any:  # fmt: skip
        """Return a paragraph; `level` counts indents, `size`, `before` and `after` are points.

        In a cell names and addresses of the place stand, whose lines end between Han characters.
        """
        left = _INDENT * min(level, _DEEPEST)
        style = paragraph_style(
            self._language, size=size, leftIndent=left, bulletIndent=max(0, left - _INDENT),
            textColor=HexColor(colour), spaceBefore=before, spaceAfter=after,
            **({"wordWrap": "CJK"} if is_cell else {}),
        )  # fmt: skip
        return MixedParagraph(markup, style, bulletText=bullet or None)
