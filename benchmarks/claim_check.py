"""The check of claims beside an answer: its CPU, and how long a reader waits for it.

    uv run python -m benchmarks.claim_check [--runs 5] [--sources 40] [--characters 4000] [--pace 4]

A made-up answer of 4,000 characters cites 40 made-up sources, each of its kind: pages of 2,000
characters and, one in four, the record of a place. Two thirds of its sentences stand in their
source, a third has a figure that none has. A judge that answers at once says of all that they are
supported. Each run has texts of its own, of which nothing is known
from the one before. The target is a tenth of the time in which the answer streams (`latencies`);
the first token comes before any of it.

Then texts of 12, 24 and 72 statements stream at 80 tokens a second, beside a judge who takes 1.5
seconds and 10 ms a token of its reply; every sixth statement fails. Told are the seconds from the
last word to the last ruling, and from there to the last of the judge's wordings. The clock goes
`--pace` times as fast; so the CPU weighs as much more.
"""

import argparse
import asyncio
import json
import random
import statistics
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, cast

from agent.assistants.common.claims import ClaimCheck
from agent.core.strings import estimated_tokens
from agent.evidence.claims.judging import Ruling, passages_block, statements_block
from agent.evidence.claims.passages import Evidence, Record
from agent.evidence.claims.statements import Statement
from agent.evidence.notation import finished_notation
from agent.evidence.types import Place, Source
from agent.texts import Language
from benchmarks.latencies import Latencies
from benchmarks.table import Line, header, show

LANGUAGES: tuple[Language, ...] = ("zh", "en")
_PAGE, _SECONDS = 2000, 60.0
_SHARE = 0.1
_STREAM, _FIRST, _EACH = 80, 1.5, 0.010
"""Tokens a second of the text; seconds of a reply until its first token, and of each."""
_RULED, _REWORDED = 3.5, 3.0
_COUNTS = (12, 24, 72)
_FAILS = 6
_PIECE = 4
"""Tokens that stream at once."""
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
    notation = finished_notation(used, sources)
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
    await check.finish(text)
    done = check.finished(text, {})
    return time.process_time() - began, done.counts["total"]


@dataclass
class SlowJudge:
    """Reply as late as a judge would who writes the same; every sixth statement fails."""

    pace: float
    ruled: float = 0.0
    """When the last statement of the text was ruled on."""

    async def __call__(self, batch: Sequence[Statement], evidence: Evidence) -> list[Ruling]:
        passages_block(batch, evidence)
        rulings = [self._ruling(one, evidence) for one in batch]
        written = [
            {"r": " ".join([one.id, one.v, *one.p])}
            | one.model_dump(exclude_defaults=True, exclude={"id", "v", "p"})
            for one in rulings
        ]
        await self.write({"rulings": written})
        if not any(_MENDED in one.plain for one in batch):
            self.ruled = time.monotonic()
        return rulings

    async def write(self, reply: dict[str, Any]) -> None:
        """Take the time that it takes to write a reply."""
        text = json.dumps(reply, ensure_ascii=False, separators=(",", ":"))
        await asyncio.sleep((_FIRST + _EACH * estimated_tokens(text)) / self.pace)

    def _ruling(self, one: Statement, evidence: Evidence) -> Ruling:
        names = [passage.name for passage in evidence.telling(one, 100)[0][:1]]
        if int(one.name) % _FAILS or _MENDED in one.plain:
            return Ruling(id=one.name, v="s", p=names)
        bad = next((words for words in map(_words_of, _UNTRUE.values()) if words in one.plain), "")
        bad = bad or one.plain[-8:].rstrip("。.")
        return Ruling(id=one.name, v="p", p=names, bad=[bad], fix=mended(one.plain, bad))


_MENDED = "~"
_UNTRUE: dict[Language, str] = {"zh": "，另有免费轮椅可借", "en": ", wheelchairs free"}
"""What no page says."""


def _words_of(untrue: str) -> str:
    return untrue.strip("，, ")


def mended(plain: str, bad: str) -> str:
    """Return a statement without its last words, so that it is known again."""
    return f"{plain[: plain.rfind(bad)]}{_MENDED}"


def paragraphs(language: Language, count: int) -> tuple[str, dict[str, Source], dict[str, Record]]:
    """Return a text of so many statements in paragraphs of four, with what it rests on."""
    pick = random.Random(count)
    names = [f"w0-{n}" for n in range(max(6, count // 2))]
    pages = {name: page(pick, language) for name in names}
    sources = {
        name: Source(id=name, kind="page", title=name, url=f"https://{name}.example/",
                     provider="x", quotes=[], number=number)
        for number, name in enumerate(names, 1)
    }  # fmt: skip
    end, blank = ("。", "") if language == "zh" else (".", " ")
    said = [
        pick.choice(pages[names[n % len(names)]][::3]) + _UNTRUE[language] * ((n + 1) % _FAILS == 0)
        for n in range(count)
    ]
    cited = [
        f"[{n % len(names) + 1}](https://{names[n % len(names)]}.example/)" for n in range(count)
    ]
    lines = [f"{text}{blank}{link}{end}" for text, link in zip(said, cited, strict=True)]
    blocks = [blank.join(lines[at : at + 4]) for at in range(0, count, 4)]
    return "\n\n".join(blocks), sources, {name: Record(pages[name]) for name in names}


async def waiting(language: Language, count: int, pace: float) -> tuple[float, float]:
    """Return the seconds from a text's end to the last ruling, and from there to all wordings."""
    text, sources, records = paragraphs(language, count)
    used = list(sources.values())
    judge = SlowJudge(pace)

    async def read() -> Evidence:
        return Evidence(records, question=text[:40], today="2026-11-23")

    check = ClaimCheck(asyncio.ensure_future(read()), used, sources, language, judge)
    size = max(1, len(text) * _PIECE // estimated_tokens(text))
    for at in range(0, len(text), size):
        check.feed(text[at : at + size])
        await asyncio.sleep(_PIECE / _STREAM / pace)
    ended = time.monotonic()
    await check.finish(text)
    done = time.monotonic()
    failed = sum(outcome.verdict == "missing" for outcome in check.outcomes)
    assert failed == sum(outcome.revised is not None for outcome in check.outcomes) > 0
    return (judge.ruled - ended) * pace, (done - judge.ruled) * pace


def waits(language: Language, count: int, pace: float) -> list[Line]:
    """Return how long the reader of a text of so many statements waits for the judge."""
    row = f"{language}, {count} statements"
    ruled, reworded = asyncio.run(waiting(language, count, pace))
    return [
        Line(row, "last ruling after the text, s", ruled, _RULED, digits=1),
        Line(row, "judge's wordings after that, s", reworded, _REWORDED, digits=1),
    ]


def main(argv: Sequence[str] | None = None) -> int:
    """Print the table; 1 if a target is missed, 0 otherwise."""
    parser = argparse.ArgumentParser(prog="benchmarks.claim_check", description=__doc__)
    parser.add_argument("--runs", type=int, default=5, help="of each row")
    parser.add_argument("--sources", type=int, default=40)
    parser.add_argument("--characters", type=int, default=4000, help="of the answer")
    parser.add_argument("--pace", type=float, default=2, help="of the clock beside the streams")
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
    for language, count in product(LANGUAGES, _COUNTS):
        lines += waits(language, count, options.pace)
        show(lines[-2:])
    return 1 if any(line.holds is False for line in lines) else 0


if __name__ == "__main__":
    sys.exit(main())
