"""CPU, memory and children of processes, from /proc (Linux; elsewhere zeros)."""

import os
import threading
import time
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


class Strangers:
    """How much CPU processes that are not ours use, in cores: the noise of a figure."""

    def __init__(self) -> None:
        self._began, self._busy, self._own = time.monotonic(), _machine_seconds(), _own_seconds()

    def cores(self) -> float:
        """Since it was made; what we started counts as ours once it has ended."""
        theirs = (_machine_seconds() - self._busy) - (_own_seconds() - self._own)
        return max(0.0, theirs / max(0.001, time.monotonic() - self._began))


def _machine_seconds() -> float:
    """Busy time of all cores: user, nice, system, interrupts."""
    try:
        fields = (_PROC / "stat").read_text().splitlines()[0].split()[1:]
    except OSError:
        return _own_seconds()
    return sum(int(fields[i]) for i in (0, 1, 2, 5, 6)) / _TICKS


def _own_seconds() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


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


def process_at(port: int, peer: int) -> int | None:
    """Return the process that has the end `port` of a connection of this machine to `peer`."""
    wanted = (f"0100007F:{port:04X}", f"0100007F:{peer:04X}")
    try:
        rows = [line.split() for line in (_PROC / "net/tcp").read_text().splitlines()[1:]]
    except OSError:
        return None
    socket = next((f"socket:[{row[9]}]" for row in rows if (row[1], row[2]) == wanted), "")
    for folder in _PROC.glob("[0-9]*") if socket else ():
        try:
            if any(os.readlink(file) == socket for file in (folder / "fd").iterdir()):
                return int(folder.name)
        except OSError:
            continue
    return None


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
