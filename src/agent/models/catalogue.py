"""Know model ids with their thinking levels, dated prices and retired names (`catalogue.toml`).

A model that is not listed works all the same: its cost is unknown and no thinking level is sent
unasked.
"""

import tomllib
from dataclasses import dataclass
from datetime import date
from importlib.resources import files
from typing import Any, Literal

from agent.core.errors import ConfigurationError
from agent.core.strings import number_behind, split_at
from agent.models.types import Thinking

Provider = Literal["google", "openai"]
Role = Literal["query", "research", "reflection", "answer"]

_PROVIDERS: dict[str, Provider] = {
    "google": "google",
    "google_genai": "google",
    "gemini": "google",
    "openai": "openai",
}
_LEVELS: tuple[Thinking, ...] = ("minimal", "low", "medium", "high")
_GOOGLES = ("gemini", "gemma", "learnlm")
_LONGEST_ID, _SIGNS_IN_ID = 200, ".:/@+-_"

DEFAULT_THINKING: dict[Role, Thinking] = {
    "query": "low",
    "research": "medium",
    "reflection": "medium",
    "answer": "high",
}
"""`research` is medium because flash-lite's own default stops half-way through tool loops."""


@dataclass(frozen=True)
class ModelName:
    """Hold a model and who serves it; `id` is what goes on the wire."""

    provider: Provider
    id: str


@dataclass(frozen=True)
class Price:
    """Hold USD per million tokens in and out, up to and including the day `until` (None: open)."""

    input: float
    output: float
    until: date | None = None


@dataclass(frozen=True)
class ModelFacts:
    """Hold the facts of one model; an empty tuple of levels means that none may be sent."""

    thinking: tuple[Thinking, ...] = ()
    prices: tuple[Price, ...] = ()
    paid_only: bool = False


_LISTED: dict[str, Any] = tomllib.loads(
    files(__package__).joinpath("catalogue.toml").read_text(encoding="utf-8")
)
GOOGLE_MODELS: dict[str, ModelFacts] = {
    name: ModelFacts(
        tuple(row["thinking"]),
        tuple(Price(**each) for each in row["prices"]),
        row.get("paid_only", False),
    )
    for name, row in _LISTED["google"].items()
}
RETIRED: dict[str, str] = _LISTED["retired"]
"""Shut down, or routed to the successor at the successor's price."""
GOOGLE_EMBEDDINGS: dict[str, float] = _LISTED["embeddings"]
"""USD per million tokens of text."""

_SEARCH_USD = 14 / 1000


def parse(name: str, field: str = "model") -> ModelName:
    """Return the parts of `provider:model`; a bare name of Google's is Google's.

    Raises ConfigurationError naming `field` for another bare name, an unknown provider or an
    impossible id.
    """
    prefix, colon, rest = name.strip().partition(":")
    if not colon:
        if prefix and not prefix.lower().removeprefix("models/").startswith(_GOOGLES):
            raise ConfigurationError(
                field,
                f"names no provider, {_show(name)}: openai:{prefix[:40]} is any compatible service"
                " (at OPENAI_BASE_URL)",
            )
        prefix, rest = "google", prefix
    elif prefix.lower() not in _PROVIDERS:
        providers = ", ".join(sorted(_PROVIDERS))
        raise ConfigurationError(
            field,
            f"names an unknown provider, {_show(prefix)} in {_show(name)} (known: {providers};"
            f" a compatible service is openai:{rest.strip()[:60]} with OPENAI_BASE_URL)",
        )
    provider = _PROVIDERS[prefix.lower()]
    rest = rest.strip()
    if provider == "google":
        rest = rest.removeprefix("models/")
    letters = "".join(split_at(rest, _SIGNS_IN_ID))
    is_begun = rest[:1].isascii() and rest[:1].isalnum()
    if not (letters.isalnum() and is_begun and len(rest) <= _LONGEST_ID):
        raise ConfigurationError(field, f"is no model's name: {_show(name)}")
    return ModelName(provider, rest)


def _show(text: str) -> str:
    return repr(text if len(text) <= 60 else text[:57] + "...")


def successor_of(name: ModelName) -> ModelName:
    """Return the model that serves a name: the successor of a retired one, else the same."""
    successor = retirement(name.id) if name.provider == "google" else None
    return ModelName("google", successor) if successor else name


def retirement(model: str) -> str | None:
    """Return the successor of a model that is shut down or routed elsewhere; None if it is not."""
    return RETIRED.get(model.removeprefix("models/"))


def clamp(model: str, thinking: Thinking | None) -> Thinking | None:
    """Return the nearest level this Gemini model takes, upwards first.

    None where none may be sent.
    """
    entry = GOOGLE_MODELS.get(retirement(model) or model)
    if entry is None or thinking is None:
        return thinking if entry is None and _is_new(model) else None
    if thinking in entry.thinking or not entry.thinking:
        return thinking if entry.thinking else None
    index = _LEVELS.index(thinking)
    higher = [level for level in entry.thinking if _LEVELS.index(level) > index]
    return higher[0] if higher else entry.thinking[-1]


def _is_new(model: str) -> bool:
    """Tell whether a model takes thinking levels: Gemini 3 and later do, earlier ones refuse."""
    return (number_behind(model, "gemini-") or 0) >= 3


def price(
    model: str, input_tokens: int, output_tokens: int, searches: int = 0, *, on: date
) -> float | None:
    """Return a call's cost in USD on a day, executed searches included; None if unknown.

    `output_tokens` include thinking. Free quotas are not subtracted.
    """
    name = parse(model)
    entry = GOOGLE_MODELS.get(retirement(name.id) or name.id) if name.provider == "google" else None
    rate = next((p for p in entry.prices if p.until is None or on <= p.until), None) if entry else 0
    if not isinstance(rate, Price):
        return None
    tokens = (input_tokens * rate.input + output_tokens * rate.output) / 1_000_000
    return tokens + search_price(model, searches)


def search_price(model: str, searches: int) -> float:
    """Return USD for the Google Search queries of a grounded call (Gemini 3 and later)."""
    return searches * _SEARCH_USD if parse(model).provider == "google" else 0.0
