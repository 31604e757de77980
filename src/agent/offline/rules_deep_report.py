"""Notes on a topic from its pages, and the report from the notes."""

import re

from agent.language import Language, detect_language

from .brain import Answer, Turn
from .rules_deep_topics import related, speaks_of
from .rules_plan import cleaned
from .rules_text import Sentence, block, distinct, features, language_of, ranked, records, sentences

_PAGE = re.compile(r'<page\s+id="([a-z]+\d+-\d+)"[^>]*>\n?(.*?)</page>', re.DOTALL)
_TOPIC = re.compile(r'<topic\s+name="([^"]*)"[^>]*>\n?(.*?)</topic>', re.DOTALL)
_PER_PAGE, _PER_TOPIC, _FINDINGS, _SUMMED_UP, _RECORDS = 10, 14, 8, 5, 8
_FIGURE = re.compile(r"\d")
_ENDED = re.compile(r"[。！？!?.][”」』）)\"’]*$")
_TAIL = 80
_WORDS: dict[str, dict[Language, str]] = {
    "sample": {
        "zh": "以下内容出自内置的示例数据，只供演示，使用前请核实。",
        "en": "This comes from the bundled sample data, for demonstration only; check before"
        " you rely on it.",
    },
    "summary": {"zh": "摘要", "en": "Summary"},
    "findings": {"zh": "核心发现", "en": "Key findings"},
    "conclusion": {"zh": "结论", "en": "Conclusion"},
    "nothing": {
        "zh": "示例数据里没有与这一子题有关的资料。",
        "en": "The sample data has nothing on this topic.",
    },
    "concluded": {
        "zh": "以上按{topics}整理，每个事实都注明了来源，彼此冲突之处请以较新的官方说明为准。",
        "en": "The above covers {topics}, each fact with its source; where sources differ, go by"
        " the more recent official one.",
    },
    "unfound": {"zh": "没有查到资料的子题：", "en": "Topics on which nothing was found: "},
    "end": {"zh": "报告到此为止。", "en": "The report ends here."},
}


def deep_compress(turn: Turn) -> Answer:
    """The sentences of each page that bear on the topic, in their order, each with its marker."""
    language, wanted = language_of(turn), related(block(turn.user, "topic").strip())
    asked = f"{wanted} {block(turn.user, 'question')}"
    pages = [(name, _whole(sentences(text))) for name, text in _PAGE.findall(turn.user)]
    spoken = [(n, s) for n, s in pages if s and detect_language(s[0].bare) == language]
    notes: list[str] = []
    for name, told in spoken or pages:
        best = {sentence.text for sentence in ranked(told, asked)[:_PER_PAGE]}
        kept = [f"{s.bare}[^{name}]" for s in distinct(told) if s.text in best]
        notes.append(("" if language == "zh" else " ").join(kept))
    return Answer(text="\n".join(note for note in notes if note) or _WORDS["nothing"][language])


def _whole(found: list[Sentence]) -> list[Sentence]:
    """The sentences less a last one that was cut off, as excerpts end."""
    return found[:-1] if len(found) > 1 and not _ENDED.search(found[-1].bare) else found


def deep_report(turn: Turn) -> Answer:
    """The whole report, or what follows where one was cut off."""
    language = language_of(turn)
    if "<cut_off>" not in turn.user:
        return Answer(text=_report(turn.user, language))
    asked = [p.text for p in turn.history if p.role == "user" and "<question>" in p.text]
    whole, tail = (
        _report(asked[-1], language) if asked else "",
        block(turn.user, "cut_off")[-_TAIL:],
    )
    at = whole.find(tail) if tail else -1
    rest = whole[at + len(tail) :] if at >= 0 else ""
    return Answer(text=rest if rest.strip() else _WORDS["end"][language])


def _report(user: str, language: Language) -> str:
    noted = _TOPIC.findall(block(user, "topics"))
    listed = [(name, text) for name, text in noted if text.lstrip().startswith("[^")]
    told = _bodies([
        (name, [s for s in sentences(text) if s.ids] if speaks_of(text, name) else [])
        for name, text in noted if (name, text) not in listed
    ])  # fmt: skip
    parts = [f"# {cleaned(block(user, 'question'))}", _WORDS["sample"][language]]
    summary, findings = _told_first(told, language)
    if summary:
        parts += [f"## {_WORDS['summary'][language]}", summary]
    if findings:
        parts += [f"## {_WORDS['findings'][language]}", findings]
    for name, found in told:
        parts += [f"## {name}", _body(found, language)]
    for name, text in listed:
        parts += [f"## {name}", _records(text)]
    parts += [f"## {_WORDS['conclusion'][language]}", _conclusion(told, language)]
    return "\n\n".join(parts)


def _bodies(topics: list[tuple[str, list[Sentence]]]) -> list[tuple[str, list[Sentence]]]:
    """The sentences of each topic, each told under the topic it shares most words with."""
    wanted = {name: features(related(name)) for name, _ in topics}

    def home(sentence: Sentence, under: str) -> str:
        mine = features(sentence.bare)
        of = [name for name, found in topics if any(s.bare == sentence.bare for s in found)]
        shared = {name: len(mine & wanted[name]) for name in of}
        return max(of, key=lambda name: (shared[name], name == under, -of.index(name)))

    told: list[tuple[str, list[Sentence]]] = []
    seen: set[str] = set()
    for name, found in topics:
        own = [s for s in distinct(found) if home(s, name) == name and s.bare not in seen]
        own = own or ranked(found, related(name))[:2]
        seen |= {sentence.bare for sentence in own}
        told.append((name, own[:_PER_TOPIC]))
    return told


def _told_first(told: list[tuple[str, list[Sentence]]], language: Language) -> tuple[str, str]:
    """The summary (the best sentence of each topic) and the findings: the next ones."""
    colon, space = ("：", "") if language == "zh" else (": ", " ")
    best = {name: ranked(found, related(name)) for name, found in told if found}
    used: set[str] = set()

    def taken(found: list[Sentence], count: int) -> list[Sentence]:
        fresh = [sentence for sentence in found if sentence.bare not in used][:count]
        used.update(sentence.bare for sentence in fresh)
        return fresh

    summary = [s for found in list(best.values())[:_SUMMED_UP] for s in taken(found, 1)]
    share, bullets = max(1, _FINDINGS // max(len(best), 1)), list[str]()
    for name, found in best.items():
        telling = sorted(found[:4], key=lambda s: not _FIGURE.search(s.bare))
        bullets += [f"- **{name}**{colon}{s.text}" for s in taken(telling, min(2, share))]
    return space.join(sentence.text for sentence in summary), "\n".join(bullets)


def _body(found: list[Sentence], language: Language) -> str:
    """A paragraph for each source, in order."""
    by_source: dict[str, list[str]] = {}
    for sentence in found:
        by_source.setdefault(sentence.ids[0], []).append(sentence.text)
    space = "" if language == "zh" else " "
    told = "\n\n".join(space.join(texts) for texts in by_source.values())
    return told or _WORDS["nothing"][language]


def _records(text: str) -> str:
    """Records of the map as they are listed: the name, the facts, the marker."""
    found = records(f"<records>\n{text}\n</records>", "records")[:_RECORDS]
    return "\n".join(f"- {' · '.join(record.fields)} {record.mark}" for record in found)


def _conclusion(told: list[tuple[str, list[Sentence]]], language: Language) -> str:
    join = "、" if language == "zh" else ", "
    found = [name for name, texts in told if texts]
    empty = [name for name, texts in told if not texts]
    parts = [_WORDS["concluded"][language].replace("{topics}", join.join(found))] if found else []
    if empty:
        parts.append(_WORDS["unfound"][language] + join.join(empty))
    return "\n\n".join(parts) or _WORDS["nothing"][language]
