"""Figures of a report that no cited source has are marked, whatever way they are written."""

import random
import time

import pytest

from agent.evidence.figures import FigureMarker, unverified_figures
from agent.texts.language import Language

ZH, EN = "（未在来源中核实）", " (not found in the source)"
TEXTS = {
    "t0-0": "游船每人55元，9:00-17:00 营业，约需30分钟。2026年11月1日起执行，湖面6.38平方公里。",
    "t0-1": "A ticket costs $20–30. Open since 12 May 1999; 1,234 visitors, 15% more than in 1998.",
}


def marked(text: str, language: Language = "zh") -> tuple[str, int]:
    marker = FigureMarker(TEXTS, language)
    return marker.feed(text) + marker.flush(), marker.marked


@pytest.mark.parametrize(
    ("sentence", "source"),
    [
        ("票价1234元", "票价 ¥1,234"),
        ("票价￥４０", "每人40元"),
        ("costs 40 yuan", "票价40元"),
        ("客流3万人", "30,000 人"),
        ("1.2亿", "120 million"),
        ("占 15%", "15 percent of all"),
        ("占百分之15", "15％"),
        ("约 1.5 公里", "1500米"),
        ("步行90分钟", "1.5小时"),
        ("a 90-minute walk", "步行90分钟"),
        ("3 months", "三个月，即3个月"),
        ("9点到17点半", "9:00-17:30"),
        ("from 9 am to 5:30 pm", "开放时间 9：00–17：30"),
        ("2026年11月20日", "Published 2026-11-20"),
        ("11月20日", "20 November 2026"),
        ("on May 3, 2025", "3rd of May 2025"),
        ("2026年", "since 2026"),
        ("since 2026", "2026年3月起"),
        ("20元到30元", "20–30元"),
        ("$20 or $30", "$20-30"),
        ("20℃", "20 degrees"),
        ("成人40元", "| 成人 | 40 | 儿童 | 20 |"),
        ("人均80元", "人均80起"),
        ("18th century", "18世纪"),
    ],
)
def test_a_figure_written_differently_is_found(sentence: str, source: str) -> None:
    assert unverified_figures(sentence, ["something else 77", source]) == []


@pytest.mark.parametrize(
    ("sentence", "source", "missing"),
    [
        ("票价45元", "票价40元", ["45元"]),
        ("票价45元", "45分钟", ["45元"]),
        ("15% of them", "15 people", ["15%"]),
        ("共100，200人", "100200人", ["100", "200人"]),
        ("2026年11月21日", "2026年11月20日", ["2026年11月21日"]),
        ("12月起", "2026年11月20日", ["12月"]),
        ("开到18:00", "17:00", ["18:00"]),
        ("about 3 million", "3 thousand", ["3 million"]),
        ("1080 lines and 3.5", "nothing", ["1080", "3.5"]),
        ("20–30元", "20元", ["30元"]),
        ("40元", "", ["40元"]),
    ],
)
def test_a_figure_that_no_source_has_is_told(
    sentence: str, source: str, missing: list[str]
) -> None:
    assert unverified_figures(sentence, [source]) == missing


@pytest.mark.parametrize(
    "sentence",
    [
        "There are 3 ways and 12 stops[^t0-1].",
        "GCJ-02 and WGS-84 differ, so do GPT-4 and v1.2.3[^t0-1].",
        "1. 乘1号线，2 个出口[^t0-1]。",
        "See https://a.invalid/2031/77777?x=8888 and `4321`[^t0-1].",
        "10³ 与 ①[^t0-1]。",
    ],
)
def test_counts_names_links_and_code_are_no_figures(sentence: str) -> None:
    assert marked(sentence) == (sentence, 0)


def test_the_mark_stands_behind_the_figure_and_before_the_marker() -> None:
    text, count = marked("游船56元[^t0-0]，另收**10元**。[^t0-0]\n")
    assert text == f"游船56元{ZH}[^t0-0]，另收**10元{ZH}**。[^t0-0]\n"
    assert count == 2


def test_the_mark_is_in_the_language_of_the_report() -> None:
    assert marked("It costs $25.[^t0-1]", "en") == (f"It costs $25{EN}.[^t0-1]", 1)


def test_a_range_that_is_missing_is_marked_once_at_its_end() -> None:
    assert marked("约40–50分钟[^t0-0]。") == (f"约40–50分钟{ZH}[^t0-0]。", 2)


def test_headings_and_sentences_without_a_known_source_pass() -> None:
    text = "# 99元的报告？88元[^t0-0]\n约99元。下一句98元[^x9-9]。\n  ## 97元[^t0-0]\n"
    assert marked(text) == (text, 0)


def test_any_of_several_cited_sources_may_have_the_figure() -> None:
    text = "55元，$20[^t0-0][^t0-1]。"
    assert marked(text) == (text, 0)
    assert marked("55元[^t0-1]。")[1] == 1


@pytest.mark.parametrize("marker", ["[t0-0]", "【^t0-0】", "[^t0-1, t0-0]", " [^t0-0]"])
def test_spellings_of_a_marker_count_as_citations(marker: str) -> None:
    assert marked(f"游船56元。{marker}")[1] == 1


def test_a_decimal_point_or_an_abbreviation_ends_no_sentence() -> None:
    assert marked("The lake has 6.38 km² [^t0-0].") == ("The lake has 6.38 km² [^t0-0].", 0)
    assert marked("It has 6.39 km² [^t0-0].")[1] == 1


def test_a_sentence_is_held_until_what_follows_it_is_known() -> None:
    marker = FigureMarker(TEXTS, "zh")
    assert marker.feed("第一句。第二句56元。") == "第一句。"
    assert marker.feed("[^t0") == ""
    assert marker.feed("-0]第三") == f"第二句56元{ZH}。[^t0-0]"
    assert marker.flush() == "第三"


PIECES = [
    *("游船56元", "55元", "$25", "15%", "9:00", "6.39 km²", "2026年11月2日", "20–31元", "１５％"),
    *("[^t0-0]", "[^t0-1]", "[^x1-1]", "[t0-0]", "【^t0-0】", "[", "]", "[^", "`77元`", "”"),
    *("。", ".", "！", "? ", ". ", "\n", "\n# ", "\n1. ", "，", " ", "的", "a", "…", "3", "0"),
    *("x" * 700, "12345 " * 150),
]


def composed(seed: int) -> str:
    pick = random.Random(seed)
    return "".join(pick.choice(PIECES) for _ in range(pick.randrange(30)))


def streamed(text: str, seed: int, largest: int) -> tuple[str, int]:
    pick, marker, out, at = random.Random(seed), FigureMarker(TEXTS, "zh"), list[str](), 0
    while at < len(text):
        step = pick.randint(1, largest)
        out.append(marker.feed(text[at : at + step]))
        at += step
    return "".join(out) + marker.flush(), marker.marked


@pytest.mark.parametrize("seed", range(300))
def test_splitting_the_stream_anywhere_changes_nothing_and_only_marks_are_added(seed: int) -> None:
    text = composed(seed)
    whole = marked(text)
    assert whole[0].replace(ZH, "") == text
    assert streamed(text, seed, 1) == whole
    assert streamed(text, seed, 40) == whole


def test_any_text_goes_through_whole() -> None:
    pick = random.Random(1)
    for _ in range(500):
        text = "".join(chr(pick.choice([pick.randrange(1, 0x300), pick.randrange(0x2000, 0xD7FF)]))
                       for _ in range(pick.randrange(80)))  # fmt: skip
        for cited in (text, f"{text}[^t0-0]。"):
            assert marked(cited)[0].replace(ZH, "") == cited


@pytest.mark.parametrize(
    "unit",
    ["x", "1", "1,", "[^t0-0]", "[", "。", "。[", ". ", "9年", "20-", "May ", "1 ", "`", "w."],
)
def test_the_time_grows_with_the_length_only(unit: str) -> None:
    def seconds(length: int) -> float:
        text = unit * (length // len(unit))
        marker, began = FigureMarker(TEXTS, "en"), time.thread_time()
        for at in range(0, len(text), 7):
            marker.feed(text[at : at + 7])
        marker.flush()
        return time.thread_time() - began

    seconds(1000)
    assert seconds(160_000) < 40 * max(seconds(20_000), 0.005)


def test_a_source_of_50_kb_is_read_once_and_quickly() -> None:
    words = random.Random(7)
    page = " ".join(f"{words.randint(1, 9999)} 元" for _ in range(7_000))
    marker, began = FigureMarker({"t0-0": page}, "zh"), time.thread_time()
    for number in range(200):
        marker.feed(f"价格{number}元[^t0-0]。")
    assert time.thread_time() - began < 3
