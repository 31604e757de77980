"""Questions in English read into what they ask."""

import re

from .rules_team_ask import Ask, Best, Need, Operation
from .rules_team_english_single import (
    FINAL_UNIT,
    attribute_in,
    dated,
    described_place,
    operation_in,
    single_need,
    subject_of,
    unit_of,
)
from .rules_team_values import dates, number_of, plain, years
from .rules_team_words import PRICE, category_in, map_attribute, wanted_meanings

_I = re.IGNORECASE
_NEAR = (
    r"\b(?:within (?P<radius>[\d.]+|one|two|three) ?(?P<unit>km|kilomet\w+|m|met\w+) of"
    r"|near(?:by|est to)?|around|close(?:st)? to|next to)\s+(?:the\s+)?(?P<near>[^,?]+?)"
)
_AROUND = re.compile(
    rf"{_NEAR}(?=\s+(?:has|have|is|are|closes?|opens?|with|costs?|charges?|rated|that|which|and)\b|,|$)",
    _I,
)
_OF_IT = re.compile(
    r"\s*(?:(?:at|in|until) )?(?:which|what) (?:district|time|day)|\s*when\b|\s*how much\b"
    r"|\s*what (?:is|are|'s) the (?:rating|address|opening|closing|cost|average|district)",
    _I,
)
_IN_CITY = re.compile(r"\bin (?P<near>[A-Z][A-Za-z']+)", 0)
_SUPERLATIVE = re.compile(
    r"\b(?P<way>best[- ]rated|best|highest[- ]rated|top[- ]rated|highest|lowest[- ]rated|lowest"
    r"|worst[- ]rated|cheapest|most expensive|priciest|nearest|closest|latest|earliest|last"
    r"|first)\b",
    _I,
)
_LEAST = re.compile(
    r"\b(?:older|earlier|first|cheaper|lower|shorter|smaller|less|fewer|sooner|nearer|closer)\b", _I
)
_MOST = re.compile(
    r"\b(?:newer|later|last|higher|longer|taller|larger|bigger|more|better|greater|dearer)\b", _I
)
_PAIRS = (
    re.compile(r"^(?:is|was|are|were|did|does) (?P<a>.+?) or (?P<b>.+?)(?= [a-z]+er$|$)", _I),
    re.compile(r"\bbetween (?P<a>.+?) and (?P<b>.+)$", _I),
    re.compile(r"[,:]\s*(?P<a>[^,:]+?),? or (?P<b>[^,]+)$", _I),
    re.compile(r"\bratio of (?P<a>.+?) to (?P<b>.+)$", _I),
    re.compile(r"\bpercent(?:age)? of (?P<b>.+?) (?:is|was|does|do) (?P<a>.+)$", _I),
    re.compile(
        r"\b(?:is|was|are|were|did|does|do|has|had)\s+(?P<a>(?:(?!\bhow\b).)+?)\s+"
        r"(?P<mid>(?:(?:more|less|times|as|(?-i:[a-z]+er)|rated|built|completed|open\w*|clos\w*|cost\w*|long|tall"
        r"|high|finish\w*|expensive)\s+)*)(?:than|as|before|after)\s+(?P<b>.+)$",
        _I,
    ),
    re.compile(r"\bafter (?P<a>.+?) (?:was|were|did) (?P<b>(?:the |The )?[A-Z].+)$"),
    re.compile(
        r"\b(?:of|do|does|are|is|for|after|from)\s+(?P<a>.+?),?\s+(?:and|to|did|plus)\s+(?P<b>.+?)"
        r"(?=\s+(?:cost|together|in|combined|have|add|per|altogether|taken)\b|,|$)",
        _I,
    ),
)  # fmt: skip
_PEOPLE = re.compile(
    r"\b(?P<n>\d+|two|three|four|five|six|seven|eight|nine|ten)\s+(?P<who>people|persons|adults"
    r"|visitors|guests|friends|tickets|passengers|tourists)\b",
    _I,
)


def read_english(question: str) -> Ask:
    """The first reading that fits, from the most special to the plainest."""
    text = re.sub(r"^(?:please|on the map|according to [^,]+|so)[,:]?\s+", "", question, flags=_I)
    for reading in (_best, _people, dated, _two, described_place):
        if asked := reading(text):
            return asked
    need = single_need(text)
    return Ask("place" if need.kind == "map" else "lookup", "en", (need,))


def _best(text: str) -> Ask | None:
    """The best place of a kind around somewhere, or an attribute of it."""
    way = _SUPERLATIVE.search(text)
    found = _AROUND.search(text)
    if way and not found and way["way"].lower() in ("nearest", "closest"):
        found = re.search(
            r"\b(?:to|from) (?:the )?(?P<near>[A-Z][^,?]+?)(?=\s+(?:close|open|cost)s?\b|$)", text
        )
    found = found or _IN_CITY.search(text)
    if not way or not found:
        return None
    rest = text[: found.start()] + " " + text[found.end() :]
    category, named = category_in(rest)
    if not category:
        return None
    plain_rest = rest.replace(way[0], " ")
    by, most, used = _criterion(way["way"].casefold(), plain_rest)
    key, _ = map_attribute(used)
    if not key and PRICE.search(used):
        key = "cost"
    near = re.sub(r"^the\s+", "", found["near"], flags=_I).strip()
    best = Best(category, near, by, most, _metres(found), city=found.re is _IN_CITY)
    for_the_place = re.match(r"\s*(?:which|what)\b[^,]*\b" + re.escape(named), text, _I)
    if not key or (for_the_place and not _OF_IT.match(text)):
        return Ask("compare", "en", best=best)
    return Ask("hop", "en", (Need("", key, "map"),), best=best)


def _criterion(way: str, rest: str) -> tuple[str, bool, str]:
    """By what it is the best, whether the most counts, and the text without that word."""
    if way in ("nearest", "closest"):
        return "distance", False, rest
    if way in ("cheapest", "most expensive", "priciest"):
        return "cost", way != "cheapest", rest
    if way in ("latest", "earliest", "last", "first"):
        closing = re.search(r"\bclos(?:es?|ing)(?: time)?\b", rest, _I)
        word = closing or re.search(r"\bopens?(?:ing)?(?: time)?\b", rest, _I)
        used = rest[: word.start()] + rest[word.end() :] if word else rest
        return ("closes" if closing else "opens"), way in ("latest", "last"), used
    if way in ("highest", "lowest") and (
        cost := re.search(r"\b(?:average )?cost\b[^,]*|\bprice", rest)
    ):
        return "cost", way == "highest", rest.replace(cost[0], " ")
    used = re.sub(r"\brat(?:ing|ed)\b", " ", rest, count=0 if "-" in way else 1, flags=_I)
    return (
        "rating",
        not way.startswith(("lowest", "worst")),
        used if way.startswith(("highest", "lowest")) and "rated" not in way else rest,
    )


def _metres(found: re.Match[str]) -> int:
    radius = found.groupdict().get("radius")
    if not radius:
        return 2000
    value = number_of(radius)
    return int(value * (1000 if found["unit"].casefold().startswith("k") else 1))


def _people(text: str) -> Ask | None:
    found = _PEOPLE.search(text)
    if not found or not re.search(r"\bhow much|\bcost|\bpay\b|\btotal\b", text, _I):
        return None
    rest = text[: found.start()] + " " + text[found.end() :]
    rest = re.sub(
        r"\b(?:in total|altogether|pay|would|together|if each|each)\b", " ", rest, flags=_I
    )
    return Ask(
        "arithmetic", "en", (single_need(rest),), "product", factor=plain(number_of(found["n"]))
    )


def _two(text: str) -> Ask | None:
    """A comparison of two subjects, or arithmetic over a figure of each."""
    operation = operation_in(text)
    chosen = (_LEAST.search(text) or _MOST.search(text)) if " or " in text else None
    bare = FINAL_UNIT.sub(" ", text)
    pair = next((m for pattern in _PAIRS if (m := pattern.search(bare))), None)
    if not pair or not (operation or chosen):
        return None
    sides = [pair["a"].strip(" ,"), pair["b"].strip(" ,")]
    words = bare
    for side in sides:
        words = words.replace(subject_of(side), " ")
    own = [_own_attribute(side) for side in sides]
    needs = tuple(
        _typed(subject_of(side), mine or _without(words, other), operation, unit_of(text))
        for side, mine, other in zip(sides, own, own[::-1], strict=True)
    )
    if operation in ("years", "days") or (operation == "difference" and needs[0].type == "year"):
        return Ask("date", "en", needs, operation if operation == "days" else "years")
    if operation:
        return Ask("arithmetic", "en", needs, operation)
    least: Operation = "least" if _LEAST.search(words) else "most"
    return Ask("compare", "en", needs, least, names=tuple(need.subject for need in needs))


def _without(words: str, other: str) -> str:
    """What is asked of both sides, without what only the other one says of itself."""
    return words.replace(other.strip(), " ") if other.strip() else words


def _own_attribute(side: str) -> str:
    """What a side says of itself: `the Palace Museum was founded`."""
    rest = side.replace(subject_of(side), " ")
    return rest if any(m.startswith("=") for m in wanted_meanings(attribute_in(rest))) else ""


def _typed(subject: str, words: str, operation: Operation | None, unit: str) -> Need:
    side = "date" if operation == "days" else "year"
    if given := (dates(subject) or years(subject)):
        return Need(subject, "", "given", side, given=given[0].text)
    attribute = attribute_in(words)
    if operation in ("years", "days"):
        return Need(subject, attribute, type=side)
    key, _ = map_attribute(words)
    if key:
        return Need(subject, key, "map")
    if re.search(r"\b(?:older|newer|earlier|later|year|before|after|first)\b", words, _I):
        return Need(subject, attribute or "built", type="year")
    if PRICE.search(words) or re.search(r"\bcheaper|expensive\b", words, _I):
        return Need(subject, attribute or "cost", type="number", unit="yuan")
    return Need(subject, attribute, type="number", unit=unit)
