"""What a model is asked does not depend on the order of sets, which differs by process.

A run that goes on in another process would pay again for a prompt in another order.
"""

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.mark.node
@pytest.mark.slow
def test_two_processes_with_different_hash_seeds_send_the_same_prompts(tmp_path: Path) -> None:
    processes = [
        subprocess.Popen(
            [sys.executable, "-m", "tests.support.prompts_sent", str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed},
            stdout=subprocess.PIPE,
            encoding="utf-8",
        )
        for seed in ("1", "2")
    ]
    one, other = (process.communicate(timeout=300)[0].splitlines() for process in processes)
    assert one == other
    assert len(one) > 50
