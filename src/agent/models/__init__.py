"""Ask models: the one way to do so."""
