"""Say every sentence of the code to a person, by its key in `zh.toml` and `en.toml`."""

import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent.texts.language import Language, fill

__all__ = ["LANGUAGES", "has", "say", "table"]

LANGUAGES: tuple[Language, ...] = ("zh", "en")


def say(key: str, language: Language, /, **values: object) -> str:
    """Return the text of a dotted key, such as `gaps.web`, with the values in its {placeholders}.

    Raise KeyError where there is no such key.
    """
    return fill(_TEXTS[language][key], {name: str(value) for name, value in values.items()})


def has(key: str) -> bool:
    """Tell a key that has a text from one that comes from elsewhere, such as an error's code."""
    return key in _TEXTS["en"]


def table(name: str, language: Language) -> dict[str, str]:
    """Return the texts of a table by their keys, those of the tables in it by dotted ones."""
    begin = f"{name}."
    texts = _TEXTS[language].items()
    return {key.removeprefix(begin): text for key, text in texts if key.startswith(begin)}


def _load(language: Language) -> dict[str, str]:
    """Read with the package: an async node must not read files."""
    text = (Path(__file__).parent / f"{language}.toml").read_text("utf-8")
    return dict(_texts(tomllib.loads(text)))


def _texts(tables: Mapping[str, Any], begin: str = "") -> Iterator[tuple[str, str]]:
    """Yield each text with its dotted key."""
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from _texts(value, f"{begin}{name}.")
        else:
            yield f"{begin}{name}", value


_TEXTS = {language: _load(language) for language in LANGUAGES}
