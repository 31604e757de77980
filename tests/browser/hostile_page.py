"""A visit among hostile texts, and what must hold of a page that shows them."""

from typing import Any

from tests.support.browser import Page, Visit, Visits

_FORBIDDEN = """
script:not([src$='/js/main.js']), base, meta[http-equiv], object, embed, style, math,
body link:not([href^='app/']), form:not(dialog form), img:not([src^='app/files/']),
audio, video, source, iframe:not([data-part='suggestions'] iframe), iframe:not([sandbox]),
iframe[sandbox*='allow-scripts'], iframe[sandbox*='allow-same-origin'], [formaction], [srcdoc]
"""
_OUR_LINKS = (
    ".skip, .thread-link, .place-source, .leaflet-control a, [data-part='exports'] a, "
    ".cite[href^='#source-']"
)
_WHAT_ACTS = """
([forbidden, ours]) => {
  const acts = (node) => [...node.attributes].some(({ name }) => /^on/i.test(name));
  const leads = (link) => {
    const { protocol, origin } = new URL(link.href);
    if (protocol !== "https:" && protocol !== "http:") return true;
    if (origin === location.origin) return !link.matches(ours);
    const rels = link.rel.split(" ");
    const isHeld = ["noopener", "nofollow", "ugc"].every((rel) => rels.includes(rel));
    return !isHeld || link.target !== "_blank";
  };
  return [
    ...document.querySelectorAll(forbidden),
    ...[...document.querySelectorAll("*")].filter(acts),
    ...[...document.querySelectorAll("a[href]")].filter(leads),
  ].map((node) => node.outerHTML.slice(0, 200));
}
"""


def among_hostile(visit: Visits, **options: Any) -> Visit:
    """A visit whose test fails when any hostile text gets to run."""
    begun = visit(fresh=True, **options)
    begun.context.expose_binding(
        "ran", lambda _source, told=None: begun.problems.append(f"ran: {told}")
    )
    return begun


def nothing_acts(page: Page) -> None:
    """Nothing in the page is markup, a link or a frame that a text brought with it."""
    assert page.evaluate(_WHAT_ACTS, [_FORBIDDEN, _OUR_LINKS]) == []
    assert page.evaluate("getComputedStyle(document.body).display") != "none"
