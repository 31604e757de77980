"""A client of OpenAI's API shows the text and nothing beside it: there the answer comes first."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI

from tests.unit.export_samples import source
from tests.unit.server_api_samples import THREAD, Part, ServerApi
from tests.unit.test_openai_api import serving

NOTICE = "Sample data, no model answers."
SAID = "Tea[1](https://example.com/a).\n\n**Sources**\n\n1. a"
SHOWN = f"{SAID}\n\n> {NOTICE}"
ASKED: Any = {"role": "user", "content": "What?"}


def ended(answer: str, mode: str) -> Part:
    carried = {"mode": mode, "sources": [source(1)]}
    told = {"type": "ai", "content": answer, "additional_kwargs": carried}
    return Part("values", {"messages": [{"type": "human", "content": "What?"}, told]})


@pytest.fixture(name="api")
def api_fixture() -> ServerApi:
    return ServerApi(ended(f"> {NOTICE}\n\n{SAID}", "offline"))


@pytest.fixture(name="openai")
async def openai_fixture(
    api: ServerApi, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[AsyncOpenAI]:
    async with serving(api, monkeypatch) as http:
        url = "http://127.0.0.1/v1"
        async with AsyncOpenAI(base_url=url, api_key="any", http_client=http) as client:
            yield client


async def test_a_completion_has_the_notice_once_behind_the_answer(openai: AsyncOpenAI) -> None:
    reply = await openai.chat.completions.create(model="agent", messages=[ASKED])
    message = reply.choices[0].message
    assert message.content == SHOWN
    (cited,) = [one.url_citation for one in message.annotations or []]
    assert SHOWN[cited.start_index : cited.end_index] == "[1](https://example.com/a)"


async def test_a_streamed_completion_begins_with_the_answer(openai: AsyncOpenAI) -> None:
    stream = await openai.chat.completions.create(model="agent", messages=[ASKED], stream=True)
    pieces = [chunk.choices[0].delta.content async for chunk in stream if chunk.choices]
    assert "".join(piece or "" for piece in pieces) == SHOWN


async def test_a_response_has_it_so_whole_and_streamed(openai: AsyncOpenAI) -> None:
    whole = await openai.responses.create(model="agent", input="What?")
    assert whole.output_text == SHOWN
    async with openai.responses.stream(model="agent", input="What?") as stream:
        pieces = [e.delta async for e in stream if e.type == "response.output_text.delta"]
        last = await stream.get_final_response()
    assert "".join(pieces) == last.output_text == SHOWN


async def test_the_conversation_that_the_client_sends_back_is_known_again(
    openai: AsyncOpenAI, api: ServerApi, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = await openai.chat.completions.create(model="agent", messages=[ASKED])

    async def search(**asked: Any) -> list[dict[str, Any]]:
        return [{"thread_id": THREAD}] if "select" in asked else api.found

    async def get(_: str) -> dict[str, Any]:
        return {"thread_id": THREAD}

    monkeypatch.setattr(api, "search", search)
    monkeypatch.setattr(api, "get", get, raising=False)
    said: Any = {"role": "assistant", "content": first.choices[0].message.content}
    again: Any = {"role": "user", "content": "And then?"}
    await openai.chat.completions.create(model="agent", messages=[ASKED, said, again])
    assert api.sent["input"] == {"messages": [again]}


@pytest.mark.parametrize(
    ("answer", "mode"),
    [(SAID, "online"), ("> A quotation.\n\nTea.", "online"), ("Tea.", "offline")],
)
async def test_an_answer_without_a_notice_stays_as_it_is(
    monkeypatch: pytest.MonkeyPatch, answer: str, mode: str
) -> None:
    async with serving(ServerApi(ended(answer, mode)), monkeypatch) as http:
        reply = await http.post("/v1/responses", json={"model": "agent", "input": "What?"})
    (text,) = reply.json()["output"][-1]["content"]
    assert text["text"] == answer
