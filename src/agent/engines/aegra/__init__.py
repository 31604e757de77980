"""Serve from several machines: what Aegra loads, over Postgres and Redis (`tanlu[aegra]`)."""
