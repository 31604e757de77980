"""Labelled sets and the commands that measure rules on them."""
