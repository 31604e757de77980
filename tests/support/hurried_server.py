"""Our application in a server that does at once what it otherwise waits seconds for."""

from langgraph_runtime_inmem import _persistence  # type: ignore[import-untyped]

from agent.engines.langgraph.app import app
from agent.runs import postgres

__all__ = ["app"]
assert postgres._PAUSES[-1] == 3.0
postgres._PAUSES = (0.0, 0.1, 0.1)
assert _persistence._flush_interval == 10
_persistence._flush_interval = 0.5
# Its loop has begun before any application is imported, with a wait of the old length.
_persistence.stop_flush_loop()
for kept in [reference() for reference in _persistence._stores.values()]:
    _persistence.register_persistent_dict(kept)
