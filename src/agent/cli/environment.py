"""The environment of a command: `.env` beside the process's own, and `--offline`."""

import os

from agent.errors import ConfigurationError
from agent.settings import load_env_file


def read_environment(*, offline: bool) -> None:
    """Take `.env` over (the process environment wins). Raises ConfigurationError."""
    try:
        load_env_file()
    except UnicodeDecodeError:
        raise ConfigurationError(".env", "is not UTF-8 text") from None
    except (OSError, ValueError) as error:
        raise ConfigurationError(".env", f"cannot be read: {error}") from None
    if offline:
        os.environ["TANLU_MODE"] = "offline"
