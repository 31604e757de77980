"""Write the streets of the page's map from an extract of OpenStreetMap: one file of vector tiles.

`make basemap FILE=city.osm.pbf` writes city.pmtiles beside it, for MAP_TILES=pmtiles:PATH. It needs
tilemaker (https://tilemaker.org; `apt install tilemaker`), 2.2 or newer.
"""

import argparse
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent
SUFFIX = ".osm.pbf"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("extract", type=Path, help=f"an extract of OpenStreetMap, *{SUFFIX}")
    extract: Path = parser.parse_args().extract
    if problem := missing(extract):
        sys.exit(problem)
    target = extract.with_name(extract.name.removesuffix(SUFFIX) + ".pmtiles")
    convert(extract, target)
    print(f"{target}: {target.stat().st_size:,} bytes")
    print(f"MAP_TILES=pmtiles:{target.resolve()}")


def missing(extract: Path) -> str:
    """Return one line that says what is missing, empty where nothing is."""
    if not extract.name.endswith(SUFFIX):
        return f"{extract}: must be an extract of OpenStreetMap, *{SUFFIX}"
    if not extract.is_file():
        return f"{extract}: there is no such file (extracts: https://download.geofabrik.de)"
    if shutil.which("tilemaker") is None:
        return "tilemaker is not installed: apt install tilemaker, or https://tilemaker.org"
    try:
        import pmtiles.convert  # noqa: F401
    except ImportError:
        return "pmtiles is not installed: make basemap brings it"
    return ""


def convert(extract: Path, target: Path) -> None:
    """Have tilemaker write an MBTiles file, and make the PMTiles file of it."""
    from pmtiles.convert import mbtiles_to_pmtiles

    with tempfile.TemporaryDirectory() as folder:
        tiles = Path(folder) / "streets.mbtiles"
        command = ("tilemaker", "--input", str(extract.resolve()), "--output", str(tiles),
                   "--config", "config.json", "--process", "process.lua")  # fmt: skip
        subprocess.run(command, cwd=HERE, check=True)
        mbtiles_to_pmtiles(str(tiles), str(target), None)


if __name__ == "__main__":
    main()
