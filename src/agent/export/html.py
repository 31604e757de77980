"""Export a finished answer as one self-contained page: no script, all escaped.

Nothing is loaded but photos of places, where they are wanted.
"""

import re
from collections.abc import Collection, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from urllib.parse import urlsplit

from agent.core.strings import cut_at_break
from agent.evidence.references import day_of, line_letter, site_of
from agent.evidence.types import Place, Source
from agent.export.finished import (
    PRINTED,
    PRINTED_QUOTES,
    FinishedAnswer,
    checked_sentences,
    credit_left,
    file_title,
    numbered_sources,
    statement_line,
    subtitle,
)
from agent.export.markdown import (
    answer_html,
    facts_html,
    file_text,
    link_html,
    photo_html,
    ticks_html,
)
from agent.export.place_cards import PlaceCards, card_of
from agent.export.svg_map import (
    draw_map,
    drawn_pins,
    drawn_ways,
    numbered_places,
    planned_stops,
)
from agent.texts import Language, is_chinese, say

_FROM_RIGHT = ("ar",)


def export_policy(photo_hosts: Sequence[str] = ()) -> str:
    """Return the content security policy of the page, for its `meta` and a server's header."""
    images = " ".join(("data:", *(f"https://{host}" for host in photo_hosts)))
    return (
        f"default-src 'none'; style-src 'unsafe-inline'; img-src {images}; frame-src 'self'; "
        "base-uri 'none'; form-action 'none'"
    )


def policy_of(answer: FinishedAnswer) -> str:
    """Return the policy of an answer's page: photos from where it has some."""
    photos = {card_of(each, "en", photo_hosts=answer.photo_hosts).photo for each in answer.places}
    return export_policy(sorted({urlsplit(each).netloc for each in photos if each}))


def html_page(answer: FinishedAnswer) -> str:
    """Return the whole document as text (UTF-8)."""
    title = escape(file_title(answer))
    cards = PlaceCards(answer)
    body = "".join((
        f"<h1>{title}</h1>",
        f'<p class="when">{escape(subtitle(answer))}</p>',
        _answer(answer, cards),
        f'<p class="statements">{escape(line)}</p>' if (line := statement_line(answer)) else "",
        f'<p class="statements">{escape(answer.notice)}</p>' if answer.notice else "",
        _checked(answer),
        _places(answer, cards.instead),
        _sources(answer),
        *(_suggestions(html, answer) for html in answer.search_entry_points),
        f"<footer>{escape(say('export.made_by', answer.language))}</footer>",
    ))  # fmt: skip
    return (
        f"<!doctype html>\n<html{_language_of(answer)}>\n<head>\n"
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy_of(answer))}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{_style()}</style>\n</head>\n"
        f"<body><main>{_with_languages(_kept_together(body), answer.language)}</main></body>\n"
        "</html>\n"
    )


def _language_of(answer: FinishedAnswer) -> str:
    """Return the attributes for the language of a page, and for its direction."""
    tag = "zh-CN" if answer.language == "zh" else answer.language
    return f' lang="{tag}"' + (' dir="rtl"' if answer.language in _FROM_RIGHT else "")


@cache
def _style() -> str:
    return files("agent.export").joinpath("page.css").read_text(encoding="utf-8")


_OUTSIDE_TEXT = re.compile(r"(<svg.*?</svg>|<iframe.*?</iframe>|<[^>]*>)", re.DOTALL)
_HAN_RUN = re.compile(r"[\u3400-\u9fff][\u3000-\u303f\u3400-\u9fff\uff00-\uffef]*")


_BETWEEN_DEGREES = re.compile(r"–(?=-?\d{1,3}\u00a0°C)")


def _kept_together(html: str) -> str:
    """Return HTML in which a temperature and its unit, or two of them, stay on one line."""
    return _BETWEEN_DEGREES.sub("–\u2060", html.replace(" °C", "\u00a0°C"))


def _with_languages(html: str, language: Language) -> str:
    """Return HTML in which Chinese words of a page in another language say that they are."""
    if is_chinese(language) or language == "ja":
        return html
    parts = _OUTSIDE_TEXT.split(html)
    parts[::2] = [_HAN_RUN.sub(r'<span lang="zh-CN">\g<0></span>', text) for text in parts[::2]]
    return "".join(parts)


def _answer(answer: FinishedAnswer, cards: PlaceCards) -> str:
    titles = {
        str(number): source["title"]
        for source in answer.sources
        if (number := source.get("number")) is not None
    }
    html = answer_html(file_text(answer), titles, cards, answer)
    return f'<section class="answer">{html}</section>'


def _checked(answer: FinishedAnswer) -> str:
    """Return the sentences that a source corrects, with its words."""
    checked = checked_sentences(answer)
    if not checked:
        return ""
    items = "".join(
        f"<li>{escape(f'{one.text} — {one.verdict}')}{_cited(one.cited)}</li>" for one in checked
    )
    heading = escape(say("export.checked.title", answer.language))
    return f'<section class="checked"><h2>{heading}</h2><ul>{items}</ul></section>'


def _cited(number: int) -> str:
    return f' <a class="cite" href="#source-{number}">{number}</a>' if number else ""


def _places(answer: FinishedAnswer, told: Collection[str]) -> str:
    """Return the map, and the list of places, as the text has no cards of them."""
    pins, anchor = drawn_pins(answer)
    ways = drawn_ways(answer)
    if not (answer.places or ways):
        return ""
    listed = [each for each in numbered_places(answer) if each[1]["id"] not in told]
    items = "".join(_place(number, place, answer) for number, place in listed)
    credited = escape(credit_left(answer))
    credited = f'<p class="credit">{credited}</p>' if credited else ""
    drawn = draw_map(pins, answer.language, anchor, path=planned_stops(answer), ways=ways)
    if not (drawn or items):
        return credited
    return (
        f"<section><h2>{say('export.places', answer.language)}</h2>"
        + drawn
        + (f'<ol class="places">{items}</ol>' if items else "")
        + f"{credited}</section>"
    )


def _place(number: int, place: Place, answer: FinishedAnswer) -> str:
    language = answer.language
    card = card_of(place, language, photo_hosts=answer.photo_hosts)
    items = facts_html(card)
    local = f" <small>{escape(card.local)}</small>" if card.local else ""
    named = ' class="named"' if place["mentioned"] else ""
    return (
        f'<li{named}><span class="number">{number}</span><div>'
        f"{photo_html(card)}<p>{link_html(place['url'], card.name)}{local}</p>"
        + (f'<p class="facts">{items}</p>' if items else "")
        + (f'<p class="address">{escape(card.address)}</p>' if card.address else "")
        + f"{ticks_html(card)}</div></li>"
    )


def _sources(answer: FinishedAnswer) -> str:
    if not answer.sources:
        return ""
    items = "".join(
        _source(number, source, answer.language) for number, source in numbered_sources(answer)
    )
    heading = say("export.sources", answer.language)
    return f'<section><h2>{heading}</h2><ol class="sources">{items}</ol></section>'


def _source(number: int, source: Source, language: Language) -> str:
    unresolved = say("export.unresolved", language) if source.get("unresolved") else ""
    about = " · ".join(filter(None, [site_of(source), day_of(source), unresolved]))
    quotes = "".join(
        f'<p class="quote" id="source-{number}{line_letter(at)}">{escape(line)}</p>'
        for at, line in enumerate(source.get("sums", ()))
    ) or "".join(
        f'<p class="quote">“{escape(cut_at_break(quote, PRINTED))}”</p>'
        for quote in source["quotes"][:PRINTED_QUOTES]
    )
    return (
        f'<li id="source-{number}" value="{number}">{link_html(source["url"], source["title"])} '
        f'<span class="site">{escape(about)}</span>{quotes}</li>'
    )


def _suggestions(html: str, answer: FinishedAnswer) -> str:
    """Return Google's suggestions unmodified, in a frame without script or origin."""
    title = escape(say("export.suggestions", answer.language))
    return (
        f'<iframe title="{title}" sandbox="allow-popups allow-popups-to-escape-sandbox" '
        f'srcdoc="{escape(suggestions_document(html))}"></iframe>'
    )


def suggestions_document(html: str) -> str:
    """Return Google's search suggestions for a frame, with links that open outside of it."""
    return f'<base target="_blank">{html}'
