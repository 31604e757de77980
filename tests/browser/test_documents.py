"""Own documents on the page: given by dropping, asked at once, deleted; errors in plain words."""

from typing import Any

from agent.texts import say
from tests.browser.browser_page import ask, ends, part
from tests.browser.page_looks import overflow
from tests.browser.test_axe import AXE, violations
from tests.support.browser import BROWSER, Page, Visits, expect

pytestmark = BROWSER
LEASE: Any = {
    "name": "Lease of 2024.md", "mimeType": "text/markdown",
    "buffer": b"# Lease\n\nThe deposit is 2,400 euros.\n",
}  # fmt: skip
PHOTO: Any = {"name": "photo.png", "mimeType": "image/png", "buffer": b"\x89PNG\r\n\x1a\n"}
_DROP = """(box, [name, text]) => {
  const dataTransfer = new DataTransfer();
  dataTransfer.items.add(new File([text], name));
  for (const type of ["dragover", "drop"]) {
    box.dispatchEvent(new DragEvent(type, { dataTransfer, bubbles: true, cancelable: true }));
  }
}"""


def rows(page: Page) -> list[str]:
    return page.locator(".uploads li").all_inner_texts()


def test_files_are_given_asked_and_deleted(visit: Visits) -> None:
    person = visit(locale="en-US")
    person.forgive("422")
    page = person.tab()
    part(page, "documents").get_by_role("button", name="Files").click()
    page.set_input_files("input[type=file]", [PHOTO, LEASE])
    expect(page.locator(".uploads progress")).to_have_count(0)
    assert rows(page) == [
        "photo.png\n" + say("page.documents.codes.page_kind", "en"),
        "Lease of 2024.md\n1 passage",
    ]
    expect(page.get_by_label("Lease-of-2024", exact=True)).to_be_checked()
    if AXE.is_file():
        assert violations(page) == []
    page.locator(".composer-box").evaluate(_DROP, ["notes.txt", "The landlord is Mr Novak.\n"])
    files = part(page, "documents").get_by_role("button", name="Files: Lease-of-2024 (2)")
    expect(files).to_have_attribute("aria-expanded", "false")
    files.click()
    expect(page.locator(".collection summary")).to_have_text("2 files")
    page.get_by_label("Look nowhere else").check()
    page.set_viewport_size({"width": 800, "height": 800})
    expect(part(page, "threads")).to_be_hidden()
    assert overflow(page) == [], "the fold stays within a box that has become narrower"
    answer = part(ends(ask(page, "How high is the deposit?")), "answer")
    expect(page.get_by_label("Look nowhere else")).to_be_hidden()
    expect(answer).to_contain_text("2,400")
    answer.locator("a.cite").first.click()
    expect(part(page, "citation")).to_contain_text("The deposit is 2,400 euros.")
    page.keyboard.press("Escape")
    part(page, "documents").get_by_role("button", name="Files").click()
    page.locator(".collection summary").click()
    remove = page.get_by_role("button", name="Delete notes.txt")
    remove.click()
    remove.click()
    expect(page.locator(".collection summary")).to_have_text("1 file")
