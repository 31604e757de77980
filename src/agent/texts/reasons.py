"""What an error means to the person who asked: one short phrase in the question's language.

The error's own text, with model names and HTTP statuses, is for logs and `tanlu doctor`.
"""

from agent.core.errors import (
    AgentError,
    BudgetExceeded,
    ConfigurationError,
    MalformedReply,
    ProviderError,
    ProviderRefused,
    ProviderUnavailable,
    RateLimited,
    StoreFailed,
)
from agent.texts.language import Language, filled

_DOCTOR: dict[Language, str] = {
    "zh": "运行 tanlu doctor 可查看原因",
    "en": "`tanlu doctor` tells why",
}

_WHO: dict[Language, str] = {"zh": "服务", "en": "the service"}
_MODEL: dict[Language, str] = {"zh": "模型服务", "en": "the model service"}

# {who} is the service, {variable} its key, {limit} what a run may use, {doctor} where to look.
_TEXTS: dict[str, dict[Language, str]] = {
    "timeout": {"zh": "{who}没有及时响应", "en": "{who} did not answer in time"},
    "unavailable": {
        "zh": "{who}暂时不可用",
        "en": "{who} is down or out of reach",
    },
    "rate_limited": {
        "zh": "请求过于频繁，{who}暂时限流",
        "en": "{who} was asked too often",
    },
    "refused": {"zh": "{who}拒绝了请求，{doctor}", "en": "{who} refused; {doctor}"},
    "malformed": {"zh": "{who}返回的内容无法识别", "en": "the reply of {who} could not be read"},
    "too_large": {"zh": "{who}返回的内容过大", "en": "the reply of {who} was too large"},
    "breaker_open": {
        "zh": "{who}连续多次失败，暂时不再请求",
        "en": "{who} failed repeatedly and is left alone for a while",
    },
    "proxy": {
        "zh": "代理不放行，请检查代理设置",
        "en": "the proxy lets nothing through; check its settings",
    },
    "configuration": {"zh": "设置 {variable} 有误，{doctor}", "en": "{variable}: {problem}"},
    "web_search": {
        "zh": "没有可用的网页搜索，{doctor}",
        "en": "no web search is set up; {doctor}",
    },
    "model_key_invalid": {
        "zh": "{variable} 无效，请检查密钥",
        "en": "{variable} is not valid; check the key",
    },
    "model_region": {
        "zh": "模型服务不在所在地区提供",
        "en": "the model service is not offered at this location",
    },
    "model_quota": {
        "zh": "{variable} 没有额度或余额",
        "en": "{variable} has no quota or balance left",
    },
    "model_quota_day": {
        "zh": "模型今日的额度已用完",
        "en": "today's quota of the model is used up",
    },
    "model_forbidden": {
        "zh": "{variable} 无权使用该模型",
        "en": "{variable} may not use this model",
    },
    "model_missing": {
        "zh": "该模型不存在或已停用，{doctor}",
        "en": "the model is unknown or retired; {doctor}",
    },
    "model_context": {
        "zh": "内容超出了模型的长度上限",
        "en": "there was more text than the model takes",
    },
    "model_blocked": {
        "zh": "模型服务拦截了这次的内容",
        "en": "the model service blocked the content",
    },
    "model_empty": {"zh": "模型没有写出内容", "en": "the model wrote nothing"},
    "model_truncated": {
        "zh": "模型的输出超过长度上限",
        "en": "the model's reply was cut at its limit",
    },
    "model_cut_off": {"zh": "模型写到一半中断", "en": "the model broke off half-way"},
    "model_unusable": {
        "zh": "模型的回复不合要求",
        "en": "the model's reply was not in the form asked for",
    },
    "search_key_invalid": {
        "zh": "{variable} 无效，请检查密钥",
        "en": "{variable} is not valid; check the key",
    },
    "server_key_invalid": {"zh": "密钥无效，{doctor}", "en": "its key is not valid; {doctor}"},
    "search_quota": {"zh": "额度已用完", "en": "its quota is used up"},
    "search_misconfigured": {
        "zh": "服务地址设置有误，{doctor}",
        "en": "its address is set wrongly; {doctor}",
    },
    "degraded": {
        "zh": "免密钥的通道繁忙，设置 {variable} 即可避开",
        "en": "it is busy for those without a key; {variable} avoids that",
    },
    "library_broken": {"zh": "已安装但无法加载，{doctor}", "en": "it cannot be loaded; {doctor}"},
    "not_found": {"zh": "没有查到对应的条目", "en": "there is no such entry"},
    "embed_dimensions": {
        "zh": "向量长度与已有的不一致，{doctor}",
        "en": "its vectors have another length than the ones kept; {doctor}",
    },
    "unsafe_url": {
        "zh": "不是公开的网页地址",
        "en": "the address is not one of the public web",
    },
    "page_unresolved": {"zh": "找不到该网站", "en": "there is no such site"},
    "page_refused": {"zh": "网站拒绝访问", "en": "the site refused"},
    "page_gone": {"zh": "网页已不存在", "en": "the page is not there any more"},
    "page_robots": {
        "zh": "网站不允许程序读取（robots.txt）",
        "en": "the site asks programs not to read it (robots.txt)",
    },
    "page_redirects": {"zh": "网页不断跳转", "en": "the page redirects in circles"},
    "page_kind": {"zh": "不是可读的文件类型", "en": "it is not a kind of file that is read"},
    "page_empty": {"zh": "里面没有文字", "en": "there is no text in it"},
    "page_unreadable": {"zh": "文件已损坏", "en": "the document is broken"},
    "page_encrypted": {"zh": "文件需要密码", "en": "the document needs a password"},
    "page_too_complex": {"zh": "文件过于复杂", "en": "the document is too complex"},
    "paper_not_pdf": {"zh": "下载到的不是 PDF", "en": "what came is no PDF"},
    "paper_not_kept": {"zh": "未能保存到磁盘", "en": "it could not be kept on disk"},
    "budget_max_searches": {
        "zh": "本次运行的搜索次数已用完，max_searches = {limit}",
        "en": "this run's searches are used up, max_searches = {limit}",
    },
    "budget_max_model_calls": {
        "zh": "本次运行的模型调用次数已用完，max_model_calls = {limit}",
        "en": "this run's model calls are used up, max_model_calls = {limit}",
    },
    "budget_max_map_calls": {
        "zh": "本次运行的地图调用次数已用完，max_map_calls = {limit}",
        "en": "this run's map calls are used up, max_map_calls = {limit}",
    },
    "budget_max_run_tokens": {
        "zh": "本次运行的 token 额度已用完，max_run_tokens = {limit}",
        "en": "this run's tokens are used up, max_run_tokens = {limit}",
    },
    "budget_max_run_seconds": {
        "zh": "本次运行的时间已用完，max_run_seconds = {limit} 秒",
        "en": "this run's time is used up, max_run_seconds = {limit} s",
    },
}
_SAME = {
    "model_bad_request": "refused",
    "model_bad_call": "model_unusable",
    "model_schema": "model_unusable",
    "model_no_turn": "model_empty",
    "search_refused": "refused",
    "server_refused": "refused",
    "server_quota": "search_quota",
    "server_misconfigured": "search_misconfigured",
}
_BY_KIND: tuple[tuple[type[AgentError], str], ...] = (
    (ProviderUnavailable, "unavailable"),
    (RateLimited, "rate_limited"),
    (MalformedReply, "malformed"),
    (ProviderRefused, "refused"),
    (ConfigurationError, "configuration"),
)
_KEYS = {"model:google": "GEMINI_API_KEY", "google": "GEMINI_API_KEY",
         "model:openai": "OPENAI_API_KEY", "amap": "AMAP_MAPS_API_KEY"}  # fmt: skip


def reason_of(error: AgentError, language: Language) -> str:
    """Why something failed, without a full stop: what is wrong, and what to do where one can."""
    text = _TEXTS[_key(error)][language]
    return filled(text, _values(error, language)).rstrip("。.")


def stop_of(error: StoreFailed, language: Language) -> str:
    """Why a run had to end, and what makes it go on."""
    if language == "en":
        return error.message
    return f"{error.name}：{error.problem}；解决之前不再发起付费调用，解决后可从此处继续"


def _key(error: AgentError) -> str:
    """The wording that fits best: by the code, else by the kind of error."""
    if isinstance(error, ConfigurationError):
        return "web_search" if error.name == "web_search" else "configuration"
    code = _SAME.get(error.code, error.code)
    if code in _TEXTS:
        return code
    return next((key for kind, key in _BY_KIND if isinstance(error, kind)), "refused")


def _values(error: AgentError, language: Language) -> dict[str, str]:
    values = {"doctor": _DOCTOR[language], "who": _WHO[language]}
    if isinstance(error, ConfigurationError):
        return {**values, "variable": error.name, "problem": error.problem}
    if isinstance(error, BudgetExceeded):
        return {**values, "limit": f"{error.value:g}"}
    if isinstance(error, ProviderError):
        if error.provider.startswith("model"):
            values["who"] = _MODEL[language]
        name = error.provider.replace(":", "_").upper()
        values["variable"] = _KEYS.get(error.provider, f"{name}_API_KEY")
    return values
