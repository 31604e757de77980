"""Fill in the prompts, one English file each, for questions in any language.

`{{key}}` stands for a value. Values are fenced, so that no question, page or place name can
open or close one of our tags, and stay as they are else; a block (`<tag>{{key}}</tag>` on lines
of its own) whose value is empty is left out. `{{answer_language}}` says in which language a text
for the reader is written; instructions are the same for all languages.

Instructions (`name_system`) hold no value. What stands in `{{places routes? …}}` is about these
values of the material, and is left out where they are all empty: nobody pays for rules on places
where there are none. `{{_part}}` stands for the text of `_part.md`, which several have.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

from langchain_core.messages import BaseMessage, HumanMessage, SystemMessage

__all__ = [
    "TAGS",
    "Raw",
    "attribute",
    "element",
    "fence",
    "instructions",
    "names",
    "render",
    "task_prompt",
]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_PART = re.compile(r"\{\{(_\w+)\}\}")
_ABOUT = re.compile(r"\{\{(\w+(?: \w+)*)\?(.*?)\}\}", re.DOTALL)
_BLOCK = re.compile(r"^<(\w+)>\n?\{\{(\w+)\}\}\n?</\1>\n?", re.MULTILINE)
_BRACKETS = str.maketrans({"<": "‹", ">": "›", '"': "”"})
_ELEMENTS = frozenset({
    "document", "gap", "hypothesis", "link", "measurement", "not_shown", "output", "page",
    "passage", "planned", "remark", "result", "results", "speaker", "task", "tool", "topic", "turn",
})  # fmt: skip
"""Tags that code writes, besides those of the prompts."""
_LANGUAGE = "answer_language"


class Raw(str):
    """Hold text that is inserted as it is: our own tags around values already fenced."""

    __slots__ = ()


def fence(text: str) -> str:
    """Return the text with `‹…›` for each `<…>` that could open or close a tag of ours."""
    return _OWN_TAG.sub(lambda tag: tag[0].translate(_BRACKETS), text)


def attribute(value: str) -> str:
    """Return a value on one line that cannot end the attribute or the tag it stands in."""
    return " ".join(value.split()).translate(_BRACKETS)


def element(tag: str, text: str, **attributes: str | None) -> Raw:
    """Return `<tag name="value">text</tag>` with all but the tag fenced; None is left out."""
    attributes_text = "".join(
        f' {name}="{attribute(value)}"' for name, value in attributes.items() if value is not None
    )
    return Raw(f"<{tag}{attributes_text}>{fence(text)}</{tag}>")


def render(name: str, language: str = "", **values: str) -> str:
    """Return the prompt `name`, filled in; `language` is what `{{answer_language}}` stands for.

    Instructions are whole, whatever the material is. Raises ValueError where the prompt is unknown,
    or the values are not exactly its keys.
    """
    template = _TEMPLATES.get(name)
    if template is None:
        raise ValueError(f"no prompt {name!r}")
    keys = set(_PLACEHOLDER.findall(template))
    if _LANGUAGE in keys and language:
        values = {**values, _LANGUAGE: language}
    if keys != values.keys():
        missing, unused = sorted(keys - values.keys()), sorted(values.keys() - keys)
        raise ValueError(f"prompt {name!r}: missing {missing}, unused {unused}")
    template = _ABOUT.sub(r"\2", template)
    text = _BLOCK.sub(lambda block: block[0] if values[block[2]].strip() else "", template)
    return _PLACEHOLDER.sub(lambda key: _insert(values[key[1]]), text).strip()


def task_prompt(name: str, language: str = "", **values: str) -> list[BaseMessage]:
    """Return the two messages of a task: its instructions (`name_system`), and its material.

    A value that only the instructions ask about is not shown.
    """
    told = _told_if(f"{name}_system")
    only_asked = told - set(_PLACEHOLDER.findall(_TEMPLATES[name]))
    shown = {key: value for key, value in values.items() if key not in only_asked}
    return [
        SystemMessage(instructions(name, {key: values[key] for key in told})),
        HumanMessage(render(name, language, **shown)),
    ]


def instructions(name: str, values: Mapping[str, str]) -> str:
    """Return the instructions of a task for material of which some values may be empty."""

    def told(part: re.Match[str]) -> str:
        return part[2] if any(values[key].strip() for key in part[1].split()) else ""

    return _ABOUT.sub(told, _TEMPLATES[f"{name}_system"]).strip()


@cache
def _told_if(name: str) -> frozenset[str]:
    """Return the values that parts of these instructions are about."""
    return frozenset(key for keys, _ in _ABOUT.findall(_TEMPLATES[name]) for key in keys.split())


def names() -> list[str]:
    """Return the names of all prompts, sorted."""
    return sorted(_TEMPLATES)


def _insert(value: str) -> str:
    return value if isinstance(value, Raw) else fence(value)


def _load() -> dict[str, str]:
    """Return all prompts, read with the package: an async node must not read files."""
    files = sorted(Path(__file__).parent.glob("*.md"))
    texts = {path.stem: path.read_text("utf-8").strip() for path in files}
    parts = {name: texts.pop(name) for name in [*texts] if name.startswith("_")}
    return {name: _PART.sub(lambda part: parts[part[1]], text) for name, text in texts.items()}


_TEMPLATES = _load()
TAGS = frozenset(
    _ELEMENTS.union(*(re.findall(r"</?(\w+)[ >]", text) for text in _TEMPLATES.values()))
)
"""The names of all tags that a model is shown as ours."""
_OWN_TAG = re.compile(
    rf"<(?=[\s/\u00ad\u200b-\u200f\u2060\ufeff]*(?:{'|'.join(sorted(TAGS))})\b)[^<>]{{0,400}}>?",
    re.IGNORECASE,
)
