"""Run `tanlu mcp`: the assistants as tools over stdio, for clients that start programs."""

import asyncio
from argparse import Namespace

from agent.cli.console import ANSWERED, USAGE, fail
from agent.cli.environment import configure_logging, log_level, read_environment
from agent.cli.serve import server_config
from agent.core.errors import AgentError
from agent.server.mcp_endpoint import serve_mcp_stdio


def run_command(arguments: Namespace) -> int:
    """Run the command; return 0 when the client hangs up, 2 for unusable settings."""
    try:
        read_environment(offline=arguments.offline)
        # Standard output is the protocol's; clients show standard error as a log.
        configure_logging(log_level(), arguments.log_file)
        asyncio.run(serve_mcp_stdio(server_config()["graphs"]))
    except AgentError as error:
        return fail(error, code=USAGE)
    return ANSWERED
