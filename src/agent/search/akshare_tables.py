"""AkShare's tables as documents: figures with unit and period, profile, business, news."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agent.search.documents import Document, DocumentKind, Figure
from agent.search.hits import plain
from agent.search.sources import distinct, make_document

Row = Mapping[str, Any]
Tables = Mapping[str, Sequence[Row]]

ABSTRACT = "stock_financial_abstract_ths"
INDICATOR = "stock_financial_analysis_indicator"
NEWS = "stock_news_em"
_PAGES: Mapping[str, tuple[str, str]] = {
    "stock_individual_info_em": ("概况", "https://emweb.securities.eastmoney.com/pc_hsf10/pages/index.html?code={market}{code}"),
    "stock_profile_cninfo": ("公司简介", "https://www.cninfo.com.cn/new/disclosure/stock?stockCode={code}"),
    "stock_zyjs_ths": ("主营介绍", "https://basic.10jqka.com.cn/new/{code}/operate.html"),
}  # fmt: skip
_STATEMENTS: Mapping[str, tuple[str, str, str]] = {
    ABSTRACT: ("财务摘要", "报告期", "https://basic.10jqka.com.cn/new/{code}/finance.html"),
    INDICATOR: ("财务指标", "日期", "https://money.finance.sina.com.cn/corp/go.php/vFD_FinancialGuideLine/stockid/{code}/displaytype/4.phtml"),
}  # fmt: skip
_NUMBER = re.compile(r"(-?\d[\d,]*(?:\.\d+)?)\s*(万亿|亿|万|%)?")
_UNIT_IN_NAME = re.compile(r"[(（](元|万元|亿元|%|次|天|倍|元/股)[)）]\s*$")
_PER_SHARE = "每股"
_WANTED = ("每股收益", "净资产收益率", "销售毛利率", "销售净利率", "资产负债率", "增长率")
"""Of the indicators, of which there are eighty."""
_PERIODS_SHOWN = 2


def company_documents(
    company: Sequence[str], tables: Tables, absent: Mapping[str, str]
) -> list[Document]:
    """Documents of what came, statements first; the first one tells what did not."""
    code, name = company
    statements = [_statement(t, tables.get(t, ()), code, name) for t in _STATEMENTS]
    pages = [_page(table, tables.get(table, ()), code, name) for table in _PAGES]
    news = [_news(row) for row in tables.get(NEWS, ())]
    found = distinct([*statements, *pages, *news])
    if found and absent:
        told = ", ".join(f"{table} ({plain(why, 80)})" for table, why in absent.items())
        found[0]["text"] += f"\n未能取得 not available: {told}"
    return found


def figures_of(rows: Sequence[Row], period: str, url: str, wanted: Iterable[str]) -> list[Figure]:
    """The figures of the newest two periods and of the newest full year; only those with a unit.

    `wanted` are parts of the names to take; all names where it is empty.
    """
    parts = tuple(wanted)
    dated = [(plain(str(row.get(period) or ""), 10), row) for row in rows]
    newest = [pair for pair in dated if pair[0]][:_PERIODS_SHOWN]
    year = next((pair for pair in dated if pair[0].endswith("12-31")), None)
    if year and year not in newest:
        newest.append(year)
    return [
        figure
        for day, row in newest
        for name, value in row.items()
        if name != period and (not parts or any(part in name for part in parts))
        if (figure := _figure(name, value, day, url))
    ]


def _figure(column: str, value: Any, period: str, url: str) -> Figure | None:
    """The figure, or None where it is no number or nothing tells its unit."""
    if isinstance(value, bool) or value is None:
        return None
    match = _NUMBER.fullmatch(str(value).strip())
    if match is None:
        return None
    named = _UNIT_IN_NAME.search(column)
    unit = _unit(column, match[2], named[1] if named else None)
    if unit is None:
        return None
    name = plain(column[: named.start()] if named else column, 60)
    return Figure(name=name, value=match[1], unit=unit, period=period, url=url)


def _unit(column: str, suffix: str | None, named: str | None) -> str | None:
    if suffix == "%" or named == "%":
        return "%"
    money = "元/股" if _PER_SHARE in column else "元"
    if suffix:
        return f"{suffix}{money}"
    if named == "元":
        return money
    return named or (money if _PER_SHARE in column else None)


def _statement(table: str, rows: Sequence[Row], code: str, name: str) -> Document | None:
    label, period, address = _STATEMENTS[table]
    url = address.format(code=code)
    wanted = _WANTED if table == INDICATOR else ()
    figures = figures_of(rows, period, url, wanted)
    if not figures:
        return None
    lines = [f"{f['name']}: {f['value']} {f['unit']} ({f['period']})" for f in figures]
    title = f"{name} ({code}) {label}"
    kind: DocumentKind = "statement"
    document = make_document("akshare", kind, title, url, "\n".join(lines))
    return Document(**{**document, "figures": figures}) if document else None


def _page(table: str, rows: Sequence[Row], code: str, name: str) -> Document | None:
    label, address = _PAGES[table]
    pairs = [
        (row.get("item"), row.get("value")) if "item" in row else pair
        for row in rows
        for pair in ([(None, None)] if "item" in row else row.items())
    ]
    lines = [f"{key}: {value}" for key, value in pairs if value not in (None, "")]
    if not lines:
        return None
    market = "SH" if code.startswith("6") else "BJ" if code[0] in "489" else "SZ"
    url = address.format(code=code, market=market)
    return make_document("akshare", "page", f"{name} ({code}) {label}", url, "\n".join(lines))


def _news(row: Row) -> Document | None:
    return make_document(
        "akshare",
        "page",
        row.get("新闻标题"),
        row.get("新闻链接"),
        row.get("新闻内容"),
        published=plain(row.get("发布时间"), 20),
    )
