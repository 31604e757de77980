"""Numbers of a program's output are written as the readers of a report write theirs."""

import pytest

from agent.assistants.plan_execute.write_dossier import figure_section
from agent.evidence.number_forms import number_form
from agent.search.documents import FiledFigure
from tests.support.rows import by_examples


@by_examples
def test_a_number_has_the_form_of_its_reader(tag: str, line: str, text: str, written: str) -> None:
    assert number_form(tag).written(line, text) == written


@pytest.mark.parametrize("tag", ["xx", "de_DE_", "not a tag", ""])
def test_a_tag_that_nobody_knows_has_the_english_form(tag: str) -> None:
    assert number_form(tag).written("12345.5", "") == "12,345.5"


def test_filed_figures_stand_in_a_german_dossier_as_germans_write_them() -> None:
    filed = FiledFigure(
        name="Revenues", value="391,035,000.5", unit="USD", period="FY2024", url="https://e.org"
    )
    as_filed = figure_section([("f0-0", filed)], "en")
    assert "| Revenues | 391,035,000.5 | USD | FY2024 | [^f0-0] |" in as_filed
    assert "| 391.035.000,5 |" in figure_section([("f0-0", filed)], "de", number_form("de"))
