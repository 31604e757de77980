"""The three speakers: one searches, one weighs and computes, one searches again and recomputes."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from agent.language import Language

from .brain import Answer, FunctionCall, Turn
from .rules_team import BETWEEN, top_hypothesis
from .rules_team_ask import Ask
from .rules_team_code import program
from .rules_team_facts import Fact, page_facts
from .rules_team_reading import ask_of
from .rules_team_seen import SEARCHES, Seen, output_of, seen_in
from .rules_team_steps import candidates, described, engines, facts_of, next_calls, queries
from .rules_team_wording import attribute_name, category_name, say
from .rules_text import block, language_of, lines

_CODE = "run_code"
_LINE = 90
_SHOWN = 6


@dataclass(frozen=True)
class _Table:
    """What a speaker has before them."""

    turn: Turn
    question: str
    ask: Ask
    seen: Seen
    now: Seen
    facts: Sequence[Fact | None]

    @property
    def language(self) -> Language:
        return language_of(self.turn)

    def offers(self, name: str) -> bool:
        return name in {tool.name for tool in self.turn.tools}


def _table(turn: Turn) -> _Table:
    question = block(turn.user, "question").strip()
    ask = ask_of(question, block(turn.user, "format_requirement"))
    seen, now = seen_in(turn)
    return _Table(turn, question, ask, seen, now, facts_of(ask, seen))


def team_researcher(turn: Turn) -> Answer:
    """Looks up what is missing, step by step, then says what was found and what was not."""
    table = _table(turn)
    if calls := next_calls(turn, table.ask, table.seen, table.question):
        return Answer(calls=tuple(calls))
    return Answer(text="\n".join(_found(table)))


def _found(table: _Table) -> list[str]:
    """A line for every fact and every one missing."""
    ask, language, told = table.ask, table.language, []
    if ask.shape == "unknown":
        return [say("unread", language)]
    if ask.best:
        told.append(_listed(table))
    for need, fact in zip(ask.needs, table.facts, strict=True):
        if need.kind == "given":
            told.append(say("given", language, said=need.given))
        elif fact:
            told.append(say("found", language, said=_short(fact.said), mark=_mark(fact)))
        elif not ask.best:
            what = f"{need.subject or (ask.described.words if ask.described else '')} "
            what += attribute_name(need.attribute, language)
            told.append(say("missing", language, what=what.strip()))
    return told


def _listed(table: _Table) -> str:
    best = table.ask.best
    assert best is not None
    kind = category_name(best.category, table.language)
    cards = candidates(best, table.seen)
    if not cards:
        return say("missing", table.language, what=f"{best.near} {kind}")
    shown = "; ".join(f"{card.name} ★{card.rating or '–'}[^{card.id}]" for card in cards[:_SHOWN])
    return say("listed", table.language, near=best.near, category=kind,
               count=str(len(cards)), places=shown)  # fmt: skip


def team_analyst(turn: Turn) -> Answer:
    """Computes where something is to be computed, then scores what the answer may be."""
    table = _table(turn)
    written = program(table.ask, table.facts, table.seen)
    result = _result(table.now)
    if written and not table.now.programs and table.offers(_CODE):
        return Answer(calls=(FunctionCall(_CODE, {"code": written}),))
    answer = result if written else _value(table)
    if not answer:
        return Answer(text=f"H1 [0.05] {say('no_hypothesis', table.language)}")
    said = (
        [say("computed", table.language, formula=_formula(table), result=answer)] if written else []
    )
    basis = _basis(table, answer)
    told = f"{answer}{BETWEEN}{basis}" if basis else answer
    lines_ = [f"H1 [0.9] {told}", *_others(table, answer)]
    if len(lines_) > 1:
        said.append(say("told_apart", table.language))
    return Answer(text="\n".join([*said, *lines_]))


def _value(table: _Table) -> str:
    """The answer where nothing is computed."""
    if table.ask.operation != "value" or table.ask.best or not table.facts:
        return ""
    fact = table.facts[0]
    return fact.value if fact else ""


def _basis(table: _Table, answer: str) -> str:
    """The sentences and places an answer rests on, with their marks; none of given dates."""
    if table.ask.best:
        cards = candidates(table.ask.best, table.seen)
        told = f"{answer} {_output(table.seen)}"
        named = [card for card in cards if card.name in told] or cards
        return "; ".join(
            f"{card.name} ★{card.rating or '–'}[^{card.id}]" for card in named[:_SHOWN]
        )
    known = [fact for fact in table.facts if fact and fact.id]
    return " ".join(f"{_short(fact.said)}{_mark(fact)}" for fact in known)


def _others(table: _Table, answer: str) -> list[str]:
    """What other sentences say, given up: they share less with the question."""
    if (
        len(table.ask.needs) != 1
        or table.ask.needs[0].kind != "page"
        or table.ask.operation != "value"
    ):
        return []
    found = [f for f in page_facts(table.ask.needs[0], table.seen.snippets) if f.value != answer][
        :2
    ]
    return [
        f"H{number} [0.1] {fact.value}{BETWEEN}"
        f"{say('other', table.language, said=_short(fact.said))}{_mark(fact)} (pruned)"
        for number, fact in enumerate(found, 2)
    ]


def _formula(table: _Table) -> str:
    if table.ask.best:
        best = table.ask.best
        way = "max" if best.most else "min"
        return f"{way}({attribute_name(best.by, table.language)})"
    return f"{table.ask.operation}({', '.join(fact.value for fact in table.facts if fact)})"


def team_verifier(turn: Turn) -> Answer:
    """Searches again and recomputes, then agrees, objects, or leaves it open."""
    table = _table(turn)
    best = top_hypothesis(lines(turn.user, "hypotheses"))
    answer = best.partition(BETWEEN)[0] if best else ""
    if not table.now.told and (calls := _checks(table, answer)):
        return Answer(calls=calls)
    if not answer and (left := next_calls(turn, table.ask, table.seen, table.question)):
        return Answer(calls=tuple(left))
    said, verdict = _judged(table, answer)
    if verdict == "DISAGREE" and _last_chance(turn):
        verdict = "UNSURE"
    ending = [] if verdict == "DISAGREE" else ["TERMINATE"]
    return Answer(text="\n".join([*said, f"VERDICT: {verdict}", *ending]))


def _checks(table: _Table, answer: str) -> tuple[FunctionCall, ...]:
    """One recomputation, and one search in other words for every fact of a page."""
    calls = []
    written = program(table.ask, table.facts, table.seen, again=True)
    if answer and written and table.offers(_CODE):
        calls.append(FunctionCall(_CODE, {"code": written}))
    for need in table.ask.needs:
        if need.kind == "page" or not answer:
            calls += _other_search(
                table, [*queries(need), table.question] if need.subject else [table.question]
            )
    if not table.ask.needs and not table.ask.best:
        calls += _other_search(table, [table.question])
    if answer and not calls and (place := _place_name(table)):
        about = attribute_name(table.ask.needs[0].attribute, table.language)
        calls += _other_search(table, [f"{place} {about}", place])
    distinct = {str(call.args): call for call in calls}
    return tuple(distinct.values())


def _place_name(table: _Table) -> str:
    if table.ask.described and (card := described(table.ask.described, table.seen)):
        return card.name
    return table.ask.needs[0].subject if table.ask.needs else ""


def _other_search(table: _Table, wanted: list[str]) -> list[FunctionCall]:
    """The first query that was not asked of that engine, the other engine first."""
    known = engines(table.turn, table.question)[::-1]
    asked = {(told.tool, told.asked) for told in table.seen.told if told.tool in SEARCHES}
    plain = {query for _, query in asked}
    for query in wanted:
        for engine in known:
            if query not in plain and (engine, query) not in asked:
                return [FunctionCall(engine, {"query": query})]
    for query in wanted:
        for engine in known:
            if (engine, query) not in asked:
                return [FunctionCall(engine, {"query": query})]
    return []


def _judged(table: _Table, answer: str) -> tuple[list[str], str]:
    """What the check says, and the verdict."""
    language = table.language
    written = program(table.ask, table.facts, table.seen)
    complete = bool(table.facts) and all(table.facts)
    if not answer:
        found = table.facts[0] if complete else None
        if found and (written or found.value):
            told = say("now_found", language, value=found.value, mark=_mark(found))
            return [say("searched_again", language, what=told)], "DISAGREE"
        return [say("searched_again", language, what=say("still_none", language))], "UNSURE"
    if written:
        return _recomputed(table, answer)
    now = table.facts[0] if table.facts else None
    if now and now.value != answer:
        told = say("opposed", language, value=now.value, mark=_mark(now))
        return [say("searched_again", language, what=told)], "DISAGREE"
    seconds = [f for f in page_facts(table.ask.needs[0], table.now.snippets) if f.value == answer]
    told = say("confirmed", language, value=answer, mark=_mark(seconds[0])) if seconds else ""
    return [say("searched_again", language, what=told or say("unopposed", language))], "AGREE"


def _recomputed(table: _Table, answer: str) -> tuple[list[str], str]:
    result = _result(table.now)
    if not result:
        return [say("still_none", table.language)], "UNSURE"
    same = result == answer
    words = say("same" if same else "differs", table.language)
    told = say("recomputed", table.language, result=result, answer=answer, same=words)
    return [told], "AGREE" if same else "DISAGREE"


def _last_chance(turn: Turn) -> bool:
    """Whether an objection would only go round: there was one, or no turn is left."""
    left = re.search(r"\d+", block(turn.user, "rounds_left"))
    spent = bool(left and int(left[0]) <= 2)
    return spent or "VERDICT: DISAGREE" in block(turn.user, "transcript")


def _result(seen: Seen) -> str:
    """What the last program printed as the answer; empty where it failed."""
    return _output(seen).partition(" | ")[0]


def _output(seen: Seen) -> str:
    outputs = [output for told in seen.programs if (output := output_of(told))]
    return outputs[-1] if outputs else ""


def _mark(fact: Fact) -> str:
    return f"[^{fact.id}]" if fact.id else ""


def _short(text: str) -> str:
    return text if len(text) <= _LINE else f"{text[: _LINE - 1]}…"
