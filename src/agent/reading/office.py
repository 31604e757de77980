"""Read packages, Word's, PowerPoint's, OpenDocument's and EPUB's, as Markdown in reading order.

A package is a zip of XML that somebody else made: what it would unpack to is bounded, entities of
its XML stay unread, and macros, links and formulas are never followed. Runs in the process that
reads files, which bounds memory and time for the rest.
"""

import email
import email.policy
import io
import posixpath
import zipfile
from collections.abc import Iterator
from typing import Any, BinaryIO
from urllib.parse import unquote

from agent.reading.encoding import page_text
from agent.reading.extractors import whole_html
from agent.reading.parts import MAX_CELLS, CannotRead, FilePart, table_parts
from agent.reading.word_numbers import WordNumbers

_UNPACKED, _MEMBERS = 256 << 20, 20_000
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".bmp", ".tif", ".tiff", ".webp", ".emf", ".wmf")
_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
_A = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
_P = "{http://schemas.openxmlformats.org/presentationml/2006/main}"
_C = "{http://schemas.openxmlformats.org/drawingml/2006/chart}"
_R = "{http://schemas.openxmlformats.org/officeDocument/2006/relationships}"


def open_package(file: BinaryIO) -> zipfile.ZipFile:
    """Return the zip; raise CannotRead for what is none, has a password, or unpacks to too much."""
    try:
        package = zipfile.ZipFile(file)
    except zipfile.BadZipFile:
        raise CannotRead("page_unreadable") from None
    members = package.infolist()
    if sum(each.file_size for each in members) > _UNPACKED or len(members) > _MEMBERS:
        raise CannotRead("page_too_complex")
    if any(each.flag_bits & 1 for each in members):
        raise CannotRead("page_encrypted")
    return package


def package_kind(file: BinaryIO) -> str | None:
    """Return docx, xlsx, pptx, epub or odf by what a zip holds; None for any other."""
    try:
        package = zipfile.ZipFile(file)
        names = package.namelist()
        if "mimetype" in names:
            said = package.open("mimetype").read(100).decode("ascii", "replace")
            return "epub" if "epub" in said else "odf" if "opendocument" in said else None
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError, ValueError):
        return None
    folders = {"word/": "docx", "xl/": "xlsx", "ppt/": "pptx"}
    by_folder = (
        kind for name in names for start, kind in folders.items() if name.startswith(start)
    )
    return next(by_folder, None) if "[Content_Types].xml" in names else None


def _xml(package: zipfile.ZipFile, name: str) -> Any:
    """Return the root of a part. Its entities are not replaced, nothing is fetched for it."""
    from lxml import etree  # type: ignore[import-untyped]

    parser = etree.XMLParser(resolve_entities=False, no_network=True, remove_comments=True)
    try:
        return etree.fromstring(package.read(name), parser)
    except (etree.XMLSyntaxError, zipfile.BadZipFile, KeyError):
        raise CannotRead("page_unreadable") from None


def pictures_note(package: zipfile.ZipFile) -> FilePart:
    """Return a note on the pictures in a package, whose words nobody reads."""
    count = sum(name.lower().endswith(_PICTURES) for name in package.namelist())
    count -= sum("thumbnail" in name.lower() for name in package.namelist())
    return FilePart(note={"key": "pictures", "n": count} if count > 0 else None)


def read_docx(file: BinaryIO) -> Iterator[FilePart]:
    """Yield Word's text: headings, lists, tables, footnotes, comments, charts, heads and feet."""
    import mammoth  # type: ignore[import-untyped]

    package = open_package(file)
    styles = "comment-reference => sup\np[style-name='Title'] => h1.title:fresh"
    prepared = _with_numbers(package)
    html = mammoth.convert_to_html(prepared, style_map=styles, convert_image=lambda _: []).value
    # A note's way back to its place is no text.
    text = whole_html(f"<body>{html.replace('↑</a>', '</a>')}</body>").text
    is_titled = html.startswith('<h1 class="title">')
    yield FilePart(text, title=text.partition("\n")[0].removeprefix("# ") if is_titled else "")
    yield from _imported(package)
    yield from _diagrams(package, _main_part(package))
    yield from _charts(package, "word/charts/")
    seen = set[str]()
    for name in sorted(package.namelist()):
        if name.startswith(("word/header", "word/footer")):
            paragraphs = ("".join(p.itertext(f"{_W}t")) for p in _xml(package, name).iter(f"{_W}p"))
            seen.update(filter(None, (" ".join(text.split()) for text in paragraphs)))
    yield FilePart("\n\n".join(sorted(seen)))
    yield pictures_note(package)


def _with_numbers(package: zipfile.ZipFile) -> BinaryIO:
    """Return the package without its pictures, with the numbers of its paragraphs as text."""
    from lxml import etree

    main = _main_part(package)
    styles, numbering = (
        _xml(package, name) if (name := _linked(package, main, kind)) else None
        for kind in ("styles", "numbering")
    )
    document = _xml(package, main)
    WordNumbers(styles, numbering).write_into(document)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as copy:
        for each in package.infolist():
            if each.filename == main:
                copy.writestr(main, etree.tostring(document))
            elif each.filename.endswith((".xml", ".rels")):
                copy.writestr(each.filename, package.read(each))
    return written


def _charts(package: zipfile.ZipFile, folder: str) -> Iterator[FilePart]:
    for name in package.namelist():
        if name.startswith(f"{folder}chart") and name.endswith(".xml"):
            yield from chart_parts(_xml(package, name))


def chart_parts(chart: Any, page: int | None = None) -> Iterator[FilePart]:
    """Yield a chart's title and the figures that it was last drawn from, as a table."""
    title = "".join(text for each in chart.iter(f"{_C}title") for text in each.itertext(f"{_A}t"))
    yield FilePart(title.strip(), page)
    columns: list[tuple[str, dict[str, str]]] = []
    labels: dict[str, str] = {}
    for series in chart.iter(f"{_C}ser"):
        name = "".join(text for each in series.iter(f"{_C}tx") for text in each.itertext(f"{_C}v"))
        labels |= _points(series, f"{_C}cat", f"{_C}xVal")
        columns.append((name, _points(series, f"{_C}val", f"{_C}yVal")))
    places = dict.fromkeys([*labels, *(place for _, column in columns for place in column)])
    rows = [
        [labels.get(place, ""), *(column.get(place, "") for _, column in columns)]
        for place in places
    ]
    yield from table_parts([["·", *(name or "·" for name, _ in columns)], *rows] if rows else [],
                           page=page)  # fmt: skip


def _points(series: Any, *tags: str) -> dict[str, str]:
    """Return the values of a series by their places."""
    points = (point for tag in tags for each in series.iter(tag) for point in each.iter(f"{_C}pt"))
    return {point.get("idx"): "".join(point.itertext(f"{_C}v")) for point in points}


def read_pptx(file: BinaryIO) -> Iterator[FilePart]:
    """Yield slides in order: titles as headings, texts, tables, charts, the speaker's notes."""
    package = open_package(file)
    main = _main_part(package)
    links = _links(package, main)
    ids = _xml(package, main).iter(f"{_P}sldId")
    names = [links[each.get(f"{_R}id")] for each in ids if each.get(f"{_R}id") in links]
    for number, name in enumerate(names, 1):
        slide, related = _xml(package, name), _links(package, name)
        title = _slide_title(slide)
        heading = f"# {title or number}"
        yield FilePart(heading, number, title=title if number == 1 else "")
        for shape in slide.iter(f"{_P}sp", f"{_A}tbl", f"{_C}chart"):
            if shape.tag == f"{_A}tbl":
                rows = (shape_rows.iter(f"{_A}tc") for shape_rows in shape.iter(f"{_A}tr"))
                yield from table_parts([[_slide_text(cell) for cell in row] for row in rows],
                                       page=number)  # fmt: skip
            elif shape.tag == f"{_C}chart" and (part := related.get(shape.get(f"{_R}id"))):
                yield from chart_parts(_xml(package, part), number)
            elif not _is_placeholder(shape, "title", "ctrTitle", "sldNum"):
                yield FilePart(_slide_text(shape), number)
        yield from _diagrams(package, name, number)
        notes = _linked(package, name, "notesSlide")
        shapes = _xml(package, notes).iter(f"{_P}sp") if notes else ()
        yield from (FilePart(_slide_text(each), number) for each in shapes
                    if _is_placeholder(each, "body"))  # fmt: skip
    yield pictures_note(package)


def _imported(package: zipfile.ZipFile) -> Iterator[FilePart]:
    """Yield web pages that Word imports when it opens a file: what web applications write."""
    for name in _links(package, _main_part(package), "/aFChunk").values():
        body = package.read(name)
        if name.endswith((".mht", ".mhtml")):
            message: Any = email.message_from_bytes(body, policy=email.policy.default)
            page = message.get_body(("html",))
            body = (page.get_payload(decode=True) if page is not None else b"") or b""
        yield FilePart(whole_html(page_text(body, "text/html")).text)


def _diagrams(package: zipfile.ZipFile, name: str, page: int | None = None) -> Iterator[FilePart]:
    """Yield the words of SmartArt that a part shows."""
    for part in _links(package, name, "/diagramData").values():
        yield FilePart(_slide_text(_xml(package, part)), page)


def _main_part(package: zipfile.ZipFile) -> str:
    """Return the name of the text or the presentation, which programs choose."""
    if name := _linked(package, "", "officeDocument"):
        return name
    raise CannotRead("page_unreadable")


def _linked(package: zipfile.ZipFile, name: str, kind: str) -> str:
    """Return the part of a kind that a part refers to; empty for none."""
    return next(iter(_links(package, name, f"/{kind}").values()), "")


def _links(package: zipfile.ZipFile, name: str, kind: str = "") -> dict[str, str]:
    """Return the parts that are there and that a part refers to, by the ids of these references."""
    folder, base = posixpath.split(name)
    references = posixpath.join(folder, "_rels", f"{base}.rels")
    names = set(package.namelist())
    if references not in names:
        return {}
    targets = {
        each.get("Id"): posixpath.normpath(posixpath.join("/", folder, each.get("Target", "")))[1:]
        for each in _xml(package, references)
        if (each.get("Type") or "").endswith(kind)
    }
    return {key: target for key, target in targets.items() if target in names}


def _is_placeholder(shape: Any, *kinds: str) -> bool:
    return any(each.get("type", "body") in kinds for each in shape.iter(f"{_P}ph"))


def _slide_title(slide: Any) -> str:
    titles = (s for s in slide.iter(f"{_P}sp") if _is_placeholder(s, "title", "ctrTitle"))
    return next((" ".join(_slide_text(each).split()) for each in titles), "")


def _slide_text(shape: Any) -> str:
    """Return the paragraphs of a shape, a line each; a break within one is a line, too."""
    lines = []
    for paragraph in shape.iter(f"{_A}p"):
        pieces = paragraph.iter(f"{_A}t", f"{_A}br")
        lines.append("".join("\n" if each.tag == f"{_A}br" else each.text or "" for each in pieces))
    return "\n".join(line for line in lines if line.strip())


_TEXT = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}"
_TABLE = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_DRAW = "{urn:oasis:names:tc:opendocument:xmlns:drawing:1.0}"
_OFFICE = "{urn:oasis:names:tc:opendocument:xmlns:office:1.0}"
_MANIFEST = "{urn:oasis:names:tc:opendocument:xmlns:manifest:1.0}"
_REPEATED = 1_000
"""Times that a row or a cell of a sheet is repeated; more of them are the empty rest of it."""


def read_odf(file: BinaryIO) -> Iterator[FilePart]:
    """Yield the text, sheets or slides of OpenDocument."""
    package = open_package(file)
    if _xml(package, "META-INF/manifest.xml").find(f".//{_MANIFEST}encryption-data") is not None:
        raise CannotRead("page_encrypted")
    for body in _xml(package, "content.xml").iter(f"{_OFFICE}body"):
        for content in body:
            yield from _odf_parts(content, None)
    yield pictures_note(package)


def _odf_parts(parent: Any, page: int | None) -> Iterator[FilePart]:
    """Yield the parts below an element. What was deleted in a tracked text stands aside in it."""
    slides = 0
    for element in parent:
        if element.tag == f"{_TEXT}h":
            level = int(element.get(f"{_TEXT}outline-level") or 1)
            yield FilePart(f"{'#' * min(level, 6)} {_odf_text(element)}", page)
        elif element.tag == f"{_TEXT}p":
            yield FilePart(_odf_text(element), page)
            yield from (
                FilePart(_odf_text(each), page) for each in element.iter(f"{_TEXT}note-body")
            )
            yield from _boxes(element, page)
        elif element.tag == f"{_TEXT}list":
            items = (_odf_text(each) for each in element.iter(f"{_TEXT}p", f"{_TEXT}h"))
            yield FilePart("\n".join(f"- {item}" for item in items if item), page)
        elif element.tag == f"{_TABLE}table":
            if parent.tag == f"{_OFFICE}spreadsheet":
                yield FilePart(f"# {element.get(f'{_TABLE}name')}")
            yield from table_parts(_odf_rows(element), page=page)
        elif element.tag == f"{_DRAW}page":
            slides += 1
            yield FilePart(f"# {slides}", slides)
            yield from _odf_parts(element, slides)
        elif element.tag != f"{_TEXT}tracked-changes" and isinstance(element.tag, str):
            yield from _odf_parts(element, page)


def _boxes(paragraph: Any, page: int | None) -> Iterator[FilePart]:
    """Yield what stands in frames that are anchored in a paragraph."""
    for inner in paragraph:
        if inner.tag == f"{_DRAW}text-box":
            yield from _odf_parts(inner, page)
        else:
            yield from _boxes(inner, page)


def _odf_text(element: Any) -> str:
    """Return the words of a paragraph without those of its notes and frames."""
    pieces = [element.text or ""]
    for inner in element:
        if inner.tag == f"{_TEXT}s":
            pieces.append(" ")
        elif inner.tag in (f"{_TEXT}tab", f"{_TEXT}line-break"):
            pieces.append("\n" if inner.tag == f"{_TEXT}line-break" else "\t")
        elif inner.tag == f"{_OFFICE}annotation":
            pieces.append(f" [{' '.join(map(_odf_text, inner.iter(f'{_TEXT}p')))}]")
        elif inner.tag not in (f"{_TEXT}note", f"{_DRAW}frame") and isinstance(inner.tag, str):
            pieces.append(_odf_text(inner))
        pieces.append(inner.tail or "")
    return "".join(pieces).strip()


def _odf_rows(table: Any) -> Iterator[list[str]]:
    """Yield the rows of a table; a cell over several rows stands in each of them."""
    above: dict[int, tuple[int, str]] = {}
    for row in table.iter(f"{_TABLE}table-row"):
        cells: list[str] = []
        for cell in row.iterchildren(f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell"):
            text = "\n".join(map(_odf_text, cell.iterchildren(f"{_TEXT}p")))
            left, words = above.pop(len(cells), (0, ""))
            if left and cell.tag.endswith("covered-table-cell"):
                text = words
            span = left or int(cell.get(f"{_TABLE}number-rows-spanned") or 1)
            if span > 1:
                above[len(cells)] = (span - 1, text)
            cells += [text] * min(_times(cell, "columns", bool(text)), MAX_CELLS - len(cells))
            if len(cells) >= MAX_CELLS:
                break
        yield from [cells] * _times(row, "rows", any(cells))


def _times(element: Any, of: str, is_filled: bool) -> int:
    times = int(element.get(f"{_TABLE}number-{of}-repeated") or 1)
    return min(times, _REPEATED) if is_filled or of == "columns" else 1


_OPF = "{http://www.idpf.org/2007/opf}"
_DC = "{http://purl.org/dc/elements/1.1/}"


def read_epub(file: BinaryIO) -> Iterator[FilePart]:
    """Yield the chapters of a book in their order."""
    package = open_package(file)
    names = set(package.namelist())
    locked = {
        unquote(each.get("URI") or "")
        for part in ["META-INF/encryption.xml"]
        if part in names
        for each in _xml(package, part).iter("{http://www.w3.org/2001/04/xmlenc#}CipherReference")
    }
    container = _xml(package, "META-INF/container.xml")
    root = next((each.get("full-path") for each in container.iter("{*}rootfile")), "")
    book = _xml(package, root)
    titles, writers = (
        ["".join(each.itertext()).strip() for each in book.iter(f"{_DC}{name}")]
        for name in ("title", "creator")
    )
    yield FilePart("; ".join(filter(None, writers)), title=next(iter(titles), ""))
    files = {
        each.get("id"): each.get("href", "")
        for each in book.iter(f"{_OPF}item")
        if "nav" not in (each.get("properties") or "").split()
    }
    # A book may name a chapter a hundred thousand times; each is read once.
    for id in dict.fromkeys(each.get("idref") for each in book.iter(f"{_OPF}itemref")):
        href = unquote(files.get(id, ""))
        name = posixpath.normpath(posixpath.join(posixpath.dirname(root), href))
        if name in locked:
            raise CannotRead("page_encrypted")
        if name in names:
            yield FilePart(whole_html(page_text(package.read(name), "application/xhtml+xml")).text)
    yield pictures_note(package)
