"""The times of a planned day in an answer's text: code has made them."""

import pytest

from agent.evidence.claims.passages import Evidence, Record
from agent.texts import say
from tests.unit.export_samples import place
from tests.unit.test_claims_proof import judge

PLAN = ["行程：2026-11-24 周二，09:30–16:00\n13:00–13:40 断桥残雪（步行 850 m，12 分钟）",
        say("outing.legs_estimated", "zh")]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "bad", "verdict"),
    [
        ("13:00–13:40 逛断桥残雪[^w0-0]。", "13:00–13:40", "supported"),
        ("下午1点到断桥残雪[^w0-0]。", "下午1点", "supported"),
        ("At 1 pm you are at 断桥残雪[^w0-0].", "1 pm", "supported"),
        ("从湖边步行 850 m，12 分钟到断桥残雪[^w0-0]。", "步行 850 m，12 分钟", "unchecked"),
        (f"断桥残雪免费[^w0-0]，{say('outing.legs_estimated', 'zh')}", "按直线估算", "unchecked"),
    ],
)
def test_no_sign_stands_on_what_code_s_own_plan_says(text: str, bad: str, verdict: str) -> None:
    told = Evidence({"w0-0": Record(["断桥残雪免费。"])}, known=PLAN, today="2026-11-23")
    _, outcome = judge(text, told, v="p", p=["1.1"], bad=[bad])
    assert outcome.verdict == verdict


@pytest.mark.parametrize(
    ("v", "time", "verdict"),
    [
        ("p", "10:40", "supported"), ("n", "10:40", "supported"), ("x", "10:40", "unchecked"),
        ("p", "13:00", "unchecked"), ("x", "13:00", "contradicted"),
    ],
)  # fmt: skip
def test_a_plan_s_time_within_a_sentence_is_proved_for_its_own_stop(
    v: str, time: str, verdict: str
) -> None:
    museum = place(1, "国家博物馆", open_time="09:00-17:00", source="a0-1")
    plan = ["10:40–12:40 国家博物馆 [^a0-1]\n13:00–13:40 断桥残雪 [^w0-0]"]
    record = Record(["国家博物馆 | 09:00-17:00"], place=museum)
    told = Evidence({"a0-1": record, "w0-0": Record(["断桥残雪免费。"])}, known=plan)
    says = {"says": "09:00-17:00"} if v == "x" else {}
    text = f"您在国家博物馆的时间从{time}起[^a0-1]。"
    assert judge(text, told, v=v, p=["1.1"], bad=[time], **says)[1].verdict == verdict


def test_a_time_that_the_plan_does_not_have_carries_its_sign() -> None:
    told = Evidence({"w0-0": Record(["断桥残雪免费。"])}, known=PLAN, today="2026-11-23")
    _, outcome = judge("断桥残雪14:25关门[^w0-0]。", told, v="p", p=["1.1"], bad=["14:25"])
    assert outcome.spans == ("14:25",)
