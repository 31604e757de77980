"""A person's browser on the page; it fails its test on whatever goes wrong where nobody looks."""

import os
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

pytest.importorskip("playwright.sync_api", reason="Playwright is not installed (group browser)")

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Request,
    expect,
    sync_playwright,
)

__all__ = ["BROWSER", "Browser", "Locator", "Page", "Visit", "Visits", "chromium", "expect"]

PATIENCE_MS = 60_000
"""Two cores run several servers and browsers at once; a page that works is far quicker."""
BROWSER = [pytest.mark.server, pytest.mark.slow]
"""The marks of every module here."""
_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
_NO_REQUEST = {"data", "blob", "about"}
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  tellViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`);
});
"""
expect.set_options(timeout=PATIENCE_MS)


@contextmanager
def chromium() -> Iterator[Browser]:
    """The system's Chromium without a window or a network; skips where there is none."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        pytest.skip("Chromium is not installed")
    as_root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    nowhere = "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[nowhere, *as_root])
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One person's browser: a context of its own, with any number of tabs."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        """`url` of the server; `options` are those of Playwright's `new_context`."""
        self.url = url
        self.problems: list[str] = []
        self.requests: list[Request] = []
        self._forgiven: list[re.Pattern[str]] = []
        told = {"locale": "zh-CN", "viewport": {"width": 1440, "height": 900}, **options}
        self.context: BrowserContext = browser.new_context(base_url=url, **told)
        self.context.set_default_timeout(PATIENCE_MS)
        self.context.expose_binding(
            "tellViolation", lambda _source, told: self.problems.append(f"policy: {told}")
        )
        self.context.add_init_script(_TELL_VIOLATIONS)
        self.context.on("request", self._requested)
        self.context.on("weberror", lambda raised: self.problems.append(f"error: {raised.error}"))
        self.context.on("console", lambda message: self._logged(message.type, message.text))

    def tab(self, path: str = "/app") -> Page:
        """A new tab with the page at `path`."""
        page = self.context.new_page()
        page.goto(path)
        return page

    def forgive(self, pattern: str) -> None:
        """What the test brings about itself, such as a refused key, is no problem of the page."""
        self._forgiven.append(re.compile(pattern))

    def close(self) -> None:
        """Ends it; fails with all that went wrong meanwhile."""
        try:
            for page in self.context.pages:
                # What the browser had to tell until now comes before the answer to this.
                page.evaluate("0")
        finally:
            self.context.close()
        assert self.unforgiven() == []

    def unforgiven(self) -> list[str]:
        """What went wrong so far: errors, violations of the policy, requests to anywhere else."""
        return [
            problem
            for problem in self.problems
            if not any(pattern.search(problem) for pattern in self._forgiven)
        ]

    def _requested(self, request: Request) -> None:
        self.requests.append(request)
        scheme, host = urlsplit(request.url)[:2]
        if scheme not in _NO_REQUEST and host != urlsplit(self.url).netloc:
            self.problems.append(f"foreign: {request.method} {request.url}")

    def _logged(self, kind: str, text: str) -> None:
        if kind in ("error", "warning"):
            self.problems.append(f"console: {text}")


Visits = Callable[..., Visit]
"""What the fixture `visit` is: begins a visit; takes the options of a context."""


def artifacts(otherwise: Path) -> Path:
    """Where pictures for people go: TANLU_ARTIFACTS, else a folder of the test."""
    folder = Path(os.environ.get("TANLU_ARTIFACTS") or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
