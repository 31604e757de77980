"""Stand in for AkShare offline: the functions we call, over `data/finance_*.json`.

Imported as `akshare` by the worker, whose path begins with this folder; needs nothing of ours.
A file has `companies`: {"code", "name", "tables": {function: [rows as the library has them]}}.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

_SAMPLE = Path(__file__).parents[2] / "data"


class Table:
    """Hold rows with as much of a DataFrame as the worker uses."""

    def __init__(self, rows: list[dict[str, Any]]) -> None:
        self._rows = rows

    def head(self, most: int) -> "Table":
        return Table(self._rows[:most])

    def to_dict(self, orient: str) -> list[dict[str, Any]]:
        if orient != "records":
            raise ValueError(orient)
        return self._rows


def stock_info_a_code_name() -> Table:
    """Return the codes and names of the bundled companies."""
    return Table([{"code": row["code"], "name": row["name"]} for row in _companies()])


def _companies() -> list[dict[str, Any]]:
    sheets = [json.loads(f.read_text("utf-8")) for f in sorted(_SAMPLE.glob("finance_*.json"))]
    return [company for sheet in sheets for company in sheet["companies"]]


def _table(function: str) -> Callable[..., Table]:
    """Return the function of that name: a company's rows, none for one that is not bundled."""

    def called(symbol: str, **_: Any) -> Table:
        tables = [row["tables"] for row in _companies() if row["code"] == symbol]
        return Table([row for table in tables for row in table.get(function, [])])

    return called


stock_financial_abstract_ths = _table("stock_financial_abstract_ths")
stock_individual_info_em = _table("stock_individual_info_em")
stock_profile_cninfo = _table("stock_profile_cninfo")
stock_zyjs_ths = _table("stock_zyjs_ths")
stock_financial_analysis_indicator = _table("stock_financial_analysis_indicator")
stock_news_em = _table("stock_news_em")
