"""Questions that are published encrypted, so that no crawler trains on them by accident.

The text is XORed with a repeated key and written as base64; the row carries its key in the
column `canary`. BrowseComp takes the SHA-256 digest of the canary as key, xbench its bytes.
"""

import base64
import binascii
import hashlib
from itertools import cycle


def is_encrypted(text: str, canary: str) -> bool:
    """Whether a row with this canary holds `text` encrypted; decrypted copies keep the canary."""
    return bool(canary and text) and _cipher(text) is not None


def decrypted(question: str, answer: str | None, canary: str) -> tuple[str, str | None]:
    """Both in clear; an empty answer stays as it is. ValueError if no known key fits."""
    for key in (hashlib.sha256(canary.encode()).digest(), canary.encode()):
        text = _clear(question, key)
        expected = _clear(answer, key) if answer else answer
        if text and (expected or not answer):
            return text, expected
    raise ValueError("cannot be decrypted with its canary")


def _cipher(text: str) -> bytes | None:
    try:
        return base64.b64decode("".join(text.split()), validate=True)
    except (binascii.Error, ValueError):
        return None


def _clear(text: str, key: bytes) -> str | None:
    """None where the key is not the right one: the result is then no readable text."""
    cipher = _cipher(text)
    if cipher is None:
        return None
    try:
        clear = bytes(a ^ b for a, b in zip(cipher, cycle(key), strict=False)).decode()
    except UnicodeDecodeError:
        return None
    readable = all(sign.isprintable() or sign.isspace() for sign in clear)
    return clear.strip() if readable else None
