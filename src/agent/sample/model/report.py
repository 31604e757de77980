"""Reply for `deep_research`: a topic per aspect, notes quoted from pages, and the report."""

from agent.evidence.intent import extract_place
from agent.evidence.places import activity_keywords
from agent.sample.model.request import Answer, FunctionCall, Turn
from agent.sample.model.research import TEXT_SEARCH, continue_text, map_calls, question_of
from agent.sample.model.subject import aspects_of, clean_question, searched_as, subject_of
from agent.sample.model.text import (
    Sentence,
    about,
    best,
    block,
    elements,
    in_language,
    join_sentences,
    language_of,
    lines,
    quote_text,
    rank,
    records,
    sentences,
    short,
)
from agent.texts import say

THINK, SEARCH = "think_tool", "tavily_search"
CHANGE, END = "change_research_topic", "end_of_research"
USEFUL, PER_PAGE, PER_TOPIC, RECORDS = 3, 6, 8, 8


def deep_explore(turn: Turn) -> Answer:
    """Search once for each topic, then keep the pages on the subject and go on to the next."""
    language, question = language_of(turn), clean_question(question_of(turn.user))
    named, topic = aspects_of(question, with_subject=True), block(turn.user, "topic") or question
    finished = [line.lstrip("- ").rpartition(" (")[0] for line in lines(turn.user, "topics_done")]
    rest = [name for name in named if name not in finished and name != topic]
    searches = [result.text for result in turn.tool_results if result.name == SEARCH]
    if not searches:
        thinking = _call(
            THINK,
            reflection=say("sample.search", language, topic=short(rest[0] if rest else topic)),
        )
        if rest and topic not in named:
            return Answer(calls=(thinking, _change(rest[0], [])))
        query = f"{searched_as(question)} {topic}" if topic in named else question
        map_query = _map_query(question, topic, first=topic in (question, *named[:1]))
        on_map = map_calls(turn, map_query) if map_query else ()
        return Answer(calls=(thinking, _call(SEARCH, queries=[query]), *on_map))
    if any(r.name == TEXT_SEARCH for r in turn.tool_results) and (
        details := map_calls(turn, topic)
    ):
        return Answer(calls=details)
    urls = _useful("\n".join(searches), question, topic if topic in named else question)
    summary = say("sample.pages", language, topic=short(topic), count=len(urls))
    last = _change(rest[0], urls) if rest else _call(END, search_result_of_current_topic=urls)
    return Answer(calls=(_call(THINK, reflection=summary), last))


def _call(name: str, **arguments: object) -> FunctionCall:
    return FunctionCall(name, arguments)


def _change(topic: str, urls: list[str]) -> FunctionCall:
    return _call(CHANGE, new_topic=topic, reason=topic, search_result_of_current_topic=urls)


def _map_query(question: str, topic: str, *, first: bool) -> str:
    """Return the map's words for a topic, and for the question with the first one; else ""."""
    place, words = extract_place(question), activity_keywords(topic, "zh")
    words = words or (activity_keywords(question, "zh") if first else [])
    return f"{place[0]} {words[0]}" if place and words else ""


def _useful(results: str, question: str, topic: str) -> list[str]:
    """Return the addresses of the listed pages that name the subject and bear on the topic."""
    rows = [
        (a["url"], f"{a.get('title', '')} {text}")
        for a, text in elements(results, "result")
        if a.get("url")
    ]
    named = about(((row, row[1]) for row in dict(rows).items()), subject_of(question))
    return [url for url, _ in best(named, topic, lambda row: row[1], USEFUL)]


def deep_compress(turn: Turn) -> Answer:
    """Return the sentences of each page that bear on the topic, in their order, with its marker."""
    language, topic = language_of(turn), block(turn.user, "topic")
    quotes = [
        sentence.marked(attributes["id"])
        for attributes, text in elements(turn.user, "page")
        for sentence in quote_text(text, topic, PER_PAGE, attributes.get("title", ""))
    ]
    notes = join_sentences((sentence.text for sentence in in_language(quotes, language)), language)
    if not notes and (pages := elements(turn.user, "page")):
        notes = f"{say('sample.nothing_here', language)}[^{pages[0][0]['id']}]"
    return Answer(text=notes or say("sample.nothing", language, question=short(topic)))


def deep_report(turn: Turn) -> Answer:
    """Return the whole report, or what follows where one was cut off."""
    return continue_text(turn, _report) if "<cut_off>" in turn.user else Answer(text=_report(turn))


def _report(turn: Turn, user: str = "") -> str:
    user, language = user or turn.user, language_of(turn)
    question, used = clean_question(block(user, "question")), {say("sample.nothing_here", language)}
    topics: list[tuple[str, list[Sentence]]] = []
    tables: list[tuple[str, str]] = []
    for attributes, text in elements(user, "topic"):
        name = attributes.get("name", "")
        if rows := records(text) if text.startswith("[^") else []:
            tables.append((name, "\n".join(f"- {row.shown()}" for row in rows[:RECORDS])))
            continue
        own = [s for s in sentences(text) if s.ids and s.bare not in used][:PER_TOPIC]
        used |= {sentence.bare for sentence in own}
        topics.append((name, own))
    if not (any(own for _, own in topics) or tables):
        remark = [s.text for _, text in elements(user, "topic") for s in sentences(text)][:1]
        return join_sentences(
            [say("sample.nothing", language, question=short(question)), *remark], language
        )
    first = [(rank(own, name, 1) or own)[0].text for name, own in topics if own]
    parts = [f"# {question}", say("sample.quotation", language)]
    if first:
        parts += [f"## {say('sample.summary', language)}", join_sentences(first, language)]
    for name, own in topics:
        if own:
            parts += [
                f"## {name[:1].upper()}{name[1:]}",
                join_sentences((sentence.text for sentence in own), language),
            ]
    for name, table in tables:
        parts += [f"## {name}", table]
    empty = [name for name, own in topics if not own]
    parts += [f"## {say('sample.conclusion', language)}", say("sample.quoted_only", language)]
    parts += [say("sample.nothing_on", language, what=short(", ".join(empty)))] if empty else []
    return "\n\n".join(parts)
