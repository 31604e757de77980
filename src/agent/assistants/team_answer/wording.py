"""What code says in the results of tools, to the models; in gaps, to the reader."""

from agent.core.errors import AgentError
from agent.evidence.types import Gap
from agent.texts.language import Language, filled
from agent.texts.reasons import reason_of

_TEXTS: dict[str, dict[Language, str]] = {
    "role_researcher": {
        "zh": "查资料，提出带来源的说法",
        "en": "looks things up and states claims with their sources",
    },
    "role_analyst": {
        "zh": "列出、打分、剪除几个假设，比较证据",
        "en": "lists, scores and prunes several hypotheses against the evidence",
    },
    "role_verifier": {
        "zh": "质疑每一条说法，搜索相反的证据，表示同意或不同意",
        "en": "challenges each claim, searches for the opposite, agrees or disagrees",
    },
    "selection_nobody": {
        "zh": "你没有点出任何发言人。只回答下面的一个名字：{candidates}",
        "en": "That names no speaker. Answer with one of these names only: {candidates}",
    },
    "selection_several": {
        "zh": "你点出了不止一位：{named}。只回答下面的一个名字：{candidates}",
        "en": "That names more than one: {named}. Answer with one of these names only: "
        "{candidates}",
    },
    "selection_not_now": {
        "zh": "现在轮不到 {named}。只回答下面的一个名字：{candidates}",
        "en": "{named} cannot speak now. Answer with one of these names only: {candidates}",
    },
    "tools_spent": {
        "zh": "本次发言不能再用工具了，请直接说出结论。",
        "en": "No more tools in this turn: say now what you conclude.",
    },
    "no_turn": {
        "zh": "上次没有得到可用的发言（第 {count} 次）。",
        "en": "The last reply was no turn (attempt {count}).",
    },
    "earlier_turns": {
        "zh": "更早的 {count} 次发言从略。",
        "en": "Earlier turns left out: {count}.",
    },
    "verdict_agree": {"zh": "同意。", "en": "Agrees."},
    "verdict_disagree": {"zh": "不同意。", "en": "Disagrees."},
    "verdict_unsure": {"zh": "不能确定。", "en": "Not sure."},
    "ends": {"zh": "讨论结束。", "en": "The discussion is over."},
}

_GAPS: dict[str, dict[Language, str]] = {
    "chat_model_failed": {
        "zh": "讨论中有模型调用失败（{reason}）。",
        "en": "A model call of the discussion failed ({reason}).",
    },
    "chat_failures": {
        "zh": "连续 {limit} 次模型调用失败，讨论提前结束，按已有资料作答。",
        "en": "Model calls failed {limit} times in a row; the discussion ended early, and the "
        "answer uses what there is.",
    },
    "chat_rounds": {
        "zh": "讨论到了 {limit} 轮的上限，没有人宣布结束。",
        "en": "The discussion reached its limit of {limit} turns without anybody ending it.",
    },
    "chat_budget": {
        "zh": "本次运行的额度（{limit}）只够作答，讨论提前结束。",
        "en": "The discussion ended early: what is left of {limit} is kept for the answer.",
    },
    "answer_unsupported": {
        "zh": "模型给出的答案没有任何来源或计算支持，因此不采用。",
        "en": "The model gave an answer that no source and no calculation bears out; it is not "
        "used.",
    },
}


def say(key: str, language: Language, **values: str) -> str:
    """A fixed sentence."""
    return filled(_TEXTS[key][language], values)


def run_gap(code: str, language: Language, *, query: str = "", **values: str) -> Gap:
    """What the reader is told that the run did not do, or did otherwise."""
    message = filled(_GAPS[code][language], values)
    return Gap(query=query, provider="team_answer", code=code, message=message)


_TOOL_TEXTS: dict[str, dict[Language, str]] = {
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


def say_tool(key: str, language: Language, **values: str) -> str:
    """A fixed sentence."""
    return filled(_TOOL_TEXTS[key][language], values)


def sandbox_gap(error: AgentError, language: Language) -> Gap:
    """That programs could not be run."""
    message = say_tool("code_failed", language, reason=reason_of(error, language))
    return Gap(query="", provider="sandbox", code=error.code, message=message)
