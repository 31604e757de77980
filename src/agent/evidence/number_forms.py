"""Write the numbers of what a program has printed as the readers of a language write theirs."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise

from agent.core.patterns import Linear

_NUMBER = Linear(r"[0-9][0-9.,]*[0-9]|[0-9]")
_THREE, _FOUR = 3, 4
_OTHER = {".": ",", ",": "."}
_COMMAS = frozenset({"zh", "en", "ja", "ko"})
"""Languages whose form needs no looking up."""
_BLANKS = dict.fromkeys(map(ord, "\u00a0\u2009\u202f"), " ")


@dataclass(frozen=True)
class NumberForm:
    """The signs between thousands and before a fraction."""

    group: str = ","
    decimal: str = "."

    def written(self, line: str, text: str, whole_line: str = "") -> str:
        """Return a line of a program with its numbers in this form, and signs for what multiplies.

        `whole_line` is that of which it is a part: its numbers tell which form they have already.
        Thousands are parted, those of four digits as in a text beside it; what may be a year only
        where the text does so.

        >>> NumberForm().written("in 2026: 20000 / 2.93 x 1684 = 8", "£1,367")
        'in 2026: 20,000 / 2.93 × 1,684 = 8'
        >>> NumberForm(".", ",").written("eur_a_year: 12,345.50 * 2 = 24691", "")
        'eur_a_year: 12.345,50 × 2 = 24.691'
        """
        parts, told, at = self._parts_four(text), "", 0
        known = {_only_sign(number) for _, number in _numbers_in(whole_line or line)} - {""}
        for begin, number in _numbers_in(line):
            # 1.234 is printed for what is one and a quarter, nearly, unless it stands in the text.
            is_own = known == {self.decimal} or (not known and number in text)
            groups, sign, fraction = _read(number, "," if is_own and self.decimal == "," else ".")
            whole = self.group.join(groups)
            if len(groups) == 1:
                whole = self._grouped(whole, text, parts=parts)
            told += line[at:begin] + whole + (sign and self.decimal) + fraction
            at = begin + len(number)
        return with_times(told + line[at:])

    def as_in(self, text: str) -> "NumberForm":
        """Return the form with nothing between thousands where a text writes its own so, always.

        >>> NumberForm().as_in("18000 writes in 2026").written("86400 / 4 = 21,600", "")
        '86400 / 4 = 21600'
        >>> NumberForm().as_in("18000 writes, 5,596 yuan").written("86400 / 4 = 21,600", "")
        '86,400 / 4 = 21,600'
        """
        numbers = [_read(number, self.decimal)[0] for _, number in _numbers_in(text)]
        is_parted = any(len(groups) > 1 for groups in numbers)
        is_bare = any(map(_is_bare, (groups[0] for groups in numbers)))
        return replace(self, group="") if is_bare and not is_parted else self

    def _grouped(self, whole: str, text: str, *, parts: bool) -> str:
        """Return digits with their thousands parted."""
        if not whole.isdigit() or whole.startswith("0") or len(whole) < _FOUR:
            return whole
        told = f"{int(whole):,}".replace(",", self.group)
        is_year = len(whole) == _FOUR and whole[:2] in ("19", "20")
        is_wanted = len(whole) > _FOUR or told in text or (parts and not is_year)
        return told if is_wanted else whole

    def _parts_four(self, text: str) -> bool:
        """Return whether a text parts the thousands of any number of four digits."""
        if not self.group:
            return False
        before, *others = text.translate(_BLANKS).split(" " if self.group.isspace() else self.group)
        for part in others:
            is_one_digit = before[-1:].isdigit() and not before[-2:-1].isdigit()
            if is_one_digit and part[:_THREE].isdigit() and not part[_THREE:_FOUR].isdigit():
                return len(part[:_THREE]) == _THREE
            before = part
        return False


def _is_bare(whole: str) -> bool:
    """Return whether what stands before a fraction could have its thousands parted: no year."""
    return whole.isdigit() and len(whole) > _FOUR and not whole.startswith("0")


def _numbers_in(line: str) -> Iterator[tuple[int, str]]:
    """Yield where the numbers of a line begin that are no part of a name, and the numbers."""
    for match in _NUMBER.finditer(line):
        begin, end = match.span()
        beside = line[max(0, begin - 1) : begin] + line[end : end + 1]
        if not any(char == "_" or "a" <= char.lower() <= "z" for char in beside):
            yield begin, match[0]


def _read(number: str, sign: str) -> tuple[list[str], str, str]:
    """Return the groups of digits before the sign of fractions, the sign, and those behind it.

    It is `sign` unless the number can only have the other. All of it as one part where it is no
    number that a program prints: a date, a version, a list.
    """
    for each in (sign, _OTHER[sign]):
        groups, is_broken, fraction = _parts(number, each)
        if groups:
            is_as_told = each == "," and len(groups) == 1
            return ([number], "", "") if is_as_told else (groups, is_broken, fraction)
    return [number], "", ""


def _only_sign(number: str) -> str:
    """Return the sign before its fraction of a number that can be read in one way alone."""
    read = [sign for sign in _OTHER if _parts(number, sign)[0]]
    return read[0] if len(read) == 1 else ""


def _parts(number: str, sign: str) -> tuple[list[str], str, str]:
    """Return groups, sign and fraction of a number with that sign; no groups where it has none."""
    group = _OTHER[sign]
    whole, is_broken, fraction = number.rpartition(sign)
    if not is_broken:
        whole, fraction = number, ""
    first, *others = whole.split(group)
    is_parted = 0 < len(first) <= _THREE and first[0] != "0" and {*map(len, others)} == {_THREE}
    if sign in whole or group in fraction or (others and not is_parted):
        return [], "", ""
    return [first, *others], is_broken, fraction


def with_times(line: str) -> str:
    """Return a line with a sign for each x or * that multiplies: it stays as long as it was.

    >>> with_times("S3: 36,000 GB x 0.023, 2*(3 + 4) at 5x, an x on paper, 2**3")
    'S3: 36,000 GB × 0.023, 2×(3 + 4) at 5x, an x on paper, 2**3'
    """
    return _with_sign(_with_sign(line, " x ", " × "), "*", "×")


def _with_sign(line: str, sign: str, times: str) -> str:
    parts = line.split(sign)
    told = parts[0]
    for before, after in pairwise(parts):
        near = before[-_NEAR:].rstrip()
        is_sign = _ENDS_QUANTITY.search(near) and _BEGINS_NUMBER.match(after.lstrip())
        told += (times if is_sign else sign) + after
    return told


_NEAR = 40
_ENDS_QUANTITY = Linear(r"[\d)\]%](?: ?\p{L}{1,12}(?:/\p{L}{1,12})?)?$")
"""A number or a bracket, perhaps with its unit."""
_BEGINS_NUMBER = Linear(r"[(\[]*[^\w\s]?\d")


ENGLISH_NUMBERS = NumberForm()


@cache
def number_form(tag: str) -> NumberForm:
    """Return the form of a language's numbers; the English one of a tag that nobody knows.

    It may read a file.
    """
    if tag.split("-")[0].lower() in _COMMAS:
        return ENGLISH_NUMBERS
    from babel import Locale, UnknownLocaleError
    from babel.numbers import get_decimal_symbol, get_group_symbol

    try:
        locale = Locale.parse(tag, sep="-")
    except (UnknownLocaleError, ValueError):
        return ENGLISH_NUMBERS
    return NumberForm(get_group_symbol(locale), get_decimal_symbol(locale))
