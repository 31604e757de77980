"""The model layer: one way to ask a model."""
