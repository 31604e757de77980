"""Name the benchmarks whose files are read as they are published, by the columns of a row."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

Rubric = Literal["short", "report"]
"""The kind of answer a benchmark wants: a short one that is right or wrong, or a report."""


@dataclass(frozen=True)
class Benchmark:
    """Hold how a benchmark's rows are recognised; names are those of `records.plain_name`."""

    title: str
    columns: frozenset[str]
    rubric: Rubric = "short"
    id: tuple[str, ...] = ()
    """Columns that hold the row's id and have no name that says so."""


def _columns(*names: str) -> frozenset[str]:
    return frozenset(names)


# In this order: the first whose columns a row has.
BENCHMARKS: dict[str, Benchmark] = {
    "browsecomp": Benchmark("BrowseComp", _columns("problem", "answer", "problem_topic")),
    "browsecomp_zh": Benchmark("BrowseComp-ZH", _columns("topic", "question", "answer", "canary")),
    "xbench": Benchmark("xbench-DeepSearch", _columns("id", "prompt", "answer", "canary")),
    "simpleqa": Benchmark("SimpleQA", _columns("metadata", "problem", "answer")),
    "frames": Benchmark(
        "FRAMES",
        _columns("prompt", "answer", "reasoning_types", "wiki_links"),
        id=("", "unnamed:_0"),
    ),
    "gaia": Benchmark("GAIA", _columns("task_id", "question", "level")),
    "webwalkerqa": Benchmark("WebWalkerQA", _columns("question", "answer", "root_url", "info")),
    "deepresearch_bench": Benchmark(
        "DeepResearch Bench", _columns("id", "topic", "language", "prompt"), rubric="report"
    ),
}


def benchmark_of(fields: Mapping[str, Any]) -> str | None:
    """Return the name of the benchmark that a row has the columns of, or None."""
    names = fields.keys()
    return next((name for name, one in BENCHMARKS.items() if one.columns <= names), None)


def missing_columns(fields: Mapping[str, Any], name: str) -> list[str]:
    """Return the columns of a benchmark that a row lacks, sorted."""
    return sorted(BENCHMARKS[name].columns - fields.keys())
