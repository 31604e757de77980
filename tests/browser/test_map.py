"""The map beside an answer: filled while it works, with ways, and gone where it has nothing."""

import base64
import json
import re
from typing import Any

import pytest

from tests.browser.browser_page import ask, ends, part
from tests.support.browser import BROWSER, Route, Visits, expect
from tests.support.command_line import ZH
from tests.support.dev_server import DevServer
from tests.support.page_server import answered_thread

pytestmark = BROWSER
_WATCH = """() => {
  globalThis.drawn = [];
  new MutationObserver(() => {
    const count = (kind) => document.querySelectorAll(kind).length;
    const turn = document.querySelector("article.turn");
    drawn.push([count(".map-anchor"), count(".map-pin.found"), turn?.dataset.status]);
  }).observe(document.body, { subtree: true, childList: true });
}"""
PLAY = "Where can children play near Wangfujing, Beijing?"
PHOTOS = "https://aos-comment.amap.com/"
GIF = base64.b64decode("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7")
ELSEWHERE = "宽窄巷子附近的公园"
"""A question no other test asks: the server they share still has to look its places up."""


def test_centre_and_pins_drop_in_while_the_question_is_worked_on(visit: Visits) -> None:
    page = visit().tab()
    page.evaluate(_WATCH)
    turn = ends(ask(page, ELSEWHERE))
    drawn = page.evaluate("drawn")
    centre = next(i for i, (anchors, _, _) in enumerate(drawn) if anchors)
    pins = [(i, status) for i, (_, found, status) in enumerate(drawn) if found]
    assert centre <= pins[0][0], "what one frame brings is drawn at once"
    assert pins[0][1] in ("starting", "running")
    expect(part(page, "map").locator(".map-pin.found")).to_have_count(0)
    assert part(page, "map").locator(".map-pin").count() == turn.locator(".place").count()


def test_a_way_has_both_ends_and_a_line_that_says_it_is_straight(visit: Visits) -> None:
    page = visit().tab()
    ends(ask(page, "从王府井到故宫怎么走？"))
    drawn = part(page, "map")
    expect(drawn.get_by_role("img", name="A：王府井")).to_be_visible()
    expect(drawn.get_by_role("img", name="B：故宫")).to_be_visible()
    expect(drawn.locator("path.map-way")).to_have_count(1)
    # A note of the drawing before may still be fading.
    expect(drawn.get_by_text("直线示意，不是路线")).to_have_count(1)
    expect(drawn.get_by_text("直线示意，不是路线")).to_be_visible()


def test_the_note_of_a_line_lies_under_no_name_and_names_are_whole(
    visit: Visits, server: DevServer
) -> None:
    thread = answered_thread(server, PLAY, "Make a day of it")
    person = visit(viewport={"width": 390, "height": 844}, locale="en-US")
    page = person.tab(f"/app?thread={thread}")
    ends(page.locator("article.turn").last)
    page.get_by_role("button", name="Map", exact=True).click()
    drawn = part(page, "map")
    names = drawn.locator(".map-name")
    expect(names.filter(has_text="LEGO")).to_have_text("LEGO Flagship Store Beijing Wangfujing")
    note = drawn.get_by_text("Straight line, not the route").bounding_box()
    assert note
    for name in names.all():
        box = name.bounding_box()
        assert box
        beside = box["x"] >= note["x"] + note["width"] or note["x"] >= box["x"] + box["width"]
        apart = box["y"] >= note["y"] + note["height"] or note["y"] >= box["y"] + box["height"]
        assert beside or apart, name.text_content()


_OWN_MAP = """
  const main = document.querySelector('script[type="module"][src*="/js/main"]').src;
  const { MapView } = await import(new URL("./map/map.js", main));
  const host = document.createElement("div");
  Object.assign(host.style, { width: "600px", height: "600px", display: "grid" });
  document.body.prepend(host);
  const view = new MapView({ tiles: null }, { onSelect() {} });
  host.append(view.node);
  view.frame.style.height = "100%";
"""
"""A map of its own on the page: `host` holds `view`."""
_ZOOMED_AND_WIDENED = (
    "async () => {"
    + _OWN_MAP
    + """
  const turn = (...lngs) => ({ id: "t", answer: { routes: [], places: lngs.map((lng, number) => ({
    id: String(lng), name: `P${number}`, mentioned: true, wgs84: { lng, lat: 39.9 }, sources: [],
    fetched_at: "2026-11-21T09:00:00+00:00" })) } });
  const moving = () => host.querySelector(".leaflet-zoom-anim");
  const until = async (holds) => {
    while (!holds()) await new Promise((go) => { requestAnimationFrame(go); });
  };
  view.update(turn(116.40, 116.41));
  await until(() => host.querySelectorAll(".map-pin").length === 2);
  view.update(turn(116.39, 116.40, 116.43));
  await until(moving);
  view.update(turn(116.39, 116.40, 116.43, 116.50));
  await until(() => !moving());
  // A last zoom begins a frame after the one in which the map tells that it has moved.
  const frame = () => new Promise((go) => { requestAnimationFrame(go); });
  for (let at = 0; at < 6; at += 1) await frame();
  await until(() => !moving());
  const boxOf = (node) => node.getBoundingClientRect();
  const canvas = boxOf(host.querySelector(".map-canvas"));
  return [...host.querySelectorAll(".map-pin")].filter((pin) =>
    boxOf(pin).left < canvas.left || boxOf(pin).right > canvas.right).length;
}"""
)


def test_a_place_that_comes_while_the_map_is_zooming_is_in_view_in_the_end(visit: Visits) -> None:
    page = visit().tab()
    assert page.evaluate(_ZOOMED_AND_WIDENED) == 0


def test_no_name_is_on_the_map_without_its_pin(visit: Visits) -> None:
    page = visit(viewport={"width": 900, "height": 700}).tab()
    page.evaluate(_ZOOMED_AND_WIDENED)
    expect(page.locator(".map-name")).to_have_count(4)
    page.get_by_role("button", name="放大").first.click(click_count=3)
    expect(page.locator(".map-name")).not_to_have_count(4)
    frame = page.locator(".map-canvas").first.bounding_box()
    assert frame
    boxes = [pin.bounding_box() for pin in page.locator(".map-pin").all()]
    seen = [b for b in boxes if b and -30 <= b["x"] - frame["x"] <= frame["width"]]
    assert page.locator(".map-name").count() <= len(seen) < 4


_FITTED = (
    "async (far) => {"
    + _OWN_MAP
    + """
  const places = [116.40, 116.41, far].map((lng, number) => ({ id: String(lng), name: `P${number}`,
    mentioned: number < 2, wgs84: { lng, lat: 39.9 }, sources: [],
    fetched_at: "2026-11-21T09:00:00+00:00" }));
  view.update({ id: "t", answer: { routes: [], places } });
  const pins = () => [...host.querySelectorAll(".map-pin")];
  while (pins().length < 3) await new Promise((go) => { requestAnimationFrame(go); });
  const frame = host.querySelector(".map-canvas").getBoundingClientRect();
  return pins().map((pin) => pin.getBoundingClientRect())
    .filter(({ left, right }) => left >= frame.left && right <= frame.right).length;
}"""
)


@pytest.mark.parametrize(("far", "seen"), [(116.418, 3), (116.6, 2)], ids=["near", "far"])
def test_a_place_that_the_answer_does_not_name_is_in_view_unless_it_is_far(
    visit: Visits, far: float, seen: int
) -> None:
    assert visit().tab().evaluate(_FITTED, far) == seen


_LISTED = """async (outing) => {
  const main = document.querySelector('script[type="module"][src*="/js/main"]').src;
  const { PlacesView } = await import(new URL("./map/places.js", main));
  const body = document.createElement("ul");
  body.innerHTML = `<li>09:30 国家博物馆：周一闭馆
    <a class="cite" data-source-number="2">2</a></li>`;
  const view = new PlacesView({ photos: false }, body, { onSelect() {} });
  const places = [{ id: "m", name: "国家博物馆", number: 1, mentioned: true, source: "a",
    fetched_at: "2026-11-21T09:00:00+00:00", wgs84: { lng: 116.4, lat: 39.9 } }];
  const sources = [{ id: "w", number: 1 }, { id: "a", number: 2, title: "国家博物馆" }];
  view.update({ answer: { places, sources, outing } });
  return [body.querySelectorAll(".place").length, view.node.querySelectorAll(".place").length,
    body.querySelector(".place-said")?.textContent ?? ""];
}"""
_LEFT_OUT = {"stops": [], "left_out": [{"place": "m", "text": "周一闭馆"}]}
_STOP = {"stops": [{"place": "m"}], "left_out": []}


@pytest.mark.parametrize(
    ("outing", "cards"), [(None, [1, 0]), (_STOP, [1, 0]), (_LEFT_OUT, [0, 1])]
)
def test_what_a_planned_day_leaves_out_is_a_line_that_says_why_and_a_card_below(
    visit: Visits, outing: Any, cards: list[int]
) -> None:
    *found, said = visit().tab().evaluate(_LISTED, outing)
    assert found == cards
    assert " ".join(said.split()) == ("09:30 周一闭馆 2" if cards[0] else ""), (
        "the time of a stop stays readable"
    )


_BRANCHES = """async () => {
  const main = document.querySelector('script[type="module"][src*="/js/main"]').src;
  const { PlacesView } = await import(new URL("./map/places.js", main));
  const body = document.createElement("ul");
  body.innerHTML = `<li>书店：北店 81 m<a class="cite" data-source-number="2">2</a>，
    另一家 81 m<a class="cite" data-source-number="1">1</a></li>`;
  const view = new PlacesView({ photos: false }, body, { onSelect() {} });
  const places = [1, 2].map((number) => ({ id: `p${number}`, name: "书店", number, mentioned: true,
    distance_m: 81, source: `a${number}`, wgs84: { lng: 116.4, lat: 39.9 } }));
  const sources = [1, 2].map((number) => ({ id: `a${number}`, number, kind: "place" }));
  view.update({ answer: { places, sources } });
  const card = body.querySelector(".place");
  return [card.dataset.placeId, card.querySelector(".place-said").textContent.replace(/\\s+/g, "")];
}"""


def test_a_bullet_of_two_branches_is_the_card_of_the_one_it_cites_first(visit: Visits) -> None:
    assert visit().tab().evaluate(_BRANCHES) == ["p2", "北店81m2，另一家81m1"]


_PLANNED = """async (outing) => {
  const main = document.querySelector('script[type="module"][src*="/js/main"]').src;
  const { PlacesView } = await import(new URL("./map/places.js", main));
  const body = document.createElement("div");
  body.innerHTML = "<ul><li>丙街</li><li>先买票</li><li>甲馆</li></ul><ul><li>乙园</li></ul>";
  const view = new PlacesView({ photos: false }, body, { onSelect() {} });
  const places = [..."甲乙丙"].map((sign, at) => ({ id: sign, name: sign + "馆园街"[at],
    number: at + 1, mentioned: true, source: sign, wgs84: { lng: 116.4, lat: 39.9 } }));
  view.update({ answer: { places, sources: [], outing } });
  return [...body.querySelectorAll("li")].map(({ textContent }) => textContent.slice(0, 3));
}"""


@pytest.mark.parametrize(
    ("outing", "shown"),
    [
        (None, ["3丙街", "先买票", "1甲馆", "2乙园"]),
        ({"stops": [], "left_out": []}, ["1甲馆", "先买票", "3丙街", "2乙园"]),
    ],
)
def test_cards_beside_a_planned_day_stand_in_its_order(
    visit: Visits, outing: Any, shown: list[str]
) -> None:
    assert visit().tab().evaluate(_PLANNED, outing) == shown


_STEPS = """async (numbers) => {
  const main = document.querySelector('script[type="module"][src*="/js/main"]').src;
  const { PlacesView } = await import(new URL("./map/places.js", main));
  const body = document.createElement("div");
  body.innerHTML = "<ol><li>先买票</li><li>甲馆</li><li>乙园</li></ol>";
  const view = new PlacesView({ photos: false }, body, { onSelect() {} });
  view.update({ answer: { sources: [], places: ["甲馆", "乙园"].map((name, at) => ({ id: name, name,
    number: numbers[at], mentioned: true, source: name, wgs84: { lng: 116.4, lat: 39.9 } })) } });
  return body.querySelectorAll(".place").length;
}"""


@pytest.mark.parametrize(("numbers", "cards"), [([2, 3], 2), ([1, 2], 0)])
def test_steps_whose_numbers_are_not_the_pins_are_no_cards(
    visit: Visits, numbers: list[int], cards: int
) -> None:
    assert visit().tab().evaluate(_STEPS, numbers) == cards


def test_there_is_no_map_where_there_is_nothing_to_draw(visit: Visits) -> None:
    page = visit().tab()
    ends(ask(page, "北京周六天气怎么样？"))
    expect(part(page, "map")).to_be_hidden()
    expect(page.locator("body")).not_to_have_class(re.compile("with-map"))


def test_until_streets_are_asked_for_there_are_rings_and_it_says_who_has_them(
    visit: Visits,
) -> None:
    page = visit().tab()
    ends(ask(page, ZH))
    drawn = part(page, "map")
    expect(part(page, "streets")).to_contain_text("tile.openstreetmap.org")
    figures = drawn.locator(".map-ring").all_text_contents()
    assert len(figures) > 1
    assert all(re.fullmatch(r"\d[\d.,]* k?m", figure) for figure in figures)
    assert drawn.locator(".map-sheet circle").count() >= len(figures)
    expect(drawn.locator(".map-district").first).to_have_text("东城区")
    expect(drawn.locator(".map-north")).to_be_visible()
    expect(drawn.locator(".leaflet-control-scale-line")).to_be_visible()


def test_many_places_are_grouped_until_one_looks_closer(visit: Visits, server: DevServer) -> None:
    def multiplied(route: Any) -> None:
        """The same answer with sixty places, each ten metres from the next."""
        state = json.loads(route.fetch().text())
        places = state["values"]["messages"][-1]["additional_kwargs"]["places"]
        one = places[0]
        east = [{**one["wgs84"], "lng": one["wgs84"]["lng"] + 0.0001 * n} for n in range(60)]
        places[:] = [{**one, "id": f"amap:{n}", "wgs84": at} for n, at in enumerate(east)]
        route.fulfill(body=json.dumps(state), content_type="application/json")

    person = visit()
    person.context.route(re.compile(r"/threads/[^/]+/state"), multiplied)
    page = person.tab(f"/app?thread={answered_thread(server, ZH)}")
    groups = part(page, "map").locator(".map-cluster")
    expect(groups.first).to_be_visible()
    assert 1 < groups.count() < 20
    hidden = page.locator(".map-pin[hidden]").count()
    assert hidden == sum(int(text) for text in groups.all_inner_texts())
    groups.first.focus()
    page.keyboard.press("Enter")
    page.wait_for_function(
        "(before) => document.querySelectorAll('.map-pin[hidden]').length < before", arg=hidden
    )
    page.locator(".place-line").last.click()
    expect(page.locator(".map-pin.selected")).to_be_visible()


def test_a_place_says_whether_it_is_open_and_leads_there(visit: Visits) -> None:
    page = visit().tab()
    turn = ends(ask(page, "王府井附近适合遛娃的好去处"))
    place = turn.locator(".place").first
    place.locator(".place-line").click()
    rows = place.locator(".place-rows dt")
    expect(rows.first).to_have_text("要求")
    expect(place.locator(".place-rows [data-verdict]").first).to_contain_text("依据：")
    expect(place.locator(".tag")).to_have_text(re.compile("^现在(不)?营业$"))
    expect(place.get_by_text(re.compile("10:00.21:00"))).to_have_count(1)
    for name, host in (("高德", "uri.amap"), ("苹果地图", "maps.apple"), ("谷歌地图", "google")):
        expect(place.get_by_role("link", name=name, exact=True)).to_have_attribute(
            "href", re.compile(host)
        )
    place.get_by_role("button", name="二维码").click()
    code = place.locator("img.place-qr")
    expect(code).to_be_visible()
    assert code.evaluate("(one) => one.decode().then(() => one.naturalWidth)") > 0


def test_the_card_of_a_place_shows_its_photo_and_opened_a_large_one(
    visit: Visits, server: DevServer
) -> None:
    def with_photos(route: Route) -> None:
        reply = route.fetch()
        body = re.sub(r'"photo":\s*null', f'"photo": "{PHOTOS}a.gif"', reply.text())
        route.fulfill(response=reply, body=body)

    person = visit()
    person.forgive(f"^foreign: GET {PHOTOS}")
    page = person.tab()
    page.route(re.compile("/threads/"), with_photos)
    page.route(re.compile(f"^{PHOTOS}"), lambda route: route.fulfill(body=GIF))
    page.goto(f"/app?thread={answered_thread(server, ZH)}")
    photo = part(page, "answer").get_by_alt_text(re.compile("和平菓局"))
    expect(photo).to_be_visible()
    expect(photo).to_have_js_property("naturalWidth", 1)
    small = photo.evaluate("(one) => one.clientWidth")
    page.locator("button.place-line").first.click()
    assert photo.evaluate("(one) => one.clientWidth") > 3 * small


@pytest.mark.parametrize(
    ("phone", "links"), [("010-6512 3456;112", ["tel:01065123456"]), ("javascript:ran(1)", [])]
)
def test_where_a_wish_is_left_open_the_telephone_is_on_the_card_once(
    visit: Visits, server: DevServer, phone: str, links: list[str]
) -> None:
    def left_open(route: Any) -> None:
        state = json.loads(route.fetch().text())
        for place in state["values"]["messages"][-1]["additional_kwargs"]["places"][:1]:
            wish = {"constraint": "open_at", "field": "open_time", "text": "周日营业"}
            place.update(phone=phone, verdicts=[{**wish, "verdict": "unknown"}])
        route.fulfill(body=json.dumps(state), content_type="application/json")

    person = visit()
    person.context.route(re.compile(r"/threads/[^/]+/state"), left_open)
    page = person.tab(f"/app?thread={answered_thread(server, ZH)}")
    place = page.locator(".place", has=page.get_by_text("周日营业"))
    expect(place).to_have_count(1)
    calls = place.locator("a[href^='tel:']:visible")
    assert [call.get_attribute("href") for call in calls.all()] == links
    place.locator(".place-line").click()
    expect(place.locator(".place-rows")).to_be_visible()
    assert place.locator("a[href^='tel:']:visible").count() == 2 * len(links)
    assert place.locator("a[href^='javascript']").count() == 0
