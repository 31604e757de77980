"""Nothing a program does reaches a file, the network, a process, the environment or our memory.

What happened is looked at from outside. That each attack is a real one is shown by running it in
the same process without the filter.
"""

import ctypes
import json
import os
import platform
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from agent.sandbox import child
from agent.sandbox.process import MACHINES, run_program
from agent.sandbox.programs import CodeLimits
from tests.integration.sandbox_attacks import ATTACKS, ESCAPED, SECRET, VARIABLE, Attack

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="seccomp is Linux's")

LIMITS = CodeLimits(wall_seconds=60, cpu_seconds=5)
PROBES = (335, 336)
"""uretprobe and uprobe of x86_64: they end every process that is not being probed."""
REAL = [attack for attack in ATTACKS if attack.everywhere]
UNCONFINED = """
import sys
with open(sys.argv[1], encoding="utf-8") as file:
    source = file.read()
before, last, after = source.rpartition("    main()\\n")
assert last
exec(compile(before + "    confine = lambda request: None\\n" + last + after, "child", "exec"))
"""


@dataclass
class World:
    """What a program must not reach, and how it is seen that it did."""

    folder: Path
    listener: socket.socket
    memory: "ctypes.Array[ctypes.c_char]"

    @property
    def file(self) -> Path:
        return self.folder / "secret"

    def prepared(self, attack: Attack) -> str:
        values = {
            "FILE": self.file,
            "FOLDER": self.folder,
            "PORT": self.listener.getsockname()[1],
            "PARENT": os.getpid(),
            "ADDRESS": ctypes.addressof(self.memory),
        }
        program = attack.program
        for name, value in values.items():
            program = program.replace(f"@{name}@", str(value))
        return program

    def harm(self, shown: str) -> list[str]:
        """What it got, from its output and from outside."""
        found = [word for word in (SECRET, ESCAPED) if word in shown]
        if [path.name for path in self.folder.iterdir()] != ["secret"]:
            found.append("files")
        elif self.file.read_text() != SECRET or self.file.stat().st_mode & 0o777 != 0o600:
            found.append("the file")
        if self.memory.value.decode() != SECRET:
            found.append("memory")
        try:
            self.listener.accept()[0].close()
            found.append("a connection")
        except BlockingIOError:
            pass
        return found


@pytest.fixture(scope="module")
def listener() -> Iterator[socket.socket]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        yield server


@pytest.fixture
def world(tmp_path: Path, listener: socket.socket, monkeypatch: pytest.MonkeyPatch) -> World:
    monkeypatch.setenv(VARIABLE, SECRET)
    folder = tmp_path / "private"
    folder.mkdir()
    found = World(folder, listener, ctypes.create_string_buffer(SECRET.encode()))
    found.file.write_text(SECRET)
    found.file.chmod(0o600)
    return found


def children() -> set[str]:
    found: set[str] = set()
    for task in Path("/proc/self/task").iterdir():
        found.update((task / "children").read_text().split())
    return found


def test_there_are_at_least_forty_attacks_and_no_name_twice() -> None:
    assert len(REAL) >= 40
    assert len({attack.name for attack in ATTACKS}) == len(ATTACKS)


@pytest.mark.parametrize("attack", ATTACKS, ids=lambda attack: attack.name)
def test_a_program_gets_nothing(world: World, attack: Attack) -> None:
    before = children()
    result = run_program(world.prepared(attack), LIMITS, threading.Event())
    assert world.harm(result.output + result.error) == []
    assert not result.error.startswith(("not run", "timeout"))
    assert children() <= before


@pytest.mark.parametrize("attack", REAL, ids=lambda attack: attack.name)
def test_the_same_program_would_succeed_without_the_filter(world: World, attack: Attack) -> None:
    request = {"code": world.prepared(attack), "output_bytes": 10_000}
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-B", "-X", "utf8", "-c", UNCONFINED, str(child.__file__)],
        input=json.dumps(request).encode(),
        capture_output=True,
        env={VARIABLE: SECRET, "PATH": os.environ["PATH"]},
        timeout=120,
        check=False,
    )
    assert world.harm(done.stdout.decode()) != [], done


def test_an_import_outside_the_list_is_an_import_error() -> None:
    result = run_program("import numpy", LIMITS, threading.Event())
    assert result.error.startswith("ModuleNotFoundError: numpy is not available here, only math")


def test_what_is_on_the_list_can_be_imported_in_every_form() -> None:
    names = [*child.LISTED, "collections.abc", "json.decoder"]
    lines = [
        f"import {name}\nimport {name} as other\nfrom {name} import *\nprint(other.__name__)"
        for name in names
    ]
    result = run_program("\n".join(lines), LIMITS, threading.Event())
    assert (result.output.split(), result.error) == (names, "")


@pytest.mark.skipif(platform.machine() not in MACHINES, reason="no list of calls")
def test_every_call_that_is_not_on_the_list_is_refused() -> None:
    program = f"""
import re
ctypes = re.enum.sys.modules["ctypes"]
libc = ctypes.CDLL(None, use_errno=True)
passed = []
for number in set(range(600)) - set({MACHINES[platform.machine()].calls}) - set({PROBES}):
    ctypes.set_errno(0)
    if libc.syscall(ctypes.c_long(number), 0, 0, 0, 0, 0, 0) != -1 or ctypes.get_errno() != 1:
        passed.append(number)
print(passed)
"""
    result = run_program(program, LIMITS, threading.Event())
    assert (result.error, result.output) == ("", "[]")


def test_a_program_cannot_say_that_it_was_not_run() -> None:
    program = (
        "import re\nos = re.enum.sys.modules['os']\nprint('here', flush=True)\n"
        """os.write(2, b'\\n{"refused": "it cannot be confined"}')\nos._exit(0)"""
    )
    result = run_program(program, LIMITS, threading.Event())
    assert (result.error, result.output) == ("crash: ended without a result", "here")
