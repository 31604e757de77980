"""The page of a running server with keys: what it serves to whom, and answers as files."""

import re
from collections.abc import AsyncIterator, Iterator
from typing import Any

import httpx
import pytest
from langgraph_sdk import get_client, get_sync_client
from langgraph_sdk.client import LangGraphClient

from agent.server.auth.api_keys import COOKIE
from tests.support.command_line import ZH, Cli
from tests.support.dev_server import DevServer, dev_server

pytestmark = [pytest.mark.server, pytest.mark.slow]
ALICE, BOB = "k-alice-0123456789", "k-bob-0123456789ab"
CHIPS = (
    '<style>.c{}</style><div class="c"><a href="https://www.google.com/search?q=1">咖啡</a></div>'
)
NAMES = ["places.geojson", "places.gpx", "report.html", "answer.md"]
_MOMENT = re.compile(r"20\d\d-\d\d-\d\d[ T]\d\d:\d\d(:[\d.]+\+00:00| \(UTC\+8\)|（北京时间）)")


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    env = {"TANLU_API_KEYS": f"alice:{ALICE},bob:{BOB}", "MAP_TILES": "osm"}
    with dev_server(tmp_path_factory.mktemp("page"), env=env) as started:
        yield started


@pytest.fixture(name="client")
async def client_fixture(server: DevServer) -> AsyncIterator[LangGraphClient]:
    async with get_client(url=server.url, api_key=ALICE) as opened:
        yield opened


@pytest.fixture(name="browser")
async def browser_fixture(server: DevServer) -> AsyncIterator[httpx.AsyncClient]:
    """Nobody yet; as a browser keeps cookies, and says where its requests come from."""
    headers = {"Origin": server.url, "Sec-Fetch-Site": "same-origin"}
    async with httpx.AsyncClient(
        base_url=server.url, trust_env=False, headers=headers, timeout=60
    ) as opened:
        yield opened


@pytest.fixture(scope="module", name="thread")
def thread_fixture(server: DevServer) -> str:
    """Alice's, with one answer."""
    with get_sync_client(url=server.url, api_key=ALICE) as client:
        thread = client.threads.create()
        question: Any = {"messages": [{"role": "user", "content": ZH}]}
        client.runs.wait(thread["thread_id"], "agent", input=question)
    return str(thread["thread_id"])


async def sign_in(browser: httpx.AsyncClient, key: str) -> None:
    response = await browser.post("/app/sign-in", json={"key": key})
    assert response.status_code == 200, response.text


def timeless(text: str) -> str:
    return _MOMENT.sub("WHEN", text)


async def test_the_page_loads_before_a_sign_in_and_answers_only_after(
    browser: httpx.AsyncClient, thread: str
) -> None:
    page = await browser.get("/app?thread=1")
    assert page.status_code == 200
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert page.headers["content-encoding"] == "gzip"
    assert "https://tile.openstreetmap.org" in page.headers["content-security-policy"]
    assert (await browser.get("/app/files/0/js/main.js")).status_code == 200
    assert (await browser.get("/app/files/0/favicon.svg")).status_code == 200
    stranger = (await browser.get("/app/config.json")).json()
    assert set(stranger) == {"version", "keys", "user", "mode", "notice"}
    assert (await browser.get(f"/app/runs/{thread}/answer.md")).status_code == 401
    wrong = await browser.post("/app/sign-in", json={"key": "k-nobody-012345678"})
    assert (wrong.status_code, dict(browser.cookies)) == (401, {})
    await sign_in(browser, ALICE)
    assert set(browser.cookies) == {COOKIE}
    signed_in = (await browser.get("/app/config.json")).json()
    assert (signed_in["user"], signed_in["mode"]) == ("alice", "offline")
    assert signed_in["tiles"]["max_zoom"] == 19
    assert (await browser.get(f"/app/runs/{thread}/answer.md")).status_code == 200
    await browser.post("/app/sign-out")
    assert (await browser.get(f"/app/runs/{thread}/answer.md")).status_code == 401


async def test_exports_are_what_the_command_line_writes(
    server: DevServer, browser: httpx.AsyncClient, thread: str, tmp_path: Any
) -> None:
    cli = Cli(tmp_path)
    done = cli.run(
        "ask", "--url", server.url, "--thread", thread, "--json",
        "--markdown", "a.md", "--html", "a.html", "--geojson", "a.geojson",
        TANLU_API_KEY=ALICE,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    await sign_in(browser, ALICE)
    files = {name: await browser.get(f"/app/runs/{thread}/{name}") for name in NAMES}
    assert {response.status_code for response in files.values()} == {200}
    pairs = {"answer.md": "a.md", "report.html": "a.html", "places.geojson": "a.geojson"}
    for name, written in pairs.items():
        ours = (tmp_path / written).read_text("utf-8")
        assert timeless(files[name].text) == timeless(ours), name
    assert len(files["places.geojson"].json()["features"]) > 1
    assert (
        files["places.gpx"].text.count("<wpt ")
        == len(files["places.geojson"].json()["features"]) - 1
    )
    named = files["answer.md"].headers["content-disposition"]
    assert named.startswith('attachment; filename="answer.md"; filename*=UTF-8')


async def test_after_a_follow_up_the_earlier_answer_is_still_the_same_file(
    browser: httpx.AsyncClient, client: LangGraphClient, thread: str
) -> None:
    await sign_in(browser, ALICE)
    before = {name: (await browser.get(f"/app/runs/{thread}/{name}")).text for name in NAMES}
    state: Any = await client.threads.get_state(thread)
    message = state["values"]["messages"][-1]["id"]
    follow_up: Any = {"messages": [{"role": "user", "content": "Coffee near the Bund"}]}
    await client.runs.wait(thread, "agent", input=follow_up)
    query = {"message": message}
    for name in NAMES:
        last = (await browser.get(f"/app/runs/{thread}/{name}")).text
        earlier = (await browser.get(f"/app/runs/{thread}/{name}", params=query)).text
        assert last != before[name]
        assert timeless(earlier) == timeless(before[name]), name


async def test_an_answer_belongs_to_its_owner_and_nobody_else_learns_of_it(
    browser: httpx.AsyncClient, thread: str
) -> None:
    await sign_in(browser, BOB)
    unknown = "5f0d3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11"
    for name in (*NAMES, "suggestions/0"):
        foreign = await browser.get(f"/app/runs/{thread}/{name}")
        missing = await browser.get(f"/app/runs/{unknown}/{name}")
        assert (foreign.status_code, foreign.text) == (404, missing.text)


async def test_suggestions_are_served_as_google_sent_them(
    browser: httpx.AsyncClient, client: LangGraphClient
) -> None:
    thread = (await client.threads.create(graph_id="agent"))["thread_id"]
    await sign_in(browser, ALICE)
    empty = await browser.get(f"/app/runs/{thread}/answer.md")
    assert empty.status_code == 409
    kept = {"search_entry_points": [CHIPS]}
    said = {"type": "ai", "id": "m1", "content": "Coffee.", "additional_kwargs": kept}
    asked = {"type": "human", "content": "Coffee?"}
    values: Any = {"messages": [asked, said]}
    await client.threads.update_state(thread, values, as_node="finalize_answer")
    response = await browser.get(f"/app/runs/{thread}/suggestions/0", params={"message": "m1"})
    assert response.text.endswith(CHIPS)
    assert response.text.removesuffix(CHIPS) == '<base target="_blank">'
    policy = response.headers["content-security-policy"]
    assert policy.startswith(
        "sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'"
    )
    assert (await browser.get(f"/app/runs/{thread}/suggestions/1")).status_code == 404


async def test_readiness_needs_a_key_and_knows_the_map_runs(
    browser: httpx.AsyncClient, thread: str
) -> None:
    assert (await browser.get("/readyz")).status_code == 401
    await sign_in(browser, ALICE)
    response = await browser.get("/readyz")
    told = response.json()
    assert (response.status_code, told["ok"], told["mode"]) == (200, True, "offline")
    assert told["map"]["state"] in ("running", "failed")


async def test_only_the_page_has_the_page_s_headers(browser: httpx.AsyncClient) -> None:
    await sign_in(browser, ALICE)
    api = await browser.get("/info")
    assert "content-security-policy" not in api.headers
    assert "permissions-policy" not in api.headers


async def test_nothing_in_it_blocked_the_server_or_showed_a_key(server: DevServer) -> None:
    output = server.output()
    assert "Blocking" not in output
    assert not re.search(r"\[agent\.server\.(?!auth|application)", output)
    assert not {ALICE, BOB} & set(re.findall(r"k-[a-z0-9-]+", output))
