"""Programs that try to leave the sandbox; `data/sandbox_attacks.toml` says what they stand on."""

import platform
from dataclasses import dataclass

from tests.support.rows import tables

SECRET = "canary-4f1d9c"
VARIABLE = "TANLU_CANARY"
ESCAPED = "ESCAPED"

_OS = "sys = re.enum.sys; os = sys.modules['os']\n"
_LIBC = _OS + "ctypes = sys.modules['ctypes']; libc = ctypes.CDLL(None, use_errno=True)\n"
_LOAD = _OS + "load = sys.modules['_frozen_importlib']._gcd_import\n"
_NUMBERS = {
    "x86_64": {
        "openat": 257, "openat2": 437, "memfd": 319, "socket": 41, "clone": 56, "pidfd": 434,
        "bpf": 321, "keyctl": 250, "perf": 298, "uring": 425, "userfault": 323,
    },
    "aarch64": {
        "openat": 56, "openat2": 437, "memfd": 279, "socket": 198, "clone": 220, "pidfd": 434,
        "bpf": 280, "keyctl": 219, "perf": 241, "uring": 425, "userfault": 282,
    },
}  # fmt: skip
NUMBERS = _NUMBERS.get(platform.machine(), _NUMBERS["x86_64"])


@dataclass(frozen=True)
class Attack:
    """`everywhere`: whether it succeeds on any machine that does not confine it."""

    name: str
    program: str
    everywhere: bool = True


def _attacks(group: str) -> list[Attack]:
    return [Attack(**row | {"program": _filled_in(row["program"])}) for row in _TABLES[group]]


def _filled_in(program: str) -> str:
    """The program with the way to modules, and this machine's numbers of calls."""
    for name, value in {"LIBC": _LIBC, "LOAD": _LOAD, "OS": _OS, **NUMBERS}.items():
        program = program.replace(f"@{name}@", str(value))
    return program


_TABLES = tables("sandbox_attacks")
READING, ENVIRONMENT, WRITING = map(_attacks, ("reading", "environment", "writing"))
ATTACKS = [attack for group in _TABLES for attack in _attacks(group)]
