"""Measure on public sets that nobody of this project wrote: `python -m evals.outside --data DIR`.

Nothing of the sets is bundled. DIR holds, as far as they are there: `recognizers/*.json`
(microsoft/Recognizers-Text, Specs), `wice/*.jsonl` (ryokamoi/wice), `crosswoz/`
(thu-coai/CrossWOZ), `xquad/` (google-deepmind/xquad), `humaneval/` (openai/human-eval), `osm_*/`
(extracts of OpenStreetMap, with `osmium` installed), `mobilitybench/` (AMAP-ML/MobilityBench, the
sample, which has no licence; with `tasks.jsonl` where somebody wrote the map's tasks).
Of the first two develop on the odd rows, report the even ones. The judge of the claims is played:
`--prompts TO` writes what it is shown, `--replies FROM` reads its replies.
"""

import argparse
import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from evals.outside import crosswoz, humaneval, mobility, osm, recognizers, wice, xquad


def main() -> None:
    """Print one table a set that the folder has."""
    parser = argparse.ArgumentParser(prog="python -m evals.outside", description=__doc__)
    parser.add_argument("--data", type=Path, required=True, help="the folder with the sets")
    parser.add_argument("--half", choices=("odd", "even", "all"), default="odd")
    parser.add_argument("--verbose", action="store_true", help="also print what is not read")
    parser.add_argument("--prompts", type=Path, help="write the judge's prompts into this folder")
    parser.add_argument("--replies", type=Path, help="read the judge's replies from this folder")
    parser.add_argument("--limit", type=int, default=0, help="prompts at most")
    arguments = parser.parse_args()
    folder, half = arguments.data, arguments.half
    if (folder / "recognizers").is_dir():
        print(f"# figures, {half} rows")
        print(
            *recognizers.report(folder / "recognizers", half, verbose=arguments.verbose), sep="\n"
        )
    if (folder / "crosswoz").is_dir():
        print("# places asked for, and demands on them")
        print(*crosswoz.report(folder / "crosswoz"), sep="\n")
    if (folder / "mobilitybench").is_dir():
        print("# what a map is asked for")
        print(*mobility.report(folder / "mobilitybench", verbose=arguments.verbose), sep="\n")
    for extract in osm.extracts(folder):
        print(f"# opening hours of {extract.name}")
        print(*osm.report(extract, verbose=arguments.verbose), sep="\n")
    if (folder / "xquad").is_dir():
        print("# finding by words")
        asyncio.run(_print(xquad.report(xquad.languages(folder / "xquad"))))
    if (folder / "humaneval").is_dir():
        print("# programs")
        asyncio.run(
            _print(
                humaneval.report(
                    humaneval.programs(folder / "humaneval"), verbose=arguments.verbose
                )
            )
        )
    if (folder / "wice").is_dir():
        print(f"# claims, {half} rows")
        print(*wice.recall(folder / "wice", half), sep="\n")
        if arguments.prompts:
            wice.write(folder / "wice", half, arguments.limit, arguments.prompts)
        if arguments.replies:
            print(*wice.report(folder / "wice", half, arguments.replies), sep="\n")


async def _print(lines: AsyncIterator[str]) -> None:
    async for line in lines:
        print(line)


if __name__ == "__main__":
    main()
