"""Read a question once, into one value that all later steps use.

A model writes it in its one reply; what it leaves out is nothing. Where no model answers, the
question is its own query, and a few rules say whether the map helps with it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Any, cast, get_args

from pydantic import Field
from pydantic.json_schema import SkipJsonSchema

from agent.assistants.common.forms import (
    PlannedChange,
    PlannedDay,
    PlannedMap,
    SearchQueryList,
    WrittenQuery,
)
from agent.assistants.common.map_tasks import lost_place, map_task, plan_queries
from agent.assistants.common.own_documents import asks_for_no_others
from agent.assistants.common.preferences import used_of
from agent.assistants.common.previous import listed_last
from agent.assistants.common.turn import in_language
from agent.configuration import Configuration
from agent.evidence.constraints import FOR_ANYBODY, PEOPLE, valid_clock, valid_constraints
from agent.evidence.days import valid_day
from agent.evidence.figures import figures
from agent.evidence.geo import parse_lnglat
from agent.evidence.hours import minutes_of
from agent.evidence.intent import extract_place, needs_origin, needs_place
from agent.evidence.kinds import is_stop, kind_searched
from agent.evidence.language import fold
from agent.evidence.maps import WAYS, dated
from agent.evidence.mentions import mentioned, places_of
from agent.evidence.open_when import BEFORE
from agent.evidence.outing.schedule import MEALS
from agent.evidence.outing.wish import is_looked_up, meant_by, valid_wish
from agent.evidence.queries import clean_text, drop_seen, is_visible, shares_nothing
from agent.evidence.types import Constraints, OutingWish, Query
from agent.evidence.unsearched import courtesy_of, may_be_courtesy, may_be_sum, tells_no_fact
from agent.mcp.servers import CHINA
from agent.runs.person import NOBODY, Person
from agent.state import Needs, Previous, Turn, reader_language
from agent.texts.languages import TAG, language_of_answer, may_be

_LONGEST_QUESTION, _LONGEST_QUERY, _LONGEST_REPLY = 1000, 400, 300
_PRICED = {"max_cost", "min_cost", "total_cost", "min_rating"}
"""Demands of prices and ratings: only the map of China has these."""
_OF_A_DAY = (
    "suits", "without", "max_cost", "min_cost", "min_rating", "free", "max_distance_m", "other",
)  # fmt: skip
"""Demands that hold for a day whenever it is."""
_LEAST_PLACES = 2
"""That a day is made of."""
_A_MEAL = "餐厅"
"""What is looked for where it is had, if nobody says more."""


class FirstDay(PlannedDay):
    """A day where none was planned and no place shown before: there is nothing to change."""

    changes: SkipJsonSchema[list[PlannedChange]] = Field(default_factory=list)


class FirstQueryList(SearchQueryList):
    """The same of a question before which no place was shown."""

    outing: FirstDay | None = None


@dataclass(frozen=True)
class Asked:
    """Hold what a question asks; empty where it asks nothing of the kind."""

    question: str
    """As it stands alone."""
    queries: list[Query]
    language: str = ""
    """A tag, in the model's word."""
    demands: Constraints = field(default_factory=Constraints)
    day: str = ""
    """ISO date of the day that is meant."""
    outing: OutingWish | None = None
    """What is wanted of a day over several places."""
    replans: list[str] = field(default_factory=list)
    """The ids of the places shown before that the day is made of."""
    needs: Needs | None = None
    """What the person has to say first."""
    only_own_documents: bool = False
    reply: str = ""
    """All there is to say to thanks or a greeting."""
    preferred: dict[str, Any] = field(default_factory=dict)
    """What was used of what the person prefers."""
    by_model: bool = True


def asked(
    written: SearchQueryList,
    material: str,
    turn: Turn,
    previous: Previous,
    configuration: Configuration,
    *,
    person: Person = NOBODY,
) -> Asked:
    """Return what a model read of a question, checked and bounded; `material` is what it read."""
    today = turn.get("today", "")
    day = valid_day(written.day)
    written = written.model_copy(update={"day": day})
    tag, stated = written.language, written.constraints
    plans = [each for each in written.query if is_visible(each.query)][: turn["count"]]
    # A statute's words share none with a tenant's: one is dropped only where all are strange.
    about = f"{material}\n{written.question}"
    if all(shares_nothing(each.query, about, tag) for each in plans):
        plans = []
    reader = language_of_answer(tag, turn["question"]) if tag else reader_language(turn)
    planned = plan_queries(plans, configuration, turn["near"], reader=reader, asked=about)
    queries = drop_seen(planned, [])
    is_moved = _is_moved(written, queries, previous)
    outing, replans = _outing(
        written, previous, configuration, any_query=bool(queries), is_moved=is_moved
    )
    if replans and not queries:
        missing = _looked_for(written, previous)
        queries = plan_queries(missing, configuration, turn["near"])
    # An earlier turn may have answered it.
    reply = _courtesy(written, turn, previous)
    may_skip = bool(previous["sources"] or reply) or _needs_none(written, turn, previous)
    if not (replans or queries) and (written.query or not may_skip or outing is not None):
        queries = [question_as_query(turn, configuration)]
    queries = [_on_day(query, day or today) for query in queries]
    demands = valid_constraints(stated.model_dump()) if stated else Constraints()
    demands = _of_all(demands, queries)
    demands = _with_earlier(demands, outing, queries, previous)
    queries = [_for_the_web(query, demands) for query in queries]
    is_reply = not (queries or demands or replans)
    needs = None if replans else _needs(written, plans, queries, configuration, turn)
    if needs == "origin" and _starts_from_what_was_said(queries, material):
        needs = None
    used = used_of(written.preferred, person, demands, tag)
    is_meant = may_be(tag, turn["question"]) or "language" in used
    return Asked(
        question=clean_text(written.question, _LONGEST_QUESTION) or turn["question"],
        queries=queries,
        language=tag if TAG.fullmatch(tag) and is_meant else "",
        demands=demands,
        day=day,
        outing=outing,
        replans=replans,
        needs=needs,
        only_own_documents=asks_for_no_others(
            written.only_own_documents, turn["question"], material
        ),
        reply=reply if is_reply else "",
        preferred={} if is_reply or needs else used,
    )


def asked_by_rules(turn: Turn, previous: Previous, configuration: Configuration) -> Asked:
    """Return the question as its own query, where no model has read it; it demands nothing."""
    question, near = turn["question"], turn["near"]
    plans_day = configuration.outing == "on"
    replans = _shown(previous) if plans_day and not extract_place(question) else []
    needs: Needs | None = None
    if near is None and configuration.geo_routing != "never":
        is_lost = needs_place(question) or (plans_day and not extract_place(question))
        needs = "origin" if needs_origin(question) else None
        needs = "place" if is_lost and not previous["places"] else needs
    return Asked(
        question=question,
        queries=[] if replans else [question_as_query(turn, configuration)],
        outing=OutingWish() if plans_day else None,
        replans=replans,
        needs=needs,
        by_model=False,
    )


def turn_of(turn: Turn, asked: Asked, configuration: Configuration) -> Turn:
    """Return the turn with what later steps read of a question."""
    asked_demands = _with_moment(_on_its_day(asked), turn)
    read = Turn(**{**turn, "question": asked.question, "constraints": asked_demands})
    if asked.preferred:
        read["preferred"] = asked.preferred
    if asked.reply:
        read["reply"] = asked.reply
    if asked.outing is not None:
        # A limit on walks holds from stop to stop, not from where places were searched around.
        demands = Constraints(**asked_demands)
        longest, minutes = demands.pop("max_walk_m", None), demands.pop("max_walk_min", None)
        wish = OutingWish(**asked.outing)
        if longest:
            wish["max_walk_m"] = longest
        if minutes:
            wish["max_walk_min"] = minutes
        if total := demands.get("total_cost"):
            wish.pop("people", None)
            wish["total_cost"] = total
            wish |= OutingWish(people=people) if (people := demands.get("people")) else {}
        wish["demands"] = cast(Constraints, {k: v for k, v in demands.items() if k in _OF_A_DAY})
        read["outing"], read["constraints"] = wish, demands
        read["replans"] = asked.replans
    if asked.day:
        read["day"] = asked.day
    if asked.only_own_documents:
        read["own_only"] = True
    if asked.language and configuration.answer_language == "auto":
        return in_language(read, asked.language)
    return read


def _on_its_day(asked: Asked) -> Constraints:
    """Return the demands, on the day that is meant where they name none; a planned day does so."""
    demands, tasks = asked.demands, [query["map"] for query in asked.queries if query["map"]]
    is_of_places = demands or any(task["intent"] in (*_SEARCHES, "poi") for task in tasks)
    if not (asked.day and is_of_places) or asked.outing or "not_on" in demands:
        return demands
    weekday = date.fromisoformat(asked.day).isoweekday()
    days = demands.get("open_on", [weekday])
    told = Constraints(**{**demands, "open_on": days})
    return Constraints(**{**told, "day": asked.day}) if days == [weekday] else told


_SHORTEST_PLAN = 90
"""Minutes between two ends that were said, from which a day is planned between them."""
_ROUNDED, _HALF_DAY = 10, 720
"""Minutes by which a model may miss the time that it was told; those of "half past eleven"."""


def _with_moment(demands: Constraints, turn: Turn) -> Constraints:
    """Return demands that tell the moment of the question where they ask for what is open now.

    A model writes "now" as the time that it was told, perhaps rounded, on a clock that need not be
    the place's. A time that stands in the question is its own, however near.
    """
    clock, told = demands.get("open_at"), turn.get("now", "").partition(" (")[0][-5:]
    if not clock or clock.startswith(BEFORE) or not told:
        return demands
    if abs(minutes_of(clock) - minutes_of(told)) > _ROUNDED:
        return demands
    own = {each.clock % _HALF_DAY for each in figures(turn["question"]) if each.clock is not None}
    if minutes_of(clock) % _HALF_DAY in own:
        return demands
    today = [date.fromisoformat(turn["today"]).isoweekday()]
    if demands.get("open_on", today) != today:
        return demands
    return Constraints(**{**demands, "asked_at": turn["started_at"]})


def _outing(
    written: SearchQueryList,
    previous: Previous,
    configuration: Configuration,
    *,
    any_query: bool,
    is_moved: bool,
) -> tuple[OutingWish | None, list[str]]:
    """Return what is wanted of a day, and whether it is made of what was shown before."""
    wanted = written.outing.model_dump() if written.outing else None
    if wanted is None and _is_another_day(written, previous) and not any_query:
        wanted = {}
    if configuration.outing == "off" or (wanted is None and configuration.outing == "auto"):
        return None, []
    if wanted is None and written.reply and not any_query:
        return None, []
    stated = wanted or {}
    changes, planned = stated.get("changes", []), _planned(previous)
    if configuration.outing == "auto" and not planned and _is_too_short(stated):
        return None, []
    named = [*changes, *({"stop": word, "change": "add"} for word in stated.get("order", []))]
    # A first day may be made of places shown before and of what its queries find.
    mixed = [] if planned or not any_query else _added(named, previous)
    again = not any_query or (planned and (changes or is_moved))
    is_timed = _is_timed(stated, written)
    number = stated.get("stops") or 0
    shown = _shown(previous, changes, stops=number, is_timed=is_timed) if again else []
    replans = mixed or shown
    base = previous.get("outing") if not set(planned).isdisjoint(replans) else None
    return valid_wish(stated, written.day or "", base, previous["places"]), replans


def _is_too_short(stated: Mapping[str, Any]) -> bool:
    """Return whether the hours of a new plan are none for it: one hour on foot is a walk.

    Its stops, or what is to change of a day, make a plan of any length.
    """
    begins, ends = (valid_clock(stated.get(key)) for key in ("begins", "back_by"))
    if not (begins and ends) or any(map(stated.get, ("order", "stops", "changes", "meals"))):
        return False
    return 0 < minutes_of(ends) - minutes_of(begins) < _SHORTEST_PLAN


def _is_another_day(written: SearchQueryList, previous: Previous) -> bool:
    """Return whether all that was read is a day, after a planned one: "what about Sunday"."""
    return bool(written.needs_search and written.day and _stops(previous))


def _is_timed(stated: Mapping[str, Any], written: SearchQueryList) -> bool:
    """Return whether a day or hours are all that is said: "start at 11", after cafés, too."""
    times = written.day, stated.get("begins"), stated.get("back_by")
    return any(times) and not any(stated.get(name) for name in ("order", "stops", "meals"))


def _is_moved(written: SearchQueryList, queries: Sequence[Query], previous: Previous) -> bool:
    """Return whether the planned day is asked for on another date, and its replacements looked up.

    A day elsewhere, with an order or a number of stops of its own is a new one.
    """
    outing, planned = written.outing, {*_stops(previous)}
    if not (planned and written.day) or (outing and (outing.stops or outing.order)):
        return False
    home = {place["city"] or "" for place in previous["places"] if place["id"] in planned}
    cities = {city for query in queries if (task := query["map"]) and (city := task.get("city"))}
    return all(any(fold(city) in fold(own) or fold(own) in fold(city) for own in home if own)
               for city in cities)  # fmt: skip


def _added(changes: Sequence[Mapping[str, Any]], previous: Previous) -> list[str]:
    """Return the ids of the places shown before that a day is to have, by their names."""
    adds = [change for change in changes if change["change"] == "add" and change["stop"].strip()]
    meant = meant_by(adds, previous.get("outing"), previous["places"])
    return [*dict.fromkeys(id for ids in meant for id in ids)]


def _shown(
    previous: Previous,
    changes: Sequence[Mapping[str, Any]] = (),
    *,
    stops: int = 0,
    is_timed: bool = False,
) -> list[str]:
    """Return the ids of the places shown before that a day is made of; none where they are too few.

    They are those of the last list that its answer named; of the day that was planned last where
    that is changed, also in its hours alone, where the list is its own and has `stops` enough, or
    has none to visit. A planned day lives on with a single stop, too.
    """
    listed, planned = listed_last(previous), _planned(previous)
    named = [place for place in listed if place["mentioned"]]
    listed = named if sum(map(is_stop, named)) >= _LEAST_PLACES else listed
    ids = [place["id"] for place in listed]
    is_own = {*_stops(previous)} <= {*ids} and len(_stops(previous)) >= stops
    if planned and changes:
        return _changed_day(previous, changes) or planned
    if len(added := _added(changes, previous)) >= _LEAST_PLACES:
        ids = added
    elif planned and (is_own or is_timed or sum(map(is_stop, listed)) < _LEAST_PLACES):
        return planned
    return ids if len(ids) >= _LEAST_PLACES else []


def _planned(previous: Previous) -> list[str]:
    """Return the ids of the places that the day planned last was made of, and of those missed."""
    outing = previous.get("outing")
    left_out = outing["left_out"] if outing else []
    missed = [left["place"] for left in left_out if left["reason"] != "unwanted"]
    return [*_stops(previous), *missed]


def _stops(previous: Previous) -> list[str]:
    return places_of(previous.get("outing"))


def _changed_day(previous: Previous, changes: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the planned stops, what the plan missed, and what the changes add.

    None where too few of them are left.
    """
    meant = meant_by(changes, previous.get("outing"), previous["places"])
    pairs = list(zip(changes, meant, strict=True))
    new = [is_looked_up(change["stop"], change["change"], ids) for change, ids in pairs]
    gone = {
        id
        for (change, ids), is_new in zip(pairs, new, strict=True)
        if is_new or change["change"] == "leave_out"
        for id in ids
    }
    ids = dict.fromkeys([*_planned(previous), *(id for ids in meant for id in ids)])
    return [*ids] if len(ids.keys() - gone) + sum(new) >= _LEAST_PLACES else []


def _looked_for(written: SearchQueryList, previous: Previous) -> list[WrittenQuery]:
    """Return a query of the map for each stop that has to be found and that has none.

    Around the stop in the middle of the day: one rests between the others, not at its end. What
    comes for another is of its kind.
    """
    changes = written.outing.model_dump()["changes"] if written.outing else []
    meant = meant_by(changes, previous.get("outing"), previous["places"])
    by_id = {place["id"]: place for place in previous["places"]}
    known = [by_id[id] for id in _stops(previous) if id in by_id]
    near = known[len(known) // 2]["name"] if known else ""
    queries = list[WrittenQuery]()
    for change, ids in zip(changes, meant, strict=True):
        stop = change["stop"].strip()
        if not stop or not is_looked_up(stop, change["change"], ids):
            continue
        kinds = [(by_id[id]["category"] or "").partition("(")[0] for id in ids if id in by_id]
        what = next(filter(None, kinds), _A_MEAL if stop in MEALS else stop)
        task = PlannedMap(intent="nearby", place=near, keywords=[what])
        queries.append(WrittenQuery(query=f"{near} {what}", map=task, web=False))
    return queries


def _courtesy(written: SearchQueryList, turn: Turn, previous: Previous) -> str:
    """Return the reply to thanks or a greeting; empty where it answers something else.

    Behind an answer that of its reply which is no more than that: what else it tells stands there.
    """
    reply = "" if written.needs_search else clean_text(written.reply, _LONGEST_REPLY)
    if previous.get("answer") and not mentioned(previous["places"], reply):
        return courtesy_of(turn["question"], reply)
    return reply if tells_no_fact(turn["question"], reply) else ""


def _needs_none(written: SearchQueryList, turn: Turn, previous: Previous) -> bool:
    """Return whether the model's word that nothing needs looking up has a ground code can see.

    A weak model says it of facts, too, and would answer them from memory.
    """
    if written.needs_search:
        return False
    question, replied = turn["question"], bool(written.reply.strip())
    is_thanks = may_be_courtesy(question) and not replied
    return bool(previous.get("answer")) or may_be_sum(question) or is_thanks


def _needs(
    written: SearchQueryList,
    plans: Sequence[WrittenQuery],
    queries: Sequence[Query],
    configuration: Configuration,
    turn: Turn,
) -> Needs | None:
    """Return what the person has to say first, in the model's word; whose position is known, none.

    A map task without a place is a question for the place, too.
    """
    if lost_place(plans, queries, configuration, turn["near"]):
        return "place"
    if turn["near"] or configuration.geo_routing == "never" or written.needs not in get_args(Needs):
        return None
    return cast(Needs, written.needs)


def _on_day(query: Query, day: str) -> Query:
    task = query["map"]
    return Query(**{**query, "map": dated(task, day)}) if task else query


def _starts_from_what_was_said(queries: Sequence[Query], material: str) -> bool:
    """Return whether each way begins where somebody said: "from there" is where they were last."""
    ways = [task for query in queries if (task := query["map"]) and task["intent"] in WAYS]
    said = fold(material)
    return bool(ways) and all(fold(way.get("origin") or "\n") in said for way in ways)


_SEARCHES = ("nearby", "area")


def _with_earlier(
    demands: Constraints,
    outing: OutingWish | None,
    queries: Sequence[Query],
    previous: Previous,
) -> Constraints:
    """Return the demands with those before that hold on: those of the day that is changed, too."""
    if outing is None:
        return _with_kind(_of_its_kind(demands, queries), queries, previous)
    return Constraints(**{**outing.get("demands", {}), **demands})


def _of_its_kind(demands: Constraints, queries: Sequence[Query]) -> Constraints:
    """Return what has to suit somebody with its kind, where all that is searched for is of one."""
    tasks = [task for query in queries if (task := query["map"])]
    kinds = {kind_searched(word) for task in tasks for word in task.get("keywords", [])}
    if "kind" in demands or len(kinds) != 1 or PEOPLE.isdisjoint(demands.get("suits", ())):
        return demands
    own = [kind for kind in FOR_ANYBODY if kind in kinds]
    return Constraints(**{**demands, "kind": own[0]}) if own else demands


def _with_kind(demands: Constraints, queries: Sequence[Query], previous: Previous) -> Constraints:
    """Return the demands of a follow-up with the kind of place that the last answer was about.

    Where it only adds to them, or has the map look for the same kind again.
    """
    kind = previous.get("constraints", {}).get("kind")
    tasks = [query["map"] for query in queries if query["map"]]
    words = [word for task in tasks for word in task.get("keywords", [])]
    is_about_it = all(task["intent"] in _SEARCHES for task in tasks) and all(
        kind_searched(word) == kind for word in words
    )
    if not kind or "kind" in demands or not is_about_it or not (demands or words):
        return demands
    return Constraints(**{**demands, "kind": kind})


def _of_all(demands: Constraints, queries: Sequence[Query]) -> Constraints:
    """Return the question's demands with those that each search of the map has as its own.

    Whom one search alone has to suit, and what it may cost, is no demand on what the others find.
    """
    tasks = [task for query in queries if (task := query["map"]) and task["intent"] in _SEARCHES]
    own = [task.get("demands", {}) for task in tasks]
    if not own or any(each != own[0] for each in own):
        taken = {suits for each in own for suits in each.get("suits", [])}
        rest = [suits for suits in demands.get("suits", []) if suits not in taken]
        others = {"suits", *(("max_cost",) if any("max_cost" in each for each in own) else ())}
        kept = {key: bound for key, bound in demands.items() if key not in others}
        return cast(Constraints, kept | ({"suits": rest} if rest else {}))
    for task in tasks:
        task.pop("demands", None)
    return Constraints(**{**demands, **own[0]})


def _for_the_web(query: Query, demands: Constraints) -> Query:
    """Return a query that goes to the web, too, where the map has no prices and no ratings."""
    task = query["map"]
    abroad = task and (task.get("country") or "cn") not in CHINA
    is_priced = _PRICED & demands.keys() or demands.get("sort_by") in ("rating", "price")
    return Query(**{**query, "web": True}) if abroad and is_priced else query


def question_as_query(turn: Turn, configuration: Configuration) -> Query:
    """Return the question as a query, with its map task by rules."""
    question = turn["question"][:_LONGEST_QUERY]
    if configuration.geo_routing == "llm":
        configuration = configuration.model_copy(update={"geo_routing": "rules"})
    task = map_task(question, None, configuration)
    if task and not task.get("place") and parse_lnglat(question) is None and not turn["near"]:
        task = task if task.get("city") or task.get("destination") else None
    return Query(query=question, map=task)
