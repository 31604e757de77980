"""Inline text of a PDF: fonts for every script we can print, and markup nothing can break out of.

reportlab reads a paragraph as markup of its own, in which an image or a colour can do things;
therefore all text is escaped here, and only the tags written here exist.
"""

from collections.abc import Sequence
from html import escape
from itertools import groupby

from markdown_it.token import Token
from reportlab.pdfbase.cidfonts import UnicodeCIDFont
from reportlab.pdfbase.pdfmetrics import registerFont, registerFontFamily

from agent.evidence.links import link_url
from agent.language import Language

LATIN, CHINESE, FIXED = "Helvetica", "STSong-Light", "Courier"
LINK_COLOUR = "#0b57d0"
_LATIN_END = 0x250
_UNPRINTABLE = "□"
_STYLES = {"strong": "Bold", "em": "Oblique"}


def register_fonts() -> None:
    """The Chinese font is one every PDF reader brings; it has a single weight."""
    registerFont(UnicodeCIDFont(CHINESE))
    same = dict.fromkeys(("normal", "bold", "italic", "boldItalic"), CHINESE)
    registerFontFamily(CHINESE, **same)


def inline_markup(tokens: Sequence[Token], language: Language, *, bold: bool = False) -> str:
    """The children of an inline token as a paragraph's markup; a citation is raised."""
    parts: list[str] = []
    closing: list[str] = []
    styles = ["Bold"] if bold else []
    for place, token in enumerate(tokens):
        kind, _, edge = token.type.rpartition("_")
        if token.type == "link_open":
            opened, closed = _link(str(token.attrGet("href") or ""), tokens[place + 1 :])
            parts.append(opened)
            closing.append(closed)
        elif token.type == "link_close":
            parts.append(closing.pop())
        elif kind in _STYLES:
            (styles.append if edge == "open" else styles.remove)(_STYLES[kind])
        elif token.type == "code_inline":
            parts.append(text_markup(token.content, language, latin=_variant(FIXED, styles)))
        elif token.type in ("softbreak", "hardbreak"):
            parts.append("<br/>" if token.type == "hardbreak" else " ")
        else:
            latin = _variant(LATIN, styles)
            parts.append(text_markup(token.content, language, latin=latin))
    return "".join(parts)


def _variant(font: str, styles: Sequence[str]) -> str:
    """The font as it is named in these styles: `Helvetica-BoldOblique`."""
    suffix = "".join(sorted(set(styles)))
    return f"{font}-{suffix}" if suffix else font


def text_markup(text: str, language: Language, *, latin: str = LATIN) -> str:
    """Escaped text, each run in a font that has its characters."""
    runs = groupby(printable_text(text), lambda character: _font(character, language, latin))
    return "".join(
        f'<font name="{font}">{escape("".join(characters))}</font>' for font, characters in runs
    )


def link_markup(url: str, markup: str) -> str:
    """The markup as a link if the address may be one."""
    if not (href := link_url(url)):
        return markup
    return f'<a href="{escape(href)}" color="{LINK_COLOUR}">{markup}</a>'


def _link(url: str, following: Sequence[Token]) -> tuple[str, str]:
    """What opens and closes a link; a citation is raised and in brackets."""
    if not (href := link_url(url)):
        return "", ""
    opened, closed = f'<a href="{escape(href)}" color="{LINK_COLOUR}">', "</a>"
    cites = bool(following) and following[0].content.isdigit()
    return (f"<super>{opened}[", f"]{closed}</super>") if cites else (opened, closed)


def printable_text(text: str) -> str:
    """The text in characters that one of our fonts has."""
    return "".join(map(_printable, text))


def _printable(character: str) -> str:
    """The character, a space for what is unseen, a box for what neither font has."""
    if character.isspace() or not character.isprintable():
        return " "
    if _encodes(character, "cp1252") or _encodes(character, "gbk"):
        return character
    return _UNPRINTABLE


def _font(character: str, language: Language, latin: str) -> str:
    """Quotation marks and dashes are wide in Chinese and narrow elsewhere."""
    narrow = language == "en" or ord(character) < _LATIN_END
    return latin if narrow and _encodes(character, "cp1252") else CHINESE


def _encodes(character: str, encoding: str) -> bool:
    try:
        character.encode(encoding)
    except UnicodeEncodeError:
        return False
    return True
