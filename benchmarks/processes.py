"""CPU, memory and children of processes, from /proc (Linux; elsewhere zeros)."""

import os
import threading
from pathlib import Path

_TICKS = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
_PROC = Path("/proc")


def cpu_seconds(pid: int) -> float:
    """User and system time of a process so far, its threads included."""
    try:
        fields = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / _TICKS


def memory_mb(pid: int, field: str = "VmHWM") -> float:
    """Resident memory in MB: `VmHWM` the most it ever was, `VmRSS` now."""
    try:
        lines = (_PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(s.split()[1]) / 1024 for s in lines if s.startswith(field)), 0.0)


def descendants(pid: int) -> set[int]:
    """All processes below this one."""
    parents: dict[int, int] = {}
    for entry in _PROC.glob("[0-9]*"):
        try:
            parents[int(entry.name)] = int(
                (entry / "stat").read_text().rpartition(")")[2].split()[1]
            )
        except OSError:
            continue
    found, grew = {pid}, True
    while grew:
        more = {child for child, parent in parents.items() if parent in found} - found
        grew = bool(more)
        found |= more
    return found - {pid}


class MapServers:
    """Counts the map server processes below a process while it is open."""

    def __init__(self, pid: int, seconds: float = 0.2) -> None:
        self.most = 0
        self.ever: set[int] = set()
        self._pid, self._seconds = pid, seconds
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> "MapServers":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._stop.wait(self._seconds):
            now = {pid for pid in descendants(self._pid) if _is_map_server(pid)}
            self.most, self.ever = max(self.most, len(now)), self.ever | now


def _is_map_server(pid: int) -> bool:
    try:
        return b"amap-maps-mcp-server" in (_PROC / str(pid) / "cmdline").read_bytes()
    except OSError:
        return False
