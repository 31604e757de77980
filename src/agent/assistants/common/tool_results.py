"""Show a model what its calls have brought: hits with the words of pages, output of programs."""

from collections.abc import Sequence
from decimal import Context, Decimal

from agent.assistants.common.search import (
    SearchResult,
    page_row,
    remark_row,
    result_element,
    told_once,
)
from agent.assistants.common.workspace import Item, choose
from agent.core.patterns import Linear
from agent.core.strings import cut_at_break, cut_to_shares, cut_to_tokens, valid_text
from agent.evidence.markdown import link_url
from agent.prompts import fence
from agent.sandbox.programs import CodeResult
from agent.texts import Language, say

HIT_TOKENS = 600
"""Of one hit that a model is shown: of 13 facts of real pages 600 show all, 350 eleven."""
_LINE, _ROW, _LEAST = 80, 60, 40


def shown_result(
    result: SearchResult,
    tokens: int,
    language: Language,
    *,
    items: Sequence[Item] = (),
    ids: Sequence[str] = (),
    before: Sequence[str] = (),
    **attributes: str,
) -> str:
    """Return the hits of one query as a model reads them, within about so many tokens.

    They are named by their `items` of the workspace, by `ids` or by their addresses. Of an item
    that was opened the passages nearest to the query are shown, verbatim. What stands in `before`,
    texts that the model has before it already, is not shown again.
    """
    if result.failure:
        failed = say("tools.failed", language, reason=result.failure)
        failed = result.failure if result.is_refused else failed
        return result_element(result.query, [failed], **attributes)
    urls, names = [link_url(hit.url) for hit in result.hits], ids or [item.id for item in items]
    told = told_once(names or urls, _words(result, items, before, language), language)
    told = told[: max(1, tokens // (_ROW + _LEAST))]
    texts = cut_to_shares([text for text, _ in told], tokens - _ROW * len(told))
    rows = [
        page_row(
            cut_to_tokens(text, HIT_TOKENS), id=names[n] if names else None,
            url=None if ids else urls[n], title=hit.title, site=hit.site, date=hit.published,
            also=also,
        )
        for n, (hit, text, (_, also)) in enumerate(zip(result.hits, texts, told, strict=False))
    ]  # fmt: skip
    rows = rows or [say("tools.nothing", language)]
    return result_element(result.query, [*rows, *map(remark_row, result.remarks)], **attributes)


def _words(
    result: SearchResult, items: Sequence[Item], before: Sequence[str], language: Language
) -> list[str]:
    """Return what each hit says on the query: its page's passages, else the search's excerpt."""
    words = list[str]()
    for n, hit in enumerate(result.hits):
        item = items[n] if n < len(items) else None
        chosen = choose([item], [result.query], HIT_TOKENS) if item and hit.text else []
        texts = [passage.text for passage in chosen] or [hit.snippet]
        new = [text for text in texts if not any(fence(text) in shown for shown in before)]
        words.append("\n".join(new) or say("tools.above", language))
    return words


def code_text(result: CodeResult, language: Language) -> str:
    """Return the output or value of a program, then its error."""
    parts = [result.output.rstrip("\n")]
    if result.truncated:
        parts.append(say("tools.truncated", language))
    parts.append(result.error)
    text = valid_text("\n".join(part for part in parts if part))
    return text or say("tools.no_output", language)


def short(text: str) -> str:
    """Return one line of at most 80 characters, cut between clauses or words."""
    return cut_at_break(" ".join(text.split()), _LINE)


_WORD = Linear(r"-?[0-9A-Za-z_.]+")
_FLOAT = Linear(r"-?(?:0|[1-9][0-9]{0,11})\.[0-9]+")
_DIGITS, _FLOAT_DIGITS = 12, range(15, 19)
"""Significant digits that are shown, and those of a binary fraction that Python prints."""


def rounded(text: str, *, whole: int = 1) -> str:
    """Return a program's result as a reader has it: -6.4, not -6.3999…; 235000, not 235000.0.

    Binary fractions have 12 significant digits; numbers with more were printed on purpose. `.0`
    stays behind fewer digits than `whole`: 33.0 beside 8.4 is one of one decimal.
    """
    return _WORD.sub(lambda match: _rounded(match[0], whole), text)


def _rounded(number: str, whole: int) -> str:
    if not _FLOAT.fullmatch(number):
        return number
    if number.endswith(".0"):
        bare = number.removesuffix(".0")
        return bare if len(bare.lstrip("-")) >= whole else number
    value = Decimal(number)
    if len(value.as_tuple().digits) not in _FLOAT_DIGITS:
        return number
    plain = format(Context(prec=_DIGITS).create_decimal(number), "f")
    return plain.rstrip("0").rstrip(".")
