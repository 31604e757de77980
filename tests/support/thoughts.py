"""Take the thoughts out of a text that is there as a whole."""

from agent.models.thoughts import Thoughts


def without_thoughts(text: str, *, cut: bool = False) -> str:
    """Return a whole text without the thoughts in it."""
    thoughts = Thoughts()
    _, text_said = thoughts.feed(text)
    withdrawn, rest = thoughts.finish(cut=cut)
    return rest if withdrawn else text_said + rest
