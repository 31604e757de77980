"""Requests as the nodes make them, for the offline model, and what is read off its answers."""

import re

from agent.prompts import render
from agent.sample.model.request import ModelReply, ModelTurn
from agent.texts import Language
from agent.texts.languages import language_name
from tests.support.prompt_blocks import BLOCKS, HUMAN

TODAY = "2026-11-20"
MARKER = re.compile(r"\[\^([a-z]+\d+-\d+)\]")
PLACES = (
    "[^a0-1] 北京市少年宫 | 科教文化 | 王府井 820 m | 09:00-17:00 | 寿山路1号\n"
    "[^a0-2] 开心亲子乐园 | 亲子乐园 | 王府井 320 m | ★4.6 | ¥80 | 10:00-21:00 | 王府井大街88号\n"
    "[^a0-3] 无名公园"
)
PREVIOUS = PLACES.replace("a0-", "p0-")
SAID = "user: 王府井附近适合遛娃的好去处\nassistant: 可以去开心亲子乐园。[1]"
SAID_EN = "user: What can we do with kids near the Bund?\nassistant: Try the park.[1]"
PREVIOUS_EN = "[^p0-0] Gucheng Park | Park | 06:00-18:00\n[^p0-1] Maritime Museum | Museum | ¥50"
FINDINGS = (
    "王府井步行街全天开放，推婴儿车也方便。[^w0-0]周末人多，建议上午去。[^w0-0][^w0-2]\n\n"
    "附近的停车场收费较高。[^w1-1]\n\n开心亲子乐园，★4.6。[^a0-2]"
)
FINDINGS_EN = (
    "The Bund is open all day and free.[^w0-0] Crowds peak after 7 p.m. on weekends.[^w0-1]\n\n"
    "Pushchairs roll easily on the promenade.[^w1-0]"
)


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


def text_of(answer: ModelReply) -> str:
    assert answer.text is not None
    return answer.text


def cited(text: str) -> set[str]:
    return set(MARKER.findall(text))


def whole_answer(language: Language) -> ModelTurn:
    if language == "zh":
        return ask(
            "answer", question="王府井附近适合遛娃的好去处？", findings=FINDINGS, places=PLACES
        )
    return ask("answer", "en", question="Is the Bund open all day and free?", findings=FINDINGS_EN)
