"""Bytes of a page → text, by what the page says of itself, then by what fits."""

import codecs
import re

_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_PARAMETER = re.compile(r"charset\s*=\s*[\"']?([\w.:-]{1,40})", re.I)
_META = re.compile(
    rb"<(?:meta|\?xml)[^>]{0,300}?(?:charset|encoding)\s*=\s*[\"']?([\w.:-]{1,40})", re.I
)
_HEAD = 4096
_FEW = 200
"""One bad sign in so many is a slip, more are another encoding."""
# What browsers read under these names is the larger set.
_WIDER = {"gb2312": "gb18030", "gbk": "gb18030", "iso8859-1": "cp1252", "ascii": "cp1252"}
_NOT_TEXT = {
    "base64", "bz2", "hex", "quopri", "rot13", "uu", "zlib", "idna", "punycode", "unicode_escape",
    "raw_unicode_escape", "undefined", "utf_7", "mbcs", "oem",
}  # fmt: skip


def page_text(body: bytes, content_type: str) -> str:
    """The body as text; what cannot be decoded becomes U+FFFD."""
    named = _PARAMETER.search(content_type)
    meta = _META.search(body[:_HEAD])
    candidates = [
        next((name for bom, name in _BOMS if body.startswith(bom)), None),
        named.group(1) if named else None,
        meta.group(1).decode("ascii", "replace") if meta else None,
        "utf-8",
        "gb18030",
    ]
    known = [codec for name in candidates if name and (codec := _codec(name))]
    first = body.decode(known[0], "replace")
    if first.count("\ufffd") * _FEW <= len(first):
        return first
    for codec in known[1:]:
        try:
            return body.decode(codec)
        except UnicodeDecodeError:
            continue
    return first


def _codec(name: str) -> str | None:
    try:
        found = codecs.lookup(name).name
    except (LookupError, ValueError):
        return None
    return None if found.replace("-", "_") in _NOT_TEXT else _WIDER.get(found, found)
