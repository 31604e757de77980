"""The speed of a whole run against the bound of its stand-ins.

    uv run python -m benchmarks.critical_path [--rows NAME,…] [--scale 0.1] [--load 64] [--warm]

Every ratio is wall clock ÷ bound, 10.8 s for two rounds (7.49 s to the first text of the answer).
A scale below 1 shortens the stand-ins, so that our own time weighs more: targets hold at 1 only.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence

from benchmarks import faults, loads, maps, rounds
from benchmarks.loads import Bench
from benchmarks.processes import Strangers
from benchmarks.table import Line, header, show

ROWS: dict[str, Callable[[Bench], list[Line]]] = {
    "machine": loads.machine,
    "in-process-1": loads.in_process_one,
    "rounds": rounds.rounds,
    "in-process-64": loads.in_process_many,
    "dev-1": loads.server_one,
    "dev-64": loads.server_many,
    "geo": maps.geo,
    "map-servers": maps.servers,
    "amap-qps": maps.pace,
    "faults": faults.faults,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a target is missed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.critical_path", description=__doc__)
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--scale", type=float, default=1.0, help="of every latency")
    parser.add_argument("--load", type=int, default=64, help="runs in the rows under load")
    parser.add_argument("--warm", action="store_true", help="fork what is measured: quick to start")
    options = parser.parse_args(argv)
    wanted = options.rows.split(",")
    if unknown := [name for name in wanted if name not in ROWS]:
        parser.error(f"unknown rows: {', '.join(unknown)}; there are {', '.join(ROWS)}")
    bench = Bench(options.scale, options.load, cold=not options.warm)
    began, lines = time.monotonic(), []
    print(header(), flush=True)
    for name in wanted:
        strangers = Strangers()
        found = ROWS[name](bench)
        note = "used by other processes: under load the ratios tell about them"
        found.append(Line(name, "noise, cores", strangers.cores(), note=note, digits=2))
        show(found)
        lines += found
    missed = [line for line in lines if line.holds is False]
    print(f"{len(lines)} figures, {len(missed)} off target, {time.monotonic() - began:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
