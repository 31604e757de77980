"""A page that chooses where its redirect link leads: the answer has one link for it, no more."""

import dataclasses
import io
from collections.abc import AsyncIterator
from html.parser import HTMLParser
from typing import Any

import pytest
import pytest_asyncio
from langgraph.checkpoint.memory import InMemorySaver
from markdown_it import MarkdownIt
from pypdf import PdfReader

from agent.assistants.common.services import Services
from agent.client.run_result import RunName, RunResult, outcome_of
from agent.evidence.markdown import link_url
from agent.export.html import html_page
from agent.export.markdown import markdown_document
from agent.export.pdf import pdf_document
from agent.graph import build_graph
from agent.sample.model.reply import SampleModel
from agent.sample.model.request import GroundedSentence, GroundingPage, Model, ModelReply, ModelTurn
from agent.sample.model.text import task_of
from agent.search.google import resolve_links
from agent.server.mcp_tools import tool_result
from tests.support.lab import Lab, laboratory, told
from tests.support.served import serve_in_thread
from tests.support.standins import RedirectService

pytestmark = [pytest.mark.node, pytest.mark.asyncio(loop_scope="module")]
QUESTION = "钠离子电池的工作原理是什么"
ESCAPED = {
    "second-link": "https://example.com/a)[click](https://phish.example/x",
    "image": "https://example.com/a)![b](https://beacon.example/?q=1",
    "html": "https://example.com/a)<script>alert(1)</script>(",
    "code": "https://example.com/a)`b`[c][d]",
    "quoted": "https://example.com/a\"'|{}^x",
}
UNRESOLVED = {
    "heading": "https://example.com/a)%0A#\x0b x",
    "spaces": "https://example.com/a) <b onclick=x> (",
    "backslash": "https://example.com/a\\)[x](https://phish.example",
    "nat64": "http://[64:ff9b::a00:1]/",
    "nip": "http://127.0.0.1.nip.io/",
    "dashed": "http://10-0-0-1.sslip.io/",
    "single-label": "http://intranet/",
    "lan": "http://foo.lan/",
    "corp": "http://intranet.corp/",
    "private": "http://192.168.1.1/",
    "script": "javascript:alert(1)//example.com",
}


class Redirecting(Services):
    """Services whose search gives out redirect links of a stand-in."""

    base = ""

    async def links(self, urls: list[str]) -> dict[str, str | None]:
        return await resolve_links(self.web.http, urls, hosts=self.hosts, base=self.base)


@dataclasses.dataclass
class OnePage(Model):
    """Finds one page for every query, behind a redirect link."""

    inner: Model
    url: str

    def respond(self, turn: ModelTurn) -> ModelReply:
        if task_of(turn) != "web_research":
            return self.inner.respond(turn)
        page = GroundingPage(self.url, "钠离子电池")
        said = GroundedSentence("钠离子电池靠钠离子在正负极之间往返来充放电。", (page,))
        return ModelReply(grounded=(said,), queries=(QUESTION,))


@pytest_asyncio.fixture(loop_scope="module", scope="module")
async def lab(tmp_path_factory: pytest.TempPathFactory) -> AsyncIterator[Lab]:
    async with laboratory(
        tanlu_mode="offline", tanlu_data_dir=tmp_path_factory.mktemp("data")
    ) as built:
        fields = dataclasses.fields(built.services)
        services = Redirecting(**{f.name: getattr(built.services, f.name) for f in fields})
        graph = build_graph(lambda: services).compile(checkpointer=InMemorySaver())
        yield Lab(services, graph)


async def cited(lab: Lab, name: str, location: str) -> tuple[RunResult, str]:
    """The outcome of a run whose one page redirects there, and the redirect link."""
    redirects = RedirectService()
    with serve_in_thread(redirects.app) as server:
        Redirecting.base = server.url + RedirectService.PATH
        link = redirects.link(server.url, location)
        lab.gemini.llm = OnePage(SampleModel(), link)
        context = {"resolve_links": True, "web_search": "google"}
        state = await lab.ask(QUESTION, name, context=context)
        assert redirects.requests
    assert [source["url"] for source in told(state)["sources"]]
    return outcome_of(state, RunName("agent", name, "r"), 1.0), link


@pytest.mark.parametrize("name", ESCAPED)
async def test_where_a_redirect_leads_is_one_link_whatever_it_is_written_like(
    lab: Lab, name: str
) -> None:
    outcome, redirect = await cited(lab, name, ESCAPED[name])
    assert redirect not in outcome.answer
    assert_only_link(outcome, link_url(ESCAPED[name]))


@pytest.mark.parametrize("name", UNRESOLVED)
async def test_a_redirect_that_leads_to_no_public_page_stays_as_it_is(lab: Lab, name: str) -> None:
    outcome, redirect = await cited(lab, name, UNRESOLVED[name])
    assert_only_link(outcome, redirect)


def assert_only_link(outcome: RunResult, url: str) -> None:
    finished = outcome.finished()
    assert {source["url"] for source in outcome.sources} == {url}
    for markdown in (outcome.answer, markdown_document(finished)):
        assert followed(MarkdownIt("commonmark").render(markdown)) == {url}
    assert followed(html_page(finished)) == {url}
    assert annotated(pdf_document(finished)) == {url}
    result = tool_result(outcome)
    texts = [getattr(part, "text", "") for part in result.content]
    assert texts == [outcome.answer]
    structured: dict[str, Any] = result.structuredContent or {}
    assert [source["url"] for source in structured["sources"]] == [url]


class Acting(HTMLParser):
    """What of a page leads or acts."""

    def __init__(self) -> None:
        super().__init__()
        self.targets: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        attributes = dict(attrs)
        assert tag not in ("img", "script")
        assert not [name for name in attributes if name.startswith("on")]
        if target := attributes.get("href"):
            self.targets.add(target)


def followed(html: str) -> set[str]:
    page = Acting()
    page.feed(html)
    return {target for target in page.targets if not target.startswith("#")}


def annotated(pdf: bytes) -> set[str]:
    notes = [n.get_object() for page in PdfReader(io.BytesIO(pdf)).pages for n in page.annotations]
    return {str(note["/A"]["/URI"]) for note in notes if "/A" in note}
