"""Names and short phrases in a sentence: persons, what a noun is called, what fills a gap."""

import re

from .rules_team_values import Value
from .rules_team_words import SYNONYMS
from .rules_text import features

_CAPITAL = re.compile(
    r"(?:[A-Z][\w'’.&-]*)(?:\s+(?:(?:of|the|de|on)\s+(?=[A-Z]))?[A-Z][\w'’.&-]*)*"
)
_LEADING = re.compile(r"^(?:The|A|An|In|On|At|Its|It|Across|From|Both|And|Of)\b\s*")
_ERA = re.compile("^.*(?:[\u4e00-\u9fff]{1,2}[代朝]|世纪|年|由|被|是|，|、)")
_MANNER = re.compile("(?:主持|负责|带队|领导|最早|首先|共同)+$")
_TIMES = re.compile(
    "^(?:January|February|March|April|May|June|July|August|September|October|November|December"
    "|Monday|Tuesday|Wednesday|Thursday|Friday|Saturday|Sunday)$"
)
_EDGE = re.compile("[是由被到在和与、的于叫坐为从离乘年及或等选首用给让把，]")
_LINKS = "(?:to|of|in|on|is|are|was|that|which|and|with|for|from|by|at|as)"
_TAIL = re.compile(r"\s+(?:which|that|who|and|but|because|while|so|when|where|with)\b.*$")


def capitalised(sentence: str) -> list[Value]:
    """The names of an English sentence; its first word counts only as part of one."""
    found = []
    for match in _CAPITAL.finditer(sentence):
        text = _LEADING.sub("", match[0])
        if text:
            start = match.end() - len(text)
            found.append(Value(text.rstrip(".,"), start, match.end()))
    return found


def persons(sentence: str, attribute: str, asked: str) -> list[Value]:
    """Who did it: what stands before the verb in Chinese, the nearest name in English."""
    said = attribute.casefold().split()
    verbs = [
        w
        for g in SYNONYMS
        if any(w in said or (not w.isascii() and w in attribute) for w in g)
        for w in g
    ]
    for verb in sorted((v for v in (*said, *verbs) if not v.isascii()), key=len, reverse=True):
        at = sentence.find(verb)
        before = re.split("[，。；]", sentence[:at])[-1] if at > 0 else ""
        name = _ERA.sub("", _MANNER.sub("", before))
        if 2 <= len(name) <= 4:
            return [Value(name, at - len(before) + before.rfind(name), at)]
    return [
        v for v in capitalised(sentence) if not _told(v.text, asked) and not _TIMES.search(v.text)
    ]


def names(sentence: str, noun: str, asked: str) -> list[Value]:
    """What a noun is called, in or beside which it stands; never what was asked with."""
    if noun and not noun.isascii():
        return _chinese_names(sentence, noun, asked)
    wide = [value for value in capitalised(sentence) if not _told(value.text, asked)]
    beside = (
        re.search(rf"\b{re.escape(noun)}\s+(?!{_LINKS}\b)([A-Za-z][\w-]+)", sentence)
        if noun
        else None
    )
    if beside is None or _told(beside[1], asked):
        return wide
    whole = [value for value in wide if value.start == beside.start(1)]
    return whole or [Value(beside[1], beside.start(1), beside.end(1))]


def _chinese_names(sentence: str, noun: str, asked: str) -> list[Value]:
    ending = noun if noun in sentence else noun[-1]
    found = []
    for match in re.finditer(rf"[\u4e00-\u9fffA-Za-z0-9·\-]*?{re.escape(ending)}", sentence):
        name = _EDGE.split(match[0])[-1]
        if len(name) > len(ending) and name not in asked:
            found.append(Value(name, match.end() - len(name), match.end()))
    return found


def phrases(sentence: str, verb: str, attribute: str) -> list[Value]:
    """What fills the gap of a question: after its last words, or the other side of an `is`."""
    for words in filter(None, (verb, verb[-2:], attribute.split()[-1] if attribute else "")):
        if not words.isascii():
            found = re.search(
                rf"{re.escape(words)}(?:的)?(?:是|为|叫|用|有)?([^，。；：]+)", sentence
            )
            if found:
                return [Value(found[1].strip("“”"), found.start(1), found.end(1))]
    if not attribute or not attribute.isascii():
        return []
    return _english_phrases(sentence, attribute)


def _english_phrases(sentence: str, attribute: str) -> list[Value]:
    last = re.escape(attribute.split()[-1])
    patterns = (
        r"\b(?:called|known as|named)\s+(?:the\s+)?([^,.;]+)"
        if re.search("call|known|name", attribute)
        else "",
        r"(?:^|,\s|\band\s)(?:the\s+)?([A-Za-z][\w -]+?)\s+(?:is|are|was|were)\s+"
        rf"(?:the\s+|an?\s+)?[\w -]*\b{last}\b",
        rf"\b{last}\b[^,.;]*?\s(?:is|are|was|were)\s+(?:the\s+|an?\s+)?([^,.;]+)",
    )
    for pattern in filter(None, patterns):
        if found := re.search(pattern, sentence, re.IGNORECASE):
            return [Value(_TAIL.sub("", found[1]).strip(), found.start(1), found.end(1))]
    return []


def _told(name: str, asked: str) -> bool:
    """Whether the question itself holds the name."""
    return features(name) <= features(asked)
