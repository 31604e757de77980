"""The page's files and its configuration: what anybody gets, and with which headers."""

import gzip
import json
import logging
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from agent.mcp.servers import PHOTO_HOSTS
from agent.server.page_routes import FOLDER, MOST_A_MINUTE, PageFiles
from tests.unit.page_client import KEY, directives, page_client

WATER, _MAX_ZOOM = Path(__file__).parents[1] / "fixtures" / "water.pmtiles", 101
"""Water everywhere, and where the header says how far one may zoom in."""
_TILES = re.compile(r"interface Tiles \{(.*?)\n\}", re.DOTALL)
PATHS = ["/app", *(f"/app/files/0/{name}" for name in ("js/dom.js", "vendor/leaflet.js"))]
LEAFLET = "/app/files/0/vendor/leaflet.js"


def tile_fields_of_the_page() -> set[str]:
    """Return the keys of `tiles` that the page's modules read, by its declarations."""
    declared = _TILES.search((FOLDER / "types.d.ts").read_text("utf-8"))
    assert declared is not None
    return set(re.findall(r"^  (\w+):", declared[1], re.MULTILINE))


@pytest.mark.parametrize(
    "path", [*PATHS, "/app/config.json", "/app/files/0/js/none.js", "/app/runs/1/answer.md"]
)
async def test_every_response_says_what_may_be_done_with_it(path: str) -> None:
    async with page_client() as http:
        headers = (response := await http.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"
    assert headers["permissions-policy"].startswith("geolocation=(self)")
    assert headers["cross-origin-opener-policy"] == "same-origin"
    assert headers["x-frame-options"] == "DENY"
    policy = directives(response)
    assert policy["default-src"] == policy["frame-ancestors"] == ["'none'"]
    assert "unsafe" not in headers["content-security-policy"]


PHOTOS = [f"https://{host}" for host in PHOTO_HOSTS]


@pytest.mark.parametrize(
    ("settings", "images"),
    [
        ({}, ["https://tile.openstreetmap.org", *PHOTOS]),
        ({"MAP_TILES": "off", "PLACE_PHOTOS": "off"}, []),
        ({"MAP_TILES": "tianditu"}, PHOTOS),
        ({"MAP_TILES": "osm", "PLACE_PHOTOS": "off"}, ["https://tile.openstreetmap.org"]),
        (
            {"MAP_TILES": "tianditu", "TIANDITU_KEY": "0123456789abcdef", "PLACE_PHOTOS": "false"},
            [f"https://t{number}.tianditu.gov.cn" for number in range(8)],
        ),
        ({"MAP_TILES": "none"}, PHOTOS),
        ({"MAP_TILES": "nonsense"}, []),
    ],
)
async def test_the_page_may_load_only_the_images_that_are_switched_on(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, str], images: list[str]
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    async with page_client() as http:
        policy = directives(await http.get("/app"))
    assert policy.pop("img-src") == ["'self'", "data:", *images]
    own = ["'self'"]
    assert policy == {
        "default-src": ["'none'"], "script-src": own, "style-src": own, "connect-src": own,
        "frame-src": own, "font-src": own, "base-uri": ["'none'"], "form-action": own,
        "frame-ancestors": ["'none'"], "report-uri": ["app/csp-report"],
    }  # fmt: skip


async def test_a_file_comes_compressed_and_only_once() -> None:
    async with page_client() as http:
        packed = await http.get(LEAFLET)
        plain = await http.get(LEAFLET, headers={"accept-encoding": "gzip;q=0"})
        tag = {"if-none-match": f'"other", {packed.headers["etag"]}'}
        again = await http.get(LEAFLET, headers=tag)
        head = await http.head(LEAFLET)
    assert packed.headers["content-encoding"] == "gzip"
    assert "content-encoding" not in plain.headers
    assert packed.content == plain.content
    assert int(packed.headers["content-length"]) < len(plain.content) / 2
    assert packed.headers["content-type"] == "text/javascript; charset=utf-8"
    assert {packed.headers["cache-control"], again.headers["cache-control"]} == {"no-cache"}
    assert packed.headers["vary"] == "Accept-Encoding"
    assert (again.status_code, again.content, again.headers["etag"]) == (
        304, b"", packed.headers["etag"]
    )  # fmt: skip
    assert head.headers["etag"] == packed.headers["etag"]


@pytest.mark.parametrize(
    "path",
    [
        "js/../../../page.py", "js/..%2f..%2fapp.py", "js/%2e%2e", "vendor/.hidden", "js/", "js",
        "", "x/dom.js", "../../app.py", "js/dom.js%00.txt", "vendor.package.json", "js/dom.py",
        "types.d.ts", "js/run/../../../../app.py", "../js/dom.js",
    ],
)  # fmt: skip
async def test_nothing_else_of_the_package_is_served(path: str) -> None:
    async with page_client() as http:
        assert (await http.get(f"/app/files/0/{path}")).status_code == 404


async def test_what_the_page_loads_is_kept_for_good_until_a_file_changes() -> None:
    async with page_client() as http:
        page = await http.get("/app")
        assert page.headers["cache-control"] == "no-cache"
        named = re.findall(r'(?:href|src)="(app/files/[^"]+)"', page.text)
        hashes = {name.split("/")[2] for name in named}
        assert len(hashes) == 1
        for name in named:
            assert "immutable" in (await http.get(name)).headers["cache-control"], name
        older = await http.get(named[0].replace(hashes.pop(), "0123456789abcdef"))
    assert (older.status_code, older.headers["cache-control"]) == (200, "no-cache")


async def test_below_a_prefix_that_a_proxy_takes_off_every_address_is_right() -> None:
    whole = await asked_below("")
    assert len(whole) > 60
    assert [await asked_below(prefix) for prefix in ("/tanlu", "/a/b")] == [whole] * 2
    async with page_client() as http:
        for path in whole:
            assert (await http.get(path)).status_code == 200, path


async def asked_below(prefix: str) -> set[str]:
    """Return what a browser asks for, seen from the page's own address below the prefix.

    It is told as the server is asked for it: the proxy has taken the prefix off.
    """

    def behind_proxy(path: str) -> str:
        below = httpx.URL(f"http://host{path}").raw_path.decode()
        assert below.startswith(f"{prefix}/"), f"{path} leads away from {prefix}"
        return below.removeprefix(prefix)

    page = f"{prefix}/app?thread=1"
    async with page_client() as http:
        for start in (f"{prefix}/", f"{prefix}/app/?thread=1"):
            sent_on = await http.get(behind_proxy(start), headers={"accept": "text/html"})
            target = httpx.URL(f"http://host{start}").join(sent_on.headers["location"])
            assert target.path == f"{prefix}/app"
            assert target.query == httpx.URL(f"http://host{start}").query
        shown = await http.get(behind_proxy(page))
    policy = shown.headers["content-security-policy"]
    report = httpx.URL(f"http://host{page}").join(policy.partition("report-uri ")[2].split()[0])
    assert report.path == f"{prefix}/app/csp-report"
    named = re.findall(r'(?:href|src)="([^"#]+)"', shown.text)
    return {behind_proxy(httpx.URL(f"http://host{page}").join(name).path) for name in named}


def test_a_changed_file_is_read_again_and_an_unknown_kind_never(tmp_path: Path) -> None:
    files = PageFiles(tmp_path)
    js = tmp_path / "js"
    js.mkdir()
    (js / "a.js").write_text("one")
    (js / "a.py").write_text("one")
    first, _ = files.find("js/a.js")
    assert first is not None
    assert files.find("js/a.js")[0] is first
    (js / "a.js").write_text("second")
    changed, _ = files.find("js/a.js")
    assert changed is not None
    assert (changed.body, gzip.decompress(changed.compressed)) == (b"second", b"second")
    assert changed.etag != first.etag
    assert files.find("js/a.py")[0] is files.find("js/b.js")[0] is None
    scope: Any = {"type": "http", "headers": [(b"if-none-match", b"*")]}
    assert changed.respond(Request(scope), {}).status_code == 304


def test_a_new_module_makes_a_new_page(tmp_path: Path) -> None:
    files = PageFiles(tmp_path)
    (tmp_path / "js/map").mkdir(parents=True)
    (tmp_path / "index.html").write_text("<template><!-- other modules --></template>")
    (tmp_path / "js/main.js").write_text("")
    before, _ = files.find("index.html")
    assert before is not None
    assert (b"modulepreload" in before.body, files.find("index.html")[0]) == (False, before)
    (tmp_path / "js/map/pin.js").write_text("")
    after, _ = files.find("index.html")
    assert after is not None
    assert after.etag != before.etag
    assert re.search(rb'href="app/files/[0-9a-f]{16}/js/map/pin.js">', after.body)


async def test_the_configuration_has_what_the_page_shows_before_a_question() -> None:
    async with page_client() as http:
        told = (await http.get("/app/config.json")).json()
    assert (told["mode"], told["keys"], told["user"], told["reason"]) == (
        "offline",
        False,
        None,
        None,
    )
    assert len(json.dumps(told)) < 2000, "words are kept by browsers, with the page's files"
    assert (told["tiles"]["host"], told["photos"]) == ("tile.openstreetmap.org", True)
    assert told["notice"]["zh"].startswith("示例模式")
    assert told["notice"]["en"].startswith("Sample mode")


async def test_without_a_key_the_configuration_is_what_a_sign_in_needs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"alice:{KEY}")
    monkeypatch.setenv("MAP_TILES", "osm")
    async with page_client() as http:
        stranger = (await http.get("/app/config.json")).json()
        alice = (await http.get("/app/config.json", headers={"x-api-key": KEY})).json()
    assert set(stranger) == {"version", "keys", "user", "mode", "notice"}
    assert (stranger["keys"], stranger["user"]) == (True, None)
    assert (alice["keys"], alice["user"]) == (True, "alice")
    assert alice["tiles"]["url"] == "https://tile.openstreetmap.org/{z}/{x}/{y}.png"
    assert set(alice["tiles"]) == tile_fields_of_the_page()
    assert alice["tiles"]["attribution_en"] == "© OpenStreetMap contributors"
    assert alice["tiles"]["attribution_url"] == "https://www.openstreetmap.org/copyright"
    assert alice["tiles"]["referrer_policy"] == "strict-origin-when-cross-origin"
    assert KEY not in json.dumps([alice, stranger])


async def test_tiles_of_tianditu_have_their_names_above_and_need_a_key(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setenv("MAP_TILES", "tianditu")
    async with page_client() as http:
        assert (await http.get("/app/config.json")).json()["tiles"] is None
        assert (await http.get("/app/config.json")).json()["tiles"] is None
        monkeypatch.setenv("TIANDITU_KEY", "0123456789abcdef")
        tiles = (await http.get("/app/config.json")).json()["tiles"]
    assert [r.message for r in caplog.records if "TIANDITU_KEY" in r.message] != []
    assert tiles["url"].startswith("https://t{s}.tianditu.gov.cn/vec_w/wmts?")
    assert tiles["url"].endswith("&TILEMATRIX={z}&TILEROW={y}&TILECOL={x}&tk=0123456789abcdef")
    assert [one.split("/")[3] for one in tiles["overlays"]] == ["cva_w"]
    assert tiles["subdomains"] == list("01234567")
    assert tiles["attribution_zh"] == "© 天地图"
    assert tiles["max_zoom"] == 18


async def test_settings_that_cannot_be_used_leave_a_page_that_says_so(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AMAP_QPS", "fast")
    async with page_client() as http:
        assert (await http.get("/app")).status_code == 200
        told = (await http.get("/app/config.json")).json()
    assert told["mode"] == "broken"
    assert told["reason"]["en"].startswith("AMAP_QPS must be ")
    assert told["reason"]["zh"].startswith("AMAP_QPS：")


async def test_what_the_policy_stopped_is_one_line_without_keys_and_not_for_ever(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TANLU_API_KEYS", f"alice:{KEY}")
    stopped = {
        "blocked-uri": f"https://evil.example/\n{KEY}?key=abcdefgh",
        "violated-directive": "img-src",
    }
    report = {"csp-report": stopped}
    kind = {"content-type": "application/csp-report"}
    async with page_client() as http:
        await http.get("/app/config.json")
        for content in (b"{", b"[]", b'{"csp-report": 1}', b"[" * 9000, b"x" * 20_000):
            assert (await http.post("/app/csp-report", content=content)).status_code == 204
        assert caplog.records == []
        for _ in range(MOST_A_MINUTE + 5):
            sent = await http.post("/app/csp-report", content=json.dumps(report), headers=kind)
            assert sent.status_code == 204
    lines = [r.getMessage() for r in caplog.records if r.levelno == logging.WARNING]
    assert len(lines) == MOST_A_MINUTE
    assert "violated-directive=img-src blocked-uri=https://evil.example/" in lines[0]
    assert "\n" not in lines[0]
    assert KEY not in lines[0]


async def test_the_bare_address_sends_browsers_to_the_page_and_tells_programs_it_is_there() -> None:
    async with page_client() as http:
        browser = await http.get("/", headers={"accept": "text/html,*/*;q=0.8"})
        program = await http.get("/", headers={"accept": "*/*"})
    assert (browser.status_code, browser.headers["location"]) == (307, "app")
    assert (program.status_code, program.json()) == (200, {"ok": True})


async def test_a_file_of_vector_tiles_is_served_by_ranges(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "city.pmtiles"
    tiles_of_water = bytearray(WATER.read_bytes())
    tiles_of_water[_MAX_ZOOM] = 14
    file.write_bytes(tiles_of_water)
    monkeypatch.setenv("MAP_TILES", f"pmtiles:{file}")
    async with page_client() as http:
        tiles = (await http.get("/app/config.json")).json()["tiles"]
        part = await http.get(tiles["url"], headers={"Range": "bytes=0-6"})
        policy = directives(await http.get("/app"))
    assert (tiles["kind"], tiles["host"], tiles["max_zoom"]) == ("vector", "", 14)
    assert (part.status_code, part.content) == (206, b"PMTiles")
    assert policy["connect-src"] == ["'self'"]
    assert policy["img-src"] == ["'self'", "data:", *PHOTOS]


async def test_a_file_of_vector_tiles_elsewhere_is_all_that_the_page_may_ask(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MAP_TILES", "pmtiles:https://maps.example/china.pmtiles")
    async with page_client() as http:
        tiles = (await http.get("/app/config.json")).json()["tiles"]
        policy = directives(await http.get("/app"))
        own = await http.get("/app/basemap.pmtiles")
    assert (tiles["host"], tiles["url"]) == ("maps.example", "https://maps.example/china.pmtiles")
    assert policy["connect-src"] == ["'self'", "https://maps.example"]
    assert policy["img-src"] == ["'self'", "data:", *PHOTOS]
    assert own.status_code == 404


@pytest.mark.parametrize("content", [None, b"<html>no tiles</html>" * 20])
async def test_a_file_that_holds_no_tiles_is_said_to_hold_none(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    content: bytes | None,
) -> None:
    file = tmp_path / "wrong.pmtiles"
    if content:
        file.write_bytes(content)
    monkeypatch.setenv("MAP_TILES", f"pmtiles:{file}")
    async with page_client() as http:
        assert (await http.get("/app/config.json")).json()["tiles"] is None
        assert (await http.get("/app/basemap.pmtiles")).status_code == 404
    assert [r.message for r in caplog.records if str(file) in r.message] != []


async def test_the_renderer_of_vector_tiles_is_not_loaded_with_the_page() -> None:
    async with page_client() as http:
        page = (await http.get("/app")).text
        renderer = await http.get("/app/files/any/vendor/protomaps-leaflet.js")
    assert "leaflet.js" in page
    assert "protomaps" not in page
    assert "vector_tiles" not in page
    assert renderer.status_code == 200


async def test_codes_are_made_of_links_to_the_map_service_only() -> None:
    link = "https://uri.amap.com/navigation?to=116.411284,39.913789,%E5%92%8C"
    async with page_client() as http:
        code = await http.get("/app/qr.svg", params={"url": link})
        others = [
            (await http.get("/app/qr.svg", params={"url": url})).status_code
            for url in ("", "https://evil.example/", "https://uri.amap.com/" + "x" * 600)
        ]
    assert code.headers["content-type"] == "image/svg+xml"
    assert code.text.startswith("<svg ")
    assert others == [400, 400, 400]
