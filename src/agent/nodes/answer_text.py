"""The sentences of an answer that code writes, in both languages."""

from collections.abc import Sequence

from agent.evidence.citations import inert
from agent.evidence.links import without_urls
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
    "all_failed": {
        "zh": "所有来源都没能查到：{reasons}。请稍后再试，或用 tanlu doctor 检查配置",
        "en": "every source failed: {reasons}. Try again later, or check with `tanlu doctor`",
    },
    "no_model": {
        "zh": "没有模型能够作答：{reasons}。请稍后再试，或用 tanlu doctor 检查配置",
        "en": "every model failed: {reasons}. Try again later, or check with `tanlu doctor`",
    },
    "gaps": {"zh": "**没有查到的**", "en": "**What could not be found**"},
    "more_queries": {"zh": "等 {count} 条", "en": "; {count} in all"},
    "routes": {"zh": "**路线**", "en": "**Routes**"},
    "weather": {"zh": "**天气**", "en": "**Weather**"},
    "map_data": {
        "zh": "数据 © 高德地图，查询于 {time}",
        "en": "Data © Amap (高德地图), fetched {time}",
    },
}

_SHOWN_QUERY, _SHOWN_QUERIES = 60, 3


def say(key: str, language: Language) -> str:
    """A fixed sentence."""
    return _TEXTS[key][language]


def gap_section(gaps: Sequence[Gap], language: Language) -> str:
    """The gaps, each message once, with the queries it concerns; both may be foreign text."""
    asked: dict[str, dict[str, None]] = {}
    for gap in gaps:
        queries = asked.setdefault(inert(gap["message"]).rstrip("。."), {})
        if gap["query"]:
            # Addresses go first: half of one that is cut is not known for one.
            queries.setdefault(inert(without_urls(gap["query"])[0][:_SHOWN_QUERY]))
    if not asked:
        return ""
    lines = [f"- {text}{_concerning(list(queries), language)}" for text, queries in asked.items()]
    return "\n".join([say("gaps", language), *lines])


def _concerning(queries: list[str], language: Language) -> str:
    """The queries a gap concerns, in brackets; of many the first ones and how many there are."""
    if not queries:
        return ""
    shown = ("；" if language == "zh" else "; ").join(queries[:_SHOWN_QUERIES])
    if len(queries) > _SHOWN_QUERIES:
        shown += say("more_queries", language).format(count=len(queries))
    return f"（{shown}）" if language == "zh" else f" ({shown})"


def all_failed(gaps: Sequence[Gap], language: Language) -> str:
    """That nothing could be looked up, with each source's reason once; else the models'."""
    asked = [gap for gap in gaps if not gap["provider"].startswith("model")]
    reasons = dict.fromkeys(gap["message"].rstrip("。.") for gap in asked or gaps)
    told = ("；" if language == "zh" else "; ").join(reasons)
    return say("all_failed" if asked else "no_model", language).format(reasons=told)


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
