"""Offer what LangGraph's own API does not, over that API and in its process."""
