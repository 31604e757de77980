"""What code says in an exploration: to the model in tool messages, to the reader in gaps."""

from agent.evidence.types import Gap
from agent.texts.language import Language, filled

_TEXTS: dict[str, dict[Language, str]] = {
    "noted": {"zh": "已记下。", "en": "Noted."},
    "think_first": {
        "zh": "没有执行：先用 think_tool 想清楚查到了什么、还缺什么、下一步做什么。",
        "en": "Not done: first use think_tool on what was found, what is missing, what is next.",
    },
    "empty_thought": {"zh": "没有内容，不算思考。", "en": "An empty reflection is no thought."},
    "empty_search": {"zh": "没有执行：缺少检索式。", "en": "Not done: there is no query."},
    "search_first": {
        "zh": "没有执行：还没有搜索过，先搜索再结束。",
        "en": "Not done: nothing has been searched yet; search before ending.",
    },
    "same_topic": {
        "zh": "没有执行：这就是当前子题。继续查，或换一个不同的子题。",
        "en": "Not done: this is the present topic. Go on with it, or name a different one.",
    },
    "done_topic": {
        "zh": "没有执行：这个子题已经查过。换一个新的，或结束。",
        "en": "Not done: this topic is closed already. Name a new one, or end.",
    },
    "no_topic": {"zh": "没有执行：缺少 new_topic。", "en": "Not done: new_topic is missing."},
    "second_change": {
        "zh": "没有执行：一次只能换一次题或结束，以第一个为准。",
        "en": "Not done: one change or end at a time; the first one counts.",
    },
    "leaving": {
        "zh": "没有执行：当前子题就要结束，请在下一步再做。",
        "en": "Not done: the present topic is being closed; do this in the next step.",
    },
    "unknown_tool": {"zh": "没有这个工具。", "en": "There is no such tool."},
    "nothing": {"zh": "没有找到结果。", "en": "Nothing was found."},
    "failed": {"zh": "搜索失败：{reason}", "en": "The search failed: {reason}"},
    "recorded": {"zh": "已记录。", "en": "Recorded."},
    "nudge": {
        "zh": "请调用工具继续：think_tool、tavily_search、change_research_topic 或 "
        "end_of_research。",
        "en": "Go on by calling a tool: think_tool, tavily_search, change_research_topic or "
        "end_of_research.",
    },
    "cleared": {
        "zh": "子题内容过长，前面的结果已归档",
        "en": "the topic grew too long; what was found so far is archived",
    },
}

_GAPS: dict[str, dict[Language, str]] = {
    "rounds_spent": {
        "zh": "探索轮数已用完（{limit}），按已有资料写报告。",
        "en": "The rounds of exploration are spent ({limit}); the report uses what there is.",
    },
    "topics_spent": {
        "zh": "子题数已达上限（{limit}），没有再开新的子题：{topic}",
        "en": "The limit of topics is reached ({limit}); not researched: {topic}",
    },
    "run_share_spent": {
        "zh": "本次运行的{limit}额度留给了阅读和报告，探索提前结束。",
        "en": "Exploration ended early: what is left of {limit} is kept for reading and writing.",
    },
    "model_stuck": {
        "zh": "负责探索的模型连续 {limit} 步没有查找资料，探索提前结束。",
        "en": "The exploring model took {limit} steps without looking anything up; exploration "
        "ended early.",
    },
    "model_failed": {
        "zh": "负责探索的模型不可用（{reason}），按已有资料写报告。",
        "en": "The exploring model failed ({reason}); the report uses what there is.",
    },
    "page_partial": {
        "zh": "有 {count} 个网页没能读到全文，只用了搜索摘要。",
        "en": "Pages that could not be read in full, so that only excerpts were used: {count}.",
    },
    "compress_failed": {
        "zh": "这一子题未能由模型整理（{reason}），改用网页的摘录。",
        "en": "This topic could not be written up ({reason}); excerpts of its pages are used.",
    },
    "compress_unmarked": {
        "zh": "模型的整理没有标注来源，改用网页的摘录。",
        "en": "The model's notes named no sources; excerpts of the pages are used instead.",
    },
    "report_uncited": {
        "zh": "模型写的报告没有标注来源，不能核对；文末附有带来源的子题笔记。",
        "en": "The model's report names no sources and cannot be checked; the notes with their "
        "sources are appended.",
    },
    "no_pages": {
        "zh": "这一子题没有找到可用的网页。",
        "en": "No usable page was found for this topic.",
    },
}


def say(key: str, language: Language, **values: str) -> str:
    """A fixed sentence for the model."""
    return filled(_TEXTS[key][language], values)


def run_gap(code: str, language: Language, *, query: str = "", **values: str) -> Gap:
    """What the reader is told that the run did not do, or did otherwise."""
    message = filled(_GAPS[code][language], values)
    return Gap(query=query, provider="deep_research", code=code, message=message)
