"""Reply for `deep_research` and `plan_execute`: a topic or task per aspect, notes, the report."""

import re
from dataclasses import replace

from agent.evidence.intent import extract_place
from agent.evidence.vocabulary import activity_keywords
from agent.sample.model.request import Answer, FunctionCall, Turn
from agent.sample.model.research import (
    PLACES,
    TEXT_SEARCH,
    map_calls,
    nothing_on,
    plain_question,
)
from agent.sample.model.text import (
    Record,
    Source,
    block,
    elements,
    language_of,
    lines,
    number,
    quotable,
    records,
    sources,
)
from agent.sample.sentences import (
    Sentence,
    best,
    in_language,
    join_sentences,
    quote,
    rank,
    sentences,
    short,
)
from agent.sample.subject import Subject, aspects_of, clean_question, searched_as, subject_of
from agent.texts import Language, detect_language, say

THINK, SEARCH, SEARCH_DOCUMENTS = "think_tool", "tavily_search", "search_documents"
CHANGE, END = "change_research_topic", "end_of_research"
MOST_PARTS, USEFUL, PER_PAGE, PER_TOPIC = 3, 3, 6, 8
PER_KIND, PER_SOURCE, FIGURES, QUESTIONS, LONGEST = 4, 2, 4, 8, 260
Section = tuple[str, list[Sentence]]
_COMPANY = re.compile(
    "公司|企业|集团|股份|同行|营收|营业收入|利润|财报|年报|财务|股价|上市|业务"
    r"|\b(?:compan(?:y|ies)|peers|competitors?|revenues?|profits?|earnings|financ\w*|inc|corp)\b",
    re.IGNORECASE,
)
_MONEY = re.compile("营收|收入|利润|财务|财报|revenue|profit|earnings|financ", re.IGNORECASE)
_OF_ITSELF = re.compile(r"本示例|示例论文|^本文|\b[Tt]his (?:sample|note|review|paper)\b")
_ENDED = re.compile(r"[。！？!?.]['\"”’」』）)]*$")


def deep_plan(turn: Turn) -> Answer:
    """Return a topic for each aspect the question names; else the question itself."""
    question = plain_question(turn)
    named = aspects_of(question, with_subject=True) or [question]
    topics = [{"name": name, "what_to_find": f"{searched_as(question)} {name}"} for name in named]
    return Answer(json={"topics": topics[: _limit(turn)]})


def _limit(turn: Turn, default: int = MOST_PARTS) -> int:
    return max(1, number(turn.user, "limit", default))


def deep_explore(turn: Turn) -> Answer:
    """Search once for each topic, then keep the pages on the subject and go on to the next."""
    question = plain_question(turn)
    topic = block(turn.user, "topic") or question
    plan = [row for row, _ in elements(turn.user, "planned")]
    named = [row.get("name", "") for row in plan]
    rest = [row.get("name", "") for row in plan if row.get("status") == "planned"]
    results = "\n".join(result.text for result in turn.tool_results if result.name == SEARCH)
    if not results:
        return Answer(calls=tuple(_searches(turn, question, topic, named)))
    on_map = any(result.name == TEXT_SEARCH for result in turn.tool_results)
    if on_map and (details := map_calls(turn, topic)):
        return Answer(calls=details)
    pages = {page.url: page for page in sources(results, subject_of(question)) if page.url}
    aim = topic if topic in named else question
    useful = best(pages.values(), aim, lambda page: f"{page.title} {page.text}", USEFUL)
    urls: dict[str, object] = {"search_result_of_current_topic": [page.url for page in useful]}
    following = [{"new_topic": name, "reason": name} | urls for name in rest]
    last = FunctionCall(CHANGE, following[0]) if following else FunctionCall(END, urls)
    return Answer(calls=(_thought(turn, "pages", topic=short(topic), count=len(useful)), last))


def _searches(turn: Turn, question: str, topic: str, named: list[str]) -> list[FunctionCall]:
    """Return the searches for a topic, on the map as well where it asks for places."""
    query = f"{searched_as(question)} {topic}" if topic != question else question
    words = activity_keywords(topic, "zh")
    if topic in (question, *named[:1]):
        words = words or activity_keywords(question, "zh")
    calls = [
        _thought(turn, "search", topic=short(topic)),
        FunctionCall(SEARCH, {"queries": [query]}),
    ]
    if any(tool.name == SEARCH_DOCUMENTS for tool in turn.tools):
        calls.append(FunctionCall(SEARCH_DOCUMENTS, {"query": query}))
    return [*calls, *_places_calls(turn, question, words)]


def _thought(turn: Turn, key: str, **values: object) -> FunctionCall:
    return FunctionCall(THINK, {"reflection": say(f"sample.{key}", language_of(turn), **values)})


def _places_calls(turn: Turn, text: str, words: list[str]) -> tuple[FunctionCall, ...]:
    """Return the map's next calls for what to do at the place that a text names."""
    place = extract_place(text)
    return map_calls(turn, f"{place[0]} {words[0]}") if place and words else ()


def deep_compress(turn: Turn) -> Answer:
    """Return the sentences of each page that bear on the topic, in their order, with its marker."""
    language, topic = language_of(turn), block(turn.user, "topic")
    notes = _notes(sources(turn.user), topic, language)
    return Answer(text=join_sentences(notes, language) or nothing_on(topic, language))


def _notes(pages: list[Source], topic: str, language: Language) -> list[Sentence]:
    """Return what pages say on a topic; where none says anything, that, with the first's marker."""
    quotes = [s for page in pages for s in quote(page.sentences(), topic, PER_PAGE)]
    if not quotes and pages:
        return [Sentence(f"{say('sample.nothing_here', language)}[^{pages[0].id}]")]
    return in_language(quotes, language)


def deep_report(turn: Turn) -> Answer:
    """Return the notes topic by topic, each sentence once, and the records as lists."""
    language, question = language_of(turn), clean_question(block(turn.user, "question"))
    nothing_here = say("sample.nothing_here", language)
    sections: list[Section] = []
    tables: dict[str, list[Record]] = {}
    remarks: list[Sentence] = []
    used: set[str] = set()
    for attributes, text in elements(turn.user, "topic"):
        name = attributes.get("name", "")
        if text.startswith("[^"):
            tables[name] = records(text)
            continue
        # Short pages stand there themselves, instead of notes on them.
        notes = _notes(sources(text), name, language) if elements(text, "page") else sentences(text)
        bearing = [s for s in notes if s.ids and s.bare != nothing_here]
        remarks += [s for s in notes if s not in bearing][:1]
        own = [s for s in bearing if s.bare not in used][:PER_TOPIC]
        used |= {sentence.bare for sentence in own}
        # What another topic has said already is not missing here.
        sections += [(name, own)] if own or not bearing else []
    if not (used or tables):
        nothing = Sentence(nothing_on(question, language))
        return Answer(text=join_sentences([nothing, *remarks[:1]], language))
    first = [(rank(own, name, 1) or own)[0] for name, own in sections if own]
    return _report(question, in_language(first, language), sections, tables, language)


def plan_tasks(turn: Turn) -> Answer:
    """Return a task for each aspect the question names, at most three; else the question itself."""
    question = plain_question(turn)
    queries = [f"{searched_as(question)} {a}" for a in aspects_of(question)] or [question]
    offered = re.findall(r"\w+", block(turn.user, "sources"))
    tasks = [
        _task("T", n, q) | _special_sources(question, q, offered) for n, q in enumerate(queries, 1)
    ]
    return Answer(json={"tasks": tasks[: _limit(turn)]})


def wish_tasks(turn: Turn) -> Answer:
    """Return a task for each wish, in its own words about the question's subject."""
    subject = searched_as(plain_question(turn))
    wishes = filter(None, (line.removeprefix("- ") for line in lines(turn.user, "wishes")))
    tasks = [_task("W", n, f"{subject} {wish}") for n, wish in enumerate(wishes, 1)]
    return Answer(json={"tasks": tasks[: _limit(turn, 1)]})


def _task(letter: str, at: int, query: str) -> dict[str, object]:
    return {"id": f"{letter}{at}", "query": query, "dep": []}


def _special_sources(question: str, task: str, offered: list[str]) -> dict[str, object]:
    """Return which special sources a task needs, and the name of its company."""
    subject = subject_of(task).text
    figures = "akshare" if detect_language(task) == "zh" else "filings"
    kinds = ["documents"]
    if subject and _COMPANY.search(f"{question} {task}"):
        kinds.append(figures)
    elif extract_place(task) and activity_keywords(task, "zh"):
        kinds.append("map")
    # A long Chinese subject begins with the company: 宁德时代钠离子电池.
    name = subject[:4] if detect_language(subject) == "zh" and len(subject) > 6 else subject
    company = name if figures in kinds and figures in offered else ""
    return {"sources": [name for name in kinds if name in offered], "company": company}


def execute_decide(turn: Turn) -> Answer:
    """Call the map for a place and what to do there; which other sources serve, the plan says."""
    task = block(turn.user, "task")
    calls = _places_calls(turn, task, activity_keywords(task, "zh"))
    return Answer(calls=calls) if calls else Answer(text=say("sample.no_tool", language_of(turn)))


def rewrite_headings(turn: Turn) -> Answer:
    """Return the headings that share words with the question, each with the subject's name."""
    question = clean_question(block(turn.user, "question"))
    subject = subject_of(question)
    headings = best(lines(turn.user, "headings"), question, str, QUESTIONS)
    questions = [h if subject.is_named_in(h) else f"{subject.text} {h}" for h in headings]
    return Answer(json={"questions": list(dict.fromkeys(text[:60] for text in questions))})


def own_differences(turn: Turn) -> Answer:
    """Return none: what contradicts what needs a model to be seen."""
    return Answer(json={"differences": []})


def dossier(turn: Turn) -> Answer:
    """Return the best sentences on each task's aspect, the figures where money is one."""
    user, language, question = turn.user, language_of(turn), plain_question(turn)
    subject, used = subject_of(question), set[str]()
    tasks = [(row.get("query", question), text) for row, text in elements(user, "task")]
    documents = "\n".join(text for _, text in elements(user, "document"))
    passages = f"<passages>\n{documents}\n{block(user, 'passages')}\n</passages>"
    own = [replace(s, kind=say("sample.document", language)) for s in _whole(passages, subject)]
    candidates = [sentence for _, text in tasks for sentence in _whole(text, subject)] + own
    sections: list[Section] = []
    for query, _ in tasks:
        aspect = query.removeprefix(searched_as(question)).strip() or query
        # What several tasks found stands with one of them.
        quotes = _spread(candidates, aspect, language, used)
        quotes += _figures(user, subject) if _MONEY.search(query) else []
        sections.append((aspect, quotes))
    cited = {sentence.title for _, quotes in sections for sentence in quotes}
    rest = [sentence for sentence in candidates if sentence.title not in cited]
    if also := _spread(rest, question, language, used):
        sections.append((say("sample.also", language), also))
    places = records(block(user, "places"))[:PLACES]
    if not (used or places):
        return Answer(text=nothing_on(question, language))
    begins = [s for s in candidates if subject.is_named_in(s.bare[: len(subject.text) + 8])]
    first = [*in_language(begins, language)[:1], *(q[0] for _, q in sections if q)]
    tables = {say("sample.map", language): places} if places else {}
    return _report(
        question, in_language(list(dict.fromkeys(first)), language), sections, tables, language
    )


def _whole(text: str, subject: Subject) -> list[Sentence]:
    """Return the whole sentences on a subject that do not speak of their own text."""
    return [
        s
        for s in quotable(text, subject)
        if _ENDED.search(s.bare) and len(s.bare) <= LONGEST and not _OF_ITSELF.search(s.bare)
    ]


def _spread(
    candidates: list[Sentence], query: str, language: Language, used: set[str]
) -> list[Sentence]:
    """Return the unused sentences that bear most on a query, some of every kind and source.

    Of a source none of whose sentences does, its title may.
    """
    own, chosen = in_language(candidates, language), list[Sentence]()
    order = rank(own, query, titles=False)
    bearing = {sentence.title for sentence in order}
    order += [sentence for sentence in rank(own, query) if sentence.title not in bearing]
    for sentence in order:
        titles = [other.title for other in chosen if other.kind == sentence.kind]
        fits = len(titles) < PER_KIND and titles.count(sentence.title) < PER_SOURCE
        if fits and sentence.bare not in used:
            chosen.append(sentence)
            used.add(sentence.bare)
    return chosen


def _figures(user: str, subject: Subject) -> list[Sentence]:
    """Return the first figures of statements on the subject, as they are listed."""
    kinds = {s.id: s.kind for s in sources(user) if s.kind and subject.is_named_in(s.title)}
    rows = [row for row in records(block(user, "figures")) if row.id in kinds]
    return [Sentence(f"{row.name} [^{row.id}]", kind=kinds[row.id]) for row in rows[:FIGURES]]


def _report(
    question: str,
    first: list[Sentence],
    sections: list[Section],
    tables: dict[str, list[Record]],
    language: Language,
) -> Answer:
    """Return a report: what stands first, the sections, the lists, and what is missing."""
    parts = [f"# {question[:1].upper()}{question[1:]}", say("sample.quotation", language)]
    if first:
        parts += [f"## {say('sample.summary', language)}", join_sentences(first, language)]
    for name, quotes in sections:
        if quotes:
            foreign = all(detect_language(sentence.bare) != language for sentence in quotes)
            parts += [f"## {name[:1].upper()}{name[1:]}"]
            parts += [say("sample.foreign", language)] if foreign else []
            parts += [_by_kind(quotes, language)]
    for name, rows in tables.items():
        parts += [f"## {name}", "\n".join(f"- {row.shown()}" for row in rows[:PER_TOPIC])]
    empty = ", ".join(name for name, quotes in sections if not quotes)
    parts += [f"## {say('sample.conclusion', language)}", say("sample.quoted_only", language)]
    parts += [say("sample.nothing_on", language, what=short(empty))] if empty else []
    return Answer(text="\n\n".join(parts))


def _by_kind(quotes: list[Sentence], language: Language) -> str:
    """Return a paragraph for each kind of source, under its name if it has one."""
    paragraphs = []
    for kind in dict.fromkeys(sentence.kind for sentence in quotes):
        text = join_sentences([s for s in quotes if s.kind == kind], language)
        head = f"**{kind[:1].upper()}{kind[1:]}**{say('punctuation.colon', language)}"
        paragraphs.append(f"{head}{text}" if kind else text)
    return "\n\n".join(paragraphs)


REPLIES = (
    *(deep_plan, deep_explore, deep_compress, deep_report),
    *(plan_tasks, wish_tasks, execute_decide, rewrite_headings, own_differences, dossier),
)
