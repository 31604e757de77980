"""The map: the pinned MCP server, its session, the gateway in front of it."""
