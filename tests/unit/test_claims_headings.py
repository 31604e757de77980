"""Headings are judged where they tell a figure."""

import pytest

from agent.evidence.claims.corrected import can_be_left_out, corrected
from agent.evidence.claims.judging import Ruling
from agent.evidence.claims.proof import proved
from agent.evidence.claims.statements import MARKED, statements
from tests.unit.test_claims_proof import evidence

NOTHING = evidence(w0_0="门票 60 元；午餐 50 元；停车 30 元。")


def test_a_bold_head_of_a_paragraph_is_context_of_all_its_sentences() -> None:
    text = "## 设备\n\n**风险。** 交货要 20 周。到期不能退。\n\n另一段。"
    contexts = [one.context for one in statements(text, MARKED)]
    assert contexts == ["设备 / 风险", "设备 / 风险 / 交货要 20 周。", "设备 / 到期不能退。"]


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
