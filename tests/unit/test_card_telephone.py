"""Where a record leaves a wish open, its card has the telephone by which one asks."""

import pytest

from agent.evidence.kinds import DemandOutcome
from agent.evidence.types import Place, PlaceVerdict
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.export.place_cards import card_of
from tests.unit.export_samples import answer, place, source

URL = "https://uri.amap.com/marker?poiid=B1"


def asked(outcome: DemandOutcome, phone: str) -> Place:
    told = PlaceVerdict(constraint="open_at", verdict=outcome, field="open_time", text="周日营业")
    return place(1, phone=phone, verdicts=[told])


def shown(entry: Place) -> tuple[str, str]:
    """The same place as a bullet in Markdown, and as a bullet and in the list in HTML."""
    text = f"- **儿童乐园**：适合雨天[1]({URL})"
    sources = [source(1, URL, "儿童乐园")]
    told = answer(answer=text, places=[entry], sources=sources, notice="")
    listed = answer(answer="见下。", places=[entry], sources=sources, notice="")
    return markdown_document(told), html_page(told) + html_page(listed)


def test_the_telephone_is_the_last_fact_of_a_card_that_leaves_a_wish_open() -> None:
    entry = asked("unknown", "010-6512 3456;010-65120000")
    assert card_of(entry, "zh").facts[-1] == "010-6512 3456"
    written, page = shown(entry)
    link = '<span><a href="tel:01065123456" dir="ltr">010-6512 3456</a></span>'
    assert page.count(link) == 2
    assert written.count("· 010-6512 3456 ·") == 1
    assert "tel:" not in written


@pytest.mark.parametrize("outcome", ["satisfied", "violated"])
def test_a_card_that_leaves_nothing_open_has_no_telephone(outcome: DemandOutcome) -> None:
    entry = asked(outcome, "010-65123456")
    assert card_of(entry, "zh") == card_of(asked(outcome, ""), "zh")


@pytest.mark.parametrize(
    "phone",
    ["javascript:alert(1)", '1234" onclick="x', "12345?body=1", "*#06#", "12", "1+234567",
     "٠١٢٣٤٥٦٧", "1234567890123456", f"123{' ' * 30}456", "call 030 123456", "12345\n678", "--- -"],
)  # fmt: skip
def test_what_is_no_number_is_neither_shown_nor_linked(phone: str) -> None:
    entry = asked("unknown", phone)
    assert card_of(entry, "en") == card_of(asked("unknown", ""), "en")
    assert "tel:" not in "".join(shown(entry))
