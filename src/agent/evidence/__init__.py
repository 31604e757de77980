"""Define what a run gathers, with pure functions over it: no I/O, no clock, no models."""
