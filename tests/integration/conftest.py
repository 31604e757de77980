"""What several files of integration tests share."""

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.plan_lab import World


@pytest.fixture(scope="module", name="shared")
def shared_world() -> "Iterator[World]":
    """The services of a dossier, started once for a file; each test clears what they saw."""
    from tests.support.plan_lab import running_world

    with running_world() as world:
        yield world
