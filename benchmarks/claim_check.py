"""The CPU of the check of claims beside an answer: its evidence, its prompts and its proof.

    uv run python -m benchmarks.claim_check [--runs 5] [--sources 40] [--characters 4000]

A made-up answer of 4,000 characters cites 40 made-up sources, each of its kind: pages of 2,000
characters and, one in four, the record of a place. Two thirds of its sentences stand in their
source, a third has a figure that none has. A judge that answers at once says of all that they are
supported. Each run has texts of its own, of which nothing is known
from the one before. The target is a tenth of the time in which the answer streams (`latencies`);
the first token comes before any of it.
"""

import argparse
import asyncio
import random
import statistics
import sys
import time
from collections.abc import Sequence
from typing import cast

from agent.assistants.common.claims import ClaimCheck
from agent.evidence.claims.judging import Ruling, passages_block, statements_block
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import Statement, numbered
from agent.evidence.types import Place, Source
from agent.texts import Language
from benchmarks.latencies import Latencies
from benchmarks.table import Line, header, show

LANGUAGES: tuple[Language, ...] = ("zh", "en")
_PAGE, _SECONDS = 2000, 60.0
_SHARE = 0.1
_WORDS: dict[Language, Sequence[str]] = {
    "zh": ("展览", "电池", "车站", "湖边", "票价", "价格", "门口", "研究", "成本", "地铁", "茶馆"),
    "en": ("museum", "battery", "station", "lake", "price", "entrance", "study", "river", "tower"),
}


def sentence(pick: random.Random, language: Language) -> str:
    """Return a sentence with three figures, as pages have them."""
    words = [pick.choice(_WORDS[language]) for _ in range(8)]
    price, percent, year = pick.randint(2, 900), pick.randint(1, 99), pick.randint(1950, 2026)
    if language == "zh":
        return f"{''.join(words[:5])}在{year}年为{price}元，{''.join(words[5:])}占{percent}%"
    return (
        f"The {' '.join(words[:5])} cost {price} euros in {year}, {' '.join(words[5:])} {percent}%"
    )


def remark(pick: random.Random, language: Language) -> str:
    """Return a sentence without figures."""
    return ("" if language == "zh" else " ").join(pick.choice(_WORDS[language]) for _ in range(10))


def page(pick: random.Random, language: Language) -> list[str]:
    """Return the sentences of a page, one in three with figures."""
    written: list[str] = []
    while sum(map(len, written)) < _PAGE:
        written += [sentence(pick, language), remark(pick, language), remark(pick, language)]
    return written


def place(pick: random.Random, name: str, language: Language) -> Place:
    """Return the record of a place of which the check reads the name and the hours."""
    title = f"{pick.choice(_WORDS[language])} {name}" + ("(湖滨店)" if language == "zh" else "")
    return cast(
        Place,
        {
            "id": f"amap:{name}",
            "name": title,
            "source": name,
            "open_time": "09:00-21:00",
            "cost": 40.0,
            "rating": 4.5,
            "distance_m": 300,
        },
    )


def prepared(
    language: Language, count: int, characters: int, seed: int
) -> tuple[str, dict[str, Source], dict[str, list[str]], dict[str, Place]]:
    """Return an answer, its sources, what each says, and which of them are places."""
    pick = random.Random(seed)
    names = [f"w0-{n}" for n in range(count)]
    texts = {name: page(pick, language) for name in names}
    places = {name: place(pick, name, language) for name in names[::4]}
    for name, one in places.items():
        texts[name] = [f"{one['name']} | 300 m | ★4.5 | ¥40 | 09:00-21:00", *texts[name][:2]]
    sources = {
        name: Source(id=name, kind="page", title=name, url=f"https://{name}.example/",
                     provider="x", quotes=[], number=number)
        for number, name in enumerate(names, 1)
    }  # fmt: skip
    rows: list[str] = []
    for number in range(10_000):
        name = names[number % count]
        said = pick.choice(texts[name][::3]) if number % 3 else sentence(pick, language)
        rows.append(f"{said} [{sources[name]['number']}]({sources[name]['url']}).")
        if sum(map(len, rows)) > characters:
            break
    return "\n".join(rows), sources, texts, places


async def seconds(language: Language, count: int, characters: int, seed: int) -> tuple[float, int]:
    """Return the CPU seconds of one check, and how many statements it judged."""
    text, sources, texts, places = prepared(language, count, characters, seed)
    used = list(sources.values())
    notation = numbered(used, sources)
    began = time.process_time()

    async def read() -> Evidence:
        records = {name: Record(texts[name], places.get(name)) for name in sources}
        return Evidence(records, question=text[:40], today="2026-11-23")

    async def judge(batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        names = [line.split(" ", 1)[0] for line in passages_block(batch, evidence).splitlines()]
        statements_block(batch, evidence, notation)
        bearing = {evidence.by_name[name].source: name for name in names}
        return [
            Ruling(id=one.name, v="s", p=[bearing[n] for n in one.cited if n in bearing])
            for one in batch
        ]

    check = ClaimCheck(asyncio.ensure_future(read()), used, sources, language, judge)
    await check.finish(text, seconds=_SECONDS)
    done = check.finished(text, {})
    return time.process_time() - began, done.counts["total"]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a target is missed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.claim_check", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each row")
    parser.add_argument("--sources", type=int, default=40)
    parser.add_argument("--characters", type=int, default=4000, help="of the answer")
    options = parser.parse_args(argv)
    limit = 1000 * _SHARE * Latencies().answer
    print(header(), flush=True)
    lines: list[Line] = []
    for language in LANGUAGES:
        runs = [
            asyncio.run(seconds(language, options.sources, options.characters, seed))
            for seed in range(5, 5 + options.runs)
        ]
        spent = statistics.median(run[0] for run in runs) * 1000
        note = f"{runs[0][1]} sentences, {options.sources} sources"
        lines.append(Line(language, "CPU of the check, ms", spent, limit, note, digits=0))
        show(lines[-1:])
    return 1 if any(line.holds is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
