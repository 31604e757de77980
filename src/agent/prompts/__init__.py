"""The prompts, one file each in `zh/` and `en/`, and the only way to fill them in.

`{{key}}` stands for a value. Values are fenced, so that no question, page or place name can
open or close one of our tags; a block (`<tag>{{key}}</tag>` on lines of its own) whose value
is empty is left out.
"""

import re
from pathlib import Path

from agent.texts.language import Language

__all__ = ["Raw", "element", "fence", "names", "render"]

_PLACEHOLDER = re.compile(r"\{\{(\w+)\}\}")
_BLOCK = re.compile(r"^<(\w+)>\n?\{\{(\w+)\}\}\n?</\1>\n?", re.MULTILINE)
_LANGUAGES: tuple[Language, ...] = ("zh", "en")
_BRACKETS = str.maketrans({"<": "‹", ">": "›"})


class Raw(str):
    """Text that is inserted as it is: our own tags around values already fenced."""

    __slots__ = ()


def fence(text: str) -> str:
    """The text with `<` and `>` replaced by `‹` and `›`, so that it holds no tag."""
    return text.translate(_BRACKETS)


def element(tag: str, text: str, **attributes: str | None) -> Raw:
    """`<tag name="value">text</tag>` with everything but the tag fenced; None is left out."""
    written = "".join(
        f' {name}="{_one_line(value)}"' for name, value in attributes.items() if value is not None
    )
    return Raw(f"<{tag}{written}>{fence(text)}</{tag}>")


def render(name: str, language: Language, **values: str) -> str:
    """The prompt `name` in one language, filled in.

    Raises ValueError where the prompt is unknown, or the values are not exactly its keys.
    """
    template = _TEMPLATES.get((language, name))
    if template is None:
        raise ValueError(f"no prompt {name!r} in {language!r}")
    wanted = set(_PLACEHOLDER.findall(template))
    if wanted != values.keys():
        missing, unused = sorted(wanted - values.keys()), sorted(values.keys() - wanted)
        raise ValueError(f"prompt {name!r}: missing {missing}, unused {unused}")
    kept = _BLOCK.sub(lambda block: block[0] if values[block[2]].strip() else "", template)
    return _PLACEHOLDER.sub(lambda key: _inserted(values[key[1]]), kept).strip()


def names(language: Language) -> list[str]:
    """The names of all prompts in one language, sorted."""
    return sorted(name for spoken, name in _TEMPLATES if spoken == language)


def _inserted(value: str) -> str:
    return value if isinstance(value, Raw) else fence(value)


def _one_line(value: str) -> str:
    return fence(" ".join(value.split())).replace('"', "”")


def _load() -> dict[tuple[Language, str], str]:
    """All prompts, read with the package: an async node must not read files."""
    here = Path(__file__).parent
    return {
        (language, path.stem): path.read_text("utf-8").strip()
        for language in _LANGUAGES
        for path in sorted((here / language).glob("*.md"))
    }


_TEMPLATES = _load()
