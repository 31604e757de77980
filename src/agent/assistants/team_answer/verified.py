"""Say whether an answer is verified, and why not: code proves what the verifier says it read.

Verified is what the verifier agreed to, with words of the evidence that state it, or with a sum of
its own for what was calculated, after it looked for what would refute it.
"""

from collections.abc import Collection, Sequence
from decimal import Context, Decimal

from langchain_core.messages import AIMessage

from agent.assistants.common.claims import ClaimCheck
from agent.assistants.team_answer.answer_form import same_answer
from agent.assistants.team_answer.evidence_view import (
    known_sources,
    lookups,
    nearest_sources,
    previous_sources,
)
from agent.assistants.team_answer.settlement import (
    SynthesizedAnswer,
    issued_ids,
    marker_ids,
    named_ids,
)
from agent.assistants.team_answer.state import ChatTurn, TeamState
from agent.assistants.team_answer.verdict import GivenVerdict, is_not_found, says_premise_false
from agent.evidence.claims.outcomes import Outcome
from agent.evidence.claims.statements import Statement
from agent.evidence.figures import Figure, figures
from agent.evidence.formulas import forms_of, is_plain, is_sum, worked
from agent.evidence.formulas import values_of as numbers_of
from agent.evidence.language import fold
from agent.evidence.quotes import span_in
from agent.evidence.records import place_lines, route_lines, weather_lines
from agent.evidence.stated import is_told, quantities
from agent.knowledge.terms import terms as words_of
from agent.texts import Language, say

_SHOWN = Context(prec=12)
"""The digits of a quotient that are shown."""


def agreement(state: TeamState) -> ChatTurn | None:
    """Return the verifier's last turn where it agreed in it; else None."""
    turns = [t for t in state.get("transcript") or [] if t["speaker"] == "verifier"]
    return turns[-1] if turns and turns[-1]["verdict"] == "agree" else None


def agreed_answer(state: TeamState) -> str:
    """Return what the verifier agreed to; empty if it has not agreed."""
    turn = agreement(state)
    return turn.get("agreed", "") if turn else ""


def given_in(turn: ChatTurn | None) -> GivenVerdict | None:
    """Return the verdict that a turn gave by the tool."""
    given = turn.get("given") if turn else None
    return GivenVerdict.model_validate(given) if given else None


def agrees(agreed: str, claim: SynthesizedAnswer) -> bool:
    """Return True if the verifier's words agree to this answer; NOT FOUND agrees to none."""
    if is_not_found(agreed):
        return claim.outcome == "not_found"
    if says_premise_false(agreed):
        return claim.outcome == "premise_false"
    return claim.outcome != "not_found" and same_answer(agreed, claim.answer)


def unverified_reason(claim: SynthesizedAnswer, state: TeamState) -> str:
    """Return the key of `team_answer.answer` for why the answer is not verified; "" if it is."""
    turns = [t for t in state.get("transcript") or [] if t["verdict"]]
    turn = agreement(state)
    if not turns:
        return "unverified_none"
    if turn is None:
        return "unverified_disagreed"
    if not agrees(turn.get("agreed", ""), claim):
        return "unverified_other"
    defect = defect_of(claim, given_in(turn), state)
    return f"unverified_{defect}" if defect else ""


def defect_of(claim: SynthesizedAnswer, given: GivenVerdict | None, state: TeamState) -> str:
    """Return what an agreement lacks: figures, computed, quotes, refutation; empty if nothing."""
    if claim.outcome == "not_found":
        return ""
    if missing_figures(claim, state):
        return "figures"
    if given is None:
        return "refutation"
    return _unproved(claim, given, state) or _unrefuted(claim, given, state)


def unread_nearest(given: GivenVerdict, state: TeamState) -> list[str]:
    """Return the sources nearest to the question where a verdict of not found names none of them.

    Who says that the answer stands nowhere has to say where it was looked for.
    """
    told = [*given.looked_at, *given.evidence, *marker_ids(given.explanation)]
    nearest = nearest_sources(state)
    return nearest if set(nearest).isdisjoint(issued_ids(told, state)[0]) else []


def _unproved(claim: SynthesizedAnswer, given: GivenVerdict, state: TeamState) -> str:
    """Return what is missing for the answer to be stated by a quote or worked out anew."""
    names = [*claim.evidence, *given.looked_at]
    texts = evidence_texts([name for name in names if not _is_sum(name)], state)
    stated = [quote for quote in given.quotes if is_quoted(quote, texts)]
    stated += filter(None, _measured(claim, state))
    said, before = figures("\n".join(stated)), figures("\n".join(_told_before(claim, state)))
    needed = _telling(claim.answer) if claim.outcome == "answer" else []
    open_figures = [f for f in needed if not (is_told(f, said) or is_told(f, before))]
    if (stated or (needed and before)) and not open_figures:
        return ""
    if _has_own_sum(open_figures, claim, given, state):
        return ""
    calculated = any(map(_is_sum, claim.evidence)) or is_sum(given.formula)
    return "computed" if calculated else "quotes"


def _unrefuted(claim: SynthesizedAnswer, given: GivenVerdict, state: TeamState) -> str:
    """Return that nobody looked for what would refute the answer; a sum is its own proof."""
    if not given.refuted_by.strip():
        return "refutation"
    names = set(named_ids(given.looked_at))
    return "" if names & issued(state) or _has_own_sum([], claim, given, state) else "refutation"


def terms_behind(state: TeamState) -> set[Decimal]:
    """Return the numbers that the answer was worked out from, as its evidence tells them."""
    used, given = set(state.get("answer_evidence", [])), given_in(agreement(state))
    sums = [e["asked"] for e in lookups(state) if e["kind"] == "code" and e["id"] in used]
    numbers = numbers_of(figures("\n".join([*sums, given.formula if given else ""])))
    return {number for number in numbers if not is_plain(number)}


def refutation(
    answer: str,
    terms: Collection[Decimal],
    claims: ClaimCheck | None,
    language: Language,
    *,
    denies: bool = False,
    unproved: bool = False,
) -> str:
    """Return what the judge found not to follow of what is said of the answer; empty if nothing.

    With `unproved` also what it takes for borne out though no source and no program has the figure.

    A statement that names the answer fails by other words of its own, or by those of the answer;
    where none names it (yes, no), any that fails does. Any fails by a term that the answer was
    worked out from, whatever has taken its place in the text. An answer that `denies` what the
    question takes for granted is a sentence: it rests on the statement that says most of it.
    """
    pairs = list(zip(claims.statements, claims.outcomes, strict=False)) if claims else []
    if denies:
        pairs = _resting(answer, pairs)
    is_named = any(_names(one.plain, answer) for one, _ in pairs)
    for one, outcome in pairs:
        words = " ".join(outcome.spans)
        is_own = denies or not is_named or _names(words, answer) or _has_term(words, terms)
        if outcome.verdict == "contradicted":
            is_own = is_own or _names(one.plain, answer)
            is_own = is_own or (not words and _has_term(one.plain, terms))
        if outcome.verdict in ("contradicted", "missing") and is_own:
            says = outcome.quote or " … ".join(passage.text for passage in outcome.passages[:2])
            key = "judged" if says else "judged_nowhere"
            return say(f"team_answer.{key}", language, said=one.plain, says=says)
        if unproved and outcome.unproved and _names(" ".join(outcome.unproved), answer):
            return say("team_answer.judged_nowhere", language, said=one.plain)
    return ""


def _resting(
    answer: str, pairs: Sequence[tuple[Statement, Outcome]]
) -> list[tuple[Statement, Outcome]]:
    """Return the statement nearest to an answer in words, unless the check has reworded it.

    Where none has a word of it, all that fail and still stand.
    """
    wanted = {*words_of(answer)}

    def nearness(pair: tuple[Statement, Outcome]) -> float:
        words = {*words_of(pair[0].plain)}
        return len(words & wanted) / (len(words) + len(wanted) or 1)

    best = max(pairs, key=nearness, default=None)
    if best is None or not nearness(best):
        return [pair for pair in pairs if pair[1].fails]
    outcome = best[1]
    return [best] if outcome.verdict == "contradicted" or not outcome.revised else []


def _names(text: str, answer: str) -> bool:
    """Return whether a text has the answer's figures; of one without figures, its words."""
    if stated := _telling(answer):
        return any(is_told(one, figures(text)) for one in stated)
    return bool(answer) and fold(answer) in fold(text)


def _has_term(text: str, terms: Collection[Decimal]) -> bool:
    return bool(terms) and not numbers_of(figures(text)).isdisjoint(terms)


def issued(state: TeamState) -> set[str]:
    """Return the ids of this turn's sources and of all that was looked up."""
    pool = {each["id"] for each in state.get("evidence_pool") or [] if not each["failed"]}
    return pool | {source["id"] for source in known_sources(state)}


def is_quoted(quote: str, texts: Sequence[str]) -> bool:
    """Return whether the words of a quote, but for what it leaves out, stand in one text."""
    said = quote.replace("[...]", "…").replace("...", "…").split("…")
    parts = [part for each in said if (part := each.strip(" \"'“”‘’「」"))]
    return bool(parts) and any(all(span_in(part, text) for part in parts) for text in texts)


def value_of_verdict(given: GivenVerdict, state: TeamState) -> str:
    """Return what a verdict's sum comes to, if question, evidence or last answer have its terms."""
    found = worked(given.formula) if is_sum(given.formula) else None
    texts = evidence_texts([*given.evidence, *given.looked_at], state)
    texts += [state["turn"]["question"], *answered_before(state)]
    known = numbers_of(figures("\n".join(texts)))
    if found is None or not all(
        is_plain(term) or any(form in known for form in forms_of(term)) for term in found.terms
    ):
        return ""
    if found.day:
        return found.day.isoformat()
    is_whole = found.value == found.value.to_integral_value()
    value = f"{(found.value if is_whole else _SHOWN.plus(found.value)).normalize():f}"
    return f"{value} ({str(found).rpartition('= ')[2]})" if found.clocks else value


def _has_own_sum(
    stated: Sequence[Figure], claim: SynthesizedAnswer, given: GivenVerdict, state: TeamState
) -> bool:
    """Return whether the verifier's own sums come to these figures.

    Where there are none, whether the answer or the verdict rests on such a sum.
    """
    own = [e for e in lookups(state) if _is_sum(e["id"]) and e["speaker"] == "verifier"]
    if stated:
        found = figures("\n".join(each["text"] for each in own))
        return all(is_told(one, found) for one in stated)
    named = {*claim.evidence, *named_ids([*given.evidence, *given.looked_at])}
    return any(each["id"] in named for each in own)


def _told_before(claim: SynthesizedAnswer, state: TeamState) -> list[str]:
    """Return the last answer, where this one rests on nothing but what that has left."""
    left = {source["id"] for source in previous_sources(state)}
    names = {name for name in claim.evidence if not _is_sum(name)}
    return answered_before(state) if names and names <= left else []


def answered_before(state: TeamState) -> list[str]:
    """Return the last answer of the thread if it was verified: others may be worked out from it."""
    answers = (m for m in reversed(state.get("messages") or []) if isinstance(m, AIMessage))
    told = last.additional_kwargs if (last := next(answers, None)) else {}
    return [str(told["final_answer"])] if told.get("verified") and told.get("final_answer") else []


def _measured(claim: SynthesizedAnswer, state: TeamState) -> list[str]:
    """Return what the map says on the answer: its records state what they measure."""
    return evidence_texts([name for name in claim.evidence if name.startswith("a")], state)


def _is_sum(name: str) -> bool:
    return name.strip(" []^").lower().startswith("c")


def _telling(text: str) -> list[Figure]:
    return [figure for figure in quantities(text) if figure.telling]


def missing_figures(claim: SynthesizedAnswer, state: TeamState) -> list[str]:
    """Return the figures of the answer that no evidence it rests on has, rounding allowed."""
    texts = evidence_texts(claim.evidence, state)
    texts += [*_denied(claim, state), *_told_before(claim, state)]
    known = [figure for text in texts for figure in figures(text)]
    return [figure.text for figure in _telling(claim.answer) if not is_told(figure, known)]


def _denied(claim: SynthesizedAnswer, state: TeamState) -> list[str]:
    """Return the question, of which a denial names what is wrong."""
    return [state["turn"]["question"]] if claim.outcome == "premise_false" else []


def evidence_texts(names: Sequence[str], state: TeamState) -> list[str]:
    """Return what the evidence of these ids says: quotes, records, and results of lookups."""
    ids, language = {name.strip(" []^").lower() for name in names}, state["turn"]["language"]
    texts = [
        "\n".join([source["title"], *source["quotes"]])
        for source in known_sources(state)
        if source["id"] in ids
    ]
    texts += [
        each["text"]
        for each in state.get("evidence_pool", [])
        if each["id"] in ids or (each["kind"] == "map" and ids & set(each["source_ids"]))
    ]
    texts.append(place_lines([p for p in state.get("places", []) if p["source"] in ids], language))
    texts.append(route_lines([r for r in state.get("routes", []) if r["source"] in ids], language))
    forecasts = [w for w in state.get("weather", []) if w["source"] in ids]
    return [*texts, weather_lines(forecasts, language)]
