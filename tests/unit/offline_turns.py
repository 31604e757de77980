"""Requests as the nodes make them, for the offline model."""

from agent.prompts import render
from agent.sample.model.request import ModelTurn
from agent.texts import Language
from agent.texts.languages import language_name
from tests.support.prompt_blocks import BLOCKS, HUMAN

TODAY = "2026-11-20"


def ask(name: str, language: Language = "zh", **values: str) -> ModelTurn:
    """The request a node makes: every block of the prompt, those not given empty."""
    human = HUMAN.get(name, name)
    keys = BLOCKS[human].split()
    filled = {**dict.fromkeys(keys, ""), "today": TODAY, **values}
    filled = {key: value for key, value in filled.items() if key in keys}
    schema = {"type": "object"} if name in {"generate_query", "reflection"} else None
    return ModelTurn(
        system=render(f"{name}_system"),
        user=render(human, language_name(language), **filled),
        schema=schema,
        search=name == "web_research",
    )
