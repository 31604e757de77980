"""Write src/agent/page/vendor: the page's libraries, bundled from exact, checked packages.

`make vendor` installs what vendor.package-lock.json pins (every tarball's integrity is checked)
and bundles it with esbuild. After changing a version in vendor.package.json, `--lock` first.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAGE = Path(__file__).parent.parent / "src/agent/page"
OUT = PAGE / "vendor"
PINS = {"package.json": "vendor.package.json", "package-lock.json": "vendor.package-lock.json"}
ESBUILD = ("--bundle", "--format=esm", "--minify", "--target=es2022", "--platform=browser",
           "--charset=utf8", "--legal-comments=none", "--log-level=warning")  # fmt: skip
# Ready-made looks of a map, of which the page uses none.
WITHOUT = "@protomaps/basemaps"
# By the same makers under the same licence; their package leaves the text out.
LICENCE_WITH = {"pmtiles": "protomaps-leaflet"}
NPM = ("--ignore-scripts", "--no-audit", "--no-fund", "--no-update-notifier")


@dataclass(frozen=True)
class Bundle:
    """One file of vendor/: what esbuild reads, and the package it is known by."""

    name: str
    package: str
    entry: str


BUNDLES = (
    Bundle("langgraph-sdk.js", "@langchain/langgraph-sdk",
           'export { Client } from "@langchain/langgraph-sdk/client";'),
    Bundle("leaflet.js", "leaflet",
           'import * as L from "leaflet/dist/leaflet-src.esm.js"; export { L, L as default };'),
    Bundle("leaflet.css", "leaflet", '@import "./leaflet-page.css";'),
    Bundle("protomaps-leaflet.js", "protomaps-leaflet",
           "export { leafletLayer, PolygonSymbolizer, LineSymbolizer, CenteredTextSymbolizer, "
           'LineLabelSymbolizer } from "protomaps-leaflet";'),
    Bundle("markdown-it.js", "markdown-it", 'export { default } from "markdown-it";'),
    Bundle("purify.js", "dompurify", 'export { default } from "dompurify";'),
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--lock", action="store_true", help="renew the lock, bundle nothing")
    if parser.parse_args().lock:
        relock()
        return
    with tempfile.TemporaryDirectory() as folder:
        bundle_all(Path(folder))


def relock() -> None:
    """The lock of vendor.package.json, without the addresses packages came from."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copy(PAGE / PINS["package.json"], folder / "package.json")
        run(folder, "npm", "install", "--package-lock-only", *NPM)
        lock = json.loads((folder / "package-lock.json").read_text("utf-8"))
    for package in lock["packages"].values():
        package.pop("resolved", None)
    write_json(PAGE / PINS["package-lock.json"], lock)


def bundle_all(folder: Path) -> None:
    """Installs in `folder`, writes every file of vendor/ anew."""
    for installed, pinned in PINS.items():
        shutil.copy(PAGE / pinned, folder / installed)
    run(folder, "npm", "ci", *NPM)
    write_stylesheet(folder)
    for old in OUT.iterdir():
        if not old.name.endswith(".d.ts"):  # what the page uses of a library, written by us
            old.unlink()
    versions = {bundle.name: written(folder, bundle) for bundle in BUNDLES}
    packages = {name for told in versions.values() for name in told["packages"]}
    (OUT / "LICENSES.txt").write_text(licences(folder, packages), "utf-8")
    write_json(OUT / "VERSIONS.json", versions)
    print(f"{sum(told['bytes'] for told in versions.values())} bytes in {OUT}")


def write_stylesheet(folder: Path) -> None:
    """Leaflet's stylesheet without the pictures, which the page does not have."""
    css = (folder / "node_modules/leaflet/dist/leaflet.css").read_text("utf-8")
    (folder / "leaflet-page.css").write_text(re.sub(r"[a-z-]+:\s*url\([^)]*\);?", "", css), "utf-8")


def written(folder: Path, bundle: Bundle) -> dict[str, Any]:
    """Writes one file; returns its line of VERSIONS.json."""
    kind = bundle.name.rpartition(".")[2]
    entry, meta, made = folder / f"entry.{kind}", folder / "meta.json", folder / bundle.name
    entry.write_text(bundle.entry + "\n", "utf-8")
    (folder / "nothing.js").write_text("export const namedFlavor = undefined;\n", "utf-8")
    run(folder, "node_modules/.bin/esbuild", *ESBUILD, f"--alias:{WITHOUT}=./nothing.js",
        entry.name, f"--outfile={made.name}", f"--metafile={meta.name}")  # fmt: skip
    packages = {name: manifest(folder, name)["version"] for name in bundled(meta) or {"leaflet"}}
    first = f"{bundle.package} {packages[bundle.package]}"
    banner = f"/* {first}, bundled and minified; licences: LICENSES.txt */\n"
    content = (banner + made.read_text("utf-8")).encode()
    (OUT / bundle.name).write_bytes(content)
    return {
        "sha256": hashlib.sha256(content).hexdigest(),
        "bytes": len(content),
        "packages": packages,
    }


def bundled(meta: Path) -> list[str]:
    """The packages whose code went into a bundle, in order."""
    inputs = json.loads(meta.read_text("utf-8"))["inputs"]
    found = (re.match(r"node_modules/((?:@[^/]+/)?[^/]+)/", path) for path in inputs)
    return sorted({match[1] for match in found if match})


def licences(folder: Path, packages: Iterable[str]) -> str:
    """Every bundled package's own licence, in full."""
    parts = []
    for name in sorted(packages):
        told = manifest(folder, name)
        home = folder / "node_modules" / LICENCE_WITH.get(name, name)
        files = sorted(home.glob("[Ll][Ii][Cc][Ee][Nn][CcSs][Ee]*"))
        if not files:
            raise SystemExit(f"{name} ships no licence")
        head = f"{name} {told['version']} ({told['license']})"
        texts = [file.read_text("utf-8").replace("\r\n", "\n").strip() for file in files]
        parts.append("\n\n".join([head, "-" * len(head), *texts]))
    return f"\n\n{'=' * 80}\n\n".join(parts) + "\n"


def manifest(folder: Path, package: str) -> dict[str, Any]:
    text = (folder / "node_modules" / package / "package.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def run(folder: Path, *command: str) -> None:
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)


def write_json(path: Path, content: dict[str, Any]) -> None:
    path.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", "utf-8")


if __name__ == "__main__":
    main()
