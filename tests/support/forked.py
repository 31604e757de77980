"""Programs forked from one process that has imported what they import.

A cold start of `tanlu` or of `langgraph dev` spends three to five seconds of CPU on imports, and
the tests start some two hundred of them. `python -m tests.support.forked SOCKET` imports once,
goes into the background and serves a Unix socket. Each connection may ask for one program and is
told its number and, later, its exit code; when it closes, its program is killed. The process ends
with its last connection. `tests.support.programs` is the client.
"""

import dis
import fcntl
import functools
import gc
import importlib
import io
import json
import os
import runpy
import selectors
import signal
import socket
import ssl
import subprocess
import sys
import termios
import time
import types
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any

IMPORTED = (
    "agent.engines.langgraph.app",
    "agent.graph",
    "agent.assistants.deep_research.graph",
    "agent.assistants.plan_execute.graph",
    "agent.assistants.team_answer.graph",
    "agent.mcp.osm.server",
    "agent.sample.server",
    *(f"agent.cli.{name}" for name in ("ask", "batch", "doctor", "ingest", "search", "serve")),
    *(f"agent.cli.{name}" for name in ("render", "watch")),
    "agent.client.local",
    # What libraries leave to their first use; the readings of Chinese alone take 0.3 s.
    *("pypinyin", "httpcore", "socksio", "anyio._backends._asyncio", "google.auth.aio.credentials"),
    *("langchain_core.tracers.stdout", "langchain_core.tracers.run_collector", "rich.markdown"),
    "langchain_core.messages.block_translators.langchain_v0",
    # What the server imports besides itself.
    *(
        "numpy",
        "blockbuster",
        "cloudpickle",
        "jsonschema_rs",
        "truststore",
        "langgraph_sdk.runtime",
    ),
    *(f"langgraph.{name}.memory" for name in ("cache", "checkpoint", "store")),
    *(f"google.protobuf.{name}" for name in ("json_format", "struct_pb2", "wrappers_pb2")),
    *("grpc_health.v1.health_pb2_grpc", "langgraph_grpc_common.proto.core_api_pb2_grpc"),
    "opentelemetry.exporter.otlp.proto.http.metric_exporter",
    "opentelemetry.exporter.prometheus",
    *(f"starlette.{name}" for name in ("middleware.base", "middleware.cors", "schemas")),
    *("uvicorn.lifespan.on", "uvicorn.loops.uvloop", "uvicorn.protocols.http.httptools_impl"),
    "uvicorn.protocols.websockets.websockets_sansio_impl",
    *("langgraph_cli.cli", "uvicorn", "uvloop", "httptools", "h11", "grpc", "structlog"),
    *("opentelemetry.sdk.trace", "prometheus_client", "rich.console", "dateutil.rrule", "croniter"),
)
"""Never LangGraph's server itself: it reads its configuration from the environment on import."""
HANDED_ON = (signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGQUIT)
"""Signals that a program ignores if who starts it does."""


@dataclass
class Server:
    """The listening process: its socket, its connections and their programs."""

    listener: socket.socket
    programs: dict[int, socket.socket] = field(default_factory=dict)
    connections: set[socket.socket] = field(default_factory=set)

    def serve(self) -> tuple[dict[str, Any], list[int]] | None:
        """Serve until the last connection closes; in a forked child, return what to become."""
        woken, wakes = socket.socketpair()
        wakes.setblocking(False)
        signal.set_wakeup_fd(wakes.fileno())
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        with selectors.DefaultSelector() as selector:
            selector.register(self.listener, selectors.EVENT_READ)
            selector.register(woken, selectors.EVENT_READ)
            while True:
                for key, _ in selector.select():
                    if key.fileobj is self.listener:
                        connection, _ = self.listener.accept()
                        self.connections.add(connection)
                        selector.register(connection, selectors.EVENT_READ)
                    elif key.fileobj is woken:
                        woken.recv(1000)
                        self._tell_ends()
                    elif wanted := self._hear(key.fileobj, selector):
                        signal.set_wakeup_fd(-1)
                        for ours in (woken, wakes, self.listener, *self.connections):
                            ours.close()
                        return wanted
                if not self.connections:
                    return None

    def _hear(
        self, connection: Any, selector: selectors.BaseSelector
    ) -> tuple[dict[str, Any], list[int]] | None:
        """Start a connection's program, or forget who is gone; in the child, return the request.

        Who asks may be killed at any moment.
        """
        handles, line = list[int](), b""
        with suppress(ConnectionError):
            _, handles, _, _ = socket.recv_fds(connection, 1, 3)
            with connection.makefile("rb") as lines:
                line = lines.readline() if handles else b""
        if not line.endswith(b"\n"):
            selector.unregister(connection)
            self.connections.discard(connection)
            for pid in [pid for pid, asker in self.programs.items() if asker is connection]:
                os.kill(pid, signal.SIGKILL)
            connection.close()
        elif not (pid := os.fork()):
            return json.loads(line), handles
        else:
            self.programs[pid] = connection
            with suppress(ConnectionError):
                connection.sendall(b'{"pid": %d}\n' % pid)
        for handle in handles:
            os.close(handle)
        return None

    def _tell_ends(self) -> None:
        while self.programs:
            pid, status = os.waitpid(-1, os.WNOHANG)
            if not pid:
                return
            connection = self.programs.pop(pid)
            if connection in self.connections:
                code = os.waitstatus_to_exitcode(status)
                with suppress(ConnectionError):
                    connection.sendall(b'{"code": %d}\n' % code)


def become(request: dict[str, Any], handles: list[int]) -> str:
    """Make this process the program that was asked for, up to its code; return its module."""
    os.setsid()
    for number, handle in enumerate(handles):
        os.dup2(handle, number)
    for handle in handles:
        os.close(handle)
    if request["terminal"]:
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)
    os.chdir(request["cwd"])
    os.umask(request["umask"])
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    for number in HANDED_ON:
        signal.signal(number, _disposition(number, number in request["ignored"]))
    environment: dict[str, str] = request["env"]
    if request["cold"]:
        os.execve(sys.executable, [sys.executable, *request["argv"]], environment)
    os.environ.clear()
    os.environ.update(environment)
    time.tzset()
    _open_streams(environment)
    _, module, *arguments = request["argv"]
    sys.argv = [module, *arguments]
    behind = environment.get("PYTHONPATH", "")
    sys.path[0:1] = [request["cwd"], *filter(None, behind.split(os.pathsep))]
    return str(module)


def _disposition(number: int, ignored: bool) -> Any:
    if ignored:
        return signal.SIG_IGN
    return signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL


def _open_streams(environment: dict[str, str]) -> None:
    """Give the program streams as the interpreter would have opened them."""
    encoding, _, errors = environment.get("PYTHONIOENCODING", "").partition(":")
    encoding = encoding or sys.stdout.encoding
    unbuffered = bool(environment.get("PYTHONUNBUFFERED"))
    sys.stdin = sys.__stdin__ = os.fdopen(0, encoding=encoding, closefd=False)  # type: ignore[misc]
    for number, name in ((1, "stdout"), (2, "stderr")):
        raw = os.fdopen(number, "wb", buffering=0, closefd=False)
        stream = io.TextIOWrapper(
            raw if unbuffered else io.BufferedWriter(raw),
            encoding=encoding,
            errors="backslashreplace" if number == 2 else errors or sys.__stdout__.errors,
            line_buffering=number == 2 or os.isatty(number),
            write_through=unbuffered,
        )
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)


def remember_what_libraries_find_out() -> None:
    """Let libraries look once at what never changes; they do anew for every test and program.

    That is how settings are spelt and which are JSON, 20 ms each time, which names a node's code
    uses, and the authorities of TLS, 30 ms for every client. And for each field of each part of a
    prompt, Google's looks for its name among a model's pairs, where no name is.
    """
    from google.genai import _common
    from langgraph.pregel import _utils
    from pydantic_settings import EnvSettingsSource

    ssl.create_default_context = functools.cache(ssl.create_default_context)
    vars(_common)["BaseModel"].__contains__ = lambda model, name: False
    instructions = functools.cache(lambda code: list(dis.get_instructions(code)))
    vars(_utils)["dis"] = types.SimpleNamespace(get_instructions=instructions)
    for name in ("_extract_field_info", "_field_is_complex"):
        setattr(EnvSettingsSource, name, _by_field(getattr(EnvSettingsSource, name)))


def _by_field(decide: Callable[..., Any]) -> Callable[..., Any]:
    """Remember what a source of settings, of a class and a way to spell, says of a field."""
    known: dict[tuple[object, ...], Any] = {}

    @functools.wraps(decide)
    def decided(source: Any, field: Any, name: str = "", *nested: Any) -> Any:
        if nested:
            return decide(source, field, name, *nested)
        key = (source.settings_cls, source.env_prefix, source.case_sensitive, id(field), name)
        if key not in known:
            # The field is kept: else another one might have its number.
            known[key] = decide(source, field, *filter(None, [name])), field
        return known[key][0]

    return decided


def _complete_models() -> None:
    """Build the schemas Google's library leaves to the first use: 0.1 s of every program."""
    from google.genai import types
    from pydantic import BaseModel

    for model in vars(types).values():
        if isinstance(model, type) and issubclass(model, BaseModel):
            model.model_rebuild()


def _use_once() -> None:
    """Read settings and the authorities of TLS for all programs."""
    import certifi

    from agent.models.connections import tls
    from agent.settings import Settings

    Settings(_env_file=None)  # type: ignore[call-arg]
    tls()
    ssl.create_default_context(cafile=certifi.where())
    ssl.create_default_context()


def _readers_of_documents(path: Path) -> socket.socket:
    """Start the process that forks readers: it is small, as their memory has a bound."""
    subprocess.run([sys.executable, "-m", __spec__.name, str(path), "readers"], check=True)
    lease = socket.socket(socket.AF_UNIX)
    lease.connect(str(path))
    return lease


def _import_a_reader() -> None:
    from agent.reading.extractors import html_text

    for module in ("agent.knowledge.formats", "pypdf", "docx", "openpyxl", "charset_normalizer"):
        importlib.import_module(module)
    html_text("<p>Else each of them would load what reads pages.</p>")


def _import_programs(path: Path) -> None:
    remember_what_libraries_find_out()
    from tests.support.started_once import FILES, PAGES, fork_our_map_server, fork_readers

    fork_our_map_server(lambda: path)
    fork_readers(lambda: path.with_suffix(".readers"), PAGES, FILES)
    for module in IMPORTED:
        # What only another dependency group brings (numpy comes with Chroma) is not missed.
        if module.startswith("agent.") or find_spec(module.partition(".")[0]):
            importlib.import_module(module)
    _complete_models()
    _use_once()


def main(path: str, *readers: str) -> str | None:
    """Import, listen, go into the background; return the module that a forked child runs."""
    lease = None
    if readers:
        _import_a_reader()
    else:
        lease = _readers_of_documents(Path(path).with_suffix(".readers"))
        _import_programs(Path(path))
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen(64)
    if os.fork():
        os._exit(0)
    os.setsid()
    gc.collect()
    gc.freeze()
    wanted = Server(listener).serve()
    if lease is not None:
        lease.close()
    if wanted is None and readers:
        Path(path).unlink(missing_ok=True)
        return None
    if wanted is None:
        for suffix in (".socket", ".lock", ".log"):
            Path(path).with_suffix(suffix).unlink(missing_ok=True)
        return None
    return become(*wanted)


if __name__ == "__main__":
    program = main(*sys.argv[1:])
    if program is not None:
        runpy.run_module(program, run_name="__main__", alter_sys=True)
