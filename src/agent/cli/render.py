"""Print a finished run: for people, as Markdown in a pipe, or as one object."""

import re
from collections.abc import Collection, Mapping, Sequence

from rich.console import Console, Group
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text

from agent.cli.console import printable
from agent.client.run_result import RunResult
from agent.evidence.changes import AnswerChanges
from agent.evidence.markdown import without_dead_links
from agent.evidence.records import maps_of, owners
from agent.evidence.references import strip_references
from agent.evidence.types import Place
from agent.export.finished import (
    by_mention,
    credit,
    statement_line,
    without_notice,
)
from agent.export.markdown import place_table
from agent.export.place_cards import card_of
from agent.texts import Language, count_noun, say

MOST_PLACES = 15
_LINK = re.compile(
    r"(?<!!)\[((?:\\.|[^\[\]\\\n])+)\]\((https?://[^\s()]+(?:\([^\s()]*\)[^\s()]*)*)\)"
)
_SHORT_URL = 100
_REFERENCE = re.compile(r"(\d+)\. (.*)")
Numbers = Mapping[str, int | None]
"""Of the cited sources, by their ids."""


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
        model_calls=_count(language, usage["model_calls"], "model call"),
        tokens_in=f"{usage['input_tokens']:,}",
        tokens_out=f"{usage['output_tokens']:,}",
        searches=_count(language, usage["searches"], "search", "searches"),
        map_calls=_count(language, usage["map_calls"], "map call"),
        seconds=f"{usage['seconds']:.1f}",
    )
    price = usage["cost_usd"] or None
    return line if price is None else line + say("terminal.cost", language, cost=f"{price:.4f}")


def _count(language: Language, count: int, one: str, many: str = "") -> str:
    """Return the number, in English with its noun in the right number."""
    return str(count) if language != "en" else count_noun(count, one, many)


def follow_up_line(command: str, language: Language) -> str:
    """Return the line with the command for a follow-up."""
    return say("terminal.follow_up", language, command=command)


def _print_plain(outcome: RunResult, follow_up: str) -> None:
    finished = outcome.finished()
    parts = [
        without_dead_links(outcome.answer),
        *filter(None, [statement_line(finished)]),
    ]
    if places := shown_places(outcome.places):
        parts.append(f"**{say('export.places', finished.language)}**")
        parts.append(place_table(places, finished.language))
        parts.append(credit(places, finished.language))
    if follow_up:
        parts += [usage_line(outcome), follow_up_line(follow_up, outcome.language)]
    print(printable("\n\n".join(parts)), flush=True)  # noqa: T201


def _print_pretty(console: Console, outcome: RunResult, follow_up: str, notice: str) -> None:
    console.print()
    answer = printable(without_notice(outcome.answer, notice))
    console.print(Markdown(_for_terminal(strip_references(answer)), hyperlinks=True))
    finished = outcome.finished()
    language = finished.language
    if line := statement_line(finished):
        console.print(Text(line, style="dim"))
    numbers = {source["id"]: source.get("number") for source in outcome.sources}
    if places := shown_places(outcome.places):
        console.print()
        console.print(_place_cards(places, numbers, language))
        # The answer may tell it for its ways and its weather, too.
        owner = say("answer.map_data", language, maps=owners(maps_of(places), language), time="\n")
        if owner.partition("\n")[0] not in answer:
            console.print(Text(credit(places, language), style="dim"))
    # A place's card carries its source's number.
    tabled = {numbers.get(place["source"]) for place in places}
    if listed := _other_references(answer, tabled):
        console.print()
        console.print(Markdown(_for_terminal(listed), hyperlinks=True))
    if not follow_up:
        return
    console.print()
    console.print(Text(usage_line(outcome), style="dim"))
    console.print(Text(follow_up_line(follow_up, outcome.language), style="dim"), soft_wrap=True)


def shown_places(places: Sequence[Place]) -> list[Place]:
    """Return the places that the answer names, and as many others as fit."""
    ordered = by_mention(list(places))
    named = sum(place["mentioned"] for place in ordered)
    return ordered[: max(named, MOST_PLACES)]


def _other_references(answer: str, shown: Collection[int | None]) -> str:
    """Return the answer's list of sources without those of these numbers; "" if none is left."""
    title, *lines = answer[len(strip_references(answer)) :].strip().splitlines() or [""]
    matches = [match for line in lines if (match := _REFERENCE.match(line))]
    others = [f"\\[{m[1]}\\] {m[2]}  " for m in matches if int(m[1]) not in shown]
    return "\n".join([title, "", *others]) if others else ""


def _number(place: Place, numbers: Numbers) -> str:
    number = numbers.get(place["source"])
    return f"[{number}]" if number else ""


def _place_cards(places: Sequence[Place], numbers: Numbers, language: Language) -> Group:
    """Return two lines a place: its name, then what is known of it."""
    lines = list[Text | Padding]()
    for place in places:
        card, number = card_of(place, language), _number(place, numbers) or "-"
        name = Text(f"{number} ", style="" if place["mentioned"] else "dim")
        name.append(printable(card.name), style="bold")
        name.append(printable(f" {card.local}" if card.local else ""), style="dim")
        facts = " · ".join(filter(None, [*card.facts, card.address, *card.demands]))
        lines += [name, Padding(Text(printable(facts), style="dim"), (0, 0, 0, len(number) + 1))]
    return Group(*lines)


def _for_terminal(markdown: str) -> str:
    r"""Rewrite links for a terminal: `[1]` stays in brackets, a title is followed by its URL.

    Addresses too long to read stay behind their title (terminals that can, open them).
    """

    def link_text(match: re.Match[str]) -> str:
        text, url = match[1], match[2]
        if text.isdigit():
            return f"[\\[{text}\\]]({url})"
        return f"{text} <{url}>" if len(url) <= _SHORT_URL else match[0]

    return _LINK.sub(link_text, without_dead_links(markdown))


def changes_text(changes: AnswerChanges, at: str, language: Language) -> str:
    """Return what changed as Markdown, in the order in which it matters."""
    rows = [
        *(say("changes.figures_row", language, **row) for row in changes["figures"]),
        *(say("changes.new_row", language, text=text) for text in changes["new"]),
        *(say("changes.gone_row", language, text=text) for text in changes["gone"]),
    ]
    key = "same" if rows else "nothing_one" if changes["same"] == 1 else "nothing"
    closing = say(f"changes.{key}", language, n=changes["same"])
    heading = say("changes.title", language, day=f"{at[:16].replace('T', ' ')} UTC")
    listed = "\n".join(f"- {row}" for row in rows)
    return "\n\n".join(filter(None, [f"**{heading}**", listed, closing]))
