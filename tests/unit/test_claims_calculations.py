"""A calculation that an answer shows rests on what it assumes, and is calculated again."""

import pytest

from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.correct import corrected, counts, with_source_figures
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.claims.sentences import MARKED
from tests.unit.test_claims import PRICES, evidence, only

PAGES = {
    "p0-1": [
        "Deployment: $0.005 per run; uptime $0.0036 per minute (production).",
        "Plus $39 per seat per month; 10k base traces included.",
    ],
    "p0-2": [
        "| Instance | Price per hour |\n| db.t4g.small | $0.032 |",
        "gp3 $0.115 per GB-month.",
    ],
    "p0-3": [
        "Essentials: 1M Actions; greater of $100/month",
        "| First 5M | $50 |",
        "| Next | $45 |",
    ],
}
ASSUMED = "Assumed: 20 steps a run, so 100,000 runs a month; three developers.\n\n"
RUNS = "Our estimate: 100,000 × 0.005 = $500 for runs"


def billed() -> Evidence:
    records = {name: record(name, texts) for name, texts in PAGES.items()}
    return Evidence(records, question="What does each cost for 2 million steps a month?")


def checked(answer: str) -> list[Finding]:
    return with_source_figures(check(answer, billed()), billed())


def as_corrected(answer: str) -> str:
    return "".join(part.text for part in corrected(answer, checked(answer), MARKED))


@pytest.mark.parametrize(
    "assumed",
    [
        ASSUMED,
        "Assuming 100,000 runs a month, the bill has three parts.\n\n",
        "按这些条件假设：每月100,000次运行。\n\n",
        "假设每月10万次运行，账单有三项。\n\n",
    ],
)
def test_what_an_answer_assumes_is_a_term_of_its_calculations(assumed: str) -> None:
    assert [f.verdict for f in checked(f"{assumed}{RUNS}.")] == ["own", "computed"]
    assert [f.verdict for f in checked(f"{RUNS}.\n\n{assumed}")] == ["computed", "own"]
    [alone] = checked(f"{RUNS}.")
    assert [figure.text for figure in alone.missing] == ["100,000"]


@pytest.mark.parametrize(
    "sentence",
    [
        "Our estimate: 0.032 × 730 = $23.36 a month.",
        "Our estimate: 0.032 × 730 + 10 × 0.115 = $24.51 a month, and 24.51 + 100 = $124.51.",
        "Our estimate: 0.0036 × 60 × 730 = $157.68 for uptime.",
        "Our estimate: 0.0036 × 43,800 = $157.68 for uptime.",
        "Our estimate: 0.115 × 24 × 365 = $1,007.40.",
    ],
)
def test_what_units_have_of_each_other_is_a_term_of_a_calculation(sentence: str) -> None:
    assert checked(sentence)[0].verdict == "computed"


VECTORS = "How much memory for 50,000,000 vectors of 1,024 dimensions?"


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("据此推算：50,000,000×1024×4×1.5 = 307,200,000,000 字节，约 307 GB。", "computed"),
        ("据此推算：50,000,000×1024×4÷8 = 25.6 GB。", "computed"),
        ("Our estimate: 50,000,000 × 1,024 × 4 = 190.7 GiB.", "computed"),
        ("Our estimate: 50,000,000 × 1,024 × 4 = 190.7 GB.", "computed"),
        ("Our estimate: 2,000,000 × 4 = 8 million bytes, or 8 MB.", "computed"),
        ("Our estimate: 20.48 ÷ 8 = 2.56 GB a copy.", "marked"),
    ],
)
def test_bytes_are_told_in_larger_units(sentence: str, verdict: str) -> None:
    records = {name: record(name, texts) for name, texts in PAGES.items()}
    question = f"{VECTORS} And for 2,000,000 rows?"
    assert check(sentence, Evidence(records, question=question))[0].verdict == verdict


def test_a_wrong_sum_of_bytes_is_not_computed() -> None:
    wrong = "据此推算：50,000,000×1024×4÷8，约 52.6 GB。"
    assert check(wrong, Evidence({}, question=VECTORS))[0].verdict != "computed"


def test_a_price_is_no_constant_of_units() -> None:
    assert checked("Our estimate: 3 × $730 = $2,190.")[0].verdict == "marked"


def test_a_calculation_goes_on_from_the_result_of_the_one_before() -> None:
    first = "Our estimate: 2,000,000 + 100,000 = 2,100,000 Actions. "
    answer = f"{ASSUMED}{first}Our estimate: 2.1 × 3 = 6.3 million Actions."
    assert [f.verdict for f in checked(answer)] == ["own", "computed", "computed"]
    assert checked("Our estimate: 2.1 × 3 = 6.3 million Actions.")[0].verdict == "marked"


def test_the_bill_of_a_played_answer_is_borne_and_its_one_slip_corrected() -> None:
    bill = (
        f"{RUNS}, 0.0036 × 60 × 730 = $157.86 for uptime and 3 × 39 = $117 for seats, "
        "together $774.68."
    )
    summary = "LangGraph costs about $775 because it bills runs [^p0-1].\n\n"
    assert as_corrected(f"{summary}{ASSUMED}{bill}") == f"{summary}{ASSUMED}{bill}".replace(
        "157.86", "157.68"
    )


@pytest.mark.parametrize(
    ("sentence", "right"),
    [
        ("Our estimate: 100,000 × 0.005 = $600 for runs.", "= $500 for runs †."),
        ("Runs cost 100,000 × 0.005 = $2,600 more.", "= $500 more †."),
        ("Our estimate: 3 × 39 = $118 for seats.", "= $117 for seats."),
        ("Our estimate: 2,000,000 × 0.005 = $12,000.", "= $10,000."),
        ("据此推算：39×3=118美元。", "=117美元。"),
        ("据此推算：45000×30%=13000美元。", "=13500美元†。"),
        ("| Seats | 3 × 39 = $118 | $700 |", "| 3 × 39 = $117 | $700 † |"),
    ],
)
def test_a_wrong_result_is_calculated_again_and_only_an_unknown_term_marks_it(
    sentence: str, right: str
) -> None:
    assert (
        as_corrected(sentence)
        .replace("†", " †")
        .replace("  ", " ")
        .endswith(right.replace("†", " †").replace("  ", " "))
    )


@pytest.mark.parametrize(
    "sentence",
    [
        "Our estimate: 1,300 + 10% = 1,430.",
        "Our estimate: 39 / 100,000 × 1 km = 20 m.",
        "Our estimate: 50 / 25% = 200.",
        "据此推算：门票40元×2人+船票55元×2人=190元。",
        "Our estimate: 400 ÷ 30 = 13.3 a day.",
        "Our estimate: (2 + 3) × 400 = 2 November 2026.",
    ],
)
def test_a_right_result_or_one_in_open_units_stays_as_it_is_written(sentence: str) -> None:
    assert checked(sentence)[0].text is None


def test_a_result_that_a_source_gives_is_not_calculated_again() -> None:
    page = {"t0-0": ["By their own count 3 × 39 = $118."]}
    assert only("They say 3 × 39 = $118 [^t0-0].", evidence(page)).text is None


def test_an_estimate_s_wrong_product_of_a_source_s_price_is_corrected() -> None:
    finding = only("Our estimate: 2 × $25 = $60 a month [^t0-0].", evidence(PRICES))
    assert (finding.verdict, finding.text) == (
        "repaired",
        "Our estimate: 2 × $25 = $50 a month [^t0-0].",
    )


OFFER = {
    "d0": ["2025 年合同承诺 800 MWh，实际交付 540 MWh。"],
    "d1": ["2025 年末货币资金 2.35 亿元，一年内到期的借款 3.10 亿元。"],
    "d2": ["每年最低采购量 300 MWh。", "2027 年 0.46 元/Wh（不含税）。", "每年预付货款的 30%。"],
    "d3": ["循环次数: 2000; 容量保持率(%): 94.6", "循环次数: 3200; 容量保持率(%): 91.8"],
    "d4": ["Valkey pushed to 999.8k RPS on SETs, Redis 8.0 got 729.4k RPS on SETs."],
    "d5": ["Temporal Cloud: EUR 900 a month for 10 million actions."],
}


@pytest.mark.parametrize(
    "sentence",
    [
        "据此推算：兑现率 540÷800=67.5%。",
        "据此推算：仅偿还到期借款就缺 3.10−2.35=0.75 亿元。",
        "据此推算：货值 300 MWh×0.46 元/Wh=1.38 亿元。",
        "据此推算：货值 300 MWh×0.46 元/Wh=1.38 亿元，预付 30% 为 1.38×30%=0.414 亿元。",
        "据此推算：从 2,000 次到 3,200 次下降 94.6−91.8=2.8 个百分点。",
        "Our estimate: 999.8 ÷ 729.4 = 1.37, that is 37% more.",
        "Our estimate: over three years 900 × 36 = EUR 32,400.",
    ],
)
def test_the_terms_of_a_calculation_stand_without_the_units_of_their_sources(
    sentence: str,
) -> None:
    [finding] = check(sentence, evidence(OFFER))
    assert (finding.verdict, finding.text) == ("computed", None)


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("据此推算：兑现率 510÷800=63.75%。", ["510", "63.75%"]),
        ("据此推算：缺口 3.10−2.35=0.85 亿元。", ["0.85 亿元"]),
        ("据此推算：货值 300 MWh×0.46 元/Wh=1.52 亿元。", ["1.52 亿元"]),
        ("Our estimate: over three years 900 × 41 = EUR 36,900.", ["EUR 36,900"]),
        ("据此推算：下降 94.6−91.8=2.9 个百分点。", []),
    ],
)
def test_terms_and_results_that_no_source_has_are_still_told(
    sentence: str, missing: list[str]
) -> None:
    [finding] = check(sentence, evidence(OFFER))
    assert [figure.text for figure in finding.missing] == missing
    assert finding.verdict == ("marked" if missing else "repaired")


@pytest.mark.parametrize(
    "sentence",
    ["据此推算：下降 94.6−91.8=2.8 个百分点。", "Our estimate: 94.6 − 91.8 = 2.8% less."],
)
def test_a_difference_of_percentages_is_not_made_a_hundred_times_larger(sentence: str) -> None:
    assert only(sentence, evidence(OFFER)).text is None


@pytest.mark.parametrize(
    "sentence",
    [
        # What is left of what a plan includes; one more operation a step; runs of another length.
        "Traces beyond what is included come to 90,000 ÷ 1,000 × 2.50 = $225.",
        "Our estimate: with one state access a step it is 4,100,000 ÷ 5,000,000 = 82 %.",
        "With 5 steps a run instead of 20 there are 400,000 runs, and those cost "
        "400,000 × 0.005 = $2,000; with 200 steps a run it is 10,000 × 0.005 = $50.",
    ],
)
def test_a_term_may_follow_in_one_step_from_what_is_asked_assumed_or_supposed(
    sentence: str,
) -> None:
    pages = {**PAGES, "p0-4": ["Base traces beyond: $2.50 per 1k", "Plus: 10k base traces"]}
    pages["p0-5"] = ["Starter: 5 million actions."]
    records = {name: record(name, texts) for name, texts in pages.items()}
    known = Evidence(records, question="What does each cost for 2 million steps a month?")
    before = f"{ASSUMED}Our estimate: 2,000,000 + 100,000 = 2,100,000 Actions.\n\n"
    assert [f.missing for f in check(before + sentence, known)][2:] == [()]
    assert [f.verdict for f in check(sentence, known)] == ["marked"], "nothing is assumed"


def test_no_term_follows_from_figures_that_only_sources_have() -> None:
    [_, finding] = checked(f"{ASSUMED}Our estimate: 9,961 × 0.005 = $49.81.")
    assert finding.verdict == "marked"


def test_a_total_adds_what_the_calculation_before_had_as_a_term() -> None:
    findings = checked(
        f"{ASSUMED}Our estimate: 1.1 × 50 = $55 above the included million, so 100 + 55 = $155.\n"
        "The real figure is likely higher.\n"
        "Our estimate: 5 × 50 + 0.3 × 45 = $263.50 above it, together about $365."
    )
    assert [f.verdict for f in findings][-1] == "computed"
    alone = checked("Our estimate: 5 × 50 + 0.3 × 45 = $263.50 above it, together about $990.")
    assert [f.text for f in alone[0].missing] == ["$990"]


def test_a_difference_of_two_results_is_computed_wherever_it_is_told() -> None:
    bills = (
        f"{ASSUMED}Our estimate: 1.1 × 50 = $55, so 100 + 55 = $155.\n"
        "Our estimate: 3 × 39 = $117 for seats.\n"
    )
    findings = checked(f"{bills}The first is $38 dearer than the seats.")
    assert findings[-1].verdict == "computed"
    assert checked(f"{bills}A licence is $38.")[-1].verdict == "marked"


def test_what_a_calculation_is_made_at_is_an_assumption_of_the_reader_s_to_see() -> None:
    hotel = Evidence({"t0-0": record("t0-0", ["全季湖滨约450元起，周末上浮30%—60%。"])})
    answer = (
        "据此推算：两间450×2=900元，市内打车按每程20元、6程120元，合计1020元。\n"
        "周末去，房费按上浮45%算要多出约405元。\n"
    )
    assert [f.missing for f in check(answer, hotel)] == [(), ()]
    stated = check("周末房费要上浮45%。", hotel)
    assert [f.verdict for f in stated] == ["marked"]


@pytest.mark.parametrize(
    "sentence",
    [
        "会改变结论的：用 200 条真实问题测，若 p95 超过 250 毫秒，就换 Qdrant。",
        "团队超过 10 人、或每天超过 6 万次运行，就该换 Temporal。",
        "到 1300 万条时再演练迁移。",
        "Test it with 170 real questions; if p95 exceeds 250 ms, switch to Qdrant.",
        "Once you pass 60,000 runs a day, consider Temporal.",
    ],
)
def test_from_which_number_on_another_choice_wins_is_the_writer_s_own(sentence: str) -> None:
    assert checked(sentence)[0].verdict != "marked"


@pytest.mark.parametrize(
    "sentence",
    [
        "若超过 17 小时需付 333 元。",
        "If you stay over 17 nights, the price is $333.",
        "身高超过 1.37 米的儿童要买票。",
        "It is switched off once it is above 250 m [^p0-1].",
    ],
)
def test_a_rule_that_names_a_number_is_no_advice(sentence: str) -> None:
    assert checked(sentence)[0].verdict == "marked"


def test_what_a_calculation_came_to_is_a_term_of_the_next_and_a_machine_is_larger() -> None:
    asked_for = Evidence({}, question="500万条 1024 维的向量要多大的机器？")
    chain = "据此推算：5,000,000×1024×4 = 20.48 GB，20.48÷8 = 2.56 GB，16 GB 的机器够用。"
    each = "据此推算：每条 1024×2 = 2048 字节，500 万条约 10.2 GB。"
    assert [f.verdict for f in check(f"{chain}{each}", asked_for)] == ["computed", "computed"]
    then = "据此推算：5,000,000×1024×4 = 20.48 GB。所以要一台 {} GB 的机器。"
    verdicts = [check(then.format(size), asked_for)[1].verdict for size in (32, 8, 512)]
    assert [verdict == "marked" for verdict in verdicts] == [False, True, True]
    wrong = "据此推算：每条 1024×2 = 2048 字节，500 万条约 13.7 GB。"
    assert check(wrong, asked_for)[0].verdict == "marked"


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("索引最多 2000 维[^t3-2]，选 3072 维的模型会建不了索引。", "quoted"),
        ("The index takes at most 2000 dimensions [^t3-2], 3072 would not fit.", "quoted"),
        ("索引最多 2000 维[^t3-2]，3072 维也能用。", "marked"),
        ("索引最多 3072 维[^t3-2]。", "marked"),
    ],
)
def test_an_example_of_what_a_cited_limit_excludes_is_the_writer_s_own(
    sentence: str, verdict: str
) -> None:
    pages = ["pgvector 的索引最多支持 2000 维。", "At most 2000 dimensions."]
    known = Evidence({"t3-2": record("t3-2", pages)}, question="?")
    assert only(sentence, known).verdict == verdict


SUMS = """Our estimate: 900 × 36 = EUR 32,400 and (210 + 420) × 36 = EUR 22,680. \
Our estimate: people cost 0.2 × 8,000 × 36 = EUR 57,600.

| Over 36 months | Temporal | DBOS |
|---|---:|---:|
| Fees | EUR 32,400 | EUR 22,680 |
| People | EUR 57,600 | EUR 57,600 |
| Together | {} | EUR 80,280 |
"""
OFFERS = {
    "t0-0": record("t0-0", ["EUR 900 a month; EUR 210 and EUR 420; EUR 8,000; 36 months; 0.2"])
}


def test_a_row_that_is_the_sum_of_those_above_is_calculated() -> None:
    known = Evidence(OFFERS, question="Over 36 months?")
    marked = [f.missing for f in check(SUMS.format("EUR 90,000"), known) if f.missing]
    assert marked == []
    [wrong] = [f.missing for f in check(SUMS.format("EUR 91,000"), known) if f.missing]
    assert [figure.text for figure in wrong] == ["EUR 91,000"]


def test_a_result_is_held_against_an_earlier_one() -> None:
    text = (
        "Our estimate: 900 × 36 = EUR 32,400. Our estimate: if doubled it is 630 × 2 × 36 = "
        "EUR 45,360, EUR {} more than that."
    )
    offers = {"t0-0": record("t0-0", ["EUR 900 a month; EUR 630; 36 months"])}
    known = Evidence(offers, question="Over 36 months?")
    assert not [f for f in check(text.format("12,960"), known) if f.missing]
    assert [f for f in check(text.format("13,960"), known) if f.missing]


DRAFT = Evidence({"t0-0": record("t0-0", ["草案：预付 30%，质保 4,000 次。"])}, question="签不签？")
TERMS = (
    "## 应要求的条件\n\n1. 预付降到 10%，并有保函。\n2. 质保 6,000 次（草案 4,000 次[^t0-0]）。\n"
)


def test_what_a_list_demands_is_the_writer_s_own_proposal() -> None:
    assert [f.verdict == "marked" for f in check(TERMS, DRAFT)] == [False, False]
    stated = TERMS.replace("## 应要求的条件", "## 草案")
    assert [f.verdict == "marked" for f in check(stated, DRAFT)] == [True, True]
    lead = "Conditions to insist on:\n\n- A cap of 7.5% on damages.\n\nThe cap is 7.5%."
    assert [f.verdict == "marked" for f in check(lead, DRAFT)][-2:] == [False, True]


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [("Answer: 217.95", "computed"), ("Answer: 15%", "own"), ("Computed as stated.", "own")],
)
def test_what_code_tells_of_a_result_is_computed(sentence: str, verdict: str) -> None:
    own = Evidence({}, question="What is 15% of 1453?", known=["217.95"], own=[sentence])
    assert [finding.verdict for finding in check(sentence, own)] == [verdict]


def test_a_line_that_only_heads_a_list_is_not_counted() -> None:
    verdicts = counts(checked("From the web:\n- It costs $39 per seat.[^p0-1]"))
    assert {name: count for name, count in verdicts.items() if count} == {"total": 1, "quoted": 1}


@pytest.mark.parametrize(
    "formula",
    [
        "1/3=0.33333333333333333333333333333333",
        "123456789012345 × 987654321098765 = 121932631137021071359549253925",
        "1000000000 / 3 = 333333333.33333333333333333333",
        f"{'9' * 400}.5 × 2 = 3",
        f"{'1' * 5000} / 3 = 4",
        "+".join(["1"] * 3000) + " = 3000.00",
        "(" * 300 + "1+1" + ")" * 300 + " = 2",
    ],
)
def test_a_result_with_more_digits_than_are_reckoned_with_stays_as_it_is(formula: str) -> None:
    assert as_corrected(f"Our estimate: {formula}.").startswith(f"Our estimate: {formula}")
