"""Find the encoding of bytes that do not say it: of documents, tables and files of questions.

UTF-8 and UTF-16 show themselves. Among the others charset-normalizer names the ones that fit; for
a short text several do, and the one that makes the most ordinary characters of it is taken. What
was only guessed is told (`name`), so that a reader can see a wrong guess.
"""

import codecs
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from charset_normalizer import CharsetMatch

_BOMS = {
    codecs.BOM_UTF8: "utf-8-sig",
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
"""UTF-32 before UTF-16, which begins with the same two bytes."""
_GUESSED: Mapping[str, tuple[str, str]] = {
    "gb18030": ("GBK", "han"), "big5hkscs": ("Big5", "han"), "cp950": ("Big5", "han"),
    "cp932": ("Shift_JIS", "kana"), "euc_jis_2004": ("EUC-JP", "kana"),
    "iso2022_jp": ("ISO-2022-JP", "kana"), "cp949": ("EUC-KR", "hangul"),
    "cp1252": ("Windows-1252", "latin"), "cp1251": ("Windows-1251", "letters"),
    "cp1250": ("Windows-1250", "latin"), "cp1253": ("Windows-1253", "letters"),
    "cp1254": ("Windows-1254", "latin"), "cp1255": ("Windows-1255", "letters"),
    "cp1256": ("Windows-1256", "letters"), "cp1257": ("Windows-1257", "latin"),
    "cp874": ("TIS-620", "letters"), "koi8_r": ("KOI8-R", "letters"),
    "iso8859_2": ("ISO 8859-2", "latin"), "iso8859_5": ("ISO 8859-5", "letters"),
    "cp866": ("IBM866", "letters"), "mac_roman": ("Mac Roman", "latin"),
    "utf_16_le": ("UTF-16", "any"), "utf_16_be": ("UTF-16", "any"),
}  # fmt: skip
"""Codec → its name and the writing it is for; of equals the earlier one is taken."""
_LEAST = 0.5
"""Worth of a guess below which it is none."""
_CHUNK = 1 << 20
_HEAD = 4096
_SAMPLE = 1 << 16
_BOUNDARY = bytes(range(0x30))
"""Bytes that are no part of another character in any encoding but UTF-16."""
_BINARY = bytes({*range(1, 0x20)} - {*b"\t\n\v\f\r\x1b"})
_HIGH = bytes(range(0x80, 0x100))
_ALONE = re.compile(rb"(?<![\x80-\xff])[\x80-\xff](?![\x80-\xff])")
_ACCENTED_WORD = re.compile("[^\x00-\x7f]{4,}")
_PUNCTUATION = "·…—“”‘’"
_LEAST_WIDE = 40
"""Bytes from which on a text may be UTF-16 without any blank or digit."""
_FEW = 0.01
_SLIPS = 0.1


class UnknownEncoding(ValueError):
    """Signal bytes that are no text in any encoding that is known."""


@dataclass(frozen=True)
class Encoding:
    """Hold the codec to decode with; `name` is for a person, "" where the bytes leave no doubt."""

    codec: str
    name: str = ""


def encoding_of(body: bytes) -> Encoding:
    """Return the encoding of a text; its beginning is enough. Raises UnknownEncoding."""
    for mark, codec in _BOMS.items():
        if body.startswith(mark):
            return Encoding(codec)
    if wide := _wide(body[:_HEAD]):
        return Encoding(wide)
    sample = _telling(body)
    if not sample or _is_utf8(sample):
        head = body[:_SAMPLE]
        if _count(head, _BINARY) > _FEW * len(head) or head.count(0) > _SLIPS * len(head):
            raise UnknownEncoding
        return Encoding("utf-8")
    return _guess(sample)


def encoding_of_file(file: BinaryIO) -> Encoding:
    """Return the encoding of an open file by its first part that is not ASCII."""
    first = chunk = file.read(_CHUNK)
    while chunk and _is_plain(chunk) and b"\x00" not in chunk:
        chunk = file.read(_CHUNK)
    file.seek(0)
    return encoding_of(chunk or first)


def _is_plain(body: bytes) -> bool:
    """Tell whether these are ASCII without escapes, which begin other writing in ISO 2022."""
    return body.isascii() and b"\x1b" not in body


def _wide(head: bytes) -> str | None:
    """Return UTF-16 without a mark at its start: every other byte of its Latin part is zero."""
    if len(head) < 4:
        return None
    even, odd = head[::2].count(0), head[1::2].count(0)
    half = len(head) / 2
    if odd > 0.3 * half and even < 0.05 * half:
        return "utf-16-le"
    return "utf-16-be" if even > 0.3 * half and odd < 0.05 * half else None


def _telling(body: bytes) -> bytes:
    """Return a sample of a file by which its encoding can be told: its lines that are not ASCII.

    It is cut between characters, so that no half of one stands at an end.
    """
    if b"\x00" in body:  # zero is half of an ASCII character: lines cannot be cut out
        return body[:_SAMPLE]
    lines, length = list[bytes](), 0
    for line in body.splitlines(keepends=True):
        if not _is_plain(line):
            lines.append(line)
            length += len(line)
            if length > _SAMPLE:
                break
    sample = b"".join(lines)
    if len(sample) <= _SAMPLE and len(body) < _CHUNK:
        return sample
    cuts = [at + 1 for at, byte in enumerate(sample[:_SAMPLE]) if byte in _BOUNDARY]
    inner = sample[cuts[0] : cuts[-1]] if cuts else b""
    return sample[:_SAMPLE] if _is_plain(inner) else inner


def _is_utf8(sample: bytes) -> bool:
    """Tell whether most lines are UTF-8, or all is but for slips and an end within a character."""
    if b"\x1b" in sample and sample.isascii():
        return False
    lines = [line.decode("utf-8", "replace") for line in sample.splitlines()]
    bad = sum(line.count("\ufffd") for line in lines)
    good = sum(not sign.isascii() and sign != "\ufffd" for line in lines for sign in line)
    valid = sum("\ufffd" not in line for line in lines)
    return bad <= _SLIPS * good or 2 * valid >= len(lines)


def _guess(sample: bytes) -> Encoding:
    from charset_normalizer import from_bytes

    possible = [codec for codec, (_, writing) in _GUESSED.items() if _may_be(writing, sample)]
    worth: dict[str, float] = {}
    for match in from_bytes(sample, cp_isolation=possible):
        if match.encoding in possible:
            same_text = match.could_be_from_charset
            worth.update(dict.fromkeys(same_text, _worth(match)))
    best = max(possible, key=lambda codec: worth.get(codec, 0.0))
    if worth.get(best, 0.0) < _LEAST and (not _has_accents(sample) or _count(sample, _BINARY)):
        raise UnknownEncoding
    return Encoding(best, _GUESSED[best][0])


def _may_be(writing: str, sample: bytes) -> bool:
    if writing == "any":
        return b"\x00" in sample or len(sample) >= _LEAST_WIDE
    return writing == "latin" or not _has_accents(sample)


def _has_accents(sample: bytes) -> bool:
    """Tell whether these look like Latin letters with accents: few high bytes, most of them alone.

    Shift_JIS and Big5 may take such a byte and the ASCII letter after it for one character.
    """
    high = _count(sample, _HIGH)
    return len(_ALONE.findall(sample)) > high / 2 and high < 0.3 * len(sample)


def _count(body: bytes, kinds: bytes) -> int:
    return len(body) - len(body.translate(None, kinds))


def _worth(match: "CharsetMatch") -> float:
    """Return how likely an encoding is: ordinary characters, little disorder, a known language."""
    writing = _GUESSED[match.encoding][1]
    text = str(match)
    signs = [sign for sign in text if not sign.isascii()]
    if writing == "latin":  # accented letters stand among others
        text = _ACCENTED_WORD.sub("", text)
    ordinary = sum(_is_ordinary(sign, writing) for sign in text if not sign.isascii())
    ordinary /= max(1, len(signs))
    return round(ordinary - match.chaos + 0.3 * match.coherence, 2)


def _is_ordinary(sign: str, writing: str) -> float:
    """Return how much a character is to be expected in a text of this writing."""
    is_asian = writing not in ("latin", "letters")
    if "\u3000" <= sign <= "\u303f" or "\uff01" <= sign <= "\uff5e" or sign in _PUNCTUATION:
        return 1.0
    if "\u4e00" <= sign <= "\u9fff":
        return (0.3 if writing == "hangul" else 1.0) if is_asian and sign in _common() else 0.0
    if "\uac00" <= sign <= "\ud7a3":
        return float(writing in ("hangul", "any") and sign in _common())
    if "\u3040" <= sign <= "\u30ff":
        return float(writing in ("kana", "any"))
    if sign < "\u2000" and (not is_asian or writing == "any"):
        return 0.95 if sign.isalpha() or writing == "latin" else 0.3
    return 0.0


@cache
def _common() -> frozenset[str]:
    """Return the characters in common use: first levels of GB 2312 and Big5, EUC-KR's syllables."""
    han = _rows("gb2312", 0xB0, 0xD7) + _rows("big5", 0xA4, 0xC6)
    return frozenset(han + _rows("euc_kr", 0xB0, 0xC8))


def _rows(codec: str, first: int, last: int) -> str:
    pairs = (bytes((a, b)) for a in range(first, last + 1) for b in range(0x40, 0xFF))
    return "".join(pair.decode(codec, "ignore") for pair in pairs)


_PARAMETER = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I)
_META = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,300}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_RARE = 200
"""One bad sign in so many is a slip, more are another encoding."""
# What browsers read under these names is the larger set.
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}
_NO_PAGES = {
    "idna",
    "punycode",
    "unicode_escape",
    "raw_unicode_escape",
    "undefined",
    "utf_7",
    "mbcs",
    "oem",
}
"""Codecs of texts in which no page is written."""


def page_text(body: bytes, content_type: str) -> str:
    """Return the body as text; what cannot be decoded becomes U+FFFD."""
    named = _PARAMETER.search(content_type)
    meta = _META.search(body[:_HEAD])
    candidates = [
        next((codec for mark, codec in _BOMS.items() if body.startswith(mark)), None),
        named.group(1) if named else None,
        meta.group(1).decode("ascii", "replace") if meta else None,
    ]
    own_codecs = [codec for name in candidates if name and (codec := _codec(name))]
    if not own_codecs:
        return body.decode(_codec_of(body), "replace")
    text = body.decode(own_codecs[0], "replace")
    if text.count("\ufffd") * _RARE <= len(text):
        return text
    for codec in [*own_codecs[1:], "utf-8", "gb18030"]:
        try:
            return body.decode(codec)
        except UnicodeDecodeError:
            continue
    return text


def _codec_of(body: bytes) -> str:
    try:
        return encoding_of(body).codec
    except UnknownEncoding:
        return "utf-8"


def _codec(name: str) -> str | None:
    """Return the codec of a name; None for one that is unknown, or makes no text: rot13, zlib."""
    try:
        b" ".decode(name, "replace")
        codec = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return None if codec.replace("-", "_") in _NO_PAGES else _WIDER.get(codec, codec)
