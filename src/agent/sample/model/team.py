"""Reply for `team_answer`: quote and take a value out, state it, and look again."""

import re

from agent.sample.model.request import Answer, FunctionCall, Turn
from agent.sample.model.research import map_calls
from agent.sample.model.subject import Subject, aspects_of, clean_question, searched_as, subject_of
from agent.sample.model.text import (
    Record,
    Sentence,
    block,
    language_of,
    lines,
    quotable,
    rank,
    records,
    short,
)
from agent.sample.model.values import ON_MAP, Value, of_record, of_sentence, program, value_kind
from agent.texts import say

SEARCHES, CODE, MAPS = ("search_bocha", "search_google", "search_tavily"), "run_code", "maps_"
DOCUMENTS = "search_documents"
BETWEEN = " — "
_FORM = re.compile(r"[（(]([^（）()]*(?:格式|小数|format|decimal)[^（）()]*)[）)]", re.IGNORECASE)
_STATED = re.compile(r'[<‹]turn [^<>‹›]*speaker=["”]researcher["”][^<>‹›]*[>›]\n(.*)')


def team_analyze(turn: Turn) -> Answer:
    """Return the question as it stands, with the form that it or its caller states."""
    question = block(turn.user, "question")
    stated = _FORM.search(question)
    form = block(turn.user, "format_requirement") or (stated[1].strip() if stated else "")
    needs_map = value_kind(question) in ON_MAP
    return Answer(json={"asked": question, "format_requirement": form, "needs_map": needs_map})


def team_select(turn: Turn) -> Answer:
    """Return the candidate who has waited longest, which is the first."""
    return Answer(text=next(iter(lines(turn.user, "candidates")), "researcher"))


def team_researcher(turn: Turn) -> Answer:
    """Search once, or compute, and state the value with the sentence it stands in."""
    language, question = language_of(turn), _question(turn)
    if calls := _lookups(turn, question):
        return Answer(calls=calls)
    if (written := program(question)) and _offers(turn, CODE):
        if result := _output(turn):
            return Answer(text=f"{result}{BETWEEN}{say('sample.computed', language)}")
        return Answer(calls=(FunctionCall(CODE, {"code": written}),))
    if value := _value(_texts(turn), question):
        return Answer(text=f"{value.text}{BETWEEN}{value.sentence}[^{value.id}]")
    if quote := _quote(_texts(turn), question):
        return Answer(text=f"{quote.text}\n{say('sample.needs_model', language)}")
    return Answer(text=say("sample.nothing", language, question=short(question)))


def team_verifier(turn: Turn) -> Answer:
    """Search or compute once more; agree where nothing else comes out."""
    language, question = language_of(turn), _question(turn)
    claim = _claim(turn)
    answer, _, basis = claim.partition(BETWEEN)
    if not turn.tool_results and (calls := _checks(turn, question, claim)):
        return Answer(calls=calls)
    if not claim:
        return Answer(
            text=f"{say('sample.needs_model', language)}\nVERDICT: AGREE NOT FOUND\nTERMINATE"
        )
    if program(question):
        same, comment = _output(turn) == answer, say("sample.recomputed", language)
    else:
        again = _value([result.text for result in turn.tool_results], question)
        same, comment = (
            again is None or again.text == answer,
            say("sample.confirmed", language, said=basis),
        )
    agreed = answer if same else "NOT FOUND"
    text = comment if same else say("sample.needs_model", language)
    return Answer(text=f"{text}\nVERDICT: AGREE {agreed}\nTERMINATE")


def team_synthesize(turn: Turn) -> Answer:
    """Return the claim that was agreed to, with its evidence; else none, and the best sentence."""
    language, question = language_of(turn), _question(turn)
    answer, _, basis = _claim(turn).partition(BETWEEN)
    evidence = lines(turn.user, "evidence")
    codes = [line.partition(":")[0] for line in evidence if line.rpartition("⇒ ")[2] == answer]
    ids = re.findall(r"\[\^([a-z]+\d+-\d+)\]", basis) or codes[:1]
    if not (answer and ids) or "VERDICT: AGREE NOT FOUND" in block(turn.user, "transcript"):
        quote = _quote([turn.user], question)
        nothing = quote.text if quote else say("sample.nothing", language, question=short(question))
        text = f"{nothing} {say('sample.needs_model', language)}" if quote else nothing
        return Answer(json={"outcome": "not_found", "explanation": text})
    why = say("sample.settled", language, said=basis) if codes[:1] != ids else basis
    return Answer(json={"outcome": "answer", "answer": answer, "evidence": ids, "explanation": why})


def _question(turn: Turn) -> str:
    return _FORM.sub("", block(turn.user, "question")).strip()


def _offers(turn: Turn, name: str) -> bool:
    return any(tool.name == name for tool in turn.tools)


def _engines(turn: Turn) -> list[str]:
    return [name for name in SEARCHES if _offers(turn, name)]


def _lookups(turn: Turn, question: str) -> tuple[FunctionCall, ...]:
    """Return a search for the question and, for a fact of a place, the map's; then its details."""
    if program(question):
        return ()
    on_map = map_calls(turn, subject_of(question).text) if value_kind(question) in ON_MAP else ()
    has_searched = (
        any(result.name in SEARCHES for result in turn.tool_results) or "<tool " in turn.user
    )
    if has_searched:
        return on_map if turn.tool_results else ()
    queries = dict.fromkeys([clean_question(question), _shorter(question)])
    first = [FunctionCall(n, {"query": q}) for n in _engines(turn)[:1] for q in queries]
    own = DOCUMENTS if _offers(turn, DOCUMENTS) else ""
    return (*first, *(FunctionCall(own, {"query": q}) for q in [*queries][:1] if own), *on_map)


def _shorter(question: str) -> str:
    """Return the subject with the first aspect of the question."""
    return " ".join(filter(None, [searched_as(question), *aspects_of(question)[:1]]))


def _checks(turn: Turn, question: str, hypothesis: str) -> tuple[FunctionCall, ...]:
    """Return the same once more: computed in another way, or searched with another engine."""
    if program(question):
        again = {"code": program(question, again=True)}
        return (FunctionCall(CODE, again),) if hypothesis and _offers(turn, CODE) else ()
    return tuple(FunctionCall(n, {"query": _shorter(question)}) for n in _engines(turn)[-1:])


def _texts(turn: Turn) -> list[str]:
    """Return the texts that the tools have shown, in this turn and before."""
    return [turn.user, *(result.text for result in turn.tool_results)]


def _value(texts: list[str], question: str) -> Value | None:
    """Return the value in the map's records, or in the best sentence that has one."""
    subject, kind = subject_of(question), value_kind(question)
    if kind in ON_MAP:
        all_records = [record for text in texts for record in records(_without_fence(text))]
        own_records = [record for record in all_records if _is(record, subject)]
        return next(filter(None, (of_record(record, kind) for record in own_records)), None)
    for sentence in rank(quotable("\n".join(texts), subject), question, 12) if kind else []:
        if text := of_sentence(sentence.bare, question, subject, sentence.title):
            return Value(text, sentence.bare, sentence.ids[0])
    return None


def _is(record: Record, subject: Subject) -> bool:
    core = re.split("[(（]", record.name)[0]
    return any(name in (record.name, core) for name in subject.names)


def _quote(texts: list[str], question: str) -> Sentence | None:
    quotes = quotable("\n".join(texts), subject_of(question))
    return next(iter(rank(quotes, question, 1)), None)


def _without_fence(text: str) -> str:
    return re.sub(r"^\s*<tool [^>]*>|</tool>", "", text, flags=re.MULTILINE)


def _claim(turn: Turn) -> str:
    """Return what the researcher stated last: `value — sentence[^id]`; empty where it did not."""
    stated = _STATED.findall(turn.user)
    return next((text for text in reversed(stated) if BETWEEN in text), "")


def _output(turn: Turn) -> str:
    """Return the output of the last program of this turn."""
    texts = [result.text for result in turn.tool_results if result.name == CODE]
    text = (
        re.sub(r"[<‹]/?output[^<>‹›]*[>›]", "", texts[-1]).strip().strip("`").strip()
        if texts
        else ""
    )
    return "" if re.search(r"\w*Error\b|^错误|timeout", text) else text
