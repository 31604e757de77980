"""Write text as the markup of reportlab's paragraphs: escaped, each run in a font that has it."""

import copy
import math
import re
from collections.abc import Collection, Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

from markdown_it.token import Token
from reportlab.lib import textsplit
from reportlab.lib.styles import ParagraphStyle
from reportlab.pdfbase.cidfonts import CIDFontInfo, UnicodeCIDFont, structToPDF
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily, stringWidth
from reportlab.platypus import Paragraph, paragraph

from agent.evidence.markdown import open_url
from agent.evidence.references import source_number
from agent.export.finished import WIDE
from agent.texts import Language

LATIN, CHINESE, KOREAN, FIXED = "Helvetica", "STSong-Light", "HYSMyeongJo-Medium", "Courier"
_DINGBATS, _TICKS = "ZapfDingbats", "✓✗"
LINK_COLOUR = "#0b57d0"
_LATIN_END = 0x250
UNPRINTABLE = "□"
_CITED, _RISE = 7.5, 3
"""Points of a citation's number, in tables too, and how far it is raised."""
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


_BEGIN_NONE = frozenset(textsplit.ALL_CANNOT_START + "，；：！？）》’”—…·)]")
_END_NONE = frozenset(textsplit.ALL_CANNOT_END + "（《‘“([")
_FIRST_WIDE = "\u2e80"
_HANGUL = ("\uac00", "\ud7a3")


class MixedParagraph(Paragraph):  # type: ignore[misc]
    """Break lines of Han characters and Latin words: between characters, at blanks, at no mark.

    The library parts a word that is longer than half of its line, as a time in a table's cell.
    """

    def breakLinesCJK(self, maxWidths: Any) -> Any:  # noqa: N802, N803
        if hasattr(self, "blPara") and getattr(self, "_splitpara", False):
            return self.blPara
        widths = list(maxWidths) if isinstance(maxWidths, list | tuple) else [maxWidths]
        paragraph._handleBulletWidth(self.bulletText, self.style, widths)
        signs = [paragraph.cjkU(sign, frag, "utf8") for frag in self.frags
                 for sign in (frag.text or [""])]  # fmt: skip
        lines = list[Any]()
        begin, used = 0, 0.0

        def end_line(end: int, *, is_broken: bool = False) -> None:
            nonlocal begin, used
            widest = widths[min(len(lines), len(widths) - 1)]
            line = (signs[begin:end], widest, used, widest - used, is_broken, False)
            lines.append(paragraph.makeCJKParaLine(*line))
            begin, used = end, 0.0

        for at, end in _unbroken(signs, min(widths)):
            wide = sum(sign.width for sign in signs[at:end])
            bare = wide - (signs[end - 1].width if signs[end - 1] == " " else 0)
            if begin < at and used + bare > widths[min(len(lines), len(widths) - 1)]:
                end_line(at)
            used += wide
            if hasattr(signs[end - 1].frag, "lineBreak"):
                end_line(end, is_broken=True)
        if begin < len(signs):
            end_line(len(signs))
        return paragraph.ParaLines(kind=1, lines=lines)


def _unbroken(signs: Sequence[Any], widest: float) -> Iterator[tuple[int, int]]:
    """Yield what stays on one line as begin and end; of what no line holds, each sign."""
    begin = 0
    for at in range(1, len(signs) + 1):
        if at < len(signs) and _stay(signs[at - 1], signs[at]):
            continue
        if sum(sign.width for sign in signs[begin:at]) > widest:
            yield from ((each, each + 1) for each in range(begin, at))
        else:
            yield begin, at
        begin = at


def _stay(before: Any, sign: Any) -> bool:
    """Return whether no line may end between two signs."""
    if hasattr(before.frag, "lineBreak"):
        return False
    if sign == " " or sign in _BEGIN_NONE or before in _END_NONE or sign.frag.rise:
        return before != " " or sign == " " or sign in _BEGIN_NONE
    return before != " " and _is_of_word(before) and _is_of_word(sign)


def _is_of_word(sign: str) -> bool:
    """Return whether a sign is of a script whose words blanks part."""
    return sign < _FIRST_WIDE or _HANGUL[0] <= sign <= _HANGUL[1]


def paragraph_style(language: Language, *, size: float, **more: Any) -> ParagraphStyle:
    """Return how a paragraph of a size in points looks in a language."""
    return ParagraphStyle(
        "text", fontName=CHINESE if language in WIDE else LATIN, fontSize=size,
        leading=size * 1.5, bulletFontName=LATIN, bulletFontSize=size,
        **{"wordWrap": "CJK" if language in WIDE else None, **more},
    )  # fmt: skip


def register_fonts() -> None:
    """Register the fonts of Han and Hangul that every PDF reader brings."""
    for font in (CHINESE, KOREAN):
        registerFont(UnicodeCIDFont(font))
        registerFont(_Bold(font))
        same = dict.fromkeys(("normal", "bold", "italic", "boldItalic"), font)
        registerFontFamily(font, **same)


def inline_markup(
    tokens: Sequence[Token],
    language: Language,
    *,
    bold: bool = False,
    listed: Collection[str] = (),
) -> list[str]:
    """Return the children of an inline token as the markup of paragraphs; a citation is raised.

    One whose source has no address leads to the list of sources, if its number is `listed` there.

    A text of many pages is several: the library lays the rest out anew for each page.
    """
    pieces, length = [list[str]()], 0
    links = list[tuple[str, str]]()
    styles = ["Bold"] if bold else []
    for place, token in enumerate(tokens):
        kind, _, edge = token.type.rpartition("_")
        if token.type == "link_open":
            links.append(_link(str(token.attrGet("href") or ""), tokens[place + 1 :], listed))
            pieces[-1].append(links[-1][0])
        elif token.type == "link_close":
            pieces[-1].append(links.pop()[1])
        elif kind == "em" and language in WIDE:
            continue  # Han characters have no italics, and figures alone would slant.
        elif kind in _STYLES:
            (styles.append if edge == "open" else styles.remove)(_STYLES[kind])
        elif token.type in ("softbreak", "hardbreak"):
            pieces[-1].append("<br/>" if token.type == "hardbreak" else " ")
        else:
            latin = _variant(FIXED if token.type == "code_inline" else LATIN, styles)
            following = tokens[place + 1 :]
            is_cited = (
                len(following) > 1 and following[0].type == "link_open" and _cites(following[1:])
            )
            for part in bounded_parts(token.content.rstrip(" ") if is_cited else token.content):
                if length and length + len(part) > LONGEST:
                    pieces[-1] += [closed for _, closed in links]
                    pieces.append([opened for opened, _ in links])
                    length = 0
                pieces[-1].append(text_markup(part, language, latin=latin))
                length += len(part)
    return ["".join(piece) for piece in pieces]


LONGEST = 2000
"""Characters of a paragraph."""
_ENDS = re.compile(r"[。！？!?.;；](?=\s|[^\x00-\x7f])|\s")


def bounded_parts(text: str) -> Iterator[str]:
    """Yield a text in parts of bounded length, cut behind a sentence, else a word, where it can."""
    begin = 0
    while len(text) - begin > LONGEST:
        ends = [match.end() for match in _ENDS.finditer(text, begin, begin + LONGEST)]
        end = ends[-1] if ends else begin + LONGEST
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


def printed_width(text: str, language: Language, *, latin: str, size: float) -> float:
    """Return how many points a text is wide."""
    signs = printable_text(text)
    return math.fsum(stringWidth(sign, _font(sign, language, latin), size) for sign in signs)


_SPAN = re.compile(r"(?<=\d)–(?=\d)")
"""From one figure to another one: narrow in every language."""


def link_markup(url: str, markup: str) -> str:
    """Return the markup as a link if the address may be one."""
    if not (href := open_url(url)):
        return markup
    return f'<a href="{escape(href)}" color="{LINK_COLOUR}">{markup}</a>'


def _link(url: str, following: Sequence[Token], listed: Collection[str]) -> tuple[str, str]:
    """Return the opening and the end of a link; a citation is raised and in brackets."""
    cited = following[0].content if _cites(following) else ""
    is_listed = source_number(cited) in listed
    href = open_url(url) or (f"#{source_anchor(cited)}" if is_listed else "")
    opened = f'<a href="{escape(href)}" color="{LINK_COLOUR}">' if href else ""
    closed = "</a>" if href else ""
    if not cited:
        return opened, closed
    return f'<super rise="{_RISE}" size="{_CITED}">{opened}[', f"]{closed}</super>"


def source_anchor(number: object) -> str:
    """Return the name of a source's place in the list of them."""
    return f"source-{number}"


def _cites(inside: Sequence[Token]) -> bool:
    return bool(inside and source_number(inside[0].content))


def printable_text(text: str) -> str:
    """Return the text in characters that one of our fonts has."""
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    """Return the character, a space for what is unseen, a box for what neither font has."""
    if character.isspace() or not character.isprintable():
        return " "
    if character in _TICKS or any(
        encodes(character, encoding) for encoding in ("cp1252", "gbk", "cp949")
    ):
        return character
    return UNPRINTABLE


def _font(character: str, language: Language, latin: str) -> str:
    """Return the font of a character; quotation marks and dashes are wide in Chinese only."""
    if character in _TICKS:
        return _DINGBATS
    narrow = language not in WIDE or ord(character) < _LATIN_END
    if narrow and encodes(character, "cp1252"):
        return latin
    font = CHINESE if character == UNPRINTABLE or encodes(character, "gbk") else KOREAN
    return f"{font}-Bold" if "Bold" in latin else font


def encodes(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
