"""Fill in the prompts, one file each in `zh/` and `en/`.

`{{key}}` stands for a value. Values are fenced, so that no question, page or place name can
open or close one of our tags, and stay as they are else; a block (`<tag>{{key}}</tag>` on lines
of its own) whose value is empty is left out.
"""

import re
from pathlib import Path

from agent.texts import Language

__all__ = ["TAGS", "Raw", "attribute", "element", "fence", "names", "render"]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_BLOCK = re.compile(r"^<(\w+)>\n?\{\{(\w+)\}\}\n?</\1>\n?", re.MULTILINE)
_LANGUAGES: tuple[Language, ...] = ("zh", "en")
_BRACKETS = str.maketrans({"<": "‹", ">": "›", '"': "”"})
_ELEMENTS = frozenset({
    "claim", "gap", "hypothesis", "link", "measurement", "output", "page", "passage", "planned",
    "remark", "result", "results", "sentence", "speaker", "table_head", "task", "tool", "topic",
    "turn",
})  # fmt: skip
"""Tags that code writes, besides those of the prompts."""


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


def render(name: str, language: Language, **values: str) -> str:
    """Return the prompt `name` in one language, filled in.

    Raises ValueError where the prompt is unknown, or the values are not exactly its keys.
    """
    template = _TEMPLATES.get((language, name))
    if template is None:
        raise ValueError(f"no prompt {name!r} in {language!r}")
    names_in_template = set(_PLACEHOLDER.findall(template))
    if names_in_template != values.keys():
        missing, unused = (
            sorted(names_in_template - values.keys()),
            sorted(values.keys() - names_in_template),
        )
        raise ValueError(f"prompt {name!r}: missing {missing}, unused {unused}")
    text = _BLOCK.sub(lambda block: block[0] if values[block[2]].strip() else "", template)
    return _PLACEHOLDER.sub(lambda key: _insert(values[key[1]]), text).strip()


def names(language: Language) -> list[str]:
    """Return the names of all prompts in one language, sorted."""
    return sorted(name for template_language, name in _TEMPLATES if template_language == language)


def _insert(value: str) -> str:
    return value if isinstance(value, Raw) else fence(value)


def _load() -> dict[tuple[Language, str], str]:
    """Return all prompts, read with the package: an async node must not read files."""
    here = Path(__file__).parent
    return {
        (language, path.stem): path.read_text("utf-8").strip()
        for language in _LANGUAGES
        for path in sorted((here / language).glob("*.md"))
    }


_TEMPLATES = _load()
TAGS = frozenset(
    _ELEMENTS.union(*(re.findall(r"</?(\w+)[ >]", text) for text in _TEMPLATES.values()))
)
"""The names of all tags that a model is shown as ours."""
_OWN_TAG = re.compile(
    rf"<(?=[\s/\u00ad\u200b-\u200f\u2060\ufeff]*(?:{'|'.join(sorted(TAGS))})\b)[^<>]{{0,400}}>?",
    re.IGNORECASE,
)
