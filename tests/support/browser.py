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

pytest.importorskip("playwright.sync_api", reason="no Playwright: uv sync --group browser")

from playwright.sync_api import (
    Browser,
    BrowserContext,
    Locator,
    Page,
    Request,
    Route,
    expect,
    sync_playwright,
)

__all__ = [
    "BROWSER",
    "Browser",
    "Browsers",
    "Locator",
    "Page",
    "Route",
    "Visit",
    "Visits",
    "chromium",
    "chromium_path",
    "expect",
]

PATIENCE_MS = 60_000
"""Two cores run several servers and browsers at once; a page that works is far quicker."""
BROWSER = [pytest.mark.server, pytest.mark.slow]
"""The marks of every module here."""
_NAMES = (
    "chromium-headless-shell", "chromium", "chromium-browser", "google-chrome",
    "google-chrome-stable",
)  # fmt: skip
"""The first needs a quarter less of the processor: the same engine without a browser around it."""
_NOWHERE = "MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost"
_VIEWPORT = {"width": 1440, "height": 900}
_DEVICE = {"has_touch", "is_mobile", "device_scale_factor"}
"""Options that belong to a viewport."""
_STORED = "cookies,local_storage,indexeddb,service_workers,cache_storage"
_NO_REQUEST = {"data", "blob", "about"}
_TELL_VIOLATIONS = """
addEventListener("securitypolicyviolation", (event) => {
  tellViolation(`${event.effectiveDirective} ${event.blockedURI} ${event.sourceFile}`);
});
"""
expect.set_options(timeout=PATIENCE_MS)


def chromium_path() -> str | None:
    """Return the system's Chromium, the lightest one there is; None where there is none."""
    return next(filter(None, map(shutil.which, _NAMES)), None)


@contextmanager
def chromium(hosts: str = _NOWHERE) -> Iterator[Browser]:
    """The system's Chromium without a window; skips where there is none.

    `hosts` are its rules for names: by default, it reaches this machine and nothing else.
    """
    path = chromium_path()
    if path is None:
        pytest.skip("no Chromium or Chrome: apt install chromium-headless-shell")
    as_root = ["--no-sandbox"] if getattr(os, "geteuid", lambda: 1)() == 0 else []
    rules = f"--host-resolver-rules={hosts}"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=[rules, *as_root])
        try:
            yield browser
        finally:
            browser.close()


class Visit:
    """One person's browser: a context with any number of tabs, emptied for the next person."""

    def __init__(self, browser: Browser, url: str, **options: Any) -> None:
        """`url` of the server; `options` are those of Playwright's `new_context`."""
        self.url = url
        self.problems: list[str] = []
        self.requests: list[Request] = []
        self._forgiven: list[re.Pattern[str]] = []
        self._viewport: Any = None
        self._tab: Page | None = None
        options = {"locale": "zh-CN", "viewport": _VIEWPORT, **options}
        self.context: BrowserContext = browser.new_context(base_url=url, **options)
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
        page, self._tab = self._tab or self.context.new_page(), None
        if self._viewport:
            page.set_viewport_size(self._viewport)
        page.goto(path)
        return page

    def forgive(self, pattern: str) -> None:
        """What the test brings about itself, such as a refused key, is no problem of the page."""
        self._forgiven.append(re.compile(pattern))

    def close(self) -> None:
        """End it; fail with all that went wrong meanwhile."""
        try:
            for page in self.context.pages:
                # What the browser had to tell until now comes before the answer to this.
                page.evaluate("0")
        finally:
            self.context.close()
        assert self.unforgiven() == []

    def empty(self) -> None:
        """Leave one tab and nothing stored, only what was compiled and cached of the page.

        That is half the work of a visit. Fails with all that went wrong meanwhile.
        """
        for page in self.context.pages:
            page.evaluate("0")
        problems = self.unforgiven()
        self.context.set_offline(False)
        self.context.unroute_all()
        self.context.clear_cookies()
        for page in self.context.pages[1:]:
            page.close()
        for page in self.context.pages:
            page.unroute_all()
            page.goto("/ok")
            page.evaluate("sessionStorage.clear()")
            tools = self.context.new_cdp_session(page)
            stored = {"origin": self.url, "storageTypes": _STORED}
            tools.send("Storage.clearDataForOrigin", stored)
            tools.detach()
            page.mouse.move(0, 0)
            self._tab = page
        assert problems == []

    def begin(self, viewport: Any = None) -> None:
        """Begin another visit in the emptied browser; without a viewport, in its own."""
        self._viewport = viewport
        for memory in (self.problems, self.requests, self._forgiven):
            memory.clear()

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


class Browsers:
    """The browsers of persons who visit one after the other; those alike are used again."""

    def __init__(self, chromium: Browser) -> None:
        self._chromium = chromium
        self._free: dict[str, list[Visit]] = {}
        self._taken: list[tuple[str, Visit]] = []

    def take(self, url: str, *, fresh: bool = False, viewport: Any = None, **options: Any) -> Visit:
        """Begin a visit; one that changes its browser for good has to be `fresh`."""
        if _DEVICE & options.keys():
            options, viewport = {"viewport": viewport or _VIEWPORT, **options}, None
        else:
            viewport = viewport or _VIEWPORT
        kind = "" if fresh else f"{url} {sorted(options.items())}"
        free = self._free.get(kind, [])
        visit = free.pop() if kind and free else Visit(self._chromium, url, **options)
        visit.begin(viewport)
        self._taken.append((kind, visit))
        return visit

    @property
    def pages(self) -> list[Page]:
        """All tabs of those who are here."""
        return [page for _, visit in self._taken for page in visit.context.pages]

    def close(self) -> None:
        """End all visits; each must have gone without an error nobody sees."""
        taken, self._taken = self._taken, []
        for kind, visit in taken:
            if not kind:
                visit.close()
                continue
            visit.empty()
            self._free.setdefault(kind, []).append(visit)


def artifacts(otherwise: Path) -> Path:
    """Where pictures for people go: TANLU_ARTIFACTS, else a folder of the test."""
    folder = Path(os.environ.get("TANLU_ARTIFACTS") or otherwise)
    folder.mkdir(parents=True, exist_ok=True)
    return folder
