"""Record the README's moving picture: a question asked on the real page, over real streets.

    uv run --group browser --with osmium --with pmtiles==3.5.0 \\
        python -m tools.moving_picture helsinki.osm.pbf [FOLDER]

The extract of OpenStreetMap has central Helsinki, with the nodes of all its ways. Its places and
its streets are those of the picture; what a model says was played by hand (`street_replies/`), and
is said only where the extract has the places that it names. Starts a server of its own, types the
question, follows the work, opens a citation; stills of the docs are taken on the way. Nothing is
drawn by hand; run it again when the page changes. It needs tilemaker.
"""

import base64
import io
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal

import httpx
from PIL import Image, ImageChops
from playwright.sync_api import Page, sync_playwright
from tests.integration.osm_service import osm_service
from tests.support.browser import chromium_path
from tests.support.osm_extract import EXTRACT, extract_elements
from tests.support.served import serve_in_thread
from tools.basemap.basemap import convert

from agent.sample.model import recorded
from agent.sample.model.reply import SampleModel
from agent.sample.services.gemini import GeminiService

QUESTION = "Cafés near Helsinki's central station that are open on Sunday"
FOLDER = Path(__file__).parents[1] / "docs/images"
REPLIES = Path(__file__).with_name("street_replies")
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
_STILL_QUALITY = 60
_KEY = "picture"
STILLS: Sequence[tuple[str, tuple[int, int], Literal["light", "dark"]]] = (
    ("page-desk", (1280, 800), "light"),
    ("page-dark", (1024, 720), "dark"),
    ("page-phone", (390, 780), "light"),
)
"""Names of pictures, their sizes, and the page's colours."""

Frame = tuple[Image.Image, int]
"""A picture, and the milliseconds it is shown."""


def main(extract: Path, folder: Path) -> None:
    """Write the moving picture, and stills of the page on a desk and on a phone."""
    with (
        _services(extract) as variables,
        _server(variables) as url,
        sync_playwright() as playwright,
    ):
        browser = playwright.chromium.launch(
            executable_path=chromium_path(),
            args=["--no-sandbox"] if os.geteuid() == 0 else [],
        )
        context = browser.new_context(
            viewport=SIZE, locale="en-GB", timezone_id="Europe/Helsinki", color_scheme="light"
        )
        recorder = Recorder(context.new_page())
        recorder.play(f"{url}/app")
        _stills(recorder.page, folder)
        browser.close()
    frames = recorder.frames()
    first, *others = [frame for frame, _ in frames]
    durations = [shown for _, shown in frames]
    target = folder / "page.webp"
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
        held = set[int]()
        ends = [moment for moment, _ in self._painted[1:]]
        for number, (moment, data) in enumerate(self._painted):
            until = ends[number] if number < len(ends) else moment
            shown = self._holds.get(number) or min(round((until - moment) * 1000), LONGEST_MS)
            raw = Image.open(io.BytesIO(base64.b64decode(data))).convert("RGB")
            frame = raw.resize((WIDTH, raw.height * WIDTH // raw.width), Image.Resampling.LANCZOS)
            same = frames and ImageChops.difference(frames[-1][0], frame).getbbox() is None
            if number in self._holds or not frames or not (same or shown < SHORTEST_MS):
                frames.append((frame, shown))
            elif len(frames) - 1 not in held:
                frames[-1] = (frames[-1][0], min(frames[-1][1] + shown, LONGEST_MS))
            if number in self._holds:
                held.add(len(frames) - 1)
        still = sum(shown for at, (_, shown) in enumerate(frames) if at in held)
        pace = min(1, (TOTAL_MS - still) / (sum(shown for _, shown in frames) - still))
        return [
            (frame, shown if at in held else max(round(shown * pace), SHORTEST_MS))
            for at, (frame, shown) in enumerate(frames)
        ]

    def _pause(self, milliseconds: int) -> None:
        """Let the reader look at what is seen now."""
        self.page.wait_for_timeout(400)
        # What was painted last may be in the midst of a movement.
        still = base64.b64encode(self.page.screenshot(caret="initial", animations="disabled"))
        self._painted.append((time.time(), still.decode()))
        self._holds[len(self._painted) - 1] = milliseconds

    def _keep(self, event: dict[str, Any]) -> None:
        self._painted.append((event["metadata"]["timestamp"], event["data"]))
        self._screen.send("Page.screencastFrameAck", {"sessionId": event["sessionId"]})


def _stills(page: Page, folder: Path) -> None:
    """Take the finished answer on a desk, in the dark and on a phone."""
    for name, (width, height), scheme in STILLS:
        page.set_viewport_size({"width": width, "height": height})
        page.emulate_media(color_scheme=scheme)
        page.reload()
        page.locator("article.turn .sources").first.wait_for()
        page.wait_for_timeout(2500)
        picture = Image.open(io.BytesIO(page.screenshot())).convert("RGB")
        picture.save(folder / f"{name}.webp", quality=_STILL_QUALITY, method=6)


@contextmanager
def _services(extract: Path) -> Iterator[dict[str, str]]:
    """Serve what was played, the extract's places and its streets; give the variables for them."""
    os.environ[EXTRACT] = str(extract)
    recorded.FOLDER = REPLIES
    model = GeminiService(SampleModel(), key=_KEY)
    with (
        tempfile.TemporaryDirectory() as folder,
        osm_service(extract_elements()) as lab,
        serve_in_thread(model.app) as played,
    ):
        streets = Path(folder) / "streets.pmtiles"
        convert(extract, streets)
        yield {
            **{name.upper(): str(value) for name, value in lab.settings.items()},
            "GEMINI_API_KEY": _KEY,
            "GOOGLE_GEMINI_BASE_URL": played.url,
            "MAP_SERVERS": "osm",
            "MAP_TILES": f"pmtiles:{streets}",
            "PLACE_PHOTOS": "false",
            "TANLU_CONTACT": "picture@example.org",
            "TANLU_MODE": "online",
            "WEB_SEARCH": "off",
        }


@contextmanager
def _server(variables: Mapping[str, str]) -> Iterator[str]:
    """Run `tanlu serve` with these variables in an empty folder; give its address."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory() as folder:
        running = subprocess.Popen(
            [sys.executable, "-m", "agent", "serve", "--port", str(port)],
            cwd=folder,
            env={**os.environ, **variables, "TANLU_DATA_DIR": f"{folder}/data"},
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
    main(Path(sys.argv[1]), Path(sys.argv[2]) if len(sys.argv) > 2 else FOLDER)
