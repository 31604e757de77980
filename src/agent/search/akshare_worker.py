"""Call AkShare, which has no time limits of its own, in a process that may be killed.

`python -P -m agent.search.akshare_worker SECONDS`: a request on standard input,
{"query", "names": [[code, name], …] or null, "tables": [names of TABLES], "rows": most of each}.
JSON lines on standard output, each written as soon as it is known, so that a kill costs only the
rest: {"missing": why} · {"names": [[code, name], …]} where they had to be looked up ·
{"company": [code, name] or null} · {"table", "rows": [objects]} or {"table", "error"} · {"done"}.
"""

import contextlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

from agent.core.strings import without_mark

_CODE = re.compile(r"(?<!\d)([034689]\d{5})(?!\d)")
_PERIODS = ("报告期", "日期")
_MOST_ROWS = 5000
_MOST_TEXT = 2000

Arguments = Callable[[str], dict[str, Any]]
TABLES: Mapping[str, Arguments] = {
    "stock_financial_abstract_ths": lambda code: {"symbol": code, "indicator": "按报告期"},
    "stock_individual_info_em": lambda code: {"symbol": code, "timeout": 10},
    "stock_profile_cninfo": lambda code: {"symbol": code},
    "stock_zyjs_ths": lambda code: {"symbol": code},
    "stock_financial_analysis_indicator": lambda code: {"symbol": code, "start_year": _year()},
    "stock_news_em": lambda code: {"symbol": code},
}
"""The functions that may be called, in this order, with what each is given."""
NAMES = "stock_info_a_code_name"


def main() -> None:
    """Answer the request, and end without waiting for threads the library left."""
    _confine(int(sys.argv[1]))
    with _own_output() as out:
        request = json.load(sys.stdin)

        def send(**line: Any) -> None:
            out.write(json.dumps(line, ensure_ascii=True).encode("ascii") + b"\n")
            out.flush()

        send_tables(request, send)
    os._exit(0)


def send_tables(request: Mapping[str, Any], send: Callable[..., None]) -> None:
    """Find the query's company and send each of its tables."""
    try:
        library = __import__("akshare")
    except Exception as error:  # noqa: BLE001 - a broken installation raises anything
        send(missing=f"{type(error).__name__}: {error}"[:_MOST_TEXT])
        return
    names = request.get("names")
    if names is None:
        try:
            names = _names(library)
        except Exception as error:  # noqa: BLE001 - the library raises what its sites cause
            send(table=NAMES, error=_error_text(error))
            names = []
        else:
            send(names=names)
    company = find_company(str(request.get("query", "")), names)
    send(company=company)
    if company:
        for table in (name for name in request.get("tables", ()) if name in TABLES):
            _send_table(library, table, company[0], int(request.get("rows", 4)), send)
    send(done=True)


def find_company(query: str, names: Iterable[Sequence[str]]) -> list[str] | None:
    """Return [code, name] of a query's company: by its code, else by the longest name in it."""
    listed = {code: "".join(name.split()) for code, name in names}
    for code in _CODE.findall(query):
        if code in listed or not listed:
            return [code, listed.get(code, code)]
    bare_query = "".join(query.split())
    # Two characters are also parts of words, unless they are all that is asked.
    fitting = [
        (len(bare), code)
        for code, name in listed.items()
        if (bare := without_mark(name)) in bare_query and (len(bare) > 2 or bare == bare_query)
    ]
    if not fitting:
        return None
    _, code = max(fitting, key=lambda pair: pair[0])
    return [code, listed[code]]


def _send_table(library: Any, table: str, code: str, most: int, send: Callable[..., None]) -> None:
    try:
        frame = getattr(library, table)(**TABLES[table](code))
        send(table=table, rows=_rows(frame, most))
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001 - the library raises what its sites cause
        send(table=table, error=_error_text(error))


def _names(library: Any) -> list[list[str]]:
    rows = getattr(library, NAMES)().to_dict("records")
    pairs = [[str(row["code"]), str(row["name"])] for row in rows]
    if not pairs:
        raise ValueError("the list of companies is empty")
    return pairs


def _rows(frame: Any, most: int) -> list[dict[str, Any]]:
    """Return the first rows of a table, the newest periods first where it has periods."""
    rows = [row for row in frame.head(_MOST_ROWS).to_dict("records") if isinstance(row, dict)]
    period = next((name for name in _PERIODS if rows and name in rows[0]), None)
    if period:
        rows.sort(key=lambda row: str(row.get(period)), reverse=True)
    # A company's profile is a table of many short rows, a statement one of few long ones.
    chosen = rows if rows and set(rows[0]) == {"item", "value"} else rows[:most]
    return [{str(name): _plain(value) for name, value in row.items()} for row in chosen[:100]]


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if value - value == 0 else None  # neither NaN nor infinite
    return str(value)[:_MOST_TEXT]


def _error_text(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"[:300]


def _year() -> str:
    from datetime import date

    return str(date.today().year - 1)


@contextlib.contextmanager
def _own_output() -> Any:
    """Redirect what the library prints to standard error; yield our own output."""
    ours = os.dup(1)
    os.dup2(2, 1)
    with os.fdopen(ours, "wb") as out:
        yield out


def _confine(seconds: int) -> None:
    """End the process by itself, should its parent be gone."""
    if sys.platform != "win32":
        import signal

        signal.alarm(seconds + 5)


if __name__ == "__main__":
    main()
