"""What code says in a dossier: to the planner, in gaps, around the tables. In both languages."""

from agent.evidence.types import Gap
from agent.texts.language import Language, filled

ASSISTANT = "plan_execute"

SOURCES: dict[str, dict[Language, str]] = {
    "wikipedia": {"zh": "维基百科", "en": "Wikipedia"},
    "openalex": {"zh": "OpenAlex", "en": "OpenAlex"},
    "semantic_scholar": {"zh": "Semantic Scholar", "en": "Semantic Scholar"},
    "sec_edgar": {"zh": "SEC EDGAR", "en": "SEC EDGAR"},
    "akshare": {"zh": "AkShare", "en": "AkShare"},
    "tavily": {"zh": "网页搜索（Tavily）", "en": "Web search (Tavily)"},
    "serper": {"zh": "网页搜索（Serper）", "en": "Web search (Serper)"},
    "bocha": {"zh": "网页搜索（博查）", "en": "Web search (Bocha)"},
    "google": {"zh": "网页搜索（Google）", "en": "Web search (Google)"},
    "amap": {"zh": "高德地图", "en": "Amap"},
    "documents": {"zh": "资料库文档", "en": "Own documents"},
    "papers": {"zh": "论文全文", "en": "Full texts of papers"},
}
KINDS: dict[str, dict[Language, str]] = {
    "encyclopedia": {"zh": "百科", "en": "encyclopedia"},
    "paper": {"zh": "论文", "en": "paper"},
    "filing": {"zh": "公告", "en": "filing"},
    "statement": {"zh": "报表", "en": "statement"},
    "page": {"zh": "网页", "en": "web page"},
    "map": {"zh": "地图", "en": "map"},
    "document": {"zh": "文档", "en": "document"},
}

_TEXTS: dict[str, dict[Language, str]] = {
    "plan_problems": {
        "zh": "计划不能执行：{problems}。请重新给出整个计划，最多 {limit} 个子任务。",
        "en": "The plan cannot be carried out: {problems}. Give the whole plan again, with at most "
        "{limit} tasks.",
    },
    "problem_empty": {"zh": "没有子任务", "en": "there are no tasks"},
    "problem_too_many": {"zh": "子任务太多", "en": "there are too many tasks"},
    "problem_same_id": {"zh": "编号重复", "en": "an id is used twice"},
    "problem_same_task": {"zh": "同一子任务出现两次", "en": "the same task occurs twice"},
    "problem_unknown_dep": {"zh": "依赖了不存在的编号", "en": "a task depends on an unknown id"},
    "problem_cycle": {"zh": "依赖成环", "en": "the dependencies make a circle"},
    "note_empty": {
        "zh": "模型没有给出计划，整个问题作为一个任务。",
        "en": "The model gave no plan; the question is carried out as one task.",
    },
    "note_flat": {
        "zh": "计划里的依赖有误（{problems}），各任务同时执行。",
        "en": "The plan's dependencies were wrong ({problems}); the tasks run side by side.",
    },
    "note_cut": {
        "zh": "计划超过 {limit} 个子任务，只执行前 {limit} 个。",
        "en": "The plan had more than {limit} tasks; only the first {limit} are carried out.",
    },
    "note_distinct": {
        "zh": "计划里重复的子任务只执行一次。",
        "en": "Tasks that the plan had twice are carried out once.",
    },
    "nothing": {"zh": "没有找到结果。", "en": "Nothing was found."},
    "failed": {"zh": "查询失败：{reason}", "en": "The search failed: {reason}"},
    "defect": {"zh": "该来源出现内部错误", "en": "it has a defect"},
    "no_query": {"zh": "没有执行：缺少检索式。", "en": "Not done: there is no query."},
    "no_tool": {
        "zh": "没有这个工具；可用的有：{tools}。",
        "en": "There is no such tool; there are: {tools}.",
    },
    "asked_before": {
        "zh": "已经查过，结果同上。",
        "en": "This was looked up already; the results are above.",
    },
    "figures": {"zh": "**关键数字**", "en": "**Key figures**"},
    "figures_head": {
        "zh": "| 项目 | 数值 | 单位 | 期间 | 来源 |",
        "en": "| item | value | unit | period | source |",
    },
    "figures_more": {
        "zh": "*另有 {count} 个数字未列出。*",
        "en": "*Further figures, not listed: {count}.*",
    },
    "consulted": {"zh": "**查阅范围**", "en": "**What was consulted**"},
    "consulted_head": {
        "zh": "| 来源 | 类型 | 找到 | 引用 |",
        "en": "| source | kind | found | cited |",
    },
    "ranked": {"zh": "论文排序：{text}。", "en": "Papers ranked by: {text}."},
    "papers": {
        "zh": "论文全文：下载 {got} 篇，失败 {failed} 篇。",
        "en": "Full texts of papers: {got} downloaded, {failed} failed.",
    },
    "off": {"zh": "未启用：{text}。", "en": "Not set up: {text}."},
    "plan": {"zh": "计划：{text}", "en": "Plan: {text}"},
    "page": {"zh": "{title}，第 {page} 页", "en": "{title}, p. {page}"},
    "map": {"zh": "地图", "en": "Map"},
    "own": {"zh": "资料库", "en": "From documents"},
    "none_answered": {
        "zh": "没有一个来源能查询，因此不作回答；原因列在下面，请稍后再试。",
        "en": "No source could be searched, so there is no answer; the reasons are below. "
        "Try again later.",
    },
}

# Why a source is off, where the operator's own text would be English; what to set is named.
_OFF: dict[str, str] = {
    "wikipedia": "请在 WIKIPEDIA_USER_AGENT 中写明联系方式，如 MyTool/1.0 (me@example.org)",
    "openalex": "请设置 OPENALEX_API_KEY（可免费申请）",
    "sec_edgar": "请在 SEC_USER_AGENT 中写明名称和邮箱，如 Company Name me@example.org",
    "akshare": '未安装 AkShare：pip install "tanlu[finance]"',
    "tavily": "没有可用的网页搜索，运行 tanlu doctor 可查看要设置什么",
}
WEB_OFF = "WEB_SEARCH=off"

_GAPS: dict[str, dict[Language, str]] = {
    "source_off": {
        "zh": "没有查 {source}：{reason}",
        "en": "{source} was not searched: {reason}",
    },
    "source_failed": {
        "zh": "{source}：查询没有成功（{reason}）",
        "en": "{source} failed: {reason}",
    },
    "task_empty": {
        "zh": "外部来源里没有找到这一子任务的资料。",
        "en": "No outside source had anything on this task.",
    },
    "plan_failed": {
        "zh": "负责计划的模型不可用（{reason}），整个问题作为一个任务。",
        "en": "The planning model failed ({reason}); the question is carried out as one task.",
    },
    "decide_failed": {
        "zh": "没能决定是否查财经资料和地图（{reason}），只用了必查的来源。",
        "en": "Whether to look up filings and the map could not be decided ({reason}); only the "
        "sources that are always searched were used.",
    },
    "rerank_fallback": {
        "zh": "排序服务没有成功，论文改按词语匹配（{backend}）排序；运行 tanlu doctor 可查看原因",
        "en": "The ranking server failed, so papers were ranked by words ({backend}); "
        "`tanlu doctor` tells why",
    },
    "papers_failed": {
        "zh": "有 {count} 篇论文的全文没能下载（{reason}），只用了摘要。",
        "en": "Full texts that could not be had: {count} ({reason}); their abstracts are used.",
    },
    "papers_unread": {
        "zh": "有 {count} 篇下载的论文没能读入（{reason}）。",
        "en": "Downloaded papers that could not be read: {count} ({reason}).",
    },
    "knowledge_failed": {
        "zh": "资料库不可用：{reason}",
        "en": "The knowledge base cannot be used: {reason}",
    },
    "headings_failed": {
        "zh": "没能由文档标题写出检索目标（{reason}），只按子任务检索资料库。",
        "en": "No targets could be written from the documents' headings ({reason}); the knowledge "
        "base was searched for the tasks only.",
    },
    "dossier_uncited_alone": {
        "zh": "模型写的内容没有引用任何资料，不能核对。",
        "en": "What the model wrote cites nothing that was found and cannot be checked.",
    },
    "dossier_uncited": {
        "zh": "模型写的内容没有引用任何资料，不能核对；文末附有检索到的资料摘录，未必与问题有关。",
        "en": "What the model wrote cites nothing that was found and cannot be checked; excerpts "
        "of what was found are appended, which may not bear on the question.",
    },
}


def say(key: str, language: Language, **values: str) -> str:
    """A fixed sentence."""
    return filled(_TEXTS[key][language], values)


def run_gap(
    code: str, language: Language, *, query: str = "", provider: str = ASSISTANT, **values: str
) -> Gap:
    """What the reader is told that the run did not do, or did otherwise."""
    message = filled(_GAPS[code][language], values)
    return Gap(query=query, provider=provider, code=code, message=message)


def off_reason(source: str, why: str, language: Language) -> str:
    """Why a source is off, for the reader; `why` is the library's own text."""
    if language == "en" or why == WEB_OFF:
        return why
    return _OFF.get(source, why)


def source_name(source: str, language: Language) -> str:
    """A source as a reader knows it."""
    return SOURCES[source][language] if source in SOURCES else source
