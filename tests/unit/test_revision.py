"""Edits and inserts of numbered statements: what they make of a text, and what is new in it."""

from collections.abc import Sequence
from dataclasses import replace

from agent.evidence.citations import Citer
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import Key, Splitter, Statement, statements
from agent.evidence.notation import MARKED, finished_notation
from agent.evidence.revision import (
    Edit,
    Insert,
    Passed,
    ReviewFinding,
    ReviewLine,
    Revision,
    applied,
    faults_block,
    numbered_draft,
)
from agent.evidence.types import Source
from tests.support.rows import by_examples

TEXT = """# Pumps

A pump costs 40 euros [^w0-0]. It weighs 3 kg.

- Rent is 7 euros.
  - From May.
- Power is 450 kW.

| Pump | Price | Noise |
|---|---|---|
| Small | 40 | 60 dB |
| Large | 90 | 60 dB |

The end.
"""


def revised(*edits: tuple[str, str], inserts: tuple[tuple[str, str], ...] = ()) -> str:
    return changed(*edits, inserts=inserts)[0]


def changed(
    *edits: tuple[str, str], inserts: tuple[tuple[str, str], ...] = ()
) -> tuple[str, list[str], list[int]]:
    """Return the text, its new statements and where some are gone."""
    revision = Revision(
        edits=[Edit(id=name, text=text) for name, text in edits],
        inserts=[Insert(after=name, text=text) for name, text in inserts],
    )
    done = applied(TEXT, statements(TEXT, MARKED), revision, lambda words: (words, ()))
    return done.text, [done.text[start:end] for start, end in done.new], done.gone


def test_every_statement_and_cell_is_shown_behind_its_number() -> None:
    shown = numbered_draft(TEXT, statements(TEXT, MARKED), MARKED)
    assert "⟨1⟩A pump costs 40 euros [^w0-0]. ⟨2⟩It weighs 3 kg." in shown
    assert "- ⟨3⟩Rent is 7 euros." in shown
    assert "| Large | ⟨7a⟩90 | ⟨7b⟩60 dB |" in shown


def test_a_line_of_a_review_is_settled_by_a_change_that_names_it_or_stands_at_its_place() -> None:
    lines = [ReviewLine(f"r{n}", "", [at]) for n, at in enumerate(["4", "7b", "7", "", "9"], 1)]

    def left(*edits: Edit, passed: Passed | None = None) -> list[str]:
        revision = Revision(edits=[*edits], passed=[passed] if passed else [])
        return [line.name for line in revision.leaves(lines)]

    assert left() == ["r1", "r2", "r3", "r4", "r5"]
    assert left(Edit(id="4")) == ["r2", "r3", "r4", "r5"]
    assert left(Edit(id="4", settles=["r4"])) == ["r1", "r2", "r3", "r5"]
    assert left(Edit(id="7a")) == ["r1", "r2", "r4", "r5"]
    assert left(Edit(id="7")) == ["r1", "r4", "r5"]
    assert left(passed=Passed(line="r5", why="errs")) == ["r1", "r2", "r3", "r4"]
    assert left(passed=Passed(line="r5")) == ["r1", "r2", "r3", "r4", "r5"]


def test_an_edit_replaces_one_statement_and_nothing_around_it() -> None:
    text, new, _ = changed(("⟨2⟩", "It weighs 4 kg [^w0-1]."))
    assert text == TEXT.replace("It weighs 3 kg.", "It weighs 4 kg [^w0-1].")
    assert new == ["It weighs 4 kg [^w0-1]."]


def test_a_cell_that_says_what_another_one_says_is_new_all_the_same() -> None:
    text, new, _ = changed(("7a", "40"))
    assert "| Large | 40 | 60 dB |" in text
    assert new == ["40"]


def test_a_cell_stays_one_cell_and_an_item_keeps_its_sign() -> None:
    text = revised(("6a", "| 41 | or so |"), ("5", "- Power is 440 kW."))
    assert "| Small | 41 \\| or so | 60 dB |" in text
    assert "- Power is 440 kW.\n" in text


def test_what_is_taken_out_takes_its_line_along_and_tells_where_it_was() -> None:
    text, new, gone = changed(("5", ""), ("2", ""))
    assert "Power" not in text
    assert "A pump costs 40 euros [^w0-0].\n\n- Rent" in text.replace("]. \n", "].\n")
    assert new == []
    assert len(gone) == 2
    assert revised(("6a", "")).count("| – |") == 1


@by_examples
def test_an_insert_stands_where_it_belongs(after: str, words: str, made: str) -> None:
    text, new, _ = changed(inserts=((after, words),))
    assert made in text
    assert new == [words.strip()]


def test_two_inserts_at_one_place_keep_their_order_and_unknown_numbers_change_nothing() -> None:
    text = revised(("99", "No."), inserts=(("2", "One."), ("2", "Two."), ("88", "No.")))
    assert "3 kg. One. Two." in text
    assert "No." not in text


def test_of_two_edits_of_a_statement_the_later_one_counts_and_no_insert_comes_twice() -> None:
    first = Revision(
        edits=[Edit(id="1", text="a"), Edit(id="2", text="b")],
        inserts=[Insert(after="1", text="c")],
    )
    later = Revision(edits=[Edit(id="2", text="d")], inserts=first.inserts)
    both = first.joined(later)
    assert [(edit.id, edit.text) for edit in both.edits] == [("1", "a"), ("2", "d")]
    assert len(both.inserts) == 1


OFFER = "Offer: the press costs 48,500 euros, and the tool 13,500 euros."
MINUTES = "Minutes: the press was said to cost 52,000 euros by the seller's own word."
KNOWN = Evidence({"o0-0": Record([MINUTES]), "o1-0": Record([OFFER])})


def faults(text: str, **fields: object) -> list[str]:
    """Return the entries of a text whose first statement has this ruling."""
    found = statements(text, MARKED)
    outcomes = proved(found, {0: Ruling.model_validate(fields)}, KNOWN)
    return faults_block(found, outcomes, {}, KNOWN)


def test_a_proposal_cites_by_ids_and_both_sources_are_named_below_it() -> None:
    [entry] = faults(
        "The press costs 52,000 euros [^o0-0].",
        v="x", p=["2.1"], bad=["52,000 euros"], says="costs 48,500 euros",
        fix="The press costs 48,500 euros [2].",
    )  # fmt: skip
    lines = entry.splitlines()
    assert lines[0] == "1: refuted: 52,000 euros"
    assert "  proposal: The press costs 48,500 euros[^o1-0]." in lines
    assert "  a source says: costs 48,500 euros [^o1-0]" in lines
    assert lines[-1] == "  see [^o1-0][^o0-0]"


def test_a_sum_is_told_with_its_value() -> None:
    [entry] = faults(
        "Our estimate: 48,500 + 13,500 = 61,000 euros.\n\nSo 61,000 euros are needed.",
        v="c", p=["2.1"], calc="48500+13500",
    )  # fmt: skip
    lines = entry.splitlines()
    assert lines[0].startswith("1: missing: 61,000")
    assert "  the sum gives: 48500+13500 = 62,000" in lines


def test_a_ruling_on_the_head_of_a_row_reaches_the_reviser_by_its_cell() -> None:
    [entry] = faults(
        "| Day | What |\n|---|---|\n| Friday 15 January | the press costs 48,500 euros [^o1-0] |",
        v="x", p=["2.1"], bad=["Friday 15 January"], says="costs 48,500 euros",
    )  # fmt: skip
    assert entry.splitlines()[0] == "1a: refuted: the press costs 48,500 euros"


def test_an_edit_is_known_by_the_other_names_that_models_give_its_number() -> None:
    said = {"edits": [{"statement": 3, "text": "a"}, {"number": "⟨4⟩", "text": "b"}]}
    assert [edit.id for edit in Revision.model_validate(said).edits] == ["3", "4"]


def test_the_number_of_a_row_is_the_row_with_its_first_cell() -> None:
    last = statements(TEXT, MARKED)[-2]
    row = last.name[:-1]
    assert (last.name, last.row) == (f"{row}b", "Large")
    text, new, _ = changed((row, "| Huge | 95 [^w0-0] | 70 dB |"))
    assert "| Small | 40 | 60 dB |\n| Huge | 95 [^w0-0] | 70 dB |\n\nThe end." in text
    assert new == ["| Huge | 95 [^w0-0] | 70 dB |"]
    text, _, gone = changed((row, ""))
    assert "| Small | 40 | 60 dB |\n\nThe end." in text
    assert gone
    # Moved: taken out here, put in below the other one.
    first = str(int(row) - 1)
    moved = revised((first, ""), inserts=((row, "| Small | 40 | 60 dB |"),))
    assert "| Large | 90 | 60 dB |\n| Small | 40 | 60 dB |\n\nThe end." in moved
    for words in ("Huge", "| Huge | 95 |"):
        assert revised((row, words)) == TEXT


def test_ids_that_share_a_number_stay_apart_through_a_revision() -> None:
    titles = {"o1-0": "合同", "o1-1": "合同", "o1-2": "合同", "o2-0": "信"}
    sources = {
        name: Source(
            id=name, kind="document", title=title, url="", provider="own", quotes=[f"第{name}条"]
        )
        for name, title in titles.items()
    }
    citer = Citer(sources)
    text = citer.feed(
        "租期两年 [^o1-2][^o2-0]。押金三月 [^o1-1][^o1-0]。旧句 [^o1-0]。末句 [^o1-2]。"
    )
    text += citer.flush()
    notation = finished_notation(citer.used, sources)
    before: dict[Key, tuple[str, ...]] = {}

    def exact(one: Statement, cites: Sequence[tuple[int, str]]) -> Statement:
        named = tuple(dict.fromkeys(name for at, name in cites if one.start < at <= one.end))
        before.setdefault(one.key, named)
        return replace(one, exact=before[one.key])

    found = [exact(one, citer.cites) for one in statements(text, notation)]
    assert numbered_draft(text, found, notation) == (
        "⟨1⟩租期两年 [^o1-2][^o2-0]。⟨2⟩押金三月 [^o1-1][^o1-0]。⟨3⟩旧句 [^o1-0]。⟨4⟩末句 [^o1-2]。"
    )

    def clean(words: str) -> tuple[str, list[tuple[int, str]]]:
        beside = citer.beside()
        return beside.feed(words) + beside.flush(), beside.cites

    revision = Revision(
        edits=[Edit(id="3", text="新 句 [^o1-1][^o2-0]。")],
        inserts=[
            Insert(after="1", text="插句 [^o1-0]。"),
            Insert(after="4", text="\n\n又 [^o2-0]。"),
        ],
    )
    done = applied(text, found, revision, clean)
    again = [exact(one, done.cites) for one in statements(done.text, notation)]
    assert numbered_draft(done.text, again, notation) == (
        "⟨1⟩租期两年 [^o1-2][^o2-0]。⟨2⟩插句 [^o1-0]。⟨3⟩押金三月 [^o1-1][^o1-0]。"
        "⟨4⟩新 句 [^o1-1][^o2-0]。⟨5⟩末句 [^o1-2]。\n\n⟨6⟩又 [^o2-0]。"
    )


DAYS = """# A trip

## Day 1: 12月3日（周三）

- Walk.

| Day | What |
|---|---|
| 12月1日（周三） | Walk |

## Sources

- A list of my own.
- And more.
"""


def _places_of(text: str) -> list[Statement]:
    splitter = Splitter(MARKED)
    return [*splitter.split(text), *splitter.headings]


def edited(text: str, *edits: tuple[str, str]) -> str:
    places = _places_of(text)
    revision = Revision(edits=[Edit(id=name, text=words) for name, words in edits])
    return applied(text, places, revision, lambda words: (words, ())).text


def test_a_heading_has_a_number_and_can_be_edited() -> None:
    places = _places_of(DAYS)
    shown = numbered_draft(DAYS, places, MARKED)
    assert "# ⟨h1⟩A trip\n\n## ⟨h2⟩Day 1" in shown
    text = edited(DAYS, ("h2", "## Day 1: 12月3日（周四）"), ("h1", "The trip"))
    assert text.startswith("# The trip\n\n## Day 1: 12月3日（周四）\n\n- Walk.")
    assert edited("**Costs**\n\nNone.\n", ("h1", "Prices")) == "**Prices**\n\nNone.\n"


def test_the_numbers_of_a_list_close_up_where_an_item_is_taken_out() -> None:
    assert edited("1. One.\n2. Two.\n3. Three.\n", ("2", "")) == "1. One.\n2. Three.\n"


@by_examples
def test_what_comes_in_behind_what_is_taken_out_stands_for_it(
    text: str, insert: str, made: str
) -> None:
    """It was lost: the line that went took the place behind its words along."""
    revision = Revision(edits=[Edit(id="2", text="")], inserts=[Insert(after="2", text=insert)])
    assert applied(text, statements(text, MARKED), revision, lambda words: (words, ())).text == made


def test_a_change_whose_place_is_none_neither_changes_nor_settles_anything() -> None:
    places = _places_of(DAYS)
    revision = Revision(
        edits=[Edit(id="### 12月3日", text="x", settles=["r1"]), Edit(id="h2", settles=["r2"])],
        inserts=[Insert(after="99", text="x", settles=["r1"]), Insert(after="0", text="x")],
    )
    kept = revision.within(places)
    assert [edit.id for edit in kept.edits] == ["h2"]
    assert [insert.after for insert in kept.inserts] == ["0"]
    lines = [ReviewLine("r1", ""), ReviewLine("r2", "")]
    assert [line.name for line in kept.leaves(lines)] == ["r1"]


def test_an_answer_is_taken_out_where_all_that_answers_goes_and_nothing_comes_for_it() -> None:
    out = Revision(edits=[Edit(id="1", text=""), Edit(id="2", text="So.")])
    assert [names for names in (["1"], ["1", "2"], [], ["3"]) if out.takes_out(names)] == [["1"]]
    again = Revision(edits=out.edits, inserts=[Insert(after="1", text="As it was.")])
    assert not again.takes_out(["1"])


BILL = """# Bill

## Costs

| Item | How many | Cost |
|---|---|---|
| Tram | 2 | 13.20 |
| Total | | – |
"""


@by_examples
def test_a_total_that_is_a_dash_can_be_told_and_no_second_one_arises(
    edits: dict[str, str], inserts: dict[str, str], last: str
) -> None:
    places = _places_of(BILL)
    assert "| Total | | ⟨h3⟩– |" in numbered_draft(BILL, places, MARKED)
    revision = Revision(
        edits=[Edit(id=name, text=text) for name, text in edits.items()],
        inserts=[Insert(after=name, text=text) for name, text in inserts.items()],
    )
    text = applied(BILL, places, revision, lambda words: (words, [])).text
    assert text == BILL.replace("| Total | | – |", last)


def test_a_new_total_takes_the_place_of_the_one_that_there_is_but_no_value_from_it() -> None:
    bill = BILL.replace("–", "12")

    def told(row: str) -> str:
        revision = Revision(inserts=[Insert(after="1", text=row)])
        return applied(bill, statements(bill, MARKED), revision, lambda words: (words, [])).text

    assert told("| Total | | [=] |") == bill
    assert told("| Total | | [=13.20] |") == bill.replace("12 |", "[=13.20] |")


def test_what_should_stand_in_a_place_is_shown_whole_or_not_at_all() -> None:
    wrong, mend = "w" * 900, "It is open daily, but not on Mondays"
    assert ReviewFinding(at=["3"], wrong=wrong, mend=mend).line == f"3: {wrong} → {mend}"
    assert ReviewFinding(at=["3"], wrong=2 * wrong, mend=mend).line == f"3: {2 * wrong}"
