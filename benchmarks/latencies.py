"""How long the stand-ins take, and what no run can therefore beat."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Latencies:
    """Seconds of each kind of call, times `scale`."""

    scale: float = 1.0
    query: float = 0.8
    web: float = 2.0
    map_turn: float = 0.8
    reflection: float = 2.0
    first_chunk: float = 0.69
    answer: float = 4.0
    judge: float = 0.0
    amap: float = 0.08
    tokens_per_second: float = 100.0

    def of(self, task: str) -> float:
        """Seconds until the reply to one of our prompts; the answer's time is its stream's."""
        seconds = {
            "generate_query": self.query,
            "web_research": self.web,
            "amap_research": self.map_turn,
            "reflection": self.reflection,
            "claim_check": self.judge,
        }
        return seconds.get(task, 0.0) * self.scale

    @property
    def bound(self) -> float:
        """Two rounds: query, web, reflection, web, answer."""
        return (self._to_the_answer + self.answer) * self.scale

    @property
    def first_token(self) -> float:
        """Until the first text of the answer."""
        return (self._to_the_answer + self.first_chunk) * self.scale

    @property
    def one_round(self) -> tuple[float, float]:
        """First text and end of an answer after one round, where calls follow one another."""
        before = self.query + self.web + self.reflection
        return (before + self.first_chunk) * self.scale, (before + self.answer) * self.scale

    @property
    def _to_the_answer(self) -> float:
        return self.query + self.web + self.reflection + self.web
