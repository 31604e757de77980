"""The second layer of an answer: rules, in a fixed order, after a model has extracted it.

1 NFC, surrounding quotes off · 2 digit groups out of a bare number · 3 an integral number as an
integer · 4 lower case, unless the requirement shows capitals · 5 one space after `,` and `;`.
What the requirement itself shows (digit groups, decimals, capitals) is kept. Applying the rules
again changes nothing.
"""

import re
import unicodedata

_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "`": "`"}
_GROUPED = re.compile(r"[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*)(?:\.([0-9]+))?")
_SEPARATOR = re.compile(
    r"(?<![0-9.,])[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|\s*(?P<mark>[,，;；])[\s,，]*(?=\S)|\s*[，；]\s*$"
)
_SPACES = re.compile(r"\s+")
_SENTENCE = re.compile(r"(?:^|[.!?。！？]\s+)[\"'“‘]?([A-Z])(?=[a-z]*[\s,.;!?]|[a-z]*$)")
_EXAMPLE = re.compile(
    r"(?:e\.g\.|i\.e\.|such as|for example|for instance|\blike\b|[:：“‘\"'「『]|如|例|形)",
    re.IGNORECASE,
)
_SHOWS_GROUPS = re.compile(
    r"[0-9],[0-9]{3}(?![0-9])|thousands? separator|千分位|千位分隔", re.IGNORECASE
)
_SHOWS_DECIMALS = re.compile(r"[0-9]\.[0-9]|decimal|小数", re.IGNORECASE)


def formatted(answer: str, requirement: str = "") -> str:
    """The answer as it is compared: all rules. Empty stays empty."""
    shown = presentable(answer, requirement)
    if shows_capitals(requirement):
        return shown
    return unicodedata.normalize("NFC", shown.lower())


def presentable(answer: str, requirement: str = "") -> str:
    """The answer as people read it: every rule but lower case."""
    bare = _unquoted(_SPACES.sub(" ", unicodedata.normalize("NFC", answer)).strip())
    if _GROUPED.fullmatch(bare):
        if _SHOWS_GROUPS.search(requirement):
            return bare
        bare = bare.replace(",", "")
    if number := _NUMBER.fullmatch(bare):
        return _plain(number, keep=bool(_SHOWS_DECIMALS.search(requirement)))
    return _spaced(bare)


def shows_capitals(requirement: str) -> bool:
    """Whether the form asked for has a capital in an example, not only where a sentence begins."""
    begins = {found.start(1) for found in _SENTENCE.finditer(requirement)}
    if _EXAMPLE.search(requirement):
        begins = {at for at in begins if not _EXAMPLE.search(requirement[:at])}
    return any(letter.isupper() for at, letter in enumerate(requirement) if at not in begins)


def _unquoted(text: str) -> str:
    """Without the quotes around the whole of it; those inside stay, and so do marks of titles."""
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        inside = text[1:-1]
        if text[0] in inside or text[-1] in inside or not inside.strip():
            break
        text = inside.strip()
    return text


def _plain(number: re.Match[str], *, keep: bool) -> str:
    """`12.0` as `12`, `3.75` as it is; with `keep` nothing is taken off."""
    sign, whole, fraction = number[1], number[2], number[3]
    if keep or (fraction and fraction.strip("0")):
        return number[0]
    return f"{'-' if sign == '-' and whole != '0' else ''}{whole}"


def _spaced(text: str) -> str:
    """Commas and semicolons in ASCII with one space behind; digit groups stay whole."""

    def put(found: re.Match[str]) -> str:
        mark = found["mark"]
        if mark:
            return "; " if mark in ";；" else ", "
        kept = found[0].strip()
        return {"，": ",", "；": ";"}.get(kept, kept)

    return _SEPARATOR.sub(put, text).strip()
