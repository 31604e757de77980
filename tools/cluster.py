"""Serve a cluster on this machine without Docker, to try what compose.yaml does with it.

    uv run python -m tools.cluster --instances 3 --port 2024      (make cluster)

Postgres and Redis come from the system and keep nothing beyond Ctrl-C; nginx, where it is there,
stands in front with the same settings as in deploy/cluster. Settings come from the environment and
from `.env`, as for `tanlu serve`.
"""

import argparse
import contextlib
import os
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.conformance.cluster import Cluster, cluster, environment
from tests.support.ports import free_port
from tests.support.postgres import PostgresServer
from tests.support.programs import REPOSITORY, clean_environment

from agent.cli.environment import read_environment

_SITE = REPOSITORY / "deploy/cluster/nginx.conf"
_TEMPORARY = ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")


def local_site(site: str, listen: int, ports: Sequence[int]) -> str:
    """Return the site of compose.yaml's proxy with the addresses of this machine."""
    instances = "\n".join(rf"    server 127.0.0.1:{port}\1;" for port in ports)
    site = re.sub(r"resolver .*\n", "", site)
    site = re.sub(r" *server tanlu:\d+ resolve(.*);", instances, site)
    return re.sub(r"listen \d+;", f"listen 127.0.0.1:{listen};", site)


def nginx_file(folder: Path, site: str) -> Path:
    """Write a whole configuration of nginx that keeps to a folder; return its path."""
    folder.mkdir(parents=True)
    paths = "\n".join(f"    {name}_temp_path {folder}/{name};" for name in _TEMPORARY)
    inner = "\n".join(f"    {line}" if line else "" for line in site.splitlines())
    written = folder / "nginx.conf"
    written.write_text(
        f"daemon off;\nworker_processes 1;\npid {folder}/pid;\nerror_log {folder}/error.log warn;\n"
        "events { worker_connections 1024; }\n"
        f"http {{\n    access_log off;\n{paths}\n{inner}\n}}\n",
        "utf-8",
    )
    return written


@contextlib.contextmanager
def proxy(folder: Path, listen: int, ports: Sequence[int]) -> Iterator[str | None]:
    """Run nginx before the instances; yield its address, None where there is no nginx."""
    program = shutil.which("nginx")
    if program is None:
        yield None
        return
    written = nginx_file(folder, local_site(_SITE.read_text("utf-8"), listen, ports))
    process = subprocess.Popen([program, "-p", str(folder), "-c", str(written)])
    try:
        yield f"http://127.0.0.1:{listen}"
    finally:
        process.terminate()
        process.wait(timeout=30)


@dataclass(frozen=True)
class Whole:
    """Everything that runs; `address` is the proxy's, or the first instance's without nginx."""

    cluster: Cluster
    postgres: PostgresServer
    address: str
    proxied: bool
    disk: Path | None = None
    """Where Postgres keeps everything, if that is a disk of its own that may be filled."""


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[Path]:
    """Mount a disk of this size in memory; only a folder where we may not, or with 0."""
    folder.mkdir(mode=0o711)
    folder.chmod(0o711)
    command = ["mount", "-t", "tmpfs", "-o", f"size={megabytes}m,mode=711", "tmpfs", str(folder)]
    mounted = megabytes > 0 and subprocess.run(command, check=False).returncode == 0
    try:
        yield folder
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(folder)], check=False)


@contextlib.contextmanager
def whole_cluster(count: int, port: int, *, disk_mb: int = 0, **env: str) -> Iterator[Whole]:
    """Run Postgres, Redis, the instances and the proxy (port 0: any); end them all at the end.

    `disk_mb`: Postgres has a disk of that size for itself, where we may mount one.
    """
    with (
        tempfile.TemporaryDirectory(prefix="tanlu-cluster-", ignore_cleanup_errors=True) as made,
        small_disk(Path(made) / "disk", disk_mb) as disk,
    ):
        folder = Path(made)
        # Postgres does not run as root, and whoever it runs as has to get through.
        folder.chmod(0o711)
        postgres = PostgresServer(disk / "postgres")
        postgres.create()
        try:
            python, port = environment(folder), port or free_port()
            with (
                cluster(folder, postgres, python=python, count=count, **env) as started,
                proxy(folder / "proxy", port, [i.port for i in started.instances]) as address,
            ):
                yield Whole(
                    started, postgres, address or started.urls[0], address is not None,
                    disk if disk_mb and os.path.ismount(disk) else None,
                )  # fmt: skip
        finally:
            postgres.stop()


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--port", type=int, default=2024)
    told = parser.parse_args(argv)
    read_environment(offline=False)
    kept = clean_environment()
    settings = {name: value for name, value in os.environ.items() if name not in kept}
    settings.setdefault("TANLU_MODE", "auto")
    # What a proxy stands before answers by the proxy's name, and only those who have a key.
    settings.setdefault("TANLU_ALLOWED_HOSTS", f"127.0.0.1:{told.port},localhost:{told.port}")
    key = settings.setdefault("TANLU_API_KEYS", f"me:{secrets.token_hex(12)}")
    print("starts Postgres, Redis and the instances; that takes a minute", flush=True)
    with whole_cluster(told.instances, told.port, **settings) as whole:
        for instance in whole.cluster.instances:
            assert instance.process is not None
            print(f"instance  {instance.url}  pid {instance.process.pid}")
        print(f"proxy     {whole.address if whole.proxied else 'none: there is no nginx here'}")
        print(f"keys      {key}")
        print("Ctrl-C ends them", flush=True)
        ended = threading.Event()
        for name in (signal.SIGINT, signal.SIGTERM):
            signal.signal(name, lambda *_: ended.set())
        ended.wait()
    return 0


if __name__ == "__main__":
    sys.exit(main())
