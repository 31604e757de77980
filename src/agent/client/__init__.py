"""A running server, seen from outside."""
