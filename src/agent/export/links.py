"""Which addresses may become links in a file."""

from urllib.parse import urlsplit


def safe_url(url: str | None) -> str | None:
    """The address if it is http or https with a host, else None (javascript:, data:, …)."""
    if not url or not url.isprintable() or " " in url:
        return None
    try:
        parts = urlsplit(url)
    except ValueError:
        return None
    return url if parts.scheme in ("http", "https") and parts.hostname else None
