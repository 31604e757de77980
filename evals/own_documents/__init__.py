"""Collections of own documents with planted facts and contradictions."""
