"""What fails is said anew: a wording adds nothing, and cites what bears it."""

from itertools import pairwise

import pytest

from agent.evidence.claims.corrected import (
    as_the_judge_says,
    can_be_left_out,
    cited_anew,
    left_out_for_want,
    reworded,
)
from agent.evidence.claims.judging import Ruling, passages_block, with_markers
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.proof import is_sound_fix, proved
from agent.evidence.claims.statements import statements
from agent.evidence.notation import LINKED, MARKED
from tests.support.rows import by_examples
from tests.unit.test_claims_proof import PALACE, as_it_stands, evidence, judge


def test_a_wording_with_figures_of_its_own_is_not_taken() -> None:
    fields = {"v": "p", "p": ["1.1"], "bad": ["有免费轮椅"]}
    text = "故宫门票60元，有免费轮椅[^w0-0]。"
    assert judge(text, PALACE, fix="故宫门票60元 [1]。", **fields)[1].fix == "故宫门票60元[^w0-0]。"
    assert judge(text, PALACE, fix="故宫门票65元 [1]。", **fields)[1].fix == ""


@pytest.mark.parametrize("head", ["**和平菓局(王府井店)**：", "**Ateneum (Helsinki)**: "])
def test_a_head_that_ends_in_a_sign_stands_before_its_wording_once(head: str) -> None:
    (one,) = statements(f"- {head}门票65元[^w0-0]。", MARKED)
    for fix in (f"{head}门票60元 [1]。", "门票60元 [1]。"):
        assert reworded(one, with_markers(fix, PALACE), MARKED) == f"{head}门票60元[^w0-0]。"


def test_a_citation_that_goes_leaves_no_blank_before_the_stop() -> None:
    (one,) = statements("It opens at nine [^w0-0].", MARKED)
    assert cited_anew(one, [], MARKED) == "It opens at nine."
    (one,) = statements("It opens [^w0-0] at nine.", MARKED)
    assert cited_anew(one, [], MARKED) == "It opens at nine."


@pytest.mark.parametrize(
    ("fix", "shown"),
    [
        ("-", "豫园附近首选南翔馒头店[^w0-0]。\n\n旧文章说三楼较早打烊[^w1-0]。"),
        ("", "豫园附近首选南翔馒头店[^w0-0]。\n\n佳家也营业†。\n\n旧文章说三楼较早打烊[^w1-0]。"),
    ],
)
def test_a_paragraph_that_stands_nowhere_goes_or_cites_nothing(fix: str, shown: str) -> None:
    """An invented restaurant stayed in an answer, with a citation that said nothing of it."""
    text = shown.split("\n\n")
    text[1:-1] = ["佳家也营业[^w1-0]。"]
    found = statements("\n\n".join(text), MARKED)
    known = evidence(w0_0="南翔馒头店在豫园旁。", w1_0="旧文章：三楼较早打烊。")
    outcomes = proved(found, {1: Ruling(v="n", bad=["佳家也营业"], fix=fix)}, known)
    told = as_the_judge_says(found, outcomes, MARKED)
    assert as_it_stands("\n\n".join(text), told) == shown


SHOP = evidence(a0_0="鲜肉月饼店 | 小吃 | ★4.5 | ¥45/人")


@by_examples
def test_a_new_wording_cites_before_its_stop_and_nothing_for_what_the_reader_said(
    fix: str, text: str
) -> None:
    one = statements("故宫门票80元[^w0-0]。", MARKED)[0]
    assert reworded(one, with_markers(fix, PALACE), MARKED) == text


def test_a_cell_in_other_words_cites_nothing_of_its_own_where_its_row_does() -> None:
    """One row of eleven had its source twice, behind the figure that was mended."""
    table = "| | far | price |\n|---|---|---|\n| Pro | 35 m | $9 [^w0-0] |\n"
    cell = statements(table, MARKED)[0]
    assert reworded(cell, with_markers("25 m [1]", PALACE), MARKED) == "25 m"
    assert reworded(cell, with_markers("25 m [2]", PALACE), MARKED) == "25 m[^w1-0]"


@pytest.mark.parametrize(
    ("fix", "shown"),
    [
        ("故宫门票60元 [1]。", "故宫门票60元[^w0-0]。周一闭馆。"),
        ("故宫门票60元，有免费轮椅 [1]。", "故宫门票60元，有免费轮椅†[^w0-0]。周一闭馆。"),
        ("-", "周一闭馆。"),
        ("", "故宫门票60元，有免费轮椅†[^w0-0]。周一闭馆。"),
    ],
)
def test_what_fails_is_said_as_its_judge_would_where_the_words_at_fault_are_gone(
    fix: str, shown: str
) -> None:
    text = "故宫门票60元，有免费轮椅[^w0-0]。周一闭馆。"
    found = statements(text, MARKED)
    rulings = {
        0: Ruling(v="p", p=["1.1"], bad=["有免费轮椅"], fix=fix),
        1: Ruling(v="o"),
    }
    outcomes = proved(found, rulings, PALACE)
    told = as_the_judge_says(found, outcomes, MARKED)
    assert as_it_stands(text, told) == shown


def test_a_wording_cites_before_its_stop_wherever_its_statement_does() -> None:
    for text, shown in (
        ("It costs 70 yuan.[^w0-0]", "It costs 60 yuan[^w0-0]."),
        ("“It costs 70 yuan.” [^w0-0]", "It costs 60 yuan [^w0-0]."),
        ("It costs 70 yuan[^w0-0].", "It costs 60 yuan[^w0-0]."),
        ("A page[^w0-0] says “It costs 70.”", "It costs 60 yuan[^w0-0]."),
        ("It costs 70 yuan,[^w0-0] not 80.", "It costs 60 yuan[^w0-0]."),
    ):
        one = statements(text, MARKED)[0]
        for fix in ("It costs 60 yuan [1].", "It costs 60 yuan. [1]", "It costs 60 yuan."):
            assert reworded(one, with_markers(fix, PALACE), MARKED) == shown


def test_a_wording_cites_apart_from_its_words_where_its_statement_does() -> None:
    one = statements("It costs 60 yuan [^w0-0], not 70 [^w0-0].", MARKED)[0]
    for fix in ("It costs 60 yuan [1].", "It costs 60 yuan. [1]", "It costs 60 yuan."):
        assert reworded(one, with_markers(fix, PALACE), MARKED) == "It costs 60 yuan [^w0-0]."


def test_a_wording_cites_as_its_text_does_where_its_statement_cites_nothing() -> None:
    text = "It is open [^w0-0]. It costs 70 yuan: see there."
    rulings = {1: Ruling(v="n", bad=["70"], fix="It costs 60 yuan [1]: see there.")}
    found = statements(text, MARKED)
    outcomes = proved(found, rulings, PALACE)
    told = as_the_judge_says(found, outcomes, MARKED)
    assert as_it_stands(text, told).endswith("It costs 60 yuan [^w0-0]: see there.")


def test_a_wording_of_what_stands_nowhere_rests_on_what_it_cites() -> None:
    """A judge names no passage where none says it: its wording was refused for its figures."""
    known = evidence(w0_0="故宫门票60元，周一闭馆。", w1_0="景山公园门票2元。")
    for text, fix, is_sound in (
        ("故宫周日闭馆[^w0-0]。", "故宫周一闭馆，门票60元 [1]。", True),
        ("故宫周日闭馆。", "故宫门票60元 [1]。", True),
        ("故宫周日闭馆[^w0-0]。", "景山门票2元 [2]。", True),
        ("故宫周日闭馆[^w0-0]。", "门票2元 [1]。", False),
    ):
        outcome = judge(text, known, v="n", bad=["周日闭馆"], fix=fix)[1]
        assert bool(outcome.fix) is is_sound, fix


@pytest.mark.parametrize(("sum_", "sound"), [("60 + 45 = 105", True), ("60 + 45 = 106", False),
                                             ("60 + 50 = 110", False)])  # fmt: skip
def test_a_new_wording_may_add_up_anew_what_is_left_of_a_sum(sum_: str, sound: bool) -> None:
    """Of 60 + 45 + 10 the 10 was wrong: the right sum was refused, and the wrong one marked."""
    one = statements("一共 60 + 45 + 10 = 115 元[^w0-0]。", MARKED)[0]
    assert is_sound_fix(f"一共 {sum_} 元 [1]。", one, []) is sound


@by_examples
def test_a_wording_that_only_takes_words_out_takes_them_where_the_fault_is(
    text: str, bad: str, fix: str, sound: bool
) -> None:
    one = statements(text, MARKED)[0]
    assert is_sound_fix(fix, one, [], [bad]) is sound


def test_a_wording_that_is_too_long_is_not_cut_but_left() -> None:
    whole = f"It costs 60 yuan{', as its page says' * 40}."
    assert Ruling.model_validate({"fix": whole}).fix == ""
    assert Ruling.model_validate({"fix": "It costs 60 yuan."}).fix == "It costs 60 yuan."


NORM = "规范要求流量[^w0-0]，36 升达不到。"


@pytest.mark.parametrize(
    ("text", "cite", "shown"),
    [
        (NORM, "w0-0 w1-0", "规范要求流量[^w0-0]，36 升达不到[^w1-0]。"),
        (NORM, "w1-0", "规范要求流量[^w1-0]，36 升达不到。"),
        ("36 升达不到[^w0-0]。", "w0-0 w1-0", "36 升达不到[^w0-0][^w1-0]。"),
        (f"按[^w2-0]{NORM}", "w0-0 w1-0", "按规范要求流量[^w0-0]，36 升达不到[^w1-0]。"),
    ],
)
def test_another_source_stands_behind_the_words_that_a_right_one_does_not_bear(
    text: str, cite: str, shown: str
) -> None:
    assert as_it_stands(text, [Outcome("supported", cite=tuple(cite.split()))]) == shown


@pytest.mark.parametrize(
    ("text", "named", "cite"),
    [
        ("A opens[^w0-0][^w1-0].", ["1.1", "2.1", "3.1"], None),
        ("A opens[^w0-0].", ["1.1", "2.1", "3.1"], None),
        ("A opens[^w0-0].", ["1.1", "2.1"], None),
        ("A opens at 8:00, B at 9:00[^w0-0].", ["1.1", "2.1"], ("w0-0", "w1-0")),
        ("All of them open[^w0-0][^w1-0].", ["3.1"], ("w2-0",)),
    ],
)
def test_no_more_than_two_marks_stand_behind_a_sentence_by_code(
    text: str, named: list[str], cite: tuple[str, ...] | None
) -> None:
    pages = evidence(w0_0="A opens at 8:00.", w1_0="B opens at 9:00.", w2_0="All of them open.")
    assert judge(text, pages, v="s", p=named)[1].cite == cite


@by_examples
def test_what_is_left_out_leaves_no_blank_at_the_end_of_its_line(
    text: str, gone: str, left: str
) -> None:
    outcomes = [
        Outcome("missing", revised="") if one.plain in gone else Outcome("supported")
        for one in statements(text, MARKED)
    ]
    assert as_it_stands(text, outcomes) == left


def test_a_judge_sees_where_rows_of_a_file_are_left_out() -> None:
    rows = [f"{n:02}:00 the probe in the cold room read {n} degrees." for n in range(120)]
    log, short = evidence(w0_0="\n".join(rows)), evidence(w0_0="A.\nB.")
    [one] = statements("At 07:00 it read 7 degrees, at 61:00 it read 61 degrees [^w0-0].", MARKED)
    lines = passages_block([one], log).splitlines()
    shown = [int(line.split()[0].split(".")[1]) for line in lines]
    assert 1 < len(shown) < len(log.passages)
    for (number, line), (later, other) in pairwise(zip(shown, lines, strict=True)):
        is_gap = later > number + 1
        assert [line.endswith(" …"), " … " in other] == [is_gap, is_gap]
    assert lines[-1].endswith(" …") == (shown[-1] < len(log.passages))
    assert "…" not in passages_block([one], short)


def test_a_sentence_or_an_item_goes_where_another_one_stands_beside_it() -> None:
    """郵政博物館も無料です† stayed as an item though the judge had left nothing of it.

    A model's own list of sources stayed with a sign as the last paragraph.
    """
    text = "Places:\n\n- In & Out is open daily.\n- Taikoo Li has 800 cars.\n\nThat is all."
    found = statements(text, LINKED)
    assert [can_be_left_out(found, at, ()) for at in range(4)] == [False, True, True, True]
    assert not can_be_left_out(found, 2, {1})
    text = "It is open.\n\nIt is old.\n\nIt is free.\n\n- to all\n\nIt is near."
    text += "\n\n## Beyond\n\nIt is far."
    found = statements(text, LINKED)
    spared = [can_be_left_out(found, at, ()) for at in range(6)]
    assert spared == [False, True, False, False, True, False], "what others hang on stays"
    below = statements("It is open.\n\n## Prices\n\nIt is free.", LINKED)
    assert not can_be_left_out(below, 1, ()), "its heading would stand alone"


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("安捷90分钟[^w0-0]，迅达40分钟到。", "安捷90分钟[^w0-0]，迅达40分钟到[^w1-0]。"),
        ("快[^w0-0]：40分钟，安捷90分钟[^w0-0]。", "快[^w0-0]：40分钟，安捷90分钟[^w0-0][^w1-0]。"),
    ],
)  # fmt: skip
def test_a_source_that_code_adds_is_cited_at_the_end(text: str, shown: str) -> None:
    known = evidence(w0_0="安捷：90 分钟到场。", w1_0="迅达：40 分钟到场。", w2_0="备用车。")
    _, outcome = judge(text, known, v="s", p=["2.1", "1.1"])
    assert outcome.cite
    assert as_it_stands(text, [outcome]) == shown


def test_what_was_left_out_is_named_also_where_all_of_it_was_at_fault() -> None:
    """Half a sentence (销毁前还须…) told nothing, and sounded as if a duty had been hidden."""
    text = "广场安检会没收打火机。 Rent is 7 euros here. 销毁前还须告知保险公司。"
    found = statements(text, MARKED)
    spans = [("广场安检会没收打火机",), ("Rent is", "here"), ("告知保险公司",)]
    gone = [Outcome("missing", each, revised="") for each in spans]
    assert left_out_for_want(found, gone) == ["广场安检会没收打火机"]


def test_a_text_without_a_statement_has_nothing_to_be_said_anew() -> None:
    assert as_the_judge_says([], [], MARKED) == []
