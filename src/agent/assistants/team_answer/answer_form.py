"""The form of an answer, by rules; applying them again changes nothing.

For people: 1 NFC, surrounding quotes off · 2 the decimals asked for, an integral number as an
integer · 3 one space before a unit, and after `,` and `;`; Chinese keeps its own marks. To be
compared, besides: 4 digit groups out of a bare number or a number with its unit, marks in ASCII · 5
lower case. What the requirement itself shows (digit groups, decimals, capitals) is kept.
"""

import re
import unicodedata
from datetime import date
from decimal import ROUND_HALF_UP, Context, Decimal

from agent.core.patterns import PIECE, any_word
from agent.core.strings import GROUPED_DIGITS, digit_runs, has_any, has_han, without_digit_groups
from agent.evidence.figures import figures
from agent.evidence.language import sentence_spans
from agent.evidence.stated import quantities
from agent.knowledge.terms import terms

_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "「": "」", "『": "』", "`": "`"}
_COMMA_DECIMAL = r"(?:(?:[0-9]{1,3}(?:\.[0-9]{3})+|[0-9]+),[0-9]{1,2}|0,[0-9]+)(?![0-9]|[.,][0-9])"
"""A number with a decimal comma: 53,9 and 1.234,5, but 1,2,3 and 39.9,116.4 are lists."""
_ANY_NUMBER = rf"(?:{_COMMA_DECIMAL}|(?:[0-9]{{1,3}}(?:,[0-9]{{3}})+|[0-9]+)(?:\.[0-9]+)?)"
_MARKS_CHANGED = str.maketrans(",.", ".,")
_NUMBER = re.compile(r"([+-]?)(0|[1-9][0-9]*|[1-9][0-9]{0,2}(?:,[0-9]{3})+)(?:\.([0-9]+))?")
_SEPARATOR = re.compile(
    rf"(?<![0-9.,])(?:{_COMMA_DECIMAL}|[0-9]{{1,3}}(?:,[0-9]{{3}})+(?![0-9]))"
    r"|\s*(?P<mark>[,，;；])[\s,，]*(?=\S)|\s*[，；]\s*$"
)
_DIGITS = re.compile(r"(?<![0-9.,])[0-9]{4,}(?![0-9,])")
_EXAMPLE = (
    *("e.g.", "i.e.", "such as", "for example", "for instance", " like "),
    *(*":：“‘\"'「『", "如", "例", "形"),
)
_GROUPS = ("thousand separator", "thousands separator", "千分位", "千位分隔")
_DECIMAL = ("decimal", "tenth", "hundredth", "小数", "保留", "精确到", "十分位", "百分位")
_DIGITS_ONLY = ("digits", "separator", "comma", "数字", "数位", "逗号", "分隔")
_WITH_UNIT = re.compile(rf"([+-]?{_ANY_NUMBER})\s*([^\W\d_]{{1,12}}(?:/[^\W\d_]{{1,6}})?|[%℃°])")
_DOUBT = any_word("not|or|neither|maybe|perhaps|不是|并非|或|还是|也许|可能")
"""Words with which an answer is none, or one of several."""
_MAX_WORDS = 12
_MOST_DECIMALS = 9


def formatted(answer: str, requirement: str = "") -> str:
    """Return the answer as it is compared: all rules. Empty stays empty."""
    form = _with_spaces(presentable(answer, requirement))
    if not _shows_groups(requirement):
        form = _without_groups(form)
    if shows_capitals(requirement):
        return form
    return unicodedata.normalize("NFC", form.lower())


def presentable(answer: str, requirement: str = "") -> str:
    """Return the answer as people read it: every rule but those of a comparison."""
    bare = _without_quotes(" ".join(unicodedata.normalize("NFC", answer).split()))
    if has_any(requirement.casefold(), _DIGITS_ONLY) and not _shows_groups(requirement):
        bare = _without_groups(bare)
    bare = _with_decimals(bare, requirement)
    if number := _NUMBER.fullmatch(bare):
        return _plain(number, keep=_shows_decimals(requirement))
    if measured := _WITH_UNIT.fullmatch(bare):
        space = " " if measured[2][0].isascii() and measured[2][0].isalpha() else ""
        return f"{measured[1]}{space}{measured[2]}"
    return _with_spaces(bare, keeps_wide=has_han(bare))


def as_written(answer: str, text: str) -> str:
    """Return an answer with the digit groups that the same numbers have in a text.

    >>> as_written("22503 km²", "the difference is 22,503 km².")
    '22,503 km²'
    """
    written = {match[0].replace(",", ""): match[0] for match in GROUPED_DIGITS.finditer(text)}
    return _DIGITS.sub(lambda match: written.get(match[0], match[0]), answer)


def with_unit(answer: str, text: str) -> str:
    """Return a bare number with the unit that it has in a text; one with several stays bare.

    >>> with_unit("539.136", "(4 × 0.0836 + 0.04) × 2 × 720 = 539.136 US dollars")
    '539.136 US dollars'
    """
    if not _NUMBER.fullmatch(answer):
        return answer
    value = Decimal(answer.replace(",", ""))
    told = [each for each in figures(text) if each.kind and each.value == value]
    return told[0].text if len({(each.kind, each.scale) for each in told}) == 1 else answer


def _shows_decimals(requirement: str) -> bool:
    shown = any(figure.value % 1 for figure in figures(requirement))
    return shown or has_any(requirement.casefold(), _DECIMAL)


def _decimals(requirement: str) -> int | None:
    """Return how many decimals are asked for: "2 decimal places", 保留两位小数."""
    # Alone, "one" is no figure.
    requirement = requirement.casefold().replace("one decimal", "1 decimal")
    for figure in figures(requirement):
        behind = requirement[figure.end :].lstrip(" -")
        if behind.startswith(("位小数", "decimal")) and figure.value in range(_MOST_DECIMALS + 1):
            return int(figure.value)
    return None


def _shows_groups(requirement: str) -> bool:
    return bool(GROUPED_DIGITS.search(requirement)) or has_any(requirement.casefold(), _GROUPS)


def _without_groups(text: str) -> str:
    """Return a bare number, or a number with its unit, without digit groups."""
    is_number = _NUMBER.fullmatch(text) or _WITH_UNIT.fullmatch(text)
    return without_digit_groups(text) if is_number else text


def _with_decimals(text: str, requirement: str) -> str:
    """Return a text with one number rounded half up to the decimals asked for, if any are."""
    decimals, numbers = _decimals(requirement), re.findall(_ANY_NUMBER, text)
    if decimals is None or len(numbers) != 1:
        return text
    places = Decimal(1).scaleb(-decimals)
    number = numbers[0]
    turns = bool(re.fullmatch(_COMMA_DECIMAL, number))
    number = number.translate(_MARKS_CHANGED) if turns else number
    exact = Context(prec=len(text) + _MOST_DECIMALS, rounding=ROUND_HALF_UP)
    rounded = Decimal(number.replace(",", "")).quantize(places, context=exact)
    written = f"{rounded:{',' if ',' in number else ''}f}"
    return text.replace(numbers[0], written.translate(_MARKS_CHANGED) if turns else written)


def unmet(answer: str, requirement: str) -> bool:
    """Return True if rules can see that the answer is not in the form asked for."""
    han = sum(map(has_han, answer))
    if han > 2 * _MAX_WORDS or (not han and len(answer.split()) > _MAX_WORDS):
        return True
    return "YYYY-MM-DD" in requirement.upper() and not _is_day(answer.strip())


def _is_day(text: str) -> bool:
    try:
        return date.fromisoformat(text).isoformat() == text
    except ValueError:
        return False


def same_answer(one: str, other: str) -> bool:
    """Return True if two bare answers say the same: one within the other, by measures or words."""
    one, other = one[:PIECE], other[:PIECE]
    if bool(_DOUBT.search(one)) != bool(_DOUBT.search(other)):
        return False
    measured = [_measures(text) for text in (one, other)]
    if all(measured):
        return measured[0] <= measured[1] or measured[1] <= measured[0]
    numbers = [(_numbers(text, whole=False), _numbers(text, whole=True)) for text in (one, other)]
    if all(written for written, _ in numbers):
        (first, _), (second, _) = numbers
        if _is_dated(one, other) and (first <= second or second <= first):
            return True
        return any(mine == its for mine in numbers[0] for its in numbers[1])
    words, more = (set(terms(formatted(text))) for text in (one, other))
    return bool(words and more) and (words <= more or more <= words)


def _measures(text: str) -> set[tuple[str, Decimal]]:
    """Return the figures that have a unit, as the unit's kind and the amount in its base unit.

    A sign may stand in a word: 短6.4公里 is -6400 米.
    """
    return {(figure.kind, abs(figure.amount)) for figure in quantities(text) if figure.kind}


def _numbers(text: str, *, whole: bool) -> set[Decimal]:
    """Return the numbers in the text, of dates each part; 1.2 million is one number.

    One with a unit is as it is written, or, if `whole`, in the unit's base: 3万人 is 30,000.
    """
    numbers: set[Decimal] = set()
    for figure in figures(text):
        if figure.kind == "percent":
            numbers.add(figure.value / 100)
        elif figure.date:
            numbers |= {Decimal(part) for part in figure.date if part}
        elif figure.clock is not None:
            numbers |= set(map(Decimal, digit_runs(figure.text)))
        else:
            numbers.add(figure.value * (1 if figure.kind and not whole else figure.scale))
    return numbers


def _is_dated(*texts: str) -> bool:
    return any(figure.date for text in texts for figure in figures(text))


def shows_capitals(requirement: str) -> bool:
    """Return True if an example in the requirement has a capital, not only a sentence's first."""
    begins = {at + (requirement[at] in _QUOTES) for at, _ in sentence_spans(requirement)}
    begins = {at for at in begins if not has_any(f" {requirement[:at]}".casefold(), _EXAMPLE)}
    return any(letter.isupper() for at, letter in enumerate(requirement) if at not in begins)


def _without_quotes(text: str) -> str:
    """Return the text without quotes around the whole; those inside and marks of titles stay."""
    while len(text) > 1 and _QUOTES.get(text[0]) == text[-1]:
        inside = text[1:-1]
        if text[0] in inside or text[-1] in inside or not inside.strip():
            break
        text = inside.strip()
    return text


def _plain(number: re.Match[str], *, keep: bool) -> str:
    """Return `12.0` as `12`, `3.75` as it is; with `keep` nothing is taken off."""
    sign, whole, fraction = number.groups()
    if keep or (fraction and fraction.strip("0")):
        return number[0]
    return f"{'-' if sign == '-' and whole != '0' else ''}{whole}"


def _with_spaces(text: str, *, keeps_wide: bool = False) -> str:
    """Return commas and semicolons in ASCII with one space behind; numbers stay whole."""

    def put(match: re.Match[str]) -> str:
        mark = match["mark"]
        if mark and keeps_wide and mark in "，；":
            return mark
        if mark:
            return "; " if mark in ";；" else ", "
        text = match[0].strip()
        return {"，": ",", "；": ";"}.get(text, text)

    return _SEPARATOR.sub(put, text).strip()
