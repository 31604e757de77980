"""The nodes of `plan_execute`, one verb each."""
