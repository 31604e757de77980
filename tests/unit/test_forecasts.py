"""Which forecasts and which of their days stand below an answer."""

from agent.assistants.common.gaps import forecast_gaps, gap_lines, reader_note
from agent.evidence.records import attribution, record_sections
from agent.evidence.types import Source
from tests.unit.export_samples import place
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


def test_one_town_by_two_names_is_told_once_and_a_day_out_of_reach_beside_one_in_it() -> None:
    """Two tables of seven days stood below a report, for days that nobody had asked about."""
    rows = ("2026-11-22", "晴"), ("2026-11-23", "小雨")
    first, again = weather(*rows), weather(*rows)
    first["city"], again["city"], again["source"] = "Helsinki", "Senate Square", "a9-0"
    (section,) = record_sections([], [first, again], "en")
    assert section.count("°C") == 2
    (partly,) = record_sections([], [first, again], "en", days=["2026-11-23", "2026-12-12"])
    assert partly.count("°C") == 1
    assert partly.endswith("Helsinki: the forecast does not reach 2026-12-12 Sat [^m1]")


def test_a_forecast_that_does_not_reach_the_day_is_a_gap_and_no_source() -> None:
    """ "Beijing: the forecast does not reach Saturday [7]" stood below an answer that said it."""
    forecast, days = weather(("2026-11-22", "晴")), ["2026-12-12", "2026-12-13"]
    assert record_sections([], [forecast], "zh", days=days) == []
    (gap,) = forecast_gaps([forecast], days, "zh")
    assert (gap["code"], gap["message"]) == (
        "map_forecast_short", "杭州市：预报中没有 2026-12-12 周六，2026-12-13 周日",
    )  # fmt: skip
    assert not gap_lines([gap], "zh"), "a model reads it with the forecasts"
    assert gap["message"] in reader_note([gap], "周日去公园。", "zh")
    elsewhere = "周日去公园。门票价格没有查到。"
    assert gap["message"] in reader_note([gap], elsewhere, "zh"), "it tells of something else"
    assert not reader_note([gap], "周日去公园。杭州市 2026-12-13 周日的预报没有查到。", "zh")
    assert not forecast_gaps([forecast], ["2026-11-22"], "zh")


def test_a_forecast_that_is_cited_of_an_earlier_turn_keeps_its_credit() -> None:
    cited = Source(id="p0-4", kind="place", title="Weather", url="", provider="Open-Meteo")
    line = attribution([place(1, "Zetor")], [], [], "en", cited=[cited, cited])
    assert line.count("Open-Meteo (CC BY 4.0)") == 1
    assert "Open-Meteo" not in attribution([place(1, "Zetor")], [], [], "en")
