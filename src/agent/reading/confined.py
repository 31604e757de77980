"""Confine this process, which reads one foreign document after the other and may be killed.

What it needs of the environment and of its own limits, for all such processes of the house.
"""

import contextlib
import os
import sys
from pathlib import Path

_PDEATHSIG = 1
_NAMES = ("PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TEMP", "TMP", "VIRTUAL_ENV")


def environment() -> dict[str, str]:
    """Return an environment without our keys for a process that reads foreign documents."""
    named = {name: os.environ[name] for name in _NAMES if name in os.environ}
    return {**named, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}


def peak_megabytes() -> int:
    """Return the megabytes this process has needed at most; 0 where the system does not say."""
    if sys.platform == "win32":
        return 0
    with contextlib.suppress(OSError):
        # getrusage counts what its parent had when it was started; this is its own.
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) >> 10
    import resource

    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most >> 20 if sys.platform == "darwin" else most >> 10


def end_in(seconds: int) -> None:
    """End by the system's alarm in so many seconds, even within a C function; 0 takes it back."""
    if sys.platform != "win32":
        import signal

        signal.alarm(seconds)


def set_bounds(megabytes: int) -> None:
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
