"""Hostile questions, services, progress, plans and errors while a run goes on."""

from collections.abc import Iterator

import pytest

from tests.browser.browser_page import ask, ends, part, question_box
from tests.browser.hostile_graphs import GRAPHS, PAYLOAD
from tests.browser.hostile_page import among_hostile, nothing_acts
from tests.browser.hostile_texts import MARKUP
from tests.support.browser import BROWSER, Visit, Visits, expect
from tests.support.dev_server import REPOSITORY, DevServer
from tests.support.lab import ZH
from tests.support.obedient import TRIGGER
from tests.support.page_server import page_server

pytestmark = [*BROWSER, pytest.mark.node]


@pytest.fixture(scope="module", name="server")
def server_fixture(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DevServer]:
    folder = tmp_path_factory.mktemp("hostile")
    env = {"PYTHONPATH": str(REPOSITORY)}
    with page_server(folder, env=env, config={"graphs": GRAPHS}) as started:
        yield started


@pytest.fixture(name="person")
def person_fixture(visit: Visits) -> Visit:
    return among_hostile(visit)


def test_an_answer_from_hostile_services_is_text(person: Visit) -> None:
    page = person.tab()
    turn = ends(ask(page, ZH))
    expect(turn.locator(".place")).not_to_have_count(0)
    expect(part(turn, "places")).to_contain_text(MARKUP["image"])
    for line in turn.locator(".place-line").all():
        line.click()
    turn.locator("a.cite").first.click()
    expect(part(page, "citation")).to_contain_text("onerror")
    turn.locator(".timeline summary").click()
    expect(part(turn, "timeline").locator(".step").first).to_be_visible()
    nothing_acts(page)
    page.reload()
    ends(page.locator("article.turn"))
    nothing_acts(page)


def test_a_hostile_question_is_a_question(person: Visit) -> None:
    page = person.tab()
    asked = f"{ZH} {MARKUP['closing']} {MARKUP['image']}"
    turn = ends(ask(page, asked))
    expect(turn.get_by_role("heading", level=2)).to_have_text(asked)
    assert "onerror=ran" in page.title() or page.title().startswith(ZH)
    expect(part(page, "threads").locator(".thread-title").first).to_contain_text("</textarea>")
    nothing_acts(page)


def test_a_hostile_plan_can_be_read_edited_and_sent(person: Visit) -> None:
    page = person.tab()
    page.get_by_role("switch", name="先看计划").check()
    turn = ends(ask(page, f"{ZH} {MARKUP['image']} {TRIGGER}"), "waiting")
    queries = part(turn, "review").get_by_role("textbox")
    assert "onerror" in queries.first.input_value()
    queries.first.fill(MARKUP["closing"])
    nothing_acts(page)
    part(turn, "review").get_by_role("button", name="按这个计划继续").click()
    ends(turn)
    nothing_acts(page)


def test_hostile_progress_plans_names_and_errors_are_text(person: Visit) -> None:
    page = person.tab()
    choose = page.get_by_role("button", name="由谁来答")
    choose.click()
    expect(page.locator(".choice").last).to_contain_text(MARKUP["image"])
    nothing_acts(page)
    page.get_by_role("radio", name="acting").check()
    turn = ends(ask(page, "anything"), "waiting")
    expect(part(turn, "review")).to_contain_text(MARKUP["image"])
    expect(part(turn, "timeline").locator(".step")).not_to_have_count(0)
    nothing_acts(page)
    part(turn, "review").get_by_role("button", name="按这个计划继续").click()
    ends(turn, "failed")
    expect(turn.get_by_role("alert")).to_contain_text(PAYLOAD[:60])
    turn.get_by_role("alert").locator("summary").click()
    expect(turn.get_by_role("alert").get_by_text(PAYLOAD[:60])).to_be_visible()
    expect(question_box(page)).to_have_value("")
    nothing_acts(page)
