"""A running server asked by clients of OpenAI: its own package, LangChain's, plain HTTP."""

import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

import httpx
import pytest
from langchain_openai import ChatOpenAI
from langgraph_sdk import get_client
from openai import AsyncOpenAI, BadRequestError, NotFoundError
from openai.types.chat import ChatCompletion
from pydantic import SecretStr

from agent.runs.engine import OWNER
from tests.e2e.server_fixtures import server_fixture
from tests.support.dev_server import DevServer

__all__ = ["server_fixture"]
pytestmark = [pytest.mark.server, pytest.mark.slow]
ZH, EN = "王府井附近适合遛娃的好去处", "How do sodium-ion batteries work?"
ASSISTANTS = ["agent", "deep_research", "team_answer", "plan_execute"]


@pytest.fixture(name="openai")
async def openai_fixture(server: DevServer) -> AsyncIterator[AsyncOpenAI]:
    """As its two lines of configuration make it."""
    url = f"{server.url}/v1"
    async with AsyncOpenAI(base_url=url, api_key="any", max_retries=0) as opened:
        yield opened


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def further(reply: ChatCompletion) -> Mapping[str, Any]:
    """What of ours comes beside OpenAI's fields."""
    assert reply.model_extra is not None
    return dict(reply.model_extra["tanlu"])


async def test_the_assistants_are_the_models(openai: AsyncOpenAI) -> None:
    assert [model.id async for model in openai.models.list()] == ASSISTANTS
    described = await openai.models.retrieve("deep_research")
    assert described.object == "model"
    with pytest.raises(NotFoundError, match="no 'gpt-4o'; known: agent"):
        await openai.models.retrieve("gpt-4o")


async def test_a_whole_answer_has_its_citations_as_links_and_as_annotations(
    openai: AsyncOpenAI,
) -> None:
    reply = await openai.chat.completions.create(model="agent", messages=[user(ZH)])
    (choice,) = reply.choices
    text = choice.message.content or ""
    assert "**来源**" in text
    assert choice.finish_reason == "stop"
    assert choice.message.annotations
    for annotation in choice.message.annotations:
        cited = annotation.url_citation
        assert text[cited.start_index : cited.end_index].endswith(f"]({cited.url})")
    assert reply.usage is not None
    assert reply.usage.total_tokens == reply.usage.prompt_tokens + reply.usage.completion_tokens > 0
    assert choice.message.model_extra["reasoning_content"].endswith("正在写答案\n")
    assert {"thread_id", "places", "sources", "gaps"} <= further(reply).keys()


async def test_a_stream_tells_the_progress_first_and_then_the_same_answer(
    openai: AsyncOpenAI,
) -> None:
    stream = await openai.chat.completions.create(
        model="agent", messages=[user(ZH)], stream=True, stream_options={"include_usage": True}
    )
    chunks = [chunk async for chunk in stream]
    deltas = [chunk.choices[0].delta for chunk in chunks if chunk.choices]
    thoughts = [d.model_extra.get("reasoning_content") for d in deltas if d.model_extra]
    text = "".join(delta.content or "" for delta in deltas)
    whole = await openai.chat.completions.create(model="agent", messages=[user(ZH)])
    assert deltas[0].role == "assistant"
    assert [line for line in thoughts if line][-1] == "正在写答案\n"
    assert text.split("数据 ©")[0] == (whole.choices[0].message.content or "").split("数据 ©")[0]
    assert any((delta.model_extra or {}).get("annotations") for delta in deltas)
    assert len({chunk.id for chunk in chunks}) == 1
    assert chunks[-2].choices[0].finish_reason == "stop"
    assert (chunks[-1].choices, bool(chunks[-1].usage)) == ([], True)


async def test_a_conversation_sent_whole_goes_on_with_its_thread(
    openai: AsyncOpenAI, server: DevServer
) -> None:
    first = await openai.chat.completions.create(model="agent", messages=[user(ZH)])
    said = [user(ZH), {"role": "assistant", "content": first.choices[0].message.content}]
    again = [*said, user("第二个地方几点关门？")]
    second = await openai.chat.completions.create(model="agent", messages=again)
    thread = further(first)["thread_id"]
    assert further(second)["thread_id"] == thread
    # An answer that is asked for again, and an edited question, begin a thread of their own.
    other = await openai.chat.completions.create(model="agent", messages=again)
    assert further(other)["thread_id"] != thread
    async with get_client(url=server.url) as client:
        values: Any = (await client.threads.get_state(further(other)["thread_id"]))["values"]
        metadata = (await client.threads.get(thread))["metadata"]
    assert [message["type"] for message in values["messages"]] == ["human", "ai", "human", "ai"]
    assert (metadata["asked_over"], metadata["title"]) == ("openai", ZH)


async def test_a_thread_that_the_client_names_is_made_and_found_again(
    openai: AsyncOpenAI, server: DevServer
) -> None:
    mine = "7b0e3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11"
    for question in (EN, "What is WebRTC?"):
        reply = await openai.chat.completions.create(
            model="agent", messages=[user(question)], user="anna", metadata={"thread_id": mine}
        )
        assert further(reply)["thread_id"] == mine
    async with get_client(url=server.url) as client:
        values: Any = (await client.threads.get_state(mine))["values"]
        (found,) = await client.threads.search(metadata={"user": "anna"})
    assert [message["type"] for message in values["messages"]] == ["human", "ai"] * 2
    assert found["thread_id"] == mine


async def test_settings_of_ours_go_beside_and_tools_of_the_client_are_left_aside(
    openai: AsyncOpenAI,
) -> None:
    function: Any = {"type": "function", "function": {"name": "f", "parameters": {}}}
    reply = await openai.chat.completions.create(
        model="agent",
        messages=[{"role": "system", "content": "Answer in rhymes."}, user(ZH)],
        tools=[function],
        temperature=0.2,
        reasoning_effort="low",
        extra_body={"tanlu": {"answer_language": "en"}},
    )
    assert "**Sources**" in (reply.choices[0].message.content or "")
    assert reply.choices[0].message.tool_calls is None


@pytest.mark.parametrize(
    ("given", "param", "words"),
    [
        ({"messages": []}, "messages", "must be the user's question"),
        ({"messages": [{"role": "assistant", "content": "a"}]}, "messages", "the user's question"),
        ({"messages": [user(" ")]}, "question", "is empty"),
        ({"messages": "hello"}, "messages", "valid list"),
        ({"n": 2}, "n", "One answer"),
        ({"tool_choice": "required"}, "tool_choice", "call no tools of yours"),
        ({"response_format": {"type": "json_object"}}, "response_format", "Markdown"),
        ({"metadata": {"thread_id": "../runs"}}, "thread_id", "must be a UUID"),
        ({"metadata": {"api_key": "x"}}, "metadata.api_key", "looks like a secret"),
        ({"metadata": {OWNER: "bob"}}, f"metadata.{OWNER}", "the server's to set"),
        ({"tanlu": {"max_research_loops": 99}}, "max_research_loops", "maximum of 10"),
        ({"tanlu": {"nothing": 1}}, "nothing", "no such argument"),
        (
            {"messages": [{"role": "user", "content": [{"type": "image_url", "image_url": {}}]}]},
            "messages",
            "image_url: attachments are not read",
        ),
    ],
)
async def test_what_cannot_be_answered_is_an_error_in_openai_s_shape(
    openai: AsyncOpenAI, given: dict[str, Any], param: str | None, words: str
) -> None:
    body = {"model": "agent", "messages": [user(EN)], **given}
    with pytest.raises(BadRequestError, match=words) as refused:
        await openai.post("/chat/completions", body=body, cast_to=ChatCompletion)
    assert refused.value.type == "invalid_request_error"
    assert refused.value.param == param


async def test_a_response_is_followed_up_by_its_id(openai: AsyncOpenAI) -> None:
    first = await openai.responses.create(model="agent", input=ZH)
    assert "**来源**" in first.output_text
    thought, message = first.output
    assert thought.type == "reasoning"
    assert thought.summary[0].text.endswith("正在写答案\n")
    assert message.type == "message"
    (part,) = message.content
    assert part.type == "output_text"
    cited = part.annotations[0]
    assert cited.type == "url_citation"
    assert part.text[cited.start_index : cited.end_index].endswith(f"]({cited.url})")
    second = await openai.responses.create(
        model="agent", input="第二个地方几点关门？", previous_response_id=first.id
    )
    assert (second.metadata or {})["thread_id"] == (first.metadata or {})["thread_id"]
    assert second.usage is not None
    with pytest.raises(BadRequestError, match="has gone on since"):
        await openai.responses.create(model="agent", input=EN, previous_response_id=first.id)
    with pytest.raises(BadRequestError, match="no such response"):
        await openai.responses.create(model="agent", input=EN, previous_response_id="resp_1")


async def test_a_response_streams_the_events_that_its_client_puts_together(
    openai: AsyncOpenAI,
) -> None:
    async with openai.responses.stream(model="agent", input=ZH) as stream:
        kinds = [event.type async for event in stream]
        response = await stream.get_final_response()
    assert kinds[:2] == ["response.created", "response.in_progress"]
    assert "response.reasoning_summary_text.delta" in kinds
    assert "response.output_text.annotation.added" in kinds
    assert kinds[-1] == "response.completed"
    assert "**来源**" in response.output_text


async def test_langchain_s_client_streams_and_counts_tokens(server: DevServer) -> None:
    async with httpx.AsyncClient(trust_env=False, timeout=120) as http:
        chat = ChatOpenAI(
            base_url=f"{server.url}/v1",
            api_key=SecretStr("any"),
            model="agent",
            stream_usage=True,
            http_async_client=http,
        )
        chunks = [chunk async for chunk in chat.astream(EN)]
    text = "".join(str(chunk.text) for chunk in chunks)
    assert "**Sources**" in text
    assert sum(chunk.usage_metadata["input_tokens"] for chunk in chunks if chunk.usage_metadata)


async def test_every_line_of_a_stream_is_an_event_or_a_comment(server: DevServer) -> None:
    body = {"model": "team_answer", "messages": [user(EN)], "stream": True}
    async with httpx.AsyncClient(base_url=server.url, trust_env=False, timeout=120) as http:
        reply = await http.post("/v1/chat/completions", json=body)
    assert reply.headers["content-type"].startswith("text/event-stream")
    events = [line for line in reply.text.split("\n\n") if line]
    assert events[-1] == "data: [DONE]"
    for event in events[:-1]:
        kind, _, data = event.partition(": ")
        assert kind in ("", "data")
        assert "\n" not in data
        assert json.loads(data)["object"] == "chat.completion.chunk"


def test_nothing_failed_inside_the_server(server: DevServer) -> None:
    assert "Traceback" not in server.output()
    assert "Blocking" not in server.output()
