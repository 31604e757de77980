"""A planned day as files: calendar, route, pocket map, and what an answer without one says."""

import io
import json
import re
from html import escape
from urllib.parse import unquote
from xml.etree import ElementTree

import docx
import pypdf
import pytest
from reportlab.graphics.shapes import String

from agent.core.errors import AgentError
from agent.evidence.outing.text import outing_section
from agent.evidence.types import DayEnd, Leg, Outing, Stop
from agent.export.finished import FinishedAnswer
from agent.export.geojson import answer_geojson
from agent.export.gpx import answer_gpx, gpx
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.export.outing import calendar, pocket_map, stop_pins
from agent.export.pdf import pdf_document, pocket_document
from agent.export.pdf_map import map_drawing
from agent.export.svg_map import WIDTH, Box, drawn_ways, place_labels, text_width
from agent.export.word import word_document
from agent.mcp.amap.records import stops_link
from agent.texts import say
from tests.unit.export_samples import NOTICE, place
from tests.unit.test_page_routes_exports import QUESTION, Threads, asked, get, said

LEG = Leg(mode="walking", distance_m=850, duration_s=700, estimated=True)
LONG = "一家名字特别特别长，里面有逗号；也有分号的老字号餐厅（王府井大街东侧总店）"


def outing() -> Outing:
    stops = [
        Stop(place="amap:B2", name="博物馆", source="a0-2", begins="09:30", ends="11:30"),
        Stop(place="amap:B1", name=LONG, source="a0-1", begins="11:45", ends="12:45", meal="lunch",
             leg=LEG),
        Stop(name="附近自选", begins="18:00", ends="19:00", meal="dinner"),
    ]  # fmt: skip
    link = stops_link([("博物馆", place(2)["location"]), (LONG, place(1)["location"])])
    return Outing(wish={"day": "2026-11-24"}, day="2026-11-24", begins="09:30", ends="19:00",
                  stops=stops, left_out=[], url=link)  # fmt: skip


def places():
    return [{**place(number), "id": f"amap:B{number}"} for number in (2, 1)]


def answer(**changed) -> FinishedAnswer:
    fields = {
        "question": "一日游", "answer": "好的。", "language": "zh",
        "generated_at": "2026-11-23T12:00:00+00:00", "places": places(), "outing": outing(),
    }  # fmt: skip
    return FinishedAnswer(**{**fields, **changed})


CUT = "乐高品牌旗舰店(北京王府井东方新天地店)"


def cut(name: str) -> str:
    """What a map shows of a name beside a pin with another one near it."""
    return place_labels([(name, (400.0, 200.0))], [Box(620, 150, 640, 250), Box(0, 0, 380, 440)])[
        0
    ].text


def shown_texts(svg: str) -> list[str]:
    nodes = ElementTree.fromstring(svg).iter()
    return ["".join(node.itertext()) for node in nodes if node.tag.endswith("text")]


def unfolded(text: str) -> list[str]:
    return text.replace("\r\n ", "").split("\r\n")


def test_each_stop_is_an_event_at_its_time_in_utc():
    lines = unfolded(calendar(answer()))
    assert lines[0] == "BEGIN:VCALENDAR"
    assert lines[-2:] == ["END:VCALENDAR", ""]
    begins = [line for line in lines if line.startswith("DTSTART")]
    assert begins == [f"DTSTART:20261124T{clock}00Z" for clock in ("0130", "0345", "1000")]
    assert len({line for line in lines if line.startswith("UID")}) == 3


@pytest.mark.parametrize(
    ("zone", "begins"),
    [
        ("Asia/Tokyo", "20261124T003000Z"),
        ("America/Los_Angeles", "20261124T173000Z"),
        ("Pacific/Kiritimati", "20261123T193000Z"),
    ],
)
def test_a_calendars_hours_are_those_of_the_places(zone, begins):
    lines = unfolded(calendar(answer(outing={**outing(), "zone": zone})))
    assert f"DTSTART:{begins}" in lines


def test_a_calendars_lines_are_short_and_their_texts_escaped():
    text = calendar(answer(notice=NOTICE))
    assert all(len(line.encode()) <= 75 for line in text.split("\r\n"))
    assert f"SUMMARY:午餐：{LONG}" in unfolded(text)
    cased = [place(1, address="a, b; c\\d"), place(2)]
    assert "LOCATION:a\\, b\\; c\\\\d" in unfolded(calendar(answer(places=cased)))


def test_the_pocket_map_is_one_drawing_with_stops_path_and_code():
    root = ElementTree.fromstring(pocket_map(answer(notice=NOTICE)))
    texts = ["".join(node.itertext()) for node in root.iter() if node.tag.endswith("text")]
    assert "行程：2026-11-24 周二，09:30–19:00" in texts
    assert f"2. 午餐：{LONG}" in "".join(texts)
    assert any(text.startswith(NOTICE[:10]) for text in texts)
    classes = [node.get("class") for node in root.iter()]
    assert classes.count("pin") == 2
    assert classes.count("path") == 1
    assert any("qr" in str(name) for name in classes)


def test_the_route_goes_over_the_stops_in_their_order():
    text = gpx(places(), title="x", generated_at="2026", outing=outing())
    route = ElementTree.fromstring(text.encode()).find("{*}rte")
    assert route is not None
    names = [node.findtext("{*}name") for node in route.findall("{*}rtept")]
    assert names == ["09:30 博物馆", f"11:45 {LONG}"]


def test_the_pocket_map_is_one_page_as_pdf():
    pages = pypdf.PdfReader(io.BytesIO(pocket_document(answer()))).pages
    assert len(pages) == 1
    assert "09:30–11:30" in pages[0].extract_text()


def test_the_page_of_an_answer_joins_its_stops():
    assert 'class="path"' in html_page(answer())
    assert 'class="path"' not in html_page(answer(outing=None))


_NAMED = re.compile("甲馆|先买票|上下午|乙园|丙街")


@pytest.mark.parametrize(
    ("text", "plain", "planned"),
    [
        ("- **甲馆**：很好\n- 先买票\n- 上下午：\n  - **乙园**：好\n    有伞\n  - **丙街**",
         "甲馆 先买票 上下午 乙园 丙街", "甲馆 先买票 上下午 丙街 乙园"),
        ("- **甲馆**：很好\n\n- 先买票\n- **丙街**：\n  - **乙园**\n\n之后回家",
         "甲馆 先买票 丙街 乙园", "丙街 乙园 先买票 甲馆"),
    ],
)  # fmt: skip
def test_cards_beside_a_plan_stand_in_its_order_and_what_is_no_card_keeps_its_line(
    text: str, plain: str, planned: str
):
    stops = [
        {**place(at, name, source=f"a0-{at}"), "number": at}
        for at, name in enumerate(("丙街", "甲馆", "乙园"), 1)
    ]
    for changed, names in ({"outing": None}, plain), ({}, planned):
        finished = answer(answer=text, places=stops, **changed)
        shown = html_page(finished).split("</section>", 1)[0]
        assert _NAMED.findall(shown) == names.split()
        written = markdown_document(finished)
        assert _NAMED.findall(written) == names.split()
        assert all(words in written for words in ("有伞", "之后回家") if words in text)


@pytest.mark.parametrize("export", [calendar, pocket_map, pocket_document])
def test_an_answer_without_a_day_says_so(export):
    with pytest.raises(AgentError, match="没有排好的行程"):
        export(answer(outing=None))


def test_a_link_opens_ten_stops_at_most_with_short_names():
    link = stops_link([("一二三四五六七八|,", place(1)["location"])] * 11)
    assert link.count("%7C") == 9
    assert "%E4%B8%83" not in link


def test_a_cut_name_has_no_bracket_that_is_opened_only():
    location = place(1)["location"]
    link = unquote(stops_link([("海底捞火锅(王府井店)", location), ("(一二三四五六", location)]))
    assert "海底捞火锅|" in link
    assert "(一二三四五" in link
    assert cut(CUT) == "乐高品牌旗舰店…"


SAMPLE = say("sample.notice", "zh", looked_for="GEMINI_API_KEY, OPENAI_API_KEY, OPENAI_BASE_URL")


def test_no_stop_of_the_pocket_map_reaches_under_the_code():
    root = ElementTree.fromstring(pocket_map(answer(places=places())))
    codes = [node for node in root if "x" in node.attrib and node.tag.endswith("svg")]
    edge = min(float(node.get("x", "0")) for node in codes)
    names = [node for node in root if node.get("class") in ("name", "way")]
    assert len(names) > len(outing()["stops"]), "a long name is told on several lines"
    for node in names:
        width = text_width("".join(node.itertext())) * 14 / 13
        assert float(node.get("x", "0")) + width <= edge
    assert len({node.get("y") for node in names}) == len(names)


def test_the_pocket_map_says_whole_that_it_is_sample_data():
    texts = shown_texts(pocket_map(answer(notice=SAMPLE)))
    assert "…" not in "".join(texts)
    notes = [text for text in texts if text and text in SAMPLE]
    assert len(notes) > 1
    assert SAMPLE.replace(" ", "") in "".join(texts).replace(" ", "")
    printed = "".join(
        page.extract_text()
        for page in pypdf.PdfReader(io.BytesIO(pocket_document(answer(notice=SAMPLE)))).pages
    )
    assert "".join(SAMPLE.split()) in "".join(printed.split())


def planned(**changed) -> FinishedAnswer:
    """An answer as it is told: words, the day's table among them, words."""
    section = re.sub(r" \[\^[^\]]+\]", "", outing_section(outing(), "zh"))
    other = "| 时间 | 什么 |\n| --- | --- |\n| 08:00 | 早饭 |"
    return answer(answer=f"好的。\n\n{other}\n\n{section}", **changed)


CAPTION = "在高德地图上看各站"


def test_the_code_that_opens_the_stops_on_a_phone_stands_beside_them_in_every_file():
    page = html_page(planned())
    [figure] = re.findall(r'<figure class="code">.*?</figure>(?=<table)', page)
    assert CAPTION in figure
    assert "<svg" in figure
    assert escape(outing()["url"]) in figure
    printed = pypdf.PdfReader(io.BytesIO(pdf_document(planned())))
    [spot] = [at for text, at in texts_at(printed) if text.startswith(CAPTION)]
    rows = [at for text, at in texts_at(printed) if text.startswith("09:30")]
    assert spot[0] > 400 > rows[-1][0]
    assert rows[-1][1] > spot[1]
    document = docx.Document(io.BytesIO(word_document(planned())))
    _, stops, *_ = document.tables
    column = stops.columns[len(stops.columns) - 1].cells
    assert column[1].text.strip().startswith(CAPTION)
    assert column[1]._tc is column[-1]._tc
    assert column[1]._tc.xpath(".//pic:pic")


def test_a_day_without_an_address_of_its_stops_has_no_code():
    told = planned(outing={**outing(), "url": ""})
    assert CAPTION not in html_page(told)
    assert CAPTION not in "".join(
        text for text, _ in texts_at(pypdf.PdfReader(io.BytesIO(pdf_document(told))))
    )
    assert len(docx.Document(io.BytesIO(word_document(told))).tables[1].columns) == 3


def texts_at(reader: pypdf.PdfReader) -> list[tuple[str, tuple[float, float]]]:
    """Each text of a PDF's pages with where it stands."""
    found = []

    def visit(text, page, at, *_font):
        found.append((text.strip(), (at[4] + page[4], at[5] + page[5])))

    for page in reader.pages:
        page.extract_text(visitor_text=visit)
    return found


def test_the_names_on_the_pdfs_map_stay_within_its_frame():
    east = place(1, "中国妇女儿童博物馆")
    west = place(2, "和平菓局", wgs84={"lng": 116.39, "lat": 39.91})
    drawing = map_drawing(stop_pins(answer(places=[west, east])), width=482)
    names = [shape for shape in drawing.contents if isinstance(shape, String)]
    assert {"中国妇女儿童博物馆", "和平菓局"} <= {shape.text for shape in names}
    for shape in names:
        left, _, right, _ = shape.getBounds()
        assert left >= 0
        assert right <= drawing.width


ENGLISH = {"name_en": "Museum of Art", "open_time": "周二至周日 09:00-17:00", "category": "博物馆"}


def english() -> FinishedAnswer:
    return answer(language="en", places=[place(2, "美术馆", **ENGLISH), place(1)])


def test_an_english_day_names_places_as_the_page_does():
    assert "Museum of Art" in shown_texts(pocket_map(english()))
    assert ">Museum of Art</text>" in html_page(english())
    drawing = map_drawing(stop_pins(english()), width=482)
    assert "Museum of Art" in {getattr(shape, "text", "") for shape in drawing.contents}


def test_an_english_route_file_names_its_points_in_both_languages():
    text = gpx([place(2, "美术馆", **ENGLISH)], title="x", generated_at="2026", language="en")
    point = ElementTree.fromstring(text).find("{*}wpt")
    assert point is not None
    assert point.findtext("{*}name") == "Museum of Art · 美术馆"
    assert point.findtext("{*}type") == "museum"
    assert "Data © Amap" in text


def test_an_english_calendar_has_its_hours_in_english():
    about = next(line for line in unfolded(calendar(english())) if line.startswith("DESCRIPTION"))
    assert "Tue–Sun 09:00–17:00" in about


def test_an_event_says_in_a_word_that_it_is_a_sample_and_no_event_of_another_says_so():
    about = say("page.notice.offline", "zh")
    told = [line for line in unfolded(calendar(answer(notice=NOTICE))) if "DESCRIPTION" in line]
    assert told
    assert all(line.endswith(about) for line in told)
    assert about not in calendar(answer())


def test_a_name_on_a_map_is_cut_between_its_words():
    assert cut("China National Museum of Women and Children") == "China National Museum of…"
    assert cut("LEGO Flagship Store Beijing Wangfujing") == "LEGO Flagship Store…"


def test_a_name_on_a_map_is_whole_where_it_has_room_and_covers_nothing():
    for at_x in (40.0, 640.0):
        labels = place_labels([(CUT, (at_x, 200.0)), ("博物馆", (at_x, 260.0))], boxes := [])
        assert [label.text for label in labels] == [CUT, "博物馆"]
        assert [label.box for label in labels] == boxes
        assert not boxes[0].meets(boxes[1])
        assert boxes[0].right <= WIDTH


def test_a_table_on_paper_keeps_the_words_of_narrow_columns_whole():
    row = place(1, "a name of very many words that wants all of the line", rating=4.5, cost=0)
    page = pypdf.PdfReader(io.BytesIO(pdf_document(answer(language="en", places=[row])))).pages[0]
    words = page.extract_text().split()
    assert {"Rating", "Price", "free"} <= set(words)


async def test_the_server_offers_the_days_files_of_an_answer_that_has_one(monkeypatch):
    with_day = said(1, "好的。", outing=outing(), places=places())
    values = {"messages": [asked(QUESTION), with_day], "turn": {"language": "zh"}}
    reply = await get(monkeypatch, "outing.ics", Threads(values))
    assert reply.headers["content-type"].startswith("text/calendar")
    assert "BEGIN:VEVENT" in reply.text
    drawn = await get(monkeypatch, "outing.svg", Threads(values))
    assert drawn.headers["content-disposition"].startswith("attachment")
    printed = await get(monkeypatch, "outing.pdf", Threads(values))
    assert len(pypdf.PdfReader(io.BytesIO(printed.content)).pages) == 1
    report = await get(monkeypatch, "report.pdf", Threads(values))
    names = {unquote(each.headers["content-disposition"].partition("''")[2])
             for each in (printed, report, reply)}  # fmt: skip
    title = " ".join(QUESTION.rstrip("?").split())
    assert names == {f"{title}.pdf", f"2026-11-24 {title}.pdf", f"2026-11-24 {title}.ics"}
    assert (await get(monkeypatch, "outing.ics")).status_code == 404


STATION = DayEnd(asked="北京站", name="北京站", wgs84={"lng": 116.427, "lat": 39.903})
BACK = Leg(mode="walking", distance_m=1500, duration_s=1200, estimated=False)


def between_ends(**ends) -> FinishedAnswer:
    return answer(outing=Outing(**{**outing(), "back": BACK, **ends}))


def test_a_day_s_map_has_the_named_start_with_the_ways_from_it_and_back_and_no_number():
    there = between_ends(start=STATION)
    ways = drawn_ways(there)
    at = [STATION["wgs84"]["lng"], STATION["wgs84"]["lat"]]
    assert [way.line[0] for way in ways] == [at, at]
    stops = [[place["wgs84"]["lng"], place["wgs84"]["lat"]] for place in places()]
    assert [way.line[1] for way in ways] == stops
    svg = pocket_map(there)
    assert svg.count('<circle class="anchor-dot"') == 1
    assert svg.count('class="pin"') == 2
    rows = shown_texts(svg)
    assert rows.count("北京站") >= 2  # Where one sets out, and comes back.
    assert '<circle class="anchor-dot"' in html_page(there)
    assert not drawn_ways(answer())


def test_a_day_s_files_lead_from_its_named_start_over_its_stops_to_its_named_end():
    airport = DayEnd(asked="机场", name="机场", wgs84={"lng": 116.6, "lat": 40.08})
    there = between_ends(start=STATION, end=airport)
    points = [x.attrib["lon"] for x in ElementTree.fromstring(answer_gpx(there)).iter()
              if x.tag.endswith("rtept")]  # fmt: skip
    assert [points[0], points[-1], len(points)] == ["116.4270000", "116.6000000", 4]
    features = json.loads(answer_geojson(there))["features"]
    roles = {f["properties"]["role"]: f for f in features if f["id"].startswith("day")}
    assert [roles["start"]["properties"]["name"], roles["end"]["properties"]["name"]] == [
        "北京站", "机场",
    ]  # fmt: skip
    line = roles["route"]["geometry"]["coordinates"]
    assert [line[0], line[-1], len(line)] == [[116.427, 39.903], [116.6, 40.08], 4]
    assert "day" not in {
        feature["id"] for feature in json.loads(answer_geojson(answer()))["features"]
    }
