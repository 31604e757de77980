"""Exploration by rules: name a topic, think, search, think, keep what fits, go on or end."""

import re
from dataclasses import dataclass, replace

from agent.evidence.activities import activity_keywords
from agent.evidence.intent import extract_place
from agent.language import Language, filled

from .brain import Answer, FunctionCall, Turn
from .rules_deep_topics import Plan, plan, queries, related
from .rules_map import places_listed
from .rules_references import resolve
from .rules_text import block, features, language_of, lines

_THINK, _SEARCH = "think_tool", "tavily_search"
_MAP, _DETAIL, _LOOKED_UP = "maps_text_search", "maps_search_detail", 2
_CHANGE, _END = "change_research_topic", "end_of_research"
_RESULT = re.compile(r"<result\s([^>]*)>(.*?)</result>", re.DOTALL)
_ATTRIBUTE = re.compile(r'(\w+)="([^"]*)"')
_DONE = re.compile(r"^-\s*(.+?)\s*\(\d+\):")
_TITLE, _USEFUL, _ATTEMPTS, _TOLD = 3, 3, 2, 3
_SAYS: dict[str, dict[Language, str]] = {
    "plan": {
        "zh": "问题分成 {count} 个子题：{topics}。先查“{next}”。",
        "en": "The question has {count} topics: {topics}. First comes “{next}”.",
    },
    "before": {
        "zh": "“{topic}”还没有资料，要找官方说明、具体数字和近期情况。",
        "en": "There is nothing on “{topic}” yet; official, concrete and recent facts are wanted.",
    },
    "again": {
        "zh": "关于“{topic}”还没有合适的网页，换一种说法再查一次。",
        "en": "No page on “{topic}” fits yet; once more in other words.",
    },
    "after": {
        "zh": "关于“{topic}”有 {count} 个网页值得通读：{titles}。下一步：{next}。",
        "en": "On “{topic}” {count} pages are worth reading: {titles}. Next: {next}.",
    },
    "details": {
        "zh": "地图上有与“{topic}”有关的地点，先看最前面的几处。",
        "en": "The map has places for “{topic}”; the first ones are looked up.",
    },
    "empty": {
        "zh": "关于“{topic}”没有查到合适的网页。下一步：{next}。",
        "en": "No page on “{topic}” was found. Next: {next}.",
    },
    "change": {"zh": "本题已查完，转到“{next}”", "en": "This topic is done; on to “{next}”"},
    "name": {"zh": "从第一个子题开始", "en": "Begin with the first topic"},
    "end": {"zh": "结束探索", "en": "end the exploration"},
}


@dataclass(frozen=True)
class _Page:
    url: str
    title: str
    text: str


def deep_explore(turn: Turn) -> Answer:
    """The next calls, by what the present topic's tool results hold; ends after the last topic."""
    question = resolve(
        block(turn.user, "question").strip(), lines(turn.user, "conversation"), []
    ).question
    planned, topic = plan(question), block(turn.user, "topic").strip()
    done = {found[1] for line in lines(turn.user, "topics_done") if (found := _DONE.match(line))}
    left = [name for name in planned.topics if name not in done and name != topic]
    searches = [result.text for result in turn.tool_results if result.name == _SEARCH]
    language = language_of(turn)
    if topic not in planned.topics and not done and not searches:
        return _named_first(planned, left, language)
    pages = _useful(searches, planned, topic)
    if not pages and len(searches) < _ATTEMPTS:
        step = _searched(planned, topic, len(searches), language)
        return step if searches else replace(step, calls=(*step.calls, *_on_map(turn, topic)))
    if details := _details(turn):
        return Answer(calls=(_think(_said("details", language, topic=topic)), *details))
    return _closed(topic, left, pages, language)


def _named_first(planned: Plan, left: list[str], language: Language) -> Answer:
    """The question as a whole is no topic: the first one is named before anything is searched."""
    join = "、" if language == "zh" else ", "
    thought = _said("plan", language, count=str(len(planned.topics)), next=left[0],
                    topics=join.join(planned.topics))  # fmt: skip
    return Answer(calls=(_think(thought), _change(left[0], _said("name", language), [])))


def _searched(planned: Plan, topic: str, before: int, language: Language) -> Answer:
    """A search on the topic; the second time with the words that texts on it use."""
    wanted = queries(planned, topic)
    if before:
        wanted = [planned.subject, *(f"{planned.subject} {w}" for w in related(topic).split()[1:3])]
    thought = _said("again" if before else "before", language, topic=topic)
    return Answer(calls=(_think(thought), FunctionCall(_SEARCH, {"queries": wanted})))


def _on_map(turn: Turn, topic: str) -> tuple[FunctionCall, ...]:
    """What the map may know of the topic around the place asked about, where it is offered."""
    found = extract_place(block(turn.user, "question"))
    wanted = activity_keywords(related(topic), "zh")[:1]
    if not found or not wanted or _MAP not in {tool.name for tool in turn.tools}:
        return ()
    place, city = found
    arguments = {"keywords": f"{place} {wanted[0]}", **({"city": city} if city else {})}
    return (FunctionCall(_MAP, arguments),)


def _details(turn: Turn) -> tuple[FunctionCall, ...]:
    """The first places the map listed, looked up: only then are they records of the run."""
    if any(result.name == _DETAIL for result in turn.tool_results):
        return ()
    listed = [result.text for result in turn.tool_results if result.name == _MAP]
    names = [str(place["id"]) for place in places_listed(listed) if place.get("id")]
    bound = _DETAIL in {tool.name for tool in turn.tools}
    return tuple(FunctionCall(_DETAIL, {"id": name}) for name in names[:_LOOKED_UP] if bound)


def _closed(topic: str, left: list[str], pages: list[_Page], language: Language) -> Answer:
    """What the topic brought is told and kept; the next topic, or the end."""
    urls = [page.url for page in pages]
    step = _said("change", language, next=left[0]) if left else _said("end", language)
    join = "；" if language == "zh" else "; "
    titles = join.join(page.title for page in pages[:_TOLD])
    thought = _said("after" if pages else "empty", language, topic=topic, count=str(len(pages)),
                    titles=titles, next=step)  # fmt: skip
    last = FunctionCall(_END, {"search_result_of_current_topic": urls})
    return Answer(calls=(_think(thought), _change(left[0], step, urls) if left else last))


def _useful(searches: list[str], planned: Plan, topic: str) -> list[_Page]:
    """The pages the searches listed that share words with the topic, best first.

    Where none does, the first that speak of the subject, so that a topic is not left empty.
    """
    found = {page.url: page for text in searches for page in _listed(text)}
    wanted, about = features(related(topic)), features(planned.subject)
    on_topic: list[tuple[int, _Page]] = []
    for page in found.values():
        title, text = features(page.title), features(page.text)
        if about & (title | text):
            on_topic.append((_TITLE * len(wanted & title) + len(wanted & text), page))
    on_topic.sort(key=lambda pair: -pair[0])
    best = on_topic[0][0] if on_topic else 0
    kept = [page for score, page in on_topic if score * 5 >= best]
    return kept[: _USEFUL if best else 1]


def _listed(text: str) -> list[_Page]:
    """The results of a search as the tool lists them."""
    pages: list[_Page] = []
    for written, snippet in _RESULT.findall(text):
        attributes = dict(_ATTRIBUTE.findall(written))
        if url := attributes.get("url"):
            pages.append(_Page(url, attributes.get("title", ""), snippet.strip()))
    return pages


def _think(reflection: str) -> FunctionCall:
    return FunctionCall(_THINK, {"reflection": reflection})


def _change(topic: str, reason: str, urls: list[str]) -> FunctionCall:
    arguments = {"new_topic": topic, "reason": reason, "search_result_of_current_topic": urls}
    return FunctionCall(_CHANGE, arguments)


def _said(key: str, language: Language, **values: str) -> str:
    return filled(_SAYS[key][language], values)
