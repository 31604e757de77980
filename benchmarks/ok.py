"""How late `GET /ok` is answered while a server works on the worst that comes from outside.

    uv run python -m benchmarks.ok [--places answer,map] [--texts rows,digits]

A server as `make dev` starts it, over stand-ins in a process of their own, whose model, search or
map says one of `benchmarks.hostile`'s texts of 100 kB. Each is asked about, and asked about again;
then the page's files of the answer are loaded. A process of its own asks `/ok` all the time: one
row for each place and text, the longest that one answer took. So are own documents of such texts,
beside `tanlu search`. At last come several such questions at once, a client's own state, and a
thread of thirty such turns. `nothing` is an ordinary run.
"""

import argparse
import asyncio
import itertools
import multiprocessing
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from http.client import HTTPConnection, HTTPException
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tests.support.dev_server import clean_environment, dev_server

from benchmarks.hostile import PLACES, TEXTS
from benchmarks.maps import environment_with_map
from benchmarks.script import question
from benchmarks.standins import KEY, StandinOptions, Standins
from benchmarks.table import Line, header, show

_MOST_SECONDS, _PAUSE, _PATIENCE = 0.5, 0.02, 120.0
_AT_ONCE, _TURNS = 4, 30
_FILES = (
    "report.html", "report.pdf", "answer.md", "places.geojson", "places.gpx", "outing.ics",
    "outing.svg",
)  # fmt: skip
_LONG = ("deep_research", "team_answer", "plan_execute")


_MORE, _END = "more", "end"


def _listen(url: str, told: Connection) -> None:
    """Ask `/ok` until told to end; tell the worst since one was last asked for."""
    parts, worst = urlsplit(url), 0.0
    connection = HTTPConnection(parts.hostname or "", parts.port, timeout=_PATIENCE)
    while True:
        began = time.monotonic()
        try:
            connection.request("GET", "/ok")
            connection.getresponse().read()
        except (OSError, HTTPException):
            connection.close()
        worst = max(worst, time.monotonic() - began)
        if told.poll(_PAUSE):
            if told.recv() == _END:
                return
            told.send(worst)
            worst = 0.0


class Ear:
    """Ask `/ok` from a process of its own, which nothing else keeps from it."""

    def __init__(self, url: str) -> None:
        self._told, other = multiprocessing.Pipe()
        self._process = multiprocessing.Process(target=_listen, args=(url, other), daemon=True)
        self._process.start()
        other.close()

    async def worst(self) -> float:
        """Return the longest answer since this was last asked."""
        self._told.send(_MORE)
        return float(await asyncio.to_thread(self._told.recv))

    def close(self) -> None:
        """End the process."""
        self._told.send(_END)
        self._process.join()


@dataclass(frozen=True)
class Programs:
    """Run `tanlu` beside a server, over its data."""

    folder: Path
    env: Mapping[str, str]

    async def run(self, *arguments: str) -> None:
        """Have one program do its work to the end."""
        program = await asyncio.create_subprocess_exec(
            *(sys.executable, "-m", "agent.cli", *arguments),
            cwd=self.folder,
            env=self.env,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
        )
        if await program.wait() not in (0, 1):
            raise RuntimeError(f"tanlu {arguments[0]}: exit {program.returncode}")


@dataclass
class Bench:
    """Ask a server about what its stand-ins say."""

    client: LangGraphClient
    http: httpx.AsyncClient
    standins: Standins
    ear: Ear
    hits: bool = False
    """Whether the main assistant's web search is one that returns hits."""
    numbers: "itertools.count[int]" = field(default_factory=lambda: itertools.count(1))

    async def turn(self, thread: str, assistant: str = "agent", **settings: str) -> None:
        """Have one question answered, as the page has it."""
        asked = {"messages": question(next(self.numbers), geo=assistant == "agent")}
        web_search = "tavily" if self.hits or assistant != "agent" else "google"
        context = {"web_search": web_search, **settings}
        parts = self.client.runs.stream(
            thread,
            assistant,
            input=asked,
            context=context,
            stream_mode=["messages-tuple", "updates", "custom"],
            durability="sync",
        )
        async for part in parts:
            if part.event == "error":
                raise RuntimeError(str(part.data))

    async def thread(self) -> str:
        """Return a new thread."""
        return str((await self.client.threads.create(graph_id="agent"))["thread_id"])

    async def read(self, thread: str) -> None:
        """Load what the page can load of a thread's last answer."""
        state = await self.client.threads.get_state(thread)
        for name in _FILES:
            file = await self.http.get(f"/app/runs/{thread}/{name}")
            if file.status_code not in (200, 404):
                raise RuntimeError(f"{name}: {file.status_code} {file.text[:80]}")
        await self.client.threads.get_history(thread, limit=10)
        await self.client.threads.search(limit=20)
        assert state["values"]

    async def asked(self, assistant: str = "agent") -> None:
        """Ask a question, ask on, and load the answer."""
        thread = await self.thread()
        await self.turn(thread, assistant)
        await self.turn(thread, assistant)
        await self.read(thread)

    async def row(
        self, name: str, place: str, text: str, act: Callable[[], Awaitable[Any]]
    ) -> Line:
        """Return the worst `/ok` while this is done and the stand-ins say that."""
        self.hits = place == "hits"
        await asyncio.to_thread(self.standins.say, place, text)
        await self.ear.worst()
        began = time.monotonic()
        note = ""
        try:
            await act()
        except Exception as error:  # noqa: BLE001 (a run that fails has its row, too)
            note = f" {type(error).__name__}: {str(error)[:80]}"
        took = time.monotonic() - began
        await asyncio.to_thread(self.standins.say, "", "")
        worst = await self.ear.worst()
        return Line(name, text or "—", worst, _MOST_SECONDS, f"{took:.1f} s{note}")

    async def at_once(self) -> None:
        """Ask several such questions at once."""
        await asyncio.gather(*(self.asked() for _ in range(_AT_ONCE)))

    async def many_turns(self) -> None:
        """Ask on and on on one thread, and load it."""
        thread = await self.thread()
        for _ in range(_TURNS):
            await self.turn(thread)
        await self.read(thread)

    async def own_documents(self, programs: Programs, text: str) -> None:
        """Read a text in as a document, and ask two assistants about it beside `tanlu search`."""
        file = programs.folder / f"{text}.md"
        file.write_text(TEXTS[text], "utf-8")
        name = text.replace(" ", "-")
        await programs.run("ingest", str(file), "--collection", name)
        for assistant in ("agent", "plan_execute"):
            thread = await self.thread()
            asked = partial(self.turn, thread, assistant, collections=name, sources="own")
            search = programs.run("search", TEXTS[text][:2_000], "--collection", name)
            await asyncio.gather(asked(), search)
            await asked()
            await self.read(thread)

    async def own_state(self, text: str) -> None:
        """Write a state of one's own, and ask on from there."""
        thread = await self.thread()
        said = TEXTS[text]
        for values in (
            {"messages": [{"role": "user", "content": said[:19_000]}]},
            {
                "messages": [
                    {"role": "user", "content": "?"},
                    {"role": "assistant", "content": said},
                ]
            },
        ):
            with suppress(httpx.HTTPStatusError):
                await self.client.threads.update_state(thread, values)
        await self.turn(thread)
        asked = {"messages": [{"role": "user", "content": said[:19_900]}]}
        with suppress(httpx.HTTPStatusError):
            await self.client.runs.wait(thread, "agent", input=asked)


async def measured(
    bench: Bench, programs: Programs, places: Sequence[str], texts: Sequence[str]
) -> list[Line]:
    """Return a row for each place and text, printed as they come."""
    lines = list[Line]()

    async def note(name: str, place: str, text: str, act: Callable[[], Awaitable[Any]]) -> None:
        lines.append(await bench.row(name, place, text, act))
        show(lines[-1:])

    await note("warm", "", "", bench.asked)
    lines.clear()
    await note("nothing", "", "", bench.asked)
    for place in places:
        if place in PLACES:
            for text in texts:
                await note(place, place, text, bench.asked)
    for text in texts:
        if "documents" in places:
            await note("documents", "", text, partial(bench.own_documents, programs, text))
        if "several" in places:
            await note(f"{_AT_ONCE} at once", "everywhere", text, bench.at_once)
        if "state" in places:
            await note("a client's state", "", text, partial(bench.own_state, text))
    for assistant in _LONG if "long" in places else ():
        for text in texts:
            await note(assistant, "everywhere", text, partial(bench.asked, assistant))
    if "turns" in places:
        await note(f"{_TURNS} turns", "answer", texts[0], bench.many_turns)
    return lines


async def main(places: Sequence[str], texts: Sequence[str]) -> int:
    """Print the table; 1 if a target is missed, 0 otherwise."""
    with (
        Standins(StandinOptions(scale=0.01)) as standins,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
    ):
        env = environment_with_map(
            standins, TAVILY_API_KEY=KEY, TAVILY_BASE_URL=standins.url("tavily")
        )
        with dev_server(Path(folder), env=env, jobs=10) as server:
            ear = Ear(server.url)
            async with (
                get_client(url=server.url) as client,
                httpx.AsyncClient(base_url=server.url, timeout=_PATIENCE, trust_env=False) as http,
            ):
                print(header())
                data = {"TANLU_DATA_DIR": str(server.folder / "threads")}
                programs = Programs(server.folder, clean_environment(**{**env, **data}))
                bench = Bench(client, http, standins, ear)
                lines = await measured(bench, programs, places, texts)
            ear.close()
            if "Traceback" in (log := server.output()):
                print("! the server's log has", log.count("Traceback"), "tracebacks")
    return int(any(line.holds is False for line in lines))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    every = [*PLACES, "documents", "several", "state", "long", "turns"]
    parser.add_argument("--places", default=",".join(every), help=f"of {', '.join(every)}")
    parser.add_argument("--texts", default=",".join(TEXTS), help=f"of {', '.join(TEXTS)}")
    options = parser.parse_args()
    sys.exit(asyncio.run(main(options.places.split(","), options.texts.split(","))))
