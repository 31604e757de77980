"""Search the knowledge base's file: the chunks that bear on a query, and the inventory.

The index keeps words as they are written but for plurals. Cutting endings off everywhere was
measured (`evals.retrieval`): it found no more, and ranked worse (MRR 0.881 instead of 0.887).

Every question is asked within a scope; a chunk outside it never leaves the database.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from operator import mul
from typing import Any

from agent.core.strings import has_any
from agent.knowledge.ranking import WEIGHTS, TermCounts, rescore
from agent.knowledge.sqlite_write import (
    DOCUMENT_BITS,
    DOCUMENT_MASK,
    PLACE_BITS,
    PLACE_MASK,
    pack,
    sign_bits,
    unpack,
)
from agent.knowledge.terms import query_terms
from agent.knowledge.types import Collected, KnowledgeHit, KnownDocument, Scope

_LEAST = 5
"""Letters of a word that has other forms."""
_ENDINGS = ("ing", "ed")
_VOWELS = "aeiouy"


def known_forms(db: sqlite3.Connection, terms: Sequence[str]) -> list[str]:
    """Return the terms, each word that is in no chunk replaced by its known forms."""
    forms: list[str] = []
    for term in terms:
        inflected = len(term) >= _LEAST and term.isascii() and term.isalpha()
        forms += (inflected and not _is_there(db, term) and _forms(db, term)) or [term]
    return list(dict.fromkeys(forms))


def base_of(word: str) -> str:
    """Return the common stem of a verb's forms: charge, charged and charging give charg."""
    base = word
    for ending in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) > 2 and has_any(stem, _VOWELS) and not word.endswith("eed"):
            base = stem
    base = base.removesuffix("e")
    if len(base) > 2 and base[-1] == base[-2]:
        base = base[:-1]
    return base[:-1] + "i" if base.endswith("y") else base


def _is_there(db: sqlite3.Connection, term: str) -> bool:
    statement = "SELECT 1 FROM words WHERE words MATCH ? LIMIT 1"
    return db.execute(statement, (f'"{term}"',)).fetchone() is not None


def _forms(db: sqlite3.Connection, word: str) -> list[str]:
    base = base_of(word)
    stems = (base, base[:-1] + "y") if base.endswith("i") else (base, base + base[-1])
    candidates = (stem + ending for stem in stems for ending in ("", "e", *_ENDINGS))
    return [form for form in candidates if base_of(form) == base and _is_there(db, form)]


MOST_TERMS = 48
ENOUGH = 200
"""Chunks that the rarer terms must be in before frequent ones are left out."""
SCORED = 100
"""Chunks found by the rarer terms that are scored with all."""
COMPARED = 500
"""Vectors compared in full; of more, those whose signs agree most."""
_WEIGHTS = ", ".join(map(str, WEIGHTS))
_WITHIN = f"""
    (place >> {PLACE_BITS + DOCUMENT_BITS}) IN (SELECT value FROM json_each(:collections))
    AND (:documents IS NULL OR ((place >> {PLACE_BITS}) & {DOCUMENT_MASK})
         IN (SELECT value FROM json_each(:documents)))
"""  # noqa: S608


@dataclass(frozen=True)
class Frequent:
    """Leave out terms in more than this share of all chunks (and more than `least`)."""

    share: float = 0.05
    least: int = 1_000


@dataclass(frozen=True)
class Seen:
    """Hold a scope as numbers of this file, ready for a statement."""

    collections: list[int]
    documents: list[int] | None

    def named(self, **more: Any) -> dict[str, Any]:
        documents = None if self.documents is None else json.dumps(self.documents)
        return {"collections": json.dumps(self.collections), "documents": documents, **more}


def seen(db: sqlite3.Connection, scope: Scope) -> Seen:
    """Return the owner's own collections and shared ones, cut to the scope."""
    names = json.dumps(list(scope.collections)) if scope.collections else None
    collections = [
        number
        for (number,) in db.execute(
            "SELECT number FROM collections WHERE (owner = :owner OR shared)"
            " AND (:names IS NULL OR name IN (SELECT value FROM json_each(:names)))",
            {"owner": scope.owner, "names": names},
        )
    ]
    if not scope.documents:
        return Seen(collections, None)
    ids = json.dumps(list(scope.documents))
    rows = db.execute(
        "SELECT number FROM documents WHERE id IN (SELECT value FROM json_each(?))", (ids,)
    )
    return Seen(collections, [number for (number,) in rows])


def lexical(
    db: sqlite3.Connection, query: str, within: Seen, limit: int, rule: Frequent
) -> list[tuple[int, float]]:
    """Place and scores by BM25, best first."""
    terms = list(query_terms(query)[:MOST_TERMS])
    if not terms or not within.collections:
        return []
    if len(terms) == 1 and _is_character(terms[0]):
        return _with_character(db, terms[0], within, limit)
    terms = known_forms(db, terms)
    counts = _count_terms(db, terms, rule, max(ENOUGH, limit))
    telling = [term for term in terms if term not in counts.frequent]
    if not counts.frequent:
        return _matching(db, terms, within, limit)
    matches = _matching(db, telling, within, max(SCORED, limit))
    # In a narrow scope the rarer terms may all be elsewhere.
    if len(matches) < limit // 3:
        return _matching(db, terms, within, limit)
    return rescore(_packed_terms(db, matches), counts)[:limit]


def _is_character(term: str) -> bool:
    return len(term) == 1 and not term.isascii()


def _word(term: str) -> str:
    """Return a term in FTS5's syntax; a single Chinese character is a prefix of pairs."""
    return f'"{term}" *' if _is_character(term) else f'"{term}"'


def _with_character(
    db: sqlite3.Connection, character: str, within: Seen, limit: int
) -> list[tuple[int, float]]:
    """Return chunks with a pair the character begins; if few, also those it ends."""
    matches = _matching(db, [character], within, limit)
    if len(matches) == limit:
        return matches
    statement = f"""
        SELECT place FROM chunks WHERE instr(text || headings, :character) AND {_WITHIN}
        ORDER BY place LIMIT :limit
    """  # noqa: S608
    rows = db.execute(statement, within.named(character=character, limit=limit))
    places = {place for place, _ in matches}
    more = [(place, 0.0) for (place,) in rows if place not in places]
    return [*matches, *more][:limit]


def _matching(
    db: sqlite3.Connection, terms: list[str], within: Seen, limit: int
) -> list[tuple[int, float]]:
    words = " OR ".join(map(_word, terms))
    statement = f"""
        SELECT place, score FROM (
            SELECT rowid AS place, -bm25(words, {_WEIGHTS}) AS score
            FROM words WHERE words MATCH :words AND {_WITHIN.replace("place", "rowid")}
        ) ORDER BY score DESC, place LIMIT :limit
    """  # noqa: S608
    return db.execute(statement, within.named(words=words, limit=limit)).fetchall()


def _packed_terms(
    db: sqlite3.Connection, matches: Sequence[tuple[int, float]]
) -> list[tuple[int, bytes]]:
    places = json.dumps([place for place, _ in matches])
    return db.execute(
        "SELECT place, terms FROM chunks WHERE place IN (SELECT value FROM json_each(?))", (places,)
    ).fetchall()


def _count_terms(
    db: sqlite3.Connection, terms: list[str], rule: Frequent, enough: int
) -> TermCounts:
    """Count chunks of each term; frequent ones are in too many, if the others are in enough."""
    (total,) = db.execute("SELECT value FROM totals WHERE name = 'chunks'").fetchone()
    cap = max(rule.least, int(total * rule.share))
    counts: dict[str, int] = {}
    while cap < total:
        for term in terms:
            if counts.get(term, cap) >= cap // 2:
                counts[term] = _chunks_with(db, term, cap + 1)
        frequent = {term for term in terms if counts[term] > cap}
        if sum(counts[term] for term in terms if term not in frequent) >= enough:
            return TermCounts(counts, frozenset(frequent), total)
        cap *= 2
    return TermCounts(counts, frozenset(), total)


def _chunks_with(db: sqlite3.Connection, term: str, most: int) -> int:
    """Return the number of chunks with a term; counting ends at `most` to bound the cost."""
    (count,) = db.execute(
        "SELECT count(*) FROM (SELECT 1 FROM words WHERE words MATCH ? LIMIT ?)",
        (_word(term), most),
    ).fetchone()
    return int(count)


def nearest_vectors(
    db: sqlite3.Connection, vector: Sequence[float], model: str, within: Seen, limit: int
) -> list[tuple[int, float]]:
    """Place and cosines of one model's vectors, best first; exact for up to 500 vectors.

    Of more, the 500 whose signs agree most are compared: nothing but the signs is read of others.
    """
    row_of_model = db.execute(
        "SELECT number FROM models WHERE name = ? AND dimensions = ?", (model, len(vector))
    ).fetchone()
    if row_of_model is None:
        return []
    bits = int.from_bytes(sign_bits(vector), "big")
    db.create_function("differing", 1, lambda s: (int.from_bytes(s, "big") ^ bits).bit_count())
    statement = f"""
        SELECT v.place, v.vector FROM vectors v JOIN (
            SELECT place FROM signs WHERE model = :model AND {_WITHIN}
            ORDER BY differing(signs), place LIMIT :most
        ) USING (place)
    """  # noqa: S608
    rows = db.execute(statement, within.named(model=row_of_model[0], most=max(COMPARED, limit)))
    unit = unpack(pack(vector))
    scored = [(place, sum(map(mul, unit, unpack(packed)))) for place, packed in rows]
    scored.sort(key=lambda pair: (-pair[1], pair[0]))
    return [pair for pair in scored if pair[1] > 0][:limit]


def hits_at(
    db: sqlite3.Connection, scored: Sequence[tuple[int, float]], ranks: dict[int, dict[str, int]]
) -> list[KnowledgeHit]:
    """Return the chunks at these places with their documents, in the order given."""
    rows = db.execute(
        f"""
        SELECT c.place, c.text, c.headings, c.page, d.record FROM chunks c
        JOIN documents d ON d.number = ((c.place >> {PLACE_BITS}) & {DOCUMENT_MASK})
        WHERE c.place IN (SELECT value FROM json_each(?))
        """,  # noqa: S608
        (json.dumps([place for place, _ in scored]),),
    )
    rows_by_place = {row[0]: row for row in rows}
    return [
        _hit(rows_by_place[place], score, ranks.get(place, {}))
        for place, score in scored
        if place in rows_by_place
    ]


def _hit(
    row: tuple[int, str, str, int | None, str], score: float, ranks: dict[str, int]
) -> KnowledgeHit:
    place, text, headings, page, record = row
    document: KnownDocument = json.loads(record)
    return KnowledgeHit(
        chunk={
            "document": document["id"],
            "number": place & PLACE_MASK,
            "text": text,
            "headings": json.loads(headings),
            "page": page,
        },
        document=document,
        score=score,
        ranks=ranks,
    )


_KNOWN = """
    collection IN (SELECT value FROM json_each(:collections))
    AND (:documents IS NULL OR number IN (SELECT value FROM json_each(:documents)))
"""


def known_documents(db: sqlite3.Connection, within: Seen) -> list[KnownDocument]:
    """Return all visible documents, by path."""
    rows = db.execute(f"SELECT record FROM documents WHERE {_KNOWN}", within.named())  # noqa: S608
    documents: list[KnownDocument] = [json.loads(record) for (record,) in rows]
    return sorted(documents, key=lambda d: (d["collection"], d["path"], d["id"]))


_FIRST_PLACE = f"((d.collection << {DOCUMENT_BITS} | d.number) << {PLACE_BITS})"
_OF_DOCUMENT = f"JOIN chunks c ON c.place BETWEEN {_FIRST_PLACE} AND {_FIRST_PLACE} + {PLACE_MASK}"


def whole_texts(db: sqlite3.Connection, within: Seen, most: int) -> list[KnowledgeHit]:
    """Return the passages of whole documents that fit into so many characters, small ones first."""
    sizes = db.execute(
        f"SELECT d.number, sum(length(c.text)) FROM documents d {_OF_DOCUMENT}"  # noqa: S608
        f" WHERE {_KNOWN} GROUP BY d.number ORDER BY 2, 1",
        within.named(),
    )
    chosen = list[int]()
    for number, size in sizes:
        if (most := most - size) < 0:
            break
        chosen.append(number)
    rows = db.execute(
        f"SELECT c.place, c.text, c.headings, c.page, d.record FROM documents d {_OF_DOCUMENT}"  # noqa: S608
        " WHERE d.number IN (SELECT value FROM json_each(?)) ORDER BY c.place",
        (json.dumps(chosen),),
    )
    hits = [_hit(row, 0.0, {}) for row in rows]
    return sorted(hits, key=lambda hit: (hit.document["collection"], hit.document["path"]))


def not_embedded(db: sqlite3.Connection, within: Seen, embedder: str) -> list[str]:
    """Return the ids of documents with texts but without vectors of this embedder."""
    statement = f"SELECT id FROM documents WHERE chunks AND embedder != :embedder AND {_KNOWN}"  # noqa: S608
    rows = db.execute(f"{statement} ORDER BY number", within.named(embedder=embedder))
    return [identifier for (identifier,) in rows]


def collections_of_owner(db: sqlite3.Connection, owner: str) -> list[Collected]:
    """Return the owner's and shared ones, by name, with how many documents can be found in each."""
    rows = db.execute(
        "SELECT name, owner, shared, (SELECT count(*) FROM documents d"
        " WHERE d.collection = c.number AND d.chunks) FROM collections c"
        " WHERE owner = ? OR shared ORDER BY name, owner",
        (owner,),
    )
    return [
        {"name": name, "owner": of, "shared": bool(shared), "documents": count}
        for name, of, shared, count in rows
    ]


def collection_headings(db: sqlite3.Connection, within: Seen, limit: int) -> list[str]:
    """Return headings of texts, not of records: every document's first, then the second ones."""
    statement = f"""
        SELECT heading FROM headings JOIN documents ON number = document
        WHERE json_extract(record, '$.layer') != 'base' AND {_KNOWN}
        GROUP BY heading ORDER BY min(position), min(document) LIMIT :limit
    """  # noqa: S608
    return [heading for (heading,) in db.execute(statement, within.named(limit=limit))]
