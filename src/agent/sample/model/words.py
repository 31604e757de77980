"""What the model says in its own words, in both languages."""

from agent.texts.language import Language, filled

_QUOTED = 60
_WORDS: dict[str, dict[Language, str]] = {
    "rationale": {
        "zh": "先查问题本身，再查它说到的方面。",
        "en": "The question itself, then the aspects it names.",
    },
    "sample": {
        "zh": "以下内容摘自内置的示例数据，只供演示，使用前请核实。",
        "en": "This is quoted from the bundled sample data, for demonstration only; check before"
        " you rely on it.",
    },
    "nothing": {
        "zh": "示例数据里没有“{question}”的资料。示例只收录了少数地点和话题；"
        "配置模型和地图的密钥之后，可以查到真实的资料。",
        "en": "The sample data has nothing on “{question}”. It covers only a few places and topics;"
        " with keys for a model and the map set, the real sources are searched.",
    },
    "places": {
        "zh": "关于“{question}”，地图上查到 {count} 处，可以先看这些：",
        "en": "For “{question}” the map has {count} places; these come first:",
    },
    "place": {"zh": "关于“{question}”，地图上查到：", "en": "For “{question}” the map has:"},
    "facts": {"zh": "关于“{question}”，查到：", "en": "On “{question}”, this was found:"},
    "web": {"zh": "网上的资料说：", "en": "From the web:"},
    "end": {
        "zh": "示例数据里能摘引的到此为止。",
        "en": "That is all that can be quoted from the sample data.",
    },
    "needs_model": {
        "zh": "示例模式只会摘引原句、取出其中的年份、日期或数字，并计算问题里的算式；"
        "其余的需要语言模型。",
        "en": "The sample mode only quotes sentences, takes a year, date or number out of them, and"
        " computes what the question itself states; everything else needs a language model.",
    },
    "summary": {"zh": "摘要", "en": "Summary"},
    "conclusion": {"zh": "结论", "en": "Conclusion"},
    "quoted_only": {
        "zh": "以上是从示例数据里摘引的原句，没有归纳和比较；那需要语言模型。",
        "en": "These are sentences quoted from the sample data, neither summed up nor compared;"
        " that needs a language model.",
    },
    "nothing_on": {
        "zh": "示例数据里没有这方面的资料：{what}。",
        "en": "The sample data has nothing on: {what}.",
    },
    "document": {"zh": "文档原文", "en": "Documents"},
    "map": {"zh": "地图上的地点", "en": "Places on the map"},
    "search": {"zh": "查“{topic}”。", "en": "Look for “{topic}”."},
    "also": {"zh": "另外查到", "en": "Also found"},
    "nothing_here": {
        "zh": "示例里的这些网页没有这方面的内容。",
        "en": "These pages of the sample have nothing on it.",
    },
    "pages": {
        "zh": "“{topic}”有 {count} 个网页可以摘引。",
        "en": "{count} pages can be quoted on “{topic}”.",
    },
    "no_tool": {"zh": "不用专门的工具。", "en": "No special tool is needed."},
    "quote": {"zh": "原句：{said}", "en": "The sentence: {said}"},
    "computed": {"zh": "按问题里的算式计算。", "en": "Computed as the question states."},
    "confirmed": {
        "zh": "再查一次，原句仍在，没有相反的说法：{said}",
        "en": "Searched again: the sentence stands, and nothing contradicts it: {said}",
    },
    "recomputed": {"zh": "重算一次，结果相同。", "en": "Computed again, with the same result."},
    "settled": {"zh": "答案取自这一句：{said}", "en": "The answer is taken from: {said}"},
}


def say(key: str, language: Language, **values: str) -> str:
    """A fixed sentence with its values; a long question is cut."""
    short = {
        k: v if len(v) <= _QUOTED or k == "said" else f"{v[:_QUOTED]}…" for k, v in values.items()
    }
    return filled(_WORDS[key][language], short)
