"""Prices, shares and cells of tables are compared with what they are per, and with their heads."""

import pytest

from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.correct import is_slip, with_source_figures
from agent.evidence.claims.facts import Passage
from agent.evidence.figures import figures
from tests.unit.test_claims import evidence

COSTS = [
    "度电循环成本 =（直流舱价 + PCS 增量）÷（循环次数 × 放电深度 × 系统效率），不计运维。",
    "- 磷酸铁锂：490 ÷（8,000 × 0.90 × 0.88）= 0.0773 元/kWh",
    "- 澄远：0.71 ÷（10,000 × 0.95 × 0.865）= 0.0864 元/kWh（按 0.71 元/Wh = 710 元/kWh 计）",
    "结论（采购部）：澄远高出约 12%，靠年降 6% 在第三年可追平。",
    "另询两家钠电供应商：A 家直流舱 0.72 元/Wh，B 家 0.64 元/Wh 但无 GWh 级交付记录。",
]


def _only(sentence: str, texts: list[str]) -> Finding:
    known = evidence({"w0-0": texts})
    [finding] = with_source_figures(check(sentence, known), known)
    return finding


@pytest.mark.parametrize(
    "sentence",
    [
        "第三，替代报价 0.64—0.72 元/Wh[^w0-0]说明澄远不贵；"
        "市场上磷酸铁锂系统 2026 年多在 0.45 元/Wh 上下，价差短期不会消失。",
        "采购部说第三年可追平[^w0-0]；换成顾问和现场的数，第三年仍高 38%。",
        "采购部的结论是澄远靠年降 38% 在第三年可追平[^w0-0]。",
        "磷酸铁锂的度电循环成本是 0.0778 元/Wh[^w0-0]。",
        "A 家直流舱 0.73 元/Wh，无 GWh 级交付记录；B 家没有报价[^w0-0]。",
    ],
)
def test_a_figure_of_another_unit_clause_or_size_is_never_written_into_an_answer(
    sentence: str,
) -> None:
    finding = _only(sentence, COSTS)
    assert (finding.verdict, finding.text) == ("marked", None)


def test_a_slip_in_a_price_is_set_right_where_its_unit_and_subject_are_the_source_s() -> None:
    sentence = "另询的 A 家钠电供应商直流舱 0.73 元/Wh[^w0-0]。"
    finding = _only(sentence, ["另询的 A 家钠电供应商直流舱 0.72 元/Wh。", *COSTS[:4]])
    assert (finding.verdict, finding.text) == ("repaired", sentence.replace("0.73", "0.72"))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("4.7", "4.4", True),
        ("22:30", "22:00", True),
        ("86.5%", "85.6%", True),
        ("120,000", "12,000", True),
        ("1,200米", "1,234米", True),
        ("38%", "6%", False),
        ("6%", "9%", False),
        ("0.9元", "0.4元", False),
        ("0.45元", "0.0773元", False),
        ("6:00", "07:30", False),
        ("8.5%", "85%", True),
        ("3 km", "300 m", False),
    ],
)
def test_a_slip_is_a_digit_an_exchange_a_rounding_or_zeros(
    one: str, other: str, expected: bool
) -> None:
    [first], [second] = figures(one), figures(other)
    assert is_slip(first, second) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ("0.45 元/Wh", "0.45元／Wh", True),
        ("0.45 元/Wh", "0.45 元/kWh", False),
        ("$138 a month", "138 USD per month", True),
        ("$138/month", "$138 per year", False),
        ("$138/month", "$138", True),
        ("100 km/h", "100公里每小时", True),
        ("3 USD per 1,000", "$3 per million", False),
        ("40元/人", "人均40元", True),
    ],
)
def test_a_figure_knows_what_it_is_per(one: str, other: str, expected: bool) -> None:
    [figure] = figures(one)[:1]
    assert Passage("", other).has(figure) is expected


QUOTE = [
    "另询两家钠电供应商：A 家直流舱 0.72 元/Wh，B 家 0.64 元/Wh。",
    "| 项目 | 澄远钠离子 | 磷酸铁锂（现供应商） |\n|---|---|---|\n"
    "| 直流舱价，元/Wh | 0.68 | 0.49 |\n| 测算循环次数 | 10,000 | 8,000 |",
    "| 年份 | 量（MWh） | 单价，元 |\n|---|---|---|\n| 2027 | 150 | 31 |",
]


@pytest.mark.parametrize(
    "sentence",
    [
        "澄远的直流舱报 0.68 元/Wh[^w0-0]，与平均价相当，比第一候选人高。",
        "现供应商的直流舱价是 0.49 元/Wh[^w0-0]。",
        "2027 年的量是 150 MWh[^w0-0]。",
    ],
)
def test_a_cell_has_the_unit_of_its_row_or_column_and_is_not_contradicted(sentence: str) -> None:
    assert _only(sentence, QUOTE).verdict in ("quoted", "doubtful")


def test_a_cell_with_the_unit_of_its_head_has_no_other_unit() -> None:
    assert _only("直流舱价是 0.49 元/kWh[^w0-0]。", QUOTE).verdict == "marked"
    assert _only("直流舱价是 0.49 MWh[^w0-0]。", QUOTE).verdict == "marked"


def test_a_share_is_a_percentage_or_a_fraction() -> None:
    sentence = "采购部说第三年可追平，用的是 10,000 次和 86.5%[^w0-0]。"
    assert _only(sentence, COSTS).verdict in ("quoted", "doubtful")
    assert _only(sentence.replace("86.5", "84.5"), COSTS).verdict == "marked"
    assert _only("系统效率是 0.85[^w0-0]。", ["系统效率是 85%。"]).verdict in ("quoted", "doubtful")
