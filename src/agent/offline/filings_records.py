"""The bundled companies and their filings, read from `sample/filings_*.json`.

A file is an object with a `note` and a list `companies` of
{"cik": 9990001, "ticker", "title": the registrant's name, "aliases": [other names, also Chinese],
"industry": the SIC description,
"filings": [{"adsh": "0009990001-26-000001", "form": "10-K", "filed": "2026-02-20",
  "period": "2025-12-31", "document": "tsec-20251231.htm", "text": what full-text search looks in}],
"facts": {"Revenues": {"unit": "USD", "values": [{"start": "2025-01-01" (flows only),
  "end": "2025-12-31", "val": 1000000, "adsh": of the filing, "fy": 2025, "fp": "FY" or "Q1"…,
  "form": "10-K", "filed": "2026-02-20"}]}}} — the concepts are those of us-gaap, as in XBRL.

A CIK of 9990001 and up belongs to nobody; use such ones for companies that are made up.
"""

import json
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any


@dataclass(frozen=True)
class Filing:
    adsh: str
    form: str
    filed: str
    period: str
    document: str
    text: str


@dataclass(frozen=True)
class Company:
    cik: int
    ticker: str
    title: str
    aliases: tuple[str, ...]
    industry: str
    filings: tuple[Filing, ...]
    facts: dict[str, dict[str, Any]]


@cache
def sample_companies() -> tuple[Company, ...]:
    """The companies of all files, in the order of the files' names."""
    folder = resources.files(__package__) / "sample"
    files = sorted(
        (entry for entry in folder.iterdir() if entry.name.startswith("filings_")),
        key=lambda entry: entry.name,
    )
    sheets = [json.loads(entry.read_text(encoding="utf-8")) for entry in files]
    return tuple(_company(row) for sheet in sheets for row in sheet["companies"])


def _company(row: dict[str, Any]) -> Company:
    filings = tuple(Filing(**filing) for filing in row["filings"])
    return Company(**{**row, "aliases": tuple(row["aliases"]), "filings": filings})
