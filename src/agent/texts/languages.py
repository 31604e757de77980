"""The language an answer is written in, as prompts name it: any that a model can write."""

import re
from collections.abc import Iterable
from typing import cast

from agent.core.strings import cut_at_break
from agent.texts import OF_ANSWERS, Language, detect_language

TAG = re.compile(r"[A-Za-z]{2,3}(?:-[A-Za-z0-9]{2,8}){0,3}")
"""A BCP-47 tag of the usual kind: language, script, region."""
_NAMES = {
    "zh": "Simplified Chinese", "zh-hans": "Simplified Chinese", "zh-cn": "Simplified Chinese",
    "zh-hant": "Traditional Chinese", "zh-tw": "Traditional Chinese",
    "zh-hk": "Traditional Chinese", "en": "English", "ja": "Japanese", "ko": "Korean",
    "de": "German", "fr": "French", "es": "Spanish", "pt": "Portuguese", "it": "Italian",
    "nl": "Dutch", "pl": "Polish", "ru": "Russian", "uk": "Ukrainian", "tr": "Turkish",
    "ar": "Arabic", "he": "Hebrew", "hi": "Hindi", "th": "Thai", "vi": "Vietnamese",
    "id": "Indonesian", "fi": "Finnish", "sv": "Swedish", "da": "Danish", "nb": "Norwegian",
    "no": "Norwegian", "cs": "Czech", "hu": "Hungarian", "el": "Greek", "ro": "Romanian",
}  # fmt: skip
"""Tags in lower case. A tag that is not here says enough by itself."""
_HAN = ("\u3400", "\u9fff")
_SCRIPTS = {
    "ja": (("\u3040", "\u30ff"), ("\u31f0", "\u31ff")),
    "ko": (("\u1100", "\u11ff"), ("\uac00", "\ud7af")),
    "th": (("\u0e00", "\u0e7f"),),
    "he": (("\u0590", "\u05ff"),),
}
"""First and last letters of scripts that one language alone is written in, near enough."""
_WRITTEN = {**_SCRIPTS, "zh": (_HAN,), "ja": (*_SCRIPTS["ja"], _HAN)}
_TRADITIONAL = frozenset(
    "們來時會說國學對發經點過還樣麼嗎車東門開關後現實樓館這裡請問個為從當與無長間電話見書"
    "買賣錢價張號區縣鄉鎮橋飯麵館廳園場遊覽訂陽陰灣臺灣廣馬龍風飛機鐵線總統應該讓給點鐘"
)
_TRADITIONAL_TAGS = frozenset({"hant", "tw", "hk", "mo"})
_MOST_QUOTED = 120


def language_of_setting(tag: str, question: str) -> Language:
    """Return the language of code's own sentences for `answer_language` and a question."""
    if tag == "auto":
        language = detect_language(question)
        return "zh-Hant" if language == "zh" and _TRADITIONAL & set(question) else language
    primary, *others = tag.lower().split("-")
    if primary != "zh":
        return "en"
    is_traditional = _TRADITIONAL_TAGS & set(others) and "hans" not in others
    return "zh-Hant" if is_traditional else "zh"


def language_of_answer(tag: str, question: str) -> Language:
    """Return the language of code's sentences in an answer, for a tag or for `auto`."""
    if tag == "auto":
        tag = _script_of(question) or tag
    primary = cast(Language, tag.split("-")[0].lower())
    return primary if primary in OF_ANSWERS else language_of_setting(tag, question)


def is_tag(tag: str, text: str) -> bool:
    """Return whether a model's word for the language of a text is a tag that may be its own."""
    return bool(TAG.fullmatch(tag)) and may_be(tag, text)


def may_be(tag: str, text: str) -> bool:
    """Return whether a text can be in the language of a tag, by its letters.

    A small model reads an English question as `zh-hk`. A text without letters can be in any.
    """
    primary, *others = tag.lower().split("-")
    if "latn" in others or not any(map(str.isalpha, text)):
        return True
    if spans := _WRITTEN.get(primary):
        return any(_is_of(char, spans) for char in text)
    return any(char.isalpha() and not _is_of(char, (_HAN,)) for char in text)


def _script_of(text: str) -> str:
    """Return the language whose script stands in a text; empty where none does."""
    by_spans = (tag for tag, spans in _SCRIPTS.items() if any(_is_of(char, spans) for char in text))
    return next(by_spans, "")


def _is_of(char: str, spans: Iterable[tuple[str, str]]) -> bool:
    return any(first <= char <= last for first, last in spans)


def language_name(tag: str) -> str:
    """Return how a prompt names the language of a tag: `Japanese (ja)`, `zh-Latn`."""
    name = _NAMES.get(tag.lower())
    return f"{name} ({tag})" if name else tag


def named_language(question: str) -> str:
    """Return how a prompt names the language of a question: by its script, else by itself.

    Latin, Cyrillic and Arabic letters are written in many languages; a model tells them apart.
    """
    if tag := _script_of(question):
        return language_name(tag)
    if (language := language_of_setting("auto", question)) != "en":
        return language_name(language)
    quoted = cut_at_break(" ".join(question.split()), _MOST_QUOTED)
    return f"the language of “{quoted}”"
