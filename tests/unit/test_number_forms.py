"""Numbers of a program's output are written as the readers of a report write theirs."""

import pytest

from agent.evidence.number_forms import number_form
from tests.support.rows import by_examples


@by_examples
def test_a_number_has_the_form_of_its_reader(tag: str, line: str, text: str, written: str) -> None:
    assert number_form(tag).written(line, text) == written


@pytest.mark.parametrize("tag", ["xx", "de_DE_", "not a tag", ""])
def test_a_tag_that_nobody_knows_has_the_english_form(tag: str) -> None:
    assert number_form(tag).written("12345.5", "") == "12,345.5"
