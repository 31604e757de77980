"""What `tanlu doctor` says of the sample's services, and of documents kept beside them."""

import asyncio
import gc
from pathlib import Path
from typing import Any

import pytest

from agent.cli.console import console_language
from agent.cli.doctor import (
    Check,
    _knowledge,
    _label,
    _model,
    _print_groups,
    _search,
    _variables,
    examine,
)
from agent.configuration import Configuration
from agent.core.calls import Calls
from agent.knowledge.base import open_knowledge_base
from agent.knowledge.ingest import Destination
from agent.models.client import ModelClient
from agent.sample.model.request import FunctionCall, ModelReply
from agent.settings import Settings
from agent.texts import say
from tests.support.scripted import KEY, Scripted, client_for
from tests.support.standins import OpenAIService


class Found:
    """Services of which two searches answer; `sample` tells whether they are the sample's."""

    def __init__(self, *, sample: bool, knowledge: Any = None) -> None:
        self.sample = object() if sample else None
        self.web, self.calls = self, None
        self._knowledge = knowledge

    async def health(self, _model: str | None = None) -> list[dict[str, Any]]:
        report = {"configured": True, "works": True, "message": "answers"}
        return [{**report, "provider": name} for name in ("google", "bocha")]

    def knowledge(self) -> Any:
        return self._knowledge


async def test_the_search_of_sample_mode_is_the_sample_s(
    capsys: pytest.CaptureFixture[str],
) -> None:
    checks = await _search(Found(sample=True), Configuration())
    _print_groups(checks, every=True)
    first, *details = capsys.readouterr().out.splitlines()
    assert "google" not in first
    assert first.endswith("sample data")
    assert details[0].endswith("search: google: sample data: answers")
    live = await _search(Found(sample=False), Configuration())
    assert [_label(check, "en") for check in live] == ["google", "bocha"]


async def test_a_model_without_any_search_of_the_web_is_told_which_keys_bring_one(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def health(_self: Any, _model: str | None = None) -> list[dict[str, Any]]:
        return [{"provider": "bocha", "configured": False, "works": None, "message": "not set"}]

    monkeypatch.setattr(Found, "health", health)
    _print_groups(await _search(Found(sample=False), Configuration()), every=False)
    first, detail, told = capsys.readouterr().out.splitlines()
    assert first.startswith("!")
    assert "no service is set up" in detail
    assert "BOCHA_API_KEY, TAVILY_API_KEY, SERPER_API_KEY" in told


async def test_documents_kept_for_runs_with_a_key_are_counted_beside_the_sample_s(
    tmp_path: Path,
) -> None:
    def settings(name: str) -> Settings:
        return Settings(_env_file=None, tanlu_data_dir=tmp_path / name)

    bases = {name: open_knowledge_base(settings(name), None) for name in ("sample", "own")}  # type: ignore[arg-type]
    services = Found(sample=True, knowledge=bases["sample"])
    assert len(await _knowledge(services, settings("own"))) == 2
    file = tmp_path / "a.txt"
    file.write_text("Words of a document. " * 9)
    run = await bases["own"].ingest([file], target=Destination("documents"))
    await run.run()
    checks = {check["name"]: check for check in await _knowledge(services, settings("own"))}
    assert checks["knowledge base: sqlite"]["detail"] == "0 documents in 0 collections"
    kept = checks["knowledge base: own documents"]
    assert (kept["state"], kept["detail"]) == (
        "off", "1 document in 1 collection, kept for runs with a key",
    )  # fmt: skip
    for base in bases.values():
        await base.aclose()


CHAT = "openai:sample-chat"


class WithModels:
    """Services with a client of models, which are not the sample's."""

    sample = None

    def __init__(self, models: ModelClient) -> None:
        self.models, self.settings = models, Settings(openai_api_key=KEY)  # type: ignore[arg-type]


async def checked(service: OpenAIService, model: str = CHAT) -> Check:
    async with client_for(service) as client:
        (found,) = await _model(WithModels(client), model, ["TANLU_MODEL"])
    return found


async def test_a_model_is_right_only_where_it_answered_filled_in_a_form_and_called_a_tool() -> None:
    answers = (
        ModelReply(text="one two three four five six seven eight nine ten eleven twelve"),
        ModelReply(json={"city": "Paris"}),
        ModelReply(calls=(FunctionCall("look_up", {"word": "tea"}),)),
    )
    able = await checked(OpenAIService(Scripted(*answers), key=KEY))
    assert able["state"] == "ok"
    assert say("doctor.model_speed", console_language(), n="").strip() in able["detail"]
    weak = await checked(OpenAIService(Scripted(), key=KEY))
    assert weak["state"] == "missing"
    for lack in ("no_forms", "no_tools"):
        assert say(f"doctor.model_{lack}", console_language()) in weak["detail"]


async def test_a_model_that_repeats_itself_is_too_weak_and_its_key_is_not_doubted() -> None:
    looping = await checked(
        OpenAIService(
            Scripted(otherwise=ModelReply(text="so. " * 9000, finish="MAX_TOKENS")), key=KEY
        )
    )
    assert looping["state"] == "missing"
    assert say("doctor.model_no_text", console_language()) in looping["detail"]
    assert "OPENAI_API_KEY" not in looping["suggestion"]


async def test_an_unknown_model_is_told_by_its_variable_with_those_there_are() -> None:
    missing = await checked(OpenAIService(Scripted(), key=KEY), "openai:other")
    assert missing["state"] == "broken"
    assert missing["detail"].startswith("TANLU_MODEL: ")
    assert missing["detail"].endswith("sample-chat")
    assert "TANLU_MODEL" in missing["suggestion"]


async def test_a_refused_key_is_told_by_its_variable() -> None:
    refused = await checked(OpenAIService(Scripted(), key="another"))
    assert "OPENAI_API_KEY" in refused["suggestion"]


async def test_a_server_of_ones_own_that_does_not_run_is_to_be_started() -> None:
    settings = Settings(openai_base_url="http://127.0.0.1:9/v1")
    client = ModelClient(settings, Calls())
    (found,) = await _model(WithModels(client), CHAT, ["TANLU_MODEL"])
    await client.aclose()
    assert found["state"] == "broken"
    assert "ollama serve" in found["suggestion"]


async def test_checks_that_end_before_they_begin_complain_of_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    monkeypatch.setenv("TANLU_MODEL", CHAT)
    examining = asyncio.create_task(examine())
    await asyncio.sleep(0)
    examining.cancel()
    with pytest.raises(asyncio.CancelledError):
        await examining
    gc.collect()


def test_each_model_is_asked_once_under_the_variables_that_are_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_MODEL", CHAT)
    monkeypatch.setenv("ANSWER_MODEL", "openai:large")
    assert _variables(Configuration()) == {
        CHAT: ["TANLU_MODEL"], "openai:large": ["ANSWER_MODEL"],
    }  # fmt: skip
