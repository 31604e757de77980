"""What code says in a discussion: to the models in messages, to the reader in gaps."""

from agent.evidence.types import Gap
from agent.language import Language, filled

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
