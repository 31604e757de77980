"""Measure on public sets that nobody of this project wrote: `python -m evals.outside --data DIR`.

Nothing of the sets is bundled: DIR holds `recognizers/*.json` (microsoft/Recognizers-Text, Specs).
Develop on the odd rows, report the even ones.
"""

import argparse
from pathlib import Path

from evals.outside import recognizers


def main() -> None:
    """Print one table a set that the folder has."""
    parser = argparse.ArgumentParser(prog="python -m evals.outside", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the sets")
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--verbose", action="store_true", help="also print what is not read")
    arguments = parser.parse_args()
    print(f"# figures, {arguments.half} rows")
    folder = arguments.data / "recognizers"
    print(*recognizers.report(folder, arguments.half, verbose=arguments.verbose), sep="\n")


if __name__ == "__main__":
    main()
