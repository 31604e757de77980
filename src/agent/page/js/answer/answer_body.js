/** The part of an answer's Markdown that is shown as its text; the rest has views of its own. */

// The headings of `texts/*.toml`, in every language of an answer.
const SOURCES_BEGIN =
  /\n\n\*\*(?:[来來]源|Sources|Quellen|Fuentes|Источники|المصادر|出典|출처)\*\*\n\n(?=1\. )/g;
const GAPS_BEGIN = /\n\n(?:\*\*没有查到的\*\*|\*\*What could not be found\*\*)\n(?=- )/g;
const ROUTES = section("路[线線]|Routes|Wege|Trajets|Cómo llegar|Маршруты|الطريق|行き方|가는 길");
const WEATHER = section("天[气氣]|Weather|Wetter|Météo|El tiempo|Погода|الطقس|天気|날씨");
/** Names whose map data it is; the views of places, routes and weather say so themselves. */
const CREDIT =
  /\n\n\*(?:[^\n*©]{0,20}© (?:高德地[图圖]|Amap|AutoNavi|OpenStreetMap|Open-Meteo))[^\n*]*\*(?=\n\n|$)/g;
const UNFINISHED_TAIL = [
  // A link, citation or image still being written.
  /!?\[[^\[\]\n]{0,400}(?:\](?:\([^\s()]{0,4000})?)?$/u,
  // A line that would turn the paragraph above into a heading, or a list item without a word.
  /(?:^|\n)[ \t]*(?:[-=*_+#>`~|]+|\d{1,3}[.)]?)[ \t]*$/u,
  // The list of sources or of gaps about to begin.
  /\n\n\*\*[^\n]{0,40}\n*$/u,
];
const TABLE_ROW = /^\s*\|/;

/**
 * Returns the answer without what is shown elsewhere: notice, a title that repeats the question,
 * list of sources, list of gaps, routes, weather, the credit of places.
 * @param {string} text Markdown as stored
 * @param {{question?: string, notice?: string, sources?: unknown[], gaps?: unknown[],
 *   places?: unknown[], routes?: unknown[], weather?: unknown[]}} shown
 */
export function answerBody(text, shown) {
  const { question = "", notice = "", sources = [], gaps = [] } = shown;
  const { places = [], routes = [], weather = [] } = shown;
  let body = withoutTitle(withoutNotice(text, notice), question);
  if (sources.length) body = cutAtLast(body, SOURCES_BEGIN);
  if (gaps.length) body = cutAtLast(body, GAPS_BEGIN);
  if (routes.length) body = cutLast(body, ROUTES);
  if (weather.length) body = cutLast(body, WEATHER);
  return [...places, ...routes, ...weather].length ? cutLast(body, CREDIT) : body;
}

/**
 * Returns the same of an answer that is still being written, up to where it can be shown.
 * @param {string} text
 * @param {{question?: string, notice?: string}} shown
 */
export function growingBody(text, { question = "", notice = "" }) {
  if (notice && `> ${notice}\n\n`.startsWith(text)) return "";
  const body = answerBody(text, { question, notice, sources: [null], gaps: [null] });
  const isInCode = (body.match(/^ {0,3}(?:```|~~~)/gm) ?? []).length % 2 === 1;
  return isInCode ? body : withEmphasis(withoutTableHead(withoutTail(body)));
}

/**
 * Returns what an answer from sample data says first, as one line; empty for any other.
 * @param {Pick<Answer, "text"|"mode">} answer
 */
export function noticeOf(answer) {
  const first = answer.text.split("\n", 1)[0];
  return answer.mode === "offline" && first.startsWith("> ") ? first.slice(2) : "";
}

/**
 * Leaves out the quoted first line that begins with the notice.
 * @param {string} text @param {string} notice
 */
function withoutNotice(text, notice) {
  const quoted = `> ${notice}`;
  return notice && text.startsWith(quoted) ? text.slice(quoted.length).replace(/^.*\n*/, "") : text;
}

/** @param {string} text @param {string} question */
function withoutTitle(text, question) {
  const end = text.indexOf("\n");
  const first = end < 0 ? text : text.slice(0, end);
  if (!first.startsWith("# ") || plain(first.slice(2)) !== plain(question)) return text;
  return end < 0 ? "" : text.slice(end).replace(/^\n+/, "");
}

/** @param {string} title */
function plain(title) {
  return title.replace(/[?？。.!！ ]+$/u, "").split(/\s+/).filter(Boolean).join(" ");
}

/** @param {string} text @param {RegExp} pattern */
function cutAtLast(text, pattern) {
  const last = [...text.matchAll(pattern)].at(-1);
  return last ? text.slice(0, last.index).trimEnd() : text;
}

/** @param {string} text @param {RegExp} pattern */
function cutLast(text, pattern) {
  const last = [...text.matchAll(pattern)].at(-1);
  return last ? text.slice(0, last.index) + text.slice(last.index + last[0].length) : text;
}

/** @param {string} text */
function withoutTail(text) {
  return UNFINISHED_TAIL.reduce((rest, tail) => rest.replace(tail, ""), text);
}

/**
 * Cuts off a table until its second line is complete; before, its head would be a paragraph.
 * @param {string} text
 */
function withoutTableHead(text) {
  const start = text.lastIndexOf("\n\n") + 1;
  const lines = text.slice(start).replace(/^\n/, "").split("\n");
  const isHead = lines.length < 3 && lines.every((line) => TABLE_ROW.test(line));
  return isHead ? text.slice(0, start) : text;
}

/** Closes bold or code that is open at the end. @param {string} text */
function withEmphasis(text) {
  const start = text.lastIndexOf("\n\n") + 1;
  return ["`", "**"].reduce((shown, mark) => {
    const isOpen = (shown.slice(start).split(mark).length - 1) % 2 === 1;
    if (!isOpen) return shown;
    const inside = shown.trimEnd();
    return inside.endsWith(mark) ? inside.slice(0, -mark.length) : inside.replace(/(?<!\*)\*$/, "") + mark;
  }, text);
}

/**
 * Returns the expression that finds a list that code wrote under one of these names.
 * @param {string} names
 */
function section(names) {
  return new RegExp(`\\n\\n\\*\\*(?:${names})\\*\\*\\n- [^\\n]*(?:\\n- [^\\n]*)*(?=\\n\\n|$)`, "g");
}
