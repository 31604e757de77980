"""The files of a cluster hold together: compose, its image, its proxy, and `make cluster`.

No Docker here: they are parsed, and the proxy's settings are checked by nginx where it is there.
"""

import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from tools.cluster import local_site, nginx_file

from agent.engines.aegra import serve
from tests.support.ports import free_port
from tests.support.programs import REPOSITORY

yaml = pytest.importorskip("yaml")
FOLDER = REPOSITORY / "deploy/cluster"
SITE = (FOLDER / "nginx.conf").read_text("utf-8")
OURS = "tanlu"


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    compose = yaml.safe_load((FOLDER / "compose.yaml").read_text("utf-8"))
    found: dict[str, Any] = compose["services"]
    return found


@pytest.fixture(scope="module")
def dockerfile() -> list[tuple[str, str]]:
    text = (FOLDER / "Dockerfile").read_text("utf-8").replace("\\\n", " ")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    return [(name, rest) for name, _, rest in (line.partition(" ") for line in lines)]


def example() -> dict[str, str]:
    text = (FOLDER / "cluster.env.example").read_text("utf-8")
    return dict(re.findall(r"^(\w+)=(.*)$", text, re.MULTILINE))


def test_every_service_is_hardened_checked_and_restarted(services: dict[str, Any]) -> None:
    for name, service in services.items():
        assert service["read_only"] is True, name
        assert service["cap_drop"] == ["ALL"], name
        assert service["security_opt"] == ["no-new-privileges:true"], name
        assert service["restart"] == "unless-stopped", name
        assert service["healthcheck"]["test"], name
        assert "privileged" not in service, name


def test_only_the_proxy_is_reached_from_outside(services: dict[str, Any]) -> None:
    assert [name for name, service in services.items() if "ports" in service] == ["proxy"]


def test_an_instance_has_all_that_it_asks_for_and_waits_for_it(services: dict[str, Any]) -> None:
    told = {*example(), *services[OURS]["environment"]}
    assert set(serve._NEEDED) <= told
    assert "TANLU_API_KEYS" in told
    assert set(services[OURS]["depends_on"]) == {"postgres", "redis"}
    assert services[OURS]["deploy"]["replicas"] > 1


def test_no_secret_stands_in_a_file_that_is_committed(services: dict[str, Any]) -> None:
    empty = {name for name, value in example().items() if not value}
    assert {"POSTGRES_PASSWORD", "TANLU_API_KEYS", "GEMINI_API_KEY"} <= empty
    written = {name for service in services.values() for name in service.get("environment", {})}
    assert not [name for name in written if re.search("PASSWORD|KEY|DATABASE_URL", name)]
    ignored = (REPOSITORY / ".gitignore").read_text("utf-8").split()
    assert "deploy/cluster/cluster.env" in ignored


def test_the_image_starts_an_instance_as_somebody_without_rights(
    dockerfile: list[tuple[str, str]],
) -> None:
    names = [name for name, _ in dockerfile]
    assert set(names) <= {
        "FROM",
        "WORKDIR",
        "COPY",
        "RUN",
        "ENV",
        "USER",
        "VOLUME",
        "EXPOSE",
        "CMD",
    }
    assert dict(dockerfile)["USER"] == "10001"
    assert names.index("USER") > max(n for n, name in enumerate(names) if name == "RUN")
    assert '"--engine", "aegra"' in dict(dockerfile)["CMD"]


def test_what_the_image_copies_is_there(dockerfile: list[tuple[str, str]]) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text("utf-8"))
    copied = " ".join(rest for name, rest in dockerfile if name == "COPY")
    packed = project["tool"]["hatch"]["build"]["targets"]["wheel"]["force-include"]
    assert all(path in copied.split() for path in packed)
    for name, rest in dockerfile:
        if name == "COPY" and not rest.startswith("--from"):
            assert all((REPOSITORY / path).exists() for path in rest.split()[:-1]), rest
        if installed := re.search(r'"\.\[([\w,]+)\]"', rest):
            known = project["project"]["optional-dependencies"]
            assert set(installed[1].split(",")) <= set(known)


def test_streams_stay_open_and_the_proxy_says_for_whom_it_asks() -> None:
    for line in ("proxy_buffering off;", "proxy_read_timeout 1h;", "proxy_http_version 1.1;",
                 "proxy_set_header Host $http_host;",
                 "proxy_set_header X-Forwarded-For $remote_addr;"):  # fmt: skip
        assert line in SITE


def test_the_proxy_of_this_machine_is_the_same_with_other_addresses() -> None:
    local = local_site(SITE, 2024, [3001, 3002])
    assert "listen 127.0.0.1:2024;" in local
    assert re.findall(r"server (127\S+) max_fails=2", local) == ["127.0.0.1:3001", "127.0.0.1:3002"]
    assert "resolve" not in local
    ours = [line for line in SITE.splitlines() if "proxy_" in line]
    assert [line for line in local.splitlines() if "proxy_" in line] == ours


def test_nginx_takes_the_proxy_of_this_machine(tmp_path: Path) -> None:
    program = shutil.which("nginx")
    if program is None:
        pytest.skip("no nginx: apt install nginx")
    site = local_site(SITE, free_port(), [free_port()])
    written = nginx_file(tmp_path / "proxy", site)
    done = subprocess.run([program, "-t", "-p", str(tmp_path), "-c", str(written)],
                          capture_output=True, text=True, timeout=60)  # fmt: skip
    assert done.returncode == 0, done.stderr
