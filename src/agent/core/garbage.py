"""Garbage collection that looks seldom, and not at what libraries made at their import.

A million objects stay for the life of the process. With Python's own thresholds (a look for every
700 new objects) going through them takes a seventh of the processor time of `tanlu ask`.
"""

import gc

_THRESHOLDS = 50_000, 20, 50


def collect_rarely() -> None:
    """Look for cycles after 50,000 new objects; call it before anything heavy is imported."""
    gc.set_threshold(*_THRESHOLDS)


def keep_loaded() -> None:
    """Leave all that is loaded by now out of every later look; takes about a tenth of a second."""
    collect_rarely()
    gc.collect()
    gc.freeze()
