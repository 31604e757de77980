"""Each known defect of systems like this one that can occur here has a test with its id."""

import re

from tests.architecture.tree import ROOT, python_files

_GROUPS = {"d": 30, "s": 9, "a": 9}
CANNOT_OCCUR = {
    "d29": "a page that cancels by reloading: there is no page yet; cancelling is tested on runs",
}
NAMED = re.compile(r"def test_((?:[dsa]\d{1,2}_)+)")


def test_every_defect_that_can_occur_has_a_test_named_after_it() -> None:
    files = [*python_files("tests"), ROOT / "test_mcp_integration.py"]
    named = {
        name
        for path in files
        for found in NAMED.findall(path.read_text("utf-8"))
        for name in found.strip("_").split("_")
    }
    known = {f"{group}{number}" for group, last in _GROUPS.items() for number in range(1, last + 1)}
    assert sorted(known - named - set(CANNOT_OCCUR)) == []
    assert sorted(named - known) == []
    assert sorted(named & set(CANNOT_OCCUR)) == []
