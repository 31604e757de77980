"""The benchmark of the page measures with whatever Chromium the browser tests run on."""

import sys
from pathlib import Path

import pytest

pytest.importorskip("playwright.sync_api", reason="no Playwright: uv sync --group browser")

from benchmarks import page

from tests.support.browser import chromium_path


@pytest.mark.parametrize("name", ["chromium-headless-shell", "chromium", "google-chrome-stable"])
def test_any_chromium_of_the_system_is_found(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / name
    program.touch(mode=0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert chromium_path() == str(program)
    assert page.chromium_path is chromium_path


def test_without_a_browser_it_says_what_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "argv", ["page"])
    with pytest.raises(SystemExit):
        page.main()
    assert "Chromium is not installed" in capsys.readouterr().err
