"""Records as lines: lengths and times as people read them, days by their names."""

import pytest

from agent.assistants.common.records import weather_texts
from agent.evidence.geo import distance_text, duration_text
from agent.evidence.types import Weather, WeatherDay
from agent.texts.language import Language


@pytest.mark.parametrize(
    ("metres", "seconds", "said"),
    [(320, 40, "320 m, 1 min"), (2440, 1400, "2.4 km, 23 min"), (None, None, ", ")],
)
def test_a_way_is_told_in_metres_or_kilometres_and_minutes(
    metres: int | None, seconds: int | None, said: str
) -> None:
    assert f"{distance_text(metres)}, {duration_text(seconds, 'en')}" == said


@pytest.mark.parametrize(
    ("date", "language", "shown"),
    [
        ("2026-11-21", "zh", "杭州 2026-11-21 周六 · 晴"),
        ("2026-11-22", "en", "杭州 2026-11-22 Sun · 晴"),
        ("tomorrow", "en", "杭州 tomorrow · 晴"),
    ],
)
def test_a_forecast_names_the_day_of_the_week(date: str, language: Language, shown: str) -> None:
    day = WeatherDay(date=date, day="晴", night="晴", low_c=None, high_c=None, wind=None)
    weather = Weather(id="w", city="杭州", days=[day], source="m1", fetched_at="")
    assert weather_texts(weather, language) == [shown]
