"""Write German, French and Spanish numbers and times in words as digits, where a unit tells them.

"halb drei" is 2:30, "neuf heures et quart" 9:15, "las ocho y media" 8:30, "dos minutos" 2 minutos.
Without a unit or a word of the clock a number in words stays: "once" is English, too.
"""

import re
from collections.abc import Callable, Mapping
from functools import cache, partial

from agent.core.strings import split_at

_TEENS = {
    "de": "null eins zwei drei vier fünf sechs sieben acht neun zehn elf zwölf dreizehn vierzehn "
    "fünfzehn sechzehn siebzehn achtzehn neunzehn",
    "fr": "zéro une deux trois quatre cinq six sept huit neuf dix onze douze treize quatorze "
    "quinze seize dix-sept dix-huit dix-neuf",
    "es": "cero una dos tres cuatro cinco seis siete ocho nueve diez once doce trece catorce "
    "quince dieciséis diecisiete dieciocho diecinueve",
}
_TENS = {
    "de": "zwanzig dreißig vierzig fünfzig sechzig siebzig achtzig neunzig",
    "fr": "vingt trente quarante cinquante soixante",
    "es": "veinte treinta cuarenta cincuenta sesenta setenta ochenta noventa",
}
_MORE = {"de": {"ein": 1, "eine": 1, "einer": 1}, "fr": {"un": 1}, "es": {"un": 1, "uno": 1}}
_ES_TWENTIES = """veintiuno veintidós veintitrés veinticuatro veinticinco veintiséis veintisiete
veintiocho veintinueve"""


def _numbers(language: str) -> dict[str, int]:
    """Return the numbers below a hundred by their words."""
    ones = _TEENS[language].split()
    words = {word: value for value, word in enumerate(ones)} | _MORE[language]
    for ten, name in enumerate(_TENS[language].split(), 2):
        words[name] = 10 * ten
        for one in range(1, 10):
            value, unit = 10 * ten + one, ones[one]
            if language == "de":
                words[f"{'ein' if one == 1 else unit}und{name}"] = value
            elif language == "es":
                words[f"{name} y {'uno' if one == 1 else unit}"] = value
            else:
                words[f"{name} et un" if one == 1 else f"{name}-{unit}"] = value
    if language == "fr":
        words |= {f"soixante-{ones[n]}": 60 + n for n in range(10, 20)}
        words |= {"soixante et onze": 71, "quatre-vingts": 80}
        words |= {f"quatre-vingt-{ones[n]}": 80 + n for n in range(1, 20)}
    if language == "es":
        words |= {word: value for value, word in enumerate(_ES_TWENTIES.split(), 21)}
    return words


_OF_WORD = {lang: _numbers(lang) for lang in _TEENS}


def _any(language: str) -> str:
    words = sorted(_OF_WORD[language], key=len, reverse=True)
    return rf"(?:\d{{1,2}}|{'|'.join(words)})"


_DE, _FR, _ES = map(_any, ("de", "fr", "es"))
_UNITS = (
    r"(?=\s(?:Minuten?|Stunden?|Tagen?|Wochen?|Monaten?|Jahren?|Metern?|Kilometern?|Euro|Prozent"
    r"|minutes?|heures?|jours?|semaines?|mois|ans|mètres|kilomètres|euros"
    r"|minutos?|horas?|días?|semanas?|meses|años|metros|kilómetros|yuanes|personas)\b)"
)
_GERMAN = (
    rf"\b(?:(?P<half>halb)\s(?P<half_of>{_DE})\b"
    rf"|(?:(?P<minutes>Viertel|{_DE})\s(?:Minuten\s)?(?P<side>vor|nach))\s(?P<hour>{_DE})\b(?=\sUhr|[\s.,;)]|$)"
    rf"|(?P<from>{_DE})(?=\s?(?:bis|und|-|–)\s?{_DE}\sUhr\b)"
    rf"|(?P<oclock>{_DE})(?:[.:](?P<past>[0-5]\d))?\sUhr(?:\s(?P<rest>{_DE})\b)?)"
)
_FRENCH = (
    rf"\b(?P<hour>{_FR})\s?(?:h|heures?)(?:\s?(?P<rest>[0-5]\d)\b(?!\s?min)"
    rf"|\s(?P<words>et quart|et demie|moins le quart))"
    rf"|\b(?:(?<=[àÀ]\s)|(?<=vers\s)|(?<=dès\s))(?P<at>{_FR})\s?(?:h|heures?)\b"
    rf"|\b(?P<from>{_FR})\s?(?:h|heures?)(?=\sà\s{_FR}\s?(?:h|heures?)\b)"
)
_SPANISH = (
    r"(?:(?<=\ba\s)|(?<=\bde\s)|(?<=\bson\s)|(?<=desde\s)|(?<=hasta\s)|(?<=sobre\s))"
    rf"las?\s(?P<hour>{_ES})\b(?:\s(?P<words>y cuarto|y media|menos cuarto|y {_ES})\b)?"
    r"(?=\s(?:de la|del|en punto|horas|y|a|hasta)\b|\s?[.,;)]|$)"
)
_COUNTED = {lang: rf"\b(?P<number>(?!\d){_any(lang)}){_UNITS}" for lang in _TEENS}
_PARTS = {
    "et quart": 15, "et demie": 30, "moins le quart": -15, "y cuarto": 15, "y media": 30,
    "menos cuarto": -15, "Viertel": 15,
}  # fmt: skip
FOREIGN_STARTS = frozenset(
    split_at(word, " -")[0] for words in _OF_WORD.values() for word in words
) | {"halb", "Viertel", "las", "la"}
"""The first words of what is read here."""
_DAY, _HOUR = 24, 60


def foreign_numeral(text: str, at: int) -> re.Match[str] | None:
    """Return the number or the time in words that begins there; `of_foreign` writes it."""
    matches = (pattern.match(text, at) for pattern in _writers())
    return next((match for match in matches if match and of_foreign(match)), None)


def of_foreign(match: re.Match[str]) -> str:
    """Return what a match means, in digits; empty where it is no time."""
    return _writers()[match.re](match)


def _value(words: str, language: str) -> int:
    return int(words) if words.isdigit() else _OF_WORD[language].get(words, -1)


def _clock(hour: int, minutes: int) -> str:
    total = hour * _HOUR + minutes
    if not 0 <= hour <= _DAY or not -_HOUR < minutes < _HOUR:
        return ""
    total %= _DAY * _HOUR
    return f"{total // _HOUR}:{total % _HOUR:02}"


def _of_german(match: re.Match[str]) -> str:
    if match["half"]:
        return _clock(_value(match["half_of"], "de") - 1, 30)
    if match["minutes"]:
        minutes = _PARTS.get(match["minutes"]) or _value(match["minutes"], "de")
        sign = -1 if match["side"] == "vor" else 1
        return _clock(_value(match["hour"], "de"), sign * minutes)
    if match["from"]:
        return _clock(_value(match["from"], "de"), 0)
    rest = match["past"] or match["rest"]
    return _clock(_value(match["oclock"], "de"), _value(rest, "de") if rest else 0)


def _of_french(match: re.Match[str]) -> str:
    hour = _value(match["hour"] or match["at"] or match["from"], "fr")
    return _clock(hour, _PARTS[match["words"]] if match["words"] else int(match["rest"] or 0))


def _of_spanish(match: re.Match[str]) -> str:
    words = match["words"] or ""
    minutes = _PARTS.get(words) or (_value(words.removeprefix("y "), "es") if words else 0)
    return _clock(_value(match["hour"], "es"), minutes)


def _of_counted(match: re.Match[str], language: str) -> str:
    return str(_OF_WORD[language][match["number"]])


@cache
def _writers() -> Mapping[re.Pattern[str], Callable[[re.Match[str]], str]]:
    """Return who writes what each pattern finds; most processes never read such a text."""
    writers: dict[str, Callable[[re.Match[str]], str]] = {
        _GERMAN: _of_german,
        _FRENCH: _of_french,
        _SPANISH: _of_spanish,
        **{pattern: partial(_of_counted, language=lang) for lang, pattern in _COUNTED.items()},
    }
    return {re.compile(pattern): writer for pattern, writer in writers.items()}
