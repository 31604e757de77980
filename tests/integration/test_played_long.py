"""Conversations with the long assistants, played by hand, through the real graphs.

Needs the map's npm server. What is checked does not depend on a prompt's text.
"""

import asyncio
import re
from dataclasses import dataclass
from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from agent.assistants.registry import compiled
from agent.sample.services import amap, search
from agent.texts import say
from tests.support.lab import Lab, answer_of, laboratory, told, with_clock
from tests.support.played import LINK, NOISE
from tests.support.played_long import LongConversation, LongModel, PlayedWeb, long_conversations

pytestmark = pytest.mark.node
CONVERSATIONS = long_conversations()
TURNS = [(c.name, turn) for c in CONVERSATIONS for turn in range(len(c.questions))]
FENCED = re.compile(r"```.*?```", re.DOTALL)
OWN_NOISE = {
    **NOISE,
    "a reply of a service": re.compile(r'\{"|"results"|\bVERDICT\b|\bTERMINATE\b'),
}


@dataclass
class Replay:
    """What a conversation came to: the state after each turn, and where its replies ran out."""

    conversation: LongConversation
    states: list[dict[str, Any]]
    unknown: list[str]

    def text(self, turn: int) -> str:
        return str(answer_of(self.states[turn]).text)

    def own(self, turn: int) -> str:
        """Return the answer without its list of sources and without programs."""
        listed = say("answer.sources", self.conversation.language)  # type: ignore[arg-type]
        return FENCED.sub("", self.text(turn).split(listed)[0])


@pytest.fixture(scope="module")
def replays() -> dict[str, Replay]:
    """Return every conversation's replay, all over one deployment."""
    return asyncio.run(_replay_all())


async def _replay_all() -> dict[str, Replay]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(search, "_SNIPPET", 20_000)  # a result's text was played whole
        async with laboratory() as lab:
            return {c.name: await _replay(lab, c, patch) for c in CONVERSATIONS}


async def _replay(lab: Lab, conversation: LongConversation, patch: pytest.MonkeyPatch) -> Replay:
    patch.setattr(amap, "today", conversation.now.date)  # the day of the forecast that was played
    services = with_clock(lab.services, lambda: conversation.now)
    graph = compiled(conversation.assistant, InMemorySaver(), lambda: services)
    model, web = LongModel(conversation), PlayedWeb(conversation)
    lab.gemini.llm = model
    tavily: Any = lab.standin("tavily")
    tavily._pages, tavily._text = web, web.text
    states = []
    for turn, question in enumerate(conversation.questions):
        model.turn = turn
        context = {"web_search": "tavily", **conversation.context}
        states.append(await Lab(services, graph).ask(question, context=context))  # type: ignore[arg-type]
    return Replay(conversation, states, [*model.unknown, *web.unknown])


@pytest.fixture(params=TURNS, ids=lambda param: f"{param[0]}-{param[1]}")
def turn(request: pytest.FixtureRequest, replays: dict[str, Replay]) -> tuple[Replay, int]:
    name, number = request.param
    return replays[name], number


Turn = tuple[Replay, int]


def test_the_reader_gets_a_text_without_markers_ids_tools_settings_and_replies(turn: Turn) -> None:
    replay, number = turn
    own = LINK.sub("", replay.own(number))
    assert len(own) > 10
    assert {name: hit[0] for name, noise in OWN_NOISE.items() if (hit := noise.search(own))} == {}


def test_every_link_is_a_sources_and_has_its_number(turn: Turn) -> None:
    replay, number = turn
    sources = {s["url"]: s["number"] for s in told(replay.states[number])["sources"]}
    links = [(url, int(shown)) for shown, url in LINK.findall(replay.own(number))]
    assert {url: shown for url, shown in links if sources.get(url) != shown} == {}


def test_a_turn_comes_to_what_it_came_to_when_it_was_played(turn: Turn) -> None:
    replay, number = turn
    kept = told(replay.states[number])
    expect = replay.conversation.expect[number]
    signed = expect.get("signed")
    assert {k: kept[k] for k in expect if k in kept} == {k: expect[k] for k in expect if k in kept}
    assert signed is None or kept["checks"]["claims"]["marked"] <= signed


@pytest.mark.parametrize("name", [c.name for c in CONVERSATIONS])
def test_every_request_has_a_reply_that_was_played(name: str, replays: dict[str, Replay]) -> None:
    asked = [request for request in replays[name].unknown if not request.startswith("claim_check")]
    assert asked == []
