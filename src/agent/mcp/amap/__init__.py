"""Amap's own MCP server: how it is installed, its tools, its errors, its records."""
