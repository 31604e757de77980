"""What browsers say that the page's policy stopped: one log line each, and not too many."""

import json
import logging
import time
from collections.abc import Callable, Mapping
from typing import Any

from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from agent.lines import one_line
from agent.redaction import scrub
from agent.serving.page_body import NotRead, limited_body
from agent.serving.page_headers import private, unframed

log = logging.getLogger(__name__)
MOST_A_MINUTE = 20
_WINDOW = 60.0
_LONGEST_BODY = 16 * 1024
_FIELDS = ("effective-directive", "violated-directive", "blocked-uri", "source-file", "line-number")
_LONGEST_FIELD = 120


class PolicyReports:
    """The route that takes the reports; anybody may send them, so little of them is believed."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._since, self._count = clock(), 0

    async def take(self, request: Request) -> Response:
        """204, whatever came: the sender can do nothing about it."""
        try:
            report = _report(await limited_body(request, _LONGEST_BODY))
        except (NotRead, ValueError, RecursionError, ClientDisconnect):
            report = {}
        if report and self._may_log():
            told = [f"{name}={_shown(report[name])}" for name in _FIELDS if report.get(name)]
            log.warning("the page's policy stopped something: %s", " ".join(told) or "unnamed")
        return Response(status_code=204, headers=private(unframed()))

    def _may_log(self) -> bool:
        now = self._clock()
        if now - self._since >= _WINDOW:
            self._since, self._count = now, 0
        self._count += 1
        return self._count <= MOST_A_MINUTE


def _report(body: bytes) -> Mapping[str, Any]:
    parsed = json.loads(body)
    report = parsed.get("csp-report") if isinstance(parsed, dict) else None
    return report if isinstance(report, dict) else {}


def _shown(value: Any) -> str:
    return scrub(one_line(str(value), longest=_LONGEST_FIELD)).replace(" ", "_")
