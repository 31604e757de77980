"""Know kinds of places with the map's keywords, cities and sights, as two tables have them."""

import json
import re
from importlib.resources import files
from typing import Any

from agent.core.patterns import any_word, piece
from agent.texts import Language

_MAX_KEYWORDS = 3
_GENERIC = frozenset({"sights", "food"})
_BY_NAME = frozenset({"sights", "museum", "walk", "kids", "food"})
_LANGUAGES: tuple[Language, ...] = ("zh", "en")


def _load(name: str) -> Any:
    return json.loads(files(__package__).joinpath(name).read_text(encoding="utf-8"))


_TABLE: list[dict[str, Any]] = _load("activities.json")
_OF_WORD = {word.casefold(): entry for entry in _TABLE for lang in _LANGUAGES
            for word in entry[lang]["words"]}  # fmt: skip
_OF_KEYWORD = {word.casefold(): (word, entry) for entry in _TABLE for lang in _LANGUAGES
               for word in entry[lang]["keywords"]}  # fmt: skip
_ACTIVITY = any_word(_OF_WORD, ending="s?")
_KEYWORD = any_word(_OF_KEYWORD, ending="s?")
_MINE = re.compile(r"\bmy \w+|我的?(?:酒店|公司|家|学校)", re.IGNORECASE)
_PARKING_VERB = re.compile(r"\b(?:can|could|to) (?:i|we|you|one)? ?park\b", re.IGNORECASE)


def activity_in(text: str) -> re.Match[str] | None:
    """Return the first word that names something the map knows, in either language."""
    return _ACTIVITY.search(piece(text))


def without_activities(text: str) -> str:
    """Return the text with those words blanked out."""
    return _ACTIVITY.sub(" ", text)


def activity_keywords(text: str, language: Language) -> list[str]:
    """Return at most three map keywords: named in the text, else of its activities.

    A general activity (sights, food) adds nothing to a particular one.
    """
    text = _PARKING_VERB.sub(" parking lot ", _MINE.sub(" ", piece(text)))
    matches = list(_ACTIVITY.finditer(text))
    # The park of a car park is none.
    named = [
        _singular(_OF_KEYWORD, word[0])
        for word in _KEYWORD.finditer(text)
        if not any(m.start() < word.start() and word.end() <= m.end() for m in matches)
    ]
    keywords = [word for word, entry in filter(None, named) if entry["activity"] not in _GENERIC]
    if not keywords:
        found = [(entry, m[0]) for m in matches if (entry := _singular(_OF_WORD, m[0]))]
        own = [each for each in found if each[0]["activity"] not in _GENERIC] or found
        keywords = [word for entry, said in own for word in entry[language]["keywords"] or [said]]
    return list(dict.fromkeys(keywords))[:_MAX_KEYWORDS]


def _singular(table: dict[str, Any], word: str) -> Any:
    folded = word.casefold()
    return table.get(folded) or table.get(folded.removesuffix("s"))


def is_chosen_by_name(keyword: str) -> bool:
    """Return whether a keyword is for what one chooses by its name: one sight is not another."""
    folded = keyword.casefold()
    entry = (_OF_KEYWORD.get(folded) or ("", None))[1] or _OF_WORD.get(folded)
    return entry is not None and entry["activity"] in _BY_NAME


def chinese_keyword(keyword: str) -> str:
    """Return the Chinese keyword of a kind of place; the keyword itself where unknown.

    "coffee shop" → 咖啡馆: the table's keywords stand in the same order in both languages.
    """
    entry = (_OF_KEYWORD.get(keyword.casefold()) or ("", None))[1] or _OF_WORD.get(
        keyword.casefold()
    )
    chinese: list[str] = entry["zh"]["keywords"] if entry else []
    english = [word.casefold() for word in entry["en"]["keywords"]] if entry else []
    if not chinese or not keyword.isascii():
        return keyword
    at = english.index(keyword.casefold()) if keyword.casefold() in english else 0
    return chinese[min(at, len(chinese) - 1)]


_ENGLISH = {
    chinese: english
    for entry in reversed(_TABLE)
    for chinese, english in zip(entry["zh"]["keywords"], entry["en"]["keywords"], strict=False)
}
_GAZETTEER = _load("gazetteer.json")
_CITIES: dict[str, str] = _GAZETTEER["cities"]
_USUAL = {english.casefold(): english for english in _CITIES.values()}
_OTHER_NAMES = {"peking": "北京", "canton": "广州", "hongkong": "香港", "macao": "澳门"}
_IN_CHINESE = _OTHER_NAMES | {
    english.casefold().replace("'", ""): chinese for chinese, english in _CITIES.items()
}
CITY = re.compile(
    f"(?:{any_word([*_CITIES, *_CITIES.values()], ending='s?').pattern})(?![东西南北中]?路|大街)"
    r"(?! (?:East |West |North |South )?(?:Road|Rd|Street)\b)",
    re.IGNORECASE,
)
_SIGHTS = _GAZETTEER["landmarks"]
LANDMARK = any_word([*_SIGHTS["zh"], *_SIGHTS["en"]], ending="s?")
ELSEWHERE = frozenset(_GAZETTEER["elsewhere"])
_ROADS = ("路", "街", "大街", "大道")
_NAMED_AFTER = (
    *(f"{side}{road}" for side in ("", *"东西南北中") for road in _ROADS),
    *("菜", "烤鸭", "小面", "拉面", "火锅", "小吃", "米粉", "生煎", "包子"),
    *("风味", "料理", "话", "人"),
    *(" road", " rd", " street", " duck", " noodles", " cuisine", " food", " style"),
)
_NOT_AFTER = ("人民", "人文")
_BEFORE_OPEN = (
    *("从", "由", "自", "离", "距", "近"),
    *(" from", " near", " around", " outside", " leaving", " beyond"),
)
_OPEN = (
    *("周边", "周围", "附近", "出发", "以外", "之外", "郊外"),
    *("到", "至", "去", "飞", "开车", "自驾"),
    *("to ", "and beyond "),
)


def city_in(text: str) -> str | None:
    """Return the first city, as written (English names in their usual spelling)."""
    match = CITY.search(piece(text))
    return _USUAL.get(match[0].casefold(), match[0]) if match else None


def city_in_english(name: str) -> str | None:
    """Return "Beijing" for 北京 and 北京市; None for a city that is not in the gazetteer."""
    return _CITIES.get(name.removesuffix("市"))


def city_in_chinese(name: str) -> str | None:
    """Return 西安 for Xi'an and for "xian city"; None where it is not in the gazetteer."""
    plain = name.casefold().replace("'", "").removesuffix("china").rstrip(" ,")
    return _IN_CHINESE.get(plain.removesuffix("city").rstrip())


def subject_in_english(subject: str) -> str:
    """Return what a map is asked about, parted by bars, for a reader: "coffee shop, museum".

    Kinds of places and cities have English names; a subject with anything else stays as it is.
    """
    words = [_ENGLISH.get(word) or city_in_english(word) for word in subject.split("|")]
    return ", ".join(word for word in words if word) if all(words) else subject


def cities_in(text: str) -> list[str]:
    """Return every city that is named, in Chinese; not those in names of roads or dishes."""
    text = piece(text)
    sights = [match.span() for match in LANDMARK.finditer(text)]
    return list(
        dict.fromkeys(
            city_in_chinese(match[0]) or match[0]
            for match in CITY.finditer(text)
            if not any(a <= match.start() < b for a, b in sights)
            and not _is_named_after(text[match.end() :])
        )
    )


def limiting_cities(text: str) -> list[str]:
    """Return the cities in which places asked for must lie.

    None where a city is only where a way begins or what something is near to.
    """
    text = piece(text)
    for match in CITY.finditer(text):
        before, behind = f" {text[: match.start()]}".rstrip().casefold(), text[match.end() :]
        rest = f"{behind.removeprefix('市').lstrip().casefold()} "
        if before.endswith(_BEFORE_OPEN) or rest.startswith(_OPEN):
            return []
    return cities_in(text)


def _is_named_after(behind: str) -> bool:
    """Return whether a city's name is a part of another one's, of a road's or a dish's."""
    return behind.casefold().startswith(_NAMED_AFTER) and not behind.startswith(_NOT_AFTER)


def landmark_in(text: str) -> str | None:
    """Return the first known sight or quarter, as written."""
    match = LANDMARK.search(piece(text))
    return match[0] if match else None


def names_chinese_place(text: str) -> bool:
    """Return whether a known city or sight of China is named."""
    text = piece(text)
    sights = (sight[0].casefold() for sight in LANDMARK.finditer(text))
    return bool(CITY.search(text)) or any(sight not in ELSEWHERE for sight in sights)
