"""Texts that act in a page that takes them for markup: each then calls `ran` or asks EVIL."""

from tests.support.rows import tables

EVIL = "http://evil.example"
MARKUP, MARKDOWN = (
    {name: text.replace("EVIL", EVIL) for name, text in table.items()}
    for table in tables("hostile_texts").values()
)
