"""The page in a browser: how long it blocks while answers stream, threads open and it loads.

    uv run --group browser python -m benchmarks.page [--before CHECKOUT] [--only NAME]

Chromium is needed; the server is `benchmarks.page_server`, which costs next to nothing. `--before`
names another checkout of this repository: its page is measured, too, and the figures are given as
ratios, for what a busy machine measures is good for nothing else. Long tasks are those over 50 ms;
"blocked" is what they take beyond these.
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.sync_api import Browser, CDPSession, Page, sync_playwright
from tests.support.browser import chromium_path
from tests.support.ports import free_port

from benchmarks.page_server import thread_of
from benchmarks.table import Line, header, show

ROOT: Final = Path(__file__).parents[1]
PATIENCE_MS: Final = 300_000
SECOND_VISIT_S: Final = 1.0
SLOW: Final = {"offline": False, "latency": 150, "downloadThroughput": 200_000,
               "uploadThroughput": 90_000}  # fmt: skip
"""150 ms there and back, 1.6 Mbit/s down: a phone, a tunnel."""
SLOWER_CPU: Final = 4
STREAMS: Final = {"20 kB": "20 kB in 10 s", "60 kB": "60 kB in 24 s", "200 kB": "200 kB in 41 s"}
_WATCH = """
globalThis.tasks = [];
globalThis.frames = [];
new PerformanceObserver((list) => tasks.push(...list.getEntries().map(({ duration }) => duration)))
  .observe({ type: "longtask" });
let last = performance.now();
const frame = (now) => { frames.push(now - last); last = now; requestAnimationFrame(frame); };
requestAnimationFrame(frame);
new MutationObserver((_, seeking) => {
  if (!document.querySelector(".welcome h2")) return;
  seeking.disconnect();
  requestAnimationFrame(() => setTimeout(() => { globalThis.welcomed = performance.now(); }));
}).observe(document, { subtree: true, childList: true });
"""
_FIGURES = """() => {
  const sorted = frames.splice(0).sort((one, other) => one - other);
  const long = tasks.splice(0);
  return {
    "long tasks": long.length,
    "longest (ms)": Math.max(0, ...long),
    "blocked (s)": long.reduce((sum, each) => sum + each - 50, 0) / 1000,
    "frame p95 (ms)": sorted[Math.floor(sorted.length * 0.95)] ?? 0,
  };
}"""
_WEIGHT = """() => {
  const loaded = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
  const bytes = loaded.reduce((sum, { transferSize }) => sum + transferSize, 0);
  const [paint] = performance.getEntriesByName("first-contentful-paint");
  const painted = (paint?.startTime ?? 0) / 1000;
  return { requests: loaded.length, kB: bytes / 1000, "first paint (s)": painted };
}"""
_ON_THE_LINE = """() => {
  const loaded = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type))
    .map(({ transferSize }) => transferSize).filter(Boolean);
  return { requests: loaded.length, kB: loaded.reduce((sum, size) => sum + size, 0) / 1000 };
}"""
"""What came over the line; the browser's own copies are of no size."""
Figures = dict[str, float]


@contextmanager
def served(checkout: Path) -> Iterator[str]:
    """Serve the page of a checkout; yield its address."""
    port = free_port()
    path = os.pathsep.join([str(checkout / "src"), str(ROOT)])
    command = [sys.executable, "-m", "benchmarks.page_server", str(port)]
    process = subprocess.Popen(command, cwd=ROOT, env={**os.environ, "PYTHONPATH": path})
    url = f"http://127.0.0.1:{port}"
    try:
        _wait_for(url, process)
        yield url
    finally:
        process.terminate()
        process.wait(10)


def _wait_for(url: str, process: subprocess.Popen[bytes]) -> None:
    limit = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < limit:
        try:
            httpx.get(f"{url}/app")
        except httpx.TransportError:
            time.sleep(0.1)
            continue
        return
    raise SystemExit(f"{url} does not answer")


@contextmanager
def tab(browser: Browser, url: str) -> Iterator[Page]:
    """Open a tab of a person who was never here."""
    size = {"width": 1440, "height": 900}
    context = browser.new_context(base_url=url, locale="zh-CN", viewport=size)  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE_MS)
    context.add_init_script(_WATCH)
    try:
        yield context.new_page()
    finally:
        context.close()


def _figures(page: Page) -> Figures:
    page.wait_for_timeout(300)
    figures: Figures = page.evaluate(_FIGURES)
    return figures


def _turn(number: int) -> str:
    return f"article.turn:nth-of-type({number})"


def _ask(page: Page, question: str) -> None:
    turns = page.locator("article.turn")
    at = turns.count()
    page.locator("#question").fill(question)
    page.locator("#question").press("Enter")
    page.locator(f"{_turn(at + 1)}[data-status=done]").wait_for(state="attached")


def stream(page: Page, question: str) -> Figures:
    """Ask a question whose answer streams in; the figures until it stands there, finished."""
    page.goto("/app")
    page.locator(".welcome").wait_for()
    _figures(page)
    began = time.monotonic()
    _ask(page, question)
    took = time.monotonic() - began
    return {**_figures(page), "until done (s)": took}


def thread(page: Page, turns: int) -> Figures:
    """Open a thread of so many turns, then ask on it."""
    page.goto(f"/app?thread={thread_of(turns)}")
    page.locator(_turn(turns)).wait_for(state="attached")
    opened = _figures(page)
    _ask(page, "4 kB in 3 s")
    asked = _figures(page)
    return {
        **{f"open: {name}": value for name, value in opened.items()},
        **{f"follow-up: {name}": value for name, value in asked.items()},
    }


def visit(page: Page) -> Figures:
    """Load the page the first time, at full speed."""
    page.goto("/app", wait_until="networkidle")
    return {**page.evaluate(_WEIGHT), **_figures(page)}


def slow_visits(page: Page) -> Figures:
    """Load it twice over a slow link with a slow processor: until the welcome is painted.

    The page's own clock says when: asked from outside, it answers only once it has read what comes
    after the first view.
    """
    cdp: CDPSession = page.context.new_cdp_session(page)
    cdp.send("Network.enable")
    cdp.send("Network.emulateNetworkConditions", SLOW)
    cdp.send("Emulation.setCPUThrottlingRate", {"rate": SLOWER_CPU})

    def seen() -> Figures:
        with page.expect_response("**/threads/search"):
            page.goto("/app")
        page.wait_for_load_state("networkidle")
        painted: float = page.evaluate("welcomed") / 1000
        return {"painted (s)": painted, **page.evaluate(_ON_THE_LINE)}

    told = {f"first: {name}": value for name, value in seen().items()}
    page.goto("about:blank")
    return {**told, **{f"second: {name}": value for name, value in seen().items()}}


SCENES: Final[dict[str, Callable[[Page], Figures]]] = {
    "first load": visit,
    "slow link": slow_visits,
    **{
        f"stream {name}": lambda page, asked=asked: stream(page, asked)  # type: ignore[misc]
        for name, asked in STREAMS.items()
    },
    "thread of 10": lambda page: thread(page, 10),
    "thread of 50": lambda page: thread(page, 50),
}


def measure(browser: Browser, url: str, scene: str) -> Figures:
    """Return the figures of one scene."""
    with tab(browser, url) as page:
        return SCENES[scene](page)


def lines(scene: str, now: Figures, before: Figures) -> list[Line]:
    """Return a line a figure, with the ratio to what it was before, where that is known."""
    told = []
    for name, value in now.items():
        was = before.get(name)
        note = (
            "" if was is None else f"before {was:.2f}" + (f", × {value / was:.2f}" if was else "")
        )
        target = SECOND_VISIT_S if name == "second: painted (s)" else None
        told.append(Line(scene, name, value, target, note=note, digits=2))
    return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", type=Path, metavar="CHECKOUT", help="another checkout")
    parser.add_argument("--only", default="", metavar="NAME", help="scenes whose name has this")
    arguments = parser.parse_args()
    path = chromium_path()
    if path is None:
        parser.error("Chromium is not installed")
    as_root = ["--no-sandbox"] if os.geteuid() == 0 else []
    checkouts: list[Path] = [ROOT, *([arguments.before] if arguments.before else [])]
    print(header())
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=as_root)
        with served(ROOT) as url:
            measure(browser, url, "first load")  # A browser's first page is slower than any other.
        for scene in (name for name in SCENES if arguments.only in name):
            measured: list[Any] = []
            for checkout in checkouts:
                with served(checkout) as url:
                    measured.append(measure(browser, url, scene))
            show(lines(scene, *[*measured, {}][:2]))
        browser.close()


if __name__ == "__main__":
    main()
