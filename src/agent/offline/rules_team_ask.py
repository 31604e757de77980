"""What a question of one of the documented shapes asks: its needs, and what is done with them."""

import re
from dataclasses import dataclass, field, replace
from typing import Literal

from agent.language import Language, detect_language

Shape = Literal["lookup", "place", "compare", "arithmetic", "date", "hop", "unknown"]
Operation = Literal[
    "value", "least", "most", "difference", "sum", "ratio", "percent", "product",
    "years", "days", "weekday",
]  # fmt: skip
Kind = Literal["page", "map", "given"]
_DECIMALS = re.compile(
    r"([一两二三四1-4]|one|two|three)\s*(?:位小数|decimal|digits? after)", re.IGNORECASE
)
_COUNT = {"一": 1, "两": 2, "二": 2, "三": 3, "四": 4, "one": 1, "two": 2, "three": 3}


@dataclass(frozen=True)
class Need:
    """One fact: an attribute of a subject, from pages or from the map."""

    subject: str
    attribute: str
    """`page`: the words of the attribute; `map`: its key (rating, opens, …)."""
    kind: Kind = "page"
    type: str = "text"
    """year, date, number, weekday, person, name, clock or text."""
    unit: str = ""
    given: str = ""
    """The value, where the question itself gives it."""
    noun: str = ""
    """What a name is the name of (哪家公司 → 公司)."""
    verb: str = ""


@dataclass(frozen=True)
class Best:
    """The places of a kind around somewhere (or in a city), and what makes one the best."""

    category: str
    near: str
    by: str
    """rating, cost, opens, closes or distance."""
    most: bool
    radius_m: int = 2000
    city: bool = False


@dataclass(frozen=True)
class Described:
    """A place known by what a page says of it."""

    words: str
    category: str


@dataclass(frozen=True)
class Ask:
    """A question as the team works on it; the needs of a hop have an empty subject."""

    shape: Shape
    language: Language
    needs: tuple[Need, ...] = ()
    operation: Operation = "value"
    best: Best | None = None
    described: Described | None = None
    factor: str = ""
    decimals: int = 1
    names: tuple[str, ...] = field(default=())
    """The subjects as a comparison answers with them."""


def ask_of(question: str, requirement: str = "") -> Ask:
    """The question read by the rules of its language; `unknown` where no shape fits."""
    from .rules_team_english import read_english
    from .rules_team_chinese import read_chinese

    text = _asked_part(question)
    read = read_chinese if detect_language(text) == "zh" else read_english
    found = _DECIMALS.search(f"{requirement} {question}")
    asked = read(text)
    if found:
        word = found[1].casefold()
        return replace(asked, decimals=_COUNT.get(word) or int(word))
    return asked


def _asked_part(question: str) -> str:
    """Up to its last question mark, without brackets and what stands after it."""
    line = " ".join(re.sub(r"[（(][^（）()]*(?:格式|format|回答|answer)[^（）()]*[）)]", "", question).split())
    head, mark, _ = line.rpartition("？" if "？" in line else "?")
    return (head if mark else line).strip(" 。.!！?？")
