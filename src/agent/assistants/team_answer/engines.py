"""Which engine runs the turns, by its name in the configuration."""

import importlib
from typing import cast

from agent.assistants.team_answer.engine import GroupChatEngine
from agent.assistants.team_answer.engine_native import NativeEngine
from agent.errors import ConfigurationError

AUTOGEN = "agent.assistants.team_answer.engine_autogen"


def engine(name: str) -> GroupChatEngine:
    """The engine of that name; importing AG2's takes a second of CPU the first time.

    Raises ConfigurationError where it is unknown or its extra is missing.
    """
    if name == NativeEngine.name:
        return NativeEngine()
    if name != "autogen":
        raise ConfigurationError("chat_engine", f"{name!r} is not known; use native or autogen")
    try:
        module = importlib.import_module(AUTOGEN)
    except ImportError as error:
        problem = "autogen needs the extra: pip install 'tanlu[autogen]'"
        raise ConfigurationError("chat_engine", problem) from error
    return cast(GroupChatEngine, module.AutogenEngine())
