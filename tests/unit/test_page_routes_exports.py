"""Answers as files, and Google's suggestions: which answer, whose, and under which name."""

import json
from io import BytesIO
from typing import Any, Self
from urllib.parse import unquote
from xml.etree import ElementTree

import docx
import httpx
import pytest

from agent.client.run_result import RunName, outcome_of
from agent.evidence.zones import china_time
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.server import exports
from agent.server.exports import disposition
from agent.texts import say
from tests.unit.export_samples import ANSWER, NOTICE, place, source
from tests.unit.page_client import directives, page_client

THREAD = "5f0d3fd3-6bbf-4b8e-9d3c-0f3a3f7f3b11"
RUNS = f"/app/runs/{THREAD}"
QUESTION, LATER = "王府井附近\n适合遛娃的好去处?", "Coffee near the Bund"
CHIPS = '<style>.a{color:red}</style><div class="a"><a href="https://google.com/s?q=1">q</a></div>'
FORMATS = [
    "places.geojson", "places.gpx", "report.html", "answer.md", "answer.docx", "sources.bib",
    "sources.ris",
]  # fmt: skip
SAVED = "2026-11-21T12:00:00+00:00"


def said(number: int, text: str, **kept: Any) -> dict[str, Any]:
    carried = {"mode": "offline", "sources": [source()], "places": [place(number)], **kept}
    return {"type": "ai", "id": f"m{number}", "content": text, "additional_kwargs": carried}


def asked(question: str) -> dict[str, Any]:
    return {"type": "human", "id": f"h-{question}", "content": question}


def two_turns() -> dict[str, Any]:
    anchor = {"name": "王府井", "wgs84": {"lng": 116.405, "lat": 39.912}}
    first = said(1, ANSWER, anchor=anchor, search_entry_points=["", CHIPS])
    second = said(2, "Two cafés.")
    messages = [asked(QUESTION), first, asked(LATER), second]
    collection = {"type": "FeatureCollection", "features": [], "query": LATER}
    return {"messages": messages, "turn": {"language": "en"}, "geojson": collection}


class Threads:
    """Stands in for the server's API: one thread, or a refusal."""

    def __init__(self, values: Any = None, refusal: int = 0) -> None:
        self.threads = self
        self._values, self._refusal = values, refusal
        self.asked: list[str] = []

    def empty(self) -> None:
        """Delete what was said on the thread."""
        self._values = {}

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        """Nothing is open."""

    async def get_state(self, thread_id: str) -> dict[str, Any]:
        self.asked.append(thread_id)
        if self._refusal:
            request = httpx.Request("GET", "http://test")
            response = httpx.Response(self._refusal, request=request)
            raise httpx.HTTPStatusError("no", request=request, response=response)
        metadata = {"run_id": "run-1"}
        return {"values": self._values, "created_at": SAVED, "metadata": metadata}


async def get(
    patch: pytest.MonkeyPatch, path: str, api: Threads | None = None, **query: str
) -> httpx.Response:
    patch.setattr(exports, "client_for", lambda _: api or Threads(two_turns()))
    async with page_client() as http:
        return await http.get(path if path.startswith("/") else f"{RUNS}/{path}", params=query)


async def test_the_last_answer_is_what_the_command_line_writes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = two_turns()
    found = outcome_of(values, RunName("agent", THREAD, "run-1"), 0.0).finished()
    written = {name: await get(monkeypatch, name) for name in FORMATS}
    shown = china_time(SAVED, found.language)
    for name, document in (("answer.md", markdown_document), ("report.html", html_page)):
        ours = document(found)
        now = china_time(found.generated_at, found.language)
        assert now in ours
        assert written[name].text == ours.replace(now, shown)
    assert written["places.geojson"].json() == values["geojson"]
    root = ElementTree.fromstring(written["places.gpx"].text)
    assert [e.text for e in root.iter() if e.tag.endswith("}name")] == [LATER, "儿童乐园"]
    kinds = [written[name].headers["content-type"] for name in FORMATS]
    assert kinds == [
        "application/geo+json", "application/gpx+xml",
        "text/html; charset=utf-8", "text/markdown; charset=utf-8",
        "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
        "application/x-bibtex; charset=utf-8",
        "application/x-research-info-systems; charset=utf-8",
    ]  # fmt: skip
    word = docx.Document(BytesIO(written["answer.docx"].content))
    assert "Two cafés." in [paragraph.text for paragraph in word.paragraphs]
    assert "遛娃指南" in written["sources.bib"].text
    assert "遛娃指南" in written["sources.ris"].text


async def test_an_earlier_answer_is_taken_whole_with_its_own_question_and_anchor(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    collection = json.loads((await get(monkeypatch, "places.geojson", message="m1")).text)
    assert [f["properties"]["name"] for f in collection["features"]] == ["王府井", "儿童乐园"]
    assert (collection["query"], collection["generated_at"]) == (
        QUESTION, "2026-11-21T11:40:00+00:00",
    )  # fmt: skip
    text = (await get(monkeypatch, "answer.md", message="m1")).text
    assert text.startswith(
        "# 王府井附近 适合遛娃的好去处?\n\n2026-11-21 19:40（北京时间） · 示例数据"
    )
    assert f"\n\n> {NOTICE}\n" in text
    assert "Two cafés" not in text
    report = (await get(monkeypatch, "report.html", message="m1")).text
    assert '<html lang="zh-CN">' in report
    assert "王府井" in report.partition("<svg")[2]


async def test_an_answer_is_exported_in_the_language_of_its_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = two_turns()
    values["turn"] = {"language": "en", "reader": "ar"}
    report = (await get(monkeypatch, "report.html", Threads(values))).text
    assert '<html lang="ar" dir="rtl">' in report
    assert f"<h2>{say('export.sources', 'ar')}</h2>" in report
    assert say("export.sources", "ar") != say("export.sources", "en")


async def test_while_the_next_answer_is_written_the_last_one_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = two_turns()
    values["messages"].append(asked("And parking?"))
    values["geojson"] = None
    text = (await get(monkeypatch, "answer.md", Threads(values))).text
    assert text.startswith(f"# {LATER}")


async def test_a_file_is_called_after_its_question_and_nothing_of_it_is_raw_in_a_header(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    header = (await get(monkeypatch, "answer.md", message="m1")).headers["content-disposition"]
    kind, plain, named = header.split("; ")
    assert (kind, plain) == ("attachment", 'filename="answer.md"')
    assert unquote(named.removeprefix("filename*=UTF-8''")) == "王府井附近 适合遛娃的好去处.md"
    report = (await get(monkeypatch, "report.html")).headers["content-disposition"]
    assert report.startswith("inline; ")


@pytest.mark.parametrize(
    ("question", "named"),
    [
        ('a"; filename=evil.exe\r\nSet-Cookie: a=b', "a ; filename=evil.exe Set-Cookie a=b"),
        ("../../etc/passwd", "etc passwd"),
        ("C:\\con|aux?", "C con aux"),
        ("x" * 500, "x" * 60),
        ("\ud800 a\u202eb", "a b"),
        (" . ", ""),
    ],
)
def test_what_a_question_holds_stays_a_name(question: str, named: str) -> None:
    header = disposition("attachment", "answer.md", question)
    assert header.isascii()
    assert header.isprintable()
    first, _, rest = header.partition("; filename*=UTF-8''")
    assert first == 'attachment; filename="answer.md"'
    assert unquote(rest) == (f"{named}.md" if named else "")
    assert not set(rest) & set(' ";,\\/:')


async def test_the_report_may_do_no_more_than_it_says_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    response = await get(monkeypatch, "report.html")
    policy = directives(response)
    assert policy["default-src"] == ["'none'"]
    assert "script-src" not in policy
    assert policy["frame-ancestors"] == ["'none'"]
    header = response.headers["content-security-policy"]
    own = header.removesuffix("; frame-ancestors 'none'")
    assert own.replace("'", "&#x27;") in response.text
    assert response.headers["cache-control"] == "no-store"


async def test_suggestions_come_as_google_sent_them_in_a_frame_that_can_do_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    response = await get(monkeypatch, "suggestions/1", message="m1")
    assert response.text == f'<base target="_blank">{CHIPS}'
    policy = directives(response)
    assert policy["sandbox"] == ["allow-popups", "allow-popups-to-escape-sandbox"]
    assert (policy["default-src"], policy["frame-ancestors"]) == (["'none'"], ["'self'"])
    assert response.headers["x-frame-options"] == "SAMEORIGIN"
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    for path, message in (
        ("suggestions/2", "m1"),
        ("suggestions/0", "m2"),
        ("suggestions/-1", "m1"),
    ):
        assert (await get(monkeypatch, path, message=message)).status_code == 404


@pytest.mark.parametrize(
    ("api", "query", "status", "told"),
    [
        (Threads(refusal=404), {}, 404, "no such thread"),
        (Threads(refusal=403), {}, 404, "no such thread"),
        (Threads(refusal=422), {}, 404, "no such thread"),
        (Threads(refusal=500), {}, 503, "cannot be read just now"),
        (Threads(None), {}, 409, "no answer on this thread yet"),
        (Threads({}), {}, 409, "no answer on this thread yet"),
        (Threads({"messages": [asked("a")]}), {}, 409, "no answer on this thread yet"),
        (Threads({"messages": [asked("a"), said(1, " ")]}), {}, 409, "without an answer"),
        (Threads(two_turns()), {"message": "h-Coffee near the Bund"}, 404, "no such answer"),
        (Threads(two_turns()), {"message": ""}, 404, "no such answer"),
    ],
)
async def test_where_there_is_no_answer_one_line_says_why(
    monkeypatch: pytest.MonkeyPatch, api: Threads, query: dict[str, str], status: int, told: str
) -> None:
    for name in (*FORMATS, "suggestions/0"):
        response = await get(monkeypatch, name, api, **query)
        assert response.status_code == status
        assert told in response.json()["detail"]


@pytest.mark.parametrize("given", ["x", "1", "..%2fassistants", THREAD[:-1]])
async def test_a_thread_s_id_is_never_part_of_a_path(
    monkeypatch: pytest.MonkeyPatch, given: str
) -> None:
    api = Threads(two_turns())
    response = await get(monkeypatch, f"/app/runs/{given}/answer.md", api)
    assert response.status_code == 404
    assert api.asked == []


@pytest.mark.parametrize("name", FORMATS)
async def test_a_file_that_breaks_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, name: str
) -> None:
    values = two_turns()
    values["messages"][-1]["additional_kwargs"]["places"] = [{"id": 1, "fetched_at": "x"}]
    values["messages"][-1]["additional_kwargs"]["sources"] = ["no source"]
    response = await get(monkeypatch, name, Threads(values))
    assert (response.status_code, list(response.json())) == (500, ["detail"])
    assert any(record.exc_info for record in caplog.records)


@pytest.mark.parametrize("name", FORMATS)
async def test_a_file_that_takes_the_processor_for_too_long_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setattr(exports, "_SECONDS", 0.0)
    response = await get(monkeypatch, name)
    assert (response.status_code, list(response.json())) == (503, ["detail"])


async def test_a_state_that_a_client_has_spoilt_is_told_in_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for spoilt in ({"turn": [1]}, {"messages": [7]}):
        response = await get(monkeypatch, "answer.md", Threads({**two_turns(), **spoilt}))
        assert response.status_code in (409, 500)
        assert list(response.json()) == ["detail"]


async def test_an_answer_is_compared_with_the_one_before_it_or_the_one_that_is_named(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    values = two_turns()
    last = await get(monkeypatch, "changes", Threads(values))
    assert (last.json()["new"], last.json()["same"]) == (["Two cafés."], 0)
    assert last.json()["gone"]
    named = await get(monkeypatch, "changes", Threads(values), since=THREAD, message="m2")
    assert (named.json()["new"], named.json()["same"]) == ([], 1)
    first = await get(monkeypatch, "changes", Threads(values), message="m1")
    assert (first.status_code, "no earlier answer" in first.text) == (409, True)
    for query in ({"since": "x"}, {"message": "m9"}, {"since_message": "m9"}):
        assert (await get(monkeypatch, "changes", Threads(values), **query)).status_code == 404
    refused = await get(monkeypatch, "changes", Threads(refusal=404))
    assert (refused.status_code, refused.headers["cache-control"]) == (404, "no-store")
