"""The kernel's list of what a program's process may still ask for (seccomp, as BPF)."""

import struct
from dataclasses import dataclass
from typing import Final

_LOAD_WORD: Final = 0x20
_JUMP_EQUAL: Final = 0x15
_JUMP_AT_LEAST: Final = 0x35
_RETURN: Final = 0x06

_ALLOW: Final = 0x7FFF_0000
_REFUSE: Final = 0x0005_0000 | 1
"""The call fails with EPERM, which Python shows as PermissionError."""
_KILL: Final = 0x8000_0000

_NUMBER_AT: Final = 0
_ARCHITECTURE_AT: Final = 4


@dataclass(frozen=True)
class Machine:
    """An architecture as the kernel's audit names it, and its numbers of the allowed calls.

    Allowed is what an interpreter needs to compute, to write into its two pipes and to end:
    nothing opens, connects, starts, signals or looks at anything.
    """

    audit: int
    calls: tuple[int, ...]
    foreign_from: int | None = None
    """Numbers from here on belong to another calling convention (x32)."""


MACHINES: Final[dict[str, Machine]] = {
    "x86_64": Machine(
        audit=0xC000_003E,
        # write, mmap, mprotect, munmap, brk, rt_sigreturn, sched_yield, mremap, madvise, exit,
        # gettimeofday, time, futex, restart_syscall, clock_gettime, clock_getres, exit_group,
        # getrandom
        calls=(1, 9, 10, 11, 12, 15, 24, 25, 28, 60, 96, 201, 202, 219, 228, 229, 231, 318),
        foreign_from=0x4000_0000,
    ),
    "aarch64": Machine(
        audit=0xC000_00B7,
        # write, exit, exit_group, futex, clock_gettime, clock_getres, sched_yield,
        # restart_syscall, rt_sigreturn, gettimeofday, brk, munmap, mremap, mmap, mprotect,
        # madvise, getrandom
        calls=(64, 93, 94, 98, 113, 114, 124, 128, 139, 169, 214, 215, 216, 222, 226, 233, 278),
    ),
}


def filter_for(machine: str) -> bytes | None:
    """The filter as `struct sock_filter[]`; None for an architecture we have no numbers of."""
    known = MACHINES.get(machine)
    return _assembled(known) if known else None


def _assembled(machine: Machine) -> bytes:
    """Foreign architectures are killed, allowed calls pass, all others fail."""
    checks = [(_JUMP_EQUAL, number, "allow") for number in machine.calls]
    if machine.foreign_from is not None:
        checks.insert(0, (_JUMP_AT_LEAST, machine.foreign_from, "kill"))
    # Behind the checks lie: refuse, allow, kill.
    lines = [_line(_LOAD_WORD, _ARCHITECTURE_AT)]
    lines.append(_line(_JUMP_EQUAL, machine.audit, otherwise=len(checks) + 3))
    lines.append(_line(_LOAD_WORD, _NUMBER_AT))
    for place, (code, value, leads_to) in enumerate(checks):
        left = len(checks) - place - 1
        lines.append(_line(code, value, then=left + (1 if leads_to == "allow" else 2)))
    lines += [_line(_RETURN, _REFUSE), _line(_RETURN, _ALLOW), _line(_RETURN, _KILL)]
    return b"".join(lines)


def _line(code: int, value: int, *, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("=HBBI", code, then, otherwise, value)
