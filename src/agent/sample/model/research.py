"""Reply for the assistant `agent`: queries, findings, reflection and the answer."""

import re
from typing import Any

from agent.evidence.intent import map_task_by_rules, needs_place
from agent.evidence.queries import near_duplicate
from agent.evidence.types import MapTask
from agent.sample.corpus import search_pages
from agent.sample.model.request import Answer, FunctionCall, GroundedSentence, Page, Turn
from agent.sample.model.subject import (
    aspects_of,
    clean_question,
    resolve_references,
    searched_as,
    subject_of,
    topic_of,
)
from agent.sample.model.text import (
    Record,
    Sentence,
    about,
    block,
    distinct,
    elements,
    in_language,
    join_sentences,
    language_of,
    lines,
    number,
    quote_text,
    rank,
    records,
    sentences,
    short,
    with_map_words,
)
from agent.texts import say
from agent.texts.language import Language, detect_language

PAGES, PER_PAGE, WRITTEN_UP, PLACES, SOURCES, PER_SOURCE = 2, 4, 6, 6, 3, 3
FACTS, ALL_FACTS = 6, 20
TEXT_SEARCH, DETAIL = "maps_text_search", "maps_search_detail"
MAPPED = ("places", "routes", "weather")
_SINGLE = ("route", "distance", "weather", "regeo")


def question_of(user: str) -> str:
    """Return the question as it reads alone."""
    places = [place.name for place in records(block(user, "previous_places"))]
    return resolve_references(block(user, "question"), lines(user, "conversation"), places)


def generate_query(turn: Turn) -> Answer:
    """Return the question and its aspects, each with its map task by the product's own rules."""
    standalone, count = question_of(turn.user), max(1, number(turn.user, "count", 1))
    question = clean_question(standalone)
    task = map_task_by_rules(question)
    queries = [(question, task)]
    if where := "" if task and task["intent"] in _SINGLE else searched_as(question):
        queries += [(f"{where} {aspect}", None) for aspect in aspects_of(question)]
    rows: list[dict[str, Any]] = []
    for text, map_task in queries:
        if len(rows) < count and not any(near_duplicate(text, w["query"]) for w in rows):
            rows.append({"query": text, "map": _full_task(map_task)})
    return Answer(json={"question": standalone, "query": rows})


def _full_task(task: MapTask | None) -> dict[str, Any] | None:
    """Return the task with every field of the schema, null where unknown."""
    empty = dict.fromkeys(("place", "city", "origin", "destination", "mode"))
    return None if task is None else {**empty, "keywords": [], "radius_m": 2000, **task}


def web_research(turn: Turn) -> Answer:
    """Return sentences of the sample's pages on the subject, each resting on its page."""
    query, language = block(turn.user, "query"), language_of(turn)
    subject = subject_of(query)
    pages = [
        page
        for page in (search_pages(query) if turn.search and not needs_place(query) else [])
        if subject.is_named_in(" ".join((page.title, page.text, *page.subjects)))
    ]
    own = [page for page in pages if page.language == detect_language(query)]
    grounded: list[GroundedSentence] = []
    for page in (own or pages)[:PAGES]:
        source, space = Page(uri=page.url, title=page.title), "" if page.language == "zh" else " "
        quotes = quote_text(page.text, topic_of(query), PER_PAGE, page.title)
        grounded += [GroundedSentence(s.text + space, (source,)) for s in quotes]
        grounded += [GroundedSentence("\n")] if quotes else []
    nothing = GroundedSentence(say("sample.nothing", language, question=short(query)))
    return Answer(
        grounded=tuple(grounded[:-1]) or (nothing,), queries=(query,) if turn.search else ()
    )


def web_writeup(turn: Turn) -> Answer:
    """Return the best sentences of the results on the subject, each with the id of its result."""
    query, language = block(turn.user, "query"), language_of(turn)
    rows = [
        (attributes.get("id", ""), attributes.get("title") or text.partition("\n")[0], text)
        for attributes, text in elements(turn.user, "result")
    ]
    candidates = [
        sentence.marked(name)
        for name, title, text in about(
            ((row, f"{row[1]} {row[2]}") for row in rows), subject_of(query)
        )
        for sentence in sentences(text.partition("\n")[2] or text, title)
    ]
    quotes = rank(candidates, topic_of(query), WRITTEN_UP)
    text = join_sentences((s.text for s in quotes), language)
    return Answer(text=text or say("sample.nothing", language, question=short(query)))


def amap_research(turn: Turn) -> Answer:
    """Call the map's search where no record is listed; else say that it is enough."""
    listed = any(records(block(turn.user, tag)) for tag in MAPPED)
    calls = () if listed else map_calls(turn, block(turn.user, "query"))
    return Answer(calls=calls) if calls else Answer(text=say("sample.enough", language_of(turn)))


def map_calls(turn: Turn, query: str, most: int = 2) -> tuple[FunctionCall, ...]:
    """Return the next calls of the map: its text search, then the details of its first places."""
    available = {tool.name for tool in turn.tools}
    results = [result for result in turn.tool_results if result.name == TEXT_SEARCH]
    looked_up = any(result.name == DETAIL for result in turn.tool_results)
    if not {TEXT_SEARCH, DETAIL} <= available or looked_up:
        return ()
    if not results:
        task = map_task_by_rules(query) or MapTask(intent="poi", place=query)
        where = task.get("place") or task.get("city") or ""
        words = " ".join(filter(None, (where, *(task.get("keywords") or [])[:1]))) or query
        city = {"city": task["city"]} if task.get("city") else {}
        return (FunctionCall(TEXT_SEARCH, {"keywords": words, **city}),)
    ids = re.findall(r'"id":\s*"([^"]+)"', "\n".join(result.text for result in results))
    return tuple(FunctionCall(DETAIL, {"id": name}) for name in dict.fromkeys(ids[:most]))


def reflection(turn: Turn) -> Answer:
    """Reply that it is enough, unless an aspect of the question is in no finding and no query."""
    question, queries = clean_question(block(turn.user, "question")), lines(turn.user, "asked")
    findings = [s.bare for s in sentences(block(turn.user, "findings")) if s.ids]
    findings += [row.shown() for tag in MAPPED for row in records(block(turn.user, tag))]
    text_found = " ".join(map(with_map_words, findings)).casefold()
    missing = [a for a in aspects_of(question) if text_found and not _covers(a, text_found)]
    candidates = [f"{searched_as(question)} {aspect}" for aspect in missing]
    fresh = [
        text for text in candidates if not any(near_duplicate(text, query) for query in queries)
    ]
    follow_ups = [{"query": text, "map": None} for text in fresh[: number(turn.user, "limit", 1)]]
    verdict = {
        "is_sufficient": not follow_ups,
        "knowledge_gap": ", ".join(missing) if follow_ups else "",
    }
    return Answer(json={**verdict, "follow_up_queries": follow_ups})


def _covers(aspect: str, text: str) -> bool:
    """Tell whether a text has half of an aspect's words, or of what the map would look for."""
    words = [*re.findall(r"[a-z0-9]{3,}", aspect.casefold())]
    words += [aspect[at : at + 2] for at in range(len(aspect) - 1) if not aspect.isascii()]
    map_words = with_map_words(aspect).casefold().split()[len(aspect.split()) :]
    return any(word in text for word in map_words) or 2 * sum(w in text for w in words) >= len(
        words
    )


def answer(turn: Turn) -> Answer:
    """Place first where there are some, then the sentences that bear most on the question."""
    if "<cut_off>" in turn.user:
        return continue_text(turn, compose_answer)
    return Answer(text=compose_answer(turn))


def compose_answer(turn: Turn, user: str = "") -> str:
    """Return the whole answer to what a request holds."""
    user, language = user or turn.user, language_of(turn)
    question = question_of(user)
    plain = clean_question(question)
    places = sorted(records(block(user, "places")), key=lambda place: -len(place.fields))
    places = places or [p for p in records(block(user, "previous_places")) if p.name in question]
    places, unfit = _by_demands(places, language)
    facts = [*records(block(user, "routes"))[:1], *records(block(user, "weather"))[:1]]
    findings = [s for s in sentences(block(user, "findings")) if s.ids and s.ids[0][0] != "a"]
    if places:
        findings = [s for s in findings if not any(place.name in s.bare for place in unfit)]
    web = _by_source(in_language(findings, language), topic_of(plain), language)
    if not (places or unfit or facts or web):
        return say("sample.nothing", language, question=short(plain))
    parts = [say("sample.quotation", language)]
    if places:
        kind = "sample.places" if len(places) > 1 else "sample.place"
        opening = say(kind, language, question=short(plain), count=len(places))
        parts.append(_list(opening, places[:PLACES]))
    elif unfit:
        opening = say("sample.unfit", language, question=short(plain), count=len(unfit))
        parts.append(_list(opening, unfit[:PLACES], most=ALL_FACTS))
    if facts:
        parts.append(_list(say("sample.facts", language, question=short(plain)), facts))
    if web:
        parts.append("\n".join([say("sample.web", language), *web]))
    return "\n\n".join(parts)


def _by_demands(places: list[Record], language: Language) -> tuple[list[Record], list[Record]]:
    """Return the places that break no demand, those known to meet all first; then the others."""
    unfit = [place for place in places if _has_mark(place, "violated", language)]
    fit = [place for place in places if place not in unfit]
    return sorted(fit, key=lambda place: _has_mark(place, "unknown", language)), unfit


def _has_mark(place: Record, verdict: str, language: Language) -> bool:
    mark = say(f"constraints.marks.{verdict}", language, text="").strip()
    return any(fact.startswith(mark) for fact in place.fields)


def _list(opening: str, rows: list[Record], most: int = FACTS) -> str:
    return "\n".join([opening, *(f"- {row.shown(most)}" for row in rows)])


def _by_source(findings: list[Sentence], query: str, language: Language) -> list[str]:
    """Return a line for each source, first those that bear on the question: its best sentences."""
    order = distinct([*rank(findings, query), *findings])
    bearing = {sentence.ids[0] for sentence in rank(findings, query)}
    result = []
    for source in sorted(dict.fromkeys(s.ids[0] for s in findings), key=lambda s: s not in bearing):
        own = [s.text for s in order if s.ids[0] == source][:PER_SOURCE]
        texts = dict.fromkeys(s.text for s in findings if s.text in own)
        result += [f"- {join_sentences(texts, language)}"] if texts else []
    return result[:SOURCES]


def continue_text(turn: Turn, compose: Any) -> Answer:
    """Return the rest of the same text after the end that `<cut_off>` shows."""
    requests = [past.text for past in turn.history if "<question>" in past.text]
    whole = compose(turn, requests[-1]) if requests else ""
    tail = block(turn.user, "cut_off")[-40:]
    rest = whole.partition(tail)[2] if tail else ""
    return Answer(text=rest if rest.strip() else say("sample.end", language_of(turn)))
