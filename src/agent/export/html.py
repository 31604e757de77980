"""Export a finished answer as one self-contained page: no script, no network, all escaped."""

import re
from collections.abc import Collection
from functools import cache
from html import escape
from importlib.resources import files

from agent.evidence.markdown import open_url
from agent.evidence.records import (
    cost_text,
    distance_texts,
    hours_text,
    map_name,
    name_text,
    time_there,
    verdict_texts,
)
from agent.evidence.references import site_of, strip_references
from agent.evidence.types import Place, Source
from agent.export.finished import (
    PRINTED_QUOTES,
    FinishedAnswer,
    by_mention,
    checked_sentences,
    credit,
    numbered_sources,
    rating,
    statement_line,
    without_notice,
    without_title,
)
from agent.export.geojson import has_sane_axes
from agent.export.markdown import LINK_REL, answer_html
from agent.export.place_cards import PlaceCards
from agent.export.svg_map import Pin, draw_map
from agent.texts import Language, is_chinese, say

POLICY = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-src 'self'; "
    "base-uri 'none'; form-action 'none'"
)
"""Content security policy of the page, for its `meta` and for a server's header."""
_FROM_RIGHT = ("ar",)
_QUOTE = 220


def html_page(answer: FinishedAnswer) -> str:
    """Return the whole document as text (UTF-8)."""
    title = escape(" ".join(answer.question.split()))
    when = time_there(answer.generated_at, answer.places, answer.language)
    cards = _cards(answer)
    body = "".join((
        f"<h1>{title}</h1>",
        f'<p class="when">{escape(when)}</p>',
        f'<p class="notice">{escape(answer.notice)}</p>' if answer.notice else "",
        _answer(answer, cards),
        f'<p class="statements">{escape(line)}</p>' if (line := statement_line(answer)) else "",
        _checked(answer),
        _places(answer, cards.shown),
        _sources(answer),
        *(_suggestions(html, answer) for html in answer.search_entry_points),
        f"<footer>{escape(say('export.made_by', answer.language))}</footer>",
    ))  # fmt: skip
    return (
        f"<!doctype html>\n<html{_language_of(answer)}>\n<head>\n"
        '<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{escape(POLICY)}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n'
        f"<title>{title}</title>\n<style>\n{_style()}</style>\n</head>\n"
        f"<body><main>{_with_languages(body, answer.language)}</main></body>\n</html>\n"
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


def _with_languages(html: str, language: Language) -> str:
    """Return HTML in which Chinese words of a page in another language say that they are."""
    if is_chinese(language) or language == "ja":
        return html
    parts = _OUTSIDE_TEXT.split(html)
    parts[::2] = [_HAN_RUN.sub(r'<span lang="zh-CN">\g<0></span>', text) for text in parts[::2]]
    return "".join(parts)


def _cards(answer: FinishedAnswer) -> PlaceCards:
    """Return the cards of an answer's places; a planned day has a table and other numbers."""
    language = answer.language

    def head(place: Place) -> str:
        name, number = map_name(place, language), place.get("number", 0)
        local = f" <small>{escape(place['name'])}</small>" if name != place["name"] else ""
        facts = "".join(f"<span>{escape(fact)}</span>" for fact in _facts(place, language) if fact)
        demands = escape(" · ".join(verdict_texts(place, language)))
        return (
            f'<a class="number" href="#source-{number}">{number}</a>'
            f"<strong>{_link(place['url'], name)}</strong>{local}"
            f'<span class="facts">{facts}</span><span class="demands">{demands}</span>'
        )

    listed = [] if answer.outing else answer.places
    return PlaceCards({str(p["number"]): p for p in listed if p.get("number")}, head)


def _facts(place: Place, language: Language) -> list[str]:
    stars = rating(place)
    return [*distance_texts(place, language), f"★ {stars}" if stars else "",
            cost_text(place, language), hours_text(place, language)]  # fmt: skip


def _answer(answer: FinishedAnswer, cards: PlaceCards) -> str:
    titles = {
        str(number): source["title"]
        for source in answer.sources
        if (number := source.get("number")) is not None
    }
    text = without_title(without_notice(answer.answer, answer.notice), answer.question)
    if answer.sources:
        text = strip_references(text)
    return f'<section class="answer">{answer_html(text, titles, cards)}</section>'


def _checked(answer: FinishedAnswer) -> str:
    """Return the sentences that a source corrects, with its words."""
    checked = checked_sentences(answer)
    if not checked:
        return ""
    items = "".join(
        f"<li>{escape(one.text)} — {_marked(one.verdict, one.says)}</li>" for one in checked
    )
    heading = escape(say("export.checked.title", answer.language))
    return f'<section class="checked"><h2>{heading}</h2><ul>{items}</ul></section>'


def _places(answer: FinishedAnswer, told: Collection[str]) -> str:
    """Return the map, and the list of those that the text does not tell on cards."""
    places = by_mention(answer.places)
    if not places:
        return ""
    # A planned day has the numbers of its stops, which come first.
    numbered = [
        (index if answer.outing else place.get("number", index), place)
        for index, place in enumerate(places, start=1)
    ]
    pins = [
        Pin(**place["wgs84"], name=map_name(place, answer.language), number=number,
            url=place["url"], strong=place["mentioned"])
        for number, place in numbered
        if has_sane_axes(place)
    ]  # fmt: skip
    listed = [each for each in numbered if each[1]["id"] not in told]
    items = "".join(_place(number, place, answer) for number, place in listed)
    credited = escape(credit(places, answer.language))
    return (
        f"<section><h2>{say('export.places', answer.language)}</h2>"
        f"{draw_map(pins, answer.language, _anchor(answer), path=_stops(answer))}"
        + (f'<ol class="places">{items}</ol>' if items else "")
        + f'<p class="credit">{credited}</p></section>'
    )


def _stops(answer: FinishedAnswer) -> int:
    """Return the number of stops of a planned day: they are the first places, in their order."""
    return sum("place" in stop for stop in answer.outing["stops"]) if answer.outing else 0


def _anchor(answer: FinishedAnswer) -> Pin | None:
    """Return the place that the others lie around, where the collection of the run names it."""
    for feature in (answer.geojson or {}).get("features", []):
        if feature["properties"].get("role") == "anchor":
            lng, lat = feature["geometry"]["coordinates"]
            return Pin(lng, lat, name=str(feature["properties"].get("name", "")), number=0)
    return None


def _place(number: int, place: Place, answer: FinishedAnswer) -> str:
    language = answer.language
    items = "".join(f"<span>{escape(fact)}</span>" for fact in _facts(place, language) if fact)
    demands = " · ".join(verdict_texts(place, language))
    named = ' class="named"' if place["mentioned"] else ""
    return (
        f'<li{named}><span class="number">{number}</span><div>'
        f"<p>{_link(place['url'], name_text(place, language))}</p>"
        + (f'<p class="facts">{items}</p>' if items else "")
        + (f'<p class="address">{escape(place["address"])}</p>' if place["address"] else "")
        + (f'<p class="demands">{escape(demands)}</p>' if demands else "")
        + "</div></li>"
    )


def _sources(answer: FinishedAnswer) -> str:
    if not answer.sources:
        return ""
    items = "".join(
        _source(number, source, answer.language) for number, source in numbered_sources(answer)
    )
    heading = say("export.sources", answer.language)
    return f'<section><h2>{heading}</h2><ol class="sources">{items}</ol></section>'


def _marked(text: str, words: str) -> str:
    """Return a text with some of its words marked."""
    before, found, after = text.partition(words) if words else (text, "", "")
    mark = f"<mark>{escape(found)}</mark>" if found else ""
    return f"{escape(before)}{mark}{escape(after)}"


def _source(number: int, source: Source, language: Language) -> str:
    unresolved = say("export.unresolved", language) if source.get("unresolved") else ""
    about = " · ".join(filter(None, [site_of(source), unresolved]))
    quotes = "".join(
        f'<p class="quote">“{escape(quote[:_QUOTE])}{"…" if len(quote) > _QUOTE else ""}”</p>'
        for quote in source["quotes"][:PRINTED_QUOTES]
    )
    return (
        f'<li id="source-{number}" value="{number}">{_link(source["url"], source["title"])} '
        f'<span class="site">{escape(about)}</span>{quotes}</li>'
    )


def _link(url: str, text: str) -> str:
    label = escape(text.strip() or url)
    if not (href := open_url(url)):
        return label
    return f'<a href="{escape(href)}" target="_blank" rel="{LINK_REL}">{label}</a>'


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
