"""Reply where nothing was recorded: search the question as it is, and quote the nearest sentences.

This understands nothing, and says so: what a person wants of a place, what a text means, whether a
source bears a statement out, needs a model.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from agent.core.strings import one_line
from agent.evidence.citations import MARKER
from agent.evidence.intent import map_task_by_rules, needs_origin, needs_place
from agent.evidence.language import sentence_spans
from agent.evidence.quotes import quoted_item
from agent.evidence.types import MapTask
from agent.evidence.vocabulary import without_activities
from agent.knowledge.ranking import Bm25, best_first
from agent.knowledge.terms import query_terms, terms
from agent.sample.corpus import search_pages
from agent.sample.model.request import (
    FunctionCall,
    GroundedSentence,
    GroundingPage,
    ModelReply,
    ModelTurn,
)
from agent.sample.model.text import (
    RecordLine,
    block,
    cited,
    elements,
    lines,
    number,
    record_lines,
    reply_language,
    sources,
    urls,
)
from agent.texts import detect_language, say

_SHARE = 0.5
_ASKING = frozenset(terms("work mean happen explain 原理 怎么 工作 作的"))
"""Words that only ask, besides those that every question is searched without."""


def within_a_sentence(text: str) -> str:
    """Return a question as it stands within a sentence of ours, cut where it is long."""
    return one_line(text.rstrip(" ?？!！.。"), longest=61)


@dataclass(frozen=True)
class Sentence:
    """Hold a sentence, and the id and the title of the source it stands in."""

    text: str
    id: str = ""
    title: str = ""


def source_sentences(text: str, id: str = "", title: str = "") -> list[Sentence]:
    """Return the sentences of a text without its markers, and without its title before them."""
    plain = MARKER.sub("", text.replace("…", "\n")).lstrip("# ")
    if title and plain.startswith(title):
        plain = plain.removeprefix(title).lstrip(": \n")
    return [Sentence(plain[start:end], id, title) for start, end in sentence_spans(plain)]


def ranked_sentences(rows: Iterable[Sentence], query: str) -> list[Sentence]:
    """Return the sentences that share a word with a query, best first."""
    own = list(dict.fromkeys(rows))
    scores = best_first(Bm25([row.text for row in own]).scores(query))
    return [own[at] for at, score in scores if score > 0]


def nearest_sentences(rows: Iterable[Sentence], query: str, most: int) -> list[Sentence]:
    """Return the sentences that share words with a query beyond the name of their subject.

    Best first. A word of the query that stands in a source's title tells the source, not the
    sentence: of a page on West Lake, "rain" must stand in the sentence itself.
    """
    return [row for row in ranked_sentences(rows, query) if _is_near(row, query)][:most]


def _is_near(row: Sentence, query: str) -> bool:
    told, wanted = set(terms(row.title)), query_terms(query)
    rest = [term for term in wanted if term not in told and term not in _ASKING] or wanted
    have = set(terms(row.text))
    return sum(term in have for term in rest) >= _SHARE * len(rest)


PAGES, OF_A_PAGE, SOURCES, OF_A_SOURCE, RECORDS = 2, 12, 4, 2, 6
THINK, SEARCH = "think_tool", "tavily_search"
CHANGE, END = "change_research_topic", "end_of_research"
SEARCHES = ("search_bocha", "search_google", "search_tavily", "search_documents")


def generate_query(turn: ModelTurn) -> ModelReply:
    """Return the question itself; on the map only where it names nothing but a place and a kind.

    What a place "near me" lacks is told by the product's own rules, as where no model answers.
    """
    question, earlier = block(turn.user, "question"), block(turn.user, "previous_places")
    needs = ""
    if not block(turn.user, "user_location"):
        is_lost = needs_place(question) and not earlier
        needs = "place" if is_lost else "origin" if needs_origin(question) else ""
    query: dict[str, object] = {"query": question, "map": plain_map_task(question)}
    queries = [] if needs else [query]
    return ModelReply(json={"question": question, "needs": needs, "query": queries})


def plain_map_task(question: str) -> MapTask | None:
    """Return the map task of the product's rules, None where the question says more than that.

    Who comes along, what it may cost and what must be there besides, only a model reads: the
    nearest car park is no answer to a dinner.
    """
    task = map_task_by_rules(question)
    if task is None or task["intent"] not in ("nearby", "area"):
        return task
    rest = without_activities(question).casefold()
    told = (task.get("place"), task.get("city"), *(task.get("keywords") or ()))
    for name in (*filter(None, told), *_WHERE_ZH):
        rest = rest.replace(name.casefold(), " ")
    return None if set(terms(rest)) - _WHERE_EN else task


_WHERE_ZH = (
    *("店", "馆", "附近", "周边", "周围", "一带", "有没有", "有哪些", "有什么", "哪里", "哪儿"),
    *("在哪", "推荐", *"的有吗呢哪里我"),
)
_WHERE_EN = frozenset(
    terms(
        "can i we near me my location here nearby around where is are there find show which a an"
        " the in of at to and"
    )
)
"""Words that only ask where something is."""


def web_research(turn: ModelTurn) -> ModelReply:
    """Return what the best pages of the sample say, each sentence resting on its page."""
    query = block(turn.user, "query")
    found = search_pages(query) if turn.search else []
    pages = [page for page in found if page.published >= turn.since]
    own = [page for page in pages if page.language == detect_language(query)] or pages
    grounded: list[GroundedSentence] = []
    for page in own[:PAGES]:
        source = GroundingPage(uri=page.url, title=page.title)
        space = "" if page.language == "zh" else " "
        grounded += [GroundedSentence("\n")] if grounded else []
        rows = source_sentences(page.text)[:OF_A_PAGE]
        grounded += [GroundedSentence(row.text + space, (source,)) for row in rows]
    nothing = GroundedSentence(
        say("sample.no_page", reply_language(turn), question=within_a_sentence(query))
    )
    return ModelReply(
        grounded=tuple(grounded) or (nothing,), queries=(query,) if turn.search else ()
    )


def reflection(_turn: ModelTurn) -> ModelReply:
    """Return the reply of a reflection that finds the material sufficient and asks nothing more."""
    return ModelReply(json={"is_sufficient": True, "knowledge_gap": "", "follow_up_queries": []})


def quoted_answer(turn: ModelTurn) -> ModelReply:
    """Return the map's records as they are, and the sentences nearest to the question."""
    tags = ("routes", "weather", "places")
    rows = [row for tag in tags for row in record_lines(block(turn.user, tag))[:RECORDS]]
    reply = _quoted(turn, block(turn.user, "question"), _all_sentences(turn.user), rows)
    unread = say("map.unread", reply_language(turn))
    if not block(turn.user, "routes") or unread in block(turn.user, "gaps"):
        return reply
    # The way was asked for by rules, which read its ends and nothing else.
    remark = say("answer.first", reply_language(turn), text=unread)
    return replace(reply, text=f"{reply.text}\n\n{remark[:1].upper()}{remark[1:]}")


def deep_plan(turn: ModelTurn) -> ModelReply:
    """Return one topic, the question."""
    question = block(turn.user, "question")
    return ModelReply(
        json={"topics": [{"name": within_a_sentence(question), "what_to_find": question}]}
    )


def deep_explore(turn: ModelTurn) -> ModelReply:
    """Search once for the topic, keep the best pages, and go on to the next topic."""
    topic, language = block(turn.user, "topic"), reply_language(turn)
    planned = elements(turn.user, "planned")
    wanted = next((text for row, text in planned if row.get("name") == topic), "")
    results = "\n".join(result.text for result in turn.tool_results if result.name == SEARCH)
    if not results:
        thought = say("sample.search", language, topic=within_a_sentence(topic))
        queries = [wanted or topic or block(turn.user, "question")]
        return _calls((THINK, {"reflection": thought}), (SEARCH, {"queries": queries}))
    found = urls(results)
    kept: dict[str, object] = {"search_result_of_current_topic": found}
    thought = say("sample.pages", language, topic=within_a_sentence(topic), count=len(found))
    rest = [row.get("name", "") for row, _ in planned if row.get("status") == "planned"]
    last = (CHANGE, {"new_topic": rest[0], "reason": rest[0]} | kept) if rest else (END, kept)
    return _calls((THINK, {"reflection": thought}), last)


def deep_compress(turn: ModelTurn) -> ModelReply:
    """Return the sentences of the pages that are nearest to the topic, else the first of them."""
    topic, found = block(turn.user, "topic"), _all_sentences(turn.user)
    rows = _nearest_of_each(found, topic, OF_A_PAGE) or found[:OF_A_PAGE]
    return ModelReply(text=_joined(rows, turn) or say("sample.nothing_here", reply_language(turn)))


def deep_report(turn: ModelTurn) -> ModelReply:
    """Return the sentences nearest to the question, and the map's records."""
    topics = elements(turn.user, "topic")
    rows = [row for _, text in topics if text.startswith("[^") for row in record_lines(text)]
    notes = [row for _, text in topics for row in _noted(text)]
    found = [*_all_sentences(turn.user), *notes]
    return _quoted(turn, block(turn.user, "question"), found, rows[:RECORDS])


def plan_tasks(turn: ModelTurn) -> ModelReply:
    """Return one task, the question, for the web and the own documents."""
    own = ["documents"] if "documents" in block(turn.user, "sources") else []
    task = {"id": "T1", "query": block(turn.user, "question"), "dep": [], "sources": own}
    return ModelReply(json={"tasks": [task]})


def wish_tasks(turn: ModelTurn) -> ModelReply:
    """Return a task for each wish, as it was said."""
    wishes = [line.removeprefix("- ") for line in lines(turn.user, "wishes")]
    tasks = [{"id": f"W{n}", "query": wish, "dep": []} for n, wish in enumerate(wishes, 1)]
    return ModelReply(json={"tasks": tasks[: number(turn.user, "limit", 1)]})


def dossier(turn: ModelTurn) -> ModelReply:
    """Return the sentences nearest to the question."""
    places = record_lines(block(turn.user, "places"))[:RECORDS]
    return _quoted(turn, block(turn.user, "question"), _all_sentences(turn.user), places)


def team_analyze(turn: ModelTurn) -> ModelReply:
    """Return the question as it stands."""
    form = block(turn.user, "format_requirement")
    return ModelReply(json={"asked": block(turn.user, "question"), "format_requirement": form})


def team_select(turn: ModelTurn) -> ModelReply:
    """Return the candidate who has waited longest, which is the first."""
    return ModelReply(text=next(iter(lines(turn.user, "candidates")), "researcher"))


def team_researcher(turn: ModelTurn) -> ModelReply:
    """Search once, and quote the sentence nearest to the question."""
    question = block(turn.user, "question")
    offered = [tool.name for tool in turn.tools if tool.name in SEARCHES]
    if offered and not turn.tool_results and "<tool " not in turn.user:
        return _calls(*((name, {"query": question}) for name in offered))
    text = "\n".join([turn.user, *(result.text for result in turn.tool_results)])
    rows = nearest_sentences(_all_sentences(text), question, 1)
    return ModelReply(
        text=f"{_joined(rows, turn)} {say('sample.needs_model', reply_language(turn))}"
    )


def team_verifier(turn: ModelTurn) -> ModelReply:
    """Agree that no answer was found, with the sentence nearest to the question."""
    said = {"verdict": "AGREE", "outcome": "not_found", "explanation": _unanswered(turn)}
    return _calls(("verdict", said))


def team_synthesize(turn: ModelTurn) -> ModelReply:
    """Settle on no answer, with the sentence nearest to the question."""
    return ModelReply(json={"outcome": "not_found", "explanation": _unanswered(turn)})


def _unanswered(turn: ModelTurn) -> str:
    rows = nearest_sentences(_all_sentences(turn.user), block(turn.user, "question"), 1)
    return f"{_joined(rows, turn)} {say('sample.needs_model', reply_language(turn))}".strip()


def _calls(*calls: tuple[str, Mapping[str, object]]) -> ModelReply:
    return ModelReply(calls=tuple(FunctionCall(name, dict(args)) for name, args in calls))


def _all_sentences(text: str) -> list[Sentence]:
    """Return the sentences of all sources that a text lists, and of the findings."""
    listed = [row for s in sources(text) if s.id for row in source_sentences(s.text, s.id, s.title)]
    own = [
        row
        for r in record_lines(block(text, "documents"))
        for row in source_sentences(r.text, r.id)
    ]
    findings = "\n".join(block(text, tag) for tag in ("sources", "findings"))
    return [*_noted(findings), *listed, *own]


def _noted(text: str) -> list[Sentence]:
    """Return the cited sentences of findings or notes."""
    return [row for part, id, title in cited(text) for row in source_sentences(part, id, title)]


def _nearest_of_each(rows: Iterable[Sentence], question: str, most: int) -> list[Sentence]:
    """Return the nearest sentences of each source, the source of the best first."""
    best = nearest_sentences(rows, question, 100)
    # Findings name a page before its first sentence.
    own = {(row.id, row.text) for row in best}
    heads = [row.text.partition(": ")[2] for row in best]
    best = [row for row, rest in zip(best, heads, strict=True) if (row.id, rest) not in own]
    # What several pages say in the same words is told once.
    best = [*{row.text: row for row in reversed(best)}.values()][::-1]
    ids = list(dict.fromkeys(row.id for row in best))[:SOURCES]
    return [row for id in ids for row in [r for r in best if r.id == id][:most]]


def _joined(rows: Iterable[Sentence], turn: ModelTurn) -> str:
    space = "" if reply_language(turn) == "zh" else " "
    return space.join(f"{row.text}[^{row.id}]" for row in rows)


def _quoted(
    turn: ModelTurn, question: str, found: list[Sentence], rows: list[RecordLine]
) -> ModelReply:
    """Return records and quotes under what they are: material, not an answer."""
    language, near = reply_language(turn), _nearest_of_each(found, question, OF_A_SOURCE)
    if not (rows or found):
        return ModelReply(
            text=say("sample.nothing", language, question=within_a_sentence(question))
        )
    parts = [say("sample.quotation", language)]
    if rows:
        listed = "\n".join(f"- {row.shown()}" for row in rows)
        parts.append(f"{say('sample.records', language)}\n{listed}")
    if near:
        listed = "\n".join(quoted_item(row.text, row.id) for row in near)
        parts.append(f"{say('sample.web', language)}\n{listed}")
    if not (rows or near):
        first: dict[str, Sentence] = {}
        for row in found:
            first.setdefault(row.id, row)
        shown = list(first.values())[:SOURCES]
        listed = "\n".join(quoted_item(row.text, row.id) for row in shown)
        parts.append(f"{say('sample.titles', language)}\n{listed}")
    return ModelReply(text="\n\n".join(parts))


REPLIES: dict[str, Callable[[ModelTurn], ModelReply]] = {"answer": quoted_answer} | {
    reply.__name__: reply
    for reply in (
        *(generate_query, web_research, reflection),
        *(deep_plan, deep_explore, deep_compress, deep_report),
        *(plan_tasks, wish_tasks, dossier),
        *(team_analyze, team_select, team_researcher, team_verifier, team_synthesize),
    )
}
PLAIN_TEXTS = {"amap_research": "sample.enough", "execute_decide": "sample.no_tool"}
"""The tasks for which one sentence of ours does, by its key in the texts."""


def minimal_reply(task: str, turn: ModelTurn) -> ModelReply | None:
    """Return the reply to a task; None where the least that its schema allows does."""
    if task in PLAIN_TEXTS:
        return ModelReply(text=say(PLAIN_TEXTS[task], reply_language(turn)))
    return REPLIES[task](turn) if task in REPLIES else None
