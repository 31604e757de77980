"""Node with the page's modules: what the server makes of the texts is on disk for it."""

import atexit
import functools
import os
import tempfile
from pathlib import Path

from agent.server.page_routes import texts_module

HOOK = Path(__file__).parents[1] / "page" / "texts.mjs"


@functools.cache
def page_environment() -> dict[str, str]:
    """Return the environment in which Node loads the page's modules."""
    with tempfile.NamedTemporaryFile(suffix=".mjs", delete=False) as file:
        file.write(texts_module())
    atexit.register(Path(file.name).unlink)
    others = {key: value for key, value in os.environ.items() if not key.startswith("NODE_")}
    return {**others, "NODE_OPTIONS": f"--import={HOOK.as_uri()}", "PAGE_TEXTS": file.name}
