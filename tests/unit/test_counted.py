"""What is counted stands in the number of its count, in every language and at every place."""

import re
import tomllib
from pathlib import Path

import pytest

from agent.core.progress import event
from agent.export.finished import FinishedAnswer, statement_line
from agent.texts import LANGUAGES, OF_ANSWERS, Language, counted, event_line, fill, say
from tests.support.rows import by_examples

FOLDER = Path(say.__code__.co_filename).parent
FORMS = re.compile(r"\{(\w+)\|([^{}]*)\}")
HOW_MANY = {"en": {2}, "de": {2}, "fr": {2}, "es": {2}, "ru": {2, 3}}
"""Forms that a language may have; the others put numbers where nothing agrees with them."""


@by_examples
def test_a_text_has_the_form_beside_its_number(
    language: Language, key: str, values: dict[str, int], told: str
) -> None:
    assert say(key, language, **values) == told


@by_examples
def test_a_form_follows_the_rule_of_its_language(
    language: str, forms: str, told: dict[str, str]
) -> None:
    assert {n: fill(f"{{n|{forms}}}", {"n": n}, language) for n in told} == told


def test_a_number_that_is_not_there_leaves_the_text_as_it_is() -> None:
    assert fill("{n|file|files} {x}", {}, "en") == "{n|file|files} {x}"
    assert fill("{n|file|files}", {"n": "{n|a|b}"}, "en") == "files"


def test_a_text_that_a_language_lacks_has_the_forms_of_english() -> None:
    assert say("export.statements.total", "fr", n=0, parts="-") == "0 statements: -"
    assert counted("files", 1, "ru") == "1 file"


@pytest.mark.parametrize("language", [*LANGUAGES, *OF_ANSWERS])
def test_a_text_has_as_many_forms_as_its_language(language: Language) -> None:
    written = (FOLDER / f"{language}.toml").read_text("utf-8")
    counts = {len(forms.split("|")) for _, forms in FORMS.findall(written)}
    assert counts <= HOW_MANY.get(language, set())


def test_no_noun_stands_in_the_plural_behind_a_number_without_its_other_form() -> None:
    """Words behind `{n}` and the like that end in s; a limit that stands fast is no count."""
    texts = tomllib.loads((FOLDER / "en.toml").read_text("utf-8"))
    bare = re.compile(r"\{(?:n|count|total|left|over)\} (?:\w+ )?\w{3,}s\b")
    found = [(key, text) for key, text in leaves(texts) if bare.search(text)]
    assert [key for key, text in found if not FORMS.search(text)] == []


def leaves(tables: dict[str, object], begin: str = "") -> list[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, value in tables.items():
        if isinstance(value, dict):
            found += leaves(value, f"{begin}{name}.")
        else:
            found.append((f"{begin}{name}", str(value)))
    return found


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("en", "1 of 1 statement found in the sources"),
        ("de", "1 von 1 Aussage in den Quellen gefunden"),
        ("fr", "1 affirmation sur 1 figure dans les sources"),
        ("ru", "1 из 1 утверждения есть в источниках"),
    ],
)
def test_the_line_of_one_statement_is_in_the_singular(language: Language, line: str) -> None:
    claims = {"version": 2, "total": 1, "supported": 1}
    answer = FinishedAnswer("", "", language, "", claims=claims)
    assert statement_line(answer) == line


def test_an_event_of_one_is_told_in_the_singular() -> None:
    told = [event_line(event("reading", "n", text="tea", count=n), "en") for n in (0, 1, 2)]
    assert told == ["Reading 0 pages: tea", "Reading 1 page: tea", "Reading 2 pages: tea"]
