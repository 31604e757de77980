"""Strategies: what services, models and pages send, in its own structure, with odd values in it."""

import json
from collections.abc import Iterator, Mapping
from copy import deepcopy
from typing import Any

from hypothesis import strategies as st

ODD_TEXTS = (
    "", " ", "　", "0", "-1", "1e999", "nan", "９", "²", "一百二十", "½", "9" * 400,
    "9" * 29 + ".5", "\ud83d", "\x00", "\x1b[31m", "\u202e", "\ufeff", "<b>x</b>",
    "<script>alert(1)</script>", "[^w0-0]", "[1](javascript:alert(1))",
    "![x](https://a.example/x.png)", "https://[::1", "http://a b/", "https://例え.jp/", "//x",
    "javascript:alert(1)", "2026-13-45", "0000-00-00", "24:61", "08:00-26:00", "116.4,39.9",
    "999,999", "|", "```", "---", "\n", "a\r\nb", "{", "[[", "null", "请问", "元", "%", "…", "🙂",
    "مرحبا", "ß", "İ",
)  # fmt: skip
ODD_NUMBERS = (
    0, -1, 1, 2**31, 2**63, 10**30, 10**400, -(10**400), 0.0, -0.0, 1e-320, 1e308, float("inf"),
    float("-inf"), float("nan"), 0.1, True, False,
)  # fmt: skip
_few = st.sampled_from(ODD_TEXTS)
texts = st.one_of(_few, _few, _few, st.text(max_size=8))
scalars = st.one_of(st.none(), st.sampled_from(ODD_NUMBERS), texts)
NESTED = (
    [], {}, [None], [[]], [{}], {"": None}, {"a": 1}, [1, "a"], ["x", None, {}], [[1], [2]],
    [1e308, -1], {"text": []}, {"url": 5}, [{"name": [], "id": {}}], [[[[[]]]]], "text", 5, None,
)  # fmt: skip
_deep = st.recursive(
    scalars,
    lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(texts, inner, max_size=4)),
    max_leaves=6,
)
_nested = st.sampled_from(NESTED).map(deepcopy)
values = st.one_of(scalars, _nested, _nested, scalars, _nested, _deep)
"""Mostly those that cost little to make."""


def _paths(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if path:
        yield path
    inner = value.items() if isinstance(value, Mapping) else ()
    inner = enumerate(value) if isinstance(value, list) else inner
    for name, each in inner:
        yield from _paths(each, (*path, name))


_GONE = object()


def odd(template: Any) -> st.SearchStrategy[Any]:
    """Return the template with a few of its values replaced by odd ones, or missing."""
    paths = list(_paths(template))

    def changed(changes: list[tuple[int, Any]]) -> Any:
        made = deepcopy(template)
        for number, value in changes:
            _put(made, paths[number], value)
        return made

    changes = st.tuples(st.integers(0, len(paths) - 1), st.one_of(values, st.just(_GONE), scalars))
    return st.lists(changes, max_size=6).map(changed)


def _put(made: Any, path: tuple[Any, ...], value: Any) -> None:
    """Change what is at a path, unless an earlier change has taken it away."""
    for name in path[:-1]:
        if not _has(made, name):
            return
        made = made[name]
    if not _has(made, path[-1]):
        return
    if value is _GONE:
        del made[path[-1]]
    else:
        made[path[-1]] = value


def _has(made: Any, name: Any) -> bool:
    if isinstance(made, list):
        return isinstance(name, int) and name < len(made)
    return isinstance(made, dict) and name in made


def sent(value: Any) -> bytes:
    """Return a value as a service of Python would send it, its halves of characters escaped."""
    return json.dumps(value).encode()


def pieces(*fragments: str, most: int = 30) -> st.SearchStrategy[str]:
    """Return texts made of a format's own fragments and of odd ones."""
    one = st.one_of(st.sampled_from(fragments), st.sampled_from(fragments), texts)
    return st.lists(one, max_size=most).map("".join)


@st.composite
def cut(draw: st.DrawFn, text: st.SearchStrategy[str]) -> list[str]:
    """Return a text in pieces, cut anywhere."""
    whole = draw(text)
    ends = sorted(draw(st.lists(st.integers(0, len(whole)), max_size=8)))
    return [whole[a:b] for a, b in zip([0, *ends], [*ends, len(whole)], strict=True)]
