"""What a reader is told that a failure cost: the part that failed, why, and what stands in."""

import logging
from collections.abc import Awaitable, Callable
from typing import TypeVar

from agent.core.errors import AgentError, ConfigurationError
from agent.evidence.types import Gap
from agent.state import Turn
from agent.texts.language import Language, filled
from agent.texts.reasons import reason_of

T = TypeVar("T")
log = logging.getLogger(__name__)

# By the part of a run that failed, which is the gap's provider where no service is.
_TEXTS: dict[str, dict[Language, str]] = {
    "generate_query": {
        "zh": "没能由模型拟定搜索词（{reason}），直接按问题原文搜索",
        "en": "No search queries could be written ({reason}); the question itself was searched for",
    },
    "web": {
        "zh": "网页搜索没有进行：{reason}",
        "en": "The web was not searched: {reason}",
    },
    "reflection": {
        "zh": "没能检查资料是否齐全（{reason}），按已查到的作答",
        "en": "Whether anything is missing could not be checked ({reason}); the answer uses what "
        "was found",
    },
    "answer": {
        "zh": "答案没能由模型写完（{reason}）",
        "en": "The answer could not be written to its end ({reason})",
    },
    "report": {
        "zh": "报告没能由模型写完（{reason}）",
        "en": "The report could not be written to its end ({reason})",
    },
    "dossier": {
        "zh": "报告没能由模型写完（{reason}）",
        "en": "The dossier could not be written to its end ({reason})",
    },
    "reader": {
        "zh": "读取网页没有成功：{reason}",
        "en": "Reading web pages failed: {reason}",
    },
    "analyze": {
        "zh": "没能由模型分析问题（{reason}），改按规则分析",
        "en": "The question could not be analysed by a model ({reason}); rules did it",
    },
    "decompose": {
        "zh": "没能由模型拆分问题（{reason}），作为一个整体查找",
        "en": "The question could not be broken down ({reason}); it was looked up as a whole",
    },
    "team_answer": {
        "zh": "讨论提前结束（{reason}）",
        "en": "The discussion ended early ({reason})",
    },
    "synthesize": {
        "zh": "没能由模型定下答案（{reason}）",
        "en": "No model could settle the answer ({reason})",
    },
    "format_answer": {
        "zh": "没能由模型按要求整理答案（{reason}），保留原样",
        "en": "The answer could not be put into the form asked for ({reason}); it stands as it was",
    },
    "execute": {
        "zh": "这一子任务没有完成（{reason}）",
        "en": "This task was not carried out ({reason})",
    },
}


def gap_of(query: str, error: AgentError, part: str, language: Language) -> Gap:
    """The error of one part of a run as the gap the user sees; its own text goes to the log."""
    log.info("%s failed: %s (%s)", part, error, error.code)
    return Gap(
        query=query,
        provider=getattr(error, "provider", part),
        code=error.code,
        message=filled(_TEXTS[part][language], {"reason": reason_of(error, language)}),
    )


async def ask_or_gap(
    asking: Awaitable[T], turn: Turn, part: str, gap: Callable[[str], Gap] | None = None
) -> tuple[T | None, list[Gap]]:
    """Return a model's reply; where it fails, None and the gap that says what that costs.

    `gap` makes one of the reason; the default is `gap_of` the part. A setting that cannot work
    raises ConfigurationError: the next call would fail as well.
    """
    try:
        return await asking, []
    except ConfigurationError:
        raise
    except AgentError as error:
        language = turn["language"]
        log.warning("turn=%s %s: %s", turn["id"], part, error)
        if gap is None:
            return None, [gap_of("", error, part, language)]
        return None, [gap(reason_of(error, language))]
