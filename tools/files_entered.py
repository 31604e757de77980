"""List the files of `agent` that one command enters: those in which at least one function ran.

    uv run python tools/files_entered.py ask --offline "王府井附近适合遛娃的好去处"

The sample's files count apart. Child processes (the map server, the sandbox) are not measured.
"""

import inspect
import sys
import threading
from collections import defaultdict
from pathlib import Path
from types import FrameType
from typing import Any

import agent
from agent.cli import main as run_command

PACKAGE = Path(agent.__file__).parent
SAMPLE = "sample/"


def functions_entered(words: list[str]) -> dict[str, set[str]]:
    """Run `tanlu` with these words; return the functions that ran, by file below the package."""
    entered: dict[str, set[str]] = defaultdict(set)

    def record(frame: FrameType, what: str, _value: Any) -> None:
        code = frame.f_code
        # Bodies of modules and classes, and comprehensions in them, are no functions.
        if what == "call" and code.co_flags & inspect.CO_OPTIMIZED and code.co_name[0] != "<":
            entered[code.co_filename].add(code.co_qualname)

    threading.setprofile(record)
    sys.setprofile(record)
    try:
        run_command(words)
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    paths = {Path(name): names for name, names in entered.items()}
    return {
        path.relative_to(PACKAGE).as_posix(): names
        for path, names in paths.items()
        if path.is_relative_to(PACKAGE)
    }


def main() -> None:
    """Print each file with the number of its functions, the fewest first, then the totals."""
    entered = functions_entered(sys.argv[1:])
    for path, names in sorted(entered.items(), key=lambda row: (len(row[1]), row[0])):
        few = ", ".join(sorted(names)) if len(names) <= 3 else ""
        print(f"{len(names):4} {path}  {few}".rstrip())
    sample = sum(path.startswith(SAMPLE) for path in entered)
    print(f"{len(entered) - sample} files entered, and {sample} of the sample")


if __name__ == "__main__":
    main()
