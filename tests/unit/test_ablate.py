"""What no labelled row needs is found by switching it off."""

import re
from types import ModuleType

import pytest
from evals.ablate import Kind, ablate, alternatives

RULES = """
import re
WORDS = re.compile("near|close to|unused")

def finds(text: str) -> bool:
    return bool(WORDS.search(text)) and is_short(text)

def is_short(text: str) -> bool:
    return len(text) < 99

def idle(text: str) -> bool:
    return False
"""


@pytest.mark.parametrize(
    ("pattern", "parts"),
    [
        ("near|close", ["near", "close"]),
        (r"a(?:b|c)|[|x]|\|", ["a(?:b|c)", "[|x]", r"\|"]),
        ("[]|]|x", [r"[]|]", "x"]),
        ("whole", ["whole"]),
    ],
)
def test_a_pattern_is_parted_at_its_outermost_bars(pattern: str, parts: list[str]) -> None:
    assert alternatives(pattern) == parts
    assert all(re.compile(part) for part in parts)


def needed() -> dict[str, int]:
    rules = ModuleType("rules")
    exec(RULES, vars(rules))
    checks = {text: lambda text=text: rules.finds(text) for text in ("near it", "close to it")}
    kind = Kind((rules,), lambda _: checks)  # type: ignore[arg-type]
    return {name: len(lost) for name, lost in ablate(kind, "all", together=False)}


def test_each_alternative_and_function_is_told_with_the_rows_that_need_it() -> None:
    assert needed() == {
        "rules.finds()": 2,
        "rules.is_short()": 2,
        "rules.idle()": 0,
        "rules.WORDS «near»": 1,
        "rules.WORDS «close to»": 1,
        "rules.WORDS «unused»": 0,
    }
