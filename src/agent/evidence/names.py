"""Call places by their names in a reader's letters: as listed, in English, or by their sound."""

from collections.abc import Callable, Iterable

from agent.core.strings import has_han, parted_brackets
from agent.evidence.figures import figures
from agent.evidence.language import fold
from agent.evidence.mentions import without_branch
from agent.evidence.queries import clean_text
from agent.evidence.types import Distance, Place
from agent.evidence.vocabulary import CITY
from agent.texts import Language, in_script, is_chinese, say

BETWEEN_NAMES = " · "
"""Parts a place's names."""
_LONGEST, _COMMAS = 80, ",，、;；"
_DISTRICTS = {"新区": "New Area", "区": "District", "县": "County", "市": "City"}

_AREAS = (
    *"湖湾岛山江河滩园路街区县镇村乡市州",
    *("大道", "胡同", "景区", "广场", "古城", "商圈", "大学", "半岛"),
    *(" lake", " bay", " island", " mountain", " hill", " river", " bund", " beach", " park"),
    *(" garden", " gardens", " road", " street", " avenue", " square", " district", " quarter"),
    *(" old town", " campus", " university", " city"),
)


def name_of_place(value: object) -> str:
    """Return what is said to be a place's name, without how long or how far it is at its end.

    "City Museum (1 min walk)" and "Музей города, 1 мин пешком" are known to no map.
    """
    name = clean_text(value, _LONGEST) if isinstance(value, str) else ""
    own, remark = parted_brackets(name)
    if not remark:
        own, remark = max((name.rpartition(sign)[::2] for sign in _COMMAS), key=_begins)
    is_reach = any(figure.kind in ("second", "metre") for figure in figures(remark))
    return name_of_place(own) if own.strip() and is_reach else name


def _begins(parts: tuple[str, str]) -> int:
    return len(parts[0])


def map_name(place: Place, language: Language) -> str:
    """Return the name that a map shows: for English readers the English one, or its sound."""
    english = place.get("name_en") or place.get("name_pinyin")
    if english and not is_chinese(language):
        return english
    return in_script(place.get("name_hant") or place["name"], language)


def local_name(place: Place, language: Language) -> str:
    """Return the name on the spot that stands beside `map_name`; empty where that has it in it."""
    name = map_name(place, language)
    is_told = is_chinese(language) or fold(place["name"]) in fold(name)
    return "" if is_told else place["name"]


def titled_name(place: Place, language: Language) -> str:
    """Return a place's name in full: the one its reader knows it by, with the local one behind.

    One in other characters is no other name: 鶴鳴茶社 is 鹤鸣茶社.
    """
    return BETWEEN_NAMES.join(
        filter(None, [map_name(place, language), local_name(place, language)])
    )


def with_pinyin(places: Iterable[Place], known: Iterable[Place] = ()) -> list[Place]:
    """Return places whose Chinese names have their pinyin, where they have no English name.

    What they are far from is called by its English name where one of them, or of the `known`, is
    it. Loads a dictionary of 57 MB for the first Chinese name, so it is called in a thread.
    """

    listed = [*places]
    english = english_names([*known, *listed])

    def named(origin: str) -> str:
        return english.get(origin) or district_in_english(origin)

    def sounded(place: Place) -> Place:
        place = _with_origins(place, named)
        if place["district"]:
            place = Place(**{**place, "district_en": district_in_english(place["district"])})
        base = without_branch(place["name"])
        if place.get("name_en") or not has_han(base):
            return place
        sound = " ".join(" ".join(_syllables(base, toned=True)).split())
        return Place(**{**place, "name_pinyin": sound[:1].upper() + sound[1:]})

    return [sounded(place) for place in listed]


def english_names(places: Iterable[Place]) -> dict[str, str]:
    """Return the English names of places by their own names."""
    return {
        name: english
        for place in places
        if (english := place.get("name_en"))
        for name in (place["name"], without_branch(place["name"]))
    }


def with_origins_called(places: Iterable[Place], language: Language) -> list[Place]:
    """Return places that are far from others of them as their reader calls those."""
    listed = [*places]
    names = {} if is_chinese(language) else english_names(listed)
    return [_with_origins(place, lambda origin: names.get(origin, "")) for place in listed]


def _with_origins(place: Place, named: Callable[[str], str]) -> Place:
    """Return a place that says in its reader's letters, too, from where it is how far."""
    told = Place(**place)
    own = place.get("distance_from_en") or named(place["distance_from"] or "")
    if place["distance_from"] and own:
        told["distance_from_en"] = own
    if "further" in place:
        told["further"] = [
            Distance(**{**each, "origin_en": name})
            if (name := each.get("origin_en") or named(each["origin"]))
            else each
            for each in place["further"]
        ]
    return told


def origins_of(place: Place, language: Language) -> list[tuple[str, int | None]]:
    """Return from where a place is how far, in its reader's letters; "" where nobody said."""
    told = [own_distance(place), *place.get("further", [])]
    return [(_from_text(each, language), each["metres"]) for each in told]


def _from_text(near: Distance, language: Language) -> str:
    """Return from where a distance is told: of a lake or a park it is its middle, not its edge."""
    origin = origin_text(near, language)
    return say("records.middle_of", language, origin=origin) if is_from_middle(near) else origin


def is_from_middle(near: Distance) -> bool:
    """Return whether a distance is measured from the middle of an area, where nobody stands."""
    return is_area(near["origin"])


def is_area(name: str) -> bool:
    """Return whether a name is that of a lake, a park, a road, a quarter: of more than a spot.

    The map's point of it is somewhere in its middle, where nobody stands: a walk from there says
    nothing of the walk from where one is.
    """
    plain = name.strip()
    return f" {plain}".casefold().endswith(_AREAS) or CITY.fullmatch(plain) is not None


def with_middles(places: Iterable[Place]) -> list[Place]:
    """Return places whose distances say where they are from an area's middle, for the page."""
    return [_with_middles(place) for place in places]


def _with_middles(place: Place) -> Place:
    told = Place(**place)
    if is_from_middle(own_distance(place)):
        told["from_middle"] = True
    if any(map(is_from_middle, place.get("further", []))):
        told["further"] = [
            Distance(**{**each, "from_middle": is_from_middle(each)}) for each in place["further"]
        ]
    return told


def own_distance(place: Place) -> Distance:
    """Return how far a place is from what it was found around."""
    own = Distance(origin=place["distance_from"] or "", metres=place["distance_m"])
    if english := place.get("distance_from_en"):
        own["origin_en"] = english
    return own


def origin_text(near: Distance, language: Language) -> str:
    """Return what a place is far from, in its reader's letters."""
    if is_chinese(language):
        return in_script(without_local(near["origin"]), language)
    return near.get("origin_en") or near["origin"]


def without_local(name: str) -> str:
    """Return a Chinese name without the local one behind it, which is told once, not in each line.

    >>> without_local("赫尔辛基中央车站 (Helsingin päärautatieasema)")
    '赫尔辛基中央车站'
    """
    own, local = parted_brackets(name)
    is_local = has_han(own) and not has_han(local) and any(map(str.islower, local))
    return own if is_local else name


def _syllables(name: str, *, toned: bool = False) -> list[str]:
    """Return how each character sounds; what is not Chinese as it is."""
    from pypinyin import Style, lazy_pinyin

    return lazy_pinyin(name, style=Style.TONE if toned else Style.NORMAL)


def district_in_english(name: str) -> str:
    """Return "Dongcheng District" for 东城区; a name without Chinese characters as it is.

    Loads the dictionary of `with_pinyin`.
    """
    if not has_han(name):
        return name
    suffix = next((each for each in _DISTRICTS if name.endswith(each) and name != each), "")
    first, *others = _syllables(name.removesuffix(suffix))
    # Xi'an, not Xian: a syllable that begins with a vowel is parted from the one before.
    sound = first.capitalize() + "".join(f"'{s}" if s[0] in "aoe" else s for s in others)
    return f"{sound} {_DISTRICTS[suffix]}" if suffix else sound
