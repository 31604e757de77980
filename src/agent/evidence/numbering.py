"""Numbers of sources, given by first use."""

from .links import link_url
from .types import Source


class Numbering:
    """Numbers sources from 1; two ids of one URL are one source, with the quotes of both."""

    def __init__(self) -> None:
        self._used: dict[str, Source] = {}

    @property
    def used(self) -> list[Source]:
        """Copies of the numbered sources, in that order, with their URLs as links have them."""
        return list(self._used.values())

    def number(self, source: Source) -> int:
        """The number of a source, a new one at its first use."""
        key = source["url"] or source["id"]
        held = self._used.get(key)
        if held is None:
            held = source.copy()
            held["url"] = link_url(source["url"])
            held["number"] = len(self._used) + 1
            self._used[key] = held
        elif held["id"] != source["id"]:
            held["quotes"] = list(dict.fromkeys([*held["quotes"], *source["quotes"]]))
        return held.get("number") or 0
