"""Encrypted benchmark texts, encrypted here with the keys the benchmarks use."""

import hashlib
import random

import pytest

from agent.batch.questions import decrypt_row, is_encrypted
from tests.unit.batch_samples import CANARY, encrypt

KEYS = {"browsecomp": hashlib.sha256(CANARY.encode()).digest(), "xbench": CANARY.encode()}


@pytest.mark.parametrize("scheme", KEYS)
@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Which bridge over the Danube opened first after 1945?", "Liberty Bridge"),
        ("杭州西湖边第一座公共图书馆是哪一年开放的？", "1912"),
        ("A question\nof two lines, longer than either key " * 9, "7"),
        ("What is the height in metres of the tower?", "天"),
    ],
)
def test_question_and_answer_come_back_under_either_key(
    scheme: str, question: str, answer: str
) -> None:
    key = KEYS[scheme]
    assert decrypt_row(encrypt(question, key), encrypt(answer, key), CANARY) == (
        question.strip(),
        answer,
    )


@pytest.mark.parametrize("answer", [None, ""])
def test_an_absent_or_empty_answer_stays_so(answer: str | None) -> None:
    secret = encrypt("Who was the second person there?", KEYS["xbench"])
    assert decrypt_row(secret, answer, CANARY)[1] == answer


def test_a_wrong_canary_is_an_error_and_no_garbage() -> None:
    secret = encrypt("Who was the second person there?", KEYS["browsecomp"])
    with pytest.raises(ValueError, match="canary"):
        decrypt_row(secret, None, "another canary")


def test_an_answer_that_is_not_encrypted_like_its_question_is_an_error() -> None:
    secret = encrypt("Who was the second person there?", KEYS["browsecomp"])
    with pytest.raises(ValueError, match="canary"):
        decrypt_row(secret, "plain text!", CANARY)


def test_a_text_in_clear_is_not_taken_for_an_encrypted_one() -> None:
    assert is_encrypted(encrypt("Who?", KEYS["xbench"]), CANARY)
    assert not is_encrypted(encrypt("Who?", KEYS["xbench"]), "")
    assert not is_encrypted("Who was the second person there?", CANARY)
    assert not is_encrypted("第二个人是谁", CANARY)


def test_every_text_survives_both_keys() -> None:
    chance = random.Random(4)
    signs = "abcXYZ 0189,.?-北京上海杭州湖\n"
    for _ in range(300):
        text = "".join(chance.choices(signs, k=chance.randint(8, 200))).strip() or "x"
        for key in KEYS.values():
            secret = encrypt(text, key)
            assert decrypt_row(secret, secret, CANARY) == (text, text)
