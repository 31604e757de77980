"""The dossier by rules: a section for each task, its facts by kind of source, each with its marker.

Every sentence is one of the material; nothing is computed, and what has no marker is not told.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import dropwhile, takewhile

from agent.language import Language, detect_language

from .brain import Answer, Turn
from .rules_dossier import MONEY, aspects_of, follows_up, related_words
from .rules_dossier_reading import KINDS, LEANS, Told, documents, figures, passages
from .rules_plan import cleaned
from .rules_text import (
    Sentence,
    block,
    distinct,
    features,
    language_of,
    lines,
    ranked,
    records,
)

_TASK = re.compile(r'<task\s+id="[^"]*"\s+query="([^"]*)"[^>]*>\n?(.*?)</task>', re.DOTALL)
_SUMS = re.compile("营收|财务|利润|收入|revenue|profit|financ", re.IGNORECASE)
_FILED = "filing"
_TARGET = re.compile(r"d(\d+)-")
_PER_SOURCE, _PER_KIND, _SUMMED_UP = 2, 3, 5
_PLACES, _GAPS, _FIGURES, _FILINGS = 6, 4, 4, 3
_WORDS: dict[str, dict[Language, str]] = {
    "sample": {
        "zh": "以下内容出自内置的示例数据，只供演示，使用前请核实。",
        "en": "This comes from the bundled sample data, for demonstration only; check before"
        " you rely on it.",
    },
    "summary": {"zh": "摘要", "en": "Summary"},
    "places": {"zh": "地图上的地点", "en": "Places on the map"},
    "conclusion": {"zh": "结论与不确定之处", "en": "Conclusion and open points"},
    "concluded": {
        "zh": "以上按{topics}整理，用到 {count} 类来源；每个事实都注明出处，论文和文档注明到页。",
        "en": "The above covers {topics} from {count} kinds of sources; each fact names its source,"
        " those from papers and documents with the page.",
    },
    "only": {
        "zh": "各来源的数字口径可能不一，没有逐项核对；示例只有少量资料，不能当作完整的综述。",
        "en": "Sources may count differently and were not reconciled; the sample is small and no"
        " complete review.",
    },
    "empty": {"zh": "没有查到资料的方面：", "en": "Aspects on which nothing was found: "},
    "gaps": {"zh": "没有做到的：", "en": "What could not be done: "},
    "nothing": {
        "zh": "示例数据里没有与这个问题有关的资料，所以没有可以引用的内容。",
        "en": "The sample data has nothing on this question, so there is nothing to cite.",
    },
    "end": {"zh": "资料汇编到此为止。", "en": "The dossier ends here."},
}


@dataclass(frozen=True)
class _Section:
    name: str
    told: tuple[Told, ...]


def dossier(turn: Turn) -> Answer:
    """The whole dossier, or what follows where one was cut off."""
    language = language_of(turn)
    if "<cut_off>" not in turn.user:
        return Answer(text=_composed(turn.user, language))
    asked = [past.text for past in turn.history if "<question>" in past.text]
    whole = _composed(asked[-1], language) if asked else ""
    tail = block(turn.user, "cut_off")[-80:]
    rest = whole.partition(tail)[2] if tail else ""
    return Answer(text=rest if rest.strip() else _WORDS["end"][language])


def _composed(user: str, language: Language) -> str:
    question = cleaned(block(user, "question"))
    sections = _sections(user, question, language)
    places = records(user, "places")
    if not (places or any(section.told for section in sections)):
        return _WORDS["nothing"][language]
    parts = [f"# {_title(user, question, language)}", _WORDS["sample"][language]]
    parts += [f"## {_WORDS['summary'][language]}", _summary(sections, language)]
    for section in sections:
        if section.told:
            parts += [f"## {section.name}", _body(section.told, language)]
    if places:
        listed = [f"- {' · '.join(p.fields)} {p.mark}" for p in places[:_PLACES]]
        parts += [f"## {_WORDS['places'][language]}", "\n".join(listed)]
    parts += [f"## {_WORDS['conclusion'][language]}", _conclusion(user, sections, language)]
    return "\n\n".join(part for part in parts if part)


def _title(user: str, question: str, language: Language) -> str:
    """The question; of a follow-up what its tasks are about, as it names nothing itself."""
    queries = [query for query, _ in _TASK.findall(block(user, "tasks"))]
    if not (queries and follows_up(question)):
        return question
    subject, names = _aspects(queries, question)
    colon, join = ("：", "、") if language == "zh" else (": ", ", ")
    return subject + colon + join.join(names)


def _sections(user: str, question: str, language: Language) -> list[_Section]:
    """What is told under each aspect; filings and figures under the one on money."""
    tasks = _TASK.findall(block(user, "tasks"))
    if not tasks:
        return []
    named, names = _aspects([query for query, _ in tasks], question)
    subject = features(named)
    found = [told for _, text in tasks for told in documents(text)]
    spoken = _spoken([*found, *passages(block(user, "passages"))], language)
    if not any(_names(told.sentence.bare, subject) for told in spoken):
        spoken = []  # what was found is about something else
    spoken = [told for told in spoken if _names(told.whole, subject)]
    homes = _told_under(names, spoken, subject)
    filed = {told.sentence.bare: told for told in found if told.kind == _FILED}
    homes[_money(names)] += [
        *list(filed.values())[:_FILINGS],
        *figures(block(user, "figures"), language)[:_FIGURES],
    ]
    return [
        _Section(
            name[:1].upper() + name[1:],
            tuple(_best(own, f"{related_words(name)} {question}", subject)),
        )
        for name, own in zip(names, homes, strict=True)
    ]


def _spoken(found: list[Told], language: Language) -> list[Told]:
    """Distinct sentences in the language; of kinds that have none, those in the other one."""
    spoken = [told for told in found if detect_language(told.sentence.bare) == language]
    kinds = {told.kind for told in spoken} | {_FILED}
    kept = spoken + [told for told in found if told.kind not in kinds]
    first = {sentence.text for sentence in distinct(told.sentence for told in kept)}
    return [told for told in kept if told.kind != _FILED and told.sentence.text in first]


def _told_under(names: list[str], spoken: list[Told], subject: frozenset[str]) -> list[list[Told]]:
    """Each sentence once, under the aspect that it speaks of.

    Of a kind of source none of whose sentences does, those that name the subject stand first.
    """
    wanted = [features(related_words(name)) for name in names]
    places = [_home(told.sentence, wanted) for told in spoken]
    kinds = {told.kind for told, at in zip(spoken, places, strict=True) if at is not None}
    homes: list[list[Told]] = [[] for _ in names]
    for told, at in zip(spoken, places, strict=True):
        if at is not None:
            homes[at].append(told)
        elif told.kind not in kinds and _names(told.sentence.bare, subject):
            homes[0].append(told)
    return homes


def _money(names: list[str]) -> int:
    """The aspect under which sums of money belong, else the last one."""
    for wanted in (_SUMS, MONEY):
        for at, name in enumerate(names):
            if wanted.search(name):
                return at
    return len(names) - 1


def _home(sentence: Sentence, wanted: list[frozenset[str]]) -> int | None:
    """The aspect it shares most words with; of equal ones that whose search found the passage."""
    mine = features(sentence.bare)
    target = _TARGET.match(sentence.ids[0])
    found_for = int(target[1]) if target else -1
    shared = [2 * len(mine & words) for words in wanted]
    if max(shared) == 0:
        return None
    shared = [count + (at == found_for) for at, count in enumerate(shared)]
    return shared.index(max(shared))


def _aspects(queries: list[str], question: str) -> tuple[str, list[str]]:
    """The subject, which all tasks begin with, and what is left of each task."""
    words = [query.split() for query in queries]
    same = takewhile(lambda row: len(set(row)) == 1, zip(*words, strict=False))
    subject = " ".join(row[0] for row in same)
    if len(queries) == 1 or not subject:
        subject = _before(queries[0]) if follows_up(question) else aspects_of(question).subject
    left = [query.removeprefix(subject).strip() for query in queries]
    return subject, [name or query for name, query in zip(left, queries, strict=True)]


def _before(query: str) -> str:
    """What stands before the aspect in the one task of a follow-up."""
    about = aspects_of(query)
    ends = (name.lower() for name in about.aspects if query.endswith(name.lower()))
    return next((query.removesuffix(name).strip() for name in ends), about.subject)


def _best(told: list[Told], asked: str, subject: frozenset[str]) -> list[Told]:
    """The sentences that bear most on an aspect, some of every kind, in the order of kinds.

    Those that name the subject come first.
    """
    order = {s.text: at for at, s in enumerate(ranked((t.sentence for t in told), asked))}

    def place(each: Told) -> tuple[bool, int]:
        return not _names(each.sentence.bare, subject), order.get(each.sentence.text, len(order))

    kept: list[Told] = []
    for kind in KINDS:
        own = [t for t in told if t.kind == kind]
        if kind in ("statement", _FILED):
            kept += own
            continue
        own.sort(key=place)
        for name in list(dict.fromkeys(t.sentence.ids[0] for t in own))[:_PER_KIND]:
            chosen = [t for t in own if t.sentence.ids[0] == name][:_PER_SOURCE]
            in_order = [t for t in told if t in chosen]
            kept += dropwhile(lambda t: LEANS.match(t.sentence.text), in_order)
    return kept


def _names(text: str, subject: frozenset[str]) -> bool:
    """Whether a text has a third of the subject's words."""
    return 3 * len(features(text) & subject) >= len(subject)


def _body(told: Iterable[Told], language: Language) -> str:
    """A paragraph for each kind of source."""
    space = "" if language == "zh" else " "
    colon = "：" if language == "zh" else ": "
    by_kind: dict[str, list[str]] = {}
    for each in told:
        by_kind.setdefault(each.kind, []).append(each.sentence.text)
    return "\n\n".join(
        f"**{KINDS[kind][language]}**{colon}{space.join(texts)}" for kind, texts in by_kind.items()
    )


def _summary(sections: list[_Section], language: Language) -> str:
    """The first sentence of each section, of another kind each time where that can be."""
    chosen: list[Told] = []
    for section in sections:
        used = {told.kind for told in chosen}
        worth = [told for told in section.told if told.kind != _FILED]
        fresh = [told for told in worth if not _repeats(told.sentence, chosen)]
        chosen += ([told for told in fresh if told.kind not in used] or fresh)[:1]
    space = "" if language == "zh" else " "
    return space.join(told.sentence.text for told in chosen[:_SUMMED_UP])


def _repeats(sentence: Sentence, chosen: list[Told]) -> bool:
    """Whether nearly all words of a sentence that stands already are in this one, too."""
    mine = features(sentence.bare)
    said = (features(told.sentence.bare) for told in chosen)
    return any(len(mine & words) >= 0.8 * len(words) for words in said)


def _conclusion(user: str, sections: list[_Section], language: Language) -> str:
    join = "、" if language == "zh" else ", "
    told = [section for section in sections if section.told]
    empty = [section.name for section in sections if not section.told]
    kinds = {each.kind for section in told for each in section.told}
    kinds |= {"place"} if records(user, "places") else set()
    kinds |= {"statement"} if lines(user, "figures") else set()
    topics = join.join(section.name for section in told)
    said = _WORDS["concluded"][language].replace("{topics}", topics)
    parts = [said.replace("{count}", str(len(kinds))) if told else ""]
    parts.append(_WORDS["only"][language])
    if empty:
        parts.append(_WORDS["empty"][language] + join.join(empty))
    gaps = [line.partition(": ")[2] or line for line in lines(user, "gaps")]
    if gaps := list(dict.fromkeys(gap.strip(" :：。.") for gap in gaps))[:_GAPS]:
        stop = "。" if language == "zh" else "."
        parts.append(
            _WORDS["gaps"][language] + ("；" if language == "zh" else "; ").join(gaps) + stop
        )
    return "\n\n".join(part for part in parts if part)
