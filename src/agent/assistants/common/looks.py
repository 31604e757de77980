"""Look up what the revision of a text lacks: in what was read and own files, on web and map."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from agent.assistants.common.inside_words import KeptInside
from agent.assistants.common.judge import record_texts
from agent.assistants.common.look_up import MAP_WAY, Looked
from agent.assistants.common.own_documents import SEARCH_DOCUMENTS, search_own
from agent.assistants.common.page_opener import PageOpener
from agent.assistants.common.search import ask_providers, search_providers
from agent.assistants.common.services import Services
from agent.assistants.common.workspace import (
    Item,
    RankedPassages,
    Workspace,
    item_of_hit,
    nearest_pages,
)
from agent.configuration import Configuration
from agent.core.budget import Meter
from agent.core.errors import AgentError
from agent.core.processor import compute
from agent.evidence.citations import ids_in
from agent.evidence.claims.passages import Passage
from agent.evidence.maps import valid_map_task
from agent.evidence.queries import clean_text
from agent.evidence.types import MapTask, Place
from agent.knowledge.types import Scope
from agent.mcp.records import MapOptions
from agent.search.hits import MAX_QUERY, Hit, SearchProvider
from agent.state import Turn
from agent.texts import say

READ_AGAIN, SEARCH, MAP_PLACE = "read_again", "search", "map_place"
_PLACE_FIELDS, _WAY_FIELDS = ("place", "city"), ("origin", "destination", "mode", "city")
_TOKENS = 1200
"""Of what one look shows."""
_PAGES = 4
"""Opened by one look."""
_FIRST = 50
"""The number of the first look into own documents or the map: calls before it have smaller ones."""


@dataclass
class Looks:
    """Look things up for the revision of a text, and keep what is new; see `LookUp`."""

    services: Services
    configuration: Configuration
    turn: Turn
    meter: Meter
    workspace: Workspace
    scope: Scope | None = None
    """Own documents that the text was not shown whole."""
    inside: KeptInside | None = None
    """What no query may take outside."""
    maps: bool = False
    """Whether the question has to do with the map."""
    places: Sequence[Place] = ()
    """Places that the map has shown: a name among them is that place."""
    web: Sequence[SearchProvider] = field(default=(), init=False)
    """Nothing outside is asked where there are none."""
    _searched: int = field(default=_FIRST, init=False)

    def __post_init__(self) -> None:
        if not self.turn.get("own_only"):
            with suppress(AgentError):
                self.web = search_providers(
                    self.services.web, self.configuration, self.turn["today"]
                )

    @property
    def tools(self) -> Mapping[str, str]:
        """Return what each tool's argument is, first of the one that words alone are for."""
        there = dict[str, str]()
        if self.web:
            there[SEARCH] = "a query for the web, in the language of what it should find"
        if self.scope is not None:
            there[SEARCH_DOCUMENTS] = "words: the passages nearest to them of own documents"
        there[READ_AGAIN] = (
            "words: the same of all that was read, or of the page of an id with them"
        )
        if self.maps and not self.turn.get("own_only"):
            there[MAP_PLACE] = "name | city: the map's record of a place, with its hours"
            there[MAP_WAY] = "from | to | walking, transit, driving or bicycling | city: its length"
        return there

    @property
    def asks_further(self) -> bool:
        """Return whether anything but what was read can be asked."""
        return not self.tools.keys() <= {READ_AGAIN}

    async def __call__(self, tool: str, argument: str, places: Sequence[Place] = ()) -> Looked:
        """Return what a tool finds; a failure is told, never raised."""
        asked = clean_text(argument, MAX_QUERY)
        if tool not in self.tools:
            names = ", ".join(self.tools)
            return Looked(
                say("tools.unknown_tool", self.turn["language"], name=tool[:60], tools=names)
            )
        if tool == SEARCH_DOCUMENTS:
            return await self._own(asked)
        if tool == READ_AGAIN:
            items, ids = await self.workspace.items(), ids_in(asked)
            named = [one for one in items if one.id in ids]
            return await self._shown(await self._opened(named) or items, asked)
        if tool in (MAP_PLACE, MAP_WAY):
            fields = _PLACE_FIELDS if tool == MAP_PLACE else _WAY_FIELDS
            return await self._mapped(asked, fields, places or self.places)
        return await self._found(asked)

    async def _opened(self, items: list[Item]) -> list[Item]:
        """Return things; a page of which only a search's words are known, as its site has it."""
        bare = [one for one in items if one.kind == "page" and one.url and not one.text]
        if not (bare and self.web):
            return items
        hits = [Hit(one.title, one.url, one.snippet, one.site, one.date or None) for one in bare]
        opened = zip(bare, await self._opener([]).open(hits), strict=True)
        read = [replace(one, text=hit.text) for one, hit in opened if hit.text]
        kept = {one.id: one for one in await self.workspace.keep(read)}
        return [kept.get(one.id, one) for one in items]

    def _opener(self, known: Sequence[Item]) -> PageOpener:
        return PageOpener(
            self.services, self.meter, _PAGES,
            parallel=self.configuration.max_parallel_reads, known=known,
        )  # fmt: skip

    async def _own(self, asked: str) -> Looked:
        language, prefix = self.turn["language"], f"d{self._searched}"
        self._searched += 1
        found = await search_own(
            asked, self.scope, self.services, self.meter, prefix=prefix, language=language
        )
        texts = {source["id"]: "\n".join(source["quotes"]) for source in found.sources}
        lines = [
            f"[^{each['id']}] {each['title']}: {' '.join(texts[each['id']].split())}"
            for each in found.sources
        ]
        failure = found.gap["message"] if found.gap else say("tools.nothing", language)
        return Looked("\n".join(lines) or failure, found.sources, texts)

    async def _mapped(self, asked: str, fields: Sequence[str], known: Sequence[Place]) -> Looked:
        language, prefix = self.turn["language"], f"a{self._searched}"
        self._searched += 1
        task = _map_task(asked, fields)
        if task is None:
            return Looked(say("tools.nothing", language))
        if self.inside and (refusal := await self.inside.refusal(asked, language)):
            return Looked(refusal)
        options = MapOptions(
            prefix=prefix, language=language, near=self.turn["near"],
            question=self.turn["question"], known=known,
        )  # fmt: skip
        found = await self.services.maps.map_result(
            task, asked, options=options, meter=self.meter, on_call=lambda call: None
        )
        texts = record_texts(found.places, found.routes, found.weather, language)
        # A record's line begins with its marker.
        lines = [" ".join(text.split()) for text in texts.values()]
        lines += [gap["message"] for gap in found.gaps]
        shown = "\n".join(lines) or say("tools.nothing", language)
        return Looked(shown, found.sources, texts, found.places, found.routes)

    async def _found(self, asked: str) -> Looked:
        language = self.turn["language"]
        if self.inside and (refusal := await self.inside.refusal(asked, language)):
            return Looked(refusal)
        pages = self._opener(await self.workspace.items())
        result = await ask_providers(
            asked, self.web, turn=self.turn, model=self.configuration.research_model,
            meter=self.meter, pages=pages,
        )  # fmt: skip
        if result.failure:
            return Looked(result.failure)
        items = [item_of_hit(hit, asked, result.service) for hit in result.hits]
        return await self._shown(await self.workspace.keep(items), asked)

    async def _shown(self, items: Sequence[Item], asked: str) -> Looked:
        """Return the passages of these nearest to what is asked, each behind its marker."""
        chosen = await compute(
            lambda: nearest_pages(items, asked, _TOKENS), otherwise=list[Passage]
        )
        by_id = {item.id: item for item in items}
        used = [by_id[name] for name in dict.fromkeys(passage.source for passage in chosen)]
        seen = await compute(
            lambda: RankedPassages(used, [asked]).nearest_first(chosen),
            otherwise=dict[str, list[str]],
        )
        lines = [f"[^{each.source}] {by_id[each.source].title}: {each.text}" for each in chosen]
        return Looked(
            "\n".join(lines) or say("tools.nothing", self.turn["language"]),
            [item.source() for item in used],
            {item.id: f"{item.title}\n{item.words}" for item in used},
            seen=seen,
        )


def _map_task(asked: str, fields: Sequence[str]) -> MapTask | None:
    """Return what to ask the map, of values that bars part; None where something needed lacks."""
    values = dict(zip(fields, map(str.strip, asked.split("|")), strict=False))
    intent = "route" if "origin" in fields else "poi"
    return valid_map_task({**values, "intent": intent})
