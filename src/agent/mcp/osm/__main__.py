"""Run the server over standard input and output: `python -m agent.mcp.osm`."""

import asyncio
import os
import sys

from agent.mcp.osm.server import serve_stdio
from agent.mcp.osm.services import OsmServices, OsmSettings


def main() -> None:
    """Serve until the client has gone; end with a line that names the variable that is missing."""
    try:
        settings = OsmSettings.of(os.environ)
    except ValueError as error:
        sys.exit(str(error))
    asyncio.run(serve_stdio(OsmServices(settings)))


if __name__ == "__main__":
    main()
