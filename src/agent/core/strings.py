"""Make text from outside valid, put it on one line, estimate its tokens."""

import json
import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import takewhile
from string import ascii_letters, digits, punctuation
from typing import Any

# Controls (but tab and line ends), bidirectional embeddings, overrides and isolates, halves of
# characters, and what XML does not know. Marks such as ZWJ, LRM and RLM belong to writing.
_INVALID = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)
_LINE_ENDS = "\x0b\x0c\x1c\x1d\x1e\x85"
_OPENS, _CLOSES = "(（[【", ")）]】"


def has_han(text: str) -> bool:
    """Return whether a Chinese character stands in a text."""
    return any("\u3400" <= char <= "\u9fff" for char in text)


_UNSPACED = (("\u3000", "\u303f"), ("\u3400", "\u4dbf"), ("\u4e00", "\u9fff"), ("\uff00", "\uffef"))


def is_unspaced(char: str) -> bool:
    """Return whether a character is Chinese or its punctuation, which has no blanks between words.

    Korean is as wide, and has them.
    """
    return any(first <= char <= last for first, last in _UNSPACED)


def is_plain_word(text: str) -> bool:
    """Return whether a text is of printable ASCII without a blank, and has any of it."""
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


GROUPED_DIGITS = re.compile(r"(?<![\d.,])\d{1,3}(?:,\d{3})+(?![\d,])")


def without_digit_groups(text: str) -> str:
    """Return a text whose whole numbers have no commas between thousands."""
    return GROUPED_DIGITS.sub(lambda grouped: grouped[0].replace(",", ""), text)


def without_mark(text: str) -> str:
    """Return a text without the square brackets that it begins with: a list's remark on a name."""
    return text.partition("]")[2] if text.startswith("[") and "]" in text else text


def number_behind(text: str, begin: str) -> int | None:
    """Return the whole number right behind the begin of a text; None where there is none.

    >>> number_behind("gemini-3-flash", "gemini-")
    3
    """
    digits = "".join(takewhile(str.isdecimal, text.removeprefix(begin)))
    return int(digits) if digits and text.startswith(begin) else None


def digit_runs(text: str) -> list[str]:
    """Return the digits that stand together in a text, in their order: 10:30 has 10 and 30."""
    return "".join(char if char.isdecimal() else " " for char in text).split()


def is_wide(char: str) -> bool:
    """Return whether a character is as wide as a Chinese one."""
    return unicodedata.east_asian_width(char) in ("W", "F")


def letters_of(text: str) -> str:
    """Return the letters and digits of a text, folded: what two ways to write a name share."""
    return "".join(filter(str.isalnum, unicodedata.normalize("NFKC", text).casefold()))


def latin_length(text: str) -> int:
    """Return how long a text is in Latin letters: a Han character says as much as three."""
    return len(text) + 2 * (0 if text.isascii() else sum(map("\u3000".__le__, text)))


def split_at(text: str, signs: str) -> list[str]:
    """Return the parts of a text between any of the signs, empty ones too."""
    for sign in signs[1:]:
        text = text.replace(sign, signs[0])
    return text.split(signs[0])


def code_fence(line: str) -> tuple[str, str] | None:
    """Return the mark of a line that opens or closes a block of code, and what stands behind it.

    >>> code_fence("  ```python")
    ('```', 'python')
    """
    plain = line.strip()
    sign, info = plain[:1], plain.lstrip(plain[:1])
    mark = plain[: len(plain) - len(info)]
    is_fence = sign in ("`", "~") and len(mark) > 2 and "`" not in info
    return (mark, info.strip()) if is_fence else None


def is_table_rule(line: str) -> bool:
    """Return whether a line is the rule under the head of a table: `| --- | :-: |`."""
    return "-" in line and "|" in line and not line.strip().strip("|:- \t")


def word_set(text: str) -> frozenset[str]:
    """Return the words between the blanks of a list of words."""
    return frozenset(text.split())


def has_any(text: str, words: Iterable[str]) -> bool:
    """Return whether one of the words stands in a text, within longer words too."""
    return any(word in text for word in words)


def valid_text(text: str) -> str:
    """Return the text without what no store takes, or what would steer a screen.

    The two halves of a character are joined, one alone becomes U+FFFD. Control characters that end
    a line become a line break; all others go, and so does what turns writing around.
    """
    if is_valid(text):
        return text
    text = text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", "replace")
    return _INVALID.sub(lambda match: "\n" if match[0] in _LINE_ENDS else "", text)


def is_valid(text: str) -> bool:
    """Return whether `valid_text` would leave the text as it is."""
    return _INVALID.search(text) is None


def valid_json(value: Any) -> Any:
    """Return a JSON-like value in which every text, names of fields too, is `valid_text`."""
    if isinstance(value, str):
        return valid_text(value)
    if isinstance(value, dict):
        return {valid_json(name): valid_json(inner) for name, inner in value.items()}
    if isinstance(value, list | tuple):
        return [valid_json(inner) for inner in value]
    return value


def json_bytes(value: Any) -> int:
    """Return the bytes of a value as JSON in UTF-8, whatever its texts hold."""
    return len(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def without_open_bracket(text: str) -> str:
    """Return a cut text without a bracket at its end that is opened only."""
    closed = 1 + max(map(text.rfind, _CLOSES))
    opened = [at for sign in _OPENS if (at := text.find(sign, closed)) >= 0]
    return text[: min(opened, default=len(text))].rstrip() or text


def parted_brackets(text: str) -> tuple[str, str]:
    """Return a text without the brackets at its end, and what stands in these.

    >>> parted_brackets("全聚德（王府井店）")
    ('全聚德', '王府井店')
    """
    plain = text.rstrip()
    begin = max(plain.rfind(sign) for sign in _OPENS)
    inside = plain[begin + 1 : -1]
    is_one = begin >= 0 and plain[-1] in _CLOSES and not has_any(inside, _CLOSES)
    return (plain[:begin].rstrip(), inside) if is_one else (text, "")


def alphabets(text: str) -> set[str]:
    """Return the scripts of a text's letters, as Unicode names them.

    >>> sorted(alphabets("ЦУМ на 外滩"))
    ['CJK', 'CYRILLIC']
    """
    return {unicodedata.name(char, "").partition(" ")[0] for char in text if char.isalpha()}


def ends_in_half(text: str) -> bool:
    """Return whether the text ends in the first half of a character, as a piece of a stream may."""
    return "\ud800" <= text[-1:] <= "\udbff"


_LONGEST = 600


def as_sentence(text: str) -> str:
    """Return a message as a sentence: a capital for a word that it begins with, a stop at its end.

    A name that is written small stays: `--url`, `max_searches`, `messages:`.
    """
    word = text.partition(" ")[0].rstrip(",;")
    if word.isascii() and word.isalpha() and word.islower():
        text = text[:1].upper() + text[1:]
    return with_stop(text)


def with_stop(text: str) -> str:
    """Return a text with a stop at its end, where it has none."""
    if not text or text.endswith(_STOPS):
        return text
    return f"{text}{'。' if is_wide(text[-1]) else '.'}"


_STOPS = (".", "!", "?", "…", ":", "。", "！", "？", "：")


def one_line(text: str, *, longest: int = _LONGEST) -> str:
    """Return the text without line breaks and control characters, cut to `longest`."""
    line = " ".join("".join(c if c.isprintable() else " " for c in text).split())
    return line if len(line) <= longest else line[: longest - 1] + "…"


_BREAK = re.compile(r"[;；。！？] ?|[.!?] |(?:,(?!\d)|[，、]) ?| ")
_LEAST_SHARE = 0.3


def cut_at_break(text: str, longest: int) -> str:
    """Return a text of at most so many characters, cut between clauses, else between words."""
    if len(text) <= longest:
        return text
    cut = text[: longest - 1]
    breaks = [found for found in _BREAK.finditer(cut) if found.start() >= _LEAST_SHARE * longest]
    clauses = [found for found in breaks if found[0].strip() and found[0].strip() not in ",，、"]
    ends = clauses or breaks
    return (cut[: ends[-1].start()] if ends else cut).rstrip() + "…"


_WIDE = re.compile("[\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]+")
_LETTERS, _DIGITS = ascii_letters.encode(), digits.encode()
_SIGNS = punctuation.encode()
_WIDE_TOKENS, _OTHER_TOKENS = 0.72, 0.9
_LETTER_TOKENS, _DIGIT_TOKENS, _SIGN_TOKENS, _LINE_TOKENS = 0.245, 1.35, 0.66, 0.85
"""Of one character, fitted to Qwen3's tokenizer on prompts as sent (benchmarks/token_estimate.py).

A blank is part of the word after it. Tokenizers that take several digits at once count less.
"""
_MOST_TOKENS = _DIGIT_TOKENS
_CUT = "…"


def without_accents(piece: str) -> str:
    """Return a text with plain letters: cafe for café."""
    if piece.isascii():
        return piece
    loose = unicodedata.normalize("NFD", piece)
    return "".join(c for c in loose if unicodedata.category(c) != "Mn")


def estimated_tokens(text: str) -> int:
    """Return the tokens of a text by its kinds of characters, rounded up."""
    return int(unrounded_tokens(text) + 0.999)


def unrounded_tokens(text: str) -> float:
    """Return the estimated tokens, unrounded."""
    plain = text.encode("ascii", "ignore")
    size = len(plain)
    tokens = (
        _LETTER_TOKENS * (size - len(plain.translate(None, _LETTERS)))
        + _DIGIT_TOKENS * (size - len(plain.translate(None, _DIGITS)))
        + _SIGN_TOKENS * (size - len(plain.translate(None, _SIGNS)))
        + _LINE_TOKENS * plain.count(b"\n")
    )
    if size == len(text):
        return tokens
    wide = sum(map(len, _WIDE.findall(text)))
    return tokens + _WIDE_TOKENS * wide + _OTHER_TOKENS * (len(text) - size - wide)


def cut_to_tokens(text: str, tokens: int) -> str:
    """Return the beginning of a text of at most `tokens` by estimate; `…` marks a cut."""
    if estimated_tokens(text) <= tokens:
        return text
    end, left = 0, float(tokens - 1)
    while left > 0 and end < len(text):
        # A stretch that fits whatever its characters are, so that few steps suffice.
        step = max(1, int(left / _MOST_TOKENS))
        left -= unrounded_tokens(text[end : end + step])
        end += step
    end -= left < 0
    return text[:end].rstrip() + _CUT if end > 0 else ""


def first_lines(text: str, tokens: int) -> str:
    """Return the first lines of a text, each whole, of at most `tokens` together by estimate."""
    kept = list[str]()
    for line in text.splitlines():
        if (tokens := tokens - estimated_tokens(f"{line}\n")) < 0:
            break
        kept.append(line)
    return "\n".join(kept)


def cut_middle(text: str, tokens: int) -> str:
    """Return the beginning and the end of a text, at most `tokens` together by estimate."""
    if estimated_tokens(text) <= tokens:
        return text
    begin = cut_to_tokens(text, tokens // 2)
    return f"{begin}\n{cut_to_tokens(text[::-1], tokens - tokens // 2)[::-1].removeprefix(_CUT)}"


def shares(sizes: Sequence[int], room: int) -> list[int]:
    """Return how much of a room each has: its size, or what small ones leave to the larger ones."""
    given = dict[int, int]()
    for position, place in enumerate(sorted(range(len(sizes)), key=sizes.__getitem__)):
        given[place] = min(sizes[place], max(0, room) // (len(sizes) - position))
        room -= given[place]
    return [given[place] for place in range(len(sizes))]


def cut_to_shares(
    texts: Sequence[str], tokens: int, cut: Callable[[str, int], str] = cut_to_tokens
) -> list[str]:
    """Cut texts to fit into `tokens` together; what short ones leave goes to longer ones."""
    shorter: dict[int, str] = {}
    order = sorted(range(len(texts)), key=lambda n: len(texts[n]))
    for position, place in enumerate(order):
        shorter[place] = cut(texts[place], max(0, tokens) // (len(order) - position))
        tokens -= estimated_tokens(shorter[place])
    return [shorter[n] for n in range(len(texts))]
