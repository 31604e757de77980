"""Kill instances of a cluster while people ask, and count what was lost or paid twice.

`uv run python -m benchmarks.campaign [--kills 200] [--long 40] [--exact 20]` (`make campaign`):
three instances behind nginx over one Postgres and one Redis, all of this machine. Who asks follows
each run as `tanlu --url` does. The stand-ins know which calls they answered to the end. Besides
`kill -9` at random: kills at the worst moments, Redis killed, Postgres restarted, its disk full,
instances told to end (`benchmarks.cluster_faults`).
"""

import argparse
import asyncio
import contextlib
import itertools
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from typing import Any
from uuid import uuid4

import psycopg
from langgraph_sdk import get_client
from langgraph_sdk.client import LangGraphClient
from tools.cluster import Whole, whole_cluster

from agent.client.connection import find_assistant
from agent.client.follow import FollowLimits, RunFollower, RunOrder
from benchmarks.cluster_faults import DISK_FULL, LAST_TASKS, Asked, Course, Killer
from benchmarks.runs import median
from benchmarks.script import question
from benchmarks.standins import KEY, Call, StandinOptions, Standins
from benchmarks.table import Line, header, show

ASKER = "campaign-key-0123456789"
LONG = ("deep_research", "team_answer", "plan_execute")
_ALWAYS: Mapping[str, Any] = {"geo_routing": "never", "claim_check": False}
_CONTEXT = {
    "agent": {**_ALWAYS, "web_search": "google"},
    "deep_research": {**_ALWAYS, "web_search": "tavily", "small_topic_tokens": 0},
    "team_answer": {**_ALWAYS, "web_search": "tavily"},
    "plan_execute": {**_ALWAYS, "web_search": "tavily"},
}
_TOPICS = ("西湖", "外滩", "王府井", "宽窄巷子")
_CUT_SECONDS = 0.5
"""A call that ends unanswered so soon after a kill was cut off by it."""
_NOTICED_SECONDS = 0.05
_ON_ITS_WAY_SECONDS = 0.1
"""An answer may not have been read and kept when its reader dies so soon after."""
_DISK_MB = 1200


def ask_for(assistant: str, number: int) -> str:
    """Return a question of its own for each run: its number is in every prompt."""
    if assistant == "agent":
        return question(number)
    return f"{_TOPICS[number % len(_TOPICS)]}一日游怎么安排，交通和门票（编号{number}）"


async def ask(
    client: LangGraphClient, course: Course, assistant: Mapping[str, Any], number: int
) -> None:
    """Ask one question on a thread of its own and follow it to its end, whatever dies."""
    name = str(assistant["graph_id"])
    one = Asked(course.row or name, str(uuid4()))
    course.asked.append(one)
    began = time.monotonic()
    try:
        request = RunOrder(
            assistant,
            one.thread,
            input={"messages": [{"role": "user", "content": ask_for(name, number)}]},
            context=_CONTEXT[name],
            owns_thread=True,
        )
        limits = FollowLimits(run=600)
        run = await RunFollower(client, request, server="the cluster", limits=limits).follow()
        one.error = str(run.error or "")
        said = [m for m in run.values.get("messages", []) if m.get("type") == "ai"]
        one.answers = sum(bool(message.get("content")) for message in said)
    except Exception as error:  # noqa: BLE001 - whatever it is, it is counted
        one.error = f"{type(error).__name__}: {error}"[:300]
    one.seconds = time.monotonic() - began


async def keep_asking(
    url: str, course: Course, assistants: Sequence[Mapping[str, Any]], numbers: Iterator[int]
) -> None:
    """Ask one question after another until the campaign is over."""
    async with get_client(url=url, api_key=ASKER) as client:
        while course.busy:
            number = next(numbers)
            await ask(client, course, assistants[number % len(assistants)], number)


async def note_calls(standins: Standins, course: Course) -> None:
    """Take what the stand-ins saw since the last time."""
    told = await asyncio.to_thread(standins.stats)
    course.calls += [Call(**call) for name in ("gemini", "tavily") for call in told[name]["calls"]]


Part = tuple[Sequence[str], Callable[[Killer], Awaitable[None]]]
"""The assistants that are asked, and what is done to the cluster meanwhile."""


def parts(told: argparse.Namespace) -> list[Part]:
    """Return the plan: kills under questions to the first assistant, then under the long ones."""
    every = ("agent", *LONG)
    plan: list[tuple[int, Part]] = [
        (told.kills, (("agent",), lambda killer: killer.kill(told.kills))),
        (not told.kills_only, (("agent",), lambda killer: killer.fail_stores())),
        (told.long, (LONG, lambda killer: killer.kill(told.long))),
        (told.exact, (every, lambda killer: killer.kill_after_last_byte(told.exact))),
        (told.exact, (every, lambda killer: killer.kill_before_put(told.exact))),
        (not told.kills_only, (("agent",), lambda killer: killer.fill_disk())),
    ]
    return [part for wanted, part in plan if wanted]


async def campaign(
    whole: Whole, standins: Standins, course: Course, plan: Sequence[Part],
    *, askers: int, seed: int,
) -> None:  # fmt: skip
    """Ask these assistants while this is done to the cluster, for each part of the plan."""
    killer, numbers = Killer(whole, standins, course, seed), itertools.count(1)
    async with get_client(url=whole.address, api_key=ASKER) as client:
        known = {name: await find_assistant(client, name) for name in ("agent", *LONG)}
    noting = asyncio.create_task(_note_regularly(standins, course))
    for assistants, act in plan:
        course.busy = True
        asking = [
            asyncio.create_task(
                keep_asking(whole.address, course, [known[name] for name in assistants], numbers)
            )
            for _ in range(askers)
        ]
        await act(killer)
        course.busy = False
        await asyncio.gather(*asking)
        await note_calls(standins, course)
        # What is known so far, if the campaign is broken off.
        show(figures(course, await asyncio.to_thread(statuses, whole.cluster.database)))
    noting.cancel()
    with contextlib.suppress(asyncio.CancelledError):
        await noting


async def _note_regularly(standins: Standins, course: Course) -> None:
    while True:
        await asyncio.sleep(5)
        await note_calls(standins, course)


def statuses(database: str) -> Counter[str]:
    """Return how many runs the database holds by their status."""
    with psycopg.connect(database) as connection:
        rows = connection.execute("SELECT status, count(*) FROM runs GROUP BY status").fetchall()
    return Counter({str(name): int(count) for name, count in rows})


def paid_again(calls: Sequence[Call]) -> list[tuple[Call, Call]]:
    """Return calls that were answered, each with the same one answered again.

    A search whose words name no run may be the same in several.
    """
    answered: defaultdict[str, list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda call: call.ended):
        if call.status == 200 and call.run >= 0:
            answered[call.key].append(call)
    return [pair for group in answered.values() for pair in itertools.pairwise(group)]


def before_a_kill(call: Call, kills: Sequence[float]) -> float:
    """Return the seconds from a call's answer to what was killed next; a few after it count, too.

    Who is killed reads nothing more, and what answers it notices that later.
    """
    later = [kill - call.ended for kill in kills if kill >= call.ended - _NOTICED_SECONDS]
    return min(later, default=float("inf"))


def is_on_its_way(call: Call, kills: Sequence[float]) -> bool:
    """Return whether who asked may have died before it had read and kept the answer.

    Who is answered after a kill, and asked before it, may be dead: a busy machine hides it a while.
    """
    spans = any(call.arrived <= kill <= call.ended <= kill + _CUT_SECONDS for kill in kills)
    return spans or before_a_kill(call, kills) <= _ON_ITS_WAY_SECONDS


def told_of(pairs: Sequence[tuple[Call, Call]], kills: Sequence[float]) -> str:
    """Return what was paid again, with the milliseconds to the kill after its answer and before."""
    told = []
    for first, _ in pairs:
        since = min((first.ended - kill for kill in kills if kill < first.ended), default=0.0)
        told.append(
            f"{first.task or 'search'} {1000 * before_a_kill(first, kills):.0f} ms before a kill"
            f" ({1000 * since:.0f} after one)"
        )
    return ", ".join(told[:6])


def resumed(calls: Sequence[Call], kills: Sequence[float]) -> list[float]:
    """Return the seconds from a kill to the next call of each run that it cut off."""
    by_run: defaultdict[int, list[Call]] = defaultdict(list)
    for call in sorted(calls, key=lambda call: call.arrived):
        by_run[call.run].append(call)
    seconds = []
    for run, made in by_run.items():
        for kill in kills if run >= 0 else ():
            cut = [c for c in made if c.status == 0 and 0 <= c.ended - kill <= _CUT_SECONDS]
            later = [call.arrived for call in made if call.arrived > kill]
            if cut and later:
                seconds.append(min(later) - kill)
    return seconds


def of_questions(name: str, asked: Sequence[Asked]) -> list[Line]:
    """Return what came of questions. Where nothing could be kept, they may be refused."""
    failed = [one for one in asked if one.error]
    wrong = [one for one in asked if not one.error and one.answers != 1]
    most = None if name == DISK_FULL else 0
    return [
        Line(name, "questions", len(asked), digits=0),
        Line(name, "lost or failed", len(failed), most, failed[0].error if failed else "",
             digits=0),
        Line(name, "not exactly one answer", len(wrong), 0,
             ", ".join(one.thread for one in wrong[:3]), digits=0),
        Line(name, "seconds, median", median(one.seconds for one in asked), digits=1),
        Line(name, "seconds, longest", max(one.seconds for one in asked), digits=1),
    ]  # fmt: skip


def figures(course: Course, left: Counter[str]) -> list[Line]:
    """Return the table of what happened."""
    lines = [
        Line("done to it", name, count, note=course.notes.get(name, ""), digits=0)
        for name, count in sorted(course.faults.items())
    ]
    for name in dict.fromkeys(one.assistant for one in course.asked):
        lines += of_questions(name, [one for one in course.asked if one.assistant == name])
    # Where nothing could be kept, a run may end in an error, and its question in another run.
    full = any(one.assistant == DISK_FULL for one in course.asked)
    again = paid_again(course.calls)
    last = [pair for pair in again if pair[0].task in LAST_TASKS]
    late = [
        pair for pair in again
        if pair not in last and is_on_its_way(pair[0], course.kills)
    ]  # fmt: skip
    others = [pair for pair in again if pair not in last and pair not in late]
    cut = sum(call.status == 0 for call in course.calls)
    waits = resumed(course.calls, course.kills)
    return [
        *lines,
        Line("runs", "not success in the database", left.total() - left["success"],
             None if full else 0,
             ", ".join(f"{name} {count}" for name, count in left.items()), digits=0),
        Line("calls", "made", len(course.calls), digits=0),
        Line("calls", "cut off", cut, digits=0),
        Line("calls", "answered and made again", len(others), 0,
             told_of(others, course.kills), digits=0),
        Line("calls", "of answers on their way at a kill", len(late),
             note=told_of(late, course.kills), digits=0),
        Line("calls", "of last answers, streamed", len(last), note=told_of(last, course.kills),
             digits=0),
        Line("going on", "seconds, median", median(waits) if waits else 0, digits=1),
        Line("going on", "seconds, longest", max(waits, default=0), digits=1),
    ]  # fmt: skip


def settings(standins: Standins) -> dict[str, str]:
    """Return what instances need to ask the stand-ins, and nobody else."""
    return {
        "TANLU_MODE": "online",
        "TANLU_API_KEYS": f"campaign:{ASKER}",
        "GEMINI_API_KEY": KEY,
        "GOOGLE_GEMINI_BASE_URL": standins.url("gemini"),
        "TAVILY_API_KEY": KEY,
        "TAVILY_BASE_URL": standins.url("tavily"),
        # Encyclopedia and papers are not asked: nothing of the machine's outside is.
        "WIKIPEDIA_USER_AGENT": "Campaign/1",
        "SEMANTIC_SCHOLAR_BASE_URL": standins.url("control"),
        # At its own pace of one a second, which all share, questions would last for minutes.
        "SEMANTIC_SCHOLAR_QPS": "100",
    }


def main(argv: Sequence[str] | None = None) -> int:
    """Return 0 if nothing was lost and nothing was paid twice."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="under questions to `agent`")
    parser.add_argument("--long", type=int, default=40, help="under questions to the long ones")
    parser.add_argument("--exact", type=int, default=20, help="at each of the worst moments")
    parser.add_argument("--askers", type=int, default=12)
    parser.add_argument("--instances", type=int, default=3)
    parser.add_argument("--scale", type=float, default=0.25, help="times realistic latencies")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--kills-only", action="store_true", help="Redis, Postgres are let be")
    told = parser.parse_args(argv)
    course = Course()
    with (
        Standins(StandinOptions(scale=told.scale, other=1.0)) as standins,
        whole_cluster(told.instances, 0, disk_mb=_DISK_MB, **settings(standins)) as whole,
    ):
        plan = parts(told)
        asyncio.run(campaign(whole, standins, course, plan, askers=told.askers, seed=told.seed))
        left = statuses(whole.cluster.database)
    lines = figures(course, left)
    print(header())
    show(lines)
    return int(any(line.holds is False for line in lines))


if __name__ == "__main__":
    sys.exit(main())
