"""How many examples a property gets: few and the same ones in CI, many in `make fuzz`."""

import os

from hypothesis import HealthCheck, settings

SHORT, LONG = 40, 25_000
_COMMON = {"deadline": None, "suppress_health_check": list(HealthCheck), "print_blob": True}

settings.register_profile("short", max_examples=SHORT, derandomize=True, database=None, **_COMMON)
settings.register_profile(
    "long", max_examples=int(os.environ.get("FUZZ_EXAMPLES") or LONG), **_COMMON
)
# Unless the command line names one, which is read after this.
settings.load_profile("short")
