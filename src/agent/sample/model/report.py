"""The assistant `deep_research`: a topic per aspect, notes quoted from pages, and the report."""

from agent.evidence.intent import extract_place
from agent.evidence.places import activity_keywords
from agent.sample.model.request import Answer, FunctionCall, Turn
from agent.sample.model.research import TEXT_SEARCH, continued, map_calls, question_of
from agent.sample.model.subject import aspects_of, cleaned, searched_as, subject_of
from agent.sample.model.text import (
    Sentence,
    about,
    best,
    block,
    elements,
    joined,
    language_of,
    lines,
    quoted,
    ranked,
    records,
    sentences,
    spoken,
)
from agent.sample.model.words import say

THINK, SEARCH = "think_tool", "tavily_search"
CHANGE, END = "change_research_topic", "end_of_research"
USEFUL, PER_PAGE, PER_TOPIC, RECORDS = 3, 6, 8, 8


def deep_explore(turn: Turn) -> Answer:
    """One search for each topic; then the pages on the subject are kept, and the next one comes."""
    language, question = language_of(turn), cleaned(question_of(turn.user))
    named, topic = aspects_of(question), block(turn.user, "topic")
    done = [line.lstrip("- ").rpartition(" (")[0] for line in lines(turn.user, "topics_done")]
    left = [name for name in named if name not in done and name != topic]
    searches = [result.text for result in turn.tool_results if result.name == SEARCH]
    if not searches:
        thought = _call(THINK, reflection=say("search", language, topic=left[0] if left else topic))
        if left and topic not in named:
            return Answer(calls=(thought, _change(left[0], [])))
        query = f"{searched_as(question)} {topic}" if topic in named else question
        mapped = _mapped(question, topic, first=topic in (question, *named[:1]))
        on_map = map_calls(turn, mapped) if mapped else ()
        return Answer(calls=(thought, _call(SEARCH, queries=[query]), *on_map))
    if any(r.name == TEXT_SEARCH for r in turn.tool_results) and (
        details := map_calls(turn, topic)
    ):
        return Answer(calls=details)
    urls = _useful("\n".join(searches), question, topic if topic in named else question)
    told = say("pages", language, topic=topic, count=str(len(urls)))
    last = _change(left[0], urls) if left else _call(END, search_result_of_current_topic=urls)
    return Answer(calls=(_call(THINK, reflection=told), last))


def _call(name: str, **arguments: object) -> FunctionCall:
    return FunctionCall(name, arguments)


def _change(topic: str, urls: list[str]) -> FunctionCall:
    return _call(CHANGE, new_topic=topic, reason=topic, search_result_of_current_topic=urls)


def _mapped(question: str, topic: str, *, first: bool) -> str:
    """What the map may know of a topic, and of the question with the first one; else empty."""
    place, words = extract_place(question), activity_keywords(topic, "zh")
    words = words or (activity_keywords(question, "zh") if first else [])
    return f"{place[0]} {words[0]}" if place and words else ""


def _useful(results: str, question: str, topic: str) -> list[str]:
    """The addresses of the listed pages that name the subject and bear on the topic."""
    rows = [
        (a["url"], f"{a.get('title', '')} {text}")
        for a, text in elements(results, "result")
        if a.get("url")
    ]
    named = about(((row, row[1]) for row in dict(rows).items()), subject_of(question))
    return [url for url, _ in best(named, topic, lambda row: row[1], USEFUL)]


def deep_compress(turn: Turn) -> Answer:
    """The sentences of each page that bear on the topic, in their order, each with its marker."""
    language, topic = language_of(turn), block(turn.user, "topic")
    found = [
        sentence.marked(attributes["id"])
        for attributes, text in elements(turn.user, "page")
        for sentence in quoted(text, topic, PER_PAGE, attributes.get("title", ""))
    ]
    notes = joined((sentence.text for sentence in spoken(found, language)), language)
    if not notes and (pages := elements(turn.user, "page")):
        notes = f"{say('nothing_here', language)}[^{pages[0][0]['id']}]"
    return Answer(text=notes or say("nothing", language, question=topic))


def deep_report(turn: Turn) -> Answer:
    """The whole report, or what follows where one was cut off."""
    return continued(turn, _report) if "<cut_off>" in turn.user else Answer(text=_report(turn))


def _report(turn: Turn, user: str = "") -> str:
    user, language = user or turn.user, language_of(turn)
    question, used = cleaned(block(user, "question")), {say("nothing_here", language)}
    told: list[tuple[str, list[Sentence]]] = []
    listed: list[tuple[str, str]] = []
    for attributes, text in elements(user, "topic"):
        name = attributes.get("name", "")
        if rows := records(text) if text.startswith("[^") else []:
            listed.append((name, "\n".join(f"- {row.shown()}" for row in rows[:RECORDS])))
            continue
        own = [s for s in sentences(text) if s.ids and s.bare not in used][:PER_TOPIC]
        used |= {sentence.bare for sentence in own}
        told.append((name, own))
    if not (any(own for _, own in told) or listed):
        told_there = [s.text for _, text in elements(user, "topic") for s in sentences(text)][:1]
        return joined([say("nothing", language, question=question), *told_there], language)
    first = [(ranked(own, name, 1) or own)[0].text for name, own in told if own]
    parts = [f"# {question}", say("sample", language)]
    if first:
        parts += [f"## {say('summary', language)}", joined(first, language)]
    for name, own in told:
        if own:
            parts += [
                f"## {name[:1].upper()}{name[1:]}",
                joined((sentence.text for sentence in own), language),
            ]
    for name, rows_told in listed:
        parts += [f"## {name}", rows_told]
    empty = [name for name, own in told if not own]
    parts += [f"## {say('conclusion', language)}", say("quoted_only", language)]
    parts += [say("nothing_on", language, what=", ".join(empty))] if empty else []
    return "\n\n".join(parts)
