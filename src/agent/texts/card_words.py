"""What a page needs to word an answer's places, ways and forecasts in the answer's language."""

from typing import Any

from agent.texts import LANGUAGES, Language, say, table

_CARD, _MODES = "page.place_card", "records.modes"
_SAID_AS = {
    "export.far": "records.far",
    "export.cost": "export.cost",
    **{
        f"records.{name}": f"records.{name}"
        for name in (
            "free",
            "price",
            "per_night",
            "m",
            "km",
            "middle_of",
            "minutes",
            "walk",
            "detour",
            "detour_on_foot",
        )
    },
    "punctuation.decimal": "punctuation.decimal",
    **{f"{_CARD}.{name}": f"export.{name}" for name in ("address", "demands", "hours", "sources")},
}
"""Texts of the page, by its keys, that other texts have in the languages of answers."""


def spoken_fields(language: Language) -> dict[str, Any]:
    """Return `language` of an answer; where the page has none in it, texts by its keys: `words`."""
    if language in LANGUAGES:
        return {"language": language}
    own = table(_CARD, language).items() - table(_CARD, "en").items()
    words = {f"{_CARD}.{name}": text for name, text in sorted(own)}
    words |= {key: say(text, language) for key, text in _SAID_AS.items()}
    words |= {f"{_MODES}.{mode}": text for mode, text in table(_MODES, language).items()}
    words["page.map_records.degrees"] = "{low}–{high} °C"
    return {"language": language, "words": words}
