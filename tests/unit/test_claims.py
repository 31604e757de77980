"""Sentences of an answer are held against what their sources say."""

import random
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import pytest
from evals.claims.__main__ import load, load_held_out, measured, rules, rules_and_call
from langchain_core.messages import AIMessage, HumanMessage

from agent.assistants.common import claims
from agent.assistants.common.conversation import known_words
from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.correct import MARK, corrected
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.claims.sentences import MARKED, numbered, sentences
from agent.evidence.types import Place, Source
from agent.texts import say
from tests.support.cpu_time import least_seconds, takes_less

PAGES = {
    "w0-0": ["Metro Line 2 takes 45 minutes and costs CNY 5.", "Line 10 takes 55 minutes."],
    "w0-1": ["The tower has been 330 m tall since March 2022."],
    "w0-2": ["In 2024 the firm raised a 300M dollar round at a 5B valuation."],
}
CAFES = {
    "a0-0": ("星巴克(外滩店)", "306 m | ★4.4 | ¥40 | 周一至周日 07:30-22:00"),
    "a0-1": ("一坐一忘(三里屯店)", "943 m | ★4.5 | ¥95 | 周一至周日 11:00-22:00"),
    "a0-2": ("故宫博物院", "1.3 km | ★4.9 | ¥60 | 周二至周日 08:30-17:00"),
}


def evidence(
    pages: Mapping[str, Sequence[str]] = PAGES, *, question: str = "", today: str = "2026-11-22"
) -> Evidence:
    records = {name: record(name, texts) for name, texts in pages.items()}
    for source, (name, facts) in CAFES.items():
        place = cast(Place, {"id": f"amap:{source}", "name": name, "source": source})
        records[source] = record(source, [f"{name} | {facts}"], place)
    return Evidence(records, question=question, today=today)


def only(sentence: str, known: Evidence | None = None) -> Finding:
    [finding] = check(sentence, known or evidence())
    return finding


@pytest.mark.parametrize(
    "sentence",
    [
        "It takes 45 minutes and costs CNY 5 [^w0-0].",
        "It is 330 m tall [^w0-1].",
        "It raised $300 million at a valuation of $5 billion [^w0-2].",
        "融资3亿美元[^w0-2]。",
        "星巴克(外滩店)：306米，人均40元，早上7点半开门[^a0-0]。",
        "The tower is about 0.33 km tall [^w0-1].",
        "The tower is nearly 350 m tall [^w0-1].",
    ],
)
def test_a_figure_that_its_source_has_is_never_marked(sentence: str) -> None:
    assert only(sentence).verdict in ("quoted", "doubtful")


@pytest.mark.parametrize(
    ("sentence", "figure"),
    [
        ("It takes 40 minutes [^w0-0].", "40 minutes"),
        ("At $25 per million a run costs about $0.01.", "$25"),
        ("打车费用一般约35-45元。", "35"),
        ("A walk of about 5 minutes [^a0-0].", "5 minutes"),
    ],
)
def test_an_invented_figure_is_marked_with_or_without_a_citation(
    sentence: str, figure: str
) -> None:
    finding = only(sentence)
    assert finding.verdict == "marked"
    assert finding.missing[0].text == figure


@pytest.mark.parametrize(
    "sentence",
    [
        "Line 2 is 10 minutes faster than Line 10 (55 - 45) [^w0-0].",
        "三人在星巴克(外滩店)约120元，人均¥40[^a0-0]。",
        "两杯咖啡和四份点心共320元（40×2+60×4）[^a0-0][^a0-2]。",
        "合计400元（(40+60)×4=400元）[^a0-0][^a0-2]。",
        "45 minutes are 82% of 55 minutes [^w0-0].",
    ],
)
def test_what_follows_from_cited_figures_counts_as_computed(sentence: str) -> None:
    assert only(sentence).verdict in ("computed", "doubtful")


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("Line 10 is 10 minutes slower [^w0-0].", "computed"),
        ("Line 2 takes 45 minutes, 82% [^w0-0].", "doubtful"),
        ("Line 10 is 12 minutes slower [^w0-0].", "marked"),
        ("Line 10 is 15 minutes slower: 55 minutes instead of 45 minutes [^w0-0].", "marked"),
    ],
)
def test_a_figure_computed_from_what_is_cited_alone_is_not_marked(
    sentence: str, verdict: str
) -> None:
    lines = {"w0-0": ["Line 2 takes 45 minutes and Line 10 takes 55 minutes."]}
    assert only(sentence, evidence(lines)).verdict == verdict


LINES = [
    "The guide calls metro line 2 the best way from the station to the Bund: "
    "about 45 minutes and CNY 5.",
    "Metro line 10 takes about 55 minutes with 15 stops and also costs CNY 5.",
    "A taxi takes about an hour and costs CNY 70–80.",
]


@pytest.mark.parametrize(
    "sentence",
    [
        "Take metro line 2: it takes about 45 minutes and costs CNY 5 [^w0-0].",
        "| Metro line 2 | about 45 min | CNY 5 [^w0-0] |",
        "It takes about 45 minutes by metro [^w0-0].",
        "The metro takes 45 minutes and costs CNY 5 [^w0-0].",
    ],
)
def test_figures_behind_a_colon_are_of_what_stands_before_it(sentence: str) -> None:
    assert only(sentence, evidence({"w0-0": LINES})).verdict == "quoted"
    moved = sentence.replace("45", "35")
    assert only(moved, evidence({"w0-0": LINES})).verdict == "marked"


@pytest.mark.parametrize(
    "sentence",
    [
        "I could not find a published figure for Zed's monthly active users in October 2026.",
        "No source measured exactly 10,000 users.",
        "For Seesaw Coffee, Donghai Coffee and The Press no hours were found.",
        "There is no published figure for 2026.",
        "Older interviews with Nathan Sobo give no user numbers.",
        "We were unable to verify the 150,000 figure.",
        "2026年10月的月活用户数没有公布。",
        "资料没有写雷峰塔2026年的票价。",
        "没有查到2026年的数据。",
    ],
)
def test_an_honest_sentence_about_what_was_not_found_states_no_fact(sentence: str) -> None:
    assert only(sentence).verdict == "own"


@pytest.mark.parametrize(
    "sentence",
    [
        "No database handles 200,000 users.",
        "I could not find a count, but 150,000 people use it.",
        "No data is lost within 350 ms.",
        "西湖没有超过370米的塔。",
        "**Advice:** buy the pass for €45 at the gate.",
        "建议：坐77路公交，票价3元。",
    ],
)
def test_a_denial_and_an_advice_with_an_invented_figure_are_marked(sentence: str) -> None:
    assert only(sentence).verdict == "marked"


@pytest.mark.parametrize(
    "sentence",
    [
        "**What to mind with SQLite**",
        "**Advice:** start with SQLite; take PostgreSQL for many concurrent writers.",
        "My advice: start with SQLite in WAL mode.",
        "建议：先用 SQLite，写多了再换 PostgreSQL。",
        "**Which to pick:** SQLite for one machine, PostgreSQL for several",
    ],
)
def test_labels_and_advice_without_figures_are_the_writer_s_own(sentence: str) -> None:
    finding = only(sentence, evidence({"w0-0": ["SQLite is for one machine, PostgreSQL not."]}))
    assert (finding.verdict, finding.attach) == ("own", ())


def test_a_comparison_of_sources_rests_on_all_of_them() -> None:
    pages = {
        "w0-0": ["One news site dates the donation to May 19, 2026."],
        "w0-1": ["It was donated in December 2025."],
    }
    sentence = "One site dates it to May 19, 2026 [^w0-0], but the other sources say December {}."
    assert only(sentence.format(2025), evidence(pages)).verdict == "quoted"
    assert only(sentence.format(2023), evidence(pages)).verdict == "marked"


def test_a_line_s_figure_under_another_line_s_number_is_marked() -> None:
    known = evidence({"w0-0": LINES})
    assert only("Metro line 10 takes 45 minutes [^w0-0].", known).verdict == "marked"
    assert only("Metro line 2 takes 55 minutes [^w0-0].", known).verdict == "marked"


@pytest.mark.parametrize(
    ("sentence", "marked"),
    [
        ("With three people a taxi is about CNY 27 each at most [^w0-0].", False),
        ("With three people a taxi is about CNY 35 each [^w0-0].", True),
        ("打车11.8公里，按起步价13元3公里、之后每公里2.5元估算约35元[^w0-1]。", False),
        ("打车11.8公里，按起步价13元3公里、之后每公里2.5元估算约55元[^w0-1]。", True),
    ],
)
def test_a_share_for_each_and_a_fare_by_a_tariff_are_computed(sentence: str, marked: bool) -> None:
    tariff = ["起步价13元（3公里），之后每公里2.5元。", "驾车11.8公里，28分钟。"]
    known = evidence({"w0-0": LINES, "w0-1": tariff})
    assert (only(sentence, known).verdict == "marked") is marked


def test_the_question_s_own_figures_are_terms_of_a_sum() -> None:
    known = evidence(question="四个人去，人均40元够吗")
    assert only("四个人、人均40元，共160元。", known).verdict != "marked"


def test_days_that_pass_are_no_days_of_a_month() -> None:
    known = evidence({"w0-0": ["预约可提前7天，每天8:00放号。"]})
    assert only("可提前7日预约[^w0-0]。", known).verdict != "marked"
    assert only("可提前9日预约[^w0-0]。", known).verdict == "marked"


def test_a_round_number_of_what_is_cited_is_doubtful_and_not_wrong() -> None:
    known = evidence({"w0-0": ["The Nile is 6,695 km long."]})
    assert only("The Nile is 6,700 km long [^w0-0].", known).verdict in ("quoted", "doubtful")
    assert only("The Nile is 6,500 km long [^w0-0].", known).verdict == "marked"


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        ("17% of 2,340 yuan is 397.80 yuan, for each of the four 99.45 yuan.", "computed"),
        ("17% of 2,340 yuan is 397.80 yuan, for each of the four 99.54 yuan.", "marked"),
        ("17% of 2,340 yuan is 387.80 yuan.", "marked"),
    ],
)
def test_a_sum_that_only_the_question_gives_is_calculated_again(answer: str, verdict: str) -> None:
    known = Evidence({}, question="17% of 2,340 yuan split among 4 people?")
    assert only(answer, known).verdict == verdict


def test_wrong_arithmetic_is_marked() -> None:
    assert only("Line 2 is 25 minutes faster (55 - 45) [^w0-0].").verdict == "marked"


PRICES = {
    "t0-0": ["Temporal: $25 per million actions, from $100 a month."],
    "t0-1": ["门票40元，船票55元。钠电0.47元/Wh，锂电0.44元/Wh。"],
}


@pytest.mark.parametrize(
    "sentence",
    [
        "Our estimate: 2 million × 3 actions × $25 per million = $150 a month.",
        "Our estimate: 2 million steps × 3 = 6 million actions, 6 × $25 + $100 = $250 [^t0-0].",
        "Our estimate: 2 million actions × $25 / 1 million actions = $50 a month.",
        "据此推算：门票40元×2人+船票55元×2人=190元[^t0-1]。",
        "据此推算：门票 40×2=80 元，船票 55×2=110 元，合计 190 元[^t0-1]。",
        "据此推算：(0.47 元/Wh − 0.44 元/Wh) ÷ 0.44 元/Wh ≈ 7%。",
    ],
)
def test_an_estimate_whose_calculation_is_shown_is_not_marked(sentence: str) -> None:
    known = evidence(PRICES, question="What does each cost for 2 million steps a month?")
    assert only(sentence, known).verdict == "computed"


@pytest.mark.parametrize(
    ("sentence", "missing"),
    [
        ("Our estimate: 400 actions × $25 / 1 million = $0.01 a run [^t0-0].", "400"),
        ("Our estimate: a run costs about $0.37.", "$0.37"),
        ("Our estimate: that will be 1 million dollars a year.", "1 million dollars"),
        ("据此推算：40元×2人+55元×2人=230元[^t0-1]。", "230元"),
        ("据此推算：每人合计 99 元。", "99 元"),
    ],
)
def test_an_estimate_cannot_bring_in_a_figure_from_memory(sentence: str, missing: str) -> None:
    finding = only(sentence, evidence(PRICES))
    assert finding.verdict == "marked"
    assert missing in [figure.text for figure in finding.missing]


def test_the_question_s_figures_and_today_s_are_known() -> None:
    known = evidence(question="What do 2 million steps cost?")
    assert only("For 2 million steps no price was found.", known).verdict == "own"
    assert only("2 million steps are what was asked.", known).verdict != "marked"
    assert only("Today is 22 November 2026.", known).verdict == "own"
    assert only("明天（11月23日周一）闭馆。", known).verdict == "own"


def test_days_of_a_journey_are_no_figures() -> None:
    assert only("第2天上午去散步。").verdict == "own"


def test_an_honest_not_found_is_not_marked_but_memory_beside_it_is() -> None:
    assert only("没有查到28、29日的预报，以及11月的票价。").verdict == "own"
    assert only("No price list dated 2019 was found.").verdict == "own"
    assert only("打车费用没有查到，一般约35-45元。").verdict == "marked"


def test_a_place_s_marker_that_is_another_place_s_is_matched_again() -> None:
    finding = only("**一坐一忘(三里屯店)**：943米，¥95，到22:00[^a0-0]。")
    assert finding.verdict == "rematched"
    assert [source for _, source in finding.cite] == ["a0-1"]


def test_a_marker_of_another_place_beside_the_right_one_goes() -> None:
    finding = only("**一坐一忘(三里屯店)**：943米，¥95[^a0-1][^a0-0]。")
    assert [source for _, source in finding.cite] == [None]


def test_a_place_that_only_says_from_where_does_not_move_a_marker() -> None:
    assert only("距故宫博物院约943米，¥95[^a0-1]。").cite == ()


def test_a_figure_of_another_place_is_marked_although_both_are_cited() -> None:
    finding = only("星巴克(外滩店)人均¥95，一坐一忘(三里屯店)人均¥40[^a0-0][^a0-1]。")
    assert finding.verdict == "marked"


def test_a_page_cited_for_what_another_says_gives_way_to_it() -> None:
    finding = only("The tower has been 330 m tall since March 2022 [^w0-0].")
    assert finding.verdict == "rematched"
    assert [source for _, source in finding.cite] == ["w0-1"]


def test_an_uncited_sentence_is_cited_where_one_source_bears_all_of_it() -> None:
    finding = only("The tower has been 330 m tall since March 2022.")
    assert (finding.verdict, finding.attach) == ("attached", ("w0-1",))


@pytest.mark.parametrize(
    ("sentence", "sources"),
    [
        ("Another option is the Maglev.", ()),
        ("The Maglev runs past Longyang Road.", ()),
        ("The Maglev runs 30 km.", ("w0-1",)),
    ],
)
def test_names_alone_give_a_sentence_no_source(sentence: str, sources: tuple[str, ...]) -> None:
    pages = {
        "w0-0": ["The bus is slow."],
        "w0-1": ["Another option is the Maglev: it runs 30 km to Longyang Road."],
    }
    assert only(sentence, evidence(pages)).attach == sources


@pytest.mark.parametrize(
    ("sentence", "verdict"),
    [
        ("喝咖啡首选星巴克(外滩店)，想吃云南菜可去一坐一忘(三里屯店)[^a0-0]。", "quoted"),
        ("For coffee try 星巴克(外滩店) [^a0-0].", "quoted"),
        ("不推荐星巴克(外滩店)[^a0-0]。", "doubtful"),
    ],
)
def test_places_picked_for_what_was_asked_are_no_doubtful_claim(
    sentence: str, verdict: str
) -> None:
    known = evidence(question="外滩喝咖啡，三里屯吃云南菜")
    assert only(sentence, known).verdict == verdict


def test_a_sentence_without_figures_and_names_is_never_given_a_source() -> None:
    assert only("It is a fine day for a walk along the water.").attach == ()


def test_memory_before_a_cited_sentence_is_not_covered_by_its_citation() -> None:
    first, second = check("It has 163 floors. It is 330 m tall [^w0-1].", evidence())
    assert first.verdict == "marked"
    assert second.verdict != "marked"


def test_a_name_in_another_script_is_doubtful_and_not_wrong() -> None:
    finding = only("Starbucks at the Bund opens at 7:30 am [^a0-0].")
    assert finding.verdict == "doubtful"


def test_a_negation_goes_to_the_model() -> None:
    assert only("The tower has not been 330 m tall since March 2022 [^w0-1].").doubt >= 4


def test_a_month_s_abbreviation_before_its_day_ends_no_sentence() -> None:
    text = "It came out on Oct. 2, 2023, before Nov. 12. It is open on Sun. Closed on Mon."
    assert [s.text for s in sentences(text, MARKED)] == [
        "It came out on Oct. 2, 2023, before Nov. 12.", "It is open on Sun.", "Closed on Mon.",
    ]  # fmt: skip


def test_headings_code_and_heads_of_tables_are_no_sentences() -> None:
    text = "# 9,999 things\n\n```\nx = 12345\n```\n\n| km | 777 |\n|---|---|\n| a | 45 minutes |\n"
    assert [s.text for s in sentences(text, MARKED)] == ["| a | 45 minutes |"]


def test_sentences_end_where_people_end_them() -> None:
    text = "- 门票60元。周一闭馆[^w0-0]。\n1. It is 3.5 km, i.e. far. Go by bus [^w0-0]. Fine."
    assert [s.text for s in sentences(text, MARKED)] == [
        "门票60元。", "周一闭馆[^w0-0]。", "It is 3.5 km, i.e. far.", "Go by bus [^w0-0].", "Fine.",
    ]  # fmt: skip


def source(name: str, url: str) -> Source:
    return Source(id=name, kind="page", title=name, url=url, provider="x", quotes=[])


def test_numbered_links_are_read_and_a_new_source_gets_the_next_number() -> None:
    first, second = source("w0-0", "https://a.example/"), source("w0-1", "https://b.example/")
    notation = numbered([first], {"w0-0": first, "w0-1": second})
    [sentence] = sentences("Fine[1](https://a.example/).", notation)
    assert sentence.cited == ("w0-0",)
    assert notation.write("w0-1") == "[2](https://b.example/)"


@pytest.mark.parametrize(
    "sentence",
    [
        "星巴克(外滩店)[^a0-0]距您306米，人均¥40；一坐一忘(三里屯店)[^a0-1]943米，评分4.5。",
        "星巴克(外滩店)[^a0-0], 306 m away, rated 4.4; and 一坐一忘(三里屯店)[^a0-1], 943 m away.",
    ],
)
def test_figures_after_the_citation_of_their_place_are_not_those_of_the_next_one(
    sentence: str,
) -> None:
    assert only(sentence).verdict in ("quoted", "doubtful")


def test_figures_that_two_citations_swap_are_marked() -> None:
    swapped = "星巴克(外滩店)[^a0-0]距您943米；一坐一忘(三里屯店)[^a0-1]306米。"
    assert only(swapped).verdict == "marked"
    assert only("It takes 55 minutes[^w0-0], the tower is 45 m tall[^w0-1].").verdict == "marked"


def test_the_labelled_set_is_checked_with_hardly_a_false_mark() -> None:
    pairs = load()
    precision, recall, false_marks = measured(rules, pairs)
    assert precision >= 0.95
    assert recall >= 0.55
    assert false_marks <= 0.03
    assert measured(rules_and_call, pairs)[1] >= 0.95


def test_sentences_that_the_rules_were_not_written_for_are_hardly_marked_falsely() -> None:
    pairs = load_held_out()
    precision, recall, false_marks = measured(rules, pairs)
    assert precision >= 0.95
    assert recall >= 0.6
    assert false_marks <= 0.03


PIECES = [
    *(
        "游船56元",
        "55元",
        "$25",
        "15%",
        "9:00",
        "6.39 km²",
        "2026年11月2日",
        "20–31元",
        "１５％",
        "(2+3)×4=",
    ),
    *(
        "[^w0-0]",
        "[^w0-1]",
        "[^x1-1]",
        "[w0-0]",
        "【^w0-0】",
        "[",
        "]",
        "[^",
        "`77元`",
        "”",
        "| a |",
        "**",
    ),
    *(
        "。",
        ".",
        "！",
        "? ",
        ". ",
        "\n",
        "\n# ",
        "\n1. ",
        "，",
        " ",
        "的",
        "a",
        "…",
        "3",
        "星巴克(外滩店)",
    ),
    *("x" * 700, "12345 " * 150, "没有查到", "Peace Hotel", "\n|---|\n", "```\n", "±", "/0"),
]


def test_any_text_is_checked_and_none_of_it_is_lost() -> None:
    pick, known = random.Random(0), evidence()
    for _ in range(100):
        text = "".join(pick.choice(PIECES) for _ in range(pick.randrange(25)))
        findings = check(text, known)
        untouched = [replace(f, verdict="quoted", cite=(), attach=(), text=None) for f in findings]
        assert "".join(part.text for part in corrected(text, untouched, MARKED)) == text
        marked = "".join(part.text for part in corrected(text, findings, MARKED))
        assert marked.count(MARK) == sum(f.verdict == "marked" for f in findings), text


@pytest.mark.parametrize(
    "unit", ["x", "1 ", "1,", "[^w0-0]", "[", "。", "9年", "20-", "A b ", "1+", "约3米", "no "]
)
def test_the_time_of_a_check_grows_with_the_length_only(unit: str) -> None:
    known = evidence()

    def of(length: int) -> Callable[[], object]:
        return lambda: check(unit * (length // len(unit)), known)

    assert takes_less(of(80_000), 40 * max(least_seconds(of(10_000)), 0.01))


SUBJECTS = "market price engine storage river tower museum station energy patent"


def prose(pick: random.Random) -> str:
    """Return a sentence with two figures, as pages have them."""
    some = [pick.choice(SUBJECTS.split()) for _ in range(12)]
    some[3:3] = [f"{pick.randint(1, 9999)} km", f"{pick.randint(1, 99)}.{pick.randint(0, 9)}%"]
    return f"The {' '.join(some)} since {pick.randint(1950, 2026)}."


def a_check(kilobytes: int, count: int) -> Callable[[], object]:
    """Return a check of so many sentences over so much evidence."""
    pick = random.Random(7)
    written = [prose(pick) for _ in range(kilobytes * 8)]
    known = evidence({f"t0-{n}": [" ".join(written[n::8])] for n in range(8)})
    text = " ".join(
        f"{(pick.choice(written) if n % 3 else prose(pick))[:-1]} [^t0-{n % 8}]."
        for n in range(count)
    )

    def checked() -> None:
        assert len(check(text, known)) == count

    return checked


def test_the_time_of_a_check_grows_with_the_evidence_and_the_sentences_only() -> None:
    base = max(least_seconds(a_check(10, 12)), 0.005)
    assert takes_less(a_check(80, 12), 16 * base)
    assert takes_less(a_check(10, 96), 16 * base)


async def test_rules_that_take_too_long_leave_the_text_as_it_was_written(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    release = threading.Event()
    monkeypatch.setattr(claims, "check", lambda *_: release.wait(10) and [])
    body = "It takes 40 minutes."
    slow = claims.ClaimCheck(body, [], {}, evidence(), "en")
    await slow.decide(seconds=0.01)
    release.set()
    assert slow.finished(body, {}).text == f"{body}\n\n{say('answer.not_checked', 'en')}"
    assert slow.finished(body, {}).counts["total"] == 0


async def test_the_rules_run_beside_the_event_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    threads: list[int] = []

    def noted(*arguments: Any) -> list[Finding]:
        threads.append(threading.get_ident())
        return check(*arguments)

    monkeypatch.setattr(claims, "check", noted)
    beside = claims.ClaimCheck("It takes 40 minutes.", [], {}, evidence(), "en")
    await beside.decide(seconds=10)
    assert threads != [threading.get_ident()]
    assert beside.finished(beside.body, {}).counts["marked"] == 1


def test_a_calculation_s_result_is_known_with_the_unit_it_is_told_in() -> None:
    known = Evidence({}, question="有多远？", known=["6.069553407743722"])
    texts = ["按两站坐标算出是6.0696公里。", "The distance comes to 6.07 km.", "相距6.1696公里。"]
    assert [only(text, known).verdict for text in texts] == ["own", "own", "marked"]


def test_the_user_s_words_and_what_the_last_answer_cited_are_known() -> None:
    answer = "门票60元[1](https://a.example/)。打车约45元†。"
    words = known_words(
        [HumanMessage("四个人去，预算900元"), AIMessage(answer), HumanMessage("再远一点呢")]
    )
    known = Evidence({}, known=words)
    for sentence in ("预算900元以内。", "前面说门票60元。"):
        assert only(sentence, known).verdict != "marked"
    assert only("打车约45元。", known).verdict == "marked"
