"""The encoding of bytes that do not say it; rows of `data/encodings.jsonl`."""

import io
import json
import random
from pathlib import Path

import pytest

from agent.reading.encoding import UnknownEncoding, encoding_of, encoding_of_file

ROWS = [
    json.loads(line)
    for line in (Path(__file__).parents[1] / "data/encodings.jsonl").read_text("utf-8").splitlines()
]
CASES = [(row["text"], codec) for row in ROWS for codec in row["codecs"]]
NAMES = {codec: name for row in ROWS for codec, name in row["codecs"].items()}


def ids(case: object) -> str:
    return str(case)[:12]


@pytest.mark.parametrize(("text", "codec"), CASES, ids=ids)
def test_a_text_is_read_in_the_encoding_it_was_written_in(text: str, codec: str) -> None:
    body = text.encode(codec)
    assert body.decode(encoding_of(body).codec) == text


@pytest.mark.parametrize(("text", "codec"), [case for case in CASES if len(case[0]) > 60], ids=ids)
def test_a_guess_is_named_as_one(text: str, codec: str) -> None:
    assert encoding_of(text.encode(codec)).name in (NAMES[codec], "")
    assert encoding_of(text.encode()).name == ""


@pytest.mark.parametrize("codec", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_unicode_shows_itself(codec: str) -> None:
    for row in ROWS:
        body = row["text"].encode(codec)
        encoding = encoding_of(body)
        assert body.decode(encoding.codec).removeprefix("\ufeff") == row["text"]
        assert encoding.name == ""


@pytest.mark.parametrize("codec", ["gb18030", "big5", "shift_jis", "euc_jp", "euc_kr"])
def test_forty_characters_from_anywhere_in_a_text_are_enough(codec: str) -> None:
    chance, wrong = random.Random(5), 0
    texts = [row["text"] for row in ROWS if codec in row["codecs"] and len(row["text"]) > 60]
    for text in texts * 20:
        start = chance.randrange(len(text) - 40)
        body = text[start : start + 40].encode(codec)
        wrong += body.decode(encoding_of(body).codec, "replace") != text[start : start + 40]
    assert wrong == 0


def test_english_before_it_does_not_hide_the_encoding() -> None:
    chinese = "钠离子电池的正极材料有层状氧化物、聚阴离子和普鲁士蓝三类。\n".encode("gbk")
    body = b"Plain words, line by line.\n" * 100_000 + chinese * 10
    assert encoding_of(body).codec == "gb18030"
    assert encoding_of_file(io.BytesIO(body)).codec == "gb18030"


def test_a_long_line_may_be_cut_within_a_character() -> None:
    body = "鈉離子電池的正極材料，成本低於磷酸鐵鋰。 ".encode("big5") * 50_000
    assert encoding_of(body).name == "Big5"
    assert encoding_of(body[1:]).name == "Big5"


def test_one_line_in_another_encoding_does_not_change_that_of_the_others() -> None:
    body = "第一行\n第二行\n".encode() + "第三行".encode("gbk")
    assert encoding_of(body).codec == "utf-8"


@pytest.mark.parametrize(
    "body",
    [
        bytes(range(256)) * 9,
        b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x01\0\0\0\x01\0\x08\x06\0\0\0" * 3,
        b"\0\0\0\0words\0\0\0\0",
        bytes(random.Random(1).choices(range(1, 256), k=3000)),
    ],
)
def test_what_is_no_text_is_refused(body: bytes) -> None:
    with pytest.raises(UnknownEncoding):
        encoding_of(body)


def test_a_stray_zero_is_no_reason_to_refuse_a_text() -> None:
    assert encoding_of(b"words before it \0 and words after it").codec == "utf-8"
