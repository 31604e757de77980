"""Describe Amap's own MCP server: its installation, tools, errors and records."""
