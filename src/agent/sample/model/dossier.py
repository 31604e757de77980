"""Reply for `plan_execute`: a task per aspect, the look-ups besides, and the dossier."""

import re
from dataclasses import dataclass

from agent.evidence.citations import MARKER
from agent.evidence.intent import extract_place
from agent.evidence.places import activity_keywords
from agent.sample.model.request import Answer, FunctionCall, Turn
from agent.sample.model.research import PLACES, continue_text, map_calls, question_of
from agent.sample.model.subject import Subject, aspects_of, clean_question, searched_as, subject_of
from agent.sample.model.text import (
    Sentence,
    best,
    block,
    distinct,
    elements,
    in_language,
    join_sentences,
    language_of,
    lines,
    number,
    rank,
    records,
    sentences,
    short,
)
from agent.texts import say
from agent.texts.language import Language, detect_language

SEC, AKSHARE = "sec_edgar_search", "akshare_search"
PER_KIND, PER_SOURCE, FIGURES, QUESTIONS, LONGEST = 4, 2, 4, 8, 260
_DOCUMENT = re.compile(rf"^{MARKER.pattern}\s*[(（]([^()（）]*)[)）]\s*(.*?)(?: — (.*))?$")
_PASSAGE = re.compile(rf"^{MARKER.pattern}\s*(.*?(?:, p\. \d+|，第 \d+ 页)|[^:]*): (.*)$")
_PAGE = re.compile(r"(?:, p\. \d+|，第 \d+ 页)$")
_FIGURE = re.compile(rf"^{MARKER.pattern}\s*(.+)$")
_COMPANY = re.compile(
    "公司|企业|集团|股份|同行|营收|营业收入|利润|财报|年报|财务|股价|上市|业务"
    r"|\b(?:compan(?:y|ies)|peers|competitors?|revenues?|profits?|earnings|financ\w*|inc|corp)\b",
    re.IGNORECASE,
)
_MONEY = re.compile("营收|收入|利润|财务|财报|revenue|profit|earnings|financ", re.IGNORECASE)
_OF_ITSELF = re.compile(r"本示例|示例论文|^本文|\b[Tt]his (?:sample|note|review|paper)\b")
_ENDED = re.compile(r"[。！？!?.]['\"”’」』）)]*$")


@dataclass(frozen=True)
class Quote:
    """Hold a sentence of a document, under the name of its kind of source."""

    kind: str
    sentence: Sentence


def plan_tasks(turn: Turn) -> Answer:
    """Return a task for each aspect the question names, at most three; else the question itself."""
    question, limit = clean_question(question_of(turn.user)), max(1, number(turn.user, "limit", 3))
    queries = [f"{searched_as(question)} {a}" for a in aspects_of(question)] or [question]
    offered = re.findall(r"\w+", block(turn.user, "sources"))
    tasks = [
        {"id": f"T{n}", "query": q, "dep": [], **_special_sources(question, q, offered)}
        for n, q in enumerate(queries[:limit], 1)
    ]
    return Answer(json={"tasks": tasks})


def _special_sources(question: str, task: str, offered: list[str]) -> dict[str, object]:
    """Return which special sources a task needs, and the name of its company."""
    subject = subject_of(task).text
    figures = "akshare" if detect_language(task) == "zh" else "filings"
    wanted = ["documents"]
    if subject and _COMPANY.search(f"{question} {task}"):
        wanted.append(figures)
    elif extract_place(task) and activity_keywords(task, "zh"):
        wanted.append("map")
    # A long Chinese subject begins with the company: 宁德时代钠离子电池.
    name = subject[:4] if detect_language(subject) == "zh" and len(subject) > 6 else subject
    company = name if figures in wanted and figures in offered else ""
    return {"sources": [name for name in wanted if name in offered], "company": company}


def execute_decide(turn: Turn) -> Answer:
    """Call for the figures of a company and the places of the map, by the subject's name, once."""
    question, task = clean_question(block(turn.user, "question")), block(turn.user, "task")
    available = {tool.name for tool in turn.tools} - {result.name for result in turn.tool_results}
    subject = subject_of(task).text
    tool = AKSHARE if detect_language(task) == "zh" else SEC
    calls: tuple[FunctionCall, ...] = ()
    if subject and tool in available and _COMPANY.search(f"{question} {task}"):
        calls = (
            FunctionCall(tool, {"query": f"{subject} {task}" if tool == AKSHARE else subject}),
        )
    elif (place := extract_place(task)) and (words := activity_keywords(task, "zh")):
        calls = map_calls(turn, f"{place[0]} {words[0]}")
    return Answer(calls=calls) if calls else Answer(text=say("sample.no_tool", language_of(turn)))


def rewrite_headings(turn: Turn) -> Answer:
    """Return the headings that share words with the question, each with the subject's name."""
    question = clean_question(block(turn.user, "question"))
    subject = subject_of(question)
    headings = best(lines(turn.user, "headings"), question, str, QUESTIONS)
    questions = [h if subject.is_named_in(h) else f"{subject.text} {h}" for h in headings]
    return Answer(json={"questions": list(dict.fromkeys(text[:60] for text in questions))})


def dossier(turn: Turn) -> Answer:
    """Return the whole dossier, or what follows where one was cut off."""
    return (
        continue_text(turn, _dossier) if "<cut_off>" in turn.user else Answer(text=_dossier(turn))
    )


def _dossier(turn: Turn, user: str = "") -> str:
    user, language = user or turn.user, language_of(turn)
    question = clean_question(question_of(user))
    subject, used = subject_of(question), set[str]()
    tasks = [(row.get("query", question), text) for row, text in elements(user, "task")]
    own_documents = [*_passages(user, subject, language)]
    sections: list[tuple[str, list[Quote]]] = []
    for query, text in tasks:
        aspect = query.removeprefix(searched_as(question)).strip() or query
        quotes = _best([*_documents(text, subject), *own_documents], aspect, language, used)
        quotes += _figures(user, tasks, subject) if _MONEY.search(query) else []
        used |= {each.sentence.bare for each in quotes}
        sections.append((aspect[:1].upper() + aspect[1:], quotes))
    all_quotes = [each for _, text in tasks for each in _documents(text, subject)] + own_documents
    if also := _also(all_quotes, sections, question, language):
        sections.append((say("sample.also", language), also))
        used |= {each.sentence.bare for each in also}
    places = records(block(user, "places"))
    if not (used or places):
        return say("sample.nothing", language, question=short(question))
    first = [quotes[0].sentence.text for _, quotes in sections if quotes]
    about = in_language([each.sentence for each in all_quotes], language)
    first = list(dict.fromkeys([*_opening(about, subject), *first]))
    parts = [f"# {question}", say("sample.quotation", language)]
    parts += (
        [f"## {say('sample.summary', language)}", join_sentences(first, language)] if first else []
    )
    for name, quotes in sections:
        parts += [f"## {name}", _body(quotes, language)] if quotes else []
    if places:
        place_lines = [f"- {place.shown()}" for place in places[:PLACES]]
        parts += [f"## {say('sample.map', language)}", "\n".join(place_lines)]
    parts += [f"## {say('sample.conclusion', language)}", say("sample.quoted_only", language)]
    empty = [name for name, quotes in sections if not quotes]
    parts += [say("sample.nothing_on", language, what=short(", ".join(empty)))] if empty else []
    return "\n\n".join(parts)


def _documents(text: str, subject: Subject) -> list[Quote]:
    """Return the sentences of a task's documents that name the subject."""
    return [
        Quote(re.split("[,，]", kind)[0].strip(), sentence.marked(name))
        for name, kind, title, body in _matches(_DOCUMENT, text)
        if body and subject.is_named_in(f"{title} {body}")
        for sentence in _whole(body, title)
    ]


def _passages(user: str, subject: Subject, language: Language) -> list[Quote]:
    """Return the sentences of papers' and own documents' passages that name the subject."""
    return [
        Quote(say("sample.document", language), sentence.marked(name))
        for name, title, body in _matches(_PASSAGE, block(user, "passages"))
        if subject.is_named_in(f"{title} {body}")
        for sentence in _whole(body, title)
    ]


def _opening(candidates: list[Sentence], subject: Subject) -> list[str]:
    """Return the first sentence that begins with the subject and so says what it is."""
    return [s.text for s in candidates if subject.is_named_in(s.bare[: len(subject.text) + 8])][:1]


def _matches(pattern: re.Pattern[str], text: str) -> list[tuple[str, ...]]:
    matches = (pattern.match(line.strip()) for line in text.splitlines())
    return [tuple(group or "" for group in match.groups()) for match in matches if match]


def _whole(text: str, title: str) -> list[Sentence]:
    """Return the sentences that were not cut off and do not speak of their own text."""
    whole = [s for s in sentences(text, title) if _ENDED.search(s.bare) and len(s.bare) <= LONGEST]
    return [sentence for sentence in whole if not _OF_ITSELF.search(sentence.bare)]


def _best(candidates: list[Quote], aspect: str, language: Language, used: set[str]) -> list[Quote]:
    """Return the sentences that bear most on an aspect, some of every kind of source.

    Of a source none of whose sentences does, its title may.
    """
    own = in_language(distinct(each.sentence for each in candidates), language)
    by_text = {each.sentence.text: each for each in reversed(candidates)}
    order = rank([Sentence(sentence.text) for sentence in own], aspect)
    sources = {sentence.ids for sentence in order}
    order += rank([sentence for sentence in own if sentence.ids not in sources], aspect)
    counts: dict[str, int] = {}
    quotes: list[Quote] = []
    for sentence in order:
        each = by_text[sentence.text]
        kind, source = each.kind, _source(each)
        of_kind, of_source = counts.get(kind, 0), counts.get(source, 0)
        if sentence.bare not in used and of_kind < PER_KIND and of_source < PER_SOURCE:
            counts |= {kind: of_kind + 1, source: of_source + 1}
            quotes.append(each)
    return quotes


def _also(
    candidates: list[Quote],
    sections: list[tuple[str, list[Quote]]],
    question: str,
    language: Language,
) -> list[Quote]:
    """Return the best sentences on the subject of those sources that no aspect has any of."""
    sources = {_source(each) for _, section in sections for each in section}
    rest = [each for each in candidates if _source(each) not in sources]
    return _best(rest, question, language, set())


def _source(quote: Quote) -> str:
    """Return the title of a sentence's source, without the page."""
    return _PAGE.sub("", quote.sentence.title)


def _figures(user: str, tasks: list[tuple[str, str]], subject: Subject) -> list[Quote]:
    """Return the first figures of statements on the subject, as they are listed."""
    heads = [row for _, text in tasks for row in _matches(_DOCUMENT, text)]
    own = {name: kind for name, kind, title, _ in heads if subject.is_named_in(title)}
    rows = _matches(_FIGURE, block(user, "figures"))
    return [
        Quote(re.split("[,，]", own[name])[0], Sentence(f"{text} [^{name}]"))
        for name, text in rows
        if name in own
    ][:FIGURES]


def _body(quotes: list[Quote], language: Language) -> str:
    """Return a paragraph for each kind of source."""
    kinds: dict[str, list[str]] = {}
    for each in quotes:
        kinds.setdefault(each.kind, []).append(each.sentence.text)
    colon = "：" if language == "zh" else ": "
    return "\n\n".join(
        f"**{k[:1].upper()}{k[1:]}**{colon}{join_sentences(texts, language)}"
        for k, texts in kinds.items()
    )
