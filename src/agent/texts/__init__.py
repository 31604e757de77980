"""Say every sentence of the code to a person, by its key in `zh.toml` and `en.toml`.

The language of a text, what an error means to the person who asked, and a run's progress in words
are here, too. An error's own text, with model names and HTTP statuses, is for logs and
`tanlu doctor`.
"""

import asyncio
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, Literal

from agent.core.errors import (
    AgentError,
    BudgetExceeded,
    ConfigurationError,
    KeyRefused,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
    StoreFailed,
    TimedOut,
    about_setting,
)
from agent.core.strings import has_han, one_line

Language = Literal["zh", "zh-Hant", "en", "ar", "de", "es", "fr", "ja", "ko", "ru"]
"""Of code's own sentences; those in traditional characters are made of `zh` by OpenCC.

Others than these three have a few, those of an answer; the rest is said in English.
"""

ADDRESS = re.compile(r"(?:\b\w{2,10}://|www\.)[!-~]{1,2000}")
"""Of a page, wherever it stands in a text."""
_SIGNS = re.compile(
    r"(?P<han>[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff])|(?P<kana>[\u3040-\u30ff\u31f0-\u31ff])"
    r"|(?P<word>[A-Za-zÀ-ɏ]+)"
)
_PLACEHOLDER = re.compile(r"\{(\w+)(?:\|([^{}]*))?\}")
_FEW = (2, 3, 4)
_HAN_PER_WORD = 1.5
_KANA_SHARE = 0.25


def detect_language(text: str) -> Language:
    """Return `zh` if Chinese carries at least half of the text, else `en`.

    One and a half Han characters weigh as much as one Latin word, so that names quoted in
    the other language do not decide. Text with kana is Japanese and answered in English.
    """
    plain = ADDRESS.sub(" ", text)
    if not has_han(plain):
        return "en"
    counts = Counter(sign.lastgroup for sign in _SIGNS.finditer(plain))
    if counts["kana"] >= counts["han"] * _KANA_SHARE:
        return "en"
    return "zh" if counts["han"] / _HAN_PER_WORD >= counts["word"] else "en"


def is_written_in(text: str, language: Language) -> bool:
    """Return whether a text is in the language, in whichever characters."""
    return detect_language(text) == ("zh" if is_chinese(language) else "en")


def is_chinese(language: Language) -> bool:
    """Return whether a map's Chinese words are its reader's own; all others get English ones."""
    return language in ("zh", "zh-Hant")


def reads_han(language: Language) -> bool:
    """Return whether a reader of the language reads a name in Chinese characters."""
    return is_chinese(language) or language == "ja"


def fill(text: str, values: Mapping[str, str], language: str) -> str:
    """Return the text with its values; other braces and those in values stay.

    `{n}` is replaced by the value, `{n|file|files}` by the form of a noun or verb that the
    language has beside that number. Russian has three: of 1, of 2 to 4, of 5 and more.
    """

    def value(match: re.Match[str]) -> str:
        name, forms = match[1], match[2]
        if name not in values:
            return match[0]
        return values[name] if forms is None else _form(forms.split("|"), values[name], language)

    return _PLACEHOLDER.sub(value, text)


def _form(forms: list[str], value: str, language: str) -> str:
    """Return the form beside a value; the last is that of large and of broken numbers."""
    digits = value.replace(",", "")
    if not digits.isascii() or not digits.isdecimal():
        return forms[-1]
    return forms[min(_index(int(digits), language), len(forms) - 1)]


def _index(count: int, language: str) -> int:
    if language == "ru":
        last = count % 10 if count % 100 // 10 != 1 else 0
        return 0 if last == 1 else 1 if last in _FEW else 2
    if language == "fr":
        return int(count > 1)
    return int(count != 1)


LANGUAGES: tuple[Language, ...] = ("zh", "en")
"""Those with all sentences, which are the page's, too."""
OF_ANSWERS: tuple[Language, ...] = ("ar", "de", "es", "fr", "ja", "ko", "ru")
"""Those with the sentences of an answer."""


def say(key: str, language: Language, /, **values: object) -> str:
    """Return the text of a dotted key, such as `gaps.web`, with the values in its {placeholders}.

    What it counts stands in the number of its count. Raise KeyError where there is no such key.
    """
    texts = {name: str(value) for name, value in values.items()}
    return fill(_texts_in(language)[key], texts, _spoken(key, language))


def counted(what: str, count: int, language: Language) -> str:
    """Return a noun of `[counted]` with its number: `1 file`, `2 files`."""
    return say(f"counted.{what}", language, n=count)


def _spoken(key: str, language: Language) -> Language:
    """Return the language that a text is in: English where the reader's own lacks it."""
    return "en" if language in _OWN and key not in _OWN[language] else language


def has_text(key: str) -> bool:
    """Tell a key that has a text from one that comes from elsewhere, such as an error's code."""
    return key in _TEXTS["en"]


def in_every_language(key: str) -> list[str]:
    """Return how a text reads in each language that has a file."""
    return [texts[key] for texts in _TEXTS.values()]


def table(name: str, language: Language) -> dict[str, str]:
    """Return the texts of a table by their keys, those of the tables in it by dotted ones."""
    begin = f"{name}."
    texts = _texts_in(language).items()
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


_OWN = {language: _load(language) for language in OF_ANSWERS}
_TEXTS = {language: _load(language) for language in LANGUAGES}
_TEXTS.update({language: {**_TEXTS["en"], **own} for language, own in _OWN.items()})


def _texts_in(language: Language) -> Mapping[str, str]:
    """Return the texts; those that no `prepare` has made on an event loop are simplified ones."""
    if language != "zh-Hant":
        return _TEXTS[language]
    is_made = _traditional.cache_info().currsize > 0
    return _traditional() if is_made or not _is_on_a_loop() else _TEXTS["zh"]


def _is_on_a_loop() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


async def prepare_language(language: Language) -> None:
    """Have the sentences of a language at hand: those that are made read files to be made."""
    if language == "zh-Hant":
        await asyncio.to_thread(_traditional)


def in_script(text: str, language: Language) -> str:
    """Return a record's Chinese words in the characters of a language, names included.

    As they are where no `prepare` has made the converter on an event loop.
    """
    if language != "zh-Hant" or not text:
        return text
    is_made = _names_converter.cache_info().currsize > 0
    return _names_converter()(text) if is_made or not _is_on_a_loop() else text


@cache
def _traditional() -> Mapping[str, str]:
    """Convert at the first reader of traditional characters; most processes have none."""
    from opencc import OpenCC

    convert: Callable[[str], str] = OpenCC("s2twp").convert
    _names_converter()
    return {key: convert(text) for key, text in _TEXTS["zh"].items()}


@cache
def _names_converter() -> Callable[[str], str]:
    """Return what changes characters alone: in a name no word becomes another."""
    from opencc import OpenCC

    return lru_cache(4096)(OpenCC("s2tw").convert)


_SAME = {
    "model_bad_request": "refused",
    "model_bad_call": "model_unusable",
    "model_schema": "model_unusable",
    "model_no_turn": "model_empty",
    "search_refused": "refused",
    "server_refused": "refused",
    "server_quota": "search_quota",
    "server_misconfigured": "search_misconfigured",
}
_BY_KIND: tuple[tuple[type[AgentError], str], ...] = (
    (ProviderUnavailable, "unavailable"),
    (RateLimited, "rate_limited"),
    (MalformedReply, "malformed"),
    (ProviderRefused, "refused"),
    (ConfigurationError, "configuration"),
)
_KEYS = {"model:google": "GEMINI_API_KEY", "google": "GEMINI_API_KEY",
         "model:openai": "OPENAI_API_KEY", "amap": "AMAP_MAPS_API_KEY"}  # fmt: skip

_ADDRESSES = {
    "model:google": "GOOGLE_GEMINI_BASE_URL",
    "google": "GOOGLE_GEMINI_BASE_URL",
    "model:openai": "OPENAI_BASE_URL",
}


REMEDY = " → "
"""Between a reason and what helps; the page has the same."""
_REMEDIES = {
    "unreachable": "network",
    "model_not_running": "server",
    "proxy": "network",
    "model_region": "network",
    "model_key_invalid": "key",
    "model_forbidden": "key",
    "search_key_invalid": "key",
    "model_quota": "quota",
    "model_quota_day": "quota",
    "search_quota": "search_quota",
    "web_page": "network",
    "model_address": "address",
    "model_redirect": "address",
    "search_misconfigured": "address",
}


def remedy_of(codes: Sequence[str], language: Language) -> str:
    """Return what helps where a run failed for these reasons; the first that tells decides."""
    kind = next((_REMEDIES[code] for code in codes if code in _REMEDIES), "other")
    return say(f"remedies.{kind}", language)


def reason_of(error: AgentError, language: Language) -> str:
    """Return why something failed and what to do about it, without a full stop."""
    key = _key(error)
    if isinstance(error, ConfigurationError) and key != "web_search" and not is_chinese(language):
        return problem_text(error, language).rstrip(".")
    return say(f"reasons.{key}", language, **_values(error, language)).rstrip("。.")


def problem_text(error: ConfigurationError, language: Language) -> str:
    """Return each setting and its fault; in English where the fault has no text of its own."""
    told = [_one_problem(one, language) for one in (error, *error.others)]
    return (say("punctuation.semicolon", language) if is_chinese(language) else " ").join(told)


def _one_problem(error: ConfigurationError, language: Language) -> str:
    if not has_text(f"faults.{error.fault}"):
        return str(error)
    fault = say(f"faults.{error.fault}", language, **error.values)
    if not is_chinese(language):
        return about_setting(error.name, fault)
    return f"{error.name}{say('punctuation.colon', language)}{fault}"


def stop_of(error: StoreFailed, language: Language) -> str:
    """Return why a run had to end, and what makes it go on."""
    return say("reasons.store_failed", language, name=error.name, problem=error.problem)


def _key(error: AgentError) -> str:
    """Return the key of the best wording: by the code, else by the kind of error."""
    if isinstance(error, ConfigurationError):
        return "web_search" if error.name == "web_search" else "configuration"
    if isinstance(error, BudgetExceeded) and not error.value:
        return "budget_none"
    if isinstance(error, TimedOut) and error.setting:
        return "timeout_of"
    code = _SAME.get(error.code, error.code)
    if has_text(f"reasons.{code}"):
        return code
    return next((key for kind, key in _BY_KIND if isinstance(error, kind)), "refused")


def _values(error: AgentError, language: Language) -> dict[str, str]:
    values = {part: say(f"reason_parts.{part}", language) for part in ("doctor", "who")}
    if isinstance(error, ConfigurationError):
        is_worded = has_text(f"faults.{error.fault}")
        fault = say(f"faults.{error.fault}", language, **error.values) if is_worded else ""
        # Without a text the problem is told in English.
        advice = fault or (values["doctor"] if is_chinese(language) else error.problem)
        return {**values, "variable": error.name, "advice": advice}
    if isinstance(error, BudgetExceeded):
        return {**values, "limit": f"{error.value:g}"}
    if isinstance(error, ProviderError):
        if error.provider.startswith("model"):
            values["who"] = say("reason_parts.model", language)
        name = error.provider.replace(":", "_").upper()
        values["variable"] = _KEYS.get(error.provider, f"{name}_API_KEY")
        if isinstance(error, TimedOut) and error.setting:
            values["variable"] = error.setting
        if isinstance(error, KeyRefused):
            values["variable"] = error.variable
        values["seconds"] = f"{getattr(error, 'seconds', 0):.0f}"
        values["address"] = _ADDRESSES.get(error.provider, f"{name}_BASE_URL")
    return values


_WIDEST = 160


def event_line(event: Mapping[str, Any], language: Language) -> str:
    """Return one event in words; empty for those that say nothing new."""
    kind, text = str(event.get("type", "")), str(event.get("text") or "")
    if kind == "notice":
        return one_line(text)
    if kind == "reflection" and not event.get("count"):
        kind = "short" if text else "enough"
    if not has_text(f"progress.events.{kind}"):
        return ""
    if kind == "map_call":
        text = _map_call(text, language)
    if event.get("type") in ("queries", "sub_questions", "tasks"):
        text = say("punctuation.semicolon", language).join(text.splitlines())
    speaker, count = str(event.get("speaker") or ""), event.get("count", 0)
    if has_text(f"progress.speakers.{speaker}"):
        speaker = say(f"progress.speakers.{speaker}", language)
    line = say(f"progress.events.{kind}", language, count=count, speaker=speaker, text=text)
    line = one_line(line, longest=_WIDEST)
    seconds = event.get("seconds")
    return f"{line} ({seconds:.1f} s)" if isinstance(seconds, int | float) else line


def _map_call(text: str, language: Language) -> str:
    """Return `maps_geo 王府井` in plain words; the text itself for an unknown tool."""
    tool, _, about = text.partition(" ")
    for name in (tool, "_".join(tool.split("_")[:2])):
        if has_text(f"progress.map_calls.{name}"):
            return say(f"progress.map_calls.{name}", language, text=about).strip()
    return text
