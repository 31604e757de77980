"""Say what the failures of a map, by their codes, mean to the person who asked."""

import logging
import re

from agent.core.errors import (
    AgentError,
)
from agent.evidence.types import Gap
from agent.texts.language import Language, filled
from agent.texts.reasons import reason_of

_DEFAULT_PROVIDER = "amap"
_NAME = re.compile(r"\b[A-Z][A-Z_]{6,}\b")
WAITING_HELPS = frozenset({"map_rate", "map_busy", "map_network", "map_malformed"})
"""Codes after which the same call may be made again soon."""
NOT_FOUND = "map_place_not_found"
NOT_SET_UP = frozenset({"map_key_missing", "map_no_node"})
"""Codes of a map that nobody has set up; nothing is broken."""


def service_words(text: str) -> list[str]:
    """Return a map service's own words for a failure, such as INVALID_USER_IP."""
    return [name for name in _NAME.findall(text) if not name.endswith("_API_KEY")]


log = logging.getLogger(__name__)

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
        "zh": "今日的高德地点搜索次数已用完，次日 0 点（北京时间）恢复",
        "en": "Today's place searches at Amap are used up; they start again at 00:00 China time",
    },
    "map_rate": {
        "zh": "高德限制了请求频率，多次重试仍未成功；调低 AMAP_QPS 可避免",
        "en": "Amap was asked too often, also after retries; a lower AMAP_QPS avoids that",
    },
    "map_banned": {
        "zh": "请求过于频繁，高德暂停服务一分钟，请稍后再试",
        "en": "Amap was asked too often and pauses for a minute; try again then",
    },
    "map_place_not_found": {
        "zh": "地图上没有找到“{about}”",
        "en": "The map knows no “{about}”",
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
        "en": "The map has nothing that fits “{about}”",
    },
    "map_no_route": {
        "zh": "高德没有给出“{about}”的路线",
        "en": "Amap gave no route for “{about}”",
    },
    "map_needs_place": {
        "zh": "需要一个地点或位置才能查询地图",
        "en": "The map needs a place or a position",
    },
    "map_wrong_city": {
        "zh": "在所说的城市里没有找到“{about}”",
        "en": "There is no “{about}” in the city asked for",
    },
    "map_busy": {
        "zh": "高德服务繁忙，请稍后再试",
        "en": "Amap is busy; try again later",
    },
    "map_malformed": {
        "zh": "高德返回的内容无法识别",
        "en": "Amap's reply could not be read",
    },
    "map_too_large": {
        "zh": "高德返回的内容过大，未读取",
        "en": "Amap's reply was too large to read",
    },
    "map_bad_request": {
        "zh": "高德不接受对“{about}”的查询",
        "en": "Amap does not take the question about “{about}”",
    },
    "map_failed": {
        "zh": "高德没有回答对“{about}”的查询",
        "en": "Amap gave no answer about “{about}”",
    },
    "map_timeout": {
        "zh": "地图服务没有及时响应",
        "en": "The map did not answer in time",
    },
    "map_server_down": {
        "zh": "地图服务没能运行；运行 tanlu doctor 可查看原因",
        "en": "The map server does not run; `tanlu doctor` tells why",
    },
    "map_no_node": {
        "zh": "未找到 Node.js，地图检索已跳过；"
        '请安装 Node 20 以上，或运行 pip install "tanlu[node]"',
        "en": "Node.js was not found, so the map was skipped; install Node 20 or newer, or run "
        'pip install "tanlu[node]"',
    },
    "map_install_failed": {
        "zh": "地图服务首次安装失败（需要 npm 与网络；也可用 AMAP_MCP_COMMAND 指定已安装的服务）",
        "en": "The map server could not be installed (npm and a network are needed once; or name "
        "an installed one in AMAP_MCP_COMMAND)",
    },
    "map_contract": {
        "zh": "地图服务的版本不符，地图已停用；运行 tanlu doctor 可查看原因",
        "en": "The map server is another one than expected, so the map is off; `tanlu doctor` "
        "tells why",
    },
    "map_network": {
        "zh": "连接不上高德，请检查网络或代理",
        "en": "Amap could not be reached; check the network and the proxy",
    },
    "budget_max_map_calls": {
        "zh": "本次运行的地图调用次数已用完（max_map_calls），其余地图查询已跳过",
        "en": "This run's map calls are used up (max_map_calls); further ones were skipped",
    },
    "budget_max_run_seconds": {
        "zh": "本次运行的时间已用完（max_run_seconds），其余地图查询已跳过",
        "en": "This run's time is used up (max_run_seconds); further map calls were skipped",
    },
}
# What else can fail while a model works with the map.
_OTHER: dict[Language, str] = {
    "zh": "地图上查到的没能由模型整理（{reason}）",
    "en": "What the map has could not be written up ({reason})",
}
_SAME = {"timeout": "map_timeout"}
POINTLESS_TO_GO_ON = frozenset(
    {
        "map_key_missing", "map_key_invalid", "map_quota_day", "map_rate", "map_banned",
        "map_server_down", "map_no_node", "map_install_failed", "map_contract", "map_timeout",
        "timeout", "map_needs_place", "budget_max_map_calls", "budget_max_run_seconds",
    }
)  # fmt: skip
"""Codes after which further map calls of this run would only fail the same way."""


def map_message(error: AgentError, language: Language, about: str = "") -> str:
    """Return one line for people; of a refused key with the service's own word for it."""
    texts = _TEXTS.get(_SAME.get(error.code, error.code))
    if texts is None:
        return filled(_OTHER[language], {"reason": reason_of(error, language)})
    text = filled(texts[language], {"about": about})
    said = next(iter(service_words(error.message)), "") if error.code == "map_key_invalid" else ""
    if not said:
        return text
    return f"{text}；高德的回复：{said}" if language == "zh" else f"{text}; Amap says {said}"


def map_gap(
    error: AgentError,
    query: str,
    language: Language,
    about: str = "",
    *,
    provider: str = _DEFAULT_PROVIDER,
) -> Gap:
    """Return the failure as the user sees it; its own text goes to the log."""
    log.info("map: %s (%s)", error, error.code)
    return Gap(
        query=query,
        provider=getattr(error, "provider", provider),
        code=error.code,
        message=map_message(error, language, about or query),
    )
