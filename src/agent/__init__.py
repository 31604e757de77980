"""Tanlu 探路: research on the web and on the map. Importing this package costs nothing."""

__version__ = "0.1.0"
REPOSITORY = "https://github.com/tanlu/tanlu"
"""Where the program comes from; services that want a contact are told it."""
