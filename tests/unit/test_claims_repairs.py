"""A wrong figure in a cited sentence becomes the one that its source gives."""

import pytest

from agent.evidence.claims.check import check
from agent.evidence.claims.correct import judged, shown_passages, with_source_figures
from tests.unit.test_claims import evidence

USERS = [
    "Fewer than 10,000 users on a single server is the sweet spot of SQLite.",
    "There were more than 12,000 active public servers and 97 million downloads.",
]


@pytest.mark.parametrize(
    ("sentence", "wrong", "right"),
    [
        ("星巴克(外滩店)每天07:30开门，22:30关门[^a0-0]。", "22:30", "22:00"),
        ("一坐一忘(三里屯店)每天11:00开门，22:30关门[^a0-1]。", "22:30", "22:00"),
        ("| 星巴克(外滩店) | ★4.7 | ¥40 [^a0-0] |", "4.7", "4.4"),
        ("Fewer than 100,000 users on a single server is ideal [^w0-0].", "100,000", "10,000"),
        (
            "With 97 million downloads there were 120,000 active public servers [^w0-0].",
            "120,000",
            "12,000",
        ),
    ],
)
def test_a_wrong_figure_becomes_that_of_its_own_source(
    sentence: str, wrong: str, right: str
) -> None:
    known = evidence({"w0-0": USERS})
    [finding] = with_source_figures(check(sentence, known), known)
    assert (finding.verdict, finding.text) == ("repaired", sentence.replace(wrong, right))


@pytest.mark.parametrize(
    "sentence",
    [
        "It takes 12 minutes on a single server with users [^w0-0].",
        "星巴克(外滩店)离地铁站600米[^a0-0]。",
        "The firm has 250,000 customers [^w0-0].",
    ],
)
def test_a_figure_of_another_thing_never_replaces_a_wrong_one(sentence: str) -> None:
    known = evidence({"w0-0": USERS})
    [finding] = with_source_figures(check(sentence, known), known)
    assert (finding.verdict, finding.text) == ("marked", None)


def test_the_passages_of_each_cited_source_are_shown_and_none_in_two_forms() -> None:
    forms = ["The tower opens daily at nine.", "tower | daily | nine | opens", "tower"]
    known = evidence({"w0-0": forms, "w0-1": ["The museum is closed on Monday."]})
    [finding] = check("The tower and the museum never open late [^w0-0][^w0-1].", known)
    assert {p.source for p in shown_passages(finding, known)} == {"w0-0", "w0-1"}
    assert sum(p.source == "w0-0" for p in shown_passages(finding, known)) == 1


@pytest.mark.parametrize("verdict", ["partly", "nothing_to_check"])
def test_a_verdict_that_nothing_is_wrong_never_marks(verdict: str) -> None:
    known = evidence({"w0-0": ["The tower opens daily at nine."]})
    [finding] = check("The tower never opens late [^w0-0].", known)
    assert judged(finding, verdict, "", known).verdict == "quoted"
