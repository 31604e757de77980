"""How many of the opening hours that mappers wrote are read, by an extract of OpenStreetMap.

The extract (`osm_*/*.osm.pbf`) is read by `osmium`: `uv run --with osmium python -m evals.outside`.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import date
from pathlib import Path

from agent.evidence.hours import all_year, osm_hours, partly_read
from agent.evidence.hours_told import hours_words

_DAY = date(2026, 11, 28)


def extracts(folder: Path) -> list[Path]:
    """Return the extracts that the folder has."""
    return sorted(folder.glob("osm_*/*.osm.pbf"))


def report(extract: Path, *, verbose: bool) -> Iterator[str]:
    """Yield a line a figure."""
    texts = _hours(extract)
    outcomes = Counter[str]()
    for text in texts:
        seasons = osm_hours(text, _DAY)
        known = "all year" if all_year(seasons) else "by season"
        known = "in part" if partly_read(seasons) else "unread" if None in seasons else known
        outcomes[known] += 1
        if verbose and known != "all year":
            yield f"  {known}: {text}  →  {hours_words(seasons, 'zh')}"
        elif verbose:
            yield f"  {text}  →  {hours_words(seasons, 'zh')}"
    for known, count in outcomes.most_common():
        yield f"opening hours {known:<11} {count:>6} of {len(texts):<6}{count / len(texts):>7.1%}"


def _hours(extract: Path) -> list[str]:
    import osmium

    found = list[str]()
    for element in osmium.FileProcessor(str(extract), osmium.osm.NODE):
        if text := element.tags.get("opening_hours"):
            found.append(str(text))
    return found
