"""What the offline team says, in both languages."""

from agent.language import Language, filled

from .rules_team_words import CATEGORIES

_SAYS: dict[str, dict[Language, str]] = {
    "found": {"zh": "查到：{said}{mark}", "en": "Found: {said}{mark}"},
    "given": {"zh": "题目给出：{said}", "en": "Given in the question: {said}"},
    "missing": {
        "zh": "没有查到{what}：资料里没有一句同时说到它和所问的方面。",
        "en": "Nothing was found on {what}: no sentence speaks of it and of what is asked.",
    },
    "listed": {
        "zh": "地图上{near}的{category}有 {count} 处：{places}。",
        "en": "Found on the map at {near} ({category}, {count}): {places}.",
    },
    "unread": {
        "zh": "这个问题不属于能查的几类，没有找到可以依据的资料。",
        "en": "The question is of no kind that can be looked up; nothing bears an answer out.",
    },
    "computed": {
        "zh": "用程序算过：{formula}，结果 {result}。",
        "en": "Computed by a program: {formula}; the result is {result}.",
    },
    "told_apart": {
        "zh": "能分出真假的是同时说到对象和所问方面的那一句。",
        "en": "What tells them apart is the sentence that names both the subject and the aspect.",
    },
    "no_hypothesis": {
        "zh": "资料不支持任何答案[没有来源]。",
        "en": "The material supports no answer (no source).",
    },
    "other": {"zh": "另一处的说法：{said}", "en": "said elsewhere: {said}"},
    "recomputed": {
        "zh": "换一种算法重算，得到 {result}，与 {answer} {same}。",
        "en": "Recomputed another way: {result}, which {same} {answer}.",
    },
    "searched_again": {
        "zh": "换一种说法、换一个来源又查了一遍：{what}。",
        "en": "Searched once more in other words and elsewhere: {what}.",
    },
    "confirmed": {"zh": "又见到 {value}{mark}", "en": "{value} is told again{mark}"},
    "unopposed": {"zh": "没有见到相反的说法", "en": "nothing speaks against it"},
    "opposed": {"zh": "资料更支持 {value}{mark}", "en": "the material rather says {value}{mark}"},
    "still_none": {"zh": "仍然没有可以依据的资料", "en": "still nothing bears an answer out"},
    "now_found": {
        "zh": "其实查得到：{value}{mark}",
        "en": "it can be found after all: {value}{mark}",
    },
    "same": {"zh": "一致", "en": "equals"},
    "differs": {"zh": "不一致", "en": "differs from"},
    "settled": {"zh": "答案是 {answer}。{said}", "en": "The answer is {answer}. {said}"},
    "none": {
        "zh": "查过的网页和地图里没有能支持答案的内容。",
        "en": "Nothing on the searched pages or the map bears an answer out.",
    },
    "step_fact": {"zh": "查{subject}：{attribute}", "en": "Look up {subject}: {attribute}"},
    "step_best": {
        "zh": "{near}有哪些{category}，{by}各是多少？",
        "en": "Which places ({category}) are at {near}, and what is the {by} of each?",
    },
    "step_described": {
        "zh": "“{words}”说的是哪一家{category}？",
        "en": "Which place ({category}) is meant by “{words}”?",
    },
    "step_attribute": {"zh": "再查它的{attribute}", "en": "Then look up its {attribute}"},
    "step_compute": {"zh": "用程序算出结果并核对格式。", "en": "Compute the result by a program."},
}
_ATTRIBUTES: dict[str, str] = {
    "rating": "评分",
    "cost": "人均",
    "opens": "开门时间",
    "closes": "关门时间",
    "hours": "营业时间",
    "address": "地址",
    "district": "所在区",
    "distance": "距离",
}


def say(name: str, language: Language, **values: str) -> str:
    """The text of that name with its values put in."""
    return filled(_SAYS[name][language], values)


def category_name(category: str, language: Language) -> str:
    """A kind of place in the reader's language; the map knows the Chinese word."""
    return CATEGORIES.get(category, category).partition("|")[0] if language == "en" else category


def attribute_name(attribute: str, language: Language) -> str:
    return _ATTRIBUTES.get(attribute, attribute) if language == "zh" else attribute
