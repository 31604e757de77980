"""Remember what an answer cites beyond what the state has room for, for the questions after it.

`previous` goes through each checkpoint and has thirty kilobytes. What does not fit there is in the
thread's workspace: the next turn begins with every source and place that the last answers cited.
"""

import hashlib
import logging
from collections.abc import Iterable, Mapping, Sequence

from langchain_core.messages import AIMessage
from langgraph.runtime import Runtime, get_runtime

from agent.assistants.common.previous import opened_previous, previous_of
from agent.assistants.common.services import Services
from agent.assistants.common.toolbox import CODE
from agent.assistants.common.turn import room_of
from agent.assistants.common.workspace import Item, choose
from agent.configuration import Configuration
from agent.core.errors import StoreFailed
from agent.core.processor import compute
from agent.evidence.names import titled_name
from agent.evidence.numbering import is_kept, source_key
from agent.evidence.records import map_title, place_facts
from agent.evidence.types import Place, Source
from agent.state import AgentInput, Previous, Turn, reader_language
from agent.texts import Language

log = logging.getLogger(__name__)
_TOKENS = 3000
"""Of words of sources that had no room in the state."""


async def remember(
    turn: Turn,
    services: Services,
    cited: Iterable[Source],
    places: Iterable[Place],
    texts: Mapping[str, str],
) -> None:
    """Keep what the answer cites and the places it shows; the answer stands without that, too.

    Own documents are not copied: the next turn reads them again, where it may.
    """
    workspace = services.workspace(room_of(turn, get_runtime(Configuration)))
    sources = [source for source in cited if _is_kept_for_later(source)]
    shown = [place for place in places if place["mentioned"]]
    try:
        kept = await workspace.keep([
            *(_item(s, texts.get(s["id"], "")) for s in sources if not is_kept(s["id"])),
            *(_place_item(place, reader_language(turn)) for place in shown),
        ])  # fmt: skip
        ids = [source["id"] for source in sources if is_kept(source["id"])]
        await workspace.cite([*ids, *(item.id for item in kept)])
    except StoreFailed as error:
        log.warning("turn=%s what it cites is not remembered: %s", turn["id"], error)


async def begun_previous(
    state: AgentInput,
    turn: Turn,
    services: Services,
    runtime: Runtime[Configuration],
    *,
    last_only: bool = False,
) -> Previous:
    """Return what the last turns left as the turn that begins keeps it, all they cited with it.

    By choice all that the very last one cited: its prompt is to stay short.
    """
    previous = opened_previous(previous_of(state), turn)
    answered = any(isinstance(message, AIMessage) for message in state["messages"])
    if not (answered and (runtime.context or Configuration()).max_previous_bytes):
        return previous
    items = await services.workspace(room_of(turn, runtime)).of_before(last_only=last_only)
    return await compute(
        lambda: with_items(previous, items, turn["question"]), otherwise=lambda: previous
    )


def with_items(previous: Previous, items: Sequence[Item], question: str) -> Previous:
    """Return it with what is lacking of things that were cited: sources, their words, places."""
    told = {source_key(source) for source in previous["sources"] if source["quotes"]}
    silent = {source_key(s): s["id"] for s in previous["sources"] if not s["quotes"]}
    lacking = [item for item in items if not item.place and source_key(item.source()) not in told]
    words: dict[str, list[str]] = {}
    for passage in choose(lacking, [question], _TOKENS):
        words.setdefault(passage.source, []).append(passage.text)
    # What has no word of the question is told by its beginning.
    new = {
        source_key(item.source()): item.source(words.get(item.id) or _beginning(item))
        for item in lacking
    }
    sources = [
        Source(**{**source, "quotes": new[key]["quotes"]})
        if (key := source_key(source)) in silent and key in new
        else source
        for source in previous["sources"]
    ]
    sources += [source for key, source in new.items() if key not in silent]
    known = {place["id"] for place in previous["places"]}
    found = {each.id: each.place for each in items if each.place and each.place["id"] not in known}
    places = [Place(**{**p, "source": name, "sources": [name]}) for name, p in found.items()]
    sources += [item.source([item.text]) for item in items if item.id in found]
    return Previous(**{**previous, "sources": sources, "places": [*previous["places"], *places]})


def _beginning(item: Item) -> list[str]:
    return [passage.text for passage in item.passages[:1]]


def _is_kept_for_later(source: Source) -> bool:
    """Return whether a source is no place, which has a record, and no own document.

    A passage of a paper has its address.
    """
    has_address = source["kind"] != "document" or bool(source["url"])
    return source["kind"] != "place" and (has_address or source["provider"] == CODE)


def _item(source: Source, text: str) -> Item:
    quotes = "\n".join(source["quotes"])
    own = hashlib.sha256(f"{source['title']}\n{quotes}".encode("utf-8", "replace")).hexdigest()
    return Item(
        source["kind"], source["title"], source["url"], text=text, snippet=quotes,
        date=source.get("published") or "", site=source.get("site", ""),
        provider=source["provider"],
        # A paper is cited passage by passage, and of calculations each is another.
        record=own if source["kind"] == "document" else "",
    )  # fmt: skip


def _place_item(place: Place, language: Language) -> Item:
    # Verdicts are of the question that was asked.
    place = Place(**{name: each for name, each in place.items() if name != "verdicts"})  # type: ignore[typeddict-item]
    facts = place_facts(place, language)
    provider = map_title(place["id"].partition(":")[0], language)
    return Item(
        "place", titled_name(place, language), place["url"], text=facts, provider=provider,
        record=place["id"], place=place,
    )  # fmt: skip
