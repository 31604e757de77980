"""Turn the grounding metadata of a web search into marked text and its sources.

Shape: candidate level of Gemini's REST reply, or the same in snake_case as LangChain hands
it on. Offsets are UTF-8 bytes within one part, end exclusive; zeros are left out. Anything
may be missing or wrong; nothing here raises.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from agent.core.processor import breathe
from agent.core.strings import letters_of
from agent.evidence.citations import MARKER, NOT_FOUND
from agent.evidence.language import fold, sentence_spans
from agent.evidence.queries import clean_text
from agent.evidence.references import is_domain, without_source_list
from agent.evidence.types import Source, SourceKind

_MAX_TITLE = 200
_MAX_QUOTE = 500
_MAX_REMARKS = 6
_MAX_QUOTES = 12
_MAX_QUERY = 400
_CHUNK_KINDS: tuple[tuple[str, SourceKind], ...] = (
    ("web", "page"),
    ("maps", "place"),
    ("retrieved_context", "document"),
)
_NONE = f"[^{NOT_FOUND}]"
"""How our search marks a sentence that says what it did not find, as answers do."""
_MARKS = re.compile(rf"{MARKER.pattern}|{re.escape(_NONE)}")
_FORGED = re.compile(MARKER.pattern.encode())
_URL = re.compile(rb"https?://[!-~]+")
_URL_TAIL = b".,;:!?)]}'\"*>"
_ENDS_SENTENCE = "。！？.!?:：;；…]"
_MAX_SUPPORTS = 500
_NOT_FOUND = re.compile(
    r"[没未无不][^，。；！？\n]{0,12}?[查找搜得索]到|[查找搜]不到|(?:尚|暂|并)无|未(?:公布|公开|披露|提及|说明)"
    r"|没有(?:[^，。；！？\n]{0,12})(?:资料|信息|数据|来源|结果|记载|说明)"
    r"|\b(?:no|not|none|nothing|never|cannot|\w+n[’']t)\b[^.!?\n]{0,120}?"
    r"\b(?:found|find|available|published|known|give|name|say|state|confirm|mention|cover)(?:e?[sdn])?\b",
    re.IGNORECASE,
)
_CONTRASTS = re.compile(
    r"[，,；;]\s*(?:但|不过|然而|只|而)|\b(?:but|however|although|though)\b", re.I
)


@dataclass(frozen=True)
class Support:
    """Hold a passage and the chunks that support it; offsets in bytes of part `part`."""

    text: str
    start: int
    end: int | None
    part: int
    chunks: tuple[int, ...]


@dataclass(frozen=True)
class Grounded:
    """Hold marked text and the sources of its markers.

    `queries` and `search_entry_point` (HTML of suggestions) are there if Google searched.
    """

    text: str
    sources: list[Source]
    queries: list[str]
    search_entry_point: str | None

    @property
    def searched(self) -> bool:
        """Return True if the reply shows a search, whatever it brought."""
        return bool(self.queries or self.search_entry_point or self.sources)


def ground(
    parts: Sequence[str], metadata: Mapping[str, Any] | None, *, prefix: str, provider: str
) -> Grounded:
    """Mark the text with the sources that support it.

    A source's id is `{prefix}-{index of its first chunk}`; chunks with the same URL are one
    source. Sources that no passage refers to stay in the list of sources, uncited.
    """
    texts = [part if isinstance(part, str) else "" for part in _items(parts)]
    sources, ids = _sources_by_chunk(metadata, prefix=prefix, provider=provider)
    supports = get_citations(metadata)
    _attach_quotes(sources, supports, ids)
    entry = _get(_get(metadata, "search_entry_point"), "rendered_content")
    return Grounded(
        text=without_source_list(insert_citation_markers(texts, supports, ids)),
        sources=sources,
        queries=_queries(metadata),
        search_entry_point=entry if isinstance(entry, str) and entry else None,
    )


def without_unsupported(marked: str, sources: Sequence[Source]) -> str:
    """Return a marked text without the sentences that state something and have no source.

    What was not found stays, and what only leads to something else: headings, "as follows:".
    """
    borne = _all_letters(sources)

    def stays(sentence: str) -> bool:
        breathe()
        plain = sentence.strip("*_ ")
        leads = plain.startswith("#") or plain.endswith((":", "：")) or "|" in plain
        # Most sentences are marked: only of the others the letters are needed.
        return bool(leads or _MARKS.search(sentence) or letters_of(sentence) in borne)

    kept, at = list[str](), 0
    for begin, end in sentence_spans(marked, _MARKS):
        before, sentence, at = marked[at:begin], marked[begin:end], end
        kept += [before, sentence] if stays(sentence) else ["\n"] * ("\n" in before)
    return "".join(kept).strip()


def remarks_of(marked: str, sources: Sequence[Source]) -> list[str]:
    """Return the sentences of a marked text that no source bears; headings and leads are none."""
    borne, remarks = _all_letters(sources), list[str]()
    for begin, end in sentence_spans(marked, _MARKS):
        breathe()
        sentence = marked[begin:end].replace(_NONE, "")
        plain, letters = sentence.strip("*_- "), letters_of(sentence)
        leads = plain.startswith(("#", "|")) or plain.endswith((":", "："))
        if leads or not letters or MARKER.search(sentence):
            continue
        if letters not in borne:
            remarks.append(clean_text(plain, _MAX_QUOTE))
    return remarks[:_MAX_REMARKS]


def _all_letters(sources: Iterable[Source]) -> str:
    """Return the letters of all quotes, one below the other: none reaches into the next."""
    return "\n".join(letters_of(quote) for source in sources for quote in source["quotes"])


def not_found_remark(text: str) -> str:
    """Return the sentences marked that something was not found, on one line; empty without any.

    Only these of a text without sources can be kept: they state nothing about the world.
    """
    sentences = (text[begin:end] for begin, end in sentence_spans(text, _MARKS))
    remarks = [one.replace(_NONE, "").strip("*_- ") for one in sentences if _NONE in one]
    return clean_text(" ".join(remarks), _MAX_QUOTE)


def says_not_found(text: str) -> bool:
    """Return True if a Chinese or English text says that something was not found or is unknown."""
    plain = fold(text)
    return bool(_NOT_FOUND.search(plain)) and not _CONTRASTS.search(plain)


def get_citations(metadata: Mapping[str, Any] | None) -> list[Support]:
    """Return the supported passages of a reply, whatever of them is usable."""
    passages: list[Support] = []
    for support in islice(_items(_get(metadata, "grounding_supports")), _MAX_SUPPORTS):
        segment = _get(support, "segment")
        chunks = [_whole(index) for index in _items(_get(support, "grounding_chunk_indices"))]
        usable = tuple(dict.fromkeys(index for index in chunks if index is not None))
        if not usable:
            continue
        text = _get(segment, "text")
        passages.append(
            Support(
                text=text if isinstance(text, str) else "",
                start=_whole(_get(segment, "start_index")) or 0,
                end=_whole(_get(segment, "end_index")),
                part=_whole(_get(segment, "part_index")) or 0,
                chunks=usable,
            )
        )
    return passages


def insert_citation_markers(
    parts: Sequence[str], supports: Sequence[Support], ids: Mapping[int, str]
) -> str:
    """Return the parts as one text, `[^id]` after each supported passage.

    A passage is found by its byte offsets, else by its words (the nearest occurrence), else
    the markers go to the end of the paragraph. Markers already in the text are forgeries
    and are removed. No character and no URL is split.
    """
    encoded = [part.encode("utf-8", "replace") for part in parts]
    if not encoded:
        return ""
    marks: list[dict[int, list[str]]] = [{} for _ in encoded]
    for support in supports:
        names = dict.fromkeys(ids[chunk] for chunk in support.chunks if chunk in ids)
        if names:
            part, offset = _locate(encoded, support)
            names_here = marks[part].setdefault(_safe_offset(encoded[part], offset), [])
            names_here += [name for name in names if name not in names_here]
    return _join([_with_markers(raw, at) for raw, at in zip(encoded, marks, strict=True)])


def _sources_by_chunk(
    metadata: Mapping[str, Any] | None, *, prefix: str, provider: str
) -> tuple[list[Source], dict[int, str]]:
    """Return the sources, and which source each chunk index stands for."""
    by_url: dict[str, Source] = {}
    ids: dict[int, str] = {}
    for index, chunk in enumerate(_items(_get(metadata, "grounding_chunks"))):
        kind, page = _page_of(chunk)
        url = _web_url(_get(page, "uri"))
        if not url:
            continue
        if url not in by_url:
            title = _title(_get(page, "title"), url)
            by_url[url] = Source(
                id=f"{prefix}-{index}",
                kind=kind,
                title=title,
                url=url,
                provider=provider,
                quotes=[],
            )
            if is_domain(title):
                by_url[url]["site"] = title
        ids[index] = by_url[url]["id"]
    return list(by_url.values()), ids


def _page_of(chunk: object) -> tuple[SourceKind, object]:
    for key, kind in _CHUNK_KINDS:
        page = _get(chunk, key)
        if page:
            return kind, page
    return "page", None


def _title(title: object, url: str) -> str:
    cleaned = clean_text(title, _MAX_TITLE) if isinstance(title, str) else ""
    return cleaned or urlsplit(url).hostname or url


def _web_url(value: object) -> str:
    """Return the value if it is an http(s) URL with a host, else an empty string."""
    if not isinstance(value, str):
        return ""
    url = value.strip()
    try:
        split = urlsplit(url)
        usable = split.scheme in ("http", "https") and bool(split.hostname)
    except ValueError:
        return ""
    return url.encode("utf-8", "replace").decode() if usable else ""


def _attach_quotes(
    sources: Sequence[Source], supports: Sequence[Support], ids: Mapping[int, str]
) -> None:
    by_id = {source["id"]: source["quotes"] for source in sources}
    for support in supports:
        quote = clean_text(support.text, _MAX_QUOTE)
        for chunk in support.chunks:
            quotes = by_id.get(ids.get(chunk, ""))
            if quote and quotes is not None and len(quotes) < _MAX_QUOTES and quote not in quotes:
                quotes.append(quote)


def _queries(metadata: Mapping[str, Any] | None) -> list[str]:
    raw = _items(_get(metadata, "web_search_queries"))
    cleaned = [clean_text(query, _MAX_QUERY) for query in raw if isinstance(query, str)]
    return [query for query in cleaned if query]


def _locate(encoded: Sequence[bytes], support: Support) -> tuple[int, int]:
    """Return the part and the byte offset after which the markers of a passage go."""
    part = min(max(support.part, 0), len(encoded) - 1)
    encoded_words = support.text.encode("utf-8", "replace")
    if not encoded_words:
        return part, _end_without_words(encoded[part], support)
    if 0 <= support.part < len(encoded) and support.end is not None:
        start, end = support.start, support.end
        if 0 <= start < end and encoded[part][start:end] == encoded_words:
            return part, end
    order = [part, *(index for index in range(len(encoded)) if index != part)]
    for words in dict.fromkeys((encoded_words, encoded_words.strip())):
        for index in order if words else ():
            at = _nearest(encoded[index], words, support.start if index == part else 0)
            if at is not None:
                return index, at + len(words)
    return part, _paragraph_end(encoded[part], support.end or support.start)


def _end_without_words(raw: bytes, support: Support) -> int:
    """Return the end of a passage of which only offsets are known."""
    if support.end is None or not 0 < support.end <= len(raw):
        return _paragraph_end(raw, len(raw) if support.end is None else support.end)
    return support.end


def _nearest(raw: bytes, words: bytes, near: int) -> int | None:
    near = min(max(near, 0), len(raw))
    after = raw.find(words, near)
    before = raw.rfind(words, 0, near + len(words) - 1) if near else -1
    if after < 0 or before < 0:
        return max(after, before) if max(after, before) >= 0 else None
    return before if near - before <= after - near else after


def _paragraph_end(raw: bytes, offset: int) -> int:
    offset = min(max(offset, 0), len(raw))
    newline = raw.find(b"\n", offset)
    return len(raw.rstrip()) if newline < 0 else newline


def _safe_offset(raw: bytes, offset: int) -> int:
    """Return the offset moved forward out of a character or a URL."""
    offset = min(max(offset, 0), len(raw))
    while offset < len(raw) and raw[offset] & 0xC0 == 0x80:
        offset += 1
    start = max(raw.rfind(b"http://", 0, offset + 6), raw.rfind(b"https://", 0, offset + 7))
    url = _URL.match(raw, start) if start >= 0 else None
    if url and url.start() < offset < url.end():
        return max(offset, url.start() + len(url[0].rstrip(_URL_TAIL)))
    return offset


def _with_markers(raw: bytes, marks: Mapping[int, Sequence[str]]) -> str:
    out: list[bytes] = []
    last = 0
    for offset in sorted(marks):
        out.append(_FORGED.sub(b"", raw[last:offset]))
        out += [f"[^{name}]".encode() for name in marks[offset]]
        last = offset
    out.append(_FORGED.sub(b"", raw[last:]))
    return b"".join(out).decode("utf-8", "replace")


def _join(texts: Sequence[str]) -> str:
    """Join the parts, in paragraphs after a finished sentence: line ends between them get lost."""
    joined: list[str] = []
    for text in filter(None, texts):
        if joined and joined[-1][-1] in _ENDS_SENTENCE and not text[0].isspace():
            joined.append("\n\n")
        joined.append(text)
    return "".join(joined)


def _get(mapping: object, key: str) -> Any:
    """Return the value under a snake_case key or its camelCase form."""
    if not isinstance(mapping, Mapping):
        return None
    value = mapping.get(key)
    if value is not None:
        return value
    first, *rest = key.split("_")
    return mapping.get(first + "".join(word.capitalize() for word in rest))


def _items(value: object) -> Iterator[Any]:
    return iter(value) if isinstance(value, list | tuple) else iter(())


def _whole(value: object) -> int | None:
    """Return a non-negative whole number, also from "3" or 3.0; else None."""
    if isinstance(value, bool):
        return None
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 16:
        return int(value)
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and value >= 0 else None
