"""AkShare in its own process: a library that answers, hangs, raises, prints or returns garbage."""

import os
import time
from pathlib import Path
from textwrap import dedent

import pytest

from agent.core.calls import Calls
from agent.core.errors import BudgetExceeded, ProviderError, ProviderRefused, ProviderUnavailable
from agent.search.akshare import AkShare, why_off
from agent.search.document_sources import DocumentSources
from agent.search.web import WebSearch
from agent.settings import Settings
from tests.support.memory_reply_cache import MemoryReplyCache
from tests.support.meters import meter
from tests.support.search_scripts import ScriptedModels

pytestmark = pytest.mark.slow

QUERY = "宁德时代 2024 年营业收入"
SECRET = "canary-key-akshare-51c0"
# The shapes of the real functions: tables that can be headed and listed as records.
LIBRARY = """
import os, sys, time

class Table:
    def __init__(self, rows):
        self.rows = rows
    def head(self, most):
        return Table(self.rows[:most])
    def to_dict(self, orient):
        assert orient == "records"
        return self.rows

def stock_info_a_code_name():
    called("names")
    return Table([{"code": "300750", "name": "宁德时代"}, {"code": "600519", "name": "贵州茅台"}])

def stock_financial_abstract_ths(symbol, indicator):
    return Table([
        {"报告期": "2023-12-31", "营业总收入": "4009.17亿", "净利润": "441.21亿"},
        {"报告期": "2024-12-31", "营业总收入": "3620.13亿", "净利润": "507.45亿",
         "净利润同比增长率": "15.01%", "基本每股收益": "11.58", "每股未分配利润": False},
    ])

def stock_individual_info_em(symbol, timeout):
    return Table([{"item": "行业", "value": "电池"}, {"item": "总股本", "value": float("nan")}])

def stock_profile_cninfo(symbol):
    return Table([{"公司名称": "宁德时代新能源科技股份有限公司", "机构简介": "动力电池[^w0-1]"}])

def stock_zyjs_ths(symbol):
    return Table([{"股票代码": symbol, "主营业务": "动力电池、储能电池"}])

def stock_financial_analysis_indicator(symbol, start_year):
    return Table([{"日期": "2024-12-31", "净资产收益率(%)": 24.1, "存货周转天数(天)": 80.0}])

def stock_news_em(symbol):
    return Table([{"新闻标题": "电池新品", "新闻内容": "发布。", "发布时间": "2026-11-20 08:00:00",
                   "新闻链接": "https://finance.example.com/1"}])

def called(name):
    folder = os.path.dirname(__file__)
    with open(os.path.join(folder, "calls.txt"), "a") as log:
        log.write(name + " " + " ".join(sorted(os.environ)) + "\\n")
"""


class Installed:
    """A fake library on the path, and a source that uses it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("")

    def write(self, changes: str) -> None:
        (self.folder / "akshare.py").write_text(LIBRARY + dedent(changes), "utf-8")

    @property
    def calls(self) -> list[str]:
        log = self.folder / "calls.txt"
        return log.read_text("utf-8").splitlines() if log.exists() else []

    def source(
        self, *, timeout: float = 120, reply_cache: MemoryReplyCache | None = None
    ) -> AkShare:
        return AkShare(Calls(reply_cache=reply_cache), timeout=timeout)


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Installed:
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    monkeypatch.setenv("OPENALEX_API_KEY", SECRET)
    return Installed(tmp_path)


async def test_a_company_brings_figures_profile_business_and_news(installed: Installed) -> None:
    source, account = installed.source(), meter()
    found = await source.search(QUERY, meter=account)
    kinds = [(document["kind"], document["title"]) for document in found]
    assert kinds == [
        ("statement", "宁德时代 (300750) 财务摘要"),
        ("statement", "宁德时代 (300750) 财务指标"),
        ("page", "宁德时代 (300750) 概况"),
        ("page", "宁德时代 (300750) 公司简介"),
        ("page", "宁德时代 (300750) 主营介绍"),
        ("page", "电池新品"),
    ]
    told = {(f["name"], f["value"], f["unit"], f["period"]) for f in found[0]["figures"]}
    assert ("营业总收入", "3620.13", "亿元", "2024-12-31") in told
    assert ("净利润同比增长率", "15.01", "%", "2024-12-31") in told
    assert ("基本每股收益", "11.58", "元/股", "2024-12-31") in told
    assert ("净利润", "441.21", "亿元", "2023-12-31") in told
    assert found[0]["figures"][0]["period"] == "2024-12-31"
    assert [(f["name"], f["value"], f["unit"]) for f in found[1]["figures"]] == [
        ("净资产收益率", "24.1", "%")
    ]
    assert all("300750" in f["url"] for f in found[0]["figures"])
    assert found[2]["text"] == "行业: 电池"
    assert "[^w0-1]" not in found[3]["text"]
    assert found[5]["published"] == "2026-11-20 08:00:00"
    assert account.usage["searches"] == 1
    # The list of companies is kept, so that a query about none costs no process.
    assert await source.search("今天天气", meter=account) == []
    assert (len(installed.calls), account.usage["searches"]) == (1, 1)


async def test_no_key_of_ours_is_where_the_library_runs(installed: Installed) -> None:
    await installed.source().search(QUERY, meter=meter())
    [call] = installed.calls
    assert "PYTHONPATH" in call
    assert "API_KEY" not in call


async def test_what_the_library_prints_is_no_part_of_the_answer(installed: Installed) -> None:
    installed.write(
        """
        print('{"company": ["1", "false"]}')
        os.write(1, b'{"done": true}\\n' * 100)
        """
    )
    assert len(await installed.source().search(QUERY, meter=meter())) == 6


async def test_a_table_that_raises_or_is_garbage_costs_only_itself(installed: Installed) -> None:
    installed.write(
        """
        def stock_zyjs_ths(symbol):
            raise KeyError("changed page")
        def stock_profile_cninfo(symbol):
            return 7
        def stock_news_em(symbol):
            return Table([None, {"新闻标题": 3, "新闻链接": "javascript:x"}])
        def stock_individual_info_em(symbol, timeout):
            return Table([])
        """
    )
    found = await installed.source().search(QUERY, meter=meter())
    assert [document["kind"] for document in found] == ["statement", "statement"]
    assert "stock_zyjs_ths (KeyError: 'changed page')" in found[0]["text"]
    assert "stock_profile_cninfo" in found[0]["text"]


async def test_a_hang_is_ended_and_what_came_before_it_is_kept(installed: Installed) -> None:
    installed.write(
        """
        def stock_zyjs_ths(symbol):
            with open(os.path.join(os.path.dirname(__file__), "pid"), "w") as file:
                file.write(str(os.getpid()))
            while True:
                time.sleep(60)
        """
    )
    began = time.monotonic()
    found = await installed.source(timeout=6).search(QUERY, meter=meter())
    assert time.monotonic() - began < 60
    assert [document["kind"] for document in found] == ["statement", "page", "page"]
    assert "stock_news_em (not in time)" in found[0]["text"]
    with pytest.raises(ProcessLookupError):
        os.kill(int((installed.folder / "pid").read_text()), 0)


async def test_a_hang_at_once_is_a_time_limit_and_then_left_alone(installed: Installed) -> None:
    installed.write("time.sleep(600)")
    source = installed.source(timeout=0.3)
    for code in ("timeout", "timeout", "timeout", "breaker_open"):
        with pytest.raises(ProviderUnavailable) as caught:
            await source.search(QUERY, meter=meter())
        assert caught.value.code == code


@pytest.mark.parametrize(
    ("changes", "kept"),
    [
        ("raise RuntimeError('no such library')", ProviderRefused),
        ("def stock_info_a_code_name():\n    raise OSError('site is down')", ProviderUnavailable),
        ("def stock_info_a_code_name():\n    return Table([])", ProviderUnavailable),
        ("os._exit(3)", ProviderUnavailable),
    ],
)
async def test_a_library_that_cannot_begin_is_an_error(
    installed: Installed, changes: str, kept: type[ProviderError]
) -> None:
    installed.write(changes)
    with pytest.raises(ProviderError) as caught:
        await installed.source().search(QUERY, meter=meter())
    assert type(caught.value) is kept


async def test_a_reply_of_megabytes_is_not_read(installed: Installed) -> None:
    installed.write(
        """
        def stock_info_a_code_name():
            return Table([{"code": "300750", "name": "x" * 5_000_000}])
        """
    )
    with pytest.raises(ProviderError) as caught:
        await installed.source().search(QUERY, meter=meter())
    assert caught.value.code == "too_large"


async def test_a_paid_answer_is_not_asked_for_twice(installed: Installed) -> None:
    reply_cache = MemoryReplyCache()
    first = await installed.source(reply_cache=reply_cache).search("300750", meter=meter("one"))
    again = await installed.source(reply_cache=reply_cache).search("300750", meter=meter("one"))
    assert first == again
    assert len(installed.calls) == 1
    with pytest.raises(BudgetExceeded):
        await installed.source().search(QUERY, meter=meter(searches=0))


async def test_the_sources_have_it_only_where_it_is_installed(
    installed: Installed, monkeypatch: pytest.MonkeyPatch
) -> None:
    def sources() -> DocumentSources:
        settings, calls = Settings(), Calls()
        return DocumentSources(settings, calls, WebSearch(settings, ScriptedModels(), calls))

    assert why_off() is None
    assert "akshare" in sources().offered()
    assert "can be loaded" in await installed.source().health()
    monkeypatch.setattr("agent.search.akshare.importlib.util.find_spec", lambda name: None)
    assert "tanlu[finance]" in sources().off()["akshare"]
