"""Tests ask for a sentence by its key, with `say`: else each change of its words breaks them."""

import ast
import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from tests.architecture.tree import ROOT, SOURCE, nodes, python_files

pytestmark = pytest.mark.slow

LIST = Path(__file__).parent / "copied_sentences.txt"
MOST = 10
"""Lines of that list, which only becomes shorter."""
IN_A_ROW = {"en": 6, "zh": 10}
"""Words, or Han characters, that a test has in common with a sentence by no chance."""
_NOT_SAID = "examples."
"""Questions that a person asks, in tests as well."""
_PLACEHOLDER = re.compile(r"\{[^{}]*\}")
_WORD = re.compile(r"[\u4e00-\u9fff]|[^\W\u4e00-\u9fff]+(?:['’-]\w+)*")


def test_no_further_test_copies_a_sentence() -> None:
    listed = LIST.read_text("utf-8").splitlines()
    assert sorted(copied()) == listed
    assert len(listed) <= MOST


def test_a_copied_sentence_is_found_within_other_words() -> None:
    told = "tanlu: Check the network, or set a proxy (HTTPS_PROXY=…)"
    assert keys_of(told) == {"remedies.network"}
    assert keys_of("Check the network first") == set()
    assert keys_of("另：地图只查了一部分；有网页搜索没有成功，可能漏了资料") == {"missing.web"}


def copied() -> Iterator[str]:
    """Yield a file of tests and a key for each literal that has words of that text."""
    for path in python_files("tests"):
        if path != Path(__file__):
            for literal in literals(path):
                yield from (f"{path.relative_to(ROOT)} {key}" for key in keys_of(literal))


def literals(path: Path) -> Iterator[str]:
    """Yield the strings of a file that are no docstrings."""
    alone = {id(node.value) for node in nodes(path) if isinstance(node, ast.Expr)}
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
            yield node.value


def keys_of(literal: str) -> set[str]:
    """Return the keys of the texts with which a string has that many words in common."""
    found = (rows()[row] for count in IN_A_ROW.values() for row in rows_of(literal, count)
             if row in rows())  # fmt: skip
    return set(found)


@cache
def rows() -> dict[tuple[str, ...], str]:
    """Return the key of every row of words that stands in a text."""
    found: dict[tuple[str, ...], str] = {}
    for language, count in IN_A_ROW.items():
        file = SOURCE / "agent" / "texts" / f"{language}.toml"
        for key, text in texts(tomllib.loads(file.read_text("utf-8"))):
            if not key.startswith(_NOT_SAID):
                for part in _PLACEHOLDER.split(text):
                    found |= dict.fromkeys(rows_of(part, count), key)
    return found


def rows_of(text: str, count: int) -> Iterator[tuple[str, ...]]:
    words = _WORD.findall(text)
    yield from (tuple(words[at : at + count]) for at in range(len(words) - count + 1))


def texts(table: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    for name, value in table.items():
        if isinstance(value, dict):
            yield from texts(value, f"{before}{name}.")
        elif isinstance(value, str):
            yield before + name, value
