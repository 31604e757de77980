"""Write what the present commit leaves on a user's disk as tests/fixtures/data-COMMIT.tar.xz.

`python -m tools.data_fixture` works in /tmp/tanlu-fixture, with loopback services only, and needs
Postgres 15. Run it before a change to what is stored; tests/fixtures/README.md tells what is in it.
"""

import asyncio
import contextlib
import hashlib
import io
import json
import lzma
import os
import re
import shutil
import signal
import sqlite3
import struct
import subprocess
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from langchain_core.messages import messages_to_dict
from langgraph_sdk import get_sync_client
from pydantic import SecretStr
from tests.support import mixed_files
from tests.support.command_line import CANARY, EN, NO_MAP, ZH, Cli, searches, until
from tests.support.dev_server import REPOSITORY, DevServer, clean_environment, dev_server
from tests.support.page_server import answered_thread
from tests.support.postgres import PASSWORD, PostgresServer, rows, runs_of
from tests.support.served import Served, serving
from tests.support.standins import GeminiService, TavilyService
from tests.support.terminal import terminal

from agent.assistants.registry import compiled
from agent.cli import main as command
from agent.runs.sql import Place
from agent.runs.threads import open_saver
from agent.sample.model.reply import SampleModel

HOME = Path("/tmp/tanlu-fixture")
"""Where it is written; files of a knowledge base are known by their absolute paths."""
COLLECTION = "电池"
FAR = 4_102_444_800.0
"""The year 2100: a week after it was asked a run is forgotten, and its time passes meanwhile."""
QUESTIONS = {
    "agent": ZH,
    "deep_research": EN,
    "team_answer": "国际饭店是哪一年建成的？",
    "plan_execute": EN,
}
FOLLOW_UP = "附近还有适合下雨天去的室内场所吗？"
REVIEW: Any = {"review_plan": True, "geo_routing": "never"}
_STARTED, _MOMENT = b"started_at\xcb", struct.pack(">d", FAR)
"""A turn's beginning as msgpack writes it: the name, then a double."""
_PACKED = ("data", "documents", "server/.langgraph_api", "manifest.json", "postgres.sql")
_DUMP = ("--schema=tanlu", "--inserts", "--no-owner", "--no-privileges", "--no-comments")


@dataclass
class Written:
    """Hold one place: a data folder, or a database beside one."""

    folder: Path
    where: Place
    env: dict[str, str] = field(default_factory=dict)
    threads: dict[str, dict[str, Any]] = field(default_factory=dict)

    def paid(self) -> int:
        """Count the replies that would outlive a crash now."""
        return int(runs_of(self.where, "SELECT count(*) FROM replies")[0][0])

    def add(self, name: str, assistant: str, thread_id: str, question: str, **more: Any) -> None:
        known = {"assistant": assistant, "thread_id": thread_id, "question": question}
        self.threads[name] = {**known, **more}


def run_json(place: Written, *argv: str, **env: str) -> dict[str, Any]:
    """Run a command in this process; return the object it prints with --json."""
    data = {"TANLU_DATA_DIR": str(place.folder / "data"), **place.env, **env}
    before = dict(os.environ)
    with contextlib.chdir(place.folder), contextlib.redirect_stdout(io.StringIO()) as out:
        os.environ.clear()
        os.environ.update(clean_environment(**data))
        try:
            code = command([argv[0], "--json", *argv[1:]])
        finally:
            os.environ.clear()
            os.environ.update(before)
    assert code == 0, argv
    printed: dict[str, Any] = json.loads(out.getvalue())
    return printed


def ask_four(place: Written) -> None:
    """Make a thread of each assistant, one of them with a second question."""
    for assistant, question in QUESTIONS.items():
        own = ("--collection", COLLECTION) if assistant == "plan_execute" else ()
        done = run_json(place, "ask", "--offline", "--assistant", assistant, *own, question)
        assert done["sources"], assistant
        place.add(assistant, assistant, done["thread_id"], question)
    thread = place.threads["agent"]["thread_id"]
    assert run_json(place, "ask", "--offline", "--thread", thread, FOLLOW_UP)["places"]


def wait_for_review(cli: Cli, place: Written) -> None:
    """Leave a thread that waits with its plan, as its reader went away."""
    asked = ("ask", "--offline", "--set", "review_plan=true", ZH)
    env = cli.terminal_environment(**place.env)
    with terminal(*asked, folder=cli.folder, env=env) as screen:
        screen.expect("\n> ")
        assert screen.interrupt() == 130
    thread = screen.text.rsplit("--thread ", 1)[1].split()[0]
    place.add("waiting", "agent", thread, ZH)


def keyed() -> contextlib.AbstractContextManager[Served]:
    """Serve Gemini and Tavily, for somebody with keys for them."""
    return serving(GeminiService(SampleModel(), key=CANARY), TavilyService(key=CANARY))


class Held:
    """Match every search but the first, which is answered."""

    def __init__(self, searching: Callable[[Any, Any], bool]) -> None:
        self._searching, self._first = searching, None
        self.requests = 0

    def __call__(self, request: Any, body: Any) -> bool:
        if not self._searching(request, body):
            return False
        self._first = self._first or body
        held = bool(body != self._first)
        self.requests += held
        return held

    def answers(self, services: list[Any]) -> int:
        """Count the calls of these services that were answered so far."""
        return sum(len(service.requests) for service in services) - self.requests


def digest(body: Any) -> str:
    """Return a name of a request's body; the sample numbers its tool calls anew each time."""
    text = re.sub(r"call-\d+", "call", json.dumps(body, sort_keys=True))
    return hashlib.sha256(text.encode()).hexdigest()


def answered(held: Held, services: list[Any]) -> list[str]:
    """Return the requests that were answered, by their digests."""
    sent = [request for service in services for request in service.requests]
    waiting = {digest(request.body) for request in sent if held(request, request.body)}
    return sorted({digest(request.body) for request in sent} - waiting)


def interrupt(cli: Cli, place: Written) -> None:
    """Kill a command line within a node, with one search of two paid for."""
    with keyed() as services:
        before = place.paid()
        held = Held(lambda request, body: "/search" in str(getattr(request, "path", "")))
        services["tavily"].fail("hang", times=None, match=held)
        own = ("--set", "web_search=tavily", *NO_MAP, "--assistant", "deep_research")
        process = cli.start("ask", *own, EN, **services.environment, **place.env)
        sent = [services["gemini"], services["tavily"]]
        until(lambda: held.requests > 0 and place.paid() - before == held.answers(sent))
        process.kill()
        process.communicate()
        query = "SELECT thread_id FROM runs WHERE status = 'open' AND place = 'cli'"
        ((thread,),) = runs_of(place.where, query)
        place.add("interrupted", "deep_research", thread, EN, answered=answered(held, sent))


def serve_threads(place: Written) -> None:
    """Have a server answer, wait with a plan, and die within a run."""
    folder = place.folder / "server"
    data = {"TANLU_DATA_DIR": str(place.folder / "data"), **place.env}
    with dev_server(folder, env=data) as server:
        place.add("page", "agent", answered_thread(server, EN), EN)
        with get_sync_client(url=server.url) as client:
            thread = client.threads.create(graph_id="agent")["thread_id"]
            question: Any = {"messages": [{"role": "user", "content": ZH}]}
            client.runs.wait(thread, "agent", input=question, context=REVIEW)
            place.add("page_waiting", "agent", thread, ZH)
    lists = folder / ".langgraph_api"
    shutil.copytree(lists, place.folder / "lists")
    kill_server(DevServer(folder, env=data), place)
    # Its lists are written every ten seconds; the run above shall be unknown to them.
    shutil.rmtree(lists)
    (place.folder / "lists").rename(lists)


def kill_server(server: DevServer, place: Written) -> None:
    with keyed() as services:
        held = Held(searches)
        services["gemini"].fail("hang", times=None, match=held)
        server.env = {**server.env, **services.environment}
        server.start()
        before, sent = place.paid(), [services["gemini"]]
        with get_sync_client(url=server.url) as client:
            thread = client.threads.create(graph_id="agent")["thread_id"]
            question: Any = {"messages": [{"role": "user", "content": EN}]}
            client.runs.create(thread, "agent", input=question, context={"geo_routing": "never"})
            until(lambda: held.requests > 0 and place.paid() - before == held.answers(sent))
            server.kill()
        place.add("server", "agent", thread, EN)


async def add_states(place: Written) -> None:
    """Add every thread's messages and what it waits for, as this commit reads them."""
    async with open_saver(place.where) as saver:
        for known in place.threads.values():
            graph = compiled(known["assistant"], saver)
            state = await graph.aget_state({"configurable": {"thread_id": known["thread_id"]}})
            known["messages"] = messages_to_dict(state.values.get("messages", []))
            known["waits"] = [waiting.value for waiting in state.interrupts]
            known["next"] = list(state.next)


def postpone(place: Written) -> None:
    """Move the moments from which open runs and paid replies age to the year 2100."""
    threads = tuple(place.threads[name]["thread_id"] for name in ("interrupted", "server"))
    runs_of(place.where, f"UPDATE runs SET accepted_at = {FAR} WHERE status = 'open'")
    runs_of(place.where, f"UPDATE replies SET at = {FAR}")
    if isinstance(place.where, SecretStr):
        began = f"position('\\x{_STARTED.hex()}'::bytea in blob)"
        moved = f"overlay(blob placing '\\x{_MOMENT.hex()}'::bytea from {began} + {len(_STARTED)})"
        for table in ("checkpoint_blobs", "checkpoint_writes"):
            chosen = f"WHERE thread_id IN {threads} AND {began} > 0"
            rows(place.where, f"UPDATE {table} SET blob = {moved} {chosen}")
        return
    with contextlib.closing(sqlite3.connect(place.where / "threads.sqlite")) as database, database:
        database.create_function("moved", 1, later)
        for table, column in (("checkpoints", "checkpoint"), ("writes", "value")):
            changed = f"UPDATE {table} SET {column} = moved({column})"
            database.execute(f"{changed} WHERE thread_id IN {threads}")


def later(packed: bytes | None) -> bytes | None:
    """Return a packed value whose turn began in 2100."""
    if packed is None or (at := packed.find(_STARTED)) < 0:
        return packed
    at += len(_STARTED)
    return packed[:at] + _MOMENT + packed[at + len(_MOMENT) :]


def documents(folder: Path) -> None:
    """Make a PDF, two Markdown files and a table; an archive keeps whole seconds only."""
    for path in mixed_files.good_files(folder, {"pdf": 1, "md": 2, "csv": 1}).values():
        os.utime(path, (1_795_000_000, 1_795_000_000))


def write(place: Written) -> None:
    """Write everything of one place."""
    cli = Cli(place.folder)
    read = ("documents", "--collection", COLLECTION)
    run_json(place, "ingest", *read)
    run_json(place, "ingest", "--offline", *read, EMBEDDING_MODEL="tei:")
    ask_four(place)
    wait_for_review(cli, place)
    serve_threads(place)
    interrupt(cli, place)
    asyncio.run(add_states(place))
    postpone(place)


def dump(database: SecretStr) -> str:
    """Return the database as statements that psql and psycopg take."""
    command = ["pg_dump", *_DUMP, database.get_secret_value()]
    script = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    # `\restrict` of newer versions is psql's alone.
    lines = [line for line in script.splitlines() if line and not line.startswith(("--", "\\"))]
    return "\n".join(lines) + "\n"


def pack(target: Path) -> None:
    """Archive what is left in HOME, without what SQLite leaves beside its files."""
    for path in HOME.rglob("*.sqlite"):
        with contextlib.closing(sqlite3.connect(path)) as database:
            database.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            database.execute("VACUUM")
    with (
        lzma.open(target, "wb", preset=9 | lzma.PRESET_EXTREME) as packed,
        tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive,
    ):
        for name in _PACKED:
            archive.add(HOME / name, name, filter=_anonymous)


def clean(archive: Path) -> None:
    """Raise if this machine's paths, a key or a password got into the archive."""
    private = [str(REPOSITORY), str(Path.home()), CANARY, PASSWORD, quote(PASSWORD, safe="")]
    with tarfile.open(archive) as opened:
        for member in opened:
            content = file.read() if (file := opened.extractfile(member)) else b""
            if wrong := [name for name in private if name.encode() in content]:
                raise RuntimeError(f"{member.name} holds {wrong}")


def _anonymous(member: tarfile.TarInfo) -> tarfile.TarInfo | None:
    member.uid = member.gid = 0
    member.uname = member.gname = ""
    return None if member.name.endswith(("-wal", "-shm", "-journal")) else member


def main() -> None:
    """Write both places into HOME, then the archive."""
    # Begun in the background it ignores Ctrl-C, and what it starts would inherit that.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    shutil.rmtree(HOME, ignore_errors=True)
    HOME.mkdir(mode=0o711)
    documents(HOME / "documents")
    files = Written(HOME, HOME / "data")
    write(files)
    server = PostgresServer(HOME / "postgres")
    server.create()
    try:
        url = SecretStr(server.new_database())
        beside = HOME / "beside"
        shutil.copytree(HOME / "documents", beside / "documents")
        database = Written(beside, url, {"DATABASE_URL": url.get_secret_value()})
        write(database)
        (HOME / "postgres.sql").write_text(dump(url), "utf-8")
    finally:
        server.stop()
    known = {"files": files.threads, "postgres": database.threads}
    (HOME / "manifest.json").write_text(json.dumps(known, ensure_ascii=False, indent=1), "utf-8")
    commit = subprocess.run(["git", "rev-parse", "--short=7", "HEAD"], cwd=REPOSITORY,
                            capture_output=True, text=True, check=True).stdout.strip()  # fmt: skip
    target = REPOSITORY / "tests" / "fixtures" / f"data-{commit}.tar.xz"
    pack(target)
    clean(target)
    print(f"{target.name}: {target.stat().st_size} bytes")


if __name__ == "__main__":
    main()
