"""Read one foreign document in a process that may be killed at any moment.

`python -P -m agent.reading.worker KIND SECONDS MAX_CHARS MEGABYTES`: the document on standard
input, an object with the fields of `Extracted` as JSON on standard output.
"""

import contextlib
import json
import os
import sys
from dataclasses import asdict, replace

from agent.reading.extractors import Extracted, html_text, pdf_text

_RESERVE = 0.8
"""Share of the seconds after which no further page of a PDF is begun."""


def main() -> None:
    """Read the document and say what is in it; never raises for what is in it."""
    kind, seconds, max_chars, megabytes = sys.argv[1], *map(int, sys.argv[2:5])
    _confine(seconds, megabytes)
    body = sys.stdin.buffer.read()
    try:
        extracted = _read(kind, body, seconds, max_chars)
    except MemoryError:
        extracted = Extracted(failed="page_too_complex")
    except Exception:  # noqa: BLE001 - whatever a broken document does to its reader
        extracted = Extracted(failed="page_unreadable")
    if len(extracted.text) > max_chars:
        extracted = replace(extracted, text=extracted.text[:max_chars], partial=True)
    # Lone surrogates in a broken document are no text.
    sys.stdout.buffer.write(json.dumps(asdict(extracted)).encode("ascii"))
    sys.stdout.buffer.flush()
    os._exit(0)


def _read(kind: str, body: bytes, seconds: int, max_chars: int) -> Extracted:
    if kind == "html":
        return html_text(body.decode("utf-8", "replace"))
    return pdf_text(body, max_chars=max_chars, seconds=seconds * _RESERVE)


def _confine(seconds: int, megabytes: int) -> None:
    """Set bounds that hold without the parent; memory only where the system counts it."""
    if sys.platform == "win32":
        return
    import resource
    import signal

    signal.alarm(seconds + 5)
    resource.setrlimit(resource.RLIMIT_CPU, (seconds + 5, seconds + 5))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    if sys.platform == "linux":
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))


if __name__ == "__main__":
    main()
