"""Read one foreign document after the other in a process that may be killed at any moment.

`python -P -m agent.reading.worker MAX_CHARS MEGABYTES IDLE`: for each document a line of JSON on
standard input (kind, seconds, size) and its bytes; on standard output an object with the fields of
`Extracted` as JSON. It ends with its input, with whoever started it, at a document's time limit,
and when it has had nothing to do for IDLE seconds.
"""

import json
import os
import sys
from dataclasses import asdict, replace

from agent.reading.confined import end_in, peak_megabytes, set_bounds
from agent.reading.extractors import ExtractedPage, html_text, pdf_text

_RESERVE = 0.8
"""Share of the seconds after which no further page of a PDF is begun."""
_TIRED = 220
"""Megabytes after which a process is replaced."""
_MOST_GROWTH = 2
"""Characters of text that one character of HTML may become; only tricks with tables make more."""


def main() -> None:
    """Read what is asked for until nothing is asked any more; never raises for a document."""
    max_chars, megabytes, idle = map(int, sys.argv[1:4])
    set_bounds(megabytes)
    html_text("<p>What reads pages is loaded before the first one comes.</p>")
    end_in(idle)
    for line in sys.stdin.buffer:
        request = json.loads(line)
        end_in(request["seconds"])
        body = sys.stdin.buffer.read(request["size"])
        extracted = _read_safely(request["kind"], body, request["seconds"], max_chars)
        is_tired = peak_megabytes() > _TIRED
        # Lone surrogates in a broken document are no text.
        answer = json.dumps({**asdict(extracted), "last": is_tired})
        sys.stdout.buffer.write(answer.encode("ascii") + b"\n")
        sys.stdout.buffer.flush()
        if is_tired:
            break
        del body, extracted, answer
        end_in(idle)
    os._exit(0)


def _read_safely(kind: str, body: bytes, seconds: int, max_chars: int) -> ExtractedPage:
    try:
        extracted = _read(kind, body, seconds, max_chars)
    except MemoryError:
        return ExtractedPage(failed="page_too_complex")
    except Exception:  # noqa: BLE001 - whatever a broken document does to its reader
        return ExtractedPage(failed="page_unreadable")
    if kind == "html":
        max_chars = min(max_chars, _MOST_GROWTH * len(body))
    if len(extracted.text) > max_chars:
        return replace(extracted, text=extracted.text[:max_chars], partial=True)
    return extracted


def _read(kind: str, body: bytes, seconds: int, max_chars: int) -> ExtractedPage:
    if kind == "html":
        return html_text(body.decode("utf-8", "replace"))
    if kind == "pdf":
        return pdf_text(body, max_chars=max_chars, seconds=seconds * _RESERVE)
    from agent.reading.formats import document_text

    return document_text(kind, body, max_chars=max_chars)


if __name__ == "__main__":
    main()
