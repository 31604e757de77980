"""Read one file after the other in a process that may be killed at any moment.

`python -P -m agent.knowledge.file_worker SECONDS MEGABYTES`: a JSON object a line on standard input
(path, kind, first), events of `formats` as JSON lines on standard output, the last one `end` with
the megabytes this process has needed, or `failed`. It ends with its input, with whoever started it,
and when it has said nothing for SECONDS.
"""

import contextlib
import json
import os
import re
import sys
from pathlib import Path
from typing import Any

from agent.knowledge.formats import CannotRead, read

_PDEATHSIG = 1


def main() -> None:
    """Read what is asked for until nothing is asked any more."""
    seconds, megabytes = map(int, sys.argv[1:3])
    _confine(megabytes)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            _answer(request, seconds)
        except BrokenPipeError:
            os._exit(1)
        _wake(0)


def _answer(request: dict[str, Any], seconds: int) -> None:
    _wake(seconds)
    try:
        for event in read(request["path"], request["kind"], request["first"]):
            _say(dict(event))
            _wake(seconds)
    except BrokenPipeError:
        raise
    except CannotRead as error:
        return _say({"failed": str(error)})
    except MemoryError:
        return _say({"failed": "page_too_complex"})
    except OSError:
        return _say({"failed": "file_unreadable"})
    except Exception:  # noqa: BLE001 - whatever a broken file does to its reader
        return _say({"failed": "page_unreadable"})
    return _say({"end": _peak_megabytes()})


def _say(event: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(event).encode("ascii") + b"\n")
    sys.stdout.buffer.flush()


def _peak_megabytes() -> int:
    """Return the megabytes this process has needed at most; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    with contextlib.suppress(OSError):
        # getrusage counts what its parent had when it was started; this is its own.
        if match := re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text()):
            return int(match[1]) >> 10
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most >> 20 if sys.platform == "darwin" else most >> 10


def _wake(seconds: int) -> None:
    """End by the system's alarm in so many seconds, even within a C function; 0 takes it back."""
    if sys.platform != "win32":
        import signal

        signal.alarm(seconds)


def _confine(megabytes: int) -> None:
    """Set bounds that hold without the parent; memory only where the system counts it."""
    if sys.platform == "win32":
        return
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform == "linux":
        import ctypes
        import signal

        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
        with contextlib.suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


if __name__ == "__main__":
    main()
