"""The sentences of an answer that code writes, in both languages."""

from collections.abc import Sequence

from agent.evidence.citations import inert
from agent.evidence.types import Gap, Place, Route, Weather
from agent.language import Language
from agent.nodes.evidence_text import route_text, weather_texts

_TEXTS: dict[str, dict[Language, str]] = {
    "needs_place": {
        "zh": "请告诉我您在哪里：说一个地名（例如“王府井附近”），或附上您的位置，我再去找。",
        "en": "Where are you? Name a place (for example “near the Bund”) or share your location, "
        "and I will look.",
    },
    "nothing": {
        "zh": "没有找到可以引用的资料，因此不作回答。可以换一种问法，或补充地点、时间等细节。",
        "en": "Nothing citable was found, so there is no answer. Try other words, or add a place "
        "or a time.",
    },
    "cancelled": {
        "zh": "已按您的要求停止：网页和地图都没有搜索，因此没有答案。可以换一种问法再问。",
        "en": "Stopped as you asked: nothing was searched, neither the web nor the map, so there "
        "is no answer. Ask again in other words whenever you like.",
    },
    "extractive": {
        "zh": "写答案的模型暂时不可用，以下直接摘自查到的资料：",
        "en": "The model that writes answers is unavailable; this is taken straight from the "
        "findings:",
    },
    "gaps": {"zh": "**没有查到的**", "en": "**What could not be found**"},
    "routes": {"zh": "**路线**", "en": "**Routes**"},
    "weather": {"zh": "**天气**", "en": "**Weather**"},
    "map_data": {
        "zh": "地点数据 © 高德地图，查询于 {time}",
        "en": "Map data © AutoNavi (高德地图), fetched {time}",
    },
}


def say(key: str, language: Language) -> str:
    """A fixed sentence."""
    return _TEXTS[key][language]


def gap_section(gaps: Sequence[Gap], language: Language) -> str:
    """The gaps, each message once, with the first query it concerns; both may be foreign text."""
    lines: dict[str, str] = {}
    for gap in gaps:
        text, query = inert(gap["message"]).rstrip("。."), inert(gap["query"][:60])
        lines.setdefault(text, f"- {text}" + (f" ({query})" if query else ""))
    if not lines:
        return ""
    return "\n".join([say("gaps", language), *lines.values()])


def record_sections(
    routes: Sequence[Route], weather: Sequence[Weather], language: Language
) -> list[str]:
    """Routes and weather as code prints them, each line with its marker."""
    sections = []
    if routes:
        once = {route["id"]: route for route in routes}.values()
        lines = [f"- {route_text(r, language)} [^{r['source']}]" for r in once]
        sections.append("\n".join([say("routes", language), *lines]))
    if weather:
        lines = [f"- {t} [^{w['source']}]" for w in weather for t in weather_texts(w, language)]
        sections.append("\n".join([say("weather", language), *lines]))
    return sections


def attribution(
    places: Sequence[Place], routes: Sequence[Route], weather: Sequence[Weather], language: Language
) -> str:
    """Who owns the map's data, and when it was fetched; nothing where the map gave nothing."""
    fetched = [record["fetched_at"] for record in (*places, *routes, *weather)]
    if not fetched:
        return ""
    when = max(fetched)[:16].replace("T", " ")
    return f"*{say('map_data', language).format(time=when + ' UTC')}*"
