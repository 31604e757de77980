"""Ask the map: a pinned MCP server, its session, the gateway in front of it."""
