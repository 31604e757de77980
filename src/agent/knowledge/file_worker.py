"""Read one file after the other in a process that may be killed at any moment.

`python -P -m agent.knowledge.file_worker SECONDS MEGABYTES`: a JSON object a line on standard input
(path, kind, first), events of `formats` as JSON lines on standard output, the last one `end` with
the megabytes this process has needed, or `failed`. It ends with its input, with whoever started it,
and when it has said nothing for SECONDS.
"""

import json
import os
import sys
from typing import Any

from agent.knowledge.formats import read_events
from agent.reading.confined import end_in, peak_megabytes, set_bounds
from agent.reading.parts import CannotRead


def main() -> None:
    """Read what is asked for until nothing is asked any more."""
    seconds, megabytes = map(int, sys.argv[1:3])
    set_bounds(megabytes)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            _answer(request, seconds)
        except BrokenPipeError:
            os._exit(1)
        end_in(0)


def _answer(request: dict[str, Any], seconds: int) -> None:
    end_in(seconds)
    try:
        for event in read_events(request["path"], request["kind"], request["first"]):
            _say(dict(event))
            end_in(seconds)
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
    return _say({"end": peak_megabytes()})


def _say(event: dict[str, Any]) -> None:
    sys.stdout.buffer.write(json.dumps(event).encode("ascii") + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
