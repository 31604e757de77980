"""Offer OpenStreetMap as an MCP server of our own, and read it as the map outside China.

`python -m agent.mcp.osm` is the server; it needs no key, only TANLU_CONTACT.
"""
