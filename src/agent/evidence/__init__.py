"""What a run has found, and the pure functions over it: no I/O, no clock, no models."""
