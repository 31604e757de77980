"""Research on the web and on the map: Tanlu 探路. Importing this package costs nothing."""

__version__ = "0.5.0"
