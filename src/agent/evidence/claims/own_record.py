"""Hold a place's price, rating, distance and hours against its own record, and write what it has.

This is the one thing that code knows by itself: it needs no judge.
"""

import re
from collections.abc import Container, Iterator, Sequence
from decimal import Decimal

from agent.core.strings import letters_of
from agent.evidence.claims.passages import KNOWN, Evidence
from agent.evidence.claims.statements import Statement
from agent.evidence.claims.sums import rewritten
from agent.evidence.figures import Figure, figures, same
from agent.evidence.hours import DAY_MINUTES, Opening, yearly_hours
from agent.evidence.language import fold
from agent.evidence.mentions import ORIGIN, mentioned
from agent.evidence.names import without_local
from agent.evidence.types import Place

_NOT_PLAIN = re.compile(
    r"[×*+=÷→~≈]|或|合计|一共|总共|共计|总价|[一-十]个?人|[两几]位|剩|每(?![日天]\s?\d{1,2}:)|/|比|差|多|少|贵|便宜|约|左右|以[内上下]|起|建议|可以|到达|出发|步行"
    r"|骑|假设|\b(?:total|together|each|for (?:two|three|four)|than|cheaper|difference|between|per"
    r"|walk|on foot|arrive|leaves?|left|start|about|around|roughly|under|over|up to|from"
    r"|at (?:least|most)|or|if|say|assum\w*"
    r"|zu (?:zweit|dritt|viert|fünft|sechst)|zwei|drei|vier"
    r"|insgesamt|zusammen|etwa|rund|deux|trois|quatre|ensemble|environ"
    r"|dos|tres|cuatro|juntos|unos|unas|двоих|троих|вместе|всего|около)\b",
    re.IGNORECASE,
)
"""What makes a figure another one than the record's: a sum, a comparison, a plan, a hedge."""
_RATING = re.compile(
    r"(?:★\s?|评分(?:为|是)?[:：]?\s?|\brat(?:ed|ing)(?: of| is)?:?\s)\Z", re.IGNORECASE
)
_NEAR_RATING, _MOST_PEOPLE = 12, 20
_PART_OF_DAY = 2
"""Letters before a time: 下午1点, at 1 pm."""
_HOURS = re.compile(r"\s*(?:[-–—~至到]|to)\s*")
_ENDS = re.compile(
    r"关门|打烊|闭馆|开门|开馆|营业|开放|\b(?:open|opens|close|closes|closing)\b", re.I
)
_A_HEAD = re.compile(r"/\s?(?:人|位|person|head)|每[人位]|(?:per|a) (?:person|head)", re.IGNORECASE)
_SIGNS_OF_ONE = " \t\u3000★¥$€£"

Otherwise = tuple[Figure, str, str]
"""A figure of a statement, what the record's field says, and the figure as it should read."""


def otherwise(
    statement: Statement, evidence: Evidence, own: Container[Figure] = ()
) -> list[Otherwise]:
    """Return the figures that the record of the one place that a statement cites has otherwise.

    Only in a sentence that says nothing but facts of this place, beside what is a plan's `own`.
    """
    place = evidence.only_place(statement.cited)
    stated = [figure for figure in figures(statement.plain) if figure not in own]
    # A figure for several people, or one of two sums of money, may have been worked out.
    if (
        place is None
        or _may_be_another(statement)
        or any(figure.kind == "person" for figure in stated)
    ):
        return []
    # Where another place is named, nobody can tell whose the figure is.
    places = [record.place for record in evidence.records.values() if record.place]
    its = {other["id"] for other in places if other["source"] in statement.cited}
    if mentioned(places, statement.said).keys() - its:
        return []
    known = [*evidence.question_figures]
    told = (KNOWN, *statement.cited)
    known += [f for p in evidence.passages if p.source in told for f in p.figures]
    return [
        (figure, value, right)
        for figure, value, right in _fields(stated, statement.plain, place)
        if (fields := figures(value)) and any(char.isdigit() for char in figure.text)
        if not any(same(figure, other) for other in [*fields, *known])
    ]


def plan_has(span: str, evidence: Evidence, statement: Statement | None = None) -> bool:
    """Return whether a span is nothing but times of a planned day: 13:00–14:40, at 1 pm.

    Of the stops that a statement names or cites, where it does.
    """
    times, rest = figures(span), span
    for figure in times:
        rest = rest.replace(figure.text, "")
    if not times or len(letters_of(rest)) > _PART_OF_DAY:
        return False
    places = {name: one.place for name, one in evidence.records.items() if one.place}
    named = mentioned([*places.values()], statement.said) if statement else {}
    cited = statement.cited if statement else ()
    its = [name for name, place in places.items() if place["id"] in named or name in cited]
    lines = [line for text in evidence.known for line in text.splitlines()]
    own = [line for line in lines if not its or any(f"[^{name}]" in line for name in its)]
    planned = {figure.clock for line in own for figure in figures(line)}
    return all(figure.clock is not None and figure.clock in planned for figure in times)


def _may_be_another(statement: Statement) -> bool:
    return _NOT_PLAIN.search(_A_HEAD.sub("", fold(statement.said))) is not None


def _fields(stated: list[Figure], text: str, place: Place) -> Iterator[Otherwise]:
    """Yield the figures that a field of the record decides, what it says, and how they read."""
    hours = [figure for figure in stated if figure.clock is not None]
    is_range = len(hours) == 2 and bool(_HOURS.fullmatch(text, hours[0].end, hours[1].start))
    is_told = (is_range or len(hours) == 1) and bool(_ENDS.search(text))
    # A record of OpenStreetMap is read over a year: only for a statement that tells a time.
    opened = (yearly_hours(place) if hours else None) or ()
    joined = is_range and not _is_visit(hours, opened)
    # A length beside a time that it takes is that of a way, by whatever means: 1.3 km, 8 min.
    is_way = any(figure.kind == "second" for figure in stated)
    lengths = [figure for figure in stated if figure.kind == "metre" and not is_way]
    sums = [figure for figure in stated if figure.is_money]
    cost, rating, metres = place["cost"], place["rating"], place["distance_m"]
    for figure in stated:
        if figure.is_money and len(sums) == 1 and not _is_of_several(figure) and cost is not None:
            # "Zu dritt 120 Yuan": of several people, in whatever language that is said.
            if not _is_several_times(float(figure.amount), cost):
                is_yuan = figure.kind == "yuan"
                right = rewritten(figure, Decimal(f"{cost:g}") / figure.scale) if is_yuan else ""
                yield figure, f"¥{cost:g}", right
        elif _RATING.search(text, max(0, figure.start - _NEAR_RATING), figure.start):
            if rating is not None:
                yield figure, f"{rating:g}", rewritten(figure, Decimal(f"{rating:g}"))
        elif figure in lengths and len(lengths) == 1 and metres is not None:
            if _is_from_elsewhere(text, place):
                continue
            yield figure, f"{metres} m", rewritten(figure, Decimal(metres) / figure.scale)
        elif figure.clock is not None and place["open_time"] and (joined or is_told):
            at = hours.index(figure) if joined else None
            yield figure, place["open_time"], _time(figure, opened, at)


def _is_of_several(figure: Figure) -> bool:
    return bool(figure.per) and figure.per != ("person", Decimal(1))


def _is_from_elsewhere(text: str, place: Place) -> bool:
    """Return whether a distance is not, or not only, the one that the record has."""
    names = (place.get("distance_from"), place.get("distance_from_en"))
    origins = [fold(without_local(name)) for name in names if name]
    told = ORIGIN.findall(fold(text)) if origins else []
    is_other = any(all(origin not in each for origin in origins) for each in told)
    return is_other or bool(place.get("further") and not told)


def _time(figure: Figure, opened: Sequence[Opening], at: int | None) -> str:
    """Return the time at which a place opens (0) or closes (1), as the figure is written.

    The nearer of the two where nothing tells which; none where the days differ.
    """
    bounds = [*{(each.start, each.end) for each in opened}]
    if len(bounds) != 1 or figure.clock is None:
        return ""
    [both] = bounds
    minute = both[at] if at is not None else min(both, key=lambda n: abs(n - (figure.clock or 0)))
    return _as_written(figure, minute)


_WRITTEN_TIME = re.compile(r"(\d{1,2}):\d\d")
_HOUR = 60


def _as_written(figure: Figure, minute: int) -> str:
    match = _WRITTEN_TIME.fullmatch(figure.text)
    hour, rest = divmod(minute, _HOUR)
    if match is None or int(match[1]) * _HOUR > (figure.clock or 0) or minute > DAY_MINUTES:
        return ""
    return f"{hour:0{len(match[1])}d}:{rest:02d}"


def _is_several_times(total: float, price: float) -> bool:
    """Return whether a sum is a price times a small whole number."""
    times = total / price if price else 0.0
    return 2 <= times <= _MOST_PEOPLE and abs(times - round(times)) < 1e-6


def _is_visit(hours: Sequence[Figure], opened: Sequence[Opening]) -> bool:
    """Return whether a stretch of time lies within a place's hours, as that of a visit does."""
    begins, ends = (figure.clock or 0 for figure in hours)
    return any(each.start <= begins < ends <= each.end for each in opened)
