"""Which of the two languages a text is in, and fixed texts of either with their values put in."""

import re
from collections.abc import Mapping
from typing import Literal

Language = Literal["zh", "en"]

_URL = re.compile(r"https?://[!-~]+")
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff]")
_KANA = re.compile(r"[\u3040-\u30ff\u31f0-\u31ff]")
_WORD = re.compile(r"[A-Za-zÀ-ɏ]+")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_HAN_PER_WORD = 1.5
_KANA_SHARE = 0.25


def detect_language(text: str) -> Language:
    """`zh` if Chinese carries at least half of the text, else `en`.

    One and a half Han characters weigh as much as one Latin word, so that names quoted in
    the other language do not decide. Text with kana is Japanese and answered in English.
    """
    plain = _URL.sub(" ", text)
    han = len(_HAN.findall(plain))
    if not han:
        return "en"
    if len(_KANA.findall(plain)) >= han * _KANA_SHARE:
        return "en"
    words = len(_WORD.findall(plain))
    return "zh" if han / _HAN_PER_WORD >= words else "en"


def filled(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its `{name}`s replaced; other braces and those in values stay."""
    return _PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), text)


def counted(count: int, one: str, many: str = "") -> str:
    """`1 search`, `2 searches`: an English noun with its number; by default `many` adds an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"
