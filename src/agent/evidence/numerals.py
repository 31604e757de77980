"""Numbers and times in words, written in digits: what `figures` reads.

`in_digits("门票一百二十元")` is "门票120元" with the place of each character in the text it came
from. A word is only a number where it counts something: 三里屯, 统一, "the one" and 十分 stay.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from agent.core.strings import has_han
from agent.evidence.foreign_numerals import FOREIGN_STARTS, foreign_numeral, of_foreign
from agent.evidence.units import COUNTERS, MONTHS, UNITS
from agent.evidence.written import MONTH

_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")}
_DIGITS |= {c: i for i, c in enumerate("〇壹贰叁肆伍陆柒捌玖")} | {"两": 2, "俩": 2, "○": 0}
_TENS = {"十": 10, "拾": 10, "百": 100, "佰": 100, "千": 1000, "仟": 1000}
_MYRIADS = {"万": 10**4, "亿": 10**8, "兆": 10**12}
_H1, _HU = "".join(_DIGITS), "".join((*_TENS, *_MYRIADS))
_HEAD = f"[{_H1}十拾]"
_LONGEST = 24
_DECIMALS, _THOUSAND = Decimal("1e-12"), 1000

_UNDER_TWENTY = """zero one two three four five six seven eight nine ten eleven twelve thirteen
fourteen fifteen sixteen seventeen eighteen nineteen"""
_ONES = {word: value for value, word in enumerate(_UNDER_TWENTY.split())}
_TENS_IN_WORDS = """twenty thirty forty fifty sixty seventy eighty ninety"""
_TIES = {
    word: value for value, word in zip(range(20, 100, 10), _TENS_IN_WORDS.split(), strict=True)
}
_GREAT = {
    "hundred": 100,
    "thousand": 10**3,
    "million": 10**6,
    "billion": 10**9,
    "trillion": 10**12,
    "dozen": 12,
    "lakh": 10**5,
    "crore": 10**7,
}
_NTH = """first second third fourth fifth sixth seventh eighth ninth tenth eleventh twelfth
thirteenth fourteenth fifteenth sixteenth seventeenth eighteenth nineteenth twentieth"""
_ORDINALS = {word: value for value, word in enumerate(_NTH.split(), 1)} | {"thirtieth": 30}
_PARTS = {
    "half": 2,
    "halves": 2,
    "quarter": 4,
    "quarters": 4,
    **{word: value for word, value in _ORDINALS.items() if value > 2},
    **{f"{word}s": value for word, value in _ORDINALS.items() if value > 2},
    "hundredth": 100,
    "hundredths": 100,
    "thousandths": 1000,
}
_SIGNS = {"½": "0.5", "¼": "0.25", "¾": "0.75", "⅓": "0.333333333333", "⅔": "0.666666666667",
          "⅛": "0.125", "⅙": "0.166666666667", "⅕": "0.2"}  # fmt: skip


def _any(words: Sequence[str]) -> str:
    return "|".join(sorted(map(re.escape, words), key=len, reverse=True))


_WORD = f"(?:{_any([*_ONES, *_TIES, *_GREAT])})"
_WORDS = rf"{_WORD}(?:(?:\s+and)?(?:\s+|\s?-\s?){_WORD}\b){{0,12}}"
_PART = f"(?:{_any(list(_PARTS))})"
_ORDINAL = rf"(?:(?:{_any(list(_TIES))})[\s-])?(?:{_any(list(_ORDINALS))})"
_HAN_UNIT = _any([*(word for word in UNITS if word[0] > "\u3000"), *COUNTERS])
_HALF_DAY = "凌晨|清晨|早晨|早上|上午|中午|下午|傍晚|晚上|晚间|夜里|深夜|半夜|[今明当]晚|[早晚]"
_UNIT = _any([word for word in UNITS if word[0].isalpha() and word[0].isascii() and len(word) > 2])
_HOUR = rf"(?:(?<!\d)(?:0?\d|1[0-2])(?!\d)|{_any(list(_ONES)[1:13])})"

_HAN = re.compile(
    rf"""(?=[{_H1}十拾百千仟万半对\d])(?<![第统唯专单])(?<!第[{_H1}十])(?<!第[{_H1}十]{{2}})(?:
    (?P<decimal>{_HEAD}[{_H1}{_HU}]{{0,20}}点[{_H1}]{{1,12}}(?:[万亿]|(?![十百千分刻点])))
    |(?P<zero_year>[零〇][{_H1}](?=年))
    |(?P<mixed>\d{{1,4}}(?:\.\d{{1,4}})?\s?[十百千万亿](?:\s?零?\d{{1,4}}\s?[十百千万])*\s?零?\d{{1,4}}
        (?:\s?[十百千万])?(?![\d.]))
    |(?P<long>{_HEAD}[{_H1}{_HU}]{{1,{_LONGEST}}})
    |(?P<short>{_HEAD})(?=(?:多|余|来)?(?:{_HAN_UNIT})|[个年天]半|分之|[到至或、~-]{_HEAD}(?:{_HAN_UNIT})
        |点(?:半|钟|整|[{_H1}十]|[一三1-3]刻|\d))|(?P<zero>零)(?=点(?![{_H1}]))
    |(?P<below>(?<![{_H1}{_HU}])[千仟万]|[百千]万)(?=分之)|(?<=分之)(?P<part>{_HEAD})
    |(?:(?<=午)|(?<=[晨早晚间里夜上晚]))(?P<hour>{_HEAD})(?=点)
    |(?P<halved>半)(?=个?(?:小时|钟头|折|公里|斤))
    |(?P<alike>对)(?=折)
    )""",
    re.VERBOSE,
)
_CLOCK_WORDS = (
    rf"(?P<after>half\ past|(?:a\ )?quarter\ (?:past|to)|(?:\d{{1,2}}|{_WORD}(?:[\s-]{_WORD})?)"
    rf"(?:\ min(?:ute)?s?\ (?:past|to)|\ past))\ (?P<of>{_HOUR})\b(?!:)"
)
_ENGLISH = re.compile(
    rf"""(?:{_CLOCK_WORDS}
    |(?P<oclock>{_HOUR})(?:\s?o['’]?clock\b
        |(?=\ (?:in\ the\ (?:morning|afternoon|evening)|at\ night)\b)
        |(?=\s[ap]\.?\s?m\b))
    |(?:12\ )?(?P<noon>noon|mid[\ -]?day|mid[\ -]?night)\b
    |(?P<month>{MONTH})\ (?:the\ )?(?P<day>{_ORDINAL})\b
    |(?P<nth>{_ORDINAL})\ (?=of\ {MONTH}|century)
    |(?P<lone>an?|{_WORD})\ (?P<lone_unit>{_UNIT})\ and\ a\ (?P<rest>half|quarter)\b
    |(?:(?P<whole>{_WORDS}|\d{{1,3}})(?:\s+and\s+|-and-|\s))?(?P<over>an?|{_WORD})[\s-]
        (?P<below>{_PART})\b(?P<great>\s(?:million|billion|thousand|dozen)\b)?
    |(?P<halved>half)[\s-](?:an?\s+)?(?=(?:{_UNIT})\b|million|billion|dozen)
        (?P<of_great>million|billion|dozen)?
    |(?:an?\s(?=hundred|thousand|million|billion|trillion|dozen))?(?P<words>{_WORDS})\b
        (?:\spoint\s(?P<point>{_WORD}(?:\s{_WORD}\b){{0,8}})\b)?
    )""",
    re.VERBOSE | re.IGNORECASE,
)
_TOKEN = re.compile(
    r"(?<![\w:.,])(?:[A-Za-zÀ-ɏ]+|\d{1,3}(?=\s?[A-Za-zÀ-ɏ])|\d{1,2}(?=[.-]\d{1,2}\ Uhr))"
)
_OTHER_STARTS = """half a an quarter noon mid midday midnight"""
_STARTS = frozenset(
    [*_ONES, *_TIES, *_GREAT, *_ORDINALS, *_OTHER_STARTS.split()]
    + [part.lower() for name in MONTHS for part in (name, name[:3])]
)
_FRACTION_SIGN = re.compile(rf"(?P<whole>\d{{0,4}})(?P<sign>[{''.join(_SIGNS)}])")
_ONE_COUNTS = re.compile(rf"[\s-](?:{_UNIT}|per\s?cent)\b", re.I)
_MINUS = ("minus ", "negative ")


@dataclass(frozen=True)
class Digits:
    """A text with its numbers in digits, and where each character began and ended before."""

    text: str
    starts: Sequence[int]
    ends: Sequence[int]


def in_digits(text: str, places: Sequence[int]) -> Digits:
    """Return a folded text, of which `with_places` told the places, with its numbers in digits."""
    is_same = isinstance(places, range)
    ends = range(1, len(text) + 1) if is_same else [place + 1 for place in places[:-1]]
    read = Digits(text, places, ends)
    if not text.isascii():
        read = _rewritten(read, _FRACTION_SIGN.finditer(text), _of_sign)
        if has_han(text):
            read = _rewritten(read, _HAN.finditer(read.text), _of_han)
    return _rewritten(read, _in_words(read.text), _of_words)


def _in_words(text: str) -> Iterator[re.Match[str]]:
    """Yield the numbers and times in Latin words; only their first words are looked at closer."""
    at = 0
    for token in _TOKEN.finditer(text):
        begin, word = token.start(), token[0]
        if begin < at:
            continue
        number = word[0].isdigit()
        match = _ENGLISH.match(text, begin) if number or word.lower() in _STARTS else None
        if match is None and (number or word in FOREIGN_STARTS):
            match = foreign_numeral(text, begin)
        if match:
            yield match
            at = match.end()


def _rewritten(
    read: Digits, matches: Iterable[re.Match[str]], write: Callable[[re.Match[str]], str | None]
) -> Digits:
    """Return the text with what a function writes for each match; None leaves it."""
    pieces, starts, ends, at = list[str](), list[int](), list[int](), 0
    for match in matches:
        if not match[0] or (new := write(match)) is None:
            continue
        begin, end = match.span()
        pieces += (read.text[at:begin], new)
        starts += read.starts[at:begin]
        starts += [read.starts[begin]] * len(new)
        ends += read.ends[at:begin]
        ends += [read.ends[end - 1]] * len(new)
        at = end
    if not at:
        return read
    starts += read.starts[at:]
    ends += read.ends[at:]
    return Digits("".join((*pieces, read.text[at:])), starts, ends)


def _of_sign(match: re.Match[str]) -> str:
    return _plain(Decimal(match["whole"] or 0) + Decimal(_SIGNS[match["sign"]]))


def _plain(value: Decimal) -> str:
    """Return a number in digits, without an exponent or zeros at its end."""
    number = f"{value.quantize(_DECIMALS) if value % 1 else value:f}"
    return number.rstrip("0").rstrip(".") if "." in number else number


def _of_han(match: re.Match[str]) -> str | None:
    text, kind = match[0], match.lastgroup
    if kind == "zero_year":
        return f"20{_DIGITS[text[0]]}{_DIGITS[text[1]]}"
    if kind in ("halved", "alike"):
        return "0.5" if kind == "halved" else "5"
    if kind == "long":
        after = match.string[match.end() : match.end() + 1]
        if text == "十分" or (text.startswith(("一一", "万")) and after != "年"):
            return None
    if kind == "below":
        return _plain(
            Decimal(_TENS.get(text) or _MYRIADS.get(text) or _TENS[text[0]] * _MYRIADS["万"])
        )
    value = chinese_number("".join(text.split()))
    return None if value is None else _plain(value)


def chinese_number(text: str) -> Decimal | None:
    """Return the value of a numeral: 三百二十, 两千四百五, 二〇〇三, 一点五万, 5万4千6百."""
    if not text or len(text) > 2 * _LONGEST:
        return None
    whole, point, part = text.partition("点")
    if point:
        great = _MYRIADS.get(part[-1:], 1)
        part = part if great == 1 else part[:-1]
        value = chinese_number(whole)
        if value is None or not part or any(c not in _DIGITS for c in part):
            return None
        return (value + Decimal("0." + "".join(str(_DIGITS[c]) for c in part))) * great
    if all(c in _DIGITS for c in text):
        if len(text) == 2 and not text.isdecimal() and 0 < _DIGITS[text[1]] - _DIGITS[text[0]] <= 2:
            # 三四天, 三五天: about so many, not 34.
            return None
        return Decimal("".join(str(_DIGITS[c]) for c in text))
    return _composed(re.findall(rf"\d+(?:\.\d+)?|[{_H1}{_HU}]", text))


def _composed(parts: Sequence[str]) -> Decimal | None:
    """Return the value of digits and places: 5 万 4 千 6 百."""
    total = section = digit = Decimal(0)
    place, has_digit, after_zero = 1, False, False
    for part in parts:
        if part in _TENS:
            section += (digit or 1) * _TENS[part]
            place, has_digit, after_zero, digit = _TENS[part], False, False, Decimal(0)
        elif part in _MYRIADS:
            great = _MYRIADS[part]
            part_sum = section + digit
            total = (total + part_sum) * great if 0 < total < great else total + part_sum * great
            section, digit, place, has_digit, after_zero = (
                Decimal(0),
                Decimal(0),
                great,
                False,
                False,
            )
        else:
            value = Decimal(_DIGITS[part]) if part in _DIGITS else Decimal(part)
            if has_digit and digit:
                return None
            after_zero = after_zero or value == 0
            digit, has_digit = value, True
    if has_digit and place >= 100 and not after_zero and digit < 10:
        digit *= place // 10
    return total + section + digit


def _of_words(match: re.Match[str]) -> str | None:
    return _of_english(match) if match.re is _ENGLISH else of_foreign(match)


def _of_english(match: re.Match[str]) -> str | None:
    if match["after"]:
        return _clock(match)
    if hour := match["oclock"]:
        return (
            f"{int(english_number(hour) or 0)}:00"
            if hour.lower() != "one" or len(match[0]) > 3
            else None
        )
    if match["noon"]:
        return "00:00" if match["noon"].lower().endswith("night") else "12:00 pm"
    if ordinal := match["day"] or match["nth"]:
        month = f"{match['month']} " if match["month"] else ""
        return f"{month}{_ordinal(ordinal)}{'th' if month else 'th '}"
    if match["below"]:
        return _fraction(match)
    if count := match["lone"]:
        # An hour and a half.
        number = Decimal(1) if count.lower() in ("a", "an") else english_number(count)
        rest = Decimal(1) / _PARTS[match["rest"].lower()]
        return None if number is None else f"{_plain(number + rest)} {match['lone_unit']}"
    if match["halved"]:
        great = _GREAT.get((match["of_great"] or "").lower(), 1)
        return f"{_plain(Decimal('0.5') * great)}{'' if match['of_great'] else ' '}"
    return _whole(match)


def _clock(match: re.Match[str]) -> str | None:
    """Return the time of "half past eight", "three minutes to nine"."""
    phrase, hour = match["after"].lower(), english_number(match["of"])
    if hour is None or hour > 23:
        return None
    first = phrase.split(" min")[0].removesuffix(" past")
    minutes = (
        Decimal(30)
        if phrase.startswith("half")
        else Decimal(15)
        if "quarter" in phrase
        else english_number(first)
    )
    if minutes is None or minutes > 59:
        return None
    if phrase.endswith(" to"):
        hour, minutes = (hour - 1) % 24 or Decimal(12), 60 - minutes
    return f"{int(hour)}:{int(minutes):02}"


def _ordinal(words: str) -> int:
    tens, _, last = words.lower().replace("-", " ").rpartition(" ")
    return _TIES.get(tens, 0) + _ORDINALS[last]


def _fraction(match: re.Match[str]) -> str | None:
    """Return "two thirds", "one and a half million" as a decimal number."""
    over, below = match["over"].lower(), match["below"].lower()
    alone = over in ("a", "an")
    singular = below in ("third", "fourth", "fifth", "sixth", "quarter")
    follows = match.string[match.end() : match.end() + 4]
    if alone and singular and not match["whole"] and not match["great"] and follows != " of ":
        return None
    if not alone and below in _ORDINALS and over not in ("one",):
        return None
    top = Decimal(1) if alone else english_number(over)
    whole = english_number(match["whole"]) if match["whole"] else Decimal(0)
    if top is None or whole is None:
        return None
    part = top / _PARTS[below]
    if match["great"]:
        return _plain((whole + part) * _GREAT[match["great"].strip().lower()])
    # "one million and a half" is half a million more.
    of = _GREAT.get(_tokens(match["whole"] or "")[-1:][0] if match["whole"] else "", 1)
    return _plain(whole + part * (of if of >= _THOUSAND else 1))


def _whole(match: re.Match[str]) -> str | None:
    words = match["words"].lower()
    has_sign = match.string[max(0, match.start() - 9) : match.start()].lower().endswith(_MINUS)
    if words == "one" and not has_sign and not _ONE_COUNTS.match(match.string, match.end()):
        return None
    if words in _GREAT and match[0].lower() == words:
        return None
    tokens = _tokens(words)
    value = english_number(words)
    if value is None:
        return _pair(tokens)
    if match["point"]:
        decimals = [str(_ONES.get(word, "x")) for word in match["point"].lower().split()]
        if "x" in decimals:
            return None
        value = value + Decimal("0." + "".join(decimals))
    return _plain(value)


def _tokens(words: str) -> list[str]:
    return [word for word in words.lower().replace("-", " ").split() if word != "and"]


def english_number(words: str) -> Decimal | None:
    """Return the value of an English numeral, or of digits; None for "nineteen eighty"."""
    total = section = Decimal(0)
    last = 1000
    for word in _tokens(words):
        if word.isdigit():
            section += int(word)
        elif word in _ONES or word in _TIES:
            value = _ONES.get(word, _TIES.get(word, 0))
            if value >= last or (last < 20 and value < 20) or (value >= 10 and last < 100):
                return None
            section, last = section + value, value or 1
        elif word in ("hundred", "dozen"):
            section, last = (section or Decimal(1)) * _GREAT[word], 100
        elif word in _GREAT:
            total, section, last = total + (section or 1) * _GREAT[word], Decimal(0), 1000
        else:
            return None
    return total + section


def _pair(tokens: Sequence[str]) -> str | None:
    """Return two numbers said after each other: "eight forty" is a time, "nineteen six" none."""
    for cut in range(1, len(tokens)):
        rest = tokens[cut + 1 :] if tokens[cut] == "zero" else tokens[cut:]
        first, second = (english_number(" ".join(part)) for part in (tokens[:cut], rest))
        if first is None or second is None or not 0 < first < 100:
            continue
        if first <= 12 and 10 <= second < 60:
            return f"{int(first)}:{int(second):02}"
        is_year = 13 <= first <= 20 and (second >= 10 or tokens[cut] == "zero") and second < 100
        return f"{int(first)}{int(second):02}" if is_year else None
    return None
