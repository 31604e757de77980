"""Answers and places for the tests of exports and of the command line."""

from typing import Any

from agent.evidence.geo import gcj02_to_wgs84
from agent.evidence.types import Location, Place, Point, Source
from agent.export.finished import FinishedAnswer

HOSTILE = "<img src=x onerror=alert(1)>"
NOTICE = "示例模式：以下全部来自程序自带的示例数据"
ANSWER = f"""> {NOTICE}

**步行街两侧**适合带孩子[1](https://example.com/a)，雨天去室内[2](https://uri.amap.com/marker?poiid=B1)。

**没有查到的**
- 停车场价格

**来源**

1. [遛娃指南](https://example.com/a)
2. [儿童乐园](https://uri.amap.com/marker?poiid=B1)"""


def place(number: int = 1, name: str = "儿童乐园", **changed: Any) -> Place:
    """A place near 王府井, a little further north for each number."""
    lng, lat = 116.4115, 39.9130 + number / 500
    wgs84 = gcj02_to_wgs84(lng, lat)
    made = Place(
        id=f"amap:B{number}",
        name=name,
        location=Location(lng=lng, lat=lat, crs="GCJ-02"),
        wgs84=Point(lng=wgs84[0], lat=wgs84[1]),
        address="王府井大街138号",
        category="亲子乐园",
        district="东城区",
        city="北京",
        distance_m=number * 220,
        distance_from="王府井",
        rating=4.6,
        cost=88.0,
        open_time="10:00-22:00",
        photo=None,
        url=f"https://uri.amap.com/marker?poiid=B{number}",
        source="a0-0",
        mentioned=True,
        keywords=["亲子乐园"],
        detailed=True,
        fetched_at="2026-11-21T11:40:00+00:00",
    )
    return Place(**{**made, **changed})  # type: ignore[typeddict-item]


def source(number: int = 1, url: str = "https://example.com/a", title: str = "遛娃指南") -> Source:
    return Source(
        id=f"w0-{number}", kind="page", title=title, url=url, provider="google",
        quotes=["步行街两侧适合带孩子"], number=number,
    )  # fmt: skip


def answer(**changed: Any) -> FinishedAnswer:
    given: dict[str, Any] = {
        "question": "王府井附近适合遛娃的好去处",
        "answer": ANSWER,
        "language": "zh",
        "generated_at": "2026-11-21T11:41:00+00:00",
        "sources": [source(), source(2, "https://uri.amap.com/marker?poiid=B1", "儿童乐园")],
        "places": [place(1), place(2, "书店", mentioned=False)],
        "notice": NOTICE,
    }
    return FinishedAnswer(**(given | changed))
