"""A run's progress events in plain words, for every place that shows them: terminal, MCP."""

import re
from collections.abc import Mapping
from typing import Any, Final

from agent.core.strings import one_line
from agent.texts.language import Language

_WIDEST = 160
_PLACEHOLDER = re.compile(r"\{(count|speaker|text)\}")

STARTING: Final[dict[Language, str]] = {"zh": "开始", "en": "Starting"}
EVENTS: Final[dict[Language, dict[str, str]]] = {
    "zh": {
        "queries": "检索词：{text}",
        "search_started": "搜索：{text}",
        "search_done": "搜索完成，{count} 条来源：{text}",
        "map_started": "查地图：{text}",
        "map_call": "地图：{text}",
        "map_done": "地图完成，{count} 项：{text}",
        "reflection": "反思：还缺 {text}（再查 {count} 个词）",
        "enough": "反思：资料已足够",
        "thought": "思考：{text}",
        "topic_started": "新子题：{text}",
        "topic_done": "子题完成，留下 {count} 个网页：{text}",
        "reading": "阅读 {count} 个网页：{text}",
        "compressed": "已整理：{text}",
        "analysis": "要回答的是：{text}",
        "sub_questions": "分解为：{text}",
        "turn_started": "轮到{speaker}",
        "turn": "{speaker}：{text}",
        "code": "计算：{text}",
        "tasks": "计划，{count} 个子任务：{text}",
        "task_started": "子任务：{text}",
        "task_done": "子任务完成，{count} 条资料：{text}",
        "download": "论文全文：{text}",
        "ingested": "{count} 篇论文已读入资料库",
        "passages": "资料库中有 {count} 段相关",
        "gap": "注意：{text}",
        "answering": "正在写答案",
    },
    "en": {
        "queries": "Queries: {text}",
        "search_started": "Searching: {text}",
        "search_done": "Searched, sources found: {count}: {text}",
        "map_started": "On the map: {text}",
        "map_call": "Map: {text}",
        "map_done": "Map done, found: {count}: {text}",
        "reflection": "Reflection: still missing {text} (follow-up queries: {count})",
        "enough": "Reflection: enough was found",
        "thought": "Thinking: {text}",
        "topic_started": "New topic: {text}",
        "topic_done": "Topic done, pages kept: {count}: {text}",
        "reading": "Reading, pages: {count}: {text}",
        "compressed": "Notes written: {text}",
        "analysis": "What is asked: {text}",
        "sub_questions": "Split into: {text}",
        "turn_started": "Next: {speaker}",
        "turn": "{speaker}: {text}",
        "code": "Calculated: {text}",
        "tasks": "Plan, tasks: {count}: {text}",
        "task_started": "Task: {text}",
        "task_done": "Task done, documents: {count}: {text}",
        "download": "Full text: {text}",
        "ingested": "Papers read into the knowledge base: {count}",
        "passages": "Passages of documents that bear on it: {count}",
        "gap": "Note: {text}",
        "answering": "Writing the answer",
    },
}
"""By kind of event; {count}, {speaker} and {text} are the event's own. `enough` is a reflection
that counts nothing."""
MAP_CALLS: Final[dict[Language, dict[str, str]]] = {
    "zh": {
        "maps_geo": "定位 {text}",
        "maps_regeocode": "看这个位置是哪里",
        "maps_around_search": "附近找 {text}",
        "maps_text_search": "找 {text}",
        "maps_search_detail": "看地点详情",
        "maps_weather": "查天气 {text}",
        "maps_distance": "量距离",
        "maps_direction": "查路线",
        "maps_bicycling": "查路线",
    },
    "en": {
        "maps_geo": "locating {text}",
        "maps_regeocode": "naming the position",
        "maps_around_search": "looking nearby for {text}",
        "maps_text_search": "looking for {text}",
        "maps_search_detail": "a place's details",
        "maps_weather": "weather {text}",
        "maps_distance": "measuring distances",
        "maps_direction": "finding a route",
        "maps_bicycling": "finding a route",
    },
}
"""What a tool of the map server does; {text} is what it is asked about."""
SPEAKERS: Final[dict[Language, dict[str, str]]] = {
    "zh": {"researcher": "研究员", "analyst": "分析员", "verifier": "核查员"},
    "en": {"researcher": "researcher", "analyst": "analyst", "verifier": "verifier"},
}


def event_line(told: Mapping[str, Any], language: Language) -> str:
    """One event in words; empty for those that say nothing new."""
    kind, text = str(told.get("type", "")), str(told.get("text") or "")
    if kind == "notice":
        return one_line(text)
    if kind == "reflection" and not told.get("count"):
        kind = "enough"
    words = EVENTS[language].get(kind)
    if words is None:
        return ""
    if kind == "map_call":
        text = _map_call(text, language)
    if kind in ("queries", "sub_questions", "tasks"):
        text = ("；" if language == "zh" else "; ").join(text.splitlines())
    speaker = str(told.get("speaker") or "")
    shown = SPEAKERS[language].get(speaker, speaker)
    values = {"count": str(told.get("count", 0)), "speaker": shown, "text": text}
    line = _PLACEHOLDER.sub(lambda key: values[key[1]], words)
    line = one_line(line, longest=_WIDEST)
    seconds = told.get("seconds")
    return f"{line} ({seconds:.1f} s)" if isinstance(seconds, int | float) else line


def _map_call(text: str, language: Language) -> str:
    """`maps_geo 王府井` in plain words; the text itself where the tool is none we know."""
    tool, _, about = text.partition(" ")
    parts = tool.split("_")
    name = next(
        (known for known in (tool, "_".join(parts[:2])) if known in MAP_CALLS[language]), ""
    )
    return MAP_CALLS[language][name].replace("{text}", about).strip() if name else text
