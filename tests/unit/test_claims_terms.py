"""The last day of a term, and the result of a shown sum, are worked out and not only believed."""

import pytest

from agent.evidence.claims.formulas import value_of
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import MARKED, statements
from tests.support.rows import by_examples
from tests.unit.test_claims_proof import evidence, judge

TERMS = evidence(
    w0_0="Site test, 6 November 2026. To be repeated within thirty days.",
    w1_0="The exhibition opens on 1 February 2027. Treatment takes six weeks.",
)


@by_examples
def test_the_last_day_of_a_term_is_proved_from_the_day_it_runs_from(
    text: str, calc: str, verdict: str, value: str
) -> None:
    _, outcome = judge(text, TERMS, v="c", p=["1.1", "2.1"], calc=calc)
    assert outcome.verdict == verdict
    assert outcome.value.endswith(value)
    assert bool(outcome.value) == bool(value)


def test_the_result_of_a_sum_that_is_shown_later_is_known_in_the_summary() -> None:
    text = "Both cost 153.2 in all, 6 less than 159.2.\n\nOur sum: 152 + 1.2 = 153.2 [^w0-0]."
    known = evidence(w0_0="Two for 152, training 1.2; the other offer is 159.2.")
    rulings = [
        Ruling(v="c", p=["1.1"], calc="159.2-153.2"),
        Ruling(v="c", p=["1.1"], calc="152+1.2"),
    ]
    found = proved(statements(text, MARKED), dict(enumerate(rulings)), known)
    assert [one.verdict for one in found] == ["computed", "computed"]


def test_a_number_with_groups_behind_the_first_word_is_no_name() -> None:
    known = evidence(w0_0="5,280 and 2,400 bottles are out.")
    _, outcome = judge("With 7,860 bottles out it is large.", known, v="c", calc="5280+2400")
    assert outcome.verdict == "missing"


def test_what_stands_in_the_clauses_before_a_formula_is_no_term_of_it() -> None:
    text = "It costs a third less, 153.2 in place of 230, and three units weigh 3 × 780 = 2,340 kg."
    known = evidence(w0_0="Each weighs 780 kg; the other costs 230.")
    _, outcome = judge(text, known, v="c", p=["1.1"], calc="3*780")
    assert outcome.spans == ("153.2",)
    every = statements(f"{text}\n\nUnits 76 each, 2 × 76 + 1.2 = 153.2.", MARKED)
    ruled = {0: Ruling(v="c", p=["1.1"], calc="3*780")}
    assert proved(every, ruled, known)[0].verdict == "computed"


def test_what_a_judge_s_own_sum_gives_of_numbers_that_stand_is_a_term_of_other_sums() -> None:
    text = "All are 215 pupils [^w0-0].\n\nMeals: 215 × 18 = 3,870 yuan [^w0-0]."
    known = evidence(w0_0="Classes: 43, 41, 44, 42, 45. A meal is 18 yuan.")
    meals = Ruling(v="c", p=["1.1"], calc="215*18")
    for calc, verdict in (("43+41+44+42+45", "computed"), ("43+41+44+42+44", "missing")):
        ruled = {0: Ruling(v="c", calc=f"{calc}; 45/40"), 1: meals}
        assert proved(statements(text, MARKED), ruled, known)[1].verdict == verdict


PRICES = evidence(w0_0="甲 600 元；乙 320 元；一晚 150 元；年租 1,234,500 元。")


@pytest.mark.parametrize(
    ("text", "calc", "right"),
    [
        ("乙省下 600 − 320 = 260 元。", "600-320", ("260 元", "280 元")),
        ("4 × 150 = 500 yuan, all in.", "4*150", ("500 yuan", "600 yuan")),
        ("两年：2 × 1,234,500 = 2,496,000 元", "2*1234500", ("2,496,000 元", "2,469,000 元")),
        ("600 ÷ 320 ≈ 2.9", "600/320", ("2.9", "1.88")),
    ],
)
def test_a_shown_sum_that_is_wrong_is_written_right(
    text: str, calc: str, right: tuple[str, str]
) -> None:
    _, outcome = judge(text, PRICES, v="c", p=["1.1"], calc=calc)
    assert outcome.right == (right,)


CHAINS = evidence(
    w0_0="大巴每辆 1,350 元，高速费每车 60 元，学生 215 人，5 辆。门票 20 元，学生餐 18 元。",
    w1_0="预付三成 186,000 元，已累计付 558,000 元。",
)
TRIP = "车费 1,350 × 5 = 6,750 元，加门票 20 元、学生餐 18 元[^w0-0]，人均 {} 元。"
REST = "已付 558,000 元[^w1-0]，合同总价 186,000 ÷ 0.3 = 620,000 元，余款 {} 元。"
INVENTED = "车费 7,777 ÷ 215 = 36.2 元，加门票 20 元、学生餐 18 元[^w0-0]，人均 {} 元。"


@pytest.mark.parametrize(
    ("text", "calc", "right", "wrong", "spans"),
    [
        (TRIP, "(1350+60)*5/215+20+18", "70.79", "69.4", ["69.4 元"]),
        (REST, "186000/0.3-558000", "62,000", "124,000", ["124,000 元"]),
        (INVENTED, "(1350+60)*5/215+20+18", "70.79", "69.4", ["7,777", "69.4 元"]),
    ],
)
def test_the_wrong_end_of_a_chain_is_accused_with_what_the_sum_gives(
    text: str, calc: str, right: str, wrong: str, spans: list[str]
) -> None:
    _, found = judge(text.format(wrong), CHAINS, v="c", p=["1.1", "2.1"], calc=calc)
    assert [*found.spans] == spans
    assert found.value.startswith(f"{calc} = {right}")
    _, sound = judge(text.format(right), CHAINS, v="c", p=["1.1", "2.1"], calc=calc)
    assert not sound.value


def test_a_total_that_another_statement_s_sum_gives_is_not_accused() -> None:
    pumps = evidence(w0_0="units 512,000, cable 84,000, radiators 65,600; connection 148,000")
    first = "Heat pumps cost {} against 148,000[^w0-0]."
    for total, fails in (("661,600", False), ("641,600", True)):
        text = f"{first.format(total)}\n\nTogether, units, cable and radiators: {total}[^w0-0]."
        found = statements(text, MARKED)
        rulings = {0: Ruling(v="p", p=["1.1"], bad=[total]),
                   1: Ruling(v="c", p=["1.1"], calc="512000+84000+65600")}  # fmt: skip
        outcome, _ = proved(found, rulings, pumps)
        assert outcome.fails is fails


LEASE = evidence(
    w0_0="Fit to travel only after treatment: six weeks of storage without oxygen.",
    w1_0="甲方出售房屋的，应提前三个月通知乙方。交货期现在排到 20 周，质保两年。",
)
WEEKS = "Six weeks of storage[^w0-0] begun on 1 December 2026 end on {}."
MONTHS = "应提前三个月通知[^w1-0]，3 月 20 日才说，满期是{}。"
ORDER = "要求 2027 年 5 月 31 日交货，按 20 周[^w1-0]算，最晚{}签约。"
WARRANTY = "质保两年[^w1-0]，2026 年 3 月 1 日验收，到{}为止。"


@pytest.mark.parametrize(
    ("text", "day", "wrong", "calc", "gives"),
    [
        (WEEKS, "12 January 2027", "5 January 2027", "2026-12-01+42", "2027-01-12"),
        (WEEKS, "12 January 2027", "5 January 2027", "2026-12-01+6w", "2027-01-12"),
        (MONTHS, "6 月 20 日", "5 月 20 日", "2026-03-20+3m", "2026-06-20"),
        (ORDER, "2027 年 1 月 11 日", "2027 年 2 月 11 日", "2027-05-31-140", "2027-01-11"),
        (WARRANTY, "2028 年 3 月 1 日", "2027 年 3 月 1 日", "2026-03-01+2y", "2028-03-01"),
    ],
)
def test_a_last_day_is_worked_out_from_weeks_months_and_years(
    text: str, day: str, wrong: str, calc: str, gives: str
) -> None:
    _, right = judge(text.format(day), LEASE, v="c", p=["1.1", "2.1"], calc=calc)
    _, found = judge(text.format(wrong), LEASE, v="c", p=["1.1", "2.1"], calc=calc)
    assert right.verdict == "computed"
    assert (found.verdict, found.spans) == ("missing", (wrong,))
    assert found.value == f"{calc} = {gives}"


def test_a_number_of_days_that_no_span_of_time_has_is_not_known() -> None:
    _, found = judge(MONTHS.format("6 月 20 日"), LEASE, v="c", p=["2.1"], calc="2026-03-20+95")
    assert found.verdict == "unchecked"


BOATS = evidence(w0_0="游船每船 10 人，每船 180 元。212 名学生。")
FRIDGE = evidence(w0_0="3:30 8.4；5:00 8.6；限 8 度；随行 42 分钟。")


@pytest.mark.parametrize("count", ["22", "25"])
def test_how_many_it_takes_is_a_quotient_rounded_up(count: str) -> None:
    told, shown = (
        "学生 212 人，每船 10 人，要 {} 条船[^w0-0]。",
        "坐船：{} × 180 ÷ 212 = {} 元[^w0-0]。",
    )
    share = "18.7" if count == "22" else "21.2"
    for text, calc in (
        (told.format(count), "212/10"),
        (shown.format(count, share), f"{count}*180/212"),
    ):
        _, found = judge(text, BOATS, v="c", p=["1.1"], calc=calc)
        assert found.fails is (count == "25"), text


@pytest.mark.parametrize(
    ("text", "spans"),
    [
        ("3:30 到 5:00 高于 8 度，共 1.5 小时[^w0-0]。", ()),
        ("3:30 到 5:00 高于 8 度，共 90 分钟[^w0-0]。", ()),
        ("3:30 到 5:00 高于 8 度[^w0-0]。", ()),
        ("3:30 到 5:00 高于 8 度，共 3 小时[^w0-0]。", ("3 小时",)),
        ("3:30 到 5:00 高于 8 度，共 30 分钟[^w0-0]。", ("30 分钟",)),
    ],
)
def test_what_lies_between_two_times_accuses_no_figure_but_a_length(
    text: str, spans: tuple[str, ...]
) -> None:
    _, found = judge(text, FRIDGE, v="c", p=["1.1"], calc="5:00-3:30")
    assert found.spans == spans
    assert found.value == ("5:00-3:30 = 1:30" if spans else "")


@pytest.mark.parametrize(
    ("day", "wrong", "calc", "gives"),
    [
        ("15 December 2026", "11 December 2026", "2026-12-01+10b", "2026-12-15"),
        ("16 November 2026", "20 November 2026", "2026-11-30-10b", "2026-11-16"),
    ],
)
def test_a_term_of_working_days_is_worked_out_without_the_weekends(
    day: str, wrong: str, calc: str, gives: str
) -> None:
    known = evidence(w0_0="Delivery takes ten working days. Ordered 1 December 2026.")
    text = "Ten working days[^w0-0] from or to then: {}."
    _, right = judge(text.format(day), known, v="c", p=["1.1"], calc=calc)
    _, found = judge(text.format(wrong), known, v="c", p=["1.1"], calc=calc)
    assert right.verdict == "computed"
    assert (found.verdict, found.spans, found.value) == ("missing", (wrong,), f"{calc} = {gives}")


@pytest.mark.parametrize(
    ("formula", "days"),
    [
        ("workdays(2026-12-01,2026-12-15)", 10),
        ("workdays(2026-12-04,2026-12-06)", 0),
        ("workdays(2026-12-05,2026-12-07)", 1),
        ("days(2026-12-01,2026-12-15)/7", 2),
    ],
)
def test_days_and_working_days_between_two_days_are_counted(formula: str, days: int) -> None:
    assert value_of(formula) == days


@pytest.mark.parametrize(
    ("text", "right"),
    [
        # Today is 28 November 2026: a Friday is 5 March of 2027, a Thursday that of 2026.
        ("Repeat the test by Friday, 5 March at noon.", ()),
        ("It was tested on Thursday, 5 March at noon.", ()),
        ("Repeat the test by Monday, 5 March at noon.", (("Monday, 5 March", ""),)),
        # A source has 1 February with its year, which was a Monday.
        ("It opens on Monday, 1 February at noon.", ()),
        (
            "It opens on Sunday, 1 February at noon.",
            (("Sunday, 1 February", "Monday, 1 February"),),
        ),
        ("12月2日（周三）装。", ()),
        ("12月2日（周四）装。", (("12月2日（周四", "12月2日（周三"),)),
    ],
)
def test_a_weekday_beside_a_day_without_a_year_is_right_in_a_year_that_may_be_meant(
    text: str, right: tuple[tuple[str, str], ...]
) -> None:
    [outcome] = proved(statements(text, MARKED), {}, TERMS)
    assert outcome.spans == tuple(words for words, _ in right)
    assert outcome.right == tuple(pair for pair in right if pair[1])


def test_the_day_of_an_old_page_names_no_year_for_a_day_to_come() -> None:
    """ "Friday 11 December" was published as a Monday, as it was when the page appeared."""
    known = evidence(w0_0="Published 2023-12-11: the tram is free for children.")
    [outcome] = proved(statements("Book by Friday 11 December.", MARKED), {}, known)
    assert (outcome.spans, outcome.right) == ((), ())


def test_a_wrong_figure_beside_another_own_one_does_not_pass_as_computed() -> None:
    known = evidence(w0_0="一人票价 45 元，停车费 30 元。")
    text = "四人 4 × 45 = 180 元[^w0-0]，{}。"
    for rest, calc, spans in (
        ("省下 77 元，另备 95 元", "4*45", ("77 元", "95 元")),
        ("加停车共 210 元，比住店省 95 元", "4*45; 180+30", ("95 元",)),
        ("加停车共 210 元，人均 52.5 元", "4*45; 180+30", ()),
    ):
        _, outcome = judge(text.format(rest), known, v="c", p=["1.1"], calc=calc)
        assert outcome.spans == spans, rest
