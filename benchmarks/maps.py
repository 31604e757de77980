"""Rows of questions that need the map: their cost, its server, its pace."""

import json
import os

from tests.support.dev_server import REPOSITORY

from agent.mcp.amap.install import find_node, installed_server
from benchmarks.loads import Bench, environment, in_process
from benchmarks.processes import MapServers
from benchmarks.runs import Phase, PhaseResult, median
from benchmarks.standins import KEY, StandinOptions, Standins
from benchmarks.table import Line

_REDIRECT = REPOSITORY / "src" / "agent" / "sample" / "services" / "amap_redirect.cjs"
_AT_3_QPS = 8
_RUNS = 5


def environment_with_map(standins: Standins, **more: str) -> dict[str, str]:
    """The real map server, whose requests go to the stand-in."""
    node = find_node()
    command = [node.node, "--require", str(_REDIRECT), str(installed_server(node))]
    return environment(
        standins,
        AMAP_MAPS_API_KEY=KEY,
        AMAP_MCP_COMMAND=json.dumps(command),
        AMAP_MCP_ENV="AMAP_TEST_BASE_URL",
        AMAP_TEST_BASE_URL=standins.url("amap"),
        **more,
    )


def geo(bench: Bench) -> list[Line]:
    """A geo question against a plain one, at the default AMAP_QPS."""
    count = min(_RUNS, bench.load)
    phases = [
        Phase("warm geo", 1, "one_by_one", 0, geo=True),
        Phase("plain", count, "one_by_one", 10),
        Phase("geo", count, "one_by_one", 21, geo=True),
    ]
    with Standins(StandinOptions(scale=bench.scale)) as standins:
        _, plain, found = in_process(phases, bench, environment_with_map(standins, **paces(bench)))
    ratio = median(found.walls()) / median(plain.walls())
    bound = bench.latencies.bound
    each = ", ".join(
        f"{run.wall / bound:.3f} ({run.usage['map_calls']} map calls)" for run in found.good
    )
    note = f"plain {median(plain.walls()) / bound:.3f}; each geo run {each}"
    return [*_failed("geo", plain, found), Line("geo", "geo ÷ plain (medians)", ratio, 1.06, note)]


def servers(bench: Bench) -> list[Line]:
    """Many geo questions at once: how many processes serve them."""
    count = max(2, bench.load // 2)
    phases = [Phase("geo", count, "together", 100, geo=True)]
    with (
        Standins(StandinOptions(scale=bench.scale)) as standins,
        MapServers(os.getpid()) as seen,
    ):
        (found,) = in_process(phases, bench, environment_with_map(standins, AMAP_QPS="1000"))
    note = f"{count} geo questions at once; {_told(found)}"
    return [
        *_failed("map-servers", found),
        Line("map-servers", "map server processes at most", seen.most, 1, note, digits=0),
        Line("map-servers", "map server processes ever", len(seen.ever), 1, digits=0),
    ]


def pace(bench: Bench) -> list[Line]:
    """A key with 3 calls a second, and several runs that want more."""
    count = min(_AT_3_QPS, bench.load)
    phases = [Phase("geo", count, "together", 200, geo=True)]
    with Standins(StandinOptions(scale=bench.scale, amap_qps=3)) as standins:
        (found,) = in_process(phases, bench, environment_with_map(standins))
        told = standins.stats()["amap"]
    note = f"{len(told['calls'])} calls of {count} runs; {_told(found)}"
    return [
        *_failed("amap-qps", found),
        Line("amap-qps", "calls refused at 3 a second", told["refused"], 0, note, digits=0),
    ]


def paces(bench: Bench) -> dict[str, str]:
    """The default pace, shortened like everything else."""
    return {} if bench.scale == 1 else {"AMAP_QPS": str(2.5 / bench.scale)}


def _told(result: PhaseResult) -> str:
    places = median(run.usage["places"] for run in result.good)
    calls = median(run.usage["map_calls"] for run in result.good)
    return f"{places:g} places, {calls:g} map calls a run"


def _failed(row: str, *results: PhaseResult) -> list[Line]:
    """Runs without an answer or without any place."""
    runs = [run for result in results for run in result.runs]
    bad = [run for run in runs if run.error]
    empty = [run for run in results[-1].good if not run.usage["places"]]
    if not bad and not empty:
        return []
    note = bad[0].error if bad else f"{len(empty)} without places"
    return [Line(row, "failed runs", len(bad) + len(empty), 0, note, digits=0)]
