"""Start one instance of a server of several: Aegra in this process, with limits that suit us.

Aegra reads its settings from the environment when it is imported, so they are set before.
"""

import logging
import os
from pathlib import Path

from agent.core.errors import ConfigurationError
from agent.core.redaction import hide

CONFIG = Path(__file__).with_name("aegra.json")
_DEFAULTS = {
    "AEGRA_CONFIG": str(CONFIG),
    "AUTH_TYPE": "custom",
    "REDIS_BROKER_ENABLED": "true",
    # A dead instance's runs are taken up after the lease and at most one look of the reaper.
    "LEASE_DURATION_SECONDS": "15",
    "HEARTBEAT_INTERVAL_SECONDS": "5",
    "REAPER_INTERVAL_SECONDS": "5",
    # A run that was accepted and reached no worker, as its instance died in between.
    "STUCK_PENDING_THRESHOLD_SECONDS": "20",
    "LOG_LEVEL": "WARNING",
    "ENV_MODE": "PRODUCTION",
}
_NEEDED = ("DATABASE_URL", "TANLU_REDIS_URL")


def serve(host: str, port: int) -> None:
    """Serve until a signal ends it; raise ConfigurationError for a setting that is missing."""
    for name in _NEEDED:
        if not os.environ.get(name):
            raise ConfigurationError(name, "is needed by a server of several instances")
        hide(os.environ[name])
    # Aegra's queue and what may be asked of a provider in all are on one Redis.
    for name, value in {**_DEFAULTS, "REDIS_URL": os.environ["TANLU_REDIS_URL"]}.items():
        os.environ.setdefault(name, value)
    import uvicorn
    from aegra_api.main import app

    logging.getLogger("uvicorn.access").setLevel(logging.WARNING)
    uvicorn.run(app, host=host, port=port, log_level="warning")
