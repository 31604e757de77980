"""The nodes of `deep_research`, one file each."""
