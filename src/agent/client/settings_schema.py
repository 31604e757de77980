"""`--set` for a server: checked against its own schema, for it drops unknown keys silently."""

import math
from collections.abc import Mapping
from typing import Any

from agent.core.errors import ConfigurationError


def checked_settings(
    texts: Mapping[str, str], schema: Mapping[str, Any], *, saves: bool = False
) -> dict[str, Any]:
    """The values in the schema's types; raises ConfigurationError naming the key.

    With `saves` (an answer that is kept in a file) links are resolved where the server can.
    """
    properties = schema.get("properties") or {}
    checked: dict[str, Any] = {}
    for key, text in texts.items():
        if key not in properties:
            names = ", ".join(properties) or "none"
            raise ConfigurationError(
                f"--set {key}", f"the server has no such setting; known: {names}"
            )
        checked[key] = _parse_value(key, text, _resolve_reference(properties[key], schema))
    if saves and "resolve_links" in properties:
        checked.setdefault("resolve_links", True)
    return checked


def _resolve_reference(rule: Mapping[str, Any], schema: Mapping[str, Any]) -> Mapping[str, Any]:
    """The rule behind a `$ref`, or the one of a union that is not null."""
    if reference := rule.get("$ref"):
        name = str(reference).rsplit("/", 1)[-1]
        return _resolve_reference((schema.get("$defs") or {}).get(name, {}), schema)
    for choice in rule.get("anyOf", []):
        if choice.get("type") != "null":
            return _resolve_reference(choice, schema)
    return rule


def _parse_value(key: str, text: str, rule: Mapping[str, Any]) -> Any:
    value = _typed(key, text, rule.get("type"))
    options = rule.get("enum")
    if options is not None and value not in options:
        raise ConfigurationError(f"--set {key}", f"must be one of {', '.join(map(str, options))}")
    low, high = rule.get("minimum"), rule.get("maximum")
    if low is not None and value < low:
        raise ConfigurationError(f"--set {key}", f"must be at least {low}")
    if high is not None and value > high:
        raise ConfigurationError(f"--set {key}", f"must be at most {high}")
    return value


def _finite(number: float) -> float:
    """Return the number; raise ValueError for what JSON has no word for."""
    if not math.isfinite(number):
        raise ValueError
    return number


def _typed(key: str, text: str, kind: Any) -> Any:
    try:
        if kind == "integer":
            return int(text)
        if kind == "number":
            return _finite(float(text))
    except ValueError:
        raise ConfigurationError(f"--set {key}", f"must be a number, not {text!r}") from None
    if kind != "boolean":
        return text
    if text.lower() not in ("true", "false", "1", "0", "yes", "no", "on", "off"):
        raise ConfigurationError(f"--set {key}", f"must be true or false, not {text!r}")
    return text.lower() in ("true", "1", "yes", "on")
