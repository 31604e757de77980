"""Export an answer as one Markdown document, and its Markdown as HTML in which nothing can act."""

import re
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.tree import SyntaxTreeNode

from agent.core.processor import breathe
from agent.core.strings import has_any
from agent.evidence.markdown import link_url, open_url, without_urls
from agent.evidence.records import dialled
from agent.evidence.references import CITATION, references, source_number, strip_references
from agent.evidence.types import Place
from agent.export.finished import (
    CheckedSentence,
    FinishedAnswer,
    by_mention,
    checked_sentences,
    column_title,
    credit_left,
    file_title,
    numbered_sources,
    own_title,
    place_cell,
    place_columns,
    statement_line,
    subtitle,
    without_notice,
    without_title,
)
from agent.export.outing import STOPS, PhoneCode, mark_stops, qr_svg
from agent.export.place_cards import BEHIND, CARD, Card, PlaceCards
from agent.texts import Language, say

LINK_REL = "noopener nofollow ugc"
_TOP_LEVEL = 2
"""Headings of the answer begin below the one title of a file."""


def answer_text(answer: FinishedAnswer) -> str:
    """Return an answer's Markdown without what a file tells elsewhere: notice, title, sources.

    Citations that the next sentence of a paragraph repeats stand once, as on the page
    (`answer/figures.js`).
    """
    return _told(answer)[0]


def _told(answer: FinishedAnswer) -> tuple[str, list[Token]]:
    """Return that Markdown, and what a parser makes of it."""
    text = without_title(without_notice(answer.answer, answer.notice), answer.question)
    text = strip_references(text) if answer.sources else text
    tokens, lines = answer_parser().parse(text), text.split("\n")
    for token in tokens:
        breathe()
        if token.type == "inline" and token.map:
            block = slice(*token.map)
            lines[block] = _cited_once("\n".join(lines[block])).split("\n")
    once = "\n".join(lines)
    return once, tokens if once == text else answer_parser().parse(once)


def told_in_bullets(answer: FinishedAnswer) -> list[Place]:
    """Return an answer's places as they stand in it: with what cards and words say of each."""
    if not answer.places:
        return []
    cards = PlaceCards(answer)
    cards.mark(_told(answer)[1])
    return [
        Place(**{**place, "told": cards.told[place["id"]], "said": cards.said[place["id"]]})
        if place["id"] in cards.told
        else place
        for place in answer.places
    ]


def as_told(answer: FinishedAnswer) -> list[str]:
    """Return the ids of the places that have cards in an answer, as it tells them; `TABLE` too."""
    cards = PlaceCards(answer)
    cards.mark(_told(answer)[1])
    return cards.order


def file_text(answer: FinishedAnswer) -> str:
    """Return `answer_text` as a file has it, below its title.

    A title of the report's own is left out, as the file has it already; headings go down by as
    many levels as keep them below it.
    """
    text = answer_text(answer)
    text = text.partition("\n")[2].lstrip("\n") if own_title(answer) else text
    heads = [token for token in answer_parser().parse(text) if token.type == "heading_open"]
    lower = _TOP_LEVEL - min((int(head.tag[1]) for head in heads), default=_TOP_LEVEL)
    if not lower:
        return text
    lines = text.split("\n")
    for head in heads:
        begin, end = head.map or (0, 0)
        signs = "#" * max(1, min(6, int(head.tag[1]) + lower))
        if head.markup.startswith("#"):
            lines[begin] = lines[begin].replace(head.markup, signs, 1)
        elif not head.level:
            # An underlined heading has but two levels.
            words = " ".join(line.strip() for line in lines[begin : end - 1])
            lines[begin:end] = [f"{signs} {words}", *[""] * (end - begin - 1)]
    return "\n".join(lines)


def _cited_once(block: str) -> str:
    groups = [*_CITATIONS.finditer(block)]
    begins = [0, *(group.end() for group in groups)]
    once = block
    for begin, one, other in reversed([*zip(begins, groups, groups[1:], strict=False)]):
        # Words that nothing bears, and another cell, keep theirs.
        is_apart = has_any(block[begin : other.end() + 1], _APART)
        if not is_apart and CITATION.findall(one[0]) == CITATION.findall(other[0]):
            before, after = once[: one.start()], once[one.end() :]
            ends = not after[0].isalnum()
            before = before.rstrip(" ") if ends else before
            # Behind a full-width stop the citation had the only blank.
            once = before + (after.lstrip(" ") if before.endswith(_WIDE_STOPS) else after)
    return once


_CITED = r"\[\d{1,4}\]\([^()\s]{1,2000}\)"
_CITATIONS = re.compile(rf"{_CITED}(?: ?{_CITED})*")
_APART, _WIDE_STOPS = "†‡|", tuple("。！？；")


def answer_html(
    markdown: str,
    titles: Mapping[str, str],
    cards: PlaceCards | None = None,
    planned: FinishedAnswer | None = None,
) -> str:
    """Return HTML: raw HTML is shown as text, images are not loaded, links are http or https only.

    `titles` maps a citation's number to its source's title, shown when one points at it; `planned`
    is an answer whose day has a code beside its table.
    """
    parser = answer_parser()
    tokens = parser.parse(markdown)
    for token in tokens:
        breathe()
        if token.type in ("heading_open", "heading_close"):
            token.tag = f"h{max(_TOP_LEVEL, int(token.tag[1]))}"
        # The language of code would be an attribute, and nothing of a text is one.
        token.info = ""
        if token.children:
            token.children = _with_bare_numbers(token.children, titles)
            _mark_links(token.children, titles)
    _mark_timetables(tokens)
    if planned:
        mark_stops(tokens, planned)
        parser.add_render_rule("table_open", _table_html)
    if cards:
        tokens = cards.apply(tokens)
        parser.add_render_rule(CARD, _card_html)
    return str(parser.renderer.render(tokens, parser.options, {}))


def link_html(url: str, text: str) -> str:
    """Return a link that gives nothing away; its text alone where the address may be none."""
    label = escape(text.strip() or url)
    if not (href := open_url(url)):
        return label
    return f'<a href="{escape(href)}" target="_blank" rel="{LINK_REL}">{label}</a>'


def _card_html(_: Any, tokens: Sequence[Token], index: int, *_options: Any) -> str:
    card: Card = tokens[index].meta[CARD]
    local = f" <small>{escape(card.local)}</small>" if card.local else ""
    tag, to = ("a", f' href="#source-{card.cited}"') if card.cited else ("span", "")
    return (
        f"{photo_html(card)}"
        f'<{tag} class="number"{to}>{card.number}</{tag}>'
        f"<strong>{link_html(card.url, card.name)}</strong>{local}"
        f'<span class="facts">{facts_html(card, card.address)}</span>'
        f"{ticks_html(card)}"
    )


def _table_html(
    renderer: RendererHTML, tokens: Sequence[Token], index: int, options: Any, _env: Any
) -> str:
    code: PhoneCode | None = tokens[index].meta.get(STOPS)
    figure = ""
    if code:
        caption = f"<figcaption>{link_html(code.url, code.caption)}</figcaption>"
        figure = f'<figure class="code">{qr_svg(code.url)}{caption}</figure>'
    return f"{figure}{renderer.renderToken(tokens, index, options, _env)}"


def facts_html(card: Card, *more: str) -> str:
    """Return a place's facts, and what `more` is known of it; its telephone can be called."""
    parts = [escape(fact) for fact in (*card.facts, *more) if fact]
    if card.phone:
        call = f'<a href="tel:{dialled(card.phone)}" dir="ltr">{escape(card.phone)}</a>'
        parts[len(card.facts) - 1] = call
    return "".join(f"<span>{part}</span>" for part in parts)


def photo_html(card: Card) -> str:
    """Return a place's photo, loaded once it comes into view; its host is told nothing."""
    if not card.photo:
        return ""
    return (
        f'<img class="photo" src="{escape(card.photo)}" alt="{escape(card.name)}" width="96" '
        'height="72" loading="lazy" decoding="async" referrerpolicy="no-referrer">'
    )


def ticks_html(card: Card) -> str:
    """Return which wishes a place meets; the style draws the signs."""
    ticks = "".join(
        f'<span class="{escape(verdict)}">{escape(text)}</span>' for verdict, text in card.ticks
    )
    return f'<span class="demands">{ticks}</span>' if ticks else ""


def _mark_timetables(tokens: Sequence[Token]) -> None:
    """Mark tables of which each row begins with a time: on a phone they are a line of stops.

    The page does the same (`answer/render_markdown.js`).
    """
    table: Token | None = None
    for index, token in enumerate(tokens):
        if token.type == "table_open":
            table = token
            table.attrSet("class", "timetable")
        is_first = token.type == "td_open" and tokens[index - 1].type == "tr_open"
        if is_first and table and not _HOURS.fullmatch(tokens[index + 1].content.strip()):
            table.attrs.pop("class", None)


_HOURS = re.compile(r"\d?\d:\d\d(?:\s?[–~-]\s?\d?\d:\d\d)?")


def answer_parser() -> MarkdownIt:
    """Return a CommonMark parser with tables, without HTML and images.

    Refused links become text.
    """
    parser = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    parser.validateLink = _is_allowed  # type: ignore[method-assign]
    return parser


def _is_allowed(url: str) -> bool:
    return bool(link_url(url))


def _with_bare_numbers(children: Sequence[Token], titles: Mapping[str, str]) -> list[Token]:
    """Return an inline's tokens with links for numbers of sources that have no address."""
    linked, depth = list[Token](), 0
    for token in children:
        depth += token.nesting if token.type in ("link_open", "link_close") else 0
        if token.type != "text" or depth:
            linked.append(token)
            continue
        begin = 0
        for cited in CITATION.finditer(token.content):
            if cited[2] or cited[1] not in titles:
                continue
            place = cited[0].strip("[]")
            linked += [
                Token("text", "", 0, content=token.content[begin : cited.start()]),
                Token("link_open", "a", 1, attrs={"href": f"#source-{place}"}),
                Token("text", "", 0, content=place),
                Token("link_close", "a", -1),
            ]
            begin = cited.end()
        linked.append(Token("text", "", 0, content=token.content[begin:]))
    return linked


def _mark_links(children: Sequence[Token], titles: Mapping[str, str]) -> None:
    for index, token in enumerate(children):
        if token.type != "link_open":
            continue
        following = children[index + 1]
        cited = following.content if following.type == "text" else ""
        place, cited = cited, source_number(cited)
        if cited:
            token.attrSet("class", "cite")
            if title := titles.get(cited):
                token.attrSet("title", title)
        if open_url(str(token.attrGet("href"))):
            token.attrSet("rel", LINK_REL)
            token.attrSet("target", "_blank")
        elif cited in titles:
            token.attrSet("href", f"#source-{place}")
        else:
            end = next(other for other in children[index:] if other.type == "link_close")
            token.tag = end.tag = "span"
            del token.attrs["href"]


_ACTIVE = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_{}[]<>#|!"})
_ACTIVE_INSIDE = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_[]<"})


def markdown_document(answer: FinishedAnswer) -> str:
    """Return a title, and the answer as `answer_markdown` has it."""
    head = [f"# {escape_markdown(file_title(answer))}", escape_markdown(subtitle(answer))]
    return "\n\n".join([*head, _answer_markdown(answer, file_text(answer))]) + "\n"


def answer_markdown(answer: FinishedAnswer) -> str:
    """Return an answer, its places and sources; their addresses stand at the end, behind labels.

    A place is told once: on its line or in a row of the text, else in a table below it.
    """
    return _answer_markdown(answer, answer_text(answer))


def _answer_markdown(answer: FinishedAnswer, text: str) -> str:
    language, cards = answer.language, PlaceCards(answer)
    parts = [_with_card_lines(text, cards)]
    if line := statement_line(answer):
        parts.append(f"*{escape_markdown(line)}*")
    if answer.notice:
        parts.append(f"> {answer.notice}")
    if checked := checked_sentences(answer):
        parts.append(f"## {say('export.checked.title', language)}")
        parts.append("\n".join(f"- {_checked_line(one)}" for one in checked))
    told = cards.shown | cards.in_tables(answer_parser().parse(text))
    if places := [place for place in by_mention(answer.places) if place["id"] not in told]:
        parts.append(f"## {say('export.places', language)}")
        parts.append(place_table(places, language))
    if credited := credit_left(answer):
        parts.append(f"*{credited}*")
    is_any = any(source.get("unresolved") for source in answer.sources)
    unresolved = say("export.unresolved", language) if is_any else ""
    parts.append(references(answer.sources, language, unresolved=unresolved))
    return _with_labels("\n\n".join(part.strip() for part in parts if part), answer)


def _checked_line(one: CheckedSentence) -> str:
    line = escape_markdown(f"{one.text} — {one.verdict}")
    cited = f" [{one.cited}]" if one.cited else ""
    return f"{line}{cited}({one.url})" if cited and one.url else f"{line}{cited}"


_LINK = re.compile(r"\[((?:[^\[\]\\\n]|\\.)+)\]\((https?://[^\s()]+)\)")


def _with_labels(text: str, answer: FinishedAnswer) -> str:
    """Return Markdown whose links have labels, and at its end the address of each.

    A citation is its number in brackets, a link too where its source has an address.
    """
    labels = dict[str, str]()
    for number, source in numbered_sources(answer):
        labels.setdefault(open_url(source["url"]), str(number))
    used = dict[str, str]()
    lines, code = text.split("\n"), _lines_of_code(text)
    for at, line in enumerate(lines):
        if at not in code:
            lines[at] = _labelled(line, labels, used)
    ends = [f"[{label}]: {url}" for label, url in sorted(used.items(), key=_by_number)]
    return "\n".join(lines) + ("\n\n" + "\n".join(ends) if ends else "")


def _by_number(item: tuple[str, str]) -> tuple[int, str]:
    return (int(item[0]), "") if item[0].isdigit() else (_AFTER_ALL, item[0])


_AFTER_ALL = 10**6


def _labelled(line: str, labels: dict[str, str], used: dict[str, str]) -> str:
    out, end = "", 0
    for link in _LINK.finditer(line):
        words, url = link[1], open_url(link[2])
        out += _apart(out, line[end : link.start()])
        end = link.end()
        if url:
            label = labels.setdefault(url, _new_label(words, labels))
            used[label] = url
            words = f"[{words}]" if words == label else f"[{words}][{label}]"
        elif words.isdigit():
            words = f"[{words}]"
        out += _apart(out, words)
    return out + _apart(out, line[end:])


def _new_label(words: str, labels: Mapping[str, str]) -> str:
    """Return a citation's own number, where no other source has it; else one of links."""
    if words.isdigit() and words not in labels.values():
        return words
    return f"link-{1 + sum(not label.isdigit() for label in labels.values())}"


_BEGINNING = " \t>-*+#.)0123456789"


def _apart(before: str, after: str) -> str:
    """Return what follows, apart from a citation which it would turn into another link.

    A colon makes one that begins its line the label of an address.
    """
    line = before.lstrip(_BEGINNING)
    begins = line.startswith("[") and line.find("]") == len(line) - 1
    joins = after.startswith(("[", "(")) or (begins and after.startswith(":"))
    return f" {after}" if before.endswith("]") and joins else after


def _lines_of_code(text: str) -> set[int]:
    blocks = [token.map for token in answer_parser().parse(text)
              if token.type in ("fence", "code_block")]  # fmt: skip
    return {at for begin, end in filter(None, blocks) for at in range(begin, end)}


def _with_card_lines(text: str, cards: PlaceCards) -> str:
    """Return Markdown in which a bullet that is a place is its line, then what else is said."""
    lines: list[str | None] = [*(source := text.replace("\r\n", "\n").split("\n"))]
    tokens = answer_parser().parse("\n".join(source))
    written = {id(token): token.content.split("\n")[0] for token in tokens}
    marked = cards.mark(tokens)
    for at in range(len(marked)):
        if marked[at].type != CARD:
            continue
        card = marked[at].meta[CARD]
        if BEHIND in marked[at].meta:
            opened, inline = marked[at].meta[BEHIND]
            begin, end = opened.map or (0, 0)
            line = source[begin]
            margin = line[: line.find(written[id(inline)])] if opened.level else ""
            inset = "".join(">" if sign == ">" else " " for sign in margin)
            last = next(n for n in range(end - 1, begin - 1, -1) if lines[n] is not None)
            gap = "\n" if opened.level or f"\n\n{inset}- " in (lines[last] or "") else "\n\n"
            lines[last] = f"{lines[last]}{gap}{inset}- {_card_line(card)}"
            continue
        begin, end = marked[at + 1].map or (0, 0)
        inline, line = marked[at + 2], source[begin]
        width = max(line.find(written[id(inline)]), 2)
        marker = len(line[:width].rstrip().rpartition(" ")[0])
        head = f"{line[:marker]}{' ' if marker else ''}-".ljust(width)
        rest = inline_markdown(inline.children or []).strip().split("\n")
        told = [_card_line(card), *filter(None, rest)]
        inset = "".join(">" if sign == ">" else " " for sign in head)
        first = f"{head}{told[0]}{'  ' if len(told) > 1 else ''}"
        # The other lines keep their numbers.
        lines[begin:end] = [None] * (end - begin)
        lines[begin] = "\n".join([first, *(f"{inset}{line}" for line in told[1:])])

    def rows(first: int, _: int) -> slice:
        """The blank line behind a list is no item's."""
        begin, end = marked[first].map or (0, 0)
        while end > begin and lines[end - 1] == "":
            end -= 1
        return slice(begin, end)

    lines = cards.in_order(lines, marked, rows)
    return "\n".join(line for line in lines if line is not None)


def _card_line(card: Card) -> str:
    """Return a place in one line: its pin's number and name, then what is known of it."""
    name, url = _cell(card.name), open_url(card.url)
    name = f"[{name}]({url})" if url else name
    number = f"{card.number}. " if card.number else ""
    facts = [*card.facts, *card.demands, card.address]
    told = [_cell(fact) for fact in (card.local, *facts) if fact]
    return " · ".join([f"**{number}{name}**", *told])


def inline_markdown(tokens: Sequence[Token]) -> str:
    """Return the children of an inline token as Markdown again, without emphasis of nothing."""
    out, links, begins = "", list[str](), list[int]()
    for token in tokens:
        if token.type == "link_open":
            links.append(str(token.attrGet("href")))
            out += "["
        elif token.type == "link_close":
            out += f"]({links.pop()})"
        elif token.type == "code_inline":
            out += f"{token.markup}{token.content}{token.markup}"
        elif token.type in ("softbreak", "hardbreak"):
            out += "\n"
        elif token.nesting > 0:
            begins.append(len(out))
            out += token.markup
        elif token.nesting < 0:
            begin = begins.pop()
            is_empty = len(out) == begin + len(token.markup)
            out = out[:begin] if is_empty else out + token.markup
        else:
            out += token.content.translate(_ACTIVE_INSIDE)
    return out


def place_table(places: Sequence[Place], language: Language) -> str:
    """Return a table in the pipe form; what a map wrote cannot break out of its cell."""
    columns = place_columns(places)
    titles = [_cell(column_title(key, places, language)) for key in columns]
    lines = [_row(["", *titles]), _row(["---"] * (1 + len(columns)))]
    for place in places:
        cells = [_cell(place_cell(key, place, places, language)) for key in columns]
        if url := open_url(place["url"]):
            cells[0] = f"[{cells[0]}]({url})"
        lines.append(_row([str(place.get("number") or ""), *cells]))
    return "\n".join(lines)


def cell_text(cell: SyntaxTreeNode) -> str:
    """Return the words of a table's cell."""
    tokens = [token for child in cell.children for token in child.to_tokens()]
    return "".join(part.content for token in tokens for part in token.children or [])


def is_note(paragraph: SyntaxTreeNode) -> bool:
    """Return whether a paragraph is emphasised as a whole: what stands beside an answer."""
    [inline] = paragraph.children
    return [child.type for child in inline.children] == ["em"]


def escape_markdown(text: str) -> str:
    """Return one line in which no character is Markdown or HTML."""
    return " ".join(text.split()).translate(_ACTIVE)


def _cell(text: str) -> str:
    """Return a map's text without the addresses that Markdown readers would turn into links."""
    return escape_markdown(without_urls(text))


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"
