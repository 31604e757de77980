"""A text as one line."""

_LONGEST = 600


def one_line(text: str, *, longest: int = _LONGEST) -> str:
    """The text without line breaks and control characters, cut to `longest` characters."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"
