"""Research on the web and on the map: Tanlu 探路. Importing this package costs nothing."""

__version__ = "0.1.0"
REPOSITORY = "https://tanlu.invalid"
"""The address that services are told as contact: a placeholder until the repository is public."""
