"""Serper (Google results): POST https://google.serper.dev/search"""

from typing import Any

from agent.errors import ProviderError, ProviderRefused
from agent.language import detect_language
from agent.search.hits import HitSearch, fields, make_hit, rows
from agent.search.http import said
from agent.search.types import Hit


class SerperSearch(HitSearch):
    """Organic results, led by the answer box and the knowledge panel where they have a link."""

    name = "serper"
    max_count = 20

    async def fetch(self, query: str, count: int) -> list[Hit | None]:
        body: dict[str, Any] = {"q": query, "num": count}
        if detect_language(query) == "zh":
            body["hl"] = "zh-cn"
        reply = await self._http.post(
            self.name,
            self._endpoint.url("/search"),
            body,
            headers={"X-API-KEY": self._endpoint.secret()},
            refine=_refused,
        )
        organic = [
            make_hit(
                row.get("title"), row.get("link"), row.get("snippet"), published=row.get("date")
            )
            for row in rows(reply.get("organic"))
        ]
        return [_answer_box(reply.get("answerBox")), _panel(reply.get("knowledgeGraph")), *organic]


def _answer_box(value: Any) -> Hit | None:
    box = fields(value)
    text = box.get("answer") or box.get("snippet")
    return make_hit(box.get("title"), box.get("link"), text) if text else None


def _panel(value: Any) -> Hit | None:
    panel = fields(value)
    facts = [f"{name}: {fact}" for name, fact in fields(panel.get("attributes")).items()]
    about = [panel.get("description") or "", *facts]
    text = " · ".join(str(part) for part in about if part)
    link = panel.get("descriptionLink") or panel.get("website")
    return make_hit(panel.get("title"), link, text) if text else None


def _refused(status: int, body: Any) -> ProviderError | None:
    """Serper says 403 for an unknown key, and 400 when the credits are spent."""
    message = said(body)
    if status == 400 and "credit" in message.lower():
        return ProviderRefused("serper", message, code="search_quota")
    if status == 403 and "unauthorized" in message.lower():
        return ProviderRefused("serper", f"HTTP 403: {message}", code="search_key_invalid")
    return None
