"""What stands in for libraries of finance in a process of its own; only found on its path."""
