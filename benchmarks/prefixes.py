"""How much of a run's prompts a service may have in its cache: what an earlier one began with."""

import json
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping
from typing import Any

from agent.sample.services.gemini import tokens

LEAST = 1024
"""Tokens of a prefix from which on services keep it."""


def prompt_of(body: Any) -> str:
    """Return a request to Gemini as one text, in the order in which a service reads it."""
    if not isinstance(body, Mapping):
        return ""
    tools = json.dumps(body.get("tools") or [], ensure_ascii=False)
    said = [body.get("systemInstruction") or {}, *(body.get("contents") or [])]
    texts = (part.get("text", "") for content in said for part in content.get("parts") or ())
    return "\0".join([tools, *texts])


class Prompts:
    """Remember what each model was asked in each run, and when its reply had been sent."""

    def __init__(self) -> None:
        self._asked: defaultdict[tuple[int, str], list[tuple[float, str]]] = defaultdict(list)

    def known(self, run: int, path: str, prompt: str, arrived: float) -> int:
        """Return the tokens that a prompt begins with as one did whose reply was there before."""
        asked = self._asked[run, path.partition(":")[0]]
        common = max((_common(prompt, text) for at, text in asked if at < arrived), default=0)
        asked.append((time.monotonic(), prompt))
        return tokens(prompt[:common])


def _common(one: str, other: str) -> int:
    """Return the characters with which both begin."""
    differ = (at for at, (a, b) in enumerate(zip(one, other, strict=False)) if a != b)
    return next(differ, min(len(one), len(other)))


def cached_share(calls: Iterable[Mapping[str, Any]], *, least: int = LEAST) -> float:
    """Return the share of all prompt tokens that a cache of such prefixes would have had."""
    rows = list(calls)
    whole = sum(call["tokens"] for call in rows)
    return sum(c["known"] for c in rows if c["known"] >= least) / whole if whole else 0.0
