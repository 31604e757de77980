"""A place's clock: by where it is, all of China's being one."""

from datetime import UTC, date, datetime
from typing import Any

import pytest

from agent.evidence import zones
from agent.evidence.types import Location
from agent.evidence.zones import CHINA, day_there, sunset, zone_at, zone_named, zone_of
from tests.support.rows import by_examples
from tests.unit.export_samples import place


def at(lng: float, lat: float, crs: Any = "WGS-84") -> Any:
    return {**place(1), "wgs84": {"lng": lng, "lat": lat},
            "location": Location(lng=lng, lat=lat, crs=crs)}  # fmt: skip


@by_examples
def test_a_position_is_in_the_zone_of_its_country(lng: float, lat: float, name: str) -> None:
    assert str(zone_at({"lng": lng, "lat": lat})) == name


def test_a_place_is_on_chinas_clock_in_all_of_china() -> None:
    assert zone_of(at(87.62, 43.79)) is CHINA
    assert zone_of(at(87.62, 43.79, "GCJ-02")) is CHINA
    assert str(zone_of(at(135.77, 35.01))) == "Asia/Tokyo"


def test_a_place_of_amaps_in_taiwan_has_its_clock_without_the_borders_of_zones(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(zones.tzfpy, "get_tz", lambda lng, lat: pytest.fail("borders were loaded"))
    assert str(zone_of(at(121.565, 25.034))) == "Asia/Taipei"


def test_a_day_begins_where_the_place_is() -> None:
    moment = datetime(2026, 11, 28, 17, 30, tzinfo=UTC).timestamp()
    days = [day_there(moment, zone_named(name)) for name in ("America/Los_Angeles", "Asia/Tokyo")]
    assert [*days, day_there(moment, CHINA)] == ["2026-11-28", "2026-11-29", "2026-11-29"]


def test_the_sun_sets_by_the_clock_of_the_place_and_its_summer_time() -> None:
    """Held against almanacs, to five minutes."""
    autumn, summer = date(2026, 11, 28), date(2026, 6, 21)
    for there, day, hour, minute in (
        (at(120.15, 30.25), autumn, 16, 58),
        (at(116.4, 39.9), summer, 19, 46),
        (at(13.4, 52.5), summer, 21, 33),
        (at(151.2, -33.87), summer, 16, 54),
    ):
        assert abs(sunset(there, day) - (60 * hour + minute)) <= 5
    assert sunset(at(18.95, 69.65), summer) > sunset(at(18.95, 69.65), autumn)
