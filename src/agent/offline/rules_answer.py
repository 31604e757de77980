"""The answer: what was found, put together in the asked language, and its continuation."""

from agent.language import Language, detect_language

from .brain import Answer, Turn
from .rules_plan import cleaned
from .rules_references import resolve
from .rules_text import (
    Record,
    Sentence,
    block,
    distinct,
    language_of,
    lines,
    ranked,
    records,
    sentences,
)

_LIMIT: dict[Language, int] = {"zh": 860, "en": 340}
"""Characters (zh) or words (en) at most, markers not counted."""
_BULLETS = 6
_PER_SOURCE, _SOURCES = 3, 4
_QUOTED = 60
_TAIL = 80
_WORDS: dict[str, dict[Language, str]] = {
    "sample": {
        "zh": "以下内容出自内置的示例数据，只供演示，出行前请核实。",
        "en": "This comes from the bundled sample data, for demonstration only; check before"
        " you rely on it.",
    },
    "nothing": {
        "zh": "示例数据里没有与“{question}”有关的资料，所以没有可以引用的内容。示例只收录了少数地点"
        "和话题；配置模型和地图的密钥之后，可以查到真实的资料。",
        "en": "The sample data has nothing on “{question}”, so there is nothing to cite. The sample"
        " covers only a few places and topics; with keys for a model and the map set, the"
        " real sources can be searched.",
    },
    "places": {
        "zh": "关于“{question}”，地图上查到 {count} 处，可以先看这些：",
        "en": "For “{question}” the map has {count} places; these come first:",
    },
    "place": {"zh": "关于“{question}”，地图上查到：", "en": "For “{question}” the map has:"},
    "facts": {"zh": "关于“{question}”，查到的要点：", "en": "On “{question}”, this was found:"},
    "web": {"zh": "网上的资料说：", "en": "From the web:"},
    "pointed": {"zh": "上次列出的，您问的是：", "en": "Of those listed before, you ask about:"},
    "gaps": {"zh": "没有查到的：", "en": "Not found:"},
    "end": {
        "zh": "以上就是示例数据里能查到的全部。",
        "en": "That is all the sample data has on this.",
    },
}


def answer(turn: Turn) -> Answer:
    """The whole answer, or what follows where one was cut off."""
    if "<cut_off>" in turn.user:
        return continue_answer(turn)
    return Answer(text=_compose(turn.user, language_of(turn)))


def continue_answer(turn: Turn) -> Answer:
    """The rest of the same answer after the text in `<cut_off>`."""
    language = language_of(turn)
    asked = [past.text for past in turn.history if past.role == "user"]
    asked = [text for text in asked if "<question>" in text]
    whole = _compose(asked[-1], language) if asked else ""
    cut_off = block(turn.user, "cut_off")
    for tail in (cut_off[-_TAIL:], cut_off.strip()[-_TAIL // 2 :]):
        at = whole.find(tail) if tail else -1
        if at >= 0 and (rest := whole[at + len(tail) :]).strip():
            return Answer(text=rest)
    return Answer(text=_WORDS["end"][language])


def _compose(user: str, language: Language) -> str:
    question = cleaned(block(user, "question"))
    pointed = _pointed(user)
    places = sorted(records(user, "places"), key=lambda place: -len(place.fields))
    # The first of each: all of them are listed below the answer anyway.
    facts = [*records(user, "routes")[:1], *records(user, "weather")[:1]]
    found = _web_sentences(user, language)
    if not (pointed or places or facts or found):
        return _with_gaps([_said("nothing", language, question)], user, language)
    parts = [_WORDS["sample"][language]]
    parts += _pointed_lines(pointed, places, language)
    parts += _place_lines(places, question, language)
    if facts:
        parts.append(_said("facts", language, question) + "\n" + _bullets(facts))
    if found:
        limit = _LIMIT[language] - sum(_size(part, language) for part in parts)
        parts.append(_web_part(found, question, limit, language))
    return _with_gaps(parts, user, language)


def _web_sentences(user: str, language: Language) -> list[Sentence]:
    """The supported sentences, those in the language of the answer if there are any."""
    found = [s for s in sentences(block(user, "findings")) if _from_web(s)]
    return [s for s in found if detect_language(s.bare) == language] or found


def _from_web(sentence: Sentence) -> bool:
    """Supported by something other than a record of the map, which is listed anyway."""
    return any(not name.startswith("a") for name in sentence.ids)


def _pointed(user: str) -> tuple[Record, ...]:
    previous = records(user, "previous_places")
    asked, said = block(user, "question").strip(), lines(user, "conversation")
    return resolve(asked, said, previous).records


def _pointed_lines(
    pointed: tuple[Record, ...], places: list[Record], language: Language
) -> list[str]:
    """The places a follow-up points at, by today's records where there are some."""
    if not pointed:
        return []
    today = {place.name: place for place in places}
    shown = [today.get(record.name, record) for record in pointed]
    bullets = [f"- {_bullet(record, len(record.fields))}" for record in shown]
    return ["\n".join([_WORDS["pointed"][language], *bullets])]


def _place_lines(places: list[Record], question: str, language: Language) -> list[str]:
    if not places:
        return []
    key = "places" if len(places) > 1 else "place"
    opening = _said(key, language, question).replace("{count}", str(len(places)))
    return [f"{opening}\n{_bullets(places[:_BULLETS])}"]


def _bullets(found: list[Record]) -> str:
    return "\n".join(f"- {_bullet(record)}" for record in found)


def _bullet(record: Record, facts_shown: int = 5) -> str:
    """The name as listed and the facts as listed, then the marker."""
    facts = " · ".join(record.fields[1 : facts_shown + 1])
    return f"{record.name} — {facts} {record.mark}" if facts else f"{record.name} {record.mark}"


def _web_part(found: list[Sentence], question: str, limit: int, language: Language) -> str:
    """A line for each of the best sources, its sentences in their own order, within the limit."""
    best = list(dict.fromkeys(sentence.ids[0] for sentence in ranked(found, question)))[:_SOURCES]
    space, left, told = "" if language == "zh" else " ", limit, dict[str, list[str]]()
    for sentence in distinct(found):
        source, size = sentence.ids[0], _size(sentence.bare, language)
        of_source = told.setdefault(source, [])
        if source in best and len(of_source) < _PER_SOURCE and size <= left:
            of_source.append(sentence.text)
            left -= size
    paragraphs = [f"- {space.join(texts)}" for texts in told.values() if texts]
    return "\n".join([_WORDS["web"][language], *paragraphs])


def _size(text: str, language: Language) -> int:
    plain = Sentence(text).bare
    return len(plain) if language == "zh" else len(plain.split())


def _with_gaps(parts: list[str], user: str, language: Language) -> str:
    """The parts as paragraphs, and what could not be found at the end."""
    asked = (line.partition(": ")[0][:60].strip() for line in lines(user, "gaps"))
    if gaps := list(dict.fromkeys(query for query in asked if query))[:3]:
        opening, join = _WORDS["gaps"][language], "；" if language == "zh" else "; "
        space, stop = ("", "。") if language == "zh" else (" ", ".")
        parts = [*parts, opening + space + join.join(g.rstrip("。.") for g in gaps) + stop]
    return "\n\n".join(parts)


def _said(key: str, language: Language, question: str) -> str:
    short = question if len(question) <= _QUOTED else f"{question[:_QUOTED]}…"
    return _WORDS[key][language].replace("{question}", short)
