"""Text from outside is read by patterns that RE2 compiles; where `re` stays, a list says.

`re` may take time that grows with the square of a text, and holds up the whole process meanwhile.
A module may use it for our own texts, for a `piece` of a text, or for patterns that are plainly
linear: none begins with a repeat that its next start would repeat, and what follows a repeat is
nothing that it matches. `benchmarks.growth` measures them with hostile texts.
"""

from pathlib import Path

from tests.architecture.tree import imports

MAY_USE_RE = frozenset(Path(__file__).with_name("may_use_re.txt").read_text("utf-8").split())


def test_only_modules_that_are_listed_read_text_with_re() -> None:
    """A new one is a decision: `core.patterns.Linear` is the rule."""
    users = {name.removeprefix("agent.") for name, used in imports().items() if "re" in used}
    assert users == MAY_USE_RE
