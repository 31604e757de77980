"""The team's tasks around its discussion: the question, its steps, who speaks, the answer."""

import re
from decimal import ROUND_HALF_UP, Decimal

from agent.language import detect_language

from .brain import Answer, Turn
from .rules_team_ask import Ask
from .rules_team_reading import ask_of, decimals_in
from .rules_team_seen import Told, output_of, seen_in_evidence
from .rules_team_steps import best_of
from .rules_team_wording import attribute_name, category_name, say
from .rules_text import block, language_of, lines

_CHINA = re.compile(
    r"\b(?:China|Chinese|Beijing|Shanghai|Hangzhou|Chengdu|yuan)\b|[\u4e00-\u9fff]", re.IGNORECASE
)
_STATED = re.compile(
    r"[（(]([^（）()]*(?:格式|小数|整数|单位|回答|形如|format|decimal|integer|whole number|answer)"
    r"[^（）()]*)[）)]"
    r"|(?<=[？?。.])\s*([^？?]*(?:格式|小数|只回答|形如|保留|decimal|format"
    r"|answer (?:with|as|in))[^？?]*)$",
    re.IGNORECASE,
)
_TURN = re.compile(r"^\d+ (researcher|analyst|verifier): (.*)$")
_HYPOTHESIS = re.compile(r"^H\d+ \[([\d.]+)\] (.*)$")
_VERDICT = re.compile(r"VERDICT: (AGREE|DISAGREE|UNSURE)")
_MARK = re.compile(r"\[\^([a-z]+\d+(?:-\d+)?)\]")
_TYPES = {"year": "date", "date": "date", "weekday": "date", "number": "number", "person": "name",
          "name": "name", "rating": "number", "cost": "number"}  # fmt: skip
BETWEEN = " — "
LEAST = 0.5


def team_analyze(turn: Turn) -> Answer:
    """What is asked, its type, the form it states and where its subject is."""
    question = " ".join(block(turn.user, "question").split())
    wanted = block(turn.user, "format_requirement").strip()
    stated = _STATED.search(question)
    form = wanted or (next(filter(None, stated.groups())).strip() if stated else "")
    need = next(iter(ask_of(question, form).needs), None)
    kind = (
        _TYPES.get(need.attribute if need.kind == "map" else need.type, "text") if need else "text"
    )
    region = "china" if _CHINA.search(question) else "both"
    asked = {"asked": question, "answer_type": kind, "format_requirement": form, "region": region}
    return Answer(json=asked)


def team_decompose(turn: Turn) -> Answer:
    """A step for every fact, one for what joins them."""
    question = block(turn.user, "question").strip()
    return Answer(json={"sub_questions": _steps(ask_of(question), question)})


def _steps(ask: Ask, question: str) -> list[str]:
    language, found = ask.language, []
    if ask.best:
        by = attribute_name(ask.best.by, language)
        kind = category_name(ask.best.category, language)
        found.append(say("step_best", language, near=ask.best.near, category=kind, by=by))
    if ask.described:
        told = ask.described
        kind = category_name(told.category, language)
        found.append(say("step_described", language, words=told.words, category=kind))
    for need in ask.needs:
        if need.kind == "given":
            continue
        attribute = attribute_name(need.attribute, language) or need.type
        key = "step_fact" if need.subject else "step_attribute"
        found.append(say(key, language, subject=need.subject, attribute=attribute))
    if ask.operation != "value" or ask.best:
        found.append(say("step_compute", language))
    return found[:6] or [question]


def team_select(turn: Turn) -> Answer:
    """The next in turn; after an objection the analyst, who weighs what was found."""
    candidates = lines(turn.user, "candidates")
    spoken = [found for line in lines(turn.user, "transcript") if (found := _TURN.match(line))]
    wanted = "researcher"
    if spoken:
        order = {"researcher": "analyst", "analyst": "verifier", "verifier": "analyst"}
        wanted = order[spoken[-1][1]]
    return Answer(text=wanted if wanted in candidates else next(iter(candidates), wanted))


def team_synthesize(turn: Turn) -> Answer:
    """The analyst's best hypothesis with its evidence, unless the verifier objected to the end."""
    language = language_of(turn)
    best = top_hypothesis(lines(turn.user, "hypotheses"))
    verdicts = _VERDICT.findall(block(turn.user, "transcript"))
    if best is None or (verdicts and verdicts[-1] == "DISAGREE"):
        none = {"found": False, "answer": "", "evidence": [], "explanation": say("none", language)}
        return Answer(json=none)
    answer, _, basis = best.partition(BETWEEN)
    seen = seen_in_evidence(lines(turn.user, "evidence"))
    codes = [told.evidence for told in seen.programs if _is_result(told, answer)]
    ids = list(dict.fromkeys([*_MARK.findall(basis), *codes[:1], *_again(turn, seen_ids(turn))]))
    said = say("settled", language, answer=answer, said=basis.strip()).strip()
    return Answer(json={"found": True, "answer": answer, "evidence": ids, "explanation": said})


def seen_ids(turn: Turn) -> frozenset[str]:
    return frozenset(_MARK.findall(block(turn.user, "hypotheses")))


def _again(turn: Turn, named: frozenset[str]) -> list[str]:
    """The sources of the facts read anew from the evidence, where the hypothesis names none."""
    if named:
        return []
    ask = ask_of(block(turn.user, "question").strip())
    seen = seen_in_evidence(lines(turn.user, "evidence"))
    found = [best_of(need, ask, seen) for need in ask.needs if need.kind != "given"]
    return [fact.id for fact in found if fact and fact.id]


def _is_result(told: Told, answer: str) -> bool:
    return output_of(told).partition(" | ")[0] == answer


def top_hypothesis(written: list[str]) -> str | None:
    """The likeliest hypothesis that was not given up and may hold."""
    found = [match for line in written if (match := _HYPOTHESIS.match(line))]
    alive = [m for m in found if "(pruned)" not in m[2] and "（剪枝）" not in m[2]]
    best = max(alive, key=lambda match: float(match[1]), default=None)
    return best[2] if best and float(best[1]) >= LEAST else None


def team_format(turn: Turn) -> Answer:
    """The answer in the form that is required; it is bare already."""
    answer = block(turn.user, "answer").strip()
    form = block(turn.user, "format_requirement")
    if date := re.fullmatch(r"(\d{4})-(\d{2})-(\d{2})", answer):
        year, month, day = (int(part) for part in date.groups())
        if "年" in form and "月" in form:
            answer = f"{year}年{month}月{day}日"
        elif re.search(r"只回答年份|年份|\byear\b", form):
            answer = str(year)
    wanted = decimals_in(form)
    if wanted is not None and re.fullmatch(r"\d+(?:\.\d+)?", answer):
        answer = str(Decimal(answer).quantize(Decimal(1).scaleb(-wanted), ROUND_HALF_UP))
    if re.search("星期|周", answer) and detect_language(block(turn.user, "question")) == "zh":
        answer = answer.replace("周", "星期") if "星期" in form else answer
    return Answer(json={"answer": answer})
