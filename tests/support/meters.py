"""An account of what a piece of work spends."""

from agent.core.budget import Budget, Limits, Meter


def meter(turn: str = "turn", *, seconds: float = 60, **most: int) -> Meter:
    """Return one with room for everything a test does, unless told otherwise (`searches=0`)."""
    rooms = {"searches": 100, "model_calls": 100, "map_calls": 100, "run_tokens": 10_000_000}
    limits = {f"max_{name}": room for name, room in (rooms | most).items()}
    return Budget(turn, Limits(**limits, max_run_seconds=seconds, answer_seconds=0)).meter()
