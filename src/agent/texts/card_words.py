"""The words around a place's facts, for a page that has no texts in the language of an answer."""

from typing import Any

from agent.texts import OF_ANSWERS, Language, say, table

_CARD = "page.place_card"
_SAID_AS = {
    "export.far": "records.far",
    "export.cost": "export.cost",
    **{f"records.{name}": f"records.{name}" for name in ("free", "price", "per_night")},
    **{f"{_CARD}.{name}": f"export.{name}" for name in ("address", "demands", "hours", "sources")},
}
"""Texts of the page, by its keys, that other texts have in the languages of answers."""


def card_words(language: Language) -> dict[str, Any]:
    """Return `words` of an answer: texts by the page's keys, where its own are in others."""
    if language not in OF_ANSWERS:
        return {}
    own = table(_CARD, language).items() - table(_CARD, "en").items()
    words = {f"{_CARD}.{name}": text for name, text in sorted(own)}
    return {"words": words | {key: say(text, language) for key, text in _SAID_AS.items()}}
