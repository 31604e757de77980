"""Prompts exist in Chinese and in English, for the same values."""

import re
from pathlib import Path

from tests.architecture.tree import ROOT

FOLDER = ROOT / "src/agent/prompts"


def values_of(language: str) -> dict[str, list[str]]:
    """Prompt → the values it takes, in order."""
    return {
        path.name: re.findall(r"\{\{(\w+)\}\}", path.read_text("utf-8"))
        for path in (FOLDER / language).glob("*.md")
    }


def test_every_prompt_exists_in_both_languages_with_the_same_values() -> None:
    assert values_of("zh")
    assert values_of("zh") == values_of("en")


def share_of_chinese(path: Path) -> float:
    text = path.read_text("utf-8")
    return len(re.findall("[一-鿿]", text)) / len(text)


def test_the_instructions_are_written_in_their_language() -> None:
    """A few words of the other language are examples; more would be a forgotten translation."""
    chinese = {p.name: share_of_chinese(p) for p in (FOLDER / "zh").glob("*_system.md")}
    english = {p.name: share_of_chinese(p) for p in (FOLDER / "en").glob("*.md")}
    assert {name: share for name, share in chinese.items() if share < 0.2} == {}
    assert {name: share for name, share in english.items() if share > 0.05} == {}
