"""Who takes part in the discussion, and what a turn of theirs says in lines code can read."""

from typing import Literal

Speaker = Literal["researcher", "analyst", "verifier"]
SPEAKERS: tuple[Speaker, ...] = ("researcher", "analyst", "verifier")
