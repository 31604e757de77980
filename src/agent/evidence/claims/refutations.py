"""Find what records refute: opening hours, rates, ranks, limits, and figures of another subject."""

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

from agent.evidence.claims.arithmetic import CURRENCIES
from agent.evidence.claims.claim import Claim, among, ends_at, figure_words, same_kind
from agent.evidence.claims.facts import Passage, amount, clause_spans, hedge, names, split_clauses
from agent.evidence.claims.sentences import Citation
from agent.evidence.constraints import Outcome, opening_hours, openness
from agent.evidence.figures import Figure, figures
from agent.evidence.language import words
from agent.evidence.types import Place

_OPEN = re.compile(
    r"开放|营业|开门|开着|在开|[能可以]进|\bopen\b|\b(?:get|go|come|let) in\b|\badmitted\b", re.I
)
_CLOSED = re.compile(
    r"不开|未开|没开|不营业|停业|停止|不能进|进不去|[闭休]馆|闭园|关门|关闭|关着|歇业|打烊|休息"
    r"|\b(?:not|never|no longer)\b|n['’]t\b|\bclosed\b",
    re.I,
)
_NEVER_CLOSED = re.compile(
    r"(?:不|从不|没有?|未)(?:[闭休]馆|闭园|关门|关闭|停业|歇业|打烊|休息)"
    r"|(?:\bnever|\bnot|n['’]t) (?:clos|shut)\w*",
    re.I,
)
_UNSURE = re.compile(
    r"是否|如果|假如|若|可能|或许|不确定|确认|部分|除外"
    r"|\b(?:if|whether|unless|may|might|check|part\w*|some|except)\b",
    re.I,
)
_PART_OF_DAY = re.compile(
    r"半天|[上下]午|[晚夜]|凌晨|\b(?:half|morning|afternoon|evening|night)s?\b", re.I
)
_AT = re.compile(r"\b(?:at|past|after|by)\s+(?:about |around )?$", re.I)
_OTHER_AT = re.compile(
    r"\b(?:clos(?:es?|ing)|shuts?|ends?|starts?|begins?|opens|entry|admission|orders?)\s+"
    r"\w+\s+(?:about |around )?$",
    re.I,
)
_HAN_AT = re.compile(
    r"\s*[钟整]?(?:(?:以后|之后|过后|后|的?时候?)|\s*(?:[都也就]?(?:还|仍|依然|照[常样]|能|可以?|已)|只有))"
)
_RANGE_END = re.compile(r"(?:[-–—~～至到]|\bto|\buntil|\btill)\s*$")
_HAN_DAY = r"(?:周|星期|礼拜)([一二三四五六日天])"
_DAYS = re.compile(rf"{_HAN_DAY}|\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*days?\b", re.I)
_DAY_RANGE = re.compile(
    rf"{_HAN_DAY}\s*(?:[-–~至到]|、|和)\s*(?:周|星期)?[一二三四五六日天]|工作日|周末|节假日"
    r"|day\s*(?:[-–]|to|through|and|or)\s*(?:mon|tue|wed|thu|fri|sat|sun)|\bweekdays?\b|\bweekends?\b",
    re.I,
)
_HAN_ORDER, _ORDER = "一二三四五六日", ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_TODAY_IS = re.compile(
    rf"\W*(?:[今明]天|后天|today|tomorrow)\s*(?:就?是|为|is)?\s*(?:a\s+)?(?:{_HAN_DAY}|[a-z]+day)\W*",
    re.I,
)
_NEAR = (
    (re.compile(r"今[天日晚]|\b(?:today|tonight)\b", re.I), 0),
    (re.compile(r"明[天日晚]|\btomorrow\b", re.I), 1),
    (re.compile(r"后天", re.I), 2),
)


@dataclass(frozen=True)
class Opening:
    """Hold one clause on whether places are open on a day, at a time, or both."""

    start: int
    end: int
    places: frozenset[str]
    """The ids of their records."""
    day: int | None
    """ISO weekday."""
    time: int | None
    """Minutes after midnight."""
    is_open: bool


def openings(claim: Claim) -> Iterator[Opening]:
    """Yield what a sentence says about when the places that it names are open."""
    records = [claim.evidence.records.get(name) for name in claim.sentence.cited]
    if not claim.evidence.places or any(record and not record.place for record in records):
        return
    places, of_sentence = frozenset[str](), days_of(claim.text, claim.evidence.today)
    for start, clause in clause_spans(claim.text):
        places = frozenset(claim.evidence.places_in(clause)) or places
        about = places or frozenset(record.id for record in records if record)
        plain = _NEVER_CLOSED.sub("开门", clause)
        is_closed = _CLOSED.search(plain) is not None
        if not about or not (is_closed or _OPEN.search(plain)):
            continue
        days = days_of(clause, claim.evidence.today) or of_sentence
        day = next(iter(days)) if len(days) == 1 else None
        time = _time_in(clause)
        if _is_told(clause, day, time):
            yield Opening(start, start + len(clause), about, day, time, not is_closed)


def _is_told(clause: str, day: int | None, time: int | None) -> bool:
    """Return whether a clause is sure of a time, or of a whole day."""
    if _UNSURE.search(clause) or _DAY_RANGE.search(clause):
        return False
    return time is not None or not (day is None or figures(clause) or _PART_OF_DAY.search(clause))


def days_of(text: str, today: str) -> set[int]:
    """Return the ISO weekdays that a text names, also as today and tomorrow."""
    days = {
        1 + (_HAN_ORDER.index(han.replace("天", "日")) if han else _ORDER.index(latin.lower()))
        for han, latin in _DAYS.findall(text)
    }
    try:
        now = date.fromisoformat(today[:10])
    except ValueError:
        return days
    return days | {
        (now + timedelta(days=n)).isoweekday() for words, n in _NEAR if words.search(text)
    }


def _time_in(clause: str) -> int | None:
    """Return the time at which the clause says that something is open or not."""
    for figure in figures(clause):
        before, behind = clause[: figure.start], clause[figure.end :]
        at = _AT.search(before) and not _OTHER_AT.search(before)
        if figure.clock is not None and (at or _HAN_AT.match(behind)):
            return None if _RANGE_END.search(before) or figure.ambiguous else figure.clock
    return None


def against_hours(claim: Claim) -> Passage | None:
    """Return the record of a place whose hours say otherwise than the sentence."""
    for opening in openings(claim):
        for name in sorted(opening.places):
            if _outcome(claim, name, opening) == "violated":
                return _hours_passage(claim, name)
    return None


def borne_spans(claim: Claim) -> list[tuple[int, int]]:
    """Return where a sentence has clauses that the hours of its places bear, or today's date."""
    borne = [
        (opening.start, opening.end)
        for opening in openings(claim)
        if all(_outcome(claim, name, opening) == "satisfied" for name in opening.places)
    ]
    return borne + [
        (start, start + len(clause))
        for start, clause in clause_spans(claim.text)
        if _TODAY_IS.fullmatch(clause) and len(days_of(clause, claim.evidence.today)) == 1
    ]


def without_borne_hours(claim: Claim) -> str:
    """Return the text of a sentence with the clauses blanked that the hours of its places bear."""
    text = claim.text
    for start, end in borne_spans(claim):
        text = text[:start] + " " * (end - start) + text[end:]
    return text


def _outcome(claim: Claim, name: str, opening: Opening) -> Outcome:
    """Return whether the hours of a place bear a statement about them."""
    place = claim.evidence.records[name].place
    hours = opening_hours((place and place.get("open_time")) or "")
    clock = None if opening.time is None else f"{opening.time // 60}:{opening.time % 60:02}"
    outcome = openness(hours, clock, [opening.day] if opening.day else None)
    if opening.is_open or outcome == "unknown":
        return outcome
    return "violated" if outcome == "satisfied" else "satisfied"


def _hours_passage(claim: Claim, name: str) -> Passage | None:
    """Return the passage of a place's record that gives its hours."""
    passages = claim.evidence.records[name].passages
    timed = [p for p in passages if any(figure.clock is not None for figure in p.figures)]
    return next(iter([*timed, *passages]), None)


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
        or _against_straight_lines(claim)
        or _against_closing(claim)
        or _against_limits(claim)
        or _against_superlatives(claim, listed)
        or _against_ranks(claim)
    )


_WALKED = re.compile(r"步行|走路|徒步|\b(?:on foot|walk\w*)\b", re.I)
_STRAIGHT = re.compile(r"直线|\bstraight\b|\bas the crow flies\b", re.I)


def _against_straight_lines(claim: Claim) -> Refutation | None:
    """Return the lengths of walks that the cited records have of straight lines only."""
    walks = [
        figure
        for at, clause in clause_spans(claim.text)
        if _WALKED.search(clause) and not _STRAIGHT.search(clause)
        for figure in claim.facts
        if figure.kind == "metre" and at <= figure.start < at + len(clause)
    ]
    for figure in walks:
        bearing = claim.bearers(figure).intersection(claim.cited)
        parts = [part for p in bearing for part in p.clauses if part.has(figure)]
        if parts and all(_STRAIGHT.search(part.text) for part in parts):
            return Refutation(next(iter(bearing)), (figure,), contradicted=True)
    return None


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
            if verdict["verdict"] != "violated" or not stated or stated[-1].clock is not None:
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
    if not listed:
        return None
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
    ranks = (match for passage in passages for match in _RANK.finditer(passage.text))
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


_NUMBERED_LINE = re.compile(r"\b(?:line|bus|route|exit|terminal) \d{1,3}\b", re.I)
_LIGHT = words("takes costs needs runs gives goes 需要 花费 时间 费用")
"""Words that say nothing about what a figure is of."""


def _clause_of(claim: Claim, figure: Figure) -> str:
    """Return the clause a figure stands in; in a table also the row's first cell."""
    clauses, at = split_clauses(claim.text), 0
    for clause in clauses:
        start = claim.text.find(clause, at)
        at = start + len(clause)
        if start <= figure.start < at:
            if not claim.sentence.row:
                return _part_of(clause, figure.start - start, figure)
            first = clauses[0] if clause != clauses[0] else ""
            return f"{first} {clause}".strip()
    return claim.text


_AND = re.compile(r"\s(?:and|but|while|whereas|versus|vs\.?)\s|而", re.I)


def _part_of(clause: str, at: int, figure: Figure) -> str:
    """Return the part of a clause that a figure stands in, where "and" joins one of its kind."""
    begin, end = 0, len(clause)
    for joint in _AND.finditer(clause):
        rest = clause[joint.end() :] if joint.start() >= at else clause[: joint.start()]
        if not any(same_kind(other, figure) for other in figures(rest)):
            continue
        if joint.start() >= at:
            end = joint.start()
            break
        begin = joint.end()
    return clause[begin:end]


def is_swapped(claim: Claim, figure: Figure) -> bool:
    """Return whether the cited words give the clause's subject another figure of its kind."""
    clause = _clause_of(claim, figure)
    own = words(clause) - figure_words(clause) - _LIGHT
    own_figures = figures(clause)
    own_names = [*names(clause), *_NUMBERED_LINE.findall(clause)]
    hedged = hedge(claim.text, figure)
    bearing, differing = set[Passage](), set[Passage]()
    for index in claim.evidence.clauses(claim.sentence.cited):
        these = index.bearing(figure, hedged)
        bearing |= these
        for part, rivals in index.of_kind(figure).items():
            if part not in these and not all(among(f, own_figures) for f in rivals):
                differing.add(part)
    most = max((len(own & part.words) for part in bearing), default=0)
    other = max((len(own & part.words) for part in differing), default=0)
    if other >= 2 and (most == 0 or other >= most + 2):
        return not any(
            _carries_on(claim, own, one, two) or _adds_up_to(figure, one)
            for one in differing
            for two in bearing
        )
    naming = [*bearing, *_whole_of(claim, figure, bearing)]
    return _of_another_day(claim, figure) or any(
        any(part.names(name) for part in differing) and not any(part.names(name) for part in naming)
        for name in own_names
    )


def _whole_of(claim: Claim, figure: Figure, bearing: Collection[Passage]) -> list[Passage]:
    """Return what else is about the bearing clauses' subject: their row, or the clauses beside.

    These count only where no bearing clause has a name, and they have no figure of the kind.
    """
    passages = claim.bearers(figure).intersection(claim.cited)
    rows = [passage for passage in passages if passage.head]
    if any(names(part.text) for part in bearing):
        return rows
    beside = (part for passage in passages for part in passage.clauses)
    return rows + [p for p in beside if not any(same_kind(f, figure) for f in p.figures)]


def _carries_on(claim: Claim, own: frozenset[str] | set[str], one: Passage, two: Passage) -> bool:
    """Return whether a clause goes on from another: `A 自产热123℃，触发220℃`, `A 32元；B 41元`.

    It says two words of the claim that the other lacks, and follows it in one sentence.
    """
    if len(own & two.words - one.words) < 2:
        return False
    first, second = ("".join(part.text.split()).strip("，,；;") for part in (one, two))
    texts = ("".join(passage.text.split()) for passage in claim.cited)
    return any(f"{first}{mark}{second}" in text for text in texts for mark in "，,；;")


def _adds_up_to(figure: Figure, part: Passage) -> bool:
    """Return whether a clause gives what a figure is the total of: `票45元和券30元，合计75元`."""
    addends = [amount(other) for other in part.figures if same_kind(other, figure)]
    return len(addends) > 1 and sum(addends) == amount(figure)


def is_of_another_citation(claim: Claim, figure: Figure) -> bool:
    """Return whether the citation behind the figure gives another of the sentence's figures."""
    if (heading := _heading(claim, figure)) and claim.borne(figure, claim.evidence.of(heading.ids)):
        return False
    group = _group_behind(claim, figure)
    cited = claim.evidence.of(name for citation in group for name in citation.ids)
    if len(group) == len(claim.sentence.citations) or claim.borne(figure, cited):
        return False
    rivals = [f for f in claim.facts if f is not figure and same_kind(f, figure)]
    return any(_group_behind(claim, f) != group and claim.borne(f, cited) for f in rivals)


def _heading(claim: Claim, figure: Figure) -> Citation | None:
    """Return the last citation before a figure, where no figure of its clause precedes it."""
    start = claim.sentence.start
    before = [c for c in claim.sentence.citations if c.end - start <= figure.start]
    if not before:
        return None
    clause = re.split(r"[，,；;、：:]", claim.text[: before[-1].start - start])[-1]
    return None if figures(clause) else before[-1]


def _group_behind(claim: Claim, figure: Figure) -> list[Citation]:
    """Return the citations that follow a figure with nothing but each other in between."""
    group: list[Citation] = []
    for citation in claim.sentence.citations:
        at = citation.start - claim.sentence.start
        if at >= figure.end and (not group or citation.start <= group[-1].end + 1):
            group.append(citation)
    return group


def _of_another_day(claim: Claim, figure: Figure) -> bool:
    """Return whether the figure stands only where another day than the sentence's is told."""
    days = [f for f in claim.figures if f.date]
    if len(days) != 1 or figure.date:
        return False
    that_day = {p for p in claim.bearers(days[0]) if any(same_kind(f, figure) for f in p.figures)}
    bearing = claim.bearers(figure).intersection(claim.cited)
    return not that_day.isdisjoint(claim.cited) and all(
        passage not in that_day and passage.dates for passage in bearing
    )
