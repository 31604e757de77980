"""A process that runs a program and says so, to be killed by a test.

Its argument is the program; it prints its child's id once the program has begun.
"""

import sys
import threading
import time
from pathlib import Path

from agent.sandbox.process import run_program
from agent.sandbox.programs import CodeLimits


def announce_child() -> None:
    children = Path("/proc/self/task")
    while True:
        for task in children.iterdir():
            found = (task / "children").read_text().split()
            if found and "Seccomp:\t2" in Path(f"/proc/{found[0]}/status").read_text():
                print(found[0], flush=True)
                return
        time.sleep(0.01)


if __name__ == "__main__":
    threading.Thread(target=announce_child, daemon=True).start()
    run_program(sys.argv[1], CodeLimits(60, 50), threading.Event())
