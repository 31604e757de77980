"""What several files of integration tests share."""

from collections.abc import Iterator
from datetime import datetime
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from tests.support.plan_lab import World


@pytest.fixture
def still_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let it be the same minute in every prompt of a test, however long it takes."""
    from agent.assistants.common.services import Services

    now = datetime.now().astimezone()
    monkeypatch.setattr(Services, "now", lambda _: now)


@pytest.fixture(scope="module", name="shared")
def shared_world() -> "Iterator[World]":
    """The services of a dossier, started once for a file; each test clears what they saw."""
    from tests.support.plan_lab import running_world

    with running_world() as world:
        yield world
