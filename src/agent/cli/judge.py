"""Run `tanlu judge`: a verdict on every answer of a file, resumable, and one result card."""

import asyncio
from argparse import Namespace
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from agent.batch.questions import BadLine, Question, read_questions
from agent.cli.console import (
    ANSWERED,
    CANCELLED,
    FAILED,
    USAGE,
    console_language,
    fail,
    printable,
    report_bad_lines,
    tell_aside,
)
from agent.cli.environment import on_interrupt, open_environment
from agent.cli.request import writable
from agent.configuration import Configuration
from agent.core.calls import Calls
from agent.core.errors import AgentError, ConfigurationError, InputError
from agent.core.strings import one_line
from agent.evaluation.answers import JUDGED, FileAnswer, answers_path, read_answers, with_questions
from agent.evaluation.card import CardContent, card_as_json, card_text, dollars_or_words, write_card
from agent.evaluation.judge import Docket, FileJudge, JudgeSession, JudgeStop
from agent.evaluation.verdicts import (
    JudgeVerdict,
    VerdictFile,
    read_verdicts,
    scores_of,
    verdicts_path,
)
from agent.models import catalogue
from agent.models.client import ModelClient
from agent.settings import read_settings
from agent.texts import Language, reason_of, say


@dataclass(frozen=True)
class JudgePlan:
    """Hold the arguments, checked, and the answers."""

    path: Path
    answers: list[FileAnswer]
    problems: int
    """Lines that cannot be used, and answers without a question."""
    judge: FileJudge
    max_cost: float | None
    concurrency: int
    card: Path | None
    language: Language

    @property
    def counting(self) -> list[FileAnswer]:
        """Return the answers that have something to judge."""
        return [answer for answer in self.answers if answer.status in JUDGED]


def read_judge_plan(arguments: Namespace) -> JudgePlan:
    """Return the plan; raise InputError or ConfigurationError naming the argument."""
    writable("--card", arguments.card)
    writable("--log-file", arguments.log_file)
    model = arguments.model or Configuration().reflection_model
    catalogue.parse(model, "--model")
    path, config = answers_path(arguments.answers)
    answers, bad = read_answers(path, config)
    questions: list[Question] = []
    bad_questions: list[BadLine] = []
    if arguments.questions is not None:
        questions, bad_questions = read_questions(
            Path(arguments.questions), decrypt=arguments.decrypt, benchmark=arguments.benchmark,
            tell=fail,
        )  # fmt: skip
        report_bad_lines(bad_questions, arguments.questions)
        if not questions:
            raise InputError("QUESTIONS", f"holds no question to be used: {arguments.questions}")
    answers, missing = with_questions(answers, questions)
    report_bad_lines(bad, arguments.answers)
    language = console_language()
    if missing:
        ids = one_line(", ".join(missing), longest=200)
        fail(say("judge.no_question", language, count=len(missing), ids=ids))
    return JudgePlan(
        path=path,
        answers=answers[: arguments.limit],
        problems=len(bad) + len(bad_questions) + len(missing),
        judge=FileJudge(model, rubric=None if arguments.rubric == "auto" else arguments.rubric),
        max_cost=arguments.max_cost,
        concurrency=arguments.concurrency,
        card=Path(arguments.card) if arguments.card else None,
        language=language,
    )


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 all judged, 1 something left, 2 bad usage, 130 after Ctrl-C."""
    try:
        open_environment(arguments)
        plan = read_judge_plan(arguments)
        keys = {verdict["key"] for verdict in read_verdicts(verdicts_path(plan.path))}
        docket = Docket.of(plan.judge, plan.counting, keys)
        tell_aside(printable(_estimate(plan, docket)))
        if arguments.dry_run:
            return FAILED if plan.problems else ANSWERED
        _check(plan, docket)
        with VerdictFile(verdicts_path(plan.path)) as file:
            return _judge(plan, file)
    except ConfigurationError as error:
        return fail(error, code=USAGE)
    except AgentError as error:
        return fail(error)


def _judge(plan: JudgePlan, file: VerdictFile) -> int:
    # Anew: another judge may have written until the file was ours.
    docket = Docket.of(plan.judge, plan.counting, file.by_key.keys())
    try:
        session = asyncio.run(_session(plan, docket, file))
    except KeyboardInterrupt:
        left = len(docket.pending)
        return fail(say("judge.interrupted", plan.language, count=left), code=CANCELLED)
    _show(plan, file.by_key)
    return _report_end(plan, session)


def _check(plan: JudgePlan, docket: Docket) -> None:
    """Raise ConfigurationError for what would fail only once something was paid."""
    settings = read_settings()
    if docket.pending and settings.mode == "offline":
        raise ConfigurationError("GEMINI_API_KEY", say("judge.needs_model", plan.language))
    if plan.max_cost is not None and docket.cost_usd is None:
        problem = say("judge.no_price", plan.language, model=plan.judge.model)
        raise InputError("--max-cost", problem)


def _estimate(plan: JudgePlan, docket: Docket) -> str:
    tokens = sum(pending.input_tokens + pending.output_tokens for pending in docket.pending)
    return say(
        "judge.estimate",
        plan.language,
        count=len(docket.pending),
        model=plan.judge.model,
        tokens=f"{tokens:,}",
        cost=dollars_or_words(docket.cost_usd, plan.language),
        by_rule=len(docket.by_rule),
        before=docket.before,
    )


async def _session(plan: JudgePlan, docket: Docket, file: VerdictFile) -> JudgeSession:
    """Judge; the first Ctrl-C lets verdicts under way finish, the second leaves them."""
    models = ModelClient(read_settings(), Calls())
    session = JudgeSession(
        plan.judge, models, file, max_cost=plan.max_cost, notice=_notice(plan, len(docket.pending))
    )

    def interrupt() -> None:
        if session.stopped is not None:
            session.cancel()
        else:
            tell_aside(say("judge.finishing", plan.language))
        session.stop(JudgeStop("interrupted"))

    try:
        with on_interrupt(interrupt):
            await session.run(docket, concurrency=plan.concurrency)
    except asyncio.CancelledError:
        session.stop(JudgeStop("interrupted"))
    finally:
        await models.aclose()
    return session


def _notice(plan: JudgePlan, total: int) -> Callable[[FileAnswer, JudgeVerdict | AgentError], None]:
    """Return what writes a line for each verdict, and for each answer that got none."""
    count = 0

    def notice(answer: FileAnswer, outcome: JudgeVerdict | AgentError) -> None:
        nonlocal count
        count += 1
        if isinstance(outcome, AgentError):
            why = reason_of(outcome, plan.language)
            text = say("judge.not_judged", plan.language, reason=why)
        elif outcome["rubric"] == "short":
            text = say(f"judge.classes.{outcome['verdict']}", plan.language)
        else:
            text = " ".join(f"{score:g}" for score in outcome["scores"].values())
        tell_aside(printable(one_line(f"[{count}/{total}] {answer.id}: {text}", longest=160)))

    return notice


def _show(plan: JudgePlan, verdicts: Mapping[str, JudgeVerdict]) -> None:
    """Print the card of all verdicts there are on these answers, and write it with `--card`."""
    judge = plan.judge
    by_subject = {
        answer.subject: verdicts[key]
        for answer in plan.counting
        if (key := judge.key_of(answer)) in verdicts
    }
    result = CardContent(
        file=plan.path.name,
        answers=plan.answers,
        verdicts=list(by_subject.values()),
        judge=judge.model,
        scores=scores_of(plan.counting, by_subject),
        on=datetime.now(UTC).date(),
    )
    card = card_as_json(result)
    print(printable(card_text(card, plan.language)))  # noqa: T201
    if plan.card is not None:
        write_card(plan.card, card, plan.language)


def _report_end(plan: JudgePlan, session: JudgeSession) -> int:
    """Say why something is left; return the exit code."""
    left = session.left
    match session.stopped:
        case JudgeStop("interrupted") if left:
            return fail(say("judge.interrupted", plan.language, count=left), code=CANCELLED)
        case JudgeStop("max_cost"):
            return fail(say("judge.max_cost", plan.language, count=left))
        case JudgeStop(_, error) if error is not None:
            reason = reason_of(error, plan.language)
            return fail(say("judge.stopped", plan.language, count=left, reason=reason))
    if left:
        return fail(say("judge.left", plan.language, count=left))
    return FAILED if plan.problems else ANSWERED
