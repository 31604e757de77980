"""Tell what became of a question's demands on places: at each of them, or once for all."""

from collections.abc import Iterable, Sequence

from agent.evidence.types import Place, PlaceVerdict
from agent.texts import Language, say


def verdicts_told(place: Place) -> list[PlaceVerdict]:
    """Return the verdicts that a reader is told.

    Of its kind only that it is another one; what no field could tell is for the text to say. One
    that rests on the name says so itself.
    """
    return [
        verdict
        for verdict in place.get("verdicts", [])
        if verdict["verdict"] == "violated"
        or (verdict["constraint"] != "kind" and verdict["field"])
    ]


def verdicts_asked(place: Place) -> list[PlaceVerdict]:
    """Return what a table of places says of one's demands: what was asked for, known or not."""
    told = verdicts_told(place)
    return [v for v in place.get("verdicts", []) if v in told or v["constraint"] == "other"]


def unknown_to_all(places: Sequence[Place]) -> list[str]:
    """Return the verdicts on demands of which no record of several places could tell: "quiet".

    Each was put to all of these places: what is said once of a list holds for all that is in it.
    """
    texts = [[v["text"] for v in place.get("verdicts", [])] for place in places]
    return [text for text in unknown_where_asked(places) if all(text in own for own in texts)]


def unknown_where_asked(places: Sequence[Place]) -> list[str]:
    """Return the same of demands that were put to some alone, as other kinds were looked for."""
    every = [place.get("verdicts", []) for place in places]
    unknown = {v["text"]: v["constraint"] for own in every for v in own
               if v["verdict"] == "unknown"}  # fmt: skip
    asked = {
        text: [own for own in every if any(v["constraint"] == constraint for v in own)]
        for text, constraint in unknown.items()
    }
    return [
        text
        for text, owns in asked.items()
        if len(owns) > 1 and all(any(v["text"] == text for v in own) for own in owns)
    ]


def is_news(verdict: PlaceVerdict) -> bool:
    """Return whether a verdict says more than the place's kind, which stands in its line."""
    return (verdict["constraint"], verdict["verdict"]) != ("kind", "satisfied")


def verdict_marks(verdicts: Iterable[PlaceVerdict], language: Language) -> list[str]:
    """Return whether each is met, not met or not known, in words."""
    return [say(f"constraints.marks.{v['verdict']}", language, text=v["text"]) for v in verdicts]


_SIGNS = {"satisfied": "✓", "violated": "✗", "unknown": "?"}


def signed_verdicts(verdicts: Iterable[PlaceVerdict]) -> list[str]:
    """Return the same with signs, as the page draws them."""
    return [f"{_SIGNS[verdict['verdict']]} {verdict['text']}" for verdict in verdicts]


def access_text(place: Place, language: Language) -> str:
    """Return what a record has against the way in, or says of it and of the toilets.

    That one gets in stands beside the place's kind; a verdict on it says the rest.
    """
    parts = list[str]()
    is_judged = any(each["field"] == "wheelchair" for each in place.get("verdicts", []))
    if (access := place.get("wheelchair")) and not is_judged:
        parts.append(say(f"constraints.wheelchair.{access}", language))
    if words := place.get("access"):
        parts.append(f"“{words}”")
    if toilets := place.get("toilets"):
        parts.append(say(f"records.toilets.{toilets}", language))
    return say("punctuation.comma", language).join(parts)
