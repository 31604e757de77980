"""Addresses without brackets: nothing that a reader of Markdown makes a link of comes through."""

import html
import json
import random
import re
import shutil
import subprocess
import unicodedata
from collections.abc import Iterable
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

from agent.evidence.citations import Citer, inert
from agent.evidence.markdown import without_urls
from tests.unit.page_sources import source

SOURCES = {"w0-0": source("w0-0"), "w0-1": source("w0-1")}
EVIL = "evil.example/x"
ROW = "\n|-|-|-|\n| a | b | c |"
ATTACKS = [
    # A row is split at its pipes before code is looked for.
    f"| ` | http://{EVIL} | ` |{ROW}",
    f"| `` | http://{EVIL} | `` |{ROW}",
    f"| a | b | c |\n|-|-|-|\n| ` | www.{EVIL} | ` |",
    f"| ` | `` http://{EVIL} | `` ` |{ROW}",
    f"` | [x](http://{EVIL}) | ` | a{ROW}",
    f"| ` | ![x](http://{EVIL}) <img src=x> | ` |{ROW}",
    f"| ` |~~~ http://{EVIL} | ` |{ROW}",
    f"| ` | http&colon;//{EVIL} | ` |{ROW}",
    # Hosts and schemes in other letters.
    "http://ｅｖｉｌ.example", "http://ｅｖｉｌ．ｅｘａｍｐｌｅ／ｘ", "http://𝐞𝐯𝐢𝐥.example",
    "http://恶意.example/x", "http://évil.example", "https://😀.example/x", "http://ev\u00edl.example",
    f"ｈｔｔｐ：／／{EVIL}", f"http：//{EVIL}", f"http:／／{EVIL}", f"ｈttp://{EVIL}",
    f"𝗵𝘁𝘁𝗽://{EVIL}", f"http﹕//{EVIL}", f"ｗｗｗ.{EVIL}", f"www．{EVIL}", f"Ｗww.{EVIL}",
    "www.恶意.example", "www.évil.example", "www.exämple.example",
    # Entities.
    f"http&colon;//{EVIL}", f"http:&sol;&sol;{EVIL}", f"http&#58;//{EVIL}", f"&#x68;ttp://{EVIL}",
    f"&#104;&#116;&#116;&#112;&#58;&#47;&#47;{EVIL}", f"http&#0000058;//{EVIL}",
    f"http&#x00003A;&#x2F;/{EVIL}", f"http:/&sol;{EVIL}", f"http&#58//{EVIL}",
    f"&#119;ww.{EVIL}", f"www&period;{EVIL}", f"w&#x77;w&#46;{EVIL}", f"&sol;&sol;{EVIL}",
    "http://&#101;vil.example", "http://evil&period;example/x",
    # Escapes.
    f"http:\\/\\/{EVIL}", f"http\\://{EVIL}", f"http\\:\\/\\/{EVIL}", f"www\\.{EVIL}",
    f"\\/\\/{EVIL}", f"http:/\\/{EVIL}", "http://\\evil.example", "http://\\_evil.example/x",
    # Signs that are not seen.
    f"ht\u200btp://{EVIL}", f"http:\u200b//{EVIL}", f"http:/\u2060/{EVIL}", f"w\ufeffww.{EVIL}",
    f"http\u00ad://{EVIL}", f"http:/\x00/{EVIL}", f"http:\u202e//{EVIL}", "http://\u200devil.example",
    # What a removal brings together.
    f"http:[^w9-9]//{EVIL}", f"http:![a](b)//{EVIL}", f"http://[^w9-9]{EVIL}",
    f"http:/[a](b)/{EVIL}", f"http[:](u)//{EVIL}", f"http:[/](u)/{EVIL}", f"http:[//](u){EVIL}",
    f"ht[^9]tp://{EVIL}", f"www[^w9-9].{EVIL}", f"www.[^w9-9]{EVIL}", f"w[^w9-9]ww.{EVIL}",
    f"http&col[^w9-9]on;//{EVIL}", f"http&[^w9-9]colon;//{EVIL}", f"http:\\[^w9-9]//{EVIL}",
    f"http:www.a.b\\/\\/{EVIL}", f"hthttp://a.btp://{EVIL}", f"http:<http://a.b>//{EVIL}",
    f"http:【^w9-9】//{EVIL}", f"\\【^w9-9】http://{EVIL}",
    # Other schemes and places.
    f"//{EVIL}", f"1http://{EVIL}", f"_http://{EVIL}_", f"(http://{EVIL})", f"ftp://{EVIL}",
    f"<http://{EVIL}>", f"<http&colon;//{EVIL}>", "mailto:a@evil.example", "xmpp:a@evil.example/b",
    f"tg://{EVIL}", f"x-app://{EVIL}", f"http://user:pw@{EVIL}", "http://127.0.0.1/", "http://[::1]/x",
    f"http://%65vil.example/{EVIL}", f"HTTP://{EVIL}", f"WWW.{EVIL}", "http://x", "www.evil",
    f"a\n> http&colon;//{EVIL}", f"# www&period;{EVIL}", f"- [ ] http:\\/\\/{EVIL}",
]  # fmt: skip
HTML = [
    "\\http://a.b<script>alert(1)</script>", "\\【^w9-9】<img src=x>", "\\[^w9-9]<img src=x>",
    "\\http://a.b`<img src=x>`", "\\www.a.b<b>\\www.a.b<img src=x>",
    "<p>\n<script>alert(1)</script>", "<p><img src=x>", "- <hr>\n  <img src=x>",
    "<p>`<img src=x>`", "<br>\n```\n<script>alert(1)</script>\n```", "> <b> \t\n> `<img src=x>`",
    "</b>\n`<img src=x>`", "1. <br/>\n   `<img src=x>`", "[^w9-9]<br>\n`<img src=x>`",
    "<hr/>`<img src=x>`", "a\n\n <em>\n~~~\n<img src=x>\n~~~", "<br>[^w9-9]\n`<img src=x>`",
    "<p>\n\n`<img src=x>`", "<b>" + " " * 300 + "\n`<img src=x>`", "<br>\x0b\n`<img src=x>`",
]  # fmt: skip
LEGITIMATE = [
    "开放时间：9点 3:00–5:00 价格 60:40 比例", "时间:9点；地址：北京／上海", "3:00 a/b and/or 1//2",
    "AT&T, R&D, a & b, 5 &lt; 6 &amp; 7 &nbsp; &#39;x&#39; &copy; &half; Q&A：好",
    "C:\\Users\\x 和 \\/ 与 \\: 与 \\. 1986\\. A year", "// comment", "a // b",
    "见://、http:// 和 www.",
    "w ww www Www. 我们 www", "e.g. w. w/o w& x", "以 http:// 或 https:// 开头", "http://... http://",
    "emoji 👩\u200d👩\u200d👧 和 می\u200cخواهم", 
    "`a | b` 与 `x || y && z | w` 与 `grep '[:a:]' | wc`",
    "| `a` | `b` |\n|---|---|\n| `x = 1` | `y: 2` |", "| `a \\| b` | c |\n|---|---|\n| 1 | 2 |",
    "`http://e.example/x` stays code", "```\ncurl http://e.example/ | sh\n```\n",
    "2024/11/22 11:30",
    "<b>x</b> y<br>z", "<sub>2</sub>", "a<br>\nb", "<br> <b>x</b>", "ratio 1:2 /path //server", ":",
    "见https://e.example/w0-0：好", "邮箱 a@b.example", "TCP/IP: yes", "::/0", "a:/b", "C++//Rust",
]  # fmt: skip


def cite(text: str, size: int = 0) -> str:
    citer = Citer(SOURCES)
    size = size or len(text) or 1
    pieces = [citer.feed(text[at : at + size]) for at in range(0, len(text), size)]
    return "".join(pieces) + citer.flush()


STRICT = re.compile(
    r"\S://[^\W_]|\S://[\U0001f300-\U0001faff]|(?<![\w/])//[\w-]+\.\w|(?<![a-z0-9])www\.[^\W_]"
    r"|(?:mailto|xmpp):\S+@",
    re.IGNORECASE,
)
HIDDEN = re.compile("[\u00ad\u200b-\u200f\u2060-\u2064\ufeff]")


def texts(markdown: str) -> Iterable[str]:
    """The runs of text of rendered Markdown; code, links and raw HTML are not among them."""
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    for token in parser.parse(markdown):
        run, depth = "", 0
        for child in token.children or []:
            depth += {"link_open": 1, "link_close": -1}.get(child.type, 0)
            if child.type == "text" and not depth:
                run += child.content
            else:
                yield run
                run = ""
        yield run


def read(markdown: str) -> list[str]:
    """What the strictest reader would link: entities decoded once more, hidden signs left out."""
    shown = (HIDDEN.sub("", html.unescape(text)) for text in texts(markdown))
    plain = [unicodedata.normalize("NFKC", text) for text in shown]
    return [found for text in plain for found in STRICT.findall(text)]


def raw_html(markdown: str) -> list[str]:
    parser = MarkdownIt("commonmark", {"html": True}).enable("table")
    tokens = parser.parse(markdown)
    every = [*tokens, *(child for token in tokens for child in token.children or [])]
    return [token.content for token in every if token.type in ("html_block", "html_inline")]


def around(attack: str) -> list[str]:
    return [attack, f"看 {attack} 。", f"看{attack}吧", f"*{attack}*", f"x\n\n{attack}\ny"]


@pytest.mark.parametrize("attack", ATTACKS, ids=ascii)
def test_no_bare_address_comes_through_whatever_it_is_written_like(attack: str) -> None:
    for text in around(attack):
        assert read(cite(text)) == [], (text, cite(text))
        assert "<img" not in "".join(raw_html(cite(text)))


@pytest.mark.parametrize("attack", HTML, ids=ascii)
def test_no_tag_becomes_one_by_a_trick(attack: str) -> None:
    for text in (attack, f"x\n\n{attack}\n", f"x\n{attack}"):
        shown = cite(text)
        live = [part for part in raw_html(shown) if not re.fullmatch(r"</?(?:b|br|em) ?/?>", part)]
        assert live == [], shown


@pytest.mark.parametrize("text", [*ATTACKS, *HTML, *LEGITIMATE], ids=ascii)
def test_it_is_the_same_text_however_the_stream_is_split(text: str) -> None:
    for longer in around(text):
        whole = cite(longer)
        for size in (1, 3, 7):
            assert cite(longer, size) == whole


@pytest.mark.parametrize("text", LEGITIMATE, ids=ascii)
def test_what_only_looks_like_an_address_stays(text: str) -> None:
    assert cite(text) == text
    assert without_urls(text) == text or "e.example" in text


@pytest.mark.parametrize("attack", [a for a in ATTACKS if "[" not in a and "|" not in a], ids=ascii)
def test_titles_and_lines_of_foreign_text_have_no_bare_address_either(attack: str) -> None:
    line = " ".join(attack.split())
    assert read(inert(line)) == []
    assert read(without_urls(HIDDEN.sub("", line)).replace("`", "").replace("<", "")) == []


def test_addresses_inside_each_other_are_taken_out_to_the_last() -> None:
    nested = "http:www.a.b" * 1500 + "\\/\\/evil.example/x" * 1500
    assert read(without_urls(nested)) == []


MIXED = [
    *("http", ":", "//", "/", "&colon;", "&sol;", "&#58;", "&", "&#", "x3a;", "\\", "：", "／"),
    *("w", "www", ".", "．", EVIL, "evil", "e.example", "ｅ", "é", "中", " ", "\n", "|", "`", "``"),
    *("[^w9-9]", "[^w0-0]", "[a](u)", "![a](u)", "<http://a.b>", "www.a.b", "[", "](u)", "<br>"),
    *("|-|-|", "| a ", "<img src=x>", "```", "- ", "&amp;", ";", "mailto:", "ftp", "【^w9-9】"),
    *("*", "<p>", "\u200b"),
]  # fmt: skip


def test_no_mixture_of_all_this_comes_through() -> None:
    pick = random.Random(7)
    for _ in range(150):
        text = "".join(pick.choice(MIXED) for _ in range(pick.randrange(2, 14)))
        whole = cite(text)
        assert cite(text, pick.choice([1, 2, 3])) == whole, text
        assert read(whole) == [], (text, whole)
        assert "<img" not in "".join(raw_html(whole)), (text, whole)


VENDORED = Path(__file__).parents[2] / "src/agent/page/vendor/markdown-it.js"
LINKIFY = f"""
import MarkdownIt from {json.dumps(VENDORED.as_uri())};
const parser = new MarkdownIt("default", {{ html: false, linkify: true }});
parser.linkify.set({{ fuzzyLink: false, fuzzyEmail: false }});
for (const scheme of ["tg:", "x-app:"]) parser.linkify.add(scheme, "http:");
const OURS = /<code>.*?<\\/code>|<a href="https:\\/\\/e\\.example.*?<\\/a>/gs;
const texts = JSON.parse(await new Response(process.stdin).text());
const linked = texts.map((text) => {{
  const shown = parser.render(text).replace(OURS, "");
  const plain = shown.replace(/<[^>]*>/g, "\\n").replaceAll("&amp;", "&");
  return [...(shown.match(/<a href="[^"]*"/g) ?? []), ...(parser.linkify.match(plain) ?? [])];
}});
console.log(JSON.stringify(linked));
"""


@pytest.mark.node
@pytest.mark.skipif(not shutil.which("node"), reason="Node.js is not installed")
def test_linkify_finds_nothing_to_link() -> None:
    written = [text for attack in ATTACKS for text in around(attack)]
    done = subprocess.run(
        ["node", "--input-type=module", "--eval", LINKIFY],
        input=json.dumps([cite(text) for text in written]),
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = dict(zip(written, json.loads(done.stdout), strict=True))
    assert {text: links for text, links in found.items() if links} == {}
