"""Stand in for libraries of finance in a process of its own; only its path holds this folder."""
