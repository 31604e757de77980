"""What to look up next for a question: searches and map calls that were not made yet."""

import re
from collections.abc import Iterable

from agent.evidence.intent import extract_place
from agent.evidence.place_names import landmark_in

from .brain import FunctionCall, Turn
from .rules_team_ask import Ask, Best, Described, Need
from .rules_team_facts import (
    SAME_SPOT_M,
    Fact,
    as_keywords,
    hit_named,
    map_fact,
    page_facts,
    place_named,
    shortened,
)
from .rules_team_names import capitalised
from .rules_team_seen import SEARCHES, Card, Seen, point_of
from .rules_team_words import PRICE, meanings, other_word
from .rules_text import sentences

MOST_PLACES, _A_STEP = 20, 12
"""Places that are compared, and calls in one step."""
_STOPS = ("停车场", "地铁站")
"""Named after what they belong to."""
_CHINA = re.compile(
    r"\b(?:china|chinese|beijing|shanghai|hangzhou|chengdu|yuan)\b|[省市区县路街寺塔湖桥]",
    re.IGNORECASE,
)


def engines(turn: Turn, question: str) -> list[str]:
    """The searches on offer, first the one that suits where the subject is."""
    offered = [name for name in SEARCHES if name in {tool.name for tool in turn.tools}]
    chinese = bool(_CHINA.search(question) or extract_place(question) or landmark_in(question))
    wanted = "search_bocha" if chinese else "search_google"
    return sorted(offered, key=lambda name: name != wanted)


def facts_of(ask: Ask, seen: Seen) -> list[Fact | None]:
    """For each need the best that is known; None where nothing holds."""
    return [best_of(need, ask, seen) for need in ask.needs]


def best_of(need: Need, ask: Ask, seen: Seen) -> Fact | None:
    """A need of a hop is asked of the place that was found."""
    if ask.best:
        return None
    if need.kind == "given":
        return Fact(need.given, "", need.subject)
    if need.kind == "map":
        card = described(ask.described, seen) if ask.described else place_named(need.subject, seen)
        return map_fact(need, card, seen)
    found = page_facts(need, seen.snippets)
    if found or not priced(need):
        return found[0] if found else None
    return map_fact(as_cost(need), place_named(need.subject, seen), seen)


def priced(need: Need) -> bool:
    """Whether the map may know it, too: a price in yuan."""
    return need.unit in ("元", "块钱", "yuan") and bool(
        PRICE.search(need.attribute) or not need.attribute
    )


def as_cost(need: Need) -> Need:
    return Need(need.subject, "cost", "map")


def next_calls(turn: Turn, ask: Ask, seen: Seen, question: str) -> list[FunctionCall]:
    """The calls of one step, a dozen at most; none where all is known or nothing is left to ask."""
    names = {tool.name for tool in turn.tools}
    if ask.best:
        wanted = _best_calls(ask, ask.best, seen)
    elif ask.described:
        wanted = _described_calls(turn, ask, ask.described, seen)
    else:
        wanted = [
            call for need in ask.needs for call in _need_calls(turn, need, ask, seen, question)
        ]
    if not ask.needs and not ask.best:
        wanted = _searches(turn, [question], seen, question)
    distinct = {(call.name, str(call.args)): call for call in wanted if call.name in names}
    return list(distinct.values())[:_A_STEP]


def _need_calls(turn: Turn, need: Need, ask: Ask, seen: Seen, question: str) -> list[FunctionCall]:
    if need.kind == "given" or best_of(need, ask, seen):
        return []
    if need.kind == "map":
        return _map_calls(need.subject, need.attribute, seen)
    searches = _searches(turn, queries(need), seen, question)
    if priced(need):
        searches += _map_calls(need.subject, "cost", seen)
    return searches


def queries(need: Need) -> list[str]:
    """First the whole of it, then only the subject, then other words for the attribute."""
    subject = re.sub("[《》]", "", need.subject)
    plain = f"{subject} {need.attribute}".strip()
    same = [
        other_word(m[1:], need.attribute)
        for m in sorted(meanings(need.attribute))
        if m.startswith("=")
    ]
    other = f"{subject} {' '.join(same)}".strip()
    return list(dict.fromkeys(filter(None, (plain, subject, other))))


def _searches(turn: Turn, wanted: list[str], seen: Seen, question: str) -> list[FunctionCall]:
    """The first query not asked yet; each further one of another engine, as far as there is one."""
    known = engines(turn, question)
    for place, query in enumerate(wanted):
        if known and not any(told.asked == query for told in seen.told if told.tool in SEARCHES):
            return [FunctionCall(known[place % len(known)], {"query": query})]
    return []


def _map_calls(name: str, attribute: str, seen: Seen) -> list[FunctionCall]:
    """Find the place by its name, or by its position, then look it up."""
    if not name:
        return []
    if hit := hit_named(name, seen):
        return _detail_calls([hit], attribute, seen)
    if not name.isascii() and not seen.ran("maps_text_search", as_keywords(name)):
        return [FunctionCall("maps_text_search", {"keywords": as_keywords(name)})]
    at = seen.geocode(name)
    if at and point_of(at) and not seen.ran("maps_around_search", name):
        where = {"location": point_of(at), "radius": SAME_SPOT_M}
        named = {"location": point_of(at), "keywords": name, "radius": "500"}
        return [FunctionCall("maps_around_search", asked) for asked in (named, where)]
    if not at and not seen.ran("maps_geo", name):
        return [FunctionCall("maps_geo", {"address": name})]
    wanted = (name, shortened(name)) if name.isascii() and not at and shortened(name) else ()
    return [
        FunctionCall("maps_text_search", {"keywords": words})
        for words in wanted
        if not seen.ran("maps_text_search", words)
    ]


def _detail_calls(
    hits: Iterable[dict[str, object]], attribute: str, seen: Seen
) -> list[FunctionCall]:
    """The places not looked up yet; and where they lie, which only the geocoder says."""
    calls = []
    for hit in list(hits)[:MOST_PLACES]:
        if not seen.ran("maps_search_detail", str(hit["id"])):
            calls.append(FunctionCall("maps_search_detail", {"id": str(hit["id"])}))
        elif attribute == "district" and not seen.ran("maps_geo", str(hit["name"])):
            calls.append(FunctionCall("maps_geo", {"address": str(hit["name"])}))
    return calls


def candidates(best: Best, seen: Seen) -> list[Card]:
    """The looked-up places among which the best one is, as the map's search lists them."""
    listed = {str(hit["name"]) for hit in _listed(best, seen)}
    order = [str(hit["name"]) for hit in _listed(best, seen)]
    cards = [card for card in seen.cards if card.name in listed]
    return sorted(cards, key=lambda card: order.index(card.name))


def _listed(best: Best, seen: Seen) -> list[dict[str, object]]:
    tool = "maps_text_search" if best.city else "maps_around_search"
    listed = seen.hits(tool, best.category)
    return [hit for hit in listed if not _only_named_so(str(hit["name"]), best)][:MOST_PLACES]


def _only_named_so(name: str, best: Best) -> bool:
    """Whether a place only bears the name of what is asked for: 人民公园(地铁站) is no park."""
    core, _, branch = name.replace("（", "(").partition("(")
    if best.category in _STOPS:
        return False
    only_branch = best.category in branch and best.category not in core
    return only_branch or any(word in name for word in _STOPS)


def _best_calls(ask: Ask, best: Best, seen: Seen) -> list[FunctionCall]:
    attribute = ask.needs[0].attribute if ask.needs else ""
    if listed := _listed(best, seen):
        return _detail_calls(listed[: 1 if best.by == "distance" else MOST_PLACES], attribute, seen)
    if best.city:
        asked = seen.ran("maps_text_search", best.category)
        where = {"keywords": best.category, "city": best.near}
        return [] if asked else [FunctionCall("maps_text_search", where)]
    at = seen.geocode(best.near)
    if not at:
        asked = seen.ran("maps_geo", best.near)
        return [] if asked else [FunctionCall("maps_geo", {"address": best.near})]
    if seen.ran("maps_around_search", best.category) or not point_of(at):
        return []
    where = {"location": point_of(at), "keywords": best.category, "radius": str(best.radius_m)}
    return [FunctionCall("maps_around_search", where)]


def described(told: Described, seen: Seen) -> Card | None:
    """The looked-up place that the sentence fitting the description names."""
    names = {re.sub(r"[(（].*$", "", card.name): card for card in seen.cards}
    sentence = _sentence(told, seen)
    written = [name for name in names if name in sentence]
    if written:
        return names[max(written, key=len)]
    for name in _english_names(told, seen):
        if card := place_named(name, seen):
            return card
    return None


def _sentence(told: Described, seen: Seen) -> str:
    """The sentence that shares most with the description, where it shares enough."""
    wanted = meanings(told.words)
    scored = [
        (len(wanted & meanings(line.bare)) / max(len(wanted), 1), line.bare)
        for snippet in seen.snippets
        for line in sentences(re.sub(r"\s*…\s*", "\n", snippet.text))
    ]
    share, sentence = max(scored, default=(0.0, ""))
    return sentence if share >= 0.6 else ""


def _english_names(told: Described, seen: Seen) -> list[str]:
    """The names in that sentence that the description does not hold, as the sentence has them."""
    found = [value.text for value in capitalised(_sentence(told, seen))]
    return [name for name in found if name.casefold() not in told.words.casefold()][:3]


def _described_calls(turn: Turn, ask: Ask, told: Described, seen: Seen) -> list[FunctionCall]:
    """The page that fits the description, then the places of that kind, then the one it names."""
    attribute = ask.needs[0].attribute
    if (card := described(told, seen)) is not None:
        located = attribute != "district" or seen.ran("maps_geo", card.name)
        return [] if located else [FunctionCall("maps_geo", {"address": card.name})]
    sentence = _sentence(told, seen)
    if not sentence:
        words = " ".join(re.sub("[的上里内、，]|以及|并且", " ", told.words).split())
        wanted = [f"{words} {told.category if ask.language == 'zh' else ''}".strip(), words]
        return _searches(turn, wanted, seen, told.words)
    if ask.language == "en":
        named = _english_names(told, seen)
        return [call for name in named for call in _map_calls(name, attribute, seen)]
    asked = [*filter(None, [_leading(sentence)]), told.category]
    if not seen.ran("maps_text_search", told.category):
        return [FunctionCall("maps_text_search", {"keywords": words}) for words in asked]
    listed = [hit for words in asked for hit in seen.hits("maps_text_search", words)]
    hits = [hit for hit in listed if re.sub(r"[(（].*$", "", str(hit["name"])) in sentence]
    return _detail_calls(hits, attribute, seen)


def _leading(sentence: str) -> str:
    """What a Chinese sentence begins with, up to what it says of it: 楼外楼在…"""
    found = re.match("^[\u4e00-\u9fffA-Za-z0-9]{2,8}?(?=在|是|位于|有|主打|卖|以|里|的)", sentence)
    return found[0] if found else ""
