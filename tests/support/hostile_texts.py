"""Texts that act in a page that takes them for markup: each then calls `ran` or asks EVIL."""

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
