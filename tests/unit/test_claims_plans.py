"""What a plan says of itself, totals and uncited parts are not held against other figures."""

import pytest

from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.correct import corrected, with_source_figures
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.claims.sentences import MARKED
from tests.unit.test_claims import evidence, only

TEMPLE = {
    "t1-0": [
        "自2025年12月1日起，灵隐飞来峰景区实行免票政策，开放时间每日7:30-17:30（17:00停止入园）。"
        "游客需至少提前1天预约入园名额，不支持当日预约。",
        "此前需飞来峰45元门票和灵隐寺30元香花券，合计75元，将全部取消。",
        "预约量分别为：工作日3.5万人次/天、双休日5万人次/天、节假日6.5万人次/天，约满即止。",
    ],
    "t1-1": ["雷峰塔开放时间8:00—20:00，游览约2小时，讲解约1.5小时。"],
}
HEAD = "| 时间 | 第二天（建议周四） |\n|---|---|\n"


def visited(sentence: str) -> Finding:
    known = evidence(TEMPLE)
    [finding] = with_source_figures(check(sentence, known), known)
    return finding


@pytest.mark.parametrize(
    "sentence",
    [
        "2025年12月1日起75元门票全部取消，改为实名分时预约，工作日每天3.5万人[^t1-0]。",
        "灵隐原来的75元门票已经全部取消[^t1-0]。",
    ],
)
def test_a_total_is_not_contradicted_by_what_it_is_the_total_of(sentence: str) -> None:
    assert visited(sentence).verdict in ("quoted", "doubtful")


def test_a_figure_that_is_no_total_of_a_clause_is_contradicted_by_it() -> None:
    page = {"t1-0": ["此前需飞来峰45元门票和灵隐寺30元香花券，押金85元。"]}
    known = evidence(page)
    assert check("飞来峰门票要85元[^t1-0]。", known)[0].contradicted


@pytest.mark.parametrize(
    "sentence",
    [
        f"{HEAD}| 上午 | 8:00打车到灵隐飞来峰（7:30—17:30，17:00停止入园），约2小时[^t1-0] |",
        f"{HEAD}| 下午 | 灵隐飞来峰（7:30—17:30）[^t1-0]，约1.5小时 |",
        "8:00打车到灵隐飞来峰（7:30—17:30，17:00停止入园），约2小时[^t1-0]。",
        "上午9:00到灵隐飞来峰，开放时间7:30—17:30[^t1-0]。",
        "第二天早上8:00从湖滨出发去灵隐，17:00停止入园[^t1-0]。",
        "At 8:00 take a taxi to 灵隐飞来峰 (7:30–17:30), about 2 hours [^t1-0].",
        "Leave the hotel at 8:00, as 灵隐飞来峰 is open 7:30–17:30 [^t1-0].",
    ],
)
def test_the_times_of_a_plan_are_its_own_beside_hours_that_a_source_gives(sentence: str) -> None:
    assert visited(sentence).verdict in ("quoted", "doubtful")


@pytest.mark.parametrize(
    "sentence",
    [
        "8:00打车到灵隐飞来峰（7:30—18:30），约2小时[^t1-0]。",
        "灵隐飞来峰9:00到18:30开放[^t1-0]。",
        "上午9:00到晚上9点半开放[^t1-0]。",
        f"{HEAD}| 上午 | 9:00坐地铁约25分钟到灵隐[^t1-0] |",
        "从地铁站步行到灵隐，约25分钟[^t1-0]。",
    ],
)
def test_hours_and_ways_that_no_source_gives_are_no_times_of_a_plan(sentence: str) -> None:
    assert visited(sentence).verdict in ("marked", "repaired")


ENGINES = {
    "t4-3": [
        "In my laptop test a 3-step workflow took 11 ms with DBOS, 24 ms with Restate and 68 ms "
        "with the Temporal dev server. Not a benchmark.",
        "Choose Temporal for complex workflows; Restate for low latency; DBOS on Postgres.",
    ],
    "t2-4": [
        "Around 50ms roundtrip for a 3-step durable workflow handler "
        "(Restate on EBS with fsync for every step)."
    ],
    "t3-1": ["DBOS Conductor is free up to 50 executors."],
}


def test_a_page_that_names_all_three_does_not_sign_what_it_does_not_say() -> None:
    sentence = (
        "Temporal, DBOS and Restate make the same promise by the same trick: record the result of "
        "every step, and after a crash run the code again."
    )
    assert only(sentence, evidence(ENGINES)).attach == ()


MEASURED = (
    "The one comparison measured a 3-step workflow on a laptop at 11 ms for DBOS, 24 ms for "
    "Restate and 68 ms for the Temporal dev server [^t4-3]; "
)


def test_a_figure_whose_citation_was_removed_cites_the_page_that_says_it() -> None:
    known = Evidence({n: record(n, texts) for n, texts in ENGINES.items()}, today="2026-11-23")
    sentence = f"{MEASURED}Restate's founders named about 50 ms for three steps with fsync on EBS."
    findings = check(sentence, known)
    text = "".join(part.text for part in corrected(sentence, findings, MARKED))
    assert text == sentence.replace("EBS.", "EBS [^t2-4].")


@pytest.mark.parametrize("figure", ["about 410 ms", "about $50"])
def test_a_figure_whose_citation_was_removed_is_marked_where_no_page_says_it(figure: str) -> None:
    known = Evidence({n: record(n, texts) for n, texts in ENGINES.items()}, today="2026-11-23")
    [finding] = check(f"{MEASURED}the founders of another engine named {figure} in all.", known)
    assert (finding.verdict, finding.contradicted) == ("marked", False)
    assert [f.text for f in finding.missing] == [figure.removeprefix("about ")]
