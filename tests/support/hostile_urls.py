"""URLs that mean to be led inside; `{p}` is the port of a server that counts who comes in."""

from tests.support.rows import rows

_ROWS = rows("hostile_urls")
HOSTILE: list[str] = [row["url"] for row in _ROWS if "url" in row]
PUBLIC = "93.184.216.34"
ANSWERS: dict[str, list[str]] = {row["host"]: row["answers"] for row in _ROWS if "host" in row}


def answers(host: str | bytes) -> list[str]:
    name = host.decode() if isinstance(host, bytes) else host
    return ANSWERS.get(name, ["127.0.0.1"])
