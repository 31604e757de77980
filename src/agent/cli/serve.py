"""Run `tanlu serve`: the server and its page, with its address first and its libraries quiet."""

import contextlib
import errno
import importlib.util
import json
import os
import socket
import sys
import threading
import time
import webbrowser
from argparse import Namespace
from pathlib import Path
from typing import Any

import httpx

from agent.cli.console import ANSWERED, FAILED, USAGE, called_as, console_language, fail, tell_aside
from agent.cli.environment import read_environment
from agent.core.errors import AgentError, ConfigurationError
from agent.texts import Language, problem_text, say

_NEEDED = {
    "langgraph": ("server", ("langgraph_api", "langgraph_runtime_inmem")),
    "aegra": ("aegra", ("aegra_api", "psycopg", "redis")),
}
"""Of each engine: our extra, and the packages that it brings."""
_RUNS_AT_ONCE = 64
"""The server's own default is one."""
_MOST_PORTS = 100
_EVERYWHERE = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}  # noqa: S104 - as an address to translate
_QUIET = {
    "TANLU_LOG_LEVEL": "WARNING",
    "LOG_LEVEL": "WARNING",
    "LANGGRAPH_NO_VERSION_CHECK": "true",
}


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 after Ctrl-C, 1 if it cannot start, 2 for a bad address."""
    language = console_language()
    extra, packages = _NEEDED[arguments.engine]
    if any(importlib.util.find_spec(package) is None for package in packages):
        python = " (Python 3.12 or later)" if extra == "aegra" else ""
        return fail(f'Serving needs the extra "{extra}"{python}: `pip install "tanlu[{extra}]"`')
    try:
        read_environment(offline=arguments.offline)
        port = _free_port(arguments.host, arguments.port)
    except AgentError as error:
        return fail(error, code=USAGE)
    if port != arguments.port:
        tell_aside(say("serve.port_taken", language, port=arguments.port, other=port))
    os.environ.setdefault("LOG_COLOR", str(sys.stdout.isatty()))
    for name, value in ({} if arguments.verbose else _QUIET).items():
        os.environ.setdefault(name, value)
    url = f"http://{_EVERYWHERE.get(arguments.host, arguments.host)}:{port}"
    # Made here: the server's libraries replace parts of `ssl` while they are imported.
    client = httpx.Client(trust_env=False, timeout=5)
    call = (client, url, language, arguments.open)
    up = threading.Thread(target=_announce, args=call, daemon=True)
    up.start()
    try:
        _serve(arguments.engine, arguments.host, port)
    except KeyboardInterrupt:
        pass
    except ConfigurationError as error:
        return fail(error, code=USAGE)
    except AgentError as error:
        return fail(error)
    except SystemExit as end:
        if end.code:
            return fail("The server did not start; the lines above say why.", code=FAILED)
    tell_aside(say("serve.stopped", language))
    return ANSWERED


def _serve(engine: str, host: str, port: int) -> None:
    # Imported here: the server would warn of an application that takes long to import.
    if engine == "aegra":
        from agent.engines.aegra.serve import serve as serve_instance

        serve_instance(host, port)
        return
    from agent.engines.langgraph.app import serve

    serve(host, port, server_config(), runs_at_once=_RUNS_AT_ONCE)


def server_config() -> dict[str, Any]:
    """Return langgraph.json: a clone's own, or the one that the wheel brings."""
    package = Path(__file__).parents[1]
    clone = package.parents[1] / "langgraph.json"
    path = clone if clone.is_file() else package / "langgraph.json"
    config: dict[str, Any] = json.loads(path.read_text("utf-8"))
    return config


def _free_port(host: str, first: int) -> int:
    """Return the first free port from `first` on; raise ConfigurationError where there is none."""
    for port in range(first, min(first + _MOST_PORTS, 65_536)):
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((host, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                option = "--port" if error.errno == errno.EACCES else "--host"
                raise ConfigurationError(
                    option, f"cannot be {host}:{port}: {error.strerror}"
                ) from None
            return port
    raise ConfigurationError(
        "--port", f"is taken, and so are the {_MOST_PORTS} ports from {first} on"
    )


def _announce(client: httpx.Client, url: str, language: Language, open_page: bool) -> None:
    """Print where the page and Studio are and what answers, once the server does."""
    if sys.stderr.isatty():
        tell_aside(say("serve.starting", language))
    with client:
        while not _answers(client, f"{url}/ok"):
            time.sleep(0.1)
    tell_aside(say("serve.page", language, url=f"{url}/app"))
    tell_aside(
        say("serve.studio", language, url=f"https://smith.langchain.com/studio/?baseUrl={url}")
    )
    tell_aside(_mode_line(language))
    if open_page:
        webbrowser.open(f"{url}/app")


def _answers(client: httpx.Client, url: str) -> bool:
    with contextlib.suppress(httpx.HTTPError):
        return client.get(url).is_success
    return False


def _mode_line(language: Language) -> str:
    from agent.server.health import settings_or_problem

    settings, problem = settings_or_problem()
    if problem is not None or settings is None:
        reason = problem_text(problem, language) if problem else ""
        return say("serve.broken", language, reason=reason)
    if settings.mode == "online":
        return say("serve.online", language)
    return say("serve.offline", language, command=" ".join(called_as()))
