"""Rules hold on every engine: what no run may ask, whose things are whose, who is let in at all.

A rule that reads a request in another server's shape silently checks nothing; so each is broken
here, by every way a run can be asked for.
"""

import json
import subprocess
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from langgraph_sdk.client import LangGraphClient
from langgraph_sdk.errors import ConflictError, NotFoundError

from tests.conformance.conftest import Served
from tests.conformance.test_runs import PLAIN, QUESTION, asked, ended
from tests.support.programs import clean_environment
from tests.support.two_owners import (
    ATTEMPTS,
    BOB,
    LISTS,
    SECRET,
    Answer,
    Attempt,
    answer_to,
)

pytestmark = [pytest.mark.server, pytest.mark.slow]
_CANARY = "CANARY-sent-by-a-client"
_REFUSED: dict[str, dict[str, Any]] = {
    "context.api_key": {"context": {"api_key": _CANARY}},
    "config.configurable.nested.token": {
        "config": {"configurable": {"nested": {"token": _CANARY}}}
    },
    "metadata.password": {"metadata": {"password": _CANARY}},
    "metadata.tanlu_owner": {"metadata": {"tanlu_owner": "bob"}},
    "config.recursion_limit": {"config": {"recursion_limit": 10**9}},
    "max_research_loops": {"context": {"max_research_loops": 99}},
    "input": {"input": {"messages": _CANARY * 2000}},
    "webhook": {"webhook": f"http://127.0.0.1:9/{_CANARY}"},
}
_WAYS: dict[str, tuple[str, dict[str, Any]]] = {
    "a run": ("/threads/{thread}/runs", {}),
    "a run and its stream": ("/threads/{thread}/runs/stream", {}),
    "a run and its end": ("/threads/{thread}/runs/wait", {}),
    "a run alone": ("/runs", {}),
    "a run alone and its stream": ("/runs/stream", {}),
    "a run alone and its end": ("/runs/wait", {}),
    "a run at times": ("/runs/crons", {"schedule": "0 0 1 1 *"}),
}


@pytest.mark.parametrize("field", _REFUSED)
async def test_what_no_run_may_ask_is_refused_whatever_the_way(served: Served, field: str) -> None:
    async with served.http() as http:
        thread = (await http.post("/threads", json={})).json()["thread_id"]
        for path, more in _WAYS.values():
            body = {"assistant_id": "agent", "input": asked(), **more, **_REFUSED[field]}
            reply = await http.post(path.replace("{thread}", thread), json=body)
            assert reply.status_code == 422, (path, reply.text)
            assert field in reply.json()["detail"].lower(), path
            assert _CANARY not in reply.text
        assert (await http.get(f"/threads/{thread}/runs")).json() == []


async def test_a_delay_is_kept_or_refused_and_never_passed_over(served: Served) -> None:
    async with served.http() as http:
        thread = (await http.post("/threads", json={})).json()["thread_id"]
        body = {"assistant_id": "agent", "input": asked(), "after_seconds": 3600}
        reply = await http.post(f"/threads/{thread}/runs", json=body)
        if served.engine == "aegra":
            assert reply.status_code == 422
            assert "after_seconds" in reply.json()["detail"]
            return
        run = reply.json()["run_id"]
        assert (await http.get(f"/threads/{thread}/runs/{run}")).json()["status"] == "pending"
        assert (await http.delete(f"/threads/{thread}/runs/{run}")).is_success


async def test_the_event_protocol_is_no_way_round(served: Served) -> None:
    async with served.http() as http:
        thread = (await http.post("/threads", json={})).json()["thread_id"]
        for config in ({"recursion_limit": 10**9}, {"configurable": {"max_research_loops": 99}}):
            params = {"assistant_id": "agent", "input": asked(), "config": config}
            command = {"id": 1, "method": "run.start", "params": params}
            reply = await http.post(f"/threads/{thread}/commands", json=command)
            assert "422" in reply.text or reply.status_code == 422, reply.text
        assert (await http.get(f"/threads/{thread}/runs")).json() == []


async def test_a_thread_on_which_three_wait_takes_no_more(
    served: Served, anna: LangGraphClient
) -> None:
    if served.engine != "aegra":
        pytest.skip("a waiting run takes no worker's place there")
    served.model.pace(seconds=1.0)
    thread = (await anna.threads.create())["thread_id"]
    runs = []
    for _ in range(4):
        runs.append(await anna.runs.create(thread, "agent", input=asked(), context=PLAIN))
    with pytest.raises(ConflictError, match="3 runs wait"):
        await anna.runs.create(thread, "agent", input=asked(), context=PLAIN)
    served.model.pace()
    for run in reversed(runs):
        await anna.runs.cancel(thread, run["run_id"])
        await ended(anna, thread, run["run_id"])


async def _belongings(anna: LangGraphClient) -> dict[str, str]:
    """Make one of each thing; return their ids."""
    thread = (await anna.threads.create(metadata={"note": SECRET}))["thread_id"]
    run = await anna.runs.create(thread, "agent", input=asked(SECRET), context=PLAIN)
    await ended(anna, thread, run["run_id"])
    assistant = await anna.assistants.create("agent", name=SECRET, metadata={"note": SECRET})
    await anna.store.put_item(["notes"], "k", {"v": SECRET})
    name = assistant["assistant_id"]
    await anna.crons.create(name, schedule="0 0 1 1 *", input=asked(SECRET))
    # What `create` returns is a run's record where Aegra serves.
    (cron,) = await anna.crons.search()
    return {"thread": thread, "busy": thread, "live": run["run_id"], "run": run["run_id"],
            "assistant": name, "variant": name, "cron": cron["cron_id"]}  # fmt: skip


async def _seen(anna: LangGraphClient, ids: dict[str, str]) -> dict[str, Any]:
    """Return what she has, as she sees it."""
    return {
        "thread": await anna.threads.get(ids["thread"]),
        "state": await anna.threads.get_state(ids["thread"]),
        "runs": await anna.runs.list(ids["thread"]),
        "versions": await anna.assistants.get_versions(ids["assistant"]),
        "item": await anna.store.get_item(["notes"], "k"),
        "crons": await anna.crons.search(),
    }


async def test_nothing_of_one_owner_is_another_s(served: Served, anna: LangGraphClient) -> None:
    ids = await _belongings(anna)
    before = await _seen(anna, ids)
    async with served.http(1, key=BOB) as bob:
        for attempt in (*ATTEMPTS, *LISTS):
            answer = await answer_to(bob, _of_ours(attempt), ids)
            assert SECRET not in answer.text, attempt.name
            if attempt in ATTEMPTS:
                assert _is_refused(answer), (attempt.name, answer)
            else:
                assert not any(f"<{name}>" in answer.text for name in ids), attempt.name
    assert await _seen(anna, ids) == before
    await anna.crons.delete(ids["cron"])


def _of_ours(attempt: Attempt) -> Attempt:
    """Name a graph that is served here in place of the probe."""
    body = json.loads(json.dumps(attempt.body).replace('"probe"', '"agent"'))
    return Attempt(attempt.name, attempt.method, attempt.path, body)


def _is_refused(answer: Answer) -> bool:
    nothing = answer.text in ("", "[]", "{}", "null", '{"deleted":0,"pruned":0}')
    return answer.status >= 400 or nothing or "error" in answer.text


_PATHS = ("/threads/search", "/runs/wait", "/runs/stream", "/assistants/search", "/mcp",
          "/store/items/search", "/threads", "/runs/crons/search", "/nothing/here")  # fmt: skip


async def test_every_path_is_closed_without_a_key(served: Served) -> None:
    async with served.http(key="") as nobody, served.http(key="wrong-0123456789abcdef") as stranger:
        for path in _PATHS:
            for http in (nobody, stranger):
                assert (await http.post(path, json={})).status_code == 401, path
        for path in ("/info", "/docs", "/openapi.json", "/metrics", f"/threads/{uuid4()}/state"):
            assert (await nobody.get(path)).status_code in (401, 404), path
        assert (await nobody.get("/ok")).json()["ok"] is True


async def test_the_guard_stands_before_all_else(served: Served) -> None:
    """Also before what answers preflights in the server itself."""
    evil = {"origin": "https://evil.example"}
    asks = {**evil, "access-control-request-method": "POST"}
    async with served.http() as http:
        replies = [
            await http.options("/threads", headers=asks),
            await http.post("/threads/search", json={}, headers=evil),
            await http.post("/threads/search", json={}, headers={"host": "evil.example"}),
            await http.get("/app", headers={"host": "evil.example"}),
        ]
        assert [reply.status_code for reply in replies] == [403] * 4
        for reply in replies:
            assert not any(name.startswith("access-control") for name in reply.headers)
        assert (await http.get("/ok")).headers["x-content-type-options"] == "nosniff"


def test_an_instance_without_our_rules_does_not_start(served: Served, tmp_path: Path) -> None:
    """Aegra itself would only warn, and let everybody in."""
    if served.engine != "aegra":
        pytest.skip("langgraph dev does not start without its auth module")
    instance = served.instances[0]
    config = json.loads(Path("src/agent/engines/aegra/aegra.json").read_text("utf-8"))
    config["auth"]["path"] = "agent.server.auth:nothing"
    for graph in config["graphs"].values():
        name = graph["path"].partition(":")[2]
        graph["path"] = f"{Path('src/agent/engines/aegra/graphs.py').resolve()}:{name}"
    (tmp_path / "aegra.json").write_text(json.dumps(config))
    env = {**instance.env, "AEGRA_CONFIG": str(tmp_path / "aegra.json")}
    done = subprocess.run(
        [instance.python, "-m", "agent.cli", "serve", "--engine", "aegra", "--port", "1"],
        cwd=tmp_path, env=clean_environment(**env), capture_output=True, text=True,
        timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode != 0
    assert "names no auth module of Tanlu" in done.stdout + done.stderr


async def test_a_question_is_nobody_s_but_its_owner_s(served: Served) -> None:
    """What `if_not_exists` makes belongs to who asked."""
    thread = str(uuid4())
    async with served.client() as anna, served.client(1, key=BOB) as bob:
        run = await anna.runs.create(
            thread, "agent", input=asked(QUESTION), context=PLAIN, if_not_exists="create"
        )
        assert await ended(anna, thread, run["run_id"]) == "success"
        metadata = (await anna.threads.get(thread))["metadata"] or {}
        assert metadata["tanlu_owner"] == "alice"
        with pytest.raises(NotFoundError):
            await bob.threads.get(thread)
