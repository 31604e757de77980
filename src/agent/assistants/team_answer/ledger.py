"""The sources of a discussion: a page or place found again keeps its first id."""

from collections.abc import Sequence

from agent.evidence.links import link_url
from agent.evidence.types import Source
from agent.mcp.types import Survey
from agent.nodes.searching import Brought


class Ledger:
    """Begins with the turn's sources so far; `sources` are all of them afterwards."""

    def __init__(self, sources: Sequence[Source]) -> None:
        self.sources = [Source(**{**each, "quotes": [*each["quotes"]]}) for each in sources]
        self._known = {_key(each): each for each in self.sources}

    def add_hits(self, name: str, brought: Brought) -> list[str]:
        """The id of each hit's source: `name-0`, `name-1`, … unless its page is known already.

        A known page gains the new excerpt, so that what is cited from it can be checked.
        """
        ids = []
        for number, hit in enumerate(brought.hits):
            source = self._entered(
                Source(
                    id=f"{name}-{number}",
                    kind="page",
                    title=hit.title,
                    url=link_url(hit.url),
                    provider=brought.service,
                    quotes=[],
                )
            )
            if hit.snippet and hit.snippet not in source["quotes"]:
                source["quotes"].append(hit.snippet)
            ids.append(source["id"])
        return ids

    def add_survey(self, survey: Survey) -> dict[str, str]:
        """By the survey's ids those under which its sources stand here."""
        return {each["id"]: self._entered(each)["id"] for each in survey.sources}

    def _entered(self, source: Source) -> Source:
        known = self._known.setdefault(_key(source), source)
        if known is source:
            self.sources.append(source)
        return known


def _key(source: Source) -> tuple[str, str, str]:
    """Map links of different things can be equal; pages are their address."""
    title = "" if source["kind"] == "page" else source["title"]
    return source["kind"], source["url"].rstrip("/"), title
