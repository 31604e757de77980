"""Both files of texts hold the same, and the code asks for what they hold: no less, no more."""

import ast
import functools
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.architecture.tree import SOURCE, nodes, python_files

LANGUAGES = ("zh", "en")
PAGE = SOURCE / "agent" / "page" / "js"
PLACEHOLDER = re.compile(r"\{(\w+)(?:\|[^{}]*)?\}")
"""With the forms of a counted noun behind a stroke, which not every language has."""
FORMS = re.compile(r"\{\w+\|([^{}]*)\}")
ANYTHING = "\0"
NOT_VALUES = {"query", "provider"}


class Call(NamedTuple):
    """A call with a key: what is not known before it runs is `ANYTHING`."""

    where: str
    name: str
    key: str
    values: frozenset[str] | None
    """None where they are not named one by one."""


OF_THE_CALL = {"meter", "turn", "part", "failed", "thinks"}
"""What `parsed_or_gap` is given besides the values of its gap."""


@functools.cache
def texts(language: str) -> dict[str, str]:
    """Return every text of a language by its dotted key."""
    path = SOURCE / "agent" / "texts" / f"{language}.toml"
    return dict(leaves(tomllib.loads(path.read_text("utf-8"))))


def leaves(tables: Mapping[str, Any], begin: str = "") -> Iterator[tuple[str, str]]:
    for name, value in tables.items():
        if isinstance(value, dict):
            yield from leaves(value, f"{begin}{name}.")
        else:
            yield f"{begin}{name}", value


@functools.cache
def calls() -> tuple[Call, ...]:
    return tuple(call for path in python_files("src/agent") for call in calls_of(path))


def calls_of(path: Path) -> Iterator[Call]:
    file = path.relative_to(SOURCE)
    for node in nodes(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name):
            continue
        name, told = node.func.id, {keyword.arg: keyword.value for keyword in node.keywords}
        if name == "parsed_or_gap" and "failed" in told:
            # Its gap is that of a key, with the reason and what else is named.
            name, keys = "run_gap", told["failed"]
            told = {"reason": keys, **{k: v for k, v in told.items() if k not in OF_THE_CALL}}
        elif name in ("say", "has", "run_gap", "table"):
            keys = node.args[0]
        else:
            continue
        values = None if None in told else frozenset(map(str, told))
        for key in keys_in(keys):
            yield Call(f"{file}:{node.lineno}", name, full_key(name, key), values)


def keys_in(argument: ast.expr) -> Iterator[str]:
    """Yield the literals of an argument, each part of an f-string's that varies as ANYTHING."""
    if isinstance(argument, ast.JoinedStr):
        parts = [n.value if isinstance(n, ast.Constant) else ANYTHING for n in argument.values]
        yield "".join(map(str, parts))
    elif isinstance(argument, ast.IfExp):
        yield from keys_in(argument.body)
        yield from keys_in(argument.orelse)
    elif isinstance(argument, ast.Constant):
        yield str(argument.value)


def full_key(name: str, key: str) -> str:
    if name == "table":
        return f"{key}.{ANYTHING}"
    return key.replace(".", ".gaps.", 1) if name == "run_gap" else key


def keys_meant(key: str) -> set[str]:
    """Return the keys that a call's may be; none for one of which nothing is known."""
    if ANYTHING not in key:
        return {key} & texts("en").keys()
    if key.startswith(ANYTHING):
        return set()
    pattern = re.compile(re.escape(key).replace(re.escape(ANYTHING), r"\w+"))
    return {known for known in texts("en") if pattern.fullmatch(known)}


def page_modules() -> list[tuple[str, str]]:
    """Return the source of each of the page's modules, and the table its `say` reads; else ""."""
    sources = [path.read_text("utf-8") for path in sorted(PAGE.rglob("*.js"))]
    named = [re.search(r'translator\("([\w.]+)"\)', source) for source in sources]
    return [(s, found[1] if found else "") for s, found in zip(sources, named, strict=True)]


def keys_of_the_page() -> set[str]:
    """Return the keys that the page's modules may name; a status is named in another module."""
    named = set()
    anywhere = words_of("".join(source for source, _ in page_modules()))
    for source, table in page_modules():
        words = anywhere if re.search(r"\bsay\((?![\"`])", source) else words_of(source)
        named |= {f"{table}.{word}" for word in words}
        for whole in re.findall(r'textsOf\("([\w.]+)"\)', source):
            named |= {key for key in texts("en") if key.startswith(f"{whole}.")}
    return named


def words_of(source: str) -> set[str]:
    return set(re.findall(r"\w+", source))


def test_every_key_that_the_page_names_has_a_text() -> None:
    own = [
        f"{table}.{key}"
        for source, table in page_modules()
        for key in re.findall(r'\bsay\("(\w+)"', source)
    ]
    others = [
        key
        for source, _ in page_modules()
        for key in re.findall(r'\b(?:text|say)\("(\w+\.[\w.]+)"', source)
    ]
    assert len(own) > 100
    assert others
    assert sorted({*own, *others} - texts("en").keys()) == []


def test_both_languages_have_the_same_keys_in_the_same_order() -> None:
    chinese, english = map(texts, LANGUAGES)
    assert list(chinese) == list(english)


def test_both_languages_have_the_same_placeholders() -> None:
    """Except where English readers read the English of a library and nothing else."""
    chinese, english = map(texts, LANGUAGES)
    differing = [
        key
        for key, text in english.items()
        if not PLACEHOLDER.fullmatch(text)
        and set(PLACEHOLDER.findall(FORMS.sub("", text)))
        != set(PLACEHOLDER.findall(FORMS.sub("", chinese[key])))
    ]
    assert differing == []


def test_every_key_that_the_code_names_has_a_text() -> None:
    named = [call for call in calls() if not call.key.startswith(ANYTHING)]
    assert len(named) > 100
    assert [call for call in named if not keys_meant(call.key)] == []


def test_every_text_is_said_somewhere() -> None:
    said = {key for call in calls() for key in keys_meant(call.key)}
    for path in python_files("src/agent"):
        for node in nodes(path):
            if isinstance(node, ast.JoinedStr | ast.Constant):
                said.update(key for literal in keys_in(node) for key in keys_meant(literal))
    of_the_page = keys_of_the_page()
    assert sorted(texts("en").keys() - said - of_the_page) == []


def test_a_text_is_given_its_values() -> None:
    wrong = []
    for call in calls():
        if call.name not in ("say", "run_gap") or call.values is None or ANYTHING in call.key:
            continue
        wanted = set(PLACEHOLDER.findall(texts("en")[call.key]))
        if call.values - NOT_VALUES != wanted:
            wrong.append((call.where, call.key, sorted(wanted), sorted(call.values)))
    assert wrong == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_text_is_empty_but_the_space_that_chinese_does_without(language: str) -> None:
    empty = {key for key, text in texts(language).items() if not text}
    assert empty <= {"punctuation.space"}


OF_ANSWERS = sorted({path.stem for path in (SOURCE / "agent/texts").glob("*.toml")} - {*LANGUAGES})


@pytest.mark.parametrize("language", OF_ANSWERS)
def test_a_language_of_answers_says_what_english_does_with_the_same_values(language: str) -> None:
    own, english = texts(language), texts("en")
    assert own.keys() <= english.keys()
    values = {key: set(PLACEHOLDER.findall(text)) for key, text in own.items()}
    assert values == {key: set(PLACEHOLDER.findall(english[key])) for key in own}
    assert own.keys() >= {key for key in english if key.startswith(("answer.sources", "outing.c"))}


READ_WITH_OTHERS = (
    "constraints.", "export.", "records.hours.", "records.weekdays.", "records.months.",
    "records.modes.", "punctuation.", "outing.columns.", "outing.meals.", "outing.left_out.",
    "plan_execute.kinds.", "plan_execute.papers", "plan_execute.page", "tools.calculation",
    "plan_execute.sources.papers", "deep_research.gaps.not", "deep_research.gaps.page_partial",
)  # fmt: skip
"""Texts that stand in a row, a table or a file beside others: one in English makes it half so."""
IN_WHOLE_SENTENCES = ("export.statements.",)
"""All of them English: the line of an answer that an earlier release wrote."""


@pytest.mark.parametrize("language", OF_ANSWERS)
def test_what_stands_in_one_row_or_file_is_never_half_in_english(language: str) -> None:
    own, english = texts(language), texts("en")
    whole = {key for key in english if key.startswith(READ_WITH_OTHERS)}
    assert sorted(whole - {k for k in whole if k.startswith(IN_WHOLE_SENTENCES)} - own.keys()) == []


@pytest.mark.parametrize("language", [*LANGUAGES, *OF_ANSWERS])
@pytest.mark.parametrize("section", ["sources", "routes", "weather"])
def test_the_page_knows_the_headings_that_it_shows_in_views_of_their_own(
    section: str, language: str
) -> None:
    heading = texts(language)[f"answer.{section}"].strip("*")
    named = (PAGE / "answer" / "answer_body.js").read_text("utf-8")
    assert re.search(rf"[(:|\"]{re.escape(heading)}[)|\"]", re.sub(r"\[(\w)\w\]", r"\1", named))
