"""Export the sources of a finished answer for reference managers: BibTeX and RIS.

A source has no authors; a DOI in its address lets the manager look up what is missing.
"""

from collections.abc import Iterator, Mapping
from urllib.parse import unquote

from agent.core.errors import AgentError
from agent.core.strings import one_line
from agent.evidence.markdown import open_url
from agent.evidence.references import site_of
from agent.evidence.types import Source
from agent.export.finished import FinishedAnswer, numbered_sources
from agent.texts import say

_ESCAPED: Mapping[str, str] = {
    "\\": r"\textbackslash{}", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}",
    **{sign: f"\\{sign}" for sign in "{}%&#$_"},
}  # fmt: skip
_BIBTEX_TYPES: Mapping[str, str] = {"paper": "article", "filing": "techreport"}
_RIS_TYPES: Mapping[str, str] = {"paper": "JOUR", "filing": "RPRT", "document": "UNPB"}
_LONGEST = 2_000


def bibtex(answer: FinishedAnswer) -> str:
    """Return an entry a source, keyed by its number in the answer: `tanlu1`.

    Raises AgentError (`no_sources`) where there are none.
    """
    entries = []
    for number, source in _numbered(answer):
        publisher = "institution" if source["kind"] == "filing" else "howpublished"
        fields = {
            "title": f"{{{_escaped(_title(source))}}}",
            "journal" if source["kind"] == "paper" else publisher: _escaped(site_of(source)),
            **{name: _escaped(value) for name, value in _published(source)},
            "doi": _escaped(_doi(source)),
            "url": _address(source),
            "urldate": answer.generated_at[:10] if _address(source) else "",
        }
        lines = [f"  {name} = {{{value}}}," for name, value in fields.items() if value]
        kind = _BIBTEX_TYPES.get(source["kind"], "misc")
        entries.append("\n".join([f"@{kind}{{tanlu{number},", *lines, "}"]))
    return "\n\n".join(entries) + "\n"


def ris(answer: FinishedAnswer) -> str:
    """Return a record a source. Raises AgentError (`no_sources`) where there are none."""
    lines: list[str] = []
    for number, source in _numbered(answer):
        dates = dict(_published(source))
        day = "/".join(filter(None, (dates.get(part) for part in ("year", "month", "day"))))
        fields = {
            "TY": _RIS_TYPES.get(source["kind"], "ELEC"),
            "ID": f"tanlu{number}",
            "TI": _title(source),
            "T2" if source["kind"] == "paper" else "PB": one_line(site_of(source)),
            "PY": dates.get("year", ""),
            "DA": day,
            "DO": _doi(source),
            "UR": _address(source),
            "Y2": answer.generated_at[:10].replace("-", "/") if _address(source) else "",
        }
        lines += [f"{name}  - {value}" for name, value in fields.items() if value]
        lines += ["ER  - ", ""]
    return "\r\n".join(lines) + "\r\n"


def _numbered(answer: FinishedAnswer) -> list[tuple[int, Source]]:
    if not answer.sources:
        raise AgentError(say("export.no_sources", answer.language), code="no_sources")
    return numbered_sources(answer)


def _title(source: Source) -> str:
    return one_line(source["title"], longest=_LONGEST) or one_line(source["url"])


def _published(source: Source) -> Iterator[tuple[str, str]]:
    """Yield year, month and day, as far as a date begins with them: `2026-04-03T10:00`."""
    parts = (source.get("published") or "")[:10].split("-")
    for name, length, part in zip(("year", "month", "day"), (4, 2, 2), parts, strict=False):
        if not (len(part) == length and part.isascii() and part.isdigit()):
            return
        yield name, part


def _doi(source: Source) -> str:
    _, _, doi = unquote(_address(source)).partition("doi.org/")
    return one_line(doi) if doi.startswith("10.") else ""


def _address(source: Source) -> str:
    """Return the address without what would end a field or a line."""
    url = "" if source.get("unresolved") else open_url(source["url"]) or ""
    return url.replace("{", "%7B").replace("}", "%7D").replace("\\", "%5C")[:_LONGEST]


def _escaped(text: str) -> str:
    """Return text in which nothing is a command of TeX.

    >>> _escaped("50 % of {A_1}")
    '50 \\\\% of \\\\{A\\\\_1\\\\}'
    """
    return "".join(_ESCAPED.get(sign, sign) for sign in one_line(text, longest=_LONGEST))
