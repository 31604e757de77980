"""Detect a text's language of the two, and fill fixed texts with their values."""

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
    """Return `zh` if Chinese carries at least half of the text, else `en`.

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


def fill(text: str, values: Mapping[str, str]) -> str:
    """Return the text with its `{name}`s replaced; other braces and those in values stay."""
    return _PLACEHOLDER.sub(lambda match: values.get(match[1], match[0]), text)


def count_noun(count: int, one: str, many: str = "") -> str:
    """Return an English noun with its number: `1 search`, `2 searches`; `many` defaults to an s."""
    return f"{count} {one if count == 1 else many or one + 's'}"
