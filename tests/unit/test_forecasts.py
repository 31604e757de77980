"""Which forecasts and which of their days stand below an answer."""

from agent.evidence.records import record_sections
from tests.unit.test_record_lines import weather


def test_a_forecast_that_was_asked_for_twice_is_told_once_and_not_below_a_text_that_cites_it() -> (
    None
):
    first, again = weather(("2026-11-22", "晴")), weather(("2026-11-22", "晴"))
    first["city"], again["source"] = "杭州", "a9-0"
    (section,) = record_sections([], [first, again], "zh")
    assert section.count("°C") == 1
    told = {"cited": [first["source"]], "text": "周日晴，最高 20 度。"}
    assert record_sections([], [first, again], "zh", **told) == []
    silent = {**told, "text": "周日天气不错。"}
    assert record_sections([], [first, again], "zh", **silent) != [], "it is cited and not told"


def test_one_town_by_two_names_is_told_once_and_a_day_out_of_reach_in_a_sentence() -> None:
    """Two tables of seven days stood below a report, for days that nobody had asked about."""
    rows = ("2026-11-22", "晴"), ("2026-11-23", "小雨")
    first, again = weather(*rows), weather(*rows)
    first["city"], again["city"], again["source"] = "Helsinki", "Senate Square", "a9-0"
    (section,) = record_sections([], [first, again], "en")
    assert section.count("°C") == 2
    (beyond,) = record_sections([], [first, again], "en", days=["2026-12-12", "2026-12-13"])
    assert "°C" not in beyond
    assert beyond.endswith(
        "- Helsinki: the forecast does not reach 2026-12-12 Sat, 2026-12-13 Sun [^m1]"
    )
