"""How much ordinary Python the sandboxes run, by HumanEval's 164 programs with their tests."""

import gzip
import json
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path

from agent.sandbox.monty import MontyRunner
from agent.sandbox.process import ProcessRunner
from agent.sandbox.programs import CodeLimits

_PASSED = "all of its tests passed"


def programs(folder: Path) -> list[dict[str, str]]:
    """Return the set's rows."""
    text = gzip.decompress((folder / "HumanEval.jsonl.gz").read_bytes()).decode("utf-8")
    return [json.loads(line) for line in text.splitlines()]


async def report(rows: list[dict[str, str]], *, verbose: bool) -> AsyncIterator[str]:
    """Yield a line a sandbox, and (`verbose`) why the others did not run."""
    for make in (ProcessRunner, MontyRunner):
        runner, ran, why = make(CodeLimits()), 0, Counter[str]()
        try:
            for row in rows:
                code = (
                    f"{row['prompt']}{row['canonical_solution']}\n{row['test']}\n"
                    f"check({row['entry_point']})\nprint({_PASSED!r})"
                )
                result = str(await runner.run(code))
                ran += _PASSED in result
                if _PASSED not in result:
                    why[result.rstrip("')").rpartition("\\n")[2][-100:]] += 1
        finally:
            await runner.aclose()
        yield f"{make.__name__}: {ran} of {len(rows)} run"
        if verbose:
            for reason, count in why.most_common():
                yield f"  {count:>3} {reason}"
