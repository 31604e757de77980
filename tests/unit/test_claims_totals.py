"""The total of a table is added up by code, and a bold head of a paragraph reaches the judge."""

import pytest

from agent.evidence.claims.corrected import can_be_left_out, corrected
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.proof import of_outdated_totals, proved
from agent.evidence.claims.statements import MARKED, statements
from tests.unit.test_claims_proof import evidence

TABLE = """| 项目 | 人均 | 四人 |
|---|---|---|
| 门票 | 60 元 | 60 × 4 = 240 元 |
| 午餐 | {lunch} | 200 元 |
| 停车 | – | 30 元 |
| **合计** | 110 元 | **{total}** |
"""
NOTHING = evidence(w0_0="门票 60 元；午餐 50 元；停车 30 元。")


@pytest.mark.parametrize(
    ("total", "lunch", "right"),
    [
        ("470 元", "50 元", {}),
        ("450 元", "50 元", {"450 元": "470 元"}),
        ("470 元", "40 元", {"110 元": "100 元"}),
        # What some rows add up to, so many times the sum, and a range are no fault of the total.
        ("440 元", "50 元", {}),
        ("940 元", "50 元", {}),
        ("470 元", "40–50 元", {}),
        ("$470", "50 元", {}),
    ],
)
def test_a_total_that_is_not_what_its_rows_add_up_to_is_written_right(
    total: str, lunch: str, right: dict[str, str]
) -> None:
    found = proved(statements(TABLE.format(total=total, lunch=lunch), MARKED), {}, NOTHING)
    assert dict(pair for one in found for pair in one.right) == right


COMPARED = """| | A |
|---|---|
| Setup | 130 € |
| A month | 40 € |
| {label} | 1,570 € |
"""


@pytest.mark.parametrize(
    "label", ["Total over 3 years", "Total over the whole term", "总价（三年）"]
)
def test_a_total_over_some_time_is_no_sum_of_the_prices_above_it(label: str) -> None:
    found = proved(statements(COMPARED.format(label=label), MARKED), {}, NOTHING)
    assert [one.right for one in found] == [()] * 3


def test_a_total_that_a_judge_has_worked_out_is_not_added_up_again() -> None:
    every = statements(COMPARED.format(label="Total"), MARKED)
    known = evidence(w0_0="Setup 130 €, a month 40 €, for 36 months.")
    summed = Ruling(v="c", p=["1.1"], calc="130+36*40")
    assert not proved(every, {2: summed}, known)[2].fails
    assert proved(every, {}, known)[2].right == (("1,570 €", "170 €"),)


def test_a_total_is_held_against_rows_that_are_proved_elsewhere() -> None:
    every = statements(TABLE.format(total="450 元", lunch="50 元"), MARKED)
    [last] = proved(every[-1:], {}, NOTHING, among=every)
    assert last.right == (("450 元", "470 元"),)


def test_a_bold_head_of_a_paragraph_is_context_of_all_its_sentences() -> None:
    text = "## 设备\n\n**风险。** 交货要 20 周。到期不能退。\n\n另一段。"
    contexts = [one.context for one in statements(text, MARKED)]
    assert contexts == ["设备 / 风险", "设备 / 风险 / 交货要 20 周。", "设备 / 到期不能退。"]


SUMMED = """| Was | Rechnung | Betrag |
|---|---|---|
| Eintritt | {sum} | {told} |
| Essen | 12 – 15 € | 60 € |
"""
MULTIPLIED = """| What | Each | Count | Together |
|---|---|---|---|
| Tickets | €14 | 4 | {told} |
| Lunch | €12 | 3 | €36 |
| Bus | €5 | 4 | €20 |
| Total | €31 | | €112 |
"""


@pytest.mark.parametrize(
    ("table", "right"),
    [
        (SUMMED.format(sum="4 × 14 €", told="56 €"), {}),
        (SUMMED.format(sum="4 × 14 €", told="52 €"), {"52 €": "56 €"}),
        (SUMMED.format(sum="4 x 14 € + 8 €", told="74 €"), {"74 €": "64 €"}),
        (SUMMED.format(sum="4 – 14", told="52 €"), {}),
        (MULTIPLIED.format(told="€56"), {}),
        # The total of the column is right by what the row gives.
        (MULTIPLIED.format(told="€46"), {"€46": "€56"}),
    ],
)
def test_a_cell_is_held_against_the_cells_of_its_row_that_give_it(
    table: str, right: dict[str, str]
) -> None:
    found = proved(statements(table, MARKED), {}, NOTHING)
    assert dict(pair for one in found for pair in one.right) == right


@pytest.mark.parametrize(
    ("text", "judged"),
    [
        ("# A weekend for €450", ["A weekend for €450"]),
        ("**Gesamt: 54 €**", ["**Gesamt: 54 €**"]),
        ("## 预算 300 元以内", ["预算 300 元以内"]),
        ("## Day 1 (9:00–12:00)\n\n### 3. Costs in 2024\n\n### Two hours for 4 people", []),
        ("| What | Open |\n|---|---|\n| Palace, 18 € | daily |", ["Palace, 18 €", "daily"]),
        ("| What | Open |\n|---|---|\n| 09:00–10:00 | daily |", ["daily"]),
        ("| What | Open |\n|---|---|\n| 18 € | daily |", ["daily"]),
    ],
)
def test_a_heading_and_a_first_cell_are_judged_where_they_tell_a_figure(
    text: str, judged: list[str]
) -> None:
    assert [one.text for one in statements(text, MARKED)] == judged


def test_a_heading_carries_the_sign_of_its_figure_and_is_never_left_out_or_given_a_source() -> None:
    text = "# 标题\n\n## 四人共 450 元\n\n门票 60 元[^w0-0]。"
    every = statements(text, MARKED)
    wrong = Ruling(v="n", bad=["450 元"], fix="-")
    heading, sentence = proved(every, {0: wrong, 1: Ruling(v="s", p=["1.1"])}, NOTHING)
    assert (heading.spans, heading.fix, sentence.verdict) == (("450 元",), "", "supported")
    marked = "".join(part.text for part in corrected(text, every, [heading, sentence], MARKED))
    assert marked == text.replace("450 元", "450 元†")
    assert not can_be_left_out(text, every[0])
    [borne, _] = proved(every, {0: Ruling(v="s", p=["1.1"])}, evidence(w0_0="四人共 450 元"))
    assert (borne.verdict, borne.cite) == ("supported", None)


SPENT = """| 项目 | 费用 |
|---|---|
| 门票 | 240 元 |
| 午餐 | 200 元 |
{more}| **合计** | {total} |
"""


@pytest.mark.parametrize(
    ("total", "more", "right"),
    [
        ("440 元", "| 打车 | 54 元 |\n", [("440 元", "494 元")]),
        ("440 元", "", []),
        # It was no sum of all rows before: a source may count something else.
        ("500 元", "| 打车 | 54 元 |\n", []),
        ("440 元", "| 打车 | 50–60 元 |\n", []),
    ],
)
def test_a_total_that_a_new_row_leaves_behind_is_written_right(
    total: str, more: str, right: list[tuple[str, str]]
) -> None:
    before, after = (
        statements(SPENT.format(total=total, more=each), MARKED) for each in ("", more)
    )
    found = of_outdated_totals(before, after).values()
    assert [pair for one in found for pair in one.right] == right
