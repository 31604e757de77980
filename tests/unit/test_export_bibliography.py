"""The sources of an answer for reference managers."""

from typing import Any

import pytest

from agent.core.errors import AgentError
from agent.export.bibliography import bibtex, ris
from tests.unit.export_samples import answer, source

PAPER: Any = {
    **source(2, "https://doi.org/10.1038/s41586-020-2649-2", "Array programming: 50 % of {A_1}"),
    "kind": "paper", "published": "2020-09", "provider": "openalex",
}  # fmt: skip
PAGE: Any = {**source(1), "site": "example.com", "published": "2026-04-03T10:00:00Z"}


def test_bibtex_has_an_entry_a_source_with_what_is_known_of_it() -> None:
    assert (
        bibtex(answer(sources=[PAGE, PAPER]))
        == r"""@misc{tanlu1,
  title = {{遛娃指南}},
  howpublished = {example.com},
  year = {2026},
  month = {04},
  day = {03},
  url = {https://example.com/a},
  urldate = {2026-11-21},
}

@article{tanlu2,
  title = {{Array programming: 50 \% of \{A\_1\}}},
  journal = {Openalex},
  year = {2020},
  month = {09},
  doi = {10.1038/s41586-020-2649-2},
  url = {https://doi.org/10.1038/s41586-020-2649-2},
  urldate = {2026-11-21},
}
"""
    )


def test_ris_has_a_record_a_source_with_what_is_known_of_it() -> None:
    records = ris(answer(sources=[PAGE, PAPER])).split("\r\n")
    assert records[:9] == [
        "TY  - ELEC", "ID  - tanlu1", "TI  - 遛娃指南", "PB  - example.com", "PY  - 2026",
        "DA  - 2026/04/03", "UR  - https://example.com/a", "Y2  - 2026/11/21", "ER  - ",
    ]  # fmt: skip
    assert "TY  - JOUR" in records
    assert "DO  - 10.1038/s41586-020-2649-2" in records


@pytest.mark.parametrize(
    "title", ["a\nER  - \nTY  - JOUR", "a},\n  evil = {b", "\\input{x}", "$~^#&"]
)
def test_a_title_ends_neither_its_field_nor_its_record(title: str) -> None:
    given = answer(sources=[source(1, "https://example.com/a{b}", title)])
    text = bibtex(given)
    plain = text.replace("\\\\", "").replace("\\{", "").replace("\\}", "")
    assert plain.count("{") == plain.count("}")
    assert text.count("@") == 1
    assert "evil = {b" not in text
    assert "\\input" not in text
    assert [line[:2] for line in ris(given).split("\r\n") if line].count("TY") == 1


def test_a_date_is_taken_as_far_as_it_is_one() -> None:
    odd = {**source(1), "published": "Apr 3, 2026"}
    assert "year" not in bibtex(answer(sources=[odd]))


def test_a_redirect_link_is_no_address() -> None:
    unresolved = {**source(1), "unresolved": True}
    assert "url" not in bibtex(answer(sources=[unresolved]))
    assert "UR  - " not in ris(answer(sources=[unresolved]))


@pytest.mark.parametrize("write", [bibtex, ris])
def test_without_sources_there_is_nothing_to_write(write: Any) -> None:
    with pytest.raises(AgentError) as caught:
        write(answer(sources=[]))
    assert caught.value.code == "no_sources"
