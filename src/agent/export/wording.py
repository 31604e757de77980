"""How facts are worded for people, in both languages: distances, hours, costs, headings."""

from datetime import datetime
from typing import Final

from agent.evidence.types import Place
from agent.texts.language import Language

WORDS: Final[dict[Language, dict[str, str]]] = {
    "zh": {
        "sources": "来源",
        "places": "地点",
        "name": "名称",
        "distance": "距离",
        "rating": "评分",
        "hours": "营业时间",
        "address": "地址",
        "map": "地点分布图",
        "north": "北",
        "as_of": "数据时间",
        "map_data": "数据 © 高德地图",
        "from": "距",
        "per_person": "/人",
        "made_by": "由 Tanlu 探路生成",
        "suggestions": "Google 搜索建议",
    },
    "en": {
        "sources": "Sources",
        "places": "Places",
        "name": "Name",
        "distance": "Distance",
        "rating": "Rating",
        "hours": "Hours",
        "address": "Address",
        "map": "Map of the places",
        "north": "N",
        "as_of": "as of",
        "map_data": "Data © Amap (高德地图)",
        "from": "from",
        "per_person": " a head",
        "made_by": "Made by Tanlu",
        "suggestions": "Google search suggestions",
    },
}


def metres(value: float | None) -> str:
    """ "350 m", "1.2 km", "12 km"; empty for None."""
    if value is None:
        return ""
    if value < 1000:
        return f"{round(value)} m"
    kilometres = value / 1000
    return f"{kilometres:.1f} km" if kilometres < 10 else f"{round(kilometres):,} km"


def rating(place: Place) -> str:
    return "" if place["rating"] is None else f"{place['rating']:g}"


def cost(place: Place, language: Language) -> str:
    if place["cost"] is None:
        return ""
    return f"¥{place['cost']:g}{WORDS[language]['per_person']}"


def local_time(iso: str) -> str:
    """An ISO time as "2026-11-21 11:40 UTC"; the text itself if it is none."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = " UTC" if moment.utcoffset() is not None and not moment.utcoffset() else ""
    return f"{moment:%Y-%m-%d %H:%M}{zone}"


def credit(places: list[Place], language: Language) -> str:
    """The line every list of places carries: whose data, and from when; empty without places."""
    if not places:
        return ""
    newest = max(place["fetched_at"] for place in places)
    words = WORDS[language]
    return f"{words['map_data']} · {words['as_of']} {local_time(newest)}"
