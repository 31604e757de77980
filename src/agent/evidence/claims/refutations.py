"""Statements that records refute: rates, ranks, superlatives, places over a limit."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from agent.evidence.claims.arithmetic import CURRENCIES
from agent.evidence.claims.claim import Claim, ends_at
from agent.evidence.claims.facts import Passage, amount, clause_spans
from agent.evidence.figures import Figure, figures
from agent.evidence.types import Place


@dataclass(frozen=True)
class Refutation:
    """Hold what speaks against a sentence: a passage, or figures that no passage has as stated."""

    quote: Passage | None = None
    missing: tuple[Figure, ...] = ()
    contradicted: bool = False
    """The quote says otherwise."""


def refutation(claim: Claim, listed: Sequence[Place]) -> Refutation | None:
    """Return what refutes a sentence; `listed` are the places that the answer lists."""
    return (
        _against_rates(claim)
        or _against_closing(claim)
        or _against_limits(claim)
        or _against_superlatives(claim, listed)
        or _against_ranks(claim)
    )


_PERIODS = {
    "小时": r"小时|钟头|\b(?:hours?|hourly|hrs?|h)\b",
    "天": r"[天日]|\b(?:days?|daily)\b",
    "月": r"月|\b(?:months?|monthly)\b",
    "年": r"年|\b(?:years?|yearly|annual\w*)\b",
    "公里": r"公里|千米|\b(?:km|kilomet\w+)\b",
}
_ANY_PERIOD = "|".join(f"(?P<p{n}>{words})" for n, words in enumerate(_PERIODS.values()))
_RATE = re.compile(rf"\s*(?:/\s*|每个?|一个?|per\s+|an?\s+)(?:{_ANY_PERIOD})", re.I)
_RATE_BEFORE = re.compile(rf"(?:每个?|per\s+)(?:{_ANY_PERIOD})[^\d，。；,;|]{{0,6}}$", re.I)


def _against_rates(claim: Claim) -> Refutation | None:
    """Return the prices that are told by the hour and that no passage gives so."""
    sources = claim.cited or claim.evidence.passages
    wrong = [
        figure
        for figure in claim.facts
        if figure.kind in CURRENCIES
        and (period := _period(claim.text, figure))
        and (bearing := claim.bearers(figure).intersection(sources))
        and not any(period.search(passage.text) for passage in bearing)
    ]
    return Refutation(claim.best(sources), tuple(wrong)) if wrong else None


def _period(text: str, figure: Figure) -> re.Pattern[str] | None:
    """Return the words for the period of a price in either language."""
    rate = _RATE.match(text, figure.end) or _RATE_BEFORE.search(text[: figure.start])
    if rate is None or rate.lastgroup is None:
        return None
    return re.compile([*_PERIODS.values()][int(rate.lastgroup[1:])], re.I)


_PAST = re.compile(r"\s*[多过]|之?后")


def _against_closing(claim: Claim) -> Refutation | None:
    """Return the record of a place that closes at the hour past which it is said to be open."""
    for figure in claim.facts:
        if figure.clock is None or not _PAST.match(claim.text, figure.end):
            continue
        for passage in claim.bearers(figure).intersection(claim.cited):
            is_place = claim.evidence.records[passage.source].place is not None
            same = (f for f in passage.figures if f.clock == figure.clock)
            if (
                is_place
                and ends_at(claim.text, figure)
                and any(ends_at(passage.text, f) for f in same)
            ):
                return Refutation(passage, (figure,), contradicted=True)
    return None


_FITS = re.compile(
    r"控制在|以内|之内|不超|不到|符合|满足|够用|\b(?:within|under|below|fits?|meets?)\b", re.I
)
_EXCEEDS = re.compile(
    r"超[过出预支]|超了|高于|不[符能满]|太贵|\b(?:over|above|exceed\w*|beyond|too)\b", re.I
)


def _against_limits(claim: Claim) -> Refutation | None:
    """Return the record of a place beyond a demand's limit that is said to keep within it."""
    for place in _named(claim, claim.text):
        for verdict in place.get("verdicts", []):
            stated = figures(verdict["text"])
            if verdict["verdict"] != "violated" or not stated:
                continue
            for _, clause in clause_spans(claim.text):
                limits = [f for f in figures(clause) if amount(f) == amount(stated[-1])]
                if limits and _FITS.search(clause) and not _EXCEEDS.search(clause):
                    return Refutation(_passage(claim, place), contradicted=True)
    return None


_SUPERLATIVES: tuple[tuple[re.Pattern[str], str, int], ...] = (
    (re.compile(r"最近的|离[^，。；\d]{1,16}最近|\b(?:nearest|closest)\b", re.I), "distance_m", 1),
    (re.compile(r"最便宜|最省钱|\bcheapest\b", re.I), "cost", 1),
    (
        re.compile(
            r"评分最高|\b(?:highest[- ]rated|best[- ]rated|(?:best|highest) rating)\b", re.I
        ),
        "rating",
        -1,
    ),
)
_QUALIFIED = re.compile(
    r"之一|第[二三四]|其次|除|室内|免费|还?[在能]|可以?|适合"
    r"|\b(?:one of|second|third|next|after|except|indoor|free|that|which|still|with)\b",
    re.I,
)
_CLEARLY = 0.03


def _against_superlatives(claim: Claim, listed: Sequence[Place]) -> Refutation | None:
    """Return the record of a listed place that is nearer, cheaper or better rated."""
    for word, field, sign in _SUPERLATIVES:
        for subject in _subjects(claim, word):
            for rival in listed:
                own, other = _value(subject, field), _value(rival, field)
                if own is None or other is None or not _comparable(subject, rival, field):
                    continue
                if sign * (own - other) > _CLEARLY * own:
                    return Refutation(_passage(claim, rival), contradicted=True)
    return None


def _subjects(claim: Claim, word: re.Pattern[str]) -> Iterator[Place]:
    """Yield each place of which a superlative is said: its clause's, the next or the last named."""
    clauses = [clause for _, clause in clause_spans(claim.text)]
    named = [_named(claim, clause) for clause in clauses]
    for at, clause in enumerate(clauses):
        if not (match := word.search(clause)) or _QUALIFIED.search(clause, match.start()):
            continue
        if _QUALIFIED.search(clause[: match.start()]):
            continue
        after = (places for places in named[at:] if places)
        before = (places for places in reversed(named[:at]) if places)
        places = next(after, []) if at == 0 else named[at] or next(before, [])
        if len(places) == 1:
            yield places[0]


def _comparable(place: Place, rival: Place, field: str) -> bool:
    """Return whether two places answer the same demand, and lie around the same place."""
    if any(verdict["verdict"] == "violated" for verdict in rival.get("verdicts", [])):
        return False
    if field == "distance_m" and place["distance_from"] != rival["distance_from"]:
        return False
    shared = set(place.get("keywords", [])) & set(rival.get("keywords", []))
    return bool(shared) or place["category"] == rival["category"]


def _value(place: Place, field: str) -> float | None:
    value: float | None = place.get(field)  # type: ignore[assignment]
    return value


def _named(claim: Claim, text: str) -> list[Place]:
    """Return the places that a text is about."""
    ids = claim.evidence.places_in(text)
    return [p for name in sorted(ids) if (p := claim.evidence.records[name].place)]


def _passage(claim: Claim, place: Place) -> Passage | None:
    return next(iter(claim.evidence.of([place["source"]])), None)


_SCOPE = (
    r"(?:in|on) (?:the )?(?:world|earth|planet|country|china|asia|europe|america)"
    r"|world(?:['’]s|wide)"
)
_MOST = r"(?:tall|larg|bigg|long|high|old|busi|deep|fast|rich|small)est|most \w+"
_ORDINALS = (
    *("first", "second", "third", "fourth", "fifth"),
    *("sixth", "seventh", "eighth", "ninth"),
)
_HAN_ORDINALS = "一二三四五六七八九"
_NTH = rf"{'|'.join(_ORDINALS)}|\d+(?:st|nd|rd|th)"
_RANK = re.compile(
    rf"(?:\b(?P<nth>{_NTH})[- ])?\b(?:{_MOST})\b[^.;,]{{0,40}}\b(?:{_SCOPE})"
    rf"|\b(?:world|country|nation)['’]s (?:(?P<of>{_NTH})[- ])?(?:{_MOST})\b"
    r"|(?:世界|全球|全国|亚洲|欧洲|中国|国内)(?:上|范围内)?"
    rf"(?:[^，。；]{{0,6}}?第(?P<han>[{_HAN_ORDINALS}]|\d+)|最[高大长早深快古老多小])",
    re.I,
)


def _against_ranks(claim: Claim) -> Refutation | None:
    """Return that no evidence gives the rank in the world that an uncited sentence tells."""
    rank = None if claim.sentence.cited else _RANK.search(claim.text)
    if rank is None or _is_known_rank(rank, claim.evidence.passages + claim.evidence.known):
        return None
    return Refutation()


def _is_known_rank(rank: re.Match[str], passages: Sequence[Passage]) -> bool:
    ranks = (found for passage in passages for found in _RANK.finditer(passage.text))
    return _number(rank) in map(_number, ranks)


def _number(rank: re.Match[str]) -> int:
    """Return the place in a ranking; a bare superlative is the first."""
    nth, han = (rank["nth"] or rank["of"] or "").lower(), rank["han"] or ""
    if nth in _ORDINALS:
        return 1 + _ORDINALS.index(nth)
    if han and han in _HAN_ORDINALS:
        return 1 + _HAN_ORDINALS.index(han)
    digits = re.sub(r"\D", "", nth or han)
    return int(digits) if digits else 1
