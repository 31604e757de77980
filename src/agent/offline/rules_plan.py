"""What to search: queries for a question, and whether what was found is enough."""

import re

from agent.evidence.intent import map_task_by_rules
from agent.evidence.queries import near_duplicate
from agent.evidence.types import MapTask
from agent.language import Language, detect_language

from .brain import Answer, Turn
from .rules_references import resolve
from .rules_text import (
    Sentence,
    block,
    concepts,
    covers,
    features,
    language_of,
    lines,
    records,
    sentences,
)
from .rules_text import words as meaning

Written = dict[str, object]

_SINGLE = {"route", "distance", "weather", "regeo"}
_ASPECTS: dict[str, dict[Language, str]] = {
    "around": {"zh": "攻略 注意事项", "en": "guide and tips"},
    "place": {"zh": "开放时间 门票", "en": "opening hours tickets"},
    "general": {"zh": "要点 注意事项", "en": "key facts"},
}
_DETAILS: dict[Language, str] = {"zh": "具体情况", "en": "details"}
_COMPARED = re.compile(
    r"^(.{2,30}?)(?:和|与|跟|还是|\s+(?:and|or|vs\.?|versus)\s+)(.{2,30})$", re.I
)
_COMPARES = re.compile(
    r"哪个|区别|对比|相比|差别|还是|\b(?:vs|versus|compare|difference|better)\b", re.I
)
_TAIL = re.compile(r"[\s?？!！。.,，;；:：]+$")
_POLITE = re.compile(
    r"^(?:请问|请|麻烦|帮我|你好|您好|hi|hello|hey|please|could you|can you|tell me|i want to know)"
    r"(?![a-z])[\s,，:：!！]*",
    re.IGNORECASE,
)
_MAX_QUERY = 120


def generate_query(turn: Turn) -> Answer:
    """Distinct queries, each with its map task, from the question and what it refers to."""
    resolved = resolve(
        block(turn.user, "question").strip(),
        lines(turn.user, "conversation"),
        records(turn.user, "previous_places"),
    )
    question = cleaned(resolved.question)
    count = max(1, int(found[0]) if (found := re.findall(r"\d+", block(turn.user, "count"))) else 1)
    queries = _queries(question, detect_language(question))
    written = _distinct([query for query in queries if query["query"]], count)
    return Answer(json={"query": written, "rationale": _rationale(written, language_of(turn))})


def cleaned(question: str) -> str:
    """The question as a search: no greeting, no final punctuation, one line."""
    line = " ".join(question.split())
    while line != (shorter := _POLITE.sub("", line)):
        line = shorter
    return _TAIL.sub("", line)[:_MAX_QUERY].strip() or line[:_MAX_QUERY]


def _queries(question: str, language: Language) -> list[Written]:
    """The question itself first, then its sides; more than may be wanted."""
    task = map_task_by_rules(question)
    first: Written = {"query": question, "map": _filled(task)}
    if task and task["intent"] in _SINGLE:
        return [first]
    where = _subject(task, language)
    if task and not where:
        return [first]
    if task and task["intent"] in {"nearby", "area"}:
        kinds = task.get("keywords") or []
        named = [_with_keyword(task, word, where) for word in kinds[2:] or kinds[:1]]
        return [first, *named, *_sides(where, "around", language)]
    if task:
        return [first, *_sides(where, "place", language)]
    return [first, *_compared(question), *_sides(_topic(question), "general", language)]


def _subject(task: MapTask | None, language: Language) -> str:
    """The place a task is about, with its city in front where the name lacks it (zh)."""
    place, city = (task and task.get("place")) or "", (task and task.get("city")) or ""
    return f"{city}{place}" if language == "zh" and city not in place else place or city


def _with_keyword(task: MapTask, word: str, where: str) -> Written:
    narrowed = MapTask(**{**task, "keywords": [word]})
    return {"query": f"{where} {word}".strip(), "map": _filled(narrowed)}


def _sides(where: str, kind: str, language: Language) -> list[Written]:
    return [{"query": f"{where} {_ASPECTS[kind][language]}", "map": None}] if where else []


def _compared(question: str) -> list[Written]:
    """The two things a question compares, each on its own."""
    if not _COMPARES.search(question):
        return []
    topic = re.sub(r"(?:有什么|的)?(?:区别|差别|不同).*$|哪个.*$", "", question).strip()
    found = _COMPARED.match(topic)
    return [{"query": cleaned(side), "map": None} for side in found.groups()] if found else []


def _topic(question: str) -> str:
    return " ".join(meaning(question)[:4])


def _filled(task: MapTask | None) -> Written | None:
    """The task with every field of the schema, null where unknown."""
    if task is None:
        return None
    empty: Written = dict.fromkeys(("place", "city", "origin", "destination", "mode"))
    return {**empty, "keywords": [], "radius_m": 2000, **task}


def _distinct(queries: list[Written], count: int) -> list[Written]:
    kept: list[Written] = []
    for query in queries:
        text = str(query["query"])
        if len(kept) < count and not any(near_duplicate(text, str(k["query"])) for k in kept):
            kept.append(query)
    return kept


def _rationale(queries: list[Written], language: Language) -> str:
    mapped = any(query["map"] for query in queries)
    if language == "zh":
        return "先查问题本身，再查它的几个方面" + ("，并查地图。" if mapped else "。")
    return "The question itself, then its sides" + (", and the map." if mapped else ".")


def reflection(turn: Turn) -> Answer:
    """Enough, unless a word of the question is in no finding and was searched for only once."""
    question = cleaned(block(turn.user, "question"))
    findings = sentences(block(turn.user, "findings"))
    missing = _missing(question, findings)
    if not missing:
        return _verdict(True, "", [])
    zh = language_of(turn) == "zh"
    wanted = "、".join(missing) if zh else ", ".join(missing)
    gap = f"没有查到：{wanted}。" if zh else f"Nothing was found on: {wanted}."
    if not any(sentence.ids for sentence in findings):
        return _verdict(False, gap, [])
    follow_ups = _follow_ups(question, missing, lines(turn.user, "asked"))
    limit = re.findall(r"\d+", block(turn.user, "limit"))
    follow_ups = follow_ups[: int(limit[0]) if limit else 1]
    return _verdict(not follow_ups, gap if follow_ups else "", follow_ups)


def _missing(question: str, findings: list[Sentence]) -> list[str]:
    """The words of the question that no supported sentence speaks of."""
    told = [sentence.bare for sentence in findings if sentence.ids]
    known = frozenset[str]().union(*(features(text) | concepts(text) for text in told))
    task = map_task_by_rules(question)
    if task and task["intent"] in _SINGLE and known:
        return []
    asked = [word for word in meaning(question) if len(word) > 1]
    return [word for word in asked if not covers(known, word)][:3]


def _follow_ups(question: str, missing: list[str], asked: list[str]) -> list[Written]:
    """One query on what is missing, unless two of those already run spoke of it."""
    task = map_task_by_rules(question)
    where = _subject(task, detect_language(question))
    wanted = [word for word in missing if sum(covers(features(q), word) for q in asked) < 2]
    wanted = [word for word in wanted if word not in where]
    if not wanted:
        return []
    known = where or " ".join(word for word in meaning(question) if word not in wanted)
    plain = f"{known} {' '.join(wanted)}".strip()
    for text in (plain, f"{plain} {_DETAILS[detect_language(plain)]}"):
        if not any(near_duplicate(text, query) for query in asked):
            return [{"query": text, "map": _filled(map_task_by_rules(text))}]
    return []


def _verdict(enough: bool, gap: str, follow_ups: list[Written]) -> Answer:
    verdict = {"is_sufficient": enough, "knowledge_gap": gap, "follow_up_queries": follow_ups}
    return Answer(json=verdict)
