"""What every test gets: an environment without keys, settings or a `.env`, and its own data.

What imports the product is imported where it is used: the process that only hands tests out to
workers, and that they all wait for at the beginning, does without it.
"""

import functools
import gc
import itertools
import logging
import os
import signal
import sys
import zlib
from collections.abc import Callable, Iterator
from dataclasses import replace
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import pytest
from xdist.scheduler import LoadFileScheduling

if TYPE_CHECKING:
    from agent.core import calls
    from agent.core.errors import ProviderError

for _folder in ("support", "browser", "conformance", "contract", "e2e", "integration", "unit"):
    pytest.register_assert_rewrite(f"tests.{_folder}")
# Imports make millions of objects that stay; looking through them again and again takes a second.
gc.disable()
# Servers and command lines start by the hundred; each compiles every library where none is kept.
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False
# Begun in the background, a suite ignores Ctrl-C, and what it starts would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Let the suite of tests/conformance ask one engine alone, and a test be one for each row."""
    parser.addoption("--engine", choices=["dev", "aegra"], help="the conformance of one engine")
    parser.addoption("--each-row", action="store_true", help="a test for each row of examples")


def pytest_configure(config: pytest.Config) -> None:
    """Let tests see and break what the sample mode runs, and retries wait a hundredth as long."""
    if config.getoption("tx", None) and not hasattr(config, "workerinput"):
        return
    from agent.core import calls
    from tests.support import kept_amap, started_once
    from tests.support.forked import remember_what_libraries_find_out
    from tests.support.programs import forking, forking_readers
    from tests.support.standins import observe_sample

    observe_sample()
    remember_what_libraries_find_out()
    started_once.fork_our_map_server(forking)
    started_once.fork_readers(forking_readers, started_once.FILES)
    started_once.share_readers()
    kept_amap.keep_amap_server()
    # `make mutate` begins several sessions in one process.
    if not hasattr(calls._delay, "whole"):
        calls._delay = _shorter(calls._delay)


def _shorter(back_off: "Callable[..., float | None]") -> "Callable[..., float | None]":
    """Wait a hundredth as long before another attempt; what a service asks for is waited whole."""

    @functools.wraps(back_off)
    def delay(policy: "calls.Policy", error: "ProviderError", attempt: int) -> float | None:
        return back_off(replace(policy, base_delay=policy.base_delay / 100), error, attempt)

    delay.whole = back_off  # type: ignore[attr-defined]
    return delay


@pytest.fixture
def whole_back_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let retries wait as they do for a user."""
    from agent.core import calls

    monkeypatch.setattr(calls, "_delay", calls._delay.whole)  # type: ignore[attr-defined]


def pytest_pycollect_makeitem(
    collector: pytest.Collector, name: str, obj: object
) -> list[pytest.Function] | None:
    """Check the rows of a plain function in one test, unless each is wanted alone."""
    computes = collector.nodeid.startswith(_COMPUTING)
    if not computes or collector.config.getoption("--each-row"):
        return None
    from tests.support.one_test import collected

    return list(collected(collector, name, obj)) or None


def pytest_collection_finish() -> None:
    """Leave all modules and tests out of every later collection of garbage: it takes a second."""
    from agent.core.garbage import collect_rarely

    collect_rarely()
    gc.freeze()
    gc.enable()


def pytest_xdist_auto_num_workers(config: pytest.Config) -> int:
    """Return how many workers: none for a single file, else more than there are cores.

    Tests wait for servers and browsers, and some for a time limit: two more have work. Those that
    only compute have none for a third, which would import and collect everything as well.
    """
    if len(config.args) == 1 and ".py" in config.args[0]:
        return 0
    cores = os.cpu_count() or 1
    computes = all(any(name in path for name in _COMPUTING) for path in config.args)
    return min(cores if computes else cores + 2, 8)


class _Scheduling(LoadFileScheduling):  # type: ignore[misc]
    """Give each worker whole files, one all rules of architecture, two all that needs a browser."""

    def _split_scope(self, nodeid: str) -> str:
        path: str = super()._split_scope(nodeid)
        if path.startswith("tests/architecture/"):
            # Most look through the syntax of all modules, which is read once then.
            return "tests/architecture"
        if not path.startswith("tests/browser/"):
            return path
        # Each worker with a browser has a Chromium and a server for them all.
        return f"tests/browser/{zlib.crc32(path.encode()) % 2}"


def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> _Scheduling | None:
    """Schedule by file as above."""
    return _Scheduling(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mix files that wait with files that compute, and end with short ones."""
    files: dict[str, dict[str, list[pytest.Item]]] = {}
    for item in items:
        path = item.nodeid.partition("::")[0]
        files.setdefault(path.rpartition("/")[0], {}).setdefault(path, []).append(item)
    order: list[tuple[float, list[pytest.Item]]] = []
    for folder, tests in files.items():
        begin, end = _PLACES.get(folder, (1, 2))
        step = (end - begin) / len(tests)
        order += [(begin + step * n, tests[path]) for n, path in enumerate(tests)]
    items[:] = [item for _, tests in sorted(order, key=itemgetter(0)) for item in tests]


_PLACES = {"tests/architecture": (-1, -1), "tests/browser": (-1, -1), "tests/e2e": (0, 0.8),
           "tests/conformance": (0, 0.8), "tests/integration": (0, 1)}  # fmt: skip
"""Where the files of a folder stand among all; others stand behind them."""
_COMPUTING = ("tests/unit", "tests/contract", "tests/architecture")


_FOREIGN = {"GOOGLE_GENAI_USE_VERTEXAI", "LANGSMITH_API_KEY", "LANGSMITH_GATEWAY",
            "UV_RUN_RECURSION_DEPTH"}  # fmt: skip
_PROXIES = {f"{kind}_PROXY" for kind in ("HTTP", "HTTPS", "ALL", "NO")}


_numbers = itertools.count()


@functools.cache
def _no_part_of_a_test() -> set[str]:
    from agent.configuration import Configuration
    from agent.settings import Settings

    ours = {name.upper() for name in (*Settings.model_fields, *Configuration.model_fields)}
    return ours | _FOREIGN | _PROXIES


def _told_by_environment() -> list[str]:
    return [name for name in os.environ if name.upper() in _no_part_of_a_test()]


@pytest.fixture(autouse=True)
def clean_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """No test sees the machine's keys or proxies, and none writes to the user's data."""
    from agent.core import redaction
    from agent.server.auth.api_keys import access

    for name in _told_by_environment():
        monkeypatch.delenv(name)
    # A folder of its own that is there once somebody writes: most write nothing.
    data = tmp_path_factory.getbasetemp() / "data" / str(next(_numbers))
    monkeypatch.setenv("TANLU_DATA_DIR", str(data))
    monkeypatch.setenv("LANGSMITH_TRACING", "false")
    # What a test before this one made the process remember is no part of this one.
    monkeypatch.setattr(redaction, "_secrets", set(redaction._secrets))
    access.cache_clear()
    _hear_every_logger()
    umask = os.umask(0o077)
    os.umask(umask)
    yield
    # A server's checkpointer sets it for the whole process.
    os.umask(umask)
    # A command sets variables itself (`--offline`, `.env`); a module's fixtures would see them.
    for name in _told_by_environment():
        del os.environ[name]


def _hear_every_logger() -> None:
    """Commands tried in this process add a writer and set levels; later tests read warnings."""
    # Each of these clears what every logger remembers; there are hundreds.
    if logging.root.manager.disable:
        logging.disable(logging.NOTSET)
    if logging.root.level != logging.WARNING:
        logging.root.setLevel(logging.WARNING)
    for writer in list(logging.root.handlers):
        # It scrubs a record before pytest's own writers have it: a key in a log would not show.
        if getattr(writer, "tanlu", False):
            logging.root.removeHandler(writer)
            writer.close()
    for logger in _loggers(len(logging.root.manager.loggerDict)):
        logger.disabled, logger.propagate = False, True
        if logger.level != logging.NOTSET:
            logger.setLevel(logging.NOTSET)


@functools.lru_cache(1)
def _loggers(count: int) -> list[logging.Logger]:
    """Return those that commands change, of so many that there are."""
    from agent.cli import environment as logs

    names = list(logging.root.manager.loggerDict)
    ours = (name for name in names if name.partition(".")[0] == "agent" or name in logs._LOUD)
    return [logging.getLogger(name) for name in ours]
