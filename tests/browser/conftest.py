"""One Chromium and one server for all modules of a worker; a visit of its own for every test."""

from collections.abc import Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.dev_server import DevServer
from tests.support.page_server import page_server

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.support.browser import Browsers, Visit, Visits

_FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed:
        item.stash[_FAILED] = True
    return report


@pytest.fixture(scope="package", name="chromium")
def chromium_fixture() -> "Iterator[Browser]":
    """End with the folder: while Playwright runs, no other event loop can."""
    from tests.support.browser import chromium

    with chromium() as browser:
        yield browser


@pytest.fixture(scope="package", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    """With sample data; a module with other settings has a fixture of this name itself."""
    with page_server(tmp_path_factory.mktemp("server")) as started:
        yield started


@pytest.fixture(scope="package", name="browsers")
def browsers_fixture(chromium: "Browser") -> "Browsers":
    from tests.support.browser import Browsers

    return Browsers(chromium)


@pytest.fixture(name="visit")
def visit_fixture(
    browsers: "Browsers", server: DevServer, request: pytest.FixtureRequest, tmp_path: Path
) -> "Iterator[Visits]":
    """Begins a visit; at the end each must have gone without an error nobody sees."""
    from tests.support.browser import artifacts

    def begin(url: str = server.url, **options: Any) -> "Visit":
        return browsers.take(url, **options)

    yield begin
    if request.node.stash.get(_FAILED, False):
        _photograph(request.node.name, browsers.pages, artifacts(tmp_path))
    browsers.close()


def _photograph(name: str, pages: "list[Page]", folder: Path) -> None:
    """What the pages of a failed test look like."""
    for number, page in enumerate(pages):
        path = folder / f"{name}-{number}.png"
        page.screenshot(path=path)
        print(f"{page.url} looked like {path}")
