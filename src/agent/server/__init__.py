"""What our server offers beside LangGraph's own API, over that API and in its process."""
