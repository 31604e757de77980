"""Programs as a model writes them, and programs that want more than their share."""

from tests.support.rows import tables

_TABLES = tables("sandbox_programs")
GIVEN: str = _TABLES["given"]
"""What is there without import."""
TYPICAL: dict[str, str] = _TABLES["typical"]
MONTY_DIFFERS: dict[str, str] = _TABLES["monty_differs"]
GREEDY: dict[str, str] = _TABLES["greedy"]
