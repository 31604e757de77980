"""What a statement that cites nothing is lent by its text, and is shown for it."""

from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import statements
from agent.evidence.lent import with_lent
from agent.evidence.notation import MARKED
from agent.evidence.revision import deciding_passages
from agent.evidence.worth import Worth
from tests.support.rows import by_examples

_NOISE = "\n".join(
    f"A mill {n} of the valley stops in spring; its pond, sill and rent are as of old. " * 4
    for n in range(12)
)
KNOWN = Evidence(
    {
        "w0-0": Record([f"Elm mills cost 70.\n{_NOISE.replace('mill', 'elm mill')}"]),
        "w1-0": Record(
            [
                f"{_NOISE.replace('mill', 'oak')}\n"
                "The wheel stands still while water is below the sill of the pond. " * 2
            ]
        ),
        "w2-0": Record([f"{_NOISE.replace('mill', 'ash')}\n" + "The guild's millers met. " * 4]),
        "c0-0": Record(
            [f"Elm rent: 3,000 + 7{n} = 3,7{n}" for n in range(20, 40)]
            + ["Oak rent: 4,000 + 310 = 4,310"],
            is_worked=True,
        ),
        "w9-0": Record([_NOISE.replace("stops", "meets there")]),
    },
    today="2026-12-01",
)


@by_examples
def test_what_cites_nothing_is_shown_what_its_text_cites_for_it(
    text: str, words: str, passage: str
) -> None:
    every = statements(text, MARKED)
    [one] = with_lent([each for each in every if each.plain.startswith(words)], every)
    shown = KNOWN.telling(one, 260).passages
    assert any(passage in each.text for each in shown)


def test_what_cites_something_is_lent_nothing() -> None:
    every = statements("Oak mills stop [^w1-0]. Elm mills stop [^w0-0]. Ash mills stop.", MARKED)
    lent = [[each.plain for each in one.lent] for one in with_lent(every, every)]
    assert lent == [[], [], ["Oak mills stop .", "Elm mills stop ."]]


@by_examples
def test_who_mends_what_cites_nothing_is_sent_to_no_source_of_something_else(
    text: str, words: str, sources: list[str]
) -> None:
    every = statements(text, MARKED)
    [one] = with_lent([each for each in every if each.plain.startswith(words)], every)
    told = deciding_passages((one, Outcome("missing")), KNOWN)
    assert [*dict.fromkeys(passage.source for passage in told)] == sources


def test_what_has_most_of_a_statement_is_found_whatever_source_weighs_more() -> None:
    worth = Worth(lambda place: 9 if place < 5 else 1)
    for place in range(5):
        worth.bring(1, [place, 7])
    assert worth.most([]) == [7]
    assert worth.most([7]) == []
    assert next(iter(worth.best_first([], 0))) == 0
