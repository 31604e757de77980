"""A run of ours, and what survives kill -9: checkpoints, run log, reply cache, leases."""
