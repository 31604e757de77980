"""Questions that take a long answer, each with what a good one has."""
