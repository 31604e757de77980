"""Hold what a reader demands of web pages: how new they are, and of which sites."""

import time
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlsplit

from agent.configuration import Configuration
from agent.evidence.days import real_day
from agent.evidence.figures import figures

DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
"""How far back each word reaches, in days."""


@dataclass(frozen=True)
class SearchRules:
    """Hold the rules of one run; the empty ones allow every page."""

    since: str = ""
    """`day`, `week`, `month`, `year`, or the ISO date of the oldest pages."""
    sites: tuple[str, ...] = ()
    """Only pages of these domains and those below them; `gov` is all of `*.gov`."""
    without: tuple[str, ...] = ()
    """No pages of these."""

    def __bool__(self) -> bool:
        """Return whether there is any rule."""
        return bool(self.since or self.sites or self.without)

    def allows(self, host: str) -> bool:
        """Return whether a page of this host may be used."""
        if _within(host, self.without):
            return False
        return not self.sites or _within(host, self.sites)

    def allows_page(self, url: str) -> bool:
        """Return whether a page of this address may be used."""
        try:
            return self.allows(urlsplit(url).hostname or "")
        except ValueError:
            return False

    def is_too_old(self, published: str | None, today: str) -> bool:
        """Return whether a page's date is before that of the rule; what is no date is not."""
        day = published_on(published, today) if self.since else None
        return day is not None and day < date.fromisoformat(self.first_day(today))

    def first_day(self, today: str) -> str:
        """Return the ISO date of the oldest pages, counted back from `today`; empty without one."""
        if self.since not in DAYS:
            return self.since
        begin = date.fromisoformat(today[:10]) - timedelta(days=DAYS[self.since])
        return begin.isoformat()

    def operators(self) -> str:
        """Return the sites as operators of a search engine: `(site:a OR site:b) -site:c`."""
        among = " OR ".join(f"site:{site}" for site in self.sites)
        among = f"({among})" if len(self.sites) > 1 else among
        return " ".join(filter(None, [among, *(f"-site:{site}" for site in self.without)]))


ANY = SearchRules()
_DAY = 24 * 3600
_AGES = {"second": 1, "month": DAYS["month"] * _DAY, "year": DAYS["year"] * _DAY}
"""Seconds of one of a unit in which an age is told."""


def today_here() -> str:
    """Return the ISO date of this machine's day."""
    return time.strftime("%Y-%m-%d")


def published_on(text: str | None, today: str) -> date | None:
    """Return the day that a service's words for a page's date name; None where it is no day.

    "3 days ago" is counted back from `today`.
    """
    return _day_and_unit(text or "", today)[0]


def published_as(text: str | None, today: str) -> str | None:
    """Return a service's words for a page's date as ISO writes them; as they are, where unknown.

    "3 days ago" becomes a day, "3 months ago" a month, "3 years ago" a year.
    """
    words = text or ""
    day, unit = (None, "") if words[4:5] == "-" else _day_and_unit(words, today)
    return day.isoformat()[: _TOLD[unit]] if day else text


def _day_and_unit(words: str, today: str) -> tuple[date | None, str]:
    """Return the day that is named, and in which unit an age is told; "" for no age."""
    for figure in figures(words):
        if figure.date and figure.date[0]:
            return real_day(figure.date[0], *figure.date[1:]), ""
        behind = words[figure.end :].strip().casefold()
        if figure.kind in _AGES and behind.startswith(("ago", "前")):
            age = int(figure.amount * _AGES[figure.kind] / _DAY)
            is_age = age < _LONG_AGO
            day = date.fromisoformat(today[:10]) - timedelta(days=age) if is_age else None
            return day, figure.kind
    return None, ""


_TOLD = {"": 10, "second": 10, "month": 7, "year": 4}
"""Signs of an ISO day that are known where an age is told in a unit."""


_LONG_AGO = 300_000
"""Days, so that no date before the year 1 is counted."""


def rules_of(configuration: Configuration) -> SearchRules:
    """Return the rules of a run's settings."""
    names = [name.strip().casefold() for name in configuration.search_sites.split(",")]
    names = [name for name in names if name.strip("-")]
    return SearchRules(
        since=configuration.search_since,
        sites=tuple(_bare(name) for name in names if not name.startswith("-")),
        without=tuple(_bare(name[1:]) for name in names if name.startswith("-")),
    )


def _bare(name: str) -> str:
    return name.strip().removeprefix("*.").removeprefix("www.")


def _within(host: str, sites: Iterable[str]) -> bool:
    name = host.casefold().removeprefix("www.")
    return any(name == site or name.endswith(f".{site}") for site in sites)
