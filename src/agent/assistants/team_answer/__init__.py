"""One exact, checked answer, by a team that discusses it."""
