"""How facts are worded for people, in both languages: distances, hours, costs, headings."""

from datetime import datetime
from typing import Final

from agent.evidence.types import Place, Route, Weather, WeatherDay
from agent.language import Language

WORDS: Final[dict[Language, dict[str, str]]] = {
    "zh": {
        "sources": "来源",
        "places": "地点",
        "routes": "路线",
        "weather": "天气",
        "gaps": "未能查到",
        "name": "名称",
        "distance": "距离",
        "rating": "评分",
        "hours": "营业时间",
        "address": "地址",
        "map": "地点分布图",
        "north": "北",
        "mentioned": "答案中提到",
        "as_of": "数据时间",
        "from": "距",
        "per_person": "/人",
        "made_by": "由 Tanlu 探路生成",
        "suggestions": "Google 搜索建议",
        "walking": "步行",
        "driving": "驾车",
        "bicycling": "骑行",
        "transit": "公共交通",
        "day": "白天",
        "night": "夜间",
    },
    "en": {
        "sources": "Sources",
        "places": "Places",
        "routes": "Routes",
        "weather": "Weather",
        "gaps": "Could not be found out",
        "name": "Name",
        "distance": "Distance",
        "rating": "Rating",
        "hours": "Hours",
        "address": "Address",
        "map": "Map of the places",
        "north": "N",
        "mentioned": "named in the answer",
        "as_of": "as of",
        "from": "from",
        "per_person": " a head",
        "made_by": "Made by Tanlu",
        "suggestions": "Google search suggestions",
        "walking": "On foot",
        "driving": "By car",
        "bicycling": "By bicycle",
        "transit": "Public transport",
        "day": "day",
        "night": "night",
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


def duration(seconds: int | None, language: Language) -> str:
    """Whole minutes, with hours from sixty on; empty for None."""
    if seconds is None:
        return ""
    hours, minutes = divmod(max(1, round(seconds / 60)), 60)
    hour, minute = ("小时", "分钟") if language == "zh" else (" h", " min")
    parts = [f"{hours}{hour}"] if hours else []
    parts += [f"{minutes}{minute}"] if minutes or not hours else []
    return ("" if language == "zh" else " ").join(parts)


def rating(place: Place) -> str:
    return "" if place["rating"] is None else f"{place['rating']:g}"


def cost(place: Place, language: Language) -> str:
    if place["cost"] is None:
        return ""
    return f"¥{place['cost']:g}{WORDS[language]['per_person']}"


def route_heading(route: Route, language: Language) -> str:
    """One line: how, from where to where, how far and how long."""
    facts = [metres(route["distance_m"]), duration(route["duration_s"], language)]
    told = ", ".join(fact for fact in facts if fact)
    line = f"{WORDS[language][route['mode']]}: {route['origin']} → {route['destination']}"
    return f"{line} ({told})" if told else line


def weather_lines(weather: Weather, language: Language) -> list[str]:
    return [_weather_day(day, language) for day in weather["days"]]


def _weather_day(day: WeatherDay, language: Language) -> str:
    words = WORDS[language]
    parts = [f"{words['day']} {day['day']}", f"{words['night']} {day['night']}"]
    known = [f"{t} °C" for t in (day["low_c"], day["high_c"]) if t is not None]
    if known:
        parts.append(" – ".join(known))
    if day["wind"]:
        parts.append(day["wind"])
    return f"{day['date']}: " + ", ".join(parts)


def local_time(iso: str) -> str:
    """An ISO time as "2026-11-21 11:40 UTC"; the text itself if it is none."""
    try:
        moment = datetime.fromisoformat(iso)
    except ValueError:
        return iso
    zone = " UTC" if moment.utcoffset() is not None and not moment.utcoffset() else ""
    return f"{moment:%Y-%m-%d %H:%M}{zone}"


def credit(places: list[Place], attribution: str, language: Language) -> str:
    """The line every list of places carries: whose data, and from when; empty without places."""
    if not places:
        return ""
    newest = max(place["fetched_at"] for place in places)
    return f"{attribution} · {WORDS[language]['as_of']} {local_time(newest)}"
