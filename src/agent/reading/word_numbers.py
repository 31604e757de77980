"""Write into Word's paragraphs what Word shows in its own way: numbers, levels, formulas.

A clause "第三条" or "3.2 (a)" is mostly numbered by Word, and a heading is one by the level of its
style or its own; mammoth knows neither, and no formula. Who cites a contract needs them.
"""

from collections import defaultdict
from typing import Any

W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_M = "{http://schemas.openxmlformats.org/officeDocument/2006/math}"
_FORMULAS = {
    "f": "({num})/({den})", "rad": "√({e})", "sSup": "{e}^{sup}", "sSub": "{e}_{sub}",
    "sSubSup": "{e}_{sub}^{sup}",
}  # fmt: skip
_LEVELS = 9
_HEADINGS = 6
_DIGITS = "零一二三四五六七八九"
_ROMAN = (("m", 1000), ("cm", 900), ("d", 500), ("cd", 400), ("c", 100), ("xc", 90), ("l", 50),
          ("xl", 40), ("x", 10), ("ix", 9), ("v", 5), ("iv", 4), ("i", 1))  # fmt: skip
_MOST = 4_000
"""Beyond it a number is written in digits whatever its form."""


class WordNumbers:
    """Hold the styles and lists of a document, and count its paragraphs in their order."""

    def __init__(self, styles: Any | None, numbering: Any | None) -> None:
        self._styles = {each.get(f"{W}styleId"): each for each in _all(styles, "style")}
        self._lists = {each.get(f"{W}abstractNumId"): each
                       for each in _all(numbering, "abstractNum")}  # fmt: skip
        self._numbers = {each.get(f"{W}numId"): each for each in _all(numbering, "num")}
        self._counts: dict[str, list[int | None]] = defaultdict(lambda: [None] * _LEVELS)
        self._begun: set[str] = set()

    def write_into(self, document: Any) -> None:
        """Give each paragraph its number and formulas as text, its level as a heading's style."""
        for tag in ("oMathPara", "oMath"):
            for formula in list(document.iter(f"{_M}{tag}")):
                _put_text(formula)
        for paragraph in document.iter(f"{W}p"):
            if next(paragraph.iterancestors(_FALLBACK), None) is not None:
                continue
            chain = self._chain(_value(paragraph, "pPr", "pStyle"))
            number = self._number_of(paragraph, chain)
            level = _first([paragraph, *chain], "pPr", "outlineLvl")
            if level.isdecimal() and int(level) < _LEVELS:
                _set_style(paragraph, f"Heading{min(int(level) + 1, _HEADINGS)}")
            if number:
                _put_first(paragraph, f"{number} ")

    def _chain(self, name: str) -> list[Any]:
        """Return a style and those it is based on."""
        chain: list[Any] = []
        while (style := self._styles.get(name)) is not None and style not in chain:
            chain.append(style)
            name = _value(style, "basedOn")
        return chain

    def _number_of(self, paragraph: Any, chain: list[Any]) -> str:
        """Return the number of a paragraph as it is shown; empty for none, and for bullets."""
        name = _first([paragraph, *chain], "pPr", "numPr", "numId")
        number, levels = self._numbers.get(name), self._levels(name)
        if number is None or not levels:
            return ""
        said = _first([paragraph, *chain], "pPr", "numPr", "ilvl")
        of_style = (
            at for style in chain for at, each in levels.items()
            if _value(each, "pStyle") == style.get(f"{W}styleId")
        )  # fmt: skip
        level = int(said) if said.isdecimal() else next(of_style, 0)
        if level not in levels:
            return ""
        counts = self._counts[_value(number, "abstractNumId")]
        if name not in self._begun:
            self._begun.add(name)
            for override in _all(number, "lvlOverride"):
                at = int(override.get(f"{W}ilvl") or 0)
                if (start := _value(override, "startOverride")) and at < _LEVELS:
                    counts[at] = int(start) - 1
        for above in range(level):
            counts[above] = counts[above] or _start(levels.get(above))
        before = counts[level]
        counts[level] = _start(levels[level]) if before is None else before + 1
        counts[level + 1 :] = [None] * (_LEVELS - level - 1)
        return _shown(levels, level, counts)

    def _levels(self, name: str) -> dict[int, Any]:
        number = self._numbers.get(name)
        known = self._lists.get(_value(number, "abstractNumId")) if number is not None else None
        if known is not None and (link := _value(known, "numStyleLink")):
            linked = self._numbers.get(_first(self._chain(link), "pPr", "numPr", "numId"))
            known = self._lists.get(_value(linked, "abstractNumId")) if linked is not None else None
        levels = _all(known, "lvl")
        return {int(each.get(f"{W}ilvl")): each for each in levels if each.get(f"{W}ilvl")}


def _put_text(formula: Any) -> None:
    """Put a run of text in the place of a formula; what follows it stays."""
    run = formula.makeelement(f"{W}r")
    _child(run, "t").text = formula_text(formula)
    run.tail = formula.tail
    formula.getparent().replace(formula, run)


def formula_text(element: Any) -> str:
    """Return a formula on one line: `x^2`, `(a)/(b)`, `√(x)`; a matrix comes as its cells."""
    tag = str(element.tag).removeprefix(_M)
    if tag == "t":
        return element.text or ""
    parts = [(str(each.tag).removeprefix(_M), formula_text(each)) for each in element]
    if form := _FORMULAS.get(tag):
        return form.format(**{"num": "", "den": "", "e": "", "sup": "", "sub": "", **dict(parts)})
    return "".join(text for _, text in parts)


def _all(parent: Any | None, tag: str) -> list[Any]:
    return [] if parent is None else list(parent.iterchildren(f"{W}{tag}"))


def _value(element: Any, *path: str) -> str:
    """Return the value of the element at the end of a path below this one; empty for none."""
    for tag in path:
        if (element := element.find(f"{W}{tag}")) is None:
            return ""
    return str(element.get(f"{W}val") or "")


def _first(elements: list[Any], *path: str) -> str:
    return next((value for each in elements if (value := _value(each, *path))), "")


def _start(level: Any | None) -> int:
    start = _value(level, "start") if level is not None else ""
    return int(start) if start.isdecimal() else 1


def _shown(levels: dict[int, Any], level: int, counts: list[int | None]) -> str:
    """Return the number of a level in its form: `第%1条`, `%1.%2`."""
    if _value(levels[level], "numFmt") in ("bullet", "none"):
        return ""
    text = _value(levels[level], "lvlText")
    is_legal = levels[level].find(f"{W}isLgl") is not None
    for at in range(level + 1):
        form = _value(levels[at], "numFmt") if at in levels and not is_legal else "decimal"
        text = text.replace(f"%{at + 1}", in_form(counts[at] or 0, form))
    return " ".join(text.split())


def in_form(number: int, form: str) -> str:
    """Return a number in one of Word's forms.

    >>> in_form(23, "chineseCountingThousand"), in_form(4, "upperRoman"), in_form(28, "lowerLetter")
    ('二十三', 'IV', 'bb')
    """
    if not 0 < number < _MOST:
        return str(number)
    if form in ("upperRoman", "lowerRoman"):
        roman, left = "", number
        for sign, worth in _ROMAN:
            roman += sign * (left // worth)
            left %= worth
        return roman.upper() if form == "upperRoman" else roman
    if form in ("upperLetter", "lowerLetter"):
        times, at = divmod(number - 1, 26)
        letter = chr(ord("a") + at) * min(times + 1, 10)
        return letter.upper() if form == "upperLetter" else letter
    if form == "decimalZero":
        return f"{number:02}"
    if form.startswith("decimalEnclosedCircle") and number <= 20:
        return chr(0x2460 + number - 1)
    is_chinese = form.startswith(("chinese", "ideograph", "japanese", "taiwanese", "korean"))
    return _in_chinese(number) if is_chinese and number < 100 else str(number)


def _in_chinese(number: int) -> str:
    tens, ones = divmod(number, 10)
    before = ("" if tens == 1 else _DIGITS[tens]) + "十" if tens else ""
    return before + (_DIGITS[ones] if ones else "")


def _set_style(paragraph: Any, name: str) -> None:
    _child(_properties(paragraph), "pStyle").set(f"{W}val", name)


def _put_first(paragraph: Any, text: str) -> None:
    """Write text before a paragraph's own, and take it out of its list, which would count again."""
    number = _child(_properties(paragraph), "numPr")
    for tag in ("ilvl", "numId"):
        _child(number, tag).set(f"{W}val", "0")
    run = paragraph.makeelement(f"{W}r")
    _child(run, "t").text = text
    paragraph.insert(1, run)


def _properties(paragraph: Any) -> Any:
    if paragraph.find(f"{W}pPr") is None:
        paragraph.insert(0, paragraph.makeelement(f"{W}pPr"))
    return paragraph.find(f"{W}pPr")


def _child(parent: Any, tag: str) -> Any:
    """Return the child of a name, which is made where there is none."""
    if (child := parent.find(f"{W}{tag}")) is None:
        child = parent.makeelement(f"{W}{tag}")
        parent.append(child)
    return child
