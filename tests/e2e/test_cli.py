"""`tanlu` as a process, as a person starts it."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from geojson_pydantic import FeatureCollection

from agent.offline.gemini import GeminiService
from agent.offline.rules import SampleBrain
from agent.offline.service import serve
from tests.support.dev_server import DevServer, clean_environment, dev_server

KEYS = [
    "assistant", "mode", "thread_id", "run_id", "answer", "sources", "places", "routes",
    "weather", "gaps", "queries", "usage", "checks", "degraded", "needs",
]  # fmt: skip
ZH, EN = "王府井附近适合遛娃的好去处", "How do sodium-ion batteries work?"
NO_MAP = ("--set", "geo_routing=never")
CANARY = "canary-key-0123456789"


class Cli:
    """Starts `tanlu` in an empty folder, with nothing configured but what is asked for."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.started: list[subprocess.Popen[str]] = []
        self.env = {
            "TANLU_DATA_DIR": str(folder / "data"),
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": "100",
        }

    def start(self, *argv: str, **env: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-m", "agent", *argv],
            cwd=self.folder,
            env=clean_environment(**{**self.env, **env}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            encoding="utf-8",
            errors="replace",
        )
        self.started.append(process)
        return process

    def run(self, *argv: str, **env: str) -> subprocess.CompletedProcess[str]:
        process = self.start(*argv, **env)
        out, err = process.communicate(timeout=100)
        return subprocess.CompletedProcess(argv, process.returncode, out, err)

    def ask(self, *argv: str, **env: str) -> dict[str, Any]:
        """The object of `tanlu ask --json …`; the run must have answered."""
        done = self.run("ask", "--json", *argv, **env)
        assert done.returncode == 0, done.stderr
        found: dict[str, Any] = json.loads(done.stdout)
        return found


@pytest.fixture
def cli(tmp_path: Path) -> Iterator[Cli]:
    found = Cli(tmp_path)
    yield found
    for process in found.started:
        if process.poll() is None:
            process.kill()
        for pipe in (process.stdout, process.stderr):
            if pipe is not None:
                pipe.close()
        process.wait()


@pytest.fixture
def gemini() -> Iterator[GeminiService]:
    """Gemini's protocol on loopback; `url` is where."""
    service = GeminiService(SampleBrain(), key=CANARY)
    with serve(service.app) as running:
        service.url = running.url  # type: ignore[attr-defined]
        yield service


def keyed(service: GeminiService) -> dict[str, str]:
    """The environment of someone with a Gemini key."""
    url: str = service.url  # type: ignore[attr-defined]
    return {"GEMINI_API_KEY": CANARY, "GOOGLE_GEMINI_BASE_URL": url}


def searches(_request: Any, body: Any) -> bool:
    """Whether a request asks Gemini to search the web."""
    return "googleSearch" in str(body)


def searched(service: GeminiService) -> int:
    return sum(searches(None, request.body) for request in service.requests)


def until(reached: Callable[[], bool], seconds: float = 40) -> None:
    """Wait for something outside; fails when it does not come."""
    end = time.monotonic() + seconds
    pause = threading.Event()
    while not reached():
        assert time.monotonic() < end, "it did not come"
        pause.wait(0.02)


def failed_in_one_line(done: subprocess.CompletedProcess[str], code: int, *named: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert "Traceback" not in done.stderr
    line = done.stderr.strip().splitlines()[-1]
    assert line.startswith("tanlu: ")
    for word in named:
        assert word in line


def test_one_object_and_nothing_else(cli: Cli) -> None:
    done = cli.run("ask", "--offline", "--json", *NO_MAP, EN)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert done.stdout.count("\n") == 1
    found = json.loads(done.stdout)
    assert list(found) == KEYS
    assert found["mode"] == "offline"
    assert found["sources"]
    for source in found["sources"]:
        assert f"[{source['number']}]({source['url']})" in found["answer"]
    assert found["usage"]["model_calls"] > 0
    assert "[^" not in found["answer"]


@pytest.mark.node
def test_a_question_about_a_place_gets_places(cli: Cli) -> None:
    html, places = cli.folder / "页面.html", cli.folder / "places.geojson"
    found = cli.ask("--offline", "--html", str(html), "--geojson", str(places), ZH)
    assert found["gaps"] == [] or all(g["provider"] != "amap" for g in found["gaps"])
    assert any(place["mentioned"] for place in found["places"])
    for place in found["places"]:
        assert 116 < place["wgs84"]["lng"] < 117
        assert place["location"]["crs"] == "GCJ-02"
        assert place["url"].startswith("https://uri.amap.com/marker")
    collection = json.loads(places.read_text("utf-8"))
    FeatureCollection.model_validate(collection)
    assert len([f for f in collection["features"] if f["id"] != "anchor"]) == len(found["places"])
    page = html.read_text("utf-8")
    assert "<svg" in page
    assert found["places"][0]["name"] in page
    assert "<script" not in page


@pytest.mark.node
def test_a_person_sees_the_notice_the_answer_the_places_and_what_it_used(cli: Cli) -> None:
    done = cli.run("ask", ZH)
    assert done.returncode == 0, done.stderr
    first = done.stdout.splitlines()[0]
    assert "示例" in first
    assert "GEMINI_API_KEY" in first
    for words in ("来源", "| 名称 |", "高德地图", "用量：", "追问：tanlu ask --thread "):
        assert words in done.stdout
    for words in ("检索词：", "地图：", "反思："):
        assert words in done.stderr


def test_a_follow_up_is_on_the_same_thread_and_a_bare_thread_shows_its_answer(cli: Cli) -> None:
    first = cli.ask("--offline", *NO_MAP, EN)
    second = cli.ask("--offline", *NO_MAP, "--thread", first["thread_id"], "And are they cheaper?")
    assert second["thread_id"] == first["thread_id"]
    assert second["run_id"] != first["run_id"]
    assert {q["round"] for q in second["queries"]} <= {1, 2}
    again = cli.ask("--offline", "--thread", first["thread_id"])
    assert again["answer"] == second["answer"]


@pytest.mark.parametrize("encoding", ["gbk", "ascii"])
def test_a_small_console_does_not_end_a_run(cli: Cli, encoding: str) -> None:
    done = cli.run("ask", "--offline", *NO_MAP, EN, PYTHONIOENCODING=encoding)
    assert done.returncode == 0, done.stderr
    assert "--thread" in done.stdout


def test_bad_settings_are_one_line(cli: Cli) -> None:
    failed_in_one_line(cli.run("ask", EN, TANLU_MODE="online"), 1, "GEMINI_API_KEY")
    failed_in_one_line(cli.run("ask", EN, AMAP_MCP_COMMAND="node x"), 1, "AMAP_MCP_COMMAND")
    failed_in_one_line(cli.run("ask", EN, MODEL_RPM="many"), 1, "MODEL_RPM")
    failed_in_one_line(cli.run("ask", "--set", "nothing=1", EN), 2, "nothing")
    unknown = "5d4f5a64-7f0c-4a55-9d0c-6ad3c9b9f001"
    failed_in_one_line(cli.run("ask", "--offline", "--thread", unknown), 2, "--thread", unknown)


def test_a_service_that_refuses_everything_is_one_line_without_the_key(
    cli: Cli, gemini: GeminiService
) -> None:
    gemini.fail("status", status=403, times=None)
    done = cli.run("ask", *NO_MAP, EN, "--log-file", "log.txt", **keyed(gemini))
    failed_in_one_line(done, 1)
    written = (cli.folder / "log.txt").read_text("utf-8")
    assert "run accepted" in written
    assert CANARY not in done.stdout + done.stderr + written


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_ends_the_run_and_the_thread_goes_on_later(cli: Cli, gemini: GeminiService) -> None:
    gemini.fail("hang", times=None, match=searches)
    process = cli.start("ask", *NO_MAP, EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=20)
    assert process.returncode == 130
    assert out == ""
    assert "Traceback" not in err
    said = err.strip().splitlines()[-1]
    thread = said.split("--thread ")[1].split()[0]
    gemini.faults.clear()
    found = cli.ask("--thread", thread, *NO_MAP, **keyed(gemini))
    assert found["thread_id"] == thread
    assert found["sources"]
    assert _written_queries(gemini) == 1


@pytest.mark.skipif(os.name != "posix", reason="signals")
@pytest.mark.parametrize("asks_for_it", [True, False])
def test_a_killed_run_is_brought_to_its_end(
    cli: Cli, gemini: GeminiService, asks_for_it: bool
) -> None:
    gemini.fail("hang", times=None, match=searches)
    process = cli.start("ask", *NO_MAP, EN, **keyed(gemini))
    until(lambda: searched(gemini) > 1)
    process.kill()
    process.communicate(timeout=20)
    gemini.faults.clear()
    thread = _only_thread(cli)
    if not asks_for_it:
        done = cli.run("ask", *NO_MAP, "Who built the Bund?", **keyed(gemini))
        assert done.returncode == 0, done.stderr
        assert thread in done.stderr
    found = cli.ask("--thread", thread, *NO_MAP, **keyed(gemini))
    assert found["sources"]
    assert found["answer"]


def _only_thread(cli: Cli) -> str:
    import sqlite3

    with contextlib.closing(sqlite3.connect(cli.folder / "data" / "runs.sqlite")) as db:
        (row,) = db.execute("SELECT thread_id FROM runs WHERE status = 'open'").fetchall()
    return str(row[0])


def _written_queries(gemini: GeminiService) -> int:
    return sum("<task>generate_query" in str(r.body) for r in gemini.requests)


def test_doctor_knows_the_sample(cli: Cli) -> None:
    done = cli.run("doctor", "--json")
    found = json.loads(done.stdout)
    checks = {check["name"]: check for check in found["checks"]}
    assert "offline" in checks["mode"]["detail"]
    assert checks["GEMINI_API_KEY"]["detail"] == "not set"
    assert checks["answer_model"]["state"] == "ok"
    assert done.returncode == (0 if found["ok"] else 1)


def test_doctor_names_what_does_not_work_and_shows_no_key(cli: Cli, gemini: GeminiService) -> None:
    env = keyed(gemini) | {"ANSWER_MODEL": "gemini-2.0-flash", "TAVILY_API_KEY": CANARY + "t"}
    env["TAVILY_BASE_URL"] = "http://127.0.0.1:9"
    done = cli.run("doctor", **env)
    assert done.returncode == 1
    assert "gemini-3.5-flash-lite" in done.stdout
    assert "retired" in done.stdout
    assert CANARY not in done.stdout + done.stderr
    assert "Traceback" not in done.stderr
    done = cli.run("doctor", TANLU_MODE="online")
    assert done.returncode == 1
    assert "GEMINI_API_KEY" in done.stdout


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """`langgraph dev` without any key."""
    with dev_server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.mark.server
def test_the_object_is_the_same(cli: Cli, server: DevServer) -> None:
    there = cli.ask("--url", server.url, *NO_MAP, EN)
    here = cli.ask("--offline", *NO_MAP, EN)
    assert list(there) == KEYS
    assert [s["url"] for s in there["sources"]] == [s["url"] for s in here["sources"]]
    again = cli.ask("--url", server.url, "--thread", there["thread_id"])
    assert again["answer"] == there["answer"]
    more = cli.ask("--url", server.url, *NO_MAP, "--thread", there["thread_id"], "Cheaper?")
    assert more["thread_id"] == there["thread_id"]
    assert more["run_id"] != there["run_id"]


@pytest.mark.server
def test_a_person_sees_the_same(cli: Cli, server: DevServer) -> None:
    done = cli.run("ask", "--url", server.url, *NO_MAP, EN, "--html", "a.html")
    assert done.returncode == 0, done.stderr
    assert "Queries: " in done.stderr
    assert f"--url {server.url}" in done.stdout
    assert (cli.folder / "a.html").read_text("utf-8").startswith("<!doctype html>")


@pytest.mark.server
def test_what_the_server_would_drop_or_refuse_is_named(cli: Cli, server: DevServer) -> None:
    url = ("ask", "--url", server.url, EN)
    failed_in_one_line(cli.run(*url, "--set", "nothing=1"), 2, "nothing")
    failed_in_one_line(cli.run(*url, "--set", "max_research_loops=99"), 2, "max_research_loops")
    failed_in_one_line(cli.run(*url, "--assistant", "nobody"), 2, "nobody", "agent")
    unknown = "5d4f5a64-7f0c-4a55-9d0c-6ad3c9b9f002"
    failed_in_one_line(cli.run(*url[:3], "--thread", unknown), 2, "--thread")


@pytest.mark.server
def test_a_server_that_is_not_there_is_one_line(cli: Cli) -> None:
    done = cli.run("ask", "--url", "http://127.0.0.1:9", EN)
    failed_in_one_line(done, 1, "http://127.0.0.1:9")
    done = cli.run("ask", "--url", "http://127.0.0.1:9", EN, HTTP_PROXY="http://127.0.0.1:1")
    failed_in_one_line(done, 1, "http://127.0.0.1:9")


@pytest.mark.server
@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_cancels_the_run_on_the_server(
    cli: Cli, gemini: GeminiService, tmp_path: Path
) -> None:
    import httpx

    gemini.fail("hang", times=None, match=searches)
    with dev_server(tmp_path / "server", env=keyed(gemini)) as server:
        process = cli.start("ask", "--url", server.url, *NO_MAP, EN)
        until(lambda: searched(gemini) > 0)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate(timeout=20)
        assert process.returncode == 130
        thread = err.split("--thread ")[1].split()[0]
        with httpx.Client(base_url=server.url, trust_env=False) as client:
            (run,) = client.get(f"/threads/{thread}/runs").json()
            assert run["status"] == "interrupted"
        gemini.faults.clear()
        found = cli.ask("--url", server.url, "--thread", thread, *NO_MAP)
        assert found["sources"]
        gemini.fail("status", status=403, times=None)
        failed_in_one_line(cli.run("ask", "--url", server.url, *NO_MAP, EN), 1, "every source")


def test_a_reader_that_goes_away_is_no_traceback(cli: Cli) -> None:
    process = cli.start("ask", "--offline", *NO_MAP, EN)
    assert process.stdout is not None
    assert process.stderr is not None
    process.stdout.close()
    assert "Traceback" not in process.stderr.read()
    assert process.wait(timeout=60) == 1
