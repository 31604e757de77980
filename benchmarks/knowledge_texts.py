"""Made-up Chinese and English texts whose words are as uneven as real ones (Zipf's law)."""

import itertools
import random
from collections.abc import Iterator, Sequence

from agent.knowledge.types import Chunk, KnownDocument

WORDS = 40_000
CHARACTERS = 3_500
_CHUNK = {"zh": 420, "en": 125}
"""Words that make some 800 characters."""
_LENGTHS = (1, 2, 2, 2, 2, 3)
_LETTERS = "etaoinshrdlucmfwypvbgk"


def zipf(count: int) -> list[float]:
    """Cumulated weights; the shift keeps the first words as rare as a language's are."""
    return list(itertools.accumulate(1 / (rank + 2.7) for rank in range(count)))


class Writer:
    """Writes the same texts for the same seed."""

    def __init__(self, seed: int = 7) -> None:
        self._random = random.Random(seed)
        characters = [chr(0x4E00 + n) for n in range(CHARACTERS)]
        weights = zipf(CHARACTERS)
        choice, randint = self._random.choice, self._random.randint
        self._words = {
            "zh": [self._word(characters, weights, choice(_LENGTHS)) for _ in range(WORDS)],
            "en": [self._word(_LETTERS, None, randint(2, 10)) for _ in range(WORDS)],
        }
        self._weights = zipf(WORDS)

    def _word(self, characters: Sequence[str], weights: Sequence[float] | None, length: int) -> str:
        return "".join(self._random.choices(characters, cum_weights=weights, k=length))

    def text(self, language: str, words: int) -> str:
        chosen = self._random.choices(self._words[language], cum_weights=self._weights, k=words)
        return ("" if language == "zh" else " ").join(chosen)

    def documents(
        self, chunks: int, per_document: int = 20
    ) -> Iterator[tuple[KnownDocument, list[Chunk]]]:
        """Documents of `per_document` chunks, Chinese and English in turn."""
        for number, start in enumerate(range(0, chunks, per_document)):
            language = ("zh", "en")[number % 2]
            count = min(per_document, chunks - start)
            name = f"d{number}"
            yield (
                self._document(name, language),
                [self._chunk(name, place, language) for place in range(count)],
            )

    def queries(self, count: int) -> list[str]:
        """Questions of some eight words, as frequent in them as in the texts."""
        return [self.text(("zh", "en")[n % 2], self._random.randint(4, 10)) for n in range(count)]

    def _document(self, name: str, language: str) -> KnownDocument:
        return {
            "id": name, "collection": "benchmark", "title": self.text(language, 5),
            "path": f"{name}.md", "url": None, "kind": "markdown", "layer": "upper",
            "sha256": name, "status": "ready", "error": None, "chunks": 0,
        }  # fmt: skip

    def _chunk(self, name: str, place: int, language: str) -> Chunk:
        headings = [self.text(language, 4)]
        text = self.text(language, _CHUNK[language])
        return {"document": name, "number": place, "text": text, "headings": headings, "page": None}
