"""What code makes of a judge's rulings, by labelled rows: sums, records, days, citations."""

from typing import Any

import pytest
from evals.ablate import proved_row, rows


@pytest.mark.parametrize("row", rows("claims"), ids=lambda row: row["kind"])
def test_a_ruling_is_taken_as_far_as_its_row_says(row: dict[str, Any]) -> None:
    assert proved_row(row) == row["expect"]
