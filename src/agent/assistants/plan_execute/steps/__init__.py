"""The nodes of the executor of one task."""
