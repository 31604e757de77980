"""`/memory` and `tanlu memory`: one person an owner, off by default, fields that are checked."""

import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.applications import Starlette

from agent.cli import main
from agent.runs.person import Person
from agent.server.auth.api_keys import access
from agent.server.auth.guard import RequestGuard
from agent.server.person import person_routes
from tests.unit.page_client import KEY

ALICE, BOB = {"x-api-key": KEY}, {"x-api-key": "k-bob-0123456789"}
NOTHING = Person().model_dump()


@pytest.fixture(autouse=True)
def _on(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TANLU_DATA_DIR", str(tmp_path))
    monkeypatch.setenv("TANLU_MEMORY", "1")
    access.cache_clear()


@pytest.fixture(name="http")
async def http_fixture() -> AsyncIterator[httpx.AsyncClient]:
    app = RequestGuard(Starlette(routes=person_routes()))
    transport = httpx.ASGITransport(app, client=("127.0.0.1", 50000))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:2024") as http:
        yield http


async def test_an_owner_sets_sees_and_deletes_their_own_and_nobody_elses(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"alice:{KEY},bob:{BOB['x-api-key']}")
    access.cache_clear()
    told = {"on": True, "home_city": "Oulu", "budget": 30, "currency": "EUR"}
    assert (await http.patch("/memory", json=told, headers=ALICE)).json() == {**NOTHING, **told}
    assert (await http.get("/memory", headers=BOB)).json() == NOTHING
    assert (await http.delete("/memory", headers=BOB)).json() == NOTHING
    assert (await http.get("/memory", headers=ALICE)).json() == {**NOTHING, **told}
    assert (await http.get("/memory")).status_code == 401
    assert (await http.delete("/memory", headers=ALICE)).json() == NOTHING
    assert (await http.get("/memory", headers=ALICE)).json() == NOTHING


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (b"{", "body"), (b"[]", "body"),
        (b'{"budget": -1}', "budget"), (b'{"owner": "bob"}', "owner"),
        (json.dumps({"home_city": "x" * 5000}).encode(), "body"),
        (json.dumps({"home_city": "x" * 81}).encode(), "home_city"),
    ],
)  # fmt: skip
async def test_what_cannot_be_kept_is_refused_by_its_field(
    http: httpx.AsyncClient, body: bytes, named: str
) -> None:
    refused = await http.patch("/memory", content=body)
    assert (refused.status_code, refused.json()["detail"].lower().startswith(named)) == (422, True)
    assert (await http.get("/memory")).json() == NOTHING


@pytest.mark.parametrize("setting", [{"TANLU_MEMORY": "0"}, {"TANLU_ALLOWED_HOSTS": "lan.example"}])
async def test_nothing_is_kept_where_it_is_off_or_strangers_would_share_it_and_all_can_be_deleted(
    http: httpx.AsyncClient, monkeypatch: pytest.MonkeyPatch, setting: dict[str, str]
) -> None:
    await http.patch("/memory", json={"home_city": "Oulu"})
    for name, value in setting.items():
        monkeypatch.setenv(name, value)
    access.cache_clear()
    assert (await http.patch("/memory", json={"home_city": "Turku"})).status_code == 403
    assert (await http.get("/memory")).status_code == 403
    assert (await http.delete("/memory")).json() == NOTHING


def said(capsys: pytest.CaptureFixture[str], *words: str) -> Any:
    code = main(["memory", *words, "--json"])
    out, err = capsys.readouterr()
    return json.loads(out) if code == 0 else (code, err)


def test_the_command_sets_shows_switches_and_forgets(capsys: pytest.CaptureFixture[str]) -> None:
    assert said(capsys, "show") == NOTHING
    told = {"home_city": "北京", "budget": 100, "diet": ["vegan", "halal"], "with_children": True}
    fields = ["home_city=北京", "budget=100", "diet=vegan,halal", "with_children=yes"]
    assert said(capsys, "set", *fields) == {**NOTHING, **told}
    assert said(capsys, "on") == {**NOTHING, **told, "on": True}
    emptied = said(capsys, "set", "diet=", "budget=")
    assert emptied == {**NOTHING, "home_city": "北京", "with_children": True, "on": True}
    assert said(capsys, "show", "--owner", "alice") == NOTHING
    assert main(["memory", "off"]) == 0
    assert "off" in capsys.readouterr().out.splitlines()[0]
    assert said(capsys, "forget") == {"forgotten": True}
    assert said(capsys, "show") == NOTHING


@pytest.mark.parametrize(
    "words", [["set"], ["set", "x=1"], ["set", "budget=0"], ["on", "budget=1"]]
)
def test_a_wrong_command_says_what_it_takes(
    capsys: pytest.CaptureFixture[str], words: list[str]
) -> None:
    code, words_said = said(capsys, *words)
    assert code == 2
    assert "budget" in words_said or "FIELD=VALUE" in words_said


def test_the_command_names_the_setting_where_it_is_off(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("TANLU_MEMORY")
    code, words = said(capsys, "show")
    assert (code, "TANLU_MEMORY" in words) == (2, True)
