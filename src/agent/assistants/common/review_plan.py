"""Show a plan to a person before anything is searched: the node of all four assistants.

An assistant says as a `PlanKind` how its plan is shown, read, priced and taken up. Clients that
speak LangChain's human-in-the-loop form find it beside ours, and may answer in it.
"""

import asyncio
import logging
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, Literal, TypeVar, cast

from langgraph.runtime import Runtime
from langgraph.types import interrupt
from pydantic import TypeAdapter

from agent.assistants.common.draft import Draft
from agent.assistants.common.plan_cost import PlanCost, estimate, estimate_words, plan_shares
from agent.assistants.common.services import GetServices, Services
from agent.assistants.common.writer import Closing, MessageParts, write_message
from agent.configuration import Configuration
from agent.core.errors import InputError
from agent.core.progress import Emit
from agent.core.strings import has_han
from agent.evidence.maps import WAY_TIMES
from agent.evidence.names import district_in_english
from agent.evidence.queries import clean_text
from agent.evidence.types import PLAN_TEXTS, MapTask, PlanPart
from agent.evidence.vocabulary import city_in_english, subject_in_english
from agent.state import ActionRequest, Estimate, Gathered, PlanReview, PlanWords, ReviewConfig, Turn
from agent.texts import Language, reads_han, say

T = TypeVar("T")
log = logging.getLogger(__name__)
NODE: Literal["review_plan"] = "review_plan"
_RADIUS_M = 2000
"""What the map searches around a place where nothing else is said."""
_GAP = re.compile(r"(?<! ) ++([:：])")
_PAUSE = ("paused_at", "paused_by")
_DECISIONS: list[Literal["approve", "edit", "reject"]] = ["approve", "edit", "reject"]
_SAME_DECISION = {"accept": "approve", "ignore": "reject", "cancel": "reject"}
"""Words of Agent Inbox, and of a person in Studio, for the same."""


@dataclass(frozen=True)
class PlanKind(Generic[T]):
    """Say what the plan of an assistant is. `Any` in its functions is the assistant's state."""

    assistant: str
    part: PlanPart
    answer: type
    """What a person may answer; clients get its schema."""
    configuration: type[Configuration]
    most: Callable[[Any], int]
    """Lines at most, by the configuration."""
    shown: Callable[[Any], Sequence[Any]]
    """The lines as a person sees them, and may send them back."""
    read: Callable[[Sequence[Any], Any, Any], list[T]]
    """The lines of an answer, under state and configuration; raises InputError naming a field."""
    cost: Callable[[Sequence[Any], Any, Any, Services], PlanCost]
    own: Any
    """A line that a person adds, as far as its cost goes."""
    taken: Callable[[list[T], Emit], Mapping[str, Any]]
    """The update that goes on with these lines, which it tells."""
    stopped: Mapping[str, Any]
    """The update of a run whose plan was not wanted."""
    metadata: Mapping[str, Any] = field(default_factory=dict)
    """What the message of such a run carries besides."""

    def lines(self, answer: Any, state: Any, configuration: Any) -> list[T]:
        """Return the lines of an answer, none if cancelled; raise InputError naming a field."""
        return self.read(_lines(answer, self.part, self.most(configuration)), state, configuration)

    def estimate(
        self, lines: Sequence[Any], state: Any, configuration: Any, services: Services
    ) -> Estimate:
        """Return what a plan of these lines takes."""
        cost = self.cost(lines, state, configuration, services)
        return estimate(cost, state["turn"], configuration, services, state.get("usage"))

    def review(self, state: Any, configuration: Any, services: Services) -> PlanReview:
        """Return what a person is shown."""

        def estimated(lines: Sequence[Any]) -> Estimate:
            return self.estimate(lines, state, configuration, services)

        lines = self.shown(state)
        review = {
            self.part: lines,
            "most": self.most(configuration),
            "estimate": estimated(lines),
            "shares": plan_shares(lines, self.own, estimated),
        }
        return cast(PlanReview, review)


async def review_plan(
    state: Any, runtime: Runtime[Any], *, get_services: GetServices, kind: PlanKind[Any]
) -> dict[str, Any]:
    """Pause the run until its plan is answered; pause again where the answer is invalid.

    Executed again from its beginning at every answer, so nothing here may cost anything.
    """
    check_waiting(state["turn"], kind.assistant)
    services, emit = get_services(), runtime.stream_writer
    configuration = runtime.context or kind.configuration()
    lines = await_answer(
        kind,
        # The sound of Chinese names comes from a dictionary that takes a while to read.
        await asyncio.to_thread(kind.review, state, configuration, services),
        lambda answer: kind.lines(answer, state, configuration),
        state["turn"]["language"],
    )
    turn = continued(state["turn"], services)
    log.info("turn=%s %s: %d %s", turn["id"], NODE, len(lines), kind.part)
    if lines:
        return {**kind.taken(lines, emit), "turn": turn}
    stopped = cast(Gathered, {**state, **kind.stopped, "turn": turn})
    draft = Draft(stopped, configuration, services, emit, node=NODE, assistant=kind.assistant)
    return {**await _stop(draft, kind.metadata), **kind.stopped, "turn": turn, "cancelled": True}


async def _stop(draft: Draft, metadata: Mapping[str, Any]) -> Closing:
    """Write the message of a run whose plan was not wanted, and close its turn."""

    async def body() -> AsyncIterator[str]:
        yield draft.by_code(say("answer.cancelled", draft.language))

    return await write_message(draft, MessageParts(body=body, sections=list, metadata=metadata))


def review_step(state: Any) -> Literal["review_plan", "__end__"] | None:
    """Return where a plan goes before its run: to a person, or nowhere; None for on with it."""
    if state.get("cancelled"):
        return "__end__"
    return NODE if "paused_at" in state["turn"] else None


def waiting(turn: Turn, configuration: Configuration, services: Services, assistant: str) -> Turn:
    """Return the turn as it pauses for its review; as it is where none is wanted."""
    if not configuration.review_plan:
        return turn
    return Turn(**{**turn, "paused_at": services.now().timestamp(), "paused_by": assistant})


def check_waiting(turn: Mapping[str, Any], assistant: str) -> None:
    """Raise InputError where the plan that waits on this thread is another assistant's.

    All four have a node of this name, so that the thread lets each of them go on.
    """
    owner = turn.get("paused_by", assistant)
    if owner != assistant:
        problem = f"The plan that waits on this thread is one of {owner}; answer it there"
        raise InputError("command.resume", problem, fault="other_assistant", assistant=owner)


def continued(turn: Turn, services: Services) -> Turn:
    """Return the turn as if it had begun later, without the time a person took."""
    services.budgets.close(turn["id"])
    now = services.now().timestamp()
    waiting_since = turn.get("paused_at", now)
    options = {name: value for name, value in turn.items() if name not in _PAUSE}
    return cast(Turn, {**options, "started_at": turn["started_at"] + max(0.0, now - waiting_since)})


def await_answer(
    kind: PlanKind[T], review: PlanReview, read: Callable[[Any], list[T]], language: Language
) -> list[T]:
    """Pause until the plan is answered, again where the answer is invalid; return its lines.

    They are empty where the person cancelled.
    """
    review = PlanReview(**{**review, "words": plan_words(review, language)})
    schema = TypeAdapter(kind.answer).json_schema()
    while True:
        shown = _with_form(review, kind.part, language)
        try:
            return read(_from_form(interrupt(shown, response_schema=schema), review, kind.part))
        except InputError as error:
            review = PlanReview(**{**review, "problem": error.message})


def plan_words(review: PlanReview, language: Language) -> PlanWords:
    """Return what a plan's map tasks are and what it takes, in words."""
    maps = [
        map_task_words(task, language, query["query"]) if (task := query.get("map")) else ""
        for query in review.get("queries", [])
    ]
    return PlanWords(maps=maps, estimate=estimate_words(review["estimate"], language))


def map_task_words(task: MapTask, language: Language, wish: str = "") -> str:
    """Return a map task as a person would say it.

    The map's own words for what it searches are told where their reader can read them, else the
    `wish` that they are for.
    """

    def named(key: str, **values: Any) -> str:
        return say(f"review.map_task.{key}", language, **values)

    def told(name: str | None) -> str:
        return _readable(name, language) if name else named("here")

    city, mode = task.get("city"), task.get("mode")
    place = told(task.get("place") or city)
    city = _readable(city, language) if city else None
    if city and city not in place:
        place = f"{place}, {city}" if place.endswith(")") else f"{place} ({city})"
    metres = task.get("radius_m", _RADIUS_M)
    kilometres = f"{metres / 1000:.1f}".removesuffix(".0")
    far = named("metres", n=metres) if metres < 1000 else named("kilometres", n=kilometres)
    kinds = [_kind(keyword, language) for keyword in task.get("keywords") or []]
    if not all(kinds) and wish and not has_han(wish):
        kinds = [named("wish", text=wish)]
    keywords = named("between").join(filter(None, kinds)) or named("anything")
    is_between = task["intent"] == "nearby" and task.get("destination")
    words = named(
        "on_the_way" if is_between else task["intent"], place=place, radius=far, keywords=keywords,
        mode=named(mode) if mode else "",
        origin=told(task.get("origin") or (task.get("place") if is_between else None)),
        destination=" → ".join(map(told, [*task.get("via", []), task.get("destination")])),
    )  # fmt: skip
    times = [
        say(f"map.{key}", language, time=moment.replace("T", " "))
        for key in WAY_TIMES
        if (moment := task.get(key))
    ]
    return _GAP.sub(r"\1", say("punctuation.comma", language).join([words, *times]))


def _readable(name: str, language: Language) -> str:
    """Return a place with its sound where its reader has none for its letters."""
    if reads_han(language) or not has_han(name) or any(sign.isascii() for sign in name):
        return name
    return city_in_english(name) or f"{district_in_english(name)} ({name})"


def _kind(keyword: str, language: Language) -> str:
    """Return what is searched for; empty where its reader has no word for it."""
    if reads_han(language):
        return keyword
    kind = subject_in_english(keyword)
    return "" if has_han(kind) else kind


def _lines(answer: Any, part: PlanPart, most: int) -> list[Any]:
    """Return the lines of an answer as they came, none if cancelled.

    Raises InputError naming a field.
    """
    fields = checked_object(answer, "the answer", {part, "cancel"})
    cancel = fields.get("cancel", False)
    if not isinstance(cancel, bool):
        raise InputError("cancel", "must be true or false")
    if cancel:
        return []
    lines = fields.get(part)
    if not isinstance(lines, list):
        raise InputError(part, "must be a list as it was shown, or answer {cancel: true}")
    if not lines:
        raise InputError(part, "is empty; to stop, answer {cancel: true}")
    if len(lines) > most:
        raise InputError(part, f"has {len(lines)} entries; at most {most} are allowed")
    return lines


def checked_object(value: Any, where: str, names: Collection[str]) -> Mapping[str, Any]:
    """Return a JSON object with no other fields; a misspelt one would be lost silently."""
    if not isinstance(value, Mapping):
        raise InputError(where, f"must be an object with {', '.join(sorted(names))}")
    for name in value:
        if name not in names:
            place = "" if where == "the answer" else where
            full = clean_text(f"{place}.{name}".lstrip("."), 100)
            raise InputError(full, f"is not known here; known: {', '.join(sorted(names))}")
    return value


def checked_text(value: Any, where: str, longest: int) -> str:
    """Return a text as one clean line; raise InputError where it is empty or too long."""
    if not isinstance(value, str):
        raise InputError(where, "must be a text")
    # More is read than may stay, so that what is cleaned away is not counted.
    cleaned = clean_text(value[: 4 * longest], longest + 1)
    if not cleaned:
        raise InputError(where, "is empty")
    if len(cleaned) > longest:
        raise InputError(where, f"is longer than {longest} characters")
    return cleaned


def line_text(line: Any, part: PlanPart) -> str:
    """Return the words of a plan's line."""
    key = PLAN_TEXTS[part]
    return str(line[key] if key and isinstance(line, Mapping) else line)


def _with_form(review: PlanReview, part: PlanPart, language: Language) -> PlanReview:
    """Return the review with the same in LangChain's form: one argument, a line of it a line."""
    lines = "\n".join(_form_line(line, part) for line in cast(Mapping[str, Any], review)[part])
    about = [say(f"review.heading_{part}", language), review["words"]["estimate"]]
    if problem := review.get("problem"):
        about.insert(0, say("review.problem", language, problem=problem))
    request = ActionRequest(name=NODE, args={part: lines}, description="\n".join(about))
    config = ReviewConfig(action_name=NODE, allowed_decisions=_DECISIONS)
    return PlanReview(**{**review, "action_requests": [request], "review_configs": [config]})


def _form_line(line: Any, part: PlanPart) -> str:
    name = line.get("id", "") if isinstance(line, Mapping) else ""
    return f"{name} {line_text(line, part)}".strip()


def _from_form(answer: Any, review: PlanReview, part: PlanPart) -> Any:
    """Return an answer in LangChain's form as one of ours; any other as it is.

    Raises InputError naming a field.
    """
    decision = _decision(answer)
    if decision is None:
        return answer
    lines = cast(Mapping[str, Any], review)[part]
    kind = str(decision.get("type"))
    match _SAME_DECISION.get(kind, kind):
        case "approve":
            return {part: lines}
        case "reject":
            return {"cancel": True}
        case "edit":
            return {part: _edited_lines(decision, lines, part)}
    raise InputError("decisions[0].type", f"must be one of {', '.join(_DECISIONS)}")


def _decision(answer: Any) -> Mapping[str, Any] | None:
    """Return the decision that an answer is in any of the forms clients send; None for ours.

    Agent Inbox sends a list of one, or one alone; in Studio a person types a word, or true.
    """
    if isinstance(answer, bool):
        return {"type": "approve" if answer else "reject"}
    if isinstance(answer, str):
        return {"type": answer.strip().casefold()}
    if isinstance(answer, Mapping) and "decisions" in answer:
        decisions = answer["decisions"]
    else:
        decisions = answer if isinstance(answer, list) else [answer]
        if not any(isinstance(each, Mapping) and "type" in each for each in decisions):
            return None
    if not (isinstance(decisions, list) and len(decisions) == 1):
        raise InputError("decisions", "must be a list of one decision")
    return decisions[0] if isinstance(decisions[0], Mapping) else {}


def _edited_lines(decision: Mapping[str, Any], lines: Sequence[Any], part: PlanPart) -> Any:
    """Return the lines of a plan as a person has edited them, a list or a text of lines.

    A line that was not changed stays the whole item it was, its map task included; a new or changed
    one is its words alone.
    """
    action = decision.get("edited_action", decision.get("args"))
    args = action.get("args") if isinstance(action, Mapping) else None
    edited = args.get(part) if isinstance(args, Mapping) else None
    if isinstance(edited, list):
        return edited
    if not isinstance(edited, str):
        where = f"decisions[0].edited_action.args.{part}"
        raise InputError(where, "must be a text with a line for each")
    known = {_form_line(line, part): line for line in lines}
    written = (line.strip() for line in edited.splitlines())
    return [known.get(line) or _reworded(line, lines, part) for line in written if line]


def _reworded(text: str, lines: Sequence[Any], part: PlanPart) -> Any:
    """Return a line with the new words behind its id; words alone are a line of their own."""
    name, _, words = text.partition(" ")
    for line in lines:
        if isinstance(line, Mapping) and line.get("id") == name and words.strip():
            return {**line, PLAN_TEXTS[part]: words.strip()}
    return text
