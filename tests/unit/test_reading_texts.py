"""Bytes to text: compression, encodings, kinds, HTML; and what is remembered."""

import encodings
import gzip
import pkgutil
import zlib
from encodings.aliases import aliases

import pytest

from agent.core.errors import MalformedReply, ProviderRefused
from agent.reading.encoding import page_text
from agent.reading.extract import body_kind
from agent.reading.extractors import html_text, whole_html
from agent.reading.fetch import Body, Robots
from tests.support import office_files as files
from tests.support.rows import by_examples


def unpacked(encoding: str, sent: bytes, *, limit: int = 1000, step: int = 7) -> bytes:
    body = Body(encoding, limit)
    for start in range(0, len(sent), step):
        body.add(sent[start : start + step])
    return body.whole()


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [
        ("", b"some words"),
        ("Identity", b"some words"),
        ("gzip", gzip.compress(b"some words", mtime=0)),
        ("x-gzip", gzip.compress(b"some ", mtime=0) + gzip.compress(b"words", mtime=0)),
        ("deflate", zlib.compress(b"some words")),
        ("deflate", zlib.compress(b"some words")[2:-4]),
    ],
)
def test_a_body_is_decompressed_in_pieces(encoding: str, sent: bytes) -> None:
    assert unpacked(encoding, sent) == b"some words"


def test_a_bomb_is_stopped_before_it_is_unpacked() -> None:
    body = Body("gzip", 1 << 20)
    with pytest.raises(ProviderRefused) as caught:
        body.add(gzip.compress(bytes(64 << 20)))
    assert caught.value.code == "too_large"
    assert len(body.whole()) <= (1 << 20) + 1


@pytest.mark.parametrize(
    ("encoding", "sent"),
    [("br", b"x"), ("gzip, gzip", b"x"), ("gzip", b"no gzip"), ("deflate", b"\xff" * 9)],
)
def test_what_cannot_be_unpacked_is_malformed(encoding: str, sent: bytes) -> None:
    with pytest.raises(MalformedReply):
        unpacked(encoding, sent)


@pytest.mark.parametrize(
    ("body", "content_type"),
    [
        ("杭州西湖".encode(), "text/html"),
        ("杭州西湖".encode("gbk"), "text/html; charset=GB2312"),
        (b'<meta charset="gbk">' + "杭州西湖".encode("gbk"), "text/html"),
        ("杭州西湖".encode("gb18030"), "text/html"),
        ("杭州西湖".encode("utf-8-sig"), "text/html; charset=gbk"),
        ("杭州西湖".encode("utf-16"), "text/html"),
        ("杭州西湖".encode(), "text/html; charset=base64"),
        ("杭州西湖".encode(), "text/html; charset=rot13"),
        (b"<meta charset=rot-13>" + "杭州西湖".encode(), "text/html"),
        ("杭州西湖".encode(), "text/html; charset=no-such"),
        ("杭州西湖".encode(), "text/html; charset=gb2312x; charset=utf-8"),
    ],
)
def test_a_page_is_decoded_by_what_it_says_and_what_fits(body: bytes, content_type: str) -> None:
    assert page_text(body, content_type).endswith("杭州西湖")


def test_bytes_that_are_no_text_are_replaced_not_refused() -> None:
    assert page_text(b"a\x81\xff \xff", "text/html; charset=utf-8") == "a\ufffd\ufffd \ufffd"


def test_one_bad_byte_does_not_change_the_encoding_of_a_page() -> None:
    text = page_text("杭州西湖".encode() * 100 + b"\xe6\x9d", "text/html; charset=utf-8")
    assert text == "杭州西湖" * 100 + "\ufffd"


@pytest.mark.parametrize(
    ("body", "content_type", "kind"),
    [
        (b"<html>", "text/html; charset=utf-8", "html"),
        (b"<html>", "application/xhtml+xml", "html"),
        (b"<html>", "", "html"),
        (b"%PDF-1.4", "application/octet-stream", "pdf"),
        (b"%PDF-1.4", "text/html", "pdf"),
        (b"words", "text/plain", "text"),
        (b"words", "", "text"),
        (b"PK\x03\x04", "application/octet-stream", "package"),
        (b"{\\rtf1", "application/msword", "rtf"),
        (files.OLE, "application/msword", "ole"),
        (b"a\tb", "application/vnd.ms-excel", "text"),
        (b"<table>", "application/vnd.ms-excel", "html"),
        (b"{}", "application/json; charset=utf-8", "json"),
        (b"<rss/>", "application/rss+xml", "xml"),
    ],
)
def test_a_documents_kind_is_seen(body: bytes, content_type: str, kind: str) -> None:
    assert body_kind(body, content_type) == kind


@pytest.mark.parametrize(
    ("body", "content_type", "code"),
    [
        (b"\x89PNG", "image/png", "page_kind"),
        (b"<html>sorry", "application/pdf", "page_unreadable"),
    ],
)
def test_other_kinds_are_refused(body: bytes, content_type: str, code: str) -> None:
    with pytest.raises(ProviderRefused) as caught:
        body_kind(body, content_type)
    assert caught.value.code == code


def test_the_text_of_a_page_comes_without_menus_and_its_title_with_it() -> None:
    found = html_text(
        "<html><head><title>西湖 门票</title></head><body><nav><a href='/'>首页</a></nav>"
        "<main><h1>西湖</h1><p>西湖景区 *免费* 开放 [注]，雷峰塔门票 40 元。</p>"
        "<table><tr><td>灵隐寺</td><td>75 元</td></tr></table>"
        "<script>alert(1)</script></main></body></html>"
    )
    assert found.title == "西湖 门票"
    assert "免费* 开放 [注]，雷峰塔门票 40 元。" in found.text
    assert "75 元" in found.text
    assert "alert" not in found.text


@by_examples
def test_a_page_says_on_which_day_it_was_published(head: str, day: str) -> None:
    assert html_text(f"<html><head>{head}</head><body>A word.</body></html>").published == day


async def test_robots_is_asked_once_and_obeyed_by_name() -> None:
    asked = []

    async def ask(url: str) -> bytes:
        asked.append(url)
        return b"User-agent: tanlu-reader\nDisallow: /private\n\nUser-agent: *\nDisallow: /\n"

    robots = Robots("tanlu-reader/0.1")
    await robots.check("https://a.com", "/open?x=1", ask)
    with pytest.raises(ProviderRefused) as caught:
        await robots.check("https://a.com", "/private/x", ask)
    assert (caught.value.code, asked) == ("page_robots", ["https://a.com/robots.txt"])


async def test_a_site_without_robots_may_be_read() -> None:
    async def ask(url: str) -> bytes:
        raise ProviderRefused("reader", "HTTP 404", code="page_gone")

    await Robots("tanlu-reader/0.1").check("https://a.com", "/", ask)


def test_a_page_may_name_whatever_codec_there_is() -> None:
    names = {name for _, name, _ in pkgutil.iter_modules(encodings.__path__)} | {*aliases}
    assert "rot_13" in names
    body = "<p>杭州 caf\xe9 &amp; \\N{BULLET} </p>".encode()
    for name in sorted(names):
        text = page_text(body, f"text/html; charset={name}")
        text.encode("utf-8", "surrogatepass")
        assert page_text(b"<meta charset=" + name.encode() + b">" + body, "text/html")


def test_a_short_page_has_the_rows_of_its_tables_on_lines() -> None:
    rows = "<tr><th>品名</th><th>批号</th></tr><tr><td>百白破</td><td>DT2511</td></tr>"
    found = html_text(
        f"<html><body><h1>盘点</h1><table>{rows}</table><p>盘点人：许。</p></body></html>"
    )
    assert "| 品名 | 批号 |\n| --- | --- |\n| 百白破 | DT2511 |" in found.text
    assert "盘点人：许。" in found.text


def test_the_first_row_of_a_short_page_s_table_is_its_head_without_being_marked_as_one() -> None:
    rows = "<tr><td>规格</td><td>价格</td></tr><tr><td>1核2GB</td><td>270元</td></tr>"
    found = html_text(f"<html><body><h1>高可用版</h1><table>{rows}</table></body></html>")
    assert "| 规格 | 价格 |\n| --- | --- |\n| 1核2GB | 270元 |" in found.text


WHOLE = """<html><head><title>Site test</title><style>p {}</style></head><body>lead
<nav>Home</nav><h1>Site test, <b>6</b> November</h1><p>Full flow.<br>40 L/s</p>tail
<table><tr><th>Pump<th>Hours|day<tr><td><p>1</p><p>main</p><td>11<tr><td>2<td></table>after
<ul><li>seal<li>shaft<ul><li>long</ul></ul><footer>Sgt Luo</footer>
<script>x</script>end</body></html>
"""


def test_of_an_own_document_all_text_is_taken_with_headings_rows_and_items() -> None:
    page = whole_html(WHOLE)
    assert page.title == "Site test"
    assert page.text.split("\n\n") == [
        "lead", "# Site test, 6 November", "Full flow.", "40 L/s", "tail",
        "| Pump | Hours\\|day |\n|---|---|\n| 1 main | 11 |\n| 2 |  |", "after",
        "- seal\n- shaft\n- long", "Sgt Luo", "end",
    ]  # fmt: skip


@pytest.mark.parametrize(
    "start", ["<div>" * 5_000, "<table>" * 900, "<td>" * 5_000, "<ul><li>" * 2_000]
)
def test_a_document_of_elements_within_elements_is_read(start: str) -> None:
    assert not whole_html(f"<p>first</p>{start}deep").failed


def test_a_table_in_a_cell_is_words_of_the_cell() -> None:
    table = "<table><tr><td>in<td>ner</table>"
    page = whole_html(f"<table><tr><th>a<th>b</tr><tr><td>1<td>{table}</td></tr></table>")
    assert page.text == "| a | b |\n|---|---|\n| 1 | in ner |"
