/** An answer's Markdown: what of it is shown, and as which HTML before the sanitizer. */

import assert from "node:assert/strict";
import { describe, it } from "node:test";

import { asBrowser } from "./browser.mjs";

asBrowser("http://localhost", "en");
const JS = "../../src/agent/page/js";
const { answerBody, growingBody, noticeOf } = await import(`${JS}/answer/answer_body.js`);
const { answerHtml, lastBlock } = await import(`${JS}/answer/render_markdown.js`);
const { giveQuotes, nearestFirst, quotesOfStatements } = await import(`${JS}/answer/citation.js`);
const { countsOf, unjudgedOf } = await import(`${JS}/answer/checks.js`);
const { figuresIn, finder } = await import(`${JS}/answer/figures.js`);
const { byDocument, numbered } = await import(`${JS}/answer/sources.js`);

const SOURCES = [{ number: 1, title: "One" }, { number: 2, title: "Two" }];
const WHOLE = [
  "> Sample.", "# Where to go?", "Go there.[1](https://a.example/x)", "**What could not be found**\n- nothing (q)",
  "**Sources**", "1. [One](https://a.example/x) — Google",
].join("\n\n");

describe("the text of an answer", () => {
  it("is shown without what has a view of its own", () => {
    const notice = noticeOf({ mode: "offline", text: WHOLE });
    const shown = { question: "Where to go", notice, sources: SOURCES, gaps: [{}] };
    assert.equal(notice, "Sample.");
    assert.equal(answerBody(WHOLE, shown), "Go there.[1](https://a.example/x)");
  });

  it("is the same where its ended blocks were rendered before the last one", () => {
    const text = "# One\n\nTwo\nlines.\n\n- a\n- b\n\n| c | d |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n\nmore\n```\n\nEnd **here**";
    for (let length = 1; length <= text.length; length += 1) {
      const grown = text.slice(0, length);
      const begin = lastBlock(grown);
      assert.equal(answerHtml(grown.slice(0, begin), {}) + answerHtml(grown.slice(begin), {}), answerHtml(grown, {}));
    }
    assert.equal(text.slice(lastBlock(text)), "End **here**");
  });

  it("keeps its lists where there is nothing to show them elsewhere", () => {
    assert.equal(answerBody(WHOLE, {}), WHOLE);
  });

  it("leaves whose map data it is to the list of places, where there is one", () => {
    const credits = [
      "数据 © 高德地图，查询于 2026-11-21 19:19 UTC", "Data © Amap (高德地图), fetched today",
      // Answers of earlier versions.
      "地点数据 © 高德地图，查询于 2026-11-21 19:19 UTC", "Map data © AutoNavi (高德地图), fetched today",
    ];
    for (const said of credits) {
      const text = `Go there.\n\n*${said}*\n\n**Sources**\n\n1. [One](https://a.example/x)`;
      assert.equal(answerBody(text, { sources: SOURCES, places: [{}] }), "Go there.");
      assert.equal(answerBody(text, { sources: SOURCES }), `Go there.\n\n*${said}*`);
    }
  });

  it("leaves ways and weather, and whose they are, to their own lists, where there is one", () => {
    const routes = "**Routes**\n- Walk: a → b · 1.7 km [1](https://a.example/r)\n- Drive: a → b";
    const text = `Go.\n\n${routes}\n\n**Weather**\n- Sunny\n\n*Data © Amap (高德地图), fetched today*`;
    assert.equal(answerBody(text, { routes: [{}] }), "Go.\n\n**Weather**\n- Sunny");
    assert.equal(answerBody(text, { weather: [{}] }), `Go.\n\n${routes}`);
    assert.equal(answerBody(text, {}), text);
    assert.equal(answerBody("Go.\n\n**路线**\n- 步行：a → b", { routes: [{}] }), "Go.");
  });

  it("keeps a heading of its own, and a quote that is no notice", () => {
    assert.equal(answerBody("# Beijing\n\nText", { question: "Where?" }), "# Beijing\n\nText");
    assert.equal(noticeOf({ mode: "online", text: "> quoted\n\nText" }), "");
  });

  it("is shown without them in traditional characters, too", () => {
    const credit = "*資料 © 高德地圖，查詢於 2026-11-28 21:18（北京時間）*";
    const sections = ["**路線**\n- 步行", "**天氣**\n- 晴", credit];
    const text = ["去吧。", ...sections, "**來源**", "1. [One](https://a.example)"].join("\n\n");
    const shown = { sources: SOURCES, gaps: [{}], places: [{}], routes: [{}], weather: [{}] };
    assert.equal(answerBody(text, shown), "去吧。");
  });

  it("loses only the last list of sources, the one that code wrote", () => {
    const twice = "A\n\n**Sources**\n\n1. mine\n\nB\n\n**Sources**\n\n1. [One](https://a.example)";
    assert.equal(answerBody(twice, { sources: SOURCES }), "A\n\n**Sources**\n\n1. mine\n\nB");
  });
});

describe("a growing text", () => {
  it("never shows half a link, nor the list of sources, at any length", () => {
    for (let length = 0; length <= WHOLE.length; length += 1) {
      const text = growingBody(WHOLE.slice(0, length), { notice: "Sample.", question: "Where to go?" });
      assert.doesNotMatch(text, /\[[^\]]*$|\]\([^)]*$|Sources|Sample|could not/, `at ${length}`);
    }
  });

  for (const [written, shown] of [
    ["see ![pic", "see "],
    ["is **very", "is **very**"],
    ["is **very** ", "is **very** "],
    ["is **very*", "is **very**"],
    ["is **", "is "],
    ["run `make", "run `make`"],
    ["Text\n-", "Text"],
    ["Text\n===", "Text"],
    ["1. one\n2.", "1. one"],
    ["A\n\n| a | b |\n|--", "A\n"],
    ["A\n\n| a |\n|---|\n| 1 |", "A\n\n| a |\n|---|\n| 1 |"],
    ["```\nlist = [1, **", "```\nlist = [1, **"],
  ]) {
    it(`shows ${JSON.stringify(written)} as ${JSON.stringify(shown)}`, () => {
      assert.equal(growingBody(written, {}), shown);
    });
  }
});

describe("a source", () => {
  it("that is a calculation has the lines that the text uses in place of all that was printed", () => {
    const sums = ["a. gas: 2 * 3 = 6 €", "b. heat: 4 * 3 = 12 €"];
    const [[, calculation], [, page]] = numbered([{ sums, quotes: ["6\n7\n12"] }, { quotes: ["said"] }]);
    assert.deepEqual(calculation.quotes, sums);
    assert.deepEqual(page.quotes, ["said"]);
  });
});

describe("the HTML", () => {
  it("has citations of known sources marked by number, other numbered links plain", () => {
    const html = answerHtml("x[1](https://a.example/) y[9](https://b.example/)", { sources: SOURCES });
    assert.match(html, /<a href="https:\/\/a\.example\/" data-source-number="1" class="cite">1<\/a>/);
    assert.match(html, /<a href="https:\/\/b\.example\/">9<\/a>/);
  });

  it("has the numbers of sources without an address as citations, not what only looks like one", () => {
    const html = answerHtml("It lasts.[1] `a[1]` [x [1]](https://c.example/) [9]", { sources: SOURCES });
    assert.equal(html.match(/data-source-number="1" class="cite">1</g)?.length, 1);
    assert.match(html, /<code>a\[1\]<\/code>/);
    assert.match(html, /\[9\]/);
  });

  it("has a citation of a calculation's line under its source's number", () => {
    const html = answerHtml("It costs 12 €.[1c][1aa] [1st] [3c]", { sources: SOURCES });
    assert.match(html, /data-source-number="1" class="cite">1c</);
    assert.match(html, /data-source-number="1" class="cite">1aa</);
    assert.match(html, / \[1st\] \[3c\]/);
  });

  it("has every numbered link look like a citation while the sources are not known", () => {
    assert.match(answerHtml("x[9](https://b.example/)"), /class="cite">9</);
  });

  for (const hostile of [
    "<img src=x onerror=alert(1)>", "<script>alert(1)</script>", "a <b onclick=x>b</b>", "<style>*{}</style>",
    "<!-- --><iframe src=//e>",
  ]) {
    it(`shows ${hostile} as text`, () => {
      assert.doesNotMatch(answerHtml(hostile), /<(?!\/?p>)/);
    });
  }

  for (const address of ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "//e.example", "/app",
    "file:///etc", "vbscript:x", "java&#115;cript:alert(1)"]) {
    it(`has no link to ${address}`, () => {
      assert.doesNotMatch(answerHtml(`[go](${address}) <${address}>`), /<a /);
    });
  }

  it("loads no image", () => {
    assert.doesNotMatch(answerHtml("![a](https://a.example/p.png)"), /<img/);
  });

  it("begins its headings below the page's own", () => {
    assert.equal(answerHtml("# A\n\n## B\n\n### C\n\n###### D"), "<h3>A</h3>\n<h3>B</h3>\n<h4>C</h4>\n<h6>D</h6>\n");
  });

  it("aligns columns without style attributes, which the page's policy forbids", () => {
    const html = answerHtml("| a | b | c |\n|--:|:-:|---|\n| one | two | three |");
    assert.doesNotMatch(html, /style/);
    assert.match(html, /<td class="right">one<\/td>\n<td class="center">two<\/td>\n<td>three<\/td>/);
  });

  it("keeps figures and dates of a table on one line", () => {
    const html = answerHtml("| a | b | c |\n|--:|---|---|\n| 3620.13 | 2024-12-31 | 12 shops |");
    assert.match(html, /<td class="right figure">3620.13<\/td>\n<td class="figure">2024-12-31<\/td>\n<td>12 shops</);
  });
});

describe("the sentences of a source", () => {
  it("come with the one nearest to the cited text first", () => {
    const quotes = ["儿童剧院常年上演儿童剧。", "乐高旗舰店可以动手拼搭。"];
    assert.deepEqual(nearestFirst(quotes, "旗舰店有动手拼搭的区域。"), [quotes[1], quotes[0]]);
    assert.deepEqual(nearestFirst(quotes, ""), quotes);
  });
});

describe("the passage that bears a sentence", () => {
  const text = "😀 One.[1](https://a.example/x) Two.[1](https://a.example/x)[2](https://b.example/y)";
  const sources = [{ id: "w0-0", number: 1 }, { id: "w0-1", number: 2 }];
  const start = text.indexOf("Two") - 1; // The sign before it is two units, one point.
  const statement = { start, end: [...text].length, verdict: "rematched", source: "w0-0", quote: "It is so." };

  it("belongs to that sentence's citation of its source alone", () => {
    const quotes = quotesOfStatements({ text, sources, checks: { statements: [statement] } });
    const anchors = ["1", "1", "2"].map((sourceNumber) => ({ dataset: { sourceNumber } }));
    giveQuotes(anchors, quotes);
    assert.deepEqual(anchors.map(({ dataset }) => dataset.quote), [undefined, "It is so.", undefined]);
  });

  it("is the whole one where only its beginning is told", () => {
    const quoted = [{ ...sources[0], quotes: ["Else.", "It is so. And more."] }, sources[1]];
    const found = quotesOfStatements({ text, sources: quoted, checks: { statements: [statement] } });
    assert.equal(found.get("1:2").quote, "It is so. And more.");
  });

  it("is the whole one, too, where it begins within it or with the page's title", () => {
    const title = "A page";
    const whole = "First. It is so. And more.";
    const quoted = [{ ...sources[0], title, quotes: ["Else.", whole] }, sources[1]];
    for (const quote of ["It is so. And", "A page First. It is so. A", "A page\nFirst."]) {
      const row = { ...statement, quote };
      const found = quotesOfStatements({ text, sources: quoted, checks: { statements: [row] } });
      assert.equal(found.get("1:2").quote, whole);
    }
    const alone = { ...statement, quote: "A page It stands nowhere else." };
    const found = quotesOfStatements({ text, sources: quoted, checks: { statements: [alone] } });
    assert.equal(found.get("1:2").quote, "It stands nowhere else.");
  });

  it("comes with the words that it has otherwise, and with those that nothing bears", () => {
    const of = (more) => {
      const row = { ...statement, spans: ["Two"], ...more };
      const anchors = ["1", "1", "2"].map((sourceNumber) => ({ dataset: { sourceNumber } }));
      giveQuotes(anchors, quotesOfStatements({ text, sources, checks: { statements: [row] } }));
      return anchors.map(({ dataset: { says, missing } }) => [says, missing]);
    };
    const [none, marked] = [[undefined, undefined], [undefined, "Two"]];
    assert.deepEqual(of({ verdict: "contradicted", says: "so" }), [none, ["so", "Two"], ["so", "Two"]]);
    assert.deepEqual(of({ verdict: "marked", source: null, quote: null }), [none, marked, marked]);
    assert.deepEqual(of({ verdict: "revised" }), [none, none, none]);
  });

  it("is none where the check left nothing", () => {
    assert.equal(quotesOfStatements({ text, sources, checks: {} }).size, 0);
  });
});

describe("how much of an answer its sources bear", () => {
  it("counts what is marked apart from what is contradicted, and leaves out what there is none of", () => {
    const claims = { total: 9, quoted: 4, rematched: 1, attached: 1, computed: 1, own: 0, repaired: 0, marked: 2 };
    const statements = [{ verdict: "contradicted" }, { verdict: "marked" }];
    const counts = [["borne", 6], ["computed", 1], ["contradicted", 1], ["marked", 1]];
    assert.deepEqual(countsOf({ claims, statements }), counts);
    assert.deepEqual(countsOf({}), []);
    assert.deepEqual(countsOf({ claims: { total: 2, own: 2 } }), []);
  });

  it("names the sentences that nobody judged, for no sign stands in the text", () => {
    const said = "📍 Open [1](https://a.example/). **Tickets** cost 9 €[2](https://b.example/).";
    const start = [...said].join("").indexOf("**") - 1;
    const statements = [{ start: 0, end: start, verdict: "supported" },
      { start, end: [...said].length, verdict: "unchecked" }];
    assert.deepEqual(unjudgedOf({ text: said, checks: { statements } }), ["Tickets cost 9 €."]);
    assert.deepEqual(unjudgedOf({ text: said, checks: {} }), []);
  });

  it("tells apart what the judge was too slow for", () => {
    const claims = { version: 2, total: 9, supported: 4, computed: 0, own: 1, revised: 0, marked: 0 };
    assert.deepEqual(countsOf({ claims: { ...claims, unchecked: 4, late: 3 } }),
      [["supported", 4], ["unchecked", 1], ["late", 3]]);
    assert.deepEqual(countsOf({ claims: { ...claims, total: 5, supported: 0, unchecked: 4, late: 4 } }),
      [["none_in_time", 4]]);
    assert.deepEqual(countsOf({ claims: { ...claims, total: 5, supported: 0, unchecked: 4 } }), [["none", 4]]);
  });
});

describe("a figure of an answer", () => {
  const has = (text, quote) => Boolean(finder(figuresIn(text), quote));
  assert.ok(!has("在北极阁路9号", "北极阁路9号"));
  assert.ok(has("地铁8号线", "地铁8号线"));

  it("is found in a quote as a whole", () => {
    assert.ok(has("人均60元", "人均消费60元起"));
    assert.ok(has("1,200 seats at 9:30", "There are 1,200 seats."));
    for (const quote of ["1600元", "60.5元", "600元", "160元"]) assert.ok(!has("人均60元", quote), quote);
  });

  it("of one digit is found only with its unit, and a bare one not at all", () => {
    assert.ok(has("only 3 km away", "3 km from the gate"));
    assert.ok(!has("only 3 km away", "3 gates, all closed"));
    assert.ok(!has("rule 3.", "rule 3."));
  });
});

describe("the list of sources", () => {
  it("has the pages of one document under its title, and everything else alone", () => {
    const titles = ["规划，第 3 页", "Guide", "规划，第 12 页", "Plan, p. 4", "Guide"];
    const urls = ["https://a.example/x#page=3", "https://a.example/g", "https://a.example/x#page=12", "https://a.example/y", ""];
    const sources = titles.map((title, at) => [at + 1, { title, url: urls[at] }]);
    const grouped = byDocument(sources).map(([title, parts]) => [title, parts.map(([number]) => number)]);
    assert.deepEqual(grouped, [["规划", [1, 3]], ["Guide", [2]], ["Plan", [4]], ["Guide", [5]]]);
  });
});
