"""The blocks each prompt is made of."""

from tests.support.rows import tables

_TABLES = tables("prompt_blocks")
BLOCKS: dict[str, str] = _TABLES["blocks"]
HUMAN: dict[str, str] = _TABLES["human"]
"""Tasks whose human message is another prompt's."""
