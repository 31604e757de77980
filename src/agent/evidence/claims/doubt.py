"""Tell how doubtful a sentence with borne figures is, and whether a quote agrees with it."""

import re

from agent.evidence.claims.claim import LEAST_OVERLAP, Claim, among, figure_words
from agent.evidence.claims.evidence import Evidence
from agent.evidence.claims.facts import (
    Passage,
    clause_spans,
    han_names,
    hedge,
    names,
    scripts,
    telling_figures,
)
from agent.evidence.claims.refutations import without_borne_hours
from agent.evidence.claims.sentences import Sentence
from agent.evidence.figures import figures
from agent.evidence.language import words

_STRONG = re.compile(
    r"所有|全部|一律|从来|从不|永远|必须|只有|唯一|最好|一定|绝对|证实|都必须|任何"
    r"|\b(?:all|always|never|every|only|any|must|best|guarantee\w*|entire\w*|proven?|everyone)\b",
    re.I,
)
_NEGATION = re.compile(
    r"[不没无未非别]|取消|禁止|停业|暂停|\b(?:not|no|never|none|nobody|nothing|neither|nor|without|cannot|isn't|"
    r"doesn't|don't|didn't|wasn't|won't|can't|against|unlimited|disagrees?|fails?)\b",
    re.I,
)
_LIMIT = re.compile(r"只能|只有|至少|最多|必须|不能|\b(?:only|at most|at least|none|up to)\b", re.I)
_WEEKDAY = re.compile(r"周[一二三四五六日]|\b(?:Mon|Tues|Wednes|Thurs|Fri|Satur|Sun)day\b", re.I)
_PICKS = re.compile(
    r"首选|优选|推荐|可以?[去选到]|建议去|不妨|优先|值得"
    r"|\b(?:picks?|choose|try|start with|(?:go|head) (?:to|for)|best (?:choice|bet|pick)"
    r"|recommend\w*)\b",
    re.I,
)
_WORDS_ONLY = re.compile(r"[\W_]+")


def doubt(claim: Claim) -> int:
    """Return how doubtful a sentence is whose figures all stand in what it cites."""
    all_words = frozenset[str]().union(*(p.words for p in claim.cited))
    foreign = len(claim.words & all_words) < LEAST_OVERLAP * len(claim.words)
    if _recommends(claim):
        return 0
    claim = claim.narrowed(without_borne_hours(claim))
    best = claim.nearest
    if best is None or not claim.words:
        return 0
    if not scripts(claim.text) & best.scripts:
        return 3 if _NEGATION.search(claim.text) else 2
    if _is_quoted(claim, best):
        return 0
    negations = len(_NEGATION.findall(claim.text))
    return sum(
        weight
        for weight, doubtful in (
            (4, negations != len(_NEGATION.findall(best.text))),
            (1, negations > 0),
            (5, any(w.lower() not in best.folded for w in _STRONG.findall(claim.text))),
            (2, any(w.lower() not in claim.text.lower() for w in _LIMIT.findall(best.text))),
            (3, any(not any(p.names(n) for p in claim.cited) for n in claim.all_names())),
            (3, any(not any(day in p.folded for p in claim.cited) for day in _weekdays(claim))),
            (2, foreign),
            (3, _is_turned(claim, best)),
            (1, _is_one_of_several(claim)),
        )
        if doubtful
    )


def _recommends(claim: Claim) -> bool:
    """Return whether a sentence only picks places that have records, for what was asked."""
    if claim.figures or not claim.evidence.places_in(claim.text):
        return False
    common = claim.evidence.question_words.union(*(p.words for p in claim.cited))
    for _, clause in clause_spans(claim.text):
        own = words(clause)
        if claim.evidence.places_in(clause):
            picked = _PICKS.search(clause) and not _NEGATION.search(clause)
        else:
            picked = 2 * len(own & common) >= len(own)
        if not picked:
            return False
    return True


def bears_figures(sentence: Sentence, evidence: Evidence) -> bool:
    """Return whether a cited sentence has its figures and names from its sources.

    What it says besides is a remark.
    """
    cited, has_figures = evidence.of(sentence.cited), False
    for _, clause in clause_spans(sentence.plain.replace("\0", " ")):
        stated = telling_figures(clause)
        own = words(clause) - figure_words(clause)
        bearing = [
            p
            for p in cited
            if all(p.has(f, hedge(clause, f)) for f in stated)
            and all(p.names(name) for name in names(clause))
        ]
        if stated:
            has_figures = True
            bearing = [
                p
                for p in bearing
                if 2 * len(own & p.words) >= len(own)
                and len(_NEGATION.findall(clause)) <= len(_NEGATION.findall(p.text))
            ]
        if not bearing:
            return False
    return has_figures


def agrees(sentence: Sentence, quote: Passage, whole: Passage, evidence: Evidence) -> bool:
    """Return whether a quote gives a sentence's figures and nothing in it speaks against them.

    `whole` is the passage the quote stands in.
    """
    claim = Claim(sentence, evidence)
    stated, own = claim.figures, Passage("", claim.text)
    theirs = [figure for figure in quote.figures if figure.telling]
    sources = claim.cited or evidence.passages
    if not stated or not theirs or not all(claim.borne(f, sources) for f in claim.facts):
        return False
    same = all(quote.has(f, hedge(claim.text, f)) for f in stated) or all(map(own.has, theirs))
    denials = {_denials_of_figures(text) for text in (claim.text, quote.text)}
    stronger = any(word.lower() not in whole.folded for word in _STRONG.findall(claim.text))
    return (
        same
        and len(denials) == 1
        and not stronger
        and all(any(p.names(name) for p in (whole, *evidence.known)) for name in claim.names)
        and not _is_turned(claim, whole)
    )


def _denials_of_figures(text: str) -> int:
    """Return how many negations stand in clauses with figures."""
    clauses = (clause for _, clause in clause_spans(text) if telling_figures(clause))
    return sum(len(_NEGATION.findall(clause)) for clause in clauses)


def _is_one_of_several(claim: Claim) -> bool:
    """Return whether the cited words give more figures of a kind than the sentence does."""
    own = figures(claim.text)
    return any(
        not among(rival, own)
        for index in claim.evidence.clauses(claim.sentence.cited)
        for figure in claim.facts
        for part in index.bearing(figure)
        for rival in index.of_kind(figure).get(part, ())
    )


def _is_quoted(claim: Claim, best: Passage) -> bool:
    """Return whether the sentence is the passage's own words, in their order."""
    plain = _WORDS_ONLY.sub("", claim.text).casefold()
    return bool(plain) and plain in _WORDS_ONLY.sub("", best.folded)


def _weekdays(claim: Claim) -> list[str]:
    return [day.casefold() for day in _WEEKDAY.findall(claim.text)]


def _is_turned(claim: Claim, best: Passage) -> bool:
    """Return whether the sentence tells two things in another order than its passage."""
    named = list(dict.fromkeys([*claim.all_names(), *_weekdays(claim), *han_names(claim.text)]))
    here = Passage("", claim.text)
    places = [(here.at(name), best.at(name)) for name in named]
    order = sorted(pair for pair in places if min(pair) >= 0)
    return [there for _, there in order] != sorted(there for _, there in order)
