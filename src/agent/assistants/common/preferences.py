"""Use what a person prefers where a question does not say it, and name what was used.

The model that plans is told all of it and says what it used; that alone goes on to those who write.
Only what they set themselves counts (`runs/person.py`), and only while their switch is on.
"""

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage
from pydantic import BaseModel, Field

from agent.assistants.common.forms import Names
from agent.assistants.common.services import Services
from agent.assistants.common.turn import in_language
from agent.configuration import Configuration
from agent.core.errors import AgentError, StoreFailed
from agent.evidence.types import Constraints
from agent.export.markdown import escape_markdown
from agent.prompts import render
from agent.runs.person import NOBODY, Person
from agent.state import Turn
from agent.texts import Language, say, table

log = logging.getLogger(__name__)
_OTHER_PRICES = ("free", "min_cost", "total_cost")


class UsesPreferences(BaseModel):
    """What a plan says of what its asker prefers."""

    preferred: Names = Field(
        "", description="Which of <preferences> it keeps to; language, unless one is asked for."
    )


async def person_of(owner: str, services: Services, configuration: Configuration) -> Person:
    """Return what the owner prefers; nothing where that is off, or cannot be read."""
    if services.persons is None:
        return NOBODY
    try:
        person = await services.persons.of(owner)
    except (AgentError, StoreFailed) as error:
        log.warning("what a person prefers is not used: %s", error)
        return NOBODY
    if not person.on:
        return NOBODY
    if configuration.answer_language != "auto":
        return person.model_copy(update={"language": ""})
    return person


def with_preferences(prompt: Sequence[BaseMessage], person: Person) -> list[BaseMessage]:
    """Return a planner's prompt with what the person prefers, where that is anything."""
    return _told(prompt, person.preferred(), "preferences_system")


def with_used(prompt: Sequence[BaseMessage], turn: Turn) -> list[BaseMessage]:
    """Return the prompt of who looks up or writes, with what the turn's plan used of it."""
    return _told(prompt, turn.get("preferred", {}), "preferences_kept_system")


def preferring(turn: Turn, names: str, person: Person) -> Turn:
    """Return the turn with what its plan says that it used, and in the language that is preferred.

    It is the plan's word: no demand of the question is read beside it.
    """
    used = used_of(names, person, Constraints(), person.language)
    read = Turn(**{**turn, "preferred": used}) if used else turn
    return in_language(read, person.language) if "language" in used else read


def used_of(names: str, person: Person, demands: Constraints, tag: str) -> dict[str, Any]:
    """Return which of a person's preferences count as used, by name with their values.

    `names` is what a model says that it used. What the question itself sets instead does not count:
    its own budget, or an answer in another language.
    """
    told = person.preferred()
    used = {
        name: told[name] for name in dict.fromkeys(names.replace(",", " ").split()) if name in told
    }
    used.pop("currency", None)
    if tag != person.language:
        used.pop("language", None)
    if demands.get("max_cost", person.budget) != person.budget or demands.keys() & _OTHER_PRICES:
        used.pop("budget", None)
    if "budget" in used:
        used["currency"] = person.currency
    return used


def preferred_line(used: Mapping[str, Any], language: Language) -> str:
    """Return one line that names what was used; empty where nothing was."""
    if not used:
        return ""
    diets, comma = table("preferred.diets", language), say("punctuation.comma", language)
    values = {
        "home_city": escape_markdown(str(used.get("home_city", ""))),
        "budget": _price(used),
        "diet": comma.join(diets[each] for each in used.get("diet", [])),
    }
    said = [
        say(f"preferred.{name}", language, value=values.get(name, ""))
        for name in used
        if name != "currency"
    ]
    return say("preferred.line", language, what=comma.join(said)) if said else ""


def _told(
    prompt: Sequence[BaseMessage], preferred: Mapping[str, Any], rule: str
) -> list[BaseMessage]:
    if not preferred:
        return list(prompt)
    system, request, *others = prompt
    lines = "\n".join(f"{name}: {_value(name, value)}" for name, value in preferred.items())
    block = render("preferences", preferences=lines)
    return [
        SystemMessage(f"{system.text}\n{render(rule)}"),
        HumanMessage(f"{request.text}\n{block}"),
        *others,
    ]


def _value(name: str, value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(value)
    return f"at most {value} a head" if name == "budget" else str(value)


def _price(used: Mapping[str, Any]) -> str:
    budget, currency = used.get("budget", ""), used.get("currency", "")
    return f"¥{budget}" if currency == "CNY" else f"{budget} {currency}"
