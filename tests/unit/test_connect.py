"""Keys given on the page: tried before they are kept, never shown, only where nobody else can."""

import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
from starlette.applications import Starlette
from starlette.routing import Route

from agent import settings as settings_module
from agent.sample.model.reply import SampleModel
from agent.server.auth.api_keys import STUDIO, access
from agent.server.auth.guard import RequestGuard
from agent.server.connect import FIELDS, connect
from tests.support.openai_service import OpenAIService
from tests.support.served import serve_in_thread
from tests.support.two_owners import KEYS

SECRET = "sk-a-key-nobody-may-see"


@pytest.fixture(name="kept")
def kept_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own file, which is not there yet."""
    for name in FIELDS:
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TANLU_MODE", "auto")
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path / "data"))
    path = tmp_path / "config" / "env"
    monkeypatch.setattr(settings_module, "user_env_file", lambda: path)
    return path


@pytest.fixture(name="model")
def model_fixture(kept: Path) -> Iterator[str]:
    """The address of a service that speaks OpenAI's protocol, on this machine."""
    with serve_in_thread(OpenAIService(SampleModel(), models=None).app) as running:
        yield f"{running.url}/v1"
    for name in FIELDS:
        os.environ.pop(name, None)


def text_of(kept: Path) -> str:
    """What is kept, readable for nobody else; nothing where there is no file."""
    if not kept.exists():
        return ""
    assert kept.stat().st_mode & 0o077 == 0
    return kept.read_text("utf-8")


@asynccontextmanager
async def door() -> AsyncIterator[httpx.AsyncClient]:
    access.cache_clear()
    app = RequestGuard(Starlette(routes=[Route("/app/connect", connect, methods=["POST"])]))
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:2024") as http:
        yield http


def given(model: str) -> dict[str, str]:
    return {"OPENAI_API_KEY": SECRET, "OPENAI_BASE_URL": model, "TANLU_MODEL": "sample"}


async def test_what_works_is_kept_used_and_not_shown(model: str, kept: Path) -> None:
    async with door() as http:
        reply = await http.post("/app/connect", json=given(model))
        assert reply.status_code == 200, reply.text
        assert SECRET not in reply.text
        assert f"OPENAI_API_KEY='{SECRET}'" in text_of(kept)
        assert os.environ["TANLU_MODEL"] == "openai:sample"
        assert (await http.post("/app/connect", json=given(model))).status_code == 403


async def test_what_does_not_work_is_not_kept(model: str, kept: Path) -> None:
    nobody = {**given(model), "OPENAI_BASE_URL": "http://127.0.0.1:9/v1"}
    async with door() as http:
        reply = await http.post("/app/connect", json=nobody)
    assert reply.status_code == 422
    assert reply.json()["field"] == "OPENAI_API_KEY"
    assert SECRET not in reply.text
    assert not text_of(kept)
    assert "OPENAI_API_KEY" not in os.environ


@pytest.mark.parametrize(
    "body", [{}, {"GEMINI_API_KEY": "a\nb"}, {"AMAP_MAPS_API_KEY": "k"}, {"PATH": "/tmp"}, []]
)
async def test_anything_else_is_refused(kept: Path, body: object) -> None:
    async with door() as http:
        assert (await http.post("/app/connect", json=body)).status_code == 422
    assert not text_of(kept)


@pytest.mark.parametrize(
    "others", [KEYS, {"TANLU_ALLOWED_HOSTS": "tanlu.example.org"}, {"TANLU_MODE": "offline"}]
)
async def test_a_server_that_others_reach_or_that_is_told_its_mode_takes_none(
    kept: Path, monkeypatch: pytest.MonkeyPatch, others: dict[str, str]
) -> None:
    for name, value in others.items():
        monkeypatch.setenv(name, value)
    key = {"x-api-key": next(iter(KEYS.values())).partition(":")[2].partition(",")[0]}
    async with door() as http:
        reply = await http.post("/app/connect", json={"GEMINI_API_KEY": SECRET}, headers=key)
    assert reply.status_code == 403
    assert not text_of(kept)


async def test_a_page_of_others_cannot_connect(kept: Path) -> None:
    async with door() as http:
        for header in ({"origin": "https://elsewhere.example"}, {"sec-fetch-site": "cross-site"}):
            reply = await http.post("/app/connect", json={"GEMINI_API_KEY": SECRET}, headers=header)
            assert reply.status_code == 403


async def test_no_other_page_connects_even_where_it_may_call_the_server(
    model: str, kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Studio's may call any open server, and would choose where later questions are sent."""
    monkeypatch.setenv("TANLU_CORS_ORIGINS", "https://chat.example.org")
    async with door() as http:
        for origin in (STUDIO, "https://chat.example.org"):
            reply = await http.post("/app/connect", json=given(model), headers={"origin": origin})
            assert (reply.status_code, text_of(kept)) == (403, "")
        own = {"origin": "http://127.0.0.1:2024"}
        assert (await http.post("/app/connect", json=given(model), headers=own)).status_code == 200
