"""Split Markdown, plain text and pages of PDF into blocks for `split`."""

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby, pairwise

from agent.core.patterns import Linear
from agent.core.strings import code_fence, is_table_rule, is_unspaced, word_set
from agent.knowledge.split import SIZE, Block

MAX_HEADING = 200
_ATX = Linear(r" {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$")
_COMMENT = Linear(r"(?s)<!--.*?-->")
_LINK = re.compile(r"!?\[([^\[\]]*)\]\((?:[^()\s]|\([^()]*\))*(?:\s+[\"'][^\"']*[\"'])?\)")
_HTML_TABLE = Linear(r"(?s)<table[\s/>].*?</table>", ignore_case=True)
_TAG = re.compile(r"</?[A-Za-z][^<>]{0,200}>")
"""Of HTML; `< 5 MPa and >` is none."""

_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,3})[.、]?\s+(\S.*)")
_CHAPTER = re.compile(r"第[一二三四五六七八九十百\d]{1,4}([章篇部节条])\s*\S{0,40}")
_CHINESE_NUMBERED = re.compile(
    r"(?:([一二三四五六七八九十]{1,3})、|[（(][一二三四五六七八九十]{1,3}[）)])\S.{0,40}"
)
_NAMED = word_set(
    "abstract introduction background method methods materialsandmethods result results"
    " resultsanddiscussion discussion conclusion conclusions references acknowledgement"
    " acknowledgements acknowledgment acknowledgments appendix summary"
    " 摘要 引言 前言 概述 背景 结论 总结 参考文献 致谢 附录"
)
"""Headings, without blanks."""
_WORD = re.compile("[A-Za-z\u00c0-\u024f]{4}|[\u3400-\u9fff]{2}")
_ENDS = ".,;:!?。，；：！？、"
_LONGEST_LINE = 80
LevelOf = Callable[[str], int]


def front_title(text: str) -> tuple[str, str]:
    """Return the title a Markdown file's front matter gives, and the text without it."""
    lines = text.splitlines(keepends=True)
    plain = list(map(str.rstrip, lines))
    ends = [at for at, line in enumerate(plain) if at and line in ("---", "...")]
    if plain[:1] != ["---"] or not ends:
        return "", text
    told = (line.partition(":") for line in plain[1 : ends[0]])
    titles = [value.strip(" \t\"'") for key, _, value in told if key.strip().lower() == "title"]
    return next(iter(titles), ""), "".join(lines[ends[0] + 1 :])


def markdown_blocks(text: str) -> Iterator[Block]:
    """Yield headings, paragraphs, code and tables of Markdown; links become their texts."""
    text = _HTML_TABLE.sub(_table_of_html, _COMMENT.sub("", text))
    lines, waiting, at = text.splitlines(), list[str](), 0
    while at < len(lines):
        line = lines[at]
        count, blocks = _construct(lines, at, waiting)
        if not count:
            if line.strip():
                waiting.append(line)
            count = 1
            if line.strip():
                at += count
                continue
        yield from _paragraph(waiting)
        waiting.clear()
        yield from blocks
        at += count
    yield from _paragraph(waiting)


def _construct(lines: Sequence[str], at: int, waiting: list[str]) -> tuple[int, list[Block]]:
    """Return a heading, a fence or a table that begins here, with its number of lines (0: none)."""
    line = lines[at]
    if match := _ATX.match(line):
        return 1, _heading(match[2] or "", len(match[1]))
    rule = line.strip()
    if waiting and rule and not (rule.strip("=") and rule.strip("-")):
        heading = _heading(" ".join(waiting), 1 if rule[0] == "=" else 2)
        waiting.clear()
        return 1, heading
    if fence := code_fence(line):
        end = at + 1
        while end < len(lines) and not lines[end].lstrip().startswith(fence[0]):
            end += 1
        return end + 1 - at, [Block("\n".join(lines[at + 1 : end]))]
    if "|" in line and at + 1 < len(lines) and is_table_rule(lines[at + 1]):
        end = at + 2
        while end < len(lines) and "|" in lines[end]:
            end += 1
        rows = "\n".join(_plain(row).strip() for row in lines[at:end])
        return end - at, [Block(rows, table=True)]
    return 0, []


def _heading(text: str, level: int) -> list[Block]:
    plain = " ".join(_plain(text).split()).strip("*_ ")[:MAX_HEADING]
    return [Block(plain, level)] if plain else []


def _paragraph(lines: Sequence[str]) -> Iterator[Block]:
    text = _plain("\n".join(lines)).strip()
    if text.strip("*_- \t\n"):
        yield Block(text)


def _plain(text: str) -> str:
    return _TAG.sub("", _LINK.sub(r"\1", text)) if "[" in text or "<" in text else text


def _table_of_html(match: "re.Match[str]") -> str:
    """Return an HTML table as rows of Markdown, like other tables."""
    from lxml.html import fromstring  # type: ignore[import-untyped]

    rows = [
        [" ".join(" ".join(cell.itertext()).split()) for cell in row.xpath("./td|./th")]
        for row in fromstring(match[0]).iter("tr")
    ]
    lines = [f"| {' | '.join(row)} |" for row in rows if row]
    if lines:
        lines.insert(1, "|" + " --- |" * len(rows[0]))
    return "\n\n" + "\n".join(lines) + "\n\n"


def line_blocks(text: str) -> Iterator[Block]:
    """Yield lines as they stand, as many as fit, broken off at a blank line where there is one."""
    waiting, length = list[str](), 0
    for line in text.splitlines():
        for part in [line[at : at + SIZE] for at in range(0, len(line), SIZE)] or [""]:
            if waiting and (length + len(part) > SIZE or (not part and length > SIZE // 2)):
                yield Block("\n".join(waiting), table=True)
                waiting, length = [], 0
            waiting.append(part)
            length += len(part) + 1
    yield Block("\n".join(waiting), table=True)


def plain_blocks(text: str, level_of: LevelOf | None = None) -> Iterator[Block]:
    """Yield paragraphs of plain text, and the lines that are headings by their form."""
    level_of = level_of or heading_level
    by_form = level_of is heading_level
    for has_words, paragraph in groupby(map(str.strip, text.splitlines()), bool):
        lines = [*paragraph] if has_words else []
        body: list[str] = []
        levels = [level_of(line) for line in lines]
        for at, (line, level) in enumerate(zip(lines, levels, strict=True)):
            if not level or (by_form and _is_listed(levels, at)):
                body.append(line)
                continue
            if body:
                yield Block(unwrap(body))
            body = []
            yield Block(line[:MAX_HEADING], level)
        if body:
            yield Block(unwrap(body))


def _is_listed(levels: Sequence[int], at: int) -> bool:
    """Tell whether numbered lines of one level in a row are a list."""
    before = levels[at - 1] if at else 0
    after = levels[at + 1] if at + 1 < len(levels) else 0
    return before == levels[at] or 0 < after <= levels[at]


def heading_level(line: str) -> int:
    """Return the level of a heading by its form, `2.1 Methods`, `第三章 …`; 0 for other lines."""
    is_named = "".join(line.split()).rstrip(":：").casefold() in _NAMED
    if not 1 < len(line) <= _LONGEST_LINE or (line[-1] in _ENDS and not is_named):
        return 0
    if match := _CHAPTER.fullmatch(line):
        return 2 if match[1] in "节条" else 1
    if match := _CHINESE_NUMBERED.fullmatch(line):
        return 1 if match[1] else 2
    if is_named:
        return 1
    if (match := _NUMBERED.fullmatch(line)) and _is_wording(match[2]):
        return match[1].count(".") + 1
    return 0


def _is_wording(text: str) -> bool:
    """Tell whether a text begins like a heading, unlike table cells or the middle of a sentence."""
    letters = sum(character.isalpha() for character in text)
    solid = sum(not character.isspace() for character in text)
    return letters >= 0.8 * solid and not text[0].islower() and _WORD.search(text) is not None


def unwrap(lines: Sequence[str]) -> str:
    """Join lines that were broken for the page's width; short ones (tables) stay lines."""
    full = 0.6 * max(map(_width, lines))
    text = lines[0]
    for before, line in pairwise(lines):
        if _width(before) < full or before[-1] in "。！？.!?:：":
            text += "\n" + line
        elif before[-1] == "-" and line[0].islower():
            text = text[:-1] + line
        elif is_unspaced(before[-1]) and is_unspaced(line[0]):
            text += line
        else:
            text += " " + line
    return text


def _width(line: str) -> int:
    return len(line) + sum(map(is_unspaced, line))
