"""Serve `langgraph dev` and the licensed image."""
