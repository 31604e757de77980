"""Record the README's moving picture: a question asked on the real page, on bundled sample data.

    uv run --group browser python tools/moving_picture.py [FILE]

Starts a server of its own, types the question, follows the work, opens a citation. Nothing in it
is drawn by hand; run it again when the page changes.
"""

import base64
import io
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
from PIL import Image, ImageChops
from playwright.sync_api import Page, sync_playwright

QUESTION = "王府井附近适合遛娃的好去处"
PICTURE = Path(__file__).parents[1] / "docs/images/page.webp"
SIZE = {"width": 1180, "height": 740}
WIDTH = 800
"""Pixels of the picture; the page is drawn wider."""
LONGEST_MS = 900
"""How long a frame stays at most; where the reader should look it stays longer."""
SHORTEST_MS = 80
TOTAL_MS = 14_000
"""A run that took longer is played faster, except where the reader should look."""
_START_SECONDS = 120
_RUN_SECONDS = 120
_QUALITY = 32

Frame = tuple[Image.Image, int]
"""A picture, and the milliseconds it is shown."""


def main(target: Path) -> None:
    """Write the moving picture."""
    with _server() as url, sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium") or shutil.which("google-chrome"),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        context = browser.new_context(
            viewport=SIZE, locale="zh-CN", timezone_id="Asia/Shanghai", color_scheme="light"
        )
        recorder = Recorder(context.new_page())
        recorder.play(f"{url}/app")
        browser.close()
    frames = recorder.frames()
    first, *others = [frame for frame, _ in frames]
    durations = [shown for _, shown in frames]
    first.save(
        target, save_all=True, append_images=others, duration=durations, loop=0,
        quality=_QUALITY, method=6,
    )  # fmt: skip
    seconds, kilobytes = sum(durations) / 1000, target.stat().st_size / 1024
    print(f"{target}: {len(durations)} frames, {seconds:.1f} s, {kilobytes:.0f} kB")


class Recorder:
    """Keep what the browser paints, and how long it stays."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self._painted: list[tuple[float, str]] = []
        self._holds: dict[int, int] = {}
        self._screen = page.context.new_cdp_session(page)
        self._screen.on("Page.screencastFrame", self._keep)

    def play(self, address: str) -> None:
        """Ask the question, follow the work, open a citation."""
        page = self.page
        page.goto(address)
        page.locator(".example").first.wait_for()
        page.get_by_role("textbox").first.click()
        self._screen.send("Page.startScreencast", {"format": "png", "everyNthFrame": 1})
        self._pause(700)
        for letter in QUESTION:
            page.keyboard.type(letter)
            page.wait_for_timeout(60)
        page.keyboard.press("Enter")
        page.locator("article.turn .sources").first.wait_for(timeout=_RUN_SECONDS * 1000)
        page.wait_for_timeout(800)
        self._pause(2400)
        page.locator("article.turn a.cite").nth(2).click()
        page.wait_for_timeout(600)
        self._pause(3000)
        self._screen.send("Page.stopScreencast")

    def frames(self) -> list[Frame]:
        """Return the pictures with their times, without those that only flash by."""
        frames: list[Frame] = []
        ends = [moment for moment, _ in self._painted[1:]]
        for number, (moment, data) in enumerate(self._painted):
            until = ends[number] if number < len(ends) else moment
            shown = self._holds.get(number) or min(round((until - moment) * 1000), LONGEST_MS)
            raw = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
            frame = raw.resize((WIDTH, raw.height * WIDTH // raw.width), Image.Resampling.LANCZOS)
            same = frames and ImageChops.difference(frames[-1][0], frame).getbbox() is None
            if same or (frames and shown < SHORTEST_MS):
                frames[-1] = (frames[-1][0], frames[-1][1] + shown)
            else:
                frames.append((frame, shown))
        held = sum(self._holds.values())
        pace = min(1, (TOTAL_MS - held) / (sum(shown for _, shown in frames) - held))
        return [
            (frame, shown if shown > LONGEST_MS else max(round(shown * pace), SHORTEST_MS))
            for frame, shown in frames
        ]

    def _pause(self, milliseconds: int) -> None:
        """Let the reader look at what is seen now."""
        self.page.wait_for_timeout(400)
        self._holds[len(self._painted) - 1] = milliseconds

    def _keep(self, event: dict[str, Any]) -> None:
        self._painted.append((event["metadata"]["timestamp"], event["data"]))
        self._screen.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})


@contextmanager
def _server() -> Iterator[str]:
    """Run `tanlu serve` on sample data in an empty folder; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        running = subprocess.Popen(
            [sys.executable, "-m", "agent", "serve", "--port", str(port)],
            cwd=folder,
            env={**os.environ, "TANLU_MODE": "offline", "TANLU_DATA_DIR": f"{folder}/data"},
            stdout=subprocess.DEVNULL,
        )
        try:
            _wait(url, running)
            yield url
        finally:
            running.terminate()
            running.wait()


def _wait(url: str, running: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + _START_SECONDS
    while running.poll() is None and time.monotonic() < deadline:
        try:
            if httpx.get(f"{url}/ok", trust_env=False).is_success:
                return
        except httpx.TransportError:
            time.sleep(0.2)
    raise SystemExit("the server did not start")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE)
