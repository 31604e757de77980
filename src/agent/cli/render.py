"""Print a finished run: for people, as Markdown in a pipe, or as one object."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import ClassVar
from urllib.parse import unquote

from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, JustifyMethod, RenderResult
from rich.markdown import (
    ListItem,
    Markdown,
    MarkdownContext,
    MarkdownElement,
    Paragraph,
    TableDataElement,
)
from rich.segment import Segment
from rich.style import Style
from rich.table import Table
from rich.text import Text

from agent.cli.console import printable
from agent.cli.wrapping import WrappedText
from agent.client.run_result import RunResult
from agent.core.strings import one_line
from agent.evidence.changes import AnswerChanges
from agent.evidence.geo import decimal_text
from agent.evidence.markdown import open_url
from agent.evidence.references import strip_references
from agent.evidence.types import Place
from agent.export.finished import (
    FinishedAnswer,
    by_mention,
    credit_left,
    numbered_sources,
    statement_line,
    without_notice,
)
from agent.export.markdown import answer_markdown, answer_text
from agent.export.place_cards import CARD, Card, PlaceCards, card_of
from agent.export.svg_map import numbered_places
from agent.texts import Language, say

MOST_PLACES = 15
_SHORT_URL = 80
_LINE, _ESCAPE = "line", "\\"


def print_outcome(
    outcome: RunResult, *, follow_up: str, notice: str = "", console: Console | None = None
) -> None:
    """Print the answer and its places; with a command for a follow-up that, too, and the usage.

    `notice` opens the answer; it stands on the terminal already and is not repeated.
    """
    terminal = console or Console(highlight=False)
    if terminal.is_terminal and not terminal.is_dumb_terminal:
        _print_pretty(terminal, outcome, follow_up, notice)
    else:
        _print_plain(outcome, follow_up)


def usage_line(outcome: RunResult) -> str:
    """Return the usage of the run in one line."""
    usage, language = outcome.usage, outcome.language
    line = say(
        "terminal.used",
        language,
        model_calls=usage["model_calls"],
        tokens_in=_grouped(usage["input_tokens"], language),
        tokens_out=_grouped(usage["output_tokens"], language),
        searches=usage["searches"],
        map_calls=usage["map_calls"],
        seconds=decimal_text(f"{usage['seconds']:.1f}", language),
    )
    price = usage["cost_usd"] or None
    cost = decimal_text(f"{price or 0:.4f}", language)
    return line if price is None else line + say("terminal.cost", language, cost=cost)


def _grouped(count: int, language: Language) -> str:
    """Return a number in groups of three; no comma where that is a decimal's sign."""
    groups = f"{count:,}"
    return groups if decimal_text(".", language) == "." else groups.replace(",", "\u00a0")


def follow_up_line(command: str, language: Language) -> str:
    """Return the line with the command for a follow-up."""
    return say("terminal.follow_up", language, command=command)


def _print_plain(outcome: RunResult, follow_up: str) -> None:
    finished = outcome.finished()
    parts = [answer_markdown(replace(finished, places=shown_places(finished.places)))]
    if follow_up:
        parts += [usage_line(outcome), follow_up_line(follow_up, outcome.language)]
    print(printable("\n\n".join(parts)), flush=True)  # noqa: T201


def _print_pretty(console: Console, outcome: RunResult, follow_up: str, notice: str) -> None:
    console.print()
    finished = outcome.finished()
    answer, cards = printable(without_notice(outcome.answer, notice)), PlaceCards(finished)
    text = _AnswerText(printable(answer_text(replace(finished, notice=notice))), cards)
    console.print(text)
    if line := statement_line(finished):
        console.print(Text(line, style="dim"))
    places = shown_places(outcome.places)
    if untold := [place for place in places if place["id"] not in cards.shown]:
        console.print()
        console.print(_place_lines(untold, text, finished))
    if credited := credit_left(replace(finished, places=places)):
        console.print(Text(credited, style="dim"))
    # The line of a place is its source.
    told = {place["source"] for place in places}
    shown = {number for number, source in numbered_sources(finished) if source["id"] in told}
    if others := _other_references(answer, shown):
        console.print()
        console.print(_AnswerText(others))
    if not follow_up:
        return
    console.print()
    console.print(Text(usage_line(outcome), style="dim"))
    console.print(Text(follow_up_line(follow_up, outcome.language), style="dim"), soft_wrap=True)


def shown_places(places: Sequence[Place]) -> list[Place]:
    """Return the places that the answer names, and as many others as fit."""
    ordered = by_mention(places)
    named = sum(place["mentioned"] for place in ordered)
    return ordered[: max(named, MOST_PLACES)]


def _other_references(answer: str, shown: Collection[int]) -> str:
    """Return the answer's list of sources without those of these numbers; "" if none is left."""
    title, *lines = answer[len(strip_references(answer)) :].strip().splitlines() or [""]
    others, is_shown = list[str](), False
    for line in filter(None, lines):
        number, _, source = line.partition(". ")
        if not number.isdigit():
            # A sum of the calculation above it; an item of a list would take in what follows it.
            others += [f"– {line.strip().removeprefix('- ')}  "] * is_shown
            continue
        is_shown = int(number) not in shown
        others += [f"\\[{number}\\] {_without_site(source)}  "] * is_shown
    return "\n".join([title, "", *others]) if others else ""


def _without_site(row: str) -> str:
    """Return a source's row without the site that its address, printed behind the title, has."""
    linked, _, about = row.rpartition(" — ")
    site, *others = about.split(" · ")
    address = open_url(linked.rpartition("](")[2].removesuffix(")")).replace("www.", "")
    is_told = f"://{site.replace(_ESCAPE, '')}" in address
    return " · ".join([linked, *others]) if is_told else row


def _place_lines(places: Sequence[Place], text: "_AnswerText", answer: FinishedAnswer) -> Table:
    """Return a line for each place that no bullet of the answer is."""
    pins = {place["id"]: number for number, place in numbered_places(answer)}
    cited = {source["id"]: number for number, source in numbered_sources(answer)}
    table = Table.grid(padding=(0, 1, 0, 0))
    table.add_column(justify="right", min_width=2)
    table.add_column()
    for place in places:
        card = card_of(place, answer.language, cited.get(place["source"], 0))
        line = _line_of(card, cited=text.cites(card.cited))
        style = "" if place["mentioned"] else "dim"
        table.add_row(str(pins[place["id"]] or "-"), line, style=style)
    return table


def _line_of(card: Card, *, cited: bool) -> Text:
    """Return a place in one line; `cited` with the number by which sentences cite it."""
    line = WrappedText(printable(card.name), style="bold")
    if url := open_url(card.url):
        line.stylize(Style(link=url))
    lines = (*card.facts, card.address, *card.demands)
    facts = "".join(f" · {fact}" for fact in lines if fact)
    told = "".join([f" {card.local}" if card.local else "", facts])
    return WrappedText.assemble(line, (printable(told), "dim"), f" [{card.cited}]" if cited else "")


class _Bullet(ListItem):
    """Show an item of a list; one that is a place by its pin's number and its line."""

    def __init__(self, card: Card | None = None, line: Text | None = None) -> None:
        super().__init__()
        self._card = card
        if line:
            self.elements.append(line)

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> MarkdownElement:
        """Return the item; a place's token has its card and its line."""
        return cls(token.meta.get(CARD), token.meta.get(_LINE))

    def on_child_close(self, context: MarkdownContext, child: MarkdownElement) -> bool:
        """Keep what the item says; besides its facts a place's bullet may say nothing."""
        is_empty = isinstance(child, Paragraph) and not child.text.plain.strip()
        return False if is_empty else super().on_child_close(context, child)

    def render_bullet(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Yield the lines of an item of a list without numbers."""
        if not self._card or not self._card.number:
            yield from super().render_bullet(console, options)
            return
        head = f"{self._card.number:>2} "
        lines = console.render_lines(
            self.elements, options.update(width=options.max_width - len(head))
        )
        for index, line in enumerate(lines):
            yield Segment(" " * len(head) if index else head)
            yield from line
            yield Segment.line()

    def render_number(
        self, console: Console, options: ConsoleOptions, number: int, last_number: int
    ) -> RenderResult:
        """Yield the lines of an item of a list with numbers: a place has its pin's."""
        if self._card:
            yield from self.render_bullet(console, options)
        else:
            yield from super().render_number(console, options, number, last_number)


class _Paragraph(Paragraph):
    """Show a paragraph whose words stay whole beside Chinese ones."""

    def on_enter(self, context: MarkdownContext) -> None:
        """Begin its text."""
        super().on_enter(context)
        self.text = WrappedText(justify="left")


class _TableCell(TableDataElement):
    """Show a cell of a table on as many lines as it needs: Han has no blanks to part them at."""

    def __init__(self, justify: JustifyMethod) -> None:
        super().__init__(justify)
        self.content = WrappedText("", justify=justify, overflow="fold")


class _AnswerText(Markdown):
    """Show an answer's Markdown; a bullet that is a place is its line, and what else is said."""

    elements: ClassVar = {
        **Markdown.elements,
        "list_item_open": _Bullet,
        "paragraph_open": _Paragraph,
        "th_open": _TableCell,
        "td_open": _TableCell,
    }

    def __init__(self, markdown: str, cards: PlaceCards | None = None) -> None:
        super().__init__(markdown)
        tokens = cards.apply(self.parsed) if cards else self.parsed
        for token in tokens:
            children = token.children
            token.children = _readable(children) if children else children
        self._texts = ["".join(child.content for child in token.children or []) for token in tokens]
        for index, token in enumerate(tokens):
            if token.type == CARD:
                # Before it stands its bullet; behind it a paragraph begins, and has its text.
                card: Card = token.meta[CARD]
                cited = self.cites(card.cited)
                tokens[index - 1].meta = {CARD: card, _LINE: _line_of(card, cited=cited)}
        self.parsed = [token for token in tokens if token.type != CARD]

    def cites(self, number: int) -> bool:
        """Return whether a citation's number can be read in the text."""
        return any(f"[{number}]" in text for text in self._texts)


def _readable(children: Sequence[Token]) -> list[Token]:
    """Return a paragraph's tokens with `[1]` in brackets, and a title followed by its URL.

    Of a long address stands the beginning, as one reads it; the title's link has it whole.
    """
    kept = list[Token]()
    link: Token | None = None
    begin = 0
    for child in children:
        if child.type == "link_open":
            link, begin = child, len(kept)
            continue
        kept.append(child)
        if child.type != "link_close" or not link:
            continue
        inside, url = kept[begin:-1], open_url(str(link.attrGet("href")))
        title = "".join(each.content for each in inside)
        if title.isdigit():
            inside = [Token("text", "", 0, content=f"[{title}]")]
        kept[begin:] = [link, *inside, child] if url else inside
        if url and not title.isdigit() and (shown := _address(url, title)):
            kept.append(Token("text", "", 0, content=f" {shown}"))
        link = None
    return kept


def _address(url: str, title: str) -> str:
    """Return an address as it is read beside a title; empty where the title is that address."""
    read = one_line(printable(unquote(url)))
    bare = {text.partition("://")[2] or text for text in (url, read)}
    is_told = (title.partition("://")[2] or title).rstrip("/ ") in {
        each.rstrip("/") for each in bare
    }
    return "" if is_told else read if len(read) <= _SHORT_URL else f"{read[:_SHORT_URL]}…"


def changes_text(changes: AnswerChanges, at: str, language: Language) -> str:
    """Return what changed as Markdown, in the order in which it matters."""
    rows = [
        *(say("changes.figures_row", language, **row) for row in changes["figures"]),
        *(say("changes.new_row", language, text=text) for text in changes["new"]),
        *(say("changes.gone_row", language, text=text) for text in changes["gone"]),
    ]
    rest = say("changes.same", language) if changes["same"] else ""
    closing = rest if rows else say("changes.nothing", language)
    heading = say("changes.title", language, day=f"{at[:16].replace('T', ' ')} UTC")
    listed = "\n".join(f"- {row}" for row in rows)
    return "\n\n".join(filter(None, [f"**{heading}**", listed, closing]))
