"""What can be measured of a page's looks, in the browser that shows it."""

from typing import Any

from tests.support.browser import Page
from tests.support.rows import FOLDER


def overflow(page: Page) -> list[str]:
    """What reaches out of the window sideways."""
    return _told(page, _script("overflow"))


def faint(page: Page) -> list[str]:
    """Visible texts with less contrast than WCAG 2.2 AA asks for (4.5, large ones 3)."""
    return _told(page, _script("contrast"))


def small(page: Page, least: int) -> list[str]:
    """Controls smaller than so many pixels; pins stand too close, and the list has them, too."""
    return _told(page, _script("small"), least)


def watch_moves(page: Page) -> None:
    """From now on what moves is written down."""
    page.evaluate(_script("moves"))


def moves(page: Page) -> list[str]:
    """What moved for more than a blink since then."""
    return _told(page, "[...moves]")


def _told(page: Page, script: str, *values: Any) -> list[str]:
    told: list[str] = page.evaluate(script, *values)
    return told


def _script(name: str) -> str:
    return (FOLDER / "looks" / f"{name}.js").read_text("utf-8")
