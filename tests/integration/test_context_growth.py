"""The benchmark of prompt sizes runs whole on a small scale, and what it promises holds."""

import re

import pytest
from benchmarks import context_growth


def test_prompts_stay_flat_with_clearing_and_grow_without(
    capsys: pytest.CaptureFixture[str],
) -> None:
    code = context_growth.main(["--topics", "3", "--rounds", "3", "--page-kb", "20"])
    printed = capsys.readouterr().out
    assert code == 0, printed
    rounds = [
        [int(number) for number in line.split()]
        for line in printed.splitlines()
        if re.fullmatch(r"[\s\d]+", line)
    ]
    assert [row[0] for row in rounds] == list(range(1, 10))
    cleared, kept = [row[2] for row in rounds], [row[3] for row in rounds]
    assert kept == sorted(kept)
    assert cleared[3] < cleared[2]
    assert kept[-1] > 2 * max(cleared)
    assert "useful pages lost" in printed
