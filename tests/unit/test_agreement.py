"""After edits a text agrees with itself: what still tells the old figure, day or name is found."""

import pytest

from agent.evidence.claims.agreement import left_behind, names_in, resting_on, told_elsewhere
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.passages import Passage
from agent.evidence.claims.revision import Edit, Insert, Revision
from agent.evidence.claims.statements import MARKED, statements
from tests.support.rows import by_examples

TEXT = "Rent is 40,000 € a year [^w0-0]. In all it is 40,000 €. So take it.\n"


@by_examples
def test_what_an_edit_changes_is_found_wherever_else_it_is_told(
    draft: str, edits: dict[str, str], left: list[str]
) -> None:
    found = statements(draft, MARKED)
    behind = left_behind([*edits.items()], found, [Outcome("own")] * len(found))
    assert [one.name for one in behind] == left


def test_what_its_own_passages_have_stays_right_whatever_became_of_another() -> None:
    found = statements(TEXT, MARKED)
    passage = Passage("1.1", "w0-0", "The rent is 40,000 €.")
    outcomes = [Outcome("supported", passages=(passage,)), Outcome("own"), Outcome("own")]

    def left(name: str) -> list[str]:
        edits = [(name, "It is 44,000 €.")]
        return [one.name for one in left_behind(edits, found, outcomes)]

    assert left("1") == ["2"]
    assert left("2") == []


def test_what_cites_other_sources_is_another_thing_of_the_same_size() -> None:
    text = "Rent is 30,000 € [^w0-0]. The grant is for 30,000 € [^w0-1]. So 30,000 € it is."
    found = statements(text, MARKED)
    behind = left_behind([("1", "Rent is 35,000 € [^w0-0].")], found, [Outcome("own")] * 3)
    assert [one.name for one in behind] == ["3"]


def test_a_name_that_stands_anywhere_in_the_new_words_is_not_gone() -> None:
    """It began the sentence now, and was taken to have given way to a name beside it."""
    text = "On Sunday the Cafe Engel is open. On Monday we go to Cafe Engel, too."
    found, outcomes = statements(text, MARKED), [Outcome("own")] * 2

    def left(words: str) -> list[str]:
        return [one.name for one in left_behind([("1", words)], found, outcomes)]

    assert left("Cafe Engel opens at ten, and Kaarna Sun at noon.") == []
    assert left("On Sunday the Bistro Kaarna is open.") == ["2"]


def test_a_name_that_begins_a_passage_is_borne_by_it() -> None:
    found = statements("We advise Halden Works. The site Halden Works wins [^w0-0].", MARKED)
    passage = Passage("1.1", "w0-0", "Halden Works has won.")
    outcomes = [Outcome("own"), Outcome("supported", passages=(passage,))]
    assert left_behind([("1", "We advise Brook Mere.")], found, outcomes) == []


def test_a_line_on_a_statement_names_the_others_that_tell_its_figure() -> None:
    found = statements(TEXT, MARKED)
    assert told_elsewhere("40,000 € lacks the deposit: 41,000 €", ["2"], found) == ["1"]
    assert told_elsewhere("lacks the deposit: 41,000 €", ["2"], found) == []


def test_an_answer_is_taken_out_where_all_that_answers_goes_and_nothing_comes_for_it() -> None:
    out = Revision(edits=[Edit(id="1", text=""), Edit(id="2", text="So.")])
    assert [names for names in (["1"], ["1", "2"], [], ["3"]) if out.takes_out(names)] == [["1"]]
    again = Revision(edits=out.edits, inserts=[Insert(after="1", text="As it was.")])
    assert not again.takes_out(["1"])


def test_what_sums_up_a_changed_figure_is_judged_again_with_the_opening() -> None:
    text = (
        "Near to far: Java, Roasberg [^a0-1].\n\n- Java is 227 m away [^a0-1].\n"
        "- Roasberg is 264 m away [^a0-2].\n\nJava is the cheapest of both [^a0-1] [^a0-2].\n"
    )
    found = statements(text, MARKED)
    further = [("2", "Java is 277 m away [^a0-1].")]
    assert resting_on(further, found) == ["1", "4"]
    nearer = [("2", "Java is 227 m from here [^a0-1].")]
    assert resting_on(nearer, found) == []


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ('The report says "Clear? No." and its hours are unknown.', ["clear? no."]),
        ("Der Bericht sagt „unklar. Nein.“ und liegt nicht am Weg.", ["unklar. nein."]),
        ("La page dit «fermé» et «sur place» le lundi.", ["fermé", "sur place"]),
        ("It says “no lift”, then “one step”.", ["no lift", "one step"]),
        ("它叫“外滩一号”，见《上海地图》和「外灘」。", ["外滩一号", "上海地图", "外滩"]),
        ('A 5" pipe at Penn Station is long.', ["penn station"]),
    ],
)
def test_a_quotation_ends_at_its_own_mark_in_every_language(text: str, names: list[str]) -> None:
    """What stood behind it was taken for a name that no source has: right fixes were dropped."""
    assert names_in(text) == names
