"""What a user reads where a web search brought nothing, or less than it should."""

import logging

from agent.core.errors import AgentError
from agent.evidence.types import Gap
from agent.search.types import WebTask
from agent.texts.language import Language, filled
from agent.texts.reasons import reason_of

log = logging.getLogger(__name__)
LABELS = {"google": "Google", "tavily": "Tavily", "serper": "Serper", "bocha": "Bocha"}

_TEXTS: dict[str, dict[Language, str]] = {
    "fallback": {
        "zh": "{service} 搜索没有成功（{reason}），改用了 {other}。",
        "en": "{service} search failed ({reason}); {other} was used instead.",
    },
    "failed": {
        "zh": "{service} 搜索没有成功：{reason}",
        "en": "{service} search failed: {reason}",
    },
    "search_not_configured": {
        "zh": "没有可用的网页搜索。请设置其中一项：{variables}。",
        "en": "No web search is configured. Set one of {variables}.",
    },
    "search_key_missing": {
        "zh": "选定了 {service} 搜索，但没有设置 {variables}。",
        "en": "{service} search was chosen, but {variables} is not set.",
    },
    "google_model_needed": {
        "zh": "选定了 Google 搜索，但研究模型 {model} 不是 Google 的模型。",
        "en": "Google search was chosen, but the research model {model} is not one of Google's.",
    },
    "search_off": {"zh": "网页搜索已关闭。", "en": "Web search is switched off."},
    "no_results": {
        "zh": "{service} 没有找到相关的结果。",
        "en": "{service} found nothing.",
    },
    "ungrounded": {
        "zh": "搜索没有给出来源，其内容不能引用。",
        "en": "The search gave no sources; what it said cannot be cited.",
    },
    "writeup_unmarked": {
        "zh": "模型整理的内容没有标注来源，改用搜索结果的摘录。",
        "en": "The model's summary named no sources; excerpts of the results are used instead.",
    },
    "writeup_failed": {
        "zh": "搜索结果没能由模型整理（{reason}），改用原文摘录。",
        "en": "The results could not be written up ({reason}); excerpts of them are used instead.",
    },
}


def search_gap(task: WebTask, provider: str, code: str, *, text: str = "", **values: str) -> Gap:
    """A gap in the user's language; `text` names the wording where it differs from the code."""
    values = {"service": LABELS.get(provider, provider), **values}
    message = filled(_TEXTS[text or code][task.language], values)
    return Gap(query=task.query, provider=provider, code=code, message=message)


def failure_gap(task: WebTask, provider: str, error: AgentError, *, text: str, **more: str) -> Gap:
    """The gap an error leaves; `code` is the error's."""
    reason = reason_of(error, task.language)
    log.info("%s search failed: %s (%s)", provider, error, error.code)
    return search_gap(task, provider, error.code, text=text, reason=reason, **more)
