"""Search with Serper (Google results): POST https://google.serper.dev/search"""

from dataclasses import dataclass
from typing import Any
from urllib.parse import quote_plus

from agent.search.hits import Hit, HitSearch, fields, make_hit, rows_of
from agent.search.rules import DAYS, SearchRules
from agent.texts import detect_language


class SerperSearch(HitSearch):
    """Read organic results, led by the answer box and the knowledge panel.

    What they state without a link of its own is cited from Google's page of results, where a
    reader finds it again.
    """

    name = "serper"
    operators = True
    max_count = 20

    async def fetch(self, query: str, count: int, rules: SearchRules) -> list[Hit | None]:
        body: dict[str, Any] = {"q": " ".join(filter(None, [query, rules.operators()]))}
        body["num"] = count
        if rules.since:
            body["tbs"] = _time_range(rules.since)
        if detect_language(query) == "zh":
            body["hl"] = "zh-cn"
        reply = await self._http.post(
            self.name,
            self._endpoint.url("/search"),
            body,
            headers={"X-API-KEY": self._endpoint.secret()},
        )
        organic = [
            make_hit(
                row.get("title"), row.get("link"), row.get("snippet"), published=row.get("date")
            )
            for row in rows_of(self.name, reply, "organic", "answerBox", "knowledgeGraph")
        ]
        page = f"https://www.google.com/search?q={quote_plus(query)}"
        boxes = [_answer_box(reply.get("answerBox")), _panel(reply.get("knowledgeGraph"))]
        linked = [make_hit(box.title, box.link, box.text) for box in boxes if box.link]
        loose = [box for box in boxes if box.text and not box.link]
        title = next((box.title for box in loose if box.title), query)
        text = " · ".join(box.text for box in loose)
        return [*linked, make_hit(f"Google: {title}", page, text) if loose else None, *organic]


def _time_range(since: str) -> str:
    """Return Google's parameter for pages of the last day, week, … or since an ISO date."""
    if since in DAYS:
        return f"qdr:{since[0]}"
    year, month, day = (int(part) for part in since.split("-"))
    return f"cdr:1,cd_min:{month}/{day}/{year}"


@dataclass(frozen=True)
class _Box:
    """Hold the facts beside the results; `link` is empty where Google names none."""

    title: str
    link: str
    text: str


def _answer_box(value: Any) -> _Box:
    box = fields(value)
    text = str(box.get("answer") or box.get("snippet") or "")
    return _Box(_text(box.get("title")), _link(box.get("link")) if text else "", text)


def _panel(value: Any) -> _Box:
    panel = fields(value)
    facts = [f"{name}: {fact}" for name, fact in fields(panel.get("attributes")).items()]
    about = [panel.get("description") or "", *facts]
    text = " · ".join(str(part) for part in about if part)
    link = panel.get("descriptionLink") or panel.get("website")
    return _Box(_text(panel.get("title")), _link(link) if text else "", text)


def _text(value: Any) -> str:
    return value if isinstance(value, str) else ""


def _link(value: Any) -> str:
    link = _text(value).strip()
    return link if link.startswith(("http://", "https://")) else ""
