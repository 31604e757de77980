"""Reply for `team_answer`: quote and take a value out, state it, and look again."""

import re

from agent.evidence.citations import MARKER
from agent.sample.model.request import Answer, FunctionCall, Turn
from agent.sample.model.research import map_calls, nothing_on
from agent.sample.model.text import block, language_of, lines, quotable, records
from agent.sample.model.values import ON_MAP, Value, of_record, of_sentence, program, value_kind
from agent.sample.sentences import Sentence, rank
from agent.sample.subject import aspects_of, clean_question, searched_as, subject_of
from agent.texts import say

SEARCHES, CODE = ("search_bocha", "search_google", "search_tavily"), "run_code"
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
    if (written := program(question)) and _offered(turn, CODE):
        if result := _output(turn):
            return Answer(text=f"{result}{BETWEEN}{say('sample.computed', language)}")
        return Answer(calls=(FunctionCall(CODE, {"code": written}),))
    texts = "\n".join([turn.user, *(result.text for result in turn.tool_results)])
    if value := _value(texts, question):
        return Answer(text=f"{value.text}{BETWEEN}{value.sentence}[^{value.id}]")
    if quote := _quote(texts, question):
        return Answer(text=f"{quote.text}\n{say('sample.needs_model', language)}")
    return Answer(text=nothing_on(question, language))


def team_verifier(turn: Turn) -> Answer:
    """Search or compute once more; agree where nothing else comes out."""
    language, question = language_of(turn), _question(turn)
    claim = _claim(turn)
    answer, _, basis = claim.partition(BETWEEN)
    if not turn.tool_results and (calls := _checks(turn, question, claim)):
        return Answer(calls=calls)
    if program(question):
        agrees, comment = _output(turn) == answer, say("sample.recomputed", language)
    else:
        again = _value("\n".join(result.text for result in turn.tool_results), question)
        agrees = again is None or again.text == answer
        comment = say("sample.confirmed", language, said=basis)
    if not (claim and agrees):
        answer, comment = "NOT FOUND", say("sample.needs_model", language)
    return Answer(text=f"{comment}\nVERDICT: AGREE {answer}\nTERMINATE")


def team_synthesize(turn: Turn) -> Answer:
    """Return the claim that was agreed to, with its evidence; else none, and the best sentence."""
    language, question = language_of(turn), _question(turn)
    answer, _, basis = _claim(turn).partition(BETWEEN)
    evidence = lines(turn.user, "evidence")
    codes = [line.partition(":")[0] for line in evidence if line.rpartition("⇒ ")[2] == answer]
    ids = MARKER.findall(basis) or codes[:1]
    if not (answer and ids) or "VERDICT: AGREE NOT FOUND" in block(turn.user, "transcript"):
        quote = _quote(turn.user, question)
        needs = say("sample.needs_model", language)
        text = f"{quote.text} {needs}" if quote else nothing_on(question, language)
        return Answer(json={"outcome": "not_found", "explanation": text})
    why = say("sample.settled", language, said=basis) if codes[:1] != ids else basis
    return Answer(json={"outcome": "answer", "answer": answer, "evidence": ids, "explanation": why})


def _question(turn: Turn) -> str:
    return _FORM.sub("", block(turn.user, "question")).strip()


def _offered(turn: Turn, *names: str) -> list[str]:
    """Return those of the tools that the request offers."""
    return [name for name in names if any(tool.name == name for tool in turn.tools)]


def _lookups(turn: Turn, question: str) -> tuple[FunctionCall, ...]:
    """Return a search for the question and, for a fact of a place, the map's; then its details."""
    if program(question):
        return ()
    on_map = map_calls(turn, subject_of(question).text) if value_kind(question) in ON_MAP else ()
    if any(result.name in SEARCHES for result in turn.tool_results):
        return on_map
    if "<tool " in turn.user:
        return on_map if turn.tool_results else ()
    queries = list(dict.fromkeys([clean_question(question), _shorter(question)]))
    engines, documents = _offered(turn, *SEARCHES)[:1], _offered(turn, DOCUMENTS)
    calls = [FunctionCall(name, {"query": query}) for name in engines for query in queries]
    calls += [FunctionCall(name, {"query": queries[0]}) for name in documents]
    return (*calls, *on_map)


def _shorter(question: str) -> str:
    """Return the subject with the first aspect of the question."""
    return " ".join(filter(None, [searched_as(question), *aspects_of(question)[:1]]))


def _checks(turn: Turn, question: str, claim: str) -> tuple[FunctionCall, ...]:
    """Return the same once more: computed in another way, or searched with another engine."""
    if program(question):
        again = {"code": program(question, again=True)}
        return tuple(FunctionCall(name, again) for name in _offered(turn, CODE) if claim)
    return tuple(
        FunctionCall(n, {"query": _shorter(question)}) for n in _offered(turn, *SEARCHES)[-1:]
    )


def _value(text: str, question: str) -> Value | None:
    """Return the value in the map's records, or in the best sentence that has one."""
    subject, kind = subject_of(question), value_kind(question)
    if kind in ON_MAP:
        listed = records(re.sub(r"^\s*<tool [^>]*>|</tool>", "", text, flags=re.MULTILINE))
        own = [r for r in listed if {r.name, re.split("[(（]", r.name)[0]} & {*subject.names}]
        return next(filter(None, (of_record(record, kind) for record in own)), None)
    for sentence in rank(quotable(text, subject), question, 12) if kind else []:
        if value := of_sentence(sentence.bare, question, subject, sentence.title):
            return Value(value, sentence.bare, sentence.ids[0])
    return None


def _quote(text: str, question: str) -> Sentence | None:
    return next(iter(rank(quotable(text, subject_of(question)), question, 1)), None)


def _claim(turn: Turn) -> str:
    """Return what the researcher stated last: `value — sentence[^id]`; empty where it did not."""
    stated = _STATED.findall(turn.user)
    return next((text for text in reversed(stated) if BETWEEN in text), "")


def _output(turn: Turn) -> str:
    """Return the output of the last program of this turn; "" where it failed."""
    outputs = [result.text for result in turn.tool_results if result.name == CODE]
    text = re.sub(r"[<‹]/?output[^<>‹›]*[>›]|`", "", outputs[-1] if outputs else "").strip()
    return "" if re.search(r"\w*Error\b|^错误|timeout", text) else text


REPLIES = (team_analyze, team_select, team_researcher, team_verifier, team_synthesize)
