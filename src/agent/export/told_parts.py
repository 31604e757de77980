"""Tell what of a bullet the card of its place says: the name, and all else where it is facts.

Where it stays, the card leaves out what it says.
"""

import re
from collections.abc import Callable, Collection, Iterator, Sequence

from agent.evidence.hours import EVERY_DAY, yearly_hours
from agent.evidence.mentions import without_branch
from agent.evidence.types import Place
from agent.evidence.units import UNITS
from agent.export.finished import metres, rating

CITED, SIGN = "\x01", "\x02"
"""What stands for each character of a citation, and for a sign that a sentence is not borne out."""
_BRACKETS = re.compile(r"[(（][^()（）]{1,80}[)）](\s?[:：,，;；—–-]\s*)")
_SCRIPTS = r"\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff"
"""Thai, Lao, Burmese, Khmer, Japanese and Chinese."""
# A run of blanks or digits is read from its beginning only.
_BETWEEN = re.compile(
    r"(?:(?<!\s)\s+)?(?:[,;](?=\s|$)|[，、；。·،؛]|\s[—–-]\s|(?<![Mm]in)\.(?=\s|\x01|$))\s*"
)
_OF_LENGTH = {
    word: {1: "m", 1000: "km"}[int(factor)]
    for word, (kind, factor) in UNITS.items()
    if kind == UNITS["km"][0] and factor in (1, 1000)
}
_LENGTHS = "|".join(map(re.escape, sorted(_OF_LENGTH, key=len, reverse=True)))
_LENGTH = re.compile(rf"(?<![\d.])(\d+(?:[.,]\d+)?)\s?({_LENGTHS})(?![^\W\d_{_SCRIPTS}])")
_STARS = re.compile(
    r"★\s?(\d(?:[.,]\d)?)|(\d(?:[.,]\d)?)\s?(?:分|stars?)|(?<![\d.,¥￥])(\d[.,]\d)(?!\s?[\w.%])",
    re.IGNORECASE,
)
_MINUTES = re.compile(
    r"(?<!\d)(\d{1,3})\s?(?:分[钟鐘]?|min\w*\.?|мин\w*\.?|분|دقيقة|دقائق)", re.IGNORECASE
)
_PRICE = re.compile(r"[¥￥]\s?(\d+)|(?<!\d)(\d+)\s?(?:元|yuan)", re.IGNORECASE)
_HOURS = re.compile(r"\d?\d:\d\d\s?[-–~]\s?(?:次日)?\d?\d:\d\d")
_OWN_WORDS = re.compile(r"[^\d(（]*[^\W\d_]\s?[(（]")
"""Words before brackets that have all the told facts say something themselves."""
_MOST_LETTERS, _MOST_WORDS = 8, 4
"""Beyond these a clause says more: letters of scripts without blanks, words of others."""
_NAME_END = " \t\n\u3000,，:：;；·،—–-"
_ALIAS = re.compile(r"\s?[(（]((?:[^()（）]|[(（][^()（）]{1,60}[)）]){1,80})[)）]")
_UNSPACED, _WORD = re.compile(f"[{_SCRIPTS}]"), re.compile(rf"[^\W\d_{_SCRIPTS}]+")
_LETTERS = re.compile(r"[^\W_]+")
_MOST_BEFORE, _MOST_TIME = 6, 24
"""Characters before a bullet's name, and such as tell when one is there."""
Span = tuple[int, int]


def told_parts(
    text: str, place: Place, name: Span | None, facts: Collection[str] = ()
) -> list[Span]:
    """Return the parts of a bullet's text that its card says: its name, and all else or nothing.

    `name` is where it stands, at the front; what is said before it stays, as when one is there. A
    name before a verb stays, too: "Ateneum replaces the museum". What is behind it goes where each
    of its clauses is a fact of the record, or stands in one of the card's `facts`: half a sentence
    says something else than its writer did.
    """
    if name and _goes_on(text[name[1] :]):
        name = None
    at, name_end = name or (0, 0)
    # The name in the other language may stand behind, in brackets.
    alias = _ALIAS.match(text, name_end) if name else None
    name_end = alias.end() if alias and is_name(alias[1], place) else name_end
    begin = name_end + (
        len(text[name_end:]) - len(text[name_end:].lstrip(_NAME_END)) if name else 0
    )
    parts = [(at if says_something(text[:at]) else 0, begin)] if begin else []
    ends = [span for span in _joints(text, begin) if span[0] >= begin]
    at = told = begin
    for end, following in [*ends, (len(text), len(text))]:
        clause = text[at:end].rstrip().rstrip(CITED)
        if _is_told(clause, place, facts):
            told = at + len(clause)
        elif any(sign.isalnum() or sign == SIGN for sign in clause):
            return parts
        at = following
    return [*parts, (begin, told)] if told > begin else parts


def _is_told(clause: str, place: Place, facts: Collection[str]) -> bool:
    """Return whether a clause is a fact of a record, or stands in one that its card tells."""
    plain = _plain(clause)
    return bool(plain) and (
        _says_only_facts(clause, place)
        or any(
            plain in _plain(fact) and not re.search(rf"{re.escape(plain)}\d", _plain(fact))
            for fact in facts
        )
    )


def said_fields(text: str, place: Place, reach: Sequence[str], price: str) -> list[str]:
    """Return which fields a bullet says itself, so that its card needs not: all of one, or none.

    `reach` is how the card tells the ways there, `price` what it costs.
    """
    lengths, minutes, plain = _lengths_in(text), _minutes_in(text), _plain(text)
    clocks = {*map(_plain, _HOURS.findall(text))}
    weekly = yearly_hours(place) or ()
    every_day = len(weekly) == 1 and {*weekly[0].days} == EVERY_DAY
    hours = [told for told in _own_hours(place) if told]
    is_said = {
        "distance": bool(reach)
        and all(
            _lengths_in(way) <= lengths and _minutes_in(way) <= minutes and _lengths_in(way)
            for way in reach
        ),
        "rating": place["rating"] is not None
        and rating(place, "en")
        in {_point(each[each.lastindex or 0]) for each in _STARS.finditer(text)},
        "cost": bool(price)
        and (
            _plain(price) in plain
            or place["cost"] in {float(each[1] or each[2]) for each in _PRICE.finditer(text)}
        ),
        "hours": any(
            _plain(told) in plain or (every_day and {*_HOURS.findall(_plain(told))} & clocks)
            for told in hours
        ),
    }
    return [field for field, said in is_said.items() if said]


def _lengths_in(text: str) -> set[str]:
    return {_point(each[1]) + _OF_LENGTH[each[2]] for each in _LENGTH.finditer(text)}


def _minutes_in(text: str) -> set[int]:
    return {int(each[1]) for each in _MINUTES.finditer(text)}


def _joints(text: str, begin: int) -> Iterator[Span]:
    """Yield where clauses are joined: not within brackets, nor where a label has its value.

    Brackets at the beginning are a clause, where a sign follows them: "(81 m): quiet".
    """
    front = _BRACKETS.match(text, begin)
    if front:
        yield front.span(1)
    depth, at = 0, front.end() if front else 0
    for found in _BETWEEN.finditer(text, at):
        before = text[at : found.start()]
        depth += sum(map(before.count, "(（")) - sum(map(before.count, ")）"))
        at, depth = found.start(), max(depth, 0)
        if not depth:
            yield found.span()


def _goes_on(text: str) -> bool:
    """Return whether what follows a name, or its brackets, is the rest of a sentence about it."""
    inside = _ALIAS.match(text)
    rest = text[inside.end() :] if inside else text
    return rest[:1] == " " and rest[1:2].islower()


def says_something(words: str) -> bool:
    """Return whether words or a time stand there, not only a bullet's number."""
    times = zip(words, words[1:], words[2:], strict=False)
    is_time = any(a.isdigit() and colon == ":" and b.isdigit() for a, colon, b in times)
    return is_time or any(sign.isalpha() for sign in words)


def name_in(text: str, place: Place, head: str = "") -> Span | None:
    """Return where a bullet names its place at the front: after a time, or a label ("lunch:").

    `head` is what it prints bold: of a name some words may do. In "from the station to Harald" the
    name is of the sentence.
    """
    found, part = list[Span](), " " in head.strip() and is_name(head, place)
    for name in (*_names(place), head if part else ""):
        at = text.find(name) if name else -1
        before = text[: max(at, 0)].rstrip()
        is_label = at <= _MOST_BEFORE and before.endswith((":", "："))
        is_timed = at <= _MOST_TIME and not any(sign.isalpha() for sign in before)
        if name and at >= 0 and (is_label or is_timed):
            found.append((at, at + len(name)))
    return min(found, key=lambda span: span[0], default=None)


def _names(place: Place) -> Iterator[str]:
    """Yield what a place is called: without its branch, too."""
    for name in filter(None, (place["name"], place.get("name_hant"), place.get("name_en"))):
        yield from (name, without_branch(name))


def _says_only_facts(clause: str, place: Place) -> bool:
    """Return whether a clause has facts that its card tells, and no more words than these take."""
    far, minutes = _ways(place)
    own_hours = [text for text in _own_hours(place) if text]
    hours, stars, count = _plain(" ".join(own_hours)), rating(place, "en"), 0

    def taken(is_same: Callable[[re.Match[str]], bool]) -> Callable[[re.Match[str]], str]:
        def replaced(found: re.Match[str]) -> str:
            nonlocal count
            count += is_same(found)
            return "" if is_same(found) else found[0]

        return replaced

    def length(found: re.Match[str]) -> str:
        return _point(found[1]) + _OF_LENGTH[found[2]]

    rest = _LENGTH.sub(taken(lambda found: length(found) in far), clause)
    rest = _MINUTES.sub(taken(lambda found: int(found[1]) in minutes), rest)
    for text in own_hours:
        count, rest = count + (text in rest), rest.replace(text, "", 1)
    rest = _HOURS.sub(taken(lambda found: _plain(found[0]) in hours), rest)
    rest = _STARS.sub(taken(lambda found: _point(found[found.lastindex or 0]) == stars), rest)
    rest = _PRICE.sub(taken(lambda found: float(found[1] or found[2]) == place["cost"]), rest)
    is_other = any(sign.isdigit() or sign in (CITED, SIGN) for sign in rest)
    is_other = is_other or bool(_OWN_WORDS.match(clause))
    letters, words = len(_UNSPACED.findall(rest)), len(_WORD.findall(rest))
    return count > 0 and not is_other and letters <= _MOST_LETTERS and words <= _MOST_WORDS


def _own_hours(place: Place) -> tuple[str | None, ...]:
    return place["open_time"], place.get("open_time_en"), place.get("hours")


def _ways(place: Place) -> tuple[set[str], set[int]]:
    """Return the lengths and the minutes of ways to a place that its card tells."""
    further = [each["metres"] for each in place.get("further", [])]
    # The straight line is no second figure beside the way.
    lengths = [place["distance_m"], place.get("walk_m"), *further, place.get("detour_m")]
    far = {metres(each, "en").replace(" ", "").replace(",", "") for each in lengths}
    seconds = place.get("walk_s")
    return far, set() if seconds is None else {max(1, round(seconds / 60))}


def _point(figure: str) -> str:
    """Return a figure with a point before its decimals: "4,5" is 4.5."""
    return figure.replace(",", ".")


def _plain(hours: str) -> str:
    return hours.replace("–", "-").replace("~", "-").replace(" ", "")


def is_name(words: str, place: Place) -> bool:
    """Tell whether words are a place's name and nothing else."""
    called, rest = [*_names(place)], words
    names = (*called, place.get("name_pinyin", ""))
    for name in called:
        rest = rest.replace(name, "", 1)
    rest = re.sub(r"[(（][^)）]*[)）]", "", rest)
    known = set(_LETTERS.findall(" ".join(names).lower()))
    return bool(words.strip()) and known.issuperset(_LETTERS.findall(rest.lower()))
