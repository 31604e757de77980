"""A reply cache that keeps paid replies in memory."""


class MemoryReplyCache:
    """Keeps paid replies in memory."""

    def __init__(self) -> None:
        self.kept: dict[tuple[str, str], str] = {}

    async def load(self, turn_id: str, key: str) -> str | None:
        return self.kept.get((turn_id, key))

    async def save(self, turn_id: str, key: str, reply: str) -> None:
        self.kept[turn_id, key] = reply

    async def ready(self, turn_id: str) -> None:
        """Always."""
