"""What the page is served with from others: the very bytes we recorded, licensed, and small."""

import gzip
import hashlib
import json
import re
from typing import Any

from tests.architecture.tree import SOURCE

PAGE = SOURCE / "agent/page"
VENDOR = PAGE / "vendor"
VERSIONS: dict[str, Any] = json.loads((VENDOR / "VERSIONS.json").read_text("utf-8"))
LOCK: dict[str, Any] = json.loads((PAGE / "vendor.package-lock.json").read_text("utf-8"))[
    "packages"
]
COMPRESSED_BYTES = 200_000


def packages() -> dict[str, str]:
    """Name → version of everything that is in some file."""
    return {name: v for told in VERSIONS.values() for name, v in told["packages"].items()}


def test_every_vendored_file_is_as_it_was_recorded() -> None:
    found = {
        path.name: hashlib.sha256(path.read_bytes()).hexdigest()
        for path in VENDOR.iterdir()
        if path.name not in {"VERSIONS.json", "LICENSES.txt"} and path.suffix != ".ts"
    }
    assert found == {name: told["sha256"] for name, told in VERSIONS.items()}


def test_every_vendored_package_is_pinned_with_its_integrity() -> None:
    pinned = {name: LOCK[f"node_modules/{name}"] for name in packages()}
    assert {name: package["version"] for name, package in pinned.items()} == packages()
    assert all(p["integrity"].startswith("sha512-") for k, p in LOCK.items() if k)


def test_the_pins_are_exact_and_name_no_address() -> None:
    wanted = json.loads((PAGE / "vendor.package.json").read_text("utf-8"))
    versions = {**wanted["dependencies"], **wanted["devDependencies"]}
    assert [v for v in versions.values() if not re.fullmatch(r"\d+\.\d+\.\d+", v)] == []
    assert [name for name, package in LOCK.items() if "resolved" in package] == []


def test_every_vendored_script_declares_what_the_page_uses_of_it() -> None:
    scripts = {path.stem for path in VENDOR.glob("*.js")}
    assert {path.name.removesuffix(".d.ts") for path in VENDOR.glob("*.d.ts")} == scripts


def test_every_vendored_package_comes_with_its_licence() -> None:
    heads = re.findall(
        r"^(\S+) (\d\S+) \(.+\)\n\n-+$", (VENDOR / "LICENSES.txt").read_text("utf-8"), re.MULTILINE
    )
    assert dict(heads) == packages()


def test_vendored_code_needs_no_evaluation_and_loads_nothing() -> None:
    for path in VENDOR.glob("*.js"):
        code = path.read_text("utf-8")
        assert not re.search(r"\beval\(|\bnew Function\(|\bimport\(|sourceMappingURL", code)
    assert "url(" not in (VENDOR / "leaflet.css").read_text("utf-8")


def test_the_vendored_files_are_small_when_compressed() -> None:
    assert sum(len(gzip.compress((VENDOR / name).read_bytes())) for name in VERSIONS) < (
        COMPRESSED_BYTES
    )


def test_the_page_s_own_scripts_stay_small() -> None:
    """A fifth more than the 292,858 bytes of before sharing, uploads, memory and cards."""
    assert sum(path.stat().st_size for path in (PAGE / "js").rglob("*.js")) <= 351_430
