"""`make basemap`: what it needs it says, and what it writes the page can draw."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
TOOL = ROOT / "tools/basemap/basemap.py"


@pytest.mark.parametrize(
    ("name", "exists", "said"),
    [
        ("city.zip", True, "must be an extract of OpenStreetMap"),
        ("city.osm.pbf", False, "there is no such file"),
        ("city.osm.pbf", True, "tilemaker is not installed"),
    ],
)
def test_it_says_in_one_line_what_is_missing(
    tmp_path: Path, name: str, exists: bool, said: str
) -> None:
    file = tmp_path / name
    if exists:
        file.write_bytes(b"")
    ran = subprocess.run(
        [sys.executable, str(TOOL), str(file)],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 1
    [line] = ran.stderr.splitlines()
    assert said in line


def test_the_page_draws_every_layer_that_it_writes() -> None:
    written = json.loads((TOOL.parent / "config.json").read_text("utf-8"))["layers"]
    lua = (TOOL.parent / "process.lua").read_text("utf-8")
    assert set(re.findall(r'write\(call, "(\w+)"', lua)) == set(written)
    drawn = (ROOT / "src/agent/page/js/map/vector_tiles.js").read_text("utf-8")
    for layer in written:
        assert f'area("{layer}"' in drawn or f'dataLayer: "{layer}"' in drawn, layer
