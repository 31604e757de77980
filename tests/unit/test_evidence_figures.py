"""Figures are found in a source whatever way they are written."""

import pytest

from agent.evidence.figures import Figure, figures, same


def telling_figures(text: str) -> list[Figure]:
    return [figure for figure in figures(text) if figure.telling]


def missing_in(sentence: str, texts: list[str]) -> list[str]:
    known = [figure for text in texts for figure in figures(text)]
    return [f.text for f in telling_figures(sentence) if not any(same(f, one) for one in known)]


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
        ("open until 8:00 pm", "周一至周日 07:30-20:00"),
        ("晚上8点还开着", "周一至周日 07:30-20:00"),
        ("晚上去的话，8点还开着", "周一至周日 07:30-20:00"),
        ("下午2点到5点", "14:00-17:00"),
        ("from 9 am to 5:30", "9:00-17:30"),
        ("2:00–5:00 pm", "14:00-17:00"),
        ("8:30 in the evening", "20:30"),
        ("中午12点半", "12:30"),
        ("晚上12点关门", "10:00-24:00"),
        ("开到20:00", "open until 8 o'clock, 8:00"),
        ("7:30 in the morning", "07:30-22:00"),
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
        ("25.03.1940", "born on March 25, 1940"),
        ("13/4/2007", "13 April 2007"),
        ("4/13/2007.", "2007-04-13"),
        ("574.8 km/h", "reached 574,8 km/h (375 mph)"),
        ("2.1 GW", "Die Leistung beträgt 2,1 Gigawatt."),
        ("3,600 m", "Der Tunnel ist 3.600 Meter lang."),
        ("2.2 billion euros", "Es kostete 2,2 Milliarden Euro."),
        ("3.35 million km²", "an area of 3,349,000 sq km"),
    ],
)
def test_a_figure_written_differently_is_found(sentence: str, source: str) -> None:
    assert missing_in(sentence, ["something else 77", source]) == []


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
        ("开到8:00", "周一至周日 07:30-20:00", ["8:00"]),
        ("上午8点有表演", "20:00 表演", ["8点"]),
        ("open until 8 am", "8:00 pm", ["8 am"]),
        ("9:00-21:00", "9 am to 9 am", ["21:00"]),
        ("about 3 million", "3 thousand", ["3 million"]),
        ("1080 lines and 3.5", "nothing", ["1080", "3.5"]),
        ("20–30元", "20元", ["30元"]),
        ("40元", "", ["40元"]),
    ],
)
def test_a_figure_that_no_source_has_is_told(
    sentence: str, source: str, missing: list[str]
) -> None:
    assert missing_in(sentence, [source]) == missing


@pytest.mark.parametrize(
    "sentence",
    [
        "There are 3 ways and 12 stops.",
        "GCJ-02 and WGS-84 differ, so do GPT-4 and v1.2.3.",
        "1. 乘1号线，2 个出口。",
        "See https://a.invalid/2031/77777?x=8888.",
        "10³ 与 ①。",
    ],
)
def test_counts_names_links_and_code_are_no_figures(sentence: str) -> None:
    assert telling_figures(sentence) == []
