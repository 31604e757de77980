"""Check claims: sentences of an answer against its sources."""
