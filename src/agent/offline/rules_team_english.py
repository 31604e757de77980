"""Questions in English read into what they ask."""

import re
from dataclasses import replace

from .rules_team_ask import Ask, Best, Described, Need, Operation
from .rules_team_values import dates, number_of, plain, years
from .rules_team_words import PRICE, category_in, map_attribute

_I = re.IGNORECASE
_NEAR = (
    r"\b(?:within (?P<radius>[\d.]+|one|two|three) ?(?P<unit>km|kilomet\w+|m|met\w+) of|near(?:by|est to)?"
    r"|around|close(?:st)? to|next to)\s+(?:the\s+)?(?P<near>[^,?]+?)"
)
_AROUND = re.compile(
    rf"{_NEAR}(?=\s+(?:has|have|is|are|closes?|opens?|with|costs?|charges?|rated|that|which|and)\b|,|$)",
    _I,
)
_IN_CITY = re.compile(r"\bin (?P<near>[A-Z][A-Za-z']+)", 0)
_SUPERLATIVE = re.compile(
    r"\b(?P<way>best[- ]rated|best|highest[- ]rated|top[- ]rated|highest|lowest[- ]rated|lowest|worst[- ]rated"
    r"|cheapest|most expensive|priciest|nearest|closest|latest|earliest|last|first)\b",
    _I,
)
_OPERATIONS: tuple[tuple[Operation, str], ...] = (
    ("weekday", r"(?:which|what) (?:day of the week|weekday)|day of the week"),
    ("percent", r"what percent(?:age)?(?= of (?!a\b|an\b))|as a percentage|percentage of the \w+ of"),
    ("ratio", r"how many times|ratio"),
    ("days", r"how many days"),
    ("years", r"how many years|how old"),
    ("sum", r"\btogether\b|\bin total\b|\btotal of\b|\bsum\b|\bcombined\b|\bboth cost\b|\badd up\b"),
    ("difference", r"\bdifference\b|how much (?:more|less|longer|shorter|taller|higher|lower|cheaper"
     r"|bigger)|by how (?:much|many)|how many (?:\w+ )?(?:more|fewer|longer|taller|higher|lower)"
     r"|how many \w+ (?:longer|taller|higher|shorter)"),
)  # fmt: skip
_LEAST = re.compile(
    r"\b(?:older|earlier|first|cheaper|lower|shorter|smaller|less|fewer|sooner|nearer|closer)\b", _I
)
_MOST = re.compile(
    r"\b(?:newer|later|last|higher|longer|taller|larger|bigger|more|better|greater|dearer)\b", _I
)
_PAIRS = (
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
    re.compile(r"\bafter (?P<a>.+?) (?:was|were|did) (?P<b>.+)$", _I),
    re.compile(
        r"\b(?:of|do|does|are|is|for|after|from)\s+(?P<a>.+?),?\s+(?:and|to|did)\s+(?P<b>.+?)"
        r"(?=\s+(?:cost|together|in total|combined|have|add|per)\b|$)",
        _I,
    ),
)  # fmt: skip
_PEOPLE = re.compile(
    r"\b(?P<n>\d+|two|three|four|five|six|seven|eight|nine|ten)\s+(?P<who>people|persons|adults"
    r"|visitors|guests|friends|tickets|passengers|tourists)\b",
    _I,
)
_STOP = re.compile(
    r"\b(?:which|what|who|whom|when|where|how|many|much|is|are|was|were|did|does|do|the|a|an|of|in|on"
    r"|at|to|for|by|from|year|years|it|its|has|have|had|that|there|be|been|can|will|and|with|up|day"
    r"|date|name|number|than|or|more|less|between|old|then|first|total|average|please|tell|me|exact)\b",
    _I,
)
_CAPITALISED = re.compile(
    r"(?:[A-Z%][\w'’.&-]*|\d+(?:st|nd|rd|th)?(?= [A-Z]))(?:\s+(?:(?:of|the|and|de|on|&)\s+(?=[A-Z]))?"
    r"(?:[A-Z][\w'’.&-]*|\d+\b))*(?:\s+\([^)]*\))?"
)
_WH = re.compile(r"^(?:Which|What|Who|When|Where|How|In|On|At|By|Is|Of|From|Between|To|For)\b\s*")
_FINAL_UNIT = re.compile(r"\bin (kilomet\w+|met\w+|km|yuan|percent|weeks|years|hours|minutes)\b", _I)


def read_english(question: str) -> Ask:
    """The first reading that fits, from the most special to the plainest."""
    text = re.sub(r"^(?:please|on the map|according to [^,]+|so)[,:]?\s+", "", question, flags=_I)
    for reading in (_best, _people, _dated, _two, _described):
        if asked := reading(text):
            return asked
    need = _need(text)
    return Ask("place" if need.kind == "map" else "lookup", "en", (need,))


def _best(text: str) -> Ask | None:
    """The best place of a kind around somewhere, or an attribute of it."""
    way = _SUPERLATIVE.search(text)
    found = _AROUND.search(text) or (re.search(r"\b(?:to|from) (?:the )?(?P<near>[A-Z][^,?]+)$", text)
                                     if way and way["way"].lower() in ("nearest", "closest") else None)  # fmt: skip
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
    if re.match(r"\s*(?:which|what)\b[^,]*\b" + re.escape(named), text, _I) and not re.match(
        r"\s*(?:which|what) (?:district|time|day)|\s*what (?:is|are|'s) the (?:rating|address|opening|closing"
        r"|cost|average)", text, _I):  # fmt: skip
        key = ""
    if not key:
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
    if way in ("highest", "lowest") and (cost := re.search(r"\b(?:average )?cost\b[^,]*|\bprice", rest)):
        return "cost", way == "highest", rest.replace(cost[0], " ")
    used = re.sub(r"\brat(?:ing|ed)\b", " ", rest, count=0 if "-" in way else 1, flags=_I)
    return "rating", not way.startswith(("lowest", "worst")), used if way.startswith(("highest", "lowest")) and "rated" not in way else rest  # noqa: E501


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
    rest = re.sub(r"\b(?:in total|altogether|pay|would|together|if each|each)\b", " ", rest, flags=_I)
    return Ask("arithmetic", "en", (_need(rest),), "product", factor=plain(number_of(found["n"])))


def _operation(text: str) -> Operation | None:
    return next((name for name, words in _OPERATIONS if re.search(words, text, _I)), None)


def _two(text: str) -> Ask | None:
    """A comparison of two subjects, or arithmetic over a figure of each."""
    operation = _operation(text)
    chosen = (_LEAST.search(text) or _MOST.search(text)) if " or " in text else None
    pair = next((m for pattern in _PAIRS if (m := pattern.search(text))), None)
    if not pair or not (operation or chosen):
        return None
    sides = [pair["a"].strip(" ,"), pair["b"].strip(" ,")]
    words = text
    for side in sides:
        words = words.replace(_subject(side), " ")
    needs = tuple(_typed(_subject(side), words, operation) for side in sides)
    if operation in ("years", "days") or (operation == "difference" and needs[0].type == "year"):
        return Ask("date", "en", needs, operation if operation == "days" else "years")
    if operation:
        return Ask("arithmetic", "en", needs, operation)
    least: Operation = "least" if _LEAST.search(words) else "most"
    return Ask("compare", "en", needs, least, names=tuple(need.subject for need in needs))


def _subject(text: str) -> str:
    """The names in a text, or what is left of it without articles."""
    if given := (dates(text) or years(text)):
        return given[0].text
    bare = _WH.sub("", text.strip())
    if found := [m[0] for m in _CAPITALISED.finditer(bare)]:
        return max(found, key=len).strip()
    bare = re.sub(r"^(?:the|a|an)\s+|^.*\bof (?:the |an? )?", "", bare, flags=_I)
    return re.sub(r"\s+(?:is|was|are|were|opened|built|completed|finished|invented|cost)\b.*$", "", bare)


def _typed(subject: str, words: str, operation: Operation | None) -> Need:
    side = "date" if operation == "days" else "year"
    if given := (dates(subject) or years(subject)):
        return Need(subject, "", "given", side, given=given[0].text)
    attribute = _attribute(words)
    if operation in ("years", "days"):
        return Need(subject, attribute, type=side)
    key, _ = map_attribute(words)
    if key:
        return Need(subject, key, "map")
    if re.search(r"\b(?:older|newer|earlier|later|year|before|after|first)\b", words, _I):
        return Need(subject, attribute or "built", type="year")
    if PRICE.search(words) or re.search(r"\bcheaper|expensive\b", words, _I):
        return Need(subject, attribute or "cost", type="number", unit="yuan")
    return Need(subject, attribute, type="number", unit=_unit(words))


def _unit(words: str) -> str:
    if found := _FINAL_UNIT.search(words):
        return found[1].casefold()
    if re.search(r"how much|\bcost\b|\bprice\b|\bfare\b", words, _I):
        return "yuan"
    if found := re.search(r"how many (?:more |fewer )?([A-Za-z-]+)", words, _I):
        if found[1].casefold() not in ("more", "times"):
            return found[1].casefold()
    if re.search(r"\b(?:long(?:er)?|length|far)\b", words, _I):
        return "kilometres"
    if re.search(r"\b(?:tall(?:er)?|height|high(?:er)?|deep)\b", words, _I):
        return "metres"
    return "%" if re.search(r"percent", words, _I) else ""


_OPERATORS = re.compile("|".join(words for _, words in _OPERATIONS), _I)


def _attribute(words: str) -> str:
    bare = _FINAL_UNIT.sub(" ", _OPERATORS.sub(" ", words))
    bare = re.sub(r"\b(?:older|newer|earlier|later|passed|before|after|old)\b", " ", bare, flags=_I)
    return " ".join(re.sub(r"[,?.]", " ", _STOP.sub(" ", bare)).split())


def _dated(text: str) -> Ask | None:
    """A weekday, or years or days up to a given date."""
    operation = _operation(text)
    if operation not in ("weekday", "years", "days") or re.search(r"\bclosed?\b", text, _I):
        return None
    given = dates(text) or (years(text) if operation == "years" else [])
    side = "year" if operation == "years" else "date"
    bare = text
    for value in reversed(given):
        bare = bare[: value.start] + bare[value.end :]
    bare = _OPERATORS.sub(" ", bare)
    needs = [Need(v.text, "", "given", side, given=v.text) for v in given[:2]]
    wanted = 1 if operation == "weekday" else 2
    if len(needs) < wanted and (len(given) or operation == "weekday"):
        subject = _subject(bare)
        needs.append(Need(subject, _attribute(bare.replace(subject, " ")), type=side))
    if len(needs) < wanted:
        return None
    return Ask("date", "en", tuple(needs[:2] if operation != "weekday" else needs[:1]), operation)


def _described(text: str) -> Ask | None:
    """An attribute of a place that a description stands for: the bookshop on the 52nd floor …"""
    key, words = map_attribute(text)
    if not key:
        return None
    found = re.search(
        r"\bthe (?P<kind>[a-z]+(?: [a-z]+)?) (?P<words>(?:on|in|that|which|with|where|built|finished"
        r"|completed|known|opened|under|inside|by|at)\b[^,?]+)", text.replace(words, " "), _I)  # fmt: skip
    category, _ = category_in(found["kind"]) if found else ("", "")
    if not found or not category:
        return None
    told = re.sub(r"\s+(?:open|close|cost|have|in|is)\s*$", "", found["words"])
    return Ask("hop", "en", (Need("", key, "map"),), described=Described(told, category))


def _need(text: str) -> Need:
    """One attribute of one subject."""
    key, words = map_attribute(text)
    if key and _type(text).type != "weekday":
        rest = text.replace(words, " ", 1)
        return Need(_subject(rest), key, "map")
    wanted = _type(text)
    bare = _WH.sub("", text)
    found = [m[0].strip() for m in _CAPITALISED.finditer(bare)]
    subject = max(found, key=len) if found else ""
    if not subject:
        of = re.search(r"\bof (?:the |an? )(?P<s>[a-z][a-z -]+?)(?= (?:in|per)\b|$)", bare)
        of = of or re.search(r"\b(?:of|is|are|was|does|do|has|have|for) (?:the |an? )?(?P<s>[a-z][a-z -]+?)"
                       r"(?= (?:in|have|has|need|use|cost|long|made|usually|take|per|on|become|contain"
                       r"|invented|built)\b|$)", bare)  # fmt: skip
        subject = _STOP.sub(" ", of["s"]).strip() if of else ""
    attribute = _attribute(bare.replace(subject, " ", 1) if subject else bare)
    return replace(wanted, subject=" ".join(subject.split()), attribute=attribute)


def _type(text: str) -> Need:
    """What kind of value is wanted."""
    lowered = text.casefold()
    if re.search(r"(?:which|what) (?:day of the week|weekday)|(?:which|what) day .*\bclosed?\b", lowered):
        return Need("", "", type="weekday")
    if re.search(r"\b(?:(?:on )?(?:which|what) (?:exact )?(?:date|day)|exact date)\b", lowered):
        return Need("", "", type="date")
    if re.search(r"\b(?:which|what) year\b|^when\b|\bsince when\b", lowered):
        return Need("", "", type="year")
    if re.search(r"\bwho\b|\bwhose\b", lowered):
        return Need("", "", type="person")
    if re.search(r"\bhow (?:many|much|long|tall|high|far|deep|wide|large)\b|\bpercent|\bheight of|\blength of"
                 r"|\bfare\b|\bprice of", lowered):  # fmt: skip
        return Need("", "", type="number", unit=_unit(text))
    if re.search(r"\b(?:which|what) (?:metro |subway )?lines?\b", lowered):
        return Need("", "", type="line")
    if found := re.search(r"\b(?:which|what) (?P<noun>(?!is\b|are\b|was\b|does\b|do\b|did\b)[a-z-]+(?: station)?)", lowered):
        return Need("", "", type="name", noun=found["noun"])
    return Need("", "", type="text")
