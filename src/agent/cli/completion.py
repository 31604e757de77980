"""Run `tanlu completion`: print what makes a shell complete commands and options."""

from argparse import Namespace

from argcomplete.shell_integration import shellcode

from agent.cli.console import ANSWERED


def run_command(arguments: Namespace) -> int:
    """Print the script and return 0; `tanlu completion --help` says how each shell takes it."""
    print(shellcode(["tanlu"], shell=arguments.shell))  # noqa: T201
    return ANSWERED
