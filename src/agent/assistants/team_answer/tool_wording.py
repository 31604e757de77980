"""What code says in the results of tools, to the models; in gaps, to the reader."""

from agent.errors import AgentError
from agent.evidence.reasons import reason_of
from agent.evidence.types import Gap
from agent.language import Language, filled

_TEXTS: dict[str, dict[Language, str]] = {
    "cached": {
        "zh": "（这次讨论已经搜过，下面是当时的结果，没有再次搜索。请换一个角度：换词、换引擎，"
        "或换一个子问题。）",
        "en": "(Already searched in this discussion; these are the results of then, nothing was "
        "searched again. Try another angle: other words, another engine, another sub-question.)",
    },
    "same_step": {
        "zh": "（同一步里已有相同的检索，结果见 {id}。请换一个角度。）",
        "en": "(The same was searched in this very step, see {id}. Try another angle.)",
    },
    "nothing": {"zh": "没有找到结果。", "en": "Nothing was found."},
    "other_tools": {
        "zh": "{reason}。可以改用：{tools}。",
        "en": "{reason}. You can use {tools} instead.",
    },
    "no_tools": {
        "zh": "{reason}。没有别的搜索可用：请用已有的资料。",
        "en": "{reason}. No other search is at hand: use what there is.",
    },
    "unknown_tool": {
        "zh": "没有执行：这里没有工具 {name}。可用的是：{tools}。",
        "en": "Not done: there is no tool {name} here. There are: {tools}.",
    },
    "no_tool_at_all": {
        "zh": "没有执行：这里没有任何工具，请直接说出结论。",
        "en": "Not done: there are no tools here; say what you conclude.",
    },
    "bad_query": {
        "zh": '没有执行：{name} 要一个检索式，如 {"query": "…"}；几个检索请分几次调用。',
        "en": 'Not done: {name} takes one query, such as {"query": "…"}; call it once for each.',
    },
    "bad_code": {
        "zh": '没有执行：run_code 要一段程序，如 {"code": "print(1+1)"}，不超过 {limit} 个字符。',
        "en": 'Not done: run_code takes a program, such as {"code": "print(1+1)"}, of at most '
        "{limit} characters.",
    },
    "bad_arguments": {
        "zh": "没有执行：{name} 的参数不是 JSON 对象。",
        "en": "Not done: the arguments of {name} are no JSON object.",
    },
    "too_many": {
        "zh": "没有执行：一次最多调用 {limit} 个工具，请在下一步再做。",
        "en": "Not done: at most {limit} calls at a time; do this in the next step.",
    },
    "no_output": {"zh": "（没有输出）", "en": "(no output)"},
    "truncated": {"zh": "（输出过长，已截断）", "en": "(the output was cut)"},
    "code_failed": {"zh": "程序未能运行：{reason}", "en": "The program could not be run: {reason}"},
    "left_out": {
        "zh": "（另有 {count} 条结果未显示）",
        "en": "(results not shown: {count})",
    },
}


def say(key: str, language: Language, **values: str) -> str:
    """A fixed sentence."""
    return filled(_TEXTS[key][language], values)


def sandbox_gap(error: AgentError, language: Language) -> Gap:
    """That programs could not be run."""
    message = say("code_failed", language, reason=reason_of(error, language))
    return Gap(query="", provider="sandbox", code=error.code, message=message)
