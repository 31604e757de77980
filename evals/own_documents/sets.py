"""The collections: their files, their labels, and what of them stands in a text."""

import json
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from tools.sample_papers import pdf

from evals.own_documents import filler

FOLDER = Path(__file__).parent
_ONLY = {
    "zh": "只用我们自己的文件，不要上网查。",
    "en": "Use our own files only, and search nothing outside.",
}

Label = Mapping[str, Any]


def load() -> list[Label]:
    """Return the labels of all collections, by name."""
    paths = sorted(FOLDER.joinpath("labels").glob("*.json"))
    return [json.loads(path.read_text("utf-8")) for path in paths]


@cache
def sources(name: str) -> Mapping[str, str]:
    """Return the text of each file by its name; a PDF's is the Markdown it is made of."""
    (label,) = (each for each in load() if each["collection"] == name)
    found = {
        path.name.removesuffix(".pdf.md") + ".pdf" * path.name.endswith(".pdf.md"): (
            path.read_text("utf-8")
        )
        for path in sorted(FOLDER.joinpath("collections", name).iterdir())
    }
    planted: dict[str, list[str]] = {}
    for each in passages(label):
        if each["file"] not in found:
            planted.setdefault(each["file"], []).append(each["words"])
    if kind := label.get("generated"):
        found |= dict(filler.files(kind, planted))
    return found


def passages(label: Label) -> Iterator[Label]:
    """Yield every place of a collection that a label names: `file` and `words`."""
    yield from label["facts"]
    for pair in label["contradictions"]:
        yield from (pair["a"], pair["b"])


def write(name: str, folder: Path) -> None:
    """Write the files of a collection into a folder, as its owner would have them."""
    folder.mkdir(parents=True, exist_ok=True)
    for file, text in sources(name).items():
        body = pdf(text) if file.endswith(".pdf") else text.encode()
        folder.joinpath(file).write_bytes(body)


def question(label: Label, *, only: bool) -> str:
    """Return the question, with the wish that nothing else is used where `only`."""
    blank = "" if label["language"] == "zh" else " "
    return str(label["question"]) + (blank + _ONLY[label["language"]] if only else "")


def stands(words: str, text: str) -> bool:
    """Return whether words stand in a text; pieces parted by a bar stand in one line of it."""
    pieces = [_plain(piece) for piece in words.split("|")]
    lines = text.splitlines() if len(pieces) > 1 else [text]
    return any(all(piece in line for piece in pieces) for line in map(_plain, lines))


def is_told(label: Label, text: str) -> bool:
    """Return whether a text tells a fact, or both sides of a contradiction: one of each group."""
    plain = _plain(text)
    return all(any(_stands_alone(word, plain) for word in group) for group in label["told"])


def _stands_alone(word: str, plain: str) -> bool:
    """Return whether a spelling stands in a plain text, not inside another number."""
    word = _plain(word)
    before = r"(?<!\d)(?<!\d[.,])" if word[0].isdigit() else ""
    after = r"(?![.,]?\d)" if word[-1].isdigit() else ""
    return re.search(f"{before}{re.escape(word)}{after}", plain) is not None


def _plain(text: str) -> str:
    """Return a text without case, width and blanks: a PDF breaks lines anywhere."""
    return "".join(unicodedata.normalize("NFKC", text).casefold().split())


def share(found: Iterable[bool]) -> tuple[int, int]:
    """Return how many of how many."""
    all_of = list(found)
    return sum(all_of), len(all_of)
