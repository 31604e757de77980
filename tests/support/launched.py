"""Be a program that is forked instead of started: `python -I -S launched.py SOCKET -m MODULE …`.

For programs that the product starts itself, in 0.02 s of CPU instead of half a second. The other
end is `tests.support.forked`; it kills the program when this process ends.
"""

import json
import os
import socket
import sys


def command(path: str, *argv: str) -> tuple[str, ...]:
    """Return how this is started, for a program that the process which listens there forks."""
    return (sys.executable, "-I", "-S", __file__, path, *argv)


def main(path: str, *argv: str) -> int:
    """Hand all that this process was given to the program; return its exit code."""
    request = {
        "argv": argv, "cwd": os.getcwd(), "env": dict(os.environ), "umask": 0o22, "ignored": [],
        "terminal": False, "cold": False,
    }  # fmt: skip
    with socket.socket(socket.AF_UNIX) as connection:
        connection.connect(path)
        socket.send_fds(connection, [b">"], [0, 1, 2])
        connection.sendall(json.dumps(request).encode() + b"\n")
        with connection.makefile() as told:
            assert "pid" in json.loads(told.readline())
            code = int(json.loads(told.readline())["code"])
    if code < 0:
        os.kill(os.getpid(), -code)
    return code % 256


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
