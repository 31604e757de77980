"""A question about a place: watched, answered, and read on the page and the map."""

from tests.support.browser import BROWSER, Visits, expect
from tests.support.browser_page import ask, ends, part
from tests.support.command_line import ZH

pytestmark = BROWSER


def test_a_question_about_a_place_is_answered_with_sources(visit: Visits) -> None:
    answered = ends(ask(visit().tab(), ZH))
    expect(part(answered, "sources")).to_be_visible()
