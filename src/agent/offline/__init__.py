"""Loopback services that speak the real protocols, over a bundled sample.

They serve `TANLU_MODE=offline` and, with faults switched on, the tests. Product code never
knows about them: only the endpoints differ.
"""
