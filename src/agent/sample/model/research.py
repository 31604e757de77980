"""The assistant `agent`: what to search, what was found, whether it is enough, and the answer."""

import re
from typing import Any

from agent.evidence.intent import map_task_by_rules, needs_place
from agent.evidence.queries import near_duplicate
from agent.evidence.types import MapTask
from agent.sample.corpus import search_pages
from agent.sample.model.request import Answer, FunctionCall, GroundedSentence, Page, Turn
from agent.sample.model.subject import (
    asked_of,
    aspects_of,
    cleaned,
    resolved,
    searched_as,
    subject_of,
)
from agent.sample.model.text import (
    Record,
    Sentence,
    about,
    block,
    distinct,
    elements,
    expanded,
    joined,
    language_of,
    lines,
    number,
    quoted,
    ranked,
    records,
    sentences,
    spoken,
)
from agent.sample.model.words import say
from agent.texts.language import Language, detect_language

PAGES, PER_PAGE, WRITTEN_UP, PLACES, SOURCES, PER_SOURCE = 2, 4, 6, 6, 3, 3
TEXT_SEARCH, DETAIL = "maps_text_search", "maps_search_detail"
_SINGLE = ("route", "distance", "weather", "regeo")


def question_of(user: str) -> str:
    """The question as it reads alone."""
    places = [place.name for place in records(block(user, "previous_places"))]
    return resolved(block(user, "question"), lines(user, "conversation"), places)


def generate_query(turn: Turn) -> Answer:
    """The question and its aspects, each with its map task by the product's own rules."""
    question, count = cleaned(question_of(turn.user)), max(1, number(turn.user, "count", 1))
    task = map_task_by_rules(question)
    queries = [(question, task)]
    if where := "" if task and task["intent"] in _SINGLE else searched_as(question):
        queries += [(f"{where} {aspect}", None) for aspect in aspects_of(question)]
    written: list[dict[str, Any]] = []
    for text, mapped in queries:
        if len(written) < count and not any(near_duplicate(text, w["query"]) for w in written):
            written.append({"query": text, "map": _filled(mapped)})
    return Answer(json={"query": written, "rationale": say("rationale", language_of(turn))})


def _filled(task: MapTask | None) -> dict[str, Any] | None:
    """The task with every field of the schema, null where unknown."""
    empty = dict.fromkeys(("place", "city", "origin", "destination", "mode"))
    return None if task is None else {**empty, "keywords": [], "radius_m": 2000, **task}


def web_research(turn: Turn) -> Answer:
    """Sentences of the sample's pages on the subject, each resting on its page."""
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
        shown, space = Page(uri=page.url, title=page.title), "" if page.language == "zh" else " "
        told = quoted(page.text, asked_of(query), PER_PAGE, page.title)
        grounded += [GroundedSentence(s.text + space, (shown,)) for s in told]
        grounded += [GroundedSentence("\n")] if told else []
    nothing = GroundedSentence(say("nothing", language, question=query))
    return Answer(
        grounded=tuple(grounded[:-1]) or (nothing,), queries=(query,) if turn.search else ()
    )


def web_writeup(turn: Turn) -> Answer:
    """The best sentences of the results on the subject, each with the id of its result."""
    query, language = block(turn.user, "query"), language_of(turn)
    rows = [
        (attributes.get("id", ""), attributes.get("title") or text.partition("\n")[0], text)
        for attributes, text in elements(turn.user, "result")
    ]
    found = [
        sentence.marked(name)
        for name, title, text in about(
            ((row, f"{row[1]} {row[2]}") for row in rows), subject_of(query)
        )
        for sentence in sentences(text.partition("\n")[2] or text, title)
    ]
    told = ranked(found, asked_of(query), WRITTEN_UP)
    said = joined((s.text for s in told), language)
    return Answer(text=said or say("nothing", language, question=query))


def amap_research(turn: Turn) -> Answer:
    """The listed records as sentences; where none are listed, first the map's search."""
    language, query = language_of(turn), block(turn.user, "query")
    listed = [r for tag in ("places", "routes", "weather") for r in records(block(turn.user, tag))]
    if not listed and (calls := map_calls(turn, query)):
        return Answer(calls=calls)
    listed = listed or records("\n".join(result.text for result in turn.tool_results))
    stop, comma = ("。", "，") if language == "zh" else (".", ", ")
    told = [f"{comma.join(r.fields)}{stop}[^{r.id}]" for r in listed[:PLACES]]
    return Answer(text="\n".join(told) or say("nothing", language, question=query))


def map_calls(turn: Turn, query: str, most: int = 2) -> tuple[FunctionCall, ...]:
    """The next step on the map: its text search, then the details of the first places found."""
    offered = {tool.name for tool in turn.tools}
    found = [result for result in turn.tool_results if result.name == TEXT_SEARCH]
    looked_up = any(result.name == DETAIL for result in turn.tool_results)
    if not {TEXT_SEARCH, DETAIL} <= offered or looked_up:
        return ()
    if not found:
        task = map_task_by_rules(query) or MapTask(intent="poi", place=query)
        where = task.get("place") or task.get("city") or ""
        words = " ".join(filter(None, (where, *(task.get("keywords") or [])[:1]))) or query
        city = {"city": task["city"]} if task.get("city") else {}
        return (FunctionCall(TEXT_SEARCH, {"keywords": words, **city}),)
    ids = re.findall(r'"id":\s*"([^"]+)"', "\n".join(result.text for result in found))
    return tuple(FunctionCall(DETAIL, {"id": name}) for name in dict.fromkeys(ids[:most]))


def reflection(turn: Turn) -> Answer:
    """Enough, unless an aspect that the question names is in no finding and was not asked yet."""
    question, asked = cleaned(block(turn.user, "question")), lines(turn.user, "asked")
    found = [s.bare for s in sentences(block(turn.user, "findings")) if s.ids]
    known = " ".join(map(expanded, found)).casefold()
    missing = [a for a in aspects_of(question) if known and not _spoken_of(a, known)]
    wanted = [f"{searched_as(question)} {aspect}" for aspect in missing]
    fresh = [text for text in wanted if not any(near_duplicate(text, query) for query in asked)]
    follow_ups = [{"query": text, "map": None} for text in fresh[: number(turn.user, "limit", 1)]]
    verdict = {
        "is_sufficient": not follow_ups,
        "knowledge_gap": ", ".join(missing) if follow_ups else "",
    }
    return Answer(json={**verdict, "follow_up_queries": follow_ups})


def _spoken_of(aspect: str, text: str) -> bool:
    """Whether a text has half of an aspect's words, or of what the map would look for."""
    words = [*re.findall(r"[a-z0-9]{3,}", aspect.casefold())]
    words += [aspect[at : at + 2] for at in range(len(aspect) - 1) if not aspect.isascii()]
    mapped = expanded(aspect).casefold().split()[len(aspect.split()) :]
    return any(word in text for word in mapped) or 2 * sum(w in text for w in words) >= len(words)


def answer(turn: Turn) -> Answer:
    """Places first where there are some, then the sentences that bear most on the question."""
    if "<cut_off>" in turn.user:
        return continued(turn, composed)
    return Answer(text=composed(turn))


def composed(turn: Turn, user: str = "") -> str:
    """The whole answer to what a request holds."""
    user, language = user or turn.user, language_of(turn)
    question = question_of(user)
    asked = cleaned(question)
    places = sorted(records(block(user, "places")), key=lambda place: -len(place.fields))
    places = places or [p for p in records(block(user, "previous_places")) if p.name in question]
    facts = [*records(block(user, "routes"))[:1], *records(block(user, "weather"))[:1]]
    found = [s for s in sentences(block(user, "findings")) if s.ids and s.ids[0][0] != "a"]
    web = _by_source(spoken(found, language), asked_of(asked), language)
    if not (places or facts or web):
        return say("nothing", language, question=asked)
    parts = [say("sample", language)]
    if places:
        opening = say("places" if len(places) > 1 else "place", language, question=asked)
        parts.append(_list(opening.replace("{count}", str(len(places))), places[:PLACES]))
    if facts:
        parts.append(_list(say("facts", language, question=asked), facts))
    if web:
        parts.append("\n".join([say("web", language), *web]))
    return "\n\n".join(parts)


def _list(opening: str, rows: list[Record]) -> str:
    return "\n".join([opening, *(f"- {row.shown()}" for row in rows)])


def _by_source(found: list[Sentence], asked: str, language: Language) -> list[str]:
    """A line for each source, first those that bear on the question: its best sentences."""
    order = distinct([*ranked(found, asked), *found])
    bearing = {sentence.ids[0] for sentence in ranked(found, asked)}
    told = []
    for source in sorted(dict.fromkeys(s.ids[0] for s in found), key=lambda s: s not in bearing):
        own = [s.text for s in order if s.ids[0] == source][:PER_SOURCE]
        texts = dict.fromkeys(s.text for s in found if s.text in own)
        told += [f"- {joined(texts, language)}"] if texts else []
    return told[:SOURCES]


def continued(turn: Turn, compose: Any) -> Answer:
    """What follows in the same text after the end that `<cut_off>` shows."""
    asked = [past.text for past in turn.history if "<question>" in past.text]
    whole = compose(turn, asked[-1]) if asked else ""
    tail = block(turn.user, "cut_off")[-40:]
    rest = whole.partition(tail)[2] if tail else ""
    return Answer(text=rest if rest.strip() else say("end", language_of(turn)))
