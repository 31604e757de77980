"""The memory of processes, sampled while they run; Linux only."""

import os
import threading
from pathlib import Path


class MemorySampler:
    """Megabytes resident at most, of all together, until `stop`."""

    def __init__(self, pid: int, *, seconds: float = 0.05) -> None:
        self.most = 0.0
        self._pid, self._seconds = pid, seconds
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        self._thread.start()

    def stop(self) -> float:
        self._over.set()
        self._thread.join()
        return self.most

    def _sample(self) -> None:
        while not self._over.wait(self._seconds):
            self.most = max(self.most, sum(map(_resident, _family(self._pid))))


class ConfinedPeak:
    """The kernel's own count of megabytes resident at most, of this process's confined children."""

    def __init__(self) -> None:
        self.most = 0.0

    def sample(self) -> None:
        """Look at those that run now; before its confinement a child still has our own memory."""
        for pid in _family(os.getpid())[1:]:
            try:
                status = Path(f"/proc/{pid}/status").read_text()
            except OSError:
                continue
            if "Seccomp:\t2" in status:
                peak = status.partition("VmHWM:")[2].split()
                self.most = max(self.most, int(peak[0]) / 1024 if peak else 0.0)


def _family(pid: int) -> list[int]:
    found = [pid]
    for parent in found:
        try:
            listed = Path(f"/proc/{parent}/task/{parent}/children").read_text()
            threads = [path.name for path in Path(f"/proc/{parent}/task").iterdir()]
            for thread in threads:
                listed += " " + Path(f"/proc/{parent}/task/{thread}/children").read_text()
        except OSError:
            continue
        found.extend(child for child in map(int, listed.split()) if child not in found)
    return found


def _resident(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("VmRSS:")) / 1024
