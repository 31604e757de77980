"""A wrong figure in a cited sentence becomes the one that its source gives, or is marked."""

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

import pytest

from agent.assistants.common.claims import Checked, ClaimCheck
from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.correct import (
    corrected,
    counts,
    judged,
    shown_passages,
    with_source_figures,
)
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.claims.sentences import MARKED
from agent.evidence.types import Place, Source
from agent.texts import Language
from tests.unit.test_claims import LINES, evidence, source

USERS = [
    "Fewer than 10,000 users on a single server is the sweet spot of SQLite.",
    "There were more than 12,000 active public servers and 97 million downloads.",
]


@pytest.mark.parametrize(
    ("sentence", "wrong", "right"),
    [
        ("星巴克(外滩店)每天07:30开门，22:30关门[^a0-0]。", "22:30", "22:00"),
        ("星巴克(外滩店)早上8:30开门[^a0-0]。", "8:30", "07:30"),
        ("一坐一忘(三里屯店)每天11:00开门，22:30关门[^a0-1]。", "22:30", "22:00"),
        ("| 星巴克(外滩店) | ★4.7 | ¥40 [^a0-0] |", "4.7", "4.4"),
        ("Fewer than 100,000 users on a single server is ideal [^w0-0].", "100,000", "10,000"),
        (
            "With 97 million downloads there were 120,000 active public servers [^w0-0].",
            "120,000",
            "12,000",
        ),
    ],
)
def test_a_wrong_figure_becomes_that_of_its_own_source(
    sentence: str, wrong: str, right: str
) -> None:
    known = evidence({"w0-0": USERS})
    [finding] = with_source_figures(check(sentence, known), known)
    assert (finding.verdict, finding.text) == ("repaired", sentence.replace(wrong, right))


@pytest.mark.parametrize(
    "sentence",
    [
        "It takes 12 minutes on a single server with users [^w0-0].",
        "星巴克(外滩店)离地铁站600米[^a0-0]。",
        "一坐一忘(三里屯店)凌晨1:00关门[^a0-1]。",
        "The firm has 250,000 customers [^w0-0].",
        "星巴克(外滩店)早上6:00开门[^a0-0]。",
        "Fewer than 38,000 users on a single server is ideal [^w0-0].",
        "On a single server more than 100,000 users pay; fewer users are ideal [^w0-0].",
    ],
)
def test_a_figure_of_another_thing_never_replaces_a_wrong_one(sentence: str) -> None:
    known = evidence({"w0-0": USERS})
    [finding] = with_source_figures(check(sentence, known), known)
    assert (finding.verdict, finding.text) == ("marked", None)


def test_the_passages_of_each_cited_source_are_shown_and_none_in_two_forms() -> None:
    forms = ["The tower opens daily at nine.", "tower | daily | nine | opens", "tower"]
    known = evidence({"w0-0": forms, "w0-1": ["The museum is closed on Monday."]})
    [finding] = check("The tower and the museum never open late [^w0-0][^w0-1].", known)
    assert {p.source for p in shown_passages(finding, known)} == {"w0-0", "w0-1"}
    assert sum(p.source == "w0-0" for p in shown_passages(finding, known)) == 1


@pytest.mark.parametrize("verdict", ["partly", "nothing_to_check"])
def test_a_verdict_that_nothing_is_wrong_never_marks(verdict: str) -> None:
    known = evidence({"w0-0": ["The tower opens daily at nine."]})
    [finding] = check("The tower never opens late [^w0-0].", known)
    assert judged(finding, verdict, "", [], known).verdict == "quoted"


REMARK = (
    "Take **metro line 2**: about 45 minutes and CNY 5, with no traffic to worry about [^w0-0]."
)


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        (REMARK, "quoted"),
        (REMARK.replace("traffic", "Maglev"), "marked"),
        ("By boat it takes about 45 minutes and tea is served [^w0-0].", "marked"),
        ("Line 2 does not take about 45 minutes [^w0-0].", "marked"),
        ("The station has a roof garden with a view [^w0-0].", "marked"),
    ],
)
def test_a_remark_beside_borne_figures_is_not_marked_and_a_fact_is(
    sentence: str, verdict: str
) -> None:
    known = evidence({"w0-0": LINES})
    [finding] = check(sentence, known)
    shown = shown_passages(finding, known)
    assert judged(finding, "not_there", "", shown, known).verdict == verdict


LIGHTS = [
    "一篇资料说，外滩景观灯夏季约19点至23点、冬季约17点至21点开放。",
    "同一资料另一段说，平时关灯时间为晚上10点，特殊假日延到11点，两种说法不一致。",
]


def after(sentence: str, quote: str, known: Evidence) -> Finding:
    """Return the finding of a sentence that a model judged to be contradicted by a quote."""
    [finding] = check(sentence, known)
    return judged(finding, "contradicted", quote, shown_passages(finding, known), known)


@pytest.mark.parametrize(
    ("sentence", "pages", "quote"),
    [
        (
            "**灯光**：说法不一，有的说冬季 21:00 关，有的说平时 22:00、特殊假日 23:00 关[^w0-0]，"
            "建议 21:00 前看完。",
            LIGHTS,
            LIGHTS[1],
        ),
        (
            "Only three halls of the Bund Club are within about 500 m [^w0-0].",
            ["Bund Club: only three halls, 524 m from the river."],
            "524 m",
        ),
    ],
)
def test_a_contradiction_whose_quote_gives_the_same_figures_is_not_believed(
    sentence: str, pages: list[str], quote: str
) -> None:
    assert after(sentence, quote, evidence({"w0-0": pages})).verdict == "quoted"


@pytest.mark.parametrize(
    "sentence",
    [
        "平时关灯时间不为晚上10点[^w0-0]。",
        "所有节日的关灯时间都必须为晚上10点[^w0-0]。",
    ],
)
def test_a_contradiction_without_another_figure_marks_and_replaces_nothing(sentence: str) -> None:
    finding = after(sentence, LIGHTS[1], evidence({"w0-0": LIGHTS}))
    assert (finding.verdict, finding.contradicted, finding.text) == ("marked", True, None)


def test_one_wrong_name_becomes_that_of_the_quote_and_the_rest_stays() -> None:
    page = "It was created by David Soria Parra and released by Anthropic in November 2024."
    sentence = "Created by David Soria Parra and released by OpenAI in November 2024 [^w0-0]."
    finding = after(sentence, page, evidence({"w0-0": [page]}))
    assert (finding.verdict, finding.text) == ("repaired", sentence.replace("OpenAI", "Anthropic"))


def test_a_time_that_is_put_right_keeps_the_way_it_was_written() -> None:
    known = evidence({"w0-0": ["外滩景观灯平时关灯时间为晚上10点。"]})
    [finding] = with_source_figures(check("外滩景观灯平时关灯时间为 22:30[^w0-0]。", known), known)
    assert finding.text == "外滩景观灯平时关灯时间为 22:00[^w0-0]。"


def test_a_citation_set_right_is_counted_whatever_a_model_says_of_its_sentence() -> None:
    known = evidence({"w0-0": LINES})
    [finding] = check("一坐一忘(三里屯店)只有晚上最好，人均95元[^a0-0]。", known)
    assert (finding.verdict, [right for _, right in finding.cite]) == ("doubtful", ["a0-1"])
    assert counts([finding])["rematched"] == 1
    assert counts([judged(finding, "supported", "", [], known)])["rematched"] == 1


async def checked(
    body: str,
    known: Evidence,
    *,
    language: Language = "en",
    earlier: Mapping[str, Source] | None = None,
) -> Checked:
    """Return a text after the check by rules; its sources have links."""
    pages = {name: source(name, f"https://{name}.example/") for name in ("w0-0", "w0-1", "a0-0")}
    used = [Source(**{**page, "number": n}) for n, page in enumerate(pages.values(), 1)]
    claim_check = ClaimCheck(body, used, pages, known, language, earlier or {})
    await claim_check.decide(seconds=10)
    return claim_check.finished(body, {})


SWAPPED = "Metro line 10 takes 45 minutes [1](https://w0-0.example/)."


async def test_the_sign_stands_behind_the_clause_that_nothing_bears() -> None:
    link = "[3](https://a0-0.example/)"
    body = f"**星巴克(外滩店)**：每天 07:30-22:00{link}，适合 3 岁以上的孩子，注意人均约 ¥40。"
    done = await checked(body, evidence(), language="zh")
    assert "适合 3 岁以上的孩子†，注意人均约 ¥40。" in done.text


async def test_the_sign_stands_behind_the_hour_that_the_record_contradicts() -> None:
    place = cast(Place, {"id": "amap:1", "name": "一坐一忘(三里屯店)", "source": "a0-0"})
    hours = record("a0-0", ["一坐一忘(三里屯店) | 周一至周日 11:00-22:00"], place)
    link = "[3](https://a0-0.example/)"
    body = f"**一坐一忘(三里屯店)**：开到晚上 10 点多{link}，适合先吃饭再去喝酒。"
    done = await checked(body, Evidence({"a0-0": hours}), language="zh")
    assert "/)‡，适合先吃饭再去喝酒。" in done.text


async def test_a_citation_that_is_attached_in_english_stands_after_a_blank() -> None:
    known = evidence({"w0-0": LINES, "w0-1": ["The Pier Museum was built in 1994."]})
    done = await checked("The Pier Museum was built in 1994.", known)
    assert "in 1994 [1](https://w0-1.example/)." in done.text


def test_a_record_of_a_place_is_shown_to_the_judge_in_one_form() -> None:
    name = "BFC外滩金融中心"
    lines = [f"{name}，购物中心，距外滩 1359 米", f"{name} | 购物中心 | 外滩 1.4 km", "1359 m"]
    place = cast(Place, {"id": "amap:1", "name": name, "source": "a0-0"})
    known = Evidence({"a0-0": record("a0-0", lines, place)})
    [finding] = check(f"{name}从不关门[^a0-0]。", known)
    assert len(shown_passages(finding, known)) == 1


async def test_a_line_below_says_that_a_source_says_otherwise_where_one_does() -> None:
    known = evidence({"w0-0": LINES, "w0-1": LINES[:1]})
    done = await checked(SWAPPED, known)
    assert "[1](https://w0-0.example/)‡." in done.text
    assert "\n\n‡ a source says otherwise" in done.text
    assert "not in the sources" not in done.text
    both = await checked(f"{SWAPPED} A horse takes 900 minutes.", known)
    assert "‡." in both.text
    assert "900 minutes†." in both.text
    assert "\n\n† not in the sources; ‡ a source says otherwise" in both.text
    zh = await checked(SWAPPED, known, language="zh")
    assert "‡ 有来源的说法不同" in zh.text


async def test_the_card_of_a_contradicted_citation_has_the_quote_against_it() -> None:
    done = await checked(SWAPPED, evidence({"w0-0": LINES, "w0-1": LINES[:1]}))
    [statement] = done.statements
    assert (statement["verdict"], statement["source"]) == ("contradicted", "w0-0")
    assert statement["quote"] in LINES
    assert done.used[0]["quotes"][0] == statement["quote"]
    assert done.counts["marked"] == 1


async def test_a_figure_for_which_a_source_has_several_others_is_contradicted() -> None:
    pages = ["A day pass of the museum costs 15 euros for adults and 9 euros for children."]
    body = "A day pass of the museum costs 40 euros [1](https://w0-0.example/)."
    done = await checked(body, evidence({"w0-0": pages}))
    assert [row["verdict"] for row in done.statements] == ["contradicted"]


async def test_an_invented_place_leaves_the_answer_and_is_counted() -> None:
    kept = "- **星巴克(外滩店)**：306米，人均40元。\n"
    invented = "- **钟楼咖啡馆**：环境好。\n\n钟楼咖啡馆周末人多。没有查到钟楼咖啡馆的记录。"
    body = f"可以去：\n\n{kept}{invented}"
    done = await checked(body, evidence(), language="zh")
    assert "- **星巴克(外滩店)**：306米，人均40元" in done.text
    assert "- **钟楼咖啡馆**" not in done.text
    assert "钟楼咖啡馆周末人多†。没有查到钟楼咖啡馆的记录。" in done.text
    assert done.rejected == 1
    for row in done.statements:
        assert done.text[row["start"] : row["end"]].strip()
    assert done.text[slice(*done.extent)].endswith("没有查到钟楼咖啡馆的记录。")


METRO = "从杭州东站可坐地铁1号线到龙翔桥站，票价4元，全程约25分钟。"


@pytest.mark.parametrize(
    ("body", "end"),
    [
        ("也可以走到龙翔桥站坐地铁 1 号线，4 元，约 25 分钟。", "[1](https://p1-0.example/)。"),
        ("也可以走到龙翔桥站坐地铁 1 号线，4 元，约 35 分钟。", "†。"),
        ("公交 3 路也到，5 元。", "†。"),
    ],
)
async def test_what_only_a_page_of_an_older_answer_says_cites_that_page(
    body: str, end: str
) -> None:
    older = Source(**{**source("p1-0", "https://p1-0.example/"), "quotes": [METRO]})
    known = evidence({"w0-0": ["公交 40 分钟，10.9 km，步行 250 m。"]})
    done = await checked(body, known, language="zh", earlier={"p1-0": older})
    assert done.text.split("\n")[0].endswith(end)


async def test_a_page_of_an_older_answer_bears_no_sentence_that_cites_another() -> None:
    older = Source(**{**source("p1-0", "https://p1-0.example/"), "quotes": [METRO]})
    body = "坐地铁 1 号线到龙翔桥站 4 元[1](https://w0-0.example/)。"
    known = evidence({"w0-0": ["公交 40 分钟，10.9 km，步行 250 m。"]})
    done = await checked(body, known, language="zh", earlier={"p1-0": older})
    assert "†" in done.text
    assert "p1-0" not in done.text


async def test_a_link_in_a_clause_that_its_page_does_not_say_goes_and_others_stay() -> None:
    link, known = "[1](https://w0-0.example/)", evidence({"w0-0": ["It reached 1.0 on April 29."]})
    done = await checked(f"It has 150,000 users {link}, but that is no count {link}.", known)
    assert done.text.startswith(f"It has 150,000 users†, but that is no count {link}.")
    later = await checked(f"It reached 1.0, has 150,000 users {link}, and is new.", known)
    assert later.text.startswith(f"It reached 1.0, has 150,000 users {link}†, and is new.")


def _only(sentence: str, known: Evidence) -> Finding:
    [finding] = check(sentence, known)
    return finding


def test_a_wrong_result_of_a_formula_of_known_terms_is_calculated_again() -> None:
    priced = Evidence(
        {"w0-0": record("w0-0", ["船票55元，地铁4元，雷峰塔门票40元。"])}, question="三人"
    )
    text = "据此推算：船票 55×3=165 元，地铁 4×6=24 元，门票 40 元，合计 165+24+40=239 元。"
    finding = _only(text, priced)
    assert (finding.verdict, finding.text) == ("repaired", text.replace("239", "229"))
    assert _only(text.replace("239", "229"), priced).verdict == "computed"
    assert _only(text.replace("40=239", "41=230"), priced).verdict == "marked"


RUNAWAY = (
    "试验表明：层状氧化物钠离子电芯自产热起始温度约123℃，热失控触发温度约 220℃；"
    "磷酸铁锂电芯分别约为 110℃和 240℃。"
)


@pytest.mark.parametrize(
    ("sentence", "contradicted"),
    [
        ("层状氧化物钠电约220℃触发热失控[^d2-0]。", False),
        ("层状氧化物钠离子电芯自产热起始温度约220℃[^d2-0]。", True),
    ],
)
def test_a_clause_that_goes_on_with_a_subject_gives_it_its_figure(
    sentence: str, contradicted: bool
) -> None:
    finding = _only(sentence, Evidence({"d2-0": record("d2-0", [RUNAWAY])}, question="安全"))
    assert finding.contradicted is contradicted


def test_what_a_percentage_leaves_is_a_term_of_an_estimate() -> None:
    trial = Evidence(
        {"d4-0": record("d4-0", ["一年共充放610次，容量还剩98.4%。"])}, question="钠电"
    )
    text = "据此推算：610次衰减1.6个百分点，降到80%约需 610×20/1.6=7625 次。"
    assert _only(text, trial).verdict == "computed"
    assert _only(text.replace("1.6个", "2.6个"), trial).verdict == "marked"
    assert _only(text.replace("到80%", "到70%"), trial).verdict == "marked"


def test_a_judge_is_shown_no_words_twice_and_no_bare_date() -> None:
    texts = ["试用报告", "容量还剩98.4%，冬季出力九成。", "2026-01-01"]
    both = Evidence({n: record(n, texts) for n in ("d4-0", "d5-0")}, question="钠电")
    shown = shown_passages(_only("冬季出力好[^d4-0][^d5-0]。", both), both)
    assert sorted(p.text for p in shown) == sorted(texts[:2])


@pytest.mark.parametrize("text", ["Assumption: 2 MWh, indoors.", "**假设**：3人，预算2000元。"])
def test_what_a_writer_says_to_assume_needs_no_source(text: str) -> None:
    assert _only(text, Evidence({}, question="?")).verdict == "own"


RIDES = "绳索挑战道身高106cm以上。不满七周岁的儿童须由十六周岁及以上游客陪同乘坐。雷鸣山漂流107cm。"


def test_what_a_writer_assumes_is_not_repaired_into_a_page_s_figure() -> None:
    rides = Evidence({"t0-2": record("t0-2", [RIDES])}, question="6岁孩子")
    text = "**假设**：孩子身高1.15米。身高1.15米的孩子能玩的：雷鸣山漂流（107cm）[^t0-2]。"
    corrected = with_source_figures(check(text, rides), rides)
    assert [finding.verdict for finding in corrected] == ["own", "computed"]
    alone = with_source_figures(check("身高1.15米的孩子能玩雷鸣山漂流[^t0-2]。", rides), rides)
    assert [finding.verdict for finding in alone] == ["marked"]


def test_a_number_in_digits_is_borne_by_one_in_chinese_numerals() -> None:
    rides = Evidence({"t0-2": record("t0-2", [RIDES])}, question="6岁孩子")
    assert _only("孩子必须由16周岁及以上的同伴陪同乘坐[^t0-2]。", rides).verdict != "marked"
    assert _only("孩子必须由18周岁及以上的同伴陪同乘坐[^t0-2]。", rides).verdict == "marked"


def test_the_result_of_an_accepted_estimate_is_computed_wherever_it_stands_again() -> None:
    priced = Evidence(
        {"t0-0": record("t0-0", ["Actions cost $50 per million."])}, question="2 million steps"
    )
    answer = (
        "It costs about $100 a month [^t0-0]. Our estimate: 50 × 2 = $100. Budget $140 [^t0-0]."
    )
    assert [f.verdict for f in check(answer, priced)] == ["computed", "computed", "marked"]
    assumed = "Assumption: a budget of $140.\n\n" + answer
    assert [f.verdict for f in check(assumed, priced)] == [
        "own",
        "computed",
        "computed",
        "computed",
    ]


def test_a_short_line_that_decides_goes_before_long_ones_on_the_subject() -> None:
    long = [f"The commit mode of PostgreSQL matters for part {n} of the server." for n in range(4)]
    page = record("t0-0", [*long, "It is chosen for each transaction."])
    finding = _only(
        "The commit mode of PostgreSQL is chosen for each transaction[^t0-0].",
        Evidence({"t0-0": page}, question="commit"),
    )
    shown = shown_passages(finding, Evidence({"t0-0": page}, question="commit"))
    assert "It is chosen for each transaction." in [passage.text for passage in shown[:2]]


def test_the_letter_of_a_unit_is_no_name_that_another_figure_goes_with() -> None:
    page = "At -20 °C sodium-ion keeps about 90% of its capacity, LFP 60–70%."
    row = "| Cold (-20 °C) | about 90% of capacity [^d3-0] | 60–70% [^d3-0] |"
    assert not _only(row, Evidence({"d3-0": record("d3-0", [page])}, question="?")).contradicted


TOWERS = {
    "s0-0": ["The Burj Khalifa in Dubai is 828 m tall."],
    "s0-1": ["The Eiffel Tower is 330 m tall.", "It was built by the firm of Gustave Eiffel."],
    "s0-2": ["A blog says the tower in Paris has 7 million visitors a year."],
}


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("The Eiffel Tower is 330 m tall [^s0-0].", "s0-1"),
        ("The tower was built by Gustave Eiffel [^s0-2].", "s0-1"),
        ("It has 7 million visitors a year [^s0-0].", "s0-2"),
    ],
)
def test_a_marker_is_moved_to_the_one_source_that_says_it_and_counted(
    sentence: str, source: str
) -> None:
    [finding] = check(sentence, evidence(TOWERS))
    assert [name for _, name in finding.cite] == [source]
    assert counts([finding])["rematched"] == 1


@pytest.mark.parametrize(
    "sentence",
    ["The tower was built by Gustave Eiffel [^s0-1].", "它由 Gustave Eiffel 建造[^s0-3]。"],
)
def test_a_marker_is_not_moved_from_a_source_that_may_say_it(sentence: str) -> None:
    chinese = {"s0-3": ["埃菲尔铁塔由古斯塔夫·埃菲尔建造。"]}
    [finding] = check(sentence, evidence(TOWERS | chinese))
    assert finding.cite == ()


def test_a_label_alone_is_no_statement_and_keeps_its_citations() -> None:
    known = evidence({"w0-0": LINES})
    assert check("依据：[^w0-0]\n\n**Basis:** [^w0-0]\n\n结论：", known) == []
    assert len(check("依据：上海有城墙[^w0-0]。", known)) == 1


def test_a_row_is_judged_by_the_passages_of_each_cell_below_the_heads_of_their_tables() -> None:
    praise = "The cloud bills a plan, and its plan is what the cloud bills a team that plans {}."
    records = {
        "t0-0": [
            *(praise.format(word) for word in ("early", "late", "well", "ahead")),
            "| Actions a month | Each further million |\n|---|---|\n| First 5M | $50 |",
        ],
        "t1-0": [
            *(praise.format(word) for word in ("more", "less", "little", "much")),
            "Beyond the included executors the request is refused.",
        ],
    }
    known = Evidence({name: record(name, texts) for name, texts in records.items()})
    text = (
        "| | Alpha cloud | Beta cloud |\n|---|---|---|\n"
        "| What the cloud bills beyond its plan | $50 each further million [^t0-0] "
        "| nothing, executors are refused [^t1-0] |"
    )
    shown = shown_passages(_only(text, known), known)
    assert "| First 5M | $50 |" in [p.text for p in shown[:2]]
    assert "Beyond the included executors the request is refused." in [p.text for p in shown[:2]]


def test_a_page_beside_those_cited_is_shown_where_they_say_nothing_of_it_and_is_cited_then() -> (
    None
):
    records = {
        "p0-0": ["A single server can sustain a throughput of many writes."],
        "p0-1": ["In the end we had far more billed Actions than the team had counted before."],
    }
    known = Evidence({name: record(name, texts) for name, texts in records.items()})
    text = "A team had far more billed Actions than it had counted before [^p0-0]."
    finding = replace(_only(text, known), verdict="doubtful", doubt=4, cite=(), quote=None)
    assert [p.source for p in shown_passages(finding, known)][-1] == "p0-1"
    quote = "we had far more billed Actions than the team had counted before"
    again = judged(finding, "supported", quote, shown_passages(finding, known), known)
    assert again.verdict == "rematched"
    assert "[^p0-1]" in "".join(part.text for part in corrected(text, [again], MARKED))
