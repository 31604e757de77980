"""What becomes of own documents, on collections of our own: `python -m evals.own_documents`.

Counts the set. `--run` reads the collections in and asks each assistant its question, with the
sample's model: the share of planted facts that reach the writer's prompt, the differences that do,
and what is sent outside where only own documents may be used. `--export FOLDER` writes the files
and the questions for runs with a real model (the README beside this says how), and
`--texts ANSWERS` scores the texts of those: what of the facts and contradictions they tell.
"""

import argparse
import asyncio
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from agent.evaluation.answers import read_answers
from agent.knowledge.terms import terms
from evals.own_documents import sets
from evals.own_documents.runs import WRITERS, Seen, ingested, run


@dataclass
class Tally:
    """What of some runs of an assistant reached its writer; pairs are reached and all."""

    facts: list[bool] = field(default_factory=list)
    unlike: list[bool] = field(default_factory=list)
    """Of the facts those in files that share no word with the question."""
    sides: list[bool] = field(default_factory=list)
    """Of the contradictions, whether both passages did."""
    found: list[bool] = field(default_factory=list)
    """Of them, whether they were named as differences."""
    false: int = 0
    """Differences named that no label has."""
    requests: int = 0
    words: int = 0
    """Sent outside by the runs that may use own documents only."""
    lacking: list[str] = field(default_factory=list)

    def add(self, label: sets.Label, seen: Seen, *, only: bool) -> None:
        """Count a run."""
        for fact in label["facts"]:
            reached = sets.stands(fact["words"], seen.shown)
            self.facts.append(reached)
            self.lacking += [f"{label['collection']} {fact['words']}"] * (not reached)
            if fact["file"] in label["unlike"]:
                self.unlike.append(reached)
        pairs = label["contradictions"]
        self.sides += [all(sets.stands(p[s]["words"], seen.shown) for s in "ab") for p in pairs]
        named = [[is_named(pair, line) for pair in pairs] for line in seen.differences]
        self.found += [any(each) for each in zip(*named, strict=True)] or [False] * len(pairs)
        self.false += sum(not any(each) for each in named)
        if only:
            self.requests += len(seen.sent)
            self.words += sum(len(terms(text)) for text in seen.sent)

    def lines(self, *, misses: bool = False) -> Iterator[str]:
        """Yield what to print, with the facts that the writer was not shown where `misses`."""
        yield f"  facts at the writer        {_of(self.facts)}"
        yield f"  … in files of other words  {_of(self.unlike)}"
        yield f"  contradictions, both sides {_of(self.sides)}"
        yield f"  differences named          {_of(self.found)}, {self.false} false"
        yield f"  sent outside, only own     {self.requests} requests, {self.words} words"
        yield from (f"    lacks {name}" for name in dict.fromkeys(self.lacking) if misses)


def _of(found: Iterable[bool]) -> str:
    part, whole = sets.share(found)
    return f"{part}/{whole} ({part / whole:.1%})" if whole else "–"


def is_named(pair: sets.Label, line: str) -> bool:
    """Return whether a line of differences quotes both sides of a contradiction."""
    return all(
        any(sets.stands(piece, line) for piece in pair[side]["words"].split("|")) for side in "ab"
    )


async def measured(labels: Sequence[sets.Label], assistants: Sequence[str]) -> dict[str, Tally]:
    """Run the assistants over the collections, with and without the wish that nothing else is."""
    tallies = {assistant: Tally() for assistant in assistants}
    with tempfile.TemporaryDirectory() as folder:
        async with ingested([label["collection"] for label in labels], Path(folder)) as services:
            for assistant, tally in tallies.items():
                for label in labels:
                    for only in (False, True):
                        tally.add(
                            label, await run(assistant, label, services, only=only), only=only
                        )
    return tallies


def contents(labels: Sequence[sets.Label]) -> Iterator[str]:
    """Yield what the set has, a line a collection."""
    for label in labels:
        files = sets.sources(label["collection"])
        yield (
            f"{label['collection']:<12} {label['language']}, {len(files)} files,"
            f" {sum(map(len, files.values()))} characters, {len(label['facts'])} facts,"
            f" {len(label['contradictions'])} contradictions"
        )


def export(labels: Sequence[sets.Label], folder: Path) -> None:
    """Write the files by collection, and beside them its two questions as rows of a batch."""
    for label in labels:
        name = label["collection"]
        sets.write(name, folder / name)
        rows = [
            {"id": f"{name}{'-only' * only}", "question": sets.question(label, only=only)}
            for only in (False, True)
        ]
        lines = [json.dumps(row, ensure_ascii=False) for row in rows]
        folder.joinpath(f"{name}.jsonl").write_text("\n".join(lines) + "\n", "utf-8")


def texts_in(path: Path) -> dict[str, str]:
    """Return texts by name: those of a batch's rows, or of the Markdown files in a folder."""
    if path.is_dir():
        return {file.stem: file.read_text("utf-8") for file in sorted(path.glob("*.md"))}
    return {answer.id: answer.text for answer in read_answers(path, None)[0]}


def scored(labels: Sequence[sets.Label], texts: Mapping[str, str]) -> Iterator[str]:
    """Yield what texts tell, each named by its collection and perhaps more."""
    facts: list[bool] = []
    pairs: list[bool] = []
    for label in labels:
        own = {name: text for name, text in texts.items() if name.startswith(label["collection"])}
        for name, text in own.items():
            told = {row["words"]: sets.is_told(row, text) for row in label["facts"]}
            both = {row["about"]: sets.is_told(row, text) for row in label["contradictions"]}
            facts += told.values()
            pairs += both.values()
            lacking = [what for what, fine in {**told, **both}.items() if not fine]
            yield f"{name:<24} facts {_of(told.values())}, contradictions {_of(both.values())}"
            yield from (f"  lacks {what}" for what in lacking)
    yield f"{'all':<24} facts {_of(facts)}, contradictions {_of(pairs)}"


def main(arguments: Sequence[str]) -> None:
    """Do what the options say; without any, count the set."""
    parser = argparse.ArgumentParser(prog="python -m evals.own_documents", description=__doc__)
    parser.add_argument("--run", action="store_true", help="ask the assistants")
    parser.add_argument("--assistants", default=",".join(WRITERS), help="of them: names by commas")
    parser.add_argument("--collections", default="", help="of all: names by commas")
    parser.add_argument("--export", type=Path, help="write files and questions to this folder")
    parser.add_argument(
        "--texts", type=Path, help="score these rows of a batch, or NAME….md in a folder"
    )
    parser.add_argument("--misses", action="store_true", help="list the facts that lack")
    options = parser.parse_args(arguments)
    chosen = [name for name in options.collections.split(",") if name]
    labels = [each for each in sets.load() if not chosen or each["collection"] in chosen]
    if options.export:
        export(labels, options.export)
    if options.texts:
        print(*scored(labels, texts_in(options.texts)), sep="\n")
    if options.run:
        for name, tally in asyncio.run(measured(labels, options.assistants.split(","))).items():
            print(name, *tally.lines(misses=options.misses), sep="\n")
    if not (options.export or options.texts or options.run):
        print(*contents(labels), sep="\n")


if __name__ == "__main__":
    main(sys.argv[1:])
