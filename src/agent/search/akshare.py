"""Call AkShare (Chinese listed companies) in a process that is killed at its time limit."""

import asyncio
import contextlib
import importlib.util
import json
import logging
import os
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from agent.core.budget import Meter
from agent.core.calls import Calls, Policy
from agent.core.concurrency import SharedSemaphore
from agent.core.errors import (
    ConfigurationError,
    MalformedReply,
    ProviderRefused,
    ProviderUnavailable,
)
from agent.core.outside import finite, parse_json
from agent.core.proxies import proxy_environment
from agent.core.strings import parted_brackets
from agent.evidence.queries import clean_text
from agent.search.akshare_worker import NAMES, TABLES, find_company
from agent.search.documents import (
    Document,
    DocumentKind,
    FiledFigure,
    distinct_documents,
    make_document,
)
from agent.search.hits import MAX_QUERY, plain_line

TableRow = Mapping[str, Any]
CompanyTables = Mapping[str, Sequence[TableRow]]

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
_SUFFIXES = ("万亿", "亿", "万", "%")
_UNITS_IN_NAMES = ("元", "万元", "亿元", "%", "次", "天", "倍", "元/股")
_PER_SHARE = "每股"
_INDICATORS = ("每股收益", "净资产收益率", "销售毛利率", "销售净利率", "资产负债率", "增长率")
"""Of the indicators, of which there are eighty."""
_PERIODS_SHOWN = 2


def company_documents(
    company: Sequence[str], tables: CompanyTables, absent: Mapping[str, str]
) -> list[Document]:
    """Return the documents, statements first; the first one names the tables that failed."""
    code, name = company
    statements = [_statement(t, tables.get(t, ()), code, name) for t in _STATEMENTS]
    pages = [_page(table, tables.get(table, ()), code, name) for table in _PAGES]
    news = [_news(row) for row in tables.get(NEWS, ())]
    documents = distinct_documents([*statements, *pages, *news])
    if documents and absent:
        reasons = ", ".join(f"{table} ({plain_line(why, 80)})" for table, why in absent.items())
        documents[0]["text"] += f"\n未能取得 not available: {reasons}"
    return documents


def newest_figures(
    rows: Sequence[TableRow], period: str, url: str, names: Iterable[str]
) -> list[FiledFigure]:
    """Return the figures with a unit of the newest two periods and the newest full year.

    `names` are parts of the names to take; all where it is empty.
    """
    parts = tuple(names)
    dated = [(plain_line(str(row.get(period) or ""), 10), row) for row in rows]
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


def _figure(column: str, value: Any, period: str, url: str) -> FiledFigure | None:
    """Return the figure, or None where it is no number or has no unit."""
    if isinstance(value, bool) or value is None:
        return None
    written = str(value).strip()
    suffix = next((each for each in _SUFFIXES if written.endswith(each)), None)
    number = written.removesuffix(suffix or "").strip()
    if finite(number.replace(",", "")) is None:
        return None
    bare, named = parted_brackets(column)
    bare, named = (bare, named) if named in _UNITS_IN_NAMES else (column, "")
    unit = _unit(column, suffix, named or None)
    if unit is None:
        return None
    name = plain_line(bare, 60)
    return FiledFigure(name=name, value=number, unit=unit, period=period, url=url)


def _unit(column: str, suffix: str | None, named: str | None) -> str | None:
    if suffix == "%" or named == "%":
        return "%"
    money = "元/股" if _PER_SHARE in column else "元"
    if suffix:
        return f"{suffix}{money}"
    if named == "元":
        return money
    return named or (money if _PER_SHARE in column else None)


def _statement(table: str, rows: Sequence[TableRow], code: str, name: str) -> Document | None:
    label, period, address = _STATEMENTS[table]
    url = address.format(code=code)
    names = _INDICATORS if table == INDICATOR else ()
    figures = newest_figures(rows, period, url, names)
    if not figures:
        return None
    lines = [f"{f['name']}: {f['value']} {f['unit']} ({f['period']})" for f in figures]
    title = f"{name} ({code}) {label}"
    kind: DocumentKind = "statement"
    document = make_document("akshare", kind, title, url, "\n".join(lines))
    return Document(**{**document, "figures": figures}) if document else None


def _page(table: str, rows: Sequence[TableRow], code: str, name: str) -> Document | None:
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


def _news(row: TableRow) -> Document | None:
    return make_document(
        "akshare",
        "page",
        row.get("新闻标题"),
        row.get("新闻链接"),
        row.get("新闻内容"),
        published=plain_line(row.get("发布时间"), 20),
    )


log = logging.getLogger(__name__)
EXTRA = 'pip install "tanlu[finance]"'
_WORKERS = 2
_ROWS = 4
_MAX_LINE = 4 << 20
_MAX_LINES = 64
_NAMES_SECONDS = 24 * 3600.0
_ENVIRONMENT = (
    "PATH", "SYSTEMROOT", "LANG", "LC_ALL", "TEMP", "TMP", "VIRTUAL_ENV", "SSL_CERT_FILE",
)  # fmt: skip


@dataclass
class WorkerReply:
    """Collect the lines of a worker until its end."""

    company: list[str] | None = None
    names: list[list[str]] | None = None
    tables: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    errors: dict[str, str] = field(default_factory=dict)
    missing: str = ""
    company_known: bool = False
    """True once it has named the company that is meant, or none."""
    is_complete: bool = False


class AkShare:
    """Search figures, profile, business and news of the company that a query names."""

    name = "akshare"

    def __init__(self, calls: Calls, *, timeout: float, folder: str | None = None) -> None:
        self._calls = calls
        self._timeout = timeout
        self._folder = folder
        # One attempt: what took all its time once would take it again.
        self._policy = Policy(
            self.name, spends="searches", timeout=timeout * 2 + 10, attempts=1, breaker=True
        )
        self._workers = SharedSemaphore(_WORKERS)
        self._names: list[list[str]] | None = None
        self._names_at = 0.0

    async def search(
        self, query: str, *, meter: Meter, count: int | None = None, since: str = ""
    ) -> list[Document]:
        """Return at most `count` documents on the company named; none for an unlisted one.

        Raises ProviderError where nothing could be had, BudgetExceeded.
        """
        cleaned = clean_text(query, MAX_QUERY)
        names = self._known_names()
        if cleaned and names is not None:
            company = find_company(cleaned, names)
            names = [company] if company else []
        if not cleaned or names == []:
            return []

        async def send() -> str:
            documents = await self._documents(cleaned, names)
            return json.dumps(documents, ensure_ascii=False)

        reply = await self._calls.once(self._policy, send, meter=meter, request={"query": cleaned})
        documents: list[Document] = json.loads(reply)
        return documents[:count] if count else documents

    async def health(self) -> str:
        """Return a line if the library can be imported in its process; raise ProviderError."""
        answer = await self._ask({"query": "", "names": [], "tables": []})
        if answer.missing or not answer.is_complete:
            raise ProviderUnavailable(self.name, answer.missing or "the worker ended early")
        return "the library can be loaded; its sites were not asked"

    async def _documents(self, query: str, names: list[list[str]] | None) -> list[Document]:
        """Ask the worker; `names` is the company, or None where the list is not loaded yet."""
        tables = list(TABLES)
        request = {"query": query, "names": names, "tables": tables, "rows": _ROWS}
        answer = await self._ask(request)
        if answer.names:
            self._names, self._names_at = answer.names, time.monotonic()
        if answer.missing:
            raise ProviderRefused(
                self.name, f"AkShare cannot be loaded: {answer.missing}", code="library_broken"
            )
        if not answer.company_known or (NAMES in answer.errors and answer.company is None):
            raise _unavailable(self._timeout, answer.errors.get(NAMES))
        if answer.company is None:
            return []
        absent = {name: answer.errors.get(name, "not in time") for name in tables}
        absent = {name: why for name, why in absent.items() if name not in answer.tables}
        documents = company_documents(answer.company, answer.tables, absent)
        if not documents and absent:
            raise _unavailable(self._timeout, next(iter(absent.values())))
        return documents

    def _known_names(self) -> list[list[str]] | None:
        fresh = time.monotonic() - self._names_at <= _NAMES_SECONDS
        return self._names if fresh else None

    async def _ask(self, request: Mapping[str, Any]) -> WorkerReply:
        """Return the answer of a worker within the time limit; it never outlives this call."""
        async with self._workers:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-P", "-m", "agent.search.akshare_worker"),
                str(int(self._timeout) + 1),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.DEVNULL,
                env=_environment(self._folder),
                limit=_MAX_LINE,
            )
            answer = WorkerReply()
            try:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._timeout):
                        await _listen(process, request, answer)
            finally:
                await _end(process)
        return answer


def why_off(folder: str | None = None) -> str | None:
    """Return why the library cannot be used, or None where it is installed or in the folder."""
    if folder is None and importlib.util.find_spec("akshare") is None:
        return f"AkShare is not installed: {EXTRA}"
    return None


async def _listen(
    process: asyncio.subprocess.Process, request: Mapping[str, Any], answer: WorkerReply
) -> None:
    if process.stdin is None or process.stdout is None:
        raise RuntimeError("the worker has no pipes")
    with contextlib.suppress(ConnectionError):
        process.stdin.write(json.dumps(request).encode("ascii"))
        await process.stdin.drain()
        process.stdin.close()
    for _ in range(_MAX_LINES):
        try:
            line = await process.stdout.readline()
        except ValueError:
            raise MalformedReply("akshare", "a line is too long", code="too_large") from None
        if not line:
            await process.wait()
            return
        _take(line, answer)


def _take(line: bytes, answer: WorkerReply) -> None:
    """Add one line of the worker to its answer."""
    try:
        value = parse_json(line)
    except ValueError:
        value = None
    match value:
        case {"names": list(names)}:
            answer.names = names
        case {"company": company}:
            answer.company, answer.company_known = company, True
        case {"table": str(table), "rows": list(rows)}:
            answer.tables[table] = rows
        case {"table": str(table), "error": str(error)}:
            answer.errors[table] = error
            log.info("akshare %s: %s", table, error)
        case {"missing": str(why)}:
            answer.missing = why
        case {"done": True}:
            answer.is_complete = True
        case _:
            log.warning("akshare's worker said something else than its lines")


def _environment(folder: str | None) -> dict[str, str]:
    """Return the environment of the worker, without any key of ours."""
    environment = {name: os.environ[name] for name in _ENVIRONMENT if name in os.environ}
    try:
        environment |= proxy_environment()
    except ConfigurationError as error:
        raise ProviderUnavailable("akshare", error.message, code="proxy") from None
    path = os.pathsep.join(entry for entry in (folder, *sys.path) if entry)
    return {**environment, "PYTHONPATH": path}


async def _end(process: asyncio.subprocess.Process) -> None:
    if process.returncode is None:
        with contextlib.suppress(ProcessLookupError):
            process.kill()
    await asyncio.shield(process.wait())


def _unavailable(seconds: float, reason: str | None) -> ProviderUnavailable:
    if reason and reason != "not in time":
        return ProviderUnavailable("akshare", reason)
    return ProviderUnavailable("akshare", f"no answer within {seconds:g} s", code="timeout")
