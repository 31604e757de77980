"""Hold what a reader demands of web pages: how new they are, and of which sites."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlsplit

from agent.configuration import Configuration

DAYS = {"day": 1, "week": 7, "month": 31, "year": 366}
"""How far back each word reaches, in days."""


@dataclass(frozen=True)
class SearchRules:
    """Hold the rules of one run; the empty ones allow every page."""

    since: str = ""
    """`day`, `week`, `month`, `year`, or the ISO date of the oldest pages."""
    sites: tuple[str, ...] = ()
    """Only pages of these domains and those below them."""
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

    def allows_page(self, url: str, published: str | None = None) -> bool:
        """Return whether a page may be used; one whose date is not known is not too old."""
        try:
            host = urlsplit(url).hostname or ""
        except ValueError:
            return False
        return self.allows(host) and not self._is_too_old(published or "")

    def _is_too_old(self, published: str) -> bool:
        """Return whether a date is before that of the rule; what is no date is not."""
        try:
            return date.fromisoformat(published[:10]) < date.fromisoformat(self.since)
        except ValueError:
            return False

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
    return name.strip().removeprefix("www.")


def _within(host: str, sites: Iterable[str]) -> bool:
    name = host.casefold().removeprefix("www.")
    return any(name == site or name.endswith(f".{site}") for site in sites)
