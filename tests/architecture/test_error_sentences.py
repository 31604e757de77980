"""Errors are sentences: what a setting's problem says goes on from its name, or stands alone.

Whoever shows an error gives it the capital and the stop (`core.strings.as_sentence`).
"""

import ast
from collections.abc import Iterator

import pytest

from agent.core.strings import as_sentence
from agent.texts import table
from tests.architecture.tree import ROOT, nodes, python_files

pytestmark = pytest.mark.slow

REFUSED_FILES = ("no_letters", "no_sources", "no_outing", "nothing_to_draw")
NAMED = ("ConfigurationError", "InputError")
GO_ON = frozenset(
    {"is", "must", "may", "cannot", "has", "needs", "names", "says", "lacks", "goes", "belongs"}
    | {"keeps", "holds", "looks", "knows", "makes", "gave", "asks", "takes"}
)


def calls() -> Iterator[tuple[str, ast.Call]]:
    for file in python_files("src"):
        for node in nodes(file):
            if isinstance(node, ast.Call) and getattr(node.func, "id", "") in NAMED:
                yield f"{file.relative_to(ROOT)}:{node.lineno}", node


def beginning(problem: ast.expr) -> str | None:
    """How a literal begins; empty for a value, None for what is no literal."""
    if isinstance(problem, ast.JoinedStr):
        first = problem.values[0]
        return str(first.value) if isinstance(first, ast.Constant) else ""
    return str(problem.value) if isinstance(problem, ast.Constant) else None


def test_what_is_wrong_with_a_setting_goes_on_from_its_name_or_is_a_sentence() -> None:
    wrong = {}
    for where, call in calls():
        told = beginning(call.args[1]) if len(call.args) > 1 else None
        if told is None or told[:1].isupper():
            continue
        if told.partition(" ")[0] not in GO_ON:
            wrong[where] = ast.unparse(call.args[1])
    assert wrong == {}


def test_the_texts_of_such_problems_do_so_too() -> None:
    for key, text in table("faults", "en").items():
        assert text[:1].isupper() or text.partition(" ")[0] in GO_ON, key


def test_texts_that_refuse_something_are_sentences() -> None:
    refusals = {
        **{key: table("export", "en")[key] for key in REFUSED_FILES},
        **table("remedies", "en"),
        **table("limits", "en"),
        **table("page.documents.codes", "en"),
    }
    for key, text in refusals.items():
        assert as_sentence(text)[:40] == text[:40], key
