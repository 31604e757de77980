"""Which figures say the same, by rows of our own: `python -m evals.figures`.

A row of `pairs.jsonl` has a sentence, a source, whether every figure of the sentence stands in the
source, and where the pair comes from. Prints what comes out otherwise.
"""

import json
from pathlib import Path
from typing import Any

from agent.evidence.figures import figures, same

ROWS = Path(__file__).parent / "pairs.jsonl"


def load() -> list[dict[str, Any]]:
    """Return the rows."""
    return [json.loads(line) for line in ROWS.read_text("utf-8").splitlines()]


def stands(sentence: str, source: str) -> bool:
    """Return whether the sentence has figures and the source has each of them."""
    own, others = figures(sentence), figures(source)
    return bool(own) and all(any(same(one, other) for other in others) for one in own)


def main() -> None:
    """Print the rows that come out otherwise than labelled, and how many do not."""
    rows = load()
    wrong = [row for row in rows if stands(row["sentence"], row["source"]) != row["same"]]
    for row in wrong:
        print(f"{'same ' if row['same'] else 'other'} {row['sentence']!r} {row['source']!r}")
    print(f"{len(rows) - len(wrong)} of {len(rows)}")


if __name__ == "__main__":
    main()
