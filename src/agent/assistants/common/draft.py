"""The last message of a turn while it is written: its citations, gaps, records and check."""

import asyncio
import sys
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from decimal import Decimal
from functools import cached_property
from typing import Any, cast

from agent.assistants.common.claims import Checked, ClaimCheck
from agent.assistants.common.gaps import (
    brought_by_map,
    forecast_gaps,
    model_gaps,
    said_first,
    taken_sources,
    with_early_stop,
    with_recovered,
)
from agent.assistants.common.judge import WAITING, Judge, evidence_of
from agent.assistants.common.listed_places import (
    MOST_LISTED,
    MOST_TOLD,
    chosen_places,
    listed_of,
    listed_places,
    parted,
    said_by_pages,
    suitable,
)
from agent.assistants.common.material import still_said, with_ids_of
from agent.assistants.common.previous import (
    NO_PREVIOUS,
    listed_last,
)
from agent.assistants.common.services import Services
from agent.assistants.common.shown_records import (
    chosen_ways,
    days_forecast,
    distinct_places,
    forecast_lines,
    from_origins_named,
    ways_said,
    with_nearest,
    with_nearest_found,
)
from agent.assistants.common.turn import answer_model, meter_of, words_of_user
from agent.configuration import Configuration
from agent.core.concurrency import begin_beside
from agent.core.processor import compute
from agent.core.progress import Emit, event
from agent.core.strings import estimated_tokens, first_lines, letters_of
from agent.evidence.citations import NOT_FOUND, Citer, inert
from agent.evidence.claims.passages import Evidence
from agent.evidence.claims.statements import statements
from agent.evidence.findings import QuotedFacts, findings_in
from agent.evidence.kinds import kind_searched
from agent.evidence.mentions import places_of, source_ids
from agent.evidence.names import with_origins_called
from agent.evidence.notation import LINKED, Notation
from agent.evidence.number_forms import NumberForm, number_form
from agent.evidence.ordering import judged
from agent.evidence.records import (
    one_a_city,
    place_lines,
    record_sections,
    route_lines,
)
from agent.evidence.references import CITATION, SourceListFilter, resolved
from agent.evidence.said import source_said
from agent.evidence.types import Constraints, Gap, Place, Route, Source, Weather
from agent.evidence.way_steps import each_way_once, ways_back, without_turns
from agent.search.hits import RULED_OUT, rules_text
from agent.search.rules import rules_of
from agent.state import Gathered, Previous, Turn, answer_tag, reader_language
from agent.texts import say

_REFUSAL = 600
"""Characters of a text for each sentence in it that says what was not found."""
_SHOWN_QUERIES, _LONGEST_SHOWN = 5, 120


def _judged_again(state: Gathered, found: Sequence[Place]) -> Previous:
    """Return what the last answer cited, its places with verdicts on what is demanded now.

    And those that it listed with what is near to them of what was found; a day's without what an
    earlier question was about, the nearest car park.
    """
    previous, turn = state.get("previous") or NO_PREVIOUS, state["turn"]
    demands, known = turn.get("constraints", {}), previous["places"]
    others = cast(Constraints, {name: each for name, each in demands.items() if name != "kind"})
    if _may_tell_nearest(turn):
        near = {place["id"]: place for place in with_nearest_found(listed_last(previous), found)}
        known = [near.get(place["id"], place) for place in known]
    else:
        known = from_origins_named(known, turn["question"])
    # Of the kind nothing where a place was looked for by its name.
    places = [
        judged([place], demands if place["keywords"] else others, reader_language(turn))[0]
        for place in known
    ]
    return Previous(**{**previous, "places": places})


def _may_tell_nearest(turn: Turn) -> bool:
    """Return whether places tell what of another kind is near: in a day only if it is demanded."""
    demanded = turn.get("constraints", {}).get("other", [])
    return "outing" not in turn or any(map(kind_searched, demanded))


class Draft:
    """Write the last message of a turn: its citations, gaps and records.

    `read` are sources beside those that the state has. `texts` is what each source says beside its
    quotes, by its id; `known` are words that need no source, `worked` those that
    programs gave, `own` what code says in the text (set before it is written). The text is checked
    against all of it.
    """

    joined = frozenset[str]()
    """The ids of the places that the ways of its plan join."""

    def __init__(
        self,
        state: Gathered,
        configuration: Configuration,
        services: Services,
        emit: Emit,
        *,
        node: str,
        assistant: str,
        texts: Mapping[str, str] | None = None,
        known: Sequence[str] = (),
        worked: Sequence[str] = (),
        read: Sequence[Source] = (),
    ) -> None:
        self.state, self.configuration, self.services = state, configuration, services
        self.emit, self.node, self.assistant = emit, node, assistant
        self.meter = meter_of(state, configuration, services, answering=True)
        self.turn, self.language = state["turn"], reader_language(state["turn"])
        places = self._judged(state.get("places", []))
        self.places = self._beside(places)
        self.previous, found = _judged_again(state, places), state.get("sources_gathered", [])
        self.earlier = with_ids_of(found, self.previous)
        """What the last turn left as a model is shown it: one id a page, one a passage."""
        self.read = {source["id"]: source for source in read}
        before = still_said(self.previous, self.earlier)
        self.sources = self.read | self._named((*found, *before))
        self.citable: Mapping[str, Source] = self.sources
        """The sources that the model may cite: those that its prompt has shown."""
        self.citer = Citer(self.sources, omitted=say("answer.link_omitted", self.language))
        self.own_list = SourceListFilter()
        self.targets: dict[str, str | None] = {}
        self.texts, self.known, self.worked = texts or {}, known, worked
        self.own: list[str] = []
        """What code says in the text: nobody judges it."""
        self.claims: ClaimCheck | None = None
        self.degraded = self.is_watched = False
        """Whether the check has had the whole text already."""
        self.revision: dict[str, int] = {}
        """What a revision of the text changed, as counts; empty where there was none."""
        self.passed_over: set[str] = set()
        """Differences among own documents that a revision has found to be none, with a reason."""
        self.late = asyncio.Event()
        """Set once the reader has waited long enough for the check."""
        self.body, self.below = "", ""
        self.conclude: Callable[[Checked], Checked] = lambda checked: checked
        """What an assistant makes of the message by what its check came to."""
        short = self._forecast_gaps(one_a_city(state.get("weather", [])))
        self.gaps: list[Gap] = [*state.get("gaps", []), *short, *model_gaps(self.turn)]
        if configuration.answer_now:
            self.gaps = with_early_stop(self.gaps, self.language)
        self.failure = ""
        """Why the model wrote nothing, or not to its end."""
        self.quoted = ""
        """What code quotes at the end of the text: no statement of the answer."""
        self.withdrawn = ""
        """Text that was streamed and is no answer: a thought, as its end has shown."""
        self.written = ""
        """What is shown of the model's text so far."""
        self.unfinished = False
        """Characters between the notice and the sections that code adds, as far as written."""

    def _forecast_gaps(self, weather: Sequence[Weather]) -> list[Gap]:
        return forecast_gaps(weather, days_forecast(self.turn, weather), self.language)

    @property
    def model(self) -> str:
        """Return the model that writes the answer."""
        return answer_model(self.turn, self.configuration)

    @property
    def judge_model(self) -> str:
        """Return the model that judges the answer."""
        return self.configuration.judge_model or self.model

    @property
    def is_judged_beside(self) -> bool:
        """Return whether the text is judged while it is written."""
        claim_check = self.configuration.claim_check
        return claim_check and not self.services.models.serves_one(self.judge_model)

    @property
    def number_form(self) -> NumberForm:
        """Return how the text's readers write numbers; of most languages read from a file once."""
        return number_form(answer_tag(self.turn))

    @cached_property
    def seen(self) -> dict[str, list[str]]:
        """Return what of each source a model was shown that writes the text, the nearest first."""
        return {}

    @cached_property
    def inputs(self) -> dict[frozenset[Decimal], Sequence[str]]:
        """Return the ids that the writer cites for the numbers of declared sums, by these."""
        return {}

    @cached_property
    def findings(self) -> QuotedFacts:
        """Return what was told of pages, each with their words: these are shown to who judges."""
        topics = cast(Mapping[str, Any], self.state).get("search_results") or []
        return findings_in(topic.get("found", "") for topic in topics)

    @cached_property
    def chosen(self) -> set[str]:
        """Return the ids of the places that this turn has planned with, whatever their rank."""
        state = cast(Mapping[str, Any], self.state)
        thoughts, ways = state.get("notes") or [], state.get("routes") or []
        return {*places_of(state.get("outing")), *chosen_places(self.places, ways, thoughts)}

    @cached_property
    def listed(self) -> list[Place]:
        """Return the places that a model is shown: the best, and those that are named."""
        return self._listed(MOST_LISTED)

    def _listed(self, most: int, others: Collection[str] = ()) -> list[Place]:
        state = cast(Mapping[str, Any], self.state)
        findings = state.get("web_research_result") or []
        pages = said_by_pages(self.sources.values(), [self.turn["question"], *findings])
        return listed_places(self.places, pages, most=most, stops={*self.chosen, *others})

    @property
    def known_places(self) -> list[Place]:
        """Return the places of this turn and of those before it, shown or not."""
        return [*self.previous["places"], *self.places]

    @property
    def shown_places(self) -> list[Place]:
        """Return the places of this turn, and those of the last answer that the text cites.

        But what this turn's were looked for around, which is none of what was asked for.
        """
        listed = {place["id"] for place in self.places}
        used = {source["id"] for source in self.cited_last}
        origins = {place["distance_from"] for place in self.places}
        earlier = [place for place in self.previous["places"]
                   if place["id"] not in listed and place["name"] not in origins]  # fmt: skip
        # What a day goes to stands in the table that code writes, or whose ways it fills in.
        planned = self.chosen | self.joined
        told = (p for p in earlier if p["id"] in planned or not used.isdisjoint(source_ids(p)))
        return [*self.places, *told]

    @property
    def cited_last(self) -> list[Source]:
        """Return the sources that the text cites as it now stands, in its order.

        A revision takes some out.
        """
        used = {(str(each.get("number")), each["url"]): each for each in self.citer.used}
        told = dict.fromkeys(CITATION.findall(self.body))
        return [used[mark] for mark in told if mark in used]

    @property
    def refuses(self) -> bool:
        """Return whether a text without citations says in few words, marked so, what it lacks."""
        return not self.citer.used and len(self.written) <= _REFUSAL * self.citer.not_found

    def said_missing(self) -> list[str]:
        """Return the statements marked as saying what was not found, a cell's with its row."""
        cites = self.citer.cites if self.claims is None else self.claims.cites
        places = [at for at, name in cites if name == NOT_FOUND]
        return [
            f"{one.row} {one.head} {one.plain}"
            for one in (statements(self.body, LINKED) if places else ())
            if any(one.start < at <= one.end for at in places)
        ]

    @property
    def mapped(self) -> bool:
        """Return whether the map has answered this turn with any record."""
        return brought_by_map(self.state)

    @property
    def notice(self) -> str:
        """Return what stands before everything else: that this is sample data, what no map did."""
        notice = self.services.answer_notice(self.turn["question"], self.turn["language"])
        first = said_first(self.state.get("gaps", []), self.language)
        return "".join(f"{part}\n\n" for part in (f"> {notice}" if notice else "", first) if part)

    def nothing_found(self, looked_for: Sequence[str]) -> str:
        """Return the answer where no source has anything on the question, with what was tried."""
        language = self.language
        said = self.services.nothing_found(self.turn["question"], language)
        if self.is_ruled_out:
            rules = rules_text(rules_of(self.configuration), language)
            said = say("answer.ruled_out", language, rules=rules)
        asked = {letters_of(self.turn["question"]), letters_of(words_of_user(self.turn))}
        others = [query for query in dict.fromkeys(looked_for) if letters_of(query) not in asked]
        if tried := [*map(_bare, others)]:
            what = say("punctuation.semicolon", language).join(tried[:_SHOWN_QUERIES])
            space = say("punctuation.space", language)
            said = f"{said}{space}{say('answer.looked_for', language, what=what)}"
        return self.by_code(said)

    @property
    def is_ruled_out(self) -> bool:
        """Return whether a search found nothing within the rules that its reader set."""
        return any(gap["code"] == RULED_OUT for gap in self.gaps)

    def by_code(self, text: str) -> str:
        """Return what code says in the text, and see that it is not judged: it is no model's."""
        self.own.append(" ".join(one.plain for one in statements(text, LINKED)))
        return text

    def settled_gaps(self) -> list[Gap]:
        """Return the gaps, those marked that what is cited makes up for."""
        queries = cast(Mapping[str, Any], self.state).get("queries") or []
        return with_recovered(self.gaps, queries, self.citer.used, self.language)

    def cited(self, marked: str) -> str:
        """Return a whole marked text with its citations numbered."""
        return self.citer.feed(marked) + self.citer.flush()

    def record_sections(self, *, is_report: bool = False) -> list[str]:
        """Return the map's routes and weather as sections."""
        state, cited = self.state, {source["id"]: at for at, source in enumerate(self.cited_last)}
        if not (state.get("routes") or state.get("weather")):
            return []
        text = " ".join(one.plain for one in statements(self.body, LINKED))
        # A way to what was taken for the place that was meant is told where the text has chosen it.
        passed = cited and taken_sources(self.gaps) - cited.keys()
        routes = [route for route in self.ways if route["source"] not in passed]
        queries = cast(Mapping[str, Any], state).get("queries") or []
        routes = chosen_ways(routes, [query.get("round", 0) for query in queries], cited)
        routes.sort(key=lambda route: cited.get(route["source"], len(cited)))
        routes = [without_turns(r) if self.joined or (is_report and not r.get("whole")) else r
                  for r in routes]  # fmt: skip
        weather = state.get("weather", [])
        days = days_forecast(self.turn, weather)
        sections = record_sections(
            routes, weather, self.language, cited={*cited, *self._cited_again()}, days=days,
            text=text, is_report=is_report,
        )  # fmt: skip
        return [self.cited(section) for section in sections]

    def _cited_again(self) -> list[str]:
        """Return the ids of this turn's sources that the text cites as an earlier turn had them."""
        pages = {(source["url"], source["title"]) for source in self.cited_last}
        gathered = self.state.get("sources_gathered", [])
        return [source["id"] for source in gathered if (source["url"], source["title"]) in pages]

    def record_lines(self, tokens: int = sys.maxsize) -> str:
        """Return what the map said as lines for the writer of a plan, whole ones, within `tokens`.

        What must be told is there whatever it takes: the places that were looked up by their names
        or planned with, forecasts and ways; then of the others the best, and of how many.
        """
        told = self._listed(MOST_TOLD, suitable(self.places))
        foremost, others = parted(told, self.chosen)
        ways = each_way_once(self.ways)
        ways = [way if way.get("whole") else without_turns(way) for way in ways]
        lines = (
            place_lines(foremost, self.language),
            forecast_lines(self.turn, one_a_city(self.state.get("weather", [])), self.language),
            self.ways_unproved,
            route_lines(ways, self.language),
        )
        first = "\n".join(filter(None, lines))
        count = listed_of(told, self.places, self.language)
        left = tokens - estimated_tokens(f"{first}\n{count}\n")
        listed = place_lines(others, self.language, among=told)
        if estimated_tokens(listed) > left:
            listed = first_lines(listed, left)
        shown = [*foremost, *others[: len(listed.splitlines())]]
        count = listed_of(shown, self.places, self.language)
        return "\n".join(filter(None, (first, count, listed)))

    def way_lines(self) -> str:
        """Return the turn's ways as lines for a model, below what they do not tell."""
        lines = (self.ways_unproved, route_lines(self.ways, self.language))
        return "\n".join(filter(None, lines))

    def clean(self, chunk: str) -> str:
        """Return what can be shown of a model's text so far, numbered."""
        return self.citer.feed(self.own_list.feed(chunk))

    def withdraw(self) -> str:
        """Take back what was shown of a model's text; return what parts it from what follows."""
        self.rest()
        if self.written:
            # Who shows the stream shows only what stays of it, at once.
            self.emit(event("withdrawn", self.node, text=self.notice))
        self.citer = Citer(self.citable, omitted=say("answer.link_omitted", self.language))
        self.own_list = SourceListFilter()
        if self.claims is not None:
            self.claims.begin()
        parted = "\n\n" if self.written else ""
        self.withdrawn, self.written = self.withdrawn + self.written + parted, ""
        return parted

    def without_withdrawn(self, streamed: str) -> str:
        """Return a streamed text as it is stored."""
        withdrawn = self.withdrawn if self.withdrawn in streamed else self.withdrawn.rstrip("\n")
        return streamed.replace(withdrawn, "", 1)

    def rest(self) -> str:
        """Return what `clean` still held back."""
        return self.citer.feed(self.own_list.flush()) + self.citer.flush()

    def allow(self, sources: Mapping[str, Source]) -> None:
        """Let these be cited in what comes, and no others."""
        self.citable = sources
        self.citer.know(sources)

    def edited(self, words: str) -> tuple[str, list[tuple[int, str]]]:
        """Return words for somewhere in the text as it has them, and the ids they cite."""
        citer = self.citer.beside()
        cited = citer.feed(words) + citer.flush()
        self.citer.unknown_ids_removed += citer.unknown_ids_removed
        return cited, citer.cites

    def show(self, seen: Mapping[str, Sequence[str]]) -> None:
        """Note what a prompt shows of sources, the nearest first: so is who judges what cites them.

        What was shown before comes behind it.
        """
        for name, texts in seen.items():
            self.seen[name] = [*texts, *self.seen.get(name, ())]

    def add(self, sources: Sequence[Source], texts: Mapping[str, str]) -> None:
        """Take up what was looked up while the text was written."""
        self.read |= {source["id"]: source for source in sources}
        self.sources = self._named((self.sources | {each["id"]: each for each in sources}).values())
        for entry in self.citer.used:
            entry["title"] = self.sources.get(entry["id"], entry)["title"]
        self.texts = {**self.texts, **texts}
        if self.claims is not None:
            self.claims.widen(self._evidence(), self.sources)
            if self.claims.judge is not None:
                self.claims.judge = self._judge(self.claims.notation)

    def add_records(self, places: Sequence[Place], routes: Sequence[Route]) -> None:
        """Take up records of the map that were looked up while the text was written."""
        if places or routes:
            found = [*self.state.get("places", []), *places]
            ways = [*self.state.get("routes", []), *routes]
            self.state = cast(Gathered, {**self.state, "places": found, "routes": ways})
            self.places = self._beside(self._judged(found))

    @property
    def ways_unproved(self) -> str:
        """Return what no way tells who comes on wheels; empty where nobody does or none is."""
        suits = self.turn.get("constraints", {}).get("suits", [])
        is_asked = "wheelchair" in suits and self.state.get("routes")
        return say("map.ways_unproved", self.language) if is_asked else ""

    @property
    def ways(self) -> list[Route]:
        """Return the turn's ways, between places called as the text's reader calls them."""
        return ways_said(self.state.get("routes", []), self.known_places, self.language)

    def _named(self, sources: Iterable[Source]) -> dict[str, Source]:
        """Return sources by their ids, those of ways with titles that call places so.

        A way there and one back that is as long are one source, at the address of the first.
        """
        ways, back = {way["source"]: way for way in self.ways}, ways_back(self.ways)
        both = {*back, *(way["source"] for way in back.values())}

        def named(source: Source) -> Source:
            way = ways.get(source["id"])
            told = source_said(source, [way]) if way else source
            if source["id"] not in both:
                return told
            address = back.get(source["id"], way or source)["url"]
            return Source(**{**told, "url": address, "title": told["title"].replace("→", "↔")})

        return {source["id"]: named(source) for source in sources}

    def _beside(self, places: list[Place]) -> list[Place]:
        """Return judged places with what is near to them: that may be what is demanded of them."""
        if not _may_tell_nearest(self.turn):
            return places
        demands = self.turn.get("constraints", {})
        return judged(with_nearest(places), demands, self.language)

    def _judged(self, places: Sequence[Place]) -> list[Place]:
        demands = self.turn.get("constraints", {})
        told = from_origins_named(distinct_places(places), self.turn["question"])
        return judged(with_origins_called(told, self.language), demands, self.language)

    async def led(self, used: Sequence[Source]) -> list[Source]:
        """Return cited sources, their redirect links led to the targets within two seconds."""
        urls = [source["url"] for source in used if source["url"] not in self.targets]
        if self.configuration.resolve_links and urls:
            self.targets |= await self.services.links(urls)
        return resolved(used, self.targets)

    def begin_check(self) -> None:
        """Begin to read, in a thread, what the text may rest on, and to have it judged.

        A check that has begun goes on: what was judged is not judged again.
        """
        if self.claims is not None:
            return
        models, judge, beside = self.services.models, self.judge_model, self.is_judged_beside
        evidence, sources = self._evidence(), {**self.sources}
        self.claims = ClaimCheck(evidence, [], sources, self.language, beside=beside)
        if self.configuration.claim_check:
            notation, seconds = self.claims.notation, self.configuration.claim_seconds
            self.claims.judge = self._judge(notation)
            self.claims.seconds = seconds or WAITING[models.kind(judge)]

    def _judge(self, notation: Notation) -> Judge:
        return Judge(self.services.models, self.judge_model, self.meter, notation)

    def _evidence(self) -> "asyncio.Task[Evidence | None]":
        """Begin to read all that the text may rest on."""
        sources = {**self.sources}

        def read() -> Evidence:
            evidence = evidence_of(
                self.state,
                sources,
                self.texts,
                [*self.known, *filter(None, [self.ways_unproved])],
                self.own,
                worked=self.worked,
                shown=self.places,
                earlier=self.previous["places"],
                seen=self.seen,
                findings=self.findings,
            )
            evidence.read()
            return evidence

        # Nobody waits for it where the writing is cancelled.
        return begin_beside(compute(read, otherwise=lambda: None))

    def watch(self, piece: str) -> None:
        """Have what the text states judged while it is written; what code quotes states nothing."""
        if self.claims is not None and not (self.quoted or self.is_watched):
            self.claims.used[:] = self.citer.used
            self.claims.cites = self.citer.cites
            self.claims.feed(piece)

    async def check(self) -> ClaimCheck | None:
        """Return the check of the whole text."""
        if self.claims is not None:
            self.claims.used[:] = self.citer.used
            self.claims.quoted = self.quoted
            own = self.body.removesuffix(self.quoted.rstrip("\n")).rstrip()
            await self.claims.finish(own, self.tell_late)
        return self.claims

    def take_up(self, claims: ClaimCheck) -> bool:
        """Read the text as its check has left it, and the sources it cites; say if it is new."""
        text = "".join(part.text for part in claims.mended())
        if self.quoted or text == claims.body:
            return False
        for source in claims.used:
            self.citer.number(source)
        self.body = text
        return True

    def tell_late(self) -> None:
        """Say that the reader has waited long enough for the check."""
        if not self.late.is_set():
            self.emit(event("checking", self.node))
            self.late.set()


def _bare(query: str) -> str:
    """Return a query as one of a list: without what ends it as a sentence."""
    return inert(query)[:_LONGEST_SHOWN].rstrip("?？。.!！ ")
