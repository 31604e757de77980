"""Read files of text in a form of their own: mail, RTF, JSON, XML, subtitles, markup, code."""

import email
import email.policy
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from email.message import EmailMessage
from itertools import chain, groupby
from typing import Any

from agent.core.outside import parse_json
from agent.reading.encoding import page_text
from agent.reading.extractors import whole_html
from agent.reading.parts import MAX_CELLS, CannotRead, FilePart, table_parts

_HEADS = ("From", "To", "Cc", "Date", "Subject")


AttachmentReader = Callable[[str, bytes], Iterable[FilePart]]
"""Take the name and the bytes of what came with a message."""


def read_mail(body: bytes, read_attachment: AttachmentReader) -> Iterator[FilePart]:
    """Yield a message's head, its text, and what is attached to it, each under its name."""
    message: Any = email.message_from_bytes(body, policy=email.policy.default)
    heads = [(name, " ".join(str(message[name] or "").split())) for name in _HEADS]
    if not any(value for _, value in heads):
        raise CannotRead("page_unreadable")
    yield FilePart("\n".join(f"{name}: {value}" for name, value in heads if value), lines=True,
               title=dict(heads)["Subject"])  # fmt: skip
    text = message.get_body(("plain", "html"))
    if text is not None and (words := _words(text)).strip():
        is_html = text.get_content_subtype() == "html"
        yield FilePart(whole_html(words).text) if is_html else FilePart(words, lines=True)
    attached = [(each.get_filename() or each.get_content_type(), each)
                for each in _attached(message)]  # fmt: skip
    if attached:
        yield FilePart(f"Attachments: {', '.join(name for name, _ in attached)}", lines=True)
    unread: list[str] = []
    for name, part in attached:
        read = _read_attached(name, part.get_payload(decode=True), read_attachment)
        if read:
            yield FilePart(f"# {name}")
            yield from map(_below, read)
        else:
            unread.append(name)
    if unread:
        yield FilePart(note={"key": "attached", "names": ", ".join(unread)[:300]})


def _below(part: FilePart) -> FilePart:
    """Return a part of an attachment with its headings below the attachment's name."""
    lines = part.text.split("\n")
    deeper = lines if part.lines else [f"#{line}" if line[:1] == "#" else line for line in lines]
    return replace(part, text="\n".join(deeper), title="", page=None)


def _read_attached(name: str, body: Any, read: AttachmentReader) -> list[FilePart]:
    """Return what is in an attachment; nothing of one that cannot be read."""
    try:
        parts = list(read(name, body)) if isinstance(body, bytes) else []
    except Exception:  # noqa: BLE001 - a broken attachment takes no message along
        return []
    return parts if any(part.text.strip() for part in parts) else []


def _words(part: EmailMessage) -> str:
    """Return a part's text, in whatever character set it says or is in."""
    raw = part.get_payload(decode=True)
    return page_text(raw if isinstance(raw, bytes) else b"", str(part["Content-Type"] or ""))


def _attached(message: EmailMessage) -> Iterator[EmailMessage]:
    """Yield the parts that a reader sees as files."""
    for part in message.walk():
        if part.get_content_disposition() == "attachment" or part.get_filename():
            yield part


_BARE_BYTES = {code: f"\\'{code:02x}" for code in range(128, 256)}
"""Some programs write Chinese as it is where RTF wants escapes."""


def read_rtf(body: bytes) -> Iterator[FilePart]:
    """Yield the text of RTF with rows of its tables; a footnote stands where its sign is."""
    from striprtf.striprtf import rtf_to_text

    if not body.lstrip().startswith(b"{\\rtf"):
        raise CannotRead("page_unreadable")
    source = body.decode("latin-1").translate(_BARE_BYTES).replace("{\\footnote", "{ \\plain")
    text = str(rtf_to_text(source, errors="replace"))  # type: ignore[no-untyped-call]
    lines = filter(None, map(str.strip, text.splitlines()))
    for is_table, group in groupby(lines, key=lambda line: line.endswith("|")):
        if is_table:
            yield from table_parts(line.removesuffix("|").split("|") for line in group)
        else:
            yield FilePart("\n\n".join(group))
    if b"\\pict" in body:
        yield FilePart(note={"key": "some_pictures"})


def read_json(text: str) -> Iterator[FilePart]:
    """Yield a line for each value under its path; of objects in a list a line for each object."""
    try:
        value = parse_json(text)
    except ValueError:
        yield FilePart(text, lines=True, note={"key": "no_json"})
        return
    if isinstance(value, dict) and isinstance(value.get("cells"), list):
        yield from map(_notebook_cell, value["cells"])
    else:
        yield FilePart("\n".join(value_lines(value)), lines=True)


def _notebook_cell(cell: Any) -> FilePart:
    if not isinstance(cell, dict):
        return FilePart()
    source = cell.get("source", "")
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    return FilePart(text, lines=cell.get("cell_type") != "markdown")


def read_json_lines(text: str) -> Iterator[FilePart]:
    """Yield a line for each record; a line that is no JSON stays as it is."""
    lines, bad = list[str](), 0
    for line in filter(str.strip, text.splitlines()):
        try:
            lines.append("; ".join(value_lines(parse_json(line))))
        except ValueError:
            lines.append(line)
            bad += 1
    yield FilePart(
        "\n".join(lines), lines=True, note={"key": "no_json_lines", "n": bad} if bad else None
    )


def value_lines(value: Any, path: str = "") -> Iterator[str]:
    """Yield a line for each value of JSON under its path.

    >>> list(value_lines({"a": {"b": 1}, "c": [{"d": 2, "e": [3, 4]}]}))
    ['a.b: 1', 'c[1] d: 2; e: 3, 4']
    """
    if isinstance(value, dict):
        for key, inner in value.items():
            yield from value_lines(inner, f"{path}.{key}" if path else str(key))
    elif isinstance(value, list) and any(isinstance(each, dict | list) for each in value):
        for number, inner in enumerate(value, 1):
            record = "; ".join(value_lines(inner))
            yield f"{path}[{number}] {record}" if path else record
    else:
        words = ", ".join(map(_scalar, value)) if isinstance(value, list) else _scalar(value)
        yield f"{path}: {words}" if path else words


def _scalar(value: Any) -> str:
    return value if isinstance(value, str) else "null" if value is None else str(value)


def read_xml(body: bytes) -> Iterator[FilePart]:
    """Yield a line for each record of XML with the names of its elements; prose as it stands.

    Entities that the file defines are not replaced, and nothing is fetched for it.
    """
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True,
                             remove_pis=True)  # fmt: skip
    try:
        root = etree.fromstring(body, parser)
    except etree.XMLSyntaxError:
        yield FilePart(page_text(body, "text/plain"), lines=True, note={"key": "no_xml"})
        return
    if root.tag == f"{_SHEET}Workbook":
        for sheet in root.iter(f"{_SHEET}Worksheet"):
            yield FilePart(f"# {sheet.get(f'{_SHEET}Name')}")
            yield from table_parts(map(_cells_of_xml, sheet.iter(f"{_SHEET}Row")))
    else:
        yield FilePart("\n".join(_element_lines(root)), lines=True)


_SHEET = "{urn:schemas-microsoft-com:office:spreadsheet}"
"""Excel's XML of 2003, which many programs still write under the name .xls."""


def _cells_of_xml(row: Any) -> list[str]:
    cells: list[str] = []
    for cell in row.iter(f"{_SHEET}Cell"):
        place = cell.get(f"{_SHEET}Index") or ""
        if place.isdecimal() and len(place) < 5:
            cells += [""] * (min(int(place), MAX_CELLS) - 1 - len(cells))
        cells.append("".join(cell.itertext()).strip())
        merged = cell.get(f"{_SHEET}MergeAcross") or ""
        cells += [""] * (min(int(merged), MAX_CELLS) if merged.isdecimal() else 0)
    return cells


def _element_lines(element: Any) -> Iterator[str]:
    """Yield an element as one line where nothing in it has parts of its own, else its parts."""
    children = [child for child in element if isinstance(child.tag, str)]
    has_prose = bool((element.text or "").strip() and children)
    if has_prose or any((child.tail or "").strip() for child in children):
        yield " ".join("".join(element.itertext()).split())
    elif any(len(child) for child in children):
        if own := _fields(element):
            yield f"{_local(element)}: {'; '.join(own)}"
        for child in children:
            yield from _element_lines(child)
    else:
        fields = list(chain(_fields(element), *map(_child_fields, children)))
        if fields:
            yield f"{_local(element)}: {'; '.join(fields)}"


def _child_fields(child: Any) -> list[str]:
    return [f"{_local(child)}: {field}" for field in _fields(child)]


def _fields(element: Any) -> list[str]:
    """Return an element's attributes and its own text."""
    fields = [f"{name.rpartition('}')[2]}={value}" for name, value in element.attrib.items()]
    return [*fields, *filter(None, [" ".join((element.text or "").split())])]


def _local(element: Any) -> str:
    return str(element.tag).rpartition("}")[2]


def read_subtitles(text: str) -> Iterator[FilePart]:
    """Yield a line for each subtitle, after the time at which it is shown."""
    lines = list[str]()
    for is_blank, cue in groupby(text.splitlines(), key=lambda line: not line.strip()):
        begin, _, words = ("" if is_blank else "\n".join(cue)).partition(" --> ")
        if words:
            time = begin.split("\n")[-1].replace(",", ".").strip()
            lines.append(f"{time} {' '.join(words.split(chr(10))[1:])}".strip())
    yield FilePart("\n".join(lines) or text, lines=True)


_TEX_LEVELS = {"part": 1, "chapter": 1, "section": 2, "subsection": 3, "subsubsection": 4}
_TITLES = ("#+title:", "\\title{")


def read_org(text: str) -> Iterator[FilePart]:
    """Yield a text of Org: stars are headings."""
    yield FilePart(title=_said_title(text))
    yield FilePart("\n".join(map(_org_line, text.splitlines())))


def _org_line(line: str) -> str:
    stars, _, heading = line.partition(" ")
    if stars and not stars.strip("*") and heading.strip():
        heading = heading.strip().removeprefix("TODO ").removeprefix("DONE ").strip()
        return f"{'#' * min(len(stars), 6)} {heading}"
    return line.replace("+", "|") if line.startswith("|-") else line


def read_tex(text: str) -> Iterator[FilePart]:
    """Yield the text of LaTeX with its sections as headings, without comments and preamble."""
    yield FilePart(title=_said_title(text))
    body = text.partition("\\begin{document}")[2] or text
    lines = (line.replace("\\%", "\0").partition("%")[0].replace("\0", "%")
             for line in body.partition("\\end{document}")[0].splitlines())  # fmt: skip
    yield FilePart("\n".join(map(_tex_line, lines)))


def _tex_line(line: str) -> str:
    command, _, rest = line.strip().partition("{")
    level = _TEX_LEVELS.get(command.partition("[")[0].removeprefix("\\").removesuffix("*"))
    return f"{'#' * level} {rest.partition('}')[0]}" if level and "}" in rest else line


def _said_title(text: str) -> str:
    lines = (line.strip() for line in text.splitlines())
    told = next((line for line in lines if line.lower().startswith(_TITLES)), "")
    sign = ":" if told.startswith("#") else "{"
    return told.partition(sign)[2].strip(" }")


def read_rst(text: str) -> Iterator[FilePart]:
    """Yield a text of reStructuredText: lines that are underlined are headings."""
    lines, out = text.splitlines(), list[str]()
    styles: list[str] = []
    for at, line in enumerate(lines):
        below = lines[at + 1] if at + 1 < len(lines) else ""
        above = lines[at - 1] if at else ""
        if _is_rule(line) and ((out and out[-1].startswith("#")) or _underlines(below, at, lines)):
            continue
        if line.strip() and not _is_rule(line) and _is_rule(below) and _reaches(below, line):
            style = below[0] * (2 if _is_rule(above) and above[:1] == below[:1] else 1)
            if style not in styles:
                styles.append(style)
            out.append(f"{'#' * min(styles.index(style) + 1, 6)} {line.strip()}")
        else:
            out.append(line)
    yield FilePart("\n".join(out))


def _underlines(title: str, at: int, lines: list[str]) -> bool:
    """Tell whether this rule stands over a title that another one underlines."""
    below = lines[at + 2] if at + 2 < len(lines) else ""
    return bool(title.strip()) and _is_rule(below) and below.strip() == lines[at].strip()


def _is_rule(line: str) -> bool:
    kept = line.rstrip()
    return len(kept) > 1 and kept == kept[0] * len(kept) and kept[0] in "=-`:.'\"~^_*+#<>"


def _reaches(rule: str, title: str) -> bool:
    """Tell whether the line under a title (`=====`) has at least as many signs as the title."""
    return len(rule.rstrip()) >= len(title.strip())


def read_lines(text: str) -> Iterator[FilePart]:
    """Yield code, settings and logs as they stand."""
    yield FilePart(text, lines=True)
