"""Number the sources of a text by first use; what is one source has one number."""

from collections.abc import Sequence

from agent.evidence.markdown import canonical, link_url
from agent.evidence.types import Source


def source_key(source: Source) -> str:
    """Return what two ids of one source share: its address, or the title of a document's page."""
    own = source["title"] if source["kind"] == "document" else source["id"]
    url = link_url(source["url"])
    return (canonical(url) if url and source["kind"] in ("page", "paper") else url) or own


class Numbering:
    """Number sources from 1; two ids of one URL are one source, with the quotes of both.

    So are two of one page of a document without a URL.
    """

    def __init__(self) -> None:
        self._used: dict[str, Source] = {}

    @property
    def used(self) -> list[Source]:
        """Return copies of the numbered sources in order, with their URLs as links have them."""
        return list(self._used.values())

    def number(self, source: Source) -> int:
        """Return the number of a source, a new one at its first use."""
        key = source_key(source)
        entry = self._used.get(key)
        if entry is None:
            entry = source.copy()
            # Which sums a text uses is told of each text anew.
            entry.pop("sums", None)
            entry["url"] = link_url(source["url"])
            entry["number"] = len(self._used) + 1
            self._used[key] = entry
        elif entry["id"] != source["id"]:
            entry["quotes"] = list(dict.fromkeys([*entry["quotes"], *source["quotes"]]))
        return entry.get("number") or 0

    def citation(self, source: Source) -> str:
        """Return how a text cites a source: its number, a link where it has an address."""
        number, url = self.number(source), link_url(source["url"])
        return f"[{number}]({url})" if url else f"[{number}]"


def is_kept(name: str) -> bool:
    """Return whether an id is one of a workspace (`w482-17`), which no turn counts up to."""
    number, _, last = name[1:].partition("-")
    digits = number.isdecimal() and last.isdecimal() and number[0] != "0" != last[0]
    return name[:1] in "walf" and (len(number), len(last)) == (3, 2) and digits


_CARRIED = "p0"


def is_carried(name: str) -> bool:
    """Return whether an id is one under which an earlier turn's source was carried over."""
    return name.startswith(f"{_CARRIED}-")


def carry_over(sources: Sequence[Source], prefix: str = _CARRIED) -> list[Source]:
    """Return sources of the previous turn under ids of their own (`p0-0` …), not numbered.

    With new ids nothing the next search finds can be mistaken for them. One of the thread's
    workspace is the same in each of its turns.
    """
    carried: list[Source] = []
    for index, source in enumerate(sources):
        fresh = source.copy()
        fresh["id"] = source["id"] if is_kept(source["id"]) else f"{prefix}-{index}"
        fresh["quotes"] = list(source["quotes"])
        fresh.pop("number", None)
        carried.append(fresh)
    return carried
