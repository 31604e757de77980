"""The nodes of `team_answer`, one verb each."""
