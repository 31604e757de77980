"""Define the input of every export, one finished answer, and word its facts."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo
from typing import Any, Final, TypeVar

from agent.core.strings import cut_at_break
from agent.evidence.demand_words import signed_verdicts, verdicts_asked
from agent.evidence.geo import decimal_text
from agent.evidence.names import origins_of, titled_name
from agent.evidence.records import (
    cost_text,
    hours_text,
    maps_of,
    owners,
    reach_texts,
    time_there,
)
from agent.evidence.references import CITATION
from agent.evidence.types import Outing, Place, Route, Source
from agent.evidence.zones import CHINA
from agent.texts import Language, say

_TITLE = "# "
WIDE = ("zh", "zh-Hant", "ja")
"""Languages without blanks between words, whose quotation marks and dashes are wide."""


@dataclass(frozen=True)
class FinishedAnswer:
    """Hold a finished answer; `answer` is Markdown with citations `[n](url)` and gaps."""

    question: str
    answer: str
    language: Language
    generated_at: str
    """ISO 8601, UTC."""
    sources: list[Source] = field(default_factory=list)
    places: list[Place] = field(default_factory=list)
    routes: list[Route] = field(default_factory=list)
    notice: str = ""
    """Printed first where the answer rests on sample data."""
    search_entry_points: list[str] = field(default_factory=list)
    """Google's search suggestions (HTML), shown unmodified and fenced off."""
    geojson: dict[str, Any] | None = None
    outing: Outing | None = None
    """The planned day, where the answer has one."""
    statements: list[dict[str, Any]] = field(default_factory=list)
    """What was found of sentences, as `checks.statements` of the message lists them."""
    photo_hosts: Sequence[str] = ()
    """From where a page may load photos of places; without any it shows none."""
    claims: Mapping[str, int] = field(default_factory=dict)
    """How many sentences there are of each verdict, as `checks.claims` counts them."""
    clock: tzinfo = CHINA
    """On which an answer without places says when it was found: the turn's."""


def numbered_sources(answer: FinishedAnswer) -> list[tuple[int, Source]]:
    """Return the sources with the numbers that cite them, their places where they have none."""
    return [
        (source.get("number") or index, source)
        for index, source in enumerate(answer.sources, start=1)
    ]


def subtitle(answer: FinishedAnswer) -> str:
    """Return when the answer was found, and that it is no live data where it is a sample.

    Below a report's own title the question stands before that.
    """
    asked = " ".join(answer.question.split()) if own_title(answer) else ""
    when = time_there(answer.generated_at, answer.places, answer.language, answer.clock)
    return " · ".join(filter(None, (asked, when, sample_remark(answer))))


def sample_remark(answer: FinishedAnswer) -> str:
    """Return in a few words that an answer is of the sample; nothing of another one."""
    return say("page.notice.offline", answer.language) if answer.notice else ""


def file_title(answer: FinishedAnswer) -> str:
    """Return what a file is called: a report by its own title, another answer by the question."""
    return own_title(answer) or " ".join(answer.question.split())


def own_title(answer: FinishedAnswer) -> str:
    """Return the title that a report begins with, if it does not only repeat the question.

    Of several headings of the first rank none is a title.
    """
    text = without_notice(answer.answer, answer.notice)
    first = without_title(text, answer.question).partition("\n")[0]
    words = CITATION.sub("", first.removeprefix(_TITLE)).replace("*", "").replace("`", "")
    is_title = first.startswith(_TITLE) and f"\n{_TITLE}" not in text
    return " ".join(words.split()) if is_title else ""


def statement_line(answer: FinishedAnswer) -> str:
    """Return "18 statements: 16 with the source's words · 1 calculated · 1 without a source".

    Empty where nothing was checked, and where nothing but code's own words was said. Since
    version 2 of the counts it is "11 of 12 statements found in the sources; 1 could not be found".
    """
    if answer.claims.get("version", 1) > 1:
        return _compared_line(answer)
    claims, language = Counter(dict(answer.claims)), answer.language
    contradicted = sum(row["verdict"] == "contradicted" for row in answer.statements)
    counts = {
        "borne": claims["quoted"] + claims["rematched"] + claims["attached"],
        "computed": claims["computed"],
        "repaired": claims["repaired"],
        "own": claims["own"],
        "unchecked": claims["unchecked"],
        "contradicted": contradicted,
        "marked": claims["marked"] - contradicted,
    }
    parts = [say(f"export.statements.{kind}", language, n=n) for kind, n in counts.items() if n > 0]
    if not any(n for kind, n in counts.items() if kind != "own"):
        return ""
    return say("export.statements.total", language, n=claims["total"], parts=" · ".join(parts))


_COMPARED = ("computed", "revised", "contradicted", "marked", "unchecked", "late")


def _compared_line(answer: FinishedAnswer) -> str:
    claims, language = Counter(dict(answer.claims)), answer.language
    claims["contradicted"] = sum(row["verdict"] == "contradicted" for row in answer.statements)
    claims["marked"] -= claims["contradicted"]
    total = claims["total"] - claims["own"]
    if total <= 0:
        return ""
    if claims["unchecked"] == total:
        key = "none_in_time" if claims["late"] == total else "none"
        return say(f"export.compared.{key}", language, total=total)
    claims["unchecked"] -= claims["late"]
    parts = [say("export.compared.supported", language, n=claims["supported"], total=total)]
    parts += [say(f"export.compared.{kind}", language, n=claims[kind])
              for kind in _COMPARED if claims[kind] > 0]  # fmt: skip
    return say("punctuation.semicolon", language).join(parts)


@dataclass(frozen=True)
class CheckedSentence:
    """A sentence that a source corrects, as plain text, and what the source has."""

    text: str
    verdict: str
    """With the words that say otherwise; the passage where these are not known."""
    cited: int = 0
    """The number of the source that says so; 0 where it has none."""
    url: str = ""


def checked_sentences(answer: FinishedAnswer) -> list[CheckedSentence]:
    """Return each sentence that a source corrects, with its words.

    Of a map's record these are the few that decide: its row is for models to read.
    """
    known = {source["id"]: source for source in answer.sources}
    of_maps = {source["id"] for source in answer.sources if source["kind"] == "place"}
    found: list[CheckedSentence] = []
    for row in answer.statements:
        is_told = row.get("says") or (row.get("quote") and row.get("source") not in of_maps)
        if row["verdict"] in _CORRECTED and is_told:
            text = _LINK.sub("", answer.answer[row["start"] : row["end"]])
            source = known.get(row.get("source") or "")
            cited, url = (source.get("number") or 0, source["url"]) if source else (0, "")
            words = row.get("says") or _passage(row["quote"], source)
            verdict = say(f"export.checked.{row['verdict']}", answer.language, quote=words)
            text = " ".join(text.replace("**", "").split())
            found.append(CheckedSentence(text, verdict, cited, url))
    return found


def _passage(begun: str, source: Source | None) -> str:
    """Return a passage; a message of many statements keeps its beginning alone."""
    quotes = source["quotes"] if source else []
    whole = next((quote for quote in quotes if begun in quote), begun)
    return cut_at_break(whole[whole.find(begun) :], PRINTED)


PRINTED = 220
"""Characters of a passage."""
PRINTED_QUOTES = 2
"""Of a source; an old message keeps as many, so that its files stay what they were."""
_CORRECTED = ("repaired", "contradicted", "revised")
_LINK = re.compile(rf"\s?{CITATION.pattern}")


P = TypeVar("P", bound=Mapping[str, Any])


def by_mention(places: Sequence[P]) -> list[P]:
    """Return those the answer names first; otherwise in the order they were found."""
    return sorted(places, key=lambda place: not place.get("mentioned"))


def without_notice(answer: str, notice: str) -> str:
    """Return the answer without the notice that its quoted first line begins with."""
    return answer.removeprefix(f"> {notice}").lstrip() if notice else answer


def without_title(answer: str, question: str) -> str:
    """Return the answer without a first heading that only repeats the question."""
    first, _, rest = answer.partition("\n")
    heading, words = (text.rstrip("?？。.!！ ").split() for text in (first[2:], question))
    repeats = first.startswith("# ") and heading == words
    return rest.lstrip("\n") if repeats else answer


def metres(value: float | None, language: Language) -> str:
    """Return "350 m", "1.2 km" or "1,2 km", "12 km"; "" for None."""
    if value is None:
        return ""
    if value < 1000:
        return say("records.m", language, n=round(value))
    kilometres = value / 1000
    if kilometres < 10:
        return say("records.km", language, n=decimal_text(f"{kilometres:.1f}", language))
    return say("records.km", language, n=f"{round(kilometres):,}")


def rating(place: Place, language: Language) -> str:
    """Return "4.5" or "4,5"; "" where there is none."""
    return "" if place["rating"] is None else decimal_text(f"{place['rating']:g}", language)


def place_columns(places: Sequence[Place]) -> list[str]:
    """Return the keys of a table of places: of what at least one of them has."""
    price = ["price"] if any(place["cost"] is not None for place in places) else []
    others = ("distance", "rating", *price, "hours", "address", "demands")
    told = [key for key in others if any(place_cell(key, one, places, "en") for one in places)]
    return ["name", *told]


def column_title(key: str, places: Sequence[Place], language: Language) -> str:
    """Return the head of a column; from where all distances are, it says once."""
    if key == "distance" and (origin := _only_origin(places, language)):
        return say("export.distance_from", language, origin=origin)
    return say(f"export.{key}", language)


def place_cell(key: str, place: Place, places: Sequence[Place], language: Language) -> str:
    """Return what a table of `places` says of one of them in a column."""
    if key == "distance":
        is_bare = _only_origin(places, language) and not {"walk_m", "detour_m"} & place.keys()
        far = [metres(place["distance_m"], language)] if is_bare else reach_texts(place, language)
        return " · ".join(far)
    if key == "demands":
        return " · ".join(signed_verdicts(verdicts_asked(place)))
    cells: Mapping[str, Callable[[], str]] = {
        "name": lambda: titled_name(place, language),
        "rating": lambda: rating(place, language),
        "price": lambda: cost_text(place, language) or say("export.unknown", language),
        "hours": lambda: hours_text(place, language),
        "address": lambda: place["address"] or "",
    }
    return cells[key]()


def _only_origin(places: Sequence[Place], language: Language) -> str:
    """Return the one place that all distances are from; empty where there are several, or none."""
    told = (each for place in places for each in origins_of(place, language))
    origins = {origin for origin, far in told if far is not None}
    return origins.pop() if len(origins) == 1 else ""


def credit(places: list[Place], language: Language) -> str:
    """Return the credit line of a list of places: whose data, and from when; "" without places."""
    if not places:
        return ""
    newest = max(place["fetched_at"] for place in places)
    maps, time = owners(maps_of(places), language), time_there(newest, places, language)
    return say("answer.map_data", language, maps=maps, time=time)


def credit_left(answer: FinishedAnswer) -> str:
    """Return the credit line of an answer's places; empty where the answer itself has one."""
    language, maps = answer.language, maps_of(answer.places)
    begin = say("answer.map_data", language, maps="\n", time="").partition("\n")[0]
    # It may name the owners of ways and forecasts, too.
    told = (line for line in answer.answer.splitlines() if begin in line)
    is_told = any(all(owners([one], language) in line for one in maps) for line in told)
    return "" if is_told else credit(answer.places, language)


_WIDEST: Final = 40
"""Characters of a cell that are counted."""
_WORDS: Final = re.compile(r"[^\s\u2e80-\uabff\ud7b0-\U0010ffff]+|\S")
"""What no line parts: a word, a figure, a time; of a script without blanks a character."""
_MOST_READ: Final = 2000
_SHORT: Final = 6
"""Room in wide characters of a cell that stays on one line, and that a word is given whole."""
_MOST_WHOLE: Final = 10


def column_widths(
    rows: Sequence[Sequence[str]], width: float, measure: Callable[[str], float], padding: float
) -> list[float]:
    """Return the columns' widths by what stands in them, which add up to `width`.

    `measure` returns a text's own width; `padding` is that of both sides of a cell together. Short
    cells, and words, stay whole; where there is no room for that, the widest columns give way.
    """
    wide = measure("字")
    least = [padding + wide for _ in rows[0]]
    longest = least[:]
    for row in rows:
        for column, text in enumerate(row[: len(least)]):
            whole = measure(text[:_WIDEST])
            is_short = len(text) <= _WIDEST and whole <= _SHORT * wide
            words = [text] if is_short else set(_WORDS.findall(text[:_MOST_READ]))
            word = min(max(map(measure, words), default=0.0), _MOST_WHOLE * wide)
            least[column] = max(least[column], word + padding)
            longest[column] = max(longest[column], whole + padding, word + padding)
    spare = width - sum(least)
    if spare < 0:
        return _levelled(least, width)
    more = [most - own + 1 for own, most in zip(least, longest, strict=True)]
    return [own + spare * each / sum(more) for own, each in zip(least, more, strict=True)]


def _levelled(widths: Sequence[float], width: float) -> list[float]:
    """Return widths of which the largest are cut to one, so that they add up to `width`."""
    level, left = width, width
    for at, each in enumerate(sorted(widths)):
        level = left / (len(widths) - at)
        if each > level:
            break
        left -= each
    return [min(each, level) for each in widths]
