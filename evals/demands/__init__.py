"""Places, what was demanded of them, and the verdicts."""
