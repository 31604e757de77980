"""What a sentence says of opening hours is held against the records of the places."""

from typing import cast

import pytest

from agent.evidence.claims.check import Finding, check
from agent.evidence.claims.evidence import Evidence, record
from agent.evidence.types import Place

HOURS = {
    "a0-0": ("星巴克(外滩店)", "07:30-22:00", "daily 07:30–22:00"),
    "a0-1": ("Manner Coffee(南京东路店)", "周一至周日 07:30-20:00", "daily 07:30–20:00"),
    "a0-2": ("中国妇女儿童博物馆", "周二至周日 09:00-17:00", "周二至周日 09:00-17:00"),
    "a0-3": ("中国国家博物馆", "周二至周日 09:00-17:00", "周二至周日 09:00-17:00"),
    "a0-4": ("Seesaw Coffee(外滩店)", "", ""),
}


def evidence(today: str = "2026-11-23") -> Evidence:
    """Return records of places with hours; the day is a Monday."""
    records = {"w0-0": record("w0-0", ["The museum is closed on Fridays in winter."])}
    for source, (name, hours, shown) in HOURS.items():
        place = {"id": f"amap:{source}", "name": name, "source": source, "open_time": hours}
        records[source] = record(source, [f"{name} | {shown}"], cast(Place, place))
    return Evidence(records, question="周六晚上8点哪家开着？", today=today)


def only(sentence: str) -> Finding:
    [finding] = check(sentence, evidence())
    return finding


@pytest.mark.parametrize(
    "sentence",
    [
        "Manner Coffee(南京东路店) is open until 8 pm, so you can still get in at 20:00 [^a0-1].",
        "Manner Coffee(南京东路店) is open at 8 pm on Saturday [^a0-1].",
        "Manner Coffee(南京东路店) is still open at 20:00.",
        "星巴克(外滩店) is closed at 8 pm [^a0-0].",
        "Manner Coffee(南京东路店)晚上8点还开着[^a0-1]。",
        "周六20:00以后Manner Coffee(南京东路店)仍营业[^a0-1]。",
        "中国妇女儿童博物馆周一也开放[^a0-2]。",
        "中国妇女儿童博物馆周二闭馆[^a0-2]。",
        "中国妇女儿童博物馆今天照常开放[^a0-2]。",
        "中国妇女儿童博物馆 is closed on Wednesdays [^a0-2].",
    ],
)
def test_a_false_conclusion_from_opening_hours_is_contradicted_by_the_record(
    sentence: str,
) -> None:
    finding = only(sentence)
    assert (finding.verdict, finding.contradicted) == ("marked", True)
    assert finding.quote is not None
    assert finding.quote.figures


@pytest.mark.parametrize(
    "sentence",
    [
        "今天是周一，中国妇女儿童博物馆、中国国家博物馆都不开放，建议改天去[^a0-2][^a0-3]。",
        "中国妇女儿童博物馆周一闭馆[^a0-2]。",
        "中国妇女儿童博物馆今天闭馆，明天开放[^a0-2]。",
        "中国妇女儿童博物馆 is closed on Mondays [^a0-2].",
        "At 20:00 Manner Coffee(南京东路店) is closed [^a0-1].",
        "星巴克(外滩店)晚上9点半还营业[^a0-0]。",
    ],
)
def test_what_follows_from_opening_hours_is_not_even_doubtful(sentence: str) -> None:
    assert only(sentence).verdict == "quoted"


@pytest.mark.parametrize(
    "sentence",
    [
        "星巴克(外滩店)晚上8点还开着[^a0-0]。",
        "星巴克(外滩店) is open at 8 pm on Saturday [^a0-0].",
        "Manner Coffee(南京东路店) is open daily from 07:30 until it closes at 20:00 [^a0-1].",
        "Manner Coffee(南京东路店)：07:30-20:00营业[^a0-1]。",
        "Manner Coffee(南京东路店)每天07:30开门，20:00打烊[^a0-1]。",
        "Manner Coffee(南京东路店)20:00后不营业[^a0-1]。",
        "中国妇女儿童博物馆周二至周日09:00-17:00开放[^a0-2]。",
        "Seesaw Coffee(外滩店)20:00后是否营业不清楚[^a0-4]。",
        "Seesaw Coffee(外滩店) is open at 20:00 [^a0-4].",
        "中国妇女儿童博物馆周六晚上不开放[^a0-2]。",
        "The museum (中国妇女儿童博物馆) is closed on Fridays in winter [^w0-0].",
        "Check whether 中国妇女儿童博物馆 is open on Monday [^a0-2].",
        "周六去不关门的星巴克(外滩店)[^a0-0]。",
        "星巴克(外滩店) never closes on Saturdays [^a0-0].",
        "星巴克(外滩店) doesn't close on Saturdays [^a0-0].",
    ],
)
def test_a_true_or_unknown_statement_about_hours_is_not_marked(sentence: str) -> None:
    assert only(sentence).verdict in ("quoted", "doubtful")
