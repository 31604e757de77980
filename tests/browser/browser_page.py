"""The page as a person finds their way in it: by names, roles and the parts of an answer."""

import re
from typing import Any

from tests.support.browser import Locator, Page, expect

QUESTION = re.compile("^(问题|Question)$")
STOP = re.compile("^(停止|Stop)$")
_WATCH = """() => {
  globalThis.watched = [];
  const look = () => {
    const turn = [...document.querySelectorAll("article.turn")].at(-1);
    if (!turn) return;
    const text = turn.querySelector('[data-part="answer"] .prose').textContent;
    const steps = [...turn.querySelectorAll('.step[data-state="open"]')];
    const open = steps.map((step) => step.dataset.kind);
    const folded = !turn.querySelector('.timeline details').open;
    watched.push({ status: turn.dataset.status, text, open, folded });
  };
  const told = { subtree: true, childList: true, characterData: true, attributes: true };
  new MutationObserver(look).observe(document.querySelector('[data-part="turns"]'), told);
}"""


def part(scope: Page | Locator, name: str) -> Locator:
    """A view by its name: timeline, answer, sources, map, review, …"""
    return scope.locator(f'[data-part="{name}"]')


def question_box(page: Page) -> Locator:
    return page.get_by_role("textbox", name=QUESTION)


def ask(page: Page, question: str) -> Locator:
    """Asks, by keyboard; the turn that this begins."""
    turns = page.locator("article.turn")
    before = turns.count()
    question_box(page).fill(question)
    question_box(page).press("Enter")
    expect(turns).to_have_count(before + 1)
    return turns.nth(before)


def ends(turn: Locator, status: str = "done") -> Locator:
    """Waits until a turn is over, in this way."""
    expect(turn).to_have_attribute("data-status", re.compile("done|stopped|failed|waiting"))
    expect(turn).to_have_attribute("data-status", status)
    return turn


def thread_of(page: Page) -> str:
    """The id of the thread in the address."""
    page.wait_for_url(re.compile(r"[?&]thread="))
    found = re.search(r"[?&]thread=([0-9a-f-]{36})", page.url)
    assert found, page.url
    return found[1]


def watch(page: Page) -> None:
    """Keeps what the last turn's views go through from now on."""
    page.evaluate(_WATCH)


def watched(page: Page) -> list[dict[str, Any]]:
    """Each moment: the turn's `status`, its answer's `text`, the kinds of its `open` steps, and
    whether they are `folded` away."""
    moments: list[dict[str, Any]] = page.evaluate("watched")
    return moments
