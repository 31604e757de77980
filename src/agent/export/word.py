"""Export a finished answer as a document of Word: text, links, tables, sources."""

import contextlib
import datetime
import io
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import unquote

import docx
import segno
from docx.enum.style import WD_STYLE_TYPE
from docx.opc.constants import RELATIONSHIP_TYPE
from docx.opc.packuri import PackURI
from docx.opc.part import Part
from docx.oxml import OxmlElement, parse_xml
from docx.oxml.ns import qn
from docx.shared import Mm, Pt, RGBColor
from docx.table import Table
from docx.text.paragraph import Paragraph
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from agent.core.processor import breathe
from agent.core.strings import is_wide, one_line, valid_text
from agent.evidence.markdown import open_url
from agent.evidence.references import CITATION, day_of, site_of
from agent.evidence.types import Place, Source
from agent.export.finished import (
    WIDE,
    FinishedAnswer,
    by_mention,
    checked_sentences,
    column_title,
    column_widths,
    credit_left,
    file_title,
    numbered_sources,
    place_cell,
    place_columns,
    statement_line,
    subtitle,
)
from agent.export.markdown import answer_parser, cell_text, file_text, is_note
from agent.export.outing import STOPS, PhoneCode, mark_stops
from agent.export.place_cards import CARD, Card, PlaceCards
from agent.export.svg_map import DrawnWay, Pin, drawn_pins, drawn_ways, planned_stops
from agent.export.word_map import png_file, svg_file
from agent.texts import Language, say

_FONTS: Mapping[str, tuple[str, str]] = {
    "zh": ("Microsoft YaHei", "zh-CN"),
    "zh-Hant": ("Microsoft JhengHei", "zh-TW"),
    "ja": ("Yu Gothic", "ja-JP"),
    "ko": ("Malgun Gothic", "ko-KR"),
}
"""Of East Asian characters, whose forms differ; a system without the font takes its own."""
_SMALL = Pt(9)
_A4, _MARGIN = (Mm(210), Mm(297)), Mm(25)
_MAP_WIDTH = _TEXT_WIDTH = Mm(160)
_BODY, _CELL_PADDING = 11, 12
"""Points of the text, and of what is left and right of it in a cell."""
_NARROW = 0.61
"""A letter's share of a wide character's width."""
_SHORT_TABLE = 12
"""Rows of a table that stays on one page."""
_SVG = (
    '<a:extLst xmlns:a="http://schemas.openxmlformats.org/drawingml/2006/main">'
    '<a:ext uri="{{96DAC541-7B7A-43D3-8B79-37D633B846F1}}"><asvg:svgBlip '
    'xmlns:asvg="http://schemas.microsoft.com/office/drawing/2016/SVG/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'r:embed="{}"/></a:ext></a:extLst>'
)
_DEEPEST = 3
_QR = Mm(35)


def word_document(answer: FinishedAnswer) -> bytes:
    """Return the whole file. Word lays it out, with fonts that have the letters of all scripts."""
    writer = _Writer(answer)
    language = answer.language
    writer.line(file_title(answer), style="Title")
    writer.line(subtitle(answer), style="Caption")
    writer.markdown(file_text(answer))
    writer.line(statement_line(answer), style="Caption")
    writer.line(answer.notice, style="Caption")
    if checked := checked_sentences(answer):
        writer.line(say("export.checked.title", language), style="Heading 1")
        for one in checked:
            cited = f" [{one.cited}]" if one.cited else ""
            writer.line(f"{one.text} — {one.verdict}{cited}", style="List Bullet")
    writer.places()
    if answer.sources:
        writer.line(say("export.sources", language), style="Heading 1")
        for index, (number, source) in enumerate(numbered_sources(answer), start=1):
            writer.source(index, number, source)
    return writer.saved()


class _Writer:
    """Put the blocks of one answer into a document."""

    def __init__(self, answer: FinishedAnswer) -> None:
        self._answer = answer
        self._language: Language = answer.language
        self._document = docx.Document()
        self._cards = PlaceCards(answer)
        self._numbers = {str(number) for number, _ in numbered_sources(answer)}
        _set_fonts(self._document, answer)
        about = self._document.core_properties
        about.title, about.author = valid_text(file_title(answer))[:250], "Tanlu"
        about.comments = ""
        with contextlib.suppress(ValueError):
            about.created = about.modified = datetime.datetime.fromisoformat(answer.generated_at)
        section = self._document.sections[0]
        section.page_width, section.page_height = _A4
        section.left_margin = section.right_margin = _MARGIN
        footer = section.footer.paragraphs[0]
        footer.add_run(f"{say('export.made_by', self._language)} · ").font.size = _SMALL
        _add_page_number(footer)

    def saved(self) -> bytes:
        buffer = io.BytesIO()
        self._document.save(buffer)
        return buffer.getvalue()

    def line(self, text: str, *, style: str) -> None:
        """Add a paragraph of plain text; none for none."""
        if text:
            paragraph = self._document.add_paragraph(valid_text(text), style=style)
            _set_direction(paragraph)

    def markdown(self, text: str) -> None:
        """Add the blocks of the answer's Markdown."""
        tokens = answer_parser().parse(text)
        mark_stops(tokens, self._answer)
        tree = SyntaxTreeNode(self._cards.apply(tokens))
        for node in tree.children:
            self._block(node, 0)

    def places(self) -> None:
        """Add the map, and a table of the places that no card of the text tells."""
        told = self._cards.instead
        places = [place for place in by_mention(self._answer.places) if place["id"] not in told]
        pins, anchor = drawn_pins(self._answer)
        ways = drawn_ways(self._answer)
        if places or pins or ways:
            self.line(say("export.places", self._language), style="Heading 1")
        if pins or ways:
            self._map(pins, anchor, ways)
        if places:
            self._place_table(places)
        self.line(credit_left(self._answer), style="Caption")

    def _map(self, pins: Sequence[Pin], anchor: Pin | None, ways: Sequence[DrawnWay]) -> None:
        """Add the map as an SVG, with a PNG for a program that shows none."""
        paragraph, path = self._document.add_paragraph(), planned_stops(self._answer)
        png = io.BytesIO(png_file(pins, anchor, ways))
        picture: Any = paragraph.add_run().add_picture(png, width=_MAP_WIDTH)
        svg = svg_file(pins, self._language, anchor, path=path, ways=ways)
        package = paragraph.part.package
        part = Part(PackURI("/word/media/map.svg"), "image/svg+xml", svg, package)
        extension: Any = parse_xml(
            _SVG.format(paragraph.part.relate_to(part, RELATIONSHIP_TYPE.IMAGE))
        )
        picture._inline.graphic.graphicData.pic.blipFill.blip.append(extension)
        picture._inline.docPr.set("descr", say("export.map", self._language))

    def _place_table(self, places: Sequence[Place]) -> None:
        keys = place_columns(places)
        titles = ["", *(column_title(key, places, self._language) for key in keys)]
        rows = [titles] + [
            [str(place.get("number") or ""),
             *(place_cell(key, place, places, self._language) for key in keys)]
            for place in places
        ]  # fmt: skip
        for row, cells in enumerate(self._table_cells(rows)):
            for column, paragraph in enumerate(cells):
                url = open_url(places[row - 1]["url"]) if row and column == 1 else None
                self._add_text(paragraph, rows[row][column], url=url, bold=not row)
                _set_direction(paragraph)

    def source(self, index: int, number: int, source: Source) -> None:
        """Add a source under its number, with an address that can be read on paper."""
        url = open_url(source["url"])
        paragraph = self._document.add_paragraph(f"[{number}] ")
        _add_bookmark(paragraph, f"source-{number}", index)
        self._add_text(paragraph, one_line(source["title"]) or one_line(source["url"]), url=url)
        about = [site_of(source), day_of(source)]
        if source.get("unresolved"):
            about.append(say("export.unresolved", self._language))
        elif url and source["kind"] != "place":
            about.append(one_line(unquote(url)))
        paragraph.add_run().add_break()
        words = valid_text(" · ".join(dict.fromkeys(filter(None, about))))
        paragraph.add_run(words).font.size = _SMALL
        for line in source.get("sums", ()):
            paragraph.add_run().add_break()
            paragraph.add_run(valid_text(line)).font.size = _SMALL
        _set_direction(paragraph)

    def _card(self, card: Card, style: str) -> None:
        """Add a place's card: its name, then what is known of it, in small print."""
        paragraph = self._document.add_paragraph(style=style)
        paragraph.add_run(f"{card.number}. ").bold = True
        self._add_text(paragraph, card.name, url=open_url(card.url), bold=True)
        if card.local:
            paragraph.add_run(f" {valid_text(card.local)}").font.size = _SMALL
        facts = filter(None, [*card.facts, one_line(card.address)])
        for line in (" · ".join(facts), " · ".join(card.demands)):
            if line:
                paragraph.add_run().add_break()
                run = paragraph.add_run(valid_text(line))
                run.font.size, run.font.color.rgb = _SMALL, _GREY
        paragraph.paragraph_format.keep_together = True
        _set_direction(paragraph)

    def _block(self, node: SyntaxTreeNode, level: int) -> None:
        breathe()
        match node.type:
            case "heading":
                # Below the title, which is none of Word's headings.
                self._paragraph(node, f"Heading {max(1, min(int(node.tag[1]) - 1, 4))}")
            case "paragraph":
                self._paragraph(node, "Caption" if is_note(node) else "Normal")
            case "bullet_list" | "ordered_list":
                self._list(node, min(level + 1, _DEEPEST))
            case "blockquote":
                for child in node.children:
                    is_text = child.type == "paragraph"
                    self._paragraph(child, "Quote") if is_text else self._block(child, level)
            case "table":
                self._table(node)
            case "fence" | "code_block":
                run = self._document.add_paragraph().add_run(valid_text(node.content.rstrip()))
                run.font.name, run.font.size = "Consolas", _SMALL
            case "hr":
                self._document.add_paragraph()
            case _:
                self.line(node.content, style="Normal")

    def _paragraph(self, node: SyntaxTreeNode, style: str) -> Paragraph:
        paragraph = self._document.add_paragraph(style=style)
        self._inline(paragraph, node)
        # A line in bold alone is a head: it stands with what follows.
        paragraph.paragraph_format.keep_with_next = all(run.bold for run in paragraph.runs) or None
        return paragraph

    def _list(self, node: SyntaxTreeNode, level: int) -> None:
        is_ordered = node.type == "ordered_list"
        deeper = f" {level}" if level > 1 else ""
        style = f"List {'Number' if is_ordered else 'Bullet'}{deeper}"
        number = self._new_numbers(style, int(str(node.attrs.get("start", 1)))) if is_ordered else 0
        for item in node.children:
            for place, child in enumerate(item.children):
                if child.type == CARD:
                    self._card(child.meta[CARD], f"List Continue{deeper}")
                elif child.type != "paragraph":
                    self._block(child, level)
                elif place and not child.children[0].children:
                    continue  # What a card's bullet says besides may be nothing.
                elif place:
                    self._paragraph(child, f"List Continue{deeper}")
                else:
                    paragraph = self._paragraph(child, style)
                    if number:
                        _number_paragraph(paragraph, number)

    def _new_numbers(self, style: str, start: int) -> int:
        """Return numbers that begin anew: Word would count on from the list before."""
        numbering: Any = self._document.part.numbering_part.element
        element: Any = self._document.styles[style].element
        known = numbering.num_having_numId(element.pPr.numPr.numId.val)
        number = numbering.add_num(known.abstractNumId.val)
        number.add_lvlOverride(ilvl=0).add_startOverride(start)
        return int(number.numId)

    def _table(self, node: SyntaxTreeNode) -> None:
        rows = [row for part in node.children for row in part.children]
        texts = [[cell_text(cell) for cell in row.children] for row in rows]
        code: PhoneCode | None = node.meta.get(STOPS)
        for row, cells in zip(rows, self._table_cells(texts, code), strict=True):
            for cell, paragraph in zip(row.children, cells, strict=False):
                self._inline(paragraph, cell, bold=row is rows[0])

    def _table_cells(
        self, texts: Sequence[Sequence[str]], code: PhoneCode | None = None
    ) -> Iterator[list[Paragraph]]:
        """Add a table for these texts and yield the paragraphs of its rows.

        Its head is repeated on each page; a short one stays on one page, and no row is parted.
        A code stands in a column of its own.
        """
        table = self._document.add_table(len(texts), len(texts[0]), style="Table Grid")
        room = _TEXT_WIDTH.pt - (_QR.pt + _CELL_PADDING if code else 0)
        widths = column_widths(texts, room, _width_of, _CELL_PADDING)
        if code:
            table.add_column(Pt(room))
            widths.append(_QR.pt + _CELL_PADDING)
            self._code(table, code)
        for column, width in zip(table.columns, widths, strict=True):
            column.width = Pt(width)
        last = len(texts) - 1
        for number, row in enumerate(table.rows):
            breathe()
            properties = row._tr.get_or_add_trPr()
            properties.append(OxmlElement("w:cantSplit"))
            if not number:
                properties.append(OxmlElement("w:tblHeader"))
            stays = not number or (len(texts) <= _SHORT_TABLE and number < last)
            for cell, width in zip(row.cells, widths, strict=True):
                cell.width = Pt(width)
                cell.paragraphs[0].paragraph_format.keep_with_next = stays
            yield [cell.paragraphs[0] for cell in row.cells]
        self._document.add_paragraph()

    def _code(self, table: Table, code: PhoneCode) -> None:
        """Put what opens the stops on a phone beside all of them."""
        column = table.columns[len(table.columns) - 1].cells
        paragraph = column[1].merge(column[-1]).paragraphs[0]
        picture = io.BytesIO()
        segno.make(code.url, error="l", micro=False).save(picture, kind="png", scale=6, border=2)
        drawn: Any = paragraph.add_run().add_picture(picture, width=_QR)
        drawn._inline.docPr.set("descr", code.caption)
        paragraph.add_run().add_break()
        run = paragraph.add_run(code.caption)
        run.font.size, run.font.color.rgb = _SMALL, _GREY

    def _inline(self, paragraph: Paragraph, node: SyntaxTreeNode, *, bold: bool = False) -> None:
        tokens = [token for child in node.children for token in child.to_tokens()]
        self._add_tokens(paragraph, [c for token in tokens for c in token.children or []], bold)
        _set_direction(paragraph)

    def _add_tokens(self, paragraph: Paragraph, tokens: Sequence[Token], bold: bool) -> None:
        url, cited, styles = None, "", ["strong"] if bold else []
        for place, token in enumerate(tokens):
            kind, _, edge = token.type.rpartition("_")
            if token.type == "link_open":
                url = open_url(str(token.attrGet("href") or ""))
                words = tokens[place + 1].content
                cited = words if words.isdigit() else ""
            elif token.type == "link_close":
                url, cited = None, ""
            elif kind in ("strong", "em"):
                (styles.append if edge == "open" else styles.remove)(kind)
            elif token.type == "hardbreak":
                paragraph.add_run().add_break()
            else:
                text = " " if token.type == "softbreak" else token.content
                is_slanted = "em" in styles and self._language not in WIDE
                style: dict[str, Any] = {
                    "bold": "strong" in styles, "italic": is_slanted,
                    "is_code": token.type == "code_inline",
                }  # fmt: skip
                if cited:
                    self._add_text(paragraph, f"[{cited}]", url=url, cited=cited, **style)
                else:
                    for part, number in self._with_bare_citations(
                        "" if url or style["is_code"] else text, text
                    ):
                        self._add_text(paragraph, part, url=url, cited=number, **style)

    def _with_bare_citations(self, searched: str, text: str) -> Iterator[tuple[str, str]]:
        """Yield the parts of a text, each with the number of the source it cites; else with "".

        A source with an address is a link and was parted before; one without is `[2]` in the text.
        """
        begin = 0
        for match in CITATION.finditer(searched):
            if match[1] in self._numbers and not match[2]:
                yield text[begin : match.start()], ""
                yield match[0], match[1]
                begin = match.end()
        yield text[begin:], ""

    def _add_text(
        self, paragraph: Paragraph, text: str, *, url: str | None = None, cited: str = "",
        bold: bool = False, italic: bool = False, is_code: bool = False,
    ) -> None:  # fmt: skip
        if not text:
            return
        run = paragraph.add_run(valid_text(text))
        run.bold, run.italic = bold or None, italic or None
        run.font.superscript = True if cited else None
        if is_code:
            run.font.name = "Consolas"
        if not url and cited not in self._numbers:
            return
        link: Any = OxmlElement("w:hyperlink")
        if url:
            relation = paragraph.part.relate_to(url, RELATIONSHIP_TYPE.HYPERLINK, is_external=True)
            link.set(qn("r:id"), relation)
        else:
            # A document of one's own has no address: its entry in the list of sources.
            link.set(qn("w:anchor"), f"source-{cited}")
        run.font.color.rgb = _LINK
        run._r.addprevious(link)
        link.append(run._r)


def _width_of(text: str) -> float:
    """Return about how many points a text is wide."""
    return _BODY * sum(1.0 if is_wide(sign) else _NARROW for sign in text)


_LINK, _GREY = RGBColor(0x0B, 0x57, 0xD0), RGBColor(0x5F, 0x63, 0x68)


def _set_fonts(document: Any, answer: FinishedAnswer) -> None:
    """Say which forms Han characters have, which Word else takes from its own language."""
    font, tag = _FONTS[_script_of(answer)]
    styles = [style for style in document.styles if style.type == WD_STYLE_TYPE.PARAGRAPH]
    for style in styles:
        fonts = style.element.get_or_add_rPr().get_or_add_rFonts()
        for theme in ("w:eastAsiaTheme", "w:cstheme"):
            fonts.attrib.pop(qn(theme), None)
        fonts.set(qn("w:eastAsia"), font)
        fonts.set(qn("w:cs"), "Arial")
    # What stands beside the answer is small and grey, as on the page.
    document.styles["Caption"].font.bold = False
    document.styles["Caption"].font.color.rgb = _GREY
    for language in document.styles.element.iter(qn("w:lang")):
        language.set(qn("w:eastAsia"), tag)


def _script_of(answer: FinishedAnswer) -> str:
    """Return the key of the fonts for an answer; kana and Hangul show themselves."""
    if answer.language in _FONTS:
        return answer.language
    names = [unicodedata.name(each, "") for each in answer.answer[:2000] if each >= "\u3040"]
    if any(name.startswith(("HIRAGANA", "KATAKANA")) for name in names):
        return "ja"
    return "ko" if any(name.startswith("HANGUL") for name in names) else "zh"


def _set_direction(paragraph: Paragraph) -> None:
    """Turn a paragraph whose first letter is Arabic or Hebrew: it begins at the right."""
    directions = map(unicodedata.bidirectional, paragraph.text[:500])
    if next((each for each in directions if each in ("L", "R", "AL")), "L") == "L":
        return
    paragraph._p.get_or_add_pPr().insert_element_before(
        OxmlElement("w:bidi"), "w:adjustRightInd", "w:snapToGrid", "w:spacing", "w:ind",
        "w:contextualSpacing", "w:jc", "w:rPr", "w:sectPr",
    )  # fmt: skip
    for run in paragraph._p.iter(qn("w:r")):
        run.get_or_add_rPr().append(OxmlElement("w:rtl"))


def _number_paragraph(paragraph: Paragraph, number: int) -> None:
    properties = paragraph._p.get_or_add_pPr().get_or_add_numPr()
    properties.get_or_add_numId().val = number


def _add_bookmark(paragraph: Paragraph, name: str, number: int) -> None:
    for tag in ("w:bookmarkStart", "w:bookmarkEnd"):
        mark: Any = OxmlElement(tag)
        mark.set(qn("w:id"), str(number))
        if tag == "w:bookmarkStart":
            mark.set(qn("w:name"), name)
        paragraph._p.append(mark)


def _add_page_number(paragraph: Paragraph) -> None:
    field: Any = OxmlElement("w:fldSimple")
    field.set(qn("w:instr"), "PAGE")
    paragraph._p.append(field)
