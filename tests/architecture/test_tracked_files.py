"""What no tracked file may hold: keys, machines' paths, package registries."""

import functools
import re
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.tree import ROOT, tracked_files

# Built from pieces, so that this file does not hold what it looks for.
HOSTS = [
    f"{name}.{end}"
    for name, end in (
        ("registry.npm" + "js", "org"),
        ("registry.npm" + "mirror", "com"),
        ("registry.yarn" + "pkg", "com"),
        ("py" + "pi", "org"),
        ("files.python" + "hosted", "org"),
        ("mirrors.ali" + "yun", "com"),
        ("tuna.tsing" + "hua", "edu.cn"),
        ("proxy.go" + "lang", "org"),
    )
]
REGISTRIES = re.compile("|".join(re.escape(host) for host in HOSTS))
MACHINE = re.compile(
    r"(?<![\w.:/])/(?:"
    + "|".join(["wor" + "k/", "roo" + "t/", "hom" + "e/\\w", "Use" + "rs/\\w"])
    + ")"
)
KEYS = re.compile(
    "|".join(["AI" + r"za[\w-]{30}", "tv" + r"ly-\w{20}", r"\bs" + r"k-[A-Za-z0-9]{20}"])
)
PRIVATE = {".env"}
PICTURES = {".png", ".jpg", ".webp", ".woff2"}
OFFICE = {".docx", ".pptx", ".xlsx"}
ARCHIVES = {".xz", *OFFICE}
"""What is in them is looked at as well, databases as if they were text."""


@functools.cache
def texts() -> dict[str, str]:
    plain = [p for p in tracked_files() if p.suffix not in PICTURES | ARCHIVES]
    packed = [p for p in tracked_files() if p.suffix in ARCHIVES]
    return {
        **{str(path.relative_to(ROOT)): text_of(path) for path in plain},
        **{name: text for path in packed for name, text in members(path)},
    }


BINARY = {".pmtiles", ".xls"}


def text_of(path: Path) -> str:
    return path.read_text("utf-8", "replace" if path.suffix in BINARY else "strict")


def members(archive: Path) -> Iterator[tuple[str, str]]:
    if archive.suffix in OFFICE:
        with zipfile.ZipFile(archive) as parts:
            for name in parts.namelist():
                yield (
                    f"{archive.relative_to(ROOT)}: {name}",
                    parts.read(name).decode("utf-8", "replace"),
                )
        return
    with tarfile.open(archive) as opened:
        for member in opened:
            if file := opened.extractfile(member):
                name = f"{archive.relative_to(ROOT)}: {member.name}"
                yield name, file.read().decode("utf-8", "replace")


def holding(pattern: re.Pattern[str]) -> dict[str, str]:
    found = {name: pattern.search(text) for name, text in texts().items()}
    return {name: hit.group() for name, hit in found.items() if hit}


def test_no_tracked_file_names_a_package_registry() -> None:
    assert holding(REGISTRIES) == {}


def test_no_tracked_file_holds_the_path_of_a_machine() -> None:
    assert holding(MACHINE) == {}


def test_no_tracked_file_holds_something_like_a_key() -> None:
    assert holding(KEYS) == {}


def test_no_private_file_is_tracked() -> None:
    wrong = [p for p in tracked_files() if p.name in PRIVATE or p.suffix in (".sqlite", ".pyc")]
    assert wrong == []


def test_no_archive_names_its_writer() -> None:
    archives = [path for path in tracked_files() if path.suffix in ARCHIVES - OFFICE]
    assert archives
    for path in archives:
        with tarfile.open(path) as archive:
            owners = {(m.uid, m.gid, m.uname, m.gname) for m in archive}
        assert owners == {(0, 0, "", "")}


def test_every_tracked_file_is_small() -> None:
    large = {p.name: p.stat().st_size for p in tracked_files() if p.stat().st_size > 300_000}
    assert large == {}


def test_the_example_of_the_environment_reaches_the_image_but_no_environment_does() -> None:
    ignored = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    assert {".env", ".env.*", ".langgraph_api", "*.sqlite"} <= set(ignored)
    assert "!.env.example" in ignored


def test_links_between_our_pages_lead_somewhere() -> None:
    broken = []
    for page in (path for path in tracked_files() if path.suffix == ".md"):
        if "prompts" in page.parts:
            continue
        for target in _links(page):
            if not re.match(r"https?:|#|mailto:", target) and not _exists(page, target):
                broken.append(f"{page.relative_to(ROOT)}: {target}")
    assert broken == []


def _exists(page: Path, target: str) -> bool:
    return (page.parent / target.partition("#")[0]).exists()


def _links(page: Path) -> list[str]:
    """Targets of Markdown links, not of those that code shows."""
    prose = re.sub(r"```.*?```|`[^`\n]*`", "", page.read_text("utf-8"), flags=re.DOTALL)
    return re.findall(r"\]\(([^)\s]+)\)", prose)
