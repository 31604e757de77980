"""Export a finished answer as a PDF (the extra `tanlu[pdf]`): text, links, tables, sources.

reportlab reads a paragraph as markup of its own, in which an image or a colour can do things;
therefore all text is escaped here, and only the tags written here exist.
"""

import copy
import io
import re
from collections.abc import Collection, Iterator, Sequence
from html import escape
from itertools import chain, groupby, repeat
from typing import Any
from urllib.parse import unquote

import segno
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode
from reportlab.graphics.shapes import Circle, Drawing, Line, PolyLine, Rect, String
from reportlab.lib import textsplit
from reportlab.lib.colors import HexColor
from reportlab.lib.pagesizes import A4
from reportlab.lib.styles import ParagraphStyle
from reportlab.lib.units import mm
from reportlab.pdfbase.cidfonts import CIDFontInfo, UnicodeCIDFont, structToPDF
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily
from reportlab.platypus import (
    CondPageBreak,
    KeepTogether,
    Paragraph,
    SimpleDocTemplate,
    Spacer,
    Table,
    TableStyle,
    paragraph,
)

from agent.core.errors import AgentError
from agent.core.processor import breathe
from agent.core.strings import one_line
from agent.evidence.markdown import open_url
from agent.evidence.outing.text import day_title, outing_section
from agent.evidence.references import strip_references
from agent.evidence.types import Outing, Source
from agent.export.finished import (
    FinishedAnswer,
    by_mention,
    column_widths,
    credit,
    numbered_sources,
    statement_line,
    subtitle,
    without_notice,
    without_title,
)
from agent.export.markdown import answer_parser, cell_text, place_table
from agent.export.outing import outing_of, phone_caption, stop_pins
from agent.export.place_cards import CARD, Card, PlaceCards
from agent.export.svg_map import (
    HEIGHT,
    WIDTH,
    Box,
    Frame,
    Label,
    Pin,
    drawn_pins,
    frame_of,
    grid_lines,
    place_labels,
    scale_bar,
    spread,
    stops_of,
)
from agent.texts import Language, say

LATIN, CHINESE, KOREAN, FIXED = "Helvetica", "STSong-Light", "HYSMyeongJo-Medium", "Courier"
LINK_COLOUR = "#0b57d0"
_WIDE = ("zh", "zh-Hant", "ja")
"""Languages without blanks between words, whose quotation marks and dashes are wide."""
_LATIN_END = 0x250
_UNPRINTABLE = "□"
_STYLES = {"strong": "Bold", "em": "Oblique"}


class _Bold(UnicodeCIDFont):  # type: ignore[misc]
    """Name the bold form of a font that the PDF reader brings; one without it thickens its own."""

    def __init__(self, face: str) -> None:
        super().__init__(face)
        self.name = self.fontName = f"{face}-Bold"

    def addObjects(self, doc: Any) -> None:  # noqa: N802
        name, internal = f"/{self.face.name},Bold", f"F{len(doc.fontMapping) + 1}"
        about = copy.deepcopy(CIDFontInfo[self.face.name])
        about |= {"Name": f"/{internal}", "Encoding": f"/{self.encodingName}", "BaseFont": name}
        for font in about["DescendantFonts"]:
            font["BaseFont"] = font["FontDescriptor"]["FontName"] = name
            font["FontDescriptor"]["Flags"] |= _FORCE_BOLD
        reference = doc.Reference(structToPDF(about), internal)
        doc.idToObject["BasicFonts"].dict[internal] = reference
        doc.fontMapping[self.name] = f"/{internal}"


_FORCE_BOLD = 1 << 18


# Signs that begin no line; the library's lists lack the wide ones.
textsplit.ALL_CANNOT_START += "，；：！？）》’”—…·"
paragraph.ALL_CANNOT_START = textsplit.ALL_CANNOT_START


def register_fonts() -> None:
    """Register the fonts of Han and Hangul that every PDF reader brings."""
    for font in (CHINESE, KOREAN):
        registerFont(UnicodeCIDFont(font))
        registerFont(_Bold(font))
        same = dict.fromkeys(("normal", "bold", "italic", "boldItalic"), font)
        registerFontFamily(font, **same)


def inline_markup(tokens: Sequence[Token], language: Language, *, bold: bool = False) -> list[str]:
    """Return the children of an inline token as the markup of paragraphs; a citation is raised.

    A text of many pages is several: the library lays the rest out anew for each page.
    """
    pieces, length = [list[str]()], 0
    links = list[tuple[str, str]]()
    styles = ["Bold"] if bold else []
    for place, token in enumerate(tokens):
        kind, _, edge = token.type.rpartition("_")
        if token.type == "link_open":
            links.append(_link(str(token.attrGet("href") or ""), tokens[place + 1 :]))
            pieces[-1].append(links[-1][0])
        elif token.type == "link_close":
            pieces[-1].append(links.pop()[1])
        elif kind == "em" and language in _WIDE:
            continue  # Han characters have no italics, and figures alone would slant.
        elif kind in _STYLES:
            (styles.append if edge == "open" else styles.remove)(_STYLES[kind])
        elif token.type in ("softbreak", "hardbreak"):
            pieces[-1].append("<br/>" if token.type == "hardbreak" else " ")
        else:
            latin = _variant(FIXED if token.type == "code_inline" else LATIN, styles)
            for part in _parts(token.content):
                if length and length + len(part) > _LONGEST:
                    pieces[-1] += [closed for _, closed in links]
                    pieces.append([opened for opened, _ in links])
                    length = 0
                pieces[-1].append(text_markup(part, language, latin=latin))
                length += len(part)
    return ["".join(piece) for piece in pieces]


_LONGEST = 2000
"""Characters of a paragraph."""
_ENDS = re.compile(r"[。！？!?.;；](?=\s|[^\x00-\x7f])|\s")


def _parts(text: str) -> Iterator[str]:
    """Yield a text in parts of bounded length, cut behind a sentence, else a word, where it can."""
    begin = 0
    while len(text) - begin > _LONGEST:
        ends = [match.end() for match in _ENDS.finditer(text, begin, begin + _LONGEST)]
        end = ends[-1] if ends else begin + _LONGEST
        yield text[begin:end]
        begin = end
    yield text[begin:]


def _variant(font: str, styles: Sequence[str]) -> str:
    """Return the font's name in these styles: `Helvetica-BoldOblique`."""
    suffix = "".join(sorted(set(styles)))
    return f"{font}-{suffix}" if suffix else font


def text_markup(text: str, language: Language, *, latin: str = LATIN) -> str:
    """Return escaped text, each run in a font that has its characters."""
    text = printable_text(text)
    spans = {match.start() for match in _SPAN.finditer(text)}
    runs = groupby(
        range(len(text)), lambda at: latin if at in spans else _font(text[at], language, latin)
    )
    return "".join(
        f'<font name="{font}">{escape("".join(text[at] for at in places), quote=False)}</font>'
        for font, places in runs
    )


_SPAN = re.compile(r"(?<=\d)–(?=\d)")
"""From one figure to another one: narrow in every language."""


def link_markup(url: str, markup: str) -> str:
    """Return the markup as a link if the address may be one."""
    if not (href := open_url(url)):
        return markup
    return f'<a href="{escape(href)}" color="{LINK_COLOUR}">{markup}</a>'


def _link(url: str, following: Sequence[Token]) -> tuple[str, str]:
    """Return the opening and the end of a link; a citation is raised and in brackets."""
    href = open_url(url)
    opened = f'<a href="{escape(href)}" color="{LINK_COLOUR}">' if href else ""
    closed = "</a>" if href else ""
    cites = bool(following) and following[0].content.isdigit()
    if not cites:
        return opened, closed
    return f'<super rise="{_RISE}" size="{_CITED}">{opened}[', f"]{closed}</super>"


def printable_text(text: str) -> str:
    """Return the text in characters that one of our fonts has."""
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    """Return the character, a space for what is unseen, a box for what neither font has."""
    if character.isspace() or not character.isprintable():
        return " "
    if any(_encodes(character, encoding) for encoding in ("cp1252", "gbk", "cp949")):
        return character
    return _UNPRINTABLE


def _font(character: str, language: Language, latin: str) -> str:
    """Return the font of a character; quotation marks and dashes are wide in Chinese only."""
    narrow = language not in _WIDE or ord(character) < _LATIN_END
    if narrow and _encodes(character, "cp1252"):
        return latin
    font = CHINESE if character == _UNPRINTABLE or _encodes(character, "gbk") else KOREAN
    return f"{font}-Bold" if "Bold" in latin else font


def _encodes(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True


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
_CITED, _RISE = 7.5, 3
"""Points of a citation's number, in tables too, and how far it is raised."""
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
    if printable_text(letters).count(_UNPRINTABLE) > _MOST_BOXES * len(letters):
        raise AgentError(say("export.no_letters", answer.language), code="no_letters")
    register_fonts()
    page = _Page(answer.language)
    title = printable_text(" ".join(answer.question.split()))
    text = without_title(without_notice(answer.answer, answer.notice), answer.question)
    cards = PlaceCards(answer)
    parts = [
        *page.lines(title, size=_SIZES[1], after=4, bold=True),
        *page.lines(subtitle(answer), size=_SMALL, colour=_GREY),
        *page.markdown(strip_references(text) if answer.sources else text, cards),
        *page.lines(statement_line(answer), size=_SMALL, colour=_GREY),
        *page.lines(answer.notice, size=_SMALL, colour=_GREY),
        *_places(answer, page, cards.shown),
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
        map_drawing(pins := stop_pins(answer), path=len(pins)),
        Spacer(1, 6),
        *_beside_code(_MARKER.sub("", section), outing, answer.language),
        *page.lines(credit(answer.places, answer.language), size=_SMALL, colour=_GREY),
    ]
    return _built(parts, title, answer.language)


def _beside_code(section: str, outing: Outing, language: Language) -> list[Any]:
    """Return the stops, and beside them the code that opens them on a phone."""
    if not outing["url"]:
        return _Page(language).markdown(section)
    width = _WIDTH - _QR - 2 * _PADDING
    caption = _Page(language).lines(phone_caption(outing, language), size=_SMALL, colour=_GREY)
    cells = [_Page(language, width).markdown(section), [_code_drawing(outing["url"]), *caption]]
    table = Table([cells], colWidths=[width + 2 * _PADDING, _QR], splitInRow=1)
    table.setStyle(TableStyle([
        ("VALIGN", (0, 0), (-1, -1), "TOP"),
        ("LEFTPADDING", (0, 0), (-1, -1), 0), ("RIGHTPADDING", (0, 0), (-1, -1), 0),
        ("TOPPADDING", (0, 0), (-1, -1), 0),
    ]))  # fmt: skip
    return [table]


def map_drawing(pins: Sequence[Pin], anchor: Pin | None = None, *, path: int = 0) -> Drawing:
    """Return numbered points in the projection of the other maps, the first `path` joined."""
    scale = _WIDTH / WIDTH
    drawing = Drawing(_WIDTH, HEIGHT * scale)
    ground = HexColor("#eef1ec")
    drawing.add(Rect(0, 0, _WIDTH, HEIGHT * scale, fillColor=ground, strokeColor=ground))
    if not pins:
        return drawing
    frame = frame_of([*pins, *([anchor] if anchor else [])])
    _add_grid(drawing, frame, scale)
    spots = spread([frame.project(pin.lng, pin.lat) for pin in pins])
    green, faint, white = HexColor("#14746a"), HexColor("#8a9a96"), HexColor("#ffffff")
    if path > 1:
        line = [part for x, y in spots[:path] for part in (x * scale, (HEIGHT - y) * scale)]
        drawing.add(PolyLine(line, strokeColor=green, strokeWidth=1.5, strokeDashArray=[4, 3]))
    text = {"fontName": f"{LATIN}-Bold", "fontSize": 9, "textAnchor": "middle", "fillColor": white}
    boxes = [Box(x - 12, y - 12, x + 12, y + 12) for x, y in spots]
    if anchor:
        x, y = frame.project(anchor.lng, anchor.lat)
        boxes.append(Box(x - 9, y - 9, x + 9, y + 9))
        red = HexColor("#d2553c")
        for radius, fill in ((6, None), (2, red)):
            spot = Circle(x * scale, (HEIGHT - y) * scale, radius, fillColor=fill, strokeColor=red)
            drawing.add(spot)
        for label in place_labels([(printable_text(anchor.name), (x, y + 14))], boxes):
            drawing.add(_label(label, scale))
    for pin, (x, y) in zip(pins, spots, strict=True):
        across, up = x * scale, (HEIGHT - y) * scale
        colour = green if pin.strong else faint
        drawing.add(Circle(across, up, 8, fillColor=colour, strokeColor=white))
        drawing.add(String(across, up - 3, str(pin.number), **text))
    # A label's place is that beside the head of a pin, whose tip is below it.
    names = [(printable_text(p.name), (x, y + 19)) for p, (x, y) in zip(pins, spots, strict=True)]
    for label in place_labels(names, boxes):
        drawing.add(_label(label, scale))
    return drawing


def _add_grid(drawing: Drawing, frame: Frame, scale: float) -> None:
    """Draw lines every nice number of metres, and a bar that says how many."""
    high, (across, down) = HEIGHT * scale, grid_lines(frame)
    lines = [(at * scale, 0.0, at * scale, high) for at in across]
    lines += [(0.0, at * scale, WIDTH * scale, at * scale) for at in down]
    for line in lines:
        drawing.add(Line(*line, strokeColor=HexColor("#dde3db"), strokeWidth=0.7))
    words, pixels = scale_bar(frame)
    ends = [14, 18, 14, 14, 14 + pixels * scale, 14, 14 + pixels * scale, 18]
    drawing.add(PolyLine(ends, strokeColor=HexColor(_GREY), strokeWidth=1))
    drawing.add(String(18, 18, words, fontName=LATIN, fontSize=8, fillColor=HexColor(_GREY)))


def _label(label: Label, scale: float) -> String:
    """Return a label in points, a little smaller than the room that was measured for it."""
    x, y = label.x * scale, (HEIGHT - label.y) * scale
    font = LATIN if _encodes(label.text, "cp1252") else CHINESE
    return String(x, y, label.text, fontName=font, fontSize=13 * scale, textAnchor=label.align)


def _code_drawing(url: str) -> Drawing:
    """Return the QR code of an address, 35 mm wide."""
    rows = [list(row) for row in segno.make(url, error="l", micro=False).matrix_iter(border=2)]
    drawing, module = Drawing(_QR, _QR), _QR / len(rows)
    for top, row in enumerate(rows):
        for left, dark in enumerate(row):
            if dark:
                y = _QR - (top + 1) * module
                drawing.add(Rect(left * module, y, module, module, strokeWidth=0))
    return drawing


def _footer(made_by: str) -> Any:
    def draw(canvas: Any, _document: Any) -> None:
        canvas.setFont(LATIN if _encodes(made_by, "cp1252") else CHINESE, _SMALL)
        canvas.setFillColor(HexColor(_GREY))
        canvas.drawString(_MARGIN + _PADDING, _MARGIN / 2, made_by)
        canvas.drawRightString(A4[0] - _MARGIN - _PADDING, _MARGIN / 2, str(canvas.getPageNumber()))

    return draw


def _places(answer: FinishedAnswer, page: "_Page", told: Collection[str]) -> list[Any]:
    """Return the map, and a table of the places that no card of the text tells."""
    if not answer.places:
        return []
    listed = [place for place in by_mention(answer.places) if place["id"] not in told]
    table = page.markdown(place_table(listed, answer.language)) if listed else []
    pins, anchor = drawn_pins(answer)
    drawn = [map_drawing(pins, anchor, path=stops_of(answer))] if pins else []
    return [
        *page.heading([text_markup(say("export.places", answer.language), answer.language,
                                   latin=f"{LATIN}-Bold")], 2, needs=drawn),
        *drawn, Spacer(1, 6), *table,
        *page.lines(credit(answer.places, answer.language), size=_SMALL, colour=_GREY),
    ]  # fmt: skip


def _sources(answer: FinishedAnswer, page: "_Page") -> list[Any]:
    """Return the numbered sources; their addresses can be read on paper."""
    if not answer.sources:
        return []
    title = say("export.sources", answer.language)
    heading = page.heading([text_markup(title, answer.language, latin=f"{LATIN}-Bold")], 2)
    rows = [page.source(number, source) for number, source in numbered_sources(answer)]
    return [*heading, *rows]


class _Page:
    """Lay out the blocks of one document in its language."""

    def __init__(self, language: Language, width: float = _WIDTH) -> None:
        self._language: Language = language
        self._width = width

    def markdown(self, text: str, cards: PlaceCards | None = None) -> list[Any]:
        """Return the blocks of the answer's Markdown."""
        tokens = answer_parser().parse(text)
        tree = SyntaxTreeNode(cards.apply(tokens) if cards else tokens)
        return self._blocks(tree.children, 0)

    def heading(self, pieces: Sequence[str], depth: int, **options: Any) -> list[Any]:
        """Return a heading that stays with what follows it, of which `needs` stays whole."""
        size = _SIZES.get(depth, _BODY + 0.5)
        needs = sum(part.wrap(self._width, 0)[1] for part in options.pop("needs", ()))
        style = {"size": size, "before": size * 0.7, **options}
        paragraphs = [self._paragraph(markup, **style) for markup in pieces]
        return [CondPageBreak(size * 2.5 + (needs or _FOLLOWING)), *paragraphs]

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
            *(self._paragraph(text_markup(line[:_LONGEST], self._language), size=_SMALL + 0.5,
                              colour=_GREY, level=level, after=2) for line in lines if line),
        ])  # fmt: skip

    def lines(self, text: str, *, bold: bool = False, **style: Any) -> list[Any]:
        """Return plain text as paragraphs; none for none."""
        latin = f"{LATIN}-Bold" if bold else LATIN
        return [
            self._paragraph(text_markup(part, self._language, latin=latin), **style)
            for part in _parts(text)
            if part
        ]

    def source(self, number: int, source: Source) -> Any:
        url = source["url"]
        title = text_markup(one_line(source["title"]) or one_line(url), self._language)
        markup = link_markup(url, title)
        if open_url(url):
            unresolved = say("export.unresolved", self._language)
            address = unresolved if source.get("unresolved") else one_line(unquote(url))
            address = text_markup(address, self._language)
            markup += f'<br/><font size="{_SMALL - 1}" color="{_GREY}">{address}</font>'
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
                return [self._paragraph(markup, level=level) for markup in self._inline(node)]
            case "bullet_list" | "ordered_list":
                return self._list(node, level + 1)
            case "blockquote":
                return self._blocks(node.children, level + 1)
            case "table":
                return self._table(node)
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

    def _table(self, node: SyntaxTreeNode) -> list[Any]:
        rows = [row for part in node.children for row in part.children]
        cells = [[self._inline(cell, bold=row is rows[0]) for cell in row.children] for row in rows]
        if len(cells[0]) > _MOST_COLUMNS or any(len(cell) > 1 for row in cells for cell in row):
            return [part for row in cells for part in self._as_text(row)]
        head, rest = cells[0], cells[1:]
        # The library measures all rows anew for each page that a table goes over.
        parts = [rest[at : at + _MOST_ROWS] for at in range(0, len(rest), _MOST_ROWS)] or [[]]
        texts = [[cell_text(cell) for cell in row.children] for row in rows]
        widths = column_widths(texts, self._width, wide=_SMALL, padding=2 * _PADDING)
        return [self._grid([head, *part], widths, is_last=part is parts[-1]) for part in parts]

    def _as_text(self, row: Sequence[Sequence[str]]) -> list[Any]:
        """Return a row that no table has room for as text."""
        pieces = [piece for cell in row for piece in cell]
        joined = " | ".join(pieces)
        return [self._paragraph(each) for each in (pieces if len(joined) > _LONGEST else [joined])]

    def _grid(
        self, rows: Sequence[Sequence[Sequence[str]]], widths: Sequence[float], *, is_last: bool
    ) -> Table:
        breathe()
        body = [[self._paragraph(cell[0], size=_SMALL, after=0) for cell in row] for row in rows]
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
        return inline_markup(parts, self._language, bold=bold)

    def _paragraph(
        self, markup: str, *, size: float = _BODY, colour: str = "#202124", level: int = 0,
        bullet: str = "", before: float = 0, after: float = 6,
    ) -> Any:  # fmt: skip
        """Return a paragraph; `level` counts indents, `size`, `before` and `after` are points."""
        left = _INDENT * min(level, _DEEPEST)
        style = ParagraphStyle(
            "text", fontName=CHINESE if self._language in _WIDE else LATIN, fontSize=size,
            leading=size * 1.5, leftIndent=left, bulletIndent=max(0, left - _INDENT),
            bulletFontName=LATIN, bulletFontSize=size, textColor=HexColor(colour),
            spaceBefore=before, spaceAfter=after,
            wordWrap="CJK" if self._language in _WIDE else None,
        )  # fmt: skip
        return Paragraph(markup, style, bulletText=bullet or None)
