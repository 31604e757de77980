"""Ten questions of our own, written as each benchmark publishes its files."""

import base64
import csv
import hashlib
import io
import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import cycle
from typing import Any

from openpyxl import Workbook

CANARY = "TANLU:own-rows:0b7d6d0e-6d2f-4c11-9a55-3f1f1f5f0a01"


@dataclass(frozen=True)
class Item:
    """One question, its answer, and what files tell besides."""

    question: str
    answer: str
    topic: str
    level: str


ITEMS = [
    Item("Which river flows through both Vienna and Belgrade?", "Danube", "Geography", "1"),
    Item('What is 17 × 23, "as a number"?', "391", "Mathematics", "1"),
    Item("Who composed the opera The Magic Flute?", "Wolfgang Amadeus Mozart", "Music", "1"),
    Item("How many metres are three nautical miles?", "5556", "Units", "2"),
    Item("西湖十景中，哪一景与雪有关？", "断桥残雪", "地理", "1"),
    Item("北京故宫博物院成立于哪一年？", "1925", "历史", "2"),
    Item("《红楼梦》前八十回的作者，姓曹；\n他的名是什么？", "雪芹", "文学", "1"),
    Item("Name the first two noble gases, lightest first.", "helium, neon", "Chemistry", "2"),
    Item("Which year lies between 1911 and 1913?", "1912", "History", "3"),
    Item("从上海到杭州的高铁，终点站杭州东在哪个区？", "上城区", "交通", "3"),
]


def xor(text: str, key: bytes) -> str:
    """Encrypt as the benchmarks do: XOR with the repeated key, then base64."""
    mixed = bytes(a ^ b for a, b in zip(text.encode(), cycle(key), strict=False))
    return base64.b64encode(mixed).decode()


def hashed(text: str) -> str:
    return xor(text, hashlib.sha256(CANARY.encode()).digest())


def bare(text: str) -> str:
    return xor(text, CANARY.encode())


def table(header: Sequence[str], rows: Iterable[Sequence[str]], delimiter: str = ",") -> bytes:
    text = io.StringIO()
    csv.writer(text, delimiter=delimiter).writerows([header, *rows])
    return text.getvalue().encode()


def lines(rows: Iterable[dict[str, object]]) -> bytes:
    return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows).encode()


def workbook(header: Sequence[Any], rows: Iterable[Sequence[Any]]) -> bytes:
    """A workbook as spreadsheets write it."""
    book, packed = Workbook(), io.BytesIO()
    for row in (header, *rows):
        book.active.append(list(row))
    book.save(packed)
    return packed.getvalue()


def gaia() -> bytes:
    return lines(
        {"task_id": f"own-{n}", "Question": one.question, "Level": int(one.level),
         "Final answer": one.answer, "file_name": "",
         "Annotator Metadata": {"Steps": "1. Look it up.", "Tools": "None"}}
        for n, one in enumerate(ITEMS)
    )  # fmt: skip


def simpleqa() -> bytes:
    rows = [
        (str({"topic": one.topic, "answer_type": "Other", "urls": []}), one.question, one.answer)
        for one in ITEMS
    ]
    return table(("metadata", "problem", "answer"), rows)


def frames() -> bytes:
    links = [f"wikipedia_link_{n}" for n in range(1, 11)]
    header = ("", "Prompt", "Answer", *links, "wikipedia_link_11+", "reasoning_types", "wiki_links")
    rows = [
        (str(n), one.question, one.answer, "https://a.example/wiki/A", *[""] * 10,
         "Numerical reasoning | Multiple constraints", "['https://a.example/wiki/A']")
        for n, one in enumerate(ITEMS)
    ]  # fmt: skip
    return table(header, rows, "\t")


def browsecomp() -> bytes:
    rows = [(hashed(one.question), hashed(one.answer), one.topic, CANARY) for one in ITEMS]
    return table(("problem", "answer", "problem_topic", "canary"), rows)


def browsecomp_zh() -> bytes:
    rows = [(hashed(one.topic), hashed(one.question), hashed(one.answer), CANARY) for one in ITEMS]
    return workbook(("Topic", "Question", "Answer", "canary"), rows)


def browsecomp_zh_decrypted() -> bytes:
    rows = [
        {"Topic": one.topic, "Question": one.question, "Answer": one.answer, "canary": CANARY}
        for one in ITEMS
    ]
    return json.dumps(rows, ensure_ascii=False, indent=4).encode()


def xbench() -> bytes:
    rows = [
        (str(n), bare(one.question), bare(one.answer), bare("1. search"), CANARY)
        for n, one in enumerate(ITEMS, 1)
    ]
    return b"\xef\xbb\xbf" + table(("id", "prompt", "answer", "reference_steps", "canary"), rows)


def webwalkerqa() -> bytes:
    return lines(
        {"question": one.question, "answer": one.answer, "root_url": "https://a.example",
         "info": {"difficulty_level": "easy", "lang": "en"}}
        for one in ITEMS
    )  # fmt: skip


def deepresearch_bench() -> bytes:
    return lines(
        {"id": n, "topic": one.topic, "language": "zh" if n in (5, 6, 7, 10) else "en",
         "prompt": f"{one.question} "}
        for n, one in enumerate(ITEMS, 1)
    )  # fmt: skip


FILES: dict[str, tuple[str, str, Callable[[], bytes]]] = {
    "gaia": ("gaia", "metadata.jsonl", gaia),
    "simpleqa": ("simpleqa", "simple_qa.csv", simpleqa),
    "frames": ("frames", "test.tsv", frames),
    "browsecomp": ("browsecomp", "browse_comp.csv", browsecomp),
    "browsecomp_zh": ("browsecomp_zh", "encrypted.xlsx", browsecomp_zh),
    "browsecomp_zh, decrypted": ("browsecomp_zh", "test.json", browsecomp_zh_decrypted),
    "xbench": ("xbench", "DeepSearch.csv", xbench),
    "webwalkerqa": ("webwalkerqa", "webwalkerqa.jsonl", webwalkerqa),
    "deepresearch_bench": ("deepresearch_bench", "query.jsonl", deepresearch_bench),
}
"""By what a test calls it: the benchmark, the file's name, its content."""
