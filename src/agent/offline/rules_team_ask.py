"""What a question of one of the documented shapes asks: its needs, and what is done with them."""

from dataclasses import dataclass, field
from typing import Literal

from agent.language import Language

Shape = Literal["lookup", "place", "compare", "arithmetic", "date", "hop", "unknown"]
Operation = Literal[
    "value", "least", "most", "difference", "sum", "ratio", "percent", "product",
    "years", "days", "weekday",
]  # fmt: skip
Kind = Literal["page", "map", "given"]


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
