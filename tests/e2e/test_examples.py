"""Every example runs against a real server on sample data, in Python and in JavaScript."""

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from tests.e2e.javascript import EXAMPLES, NEEDS_NODE, NODE, NPM, javascript_fixture
from tests.support.dev_server import DevServer, clean_environment, dev_server
from tests.support.page_gemini import held_gemini

__all__ = ["javascript_fixture"]

LANGUAGES = ["python", pytest.param("javascript", marks=NEEDS_NODE)]

pytestmark = [
    pytest.mark.server,
    pytest.mark.parametrize("language", LANGUAGES),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    with dev_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="module")
def patient(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """A server on which a search goes on until it is cancelled, however slow its client is."""
    with held_gemini() as gemini:
        gemini.hold()
        with dev_server(tmp_path_factory.mktemp("patient"), env=gemini.environment) as started:
            yield started
        gemini.let_go()


@pytest.fixture
def run(
    server: DevServer, language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> "Example":
    return example(language, request, server, tmp_path)


def example(
    language: str, request: pytest.FixtureRequest, server: DevServer, cwd: Path
) -> "Example":
    if language == "python":
        return Example([sys.executable, "-W", "error"], EXAMPLES / "python", ".py", server, cwd)
    folder = request.getfixturevalue("javascript")
    return Example([str(NODE)], folder, ".mjs", server, cwd)


class Example:
    """The examples of one language."""

    def __init__(
        self, command: list[str], folder: Path, ending: str, server: DevServer, cwd: Path
    ) -> None:
        self._command, self._folder, self._ending = command, folder, ending
        self._server, self._cwd = server, cwd

    def __call__(self, name: str, *arguments: str) -> str:
        """What the example prints; fails with what it says on standard error."""
        done = subprocess.run(
            [*self._command, str(self._folder / f"{name}{self._ending}"), *arguments],
            cwd=self._cwd,
            env=clean_environment(TANLU_URL=self._server.url, PYTHONUTF8="1"),
            capture_output=True,
            encoding="utf-8",
            check=False,
            timeout=400,
        )
        assert done.returncode == 0, f"{done.stderr[-2000:]}\n{self._server.output()[-2000:]}"
        return done.stdout


def test_every_example_is_short_and_exists_in_both_languages(language: str) -> None:
    ending = {"python": "py", "javascript": "mjs"}[language]
    found = {path.stem: path for path in (EXAMPLES / language).glob(f"*.{ending}")}
    assert sorted(found) == ["cancel", "context", "follow_up", "places", "stream", "weekly"]
    assert {
        name for name, p in found.items() if len(p.read_text("utf-8").splitlines()) > 40
    } == set()


def test_stream_prints_progress_and_then_the_cited_answer(run: Example) -> None:
    printed = run("stream", "王府井附近适合遛娃的好去处")
    assert "- queries: " in printed
    assert printed.index("- queries: ") < printed.index("](http")
    assert "[^" not in printed
    assert "\n- done: " in printed


def test_context_lists_the_settings_and_answers_in_english_after_one_round(run: Example) -> None:
    printed = run("context")
    assert "max_research_loops = 2" in printed
    assert "sample" in printed.partition("map_rounds")[2]
    assert "model_calls" in printed


def test_follow_up_asks_the_second_question_with_queries_of_its_own(run: Example) -> None:
    first, second = run("follow_up").split("## ")[1:]
    assert "停车" in second.partition("queries:")[2]
    assert "停车" not in first.partition("queries:")[2]
    assert "王府井" in second


def test_cancel_ends_the_run_and_leaves_the_thread_free(
    patient: DevServer, language: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    printed = example(language, request, patient, tmp_path)("cancel")
    assert "run: interrupted" in printed
    assert "thread: busy" not in printed


def test_weekly_asks_at_times_and_tells_what_has_changed(run: Example, server: DevServer) -> None:
    told = dict(line.split(": ", 1) for line in run("weekly").splitlines())
    ask = {"messages": [{"role": "user", "content": "王府井附近适合遛娃的好去处"}]}
    with httpx.Client(base_url=server.url, trust_env=False, timeout=120) as http:
        (cron,) = http.post("/runs/crons/search", json={"thread_id": told["thread"]}).json()
        assert (cron["cron_id"], cron["schedule"]) == (told["cron"], "0 8 * * 1")
        http.delete(f"/runs/crons/{told['cron']}").raise_for_status()
        early = http.get(f"/app/runs/{told['thread']}/changes")
        assert early.status_code == 409
        body = {"assistant_id": "agent", "input": ask}
        http.post(f"/threads/{told['thread']}/runs/wait", json=body).raise_for_status()
    assert "statements are the same" in run("weekly", told["thread"])


def test_places_writes_geojson_inside_china(run: Example, tmp_path: Path) -> None:
    printed = run("places", "found.geojson")
    collection = json.loads((tmp_path / "found.geojson").read_text("utf-8"))
    assert collection["type"] == "FeatureCollection"
    assert f"{len(collection['features'])} points in found.geojson" in printed
    for feature in collection["features"]:
        lng, lat = feature["geometry"]["coordinates"][:2]
        assert (119 < lng < 121, 29 < lat < 31) == (True, True)
    if NPM or os.environ.get("CI"):
        assert collection["features"]
