"""How the rules read: the tags of our prompts, sentences with markers, words that carry meaning."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from agent.evidence.activities import activity_keywords
from agent.evidence.markers import ID, MARKER
from agent.language import Language

from .brain import Turn

_TASK = re.compile(r"<task>\s*(\w+)\s*</task>")
_LANGUAGE = re.compile(r"<language>\s*(zh|en)\s*</language>")
_MARKER = re.compile(rf"\s*{MARKER.pattern}")
_SENTENCE = re.compile(
    rf"(.+?(?:[。！？!?]+[”」』）)\"]*|(?<!\b[A-Z])\.(?=\s+[^a-z\s]|\[\^|\s*$)|$))((?:\s*\[\^{ID}\])*)\s*"
)
_LINE = re.compile(rf"^{MARKER.pattern}\s*(.+)$")
_RELATIVE, _AT_LEAST = 0.25, 3
_HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_TOKEN = re.compile(rf"[{_HAN}]+|[^\W_{_HAN}]+(?:['’][^\W_{_HAN}]+)*")
_HAN_FUNCTION = re.compile(
    "请问|有没有|有哪些|有什么|是什么|是否|为什么|哪些|哪里|哪儿|哪家|哪个|什么|怎么样|怎么|怎样|如何"
    "|多少|可以|应该|需要|推荐|介绍|附近|周边|周围|适合|最好|好去处|去处|地方|值得|一下|一些|几个|几家"
    "|比较好|我们|大家|现在|目前|最近|以及|或者|还有|关于|[的了吗呢吧呀啊么在是有我你和与及去从到]"
)
_ENGLISH_FUNCTION = frozenset(
    re.findall(
        r"\w+",
        "a an the of in on at for and or to from by with about is are was were be been do"
        " does did can could should would will shall may might there here that this these"
        " those it its me my i you we our us your they them he she what which who where when"
        " why how any some most more much many best good great nice recommend suggest please"
        " find tell show near nearby around place places spots things get go know want need"
        " have has between not no if as than so",
    )
)


@dataclass(frozen=True)
class Sentence:
    """A sentence as it stands, with its markers; `bare` is without them."""

    text: str

    @property
    def bare(self) -> str:
        return _MARKER.sub("", self.text).strip()

    @property
    def ids(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(MARKER.findall(self.text)))


@dataclass(frozen=True)
class Record:
    """One line of places, routes, weather or sources: its id, and its fields."""

    id: str
    fields: tuple[str, ...]

    @property
    def name(self) -> str:
        return self.fields[0]

    @property
    def mark(self) -> str:
        return f"[^{self.id}]"


def task_of(turn: Turn) -> str:
    """The name in `<task>`, or nothing."""
    found = _TASK.search(turn.system)
    return found[1] if found else ""


def language_of(turn: Turn) -> Language:
    found = _LANGUAGE.search(turn.system)
    return "en" if found and found[1] == "en" else "zh"


def block(text: str, tag: str) -> str:
    """What stands between `<tag>` and `</tag>`; nothing where the block is missing."""
    found = re.search(rf"<{tag}>\n?(.*?)\n?</{tag}>", text, re.DOTALL)
    return found[1] if found else ""


def lines(text: str, tag: str) -> list[str]:
    return [line.strip() for line in block(text, tag).splitlines() if line.strip()]


def records(text: str, tag: str) -> list[Record]:
    """The marked lines of a block, fields split at ` | `."""
    return list(_records(lines(text, tag)))


def _records(written: Iterable[str]) -> Iterator[Record]:
    for line in written:
        if found := _LINE.match(line):
            fields = tuple(field.strip() for field in found[2].split(" | ") if field.strip())
            if fields:
                yield Record(found[1], fields)


def sentences(text: str) -> list[Sentence]:
    """The sentences of a text, each with the markers that follow it; list signs are dropped."""
    found: list[Sentence] = []
    for line in text.splitlines():
        plain = re.sub(r"^\s*(?:[-*•#]+|\d+[.、)])\s+", "", line).strip()
        found += [Sentence(match[0].strip()) for match in _SENTENCE.finditer(plain)]
    return [sentence for sentence in found if len(sentence.bare) > 1]


def words(text: str) -> list[str]:
    """The stretches that carry meaning, in order, each once: Chinese phrases, English words."""
    found: list[str] = []
    for token in _TOKEN.findall(text.casefold()):
        if re.match(f"[{_HAN}]", token):
            found += [part for part in _HAN_FUNCTION.split(token) if part]
        elif token not in _ENGLISH_FUNCTION and (len(token) > 1 or token.isdigit()):
            found.append(token)
    return list(dict.fromkeys(found))


def features(text: str) -> frozenset[str]:
    """Bigrams of Chinese phrases and folded English words: what two texts may share."""
    return frozenset(feature for word in words(text) for feature in _pieces(word))


def concepts(text: str) -> frozenset[str]:
    """What a text wants done or found, as map keywords: 遛娃 and "kids" are one concept."""
    return frozenset(f"#{keyword}" for keyword in activity_keywords(text, "zh"))


def covers(known: frozenset[str], word: str) -> bool:
    """Whether features and concepts of a text speak of a word: half its bigrams, or its concept."""
    pieces = _pieces(word)
    shared = sum(piece in known for piece in pieces)
    return shared * 2 >= len(pieces) or bool(concepts(word) & known)


def distinct(found: Iterable[Sentence]) -> list[Sentence]:
    """The sentences in order, near-copies of earlier ones left out."""
    kept: list[Sentence] = []
    seen: list[frozenset[str]] = []
    for sentence in found:
        mine = features(sentence.bare)
        if not any(len(mine & other) >= 0.8 * max(len(mine), 1) for other in seen):
            seen.append(mine)
            kept.append(sentence)
    return kept


def ranked(found: Iterable[Sentence], question: str) -> list[Sentence]:
    """The distinct sentences that bear on the question, best first, at least three.

    What few sentences have weighs more than what all have (the name of the place).
    """
    asked = features(question) | concepts(question)
    shared = [
        (sentence, asked & (features(sentence.bare) | concepts(sentence.bare)))
        for sentence in distinct(found)
    ]
    often = Counter(feature for _, mine in shared for feature in mine)
    scored = [(sum(1 / often[feature] for feature in mine), s) for s, mine in shared]
    scored.sort(key=lambda pair: -pair[0])
    least = scored[0][0] * _RELATIVE if scored else 0
    return [s for place, (score, s) in enumerate(scored) if score >= least or place < _AT_LEAST]


def _pieces(word: str) -> list[str]:
    if re.match(f"[{_HAN}]", word):
        return [word] if len(word) < 3 else [word[i : i + 2] for i in range(len(word) - 1)]
    return [word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word]
