"""The wheel: what is in it, and that it works where nothing else of ours is installed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest

from agent.assistants.registry import ASSISTANTS
from tests.architecture.tree import ROOT, pyproject, tracked_files
from tests.support.dev_server import clean_environment
from tests.support.ports import free_port

UV = shutil.which("uv")
QUESTION = "王府井附近适合遛娃的好去处"
ADDRESS = re.compile(r"http://127\.0\.0\.1:\d+/app")
ADVICE = ("tanlu[node]", "AMAP_MCP_COMMAND", "npm")
"""What a gap names where the map server could not be started."""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(1200),
    pytest.mark.skipif(not UV, reason="uv is not installed"),
]


def uv(*arguments: str, folder: Path) -> None:
    done = subprocess.run(
        [str(UV), *arguments], cwd=folder, capture_output=True, text=True, check=False, timeout=500
    )
    assert done.returncode == 0, f"uv {' '.join(arguments)}\n{done.stderr[-3000:]}"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Built from a copy, so that nothing is left in the working tree."""
    folder = tmp_path_factory.mktemp("build")
    source = folder / "source"
    for name in ("pyproject.toml", "README.md", "LICENSE", "langgraph.json"):
        source.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    uv("build", "--wheel", "--out-dir", str(folder / "dist"), folder=source)
    (built,) = (folder / "dist").glob("*.whl")
    return built


@pytest.fixture(scope="module")
def command(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`tanlu` in an environment that holds the wheel and its dependencies, nothing else."""
    return installed(str(wheel), tmp_path_factory.mktemp("installed"))


@pytest.fixture(scope="module")
def server_command(wheel: Path, command: Path) -> Path:
    """The same with the extra that `tanlu serve` needs, for the tests that come after the others.

    Another environment would compile all libraries once more.
    """
    return installed(f"{wheel}[server]", command.parents[2])


def installed(package: str, folder: Path) -> Path:
    """Install a package with the pinned versions; return its command."""
    pins = folder / "pins.txt"
    pins.write_text("\n".join(pyproject()["tool"]["uv"]["constraint-dependencies"]), "utf-8")
    scripts = folder / "venv" / ("Scripts" if os.name == "nt" else "bin")
    if not scripts.exists():
        uv("venv", "--python", sys.executable, "venv", folder=folder)
    python = scripts / ("python.exe" if os.name == "nt" else "python")
    install = ["pip", "install", "--python", str(python), "--constraint", str(pins), package]
    uv(*install, folder=folder)
    return scripts / ("tanlu.exe" if os.name == "nt" else "tanlu")


def environment_in(folder: Path) -> dict[str, str]:
    environment = clean_environment(TANLU_DATA_DIR=str(folder / "threads"), PYTHONUTF8="1")
    environment.pop("PYTHONPATH", None)
    return environment


def tanlu(command: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run away from the repository, with its own data."""
    return subprocess.run(
        [str(command), *arguments],
        cwd=folder,
        env=environment_in(folder),
        capture_output=True,
        encoding="utf-8",
        check=False,
        timeout=300,
    )


def test_the_wheel_holds_every_tracked_file_of_the_package_and_no_other(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        packed = {n.removeprefix("agent/") for n in archive.namelist() if n.startswith("agent/")}
        others = {name.partition("/")[0] for name in archive.namelist()} - {"agent"}
    package = ROOT / "src/agent"
    tracked = {str(p.relative_to(package)) for p in tracked_files() if p.is_relative_to(package)}
    assert tracked - packed == set()
    assert {Path(name).suffix for name in packed} >= {".py", ".json", ".md", ".cjs", ".css"}
    assert [name for name in others if not name.endswith(".dist-info")] == []


def test_the_wheel_is_called_tanlu_and_brings_the_command(wheel: Path) -> None:
    assert wheel.name.startswith("tanlu-")
    with zipfile.ZipFile(wheel) as archive:
        (entry,) = (n for n in archive.namelist() if n.endswith("entry_points.txt"))
        assert "tanlu = agent.cli:main" in archive.read(entry).decode()


def test_installed_alone_it_answers_from_the_sample_with_places(
    command: Path, tmp_path: Path
) -> None:
    done = tanlu(command, tmp_path, "ask", "--offline", "--json", QUESTION)
    assert done.returncode == 0, done.stderr[-2000:]
    answer: dict[str, Any] = json.loads(done.stdout)
    assert answer["mode"] == "offline"
    assert answer["checks"]["cited"] > 0
    told = " ".join(gap["message"] for gap in answer["gaps"])
    assert answer["places"] or any(word in told for word in ADVICE)
    if shutil.which("npm"):
        assert answer["places"]


def test_installed_alone_it_explains_itself(command: Path, tmp_path: Path) -> None:
    done = tanlu(command, tmp_path, "--help")
    assert done.returncode == 0
    assert "ask" in done.stdout
    assert "doctor" in done.stdout


def test_without_its_extra_serve_names_it_in_one_line(command: Path, tmp_path: Path) -> None:
    done = tanlu(command, tmp_path, "serve")
    assert done.returncode == 1
    assert (
        done.stderr == 'tanlu: Serving needs the extra "server": `pip install "tanlu[server]"`.\n'
    )


def test_with_its_extra_serve_brings_the_page_from_an_empty_folder(
    server_command: Path, tmp_path: Path
) -> None:
    argv = [str(server_command), "serve", "--port", str(free_port())]
    with subprocess.Popen(
        argv, cwd=tmp_path, env=environment_in(tmp_path), stderr=subprocess.PIPE, encoding="utf-8"
    ) as process:
        assert process.stderr is not None
        address = next(found[0] for line in process.stderr if (found := ADDRESS.search(line)))
        assert "<html" in httpx.get(address, trust_env=False).text
        assistants = httpx.post(
            address.removesuffix("app") + "assistants/search", json={}, trust_env=False
        ).json()
        process.send_signal(signal.SIGINT)
        _, end = process.communicate(timeout=60)
    assert {one["graph_id"] for one in assistants} == set(ASSISTANTS)
    assert process.returncode == 0
    assert "Traceback" not in end
