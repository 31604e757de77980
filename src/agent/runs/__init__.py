"""Keep what survives kill -9: checkpoints, run log, reply cache, leases."""
