"""Measurements of the whole assistant against stand-ins with fixed latencies; no timed tests."""
