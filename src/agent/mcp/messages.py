"""What went wrong with the map, in the words of the question's language and with what to do."""

from agent.errors import AgentError
from agent.evidence.types import Gap
from agent.language import Language

# {about} is the place or query asked for.
_TEXTS: dict[str, dict[Language, str]] = {
    "map_key_missing": {
        "zh": "未配置 AMAP_MAPS_API_KEY，地图检索已跳过；"
        "在高德开放平台 lbs.amap.com 申请“Web服务”类型的 Key 即可启用",
        "en": "AMAP_MAPS_API_KEY is not set, so the map was skipped; get a key of type “Web服务” "
        "at lbs.amap.com to use it",
    },
    "map_key_invalid": {
        "zh": "高德拒绝了 AMAP_MAPS_API_KEY；请在控制台 console.amap.com 检查该 Key"
        "（需“Web服务”类型，未开启数字签名，IP 白名单包含本机）",
        "en": "Amap refused AMAP_MAPS_API_KEY; check it at console.amap.com (type “Web服务”, no "
        "signature, this machine's address allowed)",
    },
    "map_quota_day": {
        "zh": "今日高德地点搜索配额已用完，次日 0 点（北京时间）恢复",
        "en": "today's Amap quota is used up; it starts again at 00:00 China time",
    },
    "map_rate": {
        "zh": "高德限制了请求频率，多次重试未成功；可调低 AMAP_QPS",
        "en": "Amap limits how often it may be asked, also after retries; lower AMAP_QPS",
    },
    "map_banned": {
        "zh": "请求过于频繁，高德暂停服务一分钟",
        "en": "asked too often; Amap serves us again in a minute",
    },
    "map_place_not_found": {
        "zh": "地图上没有找到“{about}”",
        "en": "the map knows no “{about}”",
    },
    "map_not_covered": {
        "zh": "“{about}”不在高德地图的覆盖范围内（仅中国）",
        "en": "“{about}” is outside what Amap covers (China)",
    },
    "map_place_too_wide": {
        "zh": "“{about}”范围太大，无法搜索附近；请给出更具体的地点",
        "en": "“{about}” is too wide an area to search around; name a more precise place",
    },
    "map_no_results": {
        "zh": "地图上没有符合“{about}”的结果",
        "en": "the map has nothing that fits “{about}”",
    },
    "map_no_route": {
        "zh": "高德没有给出“{about}”的路线",
        "en": "Amap gave no route for “{about}”",
    },
    "map_needs_place": {
        "zh": "需要一个地点或位置才能查询地图",
        "en": "the map needs a place or a position",
    },
    "map_timeout": {
        "zh": "地图服务超时未响应",
        "en": "the map did not answer in time",
    },
    "map_server_down": {
        "zh": "地图服务未能运行",
        "en": "the map server does not run",
    },
    "map_no_node": {
        "zh": "未找到 Node.js，地图检索已跳过；"
        '请安装 Node 20 以上，或运行 pip install "tanlu[node]"',
        "en": "Node.js was not found, so the map was skipped; install Node 20 or newer, or run "
        'pip install "tanlu[node]"',
    },
    "map_install_failed": {
        "zh": "地图服务首次安装失败（需要 npm 与网络；也可用 AMAP_MCP_COMMAND 指定已安装的服务）",
        "en": "the map server could not be installed (npm and a network are needed once; or name "
        "an installed one in AMAP_MCP_COMMAND)",
    },
    "map_contract": {
        "zh": "地图服务的工具与预期不符，已停用地图",
        "en": "the map server's tools are not the expected ones; the map is switched off",
    },
    "map_network": {
        "zh": "连接高德失败",
        "en": "Amap could not be reached",
    },
    "budget_max_map_calls": {
        "zh": "本次运行的地图调用次数已用完（max_map_calls），其余地图查询已跳过",
        "en": "this run's map calls are used up (max_map_calls); further ones were skipped",
    },
    "budget_max_run_seconds": {
        "zh": "本次运行的时间已用完（max_run_seconds），其余地图查询已跳过",
        "en": "this run's time is used up (max_run_seconds); further map calls were skipped",
    },
}
_SAME = {"timeout": "map_timeout"}
_WITH_REASON = frozenset(
    {
        "map_key_invalid", "map_quota_day", "map_server_down", "map_install_failed",
        "map_contract", "map_network", "map_no_route",
    }
)  # fmt: skip
POINTLESS_TO_GO_ON = frozenset(
    {
        "map_key_missing", "map_key_invalid", "map_quota_day", "map_rate", "map_banned",
        "map_server_down", "map_no_node", "map_install_failed", "map_contract", "map_timeout",
        "timeout", "map_needs_place", "budget_max_map_calls", "budget_max_run_seconds",
    }
)  # fmt: skip
"""Codes after which further map calls of this run would only fail the same way."""


def map_message(error: AgentError, language: Language, about: str = "") -> str:
    """One line for people; the error's own text follows where it says more."""
    texts = _TEXTS.get(_SAME.get(error.code, error.code))
    if texts is None:
        return str(error)
    text = texts[language].format(about=about)
    if error.code not in _WITH_REASON:
        return text
    return f"{text}（{error}）" if language == "zh" else f"{text} ({error})"


def map_gap(error: AgentError, query: str, language: Language, about: str = "") -> Gap:
    """The failure as the user sees it."""
    return Gap(
        query=query,
        provider=getattr(error, "provider", "amap"),
        code=error.code,
        message=map_message(error, language, about or query),
    )
