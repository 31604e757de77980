"""Patterns that RE2 compiles find what `re` would find."""

import functools
import importlib
import json
import pkgutil
import re
import sys
import unicodedata
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import agent
from agent.core.patterns import Linear

_LABELLED = Path(__file__).with_name("linear_patterns.jsonl")
ROWS: list[dict[str, Any]] = [json.loads(line) for line in _LABELLED.read_text().splitlines()]
"""Texts, with what each pattern finds in them and its groups: judged by eye, from real questions,
records and answers."""
NAMES = sorted({row["pattern"] for row in ROWS})


def linear(name: str) -> Linear:
    module, _, attribute = name.rpartition(".")
    found = getattr(importlib.import_module(f"agent.{module}"), attribute)
    assert isinstance(found, Linear)
    return found


def by_re(pattern: Linear) -> re.Pattern[str]:
    return re.compile(pattern.pattern, re.IGNORECASE if pattern.ignore_case else 0)


def found_by(pattern: Linear | re.Pattern[str], text: str) -> list[list[str | None]]:
    return [[match[0], *match.groups()] for match in pattern.finditer(text)]


def everywhere() -> Iterator[str]:
    for info in pkgutil.walk_packages(agent.__path__, "agent."):
        module = sys.modules.get(info.name)
        for name, value in vars(module).items() if module else ():
            if isinstance(value, Linear):
                yield f"{info.name.removeprefix('agent.')}.{name}"


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['pattern']}: {row['text'][:20]}")
def test_a_linear_pattern_finds_what_its_row_says(row: dict[str, Any]) -> None:
    assert found_by(linear(row["pattern"]), row["text"]) == row["found"]


# `re` has no classes of scripts.
@pytest.mark.parametrize("name", [name for name in NAMES if "\\p{" not in linear(name).pattern])
def test_a_linear_pattern_finds_what_re_finds_in_any_mixture_of_its_rows(name: str) -> None:
    pattern, texts = linear(name), [row["text"] for row in ROWS if row["pattern"] == name]
    pieces = st.sampled_from([*{sign for text in texts for sign in text}, *texts, " ", "\u3000"])

    # There are 34 patterns: 200 examples of each took a twelfth of the time of all fast tests.
    @settings(max_examples=15, deadline=None)
    @given(st.lists(pieces, max_size=12).map("".join))
    def same(text: str) -> None:
        spans = [match.span() for match in pattern.finditer(text)]
        assert spans == [match.span() for match in by_re(pattern).finditer(text)]
        assert found_by(pattern, text) == found_by(by_re(pattern), text)

    same()


@functools.cache
def every_known_sign() -> str:
    """The characters of Unicode 3.2, on which both libraries agree."""
    signs = (chr(code) for code in range(sys.maxunicode + 1))
    return "".join(s for s in signs if unicodedata.ucd_3_2_0.category(s) not in ("Cn", "Cs"))


def test_every_linear_pattern_has_rows() -> None:
    assert set(everywhere()) <= set(NAMES)


@pytest.mark.parametrize("name", [r"\d", r"\s", r"\w", r"\D", r"\S", r"\W", r"[\d.]", r"[^\s(]"])
def test_a_class_holds_the_characters_that_it_holds_in_re(name: str) -> None:
    known = every_known_sign()
    spans = [match.span() for match in Linear(f"{name}+").finditer(known)]
    assert spans == [match.span() for match in re.finditer(f"{name}+", known)]


def test_what_re2_would_read_otherwise_is_refused() -> None:
    for pattern in (r"\bkm", r"(?=a)", r"(?<!\d)1", r"a{0,1500}", r"[^\S]"):
        with pytest.raises(ValueError, match=re.escape(pattern)):
            Linear(pattern)


def test_half_a_character_does_not_stop_a_pattern() -> None:
    match = Linear(r"(\d+)公里").search("\ud83d 12公里")
    assert match
    assert match.span() == (2, 6)


def test_a_pattern_replaces_and_splits_as_re_does() -> None:
    assert Linear(r"(\d+) ?(km)").sub(r"\2 \1", "about 12 km") == "about km 12"
    assert Linear("，").split("一，二") == ["一", "二"]
