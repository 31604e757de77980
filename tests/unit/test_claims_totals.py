"""The total of a table is added up by code, and a bold head of a paragraph reaches the judge."""

import pytest

from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.proof import proved
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
