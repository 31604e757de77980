"""What axe finds wrong on the page: nothing, also on a dossier with its headings and tables."""

from pathlib import Path

import pytest

from tests.browser.browser_page import ends
from tests.support.browser import BROWSER, Page, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
AXE = Path(__file__).parents[2] / "tools/page_types/node_modules/axe-core/axe.min.js"
"""`make types` installs it."""
DOSSIER = "宁德时代钠离子电池的技术路线与同行相比如何"
_FIND = """async () => {
  const rules = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"];
  const { violations } = await axe.run(document, { runOnly: rules });
  return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" ")}`);
}"""


def violations(page: Page) -> list[str]:
    page.evaluate(AXE.read_text("utf-8") + ";0")
    found: list[str] = page.evaluate(_FIND)
    return found


@pytest.mark.skipif(not AXE.is_file(), reason="axe is not installed: make types")
def test_axe_finds_nothing(visit: Visits, server: DevServer) -> None:
    page = visit(reduced_motion="reduce").tab()
    page.get_by_role("button", name="菜单").click()
    assert violations(page) == []
    for question, assistant in ((ZH, "agent"), (DOSSIER, "plan_execute")):
        page.goto(f"/app?thread={answered_thread(server, question, assistant=assistant)}")
        ends(page.locator("article.turn"))
        assert violations(page) == [], assistant
    expect(page.locator(".outline")).to_be_visible()
