"""Reply for the assistant `agent`: queries, findings, reflection and the answer."""

import re
from datetime import date

from agent.evidence.intent import (
    extract_place,
    map_task_by_rules,
    needs_origin,
    needs_place,
)
from agent.evidence.language import days_named
from agent.evidence.types import Constraints, MapTask
from agent.evidence.vocabulary import activity_in
from agent.sample.corpus import find_anchor, search_pages
from agent.sample.model.request import Answer, FunctionCall, GroundedSentence, Page, Turn
from agent.sample.model.text import (
    Record,
    block,
    language_of,
    lines,
    number,
    records,
)
from agent.sample.sentences import (
    Sentence,
    best,
    distinct,
    in_language,
    join_sentences,
    quote,
    rank,
    sentences,
    short,
)
from agent.sample.subject import (
    aspects_of,
    clean_question,
    compared,
    resolve_references,
    searched_as,
    subject_of,
    topic_of,
)
from agent.texts import Language, detect_language, say

PAGES, PER_PAGE, PLACES, SOURCES, PER_SOURCE = 2, 4, 6, 3, 3
FACTS, ALL_FACTS, DAYS = 6, 20, 3
TEXT_SEARCH, DETAIL = "maps_text_search", "maps_search_detail"
BEST = 3
_LIST_BEGINS = re.compile(r"^“.*”:$", re.MULTILINE)
_DATE = re.compile(r"\d{4}-\d\d-\d\d")
_OTHER_WAY = re.compile(
    r"^\W*(?:那|坐|乘)?(?:地铁|公交|步行|走路|开车|打车|驾车|骑车)"
    r"|\bby (?:metro|subway|bus|car|taxi|bike)\b|\b(?:walk|drive|cycle)\b",
    re.IGNORECASE,
)
_BEST = (
    (
        re.compile(
            r"最便宜|最省钱|^(?:那|大概|要|它)*多少钱"
            r"|\b(?:cheapest|least expensive|how much (?:does|do|is|are) (?:it|they|that))\b",
            re.I,
        ),
        r"^¥(\d+)",
        1,
    ),
    (
        re.compile(r"(?:哪.{0,3}|离.{0,8})最?近|\b(?:closest|nearest)\b", re.I),
        r"([\d.]+) (k?m)\b",
        1,
    ),
    (
        re.compile(r"评分最高|最好|口碑最|\b(?:best|highest|top)[- ]rated\b|\bis the best\b", re.I),
        r"^★([\d.]+)",
        -1,
    ),
)
"""What a follow-up wants most, where a record says it, and the sign of its order."""
_WAYS = ("route", "distance")
_COURTESY = re.compile(
    r"(?:非常|太)?(?:谢谢|感谢)|[你您]好|[你您](?:是谁|能做什么)|再见|好的?|明白|thank you|thanks"
    r"|hello|hi|hey|bye|ok(?:ay)?|great|a lot|very much|who are you|what can you do"
    r"|[\W_了啦啊呀哦吧]+"
)
_SINGLE = ("route", "distance", "weather", "regeo")

_WANTS = re.compile(
    r"一日游|一天的?行程|\b(?:plan|make)\b.{0,20}\ba day\b|\bday trip\b", re.IGNORECASE
)
_CHANGES = (
    ("later", re.compile(r"晚一?点|\blater\b", re.IGNORECASE)),
    ("earlier", re.compile(r"早一?点|\bearlier\b", re.IGNORECASE)),
    ("leave_out", re.compile(r"不去|\b(?:skip|without)\b", re.IGNORECASE)),
)
_ORDINAL = re.compile(r"第([一二三四])|\b(first|second|third|fourth)\b", re.IGNORECASE)
_ORDER = {word: str(at) for words in ("一二三四", ("first", "second", "third", "fourth"))
          for at, word in enumerate(words, 1)}  # fmt: skip
_STOP = re.compile(r"^\d\d:\d\d–\d\d:\d\d (?:[^:]{1,12}: )?(.+?)(?: \[\^|$)")


def _is_courtesy(text: str) -> bool:
    """Return whether a message only greets or thanks, or asks who it is that answers."""
    return not _COURTESY.sub("", text[:200].casefold())


def question_of(turn: Turn) -> str:
    """Return the question as it reads alone; another way to go is asked between the same ends."""
    places = [place.name for place in records(block(turn.user, "previous_places"))]
    said, question = lines(turn.user, "conversation"), block(turn.user, "question")
    asked = [line.partition(":")[2].strip() for line in said if line.startswith("user:")]
    before = map_task_by_rules(asked[-1]) if asked else None
    if before and before["intent"] == "route" and _OTHER_WAY.search(question):
        return (
            f"{clean_question(asked[-1])} {question}" if not extract_place(question) else question
        )
    return question if _best_first(turn.user) else resolve_references(question, said, places)


def plain_question(turn: Turn) -> str:
    return clean_question(question_of(turn))


def nothing_on(what: str, language: Language) -> str:
    return say("sample.nothing", language, question=short(what))


def generate_query(turn: Turn) -> Answer:
    """Return the question and its aspects, each with its map task by the product's own rules.

    Which of the last answer's places are open then, their records say without a search.
    """
    question, count = plain_question(turn), max(1, number(turn.user, "count", 1))
    reply: dict[str, object] = {"question": question_of(turn), "constraints": _demands(turn)}
    has_place = extract_place(block(turn.user, "question")) is not None
    reply |= (day := _outing(turn, has_place=has_place))
    if needs := _needs(turn, lost="outing" in day and not has_place):
        return Answer(json={**reply, "needs": needs, "query": []})
    told = _best_first(turn.user)
    wanted = day.get("outing")
    replans = isinstance(wanted, dict) and wanted["earlier_places"]
    if told or replans or _is_courtesy(block(turn.user, "question")):
        return Answer(json={**reply, "needs_search": False, "query": []})
    if pair := _two_places(question_of(turn)):
        tasks = [{"query": name, "map": MapTask(intent="poi", place=name)} for name in pair]
        return Answer(json={**reply, "query": tasks})
    task = map_task_by_rules(question)
    rows: list[dict[str, object]] = [{"query": question, "map": task}]
    if task and task["intent"] in _WAYS:
        rows[0]["web"] = False
    rows += [{"query": query, "map": None} for query in _aspect_queries(question)]
    return Answer(json={**reply, "query": rows[:count]})


def _outing(turn: Turn, *, has_place: bool) -> dict[str, object]:
    """Return the fields of a reply that tell of a day over several places."""
    question, planned = block(turn.user, "question"), lines(turn.user, "planned_day")
    days = days_named(question, block(turn.user, "today"))
    day: dict[str, object] = {"day": days[0]} if days else {}
    changes = _changes(question, planned) if planned else []
    if changes or _WANTS.search(question):
        earlier = bool(changes) or not has_place
        return {**day, "outing": {"earlier_places": earlier, "changes": changes}}
    return day


def _changes(question: str, planned: list[str]) -> list[dict[str, str]]:
    change = next((name for name, words in _CHANGES if words.search(question)), "")
    names = [match[1] for line in planned if (match := _STOP.match(line))]
    stops = [name for name in names if name.split("(")[0] in question]
    if match := _ORDINAL.search(question):
        stops = [_ORDER[(match[1] or match[2]).casefold()]]
    return [{"stop": stop, "change": change} for stop in stops] if change else []


def _needs(turn: Turn, *, lost: bool) -> str:
    """Return what the person has to say first, by the product's own rules."""
    question, places = block(turn.user, "question"), block(turn.user, "previous_places")
    if block(turn.user, "user_location"):
        return ""
    if (lost or needs_place(question)) and not places:
        return "place"
    return "origin" if needs_origin(question) else ""


def _demands(turn: Turn) -> Constraints:
    """Return the weekdays that a question names: what else it demands takes a model to read."""
    days = days_named(block(turn.user, "question"), block(turn.user, "today"))
    weekdays = [date.fromisoformat(day).isoweekday() for day in days]
    return Constraints(open_on=weekdays) if weekdays else Constraints()


def _two_places(question: str) -> tuple[str, ...]:
    """Return the names of the places that a question compares, where the sample knows both."""
    spots = [find_anchor(name) for name in compared(question)]
    return tuple(spot.name for spot in spots if spot) if all(spots) else ()


def _aspect_queries(question: str) -> dict[str, str]:
    """Return each aspect by its query; none where a route or a forecast is the whole answer."""
    task = map_task_by_rules(question)
    aspects = [] if task and task["intent"] in _SINGLE else aspects_of(question)
    return {f"{searched_as(question)} {aspect}": aspect for aspect in aspects}


def web_research(turn: Turn) -> Answer:
    """Return sentences of the sample's pages on the subject, each resting on its page."""
    query = block(turn.user, "query")
    pages = search_pages(query) if turn.search and not needs_place(query) else []
    own = [page for page in pages if page.language == detect_language(query)]
    grounded, subject, topic = list[GroundedSentence](), subject_of(query), topic_of(query)
    # Pages whose headings have the aspect; a word in a text may be a part of another name.
    about = best(own or pages, topic, lambda page: " ".join(page.names), PAGES)
    for page in about or (own or pages)[:PAGES]:
        source, space = Page(uri=page.url, title=page.title), "" if page.language == "zh" else " "
        whole = sentences(page.text)
        if subject.exact and not subject.is_named_in(" ".join((page.title, *page.subjects))):
            # Of a page on many things, those sentences that name the one.
            whole = [sentence for sentence in whole if subject.is_named_in(sentence.bare)]
        quotes = quote(whole, topic, PER_PAGE) or (whole[:PER_PAGE] if page in about else [])
        grounded += [GroundedSentence("\n")] if grounded and quotes else []
        grounded += [GroundedSentence(s.text + space, (source,)) for s in quotes]
    nothing = GroundedSentence(_no_page_on(turn))
    return Answer(grounded=tuple(grounded) or (nothing,), queries=(query,) if turn.search else ())


def _no_page_on(turn: Turn) -> str:
    return say("sample.no_page", language_of(turn), question=short(block(turn.user, "query")))


def amap_research(turn: Turn) -> Answer:
    """Call the map's search where no record is listed; else say that it is enough."""
    listed = _map_records(turn.user)
    calls = () if listed else map_calls(turn, block(turn.user, "query"))
    return Answer(calls=calls) if calls else Answer(text=say("sample.enough", language_of(turn)))


def _map_records(user: str) -> list[Record]:
    return [row for tag in ("places", "routes", "weather") for row in records(block(user, tag))]


def map_calls(turn: Turn, query: str, most: int = 2) -> tuple[FunctionCall, ...]:
    """Return the next calls of the map: its text search, then the details of its first places."""
    available = {tool.name for tool in turn.tools}
    results = [result.text for result in turn.tool_results if result.name == TEXT_SEARCH]
    looked_up = any(result.name == DETAIL for result in turn.tool_results)
    if not {TEXT_SEARCH, DETAIL} <= available or looked_up:
        return ()
    if results:
        ids = re.findall(r'"id":\s*"([^"]+)"', "\n".join(results))
        return tuple(FunctionCall(DETAIL, {"id": name}) for name in dict.fromkeys(ids[:most]))
    task = map_task_by_rules(query) or MapTask(intent="poi", place=query)
    if task["intent"] != "poi" and (spot := task.get("place")) and find_anchor(spot) is None:
        return ()
    where = task.get("place") or task.get("city") or ""
    words = " ".join(filter(None, (where, *(task.get("keywords") or [])[:1]))) or query
    city = {"city": task["city"]} if task.get("city") else {}
    return (FunctionCall(TEXT_SEARCH, {"keywords": words, **city}),)


def reflection(turn: Turn) -> Answer:
    """Reply that it is enough, unless one of several aspects is in no finding and no query."""
    question, queries = clean_question(block(turn.user, "question")), lines(turn.user, "asked")
    findings = [s for s in sentences(block(turn.user, "findings")) if s.ids]
    findings += [Sentence(row.shown()) for row in _map_records(turn.user)]
    aspects = _aspect_queries(question)
    missing = [
        query
        for query, aspect in aspects.items()
        if len(aspects) > 1 and findings and query not in queries and not rank(findings, aspect, 1)
    ]
    follow_ups = [{"query": query, "map": None} for query in missing]
    limit = number(turn.user, "limit", 1)
    verdict = {"is_sufficient": not missing, "knowledge_gap": ", ".join(missing)}
    return Answer(json={**verdict, "follow_up_queries": follow_ups[:limit]})


def answer(turn: Turn) -> Answer:
    """Place first where there are some, then the sentences that bear most on the question."""
    user, language, question = turn.user, language_of(turn), question_of(turn)
    plain = clean_question(question)
    if question and _is_courtesy(question):
        return Answer(text=say("sample.welcome", language))
    places, unfit = _fit_and_unfit(user, question, language)
    names = _two_places(question) or (extract_place(plain) or ("",))[:1]
    itself = [place for place in unfit if any(_bears(place, name) for name in names)]
    if itself:
        # Of a place that is asked for by name the answer is what its record says.
        places, unfit = itself, [place for place in unfit if place not in itself]
    if len(names) > 1:
        places, unfit = [place for place in places if any(_bears(place, n) for n in names)], []
    if outing := lines(user, "outing"):
        places, unfit = [], []
    facts = [*records(block(user, "routes"))[:1], *_forecasts(user, plain)]
    findings = [s for s in sentences(block(user, "findings")) if s.ids and s.ids[0][0] != "a"]
    if places:
        findings = [s for s in findings if not any(place.name in s.bare for place in unfit)]
    web = _by_source(in_language(findings, language), topic_of(plain), language)
    if not (places or unfit or facts or web or outing):
        return Answer(text=nothing_on(plain, language))

    def listed(key: str, rows: list[Record], most: int = FACTS) -> str:
        opening = say(f"sample.{key}", language, question=short(plain), count=len(rows))
        lines = [f"- {row.shown(most)}" for row in rows[:PLACES]]
        return "\n".join([opening, *lines]) if rows else ""

    parts = [
        say("sample.quotation", language),
        say("sample.outing", language) if outing else "",
        listed("places" if len(places) > 1 else "place", places, ALL_FACTS if itself else FACTS),
        listed("unfit", [] if places else unfit, ALL_FACTS),
        listed("facts", facts),
        say("sample.quoted_only", language) if len(names) > 1 else "",
        "\n".join([say("sample.web", language), *web]) if web else "",
    ]
    return Answer(text="\n\n".join(filter(None, parts)))


def _forecasts(user: str, question: str) -> list[Record]:
    """Return the forecasts of the days that are asked for; of the next ones where none is."""
    rows = records(block(user, "weather"))
    first = next((match[0] for row in rows if (match := _DATE.search(row.name))), "")
    days = days_named(question, first)
    return [row for row in rows if any(day in row.name for day in days)] or rows[:DAYS]


def _fit_and_unfit(
    user: str, question: str, language: Language
) -> tuple[list[Record], list[Record]]:
    """Return the places that meet what is asked, and those that break a demand."""
    plain, previous = clean_question(question), records(block(user, "previous_places"))
    places = records(block(user, "places")) or _best_first(user)[:BEST]
    places = places or [p for p in previous if p.name in question]
    violated = say("constraints.marks.violated", language, text="").strip()
    unfit = [p for p in places if any(fact.startswith(violated) for fact in p.fields)]
    best = _in_order(places, plain)
    places = [*best, *(place for place in places if place not in best)]
    return [p for p in places if p not in unfit], unfit


def _bears(place: Record, name: str) -> bool:
    """Return whether a place bears a name; behind a Chinese one stands its English one."""
    gloss = r"[^(]*(?:\([^()]*\) )?\((?:the )?" if name.isascii() else ""
    return bool(name) and re.match(gloss + re.escape(name), place.name, re.IGNORECASE) is not None


def _best_first(user: str) -> list[Record]:
    """Return the last answer's places by what a follow-up wants most, the best first."""
    asked, lists = block(user, "question"), _LIST_BEGINS.split(block(user, "previous_places"))
    last = records(next(filter(str.strip, lists), ""))
    return [] if extract_place(asked) or activity_in(asked) else _in_order(last, asked)


def _in_order(places: list[Record], question: str) -> list[Record]:
    """Return the places whose records say what a question wants most, the best first."""
    _, fact, sign = next((row for row in _BEST if row[0].search(question)), (None, r"(?!)", 1))
    values: dict[Record, float] = {}
    for place in places:
        matches = (re.search(fact, field) for field in place.fields[1:])
        if match := next(filter(None, matches), None):
            values[place] = float(match[1]) * (1000 if match[0].endswith("km") else 1) * sign
    return sorted(values, key=lambda place: values[place])


def _by_source(findings: list[Sentence], query: str, language: Language) -> list[str]:
    """Return a line for each source, first those that bear on the question: its best sentences."""
    bearing = rank(findings, query)
    order, first = distinct([*bearing, *findings]), {sentence.ids[0] for sentence in bearing}
    names = sorted(dict.fromkeys(s.ids[0] for s in findings), key=lambda name: name not in first)
    quotes = ([s for s in order if s.ids[0] == name][:PER_SOURCE] for name in names)
    groups = [sorted(own, key=findings.index) for own in quotes if own][:SOURCES]
    return [f"- {join_sentences(own, language)}" for own in groups]


REPLIES = (generate_query, web_research, amap_research, reflection, answer)
