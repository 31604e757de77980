"""The assistant `team_answer`: one quotes and takes a value out, one states it, one looks again."""

import re

from agent.sample.model.request import Answer, FunctionCall, Turn
from agent.sample.model.research import map_calls
from agent.sample.model.subject import Subject, aspects_of, cleaned, searched_as, subject_of
from agent.sample.model.text import (
    Record,
    Sentence,
    block,
    elements,
    language_of,
    lines,
    ranked,
    records,
    sentences,
)
from agent.sample.model.values import ON_MAP, Value, of_record, of_sentence, program, wanted
from agent.sample.model.words import say
from agent.texts.language import detect_language

SEARCHES, CODE, MAPS = ("search_bocha", "search_google", "search_tavily"), "run_code", "maps_"
BETWEEN = " — "
_TYPES = {"year": "date", "date": "date", "rating": "number", "cost": "number", "number": "number"}
_FORM = re.compile(r"[（(]([^（）()]*(?:格式|小数|format|decimal)[^（）()]*)[）)]", re.IGNORECASE)
_HYPOTHESIS = re.compile(r"^H\d+ \[[\d.]+\] (.*)$")
_DIGITS = re.compile(r"([一两二三\d]|one|two|three)\s*(?:位小数|decimal)", re.IGNORECASE)
_COUNT = {"一": 1, "两": 2, "二": 2, "三": 3, "one": 1, "two": 2, "three": 3}


def team_analyze(turn: Turn) -> Answer:
    """The question as it stands, with the form that it or its caller states."""
    question = block(turn.user, "question")
    stated = _FORM.search(question)
    form = block(turn.user, "format_requirement") or (stated[1].strip() if stated else "")
    kind = _TYPES.get(wanted(question), "number" if program(question) else "text")
    region = "china" if detect_language(question) == "zh" else "both"
    asked = {"asked": question, "answer_type": kind, "format_requirement": form, "region": region}
    return Answer(json=asked)


def team_decompose(turn: Turn) -> Answer:
    return Answer(json={"sub_questions": [cleaned(block(turn.user, "question"))]})


def team_select(turn: Turn) -> Answer:
    """The candidate who has waited longest, which is the first."""
    return Answer(text=next(iter(lines(turn.user, "candidates")), "researcher"))


def team_researcher(turn: Turn) -> Answer:
    """Searches once, looks the place up where its facts are asked for, and quotes."""
    language, question = language_of(turn), _question(turn)
    if calls := _lookups(turn, question):
        return Answer(calls=calls)
    if program(question):
        return Answer(text=say("computed", language))
    if value := _found(turn.user, _texts(turn), question):
        return Answer(text=say("quote", language, said=f"{value.said}[^{value.id}]"))
    quote = _quote(_texts(turn), question)
    told = [say("quote", language, said=quote.text)] if quote else []
    nothing = say("nothing", language, question=question)
    return Answer(text="\n".join([*told, say("needs_model", language) if told else nothing]))


def team_analyst(turn: Turn) -> Answer:
    """The value with the sentence it stands in, or what a program made of the question."""
    language, question = language_of(turn), _question(turn)
    if (written := program(question)) and _offers(turn, CODE):
        result = _output(turn)
        if not result:
            return Answer(calls=(FunctionCall(CODE, {"code": written}),))
        return Answer(text=f"H1 [0.9] {result}{BETWEEN}{say('computed', language)}")
    if value := _found(turn.user, _texts(turn), question):
        return Answer(text=f"H1 [0.9] {value.text}{BETWEEN}{value.said}[^{value.id}]")
    return Answer(text=say("needs_model", language))


def team_verifier(turn: Turn) -> Answer:
    """Searches or computes once more; agrees where nothing else comes out."""
    language, question = language_of(turn), _question(turn)
    held = _hypothesis(turn)
    answer, _, basis = held.partition(BETWEEN)
    if not turn.tool_results and (calls := _checks(turn, question, held)):
        return Answer(calls=calls)
    if not held:
        return Answer(text=f"{say('needs_model', language)}\nVERDICT: UNSURE\nTERMINATE")
    if program(question):
        same = _output(turn) == answer
        said = say("recomputed", language) if same else ""
    else:
        again = _found("", [result.text for result in turn.tool_results], question)
        same = again is None or again.text == answer
        said = say("confirmed", language, said=basis) if same else ""
        said = f"{again.said}[^{again.id}]" if again and not same else said
    verdict = "AGREE" if same else "UNSURE"
    return Answer(text="\n".join(filter(None, [said, f"VERDICT: {verdict}", "TERMINATE"])))


def team_synthesize(turn: Turn) -> Answer:
    """What was held to the end, with its evidence; else that nothing was, and the best sentence."""
    language, question = language_of(turn), _question(turn)
    answer, _, basis = _hypothesis(turn).partition(BETWEEN)
    evidence = lines(turn.user, "evidence")
    codes = [line.partition(":")[0] for line in evidence if line.rpartition("⇒ ")[2] == answer]
    ids = re.findall(r"\[\^([a-z]+\d+-\d+)\]", basis) or codes[:1]
    if not (answer and ids) or "VERDICT: UNSURE" in block(turn.user, "transcript"):
        quote = _quote([turn.user], question)
        told = quote.text if quote else say("nothing", language, question=question)
        text = f"{told} {say('needs_model', language)}" if quote else told
        return Answer(json={"found": False, "answer": "", "evidence": [], "explanation": text})
    told = say("settled", language, said=basis) if codes[:1] != ids else basis
    return Answer(json={"found": True, "answer": answer, "evidence": ids, "explanation": told})


def team_format(turn: Turn) -> Answer:
    """The answer, which is bare already, with the decimals that are asked for."""
    answer, form = block(turn.user, "answer"), block(turn.user, "format_requirement")
    if re.fullmatch(r"\d{4}-\d{2}-\d{2}", answer) and re.search(r"年份|\byear\b", form):
        answer = answer[:4]
    if (found := _DIGITS.search(form)) and re.fullmatch(r"-?\d+(?:\.\d+)?", answer):
        word = found[1].casefold()
        answer = f"{float(answer):.{_COUNT.get(word) or int(word)}f}"
    return Answer(json={"answer": answer})


def _question(turn: Turn) -> str:
    return _FORM.sub("", block(turn.user, "question")).strip()


def _offers(turn: Turn, name: str) -> bool:
    return any(tool.name == name for tool in turn.tools)


def _engines(turn: Turn) -> list[str]:
    return [name for name in SEARCHES if _offers(turn, name)]


def _lookups(turn: Turn, question: str) -> tuple[FunctionCall, ...]:
    """A search for the question and, for a fact of a place, the map's; then its details."""
    if program(question):
        return ()
    on_map = map_calls(turn, subject_of(question).text) if wanted(question) in ON_MAP else ()
    searched = any(result.name in SEARCHES for result in turn.tool_results) or "<tool " in turn.user
    if searched:
        return on_map if turn.tool_results else ()
    asked = dict.fromkeys([cleaned(question), _shorter(question)])
    first = [FunctionCall(n, {"query": q}) for n in _engines(turn)[:1] for q in asked]
    return (*first, *on_map)


def _shorter(question: str) -> str:
    """The subject with what is asked of it."""
    return " ".join(filter(None, [searched_as(question), *aspects_of(question)[:1]]))


def _checks(turn: Turn, question: str, held: str) -> tuple[FunctionCall, ...]:
    """The same once more: computed in another way, or searched with another engine."""
    if program(question):
        again = {"code": program(question, again=True)}
        return (FunctionCall(CODE, again),) if held and _offers(turn, CODE) else ()
    return tuple(FunctionCall(n, {"query": _shorter(question)}) for n in _engines(turn)[-1:])


def _texts(turn: Turn) -> list[str]:
    """What the tools have shown, in this turn and before."""
    return [turn.user, *(result.text for result in turn.tool_results)]


def _found(user: str, texts: list[str], question: str) -> Value | None:
    """The value that is asked for, out of the map's records or the best sentence that has one."""
    subject, kind = subject_of(question), wanted(question)
    if kind in ON_MAP:
        listed = [record for text in texts for record in records(_unfenced(text))]
        named = [record for record in listed if _is(record, subject)]
        return next(filter(None, (of_record(record, kind) for record in named)), None)
    for sentence in ranked(_sentences(texts, subject), question, 12) if kind else []:
        if text := of_sentence(sentence.bare, question, subject, sentence.title):
            return Value(text, sentence.bare, sentence.ids[0])
    return None


def _is(record: Record, subject: Subject) -> bool:
    core = re.split("[(（]", record.name)[0]
    return any(name in (record.name, core) for name in subject.names)


def _sentences(texts: list[str], subject: Subject) -> list[Sentence]:
    """The sentences of all results that name the subject, each with its source."""
    found = {
        row["id"]: (row, text)
        for t in texts
        for row, text in elements(t, "result")
        if "-" in row.get("id", "")
    }
    listed = [
        match
        for text in texts
        for match in re.findall(r"^\[\^([a-z]+\d+-\d+)\] (.*?) — (.*)$", text, re.M)
    ]
    rows = [(name, row.get("title", ""), text) for name, (row, text) in found.items()] + listed
    return [
        sentence.marked(name)
        for name, title, text in rows
        if subject.is_named_in(f"{title} {text}")
        for sentence in sentences(text, title)
    ]


def _quote(texts: list[str], question: str) -> Sentence | None:
    return next(iter(ranked(_sentences(texts, subject_of(question)), question, 1)), None)


def _unfenced(text: str) -> str:
    return re.sub(r"^\s*<tool [^>]*>|</tool>", "", text, flags=re.MULTILINE)


def _hypothesis(turn: Turn) -> str:
    held = [
        found[1] for line in lines(turn.user, "hypotheses") if (found := _HYPOTHESIS.match(line))
    ]
    return next((text for text in held if "(pruned)" not in text), "")


def _output(turn: Turn) -> str:
    """What the last program of this turn printed."""
    texts = [result.text for result in turn.tool_results if result.name == CODE]
    text = (
        re.sub(r"[<‹]/?output[^<>‹›]*[>›]", "", texts[-1]).strip().strip("`").strip()
        if texts
        else ""
    )
    return "" if re.search(r"\w*Error\b|^错误|timeout", text) else text
