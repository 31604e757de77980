"""What a model is asked does not depend on the order of sets, which differs by process.

A run that goes on in another process would pay again for a prompt in another order.
"""

import asyncio
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.prompts_sent import prompts_sent


@pytest.mark.node
@pytest.mark.slow
def test_a_process_with_another_hash_seed_sends_the_same_prompts(tmp_path: Path) -> None:
    # This process has a seed by chance, which is never the other's.
    assert os.environ.get("PYTHONHASHSEED", "random") == "random"
    with subprocess.Popen(
        [sys.executable, "-m", "tests.support.prompts_sent", str(tmp_path / "other")],
        env={**os.environ, "PYTHONHASHSEED": "1"},
        stdout=subprocess.PIPE,
        encoding="utf-8",
    ) as process:
        own = asyncio.run(prompts_sent(tmp_path / "own"))
        other = process.communicate(timeout=300)[0]
    one = "\n".join(own).splitlines()
    assert one == other.splitlines()
    assert len(one) > 50
